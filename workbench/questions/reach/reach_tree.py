"""
Format the answer of a traversal as a tree for people.

Values come first: each node is below the nearest one that it was found from, once, with the jobs that make it. Columns
that only decide about rows are shown on demand.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, JobNode, RunNode, VersionNode
from openlineage_pyspark.workbench.model.short_names import short_id, shortest
from openlineage_pyspark.workbench.pictures.outline import Branch, Outline, Section
from openlineage_pyspark.workbench.pictures.words import counted, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.answer import Answer
    from openlineage_pyspark.workbench.model.graph import Edge, Node
    from openlineage_pyspark.workbench.model.kinds import NodeId
    from openlineage_pyspark.workbench.model.reach import Reach
    from openlineage_pyspark.workbench.pictures.outline import Piece

_UPSTREAM = "upstream"

ALL = "--all"
"""The option of the command line that shows what decides about rows too."""

# A column that decides which value another one gets counts as a source of the value, as an argument does.
_OF_VALUES = ("CONDITIONAL", "WINDOW")
_WORDS = {
    "TRANSFORMATION": "computed",
    "AGGREGATION": "aggregated",
    "CONDITIONAL": "decides which value",
    "WINDOW": "decides within a window",
    "FILTER": "filter",
    "JOIN": "join",
    "GROUP_BY": "group by",
    "SORT": "sort",
}


def outline_of_reach(answer: Answer[Reach]) -> Outline:
    """Return an answer as a tree for people."""
    found = answer.result
    if not found.graph.edges:
        return Outline((), nothing_of(answer))
    values = [edge for edge in found.graph.edges if _is_of_value(edge)]
    deciding = [edge for edge in found.graph.edges if not _is_of_value(edge)]
    tree = _Tree.of(found, values, is_down=answer.question != _UPSTREAM)
    tree.grow(tree.start)
    sections = [Section(tuple(tree.branches(tree.start)))]
    reached = [found.nodes[node] for node in tree.above if node != tree.start]
    beside = [edge for edge in values if tree.near(edge) not in tree.above]
    if deciding or beside:
        # If no value arrives, the columns that decide are the answer.
        sections += tree.deciding(deciding, on_demand=bool(reached))
        sections += tree.beside(beside, on_demand=bool(reached))
    more = "1 more edge decides" if len(deciding) == 1 else f"{len(deciding):,} more edges decide"
    hint = f"{more} about rows: {ALL} shows what" if deciding and reached else ""
    return Outline(tuple(sections), _counts(found, reached), hint)


def nothing_of(answer: Answer[Reach]) -> str:
    """Return the sentence for an answer without edges."""
    if answer.question == "between":
        return f"no path leads from {answer.arguments['source']} to {answer.arguments['target']}"
    return f"nothing in the store is {answer.question} of {answer.result.label(answer.result.start[0])}"


def _is_of_value(edge: Edge) -> bool:
    """Return whether an edge makes a value; else it decides about rows."""
    kinds = [path.kind for path in edge.paths]
    return not kinds or any(not kind.is_influence or kind.subtype in _OF_VALUES for kind in kinds)


def _counts(found: Reach, reached: list[Node]) -> str:
    if any(isinstance(node, JobNode) for node in reached):
        return counted(sum(isinstance(node, JobNode) for node in reached), "job")
    jobs = counted(len({edge.job for edge in found.graph.edges if edge.job}), "job")
    owners = {found.owner(node.id).id for node in reached if not isinstance(node, RunNode)}
    tables = counted(len(owners), "table")
    by = f", by {jobs}" if reached else ""
    if any(isinstance(node, VersionNode) for node in found.ends):
        return f"{counted(sum(isinstance(node, VersionNode) for node in reached), 'version')} of {tables}{by}"
    if any(isinstance(node, ColumnNode) for node in found.ends):
        return f"{counted(sum(isinstance(node, ColumnNode) for node in reached), 'column')} in {tables}{by}"
    return f"{tables}{by}"


@attrs.frozen
class _Tree:
    """
    The tree of an answer.

    Args:
        found: the answer.
        is_down: whether it is downstream of the start.
        jobs: the namespace and the name of each job -> its name for people.
        below: a node -> the nodes next to it, in the direction of the question, each with the edges that lead there.
        places: a table or a version -> its nodes from which edges continue.
        above: each node in the tree -> its parent; a root has none.
    """

    found: Reach
    is_down: bool
    jobs: Mapping[tuple[str, str], str]
    below: dict[NodeId, dict[NodeId, list[Edge]]]
    places: dict[NodeId, list[NodeId]]
    above: dict[NodeId, NodeId | None] = attrs.field(factory=dict)

    @property
    def start(self) -> NodeId:
        return self.found.start[0]

    def near(self, edge: Edge) -> NodeId:
        return edge.source if self.is_down else edge.target

    @classmethod
    def of(cls, found: Reach, edges: Iterable[Edge], *, is_down: bool) -> _Tree:
        """Return the tree of some edges of an answer, with nothing in it."""
        below: dict[NodeId, dict[NodeId, list[Edge]]] = {}
        for edge in edges:
            near, far = (edge.source, edge.target) if is_down else (edge.target, edge.source)
            below.setdefault(near, {}).setdefault(far, []).append(edge)
        named = [(node.namespace, node.name) for node in found.ends if isinstance(node, JobNode)]
        jobs = shortest([*map(found.job, found.graph.edges), *named])
        places: dict[NodeId, list[NodeId]] = {}
        for near in below:
            places.setdefault(_table_of(found, near), []).append(near)
        return cls(found, is_down, jobs, below, places)

    def grow(self, root: NodeId) -> None:
        """Add a root with all that edges lead to from there, each node below the nearest one."""
        self.above.setdefault(root, None)
        waiting = deque([root])
        while waiting:
            node = waiting.popleft()
            # A struct has the values of its fields, and a field is a part of its struct.
            for other in self.places.get(_table_of(self.found, node), ()):
                if other not in self.above and self._belong(node, other):
                    self.above[other] = node
                    waiting.append(other)
            for far in self.below.get(node, ()):
                if far not in self.above:
                    self.above[far] = node
                    waiting.append(far)

    def branches(self, root: NodeId) -> Iterator[Branch]:
        """Yield the lines of the tree below a root."""
        children: dict[NodeId, list[NodeId]] = {}
        for node, above in self.above.items():
            if above is not None:
                children.setdefault(above, []).append(node)
        waiting: list[tuple[NodeId, tuple[bool, ...]]] = [(root, ())]
        while waiting:
            node, last = waiting.pop()
            own = children.get(node, [])
            again = [each for each in self.below.get(node, {}) if self.above.get(each) != node]
            about = (*self._read(node), *(self._made(node) if last or not self.is_down else ()))
            yield Branch(self._label(node), about, last, has_more=bool(own or again))
            if again:
                words = together(self._ends_of(each) for each in again)
                yield Branch(f"{words}: see there", (), (*last, not own))
            waiting += [(each, (*last, place == len(own) - 1)) for place, each in enumerate(own)][::-1]

    def _label(self, node: NodeId) -> str:
        found = self.found.nodes[node]
        if isinstance(found, JobNode) and node != self.start:
            return self.jobs[found.namespace, found.name]
        if isinstance(found, VersionNode):
            return f"{self.found.dataset_name(node)}@{short_id(found.version) or '?'}"
        return self.found.label(node)

    def _ends_of(self, node: NodeId) -> tuple[str, str]:
        column = self.found.column(node)
        return (self.found.dataset_name(node), column) if column else (self._label(node), "")

    def _made(self, node: NodeId) -> Iterator[Piece]:
        """Yield how a node is made: each expression once, with its marks and the job."""
        groups: dict[tuple[str, tuple[str, ...], str], None] = {}
        for edge in (edge for edges in self._into(node) for edge in edges):
            job = "" if isinstance(self.found.nodes[node], (JobNode, RunNode)) else self.jobs[self.found.job(edge)]
            for text, marks in self._hows(edge):
                groups[text, marks, job] = None
        jobs = list(dict.fromkeys(job for _, _, job in groups if job))
        for job in jobs or [""]:
            own = [(text, marks) for text, marks, by in groups if by == job]
            texts = [each for each in own if each != ("", ())] or own[:1]
            for text, marks in texts:
                if text:
                    yield text, "text"
                for mark in marks:
                    yield mark, "mark"
            if job:
                yield f"[{job}]", "job"

    def _read(self, node: NodeId) -> Iterator[Piece]:
        """Yield that a version is inferred, if no event states that it was read."""
        above = self.above.get(node)
        edges = [] if above is None else self.below.get(above, {}).get(node, [])
        is_version = isinstance(self.found.nodes[node], VersionNode)
        if is_version and edges and all(edge.is_inferred and not edge.kept for edge in edges):
            yield ("(version read is inferred)" if self.is_down else "(version inferred)"), "mark"

    def _into(self, node: NodeId) -> Iterator[list[Edge]]:
        if self.is_down:
            yield from (to[node] for to in self.below.values() if node in to)
        else:
            yield from self.below.get(node, {}).values()

    def deciding(self, edges: list[Edge], *, on_demand: bool) -> Iterator[Section]:
        """Yield the columns that decide about rows: for each table, each condition once with its columns."""
        groups: dict[NodeId, dict[tuple[str, str], dict[tuple[str, str], None]]] = {}
        for edge in edges:
            job = self.jobs[self.found.job(edge)]
            for path in edge.paths:
                text = " ".join(filter(None, (_word(path.kind.subtype or path.kind.type), path.expression)))
                sources = groups.setdefault(edge.target, {}).setdefault((text, job), {})
                sources[self._ends_of(edge.source)] = None
        branches = []
        for target, conditions in groups.items():
            rows = "" if self.found.column(target) else " (every row)"
            branches.append(Branch(f"{self.found.label(target)}{rows}", has_more=True))
            for place, ((text, job), sources) in enumerate(conditions.items()):
                about: tuple[Piece, ...] = ((text, "text"), (f"[{job}]", "job"))
                branches.append(Branch(together(sources), about, (place == len(conditions) - 1,)))
        if branches:
            yield Section(tuple(branches), "What decides about rows", on_demand)

    def beside(self, edges: list[Edge], *, on_demand: bool) -> Iterator[Section]:
        """Yield the values from which the deciding columns come, or which are made of them."""
        roots = []
        # The nearest ones first, so that each root gets all nodes behind it.
        for edge in sorted(edges, key=lambda each: self.found.depths[self.near(each)]):
            if self.near(edge) not in self.above:
                roots.append(self.near(edge))
                self.grow(roots[-1])
        branches = tuple(branch for root in roots for branch in self.branches(root))
        if branches:
            yield Section(branches, "The values behind that", on_demand)

    def _belong(self, node: NodeId, other: NodeId) -> bool:
        """Return whether two columns of a table are a struct and a field of it, or one of them all rows."""
        one, two = self.found.column(node), self.found.column(other)
        if not (one or two):
            return False
        return not one or not two or one.startswith(f"{two}.") or two.startswith(f"{one}.")

    def _hows(self, edge: Edge) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield how an edge makes its target: a text, and its marks."""
        target = self.found.nodes[edge.target]
        if edge.kept:
            yield "keeps its rows", ()
            return
        if isinstance(target, VersionNode):
            # A version of a table that keeps no versions has the name of the run that made it.
            run = "" if target.version.startswith(edge.run_id) else f"run {short_id(edge.run_id)}"
            batch = "" if edge.batch is None else f"batch {edge.batch}"
            yield ", ".join(filter(None, (run, batch))), ()
            return
        if not edge.paths:
            yield "", ()
        shown: dict[tuple[str, tuple[str, ...]], None] = {}
        of_values: set[tuple[str, str]] = set()
        for path in edge.paths:
            kind = path.kind
            text = "" if kind.subtype == "IDENTITY" else path.expression or _word(kind.subtype or kind.type)
            if not kind.is_influence:
                of_values.add((text, path.certainty))
            # If one expression both makes the value and decides about it, it is shown once.
            elif kind.subtype not in _OF_VALUES or (text, path.certainty) in of_values:
                continue
            certainty = "" if path.certainty == "exact" else f"({path.certainty})"
            shown[text, (*filter(None, ("(masked)" if kind.masking else "", certainty)),)] = None
        yield from shown


def _table_of(found: Reach, node: NodeId) -> NodeId:
    owner = found.owner(node)
    return owner.id if isinstance(owner, DatasetNode) and not found.version(node) else node


def _word(subtype: str) -> str:
    return _WORDS.get(subtype, subtype.lower().replace("_", " "))
