"""The lineage of one output as values: which source columns reach it, and how."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.dataset import Identifier


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
        transformations: each way in which it arrives, sorted, at least one.
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
        dataset: the edges that decide about all rows (FILTER, JOIN, GROUP_BY, SORT), sorted.
    """

    columns: tuple[OutputColumn, ...]
    dataset: tuple[Edge, ...] = ()
