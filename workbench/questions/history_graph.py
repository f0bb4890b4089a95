"""The versions of a dataset as a graph: each with the run that made it, and with the versions that this run read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import DatasetNode, Edge, JobNode, VersionNode
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.questions.lists import history_of
from openlineage_pyspark.workbench.store.names import find_dataset

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import Graph, Node
    from openlineage_pyspark.workbench.model.kinds import Certainty
    from openlineage_pyspark.workbench.questions.lists import InputVersion, VersionLine
    from openlineage_pyspark.workbench.store.names import QueriedTables


def history_graph(tables: QueriedTables, thing: str) -> Graph:
    """
    Return the versions of a dataset as a graph, the latest first.

    A run stands as a job of its own with the name of its job: so each line leads through the run that it belongs to.

    Args:
        tables: the store.
        thing: the dataset.

    Raises:
        StoreError: nothing has this name, or several things have it.
    """
    named = find_dataset(tables, thing)
    made = DatasetNode(named.namespace, named.name, named.label)
    nodes: dict[str, Node] = {made.id: made}
    edges: dict[Edge, None] = {}
    for version in history_of(tables, named):
        target = VersionNode(made.id, version.version, _made(version))
        nodes[target.id] = target
        run = JobNode(f"run {version.run_id}", version.job) if version.run_id else None
        if run is None:
            continue
        nodes.setdefault(run.id, run)
        edges[Edge(run.id, target.id, job=run.id)] = None
        for read in version.inputs:
            dataset, source = _read(read, made)
            nodes.setdefault(dataset.id, dataset)
            nodes.setdefault(source.id, source)
            certainty: Certainty = "guessed" if read.inferred else "exact"
            edges[Edge(source.id, target.id, job=run.id, certainty=certainty)] = None
    return ShownGraph(tuple(nodes.values()), tuple(edges))


def _read(read: InputVersion, own: DatasetNode) -> tuple[DatasetNode, DatasetNode | VersionNode]:
    """Return a dataset that was read, and its version; the dataset itself if that is not known."""
    dataset = own if read.dataset == own.label else DatasetNode("", read.dataset, read.dataset)
    return dataset, VersionNode(dataset.id, read.version) if read.version else dataset


def _made(version: VersionLine) -> str:
    """Return by which run, when and how a version was made."""
    rows = "" if version.rows is None else f"{version.rows:,} rows"
    run = f"run {version.run_id}" if version.run_id else ""
    return ", ".join(filter(None, (run, version.time.strftime("%Y-%m-%d %H:%M:%S"), version.change, rows)))
