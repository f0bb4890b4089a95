"""What the events of a real job say of streams from and into tables of Iceberg and Delta Lake."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.lakes import LAKE_CONF, LAKE_JARS
from support.spark_jobs import Jobs, short_name

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def job(packaged, tmp_path_factory):
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    lake = str(tmp_path_factory.mktemp("lake"))
    conf = {
        **LAKE_CONF,
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.catalog.ice.warehouse": lake,
        "spark.jars": packaged(LAKE_JARS),
    }
    done = jobs.run("lake_streams.py", conf=conf)
    assert done.code == 0, done.stderr[-3000:]
    return done


def completed(job, end):
    (event,) = [e for e in job.queries() if e["eventType"] == "COMPLETE" and short_name(e).endswith(end)]
    return event


def figures(event):
    """Give the rows that were read, and the rows and whether there are bytes that were written."""
    read = [each["inputFacets"]["inputStatistics"]["rowCount"] for each in event["inputs"]]
    written = [each["outputFacets"]["outputStatistics"] for each in event["outputs"]]
    return read, [(each["rowCount"], each["size"] > 0) for each in written]


@pytest.mark.parametrize(
    ("query", "output"),
    [
        ("iceberg", "db/sink"),
        ("iceberg_by_option", "by_option"),
        ("delta", "warehouse/sink"),
        ("delta_by_path", "by_path"),
    ],
)
def test_a_stream_reads_the_dataset_that_was_written_and_counts_each_row_once(job, query, output):
    event = completed(job, f".streaming_query.{query}")
    kind = query.partition("_")[0]
    name = ".append_data.db_source" if kind == "iceberg" else ".append_data.default_source"
    (source,) = completed(job, name)["outputs"]

    assert [(each["namespace"], each["name"]) for each in event["inputs"]] == [(source["namespace"], source["name"])]
    assert [each["name"].endswith(f"/{output}") for each in event["outputs"]] == [True]
    assert Path(event["outputs"][0]["name"]).is_absolute()
    assert figures(event) == ([3], [(3, True)])
    fields = event["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert {c: [f["field"] for f in v["inputFields"]] for c, v in fields.items()} == {"k": ["k"], "v": ["v"]}
    assert "extractionError" not in event["run"]["facets"]


def test_a_table_has_one_storage_layer_whether_it_is_read_or_written(job):
    layers = {}
    # What is yet to be created has no provider that the plan tells.
    for event in (event for event in job.queries() if ".create_table." not in event["job"]["name"]):
        for each in event["inputs"] + event["outputs"]:
            if (storage := each["facets"].get("storage")) is not None:
                layers.setdefault(each["name"].rpartition("/")[2], set()).add(storage["storageLayer"])
    assert layers.pop("source") == {"delta", "iceberg"}
    assert layers.pop("sink") == {"delta", "iceberg"}
    assert layers == {name: {"delta"} for name in ("merged", "some", "by_option", "by_path")}


def test_two_outputs_of_one_stream_have_their_own_figures(job):
    event = completed(job, ".streaming_query.foreach")

    outputs = {each["name"].rpartition("/")[2]: each["outputFacets"]["outputStatistics"] for each in event["outputs"]}
    assert {name: each["rowCount"] for name, each in outputs.items()} == {"merged": 3, "some": 1}


def test_the_columns_that_iceberg_adds_on_demand_are_none_of_the_table(job):
    event = completed(job, ".replace_data.db_sink")
    schemas = [each["facets"]["schema"]["fields"] for each in event["inputs"] + event["outputs"]]

    assert [[field["name"] for field in fields] for fields in schemas] == [["k", "v"]] * 3
    assert figures(event)[1] == [(3, True)]
