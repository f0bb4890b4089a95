"""The edges of a lineage graph and of a Marquez, in the same terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Graph, JobNode

Edges = set[tuple[str, str]]
DEPTH = 20


def flows_told(answer: Any) -> Edges:
    """Return the edges between jobs and datasets that Marquez answers with, as pairs of its node ids."""
    found = [edge for node in answer["graph"] for edge in (*node["inEdges"], *node["outEdges"])]
    return {(edge["origin"], edge["destination"]) for edge in found}


def columns_told(answer: Any) -> Edges:
    """Return the edges between columns that Marquez answers with, as pairs of `dataset column`."""
    return {
        (f"{source['dataset']} {source['field']}", f"{found['data']['dataset']} {found['data']['field']}")
        for found in answer["graph"]
        if found["data"] is not None
        for source in found["data"]["inputFields"]
    }


def flows_of(graph: Graph) -> Edges:
    """Return the edges between jobs and datasets of a graph, as pairs of Marquez's node ids."""
    names = {node.id: node_id(node) for node in graph.nodes if isinstance(node, (DatasetNode, JobNode))}
    return {(names[edge.source], names[edge.target]) for edge in graph.edges if edge.is_flow}


def columns_of(graph: Graph) -> Edges:
    """Return the edges between columns of a graph, as pairs of `dataset column`. Marquez has none to all rows."""
    datasets = {node.id: node.name for node in graph.nodes if isinstance(node, DatasetNode)}
    names = {node.id: f"{datasets[node.dataset]} {node.name}" for node in graph.nodes if isinstance(node, ColumnNode)}
    return {
        (names[edge.source], names[edge.target]) for edge in graph.edges if {edge.source, edge.target} <= set(names)
    }


def node_id(node: DatasetNode | JobNode) -> str:
    """Return the id by which Marquez knows a dataset or a job."""
    return f"{'job' if isinstance(node, JobNode) else 'dataset'}:{node.namespace}:{node.name}"


def told_of(graph: Graph, ask: Callable[..., Any]) -> tuple[Edges, Edges]:
    """
    Return what a Marquez tells of the datasets of a graph: the edges between jobs and datasets, and between columns.

    Args:
        graph: the graph.
        ask: gives the answer of Marquez's API to a question, such as `ask("lineage", nodeId=...)`.
    """
    flows: Edges = set()
    columns: Edges = set()
    ends = {end for edge in graph.edges for end in (edge.source, edge.target)}
    for node in graph.nodes:
        if isinstance(node, DatasetNode) and node.id in ends:
            flows |= flows_told(ask("lineage", nodeId=node_id(node), depth=DEPTH))
            columns |= columns_told(ask("column-lineage", nodeId=node_id(node), depth=DEPTH))
    return flows, columns
