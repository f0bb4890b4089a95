"""
Draw a graph as a static picture: one SVG, without scripts, for notebooks, documents and pull requests.

Tables are boxes with their columns as rows, with the jobs between them, if the graph has any. The picture contains its
own style, light and dark, and needs no ids, so that several can be in one page. Names are untrusted text: they are
shown as text, shortened, and without characters that change the direction of writing. The same graph gives the same
bytes.
"""

from __future__ import annotations

import html
import itertools
import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import attrs
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    Node,
    OperatorNode,
    Path,
    RunNode,
    VersionNode,
    names_of_processes,
)
from openlineage_pyspark.workbench.model.kinds import Diagnostic, rank
from openlineage_pyspark.workbench.pictures.layout import Gaps, Layout, Size, layered
from openlineage_pyspark.workbench.pictures.words import INFERRED, reason_of

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.change import ChangeMark

_Row: TypeAlias = ColumnNode | VersionNode
_Marks: TypeAlias = "Mapping[tuple[str, str, str], ChangeMark]"

_CHARACTER = 6.6
"""The width of a character in pixels, in the picture's monospaced font."""
_HEAD = 24
_ROW = 17
_LANE = 4
_MOST_LANES = 12
_MARGIN = 12
_BULGE = 44
_LONGEST_NAME = 32
_LONGEST_TYPE = 14
_LONGEST_TEXT = 200
_LONGEST_NOTE = 110
_MOST_NAMED = 4
# The maximum number of parts of a job's name in its box.
_MOST_PARTS = 4
_MOST_NOTES = 3
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]")
_STATES = {"COMPLETE": ("good", "✓", "complete"), "FAIL": ("bad", "✕", "failed"), "ABORT": ("bad", "✕", "aborted")}
_OPEN = ("open", "…", "not finished")
_VALUE, _INFLUENCE, _UNCERTAIN, _FLOW = "value", "influence", "doubt", "flow"
_LOOKS = (_FLOW, _UNCERTAIN, _INFLUENCE, _VALUE)
"""The looks of lines; later ones are drawn above earlier ones."""
_KEY = {
    _VALUE: "a value that arrives",
    _INFLUENCE: "decides about rows or values",
    _UNCERTAIN: "uncertain",
}
_CHANGES = ("added", "removed", "changed")
"""What may have happened to an edge between two times."""

# In notebooks these attributes of the page show whether the theme is dark; elsewhere the system's setting counts.
_LIGHT = (
    "--ground:#f7f8fa;--paper:#fff;--ink:#1c2430;--faint:#5b6675;--line:#c3cad4;--edge:#6b7a8c;--job:#e5ebf3;"
    "--good:#15803d;--bad:#b91c1c;--open:#a16207;--doubt:#7e22ce;--focus:#1d4ed8"
)
_DARK = (
    "--ground:#12161c;--paper:#1c222b;--ink:#e6eaf0;--faint:#9aa7b6;--line:#3b4655;--edge:#8393a7;--job:#2a3442;"
    "--good:#4ade80;--bad:#f87171;--open:#facc15;--doubt:#d8b4fe;--focus:#93c5fd"
)
_NAME = "openlineage-graph"
_STYLE = "".join(
    (
        f".{_NAME}{{{_LIGHT}}}",
        f"@media (prefers-color-scheme:dark){{.{_NAME}{{{_DARK}}}}}",
        f"[data-jp-theme-light=true] .{_NAME},.vscode-light .{_NAME}{{{_LIGHT}}}",
        f"[data-jp-theme-light=false] .{_NAME},.vscode-dark .{_NAME}{{{_DARK}}}",
        f"@media print{{.{_NAME}{{{_LIGHT}}}}}",
        *(
            f".{_NAME} {rule}"
            for rule in (
                "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:var(--ink);direction:ltr}",
                ".ground{fill:var(--ground)}",
                ".paper{fill:var(--paper);stroke:var(--line)}",
                ".start .paper{stroke:var(--focus);stroke-width:2}",
                ".row.start text{fill:var(--focus);font-weight:600}",
                ".head{fill:var(--job)}",
                ".name{font-weight:600}",
                ".faint{fill:var(--faint)}",
                ".job .paper{fill:var(--job)}",
                ".job.bad .paper{stroke:var(--bad);stroke-width:2}",
                ".job.open .paper{stroke:var(--open);stroke-width:2;stroke-dasharray:5 3}",
                ".mark.good{fill:var(--good)}",
                ".mark.bad{fill:var(--bad)}",
                ".mark.open{fill:var(--open)}",
                ".mark.doubt{fill:var(--doubt)}",
                "path{fill:none;stroke:var(--edge)}",
                "path.flow{stroke:var(--line);stroke-width:1.5}",
                "path.influence{stroke-dasharray:5 4}",
                "path.doubt{stroke:var(--doubt);stroke-dasharray:2 3;stroke-width:1.5}",
                "path.end{fill:var(--edge);stroke:none}",
            )
        ),
    )
)
_STYLE_OF_CHANGES = "".join(
    f".{_NAME} path.{change}{{stroke:var(--{colour})}}"
    for change, colour in zip(_CHANGES, ("good", "bad", "open"), strict=True)
)


# Only added if the picture has such a box, so that all other pictures have the same style.
_STYLE_OF_PARTS = f".{_NAME} .part .paper{{stroke:var(--faint);stroke-dasharray:4 2}}.{_NAME} .part .head{{fill:none}}"


@attrs.frozen
class Bounds:
    """
    The limits of a picture. What is left out is counted below it.

    Args:
        boxes: the number of tables, jobs and operators: those closest to the subject of the picture are kept.
        rows: the number of columns of one table; columns with edges come first.
        lines: the number of lines between them; the most certain come first.
    """

    boxes: int = 60
    rows: int = 12
    lines: int = 1500


@attrs.frozen
class Drawing:
    """
    A picture.

    Args:
        text: the SVG.
        summary: the description that a screen reader reads out.
    """

    text: str
    summary: str


def svg(graph: Graph, *, around: str = "", bounds: Bounds | None = None, marks: _Marks | None = None) -> str:
    """
    Return the picture of a graph.

    Args:
        graph: the graph.
        around: the id of the node that is the subject of the picture; empty for the box with the most neighbours, which
            only matters if not all boxes fit.
        bounds: the limits of the picture.
        marks: the changes of edges, by their keys; None for a graph that is not a comparison.
    """
    return drawing(graph, around=around, bounds=bounds, marks=marks).text


def drawing(graph: Graph, *, around: str = "", bounds: Bounds | None = None, marks: _Marks | None = None) -> Drawing:
    """
    Return the picture of a graph, with its description in words.

    Args:
        graph: the graph.
        around: as for `svg`.
        bounds: as for `svg`.
        marks: as for `svg`.
    """
    drawn = _Drawing(_Scene(graph, around, bounds or Bounds(), marks or {}))
    return Drawing(drawn.text(), drawn.summary())


def shown(text: str, most: int, *, end: bool = False) -> str:
    """
    Return an untrusted text as it can be shown: shortened, without invisible characters and changes of direction.

    Args:
        text: the text.
        most: the maximum number of characters. A character of double width counts twice.
        end: whether the end is kept, as for a path, and not the beginning.
    """
    start = text[-2 * most :] if end else text[: 2 * most]
    characters = list(_UNSEEN.sub("\ufffd", start))
    if _width_of(characters) <= most and len(start) == len(text):
        return "".join(characters)
    left: list[str] = []
    room = most - 1
    for character in reversed(characters) if end else characters:
        room -= _width_of(character)
        if room < 0:
            break
        left.append(character)
    return "…" + "".join(reversed(left)) if end else "".join(left) + "…"


def _width_of(characters: Iterable[str]) -> int:
    """Return the width of a text in columns, of which East Asian characters take two (UAX 11)."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in characters)


def _pixels(text: str) -> int:
    return round(_width_of(text) * _CHARACTER + 0.5)


@attrs.frozen
class _PlacedBox:
    """
    A box and its rows.

    Args:
        node: the node that it represents.
        label: its name, as shown.
        rows: the columns that it shows.
        more: the number of columns that it does not show.
    """

    node: DatasetNode | JobNode | RunNode | OperatorNode
    label: str
    rows: tuple[_Row, ...] = ()
    more: int = 0

    @property
    def size(self) -> Size:
        if not isinstance(self.node, DatasetNode) and not self.rows:
            return Size(_pixels(self.label) + 40, _HEAD)
        widest = max((_pixels(f"{_name(row)}  {_type(row)}") for row in self.rows), default=0)
        inner = (len(self.rows) + bool(self.more)) * _ROW
        return Size(max(widest, _pixels(self.label), 80) + 20, _HEAD + inner + (4 if inner else 0))

    def height_of(self, anchor: str) -> int:
        """Return the distance from the top of the box to the point where a line meets it: at a row, or at the head."""
        if anchor == self.node.id:
            return _HEAD // 2
        place = next((at for at, row in enumerate(self.rows) if row.id == anchor), len(self.rows))
        return _HEAD + place * _ROW + _ROW // 2


def _name(column: _Row) -> str:
    return shown(column.name, _LONGEST_NAME)


def _type(column: _Row) -> str:
    text, most = (column.data_type, _LONGEST_TYPE) if isinstance(column, ColumnNode) else (column.made, _LONGEST_NAME)
    return shown(text, most)


@attrs.frozen
class _Leg:
    """
    A line from one box to another; several edges may share it.

    Args:
        source: the id of the column, table, job or operator at which it begins.
        target: the id of the one at which it ends.
        look: its look.
        change: whether its edges are `added`, `removed` or `changed`, in a comparison; else empty.
    """

    source: str
    target: str
    look: str
    change: str = ""


def _short_names(jobs: list[JobNode]) -> dict[str, str]:
    """
    Return the text in the box of each job.

    It is the last part of the job's name, followed by as many earlier parts as distinguish it from the others:
    `default_daily (insert_into)`.
    """
    found: dict[str, str] = {}
    open_ = jobs
    for before in range(_MOST_PARTS):
        by_name: dict[str, list[JobNode]] = {}
        for job in open_:
            *parts, last = job.name.split(".")
            rest = ".".join(parts[-before:]).removeprefix("execute_") if before else ""
            name = last or job.name
            by_name.setdefault(f"{name} ({rest})" if rest else name, []).append(job)
        found.update({job.id: name for name, same in by_name.items() for job in same})
        open_ = [job for same in by_name.values() if len(same) > 1 for job in same]
    return found


class _Scene:
    """The shown part of a graph, before anything is placed."""

    def __init__(self, graph: Graph, around: str, bounds: Bounds, marks: _Marks) -> None:
        self.graph = graph
        self.marks = marks
        self.bounds = bounds
        ends = {end for edge in graph.edges for end in (edge.source, edge.target)}
        owners = {node.dataset for node in graph.nodes if isinstance(node, (ColumnNode, VersionNode))}
        self._nodes: dict[str, Node] = {node.id: node for node in graph.nodes}
        self._columns: dict[str, list[_Row]] = {}
        self._last_runs: dict[str, RunNode] = {}
        for node in graph.nodes:
            if isinstance(node, (ColumnNode, VersionNode)):
                self._columns.setdefault(node.dataset, []).append(node)
            elif isinstance(node, RunNode) and node.state:
                self._last_runs.setdefault(node.job, node)
        self.by_target: dict[str, list[Edge]] = {}
        for edge in graph.edges:
            if not edge.is_flow:
                self.by_target.setdefault(edge.target, []).append(edge)
        processes = {node.id for node in graph.processes()}
        every = [
            node
            for node in graph.nodes
            if isinstance(node, DatasetNode)
            or (isinstance(node, (JobNode, RunNode)) and node.id in processes)
            or (isinstance(node, OperatorNode) and (node.id in ends or node.id in owners))
        ]
        self.all_boxes = {node.id: node for node in every}
        self.around = around
        self.start = self._home(around)
        used = {link for edge in graph.edges for link in self._links(edge)}
        self._job_names = _short_names([node for node in graph.nodes if isinstance(node, JobNode)])
        self._process_names = names_of_processes(graph)
        self.kept = _near(list(self.all_boxes), used, self.start, bounds.boxes)
        self.boxes = {id_: self._box(node, ends) for id_, node in self.all_boxes.items() if id_ in self.kept}
        self.legs, self.undrawn = self._lines()

    @property
    def is_empty(self) -> bool:
        return not self.boxes

    def label(self, id_: str) -> str:
        """Return the name of a node, for people."""
        node = self._nodes.get(id_)
        match node:
            # A column without a name has the id of its dataset.
            case ColumnNode() | VersionNode() if node.name:
                return f"{self.label(node.dataset)}.{node.name}"
            case DatasetNode():
                return node.label
            case JobNode():
                return node.name
            case RunNode():
                return self._process_names[id_]
            case OperatorNode():
                return node.title
            case _:
                return id_

    def state_of(self, process: JobNode | RunNode) -> tuple[str, str, str] | None:
        """Return how a run, or the last run of a job, ended: a class, a symbol and a word; None if it is not known."""
        run = process if isinstance(process, RunNode) else self._last_runs.get(process.id)
        return None if run is None or not run.state else _STATES.get(run.state, _OPEN)

    def warnings_of(self, process: JobNode | RunNode) -> list[Diagnostic]:
        """Return the diagnostics about what was not understood in a run, or in the runs of a job."""
        return [each for each in self.graph.diagnostics if process.id in (each.node, each.run)]

    def _home(self, id_: str) -> str:
        """Return the box that contains a node; empty if there is none."""
        node = self._nodes.get(id_)
        home = node.dataset if isinstance(node, (ColumnNode, VersionNode)) else id_
        return home if home in self.all_boxes else ""

    def _links(self, edge: Edge) -> list[tuple[str, str]]:
        """Return the pairs of boxes that an edge connects: two pairs if a job is between."""
        ends = [self._home(edge.source), self._home(edge.target)]
        if not all(ends):
            return []
        # The job makes the result of the statement, and reads through CTEs, views and subqueries.
        inside = isinstance(self.all_boxes[ends[1]], OperatorNode)
        process = edge.run if edge.run in self.all_boxes else edge.job
        if process in self.all_boxes and process not in ends and not inside:
            return [(ends[0], process), (process, ends[1])]
        return [(ends[0], ends[1])]

    def _box(self, node: DatasetNode | JobNode | RunNode | OperatorNode, ends: set[str]) -> _PlacedBox:
        if isinstance(node, RunNode):
            return _PlacedBox(node, shown(f"run of {self._job_names.get(node.job, node.run_id)}", _LONGEST_NAME))
        if isinstance(node, JobNode):
            # A statement of a file has no namespace, and is named after its place: `daily.sql:5`.
            short = self._job_names[node.id] if node.namespace else node.name
            return _PlacedBox(node, shown(short, _LONGEST_NAME, end=not node.namespace))
        is_table = isinstance(node, DatasetNode)
        label = shown(self.label(node.id), _LONGEST_NAME, end=is_table)
        columns = self._columns.get(node.id, [])
        if len(columns) <= self.bounds.rows:
            return _PlacedBox(node, label, tuple(columns))
        first = sorted(columns, key=lambda each: each.id not in ends)[: self.bounds.rows]
        few = {each.id for each in first}
        return _PlacedBox(node, label, tuple(each for each in columns if each.id in few), len(columns) - len(few))

    def _lines(self) -> tuple[dict[tuple[str, str], dict[_Leg, list[Edge]]], int]:
        """Return the lines between each pair of boxes, with their edges, and the number of edges without a line."""
        legs: dict[tuple[str, str], dict[_Leg, list[Edge]]] = {}
        count = undrawn = 0
        for edge in sorted(self.graph.edges, key=_surest):
            links = self._links(edge)
            if not links or not all(set(link) <= self.boxes.keys() for link in links):
                continue
            if count >= self.bounds.lines:
                undrawn += 1
                continue
            between = [links[0][1]] if len(links) > 1 else []
            anchors = [self._anchor(edge.source), *between, self._anchor(edge.target)]
            for link, source, target in zip(links, anchors, anchors[1:], strict=False):
                known = legs.setdefault(link, {})
                leg = _Leg(source, target, _look(edge), self.marks.get(edge.key, ""))
                # The lines of the columns that a job reads already show that it reads the table.
                if leg.look != _FLOW or (source, target) != link or not known:
                    count += leg not in known
                    known.setdefault(leg, []).append(edge)
        return legs, undrawn

    def _anchor(self, id_: str) -> str:
        """Return the end of a line: a row; for a column that is not shown, the row that represents the rest."""
        node = self._nodes[id_]
        if not isinstance(node, (ColumnNode, VersionNode)):
            return id_
        box = self.boxes[node.dataset]
        return id_ if any(row.id == id_ for row in box.rows) else f"more of {node.dataset}"


def _surest(edge: Edge) -> tuple[bool, int, tuple[object, ...], str, str]:
    """Return a key that sorts edges: those of columns first, and of these the most certain first."""
    return edge.is_flow, rank(edge.certainty), edge.order, edge.target, edge.source


def _look(edge: Edge) -> str:
    preferred = edge.paths[0].certainty if edge.paths else edge.certainty
    if preferred != "exact":
        return _UNCERTAIN
    if edge.is_flow:
        return _FLOW
    return _INFLUENCE if edge.is_influence else _VALUE


def _near(boxes: list[str], links: Iterable[tuple[str, str]], start: str, most: int) -> set[str]:
    """
    Return the boxes to show: those closest to a given one.

    Args:
        boxes: all boxes.
        links: the pairs of neighbours.
        start: the given box; empty for the one with the most neighbours.
        most: the maximum number of boxes.
    """
    if len(boxes) <= most:
        return set(boxes)
    beside: dict[str, set[str]] = {box: set() for box in boxes}
    for a, b in links:
        if a != b:
            beside[a].add(b)
            beside[b].add(a)
    place = {box: at for at, box in enumerate(boxes)}
    order = sorted(boxes, key=lambda box: (box != start, -len(beside[box]), place[box]))
    found: dict[str, None] = {}
    for first in order:
        waiting = deque([first] if first not in found else [])
        while waiting and len(found) < most:
            at = waiting.popleft()
            if at not in found:
                found[at] = None
                waiting += sorted(beside[at] - found.keys(), key=place.__getitem__)
    return set(found)


class _Drawing:
    """Writes a scene as SVG."""

    def __init__(self, scene: _Scene) -> None:
        self._scene = scene
        sizes = {id_: box.size for id_, box in scene.boxes.items()}
        lanes = {link: _LANE * (min(len(legs), _MOST_LANES) + 1) for link, legs in scene.legs.items()}
        links = {(a, b): height for (a, b), height in lanes.items() if a != b}
        self._sizes = sizes
        self._layout: Layout[str] = layered(sizes, links, Gaps())

    def text(self) -> str:
        """Return the picture."""
        notes = list(self._notes())
        used = {word for legs in self._scene.legs.values() for leg in legs for word in (leg.look, leg.change)}
        looks = [look for look in (*_KEY, *_CHANGES) if look in used]
        bulge = _BULGE if any(a == b for a, b in self._scene.legs) else 0
        width = max((_pixels(note) for note in notes), default=0)
        width = (
            max(width, self._layout.width + bulge, sum(_pixels(_KEY.get(look, look)) + 50 for look in looks), 160)
            + 2 * _MARGIN
        )
        top = self._layout.height + 2 * _MARGIN
        height = top + (_ROW if looks else 0) + len(notes) * _ROW + (_MARGIN if looks or notes else 0)
        size = f'width="{width}" height="{height}"'
        named = f'class="{_NAME}" role="group" aria-label="{_attribute(self.summary())}"'
        return "".join(
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" {named} {size} viewBox="0 0 {width} {height}">',
                f"<title>Lineage</title><style>{self._style(used)}</style>",
                f'<rect class="ground" {size} rx="4"/>',
                f'<g transform="translate({_MARGIN},{_MARGIN})">',
                *self._lines(),
                *(self._box(box) for box in self._scene.boxes.values()),
                "</g>",
                *self._key(looks, top),
                *(
                    f'<text class="faint" x="{_MARGIN}" y="{top + (at + bool(looks)) * _ROW + 8}">{_text(note)}</text>'
                    for at, note in enumerate(notes)
                ),
                "</svg>",
            )
        )

    def _style(self, used: set[str]) -> str:
        """Return the style for the elements of the picture."""
        has_parts = any(isinstance(box.node, OperatorNode) for box in self._scene.boxes.values())
        return f"{_STYLE}{_STYLE_OF_CHANGES if used & {*_CHANGES} else ''}{_STYLE_OF_PARTS if has_parts else ''}"

    def summary(self) -> str:
        """Return the sentence that a screen reader reads out for the picture."""
        boxes = [box.node for box in self._scene.boxes.values()]
        tables = sum(isinstance(node, DatasetNode) for node in boxes)
        inner = sum(isinstance(node, OperatorNode) for node in boxes)
        jobs = sum(isinstance(node, JobNode) for node in boxes)
        runs = sum(isinstance(node, RunNode) for node in boxes)
        edges = sum(not edge.is_flow for edge in self._scene.graph.edges)
        parts = [
            _counted(tables, "table"),
            *([_counted(inner, "CTE, view or subquery", "CTEs, views and subqueries")] if inner else []),
            *([_counted(jobs, "job")] if jobs else []),
            *([_counted(runs, "run")] if runs else []),
            _counted(edges, "edge"),
        ]
        return f"Lineage graph: {', '.join(parts)}"

    def _notes(self) -> Iterator[str]:
        """Yield the notes below the picture: what it does not show, and what was not understood."""
        scene = self._scene
        if scene.is_empty:
            yield "no lineage"
        left_out = len(scene.all_boxes) - len(scene.boxes)
        if left_out:
            about = f" closest to {shown(scene.label(scene.start), 40)}" if scene.start else ""
            yield f"shown: the {len(scene.boxes):,} tables and jobs{about}; {left_out:,} more are left out"
        if scene.undrawn:
            yield f"{scene.undrawn:,} edges that are less certain have no line"
        warnings = list(dict.fromkeys(f"{each.operator}: {each.message}" for each in scene.graph.diagnostics))
        for warning in warnings[:_MOST_NOTES]:
            yield shown(f"not understood: {warning.removeprefix(': ')}", _LONGEST_NOTE)
        if len(warnings) > _MOST_NOTES:
            yield f"not understood: {len(warnings) - _MOST_NOTES:,} more"

    def _key(self, looks: Iterable[str], top: int) -> Iterator[str]:
        left = _MARGIN
        for look in looks:
            yield f'<path class="{look}" d="M{left},{top + 4}h28"/>'
            yield f'<text class="faint" x="{left + 34}" y="{top + 8}">{_KEY.get(look, look)}</text>'
            left += _pixels(_KEY.get(look, look)) + 50

    def _box(self, box: _PlacedBox) -> str:
        x, y = self._layout.places[box.node.id]
        size = self._sizes[box.node.id]
        start = " start" if box.node.id == self._scene.start else ""
        if isinstance(box.node, DatasetNode) or box.rows:
            kind = "table" if isinstance(box.node, DatasetNode) else "part"
            label, inner = self._label_of_table(box), self._rows(box, size)
        else:
            kind, label, inner = self._small(box, box.node, size)
        # An inner SVG clips text that a font makes wider than computed, and needs no id.
        return (
            f'<svg class="{kind}{start}" role="group" aria-label="{_attribute(label)}" x="{x}" y="{y}" '
            f'width="{size.width}" height="{size.height}"><title>{_text(label)}</title>{inner}</svg>'
        )

    def _label_of_table(self, box: _PlacedBox) -> str:
        made = self._made(box.node.id)
        what = "Table " if isinstance(box.node, DatasetNode) else ""
        return f"{what}{shown(self._scene.label(box.node.id), _LONGEST_TEXT)}{f', every row: {made}' if made else ''}"

    def _rows(self, box: _PlacedBox, size: Size) -> str:
        paper = f'<rect class="paper" x="1" y="1" width="{size.width - 2}" height="{size.height - 2}" rx="4"/>'
        head = f'<rect class="head" x="2" y="2" width="{size.width - 4}" height="{_HEAD - 4}" rx="3"/>'
        parts = [paper, head, f'<text class="name" x="9" y="16">{_text(box.label)}</text>']
        for at, row in enumerate(box.rows):
            base = _HEAD + at * _ROW + 12
            made = self._made(row.id)
            label = f"Column {shown(row.name, _LONGEST_TEXT)} {_type(row)}".strip() + (f", {made}" if made else "")
            type_ = _text(_type(row))
            shown_type = f'<text class="faint" x="{size.width - 9}" y="{base}" text-anchor="end">{type_}</text>'
            asked = " start" if row.id == self._scene.around else ""
            parts.append(
                f'<g class="row{asked}" role="img" aria-label="{_attribute(label)}"><title>{_text(label)}</title>'
                f'<text x="9" y="{base}">{_text(_name(row))}</text>{shown_type if type_ else ""}</g>'
            )
        if box.more:
            base = _HEAD + len(box.rows) * _ROW + 12
            parts.append(f'<text class="faint" x="9" y="{base}">… {box.more:,} more</text>')
        return "".join(parts)

    def _small(self, box: _PlacedBox, node: JobNode | RunNode | OperatorNode, size: Size) -> tuple[str, str, str]:
        """Return the class, the label and the inner part of a job, a run or an operator."""
        paper = f'<rect class="paper" x="1" y="1" width="{size.width - 2}" height="{_HEAD - 2}" rx="11"/>'
        name = f'<text x="22" y="16">{_text(box.label)}</text>'
        if isinstance(node, OperatorNode):
            paper = paper.replace('rx="11"', 'rx="4"')
            made = self._made(node.id)
            label = shown(self._scene.label(node.id), _LONGEST_TEXT) + (f", every row: {made}" if made else "")
            return "part", label, paper + name.replace('x="22"', 'x="9"')
        state, warnings = self._scene.state_of(node), self._scene.warnings_of(node)
        is_run = isinstance(node, RunNode)
        name_of = self._scene.label(node.id)
        label = shown(f"R{name_of[1:]}" if is_run else f"Job {name_of}", _LONGEST_TEXT)
        mark = ""
        if state is not None:
            label += f": {state[2]}" if is_run else f", its last run: {state[2]}"
            mark = f'<text class="mark {state[0]}" x="8" y="16">{state[1]}</text>'
        if warnings:
            label += f", {len(warnings):,} not understood"
            mark += f'<text class="mark doubt" x="{size.width - 15}" y="16">!</text>'
        class_ = " ".join(("job", *(["run"] if is_run else []), *([state[0]] if state else [])))
        return class_, label, paper + mark + name

    def _made(self, id_: str) -> str:
        """Return in words from what a column or a table is computed; empty if no edge states it."""
        edges = sorted(self._scene.by_target.get(id_, ()), key=_surest)
        texts = dict.fromkeys(
            f"{kind} of {shown(self._scene.label(each.source), 80)}".lstrip()
            for each in edges
            for kind in dict.fromkeys([str(path.kind) for path in each.paths] or [""])
        )
        return _some(list(texts), ", ")

    def _lines(self) -> Iterator[str]:
        """Yield the lines, the most certain last, so that they are above the others; then their heads."""
        ends: dict[tuple[int, int, bool], None] = {}
        lines: list[tuple[str, str]] = []
        for link, legs in self._scene.legs.items():
            backward = link in self._layout.backward or link[0] == link[1]
            ordered = sorted(legs, key=lambda leg: self._height(link[0], leg.source))
            for at, leg in enumerate(ordered):
                points = self._points(link, leg, at - (len(ordered) - 1) / 2)
                end = (*points[-1], backward)
                ends[end] = None
                text = _text(_some([self._in_words(edge) for edge in legs[leg]], "\n"))
                title = f"<title>{text}</title>"
                look = f"{leg.look} {leg.change}".rstrip()
                lines.append((leg.look, f'<path class="{look}" d="{_curve(points)}">{title}</path>'))
        for look in _LOOKS:
            yield from (line for known, line in lines if known == look)
        for x, y, backward in ends:
            yield f'<path class="end" d="M{x},{y}l{"6" if backward else "-6"},-3v6z"/>'

    def _points(self, link: tuple[str, str], leg: _Leg, lane: float) -> list[tuple[int, int]]:
        """
        Return the points of a line.

        Args:
            link: the boxes that it connects.
            leg: its ends.
            lane: its position among the lines of the link, counted from the middle.
        """
        backward, circle = link in self._layout.backward, link[0] == link[1]
        start, end = (self._layout.places[box][0] for box in link)
        if not backward:
            start += self._sizes[link[0]].width
        if backward or circle:
            end += self._sizes[link[1]].width
        shift = round(lane * _LANE * min(1.0, _MOST_LANES / len(self._scene.legs[link])))
        bends = [(x, y + shift) for x, y in self._layout.bends.get(link, ())]
        return [(start, self._height(link[0], leg.source)), *bends, (end, self._height(link[1], leg.target))]

    def _height(self, box: str, anchor: str) -> int:
        return self._layout.places[box][1] + self._scene.boxes[box].height_of(anchor)

    def _in_words(self, edge: Edge) -> str:
        """Return an edge in words."""
        ends = " → ".join(shown(self._scene.label(each), 80) for each in (edge.source, edge.target))
        change = self._scene.marks.get(edge.key)
        inferred = f". {INFERRED}" if not edge.paths and edge.certainty != "exact" else ""
        how = "; ".join(dict.fromkeys(map(_path_text, edge.paths)))
        return f"{f'{change}: ' if change else ''}{ends}{f': {how}' if how else ''}{inferred}"


def _path_text(path: Path) -> str:
    """Return a path in words."""
    expression = shown(" ".join(path.expression.split()), _LONGEST_TEXT) if path.expression else ""
    why = shown(reason_of(path.certainty, path.steps), _LONGEST_TEXT)
    text = " ".join(filter(None, (str(path.kind), expression)))
    return text if path.certainty == "exact" else f"{text}. {why}" if text else why


def _curve(points: list[tuple[int, int]]) -> str:
    """Return a line through points as SVG path data: straight where it crosses a layer, curved in between."""
    parts = [f"M{points[0][0]},{points[0][1]}"]
    for place, ((x1, y1), (x2, y2)) in enumerate(itertools.pairwise(points), 1):
        if place % 2 == 0:
            parts.append(f"H{x2}")
        elif x1 == x2:
            # From a box to itself: out to the right and back; from a row to itself in a loop.
            loop = _BULGE // 2 if y1 == y2 else 0
            parts.append(f"C{x1 + _BULGE},{y1 - loop} {x2 + _BULGE},{y2 + loop} {x2},{y2}")
        else:
            middle = (x1 + x2) // 2
            parts.append(f"C{middle},{y1} {middle},{y2} {x2},{y2}")
    return "".join(parts)


def _some(texts: list[str], between: str) -> str:
    more = len(texts) - _MOST_NAMED
    return between.join([*texts[:_MOST_NAMED], *([f"and {more:,} more"] if more > 0 else [])])


def _counted(count: int, what: str, several: str = "") -> str:
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _attribute(text: str) -> str:
    return html.escape(text)
