"""
Recovery is true: plans that are carried out to the letter, on Iceberg and on Delta Lake.

Batch and streaming jobs fill three layers of tables, with a wrong load in the first. After a recovery, each table is
what the same jobs make of right data from the start, and no other table was touched.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.store.answers import Store
from support.spark_jobs import FOREIGN, QUICK, Jobs

JARS = {
    "3.5": (
        "io.delta:delta-spark_2.12:3.3.2",
        "io.delta:delta-storage:3.3.2",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.6.1",
    ),
    "4.0": (
        "io.delta:delta-spark_2.13:4.0.0",
        "io.delta:delta-storage:4.0.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
    ),
}
EXTENSIONS = (
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "io.delta.sql.DeltaSparkSessionExtension",
)
CATALOG = {
    "spark.master": "local[1]",
    "spark.sql.extensions": ",".join(EXTENSIONS),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
}
DEPEND = ("raw", "clean", "sums", "report", "best", "total")


@pytest.fixture(scope="module")
def lake(packaged, tmp_path_factory):
    """Return the folder in which all happened, with the configuration and the figures of each table before."""
    folder = tmp_path_factory.mktemp("recovery")
    conf = {
        **QUICK,
        **CATALOG,
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        "spark.jars": packaged(JARS),
        "spark.openlineage.transport.type": "store",
        "spark.openlineage.transport.path": str(folder / "lineage.db"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    (folder / "conf.json").write_text(json.dumps(conf))
    done = run(folder, "history")
    assert done.code == 0, done.stderr[-3000:] + done.stdout[-2000:]
    for group in ("incremental", "full"):
        for format_ in ("iceberg", "delta"):
            carry_out(folder, format_, group)
    assert run(folder, "show").code == 0
    return folder


def run(folder, action):
    jobs = Jobs(Path(__file__).parent / "jobs", lambda _: folder)
    return jobs.run("layers.py", action, str(folder), conf=conf_of(folder), lineage=False)


def conf_of(folder):
    return json.loads((folder / "conf.json").read_text())


def carry_out(folder, format_, group):
    bad = json.loads((folder / "bad.json").read_text())[f"{format_} {group}"]
    raw = f"ice.{group}.raw" if format_ == "iceberg" else f"delta.`{folder / 'delta' / group / 'raw'}`"
    (folder / "right.sql").write_text(f"INSERT INTO {raw} VALUES (1, 3), (2, 4);\n")
    thing = f"{'ice' if format_ == 'iceberg' else 'delta'}/{group}/raw@{bad}"
    command = [sys.executable, "-m", "openlineage_pyspark", "recover", thing, "--mode", group, "--execute", "--yes"]
    command += ["--correct-with", str(folder / "right.sql"), "--store", str(folder / "lineage.db")]
    command += [f"--conf={key}={value}" for key, value in conf_of(folder).items()]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    path = f"{Path(sys.executable).parent}:{clean.get('PATH', '')}"
    environment = clean | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PATH": path}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{format_} {group}\n{done.stdout}\n{done.stderr[-4000:]}"
    (folder / f"{format_}-{group}.txt").write_text(done.stdout)


def figures(folder, when):
    return json.loads((folder / f"{when}.json").read_text())


@pytest.mark.parametrize("group", ["incremental", "full"])
@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_after_a_recovery_each_table_is_what_the_same_jobs_make_of_right_data(lake, format_, group):
    before, after = figures(lake, "history"), figures(lake, "show")
    wrong, shown, right = (
        {table: found[f"{format_} {which} {table}"]["rows"] for table in (*DEPEND, "rates", "beside")}
        for found, which in ((before, group), (after, group), (after, "right"))
    )

    assert [table for table in DEPEND if wrong[table] == right[table]] == []
    assert shown == right


@pytest.mark.parametrize("format_", ["iceberg", "delta"])
def test_a_recovery_touches_no_table_that_does_not_depend_on_the_wrong_one(lake, format_):
    before, after = figures(lake, "history"), figures(lake, "show")
    counts = [
        {key: value["versions"] for key, value in found.items() if key.startswith(format_)} for found in (before, after)
    ]

    touched = {key for key, count in counts[0].items() if count != counts[1][key]}
    assert touched == {f"{format_} {group} {table}" for group in ("incremental", "full") for table in DEPEND}


def test_an_incremental_recovery_goes_back_and_does_not_begin_anew(lake):
    with Store.open(lake / "lineage.db") as store:
        assert store.history("ice/incremental/raw")
    said = (lake / "iceberg-incremental.txt").read_text()

    assert said.count("rollback_to_snapshot") > 0
    assert "--back-to 0" in said
    assert "DELETE FROM" not in said
