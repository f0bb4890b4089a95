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
from collections.abc import Iterable, Iterator

import attrs
from openlineage_pyspark.workbench.model.graph import DatasetNode, Edge, Graph, JobNode, OperatorNode, Path, RunNode
from openlineage_pyspark.workbench.pictures.layout import Gaps, Layout, Size, layered
from openlineage_pyspark.workbench.pictures.plain import shown
from openlineage_pyspark.workbench.pictures.scene import (
    FLOW,
    HEAD,
    INFLUENCE,
    ROW,
    UNCERTAIN,
    VALUE,
    Bounds,
    Leg,
    Marks,
    PlacedBox,
    Scene,
    certainty_order,
    name_of_row,
    pixels,
    type_of_row,
)
from openlineage_pyspark.workbench.pictures.words import INFERRED, reason_of

_LANE = 4
_MOST_LANES = 12
_MARGIN = 12
_BULGE = 44
_LONGEST_TEXT = 200
_LONGEST_NOTE = 110
_MOST_NAMED = 4
_MOST_NOTES = 3
_LOOKS = (FLOW, UNCERTAIN, INFLUENCE, VALUE)
"""The looks of lines; later ones are drawn above earlier ones."""
_KEY = {
    VALUE: "a value that arrives",
    INFLUENCE: "decides about rows or values",
    UNCERTAIN: "uncertain",
}
CHANGES = ("added", "removed", "changed")
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
CLASS = "openlineage-graph"
STYLE = "".join(
    (
        f".{CLASS}{{{_LIGHT}}}",
        f"@media (prefers-color-scheme:dark){{.{CLASS}{{{_DARK}}}}}",
        f"[data-jp-theme-light=true] .{CLASS},.vscode-light .{CLASS}{{{_LIGHT}}}",
        f"[data-jp-theme-light=false] .{CLASS},.vscode-dark .{CLASS}{{{_DARK}}}",
        f"@media print{{.{CLASS}{{{_LIGHT}}}}}",
        *(
            f".{CLASS} {rule}"
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
STYLE_OF_CHANGES = "".join(
    f".{CLASS} path.{change}{{stroke:var(--{colour})}}"
    for change, colour in zip(CHANGES, ("good", "bad", "open"), strict=True)
)
# Only added if the picture has such a box, so that all other pictures have the same style.
STYLE_OF_PARTS = f".{CLASS} .part .paper{{stroke:var(--faint);stroke-dasharray:4 2}}.{CLASS} .part .head{{fill:none}}"


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


def svg(graph: Graph, *, around: str = "", bounds: Bounds | None = None, marks: Marks | None = None) -> str:
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


def drawing(graph: Graph, *, around: str, bounds: Bounds | None, marks: Marks | None = None) -> Drawing:
    """
    Return the picture of a graph, with its description in words.

    Args:
        graph: the graph.
        around: as for `svg`.
        bounds: as for `svg`.
        marks: as for `svg`.
    """
    drawn = _Drawing(Scene(graph, around, bounds or Bounds(), marks or {}))
    return Drawing(drawn.text(), drawn.summary())


class _Drawing:
    """Writes a scene as SVG."""

    def __init__(self, scene: Scene) -> None:
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
        looks = [look for look in (*_KEY, *CHANGES) if look in used]
        bulge = _BULGE if any(a == b for a, b in self._scene.legs) else 0
        width = max((pixels(note) for note in notes), default=0)
        width = (
            max(width, self._layout.width + bulge, sum(pixels(_KEY.get(look, look)) + 50 for look in looks), 160)
            + 2 * _MARGIN
        )
        top = self._layout.height + 2 * _MARGIN
        height = top + (ROW if looks else 0) + len(notes) * ROW + (_MARGIN if looks or notes else 0)
        size = f'width="{width}" height="{height}"'
        named = f'class="{CLASS}" role="group" aria-label="{_attribute(self.summary())}"'
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
                    f'<text class="faint" x="{_MARGIN}" y="{top + (at + bool(looks)) * ROW + 8}">{_text(note)}</text>'
                    for at, note in enumerate(notes)
                ),
                "</svg>",
            )
        )

    def _style(self, used: set[str]) -> str:
        """Return the style for the elements of the picture."""
        has_parts = any(isinstance(box.node, OperatorNode) for box in self._scene.boxes.values())
        return f"{STYLE}{STYLE_OF_CHANGES if used & {*CHANGES} else ''}{STYLE_OF_PARTS if has_parts else ''}"

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
            left += pixels(_KEY.get(look, look)) + 50

    def _box(self, box: PlacedBox) -> str:
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

    def _label_of_table(self, box: PlacedBox) -> str:
        made = self._made(box.node.id)
        what = "Table " if isinstance(box.node, DatasetNode) else ""
        return f"{what}{shown(self._scene.label(box.node.id), _LONGEST_TEXT)}{f', every row: {made}' if made else ''}"

    def _rows(self, box: PlacedBox, size: Size) -> str:
        paper = f'<rect class="paper" x="1" y="1" width="{size.width - 2}" height="{size.height - 2}" rx="4"/>'
        head = f'<rect class="head" x="2" y="2" width="{size.width - 4}" height="{HEAD - 4}" rx="3"/>'
        parts = [paper, head, f'<text class="name" x="9" y="16">{_text(box.label)}</text>']
        for at, row in enumerate(box.rows):
            base = HEAD + at * ROW + 12
            made = self._made(row.id)
            label = f"Column {shown(row.name, _LONGEST_TEXT)} {type_of_row(row)}".strip() + (
                f", {made}" if made else ""
            )
            type_ = _text(type_of_row(row))
            shown_type = f'<text class="faint" x="{size.width - 9}" y="{base}" text-anchor="end">{type_}</text>'
            asked = " start" if row.id == self._scene.around else ""
            parts.append(
                f'<g class="row{asked}" role="img" aria-label="{_attribute(label)}"><title>{_text(label)}</title>'
                f'<text x="9" y="{base}">{_text(name_of_row(row))}</text>{shown_type if type_ else ""}</g>'
            )
        if box.more:
            base = HEAD + len(box.rows) * ROW + 12
            parts.append(f'<text class="faint" x="9" y="{base}">… {box.more:,} more</text>')
        return "".join(parts)

    def _small(self, box: PlacedBox, node: JobNode | RunNode | OperatorNode, size: Size) -> tuple[str, str, str]:
        """Return the class, the label and the inner part of a job, a run or an operator."""
        paper = f'<rect class="paper" x="1" y="1" width="{size.width - 2}" height="{HEAD - 2}" rx="11"/>'
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
        """Return, in words, what a column or a table is computed from; empty if no edge states it."""
        edges = sorted(self._scene.by_target.get(id_, ()), key=certainty_order)
        texts = dict.fromkeys(
            f"{kind} of {shown(self._scene.label(each.source), 80)}".lstrip()
            for each in edges
            for kind in dict.fromkeys([str(path.kind) for path in each.paths] or [""])
        )
        return _some(list(texts), ", ")

    def _lines(self) -> Iterator[str]:
        """Yield the lines, the most certain last, so that they are above the others; then the arrowheads."""
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

    def _points(self, link: tuple[str, str], leg: Leg, lane: float) -> list[tuple[int, int]]:
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
