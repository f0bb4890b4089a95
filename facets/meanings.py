"""What an operator means for lineage, as values."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from openlineage_pyspark.facets.kinds import Kind
from openlineage_pyspark.listener.plan import Value


@attrs.frozen
class Computed:
    """An attribute that an expression over the children's attributes gives."""

    value: Value
    kind: Kind = Kind.IDENTITY


@attrs.frozen
class Passed:
    """An attribute that is another operator's, under another id."""

    operator: int
    id: int
    kind: Kind = Kind.IDENTITY


Definition = Computed | Passed


@attrs.frozen
class Meaning:
    """What one operator means.

    Args:
        defines: exprId -> what it is made of; several where rows of several kinds meet (union, expand).
        passes: the operators whose attributes it hands on under their own ids.
        rows: what decides which rows there are, or their order: argument and kind.
        scope: the operators whose attributes its expressions may read; None for its children.
        known: whether there is a rule for the operator.
    """

    defines: Mapping[int, tuple[Definition, ...]] = attrs.Factory(dict)
    passes: tuple[int, ...] = ()
    rows: tuple[tuple[Value, Kind], ...] = ()
    scope: tuple[int, ...] | None = None
    known: bool = True
