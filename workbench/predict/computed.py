"""Give the columns that a table computes with each write the sources of the columns that they are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.commands.generated import with_columns

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.dataset import Dataset
    from openlineage_pyspark.facets.model.lineage import ColumnLineage
    from openlineage_pyspark.workbench.report import Lineage

Computed = Mapping[tuple[str, ...], tuple[tuple[str, str], ...]]
"""The full names of tables -> the columns that they compute, each with its expression."""


def with_computed(lineage: Lineage, computed: Computed) -> Lineage:
    """Return the lineage of a statement with the columns that the tables compute into which it writes."""
    if not computed:
        return lineage
    outputs = (
        (dataset, columns if dataset is None else _with_columns(columns, computed_in(dataset, computed)))
        for dataset, columns in lineage.outputs
    )
    return attrs.evolve(lineage, outputs=tuple(outputs))


def computed_in(dataset: Dataset, computed: Computed) -> tuple[tuple[str, str], ...]:
    """
    Return the columns that a table computes, each with its expression.

    Args:
        dataset: the table.
        computed: the tables that compute columns.
    """
    labels = [(dataset.identifier.namespace, dataset.identifier.name)]
    labels += [(each.namespace, each.name) for each in dataset.symlinks]
    names = {(catalog.casefold(), name.casefold()) for catalog, name in labels}
    for (catalog, *rest), columns in computed.items():
        whole = ".".join((catalog, *rest))
        if not names.isdisjoint({(catalog.casefold(), each.casefold()) for each in (".".join(rest), whole)}):
            return columns
    return ()


def _with_columns(lineage: ColumnLineage, computed: tuple[tuple[str, str], ...]) -> ColumnLineage:
    """Return the lineage of a write, in which a column without sources is computed, unless its table does not."""
    names = {name.casefold() for name, _ in computed}
    given = tuple(each for each in lineage.columns if each.edges or each.name.casefold() not in names)
    made = attrs.evolve(lineage, columns=given)
    for each in computed:
        # A computed column may be computed from another one.
        made = with_columns(made, (each,))
    known = {each.name.casefold() for each in made.columns}
    left = (each for each in lineage.columns if each.name.casefold() not in known)
    order = {each.name.casefold(): at for at, each in enumerate(lineage.columns)}
    columns = sorted((*made.columns, *left), key=lambda each: order.get(each.name.casefold(), len(order)))
    return attrs.evolve(made, columns=tuple(columns))
