"""Code that can't be read: what passes it is marked, and the metrics count it by its kind."""

from __future__ import annotations

import attrs
import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.lineage import Certainty, UseKind
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
)
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.trace.expressions import called_code
from openlineage_pyspark.facets.trace.solve import Origin, Trace

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
A, B = Output(1, "a"), Output(2, "b")


def over(name: str, *expressions: Expression, child: bool = True) -> Plan:
    """Return the plan of an operator with a column `a` and those expressions, over a leaf with that column."""
    arguments = {"expressions": tuple(ExpressionRef(at) for at in range(len(expressions)))}
    below = {"child": OperatorRef(1)} if child else {}
    middle = name if "." in name else f"{LOGICAL}{name}"
    leaf = Operator("LocalRelation", f"{LOGICAL}LocalRelation", {}, (A,))
    return Plan(
        operators=(Operator(name.rpartition(".")[2], middle, {**arguments, **below}, (A,)), leaf),
        expressions=expressions,
        attributes={1: Attribute("a", "string")},
    )


def counted(plan: Plan) -> dict[str, int]:
    return dict(lineage_of_plan(plan, Session("/w", None, "in-memory")).code)


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("PythonUDF", {}, "pythonFunctions"),
        ("PythonUDAF", {}, "pythonFunctions"),
        ("PythonUDTF", {}, "pythonFunctions"),
        ("ExternalUserDefinedFunction", {}, "pythonFunctions"),
        ("ScalaUDF", {}, "jvmFunctions"),
        ("UserDefinedGenerator", {}, "jvmFunctions"),
        ("CallMethodViaReflection", {}, "jvmFunctions"),
        ("org.apache.spark.sql.execution.aggregate.ScalaAggregator", {}, "jvmFunctions"),
        ("org.example.Distance", {}, "jvmFunctions"),
        ("org.apache.spark.sql.hive.HiveGenericUDTF", {}, "hiveFunctions"),
        ("ApplyFunctionExpression", {}, "catalogFunctions"),
        ("V2Aggregator", {}, "catalogFunctions"),
        ("StaticInvoke", {"functionName": "invoke"}, "catalogFunctions"),
        ("Invoke", {"functionName": "invoke"}, "catalogFunctions"),
        ("StaticInvoke", {"functionName": "charTypeWriteSideCheck"}, None),
        ("Invoke", {"functionName": "evaluate"}, None),
        ("org.apache.spark.sql.avro.AvroDataToCatalyst", {}, None),
        ("Upper", {}, None),
    ],
)
def test_an_expression_calls_code_of_a_kind_or_none(name: str, arguments: dict[str, str], kind: str | None) -> None:
    called = called_code(Expression(name, arguments))
    assert (called.value if called is not None else None) == kind


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("MapInPandas", "pythonRows"),
        ("FlatMapGroupsInPandas", "pythonRows"),
        ("FlatMapCoGroupsInArrow", "pythonRows"),
        ("MapPartitionsExternalUDF", "pythonRows"),
        ("ScriptTransformation", "scripts"),
        ("MapElements", "typedOperations"),
        ("FlatMapGroupsInR", "typedOperations"),
        ("TypedFilter", "typedOperations"),
        ("org.example.spark.TheirOperator", "operators"),
    ],
)
def test_an_operator_that_runs_code_is_counted_by_its_kind(operator: str, kind: str) -> None:
    assert counted(over(operator)) == {kind: 1}


@pytest.mark.parametrize(
    ("sources", "count"), [((), {}), (("/lake/part-0",), {"rdds": 1}), (("?FileScanRDD",), {"rdds": 1})]
)
@pytest.mark.parametrize("leaf", ["LogicalRDD", "ExternalRDD"])
def test_an_rdd_is_counted_unless_its_rows_come_from_nowhere(
    leaf: str, sources: tuple[str, ...], count: dict[str, int]
) -> None:
    plan = over(f"org.apache.spark.sql.execution.{leaf}", child=False)
    rdd = Described("org.apache.spark.rdd.MapPartitionsRDD", {"id": 1, "sources": sources})
    top = plan.operators[0]._replace(arguments={"rdd": rdd})
    assert counted(attrs.evolve(plan, operators=(top, plan.operators[1]))) == count


def test_a_source_that_is_not_known_is_counted() -> None:
    assert counted(over("org.example.spark.TheirRelation", child=False)) == {"sources": 1}


def test_functions_are_counted_once_for_each_call() -> None:
    calls = [Expression("PythonUDF", {"children": (AttributeRef(1),)}) for _ in range(3)]
    assert counted(over("Distinct", *calls, Expression("ScalaUDF", {}), Expression("Upper", {}))) == {
        "pythonFunctions": 3,
        "jvmFunctions": 1,
    }


def test_a_plan_without_such_code_counts_nothing() -> None:
    assert counted(over("Distinct", Expression("Upper", {"child": AttributeRef(1)}))) == {}


def test_a_filter_by_a_function_over_objects_is_an_influence_that_is_not_exact() -> None:
    plan = over("TypedFilter", Expression("NewInstance", {"arguments": (AttributeRef(1),)}))
    top = plan.operators[0]._replace(arguments={"deserializer": ExpressionRef(0), "child": OperatorRef(1)})
    trace = Trace(attrs.evolve(plan, operators=(top, plan.operators[1])))
    [(origin, kinds)] = trace.rows(0).items()
    (step,) = kinds[UseKind.FILTER]
    assert (origin, step.least if step else None) == (Origin(1, 1), Certainty.OPAQUE)
    assert trace.column(0, 1) == {Origin(1, 1): {UseKind.IDENTITY: (None,)}}


def test_the_index_of_a_frame_of_pandas_on_spark_leaves_the_other_columns_as_they_are() -> None:
    plan = over("AttachDistributedSequence")
    top = plan.operators[0]._replace(output=(B, A))
    trace = Trace(attrs.evolve(plan, operators=(top, plan.operators[1])))
    assert trace.column(0, 1) == {Origin(1, 1): {UseKind.IDENTITY: (None,)}}
    assert trace.column(0, 2) == {}


def test_a_python_function_that_spark_may_replace_by_expressions_stays_one() -> None:
    options = (AttributeRef(1),)
    both = Expression("TranspiledPythonUDF", {"pythonUDFExpr": ExpressionRef(1), "transpiledOptions": options})
    alias = Expression("Alias", {"child": ExpressionRef(0)}, id=2, column="b", type="string", sql="f(a)")
    plan = over("Project", both, Expression("PythonUDF", {"children": (AttributeRef(1),)}), alias)
    top = plan.operators[0]._replace(
        arguments={"projectList": (ExpressionRef(2),), "child": OperatorRef(1)}, output=(B,)
    )
    found = Trace(attrs.evolve(plan, operators=(top, plan.operators[1]))).column(0, 2)
    sure = {kind: [step.least for step in paths if step] for kind, paths in found[Origin(1, 1)].items()}
    assert sure == {UseKind.TRANSFORMATION: [Certainty.OPAQUE]}


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("TransformWithStateInPySpark", {"groupingAttributesLen": 1}),
        ("TransformWithStateInPandas", {"groupingAttributesLen": 1}),
        ("FlatMapGroupsInPandasWithState", {"groupingAttributes": (AttributeRef(1),)}),
        ("TransformWithState", {"groupingAttributes": (AttributeRef(1),)}),
        ("FlatMapGroupsWithState", {"groupingAttributes": (AttributeRef(1),)}),
    ],
)
def test_code_that_keeps_a_state_for_each_key_groups_the_rows_by_it(name, keys):
    leaf = Operator("LocalRelation", f"{LOGICAL}LocalRelation", {}, (A, B))
    top = Operator(name, f"{LOGICAL}{name}", {"child": OperatorRef(1), **keys}, (Output(3, "c"),))
    trace = Trace(Plan((top, leaf), (), {1: Attribute("a", "string"), 2: Attribute("b", "string")}))
    assert {origin: list(kinds) for origin, kinds in trace.rows(0).items()} == {Origin(1, 1): [UseKind.GROUP_BY]}
    assert set(trace.column(0, 3)) == {Origin(1, 1), Origin(1, 2)}
