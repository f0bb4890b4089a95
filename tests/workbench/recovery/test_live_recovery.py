"""
Recovery is true: plans that are carried out to the letter, on Iceberg and on Delta Lake.

Batch and streaming jobs fill three layers of tables, with a wrong load in the first. After a recovery, each table is
what the same jobs make of right data from the start, and no other table was touched.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.lakes import LAKE_CONF, LAKE_JARS
from support.spark_jobs import QUICK, Jobs, clean_environment

CATALOG = {
    **LAKE_CONF,
    "spark.master": "local[1]",
    # Another application writes some tables meanwhile.
    "spark.sql.catalog.ice.cache-enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
DEPEND = ("raw", "clean", "sums", "report", "best", "total")
GROUPS = ("incremental", "full")
# The exit code of a plan whose next step is a person's.
PAUSED = 3
# The tables that are recovered side by side are made by statements alone.
SIDE = ("raw", "report", "total")


pytestmark = pytest.mark.own_jvm

# Each takes minutes.
ASKED = os.environ.get("RECOVERY_LAKES", "iceberg").split(",")
LAKES = [each for each in ASKED if each != "hive"]


@pytest.fixture(scope="module", params=LAKES)
def lake(request, packaged, tmp_path_factory):
    """Return the folder in which all happened, with the figures of each table before and after the recoveries."""
    folder = tmp_path_factory.mktemp(request.param)
    prepare(folder, packaged(LAKE_JARS))
    history = run(folder, "history", request.param)
    assert history.code == 0, history.stderr[-3000:] + history.stdout[-2000:]
    for group, mode in (*zip(GROUPS, GROUPS, strict=True), ("side", "side-by-side")):
        carry_out(folder, request.param, group, mode)
    assert run(folder, "show", request.param).code == 0
    return folder


def prepare(folder, jars):
    conf = {
        **QUICK,
        **CATALOG,
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        "spark.jars": jars,
        "spark.openlineage.transport.type": "store",
        "spark.openlineage.transport.path": str(folder / "lineage.db"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    (folder / "conf.json").write_text(json.dumps(conf))


def run(folder, *arguments):
    return jobs_in(folder).run("layers.py", *arguments, str(folder), conf=conf_of(folder), lineage=False)


def jobs_in(folder):
    return Jobs(Path(__file__).parent / "jobs", lambda _: folder)


def conf_of(folder):
    return json.loads((folder / "conf.json").read_text())


def carry_out(folder, kind, group, mode):
    """Recover one set of tables by the command line, as a user would, who does by hand what the plan leaves to her."""
    name = "raw_s1" if group == "side" else "raw"
    raw = f"ice.{group}.{name}" if kind == "iceberg" else f"delta.`{folder / 'delta' / group / name}`"
    (folder / "right.sql").write_text(f"INSERT INTO {raw} VALUES (1, 3), (2, 4);\n")
    thing = f"{group}/raw@{json.loads((folder / 'wrong.json').read_text())[group]}"
    plan = folder / f"{group}-plan.json"
    planned = recover(
        *(folder, thing, "--mode", mode, "--output", str(plan)),
        *("--correct-with", str(folder / "right.sql"), "--store", str(folder / "lineage.db")),
    )
    assert planned.returncode == 0, planned.stderr[-4000:]
    steps = json.loads(plan.read_text())["result"]["steps"]
    accepted = [f"--accept-doubt={each['number']}" for each in steps if each["doubts"]]
    conf = [f"--conf={key}={value}" for key, value in conf_of(folder).items()]
    said, how = "", []
    while (done := recover(folder, "apply", str(plan), "--yes", *accepted, *conf, *how)).returncode == PAUSED:
        said += done.stdout
        step = steps[int(re.findall(r"^(\d+)/\d+ ", done.stdout, re.MULTILINE)[-1]) - 1]
        assert step["language"] == "shell"
        for code in step["code"]:
            command = ["/bin/sh", "-c", code]
            subprocess.run(command, cwd=step["folder"] or folder, env=clean_environment(), check=True)
        how = ["--resume"] if step["writes"] else ["--resume", f"--done={step['number']}"]
    (folder / f"{group}.txt").write_text(said + done.stdout)
    assert done.returncode == 0, f"{kind} {group}\n{said}{done.stdout}\n{done.stderr[-4000:]}"


def recover(folder, *arguments):
    command = [sys.executable, "-m", "openlineage_pyspark", "recover", *arguments]
    return subprocess.run(command, cwd=folder, env=clean_environment(), capture_output=True, text=True, check=False)


def figures(folder, when):
    return json.loads((folder / f"{when}.json").read_text())


@pytest.mark.parametrize("group", GROUPS)
def test_after_a_recovery_each_table_is_what_the_same_jobs_make_of_right_data(lake, group):
    wrong, shown, right = (
        {table: figures(lake, when)[f"{which} {table}"]["rows"] for table in (*DEPEND, "rates", "beside")}
        for when, which in (("history", group), ("show", group), ("show", "right"))
    )

    assert [table for table in DEPEND if wrong[table] == right[table]] == []
    assert shown == right


def test_after_a_recovery_side_by_side_too_and_no_copy_is_left_that_a_statement_can_drop(lake):
    tables = (*SIDE, "rates")
    wrong, shown = ({t: figures(lake, when)[f"side {t}"]["rows"] for t in tables} for when in ("history", "show"))
    right = {t: figures(lake, "show")[f"side_right {t}"]["rows"] for t in tables}

    assert [table for table in SIDE if wrong[table] == right[table]] == []
    assert shown == right
    paths = {f"{table}_s1" for table in SIDE} if (lake / "delta").exists() else set()
    assert {path.name for path in lake.rglob("*_s1")} == paths


def test_a_recovery_touches_no_table_that_does_not_depend_on_the_wrong_one(lake):
    before, after = figures(lake, "history"), figures(lake, "show")

    touched = {key for key, found in before.items() if found["versions"] != after[key]["versions"]}
    assert touched == {f"{group} {table}" for group in GROUPS for table in DEPEND} | {f"side {table}" for table in SIDE}


def test_an_incremental_recovery_goes_back_where_a_full_one_begins_anew(lake):
    said = {group: (lake / f"{group}.txt").read_text() for group in GROUPS}

    assert [("--back-to 0" in text, "before-recovery" in text) for text in said.values()] == [
        (True, True),
        (False, True),
    ]


def test_a_table_that_has_only_a_path_has_one_name(lake):
    assert [group for group in GROUPS if "delta./" in (lake / f"{group}.txt").read_text()] == []


@pytest.mark.skipif("hive" not in ASKED, reason="it takes a minute: RECOVERY_LAKES=hive asks for it")
def test_external_tables_of_hive_are_emptied_by_the_statements_for_a_person(real_spark, tmp_path):
    done = jobs_in(tmp_path).run("external_tables.py", str(tmp_path), lineage=False)

    assert done.code == 0, done.stderr[-3000:]
    found = {name: told for name, *told in map(json.loads, done.stdout.splitlines())}
    formats = ("parquet", "orc", "textfile")
    assert found == {f"db.{format_}_{kind}": [4, [], [9]] for format_ in formats for kind in ("whole", "parts")}
