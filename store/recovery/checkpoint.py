"""
Sets the checkpoint of a streaming query back to an earlier micro-batch, on a copy.

A checkpoint has a file for each micro-batch in `offsets` (where its sources end) and in `commits` (it is done), and the
versions of the state in `state`: a micro-batch n begins with version n and makes version n + 1
(org.apache.spark.sql.execution.streaming.MicroBatchExecution).
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


class CheckpointError(Exception):
    """A checkpoint can't be set back. The message says why."""


_UNDOING = frozenset({"RESTORE", "DELETE", "TRUNCATE"})


def set_back(path: Path, batch: int, kept: Path, restored: Sequence[Path] = ()) -> list[str]:
    """
    Replace a checkpoint by a copy that ends at a micro-batch.

    Args:
        path: the checkpoint.
        batch: the last micro-batch that stays.
        kept: where the old one goes.
        restored: tables of Delta Lake that the query reads and that were restored or emptied: it goes on after that.

    Returns:
        What was done, as sentences.

    Raises:
        CheckpointError: it can't be done. Nothing was changed.
    """
    batches = _numbers(path / "commits")
    if batch not in batches or batch not in _numbers(path / "offsets"):
        there = f"it has {min(batches)} to {max(batches)}" if batches else "it has none"
        raise CheckpointError(f"{path} has no micro-batch {batch}: {there}")
    if kept.exists():
        raise CheckpointError(f"{kept} is there already: move it away first")
    after = [_after_undoing(table) for table in restored]
    copy = path.with_name(f"{path.name}.recovering")
    if copy.exists():
        shutil.rmtree(copy)
    shutil.copytree(path, copy)
    cut = [_cut(copy / "offsets", batch), _cut(copy / "commits", batch), _cut_state(copy / "state", batch + 1)]
    said = ["removed {} offsets, {} commits and {} files of newer state".format(*cut)]
    _identify(copy)
    for table_id, version, table in after:
        # Spark also asks a source for what was between the last two micro-batches.
        count = sum(_go_on(copy / "offsets" / str(number), table_id, version) for number in (batch, batch - 1))
        if not count:
            shutil.rmtree(copy)
            raise CheckpointError(f"{path} does not read the table at {table}")
        said.append(f"it goes on at version {version} of {table}")
    path.rename(kept)
    copy.rename(path)
    return [*said, f"the old checkpoint is {kept}"]


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
    """Return the version that a file of the state is of, such as 7 of `7.delta` and `7_2f0c.zip`; -1 if of none."""
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
    """Give the query a new id: under the old one, a Delta table has committed the micro-batches that come again."""
    _write(checkpoint / "metadata", json.dumps({"id": str(uuid.uuid4())}))


def _after_undoing(table: Path) -> tuple[str, int, Path]:
    """
    Return a Delta table's id, and the version after the newest commit that undid others.

    Raises:
        CheckpointError: its log can't be read, or has none.
    """
    undone, table_id = -1, ""
    files = sorted((table / "_delta_log").glob("*.json"), reverse=True)
    for file in files:
        for action in _actions(file):
            table_id = table_id or str(action.get("metaData", {}).get("id", ""))
            if undone < 0 and action.get("commitInfo", {}).get("operation") in _UNDOING:
                undone = int(file.stem)
    if undone < 0:
        raise CheckpointError(f"{table} has not been restored or emptied: there is no such commit in its log")
    return table_id, undone + 1, table


def _actions(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text("utf-8").splitlines():
        action = json.loads(line) if line.strip() else None
        if isinstance(action, dict):
            yield action


def _go_on(file: Path, table_id: str, version: int) -> bool:
    """
    Let the source that reads a table go on at a version.

    Args:
        file: the offsets of a micro-batch: a line for each source
            (org.apache.spark.sql.execution.streaming.OffsetSeqLog).
        table_id: the id of the table; empty for any table of Delta Lake.
        version: its version.

    Returns:
        Whether there is such a source.
    """
    if not file.is_file():
        return False
    lines, found = [], False
    for line in file.read_text("utf-8").splitlines():
        offset = json.loads(line) if line.startswith("{") else {}
        if "reservoirId" in offset and table_id in ("", offset["reservoirId"]):
            found = True
            # The place before the first file of a version (org.apache.spark.sql.delta.sources.DeltaSourceOffset).
            offset |= {"sourceVersion": 1, "reservoirVersion": version, "index": -1, "isStartingVersion": False}
            line = json.dumps(offset, separators=(",", ":"))  # noqa: PLW2901 (the line that is written)
        lines.append(line)
    if found:
        _write(file, "\n".join(lines))
    return found
