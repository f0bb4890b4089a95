"""Decide what must be true of tables before and after the steps of a plan; `checks` checks it. Pure."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace
from openlineage_pyspark.workbench.recovery.model.plan import TableCheck
from openlineage_pyspark.workbench.recovery.model.statements import NO_ROWS, table_id

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.versions.versions import RunPart
    from openlineage_pyspark.workbench.recovery.model.affected import Flow
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts, MadeVersion
    from openlineage_pyspark.workbench.recovery.planning.remade import Base


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
        made = next((each for each in reversed(history) if each.snapshot and not each.branch), None)
        check = TableCheck("newest", table_id(known), made.snapshot if made else "")
        # A version that only a read names may be older than that.
        check = attrs.evolve(check, time=made.time if made and made.run_id else 0, table_id=_id_of_table(history))
        base = self._bases.get(dataset)
        if base is None:
            return (check,)
        before = self._flow.before.get(HistoryPlace(dataset, base.place))
        # The first run replaces all earlier rows, whoever has written them.
        replaced = history[base.place].parent or (self._flow.made(before).snapshot if before else "")
        since = base.version or (replaced if base.replaced else "")
        recorded = (each.snapshot for each in history if each.snapshot and self._facts.has_maker(each))
        versions = tuple(dict.fromkeys(recorded))
        return (attrs.evolve(check, since=since, known=versions, unknown=self._unknown_since(dataset, base, since)),)

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


def _id_of_table(history: Sequence[MadeVersion]) -> str:
    """Return the id of the table that a dataset is now; empty if no event since its last DROP states it."""
    dropped = max((place for place, made in enumerate(history) if made.change == "DROP"), default=-1)
    return next((made.table_id for made in reversed(history[dropped + 1 :]) if made.table_id), "")
