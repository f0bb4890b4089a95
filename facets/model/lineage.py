"""The lineage of one output as values: which source columns reach it, and how."""

from __future__ import annotations

import enum

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier


class Kind(enum.IntEnum):
    """
    The kinds of the columnLineage facet (type and subtype); a masked one can't be read back from its target.

    The order of the DIRECT ones is their strength: the strongest on a path names the path.
    """

    IDENTITY = 0
    TRANSFORMATION = 1
    MASKED_TRANSFORMATION = 2
    AGGREGATION = 3
    MASKED_AGGREGATION = 4
    FILTER = 5
    JOIN = 6
    GROUP_BY = 7
    SORT = 8
    WINDOW = 9
    CONDITIONAL = 10

    @property
    def direct(self) -> bool:
        """Return whether the source's value itself goes into the target's value."""
        return self < Kind.FILTER

    @property
    def masking(self) -> bool:
        """Return whether the source's value can't be read back from the target's."""
        return self in (Kind.MASKED_TRANSFORMATION, Kind.MASKED_AGGREGATION)


def _compose(outer: Kind, inner: Kind) -> Kind:
    if not outer.direct:
        return outer
    if not inner.direct:
        return inner
    aggregated = max(outer, inner) >= Kind.AGGREGATION
    masked = outer.masking or inner.masking
    if aggregated:
        return Kind.MASKED_AGGREGATION if masked else Kind.AGGREGATION
    return max(outer, inner)


_COMPOSED = {(outer, inner): _compose(outer, inner) for outer in Kind for inner in Kind}


def compose(outer: Kind, inner: Kind) -> Kind:
    """
    Return the kind of two steps on one path.

    Args:
        outer: the step nearer to the output.
        inner: the step nearer to the source.

    Returns:
        The nearer INDIRECT kind if there is one; else the stronger DIRECT one, masked if either step is.
    """
    return _COMPOSED[outer, inner]


def transformation(kind: Kind, description: str) -> Transformation:
    """Return the kind in the facet's words, with the SQL text of the expression."""
    subtype = kind.name.removeprefix("MASKED_")
    return Transformation("DIRECT" if kind.direct else "INDIRECT", subtype, description, kind.masking)


@attrs.frozen(order=True)
class Transformation:
    """How a source reaches its target (ColumnLineageDatasetFacet 1-2-0).

    Args:
        type: DIRECT or INDIRECT.
        subtype: IDENTITY, TRANSFORMATION, AGGREGATION; or FILTER, JOIN, GROUP_BY, SORT, WINDOW, CONDITIONAL.
        description: SQL text of the expression; empty where there is none.
        masking: whether the value can't be read back, as under a hash or a count.
    """

    type: str
    subtype: str
    description: str = ""
    masking: bool = False


@attrs.frozen(order=True)
class Edge:
    """One source column of an output column, or of the output as a whole.

    Args:
        dataset: the source.
        field: its column; of a nested field, the column that it stands in.
        transformations: each kind in which it arrives, sorted, at least one.
    """

    dataset: Identifier
    field: str
    transformations: tuple[Transformation, ...]


@attrs.frozen
class OutputColumn:
    """One column of an output and its edges, sorted; none for a constant."""

    name: str
    edges: tuple[Edge, ...]


@attrs.frozen
class ColumnLineage:
    """The whole of what one output's columns come from.

    Args:
        columns: every output column, in the output's order.
        dataset: the edges that influence all rows (FILTER, JOIN, GROUP_BY, SORT), sorted.
    """

    columns: tuple[OutputColumn, ...]
    dataset: tuple[Edge, ...] = ()
