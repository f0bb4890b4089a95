"""What the events of a real job say of Iceberg's tables, whose rows MERGE, UPDATE and DELETE change."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest

# Spark's version -> the Iceberg that is tested with it.
VERSIONS = {"3.5": "3.5_2.12:1.6.1", "4.0": "4.0_2.13:1.10.0"}
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "openlineage-pyspark-tests" / "iceberg"
CATALOG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}


@pytest.fixture(scope="module")
def jar(tmp_path_factory):
    """Give Iceberg's jar for the installed Spark, from the cache or from Maven Central."""
    version = VERSIONS.get(pyspark.__version__[:3])
    if version is None:
        pytest.skip(f"no Iceberg is named here for Spark {pyspark.__version__}")
    ready = CACHE / f"iceberg-spark-runtime-{version.replace(':', '-')}.jar"
    if ready.exists():
        return ready
    if shutil.which("mvn") is None:
        pytest.skip(f"there is no {ready}, and no mvn command that fetches it from Maven Central")
    folder = tmp_path_factory.mktemp("iceberg")
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
    artifact = f"-Dartifact=org.apache.iceberg:iceberg-spark-runtime-{version}"
    command = ["mvn", "-B", "-q", goal, artifact, f"-DoutputDirectory={folder}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        pytest.skip(f"Iceberg {version} could not be fetched from Maven Central: {done.stdout[-300:]}")
    CACHE.mkdir(parents=True, exist_ok=True)
    shutil.move(str(folder / ready.name), ready)
    return ready


@pytest.fixture(scope="module")
def job(jar, spark_jobs, tmp_path_factory):
    jobs = spark_jobs.Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    lake = tmp_path_factory.mktemp("lake")
    return jobs.run(
        "iceberg.py", conf={**CATALOG, "spark.sql.catalog.ice.warehouse": str(lake), "spark.jars": str(jar)}
    )


def short(dataset):
    return dataset["name"].rpartition("/")[2]


def said(event):
    """Give what an event says: what is read, the edges of each column, and those of all rows."""
    (output,) = event["outputs"]
    facet = output["facets"]["columnLineage"]

    def edges(fields):
        return sorted(f"{short(f)}.{f['field']} {t['subtype']}" for f in fields for t in f["transformations"])

    columns = {name: edges(column["inputFields"]) for name, column in facet["fields"].items()}
    return sorted(map(short, event["inputs"])), columns, edges(facet.get("dataset", []))


@pytest.mark.parametrize(("table", "command"), [("copied", "replace_data"), ("marked", "write_delta")])
def test_merge_update_and_delete_tell_what_they_assign_and_what_decides(job, violations, table, command):
    assert job.code == 0
    assert violations(job.events()) == []
    done = [
        e for e in job.queries() if e["eventType"] == "COMPLETE" and e["job"]["name"].endswith(f"{command}.db_{table}")
    ]
    merge, update, delete = done
    assert said(merge) == (
        sorted(["news", table]),
        {
            "id": ["news.id IDENTITY"],
            "name": ["news.name TRANSFORMATION"],
            "pay": sorted([f"{table}.pay TRANSFORMATION", "news.pay TRANSFORMATION"]),
        },
        sorted([f"{table}.id JOIN", "news.id JOIN", "news.op FILTER"]),
    )
    assert said(update) == ([table], {"pay": [f"{table}.pay TRANSFORMATION"]}, [f"{table}.id FILTER"])
    assert said(delete) == ([table], {}, sorted([f"{table}.name FILTER", f"{table}.pay FILTER"]))
    for event in done:
        assert "extractionError" not in event["run"]["facets"]
