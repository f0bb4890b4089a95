"""Entries of the session catalog that stand for something else, and commands of connectors on such tables."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.datasets import jdbc
from openlineage_pyspark.facets.datasets.built_in import relation_of
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.datasets.tables import catalog_table, table_name
from openlineage_pyspark.facets.model.dataset import Identifier, Symlink
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    Described,
    Expression,
    ExpressionRef,
    Operator,
    OperatorRef,
    Output,
    Plan,
    Value,
)
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan

SESSION = Session("file:/warehouse")
URL = "jdbc:postgresql://db/shop"
ORDERS = Identifier("postgres://db:5432", "shop.public.orders")
COMMAND = "org.apache.spark.sql.execution.command"
LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
HUDI = "org.apache.spark.sql.hudi.command"


def entry(name, provider="jdbc", place="file:/warehouse/entry"):
    identifier = Described("TableIdentifier", {"table": name, "database": "default"})
    return Described("CatalogTable", {"identifier": identifier, "provider": provider, "locationUri": place})


def relation(text, catalog):
    described = Described("org.apache.spark.JDBCRelation", {"url": URL, "table": text})
    arguments = {"relation": described, "catalogTable": catalog}
    name = "org.apache.spark.sql.execution.datasources.LogicalRelation"
    return Operator("LogicalRelation", name, arguments, (Output(1, "id"),))


def test_an_entry_for_a_jdbc_table_is_read_as_that_table():
    operator = relation("orders", entry("dim"))
    found = jdbc.loaded_by_jdbc(Plan((operator,), (), {1: Attribute("id", "int")}), operator, SESSION)
    (dataset,) = found.datasets
    assert (dataset.identifier, dataset.symlinks) == (ORDERS, (Symlink("file:///warehouse", "default.dim"),))
    assert [(column.dataset, column.name) for column in found.columns[1]] == [(ORDERS, "id")]


def test_an_entry_for_a_query_is_read_as_the_tables_of_the_query():
    operator = relation("(SELECT id FROM orders) q", entry("dim"))
    found = jdbc.loaded_by_jdbc(Plan((operator,), (), {1: Attribute("id", "int")}), operator, SESSION)
    assert [dataset.identifier for dataset in found.datasets] == [ORDERS]


DELTA = "org.apache.spark.sql.delta"
FEED = Described(f"{DELTA}.commands.cdc.CDCReader$DeltaCDFRelation", {"path": "file:/warehouse/c"})
INDEX = Described(f"{DELTA}.commands.cdc.CdcAddFileIndex", {"path": "file:/warehouse/c"})
FILES = Described("$anon$2", {"rootPaths": ("file:/warehouse/c",), "index": INDEX})
IN_CATALOG = entry("c", "delta", "file:/warehouse/c"), (Symlink("file:///warehouse", "default.c"),)


def feed(relation, catalog, *names):
    name = "org.apache.spark.sql.execution.datasources.LogicalRelation"
    arguments = {"relation": relation, "catalogTable": catalog}
    operator = Operator("LogicalRelation", name, arguments, tuple(Output(*each) for each in enumerate(names)))
    return relation_of(
        Plan((operator,), (), {at: Attribute(each, "int") for at, each in enumerate(names)}), operator, SESSION
    )


@pytest.mark.parametrize("relation", [pytest.param(FEED, id="of a batch"), pytest.param(FILES, id="of a stream")])
@pytest.mark.parametrize(
    ("catalog", "symlinks"), [pytest.param(None, (), id="by path"), pytest.param(*IN_CATALOG, id="by name")]
)
def test_the_change_feed_of_a_delta_table_has_the_columns_of_the_table_and_no_others(relation, catalog, symlinks):
    found = feed(relation, catalog, "id", "_change_type", "_commit_version", "_commit_timestamp")

    (dataset,) = found.datasets
    assert (dataset.identifier, dataset.symlinks) == (Identifier("file", "/warehouse/c"), symlinks)
    assert [field.name for field in dataset.fields] == ["id"]
    assert list(found.columns) == [0]


def test_columns_that_only_have_the_names_of_a_change_feed_are_columns():
    files = Described("HadoopFsRelation", {"rootPaths": ("file:/warehouse/c",)})
    (dataset,) = feed(files, None, "id", "_change_type", "_commit_version", "_commit_timestamp").datasets

    assert [field.name for field in dataset.fields] == ["id", "_change_type", "_commit_version", "_commit_timestamp"]


@pytest.mark.parametrize("name", ["CreateDataSourceTableCommand", "CreateDataSourceTableAsSelectCommand"])
def test_an_entry_for_a_jdbc_table_is_made_as_that_table(name):
    arguments = {"table": entry("dim"), "url": URL, "dbtable": "orders"}
    plan = Plan((Operator(name, f"{COMMAND}.{name}", arguments),), (), {})
    (output,) = lineage_of_plan(plan, SESSION).outputs
    assert output.write.dataset.identifier == ORDERS
    assert output.write.label == "default_dim"


@pytest.mark.parametrize(
    "provider", ["jdbc", "JDBC", "org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider", "kafka"]
)
def test_the_directory_of_an_entry_for_something_else_is_no_dataset(provider):
    dataset = catalog_table(entry("dim", provider), SESSION)
    assert dataset is not None
    assert dataset.identifier == Identifier("file:///warehouse", "default.dim")


def test_the_session_catalog_has_names_in_lower_case():
    both = {"table": "SavedTable", "database": "Shop"}
    assert table_name(Described("TableIdentifier", both)) == "shop.savedtable"
    assert table_name(Described("TableIdentifier", {**both, "catalog": "spark_catalog"})) == "shop.savedtable"
    assert table_name(Described("TableIdentifier", {**both, "catalog": "ice"})) == "ice.Shop.SavedTable"


SOURCE, TARGET = Output(1, "id"), Output(2, "id")
ATTRIBUTES = {1: Attribute("id", "int"), 2: Attribute("id", "int")}


def leaf(table, output):
    name = "org.apache.spark.sql.execution.datasources.LogicalRelation"
    return Operator("LogicalRelation", name, {"catalogTable": entry(table, "hudi", f"file:/lake/{table}")}, (output,))


def hudi(name, arguments, *between, expressions=()):
    """Give what is written, what is read and the edges of a command above a source and a target."""
    command = Operator(name, f"{HUDI}.{name}", arguments, (), tuple(range(2 + len(between))))
    operators = (leaf("source", SOURCE), leaf("target", TARGET), *between, command)
    plan = Plan(operators, expressions, ATTRIBUTES, root=len(operators) - 1)
    found = lineage_of_plan(plan, SESSION)
    (output,) = found.outputs
    edges = {c.name: [e.dataset.name for e in c.edges] for c in (output.lineage.columns if output.lineage else ())}
    return output.write.dataset.identifier.name, [d.identifier.name for d in found.inputs], edges, found.gaps


def test_a_hudi_table_is_made_and_filled():
    query = {"query": OperatorRef(0)}
    expected = ("/lake/new", ["/lake/source"], {"id": ["/lake/source"]}, ())
    table = {"table": entry("new", "hudi", "file:/lake/new")}
    assert hudi("CreateHoodieTableAsSelectCommand", {**table, **query}) == expected
    assert hudi("CreateHoodieTableCommand", table) == ("/lake/new", [], {}, ())


def test_an_insert_into_a_hudi_table_does_not_read_it():
    found = hudi("InsertIntoHoodieTableCommand", {"logicalRelation": OperatorRef(1), "query": OperatorRef(0)})
    assert found == ("/lake/target", ["/lake/source"], {"id": ["/lake/source"]}, ())


META = {9: Attribute("_hoodie_commit_time", "string")}


def changing(command, inner, arguments, expressions):
    """Give the edges and influences of a command of Hudi on a table without Hudi's own columns, and its gaps."""
    table = leaf("target", TARGET)._replace(output=(Output(9, "_hoodie_commit_time"), TARGET))
    own_left_out = Operator("Project", f"{LOGICAL}.Project", {"projectList": (AttributeRef(2),)}, (TARGET,), (1,))
    changed = Operator(inner, f"{LOGICAL}.{inner}", {**arguments, "table": OperatorRef(2)}, (), (2,))
    top = Operator(command, f"{HUDI}.{command}", {"inner": OperatorRef(3)}, (), (3,))
    operators = (leaf("source", SOURCE), table, own_left_out, changed, top)
    found = lineage_of_plan(Plan(operators, expressions, ATTRIBUTES | META, root=4), SESSION)
    (output,) = found.outputs
    columns = {c.name: [(e.dataset.name, e.field) for e in c.edges] for c in output.lineage.columns}
    influences = [(each.dataset.name, each.field) for each in output.lineage.dataset]
    return output.write.dataset.identifier.name, columns, influences, found.gaps


@pytest.mark.parametrize(
    ("command", "inner", "arguments", "columns"),
    [
        ("UpdateHoodieTableCommand", "UpdateTable", {"assignments": (ExpressionRef(0),)}, ["id"]),
        ("DeleteHoodieTableCommand", "DeleteFromTable", {}, []),
    ],
)
def test_a_change_of_a_hudi_table_is_named_although_its_own_columns_are_left_out(command, inner, arguments, columns):
    literal = Expression("Literal", {})
    assigned = Expression("Assignment", {"key": AttributeRef(2), "value": ExpressionRef(1)})
    condition = Expression("EqualTo", {"left": AttributeRef(2), "right": ExpressionRef(1)})
    arguments = {**arguments, "condition": ExpressionRef(2)}
    found = changing(command, inner, arguments, (assigned, literal, condition))
    own = [("/lake/target", "id")]
    assert found == ("/lake/target", dict.fromkeys(columns, own), own, ())


@pytest.mark.parametrize(
    ("name", "prefix", "lifecycle"),
    [
        ("AlterHoodieTableAddColumnsCommand", "table", "ALTER"),
        ("AlterHoodieTableChangeColumnCommand", "table", "ALTER"),
        ("AlterHoodieTableDropPartitionCommand", "table", "ALTER"),
        ("RepairHoodieTableCommand", "table", "ALTER"),
        ("AlterTableCommand", None, "ALTER"),
        ("CompactionHoodieTableCommand", None, None),
        ("RefreshIndexCommand", None, None),
    ],
)
def test_a_command_on_a_hudi_table_names_it(name, prefix, lifecycle):
    table = entry("target", "hudi", "file:/lake/target")
    readings = {f"{prefix}Metadata": table, f"{prefix}Identifier": table.values["identifier"]}
    arguments = {"table": table} if prefix is None else readings
    found = lineage_of_plan(Plan((Operator(name, f"{HUDI}.{name}", arguments),), (), {}), SESSION)
    (output,) = found.outputs
    assert output.write.dataset.identifier.name == "/lake/target"
    assert (output.write.lifecycle, output.write.label) == (lifecycle, "default_target")
    assert found.gaps == ()


def test_a_stream_into_a_hudi_table_has_its_columns():
    sink = Described("org.apache.hudi.HoodieStreamingSink", {"given": "file:/lake/trips"})
    name = "org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSourceV1"
    top = Operator("WriteToMicroBatchDataSourceV1", name, {"sink": sink, "query": OperatorRef(0)}, (), (0,))
    found = lineage_of_plan(Plan((leaf("source", SOURCE), top), (), ATTRIBUTES, root=1), SESSION)
    (output,) = found.outputs
    dataset = output.write.dataset
    assert (dataset.identifier.name, dataset.storage_layer) == ("/lake/trips", "hudi")
    assert [(each.name, [edge.field for edge in each.edges]) for each in output.lineage.columns] == [("id", ["id"])]
    assert found.gaps == ()


@pytest.mark.parametrize(
    ("left_out", "read", "written"),
    [
        ("", ["/lake/source"], "com.example.OddRelation"),
        ("targetTable", ["/lake/source"], "an unknown target"),
        ("sourceTable", [], "com.example.OddRelation"),
    ],
)
def test_a_merge_into_a_table_without_a_known_name_reads_its_source_and_says_that_its_output_is_unknown(
    left_out, read, written
):
    unknown = Operator("OddRelation", "com.example.OddRelation", {}, (TARGET,))
    both = {"targetTable": OperatorRef(1), "sourceTable": OperatorRef(0)}
    kept = {name: reference for name, reference in both.items() if name != left_out}
    merge = Operator("MergeIntoTable", f"{LOGICAL}.MergeIntoTable", kept, (), (0, 1))
    found = lineage_of_plan(Plan((leaf("source", SOURCE), unknown, merge), (), ATTRIBUTES, root=2), SESSION)
    assert found.outputs == ()
    assert [dataset.identifier.name for dataset in found.inputs] == read
    assert [gap.message for gap in found.gaps] == [f"{written}: what it writes is unknown"]


def test_merge_update_and_delete_of_hudi_are_those_of_spark():
    assignment = Expression("Assignment", {"key": AttributeRef(2), "value": AttributeRef(1)})
    action = Expression("UpdateAction", {"assignments": (ExpressionRef(0),)})
    merge: dict[str, Value] = {
        "targetTable": OperatorRef(1),
        "sourceTable": OperatorRef(0),
        "matchedActions": (ExpressionRef(1),),
    }
    inner = Operator("MergeIntoTable", f"{LOGICAL}.MergeIntoTable", merge, (), (0, 1))
    found = hudi("MergeIntoHoodieTableCommand", {"mergeInto": OperatorRef(2)}, inner, expressions=(assignment, action))
    assert found == ("/lake/target", ["/lake/source", "/lake/target"], {"id": ["/lake/source", "/lake/target"]}, ())

    inner = Operator("DeleteFromTable", f"{LOGICAL}.DeleteFromTable", {"table": OperatorRef(1)}, (), (1,))
    assert hudi("DeleteHoodieTableCommand", {"dft": OperatorRef(2)}, inner) == (
        "/lake/target",
        ["/lake/target"],
        {},
        (),
    )
