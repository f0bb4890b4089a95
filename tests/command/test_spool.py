"""`spool ls`, on a real spool."""

from __future__ import annotations

import re

import pytest
from openlineage_pyspark.command.delivery.spool import age
from openlineage_pyspark.transport.spool.place import DATABASE, UNREADABLE, directories
from openlineage_pyspark.transport.spool.store import Spool
from support.valid_answers import valid_answer

NOBODY = (
    "openlineage-pyspark: Delete them? There is no terminal on which to ask: add --yes\n"
    "openlineage-pyspark: nothing was done\n"
)


def test_what_each_application_has_in_the_spool_is_listed(root, run, leave, run_of):
    first = leave(root, "http://one/api", *run_of("START", "COMPLETE"), name="Shop Report")
    second = leave(root, "http://two/api", *run_of("START"), owner_lives=True)

    code, shown, errors = run("spool", "ls", "--spool", str(root))

    second.close()
    assert (code, errors) == (0, "")
    size = sum(len(each.body) for each in run_of("START", "COMPLETE"))
    parts = [re.sub(r"  +", "  ", re.sub(r"\d+ s ", "0 s ", part)) for part in shown.split("\n\n")]
    assert parts[0] == str(root)
    # Two of one second are in no order.
    assert sorted(part.rstrip() for part in parts[1:]) == [
        (
            "to http://one/api\n  waiting  refused  size  oldest  state  application, id\n"
            f"  2  0  {size} bytes  0 s  ended  Shop Report\n  {first.directory.name}"
        ),
        (
            "to http://two/api\n  waiting  refused  size  oldest  state  application, id\n"
            f"  1  0  {len(run_of('START')[0].body)} bytes  0 s  running  {second.directory.name}"
        ),
    ]


def test_at_80_columns_the_receiver_and_the_id_are_whole(root, run, leave, run_of, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    receiver = f"https://lineage.example.com/{'tenant/' * 6}api/v1/lineage"
    spool = leave(root, receiver, *run_of("START", "COMPLETE"), name="A report with a long name, of the shop and all")

    lines = run("spool", "ls", "--spool", str(root))[1].splitlines()

    assert f"to {receiver}" in "".join(line.strip() if at else line for at, line in enumerate(lines))
    assert [line for line in lines if line.strip() == spool.directory.name]
    assert max(len(line) for line in lines if "tenant" not in line and str(root) not in line) <= 80


def test_programs_get_json(root, run, leave, run_of):
    spool = leave(root, "http://one/api", *run_of("START"), name="for bo:pa55word@db://bo:pa55word@host/x")

    code, shown, _ = run("spool", "ls", "--spool", str(root), "--format", "json", "--dead")

    assert code == 0
    found = valid_answer(shown)["result"]
    [listed] = found["applications"]
    assert isinstance(listed.pop("oldest"), float)
    assert "pa55word@host" not in listed.pop("application")
    assert found | {"applications": []} == {
        "type": "spool", "spool": str(root), "applications": [], "damaged": [],
    }  # fmt: skip
    assert listed == {
        "id": spool.directory.name, "to": "http://one/api", "running": False, "waiting": 1, "refused": 0,
        "bytes": len(run_of("START")[0].body), "problem": "", "otherSender": False,
    }  # fmt: skip


def test_rm_says_what_it_would_delete_and_deletes_only_with_a_yes(root, run, leave, run_of):
    spool = leave(root, "x", *run_of("START", "COMPLETE"))
    other = leave(root, "x", *run_of("START"))
    name = spool.directory.name

    content = f"2 waiting events and 0 refused events of {name}\n"
    assert run("spool", "rm", name, "--dry-run", "--spool", str(root)) == (0, content, "")
    assert run("spool", "rm", name, "--spool", str(root)) == (1, content, NOBODY)
    assert len(directories(root)) == 2
    assert run("spool", "rm", name, "--yes", "--spool", str(root)) == (0, f"{content}deleted {name}\n", "")
    assert directories(root) == [other.directory]
    assert [path.name for path in root.iterdir()] == [other.directory.name]


def test_rm_deletes_what_was_damaged(root, run, leave, run_of):
    directory = leave(root, "x", *run_of("START")).directory
    aside = directory.rename(directory.with_name(directory.name + UNREADABLE))

    content = f"the unreadable events of {aside.name}\n"
    assert run("spool", "rm", aside.name, "--dry-run", "--spool", str(root)) == (0, content, "")
    assert aside.exists()
    assert run("spool", "rm", aside.name, "--yes", "--spool", str(root)) == (0, f"{content}deleted {aside.name}\n", "")
    assert [*root.iterdir()] == []


def test_rm_keeps_what_a_running_application_has_and_names_what_is_not_there(root, run, leave, run_of):
    spool = leave(root, "x", *run_of("START"), owner_lives=True)
    name = spool.directory.name

    assert run("spool", "rm", name, "../x", "--yes", "--spool", str(root)) == (
        1,
        "",
        (
            f"openlineage-pyspark: {name} is kept: the application is running\n"
            f"openlineage-pyspark: {root} holds no application ../x: "
            f"`openlineage-pyspark spool ls --spool {root}` lists the ids\n"
        ),
    )
    assert directories(root) == [spool.directory]
    spool.close()


def test_an_empty_spool_and_one_that_is_not_there_yet_are_said_to_be_so(root, run):
    """An application creates the configured spool when it needs it."""
    assert run("spool", "ls", "-c", f"spark.openlineage.spool.path={root}") == (0, f"no events in {root}\n", "")
    assert not root.exists()
    root.mkdir()
    assert run("spool", "ls", "--spool", str(root)) == (0, f"no events in {root}\n", "")


@pytest.mark.parametrize("command", [("spool", "ls"), ("replay", "--to", "file:out.ndjson")])
def test_a_directory_that_is_named_and_not_there_is_a_wrong_command_line(root, run, capsys, command):
    """The path is mistyped: it is not an empty spool."""
    root.write_text("")

    for wrong, why in ((root, "Not a directory"), (root.with_name("sp00l"), "No such file or directory")):
        with pytest.raises(SystemExit, match="2"):
            run(*command, "--spool", str(wrong))
        assert capsys.readouterr().err.endswith(f": error: argument --spool: {wrong} can't be read: {why}\n")


@pytest.mark.parametrize("command", [("spool", "ls"), ("replay", "--to", "file:out.ndjson")])
def test_a_configured_spool_in_the_home_of_nobody_is_told(run, machine, command):
    code, shown, errors = run(*command, "-c", "spark.openlineage.spool.path=~nobody_of_this_name/spool")

    assert (code, shown) == (2, "")
    assert errors.startswith("openlineage-pyspark: ~nobody_of_this_name/spool can't be found (")
    assert [*machine.iterdir()] == []


@pytest.mark.parametrize("command", [("spool", "ls"), ("replay", "--to", "file:out.ndjson")])
def test_a_configured_spool_that_is_no_directory_is_told(root, run, command):
    root.write_text("")

    code, shown, errors = run(*command, "-c", f"spark.openlineage.spool.path={root}")

    assert (code, shown, errors) == (2, "", f"openlineage-pyspark: {root} can't be read: Not a directory\n")


def test_with_the_spool_switched_off_the_default_one_is_looked_into(tmp_path, run, leave, run_of):
    """Earlier applications may have left events there."""
    default = tmp_path / "home/.local/state/openlineage-pyspark/spool"
    leave(default, "x", *run_of("START"))

    code, shown, _ = run("spool", "ls", "-c", "spark.openlineage.spool.path=none")

    assert (code, shown.splitlines()[0]) == (0, str(default))


def test_without_a_directory_the_configured_one_is_looked_into_and_else_the_default(tmp_path, root, run, leave, run_of):
    leave(root, "x", *run_of("START"))
    default = tmp_path / "home/.local/state/openlineage-pyspark/spool"

    assert run("spool", "ls")[1] == f"no events in {default}\n"
    assert run("spool", "ls", "-c", f"spark.openlineage.spool.path={root}")[1].splitlines()[0] == str(root)


def test_refused_events_are_listed_with_what_was_answered(root, run, run_of):
    spool = Spool.create(root, "http://one/api")
    spool.bury(spool.append(*run_of("START", run_id="a")), "http://one/api answered 400", "runId is no UUID", 1000)
    spool.close()

    code, shown, _ = run("spool", "ls", "--spool", str(root), "--dead")

    assert code == 0
    _, listed, dead = shown.split("\n\n")
    assert re.split(r"  +", listed.splitlines()[2].strip())[:2] == ["0", "1"]
    assert re.sub(r"\d+ s", "0 s", dead) == (
        f"refused, of {directories(root)[0].name}\n"
        "  event  since  run  why\n"
        "  START    0 s  a    http://one/api answered 400\n"
        "                     -> runId is no UUID\n"
    )


def test_a_damaged_spool_is_named_and_is_the_exit_code(root, run, leave, run_of):
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
    assert (code, shown) == (1, f"no events in {root}\n")
    assert errors == (
        f"openlineage-pyspark: {directory}{UNREADABLE} was damaged and set aside; its events are not sent any more. "
        f"`openlineage-pyspark spool rm {directory.name}{UNREADABLE}` deletes it\n"
    )


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0 s"), (59.9, "59 s"), (60, "1 min"), (7300, "2 h"), (2e5, "2 d")])
def test_an_age_is_written_in_its_greatest_unit(seconds, text):
    assert age(seconds) == text


def test_what_the_spool_does_not_hold_is_not_offered_to_be_deleted(root, run, leave, run_of):
    leave(root, "http://receiver", *run_of("START"))
    listing = f"`openlineage-pyspark spool ls --spool {root}` lists the ids"
    unknown = f"openlineage-pyspark: {root} holds no application nonsense: {listing}\n"

    assert run("spool", "rm", "nonsense", "--spool", str(root)) == (1, "", unknown)
