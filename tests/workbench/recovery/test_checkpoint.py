"""A checkpoint that is set back to an earlier micro-batch, on a copy."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import attrs
import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.errors import CheckpointError
from openlineage_pyspark.workbench.recovery.applying import checkpoint as checkpoints
from openlineage_pyspark.workbench.recovery.applying.checkpoint import (
    finish_move,
    problem_of_move,
    put_away,
    set_back,
    undone_sources,
)
from openlineage_pyspark.workbench.recovery.model.plan import CheckpointMove

OFFSET = {"sourceVersion": 1, "reservoirId": "a", "reservoirVersion": 4, "index": 2, "isStartingVersion": True}


def checkpoint(folder: Path) -> Path:
    """Return a checkpoint of four micro-batches, with state and a source of Delta Lake."""
    path = folder / "check"
    files = {"metadata": '{"id":"old"}', ".metadata.crc": "x", "sources/0/3": "v1"}
    for number in range(4):
        files[f"offsets/{number}"] = f"v1\n{{}}\n{json.dumps(OFFSET)}\n-"
        files[f"commits/{number}"] = "v1\n{}"
        files[f"commits/.{number}.crc"] = "x"
        files[f"state/0/1/{number + 1}.delta"] = "x"
        files[f"state/0/1/.{number + 1}.delta.crc"] = "x"
        files[f"state/1/0/{number + 1}_5e1.zip"] = "x"
    files["state/0/_metadata/9.x"] = "x"
    files["state/0/1/SSTs/000012-77.sst"] = "x"
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return path


def names(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def test_the_copy_loses_what_is_newer_and_gets_a_new_id(tmp_path: Path) -> None:
    path = checkpoint(tmp_path)
    before = names(path)

    said = set_back(path, 1, tmp_path / "kept")

    assert names(tmp_path / "kept") == before
    assert before - names(path) == {
        ".metadata.crc",
        *(f"offsets/{number}" for number in (2, 3)),
        *(f"commits/{name}" for number in (2, 3) for name in (str(number), f".{number}.crc")),
        *(f"state/0/1/{name}" for number in (3, 4) for name in (f"{number}.delta", f".{number}.delta.crc")),
        *(f"state/1/0/{number}_5e1.zip" for number in (3, 4)),
    }
    assert json.loads((path / "metadata").read_text())["id"] not in ("", "old")
    assert (tmp_path / "kept" / "metadata").read_text() == '{"id":"old"}'
    assert said == [
        "removed 2 offsets, 2 commits and 4 files of newer state",
        f"the old checkpoint is {tmp_path / 'kept'}",
    ]


def log_of(table: Path, *operations: str) -> Path:
    """Return a table of Delta Lake whose commits have these operations."""
    (table / "_delta_log").mkdir(parents=True)
    for version, operation in enumerate(operations):
        actions: list[dict[str, object]] = [{"commitInfo": {"operation": operation}}]
        actions += [{"metaData": {"id": "a"}}] if version == 0 else []
        text = "\n".join(map(json.dumps, actions))
        (table / "_delta_log" / f"{version:020}.json").write_text(text)
    return table


def test_a_source_of_delta_goes_on_after_its_restore(tmp_path: Path) -> None:
    path, table = checkpoint(tmp_path), log_of(tmp_path / "t", "CREATE", *["WRITE"] * 4, "RESTORE", "WRITE")

    set_back(path, 1, tmp_path / "kept", [table])

    moved = {**OFFSET, "reservoirVersion": 6, "index": -1, "isStartingVersion": False}
    for number in (0, 1):
        lines = (path / "offsets" / str(number)).read_text().split("\n")
        assert (lines[:2], json.loads(lines[2]), lines[3:]) == (["v1", "{}"], moved, ["-"])


def test_a_source_of_delta_of_which_nothing_was_removed_is_read_on_where_it_was(tmp_path: Path) -> None:
    """Runs that wrote no rows made no version, so that the RESTORE made none either."""
    path, table = checkpoint(tmp_path), log_of(tmp_path / "t", "CREATE", "WRITE", "WRITE")
    move = CheckpointMove(str(path), 1, ((str(table), "2"),), 3)

    assert undone_sources(move) == []
    assert undone_sources(attrs.evolve(move, restored=((str(table), "1"), (str(table), "")))) == [table, table]
    # An older commit that removed rows is none that the query has not passed.
    old = log_of(tmp_path / "u", "CREATE", "DELETE", "WRITE")
    set_back(path, 1, tmp_path / "kept", [old])
    assert json.loads((path / "offsets" / "1").read_text().splitlines()[2]) == OFFSET


@pytest.mark.parametrize(
    ("batch", "operations", "problem"),
    [
        (7, ("CREATE", "RESTORE"), "has no micro-batch 7: it has 0 to 3"),
        (1, ("CREATE", "WRITE"), "has not been restored or emptied"),
    ],
)
def test_nothing_is_changed_if_it_can_not_be_done(
    tmp_path: Path, batch: int, operations: tuple[str, ...], problem: str
) -> None:
    path, table = checkpoint(tmp_path), log_of(tmp_path / "t", *operations)
    before = names(tmp_path)

    with pytest.raises(CheckpointError, match=problem):
        set_back(path, batch, tmp_path / "kept", [table])
    assert names(tmp_path) == before


def test_a_table_that_the_query_does_not_read_is_refused(tmp_path: Path) -> None:
    path, table = checkpoint(tmp_path), log_of(tmp_path / "t", "CREATE", "RESTORE")
    first = table / "_delta_log" / f"{0:020}.json"
    first.write_text(first.read_text().replace('"a"', '"b"'))
    before = names(tmp_path)

    with pytest.raises(CheckpointError, match="the query does not read the table at"):
        set_back(path, 1, tmp_path / "kept", [table])
    assert names(tmp_path) == before


def test_the_command_says_what_it_did_and_never_replaces_what_it_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = checkpoint(tmp_path)

    assert main(["checkpoint", str(path), "--back-to", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "removed 1 offsets, 1 commits and 2 files of newer state"
    assert main(["checkpoint", str(path), "--back-to", "1"]) == 2
    assert "already exists: move it away first" in capsys.readouterr().err


def iceberg_of(table: Path, current: int) -> Path:
    """Return a table of Iceberg with the snapshots 1, 2 after it, and 3 after 1; each added two files."""
    snapshots = [
        {"snapshot-id": id_, "summary": {"added-data-files": "2"}, **({"parent-snapshot-id": parent} if parent else {})}
        for id_, parent in ((1, 0), (2, 1), (3, 1))
    ]
    (table / "metadata").mkdir(parents=True)
    metadata = {"current-snapshot-id": current, "snapshots": snapshots}
    (table / "metadata" / "v3.metadata.json").write_text(json.dumps(metadata))
    return table


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        ({"snapshot_id": 1, "position": 1}, {"snapshot_id": 1, "position": 1}),
        ({"snapshot_id": 2, "position": 0}, {"snapshot_id": 1, "position": 2}),
    ],
)
def test_a_source_of_iceberg_goes_on_in_the_history_that_is_left(
    tmp_path: Path, offset: dict[str, int], expected: dict[str, int]
) -> None:
    path, table = checkpoint(tmp_path), iceberg_of(tmp_path / "t", 3)
    (path / "offsets" / "1").write_text(f"v1\n{{}}\n{json.dumps(offset)}")

    set_back(path, 1, tmp_path / "kept", [table])
    assert json.loads((path / "offsets" / "1").read_text().split("\n")[2]) == expected


def test_a_micro_batch_that_read_what_was_rolled_back_is_refused(tmp_path: Path) -> None:
    path, table = checkpoint(tmp_path), iceberg_of(tmp_path / "t", 3)
    (path / "offsets" / "1").write_text(f"v1\n{{}}\n{json.dumps({'snapshot_id': 2, 'position': 1})}")
    before = names(tmp_path)

    with pytest.raises(CheckpointError, match=r"the micro-batch read snapshot 2 of .*, which was rolled back"):
        set_back(path, 1, tmp_path / "kept", [table])
    assert names(tmp_path) == before


@pytest.mark.parametrize(
    ("offset", "problem"),
    [
        ({"snapshot_id": 1, "position": 2}, ""),
        ({"snapshot_id": 2, "position": 0}, ""),
        ({"snapshot_id": 2, "position": 1}, "the micro-batch read snapshot 2 of "),
        ({"snapshot_id": 9, "position": 2}, "the last remaining micro-batch ended at a snapshot that "),
    ],
)
def test_a_micro_batch_of_iceberg_whose_end_is_gone_is_refused_before_anything_is_done(
    tmp_path: Path, offset: dict[str, int], problem: str
) -> None:
    path, table = checkpoint(tmp_path), iceberg_of(tmp_path / "t", current=2)
    (path / "offsets" / "1").write_text(f"v1\n{{}}\n{json.dumps(offset)}")

    found = problem_of_move(CheckpointMove(str(path), 1, ((str(table), "1"),)))
    assert found.startswith(problem)
    assert bool(found) is bool(problem)


def restored_to(folder: Path, version: str) -> Path:
    """Return a table of Delta Lake that was restored to a version."""
    table = log_of(folder / "t", "CREATE", "WRITE", "WRITE", "WRITE", "WRITE")
    commit = {"operation": "RESTORE", "operationParameters": {"version": version, "timestamp": None}}
    (table / "_delta_log" / f"{5:020}.json").write_text(json.dumps({"commitInfo": commit}))
    return table


@pytest.mark.parametrize(
    ("begins", "index", "version", "ends"),
    [
        (4, -1, "3", "there"),
        *((*each, "elsewhere") for each in ((3, -1, "3"), (5, -1, "3"), (4, 2, "3"), (4, -1, "2"))),
    ],
)
def test_a_query_that_did_not_end_at_the_version_of_the_restore_is_refused(
    tmp_path: Path, begins: int, index: int, version: str, ends: str
) -> None:
    """After the RESTORE it would skip rows that it has not read, or keep rows that are gone."""
    path, table = checkpoint(tmp_path), restored_to(tmp_path, version)
    offset = {**OFFSET, "reservoirVersion": begins, "index": index, "isStartingVersion": False}
    (path / "offsets" / "1").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n-")
    before = names(path)
    move = CheckpointMove(str(path), 1, ((str(table), version),))

    is_refused = ends == "elsewhere"
    assert bool(problem_of_move(move)) == is_refused
    if is_refused:
        with pytest.raises(CheckpointError, match="rows would be skipped"):
            set_back(path, 1, tmp_path / "kept", [table])
        assert (names(path), (path / "metadata").read_text()) == (before, '{"id":"old"}')
        assert not (tmp_path / "kept").exists()
    else:
        set_back(path, 1, tmp_path / "kept", [table])
        assert json.loads((path / "offsets" / "1").read_text().split("\n")[2])["reservoirVersion"] == 6


def test_a_restore_to_a_time_does_not_show_where_a_query_must_have_ended(tmp_path: Path) -> None:
    path, table = checkpoint(tmp_path), log_of(tmp_path / "t", "CREATE", "WRITE")
    commit = {"operation": "RESTORE", "operationParameters": {"version": None, "timestamp": "2026-01-01"}}
    (table / "_delta_log" / f"{2:020}.json").write_text(json.dumps({"commitInfo": commit}))
    before = names(path)

    with pytest.raises(CheckpointError, match="was restored to a time, and its log does not state to which version"):
        set_back(path, 1, tmp_path / "kept", [table])
    assert names(path) == before


@pytest.mark.parametrize(("has_read", "problem"), [(True, "has the micro-batch 3"), (False, "")])
def test_a_micro_batch_that_the_store_does_not_know_is_no_problem_if_it_read_nothing(
    tmp_path: Path, problem: str, *, has_read: bool
) -> None:
    path = checkpoint(tmp_path)
    if has_read:
        (path / "offsets" / "3").write_text(f"v1\n{{}}\n{json.dumps({**OFFSET, 'reservoirVersion': 5})}\n-")

    found = problem_of_move(CheckpointMove(str(path), 1, (), 2))
    assert problem in found
    assert bool(found) is has_read


def test_a_checkpoint_that_is_gone_is_a_problem_only_where_a_query_goes_back(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")

    assert problem_of_move(CheckpointMove(gone, 2, (), 2)) == ""
    assert problem_of_move(CheckpointMove(gone, 1, (), 2)) == f"there is no checkpoint at {gone}"


POINTS = ["copytree", "_cut", "_cut_state", "_identify", "_refuse_if_written", "_exchange", "rename"]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_kill_at_any_point_leaves_a_whole_checkpoint_and_what_was_begun_is_finished(
    tmp_path: Path, point: str, when: str, batch: int
) -> None:
    path, kept = checkpoint(tmp_path), tmp_path / "check.before-recovery"
    before = names(path)
    child = os.fork()
    if not child:
        owner = {"copytree": shutil, "rename": Path}.get(point, checkpoints)
        function = getattr(owner, point)

        def killed(*arguments: object, **named: object) -> None:
            None if when == "before" else function(*arguments, **named)
            os._exit(9)

        setattr(owner, point, killed)
        set_back(path, batch, kept)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9

    left = sorted(int(each.name) for each in (path / "commits").iterdir() if each.name.isdecimal())
    assert left in ([0, 1, 2, 3], [0, 1])
    assert names(path) >= {f"offsets/{number}" for number in left} | {"metadata"}
    is_done = finish_move(CheckpointMove(str(path), batch))
    assert is_done is (point == "rename" or (point, when) == ("_exchange", "after"))
    if not is_done:
        set_back(path, batch, kept)
    assert names(kept) == before
    assert (kept / "metadata").read_text() == '{"id":"old"}'
    assert {each for each in names(path) if each.startswith("offsets")} == {f"offsets/{n}" for n in range(batch + 1)}
    assert json.loads((path / "metadata").read_text())["id"] not in ("", "old")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["check", "check.before-recovery"]


def test_a_checkpoint_that_was_put_away_is_not_put_away_again(tmp_path: Path) -> None:
    path = checkpoint(tmp_path)
    move = CheckpointMove(str(path), None)
    assert not finish_move(move)

    put_away(path)

    assert finish_move(move)
    assert problem_of_move(move) != ""


def test_a_checkpoint_that_is_written_meanwhile_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = checkpoint(tmp_path)
    identify = checkpoints._identify

    def written(copy: Path) -> None:
        identify(copy)
        (path / "offsets" / "4").write_text("v1")

    monkeypatch.setattr(checkpoints, "_identify", written)
    with pytest.raises(CheckpointError, match="still writes"):
        set_back(path, 1, tmp_path / "kept")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["check"]
    assert (path / "metadata").read_text() == '{"id":"old"}'


@pytest.mark.parametrize("place", ["check/kept", ".", "check"])
def test_the_old_one_is_not_kept_within_the_checkpoint_or_around_it(tmp_path: Path, place: str) -> None:
    path = checkpoint(tmp_path)
    before = names(tmp_path)

    with pytest.raises(CheckpointError, match=r"it is inside|is there already"):
        set_back(path, 1, tmp_path / place)
    assert names(tmp_path) == before
