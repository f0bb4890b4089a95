"""The questions that people ask of a store, and their answers as values."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.store.errors import StoreError
from openlineage_pyspark.store.graph import whole_graph
from openlineage_pyspark.store.ids import id_lists
from openlineage_pyspark.store.lists import dataset_lines, history, jobs, runs
from openlineage_pyspark.store.names import datasets, find
from openlineage_pyspark.store.reach import Direction, Limits, between, reach
from openlineage_pyspark.store.rows import microseconds
from openlineage_pyspark.store.sqlite import Database

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from openlineage_pyspark.graph.model import Graph
    from openlineage_pyspark.store.lists import DatasetLine, JobLine, RunLine, Version
    from openlineage_pyspark.store.names import DatasetName, Tables, Thing
    from openlineage_pyspark.store.reach import Closure, Place

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_AGO = re.compile(r"(\d+)\s*(s|min|h|d)")
_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}


@attrs.frozen
class Node:
    """
    A dataset or a column.

    Args:
        dataset: the dataset's name as people know it.
        column: the column; empty for the whole dataset, or for all of its rows.
        namespace: the namespace of the dataset's own name.
        name: its own name.
        depth: how many jobs lie between it and what was asked for.
    """

    dataset: str
    column: str
    namespace: str
    name: str
    depth: int

    @property
    def label(self) -> str:
        """Return the name with the column."""
        return f"{self.dataset}.{self.column}" if self.column else self.dataset


@attrs.frozen
class Link:
    """
    One job makes one node from another.

    Args:
        source: where the data come from.
        target: where they go.
        job: the job's name.
        job_namespace: its namespace.
        kinds: how a column gets there, such as `AGGREGATION`; empty between datasets.
        expressions: the texts that make it, in the order of the kinds.
        last_run: the last run that said so; empty if it is not known.
    """

    source: Node
    target: Node
    job: str
    job_namespace: str
    kinds: tuple[str, ...]
    expressions: tuple[str, ...]
    last_run: str


@attrs.frozen
class Answer:
    """
    What is upstream or downstream of something.

    Args:
        question: `upstream` or `downstream`.
        start: what was asked for.
        nodes: what is reached, the closest first.
        links: how it is reached, the closest first.
    """

    question: str
    start: Node
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @property
    def all_nodes(self) -> tuple[Node, ...]:
        """Return the start, what is reached, and what else links end at: all rows of a dataset, parts of structs."""
        ends = sorted({node for link in self.links for node in (link.source, link.target)}, key=_closest)
        return tuple(dict.fromkeys((self.start, *self.nodes, *ends)))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values, for JSON: `start`, `nodes` and `edges`, which name nodes by their ids."""
        ids = {node: f"{node.namespace}/{node.name}#{node.column}" for node in self.all_nodes}
        return {
            "question": self.question,
            "start": ids[self.start],
            "nodes": [{"id": id_, **attrs.asdict(node)} for node, id_ in ids.items()],
            "edges": [
                {
                    "from": ids[link.source],
                    "to": ids[link.target],
                    "job": {"namespace": link.job_namespace, "name": link.job},
                    "kinds": list(link.kinds),
                    "expressions": list(link.expressions),
                    "lastRun": link.last_run or None,
                }
                for link in self.links
            ],
        }


class Store:
    """
    A lineage store, to be asked.

    Args:
        tables: the engine. `Store.open` makes one of a file.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """
        Open the store in a file, to be read.

        Raises:
            StoreError: there is none, or it can't be read.
        """
        return cls(Database(Path(path), read_only=True))

    def __enter__(self) -> Store:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        if isinstance(self._tables, Database):
            self._tables.close()

    def upstream(
        self, thing: str, *, depth: int | None = None, direct: bool = False, as_of: str = "", ever: bool = False
    ) -> Answer:
        """
        Return where a dataset or a column comes from.

        Args:
            thing: a dataset, or a dataset, a dot and a column. The end of a name is enough if only one ends so.
            depth: how many jobs to pass at most; None for all.
            direct: whether to leave out columns that only decide about rows, as in a filter.
            as_of: a time (ISO 8601, or an age such as `2 d`): the answer is the one that held then; empty for now.
            ever: whether to count what a job did once and does no longer.

        Raises:
            StoreError: nothing is called so, or several things are; or the time can't be read.
        """
        return self._reached(thing, Direction.UPSTREAM, limits(depth, as_of, direct=direct, ever=ever))

    def downstream(
        self, thing: str, *, depth: int | None = None, direct: bool = False, as_of: str = "", ever: bool = False
    ) -> Answer:
        """
        Return what is made from a dataset or a column.

        Args:
            thing: as in `upstream`.
            depth: as there.
            direct: as there.
            as_of: as there.
            ever: as there.

        Raises:
            StoreError: as there.
        """
        return self._reached(thing, Direction.DOWNSTREAM, limits(depth, as_of, direct=direct, ever=ever))

    def between(self, source: str, target: str, *, direct: bool = False, as_of: str = "", ever: bool = False) -> Answer:
        """
        Return the ways from one thing to another, and nothing else.

        Args:
            source: where they begin, as in `upstream`.
            target: where they end. If the source is a column and the target a dataset, any column of that.
            direct: as in `upstream`.
            as_of: as there.
            ever: as there.

        Raises:
            StoreError: as there.
        """
        start, end = find(self._tables, source), find(self._tables, target)
        if end.column and not start.column:
            raise StoreError(f"{source} is a dataset and {target} a column: name a column of {start.dataset.label} too")
        reached = reach(
            self._tables, _place(start), Direction.DOWNSTREAM, limits(None, as_of, direct=direct, ever=ever)
        )
        return self._answer("between", between(reached, _place(end)))

    def graph(
        self, around: str = "", *, depth: int | None = None, direct: bool = False, as_of: str = "", ever: bool = False
    ) -> Graph:
        """
        Return the lineage as a graph.

        Args:
            around: a dataset or a column, as in `upstream`: the graph has what is upstream and downstream of it. Empty
                for all that the store has.
            depth: with `around`, how many jobs to pass at most each way; None for all.
            direct: as in `upstream`.
            as_of: as there.
            ever: as there.

        Raises:
            StoreError: as there.
        """
        return whole_graph(self._tables, limits(depth, as_of, direct=direct, ever=ever), around)

    def datasets(self, *, containing: str = "") -> list[DatasetLine]:
        """Return the datasets of which a name contains a text."""
        return dataset_lines(self._tables, containing=containing)

    def jobs(self, *, containing: str = "") -> list[JobLine]:
        """Return the jobs whose names contain a text."""
        return jobs(self._tables, containing=containing)

    def runs(
        self, *, job: str = "", states: Iterable[str] = (), since: str = "", limit: int | None = None
    ) -> list[RunLine]:
        """
        Return runs, the latest first.

        Args:
            job: a text that the job's name contains.
            states: such as FAIL and ABORT; all if there is none.
            since: a time or an age, as `as_of` in `upstream`; empty for all.
            limit: how many at most.

        Raises:
            StoreError: the time can't be read.
        """
        begin = time_of(since, datetime.now(timezone.utc)) if since else 0
        return runs(self._tables, job=job, states=states, since=begin, limit=limit)

    def history(self, thing: str) -> list[Version]:
        """
        Return the versions of a dataset, the latest first.

        Raises:
            StoreError: nothing is called so, or several things are.
        """
        return history(self._tables, thing)

    def _reached(self, thing: str, direction: Direction, how_far: Limits) -> Answer:
        start = find(self._tables, thing)
        return self._answer(direction.value, reach(self._tables, _place(start), direction, how_far))

    def _answer(self, question: str, reached: Closure) -> Answer:
        places = {reached.start: 0, **reached.depths, **reached.passed}
        named = datasets(self._tables, (place[0] for place in places))
        shown = {place: _node(named[place[0]], place[1], depth) for place, depth in places.items()}
        jobs = self._jobs(edge.job_id for edge in reached.edges)
        links = [
            Link(
                shown[edge.source],
                shown[edge.target],
                *jobs[edge.job_id],
                tuple(kind for kind, _ in edge.kinds),
                tuple(text for _, text in edge.kinds),
                edge.last_run,
            )
            for edge in reached.edges
        ]
        nodes = sorted((shown[place] for place in reached.depths), key=_closest)
        links.sort(
            key=lambda link: (
                max(link.source.depth, link.target.depth),
                _closest(link.source),
                _closest(link.target),
                link.job,
            )
        )
        return Answer(question, shown[reached.start], tuple(nodes), tuple(links))

    def _jobs(self, ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return the name and the namespace of jobs."""
        found: dict[int, tuple[str, str]] = {}
        for listed in id_lists(ids):
            sql = f"SELECT job_id, name, namespace FROM job WHERE job_id IN ({listed})"  # noqa: S608 (numbers alone)
            found |= {job_id: (name, namespace) for job_id, name, namespace in self._tables.query(sql)}
        return found


def limits(depth: int | None, as_of: str, *, direct: bool, ever: bool) -> Limits:
    """
    Return the limits of a question.

    Raises:
        StoreError: the time can't be read.
    """
    return Limits(depth, direct, time_of(as_of, datetime.now(timezone.utc)) if as_of else None, ever)


def time_of(text: str, now: datetime) -> int:
    """
    Return a time that people write, as microseconds since 1970.

    Args:
        text: an ISO 8601 time, in UTC if it has no zone, or an age such as `90 d` or `2h`.
        now: from when an age counts.

    Raises:
        StoreError: it is neither.
    """
    if age := _AGO.fullmatch(text.strip()):
        return (now - timedelta(**{_UNITS[age[2]]: int(age[1])}) - _EPOCH) // timedelta(microseconds=1)
    try:
        return microseconds(text)
    except ValueError:
        raise StoreError(f"{text!r} is no time: write 2026-01-31T12:00:00Z, 2026-01-31, or an age such as 2d") from None


def _place(thing: Thing) -> Place:
    return thing.dataset.id, thing.column


def _node(dataset: DatasetName, column: str, depth: int) -> Node:
    return Node(dataset.label, column, dataset.namespace, dataset.name, depth)


def _closest_link(link: Link) -> tuple[object, ...]:
    depth = max(link.source.depth, link.target.depth)
    return depth, _closest(link.source), _closest(link.target), link.job


def _closest(node: Node) -> tuple[int, str, str, str]:
    return node.depth, node.dataset, node.column, node.name
