"""
Show a graph in a notebook: a small picture with a table beneath it.

The output is plain HTML that contains the SVG: Jupyter, VS Code and nbconvert show it without extensions or scripts.

Jupyter removes SVG and styles from the output of untrusted notebooks, and would leave only the words of the picture. So
the output contains the picture a second time, as an image, which Jupyter keeps: without the colours of the theme and
without texts under the pointer. The style beside the SVG shows the SVG and hides the image.
"""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Graph,
    OperatorNode,
    VersionNode,
    names_of_processes,
)
from openlineage_pyspark.workbench.pictures.plain import shown
from openlineage_pyspark.workbench.pictures.scene import Bounds
from openlineage_pyspark.workbench.pictures.svg import drawing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openlineage_pyspark.workbench.model.graph import Edge

_BOUNDS = Bounds(boxes=40, rows=12, lines=600)
_MOST_ROWS = 500
_HEADINGS = ("from", "to", "how", "expression", "certainty", "job")
_LONGEST_CELL = 2000
_FRAME = "overflow:auto;max-height:{}px;margin:4px 0"
# Each output has its own style, because another cell may be trusted.
_DRAWN, _IMAGE = "openlineage-drawn", "openlineage-image"
_STYLE = f".{_DRAWN}:has(svg){{display:block!important}}.{_DRAWN}:has(svg)+.{_IMAGE}{{display:none!important}}"
# JupyterLab would make all columns of a table equally wide, and break names in the middle.
_TABLE = "table-layout:auto"
_CELL = "text-align:left;vertical-align:top"
# A longer text may be broken anywhere, so that it leaves room for names.
_LONGEST_UNBROKEN = 60


@attrs.frozen
class FigureTable:
    """
    A table beneath a picture.

    Args:
        headings: the names of its columns. The column `expression` is shown as code.
        rows: its rows. Only the first 500 are shown, and the rest is counted.
        caption: its title; empty for none.
        notes: sentences above it.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    notes: Sequence[str] = ()


def figure(
    graph: Graph, tables: Iterable[FigureTable] = (), *, title: str = "", around: str = "", notes: Iterable[str] = ()
) -> str:
    """
    Return a graph and tables as a part of an HTML page.

    Args:
        graph: the graph.
        tables: the tables.
        title: a sentence above the picture; empty for none.
        around: the id of the node that is the subject of the picture.
        notes: sentences below the tables.
    """
    frame = f'role="region" aria-label="Lineage graph" tabindex="0" style="{_FRAME.format(460)}"'
    picture = f"<div {frame}>{_picture(graph, around)}</div>"
    above = _paragraph(title) if title else ""
    return f"<div>{above}{picture}{''.join(map(_table, tables))}{''.join(map(_paragraph, notes))}</div>"


class ShownGraph(Graph):
    """A graph for users: a notebook shows its figure."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the graph, and its edges as a table."""
        return figure(self, [table] if (table := _edges_of(self)).rows else [])


def _edges_of(graph: Graph) -> FigureTable:
    """Return the edges of a graph as a table, without columns that would be empty."""
    processes = names_of_processes(graph)
    whole = {node.id: node.label for node in graph.nodes if isinstance(node, DatasetNode)} | processes
    whole |= {node.id: node.title for node in graph.nodes if isinstance(node, OperatorNode)}
    names = whole | {
        node.id: f"{whole.get(node.dataset, node.dataset)}.{node.name}"
        for node in graph.nodes
        if isinstance(node, (ColumnNode, VersionNode))
    }
    runs = graph.drawn_runs()
    known = {process for edge in graph.edges if not edge.is_flow for process in (edge.job, edge.run)}
    rows: list[tuple[str, ...]] = []
    for edge in graph.edges:
        source, target = (names.get(each, each) for each in (edge.source, edge.target))
        # If there are edges between columns, they already show what a job reads and writes.
        if not edge.is_flow:
            job = processes.get(edge.run if edge.run in runs else edge.job, "").removeprefix("job ")
            rows += _rows_of(edge, source, f"{target} (every row)" if edge.target in whole else target, job)
        elif edge.process not in known:
            kind = "read" if edge.target == edge.process else "written"
            rows.append((source, target, kind, "", _certainty(edge.certainty), ""))
    kept = [at for at in range(len(_HEADINGS)) if any(row[at] for row in rows)]
    return FigureTable([_HEADINGS[at] for at in kept], [[row[at] for at in kept] for row in rows])


def _rows_of(edge: Edge, source: str, target: str, job: str) -> Iterable[tuple[str, ...]]:
    """Return a row for each path of an edge, each once."""
    if not edge.paths:
        return [(source, target, "", "", _certainty(edge.certainty), job)]
    rows = ((source, target, str(each.kind), each.expression, _certainty(each.certainty), job) for each in edge.paths)
    return dict.fromkeys(rows)


def _certainty(certainty: str) -> str:
    return "" if certainty == "exact" else certainty


def _picture(graph: Graph, around: str) -> str:
    drawn = drawing(graph, around=around, bounds=_BOUNDS)
    data = base64.b64encode(drawn.text.encode()).decode()
    # Jupyter would shrink a wide image, which would make its text too small.
    image = f'class="{_IMAGE}" style="max-width:none" alt="{html.escape(drawn.summary)}"'
    source = f'src="data:image/svg+xml;base64,{data}"'
    return f'<style>{_STYLE}</style><div class="{_DRAWN}" style="display:none">{drawn.text}</div><img {image} {source}>'


def _table(table: FigureTable) -> str:
    head = "".join(f'<th scope="col" style="{_CELL}">{_text(name)}</th>' for name in table.headings)
    code = [name == "expression" for name in table.headings]
    body = "".join(
        f"<tr>{''.join(_cell(cell, code=is_code) for cell, is_code in zip(row, code, strict=True))}</tr>"
        for row in table.rows[:_MOST_ROWS]
    )
    more = len(table.rows) - _MOST_ROWS
    above = "".join(map(_paragraph, table.notes))
    below = _paragraph(f"{more:,} more rows are not shown") if more > 0 else ""
    caption = f'<caption style="text-align:left">{_text(table.caption)}</caption>' if table.caption else ""
    inner = f'<table style="{_TABLE}">{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'{above}<div style="{_FRAME.format(400)}">{inner}</div>{below}'


def _cell(text: str, *, code: bool) -> str:
    # These tags keep the writing direction of a name from changing the text around it.
    inner = f"<code>{_text(text)}</code>" if code and text else f"<bdi>{_text(text)}</bdi>" if text else ""
    broken = ";overflow-wrap:anywhere" if len(text) > _LONGEST_UNBROKEN else ""
    return f'<td style="{_CELL}{broken}">{inner}</td>'


def _paragraph(text: str) -> str:
    return f"<p>{_text(text)}</p>"


def _text(text: str) -> str:
    return html.escape(shown(" ".join(text.split()), _LONGEST_CELL), quote=False)
