"""The versions that a plan pins, how they are joined, and the facets that tell them."""

from __future__ import annotations

import importlib.resources
import json

import attrs
import pytest
from openlineage_pyspark.facets.datasets.source import delta_versions, iceberg_versions
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, TableVersions
from openlineage_pyspark.facets.model.plan import Described, FrozenMap, Operator

V2 = "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation"
SCHEMA = importlib.resources.files("openlineage_pyspark.facets.events").joinpath(
    "schemas/PySparkSnapshotDatasetFacet.json"
)


def read_of(table: Described, **more: str) -> Operator:
    return Operator("DataSourceV2Relation", V2, FrozenMap({"table": table, **more}), ())


def spark_table(**values: str | None) -> Described:
    return Described("org.apache.iceberg.spark.source.SparkTable", {"snapshot": "5", **values})


@pytest.mark.parametrize(
    ("operator", "versions"),
    [
        (read_of(spark_table()), TableVersions("iceberg", ("5",))),
        (read_of(spark_table(snapshot=None)), TableVersions("iceberg", ())),
        (read_of(spark_table(branch="audit")), TableVersions("iceberg", ("5",), "audit")),
        (read_of(spark_table(branch="main")), TableVersions("iceberg", ("5",))),
        (read_of(spark_table(asOf="monthly")), TableVersions("iceberg", ("5",), "monthly")),
        (read_of(spark_table(asOf="5")), TableVersions("iceberg", ("5",))),
        (read_of(Described("RowLevelOperationTable", {"target": spark_table()})), TableVersions("iceberg", ("5",))),
        (read_of(spark_table(), snapshotId="3"), TableVersions("iceberg", ("3",))),
        (read_of(spark_table(), startSnapshotId="3", endSnapshotId="4"), TableVersions("iceberg", ("4",))),
        (read_of(spark_table(), asOfTimestamp="1700000000000"), TableVersions("iceberg", ())),
        (read_of(spark_table(), optionTag="monthly"), TableVersions("iceberg", (), "monthly")),
        (read_of(Described("com.example.Table", {})), None),
    ],
)
def test_a_read_of_iceberg_is_of_the_snapshot_of_its_table_unless_its_options_name_another(operator, versions):
    assert iceberg_versions(operator) == versions


@pytest.mark.parametrize(
    ("version", "streams", "versions"),
    [(7, False, TableVersions("delta", ("7",))), (-1, False, None), (None, False, None), (7, True, None)],
)
def test_a_read_of_delta_is_of_the_version_of_its_files_unless_it_is_a_stream(version, streams, versions):
    relation = Described("Relation", {"index": Described("TahoeLogFileIndex", {"version": version})})
    operator = Operator("LogicalRelation", "x", FrozenMap({"relation": relation, "isStreaming": streams}), ())
    assert delta_versions(operator) == versions


def test_a_dataset_that_is_read_twice_has_the_versions_of_both_reads():
    one = Dataset(Identifier("file", "/t"), versions=TableVersions("iceberg", ("1",), "audit"))
    other = attrs.evolve(one, versions=TableVersions("iceberg", ("2", "1")))

    assert one.joined(other).versions == TableVersions("iceberg", ("1", "2"))
    assert attrs.evolve(one, versions=None).joined(other).versions == other.versions
    assert one.joined(attrs.evolve(one, versions=None)) == one


def as_json(state, **options):
    return json.loads(serialise(build_event(state, EventOptions(**options))))


def with_versions(full_run, read, written):
    state = attrs.evolve(full_run[1], event_type="COMPLETE", failure=None)
    inputs = tuple(attrs.evolve(i, dataset=attrs.evolve(i.dataset, versions=read)) for i in state.inputs[:1])
    outputs = tuple(attrs.evolve(o, dataset=attrs.evolve(o.dataset, versions=written)) for o in state.outputs)
    return attrs.evolve(state, inputs=inputs, outputs=outputs)


def said(dataset):
    """Give the version, and the fields of `pyspark_snapshot` without those of each facet."""
    facets = dataset["facets"]
    more = facets.get("pyspark_snapshot", {})
    return facets.get("version", {}).get("datasetVersion"), {k: v for k, v in more.items() if k[0] != "_"}


@pytest.mark.parametrize(
    ("versions", "of_input", "of_output"),
    [
        (TableVersions("delta", ("7",)), ("7", {}), ("7", {"format": "delta", "versions": ["7"]})),
        (TableVersions("iceberg", ("1", "2")), *[("2", {"format": "iceberg", "versions": ["1", "2"]})] * 2),
        (
            TableVersions("iceberg", ("2",), "audit", "1", "append", "id of t"),
            *[
                (
                    "2",
                    {
                        "format": "iceberg",
                        "versions": ["2"],
                        "parent": "1",
                        "operation": "append",
                        "branch": "audit",
                        "tableId": "id of t",
                    },
                )
            ]
            * 2,
        ),
        (TableVersions("iceberg", ()), (None, {}), (None, {})),
        (None, (None, {}), (None, {})),
    ],
)
def test_versions_are_told_by_two_facets_and_the_second_only_if_it_says_more(
    full_run, specification, versions, of_input, of_output
):
    event = as_json(with_versions(full_run, versions, versions))

    assert [said(dataset) for dataset in event["inputs"]] == [of_input]
    assert [said(dataset) for dataset in event["outputs"]] == [of_output]
    assert specification.violations([event]) == []


def test_a_disabled_facet_is_left_out(full_run):
    versions = TableVersions("iceberg", ("1", "2"))
    event = as_json(with_versions(full_run, versions, versions), disabled=frozenset({"version", "pyspark_snapshot"}))

    assert [said(dataset) for dataset in (*event["inputs"], *event["outputs"])] == [(None, {})] * 2


def test_the_schema_that_a_facet_names_is_published_and_holds_for_it(full_run, specification_folder):
    jsonschema, referencing = pytest.importorskip("jsonschema"), pytest.importorskip("referencing")
    schema = json.loads(SCHEMA.read_text("utf-8"))
    core = json.loads((specification_folder / "OpenLineage.json").read_text("utf-8"))
    registry = referencing.Registry().with_resources(
        (document["$id"], referencing.Resource.from_contents(document)) for document in (schema, core)
    )
    event = as_json(with_versions(full_run, None, TableVersions("iceberg", ("2",), "audit", "1", "append", "id")))
    facet = event["outputs"][0]["facets"]["pyspark_snapshot"]
    validator = jsonschema.Draft202012Validator({"$ref": facet["_schemaURL"]}, registry=registry)

    assert facet["_schemaURL"].partition("#")[0] == schema["$id"]
    assert list(validator.iter_errors(facet)) == []
    for wrong in ({"format": "parquet"}, {"versions": []}, {"versions": [2]}, {"parent": 1}, {"tableId": 1}):
        assert len(list(validator.iter_errors({**facet, **wrong}))) == 1
