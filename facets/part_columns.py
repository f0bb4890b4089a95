"""
Find the columns of CTEs, views and subqueries through which the edges of a plan come.

The trace of a plan passes them by. Here a second trace stops at each of them, so that what is computed from one of
their columns, and what that is computed from, are asked apart and then put together.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

from openlineage_pyspark.facets.model.lineage import Kind, compose
from openlineage_pyspark.facets.trace.solve import Origin, Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.facets.model.plan import Plan
    from openlineage_pyspark.facets.plan_lineage import PlanLineage
    from openlineage_pyspark.facets.trace.solve import Sources

_MOST_STATES = 2000
"""How many columns are followed for one target at most."""


class _State(NamedTuple):
    """A column on the way to a target, with the kind of the way from it to there."""

    origin: Origin
    kind: Kind


class PassingEdge(NamedTuple):
    """
    An edge, as far as the way through a plan tells it from others.

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


Passages = dict[PassingEdge, set[tuple[str, str]]]
"""Edge to one target -> the operators that it passes, each with the column through which it comes."""


class PartColumns:
    """The columns of the CTEs, views and subqueries of a plan, found when they are asked for."""

    def __init__(self, plan: Plan, found: PlanLineage, parts: Iterable[int]) -> None:
        """
        Keep what is needed; nothing is solved yet.

        Args:
            plan: the plan.
            found: its lineage.
            parts: the indices of the operators that give the rows of a CTE, a view or a subquery.
        """
        self._found = found
        self._plan = plan
        self._parts = frozenset(parts)
        self._inner: dict[Origin, Sources] = {}

    @functools.cached_property
    def _trace(self) -> Trace:
        # Most lineage is never asked for its graph, and to prepare a trace takes a walk through the whole plan.
        return Trace(self._plan, stops=self._parts)

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
        after: dict[_State, dict[_State, None]] = {state: {} for sources in targets for state in _states(sources)}
        waiting = list(after)
        for at in waiting:
            for state in self._before(at):
                if state not in after:
                    after[state] = {}
                    waiting.append(state)
                after[state][at] = None
            if len(waiting) > _MOST_STATES:
                return {}
        found: Passages = {}
        for leaf in waiting:
            if leaf.origin.operator not in self._parts and after[leaf]:
                found.setdefault(self._edge(leaf), set()).update(self._through(leaf, after))
        return found

    def _before(self, at: _State) -> Iterator[_State]:
        """Yield what a column of a CTE, a view or a subquery is computed from; nothing for a leaf."""
        if at.origin.operator in self._parts:
            for before in _states(self._behind(at.origin)):
                yield _State(before.origin, compose(at.kind, before.kind))

    def _behind(self, origin: Origin) -> Sources:
        known = self._inner.get(origin)
        if known is None:
            known = self._inner[origin] = self._trace.behind(origin)
        return known

    def _through(self, leaf: _State, after: Mapping[_State, Iterable[_State]]) -> Iterator[tuple[str, str]]:
        """Yield the columns between a leaf and the target, each with the operator that it is of."""
        seen: set[_State] = set()
        waiting = [*after[leaf]]
        for at in waiting:
            if at not in seen:
                seen.add(at)
                waiting += after[at]
                yield self._trace.label(at.origin.operator), self._name(at.origin)

    def _edge(self, leaf: _State) -> PassingEdge:
        kind = leaf.kind
        of_values = "DIRECT" if kind.direct else "INDIRECT"
        name = self._name(leaf.origin)
        return PassingEdge(self._trace.label(leaf.origin.operator), name, of_values, kind.subtype, kind.masking)

    def _name(self, origin: Origin) -> str:
        known = self._plan.attributes.get(origin.id)
        return known.name if known is not None else ""


def _states(sources: Sources) -> Iterator[_State]:
    for origin, kinds in sources.items():
        for kind in kinds:
            yield _State(origin, kind)
