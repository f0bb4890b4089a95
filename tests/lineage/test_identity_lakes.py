"""A table of Delta Lake or of Hudi is one dataset, however it is written, read, changed and dropped."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.lakes import LAKE_JARS
from support.spark_jobs import Jobs

pytestmark = pytest.mark.own_jvm

# Format -> Spark's version -> its jars.
JARS = {
    "delta": {spark: jars[:2] for spark, jars in LAKE_JARS.items()},
    "hudi": {"3.5": ("org.apache.hudi:hudi-spark3.5-bundle_2.12:1.0.2",)},
}
CATALOG = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    },
    "hudi": {
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    },
}
WAYS = {"sql", "sql in another case", "frame", "path", "stream of the path", "stream of the table"}
# Hudi's tables can't be read as `hudi.path`; its V1 source streams RDDs.
MORE_WAYS = {"delta": {"path in sql"}, "hudi": set()}
REMARKS = {"delta": [], "hudi": ["LogicalRDD"] * 4}


@pytest.fixture(scope="module", params=["delta", "hudi"])
def lake(request, packaged, tmp_path_factory):
    """Give the format, the lake's folder and the job."""
    folder = tmp_path_factory.mktemp("lake")
    conf = {
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "1",
        "spark.jars": packaged(JARS[request.param]),
        **CATALOG[request.param],
    }
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    done = jobs.run("identity_lake.py", request.param, str(folder), conf=conf)
    assert done.code == 0, done.stderr
    faults = [line for line in (done.stdout + done.stderr).splitlines() if "failed, the job goes on" in line]
    assert faults == []
    return request.param, folder, done


def completed(job):
    return [event for event in job.queries() if event["eventType"] == "COMPLETE"]


def names(datasets):
    return [(each["namespace"], each["name"]) for each in datasets]


@pytest.mark.parametrize(("kind", "place"), [("managed", "warehouse/managed"), ("outside", "outside")])
def test_a_table_is_what_lies_at_its_location(lake, kind, place):
    format_, folder, job = lake
    one = ("file", f"{folder}/{place}")
    read, changed = {}, {}
    for event in completed(job):
        for output in event["outputs"]:
            sink = output["name"].partition("/sinks/")[2]
            if sink.startswith(f"{kind} "):
                read[sink.removeprefix(f"{kind} ")] = names(event["inputs"])
            elif not sink and kind in output["name"]:
                changed.setdefault((output["namespace"], output["name"]), []).append(event["job"]["name"])
    assert read == {way: [one] for way in WAYS | MORE_WAYS[format_]}
    # CREATE, its rows, INSERT, append, MERGE, UPDATE, DELETE, ALTER, DROP.
    assert {name: len(jobs) for name, jobs in changed.items()} == {one: 8 + (kind == "outside")}


def test_nothing_is_unknown_but_the_columns_of_hudis_streams(lake, violations):
    format_, _, job = lake
    assert violations(job.events()) == []
    remarks = [event["run"]["facets"].get("extractionError", {"errors": []})["errors"] for event in completed(job)]
    tasks = [error["task"].rpartition(".")[2] for errors in remarks for error in errors]
    assert tasks == REMARKS[format_]
