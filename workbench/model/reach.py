"""What is upstream or downstream of a node: a graph, with the distance of each of its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.model.document import frozen_mapping
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    Node,
    OperatorNode,
    RunNode,
    VersionNode,
)

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.kinds import NodeId

_COLUMNS = (
    *("depth", "source", "source_column", "target", "target_column"),
    *("kinds", "expression", "job", "last_run", "certainty"),
)
_VERSION_COLUMNS = ("source_version", "target_version", "batch", "kept", "inferred")


@attrs.frozen
class Reach:
    """
    What is upstream of a node, downstream of it, or between two nodes.

    Args:
        graph: the nodes and edges, nearest first. An edge leads from a table to a table, from a column to a column,
            from a version to a version or from a job to a job: its `job` makes the target from the source.
        start: the ids of the requested nodes.
        depths: the id of a node at an end of an edge -> the number of jobs between it and the start.
        nodes: the nodes of the graph by their ids.
    """

    graph: Graph
    start: tuple[NodeId, ...]
    depths: Mapping[NodeId, int] = attrs.field(converter=frozen_mapping, hash=False)
    nodes: Mapping[NodeId, Node] = attrs.field(init=False, eq=False, hash=False, repr=False)
    _several: Collection[str] = attrs.field(init=False, eq=False, hash=False, repr=False)

    @nodes.default
    def _by_id(self) -> Mapping[NodeId, Node]:
        return {node.id: node for node in self.graph.nodes}

    @_several.default
    def _names_of_several_jobs(self) -> Collection[str]:
        often = Counter(node.name for node in self.graph.nodes if isinstance(node, JobNode))
        return frozenset(name for name, count in often.items() if count > 1)

    def label(self, node: NodeId) -> str:
        """Return the name of a node for people, such as `sales.orders.amount`, `sales.orders@5` or `job:daily`."""
        found = self.nodes[node]
        if isinstance(found, VersionNode):
            return f"{self.dataset_name(node)}@{found.version or '?'}"
        if isinstance(found, ColumnNode):
            return f"{self.dataset_name(node)}.{found.name}"
        if isinstance(found, JobNode):
            return f"job:{self._job_name(found.namespace, found.name)}"
        if isinstance(found, RunNode):
            return f"run:{found.run_id}"
        return found.title if isinstance(found, OperatorNode) else found.label

    def owner(self, node: NodeId) -> Node:
        """Return the dataset of a column or a version, the job of a run; of another node, the node itself."""
        found = self.nodes[node]
        if isinstance(found, RunNode):
            return self.nodes[found.job]
        return self.nodes[found.dataset] if isinstance(found, (ColumnNode, VersionNode)) else found

    def dataset_name(self, node: NodeId) -> str:
        """Return the label of the dataset of a node; empty for a job and a run."""
        owner = self.owner(node)
        return owner.label if isinstance(owner, DatasetNode) else ""

    def column(self, node: NodeId) -> str:
        """Return the name of a column; empty for another node."""
        found = self.nodes[node]
        return found.name if isinstance(found, ColumnNode) else ""

    def version(self, node: NodeId) -> str:
        """Return the version that a node is; empty for another node."""
        found = self.nodes[node]
        return found.version if isinstance(found, VersionNode) else ""

    def job(self, edge: Edge) -> tuple[str, str]:
        """Return the namespace and the name of the job of an edge; empty if it is unknown."""
        found = self.nodes.get(edge.job)
        return (found.namespace, found.name) if isinstance(found, JobNode) else ("", "")

    def _job_name(self, namespace: str, name: str) -> str:
        """Return the name of a job, with its namespace if another job here has that name."""
        return f"{namespace}/{name}" if name in self._several else name

    def depth(self, edge: Edge) -> int:
        """Return the distance of an edge's farther end from the start."""
        return max(self.depths[edge.source], self.depths[edge.target])

    @property
    def ends(self) -> tuple[Node, ...]:
        """Return the start and the nodes at which edges begin or end, nearest first."""
        return tuple(self.nodes[node] for node in self.depths)

    def nearest_first(self) -> Reach:
        """Return it with its nodes and edges sorted: the start, then the nearest first."""
        edges = sorted(self.graph.edges, key=self._edge_order)
        depths = {node: self.depths[node] for node in (*self.start, *sorted(self.depths, key=self._order))}
        ids = [id_ for node in depths for id_ in (self.owner(node).id, node)]
        nodes = {id_: self.nodes[id_] for id_ in (*ids, *(edge.job for edge in edges if edge.job))}
        return Reach(attrs.evolve(self.graph, nodes=nodes.values(), edges=edges), self.start, depths)

    def _order(self, node: NodeId) -> tuple[int, str, str, str, str, str]:
        owner = self.owner(node)
        name = owner.name if isinstance(owner, (DatasetNode, JobNode)) else ""
        return self.depths[node], self.dataset_name(node), self.column(node), self.version(node), name, node

    def _edge_order(self, edge: Edge) -> tuple[object, ...]:
        return self.depth(edge), self._order(edge.source), self._order(edge.target), self.job(edge)[::-1], edge.run

    def table(self) -> tuple[tuple[str, ...], list[tuple[str | int | bool | None, ...]]]:
        """Return the edges as a table: the names of its columns, and its rows."""
        by_version = any(isinstance(node, VersionNode) for node in self.ends)
        rows: list[tuple[str | int | bool | None, ...]] = []
        for edge in self.graph.edges:
            both = (edge.source, edge.target)
            names = (cell for end in both for cell in (self.dataset_name(end) or self.label(end), self.column(end)))
            texts = ([str(path.kind) for path in edge.paths], [path.expression for path in edge.paths])
            how = ("; ".join(filter(None, dict.fromkeys(each))) for each in texts)
            job = self._job_name(*self.job(edge))
            row: tuple[str | int | bool | None, ...] = (
                self.depth(edge),
                *names,
                *how,
                job,
                edge.run_id,
                edge.least_certainty,
            )
            if by_version:
                row = (*row, *map(self.version, both), edge.batch, edge.kept, edge.is_inferred)
            rows.append(row)
        return (*_COLUMNS, *(_VERSION_COLUMNS if by_version else ())), rows

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**self.graph.to_dict(), "type": "reach", "start": list(self.start), "depths": dict(self.depths)}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Reach:
        """Return what `to_dict` wrote."""
        return cls(Graph.from_dict(document), tuple(document["start"]), document["depths"])
