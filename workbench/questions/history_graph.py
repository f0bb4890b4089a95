"""The versions of a dataset as a graph: each with the run that made it, and with the versions that this run read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import (
    INFERRED_VERSION,
    STATED,
    ColumnNode,
    DatasetNode,
    EdgeKind,
    GraphEdge,
    JobNode,
)
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.questions.lists import history_of
from openlineage_pyspark.workbench.store.names import find_dataset

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import Graph, Node
    from openlineage_pyspark.workbench.questions.lists import InputVersion, VersionLine
    from openlineage_pyspark.workbench.store.names import QueriedTables


def history_graph(tables: QueriedTables, thing: str) -> Graph:
    """
    Return the versions of a dataset as a graph, the latest first.

    A version stands as a column of its dataset, and a run as a job of its own with the name of its job: so each line
    leads through the run that it belongs to.

    Args:
        tables: the store.
        thing: the dataset.

    Raises:
        StoreError: nothing has this name, or several things have it.
    """
    named = find_dataset(tables, thing)
    made = DatasetNode(named.namespace, named.name, named.label)
    nodes: dict[str, Node] = {made.id: made}
    edges: dict[GraphEdge, None] = {}
    for version in history_of(tables, named):
        target = ColumnNode(made.id, _text(version.version))
        nodes.setdefault(target.id, target)
        run = JobNode(f"run {version.run_id}", version.job) if version.run_id else None
        if run is None:
            continue
        nodes.setdefault(run.id, run)
        edges[GraphEdge(run.id, target.id, EdgeKind.WRITE, STATED, job=run.id)] = None
        for read in version.inputs:
            dataset, source = _read(read, made)
            nodes.setdefault(dataset.id, dataset)
            nodes.setdefault(source.id, source)
            sure = INFERRED_VERSION if read.inferred else STATED
            told = _told(version)
            edges[GraphEdge(source.id, target.id, EdgeKind.DERIVED, sure, expression=told, job=run.id)] = None
    return ShownGraph(tuple(nodes.values()), tuple(edges))


def _read(read: InputVersion, own: DatasetNode) -> tuple[DatasetNode, DatasetNode | ColumnNode]:
    """Return a dataset that was read, and its version; the dataset itself if that is not known."""
    dataset = own if read.dataset == own.label else DatasetNode("", read.dataset, read.dataset)
    return dataset, ColumnNode(dataset.id, _text(read.version)) if read.version else dataset


def _text(version: str) -> str:
    return f"@{version}"


def _told(version: VersionLine) -> str:
    """Return which run made a version, when, and how."""
    rows = "" if version.rows is None else f"{version.rows:,} rows"
    time = version.time.strftime("%Y-%m-%d %H:%M:%S")
    return ", ".join(filter(None, (f"run {version.run_id}", time, version.change, rows)))
