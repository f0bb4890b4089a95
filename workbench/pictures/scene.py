"""The shown part of a graph: its boxes with their rows, and the lines between them. Nothing is placed yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
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
    RunNode,
    VersionNode,
    names_of_processes,
)
from openlineage_pyspark.workbench.model.kinds import Diagnostic, rank
from openlineage_pyspark.workbench.pictures.layout import Size
from openlineage_pyspark.workbench.pictures.plain import shown, width_of

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.change import ChangeMark

BoxRow: TypeAlias = ColumnNode | VersionNode
Marks: TypeAlias = "Mapping[tuple[str, str, str], ChangeMark]"
_CHARACTER = 6.6
"""The width of a character in pixels, in the picture's monospaced font."""
HEAD = 24
ROW = 17
LONGEST_NAME = 32
_LONGEST_TYPE = 14
# The maximum number of parts of a job's name in its box.
_MOST_PARTS = 4
_STATES = {"COMPLETE": ("good", "✓", "complete"), "FAIL": ("bad", "✕", "failed"), "ABORT": ("bad", "✕", "aborted")}
_OPEN = ("open", "…", "not finished")
VALUE = "value"
INFLUENCE = "influence"
UNCERTAIN = "doubt"
FLOW = "flow"


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


def pixels(text: str) -> int:
    """Return the width of a text in pixels."""
    return round(width_of(text) * _CHARACTER + 0.5)


@attrs.frozen
class PlacedBox:
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
    rows: tuple[BoxRow, ...] = ()
    more: int = 0

    @property
    def size(self) -> Size:
        """The size of the box, in pixels."""
        if not isinstance(self.node, DatasetNode) and not self.rows:
            return Size(pixels(self.label) + 40, HEAD)
        widest = max((pixels(f"{name_of_row(row)}  {type_of_row(row)}") for row in self.rows), default=0)
        inner = (len(self.rows) + bool(self.more)) * ROW
        return Size(max(widest, pixels(self.label), 80) + 20, HEAD + inner + (4 if inner else 0))

    def height_of(self, anchor: str) -> int:
        """Return the distance from the top of the box to the point where a line meets it: at a row, or at the head."""
        if anchor == self.node.id:
            return HEAD // 2
        place = next((at for at, row in enumerate(self.rows) if row.id == anchor), len(self.rows))
        return HEAD + place * ROW + ROW // 2


def name_of_row(column: BoxRow) -> str:
    """Return the name of a row, as it is shown."""
    return shown(column.name, LONGEST_NAME)


def type_of_row(column: BoxRow) -> str:
    """Return the type of a column, or what made a version, as it is shown."""
    text, most = (column.data_type, _LONGEST_TYPE) if isinstance(column, ColumnNode) else (column.made, LONGEST_NAME)
    return shown(text, most)


@attrs.frozen
class Leg:
    """
    A line from one box to another; several edges may share it.

    Args:
        source: the id of the column, table, job or operator at which it begins.
        target: the id of the one at which it ends.
        look: its look.
        change: in a comparison, `added`, `removed` or `changed`; else empty.
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


class Scene:
    """The shown part of a graph, before anything is placed."""

    def __init__(self, graph: Graph, around: str, bounds: Bounds, marks: Marks) -> None:
        self.graph = graph
        self.marks = marks
        self.bounds = bounds
        ends = {end for edge in graph.edges for end in (edge.source, edge.target)}
        owners = {node.dataset for node in graph.nodes if isinstance(node, (ColumnNode, VersionNode))}
        self._nodes: dict[str, Node] = {node.id: node for node in graph.nodes}
        self._columns: dict[str, list[BoxRow]] = {}
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
        """Whether no box is shown."""
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
        """Return how a run, or a job's last run, ended: a CSS class, a symbol and a word; None if it is unknown."""
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

    def _box(self, node: DatasetNode | JobNode | RunNode | OperatorNode, ends: set[str]) -> PlacedBox:
        if isinstance(node, RunNode):
            return PlacedBox(node, shown(f"run of {self._job_names.get(node.job, node.run_id)}", LONGEST_NAME))
        if isinstance(node, JobNode):
            # A statement of a file has no namespace, and is named after its place: `daily.sql:5`.
            short = self._job_names[node.id] if node.namespace else node.name
            return PlacedBox(node, shown(short, LONGEST_NAME, end=not node.namespace))
        is_table = isinstance(node, DatasetNode)
        label = shown(self.label(node.id), LONGEST_NAME, end=is_table)
        columns = self._columns.get(node.id, [])
        if len(columns) <= self.bounds.rows:
            return PlacedBox(node, label, tuple(columns))
        first = sorted(columns, key=lambda each: each.id not in ends)[: self.bounds.rows]
        few = {each.id for each in first}
        return PlacedBox(node, label, tuple(each for each in columns if each.id in few), len(columns) - len(few))

    def _lines(self) -> tuple[dict[tuple[str, str], dict[Leg, list[Edge]]], int]:
        """Return the lines between each pair of boxes, with their edges, and the number of edges without a line."""
        legs: dict[tuple[str, str], dict[Leg, list[Edge]]] = {}
        count = undrawn = 0
        for edge in sorted(self.graph.edges, key=certainty_order):
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
                leg = Leg(source, target, _look(edge), self.marks.get(edge.key, ""))
                # The lines of the columns that a job reads already show that it reads the table.
                if leg.look != FLOW or (source, target) != link or not known:
                    count += leg not in known
                    known.setdefault(leg, []).append(edge)
        return legs, undrawn

    def _anchor(self, id_: str) -> str:
        """Return the end of a line: a box or a row; for a column that is not shown, the row for all that are not."""
        node = self._nodes[id_]
        if not isinstance(node, (ColumnNode, VersionNode)):
            return id_
        box = self.boxes[node.dataset]
        return id_ if any(row.id == id_ for row in box.rows) else f"more of {node.dataset}"


def certainty_order(edge: Edge) -> tuple[bool, int, tuple[object, ...], str, str]:
    """Return the sort key of an edge: edges of columns before those of jobs, and the most certain first."""
    return edge.is_flow, rank(edge.certainty), edge.order, edge.target, edge.source


def _look(edge: Edge) -> str:
    preferred = edge.paths[0].certainty if edge.paths else edge.certainty
    if preferred != "exact":
        return UNCERTAIN
    if edge.is_flow:
        return FLOW
    return INFLUENCE if edge.is_influence else VALUE


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
