"""
Find the columns of CTEs, views and subqueries through which the edges of a plan come.

The normal trace does not stop at them. This second trace stops at each, traces above and below separately, and joins
the two.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import attrs
from openlineage_pyspark.facets.model.lineage import MOST_PATHS, UseKind, compose
from openlineage_pyspark.facets.sql_names import field_name, quoted_name
from openlineage_pyspark.facets.trace.composed import Composer
from openlineage_pyspark.facets.trace.solve import Origin, Trace
from openlineage_pyspark.facets.trace.texts import readable_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.facets.model.lineage import OperatorStep
    from openlineage_pyspark.facets.model.plan import Plan
    from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
    from openlineage_pyspark.facets.trace.solve import Paths, Sources

_MOST_STATES = 2000
"""The maximum number of columns that are followed for one target."""


class _State(NamedTuple):
    """A column on the way to a target, with the kind of the way from it to there."""

    origin: Origin
    kind: UseKind


_Following = dict[tuple["_State | None", UseKind], "Paths"]
"""The column that is computed from one, or None for the target; how; and the last steps of the paths there."""


class PassingEdge(NamedTuple):
    """
    An edge, as far as its path through a plan distinguishes it from others.

    Args:
        leaf: the leaf operator from which it comes, such as `LogicalRelation#9`.
        field: the column there.
        type: DIRECT or INDIRECT.
        subtype: such as IDENTITY.
        masking: whether the value can't be read back.
    """

    leaf: str
    field: str
    type: str
    subtype: str
    masking: bool


PartColumn = tuple[str, str]
"""An operator, and a column of its rows."""


class PassedLeg(NamedTuple):
    """
    A part of a way.

    Args:
        source: where it begins; None for the leaf.
        target: where it ends; None for the target.
        kind: how a value comes from there to here.
    """

    source: PartColumn | None
    target: PartColumn | None
    kind: UseKind


class LegWay(NamedTuple):
    """
    The part of a path between two columns.

    Args:
        last: the step that is nearest to its end; None if every operator only passes the value on.
        composed: the text of the expression that makes its end, in terms of the columns where parts begin; empty
            without one.
        passing: the CTEs, views and subqueries that it passes by none of their columns, in order.
    """

    last: OperatorStep | None
    composed: str
    passing: tuple[str, ...]


@attrs.frozen
class PassedColumns:
    """
    The columns of CTEs, views and subqueries through which an edge comes.

    Args:
        dataset: the dataset from which it comes; None if that is unknown.
        columns: the columns, each with its operator.
        legs: the parts of its way.
    """

    dataset: Identifier | None
    columns: frozenset[PartColumn]
    legs: Mapping[PassedLeg, tuple[LegWay, ...]]


Passages = dict[PassingEdge, PassedColumns]
"""Edge to one target -> what it passes."""


class PartColumns:
    """The columns of the CTEs, views and subqueries of a plan, found on demand."""

    def __init__(self, plan: Plan, found: PlanLineage, parts: Mapping[int, str]) -> None:
        """
        Keep what is needed; nothing is solved yet.

        Args:
            plan: the plan.
            found: its lineage.
            parts: the indices of the operators that give the rows of a CTE, a view or a subquery, each with the name of
                that; empty if it has none.
        """
        self._found = found
        self._plan = plan
        self._names = dict(parts)
        self._parts = frozenset(parts)
        self._inner: dict[Origin, Sources] = {}
        # Operator, and the jumps out of the tree of operators -> the CTEs, views and subqueries above it.
        self._above: dict[tuple[int, tuple[tuple[int, int], ...]], tuple[str, ...]] = {}

    @functools.cached_property
    def _trace(self) -> Trace:
        # Created on demand: most graphs are never requested, and to prepare a trace takes a walk through the whole
        # plan.
        return Trace(self._plan, stops=self._parts, fields=self._found.fields)

    @functools.cached_property
    def _composer(self) -> Composer:
        return Composer(self._trace, self._source_name)

    @functools.cached_property
    def _table_names(self) -> Mapping[Identifier, str]:
        return readable_names(self._found.inputs)

    def _source_name(self, origin: Origin) -> str:
        """Return the text for a column where a part of a way begins."""
        dataset = self._found.scanned.get(origin.id)
        if origin.operator in self._parts:
            table = quoted_name(self._names[origin.operator].rpartition(".")[2])
        else:
            table = self._table_names.get(dataset, "") if dataset is not None else ""
        return ".".join(filter(None, (table, quoted_name(self._name(origin)))))

    def passages(self) -> list[dict[str, Passages]]:
        """
        Return for each output what its edges pass: the name of a column -> its edges; empty for the edges of all rows.

        Fields of structs are left out.
        """
        if not self._parts:
            return []
        if self._found.columns is not None:
            top = self._plan.root
            made = {column.name: [self._trace.column(top, column.id)] for column in self._plan.operators[top].output}
            return [self._all({**made, "": [self._trace.rows(top)]})]
        return [self._all(self._written(place)) for place in range(len(self._found.outputs))]

    def _written(self, place: int) -> dict[str, list[Sources]]:
        """Return the sources of the columns of an output, and of its rows."""
        write, top = self._found.outputs[place].write, self._plan.root
        made = {
            column.name: [self._trace.expression(part.scope, part.value, part.kind, top) for part in column.values]
            for column in write.columns
        }
        rows = [self._trace.rows(read) for read in write.reads]
        rows += [self._trace.expression(part.scope, part.value, part.kind, top) for part in write.influences]
        return {**made, "": rows}

    def _all(self, targets: Mapping[str, Iterable[Sources]]) -> dict[str, Passages]:
        return {name: passed for name, sources in targets.items() if (passed := self._passed(sources))}

    def _passed(self, targets: Iterable[Sources]) -> Passages:
        """Return what the edges to one target pass. The way is walked from there, and then back from each leaf."""
        after: dict[_State, _Following] = {}
        for sources in targets:
            for state, kind, paths in _states(sources):
                after.setdefault(state, {}).setdefault((None, kind), paths)
        waiting = list(after)
        for at in waiting:
            for state, kind, paths in self._before(at):
                if state not in after:
                    after[state] = {}
                    waiting.append(state)
                after[state].setdefault((at, kind), paths)
            if len(waiting) > _MOST_STATES:
                return {}
        leaves: dict[PassingEdge, list[_State]] = {}
        for state in waiting:
            if state.origin.operator not in self._parts:
                leaves.setdefault(self._edge(state), []).append(state)
        return {edge: self._through(states, after) for edge, states in leaves.items()}

    def _before(self, at: _State) -> Iterator[tuple[_State, UseKind, Paths]]:
        """Yield the sources of a column of a CTE, a view or a subquery, each with its kinds; nothing for a leaf."""
        if at.origin.operator in self._parts:
            for before, kind, paths in _states(self._behind(at.origin)):
                yield _State(before.origin, compose(at.kind, kind)), kind, paths

    def _behind(self, origin: Origin) -> Sources:
        known = self._inner.get(origin)
        if known is None:
            known = self._inner[origin] = self._trace.behind(origin)
        return known

    def _through(self, leaves: list[_State], after: Mapping[_State, _Following]) -> PassedColumns:
        """Return the columns, and the parts of the way, between a leaf and the target."""
        columns: set[PartColumn] = set()
        legs: dict[PassedLeg, tuple[LegWay, ...]] = {}
        seen: set[_State] = set()
        waiting = [*leaves]
        for at in waiting:
            if at in seen:
                continue
            seen.add(at)
            source = self._place(at.origin)
            columns |= {source} if source is not None else set()
            for (following, kind), paths in after[at].items():
                target = None if following is None else self._place(following.origin)
                leg = PassedLeg(source, target, kind)
                if leg not in legs:
                    legs[leg] = tuple(self._leg_way(at.origin, kind, last, target) for last in paths[:MOST_PATHS])
                waiting += [] if following is None else [following]
        return PassedColumns(self._found.scanned.get(leaves[0].origin.id), frozenset(columns), legs)

    def _leg_way(self, origin: Origin, kind: UseKind, last: OperatorStep | None, target: PartColumn | None) -> LegWay:
        text = "" if kind is UseKind.IDENTITY else self._composer.step(last, origin)
        return LegWay(last, text, self._passing(origin, last, target))

    def _place(self, origin: Origin) -> PartColumn | None:
        """Return a column of a CTE, a view or a subquery; None for one of a leaf."""
        if origin.operator not in self._parts:
            return None
        return self._trace.scopes.label(origin.operator), self._name(origin.column)

    def _passing(self, origin: Origin, last: OperatorStep | None, target: PartColumn | None) -> tuple[str, ...]:
        """Return the CTEs, views and subqueries between a column and the next one, or the top of the plan."""
        key = (origin.operator, last.jumps if last is not None else ())
        known = self._above.get(key)
        if known is None:
            labels = {self._trace.scopes.label(part) for part in self._parts - {origin.operator}}
            found = (each for each in self._trace.scopes.path(origin, last) if each in labels)
            known = self._above[key] = tuple(dict.fromkeys(found))
        if target is None:
            return known
        return known[: known.index(target[0])] if target[0] in known else ()

    def _edge(self, leaf: _State) -> PassingEdge:
        kind = leaf.kind
        of_values = "DIRECT" if kind.direct else "INDIRECT"
        name = self._name(leaf.origin)
        return PassingEdge(self._trace.scopes.label(leaf.origin.operator), name, of_values, kind.subtype, kind.masking)

    def _name(self, origin: Origin) -> str:
        known = self._plan.attributes.get(origin.id)
        return field_name(known.name, origin.path) if known is not None else ""


def _states(sources: Sources) -> Iterator[tuple[_State, UseKind, Paths]]:
    for origin, kinds in sources.items():
        for kind, paths in kinds.items():
            yield _State(origin, kind), kind, paths
