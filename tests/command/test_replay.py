"""`replay`, on a real spool and a real receiver."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from openlineage_pyspark.transport.spool.place import DATABASE, directories, is_held
from openlineage_pyspark.transport.spool.store import Spool


@pytest.fixture
def replay(run, root, receiver):
    """Give what replays to the receiver as it would be configured."""

    def call(*arguments):
        conf = ("-c", "spark.openlineage.transport.type=http", "-c", f"spark.openlineage.transport.url={receiver.url}")
        return run("replay", "--spool", str(root), *conf, *arguments)

    return call


def composite(*parts):
    """Give the configuration of a composite transport of these parts, each a type with an option and its value."""
    conf = ["-c", "spark.openlineage.transport.type=composite"]
    for number, (kind, option, value) in enumerate(parts):
        prefix = f"spark.openlineage.transport.transports.part{number}"
        conf += ["-c", f"{prefix}.type={kind}", "-c", f"{prefix}.{option}={value}"]
    return conf


@pytest.fixture
def address(receiver):
    return f"{receiver.url}/api/v1/lineage"


def order(receiver):
    return [(each["run"]["runId"], each["eventType"]) for each in receiver.events]


def test_replay_ships_what_was_left_in_order_and_leaves_nothing(root, replay, receiver, address, leave, run_of):
    """A parent's START goes before its children's, and the events of each run in their order."""
    leave(root, address, *run_of("START", run_id="app"), *run_of("START", "RUNNING", "COMPLETE", parent="app"))
    leave(root, address, *run_of("START", "FAIL", run_id="b"))

    assert replay() == (0, f"6 of 6 events sent to {address}\n", "")
    sent = order(receiver)
    assert [kind for run_id, kind in sent if run_id == "a"] == ["START", "RUNNING", "COMPLETE"]
    assert [kind for run_id, kind in sent if run_id == "b"] == ["START", "FAIL"]
    assert sent.index(("app", "START")) < sent.index(("a", "START"))
    assert len(sent) == 6
    assert directories(root) == []
    assert replay() == (0, f"no events in {root} wait for {address}\n", "")
    assert len(receiver.received) == 6


@pytest.mark.slow
def test_the_installed_command_replays(root, receiver, address, installed, leave, run_of):
    leave(root, address, *run_of("START", "COMPLETE"))

    done = installed("replay", "--spool", str(root), "--to", receiver.url)

    assert done == (0, f"2 of 2 events sent to {address}\n", "")
    assert order(receiver) == [("a", "START"), ("a", "COMPLETE")]


def test_what_a_running_application_has_is_its_own_to_ship(root, replay, receiver, address, leave, run_of):
    alive = leave(root, address, *run_of("START"), owner_lives=True)

    assert replay() == (0, f"no events in {root} wait for {address}\n", "")
    assert receiver.received == []
    assert len(alive.waiting()) == 1
    alive.close()


def test_what_is_meant_for_another_receiver_stays_and_is_shipped_by_name(
    root, replay, receiver, address, leave, run_of
):
    leave(root, "http://elsewhere/api/v1/lineage", *run_of("START", "COMPLETE"))

    assert replay() == (
        1,
        (
            f"no events in {root} wait for {address}\n"
            f"2 still waiting in {root}: `openlineage-pyspark spool ls --spool {root}` lists them\n"
        ),
        "",
    )
    assert replay("--to", receiver.url) == (0, f"2 of 2 events sent to {address}\n", "")
    assert order(receiver) == [("a", "START"), ("a", "COMPLETE")]


@pytest.mark.slow
def test_a_receiver_that_is_away_leaves_everything_where_it_is(root, run, nobody, leave, run_of):
    leave(root, "x", *run_of("START", "COMPLETE"))

    code, shown, _ = run("replay", "--spool", str(root), "--to", nobody, "--patience", "0.5")

    assert code == 1
    assert shown == (
        f"0 of 2 events sent to {nobody}/api/v1/lineage\n"
        f"2 still waiting in {root}: `openlineage-pyspark spool ls --spool {root}` lists them\n"
    )
    spool = Spool.take_over(directories(root)[0])
    assert [(each.run_id, each.event_type) for each in spool.waiting()] == [("a", "START"), ("a", "COMPLETE")]
    spool.close()


def test_what_the_receiver_refuses_is_told_and_tried_again_on_request(root, replay, receiver, address, leave, run_of):
    leave(root, address, *run_of("START", "COMPLETE"))
    receiver.status, receiver.text = 422, "no such namespace"

    assert replay()[:2] == (
        1,
        (
            f"0 of 2 events sent to {address}\n"
            f"2 refused for good: `openlineage-pyspark spool ls --dead --spool {root}` shows why\n"
        ),
    )
    receiver.status = 201
    assert replay() == (0, f"no events in {root} wait for {address}\n", "")
    assert replay("--dead") == (0, f"2 of 2 events sent to {address}\n", "")
    assert order(receiver)[2:] == [("a", "START"), ("a", "COMPLETE")]


KEY = ("-c", "spark.openlineage.transport.auth.type=api_key", "-c", "spark.openlineage.transport.auth.apiKey=s3cretkey")


def test_the_configured_login_goes_to_the_configured_server_alone(root, replay, receiver, run, leave, run_of):
    """Any other receiver that --to names gets the events without the key."""
    leave(root, "x", *run_of("START"))
    assert replay(*KEY, "--to", f"{receiver.url}/base")[0] == 0
    leave(root, "x", *run_of("START"))
    elsewhere = ("-c", "spark.openlineage.transport.type=http", "-c", "spark.openlineage.transport.url=http://other")
    assert run("replay", "--spool", str(root), *elsewhere, *KEY, "--to", receiver.url)[0] == 0

    assert [(path, headers.get("Authorization")) for _, path, headers, _ in receiver.received] == [
        ("/base/api/v1/lineage", "Bearer s3cretkey"),
        ("/api/v1/lineage", None),
    ]


def keyed(*parts):
    """Give the configuration of a composite transport of these parts, each over HTTP with a URL and a key."""
    conf = ["-c", "spark.openlineage.transport.type=composite"]
    for number, (url, key) in enumerate(parts):
        prefix = f"spark.openlineage.transport.transports.part{number}"
        conf += ["-c", f"{prefix}.type=http", "-c", f"{prefix}.url={url}"]
        conf += ["-c", f"{prefix}.auth.type=api_key", "-c", f"{prefix}.auth.apiKey={key}", "-c", f"{prefix}.priority=1"]
    return conf


def keys_at(receiver):
    return [(path, headers.get("Authorization")) for _, path, headers, _ in receiver.received]


def test_the_login_of_the_part_of_a_composite_transport_goes_to_its_own_server_alone(
    root, run, receiver, second_receiver, address, leave, run_of
):
    conf = keyed(("http://elsewhere:5000", "first-key"), (receiver.url, "second-key"))
    leave(root, "x", *run_of("START"))
    assert run("replay", "--spool", str(root), *conf, "--to", address) == (0, f"1 of 1 event sent to {address}\n", "")
    leave(root, "x", *run_of("START"))
    assert run("replay", "--spool", str(root), *conf, "--to", second_receiver.url)[0] == 0

    assert keys_at(receiver) == [("/api/v1/lineage", "Bearer second-key")]
    assert keys_at(second_receiver) == [("/api/v1/lineage", None)]


def test_of_two_parts_on_one_server_the_one_with_the_same_address_logs_in(root, run, receiver, leave, run_of):
    conf = keyed((f"{receiver.url}/a", "key-of-a"), (f"{receiver.url}/b", "key-of-b"))
    leave(root, "x", *run_of("START"))
    assert run("replay", "--spool", str(root), *conf, "--to", f"{receiver.url}/b/api/v1/lineage")[0] == 0
    leave(root, "x", *run_of("START"))
    _, _, errors = run("replay", "--spool", str(root), *conf, "--to", f"{receiver.url}/c")

    assert keys_at(receiver) == [("/b/api/v1/lineage", "Bearer key-of-b"), ("/c/api/v1/lineage", "Bearer key-of-a")]
    said = f"several configured transports are on the server of {receiver.url}/c: the first one logs in"
    assert said in errors


def test_a_file_takes_them_too(root, run, tmp_path, leave, run_of):
    leave(root, "x", *run_of("START", "COMPLETE"))
    file = tmp_path / "out.ndjson"

    assert run("replay", "--spool", str(root), "--to", f"file:{file}") == (
        0,
        f"2 of 2 events sent to file {file}\n",
        "",
    )
    assert [json.loads(line)["eventType"] for line in file.read_text().splitlines()] == ["START", "COMPLETE"]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("localhost:5000", "; did you mean http://localhost:5000?"),
        ("localhost", "; did you mean http://localhost?"),
        ("marquez.example.com:5000/api/v1/lineage", "; did you mean http://marquez.example.com:5000/api/v1/lineage?"),
        ("/var/out.ndjson", "; did you mean file:/var/out.ndjson?"),
        ("out.ndjson", ", such as http://localhost:5000"),
        ("s3a://bucket/lineage", ", such as http://localhost:5000"),
        ("user:s3cret@host:5000", ", such as http://localhost:5000"),
        ("", ", such as http://localhost:5000"),
    ],
)
def test_what_is_no_address_is_refused_and_ships_nothing(root, run, capsys, machine, leave, run_of, wrong, hint):
    """Otherwise events would go to a file of that name."""
    leave(root, "x", *run_of("START"))

    with pytest.raises(SystemExit, match="2"):
        run("replay", "--spool", str(root), "--to", wrong)

    errors = capsys.readouterr().err
    assert errors.endswith(f"error: argument --to: must begin with http:, https: or file:{hint}\n")
    assert "s3cret" not in errors
    assert len(directories(root)) == 1
    assert [*machine.iterdir()] == []


def test_a_file_may_be_named_from_where_one_is(root, run, machine, leave, run_of):
    leave(root, "x", *run_of("START"))

    code, shown, _ = run("replay", "--spool", str(root), "--to", "file:out.ndjson")

    assert (code, shown) == (0, f"1 of 1 event sent to file {machine}/out.ndjson\n")
    assert json.loads((machine / "out.ndjson").read_text())["eventType"] == "START"


BY_DRIVER = (
    "written by a Spark driver's Hadoop client: the next application sends the waiting events; "
    "or send them elsewhere with --to URL"
)


def test_what_waits_for_an_object_store_is_left_to_the_next_application(root, run, receiver, leave, run_of):
    leave(root, "file s3a://bucket/lineage", *run_of("START", "COMPLETE"))
    conf = (
        "-c",
        "spark.openlineage.transport.type=file",
        "-c",
        "spark.openlineage.transport.location=s3a://bucket/lineage",
    )

    assert run("replay", "--spool", str(root), *conf) == (
        2, "", f"openlineage-pyspark: file s3a://bucket/lineage is {BY_DRIVER}\n"
    )  # fmt: skip
    assert len(directories(root)) == 1
    assert run("replay", "--spool", str(root), *conf, "--to", receiver.url)[0] == 0
    assert order(receiver) == [("a", "START"), ("a", "COMPLETE")]


def test_of_several_receivers_those_are_replayed_to_that_can_be_reached_from_here(
    root, run, receiver, address, leave, run_of
):
    leave(root, address, *run_of("START"))
    leave(root, "file s3a://bucket/lineage", *run_of("START"))
    conf = composite(("http", "url", receiver.url), ("file", "location", "s3a://bucket/lineage"))

    assert run("replay", "--spool", str(root), *conf) == (
        1,
        (
            f"1 of 1 event sent to {address}\n"
            f"1 still waiting in {root}: `openlineage-pyspark spool ls --spool {root}` lists them\n"
        ),
        f"openlineage-pyspark: file s3a://bucket/lineage is {BY_DRIVER}\n",
    )
    assert order(receiver) == [("a", "START")]


def test_receivers_of_which_one_takes_the_others_place_are_replayed_to_together_or_not_at_all(
    root, run, receiver, leave, run_of
):
    """Events for both receivers are kept apart from those for one of them."""
    conf = composite(("http", "url", receiver.url), ("file", "location", "s3a://bucket/lineage"))
    conf += ["-c", "spark.openlineage.transport.continueOnSuccess=false"]
    both = f"composite(file s3a://bucket/lineage, {receiver.url}/api/v1/lineage)"
    leave(root, both, *run_of("START"))

    code, shown, errors = run("replay", "--spool", str(root), *conf)

    assert (code, shown, errors) == (2, "", f"openlineage-pyspark: {both} is {BY_DRIVER}\n")
    assert receiver.received == []


@pytest.mark.slow
def test_a_replay_that_gets_hold_of_nothing_ends_at_once(root, receiver, address, installed, leave, run_of):
    """As where another application was quicker; here nobody can lock the directory, and it is said."""
    spool = leave(root, address, *run_of("START"))
    lock = spool.directory / "lock"
    lock.unlink()
    lock.mkdir()

    code, shown, _ = installed("replay", "--spool", str(root), "--to", receiver.url, "--patience", "3600")

    assert (code, shown) == (
        1,
        (
            f"0 of 1 event sent to {address}\n"
            f"1 still waiting in {root}: `openlineage-pyspark spool ls --spool {root}` lists them\n"
        ),
    )
    assert receiver.received == []


@pytest.mark.long
@pytest.mark.slow
def test_a_replay_waits_for_the_slower_of_two_receivers(root, run, receiver, second_receiver, leave, run_of):
    """One has all of its events long before the other's have been found among many that are for neither."""
    addresses = [f"{each.url}/api/v1/lineage" for each in (receiver, second_receiver)]
    leave(root, addresses[0], *run_of("START"))
    foreign = leave(root, "http://elsewhere/api", *run_of("START")).directory
    for number in range(300):
        shutil.copytree(foreign, root / f"{foreign.name}-{number}")
    last = leave(root, addresses[1], *run_of("START")).directory
    last.rename(root / f"{foreign.name}-z")
    second_receiver.gate.clear()
    threading.Timer(6.0, second_receiver.gate.set).start()

    code, shown, _ = run(
        "replay", "--spool", str(root), *composite(("http", "url", receiver.url), ("http", "url", second_receiver.url))
    )

    assert shown.splitlines()[0] == f"2 of 2 events sent to {' and '.join(sorted(addresses))}"
    assert code == 1
    assert [len(each.received) for each in (receiver, second_receiver)] == [1, 1]


@pytest.mark.slow
def test_what_another_application_takes_up_meanwhile_is_told_and_left_to_it(root, receiver, address, leave, run_of):
    for run_id in ("a", "b"):
        leave(root, address, *run_of("START", run_id=run_id))
    receiver.gate.clear()
    command = [str(Path(sys.executable).with_name("openlineage-pyspark"))]
    command += ["replay", "--spool", str(root), "--to", receiver.url]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as replaying:
        while not receiver.received:
            assert replaying.poll() is None
            time.sleep(0.05)
        other = Spool.take_over(next(each for each in directories(root) if not is_held(each)))
        receiver.gate.set()
        try:
            shown, _ = replaying.communicate(timeout=120)
        finally:
            replaying.kill()

    assert shown == f"1 of 2 events sent to {address}\n1 taken over by another application meanwhile\n"
    assert replaying.returncode == 0
    assert len(other.waiting()) == 1
    other.close()


@pytest.mark.parametrize("wrong", ["soon", "-1", "nan"])
def test_a_patience_that_is_no_time_is_refused(root, run, capsys, wrong):
    root.mkdir()

    with pytest.raises(SystemExit, match="2"):
        run("replay", "--spool", str(root), f"--patience={wrong}")

    assert capsys.readouterr().err.endswith("argument --patience: must be a number of seconds, such as 60\n")


def test_without_a_receiver_nothing_is_touched(root, run, leave, run_of):
    leave(root, "x", *run_of("START"))

    assert run("replay", "--spool", str(root)) == (
        2, "", "openlineage-pyspark: no transport is configured: name the receiver with --to URL\n"
    )  # fmt: skip
    conf = ("-c", "spark.openlineage.transprt.type=http")
    assert run("replay", "--spool", str(root), *conf)[2].splitlines() == [
        (
            "openlineage-pyspark: spark.openlineage.transprt.type is unknown and has no effect; "
            "did you mean spark.openlineage.transport.type?"
        ),
        "openlineage-pyspark: no transport is configured: name the receiver with --to URL",
    ]
    code, shown, errors = run("replay", "--spool", str(root), "--to", "http://user:pw12345@host")
    assert (code, shown) == (2, "")
    assert errors.startswith("openlineage-pyspark: spark.openlineage.transport.url")
    assert "pw12345" not in errors
    assert len(directories(root)) == 1


def test_a_spool_that_can_not_be_read_is_left_behind_and_said_to_be(root, replay, address, leave, run_of):
    leave(root, address, *run_of("START"))
    directory = directories(root)[0]
    (directory / DATABASE).write_bytes(b"no database at all, but long enough to be looked at" * 99)

    code, shown, _ = replay()

    assert code == 1
    assert f"{directory} can't be read: file is not a database\n" in shown


@pytest.mark.slow
def test_who_interrupts_a_replay_loses_nothing(root, nobody, leave, run_of):
    leave(root, "x", *run_of("START", "COMPLETE"))
    directory = directories(root)[0]
    command = [str(Path(sys.executable).with_name("openlineage-pyspark"))]
    command += ["replay", "--spool", str(root), "--to", nobody, "--patience", "600"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as replaying:
        while not is_held(directory):
            assert replaying.poll() is None
            time.sleep(0.05)
        replaying.send_signal(signal.SIGINT)
        try:
            _, errors = replaying.communicate(timeout=120)
        finally:
            replaying.kill()

    assert replaying.returncode == 130
    assert "Traceback" not in errors
    spool = Spool.take_over(directory)
    assert [each.event_type for each in spool.waiting()] == ["START", "COMPLETE"]
    spool.close()
