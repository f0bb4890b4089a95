"""
The lineage of one output as frozen values: which source columns reach it, and how.

First the kinds of influence and how two of them compose; then the values of the columnLineage facet.
"""

from __future__ import annotations

import enum

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier


class Kind(enum.IntEnum):
    """
    How a source influences a target: type, subtype and masking of the columnLineage facet in one value.

    The DIRECT kinds are in the order of their strength: the strongest on a path is the kind of the path.
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
        """Return whether the target's value is computed from the source's value."""
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
    Return the kind of two consecutive steps on one path.

    Args:
        outer: the step nearer to the output.
        inner: the step nearer to the source.

    Returns:
        The outer kind if it is INDIRECT, else the inner one if that is; else the stronger DIRECT kind, masked if
        either is.
    """
    return _COMPOSED[outer, inner]


@attrs.frozen(order=True)
class Transformation:
    """
    How a source reaches its target (ColumnLineageDatasetFacet 1-2-0).

    Args:
        type: DIRECT or INDIRECT.
        subtype: IDENTITY, TRANSFORMATION, AGGREGATION; or FILTER, JOIN, GROUP_BY, SORT, WINDOW, CONDITIONAL.
        description: the SQL text of the expression; empty if there is none.
        masking: whether the source's value can't be read back, as after a hash or a count.
    """

    type: str
    subtype: str
    description: str = ""
    masking: bool = False


def transformation(kind: Kind, description: str) -> Transformation:
    """Return a kind as a transformation, with the SQL text of the expression."""
    subtype = kind.name.removeprefix("MASKED_")
    return Transformation("DIRECT" if kind.direct else "INDIRECT", subtype, description, kind.masking)


@attrs.frozen(order=True)
class Edge:
    """
    One source column of an output column, or of the output as a whole.

    Args:
        dataset: the source dataset.
        field: the source column; for a nested field, the column that holds it.
        transformations: the ways in which it influences the target, sorted, at least one.
    """

    dataset: Identifier
    field: str
    transformations: tuple[Transformation, ...]


@attrs.frozen
class OutputColumn:
    """One column of an output with its edges, sorted; a constant has none."""

    name: str
    edges: tuple[Edge, ...]


@attrs.frozen
class ColumnLineage:
    """
    The lineage of one output.

    Args:
        columns: all output columns, in the output's order.
        dataset: the edges that influence all rows (FILTER, JOIN, GROUP_BY, SORT), sorted.
    """

    columns: tuple[OutputColumn, ...]
    dataset: tuple[Edge, ...] = ()
