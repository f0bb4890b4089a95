"""
The lineage of one output as frozen values: its source columns, and how they influence it.

First the kinds of influence and how two of them compose; then the path of an influence through the plan; then the
values of the columnLineage facet.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.model.plan import Value

_MOST_TEXTS = 10_000
"""The maximum number of texts of earlier plans that are kept; a loop may read its own rows again and again."""

MOST_PATHS = 16
"""The maximum number of paths of one kind that are kept from a source column to a target."""


class UseKind(enum.IntEnum):
    """
    How a source influences a target: type, subtype and masking of the columnLineage facet in one value.

    The DIRECT kinds are in the order of their strength: the strongest on a path is the kind of the path. GENERATE is
    the influence of the arguments of a generator such as explode, which returns several rows, or none, for each row.
    """

    IDENTITY = 0
    TRANSFORMATION = 1
    MASKED_TRANSFORMATION = 2
    AGGREGATION = 3
    MASKED_AGGREGATION = 4
    FILTER = 5
    JOIN = 6
    GROUP_BY = 7
    SORT = 8
    WINDOW = 9
    CONDITIONAL = 10
    GENERATE = 11

    @property
    def subtype(self) -> str:
        """
        The facet's word for it.

        A generator joins each row with the rows that it returns for it, so GENERATE is a JOIN.
        """
        return "JOIN" if self is UseKind.GENERATE else self.name.removeprefix("MASKED_")

    @property
    def direct(self) -> bool:
        """Return whether the target's value is computed from the source's value."""
        return self < UseKind.FILTER

    @property
    def masking(self) -> bool:
        """Return whether the source's value can't be recovered from the target's."""
        return self in (UseKind.MASKED_TRANSFORMATION, UseKind.MASKED_AGGREGATION)


def _compose(outer: UseKind, inner: UseKind) -> UseKind:
    if not outer.direct:
        return outer
    if not inner.direct:
        return inner
    aggregated = max(outer, inner) >= UseKind.AGGREGATION
    masked = outer.masking or inner.masking
    if aggregated:
        return UseKind.MASKED_AGGREGATION if masked else UseKind.AGGREGATION
    return max(outer, inner)


_COMPOSED = tuple(tuple(_compose(outer, inner) for inner in UseKind) for outer in UseKind)


def compose(outer: UseKind, inner: UseKind) -> UseKind:
    """
    Return the kind of two consecutive steps on one path.

    Args:
        outer: the step nearer to the output.
        inner: the step nearer to the source.

    Returns:
        The outer kind if it is INDIRECT, else the inner one if that is; else the stronger DIRECT kind, masked if
        either is.
    """
    return _COMPOSED[outer][inner]


class Certainty(enum.IntEnum):
    """
    How sure an influence is: as sure as the least sure step on its path.

    TEXT: read from a text alone: that of a statement that Spark could not analyze, or of a query to another database,
    whose schema is unknown. GUESSED: no rule covers an operator on the path, so each output column is assumed to
    contain every input column. OPAQUE: it passes code that can't be read, such as a Python function. EXACT: read from
    the plan.
    """

    TEXT = 0
    GUESSED = 1
    OPAQUE = 2
    EXACT = 3

    @property
    def word(self) -> str:
        """The word for it in events and answers."""
        return self.name.lower()


class Computation(NamedTuple):
    """
    Where a plan computes a value.

    Args:
        operator: the index of the operator.
        id: the exprId of the attribute that gets the value; a negative number if none does.
        scope: the indices of the operators whose output the expression reads.
        value: the expression.
        path: the names of struct fields, outermost first, if it is only about that field of the value.
    """

    operator: int
    id: int
    scope: tuple[int, ...]
    value: Value
    path: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class OperatorStep:
    """
    What one operator on a path does to a value, and the steps before it.

    Steps form a linked list, because the paths of many columns share their beginnings.

    Args:
        operator: the operator, as `Aggregate#1`: its simple class name and its index in the plan.
        expression: the SQL text of the expression there; empty if there is none.
        certainty: how sure this step is.
        before: the step before it, nearer to the source.
        jumps: where the path leaves the tree of operators, the nearest to the source first: from an operator's index to
            that of a reference to it (a CTE), or of one that reads its columns from inside a subquery.
        call_site: the line of Python that made the expression, as `etl.py:12`; empty if it is unknown.
        computation: where its plan computes the value; None if it only passes the value on.
        shown: the text of the expression that is nearest to the sink and not empty.
        least: the certainty of the path so far.
    """

    operator: str
    expression: str
    certainty: Certainty = Certainty.EXACT
    before: OperatorStep | None = attrs.field(default=None, repr=False)
    jumps: tuple[tuple[int, int], ...] = ()
    computation: Computation | None = attrs.field(default=None, repr=False)
    call_site: str = attrs.field(default="", kw_only=True)
    shown: str = attrs.field(init=False, repr=False)
    least: Certainty = attrs.field(init=False, repr=False)

    @shown.default
    def _shown(self) -> str:
        return self.expression or (self.before.shown if self.before is not None else "")

    @least.default
    def _least(self) -> Certainty:
        return self.certainty if self.before is None else min(self.certainty, self.before.least)

    def __eq__(self, other: object) -> bool:
        """Return whether all steps are equal. There may be thousands, so nothing recurses."""
        if not isinstance(other, OperatorStep):
            return NotImplemented
        return [step.own for step in self] == [step.own for step in other]

    def __hash__(self) -> int:
        """Return a hash of this step alone."""
        return hash(self.own)

    @property
    def own(self) -> tuple[str, str, Certainty, tuple[tuple[int, int], ...]]:
        """This step without those before it."""
        return self.operator, self.expression, self.certainty, self.jumps

    def __iter__(self) -> Iterator[OperatorStep]:
        """Yield this step and those before it, the nearest to the sink first."""
        at: OperatorStep | None = self
        while at is not None:
            yield at
            at = at.before


class Way(NamedTuple):
    """
    How an influence gets from its source to its target.

    Args:
        operators: the operators that it passes, from the source to the sink, as `OperatorStep.operator` names them.
        last: the step that is nearest to the sink; None if every operator only passes the value on.
        certainty: how sure the influence is.
        composed: the text of the expression that is nearest to the sink, in terms of the columns of sources; None if
            it was not composed.
    """

    operators: tuple[str, ...] = ()
    last: OperatorStep | None = None
    certainty: Certainty = Certainty.EXACT
    composed: str | None = None

    @property
    def steps(self) -> tuple[OperatorStep, ...]:
        """The steps, from the source to the sink; operators that only pass the value on have none."""
        return tuple(self.last)[::-1] if self.last is not None else ()

    @property
    def shown(self) -> str:
        """The text of the expression that is nearest to the sink and not empty."""
        return self.last.shown if self.last is not None else ""

    def then(self, later: Way) -> Way:
        """Return this path followed by one that begins where it ends, in a later plan."""
        last = self.last
        for step in later.steps:
            last = attrs.evolve(step, before=last)
        composed = later.composed or self.composed
        return Way(self.operators + later.operators, last, min(self.certainty, later.certainty), composed)


@attrs.frozen(order=True)
class Transformation:
    """
    How the target depends on the source (ColumnLineageDatasetFacet 1-2-0).

    Args:
        type: whether the target's value is computed from the source's.
        subtype: IDENTITY, TRANSFORMATION, AGGREGATION; or FILTER, JOIN, GROUP_BY, SORT, WINDOW, CONDITIONAL.
        description: the SQL text of the expression, in terms of the columns of sources or as in the last step alone;
            empty if there is none, and for a plain copy.
        masking: whether the source's value can't be recovered, as after a hash or a count.
        way: its path; not public. Transformations that differ only in their paths are equal, but an edge may have
            several of them.
    """

    type: Literal["DIRECT", "INDIRECT"]
    subtype: str
    description: str = ""
    masking: bool = False
    way: Way = attrs.field(factory=Way, eq=False, order=False, repr=False)


def transformation(kind: UseKind, way: Way) -> Transformation:
    """
    Return a transformation of a kind, described by the expression that is nearest to the sink, composed if possible.

    Args:
        kind: the kind.
        way: its path. If the path has no operators, its steps are not wanted, and are left out.
    """
    shown_way = way if way.operators else Way(certainty=way.certainty)
    text = way.shown if way.composed is None else way.composed
    shown = "" if kind is UseKind.IDENTITY else text
    return Transformation("DIRECT" if kind.direct else "INDIRECT", kind.subtype, shown, kind.masking, shown_way)


def different(found: Sequence[Transformation]) -> tuple[Transformation, ...]:
    """Return transformations in their order, each once; those that differ only in their paths are all kept."""
    # Nearly all edges have only one, and hashing it would take a while.
    return tuple(found) if len(found) <= 1 else tuple({(each, each.way): each for each in found}.values())


@attrs.frozen(order=True)
class InputField:
    """
    One source column of an output column, or of the output as a whole.

    Args:
        dataset: the source dataset.
        field: the source column; for a nested field, the column that holds it.
        transformations: the paths by which it influences the target, sorted, at least one; of one kind at most
            `MOST_PATHS`.
    """

    dataset: Identifier
    field: str
    transformations: tuple[Transformation, ...]

    @property
    def certainty(self) -> Certainty:
        """How sure the edge is: as sure as the least sure of its transformations. This is not public."""
        return min((each.way.certainty for each in self.transformations), default=Certainty.EXACT)


@attrs.frozen
class OutputColumn:
    """
    One column of an output.

    Args:
        name: its name.
        edges: its edges, sorted; a constant has none.
        expression: the SQL text of its value, if it has no edges: `count(1)`; empty if it has some, or if the text is
            unknown.
    """

    name: str
    edges: tuple[InputField, ...]
    expression: str = ""


@attrs.frozen
class Wording:
    """
    The texts of a plan's expressions, also those of earlier plans whose rows it reads.

    Args:
        names: the names that they give to columns.
        texts: their SQL texts, each once. Plain copies of a column under its own name are left out.
    """

    names: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()

    def joined(self, other: Wording) -> Wording:
        """Return the texts of both."""
        if not (other.names or other.texts):
            return self
        texts = dict.fromkeys((*self.texts, *other.texts))
        return Wording(self.names | other.names, tuple(itertools.islice(texts, _MOST_TEXTS)))


@attrs.frozen
class ColumnLineage:
    """
    The lineage of one output.

    Args:
        columns: all output columns, in the output's order.
        dataset: the edges that influence all rows (FILTER, JOIN, GROUP_BY, SORT), sorted.
        wording: the texts of the plan's expressions; not public. It also has texts that may be in no edge: those of
            constants, and of paths that are cut.
    """

    columns: tuple[OutputColumn, ...]
    dataset: tuple[InputField, ...] = ()
    wording: Wording = attrs.field(factory=Wording, eq=False, repr=False)

    def joined(self, other: ColumnLineage) -> ColumnLineage:
        """Return the edges of both, each once: a micro-batch has none from a source that has no new data."""
        columns = {column.name: column for column in self.columns}
        if len(columns) < len(self.columns):
            # It is unknown which of two columns with the same name is meant.
            return self
        for column in other.columns:
            known = columns.get(column.name, column)
            edges = _joined_edges(known.edges, column.edges)
            columns[column.name] = OutputColumn(column.name, edges, "" if edges else column.expression)
        rows = _joined_edges(self.dataset, other.dataset)
        return ColumnLineage(tuple(columns.values()), rows, self.wording.joined(other.wording))

    @property
    def edges(self) -> tuple[InputField, ...]:
        """All edges: those of the columns in order, then those that influence all rows."""
        return (*(edge for column in self.columns for edge in column.edges), *self.dataset)


def _joined_edges(some: tuple[InputField, ...], others: tuple[InputField, ...]) -> tuple[InputField, ...]:
    found = {(edge.dataset, edge.field): edge for edge in some}
    for edge in others:
        known = found.setdefault((edge.dataset, edge.field), edge)
        both = different((*known.transformations, *edge.transformations))
        if len(both) > len(known.transformations):
            found[edge.dataset, edge.field] = attrs.evolve(known, transformations=tuple(sorted(both)))
    return tuple(sorted(found.values(), key=lambda edge: (edge.dataset.namespace, edge.dataset.name, edge.field)))
