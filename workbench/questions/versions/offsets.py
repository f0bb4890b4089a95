"""
Which versions a micro-batch of a stream has read, by its offsets.

Offsets of Iceberg name a snapshot and how many of its files are done (org.apache.iceberg.spark.source.StreamingOffset);
with none of them done, all snapshots before it are. Those of Delta Lake name a version and the file in it that is done
(org.apache.spark.sql.delta.sources.DeltaSourceOffset): all versions before that one are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNSTATED = (None, "", "null")


class VersionOrder(Protocol):
    """The versions of a dataset, as far as offsets refer to them."""

    def knows(self, id_: str) -> bool:
        """Return whether there is such a version."""

    def parent(self, id_: str) -> str:
        """Return the version before one; empty if there is none that is known."""

    def after(self, first: str, last: str) -> list[str] | None:
        """Return the versions after one and up to another in their order; None if they are not in this order."""

    def ids(self) -> Iterable[str]:
        """Return all versions."""


@attrs.frozen
class ReadVersions:
    """
    The reads of a micro-batch from a dataset.

    Args:
        ids: the versions, in their order; None if the offsets do not state them.
        added: whether only the rows were read that the versions added, and not all of the dataset.
    """

    ids: tuple[str, ...] | None = None
    added: bool = False


def versions_read(
    order: VersionOrder, snapshot: str, offset_from: str | None, offset_to: str | None, rows: int | None
) -> ReadVersions:
    """
    Return which versions a micro-batch read.

    Args:
        order: the dataset's versions.
        snapshot: the version at the end of the micro-batch, as the event names it; empty if it names none.
        offset_from: where it began; None for a run that is not a stream, and at the beginning of one.
        offset_to: where it ended.
        rows: how many rows it read; None if that is unknown.
    """
    if offset_from == offset_to and offset_from not in _UNSTATED:
        return ReadVersions((), added=True)
    begin, end = _offset(offset_from), _offset(offset_to)
    if begin and begin == end:
        return ReadVersions((), added=True)
    if "snapshot_id" in end or "snapshot_id" in begin:
        return _of_iceberg(order, snapshot, begin, end, rows)
    if not snapshot:
        return ReadVersions()
    if "reservoirVersion" in begin and not (begin.get("isStartingVersion") or begin.get("isInitialSnapshot")):
        return _of_delta(order, snapshot, begin, end)
    return ReadVersions((snapshot,))


def _of_iceberg(
    order: VersionOrder, snapshot: str, begin: dict[str, Any], end: dict[str, Any], rows: int | None
) -> ReadVersions:
    last = str(end["snapshot_id"]) if "snapshot_id" in end else snapshot
    if end.get("position") == 0:
        # Nothing of it was read, but everything before it.
        if not order.knows(last):
            return ReadVersions((snapshot,) if snapshot and snapshot != last else None)
        last = order.parent(last)
    if not last:
        return ReadVersions((), added=True)
    if not begin:
        return ReadVersions((last,))
    first = str(begin.get("snapshot_id"))
    if first == last:
        # A batch that began within a snapshot read the rest of it, if there was any.
        return ReadVersions(() if rows == 0 and begin.get("position") != 0 else (last,), added=True)
    found = _chain(order, first, last)
    return ReadVersions((first, *found) if begin.get("position") == 0 and first not in found else found, added=True)


def _of_delta(order: VersionOrder, snapshot: str, begin: dict[str, Any], end: dict[str, Any]) -> ReadVersions:
    first, last = str(begin["reservoirVersion"]), snapshot
    number, index = end.get("reservoirVersion"), end.get("index", 0)
    if isinstance(number, int) and isinstance(index, int):
        last = str(number - (index < 0))
    if not (first.isdecimal() and last.isdecimal()):
        return ReadVersions((last,), added=True)
    found = {each for each in order.ids() if each.isdecimal() and int(first) <= int(each) <= int(last)}
    return ReadVersions(tuple(sorted({*found, last}, key=int)), added=True)


def _chain(order: VersionOrder, first: str, last: str) -> tuple[str, ...]:
    """
    Return the versions after one and up to another, along their parents.

    If the parents do not lead from the last one to the first one, the order of the versions decides. If the store does
    not know the first one, all that is known came after it.
    """
    path, here, seen = [last], last, {last}
    while order.knows(here):
        here = order.parent(here)
        if not here or here == first or here in seen:
            break
        seen.add(here)
        path.append(here)
    by_order = None if here == first else order.after(first, last)
    return tuple(path[::-1] if by_order is None else by_order)


def _offset(text: str | None) -> dict[str, Any]:
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
