"""Compare the lineage of two states of scripts, and find what is downstream of each difference."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.from_plan import edges_of_output
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    Path,
    column_id,
    node_id,
    place_of_id,
    united,
)
from openlineage_pyspark.workbench.questions.below_changes import downstream_of
from openlineage_pyspark.workbench.questions.changes import Diff, PlacedGraph, differences
from openlineage_pyspark.workbench.report import table_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openlineage_pyspark.facets.model.dataset import Dataset, Field
    from openlineage_pyspark.workbench.predict.scripts import StatementLineage
    from openlineage_pyspark.workbench.store_api import Store

ColumnName = tuple[str, str]
"""A dataset's name and a column; the column is empty for all rows."""


def lineage_state_of(found: Iterable[StatementLineage]) -> PlacedGraph:
    """Return the columns that scripts write, and the edges that lead to them, by the names of the datasets."""
    columns: dict[ColumnName, str] = {}
    edges: list[tuple[ColumnName, ColumnName, tuple[Path, ...]]] = []
    tables: dict[tuple[str, str], None] = {}
    queries: Counter[str] = Counter()
    for each in found:
        if each.lineage is None:
            continue
        names = {dataset.identifier: name_of(dataset) for dataset in each.lineage.inputs}
        for dataset, lineage in each.lineage.outputs:
            if dataset is None:
                queries[each.statement.file] += 1
                target = f"{each.statement.file}: query {queries[each.statement.file]}"
            else:
                target = names[dataset.identifier] = name_of(dataset)
            columns |= {(target, name): type_ for name, type_ in _types(dataset.fields if dataset else ())}
            for column in lineage.columns:
                columns.setdefault((target, column.name), "")
            tables |= {(name_of(source), target): None for source in each.lineage.inputs if name_of(source) != target}
            for edge in edges_of_output(dataset, lineage):
                namespace, name, field = place_of_id(edge.source)
                paths = tuple(attrs.evolve(path, steps=()) for path in edge.paths)
                edges.append(((_source(namespace, name, names), field), (target, edge.target_column), paths))
    return _placed(columns, edges, tables)


def _placed(
    columns: Mapping[ColumnName, str],
    edges: Collection[tuple[ColumnName, ColumnName, tuple[Path, ...]]],
    tables: Collection[tuple[str, str]],
) -> PlacedGraph:
    every = {*columns, *(end for source, target, _ in edges for end in (source, target))}
    every |= {(each, "") for pair in tables for each in pair}
    every |= {(table, "") for table, _ in every}
    ids = {(table, column): column_id(node_id("dataset", "", table), column) for table, column in every}
    nodes = [DatasetNode("", table, table) for table in dict.fromkeys(table for table, _ in every)]
    parts = [ColumnNode(ids[table, ""], column, type_) for (table, column), type_ in columns.items() if column]
    made = (Edge(ids[source], ids[target], paths) for source, target, paths in edges)
    between = (Edge(ids[source, ""], ids[target, ""]) for source, target in tables)
    return PlacedGraph(Graph((*nodes, *parts), united((*made, *between))), {id_: place for place, id_ in ids.items()})


def compared(before: PlacedGraph, after: PlacedGraph, store: Store | None) -> tuple[Diff, tuple[str, ...]]:
    """
    Return the differences, with everything downstream of them in the scripts and in a store.

    Args:
        before: the earlier state.
        after: the later one.
        store: the lineage of other jobs; None to search only the scripts.

    Returns:
        The difference, and what could not be looked up in the store.
    """
    found = differences(before, after, str)
    starts = {*found.columns, *((table, "") for table in found.datasets)}
    depths = _downstream_of(starts, (before, after))
    unsearched: tuple[str, ...] = ()
    if store is not None:
        further, unsearched = downstream_of(store.tables, {place: depths.get(place, 0) for place in (*starts, *depths)})
        for place, depth in further.items():
            depths[place] = min(depth, depths.get(place, depth))
    labels = {f"{table}{'.' if column else ''}{column}": depth for (table, column), depth in depths.items()}
    return Diff(found.rows, tuple(sorted(labels.items(), key=lambda each: (each[1], each[0])))), unsearched


def readers_of(state: PlacedGraph, column: str) -> set[str]:
    """
    Return the columns that a single statement makes from a column in a state.

    Args:
        state: the state.
        column: the name of its table and its own name.
    """
    found = set()
    for edge in state.graph.edges:
        table, name = state.places[edge.source]
        if edge.paths and name and f"{table}.{name}" == column:
            target, field = state.places[edge.target]
            found.add(f"{target}.{field}" if field else target)
    return found


def name_of(dataset: Dataset) -> str:
    """Return the name of a dataset for people: for a table, the table's name."""
    return table_of(dataset) or dataset.identifier.text


def _source(namespace: str, name: str, names: Mapping[Identifier, str]) -> str:
    source = Identifier(namespace, name)
    return names.get(source, source.text)


def _types(fields: Iterable[Field], above: str = "") -> Iterable[tuple[str, str]]:
    """Yield the columns with their types, and the fields of structs."""
    for field in fields:
        yield f"{above}{field.name}", field.type
        if field.type == "struct":
            yield from _types(field.fields, f"{above}{field.name}.")


def _downstream_of(starts: Iterable[ColumnName], states: Iterable[PlacedGraph]) -> dict[ColumnName, int]:
    """Return the columns downstream of some columns -> the number of statements between them."""
    below: dict[ColumnName, set[ColumnName]] = {}
    columns: dict[str, set[ColumnName]] = {}
    for state in states:
        for edge in state.graph.edges:
            source, target = state.places[edge.source], state.places[edge.target]
            below.setdefault(source, set()).add(target)
            if edge.paths:
                columns.setdefault(source[0], set()).add(source)
    started = set(starts)
    depths: dict[ColumnName, int] = {}
    pending = deque((place, 0) for place in sorted(started))
    while pending:
        place, depth = pending.popleft()
        # A column that influences all rows of a table is a source of each of its columns.
        reads = {place, *(columns.get(place[0], ()) if not place[1] else ())}
        for target in sorted({each for read in reads for each in below.get(read, ())}):
            if target not in started and target not in depths:
                depths[target] = depth + 1
                pending.append((target, depth + 1))
    return depths
