"""
What is reached, as a tree for people.

Values come first: each node stands below the nearest one from which it is reached, with what makes it, once. What
decides about rows is shown on demand.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.model.short_names import short_id, shortest
from openlineage_pyspark.workbench.pictures.outline import Branch, Outline, Section
from openlineage_pyspark.workbench.pictures.words import counted, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.answer import Answer
    from openlineage_pyspark.workbench.pictures.outline import Piece
    from openlineage_pyspark.workbench.questions.reached import AnswerLink, AnswerNode, LinkedNodes

_UPSTREAM = "upstream"

ALL = "--all"
"""The option of the command line that shows what decides about rows too."""

# What decides which value a column gets makes this column, as an expression does.
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


def outline_of_reach(answer: Answer[LinkedNodes]) -> Outline:
    """Return an answer as a tree for people."""
    found = answer.result
    if not found.links:
        return Outline((), nothing_of(answer))
    values = [link for link in found.links if _is_of_value(link)]
    deciding = [link for link in found.links if not _is_of_value(link)]
    tree = _Tree.of(found, values)
    tree.grow(found.start)
    sections = [Section(tuple(tree.branches(found.start)))]
    reached = [node for node in tree.above if node != found.start]
    beside = [link for link in values if tree.near(link) not in tree.above]
    if deciding or beside:
        # Where no value arrives, what decides is the answer.
        sections += tree.deciding(deciding, on_demand=bool(reached))
        sections += tree.beside(beside, on_demand=bool(reached))
    more = "1 more edge decides" if len(deciding) == 1 else f"{len(deciding):,} more edges decide"
    hint = f"{more} about rows: {ALL} shows what" if deciding and reached else ""
    return Outline(tuple(sections), _counts(found, reached), hint)


def nothing_of(answer: Answer[LinkedNodes]) -> str:
    """Return the sentence for an answer without edges."""
    if answer.question == "between":
        return f"no path leads from {answer.arguments['source']} to {answer.arguments['target']}"
    return f"nothing in the store is {answer.question} of {answer.result.start.label}"


def _is_of_value(link: AnswerLink) -> bool:
    """Return whether an edge makes a value; else it decides about rows."""
    kinds = [path.kind for path in link.paths]
    return not kinds or any(not kind.is_influence or kind.subtype in _OF_VALUES for kind in kinds)


def _counts(found: LinkedNodes, reached: list[AnswerNode]) -> str:
    jobs = counted(len({(link.job_namespace, link.job) for link in found.links if link.job}), "job")
    kinds = {node.kind for node in found.all_nodes}
    if any(node.kind == "job" for node in reached):
        return counted(sum(node.kind == "job" for node in reached), "job")
    tables = counted(len({(node.namespace, node.name) for node in reached if node.dataset}), "table")
    by = f", by {jobs}" if reached else ""
    if "version" in kinds:
        return f"{counted(sum(node.kind == 'version' for node in reached), 'version')} of {tables}{by}"
    if "column" in kinds:
        return f"{counted(sum(node.kind == 'column' for node in reached), 'column')} in {tables}{by}"
    return f"{tables}{by}"


@attrs.frozen
class _Tree:
    """
    The tree of an answer.

    Args:
        found: the answer.
        jobs: the namespace and the name of each job -> its name for people.
        below: a node -> the nodes next to it, in the direction of the question, each with the edges that lead there.
        places: a table -> those of its nodes from which edges lead on.
        above: each node in the tree -> the one that it stands below; a root stands below none.
    """

    found: LinkedNodes
    jobs: Mapping[tuple[str, str], str]
    below: dict[AnswerNode, dict[AnswerNode, list[AnswerLink]]]
    places: dict[AnswerNode, list[AnswerNode]]
    above: dict[AnswerNode, AnswerNode | None] = attrs.field(factory=dict)

    @property
    def is_down(self) -> bool:
        return self.found.question != _UPSTREAM

    def near(self, link: AnswerLink) -> AnswerNode:
        return link.source if self.is_down else link.target

    def far(self, link: AnswerLink) -> AnswerNode:
        return link.target if self.is_down else link.source

    @classmethod
    def of(cls, found: LinkedNodes, links: Iterable[AnswerLink]) -> _Tree:
        """Return the tree of some edges of an answer, with nothing in it."""
        below: dict[AnswerNode, dict[AnswerNode, list[AnswerLink]]] = {}
        is_down = found.question != _UPSTREAM
        for link in links:
            near, far = (link.source, link.target) if is_down else (link.target, link.source)
            below.setdefault(near, {}).setdefault(far, []).append(link)
        named = [(link.job_namespace, link.job) for link in found.links]
        jobs = shortest([*named, *((node.namespace, node.name) for node in found.all_nodes if node.kind == "job")])
        places: dict[AnswerNode, list[AnswerNode]] = {}
        for near in below:
            places.setdefault(_table_of(near), []).append(near)
        return cls(found, jobs, below, places)

    def grow(self, root: AnswerNode) -> None:
        """Add a root with all that edges lead to from there, each node below the nearest one."""
        self.above.setdefault(root, None)
        waiting = deque([root])
        while waiting:
            node = waiting.popleft()
            # A struct has the values of its fields, and a field is a part of its struct.
            for other in self.places.get(_table_of(node), ()):
                if other not in self.above and _belong(node, other):
                    self.above[other] = node
                    waiting.append(other)
            for far in self.below.get(node, ()):
                if far not in self.above:
                    self.above[far] = node
                    waiting.append(far)

    def branches(self, root: AnswerNode) -> Iterator[Branch]:
        """Yield the lines of the tree below a root."""
        children: dict[AnswerNode, list[AnswerNode]] = {}
        for node, above in self.above.items():
            if above is not None:
                children.setdefault(above, []).append(node)
        waiting: list[tuple[AnswerNode, tuple[bool, ...]]] = [(root, ())]
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

    def _label(self, node: AnswerNode) -> str:
        if node.kind == "job" and node != self.found.start:
            return self.jobs[node.namespace, node.name]
        if node.kind == "version":
            return f"{node.dataset}@{short_id(node.version) or '?'}"
        return node.label

    def _ends_of(self, node: AnswerNode) -> tuple[str, str]:
        return (node.dataset, node.column) if node.kind == "column" else (self._label(node), "")

    def _made(self, node: AnswerNode) -> Iterator[Piece]:
        """Yield how a node is made: each expression once, with its marks and the job."""
        into = [link for links in self._into(node) for link in links]
        groups: dict[tuple[str, tuple[str, ...], str], None] = {}
        for link in into:
            job = "" if node.kind in ("job", "run") else self.jobs[link.job_namespace, link.job]
            for text, marks in _hows(link):
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

    def _read(self, node: AnswerNode) -> Iterator[Piece]:
        """Yield that it is inferred that this version was read, if no event names it."""
        above = self.above.get(node)
        links = [] if above is None else self.below.get(above, {}).get(node, [])
        if node.kind == "version" and links and all(link.inferred and not link.kept for link in links):
            yield ("(version read is inferred)" if self.is_down else "(version inferred)"), "mark"

    def _into(self, node: AnswerNode) -> Iterator[list[AnswerLink]]:
        if self.is_down:
            yield from (to[node] for to in self.below.values() if node in to)
        else:
            yield from self.below.get(node, {}).values()

    def deciding(self, links: list[AnswerLink], *, on_demand: bool) -> Iterator[Section]:
        """Yield what decides about rows: for each table, each condition once with the columns in it."""
        groups: dict[AnswerNode, dict[tuple[str, str], dict[tuple[str, str], None]]] = {}
        for link in links:
            job = self.jobs[link.job_namespace, link.job]
            for path in link.paths:
                text = " ".join(filter(None, (_word(path.kind.subtype or path.kind.type), path.expression)))
                sources = groups.setdefault(link.target, {}).setdefault((text, job), {})
                sources[self._ends_of(link.source)] = None
        branches = []
        for target, conditions in groups.items():
            branches.append(Branch(f"{target.label} (every row)" if not target.column else target.label, has_more=True))
            for place, ((text, job), sources) in enumerate(conditions.items()):
                about: tuple[Piece, ...] = ((text, "text"), (f"[{job}]", "job"))
                branches.append(Branch(together(sources), about, (place == len(conditions) - 1,)))
        if branches:
            yield Section(tuple(branches), "What decides about rows", on_demand)

    def beside(self, links: list[AnswerLink], *, on_demand: bool) -> Iterator[Section]:
        """Yield the values that what decides leads to, or comes from."""
        roots = []
        # The nearest ones first, so that each root has all that lies behind it.
        for link in sorted(links, key=lambda each: self.near(each).depth):
            if self.near(link) not in self.above:
                roots.append(self.near(link))
                self.grow(roots[-1])
        branches = tuple(branch for root in roots for branch in self.branches(root))
        if branches:
            yield Section(branches, "The values behind that", on_demand)


def _table_of(node: AnswerNode) -> AnswerNode:
    return attrs.evolve(node, column="", depth=0, kind="dataset" if node.dataset else node.kind)


def _belong(node: AnswerNode, other: AnswerNode) -> bool:
    """Return whether two columns of a table are a struct and a field of it, or one of them all rows."""
    one, two = node.column, other.column
    if node.kind == "version" or not (one or two):
        return False
    return not one or not two or one.startswith(f"{two}.") or two.startswith(f"{one}.")


def _hows(link: AnswerLink) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield how an edge makes its target: a text, and what somebody should notice."""
    if link.kept:
        yield "keeps its rows", ()
        return
    if link.target.kind == "version":
        # Of a table without versions of its own, the run that made it names it.
        run = "" if link.target.version.startswith(link.last_run) else f"run {short_id(link.last_run)}"
        batch = "" if link.batch is None else f"batch {link.batch}"
        yield ", ".join(filter(None, (run, batch))), ()
        return
    if not link.paths:
        yield "", ()
    by_text: dict[str, list[bool]] = {}
    for path in link.paths:
        kind = path.kind
        if kind.is_influence and kind.subtype not in _OF_VALUES:
            continue
        text = "" if kind.subtype == "IDENTITY" else path.expression or _word(kind.subtype or kind.type)
        by_text.setdefault(text, []).append(kind.masking)
    doubt = () if link.certainty == "exact" else (f"({link.certainty})",)
    for text, masked in by_text.items():
        yield text, (*(("(masked)",) if all(masked) else ()), *doubt)


def _word(subtype: str) -> str:
    return _WORDS.get(subtype, subtype.lower().replace("_", " "))
