"""DELETE, UPDATE and MERGE as Spark rewrites them, from plans that were recorded on Iceberg's tables.

The plans in row_level_plans.json are what the probe encoded of these statements, on Spark 3.5.9 with Iceberg 1.6.1
and on Spark 4.0.5 with Iceberg 1.10.0, for a table whose files are copied and for one whose rows are marked deleted.
"""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from openlineage_pyspark.facets.commands.row_level import Action, Setting, merged
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.plan import ExpressionRef, FrozenMap, Operator
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.probe.decode import decode_plan

PLANS = json.loads(Path(__file__).with_name("row_level_plans.json").read_text("utf-8"))

# MERGE INTO t USING (SELECT id, upper(name) AS name, pay, op FROM s WHERE pay > 3) s ON t.id = s.id
# WHEN MATCHED AND s.op = 'd' THEN DELETE
# WHEN MATCHED AND t.pay < 9 THEN UPDATE SET t.pay = t.pay + s.pay, t.name = s.name
# WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)
# WHEN NOT MATCHED BY SOURCE AND t.name = 'x' THEN DELETE
MERGE = (
    {
        "id": ["s.id IDENTITY", "t.id IDENTITY"],
        "name": ["s.name TRANSFORMATION", "t.name IDENTITY", "t.pay CONDITIONAL"],
        "pay": ["s.pay TRANSFORMATION", "t.pay CONDITIONAL", "t.pay IDENTITY", "t.pay TRANSFORMATION"],
    },
    ["s.id JOIN", "s.op FILTER", "s.pay FILTER", "t.id JOIN", "t.name FILTER"],
    ["s", "t"],
)
STATEMENTS = {
    "merge": MERGE,
    # MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, name, pay) VALUES (s.id, s.name, s.pay)
    "insert-only merge": (
        {"id": ["s.id IDENTITY"], "name": ["s.name IDENTITY"], "pay": ["s.pay IDENTITY"]},
        ["s.id JOIN", "t.id JOIN"],
        ["s", "t"],
    ),
    # DELETE FROM t WHERE pay > 3 AND id IN (SELECT id FROM s)
    "delete": ({}, ["s.id FILTER", "t.id FILTER", "t.pay FILTER"], ["s", "t"]),
    # UPDATE t SET pay = pay * 2, name = 'x' WHERE id > 1
    "update": (
        {"name": ["t.name IDENTITY"], "pay": ["t.pay IDENTITY", "t.pay TRANSFORMATION"]},
        ["t.id FILTER"],
        ["t"],
    ),
    # UPDATE t SET pay = pay * 2, name = 'x' WHERE id IN (SELECT id FROM s)
    "update by subquery": (
        {"name": ["t.name IDENTITY"], "pay": ["t.pay IDENTITY", "t.pay TRANSFORMATION"]},
        ["s.id FILTER", "t.id FILTER"],
        ["s", "t"],
    ),
}
COMMANDS = {"copied": "replace_data", "marked": "write_delta"}


def understood(key: str):
    return lineage_of_plan(decode_plan(PLANS[key]), Session("file:/lake/warehouse"))


def short(name: str, table: str) -> str:
    return {table: "t"}.get(name.rpartition("/")[2], name.rpartition("/")[2])


def words(edges, table: str) -> list[str]:
    return sorted(f"{short(e.dataset.name, table)}.{e.field} {t.subtype}" for e in edges for t in e.transformations)


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("table", COMMANDS)
@pytest.mark.parametrize("spark", ["3.5", "4.0"])
def test_it_has_the_edges_of_the_statement_whichever_way_spark_rewrites_it(spark, table, statement):
    """
    What is assigned and what decides.

    A column that a MERGE or an UPDATE sets keeps its value in the rows that nothing touches; one that nothing sets has
    no edge, and row ids are no columns.
    """
    columns, rows, reads = STATEMENTS[statement]
    found = understood(f"{spark} {table} {statement}")
    (output,) = found.outputs
    assert output.write.dataset.identifier.name == f"/lake/db/{table}"
    assert {c.name: words(c.edges, table) for c in output.lineage.columns} == columns
    assert words(output.lineage.dataset, table) == rows
    assert sorted(short(d.identifier.name, table) for d in found.inputs) == reads
    assert found.gaps == ()
    assert found.command == ("append_data" if statement == "insert-only merge" else COMMANDS[table])


@pytest.mark.parametrize("key", PLANS)
def test_a_plan_that_is_cut_anywhere_is_understood_as_far_as_it_goes(key):
    """Nodes beyond the bounds are missing. The rest is reported, and so is the loss."""
    whole = PLANS[key]
    command = understood(key).outputs[0].write.dataset.identifier
    for kept in range(1, len(whole["nodes"])):
        nodes = [node if at < kept else None for at, node in enumerate(whole["nodes"])]
        found = lineage_of_plan(decode_plan({**whole, "nodes": nodes, "cut": True}), Session("file:/lake/warehouse"))
        assert ("plan", "the plan was larger than its bounds and was cut") in {
            (remark.task, remark.message) for remark in found.gaps
        }
        assert {output.write.dataset.identifier for output in found.outputs} <= {command}


@pytest.mark.parametrize("table", COMMANDS)
@pytest.mark.parametrize("spark", ["3.5", "4.0"])
def test_a_table_that_is_merged_with_itself_is_a_source_of_its_own_columns(spark, table):
    """A column may be set to that of another row: only a column that keeps its own value has no edge."""
    plan = json.loads(json.dumps(PLANS[f"{spark} {table} merge"]).replace("/lake/db/s", f"/lake/db/{table}"))
    found = lineage_of_plan(decode_plan(plan), Session("file:/lake/warehouse"))
    (output,) = found.outputs
    assert {column.name: words(column.edges, table) for column in output.lineage.columns} == {
        "id": ["t.id IDENTITY"],
        "name": ["t.name IDENTITY", "t.name TRANSFORMATION", "t.pay CONDITIONAL"],
        "pay": ["t.pay CONDITIONAL", "t.pay IDENTITY", "t.pay TRANSFORMATION"],
    }
    assert [short(dataset.identifier.name, table) for dataset in found.inputs] == ["t"]


@pytest.mark.parametrize("table", COMMANDS)
@pytest.mark.parametrize("spark", ["3.5", "4.0"])
def test_each_way_of_a_merge_leads_from_its_table_to_the_command_also_that_of_a_value_that_stays(spark, table):
    plan = decode_plan(PLANS[f"{spark} {table} merge"])
    found = lineage_of_plan(plan, Session("file:/lake/warehouse"), paths=True)
    (output,) = found.outputs
    edges = [*output.lineage.dataset, *(edge for column in output.lineage.columns for edge in column.edges)]
    ends = {
        (each.way.operators[0].partition("#")[0], each.way.operators[-1])
        for edge in edges
        for each in edge.transformations
    }
    assert ends == {("DataSourceV2Relation", f"{plan.top.name}#0")}


@pytest.mark.parametrize("table", COMMANDS)
@pytest.mark.parametrize("spark", ["3.5", "4.0"])
def test_the_condition_of_an_update_decides_which_rows_the_deletion_after_it_gets(spark, table):
    """
    Recorded is the deletion before the update: here their order is the other one.

    WHEN MATCHED AND t.pay < 9 THEN UPDATE SET t.pay = t.pay + s.pay, t.name = s.name
    WHEN MATCHED AND s.op = 'd' THEN DELETE
    """
    plan = decode_plan(PLANS[f"{spark} {table} merge"])
    operators = [with_matched_reversed(operator) for operator in plan.operators]
    found = lineage_of_plan(attrs.evolve(plan, operators=tuple(operators)), Session("file:/lake/warehouse"))
    (output,) = found.outputs
    columns, rows, _ = MERGE
    assert {c.name: words(c.edges, table) for c in output.lineage.columns} == columns
    assert words(output.lineage.dataset, table) == sorted([*rows, "t.pay FILTER"])


def test_the_first_action_of_a_merge_whose_condition_holds_decides_about_the_actions_after_it_on_the_same_rows():
    """
    A row that an action deletes has no value, so its condition decides about no value.

    WHEN MATCHED AND :1 THEN DELETE
    WHEN MATCHED AND :2 THEN UPDATE SET a = :3
    WHEN MATCHED THEN UPDATE SET b = :4
    WHEN NOT MATCHED AND :5 THEN INSERT (a) VALUES (:6)
    WHEN NOT MATCHED THEN INSERT (b) VALUES (:7)
    WHEN NOT MATCHED BY SOURCE AND :8 THEN UPDATE SET b = :9
    WHEN NOT MATCHED BY SOURCE THEN DELETE
    """
    matched, inserted, left = "matchedActions", "notMatchedActions", "notMatchedBySourceActions"
    actions = (
        Action(ExpressionRef(1), (), matched, deletes=True),
        Action(ExpressionRef(2), (Setting("a", ExpressionRef(3)),), matched, deletes=False),
        Action(None, (Setting("b", ExpressionRef(4)),), matched, deletes=False),
        Action(ExpressionRef(5), (Setting("a", ExpressionRef(6)),), inserted, deletes=False),
        Action(None, (Setting("b", ExpressionRef(7)),), inserted, deletes=False),
        Action(ExpressionRef(8), (Setting("b", ExpressionRef(9)),), left, deletes=False),
        Action(None, (), left, deletes=True),
    )
    found = merged(Write(Dataset(Identifier("file", "/t"))), (0, 1), ExpressionRef(0), actions)

    assert {each.name: [(v.value.index, v.kind.name) for v in each.values] for each in found.columns} == {
        "a": [*decided(3, by=2), *decided(6, by=5)],
        "b": [*decided(4, by=2), *decided(7, by=5), *decided(9, by=8)],
    }
    rows = [(each.value.index, each.kind.name) for each in found.influences]
    assert rows == [(0, "JOIN"), (1, "FILTER"), (8, "FILTER")]


def decided(value: int, *, by: int) -> list[tuple[int, str]]:
    return [(value, "IDENTITY"), (by, "CONDITIONAL")]


def with_matched_reversed(operator: Operator) -> Operator:
    first, *others = operator.sequence("matchedInstructions") or [None]
    if not others:
        return operator
    # The last one keeps the rows for which no condition holds.
    swapped = (others[0], first, *others[1:])
    return operator._replace(arguments=FrozenMap({**operator.arguments, "matchedInstructions": swapped}))
