"""Which tables of a changed script must be rebuilt: each of its writes is compared by its own plan."""

from __future__ import annotations

import argparse
import contextlib
import json
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.command.change import file_steps
from openlineage_pyspark.workbench.dryrun import files
from openlineage_pyspark.workbench.dryrun.files import ScriptSettings, lineage_of_files
from openlineage_pyspark.workbench.dryrun.run import ScriptRunner
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.predict.scripts import Script
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from openlineage_pyspark.workbench.rebuild.plan import rebuild_plan
from support.spark_jobs import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan
    from openlineage_pyspark.workbench.rebuild.statements import FileStep

pytestmark = [pytest.mark.usefixtures("real_spark"), pytest.mark.any_spark]

TABLES = [
    DeclaredTable(
        ("spark_catalog", "default", "orders"),
        (("id", "INT"), ("customer", "INT"), ("amount", "INT"), ("status", "STRING")),
    ),
    DeclaredTable(("spark_catalog", "default", "totals_of_yesterday"), (("id", "INT"), ("total", "INT"))),
    DeclaredTable(("spark_catalog", "default", "totals"), (("id", "INT"), ("customer", "INT"), ("total", "INT"))),
    DeclaredTable(("spark_catalog", "default", "customers"), (("id", "INT"), ("age", "INT"), ("mail", "STRING"))),
]
JOB = """\
import sys
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

RATE = 2
STATES = ["paid", "sent"]


def band(age):
    return "old" if age > 60 else "young"


def paid(spark):
    return spark.table("orders").where(F.col("status").isin(STATES))


def save(df, name, mode="overwrite"):
    df.write.mode(mode).saveAsTable(name)


def main():
    spark = SparkSession.builder.appName("shop").getOrCreate()
    old = spark.table("totals_of_yesterday")
    rows = paid(spark).cache()
    print(f"{rows.count()} rows")
    save(rows.select("id", "customer", (F.col("amount") * RATE).alias("total")), "totals")
    save(rows.groupBy("customer").agg(F.count("*").alias("n")), "counts")
    save(spark.table("customers").withColumn("band", F.udf(band)("age")), "banded")
    spark.table("totals").createOrReplaceTempView("t")
    spark.sql("DROP TABLE IF EXISTS big")
    spark.sql("CREATE TABLE big USING parquet AS SELECT id FROM t WHERE total > 100")
    spark.sql("CREATE TABLE IF NOT EXISTS logged (id INT, n INT) USING parquet")
    spark.sql("INSERT INTO logged SELECT customer, total FROM t")
    prices = spark.read.option("header", True).schema("id INT, price INT").csv("in/prices.csv")
    prices.write.mode("append").parquet("out/prices")
    spark.read.parquet("out/prices").select("price").write.mode("overwrite").parquet("out/only")
    old.write.mode("overwrite").saveAsTable("kept")


main()
"""
ALL = {"totals", "counts", "banded", "big", "logged", "prices", "only", "kept"}
# A change of the script -> the tables that it must rebuild.
CHANGES: Mapping[str, tuple[str, str, set[str]]] = {
    "a literal": ("RATE = 2", "RATE = 3", {"totals", "big", "logged"}),
    "a condition": ('"sent"]', '"sent", "new"]', {"totals", "counts", "big", "logged"}),
    "the body of a UDF": ("age > 60", "age > 65", {"banded"}),
    "an option of a reader": ('"header", True', '"header", False', {"prices", "only"}),
    "a mode": ('prices.write.mode("append")', 'prices.write.mode("overwrite")', {"prices", "only"}),
    "a format": ('old.write.mode("overwrite")', 'old.write.format("orc").mode("overwrite")', {"kept"}),
    "a statement": ("total > 100", "total >= 100", {"big"}),
    "a condition that is written differently": ('"id", "customer", (F', '*["id", "customer"], (F', set()),
    "a comment and a name": ("rows = paid(spark)", "rows = paid(spark)  # Paid.", set()),
    "what is printed": ("rows.count()} rows", "rows.count()} paid rows", set()),
    "the way to the same rows": (
        'spark.table("orders").where(F.col("status").isin(STATES))',
        'spark.sql("SELECT * FROM orders").where(F.col("status").isin("paid", "sent"))',
        set(),
    ),
    "a setting": (
        "    old = spark",
        '    spark.conf.set("spark.sql.ansi.enabled", "false")\n    old = spark',
        ALL,
    ),
    "a setting by a statement": ("    old = spark", "    spark.sql(\"SET TIME ZONE 'UTC'\")\n    old = spark", ALL),
    "code that does not run": (
        "\n\nmain()",
        '\n    if len(sys.argv) > 9:\n        save(rows, "counts")\n\n\nmain()',
        ALL,
    ),
    "a decision on data": ("    save(rows.groupBy", "    if rows.count() > 5:\n        save(rows.groupBy", ALL),
    "a value of rows": ("total > 100", "total > {rows.count()}", ALL),
    "a table that is read before it is written": (
        'old = spark.table("totals_of_yesterday")',
        'old = spark.table("totals").drop("customer")',
        # Two reads of the same table, one of them before the write: no plan shows which of them it has.
        {"kept", "big", "logged"},
    ),
}
TO_TOPIC = (
    "spark.table('orders').where(f'id > {low}').select(F.col('status').alias('value')).write.format('kafka')"
    ".option('kafka.bootstrap.servers', 'h:1').option('topic', 't').save()"
)
READ = "spark.read.schema('id INT').parquet('in/p')"
ADDED = "spark.table('orders').select('id').write.mode('append').parquet('in/p')"
FILLED = "spark.sql('CREATE TABLE t (a INT) USING parquet')\nspark.sql('INSERT INTO t SELECT id FROM orders')"
# What the check tries.
OFTEN = {
    *("a literal", "the body of a UDF", "an option of a reader", "a mode", "a statement", "the way to the same rows"),
    *("a setting", "code that does not run", "a decision on data", "a table that is read before it is written"),
}
# Two scripts that differ, and must not seem to be the same.
PAIRS: Mapping[str, tuple[str, str]] = {
    "rows in Python": (
        'spark.createDataFrame([(1, "a")], "id INT, name STRING").write.saveAsTable("t")',
        'spark.createDataFrame([(2, "a")], "id INT, name STRING").write.saveAsTable("t")',
    ),
    "the answer of a statement": (
        'spark.sql("SHOW TABLES IN default").select("tableName").write.saveAsTable("t")',
        'spark.sql("SHOW TABLES IN other").select("tableName").write.saveAsTable("t")',
    ),
    "a version of a table": (
        'spark.read.option("versionAsOf", 1).table("orders").write.saveAsTable("t")',
        'spark.read.option("versionAsOf", 2).table("orders").write.saveAsTable("t")',
    ),
    "the database of a query": (
        'spark.read.schema("a INT").jdbc("jdbc:postgresql://one/db", "public.x").write.saveAsTable("t")',
        'spark.read.schema("a INT").jdbc("jdbc:postgresql://two/db", "public.x").write.saveAsTable("t")',
    ),
    "a pattern of names": (
        'spark.read.schema("a INT").option("pathGlobFilter", "*.csv").csv("in").write.saveAsTable("t")',
        'spark.read.schema("a INT").option("pathGlobFilter", "*.txt").csv("in").write.saveAsTable("t")',
    ),
    "the predicates of a query": (
        "spark.read.schema('a INT').jdbc('jdbc:postgresql://h/d', 'x', predicates=['a < 1']).write.saveAsTable('t')",
        "spark.read.schema('a INT').jdbc('jdbc:postgresql://h/d', 'x', predicates=['a < 2']).write.saveAsTable('t')",
    ),
    "the properties of a connection": (
        "spark.read.schema('a INT').jdbc('jdbc:x://h/d', 'x', properties={'a': '1'}).write.saveAsTable('t')",
        "spark.read.schema('a INT').jdbc('jdbc:x://h/d', 'x', properties={'a': '2'}).write.saveAsTable('t')",
    ),
    "the places of columns": (
        "spark.read.schema('id INT, price INT').csv('in').select('price').write.saveAsTable('t')",
        "spark.read.schema('price INT, id INT').csv('in').select('price').write.saveAsTable('t')",
    ),
    "the case of a name": (
        "spark.table('orders').select(F.col('id').alias('key')).write.json('out/t')",
        "spark.table('orders').select(F.col('id').alias('Key')).write.json('out/t')",
    ),
    "the metadata of a column": (
        "spark.table('orders').select(F.col('id').alias('a', metadata={'comment': 'b'})).write.saveAsTable('t')",
        "spark.table('orders').select(F.col('id').alias('a', metadata={'comment': 'c'})).write.saveAsTable('t')",
    ),
    "the seed of a sample": (
        "spark.table('orders').sample(0.5, seed=1).write.saveAsTable('t')",
        "spark.table('orders').sample(0.5, seed=2).write.saveAsTable('t')",
    ),
    "the seed of a sample in a view": (
        (
            "spark.sql('CREATE TEMP VIEW v AS SELECT * FROM orders TABLESAMPLE (9 PERCENT) REPEATABLE (1)')\n"
            "spark.sql('CREATE TABLE t AS SELECT * FROM v')"
        ),
        (
            "spark.sql('CREATE TEMP VIEW v AS SELECT * FROM orders TABLESAMPLE (9 PERCENT) REPEATABLE (2)')\n"
            "spark.sql('CREATE TABLE t AS SELECT * FROM v')"
        ),
    ),
    "rows that are added to a topic": (
        "for low in (1, 0): " + TO_TOPIC,
        "for low in (2, 0): " + TO_TOPIC,
    ),
    "a read before or after a write": (
        f"a = {READ}\n{ADDED}\na.write.saveAsTable('t')",
        f"{ADDED}\na = {READ}\na.write.saveAsTable('t')",
    ),
    "rows that are kept before a write": (
        f"a = {READ}\n{ADDED}\na.write.saveAsTable('t')",
        f"a = {READ}.localCheckpoint()\n{ADDED}\na.write.saveAsTable('t')",
    ),
    "a statement without rows": (
        f"{FILLED}\nspark.sql('TRUNCATE TABLE t')",
        FILLED,
    ),
    "the location of a table": (
        (
            "spark.sql(\"CREATE TABLE u (a INT) USING csv LOCATION '/data/a'\")\n"
            "spark.table('u').write.mode('overwrite').saveAsTable('t')"
        ),
        (
            "spark.sql(\"CREATE TABLE u (a INT) USING csv LOCATION '/data/b'\")\n"
            "spark.table('u').write.mode('overwrite').saveAsTable('t')"
        ),
    ),
    "the options of a table": (
        (
            "spark.catalog.createTable('u', path='/u', source='csv', schema=spark.table('orders').schema, sep=',')\n"
            "spark.table('u').write.saveAsTable('t')"
        ),
        (
            "spark.catalog.createTable('u', path='/u', source='csv', schema=spark.table('orders').schema, sep=';')\n"
            "spark.table('u').write.saveAsTable('t')"
        ),
    ),
    "a function of Java": (
        (
            "spark.udf.registerJavaFunction('f', 'com.A', 'int')\n"
            "spark.sql('CREATE TABLE t AS SELECT f(id) AS a FROM orders')"
        ),
        (
            "spark.udf.registerJavaFunction('f', 'com.B', 'int')\n"
            "spark.sql('CREATE TABLE t AS SELECT f(id) AS a FROM orders')"
        ),
    ),
    "a method of a lookup": (
        "spark.table('orders').select(F.udf({1: 'a'}.get)('id').alias('n')).write.saveAsTable('t')",
        "spark.table('orders').select(F.udf({1: 'b'}.get)('id').alias('n')).write.saveAsTable('t')",
    ),
    "partitions": (
        'spark.table("orders").write.partitionBy("status").saveAsTable("t")',
        'spark.table("orders").write.saveAsTable("t")',
    ),
    "what a write of partitions replaces": (
        'spark.table("orders").write.mode("overwrite").option("replaceWhere", "id > 1").saveAsTable("t")',
        'spark.table("orders").write.mode("overwrite").option("replaceWhere", "id > 2").saveAsTable("t")',
    ),
    "what a write replaces by a condition": (
        'spark.table("orders").writeTo("t").overwrite(F.col("id") > 1)',
        'spark.table("orders").writeTo("t").overwrite(F.col("id") > 2)',
    ),
    "a lookup in a function": (
        (
            "NAMES = {1: 'a'}\nspark.table('orders').select(F.udf(lambda x: NAMES[x])('id').alias('n')).write"
            ".saveAsTable('t')"
        ),
        (
            "NAMES = {1: 'b'}\nspark.table('orders').select(F.udf(lambda x: NAMES[x])('id').alias('n')).write"
            ".saveAsTable('t')"
        ),
    ),
    "a function of a frame": (
        "spark.table('orders').mapInPandas(lambda p: p, 'id INT').write.saveAsTable('t')",
        "spark.table('orders').mapInPandas(lambda p: (x[x.id > 1] for x in p), 'id INT').write.saveAsTable('t')",
    ),
    "a registered function": (
        "spark.udf.register('f', lambda x: x + 1, 'int')\nspark.sql('CREATE TABLE t AS SELECT f(id) AS a FROM orders')",
        "spark.udf.register('f', lambda x: x + 2, 'int')\nspark.sql('CREATE TABLE t AS SELECT f(id) AS a FROM orders')",
    ),
    "rows through an RDD": (
        "spark.table('orders').rdd.map(lambda r: (r[0],)).toDF('id INT').write.saveAsTable('t')",
        "spark.table('orders').rdd.map(lambda r: (r[1],)).toDF('id INT').write.saveAsTable('t')",
    ),
    "the order of two writes of a table": (
        (
            "spark.table('orders').select('id').write.mode('overwrite').saveAsTable('t')\n"
            "spark.table('customers').select('id').write.mode('overwrite').saveAsTable('t')"
        ),
        (
            "spark.table('customers').select('id').write.mode('overwrite').saveAsTable('t')\n"
            "spark.table('orders').select('id').write.mode('overwrite').saveAsTable('t')"
        ),
    ),
    "a statement between a read and a write": (
        "a = spark.table('orders')\nspark.sql('DELETE FROM orders WHERE id > 1')\na.write.saveAsTable('t')",
        "a = spark.table('orders')\nspark.sql('DELETE FROM orders WHERE id > 2')\na.write.saveAsTable('t')",
    ),
    "a variable": (
        "spark.sql('DECLARE VARIABLE v INT DEFAULT 1')\nspark.sql('CREATE TABLE t AS SELECT id + v AS a FROM orders')",
        "spark.sql('DECLARE VARIABLE v INT DEFAULT 2')\nspark.sql('CREATE TABLE t AS SELECT id + v AS a FROM orders')",
    ),
    "the columns of a view": (
        (
            "spark.table('orders').select('id', 'amount').createOrReplaceTempView('v')\n"
            "spark.sql('CREATE TABLE t AS SELECT id FROM v')"
        ),
        (
            "spark.table('orders').select(F.col('amount').alias('id')).createOrReplaceTempView('v')\n"
            "spark.sql('CREATE TABLE t AS SELECT id FROM v')"
        ),
    ),
    "a stream's watermark": (
        (
            "spark.readStream.schema('a TIMESTAMP').json('in').withWatermark('a', '1 hour').dropDuplicates(['a'])"
            ".writeStream.format('parquet').option('checkpointLocation', 'c').start('out/t')"
        ),
        (
            "spark.readStream.schema('a TIMESTAMP').json('in').withWatermark('a', '2 hours').dropDuplicates(['a'])"
            ".writeStream.format('parquet').option('checkpointLocation', 'c').start('out/t')"
        ),
    ),
    "a batch of a stream": (
        (
            "spark.readStream.schema('a INT').json('in').writeStream.foreachBatch("
            "lambda d, n: d.where('a > 1').write.saveAsTable('t')).start()"
        ),
        (
            "spark.readStream.schema('a INT').json('in').writeStream.foreachBatch("
            "lambda d, n: d.where('a > 2').write.saveAsTable('t')).start()"
        ),
    ),
}
SQL_CELL = """\
%sql
-- The paid orders.
CREATE OR REPLACE TABLE paid AS
SELECT id, customer, amount FROM orders WHERE amount > 5;
CREATE OR REPLACE TABLE totals AS SELECT id, amount * 2 AS total FROM paid"""
# The cells of a notebook.
CELLS = (
    "%run ./shared",
    "from pyspark.sql import functions as F",
    "%pip install a==1\n",
    'dbutils.widgets.text("state", "paid")\nstate = dbutils.widgets.get("state")',
    SQL_CELL,
    'counts = spark.table("orders").where(F.col("status") == state).groupBy("customer").count()\ndisplay(counts)',
    'counts.write.mode("overwrite").saveAsTable("counts")',
    "if counts.columns:\n    print(spark.table('paid').count())",
)
ALL_CELLS = {"paid", "totals", "counts"}
CHANGED_CELLS: Mapping[str, tuple[str, str, set[str]]] = {
    "a cell of SQL": ("amount > 5", "amount > 6", {"paid", "totals"}),
    "an expression in SQL": ("amount * 2", "amount * 3", {"totals"}),
    "a comment in SQL": ("The paid", "All paid", set()),
    "a cell of Python": ('F.col("status")', 'F.upper("status")', {"counts"}),
    "a parameter": ('"state", "paid"', '"state", "sent"', {"counts"}),
    "what is shown": ("display(counts)", "display(counts.limit(5))", set()),
    "a package": ("a==1", "a==2", ALL_CELLS),
}
HEAD = "from pyspark.sql import SparkSession, functions as F\nspark = SparkSession.builder.getOrCreate()\n"


_OF_JOB: list[tuple[FileStep, ...]] = []


@pytest.fixture(scope="module")
def runner() -> Iterator[ScriptRunner]:
    """Give one JVM for all scripts."""
    with ScriptRunner({}) as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder in which the scripts run."""
    found = tmp_path_factory.mktemp("jobs")
    (found / "in").mkdir()
    return found


@pytest.fixture
def plan_of(runner: ScriptRunner, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], RebuildPlan]:
    """Give the plan of a change of a script, which runs dry in both states."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(files, "ScriptRunner", lambda *_: contextlib.nullcontext(runner))
    options = argparse.Namespace(passed_on=[], env=[], conf=[], allow=[], param=[], py_files=[], branches=False)

    def steps(text: str, name: str) -> tuple[FileStep, ...]:
        if text == JOB and _OF_JOB:
            return _OF_JOB[0]
        (folder / name).write_text(text, "utf-8")
        scripts = [Script(name, text)]
        known = KnownColumns(list(TABLES))
        found = lineage_of_files(scripts, known, ScriptSettings(shapes=True), lambda *_: ())
        every = file_steps(scripts, (), found, options, None)
        if text == JOB:
            _OF_JOB.append(every)
        return every

    def plan(before: str, after: str, name: str = "job.py") -> RebuildPlan:
        return rebuild_plan(steps(before, name), steps(after, name))

    return plan


def source_of(cells: Iterable[str]) -> str:
    """Return a notebook as Databricks exports it as source."""
    texts = ("\n".join(f"# MAGIC {line}" for line in each.split("\n")) if each[0] in "%!" else each for each in cells)
    return "# Databricks notebook source\n" + "\n\n# COMMAND ----------\n\n".join(texts)


def notebook_of(cells: Iterable[str], output: str) -> str:
    """Return a notebook of Jupyter."""
    made = [{"cell_type": "code", "source": each, "outputs": [{"text": output}]} for each in cells]
    return json.dumps({"metadata": {"kernelspec": {"language": "python"}}, "cells": made})


def made(plan: RebuildPlan) -> set[str]:
    return {each.table.replace("/", ".").rpartition(".")[2] for each in plan.made}


@pytest.mark.parametrize(
    "what", [pytest.param(each, marks=[] if each in OFTEN else [pytest.mark.long]) for each in CHANGES]
)
def test_a_change_of_a_script_rebuilds_only_what_it_writes_differently(
    what: str, plan_of: Callable[[str, str], RebuildPlan]
) -> None:
    old, new, expected = CHANGES[what]
    assert JOB.count(old) == 1

    assert made(plan_of(JOB, JOB.replace(old, new))) == expected


@pytest.mark.parametrize(
    ("written", "parted"),
    [("write.mode('overwrite')", "partitionBy('status').saveAsTable('t')"),
     ("writeTo('t').using('delta')", "partitionedBy('status').createOrReplace()")],
)  # fmt: skip
def test_the_readers_of_a_table_that_a_script_partitions_anew_are_made_again(
    written: str, parted: str, plan_of: Callable[[str, str], RebuildPlan]
) -> None:
    """An empty text is NULL in the name of a folder."""
    made_of, ending = f"spark.table('orders').{written}", parted[parted.index(")") + 2 :]
    read = "spark.table('t').select('status').write.mode('overwrite').saveAsTable('r')"
    plain, of_folders = (f"{HEAD}{made_of}.{each}\n{read}\n" for each in (ending, parted))

    assert made(plan_of(of_folders, of_folders)) == set()
    assert made(plan_of(plain, of_folders)) == made(plan_of(of_folders, plain)) == {"t", "r"}


def test_a_script_that_did_not_change_rebuilds_nothing(plan_of: Callable[[str, str], RebuildPlan]) -> None:
    text = f"{HEAD}import datetime\nnow = str(datetime.datetime.now())\n" + "".join(
        f"spark.range(1).select(F.lit({value}).alias('a')).write.saveAsTable('t{at}')\n"
        for at, value in enumerate(("now", "' '.join({'a', 'b', 'c', 'd'})"))
    )

    assert made(plan_of(text, text)) == set()
    assert "t0" in made(plan_of(text, f"x = 1\n{text}"))


@pytest.mark.parametrize(
    "what", [pytest.param(each, marks=[] if each == "a cell of SQL" else [pytest.mark.long]) for each in CHANGED_CELLS]
)
def test_a_change_of_a_notebook_rebuilds_only_what_it_writes_differently(
    what: str, folder: Path, plan_of: Callable[..., RebuildPlan]
) -> None:
    old, new, expected = CHANGED_CELLS[what]
    changed = [each.replace(old, new) for each in CELLS]
    (folder / "shared.py").write_text("# Databricks notebook source\nRATE = 2\n", "utf-8")

    assert made(plan_of(source_of(CELLS), source_of(changed), "nightly.py")) == expected
    assert made(plan_of(notebook_of(CELLS, "1"), notebook_of(changed, "2"), "nightly.ipynb")) == expected


@pytest.mark.parametrize("command", ["%sh\npython load.py", "!python load.py", "%scala\nload()"])
@pytest.mark.long
def test_a_notebook_with_a_command_that_a_dry_run_leaves_out_is_compared_as_a_whole(
    command: str, plan_of: Callable[..., RebuildPlan]
) -> None:
    before, after = ((*CELLS[1:7], command.replace("load", name)) for name in ("load", "load_all"))

    assert made(plan_of(source_of(before), source_of(before), "nightly.py")) == set()
    assert made(plan_of(source_of(before), source_of(after), "nightly.py")) == {"paid", "totals", "counts"}


@pytest.mark.long
@pytest.mark.parametrize("what", PAIRS)
def test_a_difference_that_no_edge_shows_is_found(what: str, plan_of: Callable[[str, str], RebuildPlan]) -> None:
    before, after = PAIRS[what]
    if "DECLARE" in before and SPARK_VERSION.startswith("3."):
        pytest.skip("Spark 3.5 has no such variables in its SQL")

    assert "t" in made(plan_of(HEAD + before, HEAD + after))
