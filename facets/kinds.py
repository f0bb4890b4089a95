"""How a source reaches its target, as a small algebra.

A path from a source to an output column is a chain of steps; `compose` says what two steps on one path amount to.
Several paths to one source are kept side by side, as a set of kinds, so that joining them is the union of sets.
`compose` is associative, IDENTITY is its unit, and a step never makes a path more direct than it was: no rule of an
operator has to think about what lies above or below it.
"""

from __future__ import annotations

import enum

from openlineage_pyspark.facets.column_lineage import Transformation


class Kind(enum.IntEnum):
    """The kinds of the columnLineage facet (type and subtype); a masked one can't be read back from its target.

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
        """Whether the source's value itself goes into the target's value."""
        return self < Kind.FILTER

    @property
    def masking(self) -> bool:
        """Whether the source's value can't be read back from the target's."""
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
    """What two steps on one path amount to.

    Args:
        outer: the step nearer to the output.
        inner: the step nearer to the source.

    Returns:
        the nearer INDIRECT kind where there is one; else the stronger DIRECT one, masked where either is.
    """
    return _COMPOSED[outer, inner]


def transformation(kind: Kind, description: str) -> Transformation:
    """The kind in the facet's words, with the SQL text of the expression."""
    subtype = kind.name.removeprefix("MASKED_")
    return Transformation("DIRECT" if kind.direct else "INDIRECT", subtype, description, kind.masking)
