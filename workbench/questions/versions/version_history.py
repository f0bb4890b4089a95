"""The order of the versions of a dataset, and their lives: between two drops, the numbers belong to one table."""

from __future__ import annotations

import bisect
import heapq
from typing import TYPE_CHECKING, NamedTuple

import attrs
from openlineage_pyspark.workbench.questions.versions.versions import DatasetVersion, RunPart, VersionKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Between a version's number and the life of its table, as in `3~1`.
_LIFE = "~"
# CREATE is not among them: the table may exist already. If it was dropped, the DROP has removed the older rows.
REPLACING = frozenset({"DROP", "OVERWRITE", "TRUNCATE"})
"""The changes after which no older row is left."""


@attrs.frozen
class VersionHistory:
    """
    The versions of a dataset.

    Args:
        versions: in their order.
        places: the id of a version -> its place in that order.
        following: the id of a version -> the versions whose parent it is.
        ends: when the dataset was dropped.
    """

    versions: tuple[DatasetVersion, ...]
    places: dict[str, int]
    following: dict[str, tuple[DatasetVersion, ...]]
    ends: tuple[int, ...] = ()

    def knows(self, id_: str) -> bool:
        """Return whether there is such a version."""
        return id_ in self.places

    def parent(self, id_: str) -> str:
        """Return the version before one; empty if there is none that is known."""
        return self.versions[self.places[id_]].parent if id_ in self.places else ""

    def after(self, first: str, last: str) -> list[str] | None:
        """Return the versions after one and up to another in their order; None if they are not in this order."""
        begin, end = self.places.get(first), self.places.get(last)
        if begin is None or end is None or begin > end:
            return None
        return [each.id for each in self.versions[begin + 1 : end + 1]]

    def ids(self) -> Iterable[str]:
        """Return all versions."""
        return self.places

    def id_at(self, id_: str, time: int) -> str:
        """Return the id of the version that had this id at a time: it may be of an earlier life of the dataset."""
        former = _of_life(id_, self.ends, time)
        return former if former in self.places else id_

    def current(self, time: int, reader: RunPart | None = None) -> str:
        """Return the version that was current at a time, without the reader's own; empty if there was none."""
        place = bisect.bisect_right(self.versions, time, key=lambda version: version.time) - 1
        while place >= 0 and reader in self.versions[place].parts:
            place -= 1
        return self.versions[place].id if place >= 0 else ""


class SinkRow(NamedTuple):
    """A row of a dataset that a part of a run made, or of a version that is only read; `snapshot` may be empty."""

    dataset_id: int
    run_id: str
    batch_id: int
    snapshot: str
    job_id: int | None
    time: int
    parent: str | None
    change: str | None
    row_count: int | None
    bytes: int | None

    @property
    def part(self) -> RunPart:
        """The run, or its micro-batch."""
        return RunPart(self.run_id, self.batch_id)

    @property
    def version(self) -> str:
        """The id of the version that the row states."""
        return str(self.snapshot or (f"{self.run_id}/{self.batch_id}" if self.batch_id >= 0 else self.run_id))


class SourceRow(NamedTuple):
    """A row of a dataset that a part of a run read."""

    dataset_id: int
    run_id: str
    batch_id: int
    snapshot: str
    job_id: int | None
    time: int
    offset_from: str | None
    offset_to: str | None
    row_count: int | None

    @property
    def part(self) -> RunPart:
        """The run, or its micro-batch."""
        return RunPart(self.run_id, self.batch_id)


@attrs.frozen
class VersionLife:
    """
    The versions of a dataset in its life at a time: between two drops, the numbers belong to one table.

    Args:
        history: all of its versions.
        time: the time.
    """

    history: VersionHistory
    time: int

    def knows(self, id_: str) -> bool:
        """Return whether this life has such a version."""
        return self.history.knows(self.history.id_at(id_, self.time))

    def parent(self, id_: str) -> str:
        """Return the version before one; empty if there is none that is known."""
        return self.history.parent(self.history.id_at(id_, self.time)).partition(_LIFE)[0]

    def after(self, first: str, last: str) -> list[str] | None:
        """Return the versions after one and up to another; None if they are not in this order."""
        found = self.history.after(*(self.history.id_at(each, self.time) for each in (first, last)))
        return None if found is None else [each.partition(_LIFE)[0] for each in found]

    def ids(self) -> Iterator[str]:
        """Return all versions of this life."""
        life = _of_life("0", self.history.ends, self.time).partition(_LIFE)[2]
        return (number for number, _, own in (each.partition(_LIFE) for each in self.history.ids()) if own == life)


def _of_life(id_: str, ends: Sequence[int], time: int) -> str:
    """
    Return the id of a version with its life: one of an earlier life has its number, as in `3~1`, and others have none.

    Storages that number the versions of a table, as Delta Lake does, begin again when it is dropped and created again.

    Args:
        id_: the id that the storage gives it.
        ends: when the dataset was dropped.
        time: when the version existed, microseconds since 1970.
    """
    before = bisect.bisect_left(ends, time)
    return f"{id_}{_LIFE}{before + 1}" if before < len(ends) and id_.isdecimal() else id_


def with_lives(rows: dict[str, list[SinkRow]], ends: Sequence[int]) -> dict[str, list[SinkRow]]:
    """Return the rows of versions by their ids with their lives; unchanged if no number is used twice."""
    lives: dict[str, list[SinkRow]] = {}
    for id_, made in rows.items():
        for row in made:
            lives.setdefault(_of_life(id_, ends, row.time), []).append(row)
    again = {each for each in lives if each in rows}
    comes_again = any(number in again for number, life, _ in (each.partition(_LIFE) for each in lives) if life)
    return lives if comes_again else rows


def ordered_history(
    dataset_id: int, rows: dict[str, list[SinkRow]], replacing: frozenset[str], ends: tuple[int, ...]
) -> VersionHistory:
    """
    Return the versions of a dataset in order.

    Args:
        dataset_id: the dataset.
        rows: the id of each version -> the rows that state it.
        replacing: the changes that keep no rows.
        ends: when it was dropped.
    """
    found = {}
    for id_, writes in rows.items():
        # Two runs may report one version, as an orchestrator's task and the statement in it do.
        writes.sort(key=lambda row: (not row.run_id, row.row_count is None, -row.batch_id, row.time, row.run_id))
        first, made = writes[0], [row for row in writes if row.run_id]
        parent = next((row.parent for row in writes if row.parent), "")
        if parent and _LIFE in id_:
            parent = f"{parent}{id_[id_.index(_LIFE) :]}"
        found[id_] = DatasetVersion(
            dataset_id,
            id_,
            VersionKind.STORAGE if first.snapshot else VersionKind.RUN,
            min(row.time for row in made or writes),
            tuple(dict.fromkeys(row.part for row in made)),
            first.job_id,
            parent if parent in rows and parent != id_ else "",
            storage_parent=parent,
            change=next((row.change for row in writes if row.change), ""),
            rows=first.row_count,
            bytes=first.bytes,
        )
    versions: list[DatasetVersion] = []
    for version in _in_order(found):
        before = version.parent or (versions[-1].id if versions else "")
        versions.append(
            attrs.evolve(
                version,
                parent=before,
                parent_inferred=bool(before) and not version.parent,
                keeps=bool(before) and version.change not in replacing,
            )
        )
    following: dict[str, tuple[DatasetVersion, ...]] = {}
    for version in versions:
        following[version.parent] = (*following.get(version.parent, ()), version)
    return VersionHistory(tuple(versions), {each.id: place for place, each in enumerate(versions)}, following, ends)


def _in_order(found: dict[str, DatasetVersion]) -> list[DatasetVersion]:
    """
    Return versions in order: each after its parent, and otherwise by time.

    A run states its version when it ends. If a later version was stated before that, the earlier one existed by then
    too: it gets that time.
    """
    children: dict[str, list[str]] = {}
    for version in found.values():
        if version.parent:
            children.setdefault(version.parent, []).append(version.id)
    times = {id_: version.time for id_, version in found.items()}
    # Each version once, the latest first: the time of a child is final before that of its parent is set.
    waiting = {id_: len(children.get(id_, ())) for id_ in found}
    ready = [id_ for id_, count in waiting.items() if not count]
    for id_ in ready:
        parent = found[id_].parent
        if parent:
            times[parent] = min(times[parent], times[id_])
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)
    heap = [(times[id_], *_natural(id_)) for id_, version in found.items() if not version.parent]
    # No storage has parents in a cycle: each of them is treated as if it had none.
    circle = set(found) - set(ready)
    heap += [(times[id_], *_natural(id_)) for id_ in circle if found[id_].parent]
    heapq.heapify(heap)
    ordered, done = [], set[str]()
    while heap:
        time, _, id_ = heapq.heappop(heap)
        if id_ in done:
            continue
        done.add(id_)
        parent = "" if id_ in circle else found[id_].parent
        ordered.append(attrs.evolve(found[id_], time=time, parent=parent))
        for child in children.get(id_, ()):
            heapq.heappush(heap, (times[child], *_natural(child)))
    return ordered


def _natural(id_: str) -> tuple[int, str]:
    """Return the sort key of versions that were made at one time: numbers by their value."""
    return (len(id_) if id_.isdigit() else 0), id_
