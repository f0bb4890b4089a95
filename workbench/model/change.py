"""The differences between two graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from openlineage_pyspark.workbench.model.graph import ColumnNode, Edge, Graph, Node, node_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import Path

ChangeMark: TypeAlias = Literal["added", "removed", "changed"]
What: TypeAlias = Literal["column", "edge", "table edge"]


@attrs.frozen
class Change:
    """
    One difference.

    Args:
        sign: `added`, `removed` or `changed`.
        before: the node or edge before; None if there was none.
        after: the node or edge afterwards; None if there is none.
        place: the file and the line that make it; empty if they are unknown.
    """

    sign: ChangeMark
    before: Node | Edge | None
    after: Node | Edge | None
    place: str = ""

    @property
    def one(self) -> Node | Edge:
        """
        Return the node or edge afterwards; if it was removed, that before.

        Raises:
            ValueError: there is neither.
        """
        found = self.after if self.after is not None else self.before
        if found is None:
            raise ValueError("a change has what was before or what is after, or both")
        return found

    @property
    def what(self) -> What:
        """Return the kind of the changed element: a column, an edge of columns, or an edge of datasets."""
        one = self.one
        if not isinstance(one, Edge):
            return "column"
        return "edge" if one.paths else "table edge"

    @property
    def is_unmasked(self) -> bool:
        """Whether a value that was masked on every path arrives unmasked now."""
        before, after = self.before, self.after
        if not isinstance(before, Edge) or not isinstance(after, Edge):
            return False
        # A source that only decided about rows or values was not masked: no value arrived.
        values = [path for path in before.paths if not path.kind.is_influence]
        return bool(values) and all(path.kind.masking for path in values) and any(map(_is_open, after.paths))

    @property
    def texts(self) -> tuple[str, str]:
        """Return its texts before and afterwards: the type of a column, or the paths of an edge; empty if absent."""
        return _text(self.before), _text(self.after)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "sign": self.sign,
            "what": self.what,
            **({"place": self.place} if self.place else {}),
            **({"unmasked": True} if self.is_unmasked else {}),
            **({"before": self.before.to_dict()} if self.before is not None else {}),
            **({"after": self.after.to_dict()} if self.after is not None else {}),
        }

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Change:
        """Return the change that `to_dict` wrote."""
        before, after = (_side(document.get(key)) for key in ("before", "after"))
        return cls(document["sign"], before, after, document.get("place", ""))


def difference(before: Graph, after: Graph) -> tuple[Change, ...]:
    """
    Return the differences between two graphs; edges whose values are no longer masked come first.

    An edge has changed if its set of paths has: their kinds, expressions and certainties. Steps, runs and jobs do not
    count, and a column has changed if its type has. An unknown type equals any.

    Args:
        before: the earlier graph.
        after: the later graph.
    """
    changes: list[Change] = []
    old, new = (_columns(graph) for graph in (before, after))
    for id_ in sorted({*old, *new}):
        was, is_ = old.get(id_), new.get(id_)
        if was is None or is_ is None or (was.data_type and is_.data_type and was.data_type != is_.data_type):
            changes.append(Change(_mark(was, is_), was, is_))
    old_edges, new_edges = (_edges(graph) for graph in (before, after))
    for key in sorted({*old_edges, *new_edges}):
        made, makes = old_edges.get(key), new_edges.get(key)
        if (
            made is None
            or makes is None
            or (_stated(made.paths), made.certainty) != (_stated(makes.paths), makes.certainty)
        ):
            changes.append(Change(_mark(made, makes), made, makes))
    return tuple(sorted(changes, key=lambda change: not change.is_unmasked))


def changed_graph(before: Graph, after: Graph, changes: Iterable[Change]) -> Graph:
    """
    Return the changed edges with their end nodes as a graph. Removed edges are included as they were.

    Args:
        before: the earlier graph.
        after: the later graph.
        changes: the differences between the two.
    """
    edges = [change.one for change in changes if isinstance(change.one, Edge)]
    nodes: dict[str, Node] = {node.id: node for graph in (before, after) for node in graph.nodes}
    whole = Graph(nodes.values(), edges, (), after.time)
    return Graph(whole.ends(), edges, (), after.time)


def _columns(graph: Graph) -> dict[str, ColumnNode]:
    return {node.id: node for node in graph.nodes if isinstance(node, ColumnNode)}


def _edges(graph: Graph) -> dict[tuple[str, str, str], Edge]:
    return {edge.key: edge for edge in graph.edges}


def _mark(before: object, after: object) -> ChangeMark:
    return "added" if before is None else "removed" if after is None else "changed"


def _stated(paths: Iterable[Path]) -> frozenset[tuple[object, ...]]:
    return frozenset((path.kind, path.expression, path.certainty) for path in paths)


def _is_open(path: Path) -> bool:
    return not path.kind.masking and not path.kind.is_influence


def _text(side: Node | Edge | None) -> str:
    if isinstance(side, Edge):
        return "; ".join(sorted({path.text for path in side.paths}))
    return side.data_type if isinstance(side, ColumnNode) else ""


def _side(document: dict[str, Any] | None) -> Node | Edge | None:
    if document is None:
        return None
    return Edge.from_dict(document) if "source" in document else node_of(document)
