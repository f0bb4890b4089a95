"""The owners of datasets and jobs, for people who look at a graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.events.read import facts
from openlineage_pyspark.workbench.model.graph import DatasetNode, JobNode, RunNode
from openlineage_pyspark.workbench.model.times import FOREVER
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.tables.ids import id_lists, marked_lists

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.events.facts import StatedOwner
    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.model.kinds import NodeId
    from openlineage_pyspark.workbench.store.names import QueriedTables

_EVENTS = "SELECT time, event_id, json FROM event WHERE {} AND json LIKE '%\"ownership\"%' AND time <= ?"


def owners(tables: QueriedTables, graph: Graph, time: int = FOREVER) -> dict[NodeId, tuple[StatedOwner, ...]]:
    """
    Return the owners of the datasets and jobs of a graph, where an event names them.

    The events of the last run of each job count, and those without a run; the latest one that names owners decides.

    Args:
        tables: the store.
        graph: the graph, with the runs of its jobs.
        time: until when, microseconds since 1970.
    """
    found: dict[tuple[str, int], tuple[StatedOwner, ...]] = {}
    for text in _texts(tables, graph, time):
        event = facts(json.loads(text))
        named = [(("dataset", identity("dataset", each.namespace, each.name)), each.owners) for each in event.datasets]
        if event.job is not None:
            named.append((("job", identity("job", event.job.namespace, event.job.name)), event.job.owners))
        for key, each in named:
            if each:
                # A table of several names has the owners of the latest one.
                found.pop(key, None)
                found[key] = each
    same: dict[int, int] = {}
    for listed in id_lists(id_ for kind, id_ in found if kind == "dataset"):
        sql = f"SELECT name_id, dataset_id FROM dataset_identity WHERE name_id IN ({listed})"  # noqa: S608 (numbers)
        same |= dict(tables.query(sql))
    known = {(kind, same.get(id_, id_) if kind == "dataset" else id_): each for (kind, id_), each in found.items()}
    kinds = {DatasetNode: "dataset", JobNode: "job"}
    every = (
        (node.id, (kinds[type(node)], identity(kinds[type(node)], node.namespace, node.name)))
        for node in graph.nodes
        if isinstance(node, DatasetNode | JobNode)
    )
    return {node: known[key] for node, key in every if key in known}


def _texts(tables: QueriedTables, graph: Graph, time: int) -> list[str]:
    """Return the events that name owners, in order: those without a run, and those of the last run of each job."""
    found = tables.query(_EVENTS.format("run_id = ''"), (time,))
    last: dict[NodeId, str] = {}
    for node in graph.nodes:
        if isinstance(node, RunNode):
            last.setdefault(node.job, node.run_id)
    for marks, runs in marked_lists(last.values()):
        found = [*found, *tables.query(_EVENTS.format(f"run_id IN ({marks})"), (*runs, time))]
    return [text for _, _, text in sorted(found)]
