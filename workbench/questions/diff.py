"""Compare two states of lineage, and find what is downstream of each change."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.events.files import database_in, refuse_missing_file
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Edge, Graph, column_id, node_id, united
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.page.formats import text_of_comparison
from openlineage_pyspark.workbench.questions.arguments import limits_of
from openlineage_pyspark.workbench.questions.below_changes import downstream_of_changes
from openlineage_pyspark.workbench.questions.changes import (
    Diff,
    PlacedGraph,
    differences,
    markdown_of_diff,
    text_of_diff,
)
from openlineage_pyspark.workbench.questions.graph import whole_graph
from openlineage_pyspark.workbench.questions.oddities import bounded, dropped_diagnostics, oddities, text_only_edges
from openlineage_pyspark.workbench.questions.reach.reach import Limits
from openlineage_pyspark.workbench.questions.registry import Help, answered, input_diagnostics, last_seen, question
from openlineage_pyspark.workbench.questions.resolve import find_run, runs_within
from openlineage_pyspark.workbench.questions.run_details import details_of_runs, explained, gaps_of, stored_edge
from openlineage_pyspark.workbench.store.current import Current, EdgeRow
from openlineage_pyspark.workbench.store.described import described_by_runs
from openlineage_pyspark.workbench.store.events.ingest import rows_of_events
from openlineage_pyspark.workbench.store.events.rows import DatasetNameRow, identity
from openlineage_pyspark.workbench.store.names import QueriedTables, datasets, datasets_by_name, rows_by_text
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.sqlite.in_memory import events_in_memory
from openlineage_pyspark.workbench.store.tables.checked_sql import ANY, checked_sql

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.workbench.answer import Writer
    from openlineage_pyspark.workbench.model.kinds import Diagnostic
    from openlineage_pyspark.workbench.questions.reach.reach import Place

_SIDE = "a time, an age such as 2d, or `now`; or run:ID. On the command line, also an event file or a folder of them"
_RUN = "run:"


def _drawn(format_: str) -> Writer:
    """Return the drawing of the changes; as a page, of both sides in full."""

    def write(answer: Answer[Diff]) -> str:
        sides = answer.result.sides
        return "" if sides is None else text_of_comparison(*sides, format_)

    return write


_IN_WORDS: dict[str, Writer] = {
    "text": lambda answer: text_of_diff(answer.result),
    "markdown": lambda answer: markdown_of_diff(answer.result),
}
_WRITERS = _IN_WORDS | {format_: _drawn(format_) for format_ in ("mermaid", "dot", "svg", "html")}


def answer_of_files(before: str, after: str) -> Answer[Diff] | None:
    """
    Return the difference of two event files, or folders of them; None if neither side names a file.

    Raises:
        StoreError: one side looks like a file and does not exist, or only one side is a file; one is a store; or as
            `diff_of_files`.
        OSError: one can't be read.
    """
    files = [side for side in (before, after) if Path(side).exists()]
    for side in (before, after):
        if side not in files:
            refuse_missing_file(side)
    if len(files) == 1:
        other = after if files[0] == before else before
        raise StoreError(f"{files[0]} is a file, and {other} is not: name two files, or two times of a store")
    for file in files:
        if database := database_in(Path(file)):
            raise StoreError(f"{file} is {database}: name a store with --store, and two times to compare")
    if not files:
        return None
    return diff_of_files(Path(before), Path(after))


@question(_WRITERS, status=lambda answer: int(bool(answer.result.changes)), of_files=answer_of_files)
def diff(
    tables: QueriedTables,
    before: Annotated[str, Help(_SIDE, "A")],
    after: Annotated[str, Help("the same", "B")],
) -> Answer[Diff]:
    """
    Show which columns, edges and expressions changed between two points in time, or are different between two runs.

    The state at a time is the lineage that was current then. Everything downstream of a change is named
    too. The command line takes two event files instead, or folders of them; its exit code is 0 if nothing changed, 1
    if something did, and 2 if the two can't be compared.
    """
    if before.startswith(_RUN) or after.startswith(_RUN):
        found = [find_run(tables, each.removeprefix(_RUN)).run_id for each in (before, after)]
        sides = [runs_within(tables, run_id) for run_id in found]
        old, new = (_graph(tables, runs) for runs in sides)
        lost: Iterable[Diagnostic] = ()
    else:
        bounds = [bounded(tables, limits_of(None, "" if each == "now" else each)) for each in (before, after)]
        sides = [_runs_until(tables, limits.time) for limits in bounds]
        old, new = (_state(tables, tables, limits, runs) for limits, runs in zip(bounds, sides, strict=True))
        lost = dropped_diagnostics(tables.dropped())
    gaps = gaps_of(tables, (run for runs in sides for run in runs), FOREVER)
    unsure = (each for state in (old, new) for each in text_only_edges(state.whole or state.graph))
    compared = _diff(tables, old, new)
    writers = _IN_WORDS if compared.sides is None else _WRITERS
    return attrs.evolve(answered(compared, (*gaps, *unsure, *lost)), writers=writers)


def _runs_until(tables: QueriedTables, time: int) -> list[str]:
    jobs = [job for (job,) in tables.query("SELECT job_id FROM job WHERE first_time <= ?", (time,))]
    return sorted(Current(tables, time).runs(jobs))


def diff_of_files(before: Path, after: Path) -> Answer[Diff]:
    """
    Return the difference of two event files, or folders of them: of the current lineage after the events of each.

    Raises:
        OSError: one can't be read.
        StoreError: there are no events, or a file is compressed and its end is missing or damaged.
    """
    with ExitStack() as stack:
        # Both sides together decide which names belong to one dataset.
        both = stack.enter_context(Database(None))
        stores = [stack.enter_context(_read(path, both)) for path in (before, after)]
        limits = [bounded(store, Limits()) for store in stores]
        runs = [_runs_until(store, each.time) for store, each in zip(stores, limits, strict=True)]
        sides = [*zip(stores, limits, runs, strict=True)]
        states = [_state(store, both, at, own) for store, at, own in sides]
        lacking = [
            *(each for store, _, own in sides for each in gaps_of(store, own, FOREVER)),
            *(each for state in states for each in text_only_edges(state.whole or state.graph)),
            *(each for store in stores for each in (*input_diagnostics(store), *oddities(store))),
        ]
        answer = answered(_diff(both, *states), lacking)
        arguments = {"before": str(before), "after": str(after)}
        return attrs.evolve(answer, question="diff", arguments=arguments, last_seen=last_seen(both), writers=_WRITERS)


def _read(path: Path, both: Database) -> Database:
    """
    Return one side as a store in memory.

    Args:
        path: its files.
        both: the store of both sides.

    Raises:
        StoreError: there are no events, or not all of a file can be read: half of it can't be compared.
    """
    read = events_in_memory([path], beside=both)
    if read.damaged or not read.taken.events:
        read.database.close()
        raise StoreError(next(iter((*read.damaged, *read.taken.reasons)), f"{path} holds no events"))
    return read.database


def _texts_until(tables: QueriedTables, time: int, runs: Sequence[str]) -> Iterator[str]:
    """Yield the events of runs until a time, and those without a run: they state the schemas of that time."""
    yield from _texts_of_runs(tables, runs, time)
    alone = "SELECT json FROM event WHERE run_id = '' AND time <= ? ORDER BY time, event_id"
    yield from (text for (text,) in tables.query(alone, (time,)))


def _texts_of_runs(tables: QueriedTables, run_ids: Sequence[str], time: int | None = None) -> Iterator[str]:
    until = ANY if time is None else checked_sql("time <= {time}", time=time)
    sql = "SELECT json FROM event WHERE run_id IN ({marks}) AND {until} ORDER BY time, event_id"
    yield from (text for (text,) in rows_by_text(tables, sql, run_ids, until=until))


def _diff(tables: QueriedTables, old: PlacedGraph, new: PlacedGraph) -> Diff:
    """Return the difference of two states with the names that a store knows, and the store's nodes downstream of it."""
    ids = {dataset for state in (old, new) for dataset, _ in state.places.values()}
    labels = {id_: dataset.label for id_, dataset in datasets(tables, ids).items()}
    found = differences(old, new, labels.__getitem__)
    below = downstream_of_changes(tables, set(found.columns), {(id_, "") for id_ in found.datasets})
    return Diff(found.rows, below, None if old.whole is None or new.whole is None else (old.whole, new.whole))


def _state(store: QueriedTables, tables: QueriedTables, limits: Limits, runs: Sequence[str]) -> PlacedGraph:
    """
    Return the lineage of a store that is current at a time.

    Args:
        store: the store.
        tables: a store that knows all of its datasets by the names in the graph.
        limits: the time.
        runs: the runs whose events state the schemas, as `_runs_until` returns them.
    """
    rows = _rows_of(_texts_until(store, limits.time, runs))
    whole = whole_graph(store, limits)
    made = [edge for edge in whole.edges if edge.paths]
    flows = Current(store, limits.time).flows_into(
        {row[0] for row in store.query("SELECT dataset_id FROM dataset_identity")}
    )
    own = {node.id: identity("dataset", node.namespace, node.name) for node in whole.nodes if type(node) is DatasetNode}
    places = {node: (name_id, "") for node, name_id in own.items()}
    places |= {node.id: (own[node.dataset], node.name) for node in whole.nodes if type(node) is ColumnNode}
    names = {*own.values(), *(id_ for source, target, _ in flows for id_ in (source, target))}
    ids = datasets_by_name(
        tables, names | {each.name_id for each in map(DatasetNameRow._make, rows.get("dataset", ()))}
    )
    used = {(ids[places[node][0]], places[node][1]) for edge in made for node in (edge.source, edge.target)}
    named = datasets(tables, ids.values())

    def renamed(node: str) -> str:
        name_id, column = places[node]
        dataset = named[ids[name_id]]
        return column_id(node_id("dataset", dataset.namespace, dataset.name), column)

    edges = [attrs.evolve(edge, source=renamed(edge.source), target=renamed(edge.target), job="") for edge in made]
    between = {(ids[source], ids[target]) for source, target, _ in flows}
    return attrs.evolve(_placed(tables, _schemas(rows, ids), used, edges, between), whole=whole)


def _rows_of(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Return the rows of events by their tables; their values have the types of the columns."""
    rows: dict[str, list[Any]] = {}
    for part in rows_of_events(texts):
        for table, found in part.items():
            rows.setdefault(table, []).extend(found)
    return rows


def _schemas(rows: Mapping[str, list[Any]], ids: Mapping[int, int]) -> dict[Place, str]:
    """Return the types of the columns of datasets, according to the last schema that was stated of each."""
    columns: dict[Place, str] = {}
    latest: dict[int, int] = {}
    for name_id, _, _, _, _, stated in rows.get("dataset_column", ()):
        latest[ids[name_id]] = max(stated, latest.get(ids[name_id], stated))
    for name_id, column, type_, _, _, stated in rows.get("dataset_column", ()):
        if stated == latest[ids[name_id]]:
            columns[ids[name_id], column] = type_
    return columns


def _graph(tables: QueriedTables, runs: Sequence[str]) -> PlacedGraph:
    """Return the graph of all that the events of runs state, with the datasets as the store knows them."""
    rows = _rows_of(_texts_of_runs(tables, runs))
    ids = datasets_by_name(tables, {each.name_id for each in map(DatasetNameRow._make, rows.get("dataset", ()))})
    columns = _schemas(rows, ids)
    lineage = list(rows.get("column_lineage", ()))
    edges = _explained(tables, lineage, ids)
    used = {(ids[row[at]], row[at + 1]) for row in lineage for at in (0, 2)}
    between = {
        (ids[source], ids[name])
        for each in described_by_runs(tables, runs, FOREVER).values()
        for name, output in each.written.items()
        for source in (each.read if output.sources is None else output.sources)
    }
    return _placed(tables, columns, used, edges, between)


def _placed(
    tables: QueriedTables,
    columns: Mapping[Place, str],
    used: Iterable[Place],
    edges: Iterable[Edge],
    between: Collection[tuple[int, int]],
) -> PlacedGraph:
    """
    Return a graph of the nodes that a store knows by ids.

    Args:
        tables: the store.
        columns: the columns of schemas -> their types.
        used: the columns of edges.
        edges: the edges between columns, each with one path.
        between: the datasets that are made from datasets.
    """
    every = {*columns, *used, *((id_, "") for pair in between for id_ in pair)}
    named = datasets(tables, {id_ for id_, _ in every})
    nodes = {id_: DatasetNode(each.namespace, each.name, each.label) for id_, each in named.items()}
    parts = [ColumnNode(nodes[id_].id, column, type_) for (id_, column), type_ in columns.items() if column]
    made = (Edge(nodes[source].id, nodes[target].id) for source, target in between)
    bare = (attrs.evolve(edge, run="") for edge in edges)
    graph = Graph((*nodes.values(), *parts), united((*bare, *made)))
    return PlacedGraph(graph, {column_id(nodes[id_].id, column): (id_, column) for id_, column in every})


def _explained(tables: QueriedTables, lineage: Iterable[Any], ids: Mapping[int, int]) -> list[Edge]:
    """Return the edges of the graph for rows of column lineage, as the events of their runs state them."""
    named = datasets(tables, ids.values())
    nodes = {id_: node_id("dataset", named[id_].namespace, named[id_].name) for id_ in ids.values()}
    made, runs = [], set()
    for output, column, input_, field, _, type_, subtype, masking, text, _, _, _, time, run in lineage:
        ends = column_id(nodes[ids[input_]], field), column_id(nodes[ids[output]], column)
        row = EdgeRow(ids[input_], field, ids[output], column, 0, type_, subtype, masking, text, run, time)
        made.append(stored_edge(*ends, row, ""))
        runs |= {run} if run else set()
    return explained(made, details_of_runs(tables, runs, FOREVER), {})
