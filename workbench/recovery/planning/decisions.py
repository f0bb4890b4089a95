"""Decide everything about a recovery, before it is put into words. Pure."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.recovery.model.affected import Flow, spread
from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace
from openlineage_pyspark.workbench.recovery.model.plan import Mode, TableCheck
from openlineage_pyspark.workbench.recovery.model.statement_texts import StatementTexts
from openlineage_pyspark.workbench.recovery.model.statements import NO_ROWS, beside_name, beside_path, table_id
from openlineage_pyspark.workbench.recovery.planning.groups import groups
from openlineage_pyspark.workbench.recovery.planning.remade import remade
from openlineage_pyspark.workbench.recovery.planning.repeated_reads import RepeatedReads
from openlineage_pyspark.workbench.recovery.planning.restarts import Restarts

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import Spread
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts, Facts, MadeVersion
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryRequest
    from openlineage_pyspark.workbench.recovery.planning.groups import Group
    from openlineage_pyspark.workbench.recovery.planning.remade import Base, Remade


@attrs.frozen
class Decisions:
    """
    The decisions about a recovery.

    Args:
        request: the request.
        flow: the versions and their reads.
        spread: the versions that hold bad data.
        again: what is rebuilt, and from where.
        groups: what runs again, in order.
        group_of: the place of the group that repeats each run and micro-batch.
        reads: the reads of a repeated run.
        restarts: the streaming queries that are reset, or continue elsewhere.
        conditions: what must hold before and after the steps.
        created: the datasets that an application which runs again creates -> its run and the name of its job.
        copies: a dataset -> the name of the copy that is used instead; none unless the recovery is side by side.
        folders: a dataset that only has a path -> the path of the copy that is used instead; none likewise.
    """

    request: RecoveryRequest
    flow: Flow
    spread: Spread
    again: Remade
    groups: tuple[Group, ...]
    group_of: Mapping[RunPart, int]
    reads: RepeatedReads
    restarts: Restarts
    conditions: Conditions
    created: Mapping[int, tuple[str, str]]
    copies: Mapping[int, str]
    folders: Mapping[int, str]
    _texts: StatementTexts = attrs.field(alias="texts")

    @property
    def facts(self) -> Facts:
        """Return the facts."""
        return self.flow.facts

    @property
    def root(self) -> int:
        """Return the dataset that got the bad version."""
        return self.request.start.dataset

    @property
    def bad(self) -> MadeVersion:
        """Return the bad version."""
        return self.flow.made(self.request.start)

    @property
    def is_side_by_side(self) -> bool:
        """Return whether copies are made, and the tables stay unchanged until the copies are right."""
        return self.request.mode is Mode.SIDE_BY_SIDE

    def is_bad(self, dataset: int) -> bool:
        """Return whether the newest version of a dataset holds bad data."""
        return self.flow.newest(dataset) in self.spread.because

    def is_statement(self, group: Group) -> bool:
        """Return whether a group repeats one statement, whose text is known."""
        return _is_statement(self.facts, self._texts, group)

    def names_source(self, group: Group, dataset: int) -> bool:
        """Return whether the statement of a group names a dataset, which it may read through a view."""
        return self._texts.names_source(group.units[0], dataset)

    def replaced_after(self, group: Group) -> set[int]:
        """
        Return the further outputs of a group's application that a later group replaces before anything reads them.

        So the application may write them.
        """
        here = self.group_of[group.units[0]]
        return {dataset for dataset in self._further_outputs(group) if self._replaced_from(dataset, here)}

    def unwritten(self, group: Group) -> list[DatasetFacts]:
        """Return the further outputs of a group's application that must not be written again, by their labels."""
        kept = self._further_outputs(group) - self.replaced_after(group)
        return sorted((self.facts.datasets[each] for each in sorted(kept)), key=lambda each: each.label)

    def _further_outputs(self, group: Group) -> set[int]:
        """Return what the application of a group writes besides the outputs of the group."""
        if group.application is None:
            return set()
        return {*self.facts.beside.get(group.application.run_id, ())} - self.flow.written(group.units)

    def _replaced_from(self, dataset: int, here: int) -> bool:
        """Return whether a group after a place replaces a whole dataset, and no group up to it reads the dataset."""
        base = self.again.bases.get(dataset)
        if base is None or not base.replaced or dataset == self.root or self.is_side_by_side:
            return False
        replacing = self.flow.made(HistoryPlace(dataset, base.place))
        later = self.group_of.get(replacing.unit, -1)
        units = (unit for group in self.groups[here : later + 1] for unit in group.units)
        is_read = any(placed.read.dataset == dataset for placed in self.flow.read_by(units))
        return later > here and replacing.change == "OVERWRITE" and not is_read

    def is_dropped(self, dataset: int) -> bool:
        """Return whether a dataset is dropped because an application creates it again."""
        return dataset in self.created and dataset != self.root and not self.facts.datasets[dataset].has_versions


def decide(facts: Facts, request: RecoveryRequest) -> Decisions:
    """Decide the steps of a recovery."""
    flow = Flow(_with_new_names(facts))
    found = spread(flow, request.start, request.passes)
    texts = StatementTexts(flow)
    is_side_by_side = request.mode is Mode.SIDE_BY_SIDE
    again = remade(flow, found, request, texts.stands_alone)
    ordered = groups(flow, again.versions, flow.made(request.start).unit, texts.stands_alone, texts.names_source)
    return Decisions(
        request,
        flow,
        found,
        again,
        tuple(ordered),
        {unit: place for place, group in enumerate(ordered) for unit in group.units},
        RepeatedReads(flow, found, again, texts, request),
        Restarts(flow, again.bases, ordered),
        Conditions(flow, request.start, again.bases),
        _created(flow, again.bases, [group for group in ordered if not _is_statement(flow.facts, texts, group)]),
        _copies(flow.facts, (*again.bases, request.start.dataset)) if is_side_by_side else {},
        _folders(flow.facts, (*again.bases, request.start.dataset)) if is_side_by_side else {},
        texts,
    )


def _is_statement(facts: Facts, texts: StatementTexts, group: Group) -> bool:
    if group.is_correction:
        return False
    only = facts.run(group.units[0][0])
    return (
        len(group.units) == 1
        and bool(only.sql)
        and not only.query
        and not (group.application and group.application.run_id != only.application)
        and not (group.application and not texts.stands_alone(group.units[0]))
    )


def _created(flow: Flow, datasets: Iterable[int], applications: Iterable[Group]) -> dict[int, tuple[str, str]]:
    """Return the datasets that applications which run again create -> the run and the name of the job of each."""
    jobs = {group.application.run_id: group.application.job for group in applications if group.application}
    return {
        key.dataset: (application, jobs[application])
        for dataset in datasets
        for key in flow.line(dataset)
        if flow.made(key).change == "CREATE"
        and (application := flow.facts.run(flow.made(key).run_id).application) in jobs
    }


def _copies(facts: Facts, datasets: Iterable[int]) -> dict[int, str]:
    return {
        dataset: beside_name(facts.datasets[dataset]) for dataset in datasets if facts.datasets[dataset].is_of_spark
    }


def _folders(facts: Facts, datasets: Iterable[int]) -> dict[int, str]:
    known = (facts.datasets[dataset] for dataset in datasets)
    return {each.id: beside_path(each.location) for each in known if each.location and not each.sql}


def _with_new_names(facts: Facts) -> Facts:
    """Return the facts, in which a dataset that was renamed, and not written since, has its new name in statements."""
    reads = {(read.run_id, read.batch_id): read.dataset for read in facts.reads}
    named = dict(facts.datasets)
    renamed = sorted(
        (made.time, made.dataset, old)
        for history in facts.histories.values()
        for made in history
        if made.change == "RENAME" and (old := reads.get(made.unit)) is not None and old != made.dataset
    )
    # The latest one first: a table that was renamed twice has the last name.
    for time, dataset, old in reversed(renamed):
        if all(each.time <= time for each in facts.histories.get(old, ())):
            new, known = named[dataset], named[old]
            format_ = new.format or known.format
            named[old] = attrs.evolve(known, sql=new.sql, format=format_, location=new.location, former=known.sql)
    return attrs.evolve(facts, datasets=named)


# Decide what must be true of tables before and after the steps of a plan; `checks` checks it.


class Conditions:
    """
    The checks of a plan's steps.

    Args:
        flow: the versions and their reads.
        start: the bad version.
        bases: from where each dataset is rebuilt.
    """

    def __init__(self, flow: Flow, start: HistoryPlace, bases: Mapping[int, Base]) -> None:
        self._flow = flow
        self._facts = flow.facts
        self._start = start
        self._bases = bases
        self.newest = functools.cache(self._newest)
        """Return the check that no unknown writer has written a dataset; none if it keeps no versions or is gone."""

    def before_rollback(self, dataset: int, base: Base) -> tuple[TableCheck, ...]:
        """Return what must be true before a table is rolled back to the version of a base, or copied from there."""
        return (*self.newest(dataset), *(self._clean(dataset, base) if base.version else ()))

    def all_rows(self, dataset: int) -> tuple[TableCheck, ...]:
        """
        Return the check that no unknown writer has written a dataset that keeps no versions; none if nothing shows it.

        The number of rows is known if all runs since the last replacement of the whole dataset only added some.
        """
        known = self._facts.datasets[dataset]
        if known.has_versions or not known.is_of_spark or self._flow.is_gone(dataset):
            return ()
        count = 0
        for made in map(self._flow.made, self._flow.line(dataset)):
            if made.empties:
                return (TableCheck("rows", table_id(known), str(count)),)
            if made.idle or made.nothing:
                continue
            if made.rows is None or (made.change and made.whole is not True):
                break
            count += made.rows
            if made.whole is True:
                return (TableCheck("rows", table_id(known), str(count)),)
        return ()

    def before_repeating(
        self, reads: Iterable[tuple[DatasetFacts, str]], writes: Iterable[DatasetFacts]
    ) -> Iterator[TableCheck]:
        """
        Yield the conditions for repeating a statement, such as that the versions that it reads exist.

        Args:
            reads: the datasets that it reads, each with the version to which it is pinned.
            writes: the datasets that it writes, unless it writes copies.
        """
        for known in writes:
            yield from self.newest(known.id)
        for known, version in reads:
            if version not in ("", NO_ROWS) and known.has_versions:
                yield TableCheck("there", table_id(known), version)

    def after_repeating(self, unit: RunPart, copies: Mapping[int, str]) -> Iterator[TableCheck]:
        """Yield the check that a repeated run changes each table, or its copy, as the original run did."""
        for key in self._flow.writes.get(unit, ()):
            known, made = self._facts.datasets[key.dataset], self._flow.made(key)
            if known.has_versions and made.snapshot and not made.branch:
                yield TableCheck("like", table_id(known, copies.get(key.dataset, "")), made.snapshot)

    def after_application(self, units: Collection[RunPart], copies: Mapping[int, str]) -> Iterator[TableCheck]:
        """Yield how many versions an application makes of each table, or its copy; that of a stream may be another."""
        made: dict[int, list[MadeVersion]] = {}
        for unit in units:
            for key in self._flow.writes.get(unit, ()):
                made.setdefault(key.dataset, []).append(self._flow.made(key))
        for dataset, versions in sorted(made.items()):
            known = self._facts.datasets[dataset]
            is_shown = known.has_versions and known.is_of_spark
            if is_shown and all(not each.unit.is_batch and each.snapshot and not each.branch for each in versions):
                yield TableCheck(
                    "made", table_id(known, copies.get(dataset, "")), known=tuple(each.snapshot for each in versions)
                )

    def after_other_writes(self, unwritten: Iterable[DatasetFacts]) -> Iterator[TableCheck]:
        """Yield the checks that an application has not written what needs no recovery, if the storage shows that."""
        for known in unwritten:
            if known.has_versions and known.is_of_spark:
                yield TableCheck("unwritten", table_id(known))

    def _newest(self, dataset: int) -> tuple[TableCheck, ...]:
        known = self._facts.datasets[dataset]
        if not known.has_versions or not known.is_of_spark or self._flow.is_gone(dataset):
            return ()
        history = self._facts.histories.get(dataset, ())
        whole = self._under_all_names(dataset)
        made = next((each for each in reversed(whole) if each.snapshot and not each.branch), None)
        check = TableCheck("newest", table_id(known), made.snapshot if made else "")
        # A version that only a read names may be older than that.
        check = attrs.evolve(check, time=made.time if made and made.run_id else 0, table_id=_id_of_table(whole))
        base = self._bases.get(dataset)
        if base is None:
            return (check,)
        before = self._flow.before.get(HistoryPlace(dataset, base.place))
        # The first run replaces all earlier rows, whoever has written them.
        replaced = history[base.place].parent or (self._flow.made(before).snapshot if before else "")
        since = base.version or (replaced if base.replaced else "")
        recorded = (each.snapshot for each in whole if each.snapshot and self._facts.has_maker(each))
        versions = tuple(dict.fromkeys(recorded))
        unknown = self._unknown_since(dataset, base, since)
        if len(whole) > len(history):
            unknown = tuple(each for each in unknown if each not in versions)
        return (attrs.evolve(check, since=since, known=versions, unknown=unknown),)

    def _under_all_names(self, dataset: int) -> Sequence[MadeVersion]:
        """Return the versions of a table, the oldest first; of a renamed one, also those under its other names."""
        this, histories = self._facts.datasets[dataset], self._facts.histories
        renamed = [
            each
            for each, known in self._facts.datasets.items()
            if each != dataset and (known.former or this.former) and table_id(known) == table_id(this)
        ]
        if not renamed:
            return histories.get(dataset, ())
        every = [made for each in (dataset, *renamed) for made in histories.get(each, ())]
        # Read under one name, made under another.
        recorded = {made.snapshot for made in every if made.run_id}
        return sorted((made for made in every if made.run_id or made.snapshot not in recorded), key=_time_of)

    def _unknown_since(self, dataset: int, base: Base, since: str) -> tuple[str, ...]:
        """Return the versions that are rebuilt, or come before one of those, and that no run in the store made."""
        line = (self._flow.made(key) for key in self._flow.line(dataset) if key.place >= base.place)
        found = (each for made in line for each in (self._facts.unknown_maker(made), self._facts.unknown_parent(made)))
        return tuple(dict.fromkeys(each for each in found if each not in ("", since)))

    def _clean(self, dataset: int, base: Base) -> tuple[TableCheck, ...]:
        """
        Return the check that no unknown writer put bad data into the version to which a table is rolled back.

        An unrecorded version matters if it is between versions that the store knows, and no event shows that it is
        older than the bad one. A version before all that the store knows is older. Empty if there is nothing to check.
        """
        if dataset == self._start[0]:
            return ()
        history, table = self._facts.histories[dataset], table_id(self._facts.datasets[dataset])
        places = {made.snapshot: place for place, made in enumerate(history) if made.snapshot}
        bad = self._flow.made(self._start)
        is_unknown = base.version not in places and base.place > 0
        key = self._flow.before.get(HistoryPlace(dataset, base.place))
        if base.version in places:
            key = HistoryPlace(dataset, places[base.version])
        while key is not None and key.place and (made := self._flow.made(key)).time > bad.time:
            if made.whole is True and self._facts.has_maker(made):
                # It contains nothing from before.
                break
            is_unknown |= bool(self._facts.unknown_maker(made))
            key = self._flow.before.get(key)
        if not is_unknown:
            return ()
        since = self._flow.made(key).snapshot if key is not None else ""
        known = tuple(made.snapshot for made in history if made.snapshot and self._facts.has_maker(made))
        return (TableCheck("clean", table, base.version, since, known, self._facts.run(bad.run_id).started),)


def _time_of(made: MadeVersion) -> int:
    return made.time


def _id_of_table(history: Sequence[MadeVersion]) -> str:
    """Return the id of the table that a dataset is now; empty if no event since its last DROP states it."""
    dropped = max((place for place, made in enumerate(history) if made.change == "DROP"), default=-1)
    return next((made.table_id for made in reversed(history[dropped + 1 :]) if made.table_id), "")
