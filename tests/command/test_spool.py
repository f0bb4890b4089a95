"""`spool ls`, on a real spool."""

from __future__ import annotations

import re

import pytest
from openlineage_pyspark.command.spool import age
from openlineage_pyspark.transport.spool.place import DATABASE, UNREADABLE, directories
from openlineage_pyspark.transport.spool.store import Spool


def test_what_each_application_has_in_the_spool_is_listed(root, run, leave, run_of):
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
        [second.directory.name, "running", "1", "0", f"{len(run_of('START')[0].body)} bytes", "0 s", "http://two/api"],
    ]


def test_an_empty_spool_and_one_that_is_not_there_yet_are_said_to_be_so(root, run):
    """An application makes the configured one when it needs it."""
    assert run("spool", "ls", "-c", f"spark.openlineage.spool.path={root}") == (0, f"nothing in {root}\n", "")
    assert not root.exists()
    root.mkdir()
    assert run("spool", "ls", "--spool", str(root)) == (0, f"nothing in {root}\n", "")


@pytest.mark.parametrize("command", [("spool", "ls"), ("replay", "--to", "file:out.ndjson")])
def test_a_directory_that_is_named_and_not_there_is_a_wrong_command_line(root, run, capsys, command):
    """It is a slip of the hand, and not an empty spool."""
    root.write_text("")

    for wrong, why in ((root, "Not a directory"), (root.with_name("sp00l"), "it is not there")):
        with pytest.raises(SystemExit, match="2"):
            run(*command, "--spool", str(wrong))
        assert capsys.readouterr().err.endswith(f": error: argument --spool: {wrong} can't be read ({why})\n")


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

    assert (code, shown, errors) == (2, "", f"openlineage-pyspark: {root} can't be read (Not a directory)\n")


def test_with_the_spool_switched_off_the_default_one_is_looked_into(tmp_path, run, leave, run_of):
    """Something may have been left there before that."""
    default = tmp_path / "home/.local/state/openlineage-pyspark/spool"
    leave(default, "x", *run_of("START"))

    code, shown, _ = run("spool", "ls", "-c", "spark.openlineage.spool.path=none")

    assert (code, shown.splitlines()[0]) == (0, str(default))


def test_without_a_directory_the_configured_one_is_looked_into_and_else_the_default(tmp_path, root, run, leave, run_of):
    leave(root, "x", *run_of("START"))
    default = tmp_path / "home/.local/state/openlineage-pyspark/spool"

    assert run("spool", "ls")[1] == f"nothing in {default}\n"
    assert run("spool", "ls", "-c", f"spark.openlineage.spool.path={root}")[1].splitlines()[0] == str(root)


def test_refused_events_are_listed_with_what_was_answered(root, run, run_of):
    spool = Spool.create(root, "http://one/api")
    spool.bury(spool.append(*run_of("START", run_id="a")), "http://one/api answered 400", "runId is no UUID", 1000)
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
    assert (code, shown) == (1, f"nothing in {root}\n")
    assert errors == (
        f"openlineage-pyspark: {directory}{UNREADABLE} was damaged and set aside; nothing in it is sent any more\n"
    )


@pytest.mark.parametrize(("seconds", "text"), [(-1, "0 s"), (59.9, "59 s"), (60, "1 min"), (7300, "2 h"), (2e5, "2 d")])
def test_an_age_is_written_in_its_greatest_unit(seconds, text):
    assert age(seconds) == text
