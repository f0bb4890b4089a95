"""From the probe's JSON to a plan: what each form of the encoding becomes."""

from __future__ import annotations

import json

from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    CutText,
    Described,
    Expression,
    ExpressionRef,
    Keys,
    Mention,
    Operator,
    OperatorRef,
    Output,
    StructSql,
    SubqueryText,
)
from openlineage_pyspark.listener.probe.decode import decode_plan

PACKAGE = "org.apache.spark.sql.catalyst.plans.logical."
CATALYST = "org.apache.spark.sql.catalyst.expressions."


def encoding(nodes, **more):
    """Give an encoding over four classes: Project, Filter, Relation and Alias."""
    return {
        "classes": [
            [PACKAGE + "Project", "P", ["projectList", "child"]],
            [PACKAGE + "Filter", "P", ["condition", "child"]],
            [PACKAGE + "Relation", "P", ["relation", "options"]],
            [CATALYST + "Alias", "E", ["child", "name"]],
        ],
        "types": ["int", '{"type":"struct","fields":[]}'],
        "attributes": [[1, "a", 0], [2, "b", 1, "a comment"]],
        "session": {"warehouse": "file:/w", "catalog": "in-memory"},
        "cut": False,
        "nodes": nodes,
        **more,
    }


LEAF = [2, [1, 2], [None, {"keys": ["url", "password"]}]]


def test_a_plan_keeps_its_operators_in_order_with_their_outputs():
    plan = decode_plan(encoding([[0, [1], [[1], -1]], LEAF]))
    assert plan.operators == (
        Operator(
            "Project",
            PACKAGE + "Project",
            {"projectList": (AttributeRef(1),), "child": OperatorRef(1)},
            (Output(1, "a"),),
        ),
        Operator(
            "Relation",
            PACKAGE + "Relation",
            {"relation": None, "options": Keys(("url", "password"))},
            (Output(1, "a"), Output(2, "b")),
        ),
    )
    assert plan.root == 0
    assert plan.top.children == (1,)


def test_text_and_parsed_json_are_the_same():
    raw = encoding([LEAF])
    assert decode_plan(json.dumps(raw)).operators == decode_plan(raw).operators


def test_attributes_have_name_type_and_comment():
    plan = decode_plan(encoding([LEAF]))
    assert plan.attributes == {
        1: Attribute("a", "int"),
        2: Attribute("b", '{"type":"struct","fields":[]}', "a comment"),
    }


def test_the_session_and_the_cut_are_told():
    plan = decode_plan(encoding([LEAF], cut=True))
    assert plan.session == {"warehouse": "file:/w", "catalog": "in-memory"}
    assert plan.cut
    assert not decode_plan(encoding([LEAF])).cut


def test_a_text_that_was_cut_is_told_from_a_whole_one():
    leaf = [2, [1, 2], [{"o": "x.Table", "query": {"cut": "(SELECT a"}, "name": "t"}, None]]
    table = decode_plan(encoding([leaf])).top.described("relation")
    assert table == Described("x.Table", {"query": "(SELECT a...", "name": "t"})
    assert [type(table.text(name)) for name in ("query", "name")] == [CutText, str]


def test_an_expression_has_its_id_name_type_and_text():
    alias = [3, [1, "x"], {"id": 7, "n": "x", "t": 0, "s": "(a + 1)"}]
    plan = decode_plan(encoding([[0, [[7, "x"]], [[-1], -2]], alias, LEAF]))
    assert plan.expressions == (Expression("Alias", {"child": AttributeRef(1), "name": "x"}, 7, "x", "int", "(a + 1)"),)
    assert plan.top.sequence("projectList") == (ExpressionRef(0),)


def test_a_text_may_name_fields_and_one_of_a_struct_has_those_of_its_fields():
    struct = [["struct(", [1, "t.a", "b", "c"], ", ", ["IN (SELECT 1)"], ")"], ["x", [1, "t.a", "b", "c"]], ["y", "1"]]
    alias = [3, [1, "x"], {"id": 7, "n": "x", "t": 0, "s": [struct]}]
    plan = decode_plan(encoding([[0, [[7, "x"]], [[-1], -2]], alias, LEAF]))
    field = Mention(1, "t.a", ("b", "c"))
    whole = ("struct(", field, ", ", SubqueryText("IN (SELECT 1)"), ")")
    assert plan.expressions[0].sql == (StructSql(whole, (("x", (field,)), ("y", ("1",)))),)


def test_an_output_under_another_name_keeps_that_name():
    plan = decode_plan(encoding([[0, [[1, "A"], 2], [[1, 2], -1]], LEAF]))
    assert plan.top.output == (Output(1, "A"), Output(2, "b"))
    assert plan.attributes[1].name == "a"


def test_an_operator_that_hands_on_its_childs_output_is_given_it():
    nodes = [[1, "=", [None, -1]], [1, "=", [None, -2]], LEAF]
    plan = decode_plan(encoding(nodes))
    assert [operator.output for operator in plan.operators] == [(Output(1, "a"), Output(2, "b"))] * 3


def test_a_join_is_given_the_outputs_of_its_children_one_after_the_other():
    join = [PACKAGE + "Join", "P", ["left", "right"]]
    classes = [*encoding([])["classes"], join]
    nodes = [
        [4, "+", [-1, -2]],
        [4, "+", [-3, -4]],
        [1, "=", [None, -5]],
        [2, [1], []],
        [2, [2], []],
        [2, [[1, "A"]], []],
    ]
    plan = decode_plan(encoding(nodes, classes=classes))
    assert plan.operators[1].output == (Output(1, "a"), Output(2, "b"))
    assert plan.top.output == (Output(1, "a"), Output(2, "b"), Output(1, "A"))


def test_five_thousand_operators_that_hand_on_an_output_are_given_it():
    depth = 5_000
    nodes = [[1, "=", [None, -at - 1]] for at in range(depth)]
    plan = decode_plan(encoding([*nodes, LEAF]))
    assert {operator.output for operator in plan.operators} == {(Output(1, "a"), Output(2, "b"))}


def test_a_node_that_is_named_twice_stands_once():
    shared = encoding([[0, [1], [[-1, -1], -2]], [3, [1, "x"]], LEAF])
    plan = decode_plan(shared)
    assert len(plan.expressions) == 1
    assert plan.top.sequence("projectList") == (ExpressionRef(0), ExpressionRef(0))


def test_numbers_words_types_and_lists_are_values():
    values = [{"n": "-3"}, {"n": "1.5"}, "text", True, {"t": 0}, [1, [2, None]]]
    plan = decode_plan(encoding([[0, [], [values, None]]]))
    assert plan.top.arguments["projectList"] == (
        -3,
        "1.5",
        "text",
        True,
        "int",
        (AttributeRef(1), (AttributeRef(2), None)),
    )


def test_what_was_described_keeps_its_class_and_its_readings():
    relation = {"o": "org.apache.Files$Relation", "rootPaths": ["file:/a"], "inner": {"o": "X", "name": "y"}}
    plan = decode_plan(encoding([[2, [1], [relation, {"keys": 3}]]]))
    described = plan.top.described("relation")
    assert described is not None
    assert described.class_name == "org.apache.Files$Relation"
    assert described.simple_name == "Relation"
    assert described.values["rootPaths"] == ("file:/a",)
    assert described.values["inner"] == Described("X", {"name": "y"})
    assert plan.top.arguments["options"] == Keys(())


def test_further_readings_of_a_node_stand_beside_its_arguments():
    plan = decode_plan(encoding([[2, [1], [None, None], {"table": {"o": "T", "name": "orders"}}]]))
    assert plan.top.arguments["table"] == Described("T", {"name": "orders"})


def test_a_node_that_was_cut_off_is_missing_and_the_rest_is_there():
    plan = decode_plan(encoding([[0, [1], [[-1], -2]], None, LEAF], cut=True))
    assert plan.expressions == (Expression("Missing", {}),)
    assert [operator.name for operator in plan.operators] == ["Project", "Relation"]
    assert plan.cut


def test_a_node_that_could_not_be_read_is_named_with_the_reason():
    broken = [1, None, [], {"broken": "java.lang.IllegalStateException"}]
    plan = decode_plan(encoding([[0, [1], [[1], -1]], broken]))
    assert plan.broken == (f"{PACKAGE}Filter: java.lang.IllegalStateException",)
    assert plan.operators[1].output == ()


def test_the_simple_name_of_an_object_and_of_an_inner_class_is_its_own():
    classes = [["org.apache.Outer$Inner", "P", []], ["org.apache.OneRow$", "P", []]]
    plan = decode_plan(encoding([[0, [], []], [1, [], []]], classes=classes))
    assert [operator.name for operator in plan.operators] == ["Inner", "OneRow"]


def test_common_expressions_are_found_by_their_id():
    classes = [["X.Project", "P", ["list"]], [CATALYST + "CommonExpressionDef", "E", ["child", "id"]]]
    definition = [1, [1, {"o": "X.CommonExpressionId", "id": {"n": "5"}}]]
    plan = decode_plan(encoding([[0, [], [[-1]]], definition], classes=classes))
    assert plan.common == {5: AttributeRef(1)}
