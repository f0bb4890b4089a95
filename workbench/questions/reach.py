"""
What lies upstream and downstream of a dataset or of a column, the closest first.

The store is asked level by level: each query finds the neighbours of all that the last one found, until nothing new
comes. So the cost grows with what is reached, on each engine alike.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias

import attrs
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.store.current import Current
from openlineage_pyspark.workbench.store.tables.ids import MOST_IN_A_LIST, id_lists, in_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.store.names import QueriedTables

Place: TypeAlias = "tuple[int, str]"
"""A dataset's id and a column; the column is empty for the dataset, or for all of its rows."""


class Direction(enum.Enum):
    """Which way to go."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


@attrs.frozen(order=True)
class PlaceKind:
    """
    How a column gets to its target.

    Args:
        type: DIRECT or INDIRECT; empty if the event does not say.
        subtype: such as `AGGREGATION`; empty if the event does not say.
        text: what makes it.
        masked: whether the value can't be recognized afterwards.
        last_run: the last run that said so; empty if it is not known.
    """

    type: str
    subtype: str
    text: str
    masked: bool
    last_run: str


@attrs.frozen
class PlaceEdge:
    """
    One job makes one place from another.

    Args:
        source: where the data come from.
        target: where they go.
        job_id: the job.
        kinds: how a column gets there; empty between datasets.
    """

    source: Place
    target: Place
    job_id: int
    kinds: tuple[PlaceKind, ...] = ()


@attrs.frozen
class Closure:
    """
    What is reached from a place.

    Args:
        start: the place.
        direction: the way that was gone.
        depths: each place that is reached -> how many jobs lie between, closest first; the start is not among them.
        passed: each further place at which an edge ends -> the same. It belongs to one that is reached: all rows of its
            dataset, or a field of its struct.
        edges: all edges that were passed, each one once.
    """

    start: Place
    direction: Direction
    depths: dict[Place, int]
    passed: dict[Place, int]
    edges: tuple[PlaceEdge, ...]


@attrs.frozen
class Limits:
    """
    How far to go.

    Args:
        depth: how many jobs to pass at most; None for all.
        direct: whether to pass only columns whose values arrive, and not those that decide about rows.
        as_of: the time for which to answer, microseconds since 1970; None for now.
        ever: whether to pass what a job did once and does no longer.
        now: without a time, what is later does not count yet.
        since: leave out what jobs do that were not seen since, microseconds since 1970; 0 for nothing.
    """

    depth: int | None = None
    direct: bool = False
    as_of: int | None = None
    ever: bool = False
    now: int = FOREVER
    since: int = 0

    @property
    def time(self) -> int:
        """Return the time for which to answer."""
        return self.now if self.as_of is None else self.as_of


def reach(tables: QueriedTables, start: Place, direction: Direction, limits: Limits) -> Closure:
    """
    Return what is upstream or downstream of a place.

    Args:
        tables: the store.
        start: where to begin. With a column, columns are followed, else datasets.
        direction: the way.
        limits: how far.
    """
    depths, passed, edges = reach_all(tables, [start], direction, limits, by_columns=bool(start[1]))
    del depths[start]
    return Closure(start, direction, depths, passed, edges)


def reach_all(
    tables: QueriedTables, starts: Iterable[Place], direction: Direction, limits: Limits, *, by_columns: bool
) -> tuple[dict[Place, int], dict[Place, int], tuple[PlaceEdge, ...]]:
    """
    Return what is upstream or downstream of several places.

    Args:
        tables: the store.
        starts: where to begin.
        direction: the way.
        limits: how far.
        by_columns: whether columns are followed, and not datasets. An empty column of a start is then each of them.

    Returns:
        The depths with those of the starts, what is passed, and the edges, as in `Closure`.
    """
    current = current_of(tables, limits)
    step = _column_edges if by_columns else _dataset_edges
    depths: dict[Place, int] = dict.fromkeys(starts, 0)
    edges: dict[tuple[Place, Place, int], PlaceEdge] = {}
    passed: dict[Place, int] = {}
    frontier, depth = list(depths), 0
    unseen = unseen_jobs(tables, limits)
    while frontier and (limits.depth is None or depth < limits.depth):
        depth += 1
        following: dict[Place, None] = {}
        for edge in step(tables, frontier, direction, limits, current):
            if edge.job_id in unseen:
                continue
            edges.setdefault((edge.source, edge.target, edge.job_id), edge)
            begin, end = edge.source, edge.target
            if direction is Direction.UPSTREAM:
                begin, end = end, begin
            passed.setdefault(begin, depth - 1)
            if end not in depths:
                depths[end] = depth
                following[end] = None
        frontier = list(following)
    return depths, {place: depth for place, depth in passed.items() if place not in depths}, tuple(edges.values())


def leads_on(
    tables: QueriedTables, depths: dict[Place, int], direction: Direction, limits: Limits, *, by_columns: bool
) -> bool:
    """
    Return whether something lies beyond the depth at which an answer ends.

    Args:
        tables: the store.
        depths: what is reached, as `reach_all` returned it.
        direction: the way.
        limits: those of the answer.
        by_columns: as in `reach_all`.
    """
    last = [place for place, depth in depths.items() if depth == limits.depth]
    if limits.depth is None or not last:
        return False
    step = _column_edges if by_columns else _dataset_edges
    down = direction is Direction.DOWNSTREAM
    edges = step(tables, last, direction, limits, current_of(tables, limits))
    return any((edge.target if down else edge.source) not in depths for edge in edges)


def limit_diagnostic(direction: Direction, limits: Limits) -> Diagnostic:
    """Return what says that an answer ends at its depth, and that more lies beyond."""
    message = f"more lies {direction.value}: the answer ends at the depth {limits.depth}"
    return Diagnostic("limit", message, missing=True)


def datasets_of_job(tables: QueriedTables, job_id: int, direction: Direction, limits: Limits) -> list[Place]:
    """Return what a job writes, to go downstream from it, or what it reads, to go upstream."""
    table = "told_write" if direction is Direction.DOWNSTREAM else "told_read"
    rows = tables.query(
        f"SELECT i.dataset_id, l.first_time, l.last_time FROM {table} l "  # noqa: S608 (our own names)
        "JOIN dataset_identity i ON i.name_id = l.name_id WHERE l.job_id = ?",
        (job_id,),
    )
    current = current_of(tables, limits)
    current.learn([job_id])
    if direction is Direction.DOWNSTREAM:
        return sorted({(each, "") for each, *span in rows if current.holds(job_id, each, *span)})
    return sorted({(each, "") for each, *span in rows if current.holds_read(job_id, *span)})


def unseen_jobs(tables: QueriedTables, limits: Limits) -> frozenset[int]:
    """Return the jobs that were last seen before the time from which on facts count."""
    if not limits.since:
        return frozenset()
    return frozenset(row[0] for row in tables.query("SELECT job_id FROM job WHERE last_time < ?", (limits.since,)))


def current_of(tables: QueriedTables, limits: Limits) -> Current:
    """Return what tells which of all that was said holds within some limits."""
    return Current(tables, limits.time, ever=limits.ever)


def part_between(reached: Closure, end: Place) -> Closure:
    """
    Return the part of what is reached that lies on a way to a place.

    Args:
        reached: what is downstream of the first place.
        end: the other place. An empty column stands for the whole dataset.
    """
    into: dict[int, list[PlaceEdge]] = {}
    for edge in reached.edges:
        into.setdefault(edge.target[0], []).append(edge)
    waiting, seen, kept = [end], {end}, dict[PlaceEdge, None]()
    while waiting:
        place = waiting.pop()
        for edge in into.get(place[0], ()):
            if _feeds(edge.target, place):
                kept[edge] = None
                if edge.source not in seen:
                    seen.add(edge.source)
                    waiting.append(edge.source)
    ends = {place for edge in kept for place in (edge.source, edge.target)}
    depths = {place: depth for place, depth in reached.depths.items() if place in ends}
    passed = {place: depth for place, depth in reached.passed.items() if place in ends}
    return Closure(reached.start, reached.direction, depths, passed, tuple(kept))


def _feeds(target: Place, place: Place) -> bool:
    """Return whether what arrives at one place of a dataset is part of another: of a struct, its fields, all rows."""
    arrived, asked = target[1], place[1]
    if not arrived or not asked or arrived == asked:
        return True
    return arrived.startswith(f"{asked}.") or asked.startswith(f"{arrived}.")


def _holding(said: list[tuple[PlaceEdge, int, int]], current: Current) -> Iterator[PlaceEdge]:
    """Yield those edges that hold, of edges with the first and the last time of each."""
    current.learn(edge.job_id for edge, _, _ in said)
    return (
        edge
        for edge, *span in said
        if current.holds(
            edge.job_id, edge.target[0], *span, by_run=not edge.kinds or any(kind.last_run for kind in edge.kinds)
        )
    )


def _dataset_edges(
    tables: QueriedTables, frontier: list[Place], direction: Direction, _limits: Limits, current: Current
) -> Iterator[PlaceEdge]:
    here = "s" if direction is Direction.DOWNSTREAM else "t"
    for listed in id_lists(place[0] for place in frontier):
        rows = tables.query(
            "SELECT s.dataset_id, t.dataset_id, f.job_id, f.first_time, f.last_time "  # noqa: S608 (numbers alone)
            "FROM told_flow f JOIN dataset_identity s ON s.name_id = f.input_id "
            f"JOIN dataset_identity t ON t.name_id = f.output_id WHERE {here}.dataset_id IN ({listed})"
        )
        current.learn({row[2] for row in rows})
        # Each version of the job says so at its times.
        held = {(row[0], row[1], row[2]) for row in rows if current.holds(row[2], row[1], row[3], row[4])}
        yield from (PlaceEdge((source, ""), (target, ""), job) for source, target, job in sorted(held))


def _column_edges(
    tables: QueriedTables, frontier: list[Place], direction: Direction, limits: Limits, current: Current
) -> Iterator[PlaceEdge]:
    said = [
        (
            PlaceEdge(
                *((source, read), (target, written), job),
                (PlaceKind(type_ or "", subtype or "", text or "", bool(masked), run or ""),),
            ),
            *span,
        )
        for query, parameters in _column_queries(frontier, direction)
        for source, read, target, written, job, type_, subtype, text, masked, run, *span in tables.query(
            query, parameters
        )
        if not limits.direct or type_ != "INDIRECT"
    ]
    found: dict[tuple[Place, Place, int], set[PlaceKind]] = {}
    for edge in _holding(said, current):
        found.setdefault((edge.source, edge.target, edge.job_id), set()).update(edge.kinds)
    for key in sorted(found):
        # Of one kind that several names of a dataset have, the last one stays.
        latest = {attrs.astuple(kind)[:-1]: kind for kind in sorted(found[key])}
        yield PlaceEdge(*key, tuple(latest.values()))


def _column_queries(frontier: list[Place], direction: Direction) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """
    Return the queries for the edges at some places, with their parameters.

    A struct has its fields, and a field is read where its struct is. All rows of a dataset have all of its columns.
    """
    down = direction is Direction.DOWNSTREAM
    here, column = ("s", "input_column") if down else ("t", "output_column")
    select = (
        "SELECT s.dataset_id, c.input_column, t.dataset_id, c.output_column, c.job_id, c.type, c.subtype, "
        "c.expression, c.masking, c.last_run, c.first_time, c.last_time FROM told_edge c "
        "JOIN dataset_identity s ON s.name_id = c.input_id JOIN dataset_identity t ON t.name_id = c.output_id"
    )
    for listed in id_lists(place[0] for place in frontier if not place[1]):
        yield f"{select} WHERE {here}.dataset_id IN ({listed})", ()
    columns = [place for place in frontier if place[1]]
    exact = [(dataset, name) for dataset, path in columns for name in (*_above(path), *(() if down else ("",)))]
    for values, parameters in _values(exact):
        on = f"f.dataset_id = {here}.dataset_id AND f.name = c.{column}"
        yield f"WITH f (dataset_id, name) AS ({values}) {select} JOIN f ON {on}", parameters
    for values, parameters in _values([(dataset, f"{path}.") for dataset, path in columns]):
        # What begins with the path and a dot: the slash is the character after the dot.
        below = f"c.{column} >= f.name AND c.{column} < substr(f.name, 1, length(f.name) - 1) || '/'"
        on = f"f.dataset_id = {here}.dataset_id AND {below}"
        yield f"WITH f (dataset_id, name) AS ({values}) {select} JOIN f ON {on}", parameters


def _above(path: str) -> Iterator[str]:
    """Return a column's path and those of the structs that it stands in."""
    yield path
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def _values(places: list[Place]) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Return places as a list of values in SQL with its parameters, not too many in one."""
    for part in in_parts(sorted(set(places)), MOST_IN_A_LIST // 2):
        yield "VALUES " + ", ".join(f"({dataset}, ?)" for dataset, _ in part), tuple(name for _, name in part)
