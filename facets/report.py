"""Lineage for users: edges as values, as a text table, and as an HTML table in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset
from openlineage_pyspark.facets.model.lineage import ColumnLineage, Edge
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage import PlanLineage

_HEADINGS = ("output", "column", "source", "source column", "kind", "expression")
_WIDEST = 60


@attrs.frozen
class LineageEdge:
    """
    One influence of a source column on an output.

    Args:
        source: the name of the source dataset.
        source_namespace: the namespace of the source dataset.
        source_column: the column that is read.
        output: the name of the output dataset; None for a query that writes nothing.
        column: the output column; None if all rows are influenced.
        type: DIRECT or INDIRECT.
        subtype: IDENTITY, TRANSFORMATION, AGGREGATION, FILTER, JOIN, GROUP_BY, SORT, WINDOW or CONDITIONAL.
        masking: whether the source's value can't be read back from the output.
        expression: the SQL text of the expression; empty for a plain copy.
    """

    source: str
    source_namespace: str
    source_column: str
    output: str | None
    column: str | None
    type: str
    subtype: str
    masking: bool
    expression: str


@attrs.frozen
class Lineage:
    """
    The lineage of a DataFrame or of a statement that was not run.

    Args:
        inputs: the datasets that it reads.
        outputs: the datasets that it would write, each with its column lineage; for a query, one entry with None.
        gaps: what no rule covers, and what was assumed instead.
    """

    inputs: tuple[Dataset, ...]
    outputs: tuple[tuple[Dataset | None, ColumnLineage], ...]
    gaps: tuple[Gap, ...] = ()

    @property
    def edges(self) -> tuple[LineageEdge, ...]:
        """All edges: for each output, those of its columns in order, then those that influence all rows."""
        found: list[LineageEdge] = []
        for dataset, lineage in self.outputs:
            name = dataset.identifier.name if dataset is not None else None
            for column in lineage.columns:
                found += _edges(name, column.name, column.edges)
            found += _edges(name, None, lineage.dataset)
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return the lineage as plain dicts and lists, ready for JSON."""
        return {
            "inputs": [attrs.asdict(dataset.identifier) for dataset in self.inputs],
            "outputs": [attrs.asdict(d.identifier) for d, _ in self.outputs if d is not None],
            "columns": [[column.name for column in lineage.columns] for _, lineage in self.outputs],
            "edges": [attrs.asdict(edge) for edge in self.edges],
            "gaps": [attrs.asdict(remark) for remark in self.gaps],
        }

    def __str__(self) -> str:
        rows = [_HEADINGS, *(tuple(_cut(cell) for cell in row) for row in self._rows())]
        widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADINGS))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([*lines, *(f"not understood: {r.task}: {r.message}" for r in self.gaps)])

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self._rows()
        )
        remarks = "".join(f"<p>not understood: {html.escape(r.task)}: {html.escape(r.message)}</p>" for r in self.gaps)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{remarks}"

    def _rows(self) -> Iterable[tuple[str, ...]]:
        for dataset, lineage in self.outputs:
            name = _short(dataset.identifier.name) if dataset is not None else ""
            for column in lineage.columns:
                if not column.edges:
                    yield name, column.name, "", "", "(no source)", ""
                for edge in _edges(name, column.name, column.edges):
                    yield _row(edge)
            for edge in _edges(name, None, lineage.dataset):
                yield _row(edge)


def lineage_of(plan_lineage: PlanLineage) -> Lineage:
    """Return the lineage of a plan in the form for users."""
    outputs: tuple[tuple[Dataset | None, ColumnLineage], ...] = tuple(
        (written.write.dataset, written.lineage or ColumnLineage(())) for written in plan_lineage.outputs
    )
    if plan_lineage.columns is not None:
        outputs = ((None, plan_lineage.columns),)
    return Lineage(plan_lineage.inputs, outputs, plan_lineage.gaps)


def _edges(output: str | None, column: str | None, edges: Iterable[Edge]) -> list[LineageEdge]:
    return [
        LineageEdge(
            edge.dataset.name,
            edge.dataset.namespace,
            edge.field,
            output,
            column,
            t.type,
            t.subtype,
            t.masking,
            t.description,
        )
        for edge in edges
        for t in edge.transformations
    ]


def _row(edge: LineageEdge) -> tuple[str, ...]:
    kind = f"{edge.subtype} (masked)" if edge.masking else edge.subtype
    column = edge.column if edge.column is not None else "(all rows)"
    return edge.output or "", column, _short(edge.source), edge.source_column, kind, edge.expression


def _short(name: str) -> str:
    """Return the last part of a path; the name of a table stays as it is."""
    return name.rstrip("/").rpartition("/")[2] or name


def _cut(cell: str) -> str:
    flat = " ".join(cell.split())
    return flat if len(flat) <= _WIDEST else flat[: _WIDEST - 3] + "..."
