"""A driver that a worker of the cluster starts, far from the command that submitted it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.spark_jobs import (
    PATIENT,
    QUICK,
    SECONDS,
    clean_environment,
    pyspark_folder,
    quick_jvm,
    spark_submit,
)

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

SCRIPT = Path(__file__).parent / "jobs" / "in_cluster.py"
# Spark refuses a script in cluster mode on its own cluster; other clusters start the driver by this class, too.
RUNNER = "org.apache.spark.deploy.PythonRunner"
# What Spark asks of Java 17, and what a worker of Spark 3.5 does not give to a driver.
OPENED = " ".join(
    f"--add-opens=java.base/{name}=ALL-UNNAMED"
    for name in (
        "java.lang",
        "java.lang.invoke",
        "java.net",
        "java.nio",
        "java.util",
        "sun.nio.ch",
        "sun.security.action",
    )
)


def test_a_driver_that_the_cluster_starts_reports_its_lineage(cluster: Any, tmp_path: Path) -> None:
    conf = {
        **QUICK,
        **PATIENT,
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": f"{quick_jvm()['SPARK_SUBMIT_OPTS']} {OPENED}",
        "spark.executor.memory": "600m",
        "spark.executor.cores": "1",
        "spark.executor.extraJavaOptions": quick_jvm()["SPARK_SUBMIT_OPTS"],
        "spark.pyspark.python": sys.executable,
        "spark.standalone.submit.waitAppCompletion": "true",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(tmp_path / "events.ndjson"),
    }
    # It wants one, which the worker copies.
    jar = min((pyspark_folder() / "jars").glob("*.jar"), key=lambda path: path.stat().st_size)
    words = [str(spark_submit()), "--master", cluster.master, "--deploy-mode", "cluster", "--class", RUNNER]
    words += [*(f"--conf={key}={value}" for key, value in conf.items()), jar.as_uri()]
    words += [str(SCRIPT), "", str(tmp_path)]

    done = subprocess.run(
        words, cwd=tmp_path, env=clean_environment(), capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert done.returncode == 0, done.stderr
    # The driver ran in a folder of its worker.
    assert (tmp_path / "ran.txt").read_text("utf-8") != str(tmp_path)
    events = [json.loads(line) for line in (tmp_path / "events.ndjson").read_text("utf-8").splitlines()]
    assert [(event["job"]["name"].split(".")[0], event["eventType"]) for event in events] == [
        ("in_cluster", "START"),
        ("in_cluster", "START"),
        ("in_cluster", "COMPLETE"),
        ("in_cluster", "COMPLETE"),
    ]
    (output,) = (output for event in events if event["eventType"] == "COMPLETE" for output in event["outputs"])
    assert (output["name"], output["outputFacets"]["outputStatistics"]["rowCount"]) == (str(tmp_path / "out"), 10)
    assert events[0]["run"]["facets"]["spark_applicationDetails"]["deployMode"] == "cluster"
