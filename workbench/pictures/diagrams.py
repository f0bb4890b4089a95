"""
Write pictures as text that other programs draw: Mermaid (which GitHub draws in Markdown) and DOT (Graphviz).

A picture consists of boxes and arrows. `picture_of_graph` makes one from a graph; a store's answers make their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    JobNode,
    OperatorNode,
    RunNode,
    VersionNode,
    names_of_processes,
)
from openlineage_pyspark.workbench.pictures.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.model.change import ChangeMark
    from openlineage_pyspark.workbench.model.graph import Edge, Graph, Path
    from openlineage_pyspark.workbench.model.kinds import Certainty

_EVERY_ROW = "every row"
MARKS = {"added": "+", "removed": "-", "changed": "~"}
"""The character for each kind of change."""
_LONGEST = 60
"""The maximum number of characters of an expression at an arrow."""
_LONGEST_TEXT = 200
"""The maximum number of characters of any text. Mermaid refuses a picture with more than 50,000 in total."""
_ENTITIES = (
    *(("#", "#35;"), ("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")),
    *(("%%", "#37;#37;"), ("$$", "#36;#36;")),
)


@attrs.frozen
class Box:
    """
    A box, with or without parts.

    Args:
        title: its text.
        parts: the key and the text of each part; empty for a box without parts.
        key: the key of the box itself, if arrows lead to it; empty if they lead to its parts.
    """

    title: str
    parts: tuple[tuple[str, str], ...] = ()
    key: str = ""


@attrs.frozen
class Arrow:
    """
    An arrow from a box, or a part of it, to another.

    Args:
        source: the key of its source.
        target: the key of its target.
        label: its text; empty if it has none.
        solid: whether it certainly is a value that becomes part of the target; otherwise the source only decides about
            rows or values, or the edge is uncertain.
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
        """Return a short id for each key."""
        keys = (key for box in self.boxes for key in ((box.key,) if box.key else (part for part, _ in box.parts)))
        return {key: f"n{number}" for number, key in enumerate(keys)}


def mermaid(picture: Picture) -> str:
    """Return a picture as a Mermaid flowchart."""
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
    """Return a picture in DOT, the language of Graphviz."""
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


def picture_of_graph(graph: Graph, marks: Mapping[tuple[str, str, str], ChangeMark] | None = None) -> Picture:
    """
    Return the picture of a graph: its datasets with their columns, and the jobs without known columns.

    In an unfolded graph, CTEs, views and subqueries are boxes too. A dataset that is only read has only the columns
    that are used.

    Args:
        graph: the graph.
        marks: the changes of edges, by their keys; None for a graph that is not a comparison.
    """
    arrows = tuple(_all_arrows(graph, {key: MARKS[mark] for key, mark in (marks or {}).items()}))
    return Picture(tuple(_boxes(graph, {key for arrow in arrows for key in (arrow.source, arrow.target)})), arrows)


def _all_arrows(graph: Graph, marks: Mapping[tuple[str, str, str], str]) -> Iterator[Arrow]:
    """Yield the arrows between columns, then those of jobs and runs without known columns."""
    values = [edge for edge in graph.edges if not edge.is_flow]
    yield from _arrows(values, marks)
    known = {process for edge in values for process in (edge.job, edge.run)}
    for edge in graph.edges:
        if edge.is_flow and edge.process not in known:
            yield Arrow(edge.source, edge.target, marks.get(edge.key, ""), edge.certainty == "exact")


def _boxes(graph: Graph, used: set[str]) -> Iterator[Box]:
    """Yield the boxes of a graph; `used`: the nodes at the ends of arrows."""
    parts: dict[str, list[ColumnNode | VersionNode]] = {}
    for node in graph.nodes:
        if isinstance(node, (ColumnNode, VersionNode)):
            parts.setdefault(node.dataset, []).append(node)
    owner = {part.id: dataset for dataset, each in parts.items() for part in each}
    made = {owner.get(edge.target, edge.target) for edge in graph.edges if not edge.is_flow}
    names = names_of_processes(graph)
    for node in graph.nodes:
        if isinstance(node, (JobNode, RunNode)) and node.id in used:
            yield Box(names[node.id], key=node.id)
        elif isinstance(node, DatasetNode) or (
            isinstance(node, OperatorNode) and (node.id in used or node.id in parts)
        ):
            title = node.label if isinstance(node, DatasetNode) else node.title
            shown = [(each.id, _part(each)) for each in parts.get(node.id, ()) if each.id in used or node.id in made]
            shown += [(node.id, _EVERY_ROW)] if shown and node.id in used else []
            yield Box(title, tuple(shown)) if shown else Box(title, key=node.id)


def _part(part: ColumnNode | VersionNode) -> str:
    return f"{part.name}: {part.made}" if isinstance(part, VersionNode) and part.made else part.name


def _arrows(edges: Iterable[Edge], marks: Mapping[tuple[str, str, str], str]) -> tuple[Arrow, ...]:
    """Return an arrow for each pair of nodes, with the paths of all edges between them, the preferred kind first."""
    between: dict[tuple[str, str], list[Edge]] = {}
    for edge in edges:
        between.setdefault((edge.source, edge.target), []).append(edge)
    return tuple(
        Arrow(source, target, _label(same, marks), any(map(_is_solid, same)))
        for (source, target), same in between.items()
    )


def _is_solid(edge: Edge) -> bool:
    if not edge.paths:
        return edge.certainty == "exact"
    return any(not path.kind.is_influence and path.certainty == "exact" for path in edge.paths)


def _label(edges: list[Edge], marks: Mapping[tuple[str, str, str], str]) -> str:
    bare = [f"{marks.get(edge.key, '')} {_certainty(edge.certainty)}".strip() for edge in edges if not edge.paths]
    paths = sorted(((path, marks.get(edge.key, "")) for edge in edges for path in edge.paths), key=lambda x: x[0].order)
    return ", ".join(dict.fromkeys(filter(None, (*bare, *(_path_label(path, mark) for path, mark in paths)))))


def _certainty(certainty: Certainty) -> str:
    return "" if certainty == "exact" else f"({certainty})"


def _path_label(path: Path, mark: str) -> str:
    text = " ".join(path.expression.split())
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return " ".join(
        filter(
            None, (mark, str(path.kind), _certainty(path.certainty), short if path.kind.subtype != "IDENTITY" else "")
        )
    )


def _mermaid_text(text: str) -> str:
    """
    Return a text in quotes, with entities for quotes and markup, which Mermaid would interpret.

    Even in quotes, Mermaid interprets its settings (`%%{init: ...}%%`), formulas (`$$...$$`), icons (`fa:fa-car`), and
    styles with a colour, from which it removes a semicolon. It refuses the whole picture for an empty text.
    """
    shown = _short(text) or " "
    for character, entity in _ENTITIES:
        shown = shown.replace(character, entity)
    if ":fa-" in shown or "style" in shown or "classDef" in shown:
        shown = shown.replace(":", "#58;")
    return f'"{shown}"'


def _dot_text(text: str) -> str:
    """Return a text in quotes, in which Graphviz interprets backslashes and entities."""
    shown = _short(text)
    for character, escaped in (("\\", "\\\\"), ('"', '\\"'), ("&", "&amp;")):
        shown = shown.replace(character, escaped)
    return f'"{shown}"'


def _short(text: str) -> str:
    """Return a text on one line; of a long text, only its beginning and its end."""
    half = _LONGEST_TEXT // 2
    return plain(text if len(text) <= _LONGEST_TEXT else f"{text[:half]}...{text[-half:]}")
