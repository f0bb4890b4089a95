"""The exposures of a dbt project as readers of its tables: they are downstream of a changed table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, Transformation, UseKind, Way
from openlineage_pyspark.workbench.predict.scripts import StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.report import VIEW_TYPE, Lineage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from openlineage_pyspark.facets.model.dataset import Field
    from openlineage_pyspark.workbench.predict.project.dbt import Exposure

_NAMESPACE = "dbt"
_Columns = dict[tuple[str, str], tuple[Dataset, dict[str, None]]]


def lineage_of_exposures(
    exposures: Sequence[Exposure], found: Iterable[StatementLineage]
) -> tuple[StatementLineage, ...]:
    """
    Return the lineage of exposures: each reads all columns of its tables, because its own columns are unknown.

    Args:
        exposures: the exposures.
        found: the lineage of the models, which contains the columns of the tables.
    """
    columns = _columns(found) if exposures else {}
    return tuple(_lineage(each, columns) for each in exposures)


def _lineage(
    exposure: Exposure, columns: Mapping[tuple[str, str], tuple[Dataset, dict[str, None]]]
) -> StatementLineage:
    read = [columns[key] for parts in exposure.reads if (key := _key(parts[0], ".".join(parts[1:]))) in columns]
    filters = (Transformation("INDIRECT", UseKind.FILTER.subtype, way=Way()),)
    edges = (InputField(dataset.identifier, name, filters) for dataset, names in read for name in names)
    shown = Dataset(Identifier(_NAMESPACE, exposure.label), type=VIEW_TYPE)
    lineage = Lineage(tuple(dataset for dataset, _ in read), ((shown, ColumnLineage((), tuple(sorted(edges)))),))
    return StatementLineage(ScriptStatement(exposure.label, exposure.file, 1, 1), lineage)


def _columns(found: Iterable[StatementLineage]) -> _Columns:
    """Return the datasets in the lineage of statements, by their names: each with the names of its columns."""
    columns: _Columns = {}
    for each in found:
        if each.lineage is None:
            continue
        for dataset in each.lineage.inputs:
            _add(columns, dataset, _names(dataset.fields))
        for written, lineage in each.lineage.outputs:
            if written is not None:
                _add(columns, written, (*_names(written.fields), *(column.name for column in lineage.columns)))
    return columns


def _add(added: _Columns, dataset: Dataset, names: Iterable[str]) -> None:
    _, known = added.setdefault(_key(dataset.identifier.namespace, dataset.identifier.name), (dataset, {}))
    known.update(dict.fromkeys(names))


def _names(fields: Iterable[Field]) -> Iterator[str]:
    return (field.name for field in fields)


def _key(namespace: str, name: str) -> tuple[str, str]:
    return namespace.lower(), name.lower()
