"""Decide everything about a recovery, before it is put into words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.recovery.model.affected import Flow, spread
from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace
from openlineage_pyspark.workbench.recovery.model.plan import Mode
from openlineage_pyspark.workbench.recovery.model.statement_texts import StatementTexts
from openlineage_pyspark.workbench.recovery.model.statements import beside_name, beside_path
from openlineage_pyspark.workbench.recovery.planning.conditions import Conditions
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
    from openlineage_pyspark.workbench.recovery.planning.remade import Remade


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
    """
    Decide the steps of a recovery.

    Args:
        facts: the facts.
        request: the request.
    """
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
