"""Sources of other distributions, and classes that only share their simple name with a known one."""

from __future__ import annotations

import importlib

import pytest
from openlineage_pyspark.facets.class_rules import ClassRules
from openlineage_pyspark.facets.datasets import plugins
from openlineage_pyspark.facets.datasets.source import SOURCES, Session
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    Described,
    Expression,
    FrozenMap,
    Operator,
    OperatorRef,
    Output,
    Plan,
    expression_name,
)
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.probe import readings

THEIRS = '''
from openlineage_pyspark.facets.datasets.source import by_name, source
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.dataset import fields_of


@source({"com.example.orders": "OrdersRelation"}, reads={"server": "options.server", "table": "tableName"})
def orders(plan, operator, session):
    """Resolve a read of the orders server."""
    relation = operator.described("relation")
    identifier = Identifier(f"orders://{relation.text('server')}", relation.text("table"))
    return by_name(operator, Dataset(identifier, fields_of(plan, operator), type="TABLE"))
'''
RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
ATTRIBUTES = {1: Attribute("id", "int")}
COLUMNS = (Output(1, "id"),)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Give what puts a distribution with an entry point into the path: its name, and its module's text."""
    known, described, broken = dict(SOURCES._rules), dict(SOURCES.readings), dict(plugins.BROKEN)

    def install(name, text):
        (tmp_path / f"{name}.py").write_text(text, "utf-8")
        information = tmp_path / f"{name}-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
        (information / "entry_points.txt").write_text(f"[{plugins.SOURCES_GROUP}]\n{name} = {name}\n", "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        importlib.invalidate_caches()
        readings.load_plugins.cache_clear()

    yield install
    SOURCES._rules, SOURCES.readings = known, described
    plugins.BROKEN.clear()
    plugins.BROKEN.update(broken)
    readings.load_plugins.cache_clear()


def lineage_of(*operators, expressions=()):
    return lineage_of_plan(Plan(operators, expressions, ATTRIBUTES), Session("file:/warehouse"))


def remarks(found):
    return [f"{gap.task}: {gap.message}" for gap in found.gaps]


def test_a_source_of_another_distribution_is_read_by_the_probe_and_names_its_dataset(installed):
    installed("theirs", THEIRS)
    assert "describe\tcom.example.orders.OrdersRelation\tserver\toptions.server" in readings.table().split("\n")

    relation = Described("com.example.orders.OrdersRelation", {"server": "host:1", "table": "paid"})
    found = lineage_of(Operator("LogicalRelation", RELATION, {"relation": relation}, COLUMNS))
    assert [(d.identifier.namespace, d.identifier.name) for d in found.inputs] == [("orders://host:1", "paid")]
    assert [(e.dataset.name, e.field) for c in found.columns.columns for e in c.edges] == [("paid", "id")]
    assert remarks(found) == []


def test_a_source_that_breaks_costs_a_warning_and_a_remark_where_a_source_is_unknown(installed, caplog):
    installed("broken", "raise LookupError('a secret')")
    table = readings.table()
    assert table == readings.table()
    assert "loading the sources of 'broken' failed, the job goes on: LookupError" in caplog.text
    assert len(caplog.records) == 1

    unknown = lineage_of(Operator("Mystery", "com.example.Mystery", {}, COLUMNS))
    assert (
        "broken: an entry point of openlineage_pyspark.sources that could not be loaded (LookupError, see the log):"
        " what its sources read is unknown"
    ) in remarks(unknown)
    assert "com.example.Mystery: a source without a resolver: what it reads is unknown" in remarks(unknown)
    local = "org.apache.spark.sql.catalyst.plans.logical.LocalRelation"
    assert remarks(lineage_of(Operator("LocalRelation", local, {}, COLUMNS))) == []


def test_a_source_can_not_take_the_place_of_a_built_in_one(installed):
    installed(
        "greedy",
        THEIRS.replace("com.example.orders", "org.apache.spark.sql.execution.datasources.jdbc").replace(
            "OrdersRelation", "JDBCRelation"
        ),
    )
    before = SOURCES.get("org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation")
    readings.table()
    assert SOURCES.get("org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation") is before
    assert plugins.BROKEN["greedy"] == "ValueError"


def test_an_operator_with_the_name_of_a_known_one_is_unknown_and_says_so():
    leaf = Operator("Range", "org.apache.spark.sql.catalyst.plans.logical.Range", {}, COLUMNS)
    theirs = Operator("Filter", "com.example.Filter", {"child": OperatorRef(1)}, COLUMNS)
    known = "org.apache.spark.sql.catalyst.plans.logical.Filter"
    assert remarks(lineage_of(theirs, leaf)) == [
        (
            f"com.example.Filter: an operator with the same simple name as {known}, but of another class:"
            " each output column is assumed to contain every input column"
        )
    ]


def test_a_source_with_the_name_of_a_known_one_is_unknown_and_says_so():
    theirs = Operator("LogicalRelation", "com.example.LogicalRelation", {}, COLUMNS)
    said = f"a source with the same simple name as {RELATION}, but of another class: what it reads is unknown"
    assert remarks(lineage_of(theirs)) == [f"com.example.LogicalRelation: {said}"]


def test_a_command_with_the_name_of_a_known_one_writes_nobody_knows_what():
    """DeleteCommand is Delta Lake's."""
    leaf = Operator("Range", "org.apache.spark.sql.catalyst.plans.logical.Range", {}, COLUMNS)
    theirs = Operator("DeleteCommand", "com.example.DeleteCommand", {"isCommand": "x", "target": OperatorRef(1)})
    known = "org.apache.spark.sql.delta.commands.DeleteCommand"
    found = lineage_of(theirs, leaf)
    assert remarks(found) == [
        (
            f"com.example.DeleteCommand: a command with the same simple name as {known}, but of another class:"
            " what it writes is unknown"
        )
    ]
    assert found.outputs == ()


def test_an_expression_with_the_name_of_a_known_one_has_its_full_name():
    assert expression_name("org.apache.spark.sql.catalyst.expressions.Md5") == "Md5"
    assert expression_name("com.example.Md5") == "com.example.Md5"


def test_a_rule_is_found_by_the_full_name_alone_that_of_a_scala_object_too():
    rules: ClassRules[str] = ClassRules()
    rules.rule({"a.b": "One Two$Inner", "c": "Three"}, reads={"x": "y"})("rule")
    assert [name for name, _ in rules.items()] == ["a.b.One", "a.b.Two$Inner", "c.Three"]
    assert [rules.get(name) for name in ("a.b.One", "a.b.One$", "b.One")] == ["rule", "rule", None]
    assert [rules.namesake(name) for name in ("a.b.One", "b.One", "d.Inner", "Four")] == [
        None,
        "a.b.One",
        "a.b.Two$Inner",
        None,
    ]
    assert rules.readings["c.Three"] == {"x": "y"}
    with pytest.raises(ValueError, match=r"c\.Three already has a rule"):
        rules.rule({"c": "Three"})("other")
    with pytest.raises(ValueError, match=r"c\.Three already has another reading x: y"):
        rules.reads({"c.Three": {"x": "z"}})(print)


def test_a_plan_compares_hashes_and_prints_and_can_not_be_changed():
    def plan():
        operators = (Operator("Range", "Range", {"a": (1, Described("X", {"b": "c"}))}, COLUMNS),)
        return Plan(operators, (Expression("Md5", {"x": None}),), dict(ATTRIBUTES))

    assert plan() == plan()
    assert hash(plan()) == hash(plan())
    assert len({plan(), plan()}) == 1
    assert repr(plan()) == repr(plan())
    arguments = plan().top.arguments
    assert arguments == {"a": (1, Described("X", {"b": "c"}))}
    for change in (lambda: arguments.update(a=1), lambda: arguments.pop("a"), lambda: arguments.__setitem__("a", 1)):
        with pytest.raises(TypeError, match="a frozen mapping can't be changed"):
            change()
    assert hash(FrozenMap({"a": 1, "b": 2})) == hash(FrozenMap({"b": 2, "a": 1}))
