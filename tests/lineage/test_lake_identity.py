"""A table of Delta Lake or Hudi is one dataset, whichever of its own commands and readers is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.spark_jobs import Jobs

# Spark's version -> the packages that are tested with it.
JARS = {
    "delta": {
        "3.5": ("io.delta:delta-spark_2.12:3.3.2", "io.delta:delta-storage:3.3.2"),
        "4.0": ("io.delta:delta-spark_2.13:4.0.0", "io.delta:delta-storage:4.0.0"),
    },
    "hudi": {"3.5": ("org.apache.hudi:hudi-spark3.5-bundle_2.12:1.0.2",)},
}
CONF = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    },
    "hudi": {
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        # Hudi keeps a table of its own about the files of each table, which takes most of the time.
        "spark.hoodie.metadata.enable": "false",
        "spark.hoodie.embed.timeline.server": "false",
    },
}
COMMANDS = {
    "delta": ["create_table", "delete", "drop_table", "insert", "merge", "save", "update"],
    "hudi": ["create_hoodie_table_as_select", "drop_hoodie_table", "insert", "merge", "update", "delete"],
}


@pytest.fixture(scope="module", params=["delta", "hudi"])
def job(request, packaged, tmp_path_factory):
    lake = tmp_path_factory.mktemp("lake")
    conf = {
        **CONF[request.param],
        "spark.jars": packaged(JARS[request.param]),
        "spark.sql.warehouse.dir": f"{lake}/warehouse",
        "spark.sql.shuffle.partitions": "1",
    }
    done = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp).run(
        "lake_identity.py", request.param, str(lake), conf=conf
    )
    assert done.code == 0, done.stderr[-3000:]
    return request.param, lake, done


def test_a_table_of_a_lake_is_what_lies_at_its_location(job):
    format_, lake, done = job
    one = ("file", f"{lake}/warehouse/one")
    read, written = {}, {}
    for event in done.queries():
        if event["eventType"] == "COMPLETE":
            inputs = [(each["namespace"], each["name"]) for each in event["inputs"]]
            for output in event["outputs"]:
                way = output["name"].partition("/sinks/")[2]
                if way:
                    read[way] = inputs
                else:
                    command = event["job"]["name"].split(".")[1]
                    written.setdefault((output["namespace"], output["name"]), []).append(command)
    assert read == {way: [one] for way in ("sql", "sql in another case", "frame", "path", "stream of the path")}
    assert list(written) == [one]
    print(format_, written)


def test_nothing_of_it_is_unknown(job, violations):
    _, _, done = job
    assert violations(done.events()) == []
    assert [
        (event["job"]["name"], event["run"]["facets"]["extractionError"])
        for event in done.queries()
        if event["eventType"] == "COMPLETE" and "extractionError" in event["run"]["facets"]
    ] == []
