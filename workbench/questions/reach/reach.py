"""
Find the datasets and columns upstream and downstream of another one, the closest first.

The store is queried level by level: each query finds the neighbours of all that the last one found, until there are no
new ones. So the cost grows with the size of the answer, on each engine alike.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.store.current import EDGE_COLUMNS, EDGES, Current, edges_of_rows
from openlineage_pyspark.workbench.store.names import QueriedTables, rows_by_id
from openlineage_pyspark.workbench.store.tables.checked_sql import (
    ANY,
    MOST_IN_A_LIST,
    CheckedSql,
    checked_sql,
    id_lists,
    in_parts,
    sql_list,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.store.current import EdgeRow

Place: TypeAlias = "tuple[int, str]"
"""A dataset's id and a column; the column is empty for the dataset, or for all of its rows."""


class Direction(enum.Enum):
    """The direction of a traversal."""

    UPSTREAM = "upstream"
    DOWNSTREAM = "downstream"


@attrs.frozen
class PlaceEdge:
    """
    One job makes one place from another.

    Args:
        source: where the data come from.
        target: where they go.
        job_id: the job.
        rows: how a column gets there; empty between datasets.
    """

    source: Place
    target: Place
    job_id: int
    rows: tuple[EdgeRow, ...] = ()


@attrs.frozen
class Closure:
    """
    The result of a traversal from some places.

    Args:
        depths: each place of the result -> how many jobs are between, closest first; the starts at depth 0.
        passed: each further place at which an edge ends -> the same. It belongs to a place of the result: as all rows
            of its dataset, or as a field of its struct.
        edges: all edges that were passed, each one once.
        goes_on: whether the lineage continues beyond the depth at which the answer ends.
    """

    depths: dict[Place, int]
    passed: dict[Place, int]
    edges: tuple[PlaceEdge, ...]
    goes_on: bool = False


@attrs.frozen
class Limits:
    """
    How far to go.

    Args:
        depth: how many jobs to pass at most; None for all.
        direct: whether to pass only columns whose values arrive, and not those that decide about rows.
        as_of: the time for which to answer, microseconds since 1970; None for now.
        ever: whether to include lineage that a job no longer has.
        now: the time after which events are ignored if `as_of` is None, microseconds since 1970.
        since: ignore jobs that were not seen since, microseconds since 1970; 0 to ignore none.
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


def reach(
    tables: QueriedTables,
    starts: Iterable[Place],
    direction: Direction,
    limits: Limits,
    *,
    by_columns: bool,
    looks_on: bool = True,
) -> Closure:
    """
    Return the places upstream or downstream of others.

    Args:
        tables: the store.
        starts: where to begin.
        direction: upstream or downstream.
        limits: how far.
        by_columns: whether columns are followed, and not datasets. An empty column of a start is then each of them.
        looks_on: whether to find out if the lineage continues beyond the depth.
    """
    current = Current(tables, limits.time)
    unseen = unseen_jobs(tables, limits)
    depths: dict[Place, int] = dict.fromkeys(starts, 0)
    edges: dict[tuple[Place, Place, int], PlaceEdge] = {}
    passed: dict[Place, int] = {}
    frontier, depth = list(depths), 0

    def steps() -> Iterator[tuple[PlaceEdge, Place, Place]]:
        """Yield the edges at the frontier, each with its end that was found before, and the other end."""
        found = (_column_edges if by_columns else _dataset_edges)(tables, frontier, direction, limits, current)
        for edge in found:
            if edge.job_id not in unseen:
                down = direction is Direction.DOWNSTREAM
                yield edge, *((edge.source, edge.target) if down else (edge.target, edge.source))

    while frontier and (limits.depth is None or depth < limits.depth):
        depth += 1
        following: dict[Place, None] = {}
        for edge, begin, end in steps():
            edges.setdefault((edge.source, edge.target, edge.job_id), edge)
            passed.setdefault(begin, depth - 1)
            if end not in depths:
                depths[end] = depth
                following[end] = None
        frontier = list(following)
    goes_on = looks_on and bool(frontier) and any(end not in depths for _, _, end in steps())
    apart = {place: depth for place, depth in passed.items() if place not in depths}
    return Closure(depths, apart, tuple(edges.values()), goes_on)


def datasets_passed(reached: Closure, limits: Limits) -> set[int]:
    """Return the datasets of a result beyond which the traversal went on."""
    every = (*reached.passed.items(), *reached.depths.items())
    return {dataset for (dataset, _), depth in every if limits.depth is None or depth < limits.depth}


def runs_along(tables: QueriedTables, reached: Closure, direction: Direction, limits: Limits) -> set[str]:
    """
    Return the runs that state what is next to the places of a result; none if no run of the store has a gap.

    A gap of one of them may hide more of the result, also if the run states nothing about a column or a dataset of it.

    Args:
        tables: the store.
        reached: the result.
        direction: as in `reach`.
        limits: as in `reach`.
    """
    if not has_gaps(tables):
        return set()
    passed = datasets_passed(reached, limits)
    current, unseen = Current(tables, limits.time), unseen_jobs(tables, limits)
    if direction is Direction.DOWNSTREAM:
        return current.runs_from(passed, unseen)
    return current.runs_into(passed, unseen)


def runs_between(tables: QueriedTables, source: int, target: int, limits: Limits) -> set[str]:
    """
    Return the runs whose gaps may hide a path between two datasets; none if no run of the store has a gap.

    They write what is upstream of the target, and may also read what no event states. Or they read what is downstream
    of the source, and no event states what they write.

    Args:
        tables: the store.
        source: the dataset where the path begins.
        target: the dataset where it ends.
        limits: as in `reach`.
    """
    if not has_gaps(tables):
        return set()
    below, above = (
        {place[0] for place in reach(tables, [(end, "")], way, limits, by_columns=False, looks_on=False).depths}
        for end, way in ((source, Direction.DOWNSTREAM), (target, Direction.UPSTREAM))
    )
    current, unseen = Current(tables, limits.time), unseen_jobs(tables, limits)
    into, out = current.runs_into(above, unseen), current.runs_from(below, unseen)
    return into | current.without_outputs(out)


def has_gaps(tables: QueriedTables) -> bool:
    """Return whether any run of a store has a gap."""
    return bool(tables.query("SELECT 1 FROM gap LIMIT 1"))


def limit_diagnostic(direction: Direction, limits: Limits) -> Diagnostic:
    """Return the diagnostic about an answer that is cut at its depth."""
    message = f"there is more {direction.value}: the answer stops at depth {limits.depth}"
    return Diagnostic("limit", message, missing=True)


def datasets_of_job(tables: QueriedTables, job_id: int, direction: Direction, limits: Limits) -> list[Place]:
    """Return the outputs of a job, to go downstream, or its inputs, to go upstream."""
    down = direction is Direction.DOWNSTREAM
    if limits.ever:
        rows = tables.query(
            checked_sql(
                "SELECT DISTINCT i.dataset_id FROM {table} l "
                "JOIN dataset_identity i ON i.name_id = l.name_id WHERE l.job_id = ? AND l.first_time <= ?",
                table="stated_write" if down else "stated_read",
            ),
            (job_id, limits.time),
        )
        return sorted((each, "") for (each,) in rows)
    current = Current(tables, limits.time)
    if not down:
        return sorted((each, "") for each in current.reads([job_id])[job_id])
    outputs = current.outputs([job_id])
    current.learn(outputs)
    return sorted((each, "") for job, each in outputs if current.holds(job, each))


def unseen_jobs(tables: QueriedTables, limits: Limits) -> frozenset[int]:
    """Return the jobs that were last seen before the time from which facts count."""
    if not limits.since:
        return frozenset()
    return frozenset(row[0] for row in tables.query("SELECT job_id FROM job WHERE last_time < ?", (limits.since,)))


def part_between(reached: Closure, end: Place) -> Closure:
    """
    Return the part of a result that is on a path to a place.

    Args:
        reached: the places downstream of the first place.
        end: the other place. An empty column means the whole dataset.
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
    depths = {place: depth for place, depth in reached.depths.items() if place in ends or not depth}
    passed = {place: depth for place, depth in reached.passed.items() if place in ends}
    return Closure(depths, passed, tuple(kept))


def _feeds(target: Place, place: Place) -> bool:
    """Return whether what arrives at one place of a dataset is part of another: of a struct, its fields, all rows."""
    arrived, asked = target[1], place[1]
    if not arrived or not asked or arrived == asked:
        return True
    return arrived.startswith(f"{asked}.") or asked.startswith(f"{arrived}.")


def _dataset_edges(
    tables: QueriedTables, frontier: list[Place], direction: Direction, limits: Limits, current: Current
) -> Iterator[PlaceEdge]:
    down = direction is Direction.DOWNSTREAM
    datasets = {place[0] for place in frontier}
    if limits.ever:
        flows = _flows_ever(tables, datasets, "s" if down else "t", limits.time)
    else:
        flows = current.flows_from(datasets) if down else current.flows_into(datasets)
    return (PlaceEdge((source, ""), (target, ""), job) for source, target, job in sorted(flows))


def _flows_ever(tables: QueriedTables, datasets: Iterable[int], here: str, time: int) -> set[tuple[int, int, int]]:
    """Return the edges that jobs ever made between datasets: source, target and job."""
    sql = (
        "SELECT DISTINCT s.dataset_id, t.dataset_id, f.job_id FROM stated_flow f "
        "JOIN dataset_identity s ON s.name_id = f.input_id JOIN dataset_identity t ON t.name_id = f.output_id "
        "WHERE {here}.dataset_id IN ({ids}) AND f.first_time <= ?"
    )
    return {(source, target, job) for source, target, job in rows_by_id(tables, sql, datasets, (time,), here=here)}


def _column_edges(
    tables: QueriedTables, frontier: list[Place], direction: Direction, limits: Limits, current: Current
) -> Iterator[PlaceEdge]:
    found: dict[tuple[Place, Place, int], list[EdgeRow]] = {}
    for row in edges_of_rows(_edge_rows(tables, frontier, direction, limits, current)):
        if not limits.direct or row.type != "INDIRECT":
            found.setdefault(((row.source, row.read), (row.target, row.written), row.job), []).append(row)
    return (PlaceEdge(*key, tuple(rows)) for key, rows in found.items())


def _edge_rows(
    tables: QueriedTables, frontier: list[Place], direction: Direction, limits: Limits, current: Current
) -> Iterable[tuple[Any, ...]]:
    """Return the rows of the edges at some places that count under the limits."""

    def asked(condition: CheckedSql, columns: CheckedSql = EDGE_COLUMNS) -> Iterator[tuple[Any, ...]]:
        for query, parameters in _column_queries(frontier, direction, columns, condition):
            yield from tables.query(query, parameters)

    if limits.ever:
        return asked(checked_sql("c.first_time <= {time}", time=limits.time))
    if direction is Direction.UPSTREAM:
        outputs = current.writers({place[0] for place in frontier})
    else:
        outputs = {(job, target) for job, target in asked(ANY, _OUTPUTS)}
    return current.edges(outputs, asked)


def _column_queries(
    frontier: list[Place], direction: Direction, columns: CheckedSql, condition: CheckedSql
) -> Iterator[tuple[CheckedSql, tuple[str | int, ...]]]:
    """
    Return the queries for the edges at some places, with their parameters.

    A struct has its fields, and a field is read where its struct is. All rows of a dataset have all of its columns.
    """
    down = direction is Direction.DOWNSTREAM
    here, column = ("s", "input_column") if down else ("t", "output_column")
    every = {"columns": columns, "edges": EDGES, "here": here, "condition": condition}
    for listed in id_lists(place[0] for place in frontier if not place[1]):
        yield checked_sql(_OF_DATASETS, ids=listed, **every), ()
    named = [place for place in frontier if place[1]]
    # An edge without a column reads or writes all columns.
    exact = [(dataset, name) for dataset, path in named for name in (*_above(path), "")]
    for values, parameters in _values(exact):
        is_there = checked_sql("f.name = c.{column}", column=column)
        yield checked_sql(_OF_COLUMNS, values=values, is_there=is_there, **every), parameters
    for values, parameters in _values([(dataset, f"{path}.") for dataset, path in named]):
        is_there = checked_sql(_BELOW, column=column)
        yield checked_sql(_OF_COLUMNS, values=values, is_there=is_there, **every), parameters


def _above(path: str) -> Iterator[str]:
    """Yield a column's path and those of the structs that it is in."""
    yield path
    while "." in path:
        path = path.rpartition(".")[0]
        yield path


def _values(places: list[Place]) -> Iterator[tuple[CheckedSql, tuple[str | int, ...]]]:
    """Yield places as lists of values in SQL, each with its parameters and not too long."""
    for part in in_parts(sorted(set(places)), MOST_IN_A_LIST // 2):
        yield (
            checked_sql("({datasets}, ?)", datasets=sql_list([dataset for dataset, _ in part], ", ?), (")),
            tuple(name for _, name in part),
        )


_OUTPUTS = CheckedSql("DISTINCT c.job_id, t.dataset_id")
_OF_DATASETS = "SELECT {columns} FROM {edges} WHERE {here}.dataset_id IN ({ids}) AND {condition}"
_OF_COLUMNS = (
    "WITH f (dataset_id, name) AS (VALUES {values}) SELECT {columns} FROM {edges} "
    "JOIN f ON f.dataset_id = {here}.dataset_id AND {is_there} WHERE {condition}"
)
# A path and a dot at the beginning: the slash is the character after the dot.
_BELOW = "c.{column} >= f.name AND c.{column} < substr(f.name, 1, length(f.name) - 1) || '/'"
