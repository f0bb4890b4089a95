"""
The facets of an input or output dataset, with its column lineage (ColumnLineageDatasetFacet 1-2-0).

Namespaces, column names and URIs have the form that Marquez and other receivers accept. The JSON Schemas of our own
facets are in the folder `schemas`.
"""

from __future__ import annotations

import functools
import hashlib
import re
import urllib.parse
from typing import TYPE_CHECKING, TypeVar

import attrs
from openlineage.client.facet_v2 import (
    DatasetFacet,
    base_subset_dataset,
    catalog_dataset,
    column_lineage_dataset,
    dataset_type_dataset,
    dataset_version_dataset,
    datasource_dataset,
    documentation_dataset,
    input_statistics_input_dataset,
    lifecycle_state_change_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
    symlinks_dataset,
)
from openlineage_pyspark.facets.events.encode import PRODUCER, own_schema
from openlineage_pyspark.facets.model.dataset import Statistics
from openlineage_pyspark.facets.model.lineage import Certainty, different
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.urls import LOGIN_OF_URL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openlineage.client.facet_v2 import InputDatasetFacet, OutputDatasetFacet
    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Field, Identifier, Symlink, TableVersions
    from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OperatorStep, Transformation
    from openlineage_pyspark.facets.model.run import RunOutput


_REFUSED = re.compile(r"[^a-zA-Z:;=/0-9_\-.@+]")
_LONGEST = 1024
_LONGEST_COLUMN = 255
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*")
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://([^/@]*@)?[^/@:]*(:[0-9]*)?(/.*)?")
_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!//).+")
_LINE = re.compile(r"#L[0-9]{1,9}\Z")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@functools.lru_cache(maxsize=4096)
def accepted_namespace(namespace: str) -> str:
    r"""
    Return a namespace that Marquez accepts.

    It accepts `[a-zA-Z:;=/0-9_\-.@+]{1,1024}` (NamespaceName); any other character becomes `_`. A login in it is
    removed. Every namespace of an event goes through here, so that column lineage, symlinks and datasets refer to the
    same nodes.

    Args:
        namespace: of a job or dataset; an empty one becomes `default`.
    """
    return _REFUSED.sub("_", LOGIN_OF_URL.sub("//", namespace))[:_LONGEST] or "default"


def accepted_job_namespace(namespace: str) -> str:
    """
    Return a job's namespace as Marquez stores it: unlike in a dataset's namespace, `;` and `=` become `_` too.

    Marquez compares the namespace in `parent` with the stored one; if they differ, it creates a second parent run.

    Args:
        namespace: of a job; an empty one becomes `default`.
    """
    return accepted_namespace(namespace).replace(";", "_").replace("=", "_")


def accepted_column(name: str) -> str:
    """
    Return a column's name within the 255 characters that Marquez stores (`dataset_fields.name`).

    A longer name, such as that of an expression without an alias, is cut and ends in a hash of the whole. Every column
    of an event goes through here, so that schemas and column lineage refer to the same nodes.

    Args:
        name: the name of a column, or a dotted path below it.
    """
    if len(name) <= _LONGEST_COLUMN:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{name[: _LONGEST_COLUMN - 7]}_{digest}"


def data_source_uri(namespace: str) -> str:
    """
    Return a valid URI for the data source of a namespace (DatasourceDatasetFacet.uri).

    Args:
        namespace: as `accepted_namespace` returns it.

    Returns:
        The namespace if it is a URI; the root of a namespace that is only a scheme (`file:///` for `file`); any other
        namespace below `urn:openlineage:`.
    """
    if _AUTHORITY.fullmatch(namespace) or _PATH.fullmatch(namespace):
        return namespace
    if _SCHEME.fullmatch(namespace):
        return f"{namespace}:///"
    return f"urn:openlineage:{namespace}"


def location_uri(location: str) -> str:
    """
    Return a valid URI for the location of a script (SourceCodeLocationJobFacet.url).

    Args:
        location: a URI, whose illegal characters are percent-encoded; or a path, which becomes a `file:` URI; perhaps
            with a line at its end (`#L12`).
    """
    line = _LINE.search(location)
    if line is not None:
        return f"{location_uri(location[: line.start()])}{line[0]}"
    quoted = urllib.parse.quote(location, safe="/:?=&;@+,!$()*~%", errors="replace")
    uri = _BARE_PERCENT.sub("%25", quoted)
    if _AUTHORITY.fullmatch(uri) or _PATH.fullmatch(uri):
        return uri
    path = urllib.parse.quote(location, errors="replace")
    return f"file://{path}" if location.startswith("/") else f"file:{path}"


# Created without class statements, for the same reason as the facets of runs.
PySparkSnapshot = attrs.make_class(
    "PySparkSnapshot",
    {
        "format": attrs.field(kw_only=True),
        "versions": attrs.field(kw_only=True),
        "parent": attrs.field(kw_only=True),
        "operation": attrs.field(kw_only=True),
        "branch": attrs.field(kw_only=True),
        "tableId": attrs.field(kw_only=True),
    },
    bases=(DatasetFacet,),
)


PySparkName = attrs.make_class("PySparkName", {"certainty": attrs.field(kw_only=True)}, bases=(DatasetFacet,))


PySparkReplaced = attrs.make_class("PySparkReplaced", {"part": attrs.field(kw_only=True)}, bases=(DatasetFacet,))


def replaced_facet(part: str) -> DatasetFacet:
    """Return `pyspark_replaced` of an output that a run replaces as a whole or in part."""
    facet: DatasetFacet = PySparkReplaced(part=part, producer=PRODUCER)
    facet._schemaURL = own_schema("PySparkReplacedDatasetFacet")
    return facet


# openlineage-python has no class for this facet before version 1.53.
_LineageFacet = attrs.make_class("Lineage", {"inputs": attrs.field(kw_only=True)}, bases=(DatasetFacet,))


def lineage_facet(sources: Iterable[Identifier]) -> DatasetFacet:
    """Return `lineage` (LineageDatasetFacet 1-0-0) of an output that is made from these inputs alone."""
    inputs = [
        {"type": "DATASET", "namespace": accepted_namespace(each.namespace), "name": each.name} for each in sources
    ]
    facet: DatasetFacet = _LineageFacet(inputs=inputs, producer=PRODUCER)
    facet._schemaURL = "https://openlineage.io/spec/facets/1-0-0/LineageFacet.json#/$defs/LineageDatasetFacet"
    return facet


def version_facets(versions: TableVersions | None, *, written: bool) -> dict[str, DatasetFacet]:
    """
    Return `version` with the newest version, and `pyspark_snapshot` if there is more to report.

    Args:
        versions: the versions that a run reads, or has committed.
        written: whether it has committed them.
    """
    if versions is None or not versions.ids:
        return {}
    facet = dataset_version_dataset.DatasetVersionDatasetFacet
    facets: dict[str, DatasetFacet] = {"version": facet(datasetVersion=versions.ids[-1], producer=PRODUCER)}
    if written or len(versions.ids) > 1 or versions.branch is not None:
        more = PySparkSnapshot(
            format=versions.format,
            versions=list(versions.ids),
            parent=versions.parent,
            operation=versions.operation,
            branch=versions.branch,
            tableId=versions.table_id,
            producer=PRODUCER,
        )
        more._schemaURL = own_schema("PySparkSnapshotDatasetFacet")
        facets["pyspark_snapshot"] = more
    return facets


def dataset_facets(dataset: Dataset) -> dict[str, DatasetFacet]:
    """Return the facets that describe a dataset, by name; facets about which nothing is known are left out."""
    namespace = accepted_namespace(dataset.identifier.namespace)
    facets: dict[str, DatasetFacet] = {
        "dataSource": datasource_dataset.DatasourceDatasetFacet(
            name=namespace, uri=data_source_uri(namespace), producer=PRODUCER
        )
    }
    if dataset.fields:
        fields = [_field(field) for field in dataset.fields]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields, producer=PRODUCER)
    if dataset.symlinks:
        facets["symlinks"] = _symlinks(dataset.symlinks)
    if dataset.catalog is not None:
        facets["catalog"] = _catalog(dataset.catalog)
    if dataset.storage_layer is not None:
        facets["storage"] = storage_dataset.StorageDatasetFacet(
            storageLayer=dataset.storage_layer, fileFormat=dataset.file_format, producer=PRODUCER
        )
    if dataset.type is not None:
        facets["datasetType"] = dataset_type_dataset.DatasetTypeDatasetFacet(
            datasetType=dataset.type, producer=PRODUCER
        )
    if dataset.guessed:
        facets["pyspark_name"] = PySparkName(certainty="guessed", producer=PRODUCER)
        facets["pyspark_name"]._schemaURL = own_schema("PySparkNameDatasetFacet")
    if dataset.description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(
            description=dataset.description, producer=PRODUCER
        )
    return facets


def lifecycle_facet(
    change: str, renamed_from: Identifier | None
) -> lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet:
    """
    Return the facet about what a run did to a dataset as a whole (LifecycleStateChangeDatasetFacet 1-0-1).

    Raises:
        ValueError: the specification does not have this change.
    """
    previous = None
    if renamed_from is not None:
        previous = lifecycle_state_change_dataset.PreviousIdentifier(
            name=renamed_from.name, namespace=accepted_namespace(renamed_from.namespace)
        )
    return lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
        lifecycleStateChange=lifecycle_state_change_dataset.LifecycleStateChange(change),
        previousIdentifier=previous,
        producer=PRODUCER,
    )


def input_facets(statistics: Statistics | None, locations: tuple[str, ...]) -> dict[str, InputDatasetFacet]:
    """
    Return `inputStatistics` if Spark reported any number, and `subset` with the read parts if only parts are.

    Args:
        statistics: how much this run read of the dataset.
        locations: the names of the parts that it reads; empty for the whole.
    """
    facets: dict[str, InputDatasetFacet] = {}
    if numbers := _numbers(statistics):
        facet = input_statistics_input_dataset.InputStatisticsInputDatasetFacet
        facets["inputStatistics"] = facet(**numbers, producer=PRODUCER)
    if locations:
        facets["subset"] = base_subset_dataset.InputSubsetInputDatasetFacet(
            inputCondition=_at(locations), producer=PRODUCER
        )
    return facets


def output_facets(statistics: Statistics | None, locations: tuple[str, ...]) -> dict[str, OutputDatasetFacet]:
    """
    Return `outputStatistics` if Spark reported any number, and `subset` with the written parts if only parts are.

    Args:
        statistics: how much this run wrote to the dataset.
        locations: the names of the parts that it writes; empty for the whole.
    """
    facets: dict[str, OutputDatasetFacet] = {}
    if numbers := _numbers(statistics):
        facet = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet
        facets["outputStatistics"] = facet(**numbers, producer=PRODUCER)
    if locations:
        facets["subset"] = base_subset_dataset.OutputSubsetOutputDatasetFacet(
            outputCondition=_at(locations), producer=PRODUCER
        )
    return facets


def _at(locations: tuple[str, ...]) -> base_subset_dataset.LocationSubsetCondition:
    return base_subset_dataset.LocationSubsetCondition(locations=list(locations))


def _numbers(statistics: Statistics | None) -> dict[str, int | None]:
    """Return the fields of both statistics facets; nothing if Spark reported no number."""
    if statistics is None or statistics == Statistics():
        return {}
    return {"rowCount": statistics.rows, "size": statistics.bytes, "fileCount": statistics.files}


def _field(field: Field) -> schema_dataset.SchemaDatasetFacetFields:
    name = accepted_column(field.name)
    return schema_dataset.SchemaDatasetFacetFields(
        name=name,
        type=field.type,
        # A shortened name is given in full here.
        description=field.description or (field.name if name != field.name else None),
        fields=[_field(inner) for inner in field.fields] if field.fields else None,
    )


def _symlinks(symlinks: tuple[Symlink, ...]) -> symlinks_dataset.SymlinksDatasetFacet:
    return symlinks_dataset.SymlinksDatasetFacet(
        identifiers=[
            symlinks_dataset.Identifier(
                namespace=accepted_namespace(symlink.namespace), name=symlink.name, type=symlink.type
            )
            for symlink in symlinks
        ],
        producer=PRODUCER,
    )


def _catalog(catalog: Catalog) -> catalog_dataset.CatalogDatasetFacet:
    return catalog_dataset.CatalogDatasetFacet(
        framework=catalog.framework,
        type=catalog.type,
        name=catalog.name,
        metadataUri=catalog.metadata_uri,
        warehouseUri=catalog.warehouse_uri,
        source="spark",
        catalogProperties=None,
        producer=PRODUCER,
    )


_T = TypeVar("_T")
_MOST = 50
"""The most operators, and the most steps, that an event lists of one path: half of them from each end."""

PySparkLineageSteps = attrs.make_class(
    "PySparkLineageSteps",
    {name: attrs.field(kw_only=True) for name in ("operators", "expressions", "columns", "rows")},
    bases=(DatasetFacet,),
)


@attrs.define
class _Shared:
    """Texts that many edges share: each is listed once, and the edges refer to its position."""

    places: dict[str, int] = attrs.Factory(dict)

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


def steps_facets(lineage: ColumnLineage, options: EventOptions) -> dict[str, DatasetFacet]:
    """
    Return `pyspark_lineage_steps` of an output; nothing if none of its edges gets steps.

    Args:
        lineage: the output's lineage; the paths of its edges name their operators where steps are wanted.
        options: decide which edges get steps (`steps`).
    """
    if options.steps == "none":
        return {}
    operators, expressions = _Shared(), _Shared()

    def with_steps(edges: Iterable[InputField]) -> list[dict[str, object]]:
        return [
            _path(source, each, operators, expressions, described=options.descriptions_enabled)
            for source, transformations in _by_source(edges).items()
            for each in _listed(transformations, options)
        ]

    columns = {name: found for name, edges in _by_column(lineage).items() if (found := with_steps(edges))}
    rows = with_steps(lineage.dataset)
    if not columns and not rows:
        return {}
    facet = PySparkLineageSteps(
        operators=list(operators.places),
        expressions=list(expressions.places),
        columns=columns,
        rows=rows,
        producer=PRODUCER,
    )
    facet._schemaURL = own_schema("PySparkLineageStepsDatasetFacet", "1-1-0")
    return {"pyspark_lineage_steps": facet}


def _listed(transformations: Iterable[Transformation], options: EventOptions) -> list[Transformation]:
    """
    Return the transformations that get steps.

    An exact one also gets them if an unsure one looks the same in `columnLineage`.
    """
    traced = [each for each in transformations if each.way.operators]
    if options.steps == "all":
        return traced
    stated = [_as_stated(each, described=options.descriptions_enabled) for each in traced]
    unsure = {each for each in stated if each.way.certainty is not Certainty.EXACT}
    return [each for each, as_stated in zip(traced, stated, strict=True) if as_stated in unsure]


def _as_stated(each: Transformation, *, described: bool) -> Transformation:
    """Return a transformation as `columnLineage` shows it; equal ones are shown once there."""
    return each if described else attrs.evolve(each, description="")


def _path(
    source: tuple[Identifier, str], each: Transformation, operators: _Shared, expressions: _Shared, *, described: bool
) -> dict[str, object]:
    passed, left_out = _ends(each.way.operators)
    steps, _ = _ends(each.way.steps)
    found: dict[str, object] = {
        "namespace": accepted_namespace(source[0].namespace),
        "name": source[0].name,
        "field": accepted_column(source[1]),
        "type": each.type,
        "subtype": each.subtype,
        "masking": each.masking,
        "certainty": each.way.certainty.word,
        **({"description": expressions.place(each.description)} if described and each.description else {}),
        "operators": [operators.place(operator) for operator in passed],
        "steps": [_step(step, operators, expressions) for step in steps],
    }
    if left_out:
        found["operatorsLeftOut"] = left_out
    return found


def _step(step: OperatorStep, operators: _Shared, expressions: _Shared) -> dict[str, object]:
    document: dict[str, object] = {"operator": operators.place(step.operator)}
    if step.expression:
        document["expression"] = expressions.place(step.expression)
    if step.certainty is not Certainty.EXACT:
        document["certainty"] = step.certainty.word
    if step.call_site:
        document["callSite"] = step.call_site
    return document


def _ends(items: Sequence[_T]) -> tuple[Sequence[_T], int]:
    """Return the first and the last items of a long sequence, and how many are left out between them."""
    half = _MOST // 2
    return (items, 0) if len(items) <= _MOST else ((*items[:half], *items[-half:]), len(items) - 2 * half)


def too_wide(outputs: Iterable[RunOutput], options: EventOptions) -> tuple[Gap, ...]:
    """
    Return a gap for each output whose lineage is left out because it has too many columns.

    Args:
        outputs: the outputs of one run.
        options: hold the limit (`schema_size_limit`).
    """
    return tuple(
        Gap(
            task=output.dataset.identifier.name,
            message=f"columnLineage left out: {len(output.lineage.columns)} columns are more than "
            f"the limit of {options.schema_size_limit}; raise columnLineage.schemaSizeLimit to include it",
        )
        for output in outputs
        if output.lineage is not None and _is_too_wide(output.lineage, options)
    )


def column_lineage_facet(
    lineage: ColumnLineage, options: EventOptions
) -> column_lineage_dataset.ColumnLineageDatasetFacet | None:
    """
    Return the `columnLineage` facet of one output.

    Every output column has an entry. A column without a source has no input there, but its expression.

    Args:
        lineage: the lineage of the output.
        options: decide about descriptions, the form of dataset-wide edges, and the limit.

    Returns:
        The facet; None if the output has more columns than the limit.
    """
    if _is_too_wide(lineage, options):
        return None
    described = options.descriptions_enabled
    # A transformation belongs to a source; a column without a source has the text of its value itself.
    texts = {accepted_column(each.name): each.expression for each in lineage.columns if described and each.expression}
    whole = _merged(lineage.dataset, described=described)
    repeated = () if options.dataset_lineage_enabled else lineage.dataset
    return column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={
            name: column_lineage_dataset.Fields(
                inputFields=_merged((*edges, *repeated), described=described),
                transformationDescription=None if edges else texts.get(name),
            )
            for name, edges in _by_column(lineage).items()
        },
        dataset=whole if whole and options.dataset_lineage_enabled else None,
        producer=PRODUCER,
    )


def _is_too_wide(lineage: ColumnLineage, options: EventOptions) -> bool:
    return len(lineage.columns) > options.schema_size_limit


def _merged(edges: tuple[InputField, ...], *, described: bool) -> list[column_lineage_dataset.InputField]:
    """Return one entry for each source column, with all its transformations, each once."""
    return [
        column_lineage_dataset.InputField(
            namespace=accepted_namespace(dataset.namespace),
            name=dataset.name,
            field=accepted_column(field),
            transformations=[
                _transformation(each)
                for each in dict.fromkeys(_as_stated(each, described=described) for each in transformations)
            ],
        )
        for (dataset, field), transformations in _by_source(edges).items()
    ]


def _by_column(lineage: ColumnLineage) -> dict[str, list[InputField]]:
    """Return the edges of each column: some file formats allow a name twice, and a facet has one entry for both."""
    found: dict[str, list[InputField]] = {}
    for column in lineage.columns:
        found.setdefault(accepted_column(column.name), []).extend(column.edges)
    return found


def _by_source(edges: Iterable[InputField]) -> dict[tuple[Identifier, str], tuple[Transformation, ...]]:
    """Return the paths from each source, each once."""
    found: dict[tuple[Identifier, str], tuple[Transformation, ...]] = {}
    for edge in edges:
        source = edge.dataset, edge.field
        found[source] = different((*found.get(source, ()), *edge.transformations))
    return found


def _transformation(given: Transformation) -> column_lineage_dataset.Transformation:
    return column_lineage_dataset.Transformation(
        type=given.type,
        subtype=given.subtype,
        description=given.description or None,
        masking=given.masking,
    )
