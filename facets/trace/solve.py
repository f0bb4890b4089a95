"""
Compose the rules of a plan's operators into the sources of its columns.

An exprId alone does not identify a column: a union outputs the exprIds of its first branch, so a flat map from exprId
to sources would give false edges. The trace goes backwards from the sink, operator by operator, and caches each result
by operator and attribute, so that unused columns cost nothing and each column is solved once. No function recurses, so
only memory limits the plan's depth. A recursive CTE is iterated until its sources no longer grow.

Several paths may lead from one source to one column: through the branches of a union, or through several filters. They
are kept, each once, in the order of the plan, up to a limit. A path enters a recursive CTE once, and again only if it
then arrives with a kind that no shorter path has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import attrs
from openlineage_pyspark.facets.model.lineage import MOST_PATHS, Certainty, Computation, OperatorStep, UseKind, compose
from openlineage_pyspark.facets.model.plan import (
    WITH_CTE,
    ExpressionRef,
    OperatorRef,
    Plan,
    Reference,
    Value,
    references,
)
from openlineage_pyspark.facets.trace.expressions import ExpressionUse, UseTarget, path_in_branch, stored_field, uses
from openlineage_pyspark.facets.trace.operators import (
    Computed,
    OperatorLineage,
    Passed,
    is_of_pivot,
    operator_lineage,
    sql_of,
)
from openlineage_pyspark.facets.trace.texts import own_text

ROWS = -1
"""Takes the place of an exprId, for the dataset-level, INDIRECT influences on an operator's rows."""


class Origin(NamedTuple):
    """
    A column of a leaf operator, or a field of it.

    Args:
        operator: the operator's index.
        id: the attribute's exprId.
        path: the names of struct fields, outermost first, if only that field is read; a trace of columns has none.
    """

    operator: int
    id: int
    path: tuple[str, ...] = ()

    @property
    def column(self) -> Origin:
        """The column that the field is in."""
        return self if not self.path else Origin(self.operator, self.id)


Paths = Sequence["OperatorStep | None"]
"""
The last steps of different paths from one origin, in the order of the plan; None if the value is only passed on.

If there are more than `MOST_PATHS`, the plan has more paths than are kept.
"""

Sources = Mapping[Origin, Mapping[UseKind, Paths]]
"""Origin -> kind of its influence -> the paths by which it arrives with this kind."""

_Cell = tuple[int, int, tuple[str, ...]]
"""The index of an operator, the exprId of one of its attributes, and the path of a field in that."""
_Jumps = tuple[tuple[int, int], ...]
_Found = dict[Origin, dict[UseKind, list["OperatorStep | None"]]]
_NONE: Sources = {}
_PASSED_ON: Paths = (None,)
_TAKEN = UseKind.TRANSFORMATION
"""The kind of an edge to a column of which only a field is read."""
_SHORT = 8
"""The longest walk past operators whose end is cached only for the first of them."""


class _Hop(NamedTuple):
    """
    A use of a cell below, from which an operator computes one of its own cells.

    Args:
        cell: the cell below.
        kind: how it is used.
        text: the SQL text of the expression; empty if the value is copied.
        operator: the index of the operator.
        certainty: how sure it is.
        jumps: where the path above it leaves the tree of operators, as `OperatorStep.jumps`.
        computation: where it is computed; None if the text is empty.
    """

    cell: _Cell
    kind: UseKind
    text: str
    operator: int
    certainty: Certainty = Certainty.EXACT
    jumps: _Jumps = ()
    computation: Computation | None = None


# A plan has hundreds of these; a named tuple that is created this way takes half the time.
_hop = cast(
    "Callable[[tuple[_Cell, UseKind, str, int, Certainty, _Jumps, Computation | None]], _Hop]",
    functools.partial(tuple.__new__, _Hop),
)


class Scopes:
    """
    Where the operators of a plan find the attributes that they read.

    Args:
        plan: the plan.
        stops: the indices of operators whose columns count as sources, as if they were leaves.
    """

    def __init__(self, plan: Plan, stops: frozenset[int]) -> None:
        self.plan = plan
        self.stops = stops
        self.lineages = [operator_lineage(plan, operator) for operator in plan.operators]
        # By the identity of the output: operators that only pass rows on share the object.
        self._outputs: dict[int, frozenset[int]] = {}
        # exprId -> operator -> the operator below it that computes the attribute.
        self._followed: dict[int, dict[int, int]] = {}
        self._only = {} if stops else _computed_once(plan, self.lineages)
        self._held: dict[int, list[int]] = {}
        self._labels = [f"{operator.name}#{at}" for at, operator in enumerate(plan.operators)]
        self._around_subqueries = _around_subqueries(plan)
        self._holders: dict[int, int] | None = None
        self._above: dict[int, int] | None = None
        self._paths: dict[tuple[int, _Jumps], tuple[str, ...]] = {}

    def label(self, operator: int) -> str:
        """Return the name of an operator and its index, such as `Aggregate#1`."""
        return self._labels[operator]

    def path(self, origin: Origin, last: OperatorStep | None) -> tuple[str, ...]:
        """
        Return the operators between an origin and the top of the plan, from the origin, each with its index.

        Args:
            origin: a column of a leaf.
            last: the last step of the path: it has the jumps out of the tree of operators.
        """
        jumps = last.jumps if last is not None else ()
        known = self._paths.get((origin.operator, jumps))
        if known is None:
            known = self._paths[origin.operator, jumps] = self._upward(origin.operator, jumps)
        return known

    def _upward(self, operator: int, jumps: _Jumps) -> tuple[str, ...]:
        if self._above is None:
            self._above = self._parents()
        ahead = list(reversed(jumps))
        at: int | None = operator
        found: list[str] = []
        # A path through a recursive CTE passes its operators again after each jump.
        for _ in range(len(self.plan.operators) * (len(jumps) + 1)):
            if at is None:
                break
            found.append(self._labels[at])
            at = ahead.pop()[1] if ahead and ahead[-1][0] == at else self._above.get(at)
        return tuple(found)

    def _parents(self) -> dict[int, int]:
        """Return the operator above each operator: its parent, or the one whose expression contains its subquery."""
        found: dict[int, int] = {}
        for at, operator in enumerate(self.plan.operators):
            for below in (*operator.children, *self.subqueries(at)):
                found.setdefault(below, at)
        return found

    def reachable(self, top: int) -> list[int]:
        """Return the indices of an operator and of all operators below it, including subqueries and CTEs, in order."""
        seen: set[int] = set()
        stack = [top]
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            operator = self.plan.operators[at]
            below = list(self.lineages[at].inputs or ())
            if operator.class_name == WITH_CTE:
                below += operator.children[:1]
            else:
                below += operator.children
            stack.extend(below)
            stack.extend(self.subqueries(at))
        return sorted(seen)

    def subqueries(self, at: int) -> list[int]:
        """Return the indices of the top operators of the subqueries in an operator's expressions."""
        known = self._held.get(at)
        if known is None:
            known = self._held[at] = self._subqueries_among(self.plan.operators[at].references)
        return known

    def subqueries_in(self, values: Iterable[Value]) -> list[int]:
        """Return the indices of the top operators of the subqueries in expressions."""
        return self._subqueries_among(references(values)) if self._around_subqueries else []

    def _subqueries_among(self, held: Iterable[Reference]) -> list[int]:
        around = self._around_subqueries
        found: list[int] = []
        seen: set[int] = set()
        stack = [r.index for r in held if isinstance(r, ExpressionRef) and r.index in around] if around else []
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            for r in self.plan.expressions[at].references:
                if isinstance(r, OperatorRef):
                    found.append(r.index)
                elif isinstance(r, ExpressionRef) and r.index in around:
                    stack.append(r.index)
        return found

    def read(self, operator: int, id_: int, scope: tuple[int, ...]) -> tuple[int, int] | None:
        """
        Return where an attribute comes from that an expression reads, below all operators that pass it through.

        Args:
            operator: the index of the operator whose expression it is.
            id_: the exprId of the attribute.
            scope: the indices of the operators whose output the expression reads.

        Returns:
            The index of the operator that computes it, or of a leaf, and its exprId there; None if nothing has it.
        """
        below = self.holding(scope, id_)
        if below is None:
            below = self.outer(operator, id_)
        if below is None:
            return None
        found, at, _ = self.follow((below, id_, ()))
        return found, at

    def holding(self, scope: tuple[int, ...], id_: int) -> int | None:
        """Return the operator of a scope that has an attribute, or the one below that computes it; None if none has."""
        # The inputs of an expression outside of subqueries are always in its scope.
        only = None if self._around_subqueries else self._only.get(id_)
        return only if only is not None else next((below for below in scope if id_ in self._output(below)), None)

    def scope(self, operator: int) -> tuple[int, ...]:
        """Return the indices of the operators whose output an operator's expressions read."""
        inputs = self.lineages[operator].inputs
        if inputs is not None:
            return inputs
        children = self.plan.operators[operator].children
        return children[:1] if self.plan.operators[operator].class_name == WITH_CTE else children

    def is_origin(self, operator: int, id_: int) -> bool:
        """Return whether an attribute is a column of a leaf."""
        if operator in self.stops:
            return True
        at = self.lineages[operator]
        is_leaf = not at.passes_through and not at.computes
        return is_leaf and (self._only.get(id_) == operator or id_ in self._output(operator))

    def leaf_of(self, id_: int) -> int | None:
        """Return the index of the one leaf that has an attribute, wherever it is read; None if it may differ."""
        only = self._only.get(id_)
        return only if only is not None and self.is_origin(only, id_) else None

    def refers_to(self, operator: int) -> int | None:
        """Return the index of the definition that an operator refers to; None if it is no reference to a CTE."""
        inputs = self.lineages[operator].inputs
        is_reference = inputs is not None and len(inputs) == 1 and not self.plan.operators[operator].children
        return inputs[0] if inputs is not None and is_reference else None

    def jumps(self, operator: int) -> _Jumps:
        """Return the jump from a CTE to an operator that refers to it; none for any other operator."""
        definition = self.refers_to(operator)
        return ((definition, operator),) if definition is not None else ()

    def _output(self, operator: int) -> frozenset[int]:
        output = self.plan.operators[operator].output
        known = self._outputs.get(id(output))
        if known is None:
            known = self._outputs[id(output)] = frozenset([o.id for o in output])
        return known

    def follow(self, cell: _Cell) -> _Cell:
        """Return the cell that computes an attribute, below all operators that it passes through."""
        operator, id_, path = cell
        if id_ == ROWS:
            return cell
        only = self._only.get(id_)
        if only is not None:
            return (only, id_, path)
        ends = self._followed.get(id_)
        if ends is None:
            ends = self._followed[id_] = {}
        passed: list[int] = []
        while operator not in ends:
            below = self._passed_from(operator, id_)
            if below is None:
                break
            passed.append(operator)
            operator = below
        else:
            operator = ends[operator]
        if len(passed) > _SHORT:
            ends.update(dict.fromkeys(passed, operator))
        elif passed:
            ends[passed[0]] = operator
        return (operator, id_, path)

    def _passed_from(self, operator: int, id_: int) -> int | None:
        """Return the same as `below`; None at an operator where the trace stops."""
        return None if operator in self.stops else self.below(operator, id_)

    def below(self, operator: int, id_: int) -> int | None:
        """Return the operator below from which an operator passes an attribute through; None if it does not."""
        here = self.lineages[operator]
        below = here.passes_through
        if not below or id_ in here.computes:
            return None
        if len(below) == 1:
            return below[0]
        for each in below:
            if id_ in self._output(each):
                return each
        return None

    def outer(self, operator: int, id_: int) -> int | None:
        """Return the operator that an outer reference reads: the nearest operator around the subquery binds it."""
        holder = self._holder(operator)
        while holder is not None:
            for child in self.scope(holder):
                if id_ in self._output(child) and child != operator:
                    return child
            holder = self._holder(holder)
        return None

    def _holder(self, operator: int) -> int | None:
        """Return the index of the operator around the subquery that an operator is part of; None outside subqueries."""
        if self._holders is None:
            self._holders = {}
            for at in range(len(self.plan.operators)):
                for top in self.subqueries(at):
                    stack = [top]
                    while stack:
                        below = stack.pop()
                        if below in self._holders:
                            continue
                        self._holders[below] = at
                        stack.extend(self.plan.operators[below].children)
        return self._holders.get(operator)


class Trace:
    """The lineage of one plan, solved on demand."""

    def __init__(self, plan: Plan, *, stops: frozenset[int] = frozenset(), fields: bool = False) -> None:
        """
        Prepare a trace; nothing is solved yet.

        Args:
            plan: the plan.
            stops: the indices of operators whose columns count as sources, as if they were leaves.
            fields: whether the fields of stored structs are sources, instead of the columns that contain them.
        """
        self.scopes = Scopes(plan, stops)
        # A plan has thousands of these calls.
        self._follow = self.scopes.follow
        self._holding = self.scopes.holding
        self.plan = plan
        self._fields = fields
        self._solved: dict[_Cell, Sources] = {}
        self._has_call_sites = any(expression.call_site for expression in plan.expressions)
        self._call_sites: dict[int, dict[str, str]] = {}
        self._texts: dict[int, str] = {}

    def column(self, operator: int, id_: int, path: tuple[str, ...] = ()) -> Sources:
        """
        Return the sources of one column of an operator.

        Args:
            operator: the index of the operator.
            id_: the exprId of one of its output attributes.
            path: the names of struct fields, outermost first, to get the sources of only that field.

        Returns:
            The DIRECT sources, and the INDIRECT ones that influence only this column.
        """
        return self._solve((operator, id_, path))

    def behind(self, stop: Origin) -> Sources:
        """Return the sources of a column of an operator at which the trace stops."""
        below = self.scopes.below(stop.operator, stop.id)
        if below is not None:
            return self._solve((below, stop.id, stop.path))
        hops = self._defined(stop)
        return self._merge(hops, {hop.cell: self._solve(hop.cell) for hop in hops})

    def rows(self, operator: int) -> Sources:
        """Return the dataset-level influences on an operator's rows: FILTER, JOIN, GROUP_BY and SORT."""
        return self._solve((operator, ROWS, ()))

    def expression(
        self, scope: tuple[int, ...], value: Value, kind: UseKind, command: int, path: tuple[str, ...] = ()
    ) -> Sources:
        """
        Return the sources of an expression of a command, for example of an assignment in MERGE.

        Args:
            scope: the indices of the operators whose output it reads, at least one.
            value: the expression.
            kind: how the expression influences the command's output.
            command: the index of the command.
            path: the names of struct fields, outermost first, to get the sources of only that field.
        """
        text = self._text(value, command)
        computation = Computation(command, ROWS, scope, value, path)
        hops = [
            hop._replace(operator=command)
            for use in uses(self.plan, value, kind, path)
            for hop in self._use(scope[0], use, "" if _copies(use, path) else text, scope, computation)
        ]
        return self._merge(hops, {hop.cell: self._solve(hop.cell) for hop in hops})

    def _solve(self, wanted: _Cell) -> Sources:
        """Return the sources of a cell; solve all cells that it needs, and iterate cycles until nothing grows."""
        wanted = self._follow(wanted)
        if wanted not in self._solved:
            order, hops, circular = self._plan(wanted)
            values: dict[_Cell, Sources] = {}
            while True:
                before = _paths_of(values) if circular else {}
                for cell in order:
                    values[cell] = self._value(cell, hops[cell], values)
                if not circular or _paths_of(values) == before:
                    break
            self._solved.update(values)
        return self._solved[wanted]

    def _plan(self, wanted: _Cell) -> tuple[list[_Cell], dict[_Cell, list[_Hop]], bool]:
        """Return the unsolved cells that a cell needs, dependencies first; their hops; whether there is a cycle."""
        order: list[_Cell] = []
        hops: dict[_Cell, list[_Hop]] = {}
        finished: set[_Cell] = set()
        circular = False
        stack: list[tuple[_Cell, bool]] = [(wanted, False)]
        while stack:
            cell, done = stack.pop()
            if done:
                finished.add(cell)
                order.append(cell)
            elif cell not in hops and cell not in self._solved:
                hops[cell] = self._hops(cell)
                stack.append((cell, True))
                for hop in hops[cell]:
                    circular = circular or (hop.cell in hops and hop.cell not in finished)
                    stack.append((hop.cell, False))
        return order, hops, circular

    def _value(self, cell: _Cell, hops: list[_Hop], values: Mapping[_Cell, Sources]) -> Sources:
        operator, id_, path = cell
        if id_ != ROWS and not hops and self.scopes.is_origin(operator, id_):
            read = stored_field(self.plan, id_, path) if self._fields else ()
            # A field that can't be a source counts as a part of the innermost field, or the column, that can.
            return {Origin(operator, id_, read): {UseKind.IDENTITY if len(read) == len(path) else _TAKEN: _PASSED_ON}}
        return self._merge(hops, values)

    def _merge(self, hops: list[_Hop], values: Mapping[_Cell, Sources]) -> Sources:
        if len(hops) == 1 and self._copies(hops[0]):
            cell = hops[0].cell
            return values.get(cell) or self._solved.get(cell, _NONE)
        found: _Found = {}
        again: dict[tuple[Origin, UseKind], list[OperatorStep]] = {}
        # An expression continues a path with the same step, whichever of its attributes the path goes through.
        made: dict[tuple[object, ...], dict[int, OperatorStep]] = {}
        for hop in hops:
            steps: dict[int, OperatorStep] | None = None
            if not self._copies(hop):
                steps = made.setdefault((hop.operator, hop.text or hop.computation, hop.certainty, hop.jumps), {})
            below = values.get(hop.cell)
            for origin, kinds in (self._solved.get(hop.cell, _NONE) if below is None else below).items():
                here = found.setdefault(origin, {})
                for inner, paths in kinds.items():
                    kind = compose(hop.kind, inner)
                    there = here.setdefault(kind, [])
                    repeated = _add(there, paths if steps is None else self._continued(hop, paths, steps))
                    if repeated:
                        again.setdefault((origin, kind), []).extend(repeated)
        for (origin, kind), longer in again.items():
            found[origin][kind] = found[origin][kind] or [min(longer, key=lambda last: len(last.jumps))]
        return found

    def _continued(self, hop: _Hop, paths: Paths, steps: dict[int, OperatorStep]) -> Iterator[OperatorStep]:
        """Yield the step that a hop adds to each path; `steps` keeps those that exist already."""
        for before in paths:
            known = steps.get(id(before))
            if known is None:
                known = steps[id(before)] = self._step(hop, before)
            yield known

    def _copies(self, hop: _Hop) -> bool:
        """Return whether an operator passes a value on unchanged, which is not a step."""
        return hop.kind is UseKind.IDENTITY and not hop.text and not hop.jumps

    def _step(self, hop: _Hop, before: OperatorStep | None) -> OperatorStep:
        jumps = (*before.jumps, *hop.jumps) if before is not None else hop.jumps
        if before is not None and hop.cell[1] == ROWS and hop.kind is UseKind.IDENTITY and not hop.text:
            # A reference to a CTE passes on all rows of the CTE, which is not a step.
            return attrs.evolve(before, jumps=jumps)
        return OperatorStep(
            self.scopes.label(hop.operator),
            hop.text,
            hop.certainty,
            before,
            jumps,
            hop.computation,
            call_site=self._call_site(hop.operator, hop.text),
        )

    def _call_site(self, operator: int, text: str) -> str:
        """Return the line of Python that created an expression of an operator; empty if it is unknown."""
        if not self._has_call_sites or not text:
            return ""
        known = self._call_sites.get(operator)
        if known is None:
            held = self.plan.operators[operator].references
            made = (r for r in held if isinstance(r, ExpressionRef) and self.plan.expressions[r.index].call_site)
            known = self._call_sites[operator] = {
                self._text(r, operator): self.plan.expressions[r.index].call_site for r in made
            }
        return known.get(text, "")

    def _hops(self, cell: _Cell) -> list[_Hop]:
        if cell[1] == ROWS:
            return self._row_hops(cell[0])
        return [] if cell[0] in self.scopes.stops else self._defined(cell)

    def _defined(self, cell: _Cell) -> list[_Hop]:
        """Return the hops from a cell to the cells that its definitions read."""
        operator, id_, path = cell
        here = self.scopes.lineages[operator]
        hops: list[_Hop] = []
        for definition in here.computes.get(id_, ()):
            if isinstance(definition, Computed):
                hops += self._computed_hops(cell, definition)
            elif definition.kind is UseKind.IDENTITY:
                below = path_in_branch(self.plan, id_, definition.id, path)
                branches = self._branches(definition, below)
                jumps = self.scopes.jumps(operator)
                hops += [_Hop(branch, UseKind.IDENTITY, "", operator, jumps=jumps) for branch in branches]
            else:
                # Unreadable code may compute a field from any part of a column.
                passed = self._follow((definition.operator, definition.id, ()))
                hops.append(_Hop(passed, definition.kind, "", operator, here.certainty))
        return list(dict.fromkeys(hops)) if len(hops) > 1 else hops

    def _computed_hops(self, cell: _Cell, definition: Computed) -> Iterator[_Hop]:
        operator, id_, path = cell
        node = self.plan.operators[operator]
        shown = node.arguments.get("generator") if node.name == "Generate" else definition.value
        scope = self.scopes.scope(operator)
        computation = Computation(operator, id_, scope, shown, path)
        text = self._text(shown, operator)
        for use in uses(self.plan, definition.value, definition.kind, (*definition.path, *path)):
            yield from self._use(operator, use, "" if _copies(use, path) else text, scope, computation)

    def _branches(self, first: Passed, path: tuple[str, ...]) -> list[_Cell]:
        """Return the cells from which an attribute is passed on, below nested unions."""
        found: list[_Cell] = []
        seen: set[_Cell] = set()
        stack = [self._follow((first.operator, first.id, path))]
        while stack:
            cell = stack.pop()
            if cell in seen:
                continue
            seen.add(cell)
            made = () if cell[0] in self.scopes.stops else self.scopes.lineages[cell[0]].computes.get(cell[1], ())
            handed = [d for d in made if isinstance(d, Passed) and d.kind is UseKind.IDENTITY]
            # A reference to a CTE is a separate step: without it, the operators above the CTE would be unknown.
            if handed and len(handed) == len(made) and self.scopes.refers_to(cell[0]) is None:
                below = [
                    (d.operator, d.id, path_in_branch(self.plan, cell[1], d.id, cell[2])) for d in reversed(handed)
                ]
                stack.extend(map(self._follow, below))
            else:
                found.append(cell)
        return found

    def _row_hops(self, top: int) -> list[_Hop]:
        hops: list[_Hop] = []
        seen: set[int] = set()
        stack = [top]
        while stack:
            operator = stack.pop()
            if operator in seen:
                continue
            seen.add(operator)
            definition = self.scopes.refers_to(operator)
            if definition is not None:
                hops.append(
                    _Hop((definition, ROWS, ()), UseKind.IDENTITY, "", operator, jumps=self.scopes.jumps(operator))
                )
                continue
            here, scope = self.scopes.lineages[operator], self.scopes.scope(operator)
            for value, kind in here.influences:
                for item in value if isinstance(value, tuple) else (value,):
                    text = self._text(item, operator)
                    computation = Computation(operator, ROWS, scope, item)
                    for use in uses(self.plan, item, kind):
                        made = self._use(operator, use, text, scope, computation)
                        if here.rows_certainty is not Certainty.EXACT:
                            made = [hop._replace(certainty=min(hop.certainty, here.rows_certainty)) for hop in made]
                        hops += made
            inputs = here.inputs if here.inputs is not None else scope
            stack += reversed(inputs if here.rows_from is None else here.rows_from)
        return hops

    def _use(
        self,
        operator: int,
        use: ExpressionUse,
        text: str,
        scope: tuple[int, ...],
        computation: Computation,
    ) -> list[_Hop]:
        """
        Return the hop to the cell that an expression of an operator reads; none if nothing below has it.

        Args:
            operator: the index of the operator.
            use: what its expression reads.
            text: the SQL text of the expression.
            scope: the indices of the operators whose output it reads.
            computation: the computed expression.
        """
        cell: _Cell | None = None
        jumps: _Jumps = ()
        if use.reach is UseTarget.ROWS:
            cell = (use.operator, ROWS, ())
        elif use.reach is UseTarget.RESULT:
            cell = self._follow((use.operator, use.id, use.path))
        elif use.reach is UseTarget.COLUMN:
            below = scope[0] if len(scope) == 1 else self._holding(scope, use.id)
            cell = self._follow((below, use.id, use.path)) if below is not None else None
        if cell is None and (child := self.scopes.outer(operator, use.id)) is not None:
            cell, jumps = self._follow((child, use.id, use.path)), ((child, operator),)
        if cell is None:
            return []
        # The expressions that Spark makes for a PIVOT have a composed text only.
        is_stated = bool(text) or (use.kind is not UseKind.IDENTITY and is_of_pivot(self.plan, computation.value))
        return [_hop((cell, use.kind, text, operator, use.certainty, jumps, computation if is_stated else None))]

    def _text(self, value: Value, operator: int) -> str:
        if not isinstance(value, ExpressionRef):
            return ""
        known = self._texts.get(value.index)
        if known is None:
            # For a PIVOT, Spark wraps the user's aggregate in further expressions.
            pivots = is_of_pivot(self.plan, value)
            sql = sql_of(self.plan, self.plan.operators[operator], value)
            known = self._texts[value.index] = "" if pivots else own_text(sql)
        return known


def _copies(use: ExpressionUse, path: tuple[str, ...]) -> bool:
    """Return whether an expression only passes its argument on. Taking a field or a subquery's value is a step."""
    return use.kind is UseKind.IDENTITY and use.path == path and use.reach is not UseTarget.RESULT


def _computed_once(plan: Plan, lineages: Iterable[OperatorLineage]) -> dict[int, int]:
    """
    Return the exprIds that only one operator computes, or has as a leaf -> the index of that operator.

    Nearly all exprIds are such. A reader of such an attribute gets it from there, whichever operators are in between.
    """
    found: dict[int, int] = {}
    often: set[int] = set()
    for at, here in enumerate(lineages):
        made: Iterable[int] = here.computes
        if not here.computes and not here.passes_through:
            made = [column.id for column in plan.operators[at].output]
        for id_ in made:
            if found.setdefault(id_, at) != at:
                often.add(id_)
    for id_ in often:
        del found[id_]
    return found


def _around_subqueries(plan: Plan) -> set[int]:
    """Return the indices of the expressions that contain a subquery. Most expressions contain none."""
    pending = [at for at, one in enumerate(plan.expressions) for r in one.references if isinstance(r, OperatorRef)]
    if not pending:
        return set()
    holders: dict[int, list[int]] = {}
    for at, expression in enumerate(plan.expressions):
        for reference in expression.references:
            if isinstance(reference, ExpressionRef):
                holders.setdefault(reference.index, []).append(at)
    found: set[int] = set()
    while pending:
        at = pending.pop()
        if at not in found:
            found.add(at)
            pending += holders.get(at, ())
    return found


def _add(there: list[OperatorStep | None], paths: Iterable[OperatorStep | None]) -> list[OperatorStep]:
    """Add paths to others, each once, and return those that are not added because they enter a recursive CTE again."""
    again: list[OperatorStep] = []
    for last in paths:
        if last is not None and len(last.jumps) > 1 and len(set(last.jumps)) < len(last.jumps):
            again.append(last)
        elif len(there) > MOST_PATHS:
            break
        elif not any(_is_same(last, each) for each in there):
            there.append(last)
    return again


def _is_same(one: OperatorStep | None, other: OperatorStep | None) -> bool:
    """Return whether two paths have the same steps. They may share their beginning, which is then not compared."""
    while one is not other:
        if one is None or other is None:
            return False
        if one.operator != other.operator or one.expression != other.expression or one.jumps != other.jumps:
            return False
        if one.computation != other.computation:
            return False
        one, other = one.before, other.before
    return True


def _paths_of(values: Mapping[_Cell, Sources]) -> dict[_Cell, dict[Origin, dict[UseKind, list[tuple[str, _Jumps]]]]]:
    """Return what must stop growing before a cycle is solved."""

    def shown(paths: Paths) -> list[tuple[str, _Jumps]]:
        return [("", ()) if last is None else (last.shown, last.jumps) for last in paths]

    return {
        cell: {origin: {kind: shown(paths) for kind, paths in kinds.items()} for origin, kinds in sources.items()}
        for cell, sources in values.items()
    }
