"""Decide which versions are rebuilt, and from where each dataset is rebuilt. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.recovery.model.affected import live, to_repeat
from openlineage_pyspark.workbench.recovery.model.facts import COMMENTS, HistoryPlace
from openlineage_pyspark.workbench.recovery.model.plan import Mode
from openlineage_pyspark.workbench.recovery.model.statements import is_version
from openlineage_pyspark.workbench.recovery.planning.groups import started_applications

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import Flow, PlacedRead, Spread
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryRequest

_IN_PLACE = re.compile(rf"{COMMENTS}(?:UPDATE|MERGE)\b", re.IGNORECASE)


@attrs.frozen
class Base:
    """
    From where a dataset is rebuilt.

    Args:
        place: the place of its first version that is rebuilt.
        version: the version that it is rolled back to; empty if it is emptied.
        replaced: whether its first run replaces it as a whole, so that nothing has to be done before.
        instead_of: the expired version that it should have been rolled back to; empty if none expired.
        old: the first version that is rebuilt under an earlier name; None if it had none.
        begins_empty: whether an event states that it had no rows before.
    """

    place: int
    version: str = ""
    replaced: bool = False
    instead_of: str = ""
    old: HistoryPlace | None = None
    begins_empty: bool = False


@attrs.frozen
class Remade:
    """
    The datasets that are rebuilt, and from where.

    Args:
        versions: the versions to rebuild.
        firsts: each of their datasets -> the place of the first one.
        bases: from where each of their datasets is rebuilt; first those that hold bad data, in order of the first bad
            version.
        expired: a dataset -> the expired version to which it would have to be rolled back.
        is_needed: whether a current version holds bad data, or comes from one that does.
        in_place: whether a column of the first dataset is corrected in place, so that the dataset keeps its rows.
        goes_back: whether the first dataset is rolled back to a version, or emptied.
    """

    versions: dict[HistoryPlace, None]
    firsts: dict[int, int]
    bases: dict[int, Base]
    expired: dict[int, str]
    is_needed: bool
    in_place: bool
    goes_back: bool


def remade(flow: Flow, found: Spread, request: RecoveryRequest, stands_alone: Callable[[RunPart], bool]) -> Remade:
    """
    Decide which versions are rebuilt, and from where each dataset is rebuilt.

    Args:
        flow: the versions and their reads.
        found: the versions that hold bad data.
        request: the request.
        stands_alone: returns whether the statement of a run can be repeated without its application.
    """
    settling = _Settling(flow, found, request, stands_alone)
    root = request.start.dataset
    needed = settling.needed()
    firsts = _firsts(needed)
    in_place = settling.can_correct_in_place(needed)
    # A dataset that can't be rolled back keeps later rows.
    versions = needed
    if in_place or not (root not in firsts or settling.goes_back(firsts[root])):
        versions = {key: None for key in needed if key.dataset != root}
    firsts = _firsts(versions)
    ordered = dict.fromkeys((*(each for each in found.datasets if each in firsts), *firsts))
    return Remade(
        versions,
        firsts,
        {dataset: settling.base(dataset, firsts[dataset]) for dataset in ordered},
        settling.expired,
        is_needed=bool(needed),
        in_place=in_place,
        goes_back=root in firsts and settling.goes_back(firsts[root]),
    )


class _Settling:
    """Decides from where each dataset is rebuilt: an earlier start of one may require an earlier start of others."""

    def __init__(
        self, flow: Flow, found: Spread, request: RecoveryRequest, stands_alone: Callable[[RunPart], bool]
    ) -> None:
        self._flow = flow
        self._facts = flow.facts
        self._stands_alone = stands_alone
        self._found = found
        self._request = request
        self._root = request.start.dataset
        self._again_from: dict[int, int] = {}
        self.expired: dict[int, str] = {}

    def needed(self) -> dict[HistoryPlace, None]:
        """Return the versions that must be rebuilt, as if the first dataset could be rolled back."""
        if self._request.mode is Mode.FULL:
            for dataset in self._found.datasets:
                kept = live(self._flow, dataset)
                if dataset != self._root and kept and self._flow.newest(dataset) in self._found.because:
                    self._again_from[dataset] = kept[0].place
        while True:
            needed = to_repeat(self._flow, self._found, self._again_from)
            earlier = _firsts(self._further_back(needed))
            if not earlier:
                return needed
            self._again_from |= earlier

    def can_correct_in_place(self, needed: Collection[HistoryPlace]) -> bool:
        """
        Return whether a column is corrected in place, so that its dataset is not rolled back.

        Repeated runs then read the current rows of the dataset, so each must have read its newest version. A stream
        can't continue after an UPDATE or a MERGE.
        """
        correction = self._request.correction
        if not self._request.by_column or not correction or self._request.mode is Mode.SIDE_BY_SIDE:
            return False
        known = self._facts.datasets[self._root]
        if not known.has_versions or not all(map(_IN_PLACE.match, correction)):
            return False
        newest = self._flow.held(self._flow.newest(self._root))
        again = {self._flow.made(key).unit for key in needed if key.dataset != self._root}
        reads = [(unit, placed) for unit, found in self._flow.reads.items() for placed in found]
        of_root = [(unit, placed) for unit, placed in reads if placed.read.dataset == self._root]
        return not any(
            placed.read.is_source or (unit in again and placed.key in self._found.because and placed.key != newest)
            for unit, placed in of_root
        )

    def goes_back(self, place: int) -> bool:
        """Return whether the first dataset can be reset to its state before a place: to a version or to no rows."""
        base = self.base(self._root, place)
        return bool(base.version) or (base.begins_empty and self._facts.datasets[self._root].has_versions)

    def _further_back(self, needed: Collection[HistoryPlace]) -> Iterator[HistoryPlace]:
        """Yield from where datasets must be rebuilt, if that is before their first needed version."""
        for dataset, place in _firsts(needed).items():
            base = self.base(dataset, place)
            if base.instead_of:
                self.expired.setdefault(dataset, base.instead_of)
            if base.place < min(place, self._again_from.get(dataset, place)):
                yield HistoryPlace(dataset, base.place)
            if base.old is not None and base.old[1] < self._again_from.get(base.old[0], base.old[1] + 1):
                yield base.old
        yield from self._of_applications(needed)
        if self._request.mode is Mode.SIDE_BY_SIDE:
            yield from self._of_new_queries(needed)
            return
        yield from self._streamed(needed)
        for key in needed:
            unit = self._flow.made(key).unit
            if not unit.is_batch or key.dataset == self._root:
                continue
            emptied = [placed for placed in self._flow.reads.get(unit, ()) if self._begins_empty(placed, needed)]
            begin = next((each.place for each in live(self._flow, *key)), key.place)
            if emptied and begin < self._again_from.get(key.dataset, begin + 1):
                yield HistoryPlace(key.dataset, begin)

    def _of_applications(self, needed: Collection[HistoryPlace]) -> Iterator[HistoryPlace]:
        """Yield where applications that are started again began to write a dataset: they write all of that again."""
        start = self._flow.made(self._request.start).unit
        started = started_applications(self._flow, needed, start, self._stands_alone)
        again: dict[int, set[str]] = {}
        for key in needed:
            if key.dataset != self._root and (application := self._application(key)) in started:
                again.setdefault(key.dataset, set()).add(application)
        firsts = _firsts(needed)
        for dataset, applications in again.items():
            for key in live(self._flow, dataset, firsts[dataset]):
                made = self._flow.made(key)
                if made.unit.is_batch or self._application(key) not in applications:
                    continue
                if made.whole is not True and key.place < self._again_from.get(dataset, firsts[dataset]):
                    yield key
                # An application that first replaces the whole dataset can start on any rows.
                break

    def _of_new_queries(self, needed: Collection[HistoryPlace]) -> Iterator[HistoryPlace]:
        """
        Yield where streams began to write the rows that they now write into a copy: each gets a new checkpoint.

        The copy of its source has no position from which it could continue, so it reads the whole source again.
        """
        for key in needed:
            unit = self._flow.made(key).unit
            if not unit.is_batch or key.dataset == self._root:
                continue
            query = self._facts.run(unit.run_id).query
            own = (
                each
                for each in live(self._flow, *key)
                if self._flow.made(each).unit.is_batch and self._facts.run(self._flow.made(each).run_id).query == query
            )
            begin = next((each.place for each in own), key.place)
            if begin < self._again_from.get(key.dataset, key.place):
                yield HistoryPlace(key.dataset, begin)

    def _application(self, key: HistoryPlace) -> str:
        return self._facts.run(self._flow.made(key).run_id).application

    def _streamed(self, needed: Collection[HistoryPlace]) -> Iterator[HistoryPlace]:
        """Yield what streams made of rebuilt versions, even of correct rows: the streams read all of them again."""
        firsts = _firsts(needed)
        for key in needed:
            if key.dataset == self._root and not self.goes_back(firsts[self._root]):
                continue
            for unit in self._flow.readers.get(key, ()):
                read = (placed for placed in self._flow.reads[unit] if placed.key == key)
                if not unit.is_batch or not any(placed.read.is_source for placed in read):
                    continue
                for made in self._flow.writes.get(unit, ()):
                    if made not in needed and made.place < self._again_from.get(made.dataset, made.place + 1):
                        yield made

    def _begins_empty(self, placed: PlacedRead, needed: Collection[HistoryPlace]) -> bool:
        """Return whether a stream's source is rebuilt as a whole, so that the stream must read it from the start."""
        dataset = placed.read.dataset
        if not placed.read.is_source or placed.key not in needed or dataset not in self._again_from:
            return False
        base = self.base(dataset, self._again_from[dataset])
        return not base.version and not base.replaced

    def base(self, dataset: int, place: int) -> Base:
        """Return from where a dataset is rebuilt, so that every version from a place on can be rebuilt."""
        is_root = dataset == self._root
        if self._facts.histories[dataset][place].whole is True and not is_root:
            return self._replaced(HistoryPlace(dataset, place))
        expired = ""
        here: HistoryPlace | None = HistoryPlace(dataset, place)
        while here is not None:
            renewed = self._renewed(here) if here.place < place else None
            found = renewed or self._from_before(here, stays=self._keeps_versions(dataset, place))
            if found is not None:
                return attrs.evolve(found, instead_of=expired or found.instead_of)
            version = self._version_before(here)
            expired = expired or (version if (dataset, version) in self._request.expired else "")
            here = self._flow.before.get(here)
        begin = [] if is_root else live(self._flow, dataset, place)
        return Base(min(place, begin[0][1]) if begin else place, instead_of=expired)

    def _replaced(self, first: HistoryPlace) -> Base:
        """
        Return the base of a dataset that the first rebuilt version replaces as a whole.

        Its statement may need the columns that the table had then. On Delta Lake a rollback brings these back, and what
        altered them is repeated.
        """
        later = (each for each in self._flow.line(first.dataset) if each.place > first.place)
        is_altered = any(self._flow.made(each).change == "ALTER" for each in later)
        if is_altered and self._facts.datasets[first.dataset].format == "delta":
            found = self._from_before(first, stays=self._keeps_versions(*first))
            if found is not None and found.version:
                return found
        return Base(first.place, replaced=True)

    def _keeps_versions(self, dataset: int, place: int) -> bool:
        """Return whether a dataset still has the versions before a place."""
        is_dropped = self._flow.is_dropped_after(HistoryPlace(dataset, place))
        return self._facts.datasets[dataset].has_versions and not is_dropped

    def _version_before(self, here: HistoryPlace) -> str:
        """Return the version before a place; empty if it is unknown."""
        before = self._flow.before.get(here)
        return self._flow.made(here).parent or (self._flow.made(before).snapshot if before else "")

    def _renewed(self, here: HistoryPlace) -> Base | None:
        """Return a base at a place whose run renamed the dataset or replaced it as a whole; None for another run."""
        made = self._flow.made(here)
        if made.change == "RENAME":
            return Base(here.place, old=self._old_name(here))
        return Base(here.place, replaced=True) if made.whole is True else None

    def _from_before(self, here: HistoryPlace, *, stays: bool) -> Base | None:
        """
        Return a base with the rows that a dataset had before a place; None if these can't be restored.

        Args:
            here: the place.
            stays: whether the dataset still has its earlier versions.
        """
        before, version = self._flow.before.get(here), self._version_before(here)
        is_expired = (here.dataset, version) in self._request.expired
        is_there = stays and is_version(version) and not is_expired
        is_empty = before is not None and self._flow.made(before).empties
        if is_empty and (not version or not (is_there or self._flow.is_gone(here.dataset))):
            # The run that made it empty may fail on the existing table, as a CREATE TABLE does.
            return Base(here.place, instead_of=version if is_expired else "", begins_empty=True)
        return Base(here.place, version) if is_there else None

    def _old_name(self, renamed: HistoryPlace) -> HistoryPlace | None:
        """Return from where a renamed dataset is rebuilt under its old name; None if no event read it under that."""
        for placed in self._flow.reads.get(self._flow.made(renamed).unit, ()):
            if placed.key is not None and (held := live(self._flow, *placed.key)):
                return held[0]
        return None


def _firsts(needed: Iterable[HistoryPlace]) -> dict[int, int]:
    """Return the first place of each dataset."""
    found: dict[int, int] = {}
    for dataset, place in needed:
        found[dataset] = min(place, found.get(dataset, place))
    return found
