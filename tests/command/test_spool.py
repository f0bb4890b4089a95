"""`spool ls` and `replay`, on a real spool and a real receiver."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from openlineage_pyspark.command.spool_state import age
from openlineage_pyspark.transport import Event
from openlineage_pyspark.transport.spool import Spool
from openlineage_pyspark.transport.spool_place import DATABASE, UNREADABLE, directories, is_held


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch, tmp_path):
    """Leave out what the machine has configured."""
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def event(kind, run_id, parent=None):
    body = {"eventType": kind, "run": {"runId": run_id}, "job": {"namespace": "shop", "name": f"job {run_id}"}}
    return Event(run_id, kind, json.dumps(body).encode(), parent)


def leave(root, destination, *events, owner_lives=False):
    """Leave events behind as an application does that has ended, or as one that still runs."""
    spool = Spool.create(root, destination)
    for each in events:
        spool.append(each)
    if not owner_lives:
        spool.close()
    return spool


def run_of(*kinds, run_id="a", parent=None):
    return [event(kind, run_id, parent) for kind in kinds]


@pytest.fixture
def root(tmp_path):
    return tmp_path / "spool"


@pytest.fixture
def replay(run, root, receiver):
    """Give what replays to the receiver as it would be configured."""

    def call(*arguments):
        conf = ("-c", "spark.openlineage.transport.type=http", "-c", f"spark.openlineage.transport.url={receiver.url}")
        return run("replay", "--spool", str(root), *conf, *arguments)

    return call


@pytest.fixture
def address(receiver):
    return f"{receiver.url}/api/v1/lineage"


def order(receiver):
    return [(each["run"]["runId"], each["eventType"]) for each in receiver.events]


def test_what_each_application_has_in_the_spool_is_listed(root, run):
    first = leave(root, "http://one/api", *run_of("START", "COMPLETE"))
    second = leave(root, "http://two/api", *run_of("START"), owner_lives=True)

    code, shown, errors = run("spool", "ls", "--spool", str(root))

    second.close()
    assert (code, errors) == (0, "")
    lines = [re.split(r"  +", re.sub(r"\d+ s ", "0 s ", line).strip()) for line in shown.splitlines()]
    assert lines[:2] == [[str(root)], ["application", "owner", "waiting", "refused", "size", "oldest", "to"]]
    size = sum(len(each.body) for each in run_of("START", "COMPLETE"))
    # Two of one second are in no order.
    assert sorted(lines[2:], key=lambda line: line[-1]) == [
        [first.directory.name, "gone", "2", "0", f"{size} bytes", "0 s", "http://one/api"],
        [second.directory.name, "running", "1", "0", f"{len(event('START', 'a').body)} bytes", "0 s", "http://two/api"],
    ]


def test_an_empty_or_absent_spool_is_said_to_be_so(root, run):
    assert run("spool", "ls", "--spool", str(root)) == (0, f"nothing in {root}\n", "")
    assert not root.exists()


def test_without_a_directory_the_configured_one_is_looked_into_and_else_the_default(tmp_path, root, run):
    leave(root, "x", *run_of("START"))
    default = tmp_path / "home/.local/state/openlineage-pyspark/spool"

    assert run("spool", "ls")[1] == f"nothing in {default}\n"
    assert run("spool", "ls", "-c", f"spark.openlineage.spool.path={root}")[1].splitlines()[0] == str(root)


def test_refused_events_are_listed_with_what_was_answered(root, run):
    spool = Spool.create(root, "http://one/api")
    spool.bury(spool.append(event("START", "a")), "http://one/api answered 400", "runId is no UUID")
    spool.close()

    code, shown, _ = run("spool", "ls", "--spool", str(root), "--dead")

    assert code == 0
    listed, dead = shown.split("\n\n")
    assert re.split(r"  +", listed.splitlines()[2].strip())[2:4] == ["0", "1"]
    assert re.sub(r"\d+ s", "0 s", dead) == (
        f"refused, of {directories(root)[0].name}\n"
        "  event  since  run  why\n"
        "  START    0 s  a    http://one/api answered 400\n"
        "                     -> runId is no UUID\n"
    )


def test_a_damaged_spool_is_named_and_is_the_exit_code(root, run):
    leave(root, "x", *run_of("START"))
    directory = directories(root)[0]
    (directory / DATABASE).write_bytes(b"no database at all, but long enough to be looked at" * 99)
    for other in directory.glob(f"{DATABASE}-*"):
        other.unlink()

    code, shown, _ = run("spool", "ls", "--spool", str(root))

    assert code == 1
    assert "can't be read: file is not a database" in shown
    directory.rename(directory.with_name(directory.name + UNREADABLE))
    code, shown, errors = run("spool", "ls", "--spool", str(root))
    assert (code, shown) == (1, f"nothing in {root}\n")
    assert errors == (
        f"openlineage-pyspark: {directory}{UNREADABLE} was damaged and set aside; nothing in it is sent any more\n"
    )


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0 s"), (59.9, "59 s"), (60, "1 min"), (7300, "2 h"), (2e5, "2 d")])
def test_an_age_is_written_in_its_greatest_unit(seconds, text):
    assert age(seconds) == text


def test_replay_ships_what_was_left_in_order_and_leaves_nothing(root, replay, receiver, address):
    """A parent's START goes before its children's, and the events of each run in their order."""
    leave(root, address, event("START", "app"), *run_of("START", "RUNNING", "COMPLETE", parent="app"))
    leave(root, address, *run_of("START", "FAIL", run_id="b"))

    assert replay() == (0, f"6 of 6 events are at {address}\n", "")
    sent = order(receiver)
    assert [kind for run_id, kind in sent if run_id == "a"] == ["START", "RUNNING", "COMPLETE"]
    assert [kind for run_id, kind in sent if run_id == "b"] == ["START", "FAIL"]
    assert sent.index(("app", "START")) < sent.index(("a", "START"))
    assert len(sent) == 6
    assert directories(root) == []
    assert replay() == (0, f"nothing in {root} waits for {address}\n", "")
    assert len(receiver.received) == 6


def test_the_installed_command_replays(root, receiver, address, installed):
    leave(root, address, *run_of("START", "COMPLETE"))

    done = installed("replay", "--spool", str(root), "--to", receiver.url)

    assert done == (0, f"2 of 2 events are at {address}\n", "")
    assert order(receiver) == [("a", "START"), ("a", "COMPLETE")]


def test_what_a_running_application_has_is_its_own_to_ship(root, replay, receiver, address):
    alive = leave(root, address, *run_of("START"), owner_lives=True)

    assert replay() == (0, f"nothing in {root} waits for {address}\n", "")
    assert receiver.received == []
    assert len(alive.waiting()) == 1
    alive.close()


def test_what_is_meant_for_another_receiver_stays_and_is_shipped_by_name(root, replay, receiver, address):
    leave(root, "http://elsewhere/api/v1/lineage", *run_of("START", "COMPLETE"))

    assert replay() == (
        1,
        f"nothing in {root} waits for {address}\n2 wait in {root}: openlineage-pyspark spool ls\n",
        "",
    )
    assert replay("--to", receiver.url) == (0, f"2 of 2 events are at {address}\n", "")
    assert order(receiver) == [("a", "START"), ("a", "COMPLETE")]


def test_a_receiver_that_is_away_leaves_everything_where_it_is(root, run, nobody):
    leave(root, "x", *run_of("START", "COMPLETE"))

    code, shown, _ = run("replay", "--spool", str(root), "--to", nobody, "--patience", "0.5")

    assert code == 1
    assert shown == (f"0 of 2 events are at {nobody}/api/v1/lineage\n2 wait in {root}: openlineage-pyspark spool ls\n")
    spool = Spool.adopt(directories(root)[0])
    assert [(each.run_id, each.event_type) for each in spool.waiting()] == [("a", "START"), ("a", "COMPLETE")]
    spool.close()


def test_what_the_receiver_refuses_is_told_and_tried_again_on_request(root, replay, receiver, address):
    leave(root, address, *run_of("START", "COMPLETE"))
    receiver.status, receiver.text = 422, "no such namespace"

    assert replay()[:2] == (
        1,
        f"0 of 2 events are at {address}\n2 were refused for good: openlineage-pyspark spool ls --dead\n",
    )
    receiver.status = 201
    assert replay() == (0, f"nothing in {root} waits for {address}\n", "")
    assert replay("--dead") == (0, f"2 of 2 events are at {address}\n", "")
    assert order(receiver)[2:] == [("a", "START"), ("a", "COMPLETE")]


KEY = ("-c", "spark.openlineage.transport.auth.type=api_key", "-c", "spark.openlineage.transport.auth.apiKey=s3cretkey")


def test_the_configured_login_goes_to_the_configured_server_alone(root, replay, receiver, run):
    """Whatever else is named by --to gets the events and no key."""
    leave(root, "x", *run_of("START"))
    assert replay(*KEY, "--to", f"{receiver.url}/base")[0] == 0
    leave(root, "x", *run_of("START"))
    elsewhere = ("-c", "spark.openlineage.transport.type=http", "-c", "spark.openlineage.transport.url=http://other")
    assert run("replay", "--spool", str(root), *elsewhere, *KEY, "--to", receiver.url)[0] == 0

    assert [(path, headers.get("Authorization")) for _, path, headers, _ in receiver.received] == [
        ("/base/api/v1/lineage", "Bearer s3cretkey"),
        ("/api/v1/lineage", None),
    ]


def test_a_file_takes_them_too(root, run, tmp_path):
    leave(root, "x", *run_of("START", "COMPLETE"))
    file = tmp_path / "out.ndjson"

    assert run("replay", "--spool", str(root), "--to", f"file:{file}") == (0, f"2 of 2 events are at file {file}\n", "")
    assert [json.loads(line)["eventType"] for line in file.read_text().splitlines()] == ["START", "COMPLETE"]


def test_without_a_receiver_nothing_is_touched(root, run):
    leave(root, "x", *run_of("START"))

    assert run("replay", "--spool", str(root)) == (
        2, "", "openlineage-pyspark: no transport is configured: name the receiver with --to URL\n"
    )  # fmt: skip
    code, shown, errors = run("replay", "--spool", str(root), "--to", "http://user:pw12345@host")
    assert (code, shown) == (2, "")
    assert errors.startswith("openlineage-pyspark: spark.openlineage.transport.url")
    assert "pw12345" not in errors
    assert len(directories(root)) == 1


def test_a_spool_that_can_not_be_read_is_left_behind_and_said_to_be(root, replay, address):
    leave(root, address, *run_of("START"))
    directory = directories(root)[0]
    (directory / DATABASE).write_bytes(b"no database at all, but long enough to be looked at" * 99)

    code, shown, _ = replay()

    assert code == 1
    assert f"{directory} can't be read (file is not a database)\n" in shown


def test_who_interrupts_a_replay_loses_nothing(root, nobody):
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
    spool = Spool.adopt(directory)
    assert [each.event_type for each in spool.waiting()] == ["START", "COMPLETE"]
    spool.close()
