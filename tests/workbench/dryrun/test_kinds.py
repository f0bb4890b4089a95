"""Kinds of jobs that have a runner of their own: pipelines, notebooks, Glue; and the other sides of decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.workbench.dryrun.files import ScriptSettings, lineage_of_files
from openlineage_pyspark.workbench.dryrun.schemas import KnownColumns
from openlineage_pyspark.workbench.predict.scripts import Script
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable
from support.spark_jobs import SPARK_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from openlineage_pyspark.workbench.predict.scripts import StatementLineage

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

ORDERS = DeclaredTable(("shop", "orders"), (("id", "BIGINT"), ("amount", "DOUBLE"), ("day", "DATE")))


@pytest.fixture(autouse=True)
def _folder(real_spark: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def found(name: str, text: str, settings: ScriptSettings | None = None) -> tuple[StatementLineage, ...]:
    """Return the lineage of a file in the current folder."""
    of_none = lambda *_: ()  # noqa: E731 (there is no SQL)
    return lineage_of_files([Script(name, text)], KnownColumns([ORDERS]), settings or ScriptSettings(), of_none)


def edges(every: tuple[StatementLineage, ...]) -> set[str]:
    """Return the direct edges: source and target."""
    return {
        f"{edge.dataset.name}.{edge.field} -> {dataset.identifier.name}.{column.name}"
        for each in every
        if each.lineage is not None
        for dataset, columns in each.lineage.outputs
        if dataset is not None
        for column in columns.columns
        for edge in column.edges
        if any(way.type == "DIRECT" for way in edge.transformations)
    }


def problems(every: tuple[StatementLineage, ...]) -> list[tuple[int, str]]:
    return [(each.problem.line, each.problem.code) for each in every if each.problem is not None]


FLOWS = """\
from pyspark import pipelines as dp

@dp.materialized_view
def totals():
    return spark.table("clean").groupBy("day").sum("amount")

@dp.temporary_view
def clean():
    return spark.read.table("shop.orders").filter("amount > 0")

dp.create_streaming_table("every")

@dp.append_flow(target="every")
def one():
    return spark.readStream.table("shop.orders").select("id")

@dp.append_flow(target="every")
def fails():
    raise ValueError("x")

@dp.append_flow(target="every")
def other():
    return spark.sql("SELECT id FROM big")
"""
BIG = "CREATE MATERIALIZED VIEW big AS SELECT * FROM shop.orders WHERE amount > 5;"
OF_FLOWS = {"orders.day -> default.totals.day", "orders.amount -> default.totals.sum(amount)",
            "orders.id -> default.every.id"}  # fmt: skip


def test_each_flow_of_a_pipeline_runs_after_what_it_reads_and_for_itself() -> None:
    every = found("flows.py", FLOWS)
    assert {each.replace("shop.", "") for each in edges(every)} == OF_FLOWS
    assert problems(every) == [(19, "SCRIPT_FAILED"), (23, "UNKNOWN_TABLE")]


def test_a_file_of_databricks_pipelines_has_a_session() -> None:
    text = """\
import dlt
@dlt.table(name="clean")
def clean():
    return spark.readStream.table("shop.orders").select("id")
@dlt.create_table(comment="an older name")
def best():
    return dlt.read("clean")
"""
    every = found("pipeline.py", text)
    assert edges(every) == {"shop.orders.id -> default.clean.id", "default.clean.id -> default.best.id"}
    assert problems(every) == []


def test_a_script_that_defines_no_session_gets_one_and_it_is_told() -> None:
    text = (
        'import os\ndef f():\n    spark.readStream.table("shop.orders").select("id").writeStream.table("copy")\nf()\n'
    )
    every = found("job.py", text)
    assert edges(every) == {"shop.orders.id -> default.copy.id"}
    assert problems(every) == [(3, "STAND_IN")]
    every = found("job.py", f"def main(spark):\n    pass\n{text}")
    assert (edges(every), problems(every)) == (set(), [(5, "SCRIPT_FAILED")])


def test_what_a_notebook_of_databricks_asks_about_its_run_is_a_text() -> None:
    text = """\
# Databricks notebook source
context = dbutils.notebook.entry_point.getDbutils().notebook().getContext()
user = context.userName().get().split("@")[0]
spark.table("shop.orders").select("id").write.parquet(f"/Users/{user}/{context.tags().apply('orgId')}")
"""
    every = found("job.py", text)
    assert edges(every) == {"shop.orders.id -> /Users/{userName}/{orgId}.id"}


FABRIC = """\
# Fabric notebook source

# PARAMETERS CELL ********************

target = "none"

# METADATA ********************

# META {}

# CELL ********************

# MAGIC %%sql
# MAGIC INSERT INTO shop.orders SELECT * FROM shop.orders

# CELL ********************

from notebookutils import mssparkutils
spark.table("shop.orders").select("id").write.saveAsTable(target)
notebookutils.notebook.exit("done")
never()
"""


def test_a_notebook_of_fabric_runs_with_its_parameters(tmp_path: Path) -> None:
    (tmp_path / "notebook-content.py").write_text(FABRIC, "utf-8")
    every = found("notebook-content.py", FABRIC, ScriptSettings(parameters={"target": "mart.ids"}))
    assert "shop.orders.id -> mart.ids.id" in edges(every)
    assert [each.statement.line for each in every if each.lineage is not None] == [14, 19]
    assert problems(every) == []


@pytest.mark.skipif(SPARK_VERSION < "4.1", reason="Spark has declarative pipelines from 4.1 on")
def test_the_specification_of_a_pipeline_has_the_flows_of_its_files(tmp_path: Path) -> None:
    (libraries := tmp_path / "flows").mkdir()
    (libraries / "flows.py").write_text(FLOWS, "utf-8")
    (libraries / "more.sql").write_text(f"CREATE MATERIALIZED VIEW last AS SELECT day FROM big;\n{BIG}", "utf-8")
    text = "name: x\nstorage: y\ndatabase: default\nlibraries:\n  - glob:\n      include: flows/**\n"
    (tmp_path / "spark-pipeline.yml").write_text(text, "utf-8")
    every = found("spark-pipeline.yml", text)
    written = [each.lineage.outputs[0][0].identifier.name for each in every if each.lineage]
    assert sorted(written) == ["default.big", "default.every", "default.every", "default.last", "default.totals"]
    assert written.index("default.big") < written.index("default.last")
    assert "default.big.day -> default.last.day" in edges(every)
    assert problems(every) == [(19, "SCRIPT_FAILED")]


def test_a_specification_without_files_is_named(tmp_path: Path) -> None:
    text = "name: x\nlibraries:\n  - glob:\n      include: nothing/**\n"
    (tmp_path / "spark-pipeline.yml").write_text(text, "utf-8")
    assert problems(found("spark-pipeline.yml", text)) == [(1, "NOTHING_TO_RUN")]


NOTEBOOK = """\
# Databricks notebook source
dbutils.widgets.text("target", "none")
dbutils.widgets.text("least", "1")

# COMMAND ----------

# MAGIC %run ./shared

# COMMAND ----------

# MAGIC %sql
# MAGIC CREATE OR REPLACE TEMP VIEW big AS SELECT * FROM shop.orders WHERE amount > :least;
# MAGIC INSERT INTO shop.orders SELECT * FROM big

# COMMAND ----------

clean(spark.table("big")).write.saveAsTable(dbutils.widgets.get("target"))
dbutils.notebook.exit("done")
never()
"""


def test_a_notebook_of_databricks_runs_with_its_parameters(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text("# Databricks notebook source\ndef clean(df):\n    return df.select('id')\n")
    (tmp_path / "job.py").write_text(NOTEBOOK, "utf-8")
    every = found("job.py", NOTEBOOK, ScriptSettings(parameters={"target": "mart.ids"}))
    assert "shop.orders.id -> mart.ids.id" in edges(every)
    assert [each.statement.line for each in every if each.lineage is not None] == [13, 17]
    assert problems(every) == []


NOTEBOOK_OF_SQL = """\
-- Databricks notebook source
CREATE WIDGET TEXT least DEFAULT "5";
CREATE WIDGET TEXT day DEFAULT "2024-01-01"

-- COMMAND ----------

CREATE OR REPLACE TEMP VIEW big AS SELECT * FROM shop.orders WHERE amount > ${least} AND day = :day;
REMOVE WIDGET day;
CREATE TABLE mart.ids AS SELECT id FROM big

-- COMMAND ----------

-- MAGIC %run ./shared

-- COMMAND ----------

-- MAGIC %python
-- MAGIC clean(spark.table("mart.ids")).write.saveAsTable("mart.clean")

-- COMMAND ----------

-- MAGIC %scala
-- MAGIC spark.table("mart.ids").write.saveAsTable("mart.of_scala")
"""


def test_a_cell_that_fails_ends_only_those_that_need_it(tmp_path: Path) -> None:
    cells = (
        "frame = spark.table('shop.orders')\nframe.createOrReplaceTempView('v')\nnames = ['id']",
        "wrong = frame.nothing\nframe = frame.select('id')\nfill(names)\nframe.createOrReplaceTempView('v')",
        "frame.write.saveAsTable('a')",
        "spark.table('shop.orders').select(*names).write.saveAsTable('b')",
        "%sql CREATE TABLE c AS SELECT id FROM v",
        "spark.table('shop.orders').select('id').write.saveAsTable('d')",
        "spark.sql('USE nothing')\nspark.absent",
        "spark.table('shop.orders').select('id').write.saveAsTable('e')",
    )
    text = "# Databricks notebook source\n" + "\n# COMMAND ----------\n".join(
        f"# MAGIC {each}" if each.startswith("%") else each for each in cells
    )
    every = found("cells.py", text)
    assert [each.lineage.outputs[0][0].identifier.name for each in every if each.lineage] == ["default.c", "default.d"]
    assert [(line, code) for line, code in problems(every) if code == "SCRIPT_FAILED"] == [
        (6, "SCRIPT_FAILED"),
        (11, "SCRIPT_FAILED"),
        (13, "SCRIPT_FAILED"),
        (20, "SCRIPT_FAILED"),
    ]


def test_a_notebook_of_sql_with_other_cells_runs_in_the_order_of_its_cells(tmp_path: Path) -> None:
    (tmp_path / "shared.sql").write_text(
        "-- Databricks notebook source\n-- MAGIC %python\n-- MAGIC def clean(df):\n-- MAGIC   return df.limit(1)\n",
        "utf-8",
    )
    (tmp_path / "job.sql").write_text(NOTEBOOK_OF_SQL, "utf-8")
    every = found("job.sql", NOTEBOOK_OF_SQL)
    assert edges(every) == {"shop.orders.id -> mart.ids.id", "mart.ids.id -> mart.clean.id"}
    assert [each.statement.line for each in every if each.lineage is not None] == [9, 18]
    assert problems(every) == [(22, "NOT_DONE")]


PARAMETERS = """\
# Databricks notebook source
# MAGIC %sql
# MAGIC CREATE TABLE mart.a AS SELECT id FROM shop.orders WHERE amount > ${least} AND day = :day AND id <> {{ other }};
# MAGIC CREATE TABLE mart.b AS SELECT id, ':day' AS x FROM ${schema}.orders WHERE amount > getArgument("least");
# MAGIC CREATE TABLE mart.c AS SELECT ${columns} FROM shop.orders
x = 1
"""


def test_parameters_of_sql_cells_without_a_value_are_reported_and_taken_for_values(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(PARAMETERS, "utf-8")
    every = found("job.py", PARAMETERS, ScriptSettings(parameters={"schema": "shop"}))
    assert edges(every) == {"shop.orders.id -> mart.a.id", "shop.orders.id -> mart.b.id"}
    assert problems(every) == [
        *((3, "STAND_IN"),) * 4,
        *((4, "STAND_IN"),) * 1,
        *((5, "STAND_IN"), (5, "UNKNOWN_STATEMENT")),
    ]


GLUE = """\
import sys
from awsglue.transforms import *
from awsglue.utils import getResolvedOptions
from awsglue.context import GlueContext
from pyspark.context import SparkContext
args = getResolvedOptions(sys.argv, ["target"])
glue = GlueContext(SparkContext())
orders = glue.create_dynamic_frame.from_catalog(database="shop", table_name="orders")
mappings = [("id", "long", "key", "string"), ("amount", "double", "a", "double")]
mapped = ApplyMapping.apply(frame=orders, mappings=mappings)
big = Filter.apply(frame=mapped, f=lambda row: row["a"] > 1)
both = Join.apply(big, mapped.rename_field("key", "other").select_fields(["other"]), ["key"], ["other"])
glue.write_dynamic_frame.from_options(
    frame=both, connection_type="s3", connection_options={"path": args["target"]}, format="parquet")
glue.spark_session.table("shop.orders").select("day").write.parquet("s3://b/days")
fields = [("id", "long", "who.key", "long"), ("amount", "double", "who.a", "string"), ("day", "`on.day`")]
nested = ApplyMapping.apply(frame=orders, mappings=fields).resolveChoice(specs=[("who", "make_cols")])
nested.toDF().write.parquet("s3://b/nested")
others = mapped.rename_field("key", "another").select_fields("another")
pairs = Join.apply(orders.select_fields("id"), others, "id", "another")
pairs.toDF().write.parquet("s3://b/pairs")
"""


def test_a_job_of_glue_has_the_edges_of_its_dynamic_frames(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(GLUE, "utf-8")
    every = found("job.py", GLUE, ScriptSettings(arguments=("--target", "s3://b/out")))
    assert edges(every) == {
        "shop.orders.id -> out.key",
        "shop.orders.amount -> out.a",
        "shop.orders.id -> out.other",
        "shop.orders.day -> days.day",
        "shop.orders.id -> nested.who",
        "shop.orders.amount -> nested.who",
        "shop.orders.day -> nested.on.day",
        "shop.orders.id -> pairs.id",
        "shop.orders.id -> pairs.another",
    }
    assert problems(every) == [(17, "PATTERN")]


DECISIONS = """\
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
o = spark.table("shop.orders")
if o.count() > 1000:
    o.select("id").write.parquet("s3://b/many")
    if o.isEmpty():
        o.select("id").write.parquet("s3://b/inner")
else:
    o.select("id").write.parquet("s3://b/few")
if spark.catalog.tableExists("shop.orders"):
    o.select("day").write.parquet("s3://b/always")
"""


def test_each_frame_of_a_relationalized_one_is_written(tmp_path: Path) -> None:
    text = """\
from awsglue.context import GlueContext
from awsglue.transforms import Relationalize
from pyspark.context import SparkContext
glue = GlueContext(SparkContext())
orders = glue.create_dynamic_frame.from_catalog(database="shop", table_name="orders")
frames = orders.relationalize("flat", "s3://b/temp")
for name in frames.keys():
    glue.write_dynamic_frame.from_options(frames.select(name), "s3", {"path": f"s3://b/{name}"}, format="parquet")
root = Relationalize.apply(frame=orders, staging_path="s3://b/temp", name="root").select("root")
root.toDF().write.parquet("s3://b/root")
"""
    (tmp_path / "job.py").write_text(text, "utf-8")
    lineages = [each.lineage for each in found("job.py", text) if each.lineage is not None]
    written = [dataset.identifier.name for each in lineages for dataset, _ in each.outputs if dataset is not None]
    assert sorted(written) == ["flat", "flat_{field}", "root"]
    assert {dataset.identifier.name for each in lineages for dataset in each.inputs} == {"shop.orders"}


def test_the_batches_of_a_stream_of_glue_are_written(tmp_path: Path) -> None:
    text = """\
from awsglue.context import GlueContext
from pyspark.context import SparkContext
glue = GlueContext(SparkContext())
glue._jsc.hadoopConfiguration().set("fs.s3.x", "y")
orders = glue.create_data_frame.from_catalog(database="shop", table_name="orders", additional_options={"x": "y"})
def process(batch, number):
    if batch.count() > 0:
        timed = glue.add_ingestion_time_columns(batch.select("id"), "day")
        timed.write.parquet("s3://b/timed")
        batch.createOrReplaceTempView("batch")
        glue.sql("SELECT amount FROM batch").write.parquet("s3://b/amounts")
glue.forEachBatch(frame=orders, batch_function=process, options={"windowSize": "100 seconds"})
days = glue.getSource("file", paths=["s3://b/amounts"])
days.setFormat("parquet")
days.getFrame().toDF().write.parquet("s3://b/again")
"""
    (tmp_path / "job.py").write_text(text, "utf-8")
    every = found("job.py", text)
    assert edges(every) == {
        "shop.orders.id -> timed.id",
        "shop.orders.amount -> amounts.amount",
        "amounts.amount -> again.amount",
    }
    assert problems(every) == [(7, "DECISION")]


def test_names_of_glue_may_have_hyphens(tmp_path: Path) -> None:
    text = """\
from awsglue.context import GlueContext
from pyspark.context import SparkContext
glue = GlueContext(SparkContext())
orders = glue.create_dynamic_frame.from_catalog(database="raw-zone", table_name="all-orders")
glue.write_dynamic_frame.from_catalog(orders, database="my-mart", table_name="orders")
"""
    (tmp_path / "job.py").write_text(text, "utf-8")
    table = DeclaredTable(("raw-zone", "all-orders"), (("id", "BIGINT"),))
    every = lineage_of_files([Script("job.py", text)], KnownColumns([table]), ScriptSettings(), lambda *_: ())
    assert edges(every) == {"raw-zone.all-orders.id -> my-mart.orders.id"}
    assert problems(every) == []


def test_the_other_sides_of_decisions_are_united_and_marked(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(DECISIONS, "utf-8")
    first = {"shop.orders.id -> few.id", "shop.orders.day -> always.day"}
    assert edges(found("job.py", DECISIONS)) == first
    assert problems(found("job.py", DECISIONS)) == [(4, "DECISION"), (10, "DECISION")]
    every = found("job.py", DECISIONS, ScriptSettings(branches=True))
    assert [each.problem.code for each in every if each.problem] == ["BRANCH", "BRANCH"]
    assert edges(every) == {*first, "shop.orders.id -> many.id", "shop.orders.id -> inner.id"}
    marks = {
        each.problem.line: each.problem.message for each in every if each.problem and each.problem.code == "BRANCH"
    }
    assert marks == {
        5: "only written if the decision at job.py:4 goes the other way",
        7: "only written if the decision at job.py:4 and at job.py:6 goes the other way",
    }


FAILING = """\
from pyspark.sql import SparkSession
import requests
spark = SparkSession.builder.getOrCreate()
o = spark.table("shop.orders")
if o.count() > 0:
    o.select("day").write.parquet("s3://b/some")
answer = requests.get("https://example.com")
if answer.text == "failed":
    raise ApiError("the other system failed")
with open("answer.json", "w") as file:
    file.write(answer.text)
o.select("id").write.parquet("s3://b/after")
"""


def test_a_script_that_fails_after_a_decision_goes_on_with_its_other_outcome(tmp_path: Path) -> None:
    answer = found("job.py", FAILING)
    assert edges(answer) == {"shop.orders.day -> some.day", "shop.orders.id -> after.id"}
    assert problems(answer) == [(2, "STAND_IN"), (5, "DECISION"), (8, "DECISION"), (10, "NOT_DONE")]
    (decision,) = (each.problem.message for each in answer if each.problem is not None and each.problem.line == 8)
    assert decision.startswith("a decision depends on {requests.get().text}, which is assumed not to be 'failed': ")
