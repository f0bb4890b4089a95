"""
Pictures as text that other programs draw: Mermaid (which GitHub draws in Markdown) and DOT (Graphviz).

A picture is boxes and arrows. `picture_of_graph` makes one of a graph; a store's answers make their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.graph import (
    FLOWS,
    PREFERENCE,
    ColumnNode,
    DatasetNode,
    EdgeKind,
    JobNode,
    OperatorNode,
    preferred,
)
from openlineage_pyspark.workbench.pictures.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import Graph, GraphEdge

_EVERY_ROW = "every row"
_SIGNS = {"came": "+", "went": "-", "changed": "~"}
_LONGEST = 60
"""The most characters of an expression that an arrow shows."""
_LONGEST_TEXT = 200
"""The most characters of any text. Mermaid refuses a picture with more than 50,000 in all."""
_ENTITIES = (
    *(("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")),
    *(("%%", "#37;#37;"), ("$$", "#36;#36;")),
)


@attrs.frozen
class Box:
    """
    A thing, or one thing with its parts.

    Args:
        title: its text.
        parts: the key and the text of each part; empty for a thing without parts.
        key: the key of the thing itself, if arrows lead to it; empty if they lead to its parts.
    """

    title: str
    parts: tuple[tuple[str, str], ...] = ()
    key: str = ""


@attrs.frozen
class Arrow:
    """
    One box, or a part of it, leads to another.

    Args:
        source: the key of where it begins.
        target: the key of where it ends.
        label: its text; empty without one.
        solid: whether a value arrives for sure; else it only decides, or it is uncertain.
    """

    source: str
    target: str
    label: str = ""
    solid: bool = True


@attrs.frozen
class Picture:
    """
    Boxes and arrows.

    Args:
        boxes: the boxes, in order.
        arrows: the arrows; both ends are keys in the boxes.
    """

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    @property
    def ids(self) -> dict[str, str]:
        """Return a short name for each key."""
        keys = (key for box in self.boxes for key in ((box.key,) if box.key else (part for part, _ in box.parts)))
        return {key: f"n{number}" for number, key in enumerate(keys)}


def mermaid(picture: Picture) -> str:
    """Return a picture as a Mermaid flowchart: a box for each thing with its parts, an arrow for each arrow."""
    ids = picture.ids
    lines = ["flowchart LR"]
    for number, box in enumerate(picture.boxes):
        if box.key:
            lines.append(f"  {ids[box.key]}[{_mermaid_text(box.title)}]")
            continue
        lines.append(f"  subgraph d{number}[{_mermaid_text(box.title)}]")
        lines += [f"    {ids[key]}[{_mermaid_text(text)}]" for key, text in box.parts]
        lines.append("  end")
    for arrow in picture.arrows:
        text = f"|{_mermaid_text(arrow.label)}|" if arrow.label else ""
        line = "-->" if arrow.solid else "-.->"
        lines.append(f"  {ids[arrow.source]} {line}{text} {ids[arrow.target]}")
    return "\n".join(lines) + "\n"


def dot(picture: Picture) -> str:
    """Return a picture in Graphviz's language."""
    ids = picture.ids
    lines = ["digraph lineage {", "  rankdir=LR;", "  node [shape=box];"]
    for number, box in enumerate(picture.boxes):
        if box.key:
            lines.append(f"  {ids[box.key]} [label={_dot_text(box.title)}];")
            continue
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_dot_text(box.title)};")
        lines += [f"    {ids[key]} [label={_dot_text(text)}];" for key, text in box.parts]
        lines.append("  }")
    for arrow in picture.arrows:
        style = "" if arrow.solid else ", style=dashed"
        lines.append(f"  {ids[arrow.source]} -> {ids[arrow.target]} [label={_dot_text(arrow.label)}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def picture_of_graph(graph: Graph) -> Picture:
    """
    Return the picture of a graph: its datasets with their columns, and the jobs of which no column is known.

    In an unfolded graph, CTEs, views and subqueries are boxes too.

    Of a dataset that is only read, it has the columns that are used.
    """
    values = [edge for edge in graph.edges if edge.kind not in FLOWS]
    told = {edge.job for edge in values}
    flows = [edge for edge in graph.edges if edge.kind in FLOWS and edge.job not in told]
    arrows = (*_arrows(values), *(Arrow(edge.source, edge.target, _SIGNS.get(edge.change, "")) for edge in flows))
    used = {key for arrow in arrows for key in (arrow.source, arrow.target)}
    columns: dict[str, list[ColumnNode]] = {}
    for node in graph.nodes:
        if isinstance(node, ColumnNode):
            columns.setdefault(node.dataset, []).append(node)
    owner = {column.id: dataset for dataset, each in columns.items() for column in each}
    made = {owner.get(edge.target, edge.target) for edge in values}
    boxes = []
    for node in graph.nodes:
        if isinstance(node, JobNode) and node.id in used:
            boxes.append(Box(f"job {node.name}", key=node.id))
        if isinstance(node, DatasetNode) or (
            isinstance(node, OperatorNode) and (node.id in used or node.id in columns)
        ):
            title = node.label if isinstance(node, DatasetNode) else node.title
            mine = columns.get(node.id, ())
            shown = [(each.id, each.name) for each in mine if each.id in used or node.id in made]
            shown += [(node.id, _EVERY_ROW)] if shown and node.id in used else []
            boxes.append(Box(title, tuple(shown)) if shown else Box(title, key=node.id))
    return Picture(tuple(boxes), arrows)


def _arrows(edges: Iterable[GraphEdge]) -> tuple[Arrow, ...]:
    """Return an arrow for each pair of nodes, with what all edges between them say, the preferred kind first."""
    between: dict[tuple[str, str], list[GraphEdge]] = {}
    for edge in edges:
        between.setdefault((edge.source, edge.target), []).append(edge)
    return tuple(
        Arrow(
            source,
            target,
            ", ".join(dict.fromkeys(map(_label, sorted(same, key=preferred)))),
            any(PREFERENCE[edge.kind] < PREFERENCE[EdgeKind.EXTERNAL] and edge.confidence.value == 1 for edge in same),
        )
        for (source, target), same in between.items()
    )


def _label(edge: GraphEdge) -> str:
    text = " ".join(edge.expression.split())
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    doubt = f"({edge.confidence.value:g})" if edge.confidence.value < 1 else ""
    masked = "masked" if edge.masking else ""
    sign = _SIGNS.get(edge.change, "")
    return " ".join(
        filter(None, (sign, edge.kind.value, masked, doubt, short if edge.kind is not EdgeKind.DIRECT else ""))
    )


def _mermaid_text(text: str) -> str:
    """
    Return a text in quotes. Mermaid reads entities, and would take quotes and markup for its own.

    It looks for some of its own words before it knows what is in quotes: for its settings (`%%{init: ...}%%`), for
    formulas (`$$...$$`), for icons (`fa:fa-car`), and for styles with a colour, of which it removes a semicolon. And it
    refuses the whole picture for an empty text.
    """
    shown = _short(text) or " "
    for sign, entity in _ENTITIES:
        shown = shown.replace(sign, entity)
    if ":fa-" in shown or "style" in shown or "classDef" in shown:
        shown = shown.replace(":", "#58;")
    return f'"{shown}"'


def _dot_text(text: str) -> str:
    """Return a text in quotes. Graphviz reads backslashes and entities there."""
    shown = _short(text)
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("&", "&amp;")):
        shown = shown.replace(sign, escaped)
    return f'"{shown}"'


def _short(text: str) -> str:
    """Return a text on one line; of a long one its beginning and its end."""
    half = _LONGEST_TEXT // 2
    return plain(text if len(text) <= _LONGEST_TEXT else f"{text[:half]}...{text[-half:]}")
