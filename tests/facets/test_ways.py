"""How an influence gets from its source to its target: its operators, its steps, and how sure it is."""

from __future__ import annotations

import attrs
import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.lineage import Certainty, OperatorStep, UseKind, Way
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
from openlineage_pyspark.facets.trace.solve import Origin, Trace
from openlineage_pyspark.workbench.report import lineage_of

RELATION = Described(
    "org.apache.spark.sql.execution.datasources.HadoopFsRelation",
    {"rootPaths": ("file:/lake/t",), "format": Described("ParquetFileFormat", {})},
)
LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
A, B = Output(1, "a"), Output(2, "b")


def over(name: str, function: str = "Upper") -> Plan:
    """Return the plan of a projection `b` over an operator with a column `a` over a leaf with that column."""
    middle = name if "." in name else f"{LOGICAL}{name}"
    return Plan(
        operators=(
            Operator("Project", f"{LOGICAL}Project", {"projectList": (ExpressionRef(0),), "c": OperatorRef(1)}, (B,)),
            Operator(name.rpartition(".")[2], middle, {"child": OperatorRef(2)}, (A,)),
            Operator("LocalRelation", f"{LOGICAL}LocalRelation", {}, (A,)),
        ),
        expressions=(
            Expression("Alias", {"child": ExpressionRef(1)}, id=2, column="b", type="string", sql="f(a) AS b"),
            Expression(function, {"child": AttributeRef(1)}),
        ),
        attributes={1: Attribute("a", "string"), 2: Attribute("b", "string")},
    )


def last_step(plan: Plan, kind: UseKind = UseKind.TRANSFORMATION) -> OperatorStep:
    """Return the last step to the column b."""
    (step,) = Trace(plan).column(0, 2)[Origin(2, 1)][kind]
    assert step is not None
    return step


def test_an_operator_that_passes_a_value_on_is_on_the_way_and_no_step_of_it() -> None:
    trace = Trace(over("Distinct"))
    (step,) = trace.column(0, 2)[Origin(2, 1)][UseKind.TRANSFORMATION]
    assert trace.scopes.path(Origin(2, 1), step) == ("LocalRelation#2", "Distinct#1", "Project#0")
    assert step == OperatorStep("Project#0", "f(a) AS b")


@pytest.mark.parametrize(
    ("operator", "function", "certainty"),
    [
        ("Distinct", "Upper", Certainty.EXACT),
        ("Distinct", "PythonUDF", Certainty.OPAQUE),
        ("Distinct", "org.example.spark.TheirFunction", Certainty.OPAQUE),
        ("MapInPandas", "Upper", Certainty.OPAQUE),
        ("org.example.spark.TheirOperator", "Upper", Certainty.GUESSED),
        ("org.example.spark.TheirOperator", "PythonUDF", Certainty.GUESSED),
    ],
)
def test_a_way_is_as_sure_as_its_least_sure_step(operator: str, function: str, certainty: Certainty) -> None:
    assert last_step(over(operator, function)).least is certainty


def test_the_arguments_beside_a_call_of_code_stay_exact() -> None:
    plan = over("Distinct", "PythonUDF")
    both = Expression("Concat", {"children": (ExpressionRef(1), AttributeRef(3))})
    above = plan.expressions[0]
    alias = Expression(above.name, {"child": ExpressionRef(2)}, above.id, above.column, above.type, above.sql)
    leaf = plan.operators[2]._replace(output=(A, Output(3, "c")))
    middle = plan.operators[1]._replace(output=leaf.output)
    plan = attrs.evolve(
        plan,
        operators=(plan.operators[0], middle, leaf),
        expressions=(alias, plan.expressions[1], both),
        attributes={**plan.attributes, 3: Attribute("c", "string")},
    )
    found = Trace(plan).column(0, 2)
    sure = {
        origin.id: {kind: [step.least for step in paths if step] for kind, paths in kinds.items()}
        for origin, kinds in found.items()
    }
    assert sure == {1: {UseKind.TRANSFORMATION: [Certainty.OPAQUE]}, 3: {UseKind.TRANSFORMATION: [Certainty.EXACT]}}


def test_operators_are_named_only_for_who_asks() -> None:
    asked, plain = (lineage_of_plan(over("Distinct"), Session("/w", None, "in-memory"), paths=p) for p in (True, False))
    assert asked == plain


def test_a_way_goes_on_where_an_earlier_plan_ended() -> None:
    earlier = Way(
        ("Relation#1", "Project#0"), OperatorStep("Project#0", "upper(a)", Certainty.OPAQUE), Certainty.OPAQUE
    )
    later = Way(("LogicalRDD#2", "Aggregate#0"), OperatorStep("Aggregate#0", "max(a)"), Certainty.EXACT)
    whole = earlier.then(later)
    assert whole.operators == ("Relation#1", "Project#0", "LogicalRDD#2", "Aggregate#0")
    assert [step.expression for step in whole.steps] == ["upper(a)", "max(a)"]
    assert (whole.shown, whole.certainty) == ("max(a)", Certainty.OPAQUE)
    assert earlier.then(Way()).shown == "upper(a)"


def test_a_way_of_two_thousand_steps_is_compared_and_hashed_without_recursion() -> None:
    def chain() -> OperatorStep:
        step = OperatorStep("Project#0", "")
        for number in range(2_000):
            step = OperatorStep("Project#0", f"a + {number}", before=step)
        return step

    assert chain() == chain()
    assert hash(chain()) == hash(chain())
    assert len(Way(last=chain()).steps) == 2_001


def test_the_lineage_for_people_says_what_is_not_sure_and_shows_the_plan() -> None:
    plan = over("SubqueryAlias", "PythonUDF")
    leaf = plan.operators[2]._replace(
        name="LogicalRelation",
        class_name="org.apache.spark.sql.execution.datasources.LogicalRelation",
        arguments={"relation": RELATION},
    )
    plan = attrs.evolve(plan, operators=(*plan.operators[:2], leaf))
    found = lineage_of(lineage_of_plan(plan, Session("/w", None, "in-memory"), paths=True), plan)

    assert str(found).splitlines()[2:] == [
        "  column  from  how",
        "  b       t.a   TRANSFORMATION, opaque  f(a) AS b",
    ]
    assert found.plan.splitlines() == ["Project#0 [b]", "  SubqueryAlias#1 [a]", "    LogicalRelation#2 [a]"]
    assert found.to_dict()["edges"] == [
        {
            "source": "column|file|/lake/t|a",
            "target": "column||(query)|b",
            "certainty": "opaque",
            "paths": [
                {
                    "type": "DIRECT",
                    "subtype": "TRANSFORMATION",
                    "masking": False,
                    "certainty": "opaque",
                    "expression": "f(a) AS b",
                    "steps": [
                        {"operator": "LogicalRelation#2"},
                        {"operator": "SubqueryAlias#1"},
                        {"operator": "Project#0", "expression": "f(a) AS b", "certainty": "opaque"},
                    ],
                }
            ],
        }
    ]
    assert [node["id"] for node in found.to_dict()["nodes"]] == [
        *("dataset|file|/lake/t", "dataset||(query)"),
        *("column|file|/lake/t|a", "column||(query)|b"),
    ]


def test_a_step_tells_the_line_of_python_that_made_its_expression() -> None:
    plan = over("Distinct")
    alias = plan.expressions[0]._replace(call_site="etl.py:12")
    step = last_step(attrs.evolve(plan, expressions=(alias, plan.expressions[1])))
    assert (step.expression, step.call_site) == ("f(a) AS b", "etl.py:12")
    assert last_step(plan).call_site == ""
