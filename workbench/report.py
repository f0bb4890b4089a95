"""Lineage for users: edges as values, as a text table, and in a notebook as a graph with tables."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.facets.model.plan import Plan
from openlineage_pyspark.facets.model.run import PATHS, Gap
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.workbench.from_plan import graph_of_plan, operators_of_plan, traced_path
from openlineage_pyspark.workbench.model.document import document_of
from openlineage_pyspark.workbench.model.graph import Edge, Graph, OperatorNode
from openlineage_pyspark.workbench.part_columns import PartColumns, Passages
from openlineage_pyspark.workbench.pictures.figure import FigureTable, figure
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.pictures.unfolded import unfolded
from openlineage_pyspark.workbench.pictures.words import hows, together

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.page.formats import GraphFormat

HEADINGS = ("column", "from", "how")
"""The columns in which lineage is shown, by `lineage()` and on the command line."""
EVERY_ROW = "(every row)"
"""The entry that replaces a column, for sources that influence all rows."""
_NO_SOURCE = "no source column"
"""The text for a column that comes from no other one."""
QUERY = "(query)"
"""The title of a query that writes nothing."""

VIEW_TYPE = "VIEW"
"""The type of a view (DatasetTypeDatasetFacet)."""

_TABLE = "TABLE"
_NOTHING = "no lineage: this statement writes no dataset"
_NO_COLUMNS = "no column lineage"
_DEEPEST_INDENT = 40


class WalkedPlan:
    """
    A plan with its lineage, and what is shown of it: that is made when it is asked for.

    Args:
        made: gives both.
    """

    def __init__(self, made: Callable[[], tuple[Plan, PlanLineage]]) -> None:
        self._made = made

    @functools.cached_property
    def _both(self) -> tuple[Plan, PlanLineage]:
        return self._made()

    @property
    def plan(self) -> Plan:
        """The plan."""
        return self._both[0]

    @functools.cached_property
    def operators(self) -> tuple[OperatorNode, ...]:
        """The operators of the plan, as the graph has them."""
        return operators_of_plan(self.plan)

    def passages(self) -> list[dict[str, Passages]]:
        """Return the columns of CTEs, views and subqueries through which edges come, as `PartColumns` reports them."""
        return self._parts.passages()

    @functools.cached_property
    def _parts(self) -> PartColumns:
        return PartColumns(self.plan, self._both[1], {each.index: each.label for each in self.operators if each.role})


@attrs.frozen(repr=False)
class Lineage:
    """
    The lineage of a DataFrame or of a statement that was not run.

    Args:
        inputs: the datasets that it reads.
        outputs: the datasets that it would write, each with its column lineage; for a query, one entry with None.
        gaps: what no rule covers, and what was assumed instead.
        _walked: the analyzed plan that it was taken from; None without one.
    """

    inputs: tuple[Dataset, ...]
    outputs: tuple[tuple[Dataset | None, ColumnLineage], ...]
    gaps: tuple[Gap, ...] = ()
    _walked: WalkedPlan | None = attrs.field(default=None, eq=False)

    @property
    def plan(self) -> str:
        """The analyzed plan as text: each operator with its index and the columns of its output; empty without one."""
        return plan_text(self._walked.plan) if self._walked is not None else ""

    @property
    def operators(self) -> tuple[OperatorNode, ...]:
        """The operators of the plan, as the graph has them."""
        return self._walked.operators if self._walked is not None else ()

    @property
    def edges(self) -> tuple[Edge, ...]:
        """
        All edges: for each output, those of its columns in order, then those that influence all rows.

        Their paths do not name the CTEs, views and subqueries that they pass, as those of `graph` do.
        """
        return self._bare().edges

    def to_dict(self) -> dict[str, Any]:
        """Return the lineage as plain dicts and lists, ready for JSON, with the nodes at the ends of its edges."""
        graph = self._bare()
        return {
            "inputs": [document_of(dataset.identifier) for dataset in self.inputs],
            "outputs": [document_of(dataset.identifier) for dataset, _ in self.outputs if dataset is not None],
            "columns": [[column.name for column in lineage.columns] for _, lineage in self.outputs],
            "nodes": [node.to_dict() for node in graph.ends()],
            "edges": [edge.to_dict() for edge in graph.edges],
            "gaps": document_of(self.gaps),
        }

    def graph(self, *, unfold: bool = False) -> Graph:
        """
        Return the lineage as a graph: datasets, columns and the plan's operators, and the edges between columns.

        Args:
            unfold: whether edges lead through the columns of CTEs, views and subqueries, as pictures show them. Without
                it they lead from source to output, and say what they come through.
        """
        names = ShortNames.of_lineage(self)
        passages = self._walked.passages() if self._walked is not None else ()
        found = graph_of_plan(self.inputs, self.outputs, self.gaps, self.operators, names.of, passages)
        return unfolded(found) if unfold else found

    def _bare(self) -> Graph:
        """Return the graph without what has to be found in the plan."""
        return graph_of_plan(self.inputs, self.outputs, self.gaps, (), ShortNames.of_lineage(self).of)

    def to_text(self, format: GraphFormat, *, unfold: bool = False) -> str:  # noqa: A002 (the word of the command line)
        """
        Return the graph as text.

        Args:
            format: the name of the format.
            unfold: whether CTEs, views and subqueries are shown, with their columns. `json` always has them.

        Raises:
            ValueError: the format is none of these, or it is `json` and is to be unfolded.
        """
        from openlineage_pyspark.workbench.page.formats import text_of_graph

        return text_of_graph(self.graph(), format, unfold=unfold)

    def __str__(self) -> str:
        names = ShortNames.of_lineage(self)
        lines = [names.note(namespace) for namespace in names.used(self._identifiers())]
        for dataset, lineage in self.outputs:
            title = names.of(dataset.identifier) if dataset is not None else QUERY
            lines += [title, *(f"  {line}" for line in _reads(self, dataset, names)), *_lines(lineage, names)]
        if not self.outputs:
            lines += [_NOTHING, *(f"  reads {names.of(dataset.identifier)}" for dataset in self.inputs)]
        return "\n".join([*lines, *_gap_lines(self.gaps)])

    def __repr__(self) -> str:
        """Return the same table: a shell shows this."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the graph, and a table for each output."""
        return html_of(self, self.graph())

    def _identifiers(self) -> Iterator[Identifier]:
        """Yield each dataset that the tables name."""
        for dataset, lineage in self.outputs:
            if dataset is not None:
                yield dataset.identifier
            for column in lineage.columns:
                yield from (edge.dataset for edge in column.edges)
            yield from (edge.dataset for edge in lineage.dataset)
        yield from (dataset.identifier for dataset in self.inputs)


class ShortNames:
    """
    Short names for datasets, as people know them.

    A table or view is called by its name in the catalog, unless another dataset has the same one. Any other path is
    relative to the deepest directory that contains all such paths of its namespace.

    Args:
        tables: each dataset with the name of the view that it is, or of the table that is stored there; else None.
    """

    def __init__(self, tables: Mapping[Identifier, str | None]) -> None:
        often = Counter(table for table in tables.values() if table is not None)
        self._tables = {each: table for each, table in tables.items() if table is not None and often[table] == 1}
        directories: dict[str, set[str]] = {}
        for each in tables:
            if each not in self._tables and each.name.startswith("/"):
                directories.setdefault(each.namespace, set()).add(str(PurePosixPath(each.name).parent))
        self._bases = {namespace: os.path.commonpath(found) for namespace, found in directories.items()}

    @classmethod
    def of_lineage(cls, lineage: Lineage) -> ShortNames:
        """Return the names for the datasets that a lineage reads and writes."""
        return cls.of_datasets([*lineage.inputs, *(each for each, _ in lineage.outputs if each is not None)])

    @classmethod
    def of_datasets(cls, datasets: Iterable[Dataset]) -> ShortNames:
        """Return the names for some datasets."""
        tables: dict[Identifier, str | None] = {}
        for dataset in datasets:
            tables[dataset.identifier] = table_of(dataset) or tables.get(dataset.identifier)
        return cls(tables)

    def of(self, dataset: Identifier) -> str:
        """Return the short name of a dataset."""
        if dataset in self._tables:
            return self._tables[dataset]
        if dataset.name.startswith("/") and dataset.namespace in self._bases:
            return os.path.relpath(dataset.name, self._bases[dataset.namespace])
        return dataset.text

    def used(self, datasets: Iterable[Identifier]) -> list[str]:
        """Return the namespaces in which the names of some datasets are relative paths."""
        relative = (each.namespace for each in datasets if each not in self._tables and each.name.startswith("/"))
        return [namespace for namespace in dict.fromkeys(relative) if namespace in self._bases]

    def note(self, namespace: str) -> str:
        """Return the sentence that says what the paths of a namespace are relative to."""
        colon = "" if "://" in namespace else ":"
        return f"paths are relative to {namespace}{colon}{self._bases[namespace]}"


def table_of(dataset: Dataset) -> str | None:
    """Return the name that a table or a view has in its catalog; None for any other dataset."""
    if dataset.type == VIEW_TYPE:
        return dataset.identifier.name
    return next((link.name for link in dataset.symlinks if link.type == _TABLE), None)


def html_of(lineage: Lineage, graph: Graph, title: str = "") -> str:
    """
    Return lineage as a part of an HTML page: a graph, and a table for each output.

    Args:
        lineage: the lineage.
        graph: its own graph, or one that says more.
        title: a sentence above it; empty for none.
    """
    names = ShortNames.of_lineage(lineage)
    tables = [
        FigureTable(
            (*HEADINGS, "expression"),
            [_cells(row) for row in rows_of(columns, names)],
            names.of(dataset.identifier) if dataset is not None else QUERY,
            _reads(lineage, dataset, names),
        )
        for dataset, columns in lineage.outputs
    ]
    notes = [] if lineage.outputs else [_NOTHING]
    notes += [names.note(each) for each in names.used(lineage._identifiers())]
    return figure(graph, tables, title=title, notes=[*notes, *_gap_lines(lineage.gaps)])


def lineage_of(plan_lineage: PlanLineage, plan: Plan | None = None) -> Lineage:
    """
    Return the lineage of a plan in the form for users.

    Args:
        plan_lineage: the lineage.
        plan: the plan itself, to be shown; None to leave it out.
    """
    outputs: tuple[tuple[Dataset | None, ColumnLineage], ...] = tuple(
        (written.write.dataset, written.lineage or ColumnLineage(())) for written in plan_lineage.outputs
    )
    if plan_lineage.columns is not None:
        outputs = ((None, plan_lineage.columns),)
    if plan is None:
        return Lineage(plan_lineage.inputs, outputs, plan_lineage.gaps)
    return Lineage(plan_lineage.inputs, outputs, plan_lineage.gaps, WalkedPlan(lambda: (plan, plan_lineage)))


def plan_text(plan: Plan) -> str:
    """Return a plan as text: one line an operator, with its index and the columns of its output, the top first."""
    lines: list[str] = []
    seen: set[int] = set()
    # Many operators have the same output, which then is one object.
    outputs = {id(operator.output): operator.output for operator in plan.operators}
    columns = {key: ", ".join([column.name for column in output]) for key, output in outputs.items()}
    texts = [f"{each.name}#{at} [{columns[id(each.output)]}]" for at, each in enumerate(plan.operators)]
    stack = [(plan.root, 0)]
    while stack:
        at, depth = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        lines.append(f"{'  ' * min(depth, _DEEPEST_INDENT)}{texts[at]}")
        stack.extend((below, depth + 1) for below in reversed(plan.operators[at].children))
    # The plans of subqueries stand in expressions.
    lines += [f"in a subquery: {text}" for at, text in enumerate(texts) if at not in seen]
    return "\n".join(lines)


def rows_of(lineage: ColumnLineage, names: ShortNames) -> Iterator[tuple[str, str, str]]:
    """
    Yield the rows of the table of an output: a column, where it comes from, and how.

    What comes in the same way is in one row; a repeated column is left out.

    Args:
        lineage: the output's lineage.
        names: the names of the source datasets.
    """
    every = ((EVERY_ROW, lineage.dataset, ""),) if lineage.dataset else ()
    for column, edges, text in (*((each.name, each.edges, each.expression) for each in lineage.columns), *every):
        if not edges:
            yield column, "-", without_source(text)
        found: dict[str, list[tuple[str, str]]] = {}
        for edge in edges:
            for how in hows(map(traced_path, edge.transformations)):
                found.setdefault(how, []).append((names.of(edge.dataset), edge.field))
        yield from grouped_rows(column, found)


def without_source(expression: str) -> str:
    """
    Return how a column is made that comes from no column.

    Args:
        expression: the SQL text of its value; empty if it is unknown.
    """
    return f"{_NO_SOURCE}  {expression}".rstrip()


def grouped_rows(column: str, sources: Mapping[str, Iterable[tuple[str, str]]]) -> Iterator[tuple[str, str, str]]:
    """
    Yield the rows of a column: one for each way in which it comes from others, with all that it comes from so.

    Args:
        column: the column, which is in the first row alone.
        sources: how it comes -> the tables and columns from which it does.
    """
    for place, (text, columns) in enumerate(sources.items()):
        yield "" if place else column, together(columns), text


def reads_lines(views: Iterable[str], others: Iterable[str]) -> list[str]:
    """
    Return the lines that name what is read without an edge.

    Args:
        views: the names of the views, from which no edge leads.
        others: the names of the other datasets from which none leads, such as the table of a `count(*)`.
    """
    known, rest = [*dict.fromkeys(views)], [*dict.fromkeys(others)]
    lines = [f"reads the view{'s' if len(known) > 1 else ''} {', '.join(known)}"] if known else []
    return [*lines, *([f"reads {', '.join(rest)}"] if rest else [])]


def _reads(lineage: Lineage, output: Dataset | None, names: ShortNames) -> list[str]:
    """Return the lines that name what an output is made from without an edge."""
    used = {edge.dataset for _, columns in lineage.outputs for edge in columns.edges}
    used |= {output.identifier} if output is not None else set()
    views = (each.identifier for each in lineage.inputs if each.type == VIEW_TYPE)
    others = (each.identifier for each in lineage.inputs if each.type != VIEW_TYPE and each.identifier not in used)
    return reads_lines(map(names.of, views), map(names.of, others))


def _gap_lines(gaps: Iterable[Gap]) -> list[str]:
    return [gap_line(gap.task, gap.message) for gap in gaps]


def _lines(lineage: ColumnLineage, names: ShortNames) -> list[str]:
    """Return the table of an output. Nothing is cut: the text may go into a file, and the longest cells stand last."""
    rows = [*rows_of(lineage, names)]
    if not rows:
        return [f"  {_NO_COLUMNS}"]
    return TextTable([*map(TableColumn, HEADINGS)], rows).to_text().splitlines()


def _cells(row: tuple[str, str, str]) -> tuple[str, ...]:
    """Return the cells of a row, with the expression apart from the kinds."""
    kinds, _, expression = row[2].partition("  ")
    return (*row[:2], kinds, expression)


def gap_line(operator: str, message: str) -> str:
    """Return the line that says what was not understood."""
    if operator == PATHS:
        return f"left out: {message}"
    return f"not understood: {': '.join(filter(None, (operator, message)))}"
