"""A declarative pipeline, as `spark-pipelines` runs it: its name is that of the application, and each flow is a run."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.spark_jobs import PATIENT, QUICK, SECONDS, SPARK_VERSION, Ended, clean_environment, pyspark_folder

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(SPARK_VERSION < "4.1", reason="Spark has pipelines since 4.1"),
    pytest.mark.skipif(
        importlib.util.find_spec("grpc") is None, reason="it needs grpcio: pip install pyspark[connect]"
    ),
]
FILES = {
    "spark-pipeline.yml": "name: shop\nstorage: file:{folder}/storage\n"
    "libraries:\n  - glob:\n      include: flows/**\n",
    "flows/numbers.py": """from pyspark import pipelines
from pyspark.sql import SparkSession

spark = SparkSession.active()


@pipelines.materialized_view
def numbers():
    return spark.range(4).selectExpr("id", "id * 2 AS twice")


@pipelines.table
def streamed():
    return spark.readStream.table("numbers").selectExpr("id", "twice + 1 AS more")
""",
    "flows/totals.sql": "CREATE MATERIALIZED VIEW totals AS SELECT id, sum(twice) AS total FROM numbers GROUP BY id;\n",
}


@pytest.fixture(scope="module")
def pipeline(real_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("pipeline")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text.replace("{folder}", str(folder)), "utf-8")
    conf = {
        # The command chooses the master itself.
        **{key: value for key, value in QUICK.items() if key != "spark.master"},
        **PATIENT,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": f"{folder}/events.ndjson",
    }
    command = [str(pyspark_folder() / "bin" / "spark-pipelines"), "run", "--spec", "spark-pipeline.yml"]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    done = subprocess.run(
        command, cwd=folder, env=clean_environment(), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr, folder)


def test_each_flow_is_a_run_of_the_pipeline(
    pipeline: Ended,
    said: Callable[[Any], tuple[list[str], dict[str, list[str]], list[str]]],
    violations: Callable[[Any], list[str]],
) -> None:
    assert pipeline.code == 0, pipeline.stderr[-3000:]
    done = {
        Path(output["name"]).name: (event["job"]["name"].split(".")[0], said(event))
        for event in pipeline.queries()
        if event["eventType"] == "COMPLETE"
        for output in event["outputs"]
    }

    assert {event["job"]["name"] for event in pipeline.application()} == {"shop"}
    assert done == {
        "numbers": ("shop", ([], {"id": [], "twice": []}, [])),
        "streamed": (
            "shop",
            (["numbers"], {"id": ["numbers.id IDENTITY"], "more": ["numbers.twice TRANSFORMATION"]}, []),
        ),
        "totals": (
            "shop",
            (
                ["numbers"],
                {"id": ["numbers.id IDENTITY"], "total": ["numbers.twice AGGREGATION"]},
                ["numbers.id GROUP_BY"],
            ),
        ),
    }
    assert violations(pipeline.events()) == []
