"""The owners of datasets and jobs, and the rows of datasets, for people who look at a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.events.facts import StatedOwner
from openlineage_pyspark.workbench.model.graph import DatasetNode, JobNode
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.names import rows_by_id

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.model.kinds import NodeId
    from openlineage_pyspark.workbench.store.names import QueriedTables

_OF_JOBS = "SELECT id, last_time, position, name, type FROM owner WHERE kind = 'job' AND id IN ({ids})"
_OF_DATASETS = (
    "SELECT n.name_id, o.last_time, o.position, o.name, o.type FROM dataset_identity n "
    "JOIN dataset_identity i ON i.dataset_id = n.dataset_id JOIN owner o ON o.kind = 'dataset' AND o.id = i.name_id "
    "WHERE n.name_id IN ({ids})"
)


def owners(tables: QueriedTables, graph: Graph) -> dict[NodeId, tuple[StatedOwner, ...]]:
    """
    Return the owners of the datasets and jobs of a graph: those of the latest event that names any.

    A table with several names has the owners that the latest event states of any of its names.

    Args:
        tables: the store.
        graph: the graph.
    """
    found: dict[NodeId, tuple[StatedOwner, ...]] = {}
    for kind, class_, sql in (("job", JobNode, _OF_JOBS), ("dataset", DatasetNode, _OF_DATASETS)):
        nodes = {identity(kind, n.namespace, n.name): n.id for n in graph.nodes if isinstance(n, class_)}
        rows: dict[int, list[tuple[int, int, str, str]]] = {}
        for id_, *row in rows_by_id(tables, sql, nodes):
            rows.setdefault(id_, []).append((row[0], row[1], row[2], row[3]))
        for id_, named in rows.items():
            latest = max(time for time, *_ in named)
            last = sorted(row[1:] for row in named if row[0] == latest)
            found[nodes[id_]] = tuple(StatedOwner(name, type_) for _, name, type_ in last)
    return found


def row_counts(tables: QueriedTables, graph: Graph) -> dict[NodeId, int]:
    """
    Return how many rows were last written to the datasets of a graph, where an event states it.

    Args:
        tables: the store.
        graph: the graph.
    """
    counts = {
        dataset: count
        for dataset, count, _ in tables.query(
            "SELECT i.dataset_id, l.row_count, l.time FROM sink_snapshot_lineage l "
            "JOIN dataset_identity i ON i.name_id = l.name_id WHERE l.row_count IS NOT NULL "
            "ORDER BY l.time, l.run_id, l.batch_id"
        )
    }
    every = (node for node in graph.nodes if isinstance(node, DatasetNode))
    nodes = ((node, identity("dataset", node.namespace, node.name)) for node in every)
    return {node.id: counts[dataset] for node, dataset in nodes if dataset in counts}
