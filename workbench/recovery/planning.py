"""Makes a plan of recovery from what is known of versions and runs. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import attrs
from openlineage_pyspark.facets.redaction.settings import known_settings
from openlineage_pyspark.workbench.model.times import time_of_micros
from openlineage_pyspark.workbench.recovery import statements
from openlineage_pyspark.workbench.recovery.affected import Flow, Passes, everything, live, spread, to_repeat
from openlineage_pyspark.workbench.recovery.facts import replaces_partitions
from openlineage_pyspark.workbench.recovery.groups import circles, groups
from openlineage_pyspark.workbench.recovery.plan import (
    CheckpointMove,
    Mode,
    Pin,
    RecoveryPlan,
    RecoveryStep,
    RepeatedRun,
    TableCheck,
    TouchedDataset,
)
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.affected import PlacedRead, Spread
    from openlineage_pyspark.workbench.recovery.facts import (
        ApplicationFacts,
        DatasetFacts,
        Facts,
        HistoryPlace,
        MadeVersion,
        RunFacts,
        Unit,
    )
    from openlineage_pyspark.workbench.recovery.groups import Group
    from openlineage_pyspark.workbench.recovery.rewriting import Rewritten

PROGRAM = "openlineage-pyspark"
RETAINED_BATCHES = 100
"""How many micro-batches Spark keeps in a checkpoint by default (spark.sql.streaming.minBatchesToRetain)."""

_SUFFIX = "_s1"
# For a statement that replaced some partitions: by default Spark empties the others too.
_WHOLE_TABLE = ("spark.sql.sources.partitionOverwriteMode", "STATIC")
_OF_WRITES = frozenset({"spark.sql.sources.partitionOverwriteMode", "spark.sql.storeAssignmentPolicy"})
_OVERWRITING = re.compile(r"\bOVERWRITE\b", re.IGNORECASE)
_PARTITIONS_ALONE = (("spark.sql.sources.partitionOverwriteMode", "dynamic"),)
_SHOWN = 3
_CHANGING = re.compile(
    r"\b(current_date|current_timestamp|current_time|localtimestamp|now|rand|randn|random|uuid|shuffle"
    r"|monotonically_increasing_id)\b\s*(?:\(|(?=[,\s)]|$))",
    re.IGNORECASE,
)
_REPLACED = re.compile(r"\s*(?:CREATE|REPLACE)\b", re.IGNORECASE)
_VIEW = re.compile(r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?VIEW\b", re.IGNORECASE)
# A statement that adds no row: an UPDATE, a DELETE, or a MERGE that inserts none.
_ADDS_NO_ROW = re.compile(
    r"(?:\s+|--[^\n]*|/\*.*?\*/)*(?:UPDATE|DELETE|MERGE(?!.*\bINSERT\b))\b", re.IGNORECASE | re.DOTALL
)
_IN_PLACE = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)*(?:UPDATE|MERGE)\b", re.IGNORECASE | re.DOTALL)
# In an offset of Iceberg.
_SNAPSHOT = re.compile(r'"snapshot_id"\s*:\s*(-?\d+)')
_LOCAL = frozenset({"", "file"})


@attrs.frozen
class RecoveryRequest:
    """
    What is asked for.

    Args:
        start: the bad version.
        mode: how to recover.
        passes: says whether what a job reads of one dataset reaches another.
        expired: versions that are gone from the storage.
        correction: the statements that correct the dataset; none if a person does it.
        by_column: whether only some column is bad.
    """

    start: HistoryPlace
    mode: Mode
    passes: Passes = everything
    expired: frozenset[str] = frozenset()
    correction: tuple[str, ...] = ()
    by_column: bool = False


def plan(facts: Facts, wish: RecoveryRequest) -> RecoveryPlan:
    """
    Return the plan for a bad version.

    Args:
        facts: what is known.
        wish: what is asked for.
    """
    return _Planning(facts, wish).plan()


@attrs.frozen
class _Base:
    """
    Where a dataset begins again.

    Args:
        place: the place of its first version that is made again.
        version: what it is rolled back to; empty if it is emptied.
        replaced: whether its first run replaces it as a whole, so that nothing has to be done before.
        instead_of: the version that it should go back to, and that expired.
        old: the first version that is made again under an earlier name; None if it had none.
        begins_empty: whether an event tells that it had no rows before.
    """

    place: int
    version: str = ""
    replaced: bool = False
    instead_of: str = ""
    old: HistoryPlace | None = None
    begins_empty: bool = False


class _Planning:
    def __init__(self, facts: Facts, wish: RecoveryRequest) -> None:
        self._facts = _with_new_names(facts)
        self._wish = wish
        self._flow = Flow(facts)
        self._spread: Spread = spread(self._flow, wish.start, wish.passes)
        self._root = wish.start[0]
        self._again_from: dict[int, int] = {}
        self._in_place = False
        self._expired: dict[int, str] = {}
        self._texts: dict[tuple[str, frozenset[int], tuple[tuple[int, str], ...]], Rewritten] = {}
        self._views: dict[Unit, dict[int, str]] = {}
        self._newest_checks: dict[int, tuple[TableCheck, ...]] = {}
        # Whether something that is current holds bad data, or comes from what does.
        self._is_needed = False
        self._needed = self._settle()
        self._first_needed = _firsts(self._needed)

    def plan(self) -> RecoveryPlan:
        """Return the plan."""
        if self._wish.mode is Mode.SIDE_BY_SIDE:
            steps = [*self._stops(), *self._copies(), *self._runs(), *self._switches()]
        else:
            steps = [*self._stops(), *self._preparations(), *self._runs()]
        start = self._flow.made(self._wish.start)
        return RecoveryPlan(
            self._wish.mode,
            self._label(self._root),
            start.version or "?",
            tuple(self._touched()),
            tuple(steps),
            tuple(tuple(sorted(self._label(each) for each in circle)) for circle in self._circles()),
            tuple(self._doubts()),
            since=time_of_micros(start.time).isoformat(timespec="seconds") if start.time else "",
        )

    # What must be made again.

    def _settle(self) -> dict[HistoryPlace, None]:
        """Return the versions that must be made again, when it is settled where each dataset begins again."""
        if self._wish.mode is Mode.FULL:
            for dataset in self._spread.datasets:
                kept = live(self._flow, dataset)
                if dataset != self._root and kept and self._is_bad(dataset):
                    self._again_from[dataset] = kept[0][1]
        while True:
            needed = to_repeat(self._flow, self._spread, self._again_from)
            found: dict[int, int] = {}
            for dataset, place in self._further_back(needed):
                found[dataset] = min(place, found.get(dataset, place))
            if not found:
                return self._without_root(needed)
            self._again_from |= found

    def _without_root(self, needed: dict[HistoryPlace, None]) -> dict[HistoryPlace, None]:
        """Leave the dataset itself out if it can't be rolled back: what was written since is still in it."""
        self._is_needed = bool(needed)
        firsts = _firsts(needed)
        self._in_place = self._can_correct_in_place(needed)
        is_remade = self._root not in firsts or self._is_remade(self._base(self._root, firsts[self._root]))
        if is_remade and not self._in_place:
            return needed
        return {key: None for key in needed if key[0] != self._root}

    def _can_correct_in_place(self, needed: Collection[HistoryPlace]) -> bool:
        """
        Return whether a column is corrected where it is, so that nothing of its dataset is rolled back.

        What is made again of the dataset then reads it as it is now: so it must have read it at its newest version. A
        stream can't pass an UPDATE or a MERGE.
        """
        correction = self._wish.correction
        if not self._wish.by_column or not correction or self._wish.mode is Mode.SIDE_BY_SIDE:
            return False
        known = self._facts.datasets[self._root]
        if not known.has_versions or not all(map(_IN_PLACE.match, correction)):
            return False
        newest = self._flow.held(self._flow.line(self._root)[0])
        again = {self._flow.made(key).unit for key in needed if key[0] != self._root}
        reads = [(unit, placed) for unit, found in self._flow.reads.items() for placed in found]
        of_root = [(unit, placed) for unit, placed in reads if placed.read.dataset == self._root]
        return not any(
            placed.read.is_source or (unit in again and placed.key in self._spread.because and placed.key != newest)
            for unit, placed in of_root
        )

    def _is_remade(self, base: _Base) -> bool:
        """Return whether the dataset that was asked about goes back, to a version or to no rows."""
        return bool(base.version) or (base.begins_empty and self._facts.datasets[self._root].has_versions)

    def _further_back(self, needed: Collection[HistoryPlace]) -> Iterator[tuple[int, int]]:
        """Yield datasets that must begin further back than at their first version that is needed."""
        for dataset, place in _firsts(needed).items():
            base = self._base(dataset, place)
            if base.instead_of:
                self._expired.setdefault(dataset, base.instead_of)
            if base.place < min(place, self._again_from.get(dataset, place)):
                yield dataset, base.place
            if base.old is not None and base.old[1] < self._again_from.get(base.old[0], base.old[1] + 1):
                yield base.old
        if self._wish.mode is Mode.SIDE_BY_SIDE:
            return
        yield from self._streamed(needed)
        for key in needed:
            unit = self._flow.made(key).unit
            if unit[1] == NO_BATCH or key[0] == self._root:
                continue
            emptied = [placed for placed in self._flow.reads.get(unit, ()) if self._begins_empty(placed, needed)]
            begin = next((each[1] for each in live(self._flow, *key)), key[1])
            if emptied and begin < self._again_from.get(key[0], begin + 1):
                yield key[0], begin

    def _streamed(self, needed: Collection[HistoryPlace]) -> Iterator[tuple[int, int]]:
        """Yield what streams made of versions that are made again, also if the rows were right: they come again."""
        firsts = _firsts(needed)
        for key in needed:
            if key[0] == self._root and not self._is_remade(self._base(self._root, firsts[self._root])):
                continue
            for unit in self._flow.readers.get(key, ()):
                read = (placed for placed in self._flow.reads[unit] if placed.key == key)
                if unit[1] == NO_BATCH or not any(placed.read.is_source for placed in read):
                    continue
                for dataset, place in self._flow.writes.get(unit, ()):
                    if (dataset, place) not in needed and place < self._again_from.get(dataset, place + 1):
                        yield dataset, place

    def _begins_empty(self, placed: PlacedRead, needed: Collection[HistoryPlace]) -> bool:
        """Return whether a stream's source is made again as a whole, so that the stream must read it from the start."""
        dataset = placed.read.dataset
        if not placed.read.is_source or placed.key not in needed or dataset not in self._again_from:
            return False
        base = self._base(dataset, self._again_from[dataset])
        return not base.version and not base.replaced

    @functools.cached_property
    def _bases(self) -> dict[int, _Base]:
        firsts = self._first_needed
        ordered = dict.fromkeys((*(each for each in self._spread.datasets if each in firsts), *firsts))
        return {dataset: self._base(dataset, firsts[dataset]) for dataset in ordered}

    def _base(self, dataset: int, place: int) -> _Base:
        """Return the version to restore so that everything from a position on can be recomputed."""
        history, known = self._facts.histories[dataset], self._facts.datasets[dataset]
        first = history[place]
        is_kept = known.has_versions and not self._flow.is_dropped_after((dataset, place))
        is_root = dataset == self._root
        if first.whole is True and not is_root:
            return _Base(place, replaced=True)
        wanted = ""
        here: HistoryPlace | None = (dataset, place)
        while here is not None:
            at = here[1]
            if at < place and history[at].change == "RENAME":
                return _Base(at, instead_of=wanted, old=self._old_name(here))
            if at < place and history[at].whole is True:
                return _Base(at, replaced=True, instead_of=wanted)
            here = self._flow.before.get(here)
            before = history[here[1]] if here else None
            version = history[at].parent or (before.snapshot if before else "")
            if not version and before and before.empties:
                return _Base(at, instead_of=wanted, begins_empty=True)
            if is_kept and statements.is_version(version) and version not in self._wish.expired:
                return _Base(at, version, instead_of=wanted)
            wanted = wanted or (version if version in self._wish.expired else "")
        if is_root:
            return _Base(place, instead_of=wanted)
        begin = live(self._flow, dataset, place)
        return _Base(min(place, begin[0][1]) if begin else place, instead_of=wanted)

    def _old_name(self, renamed: HistoryPlace) -> HistoryPlace | None:
        """Return from where on a dataset is made again under the name that it had before, if it is known under that."""
        for placed in self._flow.reads.get(self._flow.made(renamed).unit, ()):
            if placed.key is not None and (held := live(self._flow, *placed.key)):
                return held[0]
        return None

    def _is_bad(self, dataset: int) -> bool:
        """Return whether the newest version of a dataset holds bad data."""
        return self._flow.line(dataset)[0] in self._spread.because

    # What the plan says besides its steps.

    def _touched(self) -> Iterator[TouchedDataset]:
        by_dataset: dict[int, list[HistoryPlace]] = {}
        for key in self._spread.because:
            by_dataset.setdefault(key[0], []).append(key)
        for dataset, keys in by_dataset.items():
            keys.sort()
            first = self._flow.made(keys[0])
            earlier = self._flow.before.get(keys[0])
            before = self._flow.made(earlier).version if earlier and not self._flow.made(earlier).empties else ""
            reason = next((why for key in keys if (why := self._spread.because[key]) and why[0] != dataset), None)
            written = [made.version for key in keys if not (made := self._flow.made(key)).nothing]
            yield TouchedDataset(
                self._label(dataset),
                tuple(written or [first.version]),
                first.parent or before,
                self._named(reason) if reason else "",
                is_clean=not self._is_bad(dataset) and not any(key in self._needed for key in keys),
            )

    def _circles(self) -> list[tuple[int, ...]]:
        edges: dict[int, set[int]] = {}
        for key in self._needed:
            for placed in self._flow.reads.get(self._flow.made(key).unit, ()):
                if placed.read.dataset in self._bases:
                    edges.setdefault(placed.read.dataset, set()).add(key[0])
        return circles(edges)

    def _doubts(self) -> Iterator[str]:
        for dataset in self._spread.datasets:
            for run_id in self._facts.unfinished.get(dataset, ())[:_SHOWN]:
                job = self._facts.run(run_id).job
                yield (
                    f"{self._label(dataset)}: the run {run_id} of {job} never reported an end. It may have written "
                    "there."
                )
        yield from self._doubts_of_overwrites()
        bad = self._spread.datasets
        for dataset, run_id, target in self._facts.open_readers:
            run = self._facts.run(run_id)
            if dataset not in bad or target in bad:
                continue
            if run.started >= self._flow.made((dataset, self._spread.first(dataset))).time:
                yield (
                    f"{self._label(target)}: the run {run_id} of {run.job} began to read {self._label(dataset)} and "
                    "never reported an end. It may have written there."
                )
        branch = self._flow.made(self._wish.start).branch
        if branch:
            yield (
                f"The version was written to the branch {branch}. This plan is about the main branch: it holds the "
                "version only if the branch was published."
            )
        if not self._facts.histories[self._root][self._wish.start[1]].run_id:
            yield f"No run that wrote {self._label(self._root)} is recorded: all that read it since counts as bad."

    def _doubts_of_overwrites(self) -> Iterator[str]:
        """Yield the overwrites that ended bad data, if they may have replaced only some partitions."""
        for dataset in self._spread.datasets:
            if self._facts.datasets[dataset].format == "iceberg":
                # The operator tells.
                continue
            for key in self._flow.line(dataset):
                made = self._flow.made(key)
                is_end = key not in self._spread.because and self._flow.before.get(key) in self._spread.because
                if is_end and made.change == "OVERWRITE" and not _REPLACED.match(self._facts.run(made.run_id).sql):
                    yield (
                        f"{self._label(dataset)}: {made.version} overwrote the bad data. With "
                        "spark.sql.sources.partitionOverwriteMode=dynamic, and in a table of Hive's with partitions, "
                        "it left those of other partitions."
                    )

    def _label(self, dataset: int) -> str:
        return self._facts.datasets[dataset].label

    def _named(self, key: HistoryPlace) -> str:
        version = self._flow.made(key).version
        return f"{self._label(key[0])}@{version}" if version else self._label(key[0])

    # The steps.

    @functools.cached_property
    def _groups(self) -> list[Group]:
        start = self._flow.made(self._wish.start).unit
        # Side by side, an application would write the tables and not the copies.
        alone = (lambda _: True) if self._wish.mode is Mode.SIDE_BY_SIDE else self._stands_alone
        return groups(self._flow, self._needed, start, alone, self._names_source)

    @functools.cached_property
    def _group_of(self) -> dict[Unit, int]:
        """Return the place of the group that repeats each run and micro-batch."""
        return {unit: place for place, group in enumerate(self._groups) for unit in group.units}

    def _stands_alone(self, unit: Unit) -> bool:
        """Return whether the statement of a run can be repeated from its text, without its application."""
        text = self._text_of(unit)
        return bool(text.text) and text.stands_alone

    def _names_source(self, unit: Unit, dataset: int) -> bool:
        """Return whether the statement of a run names a dataset, which it may read through a view."""
        text = self._text_of(unit)
        return not text.text or dataset in text.named

    def _text_of(self, unit: Unit) -> Rewritten:
        """Return the statement of a run with whole names, and with the queries of views in their places."""
        from openlineage_pyspark.workbench.recovery.rewriting import rewritten

        known = {key[0] for key in self._flow.writes.get(unit, ())}
        known |= {placed.read.dataset for placed in self._flow.reads.get(unit, ())}
        views = self._views_of(unit)
        # The runs of a job have the same text.
        key = (self._facts.run(unit[0]).sql, frozenset(known), tuple(sorted(views.items())))
        if key not in self._texts:
            datasets = [self._facts.datasets[each] for each in sorted(known)]
            self._texts[key] = rewritten(key[0], (), datasets, {}, {}, views=views)
        return self._texts[key]

    def _views_of(self, unit: Unit) -> dict[int, str]:
        """Return the views that a statement reads -> their queries then, as far as events state them."""
        if unit not in self._views:
            self._views[unit] = self._read_views(unit)
        return self._views[unit]

    def _read_views(self, unit: Unit) -> dict[int, str]:
        found = {}
        here = _settings_of_queries(self._facts.run(unit[0]))
        for placed in self._flow.reads.get(unit, ()):
            maker = self._facts.run(self._flow.made(placed.key).run_id) if placed.key is not None else None
            # A view keeps the settings under which it was created.
            if maker is not None and _VIEW.match(maker.sql) and _settings_of_queries(maker) == here:
                found[placed.read.dataset] = maker.sql
        if not found:
            return {}
        from openlineage_pyspark.workbench.recovery.rewriting import query_of_view

        datasets = [self._facts.datasets[placed.read.dataset] for placed in self._flow.reads[unit]]
        queries = ((view, query_of_view(sql, datasets)) for view, sql in found.items())
        return {view: query for view, query in queries if query}

    def _opened_views(self, unit: Unit) -> dict[int, str]:
        """Return the views whose queries a statement reads in their places: what they show now is not what it read."""
        views = self._views_of(unit)
        if not views:
            return {}
        side = self._wish.mode is Mode.SIDE_BY_SIDE
        is_needed = any(
            side if self._is_corrected(placed) else self._changed_since(placed)
            for placed in self._flow.reads[unit]
            if placed.read.dataset in views or self._facts.datasets[placed.read.dataset].has_versions
        )
        return views if is_needed else {}

    @functools.cached_property
    def _queries(self) -> dict[str, list[Unit]]:
        """Return the micro-batches that are repeated, by query, in order."""
        found: dict[str, list[Unit]] = {}
        for group in self._groups:
            for unit in group.units:
                if unit[1] != NO_BATCH and (query := self._facts.run(unit[0]).query):
                    found.setdefault(query, []).append(unit)
        for units in found.values():
            units.sort(key=lambda unit: (unit[1], self._facts.run(unit[0]).started))
        return found

    @functools.cached_property
    def _moved_on(self) -> list[str]:
        """Return the queries of which nothing goes back, but sources: the place at which they go on is no more."""
        return [
            query
            for query, units in self._flow.batches.items()
            if query not in self._queries
            and any(self._can_not_pass(units, known, version) for known, version in self._restored(query))
        ]

    def _can_not_pass(self, units: Sequence[Unit], known: DatasetFacts, version: str) -> bool:
        """Return whether a query ends at a place of its source that is gone when this is at a version again."""
        if known.format == "delta":
            # RESTORE removes rows, which a stream refuses.
            return True
        kept: set[str] = set()
        here = next((key for key in self._flow.line(known.id) if self._flow.made(key).snapshot == version), None)
        while here is not None:
            kept.add(self._flow.made(here).snapshot)
            here = self._flow.before.get(here)
        gone = {made.snapshot for made in self._facts.histories[known.id]} - kept
        ends = (each.read for unit in units[::-1] for each in self._flow.reads.get(unit, ()))
        last = next((read.offset_to for read in ends if read.dataset == known.id and read.offset_to), "")
        found = _SNAPSHOT.search(last)
        return found is not None and found[1] in gone

    def _stops(self) -> Iterator[RecoveryStep]:
        for units in (*self._queries.values(), *(self._flow.batches[query] for query in self._moved_on)):
            run = self._facts.run(units[-1][0])
            if not run.ended:
                note = f"Its run {run.id} has not reported an end."
                yield RecoveryStep("stop", f"Stop the streaming query of {run.job}, if it still runs.", notes=(note,))

    def _preparations(self) -> Iterator[RecoveryStep]:
        for dataset, base in self._bases.items():
            known = self._facts.datasets[dataset]
            if dataset in self._dropped:
                yield from _dropped(known, self._dropped[dataset])
                continue
            if self._is_gone(dataset):
                yield from self._creation(dataset, base)
                continue
            if base.replaced:
                if known.is_of_spark:
                    yield from _kept(known)
                continue
            notes = _expired_note(base, self._expired.get(dataset, ""))
            if base.version:
                like = self._run_of(dataset, base.version) or self._facts.histories[dataset][base.place].run_id
                checks = (*self._newest(dataset), *self._clean(dataset, base))
                yield _rolled_back(known, base.version, notes, checks, like)
            elif dataset == self._root and not self._is_remade(base):
                continue
            else:
                doubts = tuple(self._doubts_of_emptying(dataset, base))
                like = self._facts.histories[dataset][base.place].run_id
                yield from _emptied(known, notes, doubts, self._newest(dataset), like)

    def _clean(self, dataset: int, base: _Base) -> tuple[TableCheck, ...]:
        """
        Return the check that nobody unknown has put bad data into the version to which a table goes back.

        What such a version comes from lies between versions that the store knows, and nothing here tells that it is
        older than the bad one: what came before all that the store knows is. None if there is no such version.
        """
        if dataset == self._root:
            return ()
        history, table = self._facts.histories[dataset], statements.table_id(self._facts.datasets[dataset])
        places = {made.snapshot: place for place, made in enumerate(history) if made.snapshot}
        bad = self._flow.made(self._wish.start)
        is_unknown = base.version not in places and base.place > 0
        key = self._flow.before.get((dataset, base.place))
        if base.version in places:
            key = (dataset, places[base.version])
        while key is not None and key[1] and (made := self._flow.made(key)).time > bad.time:
            if made.whole is True and self._facts.has_maker(made):
                # Nothing of what was before is in it.
                break
            is_unknown |= bool(self._facts.unknown_maker(made))
            key = self._flow.before.get(key)
        if not is_unknown:
            return ()
        since = self._flow.made(key).snapshot if key is not None else ""
        known = tuple(made.snapshot for made in history if made.snapshot and self._facts.has_maker(made))
        return (TableCheck("clean", table, base.version, since, known, self._facts.run(bad.run_id).started),)

    def _run_of(self, dataset: int, version: str) -> str:
        """Return the run that made a version; empty if none is recorded."""
        return next((made.run_id for made in self._facts.histories[dataset] if made.snapshot == version), "")

    def _newest(self, dataset: int) -> tuple[TableCheck, ...]:
        """Return the check that nobody unknown has written a dataset; none if it keeps no versions, or was dropped."""
        if dataset not in self._newest_checks:
            self._newest_checks[dataset] = self._newest_of(dataset)
        return self._newest_checks[dataset]

    def _newest_of(self, dataset: int) -> tuple[TableCheck, ...]:
        known = self._facts.datasets[dataset]
        if not known.has_versions or not known.is_of_spark or self._is_gone(dataset):
            return ()
        history = self._facts.histories.get(dataset, ())
        made = next((each for each in reversed(history) if each.snapshot and not each.branch), None)
        check = TableCheck("newest", statements.table_id(known), made.snapshot if made else "")
        # What only a read tells may be older than that.
        check = attrs.evolve(check, time=made.time if made and made.run_id else 0, table_id=_table_id(history))
        base = self._bases.get(dataset)
        if base is None:
            return (check,)
        before = self._flow.before.get((dataset, base.place))
        # What the first run replaces as a whole is gone, whoever has made it.
        replaced = history[base.place].parent or (self._flow.made(before).snapshot if before else "")
        since = base.version or (replaced if base.replaced else "")
        made_again = (each.snapshot for each in history if each.snapshot and self._facts.has_maker(each))
        return (attrs.evolve(check, since=since, known=tuple(dict.fromkeys(made_again))),)

    def _is_gone(self, dataset: int) -> bool:
        """Return whether a dataset was dropped, and not created again."""
        return self._flow.made(self._flow.line(dataset)[0]).change == "DROP"

    def _creation(self, dataset: int, base: _Base) -> Iterator[RecoveryStep]:
        """Yield the step that creates a dataset again that was dropped, unless its first run does it."""
        first = self._facts.histories[dataset][base.place]
        if first.change == "CREATE" or (base.replaced and first.change == "RENAME"):
            return
        dropped = self._flow.made(self._flow.line(dataset)[0])
        label = self._label(dataset)
        job = self._facts.run(dropped.run_id).job
        note = f"The run {dropped.run_id} of {job} dropped it, and that is repeated below."
        doubts = tuple(self._doubts_of_emptying(dataset, base))
        yield RecoveryStep("empty", f"Create {label} again, without rows.", notes=(note,), doubts=doubts)

    def _doubts_of_emptying(self, dataset: int, base: _Base) -> Iterator[str]:
        """Yield the doubts about emptying a dataset: its first rows may be from no recorded run."""
        history = self._facts.histories[dataset]
        before = self._flow.before.get((dataset, base.place))
        begins = history[base.place].whole is True or (before is not None and history[before[1]].empties)
        if not begins:
            label = self._label(dataset)
            yield (
                f"no event states that {label} had no rows before {history[base.place].version}: if it had, they are "
                "made by no run here, so keep a copy of it"
            )
        known = self._facts.datasets[dataset]
        streams = [query for query, units in self._queries.items() if dataset in self._sources(units)]
        if known.format == "iceberg" and streams:
            yield (
                f"a stream that reads {self._label(dataset)} would read its old versions again: it needs the options "
                "streaming-skip-delete-snapshots=true and stream-from-timestamp (when this step was, in milliseconds)"
            )
        if not known.has_versions and known.location and any(made.batch_id != NO_BATCH for made in history):
            yield (
                f"a stream writes it: if {known.location} has a folder _spark_metadata, remove that too, for the "
                "stream skips the micro-batches that are in it, and Spark reads only the files that are in it"
            )
        if not self._is_gone(dataset) and self._flow.is_dropped_after((dataset, base.place)):
            yield f"{self._label(dataset)} was dropped and created again since: it may have had other columns before"

    @functools.cached_property
    def _created(self) -> dict[int, tuple[str, str]]:
        """Return the datasets that an application which runs again creates -> its run and the name of its job."""
        again = {
            group.application.run_id: group.application.job
            for group in self._groups
            if group.application and not self._is_statement(group)
        }
        return {
            key[0]: (application, again[application])
            for dataset in self._bases
            for key in self._flow.line(dataset)
            if self._flow.made(key).change == "CREATE"
            and (application := self._facts.run(self._flow.made(key).run_id).application) in again
        }

    @functools.cached_property
    def _dropped(self) -> dict[int, str]:
        """Return the datasets that are dropped because an application creates them again -> its job."""
        return {
            dataset: job
            for dataset, (_, job) in self._created.items()
            if dataset != self._root and not self._facts.datasets[dataset].has_versions
        }

    def _correction(self) -> Iterator[RecoveryStep]:
        line = self._flow.line(self._root)
        is_corrected = any(self._flow.corrects(key, self._wish.start) for key in line)
        if not self._is_needed or self._wish.start not in line or is_corrected:
            # It was rolled back or replaced already, or corrected.
            return
        known, made = self._facts.datasets[self._root], self._flow.made(self._wish.start)
        name = known.label
        doubts: list[str] = []
        if self._wish.mode is Mode.SIDE_BY_SIDE:
            name = statements.copy_name(known, _SUFFIX) if known.sql else f"a copy of {known.label}"
        if not self._in_place and not (self._root in self._bases and self._is_remade(self._bases[self._root])):
            if self._wish.mode is Mode.SIDE_BY_SIDE:
                doubts.append(f"{name} begins with all rows of {known.label}: remove the bad data by hand")
            else:
                doubts.append(f"{known.label} can't be rolled back: remove the bad data by hand")
            if not self._is_bad(self._root):
                now = self._flow.made(self._flow.line(self._root)[0])
                doubts.append(
                    f"{known.label} holds it no more since {now.version}: put that back when the steps below are done"
                )
        run = self._facts.run(made.run_id)
        notes = [f"The bad version {made.version} was made by {run.job}, run {made.run_id}."] if made.run_id else []
        if made.batch_id != NO_BATCH:
            notes.append(
                f"It is of micro-batch {made.batch_id}: correct what that read, or the code. It runs again below."
            )
        elif run.sql:
            notes.append(f"Its statement was: {run.sql}")
        if self._in_place:
            notes.append("Nothing is rolled back: only a column is bad, and the newest version was read by all.")
        if self._corrects_what_is_gone(run.sql):
            doubts.append(
                f"it only changes rows that are there, and those of version {made.version} are gone by then: name "
                "statements that insert the right ones"
            )
        text = f"Put the right data of version {made.version} into {name}." if made.version else f"Correct {name}."
        is_copy = self._wish.mode is Mode.SIDE_BY_SIDE
        yield RecoveryStep(
            "correct",
            text,
            "sql" if self._wish.correction else "",
            self._wish.correction,
            notes=tuple(notes),
            doubts=tuple(doubts),
            writes=(statements.table_id(known, name if is_copy else ""),) if known.is_of_spark else (),
            before=() if is_copy else self._newest(self._root),
            corrects=made.version if self._in_place else "",
            like="" if is_copy else made.run_id,
        )

    def _corrects_what_is_gone(self, sql: str) -> bool:
        """
        Return whether the correction adds no row, although the bad rows were removed before it.

        Args:
            sql: the statement that made the bad version: one that added no row either is repeated so.
        """
        goes_back = not self._in_place and self._root in self._bases and self._is_remade(self._bases[self._root])
        correction = self._wish.correction
        adds_none = bool(correction) and all(map(_ADDS_NO_ROW.match, correction))
        return goes_back and adds_none and not _ADDS_NO_ROW.match(sql)

    def _checkpoints(self) -> Iterator[RecoveryStep]:
        for query, units in self._queries.items():
            yield _checkpoint(self._restart(query, units), self._restored(query))
        for query in self._moved_on:
            yield _checkpoint(_Restart.of(self._flow, query, ()), self._restored(query))

    def _restart(self, query: str, units: Sequence[Unit]) -> _Restart:
        """Return the position at which a query continues if some of its micro-batches are repeated."""
        written = {key[0] for unit in units for key in self._flow.writes.get(unit, ())}
        goes_back = any(self._bases[each].version for each in written if each in self._bases)
        # The store may know nothing of what was before its first micro-batch.
        fresh = units[0][1] == 0 or (self._flow.batches[query][0] == units[0] and not goes_back)
        return _Restart.of(self._flow, query, units, fresh=fresh)

    def _sources(self, units: Iterable[Unit]) -> set[int]:
        """Return the datasets that micro-batches read as their sources."""
        placed = (each.read for unit in units for each in self._flow.reads.get(unit, ()))
        return {read.dataset for read in placed if read.is_source}

    def _restored(self, query: str) -> list[tuple[DatasetFacts, str]]:
        """Return the sources of a query that are rolled back or emptied, with the version to which they go."""
        found: dict[int, tuple[DatasetFacts, str]] = {}
        for unit in self._flow.batches[query]:
            for placed in self._flow.reads.get(unit, ()):
                dataset = self._facts.datasets[placed.read.dataset]
                base = self._bases.get(dataset.id)
                if not placed.read.is_source:
                    continue
                if dataset.has_versions and base is not None and not base.replaced and dataset.location:
                    found[dataset.id] = dataset, base.version
        return list(found.values())

    def _runs(self) -> Iterator[RecoveryStep]:
        for group in self._groups:
            if group.is_correction:
                yield from self._correction()
                yield from () if self._wish.mode is Mode.SIDE_BY_SIDE else self._checkpoints()
                continue
            runs = {unit[0]: self._facts.run(unit[0]) for unit in group.units}
            if self._is_statement(group):
                yield self._statement(group, next(iter(runs.values())))
            else:
                yield self._application(group, runs)

    def _is_statement(self, group: Group) -> bool:
        """Return whether what a group repeats is one statement, whose text is known."""
        if group.is_correction:
            return False
        only = self._facts.run(group.units[0][0])
        return (
            len(group.units) == 1
            and bool(only.sql)
            and not only.query
            and not (group.application and group.application.run_id != only.application)
            and not (group.application and not self._stands_alone(group.units[0]))
        )

    def _statement(self, group: Group, run: RunFacts) -> RecoveryStep:
        from openlineage_pyspark.workbench.recovery.rewriting import rewritten

        unit = group.units[0]
        writes = {key[0] for key in self._flow.writes.get(unit, ())}
        views = self._opened_views(unit)
        read = self._read_again(group, unit, views)
        reads, corrected = read.reads, read.corrected
        doubts = [*self._doubts_of(group), *read.doubts]
        known = [self._facts.datasets[each] for each in {*writes, *(dataset.id for dataset, _ in reads)}]
        copies = self._copy_names if self._wish.mode is Mode.SIDE_BY_SIDE else {}
        own = corrected | (writes & set(self._bases))
        read_copies = {each: name for each, name in copies.items() if each in own}
        text = rewritten(run.sql, reads, known, copies, read_copies, corrected, views)
        changing = sorted({found[1].lower() for found in _CHANGING.finditer(run.sql)})
        doubts += text.doubts
        doubts += [f"{name} gives another value when it runs again" for name in changing]
        title = f"Run the statement of {run.job} again."
        if not text.text:
            doubts.append(f"it ran this: {run.sql}")
        doubts += _doubts_of_session(run, stands_alone=text.stands_alone)
        elsewhere = [each for each in writes if not self._facts.datasets[each].is_of_spark]
        doubts += [
            f"no event states that {self._label(each)} is a table of Spark: run it where it ran" for each in elsewhere
        ]
        is_sql = bool(text.text) and not elsewhere
        tables = [self._facts.datasets[each] for each in sorted(writes)]
        return RecoveryStep(
            "run",
            title,
            "sql" if is_sql else "",
            (*text.before, text.text) if text.text else (),
            inputs=read.pins,
            again=tuple(self._again(group)),
            notes=tuple(
                f"The query of the view {self._label(each)} is in its place, to read what it read." for each in views
            ),
            doubts=tuple(dict.fromkeys(doubts)),
            writes=tuple(statements.table_id(each, copies.get(each.id, "")) for each in tables if each.is_of_spark),
            settings=_settings(run),
            before=tuple(self._checks_before(reads, () if copies else tables)),
            after=tuple(self._checks_after(unit, copies)),
            like="" if copies else run.id,
        )

    def _read_again(self, group: Group, unit: Unit, views: Collection[int]) -> _ReadAgain:
        """Return what a statement reads when it runs again; the queries of some views are in their places."""
        writes = {key[0] for key in self._flow.writes.get(unit, ())}
        pins: list[Pin] = []
        reads: list[tuple[DatasetFacts, str]] = []
        doubts: list[str] = []
        corrected: set[int] = set()
        for placed in self._flow.reads.get(unit, ()):
            dataset = self._facts.datasets[placed.read.dataset]
            if dataset.id in views:
                reads.append((dataset, ""))
                continue
            is_named = self._names_source(unit, dataset.id)
            if self._is_corrected(placed):
                corrected.add(dataset.id)
                pins.append(Pin(dataset.label, affected=True))
                reads.append((dataset, ""))
                if not is_named and self._wish.mode is Mode.SIDE_BY_SIDE:
                    doubts.append(f"it reads {dataset.label} through a view, and so not its copy")
                continue
            version, doubt = ("", "") if dataset.id in writes else self._pinned(placed, dataset)
            doubts += [doubt] if doubt else []
            pins.append(Pin(dataset.label, version))
            if version and not is_named:
                if not self._is_there_again(placed, group):
                    doubts.append(self._doubt_of_view(dataset, version))
                version = ""
            reads.append((dataset, version))
        return _ReadAgain(tuple(pins), tuple(reads), tuple(doubts), frozenset(corrected))

    def _doubt_of_view(self, dataset: DatasetFacts, version: str) -> str:
        """Return the doubt about a statement that reads other rows through a view than it read then."""
        which = version if version == statements.NO_ROWS else f"version {version}"
        return f"it reads {dataset.label} through a view, so what that holds then, and read {which}"

    def _checks_before(
        self, reads: Iterable[tuple[DatasetFacts, str]], writes: Iterable[DatasetFacts]
    ) -> Iterator[TableCheck]:
        """Yield the conditions for repeating a statement, such as that the versions that it reads exist."""
        for known in writes:
            yield from self._newest(known.id)
        for known, version in reads:
            if version not in ("", statements.NO_ROWS) and known.has_versions:
                yield TableCheck("there", statements.table_id(known), version)

    def _checks_after(self, unit: Unit, copies: Mapping[int, str]) -> Iterator[TableCheck]:
        """Yield that a repeated run does to each table what it did then."""
        for key in self._flow.writes.get(unit, ()):
            known, made = self._facts.datasets[key[0]], self._flow.made(key)
            if known.has_versions and made.snapshot and not made.branch:
                yield TableCheck("like", statements.table_id(known, copies.get(key[0], "")), made.snapshot)

    def _application(self, group: Group, runs: dict[str, RunFacts]) -> RecoveryStep:
        """Return the step that starts an application again."""
        application = group.application
        pins: dict[tuple[str, str], Pin] = {}
        doubts = list(self._doubts_of(group))
        notes: list[str] = []
        for unit in group.units:
            for placed in self._flow.reads.get(unit, ()):
                dataset = self._facts.datasets[placed.read.dataset]
                corrected = self._is_corrected(placed)
                version = "" if corrected or unit[1] != NO_BATCH else self._pinned(placed, dataset)[0]
                pins[dataset.label, version] = Pin(dataset.label, version, corrected)
                if corrected and unit[1] == NO_BATCH and self._named_a_version(placed):
                    doubts.append(
                        f"it read version {placed.read.version} of {dataset.label} when a later one was there: if its "
                        "code names it, let it read what is there then"
                    )
                if not corrected and unit[1] == NO_BATCH and not self._is_there_again(placed, group):
                    doubts += self._doubts_of_place(placed, dataset, version)
        names = ", ".join(dict.fromkeys(run.job for run in runs.values()))
        streams = [query for query in self._queries if any(run.query == query for run in runs.values())]
        for query in streams:
            if self._queries[query][0] in group.units:
                notes += _restart_notes(self._restart(query, self._queries[query]))
            if self._queries[query][-1] not in group.units:
                notes.append(
                    "Let it read all that is there, and end, before the next step: others need what it has made."
                )
        side = self._wish.mode is Mode.SIDE_BY_SIDE
        if side:
            notes += [
                f"Let it use {name} in place of {self._label(each)}."
                for each, name in self._copy_names.items()
                if each in {placed.read.dataset for unit in group.units for placed in self._flow.reads.get(unit, ())}
                or each in {key[0] for unit in group.units for key in self._flow.writes.get(unit, ())}
            ]
            notes += ["Give each streaming query a new checkpoint."] if streams else []
        written = sorted({key[0] for unit in group.units for key in self._flow.writes.get(unit, ())})
        command, about = _command(application)
        verb = "Start" if streams else "Run"
        again = f"{verb} {application.job if application and application.job else names} again."
        doubts += self._doubts_of_application(group, application)
        return RecoveryStep(
            "run",
            again,
            "shell" if command and not side else "",
            (command,) if command else (),
            application.folder if application and command else "",
            tuple(pins.values()),
            tuple(self._again(group)),
            (*notes, *about),
            tuple(dict.fromkeys(doubts)),
            tuple(statements.table_id(known) for each in written if (known := self._facts.datasets[each]).is_of_spark),
            before=() if side else tuple(check for each in written for check in self._newest(each)),
        )

    def _doubts_of_place(self, placed: PlacedRead, dataset: DatasetFacts, version: str) -> Iterator[str]:
        """Yield that an application which runs again finds other rows than it read."""
        if version:
            which = version if version == statements.NO_ROWS else f"version {version}"
            name = statements.sql_name(statements.table_id(dataset))
            how = "" if version == statements.NO_ROWS else f": let its code read {name} VERSION AS OF {version}"
            yield f"it reads what {dataset.label} holds then, and read {which}{how}"
        elif self._facts.histories.get(dataset.id) and self._changed_since(placed):
            yield f"it reads what {dataset.label} holds then, and that was written since"

    def _doubts_of_application(self, group: Group, application: ApplicationFacts | None) -> Iterator[str]:
        if application is None:
            yield "it is not known how it was started"
            return
        if not application.command:
            yield "its START event does not state how it was started"
        side = self._wish.mode is Mode.SIDE_BY_SIDE
        for dataset, (creator, _) in self._created.items():
            if creator == application.run_id and (side or dataset not in self._dropped):
                name = self._copy_names.get(dataset, self._label(dataset)) if side else self._label(dataset)
                yield f"it created {self._label(dataset)}: if it fails because {name} is there, drop that first"
        if application.redacted:
            yield "parts of its command are left out because they are secret: put them in"
        written = {key[0] for unit in group.units for key in self._flow.writes.get(unit, ())}
        read = {placed.read.dataset for unit in group.units for placed in self._flow.reads.get(unit, ())}
        for known in (self._facts.datasets[each] for each in sorted(written | read)):
            if known.former and known.former != known.sql:
                yield f"{known.former} is called {known.sql} now: change that in its code"
        others = [each for each in self._facts.beside.get(application.run_id, ()) if each not in written]
        if others:
            names = ", ".join(sorted(self._label(each) for each in others))
            yield f"it writes {names} too, which need no recovery: keep it from that"

    def _doubts_of(self, group: Group) -> Iterator[str]:
        if group.in_circle:
            yield "it needs what is made after it: it runs where it ran then"
        for unit in group.units:
            run = self._facts.run(unit[0])
            for gap in run.gaps[:_SHOWN]:
                yield f"its event reports missing lineage: {gap}"
            if not run.ended and unit[1] == NO_BATCH:
                yield f"the run {run.id} never reported an end"
            for placed in self._flow.reads.get(unit, ()):
                yield from self._doubts_of_read(unit, placed)
            for key in self._flow.writes.get(unit, ()):
                if self._flow.made(key).whole is None:
                    yield f"it is not known whether it replaced all of {self._label(key[0])}, or only partitions"

    def _doubts_of_read(self, unit: Unit, placed: PlacedRead) -> Iterator[str]:
        label = self._label(placed.read.dataset)
        is_own = any(key[0] == placed.read.dataset for key in self._flow.writes.get(unit, ()))
        is_known = is_own or self._was_empty(placed) or not self._facts.datasets[placed.read.dataset].has_versions
        if placed.read.inferred and not is_known:
            yield f"its event does not state which version of {label} it read: the one that was current then is taken"
        if placed.key is None or placed.key not in self._needed or unit[1] != NO_BATCH:
            return
        made = self._flow.made(placed.key)
        if made.batch_id == NO_BATCH:
            return
        query = self._facts.run(made.run_id).query
        following = [self._flow.made(each) for each in self._flow.after(placed.key) if each in self._needed]
        group = self._group_of.get(made.unit)
        again = {self._facts.run(each.run_id).query for each in following if self._group_of.get(each.unit) == group}
        if query in again:
            yield f"it read {label} in the middle of a stream, and now reads what the stream made up to its end"

    def _again(self, group: Group) -> Iterator[RepeatedRun]:
        by_run: dict[str, list[Unit]] = {}
        for unit in group.units:
            by_run.setdefault(unit[0], []).append(unit)
        for run_id, units in by_run.items():
            numbers = [unit[1] for unit in units if unit[1] != NO_BATCH]
            keys = [key for unit in units for key in self._flow.writes.get(unit, ())]
            rows = [found for key in keys if (found := self._flow.made(key).rows) is not None]
            yield RepeatedRun(
                run_id,
                self._facts.run(run_id).job,
                (min(numbers), max(numbers)) if numbers else (),
                tuple(self._named(key) for key in keys),
                None if numbers else self._facts.run(run_id).seconds,
                sum(rows) if rows else None,
            )

    def _is_corrected(self, placed: PlacedRead) -> bool:
        """Return whether what was read is made again before."""
        return placed.key is not None and (placed.key in self._needed or placed.key in self._spread.because)

    def _named_a_version(self, placed: PlacedRead) -> bool:
        """Return whether a run read a version that was not the newest one when it began."""
        if placed.key is None or placed.read.inferred or self._flow.made(placed.key).version != placed.read.version:
            return False
        started = self._facts.run(placed.read.run_id).started
        return any(self._flow.made(each).time < started for each in self._flow.after(placed.key))

    def _changed_since(self, placed: PlacedRead) -> bool:
        return placed.key is None or bool(self._flow.after(placed.key))

    def _is_there_again(self, placed: PlacedRead, group: Group) -> bool:
        """Return whether an application that runs again finds the version that was read: it runs before later ones."""
        first = self._first_needed.get(placed.read.dataset)
        if first is None or self._wish.mode is Mode.SIDE_BY_SIDE:
            return not self._changed_since(placed)
        return not group.too_late and placed.key == self._flow.held(self._flow.before.get((placed.read.dataset, first)))

    def _pinned(self, placed: PlacedRead, dataset: DatasetFacts) -> tuple[str, str]:
        """Return the version to which a clean input is pinned, and what is not certain about that."""
        version = self._flow.made(placed.key).snapshot if placed.key else ""
        if self._was_empty(placed):
            return statements.NO_ROWS, ""
        if version and dataset.has_versions:
            if placed.key and self._flow.is_dropped_after(placed.key):
                return "", f"version {version} of {dataset.label} went with its drop: it reads what is there now"
            if version not in self._wish.expired:
                return version, ""
            near = self._nearest(placed)
            instead = f"it reads version {near}, the nearest" if near else "it reads what is there now"
            return near, f"version {version} of {dataset.label} expired: {instead}"
        if self._facts.histories.get(dataset.id) and self._changed_since(placed):
            return "", f"{dataset.label} keeps no versions and was written since: it reads what is there now"
        return "", ""

    def _was_empty(self, placed: PlacedRead) -> bool:
        """
        Return whether a run read a table that keeps versions, and had none yet: a table of Iceberg that was created.

        Its event names no version then, and no version is there to which the table could be pinned.
        """
        if placed.key is None or not placed.read.inferred or not self._facts.datasets[placed.read.dataset].has_versions:
            return False
        made = self._flow.made(placed.key)
        return (
            (made.change, made.whole, made.empties, made.snapshot) == ("CREATE", True, True, "")
            and self._facts.has_maker(made)
            # Nobody unknown wrote the first rows.
            and not any(self._facts.unknown_parent(self._flow.made(each)) for each in self._flow.after(placed.key))
        )

    def _nearest(self, placed: PlacedRead) -> str:
        """Return the version nearest to one that expired: the next one after it, else the last one before."""
        if placed.key is None:
            return ""
        dataset, place = placed.key
        history = self._facts.histories[dataset]
        for here in (*range(place + 1, len(history)), *range(place - 1, -1, -1)):
            key = (dataset, here)
            version: str = history[here].snapshot
            if version and version not in self._wish.expired and key not in self._spread.because:
                return version
        return ""

    # Side by side.

    @functools.cached_property
    def _copy_names(self) -> dict[int, str]:
        return {
            dataset: statements.copy_name(self._facts.datasets[dataset], _SUFFIX)
            for dataset in (*self._bases, *(() if self._root in self._bases else (self._root,)))
            if self._facts.datasets[dataset].is_of_spark
        }

    def _copies(self) -> Iterator[RecoveryStep]:
        made: set[str] = set()
        for dataset in dict.fromkeys((self._root, *self._bases)):
            known, base = self._facts.datasets[dataset], self._bases.get(dataset, _Base(0))
            name = self._copy_names.get(dataset)
            if name is None:
                why = "no event states that it is a table of Spark" if known.sql else "it has no name in SQL"
                yield RecoveryStep("copy", f"Make a copy of {known.label}.", doubts=(why,))
                continue
            if name in made:
                # Under the name that it had before.
                continue
            made.add(name)
            if self._is_gone(dataset):
                doubts = ("it was dropped since", *self._doubts_of_emptying(dataset, base))
                yield RecoveryStep(
                    "copy", f"Make {name} with the columns of {known.label}, without rows.", doubts=doubts
                )
                continue
            what = f"version {base.version}" if base.version else "no rows"
            expired = _expired_note(base, self._expired.get(dataset, ""))
            text = statements.copied(known, name, base.version)
            if dataset not in self._bases:
                what, text = "all of its rows", statements.copied_whole(known, name)
            there = (TableCheck("there", statements.table_id(known), base.version),) if base.version else ()
            yield RecoveryStep(
                "copy",
                f"Make {name}, a copy of {known.label} with {what}.",
                "sql",
                (text,),
                notes=expired,
                writes=(statements.table_id(known, name),),
                before=(*self._newest(dataset), *(self._clean(dataset, base) if base.version else ()), *there),
            )

    def _switches(self) -> Iterator[RecoveryStep]:
        switched = {name: dataset for dataset, name in self._copy_names.items() if not self._is_gone(dataset)}
        for name, dataset in switched.items():
            known = self._facts.datasets[dataset]
            notes = ["Look at the copy first. Streams that read the table need a new checkpoint after this."]
            if statements.is_table_of_path(name):
                notes.append("No statement drops a table that has only a path: remove the copy's files at the end.")
            title = f"Give {known.label} the rows of {name}."
            writes = (statements.table_id(known), statements.table_id(known, name))
            code = statements.switched(known, name)
            yield RecoveryStep("switch", title, "sql", code, notes=tuple(notes), writes=writes)


@attrs.frozen
class _ReadAgain:
    """
    What a statement reads when it runs again.

    Args:
        pins: its inputs, for people.
        reads: its inputs, each with the version to which it is pinned.
        doubts: what is not certain about them.
        corrected: those that are made again before.
    """

    pins: tuple[Pin, ...]
    reads: tuple[tuple[DatasetFacts, str], ...]
    doubts: tuple[str, ...]
    corrected: frozenset[int]


@attrs.frozen
class _Restart:
    """
    Where a streaming query goes on.

    Args:
        job: its job.
        checkpoint: the place of its checkpoint; empty if it is not known.
        after: the last micro-batch that stays; None if it begins anew.
        last: the last one that it made.
        offsets: for each source, its name and the place after which it is read; empty if that is not told.
    """

    job: str
    checkpoint: str
    after: int | None
    last: int
    offsets: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, flow: Flow, query: str, units: Sequence[Unit], *, fresh: bool = False) -> _Restart:
        """Return the position at which a query continues if some micro-batches are repeated; its end if none are."""
        batches = flow.batches[query]
        runs = [flow.facts.run(unit[0]) for unit in batches]
        offsets = {
            placed.read.dataset: (flow.facts.datasets[placed.read.dataset].label, placed.read.offset_from)
            for unit in units[:1]
            for placed in flow.reads.get(unit, ())
        }
        checkpoint = next((run.checkpoint for run in reversed(runs) if run.checkpoint), "")
        last = batches[-1][1]
        after = None if fresh else units[0][1] - 1 if units else last
        return cls(runs[-1].job, checkpoint, after, last, tuple(offsets.values()))


def _with_new_names(facts: Facts) -> Facts:
    """Return facts in which a dataset that was renamed, and not written since, has the new name in statements."""
    reads = {(read.run_id, read.batch_id): read.dataset for read in facts.reads}
    named = dict(facts.datasets)
    renamed = sorted(
        (made.time, made.dataset, old)
        for history in facts.histories.values()
        for made in history
        if made.change == "RENAME" and (old := reads.get(made.unit)) is not None and old != made.dataset
    )
    # The latest one first: what was renamed twice has the last name.
    for time, dataset, old in reversed(renamed):
        if all(each.time <= time for each in facts.histories.get(old, ())):
            new, known = named[dataset], named[old]
            format_ = new.format or known.format
            named[old] = attrs.evolve(known, sql=new.sql, format=format_, location=new.location, former=known.sql)
    return attrs.evolve(facts, datasets=named)


def _rolled_back(
    known: DatasetFacts, version: str, notes: tuple[str, ...], checks: tuple[TableCheck, ...], like: str
) -> RecoveryStep:
    """Return the step that makes a table what it was at a version."""
    doubts: tuple[str, ...] = ()
    if any(check.check == "clean" for check in checks):
        unknown = (
            f"Nobody knows who made what version {version} comes from. `recover apply` refuses it if that came after "
        )
        notes = (*notes, f"{unknown}the bad data, and put rows in.")
    table = statements.table_id(known)
    if known.format == "iceberg" and not statements.names_catalog(table):
        doubts = (f"no event names the catalog of {known.label}: the current one is taken",)
    return RecoveryStep(
        "roll back",
        f"Roll {known.label} back to version {version}.",
        "sql",
        (statements.roll_back(table, version),),
        notes=notes,
        doubts=doubts,
        writes=(table,),
        before=(*checks, TableCheck("there", table, version)),
        after=(TableCheck("current", table, version),),
        # The storage of Iceberg makes no version by that.
        like=like if known.format == "delta" else "",
    )


def _emptied(
    known: DatasetFacts, notes: tuple[str, ...], doubts: tuple[str, ...], newest: tuple[TableCheck, ...], like: str
) -> Iterator[RecoveryStep]:
    """Yield the steps that remove all rows of a dataset; one that keeps no versions is copied before."""
    notes = (*notes, *_why_emptied(known))
    if known.sql and not known.is_of_spark:
        # Spark's catalog may give the name to another table.
        notes = (*notes, "No event states that it is a table of Spark.")
        yield RecoveryStep("empty", f"Empty {known.label}.", notes=notes, doubts=doubts)
        return
    code = statements.empty(known)
    if not code:
        where = known.location or known.label
        yield RecoveryStep("empty", f"Move the files of {where} away, and keep them.", notes=notes, doubts=doubts)
        return
    yield from _kept(known)
    writes = [statements.table_id(known)]
    if statements.is_overwritten(known):
        writes.append(statements.table_id(known, statements.empty_copy_name(known)))
    yield RecoveryStep(
        "empty",
        f"Empty {known.label}.",
        "sql",
        code,
        notes=notes,
        doubts=doubts,
        writes=tuple(writes),
        before=newest,
        like=like,
    )


def _kept(known: DatasetFacts) -> Iterator[RecoveryStep]:
    """Yield the step that copies a table that keeps no versions, before its rows are removed."""
    if known.has_versions:
        return
    copy = statements.kept_name(known)
    yield RecoveryStep(
        "keep",
        f"Keep the rows of {known.label} in {copy}.",
        "sql",
        (statements.copied_whole(known, copy),),
        notes=("`recover forget-copies` drops it when all is right.",),
        writes=(statements.table_id(known, copy),),
    )


def _dropped(known: DatasetFacts, job: str) -> Iterator[RecoveryStep]:
    """Yield the steps that drop a table, or move files away, that an application creates again."""
    notes = (f"{job} creates it again.",)
    if known.sql and not known.is_of_spark:
        # A table of a database, whose name Spark's catalog may give to another one.
        why = "No event states that it is a table of Spark."
        yield RecoveryStep("empty", f"Drop {known.label}.", notes=(*notes, why))
    elif known.sql:
        yield from _kept(known)
        code, writes = (statements.drop(known),), (statements.table_id(known),)
        yield RecoveryStep("empty", f"Drop {known.label}.", "sql", code, notes=notes, writes=writes)
    else:
        where = known.location or known.label
        yield RecoveryStep("empty", f"Move the files of {where} away, and keep them.", notes=notes)


def _restart_notes(restart: _Restart) -> list[str]:
    if restart.after is None:
        return [f"{restart.job} starts from scratch, and reads its sources from the start that its code sets."]
    found = [f"{restart.job} goes on after micro-batch {restart.after}."]
    found += [f"It reads {name} again after {offset}." for name, offset in restart.offsets if offset]
    return found


def _checkpoint(restart: _Restart, moved: Sequence[tuple[DatasetFacts, str]]) -> RecoveryStep:
    """
    Return the step that sets a checkpoint back.

    Args:
        restart: where the query goes on.
        moved: its sources that go back, each with the version to which it goes; empty for one that is emptied.
    """
    restored = [dataset for dataset, _ in moved]
    parts = urlsplit(restart.checkpoint)
    path = unquote(parts.path) if parts.scheme == "file" else restart.checkpoint
    if not restart.checkpoint:
        title = f"Set the checkpoint of {restart.job} back" + (
            f" to micro-batch {restart.after}." if restart.after is not None else ": start with an empty one."
        )
        return RecoveryStep("checkpoint", title, doubts=("no event states where its checkpoint is",))
    kept = f"{path.rstrip('/')}.before-recovery"
    words: tuple[str, ...]
    if restart.after is None:
        words = ("mv", path, kept) if parts.scheme in _LOCAL else ("hadoop", "fs", "-mv", path, kept)
        title = f"Move the checkpoint of {restart.job} away: it starts from scratch."
        move = CheckpointMove(path, None, last=restart.last) if parts.scheme in _LOCAL else None
        code = (statements.shell(words),)
        return RecoveryStep("checkpoint", title, "shell", code, notes=_fresh_notes(restored), move=move)
    title = f"Set the checkpoint of {restart.job} back to micro-batch {restart.after}. The old one is kept."
    if restart.after == restart.last:
        title = f"Let {restart.job} go on where its sources went back to. The old checkpoint is kept."
    notes = _cut_notes(restart, restored)
    if parts.scheme in _LOCAL:
        words = (PROGRAM, "checkpoint", path, "--back-to", str(restart.after))
        for dataset in restored:
            words += ("--restored", unquote(urlsplit(dataset.location).path))
        places = tuple((unquote(urlsplit(dataset.location).path), version) for dataset, version in moved)
        move = CheckpointMove(path, restart.after, places, restart.last)
        return RecoveryStep("checkpoint", title, "shell", (statements.shell(words),), notes=notes, move=move)
    doubts = ("the checkpoint is not on this machine: copy it here, run the command on the copy, and copy that back",)
    local = shell_name(path)
    words = (PROGRAM, "checkpoint", local, "--back-to", str(restart.after))
    moves = [("hadoop", "fs", "-get", path, local), words, ("hadoop", "fs", "-mv", path, kept)]
    moves.append(("hadoop", "fs", "-put", local, path))
    if restored:
        return RecoveryStep(
            "checkpoint", title, notes=notes, doubts=(*doubts, "the log of its Delta source must be here too")
        )
    return RecoveryStep("checkpoint", title, "shell", tuple(statements.shell(each) for each in moves), notes=notes)


def shell_name(path: str) -> str:
    """Return the last part of a path, as the name of a local copy."""
    return path.rstrip("/").rpartition("/")[2] or "checkpoint"


def _cut_notes(restart: _Restart, restored: Sequence[DatasetFacts]) -> tuple[str, ...]:
    notes = [
        f"Its copy loses offsets/N and commits/N above {restart.after}, and the state that is newer.",
        "It gets a new query id: a Delta table skips a micro-batch that the old id has committed.",
    ]
    if restart.after is not None and restart.last - restart.after >= RETAINED_BATCHES:
        notes.append(
            f"It made {restart.last - restart.after} micro-batches since, and Spark keeps {RETAINED_BATCHES} unless "
            "spark.sql.streaming.minBatchesToRetain is larger. If this one is gone, recover with --mode full, or "
            "start a new query after the offsets below."
        )
    names = ", ".join(dataset.label for dataset in restored if dataset.format == "delta")
    if names:
        notes.append(
            f"A stream can't pass a RESTORE of its source ({names}): the copy goes on at the version after it."
        )
    return tuple(notes)


def _fresh_notes(restored: Iterable[DatasetFacts]) -> tuple[str, ...]:
    names = ", ".join(dataset.label for dataset in restored)
    notes = ["If its code gives a place to start, such as startingVersion or startingOffsets, look at it again."]
    if names:
        notes.append(f"A new query reads the whole of {names} first.")
    return tuple(notes)


def _command(application: ApplicationFacts | None) -> tuple[str, tuple[str, ...]]:
    """Return the command that starts an application, and what a person should know of it."""
    if application is None:
        return "", ()
    notes = [f"Its script: {application.script}"] if application.script else []
    if application.deploy_mode and application.deploy_mode != "client":
        notes.append(f"It ran in deploy mode {application.deploy_mode}.")
    if application.redacted:
        notes.append(f"Its command: {statements.shell(application.command)}")
        return "", tuple(notes)
    return statements.shell(application.command) if application.command else "", tuple(notes)


def _table_id(history: Sequence[MadeVersion]) -> str:
    """Return the id of the table that a dataset is now; empty if no event since its last DROP tells it."""
    dropped = max((place for place, made in enumerate(history) if made.change == "DROP"), default=-1)
    return next((made.table_id for made in reversed(history[dropped + 1 :]) if made.table_id), "")


def _settings(run: RunFacts) -> tuple[tuple[str, str], ...]:
    """Return the settings of the session under which a statement is repeated."""
    told = dict(known_settings(run.session.settings)) if run.session is not None else {}
    if replaces_partitions(run.job):
        told |= dict(_PARTITIONS_ALONE)
    elif run.session is not None and _OVERWRITING.search(run.sql):
        # The session that repeats it may have another one.
        told.setdefault(*_WHOLE_TABLE)
    return tuple(sorted(told.items()))


def _settings_of_queries(run: RunFacts) -> dict[str, str] | None:
    """Return the settings under which a run read, without those of writes; None if no event states them."""
    if run.session is None:
        return None
    return {key: value for key, value in run.session.settings if key not in _OF_WRITES}


def _doubts_of_session(run: RunFacts, *, stands_alone: bool) -> Iterator[str]:
    """Yield the doubts about the session in which a statement is repeated."""
    if run.session is None:
        yield "no event states the settings of its session, such as spark.sql.ansi.enabled: the current ones apply"
        return
    left = sorted(dict(run.session.settings).keys() - dict(known_settings(run.session.settings)).keys())
    if left:
        # The events may come from anybody, and a setting can name a class that is loaded.
        yield f"it ran under settings that are not repeated: {', '.join(left)}"
    place = ".".join(filter(None, (run.session.catalog, run.session.schema)))
    if place and not stands_alone:
        yield f"it ran in {place}, where names without a schema are looked up"


def _expired_note(base: _Base, expired: str) -> tuple[str, ...]:
    if not expired:
        return ()
    near = f"version {base.version} is the nearest before it" if base.version else "none before it is there"
    return (f"Version {expired} expired; {near}.",)


def _why_emptied(known: DatasetFacts) -> tuple[str, ...]:
    why = (
        "It is made again from its first recorded run."
        if known.has_versions
        else ("It keeps no versions to which it could be rolled back: it is made again from its first recorded run.")
    )
    notes = [why]
    if known.sql and statements.is_overwritten(known):
        notes.append(
            "TRUNCATE TABLE would refuse an external table. If the table has partitions, they go only where "
            "spark.sql.sources.partitionOverwriteMode is static, as it is by default."
        )
    elif not known.has_versions and known.is_of_spark:
        notes += _emptied_by_hand(known)
    return tuple(notes)


def _emptied_by_hand(known: DatasetFacts) -> list[str]:
    """Return the manual remedy if TRUNCATE TABLE refuses a table."""
    notes = [
        f"{which}: {'; '.join(code)}."
        for which, has_partitions in (("Without partitions", False), ("With partitions", True))
        if (code := statements.empty_external(known, has_partitions=has_partitions))
    ]
    if notes:
        notes.insert(
            0, "TRUNCATE TABLE refuses an external table: then empty it by hand, and go on with the next step."
        )
    return notes


def _firsts(needed: Iterable[HistoryPlace]) -> dict[int, int]:
    """Return the first place of each dataset."""
    found: dict[int, int] = {}
    for dataset, place in needed:
        found[dataset] = min(place, found.get(dataset, place))
    return found
