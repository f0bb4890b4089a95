"""
Reset the checkpoint of a streaming query to an earlier micro-batch, on a copy.

A checkpoint has a file for each micro-batch in `offsets` (where its sources end) and in `commits` (it is done), and the
versions of the state in `state`: a micro-batch n begins with version n and makes version n + 1
(org.apache.spark.sql.execution.streaming.MicroBatchExecution).
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import CheckpointError

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.plan import CheckpointMove


_KEPT = ".before-recovery"
_COPY = ".recovering"
# In a copy: the id of the query whose checkpoint it replaces. Spark ignores this file.
_REPLACES = ".replaces"
# linux/fs.h, linux/fcntl.h
_RENAME_EXCHANGE = 2
_HERE = -100
_UNDOING = frozenset({"RESTORE", "DELETE", "TRUNCATE"})


def kept_place(path: Path) -> Path:
    """Return the default folder for the old checkpoint."""
    return path.with_name(f"{path.name}{_KEPT}")


def _copy_place(path: Path) -> Path:
    return path.with_name(f"{path.name}{_COPY}")


def put_away(path: Path) -> list[str]:
    """
    Move a checkpoint away, so that its query starts from scratch.

    Returns:
        The actions, as sentences.

    Raises:
        CheckpointError: it can't be done. Nothing was changed.
    """
    kept = kept_place(path)
    if kept.exists():
        raise CheckpointError(f"{kept} already exists: move it away first")
    path.rename(kept)
    return [f"the old checkpoint is {kept}"]


def problem_of_move(move: CheckpointMove) -> str:
    """
    Return why a checkpoint can't be moved as a plan requires; empty if it can. Nothing is changed.

    Args:
        move: how it is moved, after its sources were rolled back.
    """
    path = Path(move.path)
    if not path.is_dir():
        # A query that nothing repeats may have been given up.
        return "" if move.keeps_all else f"there is no checkpoint at {path}"
    if kept_place(path).exists():
        return f"{kept_place(path)} already exists: if the checkpoint was not reset before, move that away"
    if problem := _unknown_batch(path, move.last):
        return problem
    if move.back_to is None:
        return ""
    if move.back_to not in _numbers(path / "commits") or move.back_to not in _numbers(path / "offsets"):
        return f"{path} has no micro-batch {move.back_to}: recover with --mode full"
    try:
        for table, version in move.restored:
            _refuse_gaps(Path(table), path / "offsets" / str(move.back_to), version)
    except CheckpointError as problem:
        return str(problem)
    return ""


def undone_sources(move: CheckpointMove) -> list[Path]:
    """
    Return the folders of the tables from which something was removed for a move.

    A RESTORE of the newest version of a Delta table removes nothing, and makes no commit after which a query continues.

    Args:
        move: how a checkpoint is moved, after its sources were rolled back.
    """
    places = ((Path(table), version) for table, version in move.restored)
    return [table for table, version in places if not version or [f"{int(version):020}"] != _commits(table)[-1:]]


def _commits(table: Path) -> list[str]:
    """Return the commits in the log of a Delta table, the oldest first."""
    names = (each.stem for each in (table / "_delta_log").glob("*.json"))
    return sorted(name for name in names if name.isdecimal())


def finish_move(move: CheckpointMove) -> bool:
    """
    Return whether a checkpoint was moved as a plan requires; finish that if it was interrupted at the end.

    Args:
        move: how it is moved. The move was begun.

    Raises:
        CheckpointError: two checkpoints exist, and which is which is unknown.
    """
    path = Path(move.path).resolve()
    copy, kept = _copy_place(path), kept_place(path)
    if move.back_to is None:
        return kept.is_dir() and not path.exists()
    if copy.exists():
        _finished_exchange(path, move.back_to, copy, kept)
    return _replaces(path, kept)


def _unknown_batch(path: Path, last: int | None) -> str:
    """Return that a query read something after the last micro-batch that the store knows; empty if it did not."""
    newest = max(_numbers(path / "commits"), default=-1)
    if last is None or newest <= last or _sources(path, newest) == _sources(path, last):
        return ""
    return f"{path} has the micro-batch {newest}, and the store knows none after {last}: ingest its events"


def last_batches(path: Path) -> tuple[int | None, int | None]:
    """Return the last micro-batch that a query began, and the last one that it ended; None for none."""
    begun, ended = (max(_numbers(path / folder), default=None) for folder in ("offsets", "commits"))
    return begun, ended


def take_back(path: Path, batch: int | None, number: int) -> list[str]:
    """
    Reset a checkpoint to where it was before its query ended too early.

    Args:
        path: the checkpoint.
        batch: the last micro-batch that the query had begun before; None for none.
        number: the number of the step, for the name of the old checkpoint.

    Raises:
        CheckpointError: it can't be done. Nothing was changed.
    """
    places = (
        path.with_name(f"{path.name}.undone-{number}" + f"-{again}" * (again > 1)) for again in itertools.count(1)
    )
    kept = next(place for place in places if not place.exists())
    if batch is not None:
        return set_back(path, batch, kept)
    path.rename(kept)
    return [f"the old checkpoint is {kept}"]


def _sources(path: Path, batch: int) -> list[str]:
    """Return the end offset of each source in a micro-batch: the lines after the version and the metadata."""
    file = path / "offsets" / str(batch)
    return file.read_text("utf-8").splitlines()[2:] if file.is_file() else []


def set_back(path: Path, batch: int, kept: Path, restored: Sequence[Path] = ()) -> list[str]:
    """
    Replace a checkpoint by a copy that ends at a micro-batch.

    Args:
        path: the checkpoint.
        batch: the last remaining micro-batch.
        kept: where the old one goes.
        restored: the folders of tables that the query reads and that were rolled back or emptied: it continues after
            that.

    Returns:
        The actions, as sentences.

    Raises:
        CheckpointError: it can't be done. Nothing was changed.
    """
    path, kept = path.resolve(), kept.resolve()
    copy = _copy_place(path)
    if path in kept.parents or kept in path.parents or kept in (path, copy):
        raise CheckpointError(f"the old checkpoint can't be kept in {kept}: it is inside {path}, or contains it")
    if not kept.parent.is_dir() or kept.parent.stat().st_dev != path.parent.stat().st_dev:
        raise CheckpointError(f"the old checkpoint can't be kept in {kept}: name a place in a folder of the same disk")
    if copy.exists():
        if finished := _finished_exchange(path, batch, copy, kept):
            return finished
        shutil.rmtree(copy)
    batches = _numbers(path / "commits")
    if batch not in batches or batch not in _numbers(path / "offsets"):
        there = f"it has {min(batches)} to {max(batches)}" if batches else "it has none"
        raise CheckpointError(f"{path} has no micro-batch {batch}: {there}")
    if kept.exists():
        raise CheckpointError(f"{kept} already exists: move it away first")
    lakes = [_iceberg(table) or _delta(table) for table in restored]
    written = _files(path)
    shutil.copytree(path, copy)
    (copy / _REPLACES).unlink(missing_ok=True)
    cut = [_cut(copy / "offsets", batch), _cut(copy / "commits", batch), _cut_state(copy / "state", batch + 1)]
    actions = ["removed {} offsets, {} commits and {} files of newer state".format(*cut)]
    _identify(copy)
    try:
        actions += [_moved(copy / "offsets", batch, lake) for lake in lakes]
        _refuse_if_written(path, written)
    except CheckpointError:
        shutil.rmtree(copy)
        raise
    (copy / _REPLACES).write_text(_query_id(path), "utf-8")
    _exchange(copy, path, kept)
    return [*actions, f"the old checkpoint is {kept}"]


def _files(path: Path) -> set[tuple[str, int]]:
    """Return the files of a checkpoint, each with the time of its last change."""
    return {(str(each), each.stat().st_mtime_ns) for each in path.rglob("*") if each.is_file()}


def _refuse_if_written(path: Path, before: set[tuple[str, int]]) -> None:
    """
    Refuse a checkpoint that was written while it was copied.

    Raises:
        CheckpointError: it was.
    """
    if _files(path) != before:
        raise CheckpointError(f"the query still writes {path}: stop it first")


def _exchange(copy: Path, path: Path, kept: Path) -> None:
    """
    Replace a checkpoint by a copy, and keep the old one elsewhere. Whatever happens meanwhile, a whole one is in place.

    If the system can't exchange two folders at once, there is none for a moment.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    rename = getattr(libc, "renameat2", None)
    if rename is None or rename(_HERE, os.fsencode(copy), _HERE, os.fsencode(path), _RENAME_EXCHANGE):
        path.rename(kept)
        copy.rename(path)
    else:
        copy.rename(kept)


def _finished_exchange(path: Path, batch: int, copy: Path, kept: Path) -> list[str]:
    """
    Finish what an earlier call has begun, if that was interrupted after the exchange.

    Args:
        path: the checkpoint.
        batch: the last remaining micro-batch.
        copy: the folder beside it: a copy, or the old checkpoint.
        kept: where the old one goes.

    Returns:
        The actions, as sentences; empty if the exchange was not begun.

    Raises:
        CheckpointError: which of the two is the old one is unknown.
    """
    if _replaces(path, copy) and not kept.exists():
        copy.rename(kept)
    elif not path.exists() and _replaces(copy, kept):
        copy.rename(path)
    elif not path.exists():
        raise CheckpointError(f"{copy} exists, but {path} does not: an earlier call was interrupted; inspect the copy")
    else:
        return []
    return [f"an earlier call had reset it to micro-batch {batch}", f"the old checkpoint is {kept}"]


def _numbers(folder: Path) -> list[int]:
    return [int(each.name) for each in folder.iterdir() if each.name.isdecimal()] if folder.is_dir() else []


def _cut(folder: Path, last: int) -> int:
    """Remove the files of all numbers above one, with their checksums."""
    gone = [number for number in _numbers(folder) if number > last]
    for number in gone:
        _remove(folder / str(number))
    return len(gone)


def _cut_state(folder: Path, last: int) -> int:
    """Remove all versions of the state above one."""
    gone = [
        each
        for each in folder.rglob("*")
        if each.is_file() and "_metadata" not in each.relative_to(folder).parts and _version(each.name) > last
    ]
    for each in gone:
        _remove(each)
    return len(gone)


def _version(name: str) -> int:
    """Return the version of the state that a file has, such as 7 for `7.delta` and `7_2f0c.zip`; -1 if it has none."""
    stem, dot, _ = name.partition(".")
    number = stem.partition("_")[0]
    return int(number) if dot and number.isdecimal() else -1


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    _checksum(file).unlink(missing_ok=True)


def _checksum(file: Path) -> Path:
    return file.with_name(f".{file.name}.crc")


def _write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")
    _checksum(file).unlink(missing_ok=True)


def _identify(checkpoint: Path) -> None:
    """Give the query a new id: under the old one, a Delta table has committed the micro-batches that are repeated."""
    _write(checkpoint / "metadata", json.dumps({"id": str(uuid.uuid4())}))


def _replaces(new: Path, old: Path) -> bool:
    """Return whether a checkpoint is a whole copy that replaces another one."""
    mark = new / _REPLACES
    return mark.is_file() and bool(found := mark.read_text("utf-8")) and found == _query_id(old)


def _query_id(checkpoint: Path) -> str:
    """Return the id of a query; empty if its checkpoint has none."""
    file = checkpoint / "metadata"
    return str(json.loads(file.read_text("utf-8")).get("id", "")) if file.is_file() else ""


@attrs.frozen
class _Delta:
    """
    A table of Delta Lake that was restored or emptied.

    Args:
        place: its folder.
        id: its id; empty if it is unknown.
        version: the version after the commit that restored or emptied it.
        target: the version to which it was restored; None if it was emptied, or the log does not state it.
    """

    place: Path
    id: str
    version: int
    target: int | None = None

    def moved(self, offset: dict[str, Any], *, is_last: bool) -> dict[str, Any] | None:
        """Return the offset after that commit, before the first file; None for an offset of another source."""
        if "reservoirId" not in offset or self.id not in ("", offset["reservoirId"]):
            return None
        if offset.get("reservoirVersion", 0) > self.version:
            # The query has read past that commit, which is an older one: nothing was undone since.
            return offset
        # Spark also reads the data between the last two micro-batches.
        if is_last and self.target is not None:
            _refuse_a_gap(self.place, offset, self.target)
        # org.apache.spark.sql.delta.sources.DeltaSourceOffset
        return {**offset, "sourceVersion": 1, "reservoirVersion": self.version, "index": -1, "isStartingVersion": False}


@attrs.frozen
class _Iceberg:
    """
    An Iceberg table.

    Args:
        place: its folder.
        parents: a snapshot -> the one before it; None for the first.
        line: the snapshots that lead to the current one.
        files: a snapshot -> how many data files it added.
    """

    place: Path
    parents: dict[int, int | None]
    line: frozenset[int]
    files: dict[int, int]

    def moved(self, offset: dict[str, Any], *, is_last: bool) -> dict[str, Any] | None:
        """
        Return an offset that means the same in the table's current history; None for an offset of another source.

        An offset may name a snapshot that was rolled back and of which no file is done: that is the end of the one
        before it (org.apache.iceberg.spark.source.StreamingOffset).

        Raises:
            CheckpointError: some files of a snapshot that was rolled back are done.
        """
        snapshot = offset.get("snapshot_id")
        if snapshot not in self.parents:
            return None
        if snapshot in self.line or not is_last:
            return offset
        parent = self.parents[snapshot]
        if offset.get("position") != 0 or parent not in self.line:
            raise CheckpointError(f"the micro-batch read snapshot {snapshot} of {self.place}, which was rolled back")
        return {**offset, "snapshot_id": parent, "position": self.files.get(parent, 0)}


def _iceberg(table: Path) -> _Iceberg | None:
    """Return an Iceberg table from its newest metadata; None if there are none."""
    files = sorted((table / "metadata").glob("*.metadata.json"), key=lambda file: file.stat().st_mtime_ns)
    if not files:
        return None
    metadata = json.loads(files[-1].read_text("utf-8"))
    snapshots = {each["snapshot-id"]: each for each in metadata.get("snapshots", ())}
    parents = {id_: each.get("parent-snapshot-id") for id_, each in snapshots.items()}
    files_of = {id_: int(each.get("summary", {}).get("added-data-files", 0)) for id_, each in snapshots.items()}
    return _Iceberg(table, parents, _line(parents, metadata.get("current-snapshot-id")), files_of)


def _line(parents: dict[int, int | None], last: int | None) -> frozenset[int]:
    """Return a snapshot and those before it, as far as they exist."""
    found = set[int]()
    while last in parents and last not in found:
        found.add(last)
        last = parents[last]
    return frozenset(found)


def _delta(table: Path) -> _Delta:
    """
    Return a table of Delta Lake, with the newest commit that undid others.

    Raises:
        CheckpointError: its log can't be read, or has none.
    """
    undone, table_id, target = -1, "", None
    for file in sorted((table / "_delta_log").glob("*.json"), reverse=True):
        for action in _actions(file):
            table_id = table_id or str(action.get("metaData", {}).get("id", ""))
            if undone < 0 and action.get("commitInfo", {}).get("operation") in _UNDOING:
                undone, target = int(file.stem), _target(table, action["commitInfo"])
    if undone < 0:
        raise CheckpointError(f"{table} has not been restored or emptied: there is no such commit in its log")
    return _Delta(table, table_id, undone + 1, target)


def _target(table: Path, commit: dict[str, Any]) -> int | None:
    """
    Return the version to which a commit restored a table; None if it did something else.

    Raises:
        CheckpointError: the commit names a time instead of a version.
    """
    parameters = commit.get("operationParameters", {}) if commit.get("operation") == "RESTORE" else {}
    version = parameters.get("version")
    if version is None and parameters.get("timestamp"):
        raise CheckpointError(
            f"{table} was restored to a time, and its log does not state to which version. Restore it again by "
            "RESTORE TABLE ... TO VERSION AS OF, and then reset the checkpoint"
        )
    return int(version) if version is not None and str(version).isdecimal() else None


def _refuse_a_gap(table: Path, offset: dict[str, Any], version: int) -> None:
    """
    Refuse a checkpoint whose last micro-batch did not end at the version to which its source is rolled back.

    After the RESTORE, the query would skip the rows between, or keep those that it read beyond.

    Raises:
        CheckpointError: it ended elsewhere.
    """
    begins = offset.get("reservoirVersion")
    if begins != version + 1 or offset.get("index", -1) != -1 or offset.get("isStartingVersion"):
        raise CheckpointError(
            f"the last remaining micro-batch read {table} up to before version {begins}, and the table is rolled "
            f"back to version {version}: rows would be skipped. Start the query from scratch: recover with --mode full"
        )


def _refuse_gaps(table: Path, file: Path, version: str) -> None:
    """
    Refuse the offsets of a micro-batch that did not end at the version to which a table is rolled back.

    Args:
        table: the table's folder. Other formats than Iceberg and Delta Lake are not checked.
        file: the offsets.
        version: the version; empty if the table is emptied.

    Raises:
        CheckpointError: it ended elsewhere.
    """
    lines = file.read_text("utf-8").splitlines()
    offsets = [json.loads(line) for line in lines if line.startswith("{")]
    if lake := _iceberg(table):
        goal = attrs.evolve(lake, line=_line(lake.parents, int(version))) if version else lake
        if not [each for each in offsets if goal.moved(each, is_last=True)]:
            raise CheckpointError(
                f"the last remaining micro-batch ended at a snapshot that {table} no longer has: "
                "start the query from scratch: "
                "recover with --mode full"
            )
    elif version and (table / "_delta_log").is_dir():
        for offset in offsets:
            if "reservoirId" in offset and _id(table) in ("", offset["reservoirId"]):
                _refuse_a_gap(table, offset, int(version))


def _id(table: Path) -> str:
    """Return the id of a Delta table, as its log has it; empty if the log no longer has it."""
    for file in sorted((table / "_delta_log").glob("*.json"), reverse=True):
        for action in _actions(file):
            if "metaData" in action:
                return str(action["metaData"].get("id", ""))
    return ""


def _actions(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text("utf-8").splitlines():
        action = json.loads(line) if line.strip() else None
        if isinstance(action, dict):
            yield action


def _moved(offsets: Path, batch: int, lake: _Delta | _Iceberg) -> str:
    """
    Let the source that reads a table continue at the right offset after the table was rolled back.

    Args:
        offsets: a file for each micro-batch, with a line for each source
            (org.apache.spark.sql.execution.streaming.OffsetSeqLog).
        batch: the last micro-batch.
        lake: the table.

    Returns:
        The action, as a sentence.

    Raises:
        CheckpointError: there is no such source, or it read versions that were rolled back.
    """
    found: dict[str, Any] | None = None
    for number in (batch - 1, batch):
        file = offsets / str(number)
        lines = file.read_text("utf-8").splitlines() if file.is_file() else []
        for place, line in enumerate(lines):
            offset = json.loads(line) if line.startswith("{") else {}
            moved = lake.moved(offset, is_last=number == batch)
            if moved is not None:
                found = moved
                lines[place] = json.dumps(moved, separators=(",", ":"))
        if lines:
            _write(file, "\n".join(lines))
    if found is None:
        raise CheckpointError(f"the query does not read the table at {lake.place}")
    version = found.get("reservoirVersion", found.get("snapshot_id"))
    return f"it continues {'at version' if isinstance(lake, _Delta) else 'after snapshot'} {version} of {lake.place}"
