"""A real Airflow hands its runs, and where events go, down to the Spark jobs that its tasks submit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = os.environ.get("AIRFLOW_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="Airflow has an environment of its own: ./run test --all airflow")

JOB = """\
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(1).write.mode("overwrite").parquet(sys.argv[1])
spark.stop()
"""
DAG = """\
from datetime import datetime

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

PLUGIN = "macros.OpenLineageProviderPlugin"
OF_RUN = {
    "parentJobNamespace": "lineage_job_namespace()",
    "parentJobName": "lineage_job_name(task_instance)",
    "parentRunId": "lineage_run_id(task_instance)",
    "rootParentJobNamespace": "lineage_job_namespace()",
    "rootParentJobName": "lineage_root_job_name(task_instance)",
    "rootParentRunId": "lineage_root_run_id(task_instance)",
}
CONF = " ".join(f"--conf spark.openlineage.{key}={{{{ {PLUGIN}.{value} }}}}" for key, value in OF_RUN.items())

with DAG("nightly", schedule=None, start_date=datetime(2026, 1, 1)):
    SparkSubmitOperator(
        task_id="load",
        application="{job}",
        application_args=["{folder}/orders"],
        conf={"spark.openlineage.appName": "orders"},
    ) >> BashOperator(
        task_id="copy",
        bash_command=f"spark-submit --master local[1] {CONF} --conf spark.openlineage.appName=copies "
        "--conf spark.openlineage.transport.type=file --conf spark.openlineage.transport.location={folder}/events "
        "{job} {folder}/copies",
    )
"""


def named_runs(events: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the ids of the runs of each job."""
    found: dict[str, set[str]] = {}
    for event in events:
        found.setdefault(event["job"]["name"], set()).add(event["run"]["runId"])
    return found


def parents(events: list[dict[str, Any]], job: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the names and runs of a job's parent and of its root, as each event states them."""
    for event in events:
        if event["job"]["name"] == job:
            parent = event["run"]["facets"]["parent"]
            root = parent["root"]
            yield parent["job"]["name"], parent["run"]["runId"], root["job"]["name"], root["run"]["runId"]


@pytest.mark.parametrize("kind", ["http", "composite"])
def test_a_task_is_the_parent_of_its_spark_job_and_both_log_in_alike(
    real_spark: None, receiver: Any, tmp_path: Path, kind: str
) -> None:
    http = {
        "type": "http",
        "url": receiver.url,
        "endpoint": "api/v1/lineage",
        "compression": "gzip",
        "auth": {"type": "api_key", "apiKey": "k3y"},
        "custom_headers": {"X-Team": "a b"},
    }
    composite = {"type": "composite", "transports": {"marquez": http, "screen": {"type": "console"}}}
    (tmp_path / "job.py").write_text(JOB, "utf-8")
    (tmp_path / "dags").mkdir()
    dag = DAG.replace("{job}", str(tmp_path / "job.py")).replace("{folder}", str(tmp_path))
    (tmp_path / "dags" / "nightly.py").write_text(dag, "utf-8")
    programs = (Path(sys.executable).parent, Path(PYTHON).parent)
    variables = {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(http if kind == "http" else composite),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "prod",
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_PARENT_JOB_INFO": "true",
        "AIRFLOW__OPENLINEAGE__SPARK_INJECT_TRANSPORT_INFO": "true",
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[1]"}),
        "PYSPARK_PYTHON": sys.executable,
        "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
    }
    for words in (["db", "migrate"], ["dags", "test", "nightly"]):
        command = [PYTHON, "-m", "airflow", *words]
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    received = [json.loads(got.body) for got in receiver.received]
    runs = named_runs(received)
    (root,), (load,), (copy,) = runs["nightly"], runs["nightly.load"], runs["nightly.copy"]
    assert set(parents(received, "nightly.load.orders")) == {("nightly.load", load, "nightly", root)}
    copied = [json.loads(line) for line in (tmp_path / "events").read_text("utf-8").splitlines()]
    assert set(parents(copied, "nightly.copy.copies")) == {("nightly.copy", copy, "nightly", root)}
    ours = [got for got in receiver.received if got.headers["User-Agent"] == "openlineage-pyspark"]
    assert [json.loads(got.body)["eventType"] for got in ours] == ["START", "START", "COMPLETE", "COMPLETE"]
    sent = {(got.headers["Authorization"], got.headers["X-Team"]) for got in receiver.received}
    assert sent == {("Bearer k3y", "a b")}
