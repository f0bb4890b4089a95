"""Which versions hold data of a bad one, and which runs must be repeated for the current ones to be right. Pure."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import attrs
from openlineage_pyspark.workbench.questions.versions.versions import RunPart
from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import Facts, MadeVersion, ReadFacts

Passes: TypeAlias = "Callable[[int, int, int], bool]"
"""Takes a job, one of its inputs and one of its outputs; returns whether the output is downstream of the input."""


def everything(_job: int, _source: int, _target: int) -> bool:
    """Treat each output of a job as downstream of each of its inputs."""
    return True


@attrs.frozen
class PlacedRead:
    """
    A read, and the version that was read.

    Args:
        read: the read.
        key: the version, or an earlier one that has the same rows; None if none is recorded.
    """

    read: ReadFacts
    key: HistoryPlace | None


class Flow:
    """
    How data went from version to version.

    Args:
        facts: the versions and the reads.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._lines: dict[int, dict[HistoryPlace, None]] = {}
        # The place of the last DROP of a dataset; -1 if there is none.
        self._drops: dict[int, int] = {}
        self.reads: dict[RunPart, list[PlacedRead]] = {}
        self.readers: dict[HistoryPlace, list[RunPart]] = {}
        self.writes: dict[RunPart, list[HistoryPlace]] = {}
        for dataset, history in facts.histories.items():
            for place, made in enumerate(history):
                if made.run_id:
                    self.writes.setdefault(made.unit, []).append(HistoryPlace(dataset, place))
        places = {
            (dataset, made.version): HistoryPlace(dataset, place)
            for dataset, history in facts.histories.items()
            for place, made in enumerate(history)
        }
        for read in facts.reads:
            unit = RunPart(read.run_id, read.batch_id)
            placed = PlacedRead(read, self.held(self._version_read(read, unit, places)))
            self.reads.setdefault(unit, []).append(placed)
            if placed.key is not None:
                self.readers.setdefault(placed.key, []).append(unit)

    def _version_read(
        self, read: ReadFacts, unit: RunPart, places: Mapping[tuple[int, str], HistoryPlace]
    ) -> HistoryPlace | None:
        """
        Return the version that was read: the one before the run's own, if the run wrote it and the event names none.

        The latest version at that time may be another one, because the table may have been rolled back in between.
        """
        own = next((key for key in self.writes.get(unit, ()) if key.dataset == read.dataset), None)
        if own is not None and read.inferred and self.made(own).parent:
            return self.before.get(own)
        found = places.get((read.dataset, read.version))
        return found if found is None or read.is_source else self._at(found, unit)

    def _at(self, key: HistoryPlace, unit: RunPart) -> HistoryPlace:
        """Return a version, or the last of the writes after it that have no version and came before a run began."""
        started = self.facts.run(unit.run_id).started
        here = key
        while True:
            early = [each for each in self.after(here) if self.made(each).time < started]
            if not early:
                return here
            if len(early) > 1 or not self.made(early[0]).is_between or self.made(early[0]).unit == unit:
                # The run read an earlier version by its name.
                return key
            here = early[0]

    def same_rows(self, key: HistoryPlace | None) -> list[HistoryPlace]:
        """Return a version and those before it whose rows it has, because what came between changed none."""
        found = []
        while key is not None:
            found.append(key)
            key = self.before.get(key) if self.made(key).idle else None
        return found

    @functools.cached_property
    def batches(self) -> dict[str, list[RunPart]]:
        """Return the micro-batches of each streaming query that count, in order: without those that were repeated."""
        return self._chains[0]

    @functools.cached_property
    def _chains(self) -> tuple[dict[str, list[RunPart]], dict[RunPart, list[RunPart]]]:
        """Return the micro-batches that lead to the last one of each query, and those that follow each one."""
        numbers: dict[str, set[int]] = {}
        for run_id, number in {*self.writes, *self.reads}:
            if number != NO_BATCH and self.facts.run(run_id).query:
                numbers.setdefault(run_id, set()).add(number)
        chains: dict[str, list[RunPart]] = {}
        following: dict[RunPart, list[RunPart]] = {}
        for run_id in sorted(numbers, key=lambda each: (self.facts.run(each).started, each)):
            units = [RunPart(run_id, number) for number in sorted(numbers[run_id])]
            query = self.facts.run(run_id).query
            # A run whose first micro-batch is not after the last one so far continues from an earlier state.
            kept = [unit for unit in chains.get(query, ()) if unit.batch_id < units[0].batch_id]
            for early, late in itertools.pairwise([*kept[-1:], *units]):
                following.setdefault(early, []).append(late)
            chains[query] = [*kept, *units]
        return chains, following

    def made(self, key: HistoryPlace) -> MadeVersion:
        """Return a version."""
        return self.facts.histories[key.dataset][key.place]

    def name(self, key: HistoryPlace) -> str:
        """Return the name of a version for people, with its dataset."""
        version, label = self.made(key).version, self.facts.label(key.dataset)
        return f"{label}@{version}" if version else label

    def held(self, key: HistoryPlace | None) -> HistoryPlace | None:
        """Return a version, or the earlier one whose rows it has, because no run between them wrote any."""
        while key in self.before and self.made(key).nothing and self.made(key).whole is not True:
            key = self.before[key]
        return key

    def after(self, key: HistoryPlace) -> list[HistoryPlace]:
        """Return the versions that follow one: none for the last, several if the dataset was rolled back to it."""
        return self._after.get(key, [])

    @functools.cached_property
    def before(self) -> dict[HistoryPlace, HistoryPlace]:
        """Return the version before each one: the one that the storage names, else the one before it in time."""
        found: dict[HistoryPlace, HistoryPlace] = {}
        for dataset, history in self.facts.histories.items():
            places = {made.snapshot: place for place, made in enumerate(history) if made.snapshot}
            # An unrecorded parent is between two recorded versions. All of its children follow the same one.
            unknown: dict[str, int] = {}
            for place, made in enumerate(history):
                before = places.get(made.parent, place)
                if parent := self.facts.unknown_parent(made):
                    before = _last_until(parent, history[:place]) if made.restored else place - 1
                    before = unknown.setdefault(parent, before)
                before = before if before < place else place - 1
                if made.restored is None:
                    before = _last_between(history, before, place)
                if before >= 0:
                    found[HistoryPlace(dataset, place)] = HistoryPlace(dataset, before)
        return found

    @functools.cached_property
    def _after(self) -> dict[HistoryPlace, list[HistoryPlace]]:
        found: dict[HistoryPlace, list[HistoryPlace]] = {}
        for key, before in self.before.items():
            found.setdefault(before, []).append(key)
        return found

    def line(self, dataset: int) -> list[HistoryPlace]:
        """
        Return the versions that lead to the newest one, the newest first: without those that were rolled back.

        The last version on another branch than the main one is not the newest one.
        """
        if dataset not in self._lines:
            history = self.facts.histories[dataset]
            newest = next((place for place in range(len(history) - 1, -1, -1) if not history[place].branch), None)
            here: HistoryPlace | None = HistoryPlace(dataset, len(history) - 1 if newest is None else newest)
            found = []
            while here is not None and here.place >= 0:
                found.append(here)
                here = self.before.get(here)
            self._lines[dataset] = dict.fromkeys(found)
        return list(self._lines[dataset])

    def newest(self, dataset: int) -> HistoryPlace:
        """Return the newest version of a dataset."""
        return self.line(dataset)[0]

    def is_gone(self, dataset: int) -> bool:
        """Return whether a dataset was dropped, and not created again."""
        return self.made(self.newest(dataset)).change == "DROP"

    def written(self, units: Iterable[RunPart]) -> set[int]:
        """Return the datasets that runs and micro-batches wrote."""
        return {key.dataset for unit in units for key in self.writes.get(unit, ())}

    def read_by(self, units: Iterable[RunPart]) -> Iterator[PlacedRead]:
        """Yield what runs and micro-batches read."""
        for unit in units:
            yield from self.reads.get(unit, ())

    def writer(self, key: HistoryPlace) -> HistoryPlace:
        """Return the version that brought the rows of a version: itself, unless its run has written nothing."""
        seen = {key}
        while self.made(key).nothing:
            read = (placed.key for placed in self.reads.get(self.made(key).unit, ()) if placed.key is not None)
            found = self.before.get(key) if self.made(key).whole is not True else next(read, None)
            if found is None or found in seen:
                break
            key = found
            seen.add(key)
        return key

    def is_dropped_after(self, key: HistoryPlace) -> bool:
        """Return whether a dataset was dropped after a version of it."""
        if key.dataset not in self._drops:
            drops = (each.place for each in self.line(key.dataset) if self.made(each).change == "DROP")
            self._drops[key.dataset] = max(drops, default=-1)
        return self._drops[key.dataset] > key.place

    def corrects(self, key: HistoryPlace, bad: HistoryPlace) -> bool:
        """Return whether a version is one that a recovery has made of a bad one, by correcting it in place."""
        return key.dataset == bad.dataset and self.facts.run(self.made(key).run_id).corrects == self.made(bad).version

    def counts(self, key: HistoryPlace) -> bool:
        """Return whether a version leads to the newest one."""
        if key.dataset not in self._lines:
            self.line(key.dataset)
        return key in self._lines[key.dataset]

    def following(self, unit: RunPart) -> list[RunPart]:
        """Return the micro-batches that follow one of the same query: two if the query was reset to it."""
        return self._chains[1].get(unit, [])


@attrs.frozen
class Spread:
    """
    Where bad data went.

    Args:
        start: the bad version.
        because: each version that holds bad data -> why: the version that brought them, or None for the start itself.
    """

    start: HistoryPlace
    because: dict[HistoryPlace, HistoryPlace | None]

    def first(self, dataset: int) -> int:
        """Return the place of the first version of a dataset that holds bad data."""
        return min(place for each, place in self.because if each == dataset)

    @property
    def datasets(self) -> tuple[int, ...]:
        """Return the datasets that hold or held bad data, in the order in which they got them."""
        return tuple(dict.fromkeys(dataset for dataset, _ in self.because))


def _last_until(version: str, history: Sequence[MadeVersion]) -> int:
    """Return the place of the last version of a Delta table that is not after an unrecorded one."""
    numbers = (int(made.snapshot) if made.snapshot.isdecimal() else int(version) + 1 for made in history)
    return max((place for place, number in enumerate(numbers) if number <= int(version)), default=-1)


def _last_between(history: Sequence[MadeVersion], before: int, place: int) -> int:
    """
    Return the place of the last run between two versions that follow each other in the storage; else of the first one.

    Such a run wrote no row, or is a RESTORE of the version that was already the newest one.
    """
    between = range(before + 1, place)
    if any(history[each].snapshot for each in between):
        return before
    return max((each for each in between if history[each].is_between or history[each].restored), default=before)


def spread(flow: Flow, start: HistoryPlace, passes: Passes = everything) -> Spread:
    """
    Return which versions hold data of a bad one.

    - A run that reads a version that holds bad data makes versions that hold them.
    - The version after holds them too, unless it replaces the whole dataset and what it was made from is clean, or a
      recovery has corrected it in place.
    - A micro-batch after one that read bad data holds them: a query has state, and its checkpoint is reset as a whole.

    Args:
        flow: the versions and their reads.
        start: the bad version.
        passes: returns whether data from one input of a job get into an output.
    """
    spreading = _Spreading(flow, start, passes)
    # The micro-batches after the one that made the bad version continue from its state.
    for following in flow.following(flow.made(start).unit):
        spreading.taint_from(following, start)
    for key in spreading.waiting:
        for after in flow.after(key):
            if flow.made(after).whole is not True and not flow.corrects(after, start):
                spreading.taint(after, key)
        for unit in flow.readers.get(key, ()):
            if spreading.reaches_something(unit, key):
                spreading.taint_from(unit, key)
    return Spread(start, spreading.because)


class _Spreading:
    def __init__(self, flow: Flow, start: HistoryPlace, passes: Passes) -> None:
        self._flow = flow
        self._passes = passes
        self._units: set[RunPart] = set()
        self.because: dict[HistoryPlace, HistoryPlace | None] = {start: None}
        self.waiting = [start]

    def taint(self, key: HistoryPlace, reason: HistoryPlace) -> None:
        if key not in self.because:
            self.because[key] = reason
            self.waiting.append(key)

    def taint_from(self, unit: RunPart, reason: HistoryPlace) -> None:
        """Mark the outputs of a unit as bad, and those of the micro-batches after it."""
        waiting = [unit]
        while waiting:
            unit = waiting.pop()
            if unit in self._units:
                continue
            self._units.add(unit)
            for key in self._flow.writes.get(unit, ()):
                if self._reaches(unit, reason, key):
                    self.taint(key, reason)
            waiting += self._flow.following(unit)

    def reaches_something(self, unit: RunPart, reason: HistoryPlace) -> bool:
        """Return whether data of a version that a unit read are in one of the unit's outputs."""
        return any(self._reaches(unit, reason, key) for key in self._flow.writes.get(unit, ()))

    def _reaches(self, unit: RunPart, reason: HistoryPlace, key: HistoryPlace) -> bool:
        run = self._flow.facts.run(unit.run_id)
        # A gap may hide a path of the column.
        return key.dataset == reason.dataset or bool(run.gaps) or self._passes(run.job_id, reason.dataset, key.dataset)


def to_repeat(flow: Flow, found: Spread, again_from: Mapping[int, int]) -> dict[HistoryPlace, None]:
    """
    Return the versions that must be rebuilt for all current ones to be right.

    A bad version that a clean one replaced is not repeated, unless something that is current was made from it.

    Args:
        flow: the versions and their reads.
        found: the versions that hold bad data.
        again_from: datasets that are rebuilt from an earlier version -> the place of this version.
    """
    waiting = [line[0] for dataset in found.datasets if (line := flow.line(dataset))[0] in found.because]
    waiting += [key for dataset, begin in again_from.items() for key in flow.line(dataset) if key.place >= begin]
    needed: dict[HistoryPlace, None] = {}
    done: set[RunPart] = set()
    while waiting:
        key = waiting.pop()
        if key in needed or not flow.counts(key):
            continue
        needed[key] = None
        made = flow.made(key)
        before = flow.before.get(key)
        if made.whole is not True and before is not None and before in found.because:
            waiting.append(before)
        if key == found.start or made.empties:
            # It is corrected, or it emptied a dataset that is rebuilt: what came after it is repeated.
            waiting += flow.after(key)
        elif made.unit not in done:
            done.add(made.unit)
            read = (placed.key for placed in flow.reads.get(made.unit, ()))
            waiting += [each for each in read if each in found.because]
            waiting += _written_again(flow, made.unit)
    return needed


def live(flow: Flow, dataset: int, last: int | None = None) -> list[HistoryPlace]:
    """
    Return the versions of a dataset whose rows it holds: from the last one that replaced it as a whole.

    Args:
        flow: the versions.
        dataset: the dataset.
        last: the place of the version that is current then; None for the newest one.
    """
    found: list[HistoryPlace] = []
    for key in flow.line(dataset):
        if last is not None and key.place > last:
            continue
        made = flow.made(key)
        if not made.empties:
            found.append(key)
        if made.whole is True:
            break
    return found[::-1]


def _written_again(flow: Flow, unit: RunPart) -> Iterator[HistoryPlace]:
    """Yield the consequences of running a unit again: all of its outputs, what came after them, and later batches."""
    for key in flow.writes.get(unit, ()):
        yield key
        yield from flow.after(key)
    for following in flow.following(unit):
        yield from flow.writes.get(following, ())
