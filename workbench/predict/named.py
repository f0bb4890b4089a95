"""Treat DataFrames that a test names as sources: otherwise rows that the test itself creates come from no dataset."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Symlink, field
from openlineage_pyspark.facets.model.lineage import UseKind, Way
from openlineage_pyspark.facets.model.plan import (
    LOGICAL_RDD,
    AttributeRef,
    Described,
    ExpressionRef,
    Operator,
    OperatorRef,
    Plan,
    Value,
)
from openlineage_pyspark.facets.plan_lineage.results import EarlierColumn, EarlierPlans, EarlierRows
from openlineage_pyspark.facets.sql_names import quoted_name

NAMESPACE = "dataframe"
"""The namespace of a DataFrame that is a source."""


@attrs.frozen
class NamedSources:
    """
    A plan in which named DataFrames are leaves.

    Args:
        plan: the plan.
        earlier: the rows of each such leaf: the columns of its source.
    """

    plan: Plan
    earlier: EarlierPlans


def with_sources(plan: Plan, sources: Mapping[str, Plan]) -> NamedSources:
    """
    Return a plan in which every occurrence of a source is a leaf.

    In a join of a source with itself, Spark gives the second occurrence new exprIds. So an occurrence is recognized by
    the same operators with the same exprIds, or else by the same operators with any exprIds.

    Args:
        plan: the analyzed plan of a query.
        sources: the name of each DataFrame -> its analyzed plan.

    Raises:
        ValueError: a source is not in the plan, or is the same as another.
    """
    if any(not isinstance(name, str) or not name for name in sources):
        raise ValueError("sources: the name of a DataFrame must be a string that is not empty")
    found = _occurrences(plan, sources)
    absent = [name for name in sources if name not in found.values()]
    if absent:
        raise ValueError(f"sources: the query does not read the DataFrame {' or '.join(absent)}")
    operators = list(plan.operators)
    rows: dict[int, EarlierRows] = {}
    for index, name in found.items():
        operator, source = operators[index], sources[name]
        # Its rows are treated like an RDD that an earlier query has computed.
        operators[index] = Operator("LogicalRDD", LOGICAL_RDD, {}, operator.output)
        dataset = _dataset(name, source)
        rows[index] = EarlierRows((dataset,), tuple(_column(dataset, name, each.name) for each in source.top.output))
    return NamedSources(attrs.evolve(plan, operators=tuple(operators)), EarlierPlans(rows))


def _column(dataset: Dataset, source: str, name: str) -> EarlierColumn:
    sources = {(dataset.identifier, name): {UseKind.IDENTITY: [Way()]}}
    return EarlierColumn(sources, f"{quoted_name(source)}.{quoted_name(name)}", is_source=True)


def _occurrences(plan: Plan, sources: Mapping[str, Plan]) -> dict[int, str]:
    """Return the index of each operator of a plan that is the top of a source, with the name of that source."""
    found: dict[int, str] = {}
    for ids in (True, False):
        numbers: dict[Hashable, int] = {}
        named: dict[int, list[str]] = {}
        for name, source in sources.items():
            named.setdefault(_Shapes(source, numbers, ids=ids).of(source.root), []).append(name)
        shapes = _Shapes(plan, numbers, ids=ids)
        for index in range(len(plan.operators)):
            names = named.get(shapes.of(index), [])
            if index in found or not names:
                continue
            if len(names) > 1:
                both = " and ".join(names)
                if ids:
                    raise ValueError(f"sources: {both} are the same DataFrame")
                # Literal rows differ only in their values, which are not read.
                why = "they have the same columns, and one of them is joined with itself"
                raise ValueError(f"sources: {both} can't be distinguished: {why}. Rename their columns")
            found[index] = names[0]
    return found


def _dataset(name: str, source: Plan) -> Dataset:
    known = source.attributes
    fields = tuple(field(each.name, known[each.id].type) for each in source.top.output if each.id in known)
    # With this symlink it is shown only by its name.
    return Dataset(Identifier(NAMESPACE, name), fields, (Symlink(NAMESPACE, name),))


class _Shapes:
    """
    The shapes of the parts of a plan, as numbers: equal parts of different plans have the same number.

    Args:
        plan: the plan.
        numbers: the known shapes with their numbers, which is extended.
        ids: whether the exprIds must be the same too.
    """

    def __init__(self, plan: Plan, numbers: dict[Hashable, int], *, ids: bool) -> None:
        self._plan = plan
        self._numbers = numbers
        self._ids = ids
        self._operators: dict[int, int] = {}
        self._expressions: dict[int, int] = {}
        # Most children come after their parents: in reverse order, most are known before they are needed.
        for index in reversed(range(len(plan.expressions))):
            self._expression(index)
        for index in reversed(range(len(plan.operators))):
            self.of(index)

    def of(self, index: int) -> int:
        """Return the shape of an operator, with everything below it."""
        if index not in self._operators:
            operator = self._plan.operators[index]
            output = tuple((each.name, self._id(each.id)) for each in operator.output)
            self._operators[index] = self._number((operator.class_name, output, self._arguments(operator.arguments)))
        return self._operators[index]

    def _expression(self, index: int) -> int:
        if index not in self._expressions:
            each = self._plan.expressions[index]
            id_ = None if each.id is None else self._id(each.id)
            shape = (each.name, each.column, each.type, id_, self._arguments(each.arguments))
            self._expressions[index] = self._number(shape)
        return self._expressions[index]

    def _number(self, shape: Hashable) -> int:
        return self._numbers.setdefault(shape, len(self._numbers))

    def _arguments(self, values: Mapping[str, Value]) -> Hashable:
        return tuple((name, self._shape(value)) for name, value in sorted(values.items()))

    def _shape(self, value: Value) -> Hashable:
        if isinstance(value, OperatorRef):
            return ("operator", self.of(value.index))
        if isinstance(value, ExpressionRef):
            return ("expression", self._expression(value.index))
        if isinstance(value, AttributeRef):
            return self._id(value.id) or self._plan.attributes[value.id].name
        if isinstance(value, tuple):
            return tuple(map(self._shape, value))
        if isinstance(value, Described):
            return (value.class_name, self._arguments(value.values))
        return value

    def _id(self, exprid: int) -> int | None:
        return exprid if self._ids else None
