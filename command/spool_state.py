"""The spool of this environment: where it is, and what lies in it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.diagnosis import NOTE, OK, PROBLEM, WARNING, Diagnosis
from openlineage_pyspark.listener.shipping import NO_SPOOL, spool_root
from openlineage_pyspark.transport.fan_out import lanes
from openlineage_pyspark.transport.spool import DEAD_LETTER_DAYS
from openlineage_pyspark.transport.spool_content import Content, content
from openlineage_pyspark.transport.spool_place import UNREADABLE, SpoolError, default_root, directories

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.listener.settings import Settings
    from openlineage_pyspark.transport import Transport

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def root_for(settings: Settings, named: Path | None) -> Path:
    """Return the spool's root for a command.

    Args:
        settings: which may name one.
        named: on the command line, in place of it.

    Raises:
        SpoolError: there is no home for the default one.
    """
    if named is not None:
        return named
    path = settings.spool_path
    return default_root() if path is None or path.lower() == NO_SPOOL else Path(path).expanduser()


def contents(root: Path) -> list[Content]:
    """Return what each application has in a spool, the oldest first."""
    return [content(directory) for directory in directories(root)]


def unreadable(root: Path) -> list[str]:
    """Return the names of the directories that were set aside because their database was damaged."""
    return sorted(path.name for path in root.glob(f"*{UNREADABLE}"))


def age(seconds: float) -> str:
    """Write a time span in its greatest unit, such as `3 h`."""
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{max(0, int(seconds // size))} {unit}"


def look_at_spool(settings: Settings, transport: Transport) -> Iterator[Diagnosis]:
    """Look whether events are kept on disk, and what earlier applications left there.

    Args:
        settings: which may name a directory.
        transport: which tells whether there is a spool by default.
    """
    try:
        root = spool_root(settings, transport)
    except SpoolError as problem:
        yield Diagnosis(PROBLEM, "spool", str(problem), "Set spark.openlineage.spool.path to a local directory.")
        return
    if root is None:
        if transport.SPOOLED:
            found = "off: what is in memory is lost when the process is killed, or the receiver stays away"
            yield Diagnosis(WARNING, "spool", found, "Take spark.openlineage.spool.path=none out.")
        else:
            yield Diagnosis(NOTE, "spool", "off, as this transport needs none")
        return
    if not _can_be_written(root):
        remedy = "Set spark.openlineage.spool.path to a local directory that this user may write."
        yield Diagnosis(PROBLEM, "spool", f"{root} can't be written: events are held in memory alone", remedy)
        return
    said = list(_of_contents(root, contents(root), {part.destination for part in lanes(transport)}))
    yield from said or [Diagnosis(OK, "spool", f"{root}: nothing waits")]


def _of_contents(root: Path, held: Sequence[Content], destinations: set[str]) -> Iterator[Diagnosis]:
    for each in held:
        if each.problem:
            yield Diagnosis(PROBLEM, "spool", f"{each.directory} can't be read ({each.problem})", "Move it away.")
    left = [each for each in held if each.waiting and not each.in_use]
    ours = sum(each.waiting for each in left if each.destination in destinations)
    if ours:
        remedy = "The next application ships them, or do so now: openlineage-pyspark replay"
        yield Diagnosis(WARNING, "spool", f"{root}: {ours} events wait that earlier applications left", remedy)
    others = sum(each.waiting for each in left if each.destination not in destinations)
    if others:
        remedy = "openlineage-pyspark spool ls shows for which; openlineage-pyspark replay --to URL ships them."
        yield Diagnosis(WARNING, "spool", f"{root}: {others} events wait for other receivers than this one", remedy)
    dead = sum(each.dead for each in held)
    if dead:
        remedy = (
            "openlineage-pyspark spool ls --dead says why; replay --dead tries them again. "
            f"They are deleted after {DEAD_LETTER_DAYS} days."
        )
        yield Diagnosis(PROBLEM, "spool", f"{root}: {dead} events were refused for good", remedy)
    damaged = unreadable(root)
    if damaged:
        yield Diagnosis(PROBLEM, "spool", f"{root}: damaged and set aside: {', '.join(damaged)}", "Delete it.")


def _can_be_written(root: Path) -> bool:
    """Tell whether a directory can be written, or made, without making it."""
    existing = next(path for path in (root.absolute(), *root.absolute().parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def seconds_since(time_of_epoch: float) -> float:
    """Return how long ago a time was."""
    return time.time() - time_of_epoch
