"""The lineage of one plan as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.model.dataset import fields_of, inner_fields
from openlineage_pyspark.facets.model.plan import CTE_DEFINITION, SUBQUERY_ALIAS, VIEW, Described, OperatorRef
from openlineage_pyspark.facets.sql_names import field_name
from openlineage_pyspark.workbench.model.chains import Segment, paths_of
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    OperatorColumn,
    OperatorNode,
    Path,
    Step,
    column_id,
    node_id,
    steps_of,
    united,
)
from openlineage_pyspark.workbench.model.kinds import Diagnostic, Kind, certainty_of, rank
from openlineage_pyspark.workbench.part_columns import PassingEdge
from openlineage_pyspark.workbench.pictures.figure import ShownGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
    from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OperatorStep, Transformation
    from openlineage_pyspark.facets.model.plan import Operator, Plan
    from openlineage_pyspark.facets.model.run import Gap
    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.model.kinds import Code
    from openlineage_pyspark.workbench.part_columns import LegWay, Passages, PassedColumns, PassedLeg

    Outputs = Sequence[tuple[Dataset | None, ColumnLineage]]

_QUERY = "(query)"
"""The name of what a query gives that writes nothing."""
_MADE_UP = "__auto_generated_subquery_name"
_MOST_COLUMNS = 500
_NOT_READ: dict[str, tuple[Code, str]] = {
    "opaque": ("opaque-code", "can't be read: its result is taken to depend on all of its arguments"),
    "text": ("text-only", "was taken from the text of the statement, which was not analyzed"),
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
            of its columns; empty if they are unknown.
    """
    nodes = tuple(operators)
    relations = {node.text: node.label or node.text for node in nodes if node.role}
    each_passed = (*passages, *({} for _ in outputs[len(passages) :]))
    limits: list[Diagnostic] = []
    edges = united(
        edge
        for (dataset, lineage), passed in zip(outputs, each_passed, strict=True)
        for edge in _edges(_output_id(dataset), lineage, _PathMaker(passed, relations, limits))
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
    unknown = (Diagnostic("unknown-operator", gap.message, operator=gap.task) for gap in gaps)
    diagnostics = dict.fromkeys((*unknown, *_unread(edges), *limits))
    return ShownGraph((*datasets.values(), *columns.values(), *nodes), edges, tuple(diagnostics))


def edges_of_output(dataset: Dataset | None, lineage: ColumnLineage) -> tuple[Edge, ...]:
    """Return the edges into what a plan writes; None for what a query gives. They do not name what they pass."""
    return united(_edges(_output_id(dataset), lineage, _PathMaker({}, {}, [])))


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
    described = operator.described(argument)
    if described is None:
        return ""
    table = described.values.get("identifier")
    if isinstance(table, Described):
        parts = [table.text(part) for part in ("catalog", "database", "table")]
        return ".".join(part for part in parts if part and part != "spark_catalog")
    name = described.text("name") or ""
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
        for field in dataset.fields:
            if field.name:
                yield ColumnNode(_id(dataset.identifier), field.name, field.type)
            yield from _fields(_id(dataset.identifier), field.name, (), field)
    for output, lineage in outputs:
        # Without a name, a column would have the id of its dataset.
        for column in lineage.columns:
            if column.name:
                yield ColumnNode(_output_id(output), column.name)
        for edge in lineage.edges:
            if edge.field:
                yield ColumnNode(_id(edge.dataset), edge.field)


def _fields(dataset: str, column: str, path: tuple[str, ...], at: Field) -> Iterator[ColumnNode]:
    for field in inner_fields(at):
        yield ColumnNode(dataset, field_name(column, (*path, field.name)), field.type)
        yield from _fields(dataset, column, (*path, field.name), field)


def _edges(output: str, lineage: ColumnLineage, maker: _PathMaker) -> Iterator[Edge]:
    """Yield the edges of an output, those of its columns in order, then those on all rows; preferred kinds first."""
    for column, edges in (*((column.name, column.edges) for column in lineage.columns), ("", lineage.dataset)):
        made = (
            Edge(
                column_id(_id(edge.dataset), edge.field),
                column_id(output, column),
                tuple(path for each in edge.transformations for path in maker.paths(column, edge, each)),
            )
            for edge in edges
        )
        yield from sorted(made, key=lambda edge: edge.order)


@attrs.frozen
class _PathMaker:
    """
    Makes the paths of edges.

    Args:
        passed: the columns of relations that edges pass, by the names of the columns that they lead to.
        relations: the operators that give the rows of CTEs, views and subqueries, each with the name of that.
        limits: gets what is left out.
    """

    passed: Mapping[str, Passages]
    relations: Mapping[str, str]
    limits: list[Diagnostic]

    def paths(self, column: str, edge: InputField, each: Transformation) -> tuple[Path, ...]:
        """Return the paths of one way of an edge: several if it passes several relations beside each other."""
        path = traced_path(each)
        leaf = next(iter(each.way.operators), "")
        key = PassingEdge(leaf, edge.field, each.type, each.subtype, masking=each.masking)
        paths, left_out = paths_of(
            path, _segments(path, key, edge.dataset, self.passed.get(column, {})), self.relations
        )
        if left_out:
            message = f"{left_out} parts of paths from {edge.field} to {column or 'all rows'} are left out"
            self.limits.append(Diagnostic("limit", message))
        return paths


def traced_path(each: Transformation) -> Path:
    """Return a traced path."""
    certainty = certainty_of(each.way.certainty.word)
    steps = _steps(each.way.operators, each.way.steps)
    return Path(Kind(each.type, each.subtype, each.masking), each.description, certainty, steps)


def _steps(operators: Iterable[str], steps: Iterable[OperatorStep]) -> tuple[Step, ...]:
    """Return all operators of a path, with what those do that do more than pass the value on."""
    made = [
        Step(each.operator, each.expression, certainty=certainty_of(each.certainty.word), call_site=each.call_site)
        for each in steps
    ]
    return steps_of(operators, made)


def _segments(path: Path, key: PassingEdge, dataset: Identifier, passed: Passages) -> tuple[Segment, ...]:
    """
    Return the parts of a path; empty if it passes nothing.

    They are those from where the path begins; where the trace does not distinguish that, from all places where the plan
    reads its source.

    Args:
        path: the path.
        key: the edge, as the plan knows it.
        dataset: the dataset of its source.
        passed: what all edges to its target pass.
    """
    passages = _passages(key, dataset, passed, is_influence=path.kind.is_influence)
    found = [_segment(leg, way) for one in passages for leg, ways in one.legs.items() for way in ways]
    if not any(each.source or each.target or each.passing for each in found):
        return ()
    # What no other part accounts for happens where the source is read, such as by a query that can't be read.
    if all(rank(each.certainty) < rank(path.certainty) for each in found):
        found = [each if each.source else attrs.evolve(each, certainty=path.certainty) for each in found]
    if all(each.kind == Kind("DIRECT", "IDENTITY") for each in found):
        found = [each if each.source else attrs.evolve(each, kind=path.kind) for each in found]
    return tuple(dict.fromkeys(found))


def _passages(
    key: PassingEdge, dataset: Identifier, passed: Passages, *, is_influence: bool
) -> Sequence[PassedColumns]:
    """Return what an edge passes, or else the edges that are closest to it: of its place, of its struct."""
    same = [(other, one) for other, one in passed.items() if other[:2] == key[:2] or one.dataset == dataset]
    # Another place where the source is read has a path of its own.
    found = [one for other, one in same if other == key] or [one for other, one in same if other[1:] == key[1:]]
    if found or is_influence:
        return found
    # The field of a struct comes through the struct, whose own kind may be another.
    return [one for other, one in same if other[1:3] == key[1:3]]


def _segment(leg: PassedLeg, way: LegWay) -> Segment:
    kind = Kind("DIRECT" if leg.kind.direct else "INDIRECT", leg.kind.subtype, leg.kind.masking)
    word = way.last.least.word if way.last is not None else "exact"
    return Segment(leg.source, leg.target, kind, certainty_of(word), way.composed, way.passing)


def _unread(edges: Iterable[Edge]) -> Iterator[Diagnostic]:
    """Yield what is not read on the paths of edges. Operators without a rule are gaps of the plan already."""
    for step in (step for edge in edges for path in edge.paths for step in path.steps if not step.relation):
        if step.certainty in _NOT_READ:
            code, reason = _NOT_READ[step.certainty]
            yield Diagnostic(
                code, f"{' '.join(step.expression.split()) or step.operator} {reason}", operator=step.operator
            )


def _output_id(dataset: Dataset | None) -> str:
    return node_id("dataset", "", _QUERY) if dataset is None else _id(dataset.identifier)


def _id(dataset: Identifier) -> str:
    return node_id("dataset", dataset.namespace, dataset.name)
