"""How many rows were last written to each dataset, for people who look at a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import DatasetNode
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.store.events.rows import identity

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.model.kinds import NodeId
    from openlineage_pyspark.workbench.store.names import QueriedTables


def row_counts(tables: QueriedTables, graph: Graph, time: int = FOREVER) -> dict[NodeId, int]:
    """
    Return how many rows were last written to the datasets of a graph, where an event states it.

    Args:
        tables: the store.
        graph: the graph.
        time: until when, microseconds since 1970.
    """
    counts = {
        dataset: count
        for dataset, count, _ in tables.query(
            "SELECT i.dataset_id, l.row_count, l.time FROM sink_snapshot_lineage l "
            "JOIN dataset_identity i ON i.name_id = l.name_id WHERE l.row_count IS NOT NULL AND l.time <= ? "
            "ORDER BY l.time, l.run_id, l.batch_id",
            (time,),
        )
    }
    every = (node for node in graph.nodes if isinstance(node, DatasetNode))
    nodes = ((node, identity("dataset", node.namespace, node.name)) for node in every)
    return {node.id: counts[dataset] for node, dataset in nodes if dataset in counts}
