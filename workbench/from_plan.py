"""The lineage of one plan as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.model.lineage import Certainty
from openlineage_pyspark.facets.model.plan import (
    CTE_DEFINITION,
    SUBQUERY_ALIAS,
    VIEW,
    Described,
    OperatorRef,
)
from openlineage_pyspark.facets.model.schema import fields_of
from openlineage_pyspark.facets.part_columns import PassingEdge
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    EdgeKind,
    EdgeStep,
    GraphEdge,
    GraphWarning,
    Leg,
    OperatorColumn,
    OperatorNode,
    Passage,
    column_id,
    edge_kind_of,
    node_id,
    preferred,
    sure,
)
from openlineage_pyspark.workbench.pictures.figure import ShownGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
    from openlineage_pyspark.facets.model.lineage import ColumnLineage, Edge, Step, Transformation
    from openlineage_pyspark.facets.model.plan import Operator, Plan
    from openlineage_pyspark.facets.model.run import Gap
    from openlineage_pyspark.facets.part_columns import LegWay, Passages, PassedLeg
    from openlineage_pyspark.workbench.model.graph import Graph

    Outputs = Sequence[tuple[Dataset | None, ColumnLineage]]

_QUERY = "(query)"
"""The name of what a query gives that writes nothing."""
_MADE_UP = "__auto_generated_subquery_name"
_MOST_COLUMNS = 500
_MOST_PASSAGES = 50
_NOT_READ = {
    "opaque": "can't be read: its result is taken to depend on all of its arguments",
    "unknown": "was taken from the text of the statement, which was not analyzed",
}


def graph_of_plan(
    inputs: Sequence[Dataset],
    outputs: Outputs,
    gaps: Iterable[Gap],
    operators: Iterable[OperatorNode],
    label: Callable[[Identifier], str],
    passages: Sequence[Mapping[str, Passages]] = (),
) -> Graph:
    """
    Return the lineage of a plan as a graph.

    Args:
        inputs: the datasets that it reads.
        outputs: the datasets that it writes, each with its lineage; for a query, one entry with None.
        gaps: what no rule covers.
        operators: the operators of the plan.
        label: gives a dataset's name as people know it.
        passages: for each output, the columns of CTEs, views and subqueries through which its edges come, by the names
            of its columns; empty if they are not known.
    """
    each_passed = (*passages, *({} for _ in outputs[len(passages) :]))
    edges = tuple(
        edge
        for (dataset, lineage), passed in zip(outputs, each_passed, strict=True)
        for edge in _edges(_output_id(dataset), lineage, passed)
    )
    written = [dataset for dataset, _ in outputs if dataset is not None]
    datasets = {_id(each.identifier): _dataset(each, label) for each in (*inputs, *written)}
    if any(dataset is None for dataset, _ in outputs):
        datasets[_output_id(None)] = DatasetNode("", _QUERY, _QUERY)
    for _, lineage in outputs:
        for edge in lineage.edges:
            node = DatasetNode(edge.dataset.namespace, edge.dataset.name, label(edge.dataset))
            datasets.setdefault(node.id, node)
    columns: dict[str, ColumnNode] = {}
    for column in _columns((*inputs, *written), outputs):
        columns.setdefault(column.id, column)
    warnings = dict.fromkeys((*(GraphWarning(gap.message, gap.task) for gap in gaps), *_unread(edges)))
    return ShownGraph((*datasets.values(), *columns.values(), *operators), edges, tuple(warnings))


def operators_of_plan(plan: Plan) -> tuple[OperatorNode, ...]:
    """Return the operators of a plan; those whose rows are a view, a subquery or a CTE of the statement say so."""
    defined = {at.children[0] for at in plan.operators if at.class_name == CTE_DEFINITION and at.children}
    held = {
        reference.index
        for expression in plan.expressions
        for reference in expression.references
        if isinstance(reference, OperatorRef)
    }
    found = []
    for index, operator in enumerate(plan.operators):
        role, name = _role(plan, index, defined)
        if not role and index in held:
            role = "SUBQUERY"
        fields = fields_of(plan, operator)[:_MOST_COLUMNS] if role else ()
        columns = tuple(OperatorColumn(each.name, each.type) for each in fields)
        found.append(OperatorNode("", index, operator.name, role, name, columns))
    return tuple(found)


def _name(operator: Operator, argument: str) -> str:
    """Return the name of a view or an alias; empty for one that Spark made up."""
    said = operator.described(argument)
    if said is None:
        return ""
    table = said.values.get("identifier")
    if isinstance(table, Described):
        parts = [table.text(part) for part in ("catalog", "database", "table")]
        return ".".join(part for part in parts if part and part != "spark_catalog")
    name = said.text("name") or ""
    return "" if name.startswith(_MADE_UP) else name


def _role(plan: Plan, index: int, defined: set[int]) -> tuple[str, str]:
    """Return `CTE`, `VIEW` or `SUBQUERY` with its name for an operator that gives its rows; else two empty texts."""
    operator = plan.operators[index]
    if operator.class_name == VIEW:
        return "VIEW", _name(operator, "desc")
    if operator.class_name != SUBQUERY_ALIAS:
        return "", ""
    name = _name(operator, "identifier")
    if index in defined:
        return "CTE", name
    below = plan.operators[operator.children[0]] if operator.children else None
    # An alias of a table, a view or a CTE is another name for that, and no subquery.
    is_other_name = below is None or not below.children or below.class_name in (SUBQUERY_ALIAS, VIEW)
    return ("", "") if is_other_name else ("SUBQUERY", name)


def _dataset(dataset: Dataset, label: Callable[[Identifier], str]) -> DatasetNode:
    others = tuple(f"{link.namespace}/{link.name}" for link in dataset.symlinks)
    stored = dataset.storage_layer if dataset.storage_layer not in (None, "default") else dataset.file_format
    at = dataset.identifier
    return DatasetNode(at.namespace, at.name, label(at), others, stored or "")


def _columns(datasets: Iterable[Dataset], outputs: Outputs) -> Iterator[ColumnNode]:
    """Yield the columns of the schemas in their order, then those that edges alone name."""
    for dataset in datasets:
        yield from _fields(_id(dataset.identifier), "", dataset.fields)
    for output, lineage in outputs:
        # Without a name, a column would have the id of its dataset.
        for column in lineage.columns:
            if column.name:
                yield ColumnNode(_output_id(output), column.name)
        for edge in lineage.edges:
            if edge.field:
                yield ColumnNode(_id(edge.dataset), edge.field)


def _fields(dataset: str, prefix: str, fields: Iterable[Field]) -> Iterator[ColumnNode]:
    for field in fields:
        if prefix or field.name:
            yield ColumnNode(dataset, prefix + field.name, field.type)
        if field.type == "struct":
            yield from _fields(dataset, f"{prefix}{field.name}.", field.fields)


def _edges(output: str, lineage: ColumnLineage, passed: Mapping[str, Passages]) -> Iterator[GraphEdge]:
    """Yield the edges of an output, those of its columns in order, then those on all rows; preferred kinds first."""
    for column, edges in (*((column.name, column.edges) for column in lineage.columns), ("", lineage.dataset)):
        target = column_id(output, column)
        known = passed.get(column, {})
        yield from sorted((made for edge in edges for made in _made(edge, target, known)), key=preferred)


def _made(edge: Edge, target: str, passed: Passages) -> Iterator[GraphEdge]:
    for each in edge.transformations:
        certainty = each.way.certainty.word
        steps = _steps(each.way.steps)
        asked = PassingEdge(
            next(iter(each.way.operators), ""), edge.field, each.type, each.subtype, masking=each.masking
        )
        made = GraphEdge(
            column_id(_id(edge.dataset), edge.field),
            target,
            edge_kind_of(each.type, each.subtype, certainty),
            sure(certainty, steps),
            each.type,
            each.subtype,
            each.masking,
            expression=each.description,
            operator_path=each.way.operators,
            steps=steps,
            through=_through(asked, each, passed),
        )
        legs = _legs(made, asked, edge.dataset, passed)
        yield attrs.evolve(made, legs=legs) if legs else made


def _steps(steps: Iterable[Step]) -> tuple[EdgeStep, ...]:
    return tuple(EdgeStep(step.operator, step.expression, step.certainty.word, step.call_site) for step in steps)


def _through(asked: PassingEdge, each: Transformation, passed: Passages) -> tuple[Passage, ...]:
    """Return the columns through which an edge comes, as far as they lie on the path that it names."""
    path = {operator: place for place, operator in enumerate(each.way.operators)}
    here = passed.get(asked)
    found = set(here.columns) if here is not None else set()
    if not found and each.type == "DIRECT":
        # The field of a struct comes through the struct, whose own kind may be another.
        found = {one for key, all_ in passed.items() if key[:3] == asked[:3] for one in all_.columns}
    known = sorted((path[operator], operator, column) for operator, column in found if operator in path)
    return tuple(Passage(operator, column) for _, operator, column in known[:_MOST_PASSAGES])


def _legs(edge: GraphEdge, asked: PassingEdge, dataset: Identifier, passed: Passages) -> tuple[Leg, ...]:
    """
    Return the parts of the way of an edge, from all places where the plan reads its source; empty if it passes nothing.

    Args:
        edge: the edge.
        asked: the edge, as the plan knows it.
        dataset: the dataset of its source.
        passed: what all edges to its target pass.
    """
    same = [(key, one) for key, one in passed.items() if key[:2] == asked[:2] or one.dataset == dataset]
    here = [one for key, one in same if key[1:] == asked[1:]]
    if not here and edge.type == "DIRECT":
        # The field of a struct comes through the struct, as above.
        here = [one for key, one in same if key[1:3] == asked[1:3]]
    legs = [_leg(leg, way) for one in here for leg, ways in one.legs.items() for way in ways]
    if not any(leg.source or leg.target or leg.passing for leg in legs):
        return ()
    # What no other part accounts for happens where the source is read, such as by a query that can't be read.
    if all(leg.confidence.value > edge.confidence.value for leg in legs):
        legs = [leg if leg.source else attrs.evolve(leg, confidence=edge.confidence) for leg in legs]
    if all(leg.kind is EdgeKind.DIRECT for leg in legs):
        legs = [leg if leg.source else attrs.evolve(leg, kind=edge.kind) for leg in legs]
    return tuple(dict.fromkeys(legs))


def _leg(leg: PassedLeg, way: LegWay) -> Leg:
    type_ = "DIRECT" if leg.kind.direct else "INDIRECT"
    certainty = way.last.least.word if way.last is not None else Certainty.EXACT.word
    source, target = (Passage(*place) if place is not None else None for place in (leg.source, leg.target))
    steps = _steps(tuple(way.last)[::-1]) if way.last is not None else ()
    kind = edge_kind_of(type_, leg.kind.subtype, certainty)
    return Leg(source, target, kind, sure(certainty, steps), leg.kind.masking, way.composed, way.passing)


def _unread(edges: Iterable[GraphEdge]) -> Iterator[GraphWarning]:
    """Yield what is not read on the ways of edges, each once. Operators without a rule are gaps of the plan already."""
    for edge in edges:
        for step in edge.steps:
            if step.certainty in _NOT_READ:
                what = " ".join(step.expression.split()) or step.operator
                yield GraphWarning(f"{what} {_NOT_READ[step.certainty]}", step.operator)


def _output_id(dataset: Dataset | None) -> str:
    return node_id("dataset", "", _QUERY) if dataset is None else _id(dataset.identifier)


def _id(dataset: Identifier) -> str:
    return node_id("dataset", dataset.namespace, dataset.name)
