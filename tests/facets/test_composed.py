"""The text of an edge in terms of the columns of sources: bounded, and never a way around the hiding of secrets."""

from __future__ import annotations

import datetime
import gc
import weakref

import attrs
import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Symlink
from openlineage_pyspark.facets.model.lineage import ColumnLineage, OutputColumn, Transformation, UseKind, Way, Wording
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    AttributeRef,
    Expression,
    ExpressionRef,
    Mention,
    Operator,
    OperatorRef,
    Output,
    Plan,
    Sql,
    StructSql,
    SubqueryText,
    Value,
)
from openlineage_pyspark.facets.model.run import Engine, Failure, Job, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import EarlierColumn, EarlierPlans, EarlierRows
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted
from openlineage_pyspark.facets.trace.composed import LONGEST, ColumnTexts, Composer
from openlineage_pyspark.facets.trace.solve import Origin, Trace
from openlineage_pyspark.facets.trace.texts import own_text, readable_names, subquery_text

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
SESSION = Session("file:/w", None, "in-memory")
LEAF = "org.apache.spark.sql.execution.LogicalRDD"


def projections(*levels: tuple[str, Sql, tuple[int, ...]]) -> Plan:
    """
    Return a plan of projections over a leaf with the columns `a` (1) and `b` (2), which an earlier plan has computed.

    Args:
        levels: from the leaf to the top, a column: its name, its text, and the exprIds that it reads. The columns have
            the exprIds 3, 4 and so on, and each may read the one below it.
    """
    leaf = Operator("LogicalRDD", LEAF, {}, (Output(1, "a"), Output(2, "b")))
    operators, expressions = [leaf], []
    attributes = {1: Attribute("a", "int"), 2: Attribute("b", "int")}
    for at, (name, sql, reads) in enumerate(levels):
        expressions.append(Expression("Add", {"children": tuple(map(AttributeRef, reads))}))
        added = Expression("Alias", {"child": ExpressionRef(2 * at)}, at + 3, name, "int", sql)
        expressions.append(added)
        attributes[at + 3] = Attribute(name, "int")
        kept = tuple(Output(id_, attributes[id_].name) for id_ in (1, 2, at + 3))
        arguments: dict[str, Value] = {"projectList": (ExpressionRef(2 * at + 1),), "child": OperatorRef(at)}
        operators.append(Operator("Project", f"{LOGICAL}Project", arguments, kept))
    return Plan(tuple(operators), tuple(expressions), attributes, root=len(operators) - 1)


def memory(a: str = "t.a", b: str = "t.b", *, source: str = "b", wording: Wording | None = None) -> EarlierPlans:
    """
    Return an earlier plan that has read `a` and `b` from a table `t`.

    Args:
        a: the text of `a`.
        b: the text of `b`.
        source: the column of the table that `b` comes from.
        wording: the texts of the plan's expressions.
    """
    table = Dataset(Identifier("file", "/lake/t"))
    columns = [
        EarlierColumn({(table.identifier, name): {UseKind.IDENTITY: (Way(),)}}, text)
        for name, text in (("a", a), (source, b))
    ]
    return EarlierPlans({0: EarlierRows((table,), tuple(columns), wording=wording or Wording())})


def last_column(plan: Plan, *, composed: bool = True) -> tuple[Transformation, ...]:
    """Return how sources reach the last column of a plan."""
    found = lineage_of_plan(plan, SESSION, memory(), composed=composed)
    assert found.columns is not None
    return tuple(each for edge in found.columns.columns[-1].edges for each in edge.transformations)


def text(plan: Plan) -> str:
    """Return the one text of the last column."""
    (found,) = {each.description for each in last_column(plan)}
    return found


def test_an_attribute_is_replaced_by_what_computes_it() -> None:
    plan = projections(
        ("total", ("sum(", Mention(1, "x.a"), " + ", Mention(2, "x.b"), ")"), (1, 2)),
        ("top", ("abs(", Mention(3, "q.total"), ")"), (3,)),
    )
    assert text(plan) == "abs(sum(t.a + t.b))"
    assert {each.description for each in last_column(plan, composed=False)} == {"abs(q.total)"}


def test_a_field_of_a_struct_is_what_makes_it() -> None:
    inner = StructSql(("struct(", Mention(1, "a"), ")"), (("x", (Mention(1, "a"),)),))
    made = StructSql(
        ("struct(", Mention(2, "b"), " + 1, struct(", Mention(1, "a"), "))"),
        (("N", (Mention(2, "b"), " + 1")), ("in", (inner,))),
    )
    levels: list[tuple[str, Sql, tuple[int, ...]]] = [("s", (made,), (1, 2)), ("copy", (Mention(3, "s"),), (3,))]

    def read(*path: str) -> str:
        return text(projections(*levels, ("top", ("f(", Mention(4, "q.copy", path), ")"), (4,))))

    assert read("n") == "f(t.b + 1)"
    assert read("in", "x") == "f(t.a)"
    assert read("in") == "f(struct(t.a))"
    assert read() == "f(struct(t.b + 1, struct(t.a)))"
    # The probe leaves out the fields for which there is no room.
    assert read("other", "a b") == "f(struct(t.b + 1, struct(t.a)).other.`a b`)"


def test_a_field_of_what_is_no_struct_of_the_statement_is_called_by_its_name() -> None:
    plan = projections(
        ("j", ("from_json(", Mention(1, "a", ("x",)), ")"), (1,)),
        ("top", ("f(", Mention(3, "q.j", ("y", "z")), ")"), (3,)),
    )
    assert text(plan) == "f(from_json(t.a.x).y.z)"
    assert {each.description for each in last_column(plan, composed=False)} == {"f(q.j.y.z)"}


def generated(name: str, sql: Sql, *, outer: bool) -> Plan:
    """Return the plan of a generator that makes a column `x` of `a`, above a leaf as that of `projections`."""
    plan = projections()
    call = Expression(name, {"children": (AttributeRef(1),)}, sql=sql)
    arguments: dict[str, Value] = {
        "generator": ExpressionRef(0),
        "outer": outer,
        "generatorOutput": (AttributeRef(3),),
        "child": OperatorRef(0),
    }
    top = Operator("Generate", f"{LOGICAL}Generate", arguments, (Output(1, "a"), Output(3, "x")))
    attributes = {**plan.attributes, 3: Attribute("x", "int")}
    return Plan((plan.operators[0], top), (call,), attributes, root=1)


@pytest.mark.parametrize(
    ("name", "function", "shown"),
    [
        ("Explode", "explode", "explode_outer"),
        ("PosExplode", "posexplode", "posexplode_outer"),
        ("Inline", "inline", "inline_outer"),
        ("VariantExplode", "variant_explode", "variant_explode_outer"),
        ("JsonTuple", "json_tuple", "OUTER json_tuple"),
    ],
)
def test_a_generator_that_keeps_rows_without_elements_says_so(name: str, function: str, shown: str) -> None:
    sql = (f"{function}(", Mention(1, "x.a"), ")")
    for outer, called in ((False, function), (True, shown)):
        plan = generated(name, sql, outer=outer)
        assert text(plan) == f"{called}(t.a)"
        assert {each.description for each in last_column(plan, composed=False)} == {f"{called}(x.a)"}


def test_a_field_that_is_called_a_secret_is_composed_like_any_other() -> None:
    made = StructSql(("struct('hunter2')",), (("password", ("'hunter2' || ", Mention(1, "a"))),))
    plan = projections(("s", (made,), (1,)), ("y", ("f(", Mention(3, "s", ("password",)), ")"), (3,)))
    assert text(plan) == "f('hunter2' || t.a)"
    assert "f('***' || t.a)" in shown_texts(plan)
    assert "hunter2" not in repr(shown(plan).outputs)


def test_the_text_of_a_column_that_an_earlier_plan_has_computed_goes_on() -> None:
    plan = projections(("top", ("abs(", Mention(1, "a"), ")"), (1,)))
    found = lineage_of_plan(plan, SESSION, memory("upper(t.a)")).texts
    assert found[3] == "abs(upper(t.a))"


def test_a_column_that_is_used_twice_at_each_of_fifty_levels_gives_a_text_of_limited_length() -> None:
    levels = [(f"v{at}", ("(", Mention(at, "v"), " + ", Mention(at, "v"), ")"), (at,)) for at in range(2, 52)]
    found = text(projections(("v", (Mention(1, "a"),), (1,)), *((n, s, r) for n, s, r in levels[1:])))
    assert len(found) <= LONGEST
    assert found.startswith("((((")
    assert "..." in found
    assert found.count("(") == found.count(")")


def test_a_text_of_two_thousand_steps_is_composed_without_recursion() -> None:
    levels = [("v", ("f(", Mention(at, "v"), ")"), (at,)) for at in (1, *range(3, 2002))]
    found = text(projections(*levels))
    assert len(found) <= LONGEST
    assert found.startswith("f(f(f(")
    assert found.endswith(")))")


@pytest.mark.parametrize("name", ["password", "api_key"])
def test_no_literal_behind_the_name_of_a_secret_is_shown(name: str) -> None:
    plan = projections(
        (name, ("concat('hunter2', ", Mention(1, "a"), ")"), (1,)),
        ("y", ("upper(", Mention(3, name), ")"), (3,)),
    )
    assert text(plan) == "upper(concat('hunter2', t.a))"
    assert shown_texts(plan) == {"upper(concat('***', t.a))", f"upper({name})", "concat('***', a)"}


def test_what_is_compared_with_a_column_that_is_called_a_secret_is_hidden_under_any_text_of_it() -> None:
    plan = projections(
        ("password", (Mention(1, "a"),), (1,)), ("y", ("(", Mention(3, "password"), " = 'hunter2')"), (3,))
    )
    renamed = plan.expressions[1]._replace(arguments={"child": AttributeRef(1)})
    plan = attrs.evolve(plan, expressions=(plan.expressions[0], renamed, *plan.expressions[2:]))
    assert text(plan) == "(t.a = 'hunter2')"
    assert "hunter2" not in repr(shown(plan).outputs)


def test_what_was_a_secret_on_its_way_is_redacted_under_any_name() -> None:
    plan = projections(
        ("password", ("concat('hunter2', ", Mention(1, "a"), ")"), (1,)), ("y", (Mention(3, "password"),), (3,))
    )
    copied = plan.expressions[3]._replace(arguments={"child": AttributeRef(3)})
    plan = attrs.evolve(plan, expressions=(*plan.expressions[:3], copied))
    assert "hunter2" not in repr(shown(plan).outputs)


def test_no_literal_is_shown_beside_a_name_of_a_secret_that_is_left_out_for_want_of_room() -> None:
    long = f"concat('{'x' * 1_980}', "
    plan = projections(("y", (long, "(", Mention(2, "u.password"), " = 'hunter2') OR pin = 4711)"), (1, 2)))
    names = memory(b=f"t.{'b' * 20}.password")
    found = lineage_of_plan(plan, SESSION, names).columns
    assert found is not None
    texts = {each.description for edge in found.columns[-1].edges for each in edge.transformations}
    assert texts == {f"concat('{'x' * 1_980}', (... = 'hunter2') OR pin = 4711)"}
    assert shown_texts(plan, before=names) >= {"concat('***', (... = '***') OR pin = '***')"}
    unnamed = projections(("y", (long, "(", Mention(2, "u.b"), " = 'hunter2')"), (1, 2)))
    before = memory(b=f"t.{'b' * 20}.password", source="password")
    assert "hunter2" not in repr(shown(unnamed, before=before).outputs)


def test_no_literal_is_shown_beside_a_name_of_a_secret_that_was_never_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openlineage_pyspark.facets.trace.composed.MOST_REPLACED", 1)
    plan = projections(("y", (Mention(1, "a"), " + (", Mention(2, "password"), " = 'hunter2')"), (1, 2)))
    assert text(plan) == "t.a + (... = 'hunter2')"
    assert shown_texts(plan) == {"t.a + (... = '***')", "a + (password = '***')"}


def test_an_expression_whose_end_is_missing_is_left_out_of_another_one() -> None:
    """Its open quote would make a name of the literal behind it; and the name of a secret may be in what is missing."""
    longest = ("concat(", Mention(1, "x" * 1_900), ", 'abc...")
    plan = projections(("v", longest, (1,)), ("y", ("concat(", Mention(3, "v"), ", 'hunter2', 'x')"), (3,)))
    assert text(plan) == "concat(..., '***', '***')"
    assert shown_texts(plan, Redaction(mask_literals=True)) == {
        "concat(..., ?, ?)",
        "concat(v, ?, ?)",
        f"concat({'x' * 1_900}, ?",
    }
    before = memory("concat(t.a, 'abc...")
    found = lineage_of_plan(projections(("y", ("f(", Mention(1, "a"), ", 'x')"), (1,))), SESSION, before)
    assert found.texts[3] == "f(..., '***')"


def test_a_text_whose_end_is_missing_shows_no_literal() -> None:
    """The name of the secret that it is compared with may be in what is missing."""
    plan = projections(("v", ("('hunter2' = concat(", Mention(1, "a"), ", 4711, ..."), (1, 2)))
    assert text(plan) == "('***' = concat(t.a, '***', ..."
    assert {each.description for each in last_column(plan, composed=False)} == {"('***' = concat(a, '***', ..."}


def test_a_cast_to_the_type_that_a_column_has_is_not_told() -> None:
    plan = projections(
        ("v", ("CAST(", Mention(1, "a"), " AS BIGINT)"), (1,)),
        ("w", ("CAST(", Mention(3, "v"), " AS INT)"), (3,)),
        ("y", ("upper(", Mention(4, "w"), ")"), (4,)),
    )
    expressions = list(plan.expressions)
    expressions[2] = Expression("Cast", {"child": AttributeRef(3), "dataType": "int"})
    assert text(attrs.evolve(plan, expressions=tuple(expressions))) == "upper(CAST(t.a AS BIGINT))"


def test_a_column_that_was_a_secret_on_its_way_hides_what_it_is_compared_with() -> None:
    plan = projections(
        ("password", ("upper(", Mention(1, "a"), ")"), (1,)),
        ("p", (Mention(3, "password"),), (3,)),
        ("y", ("((", Mention(4, "p"), " = 'hunter2') AND (", Mention(2, "b"), " = 1))"), (4, 2)),
    )
    copied = plan.expressions[3]._replace(arguments={"child": AttributeRef(3)})
    plan = attrs.evolve(plan, expressions=(*plan.expressions[:3], copied, *plan.expressions[4:]))
    assert text(plan) == "((upper(t.a) = 'hunter2') AND (t.b = 1))"
    assert "((upper(t.a) = '***') AND (t.b = '***'))" in shown_texts(plan)


def state_of(plan: Plan, sql: str | None = None, *, before: EarlierPlans | None = None) -> RunState:
    """Return the state of a run that writes what a plan reads."""
    lineage = lineage_of_plan(plan, SESSION, before or memory(), paths=True).columns
    assert lineage is not None
    output = RunOutput(Dataset(Identifier("file", "/lake/y")), None, lineage=lineage)
    when = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    job = Job("n", "j", "SQL_JOB", sql=sql)
    return RunState("COMPLETE", when, "0190a000-0000-7000-8000-000000000002", job, Engine("4.3.0"), outputs=(output,))


def shown(
    plan: Plan, redaction: Redaction | None = None, sql: str | None = None, *, before: EarlierPlans | None = None
) -> RunState:
    """Return what is shown of the state of a run that writes what a plan reads."""
    return redacted(state_of(plan, sql, before=before), redaction or Redaction())


def shown_texts(
    plan: Plan, redaction: Redaction | None = None, sql: str | None = None, *, before: EarlierPlans | None = None
) -> set[str]:
    """Return the texts that are shown of the expressions of a plan."""
    lineage = shown(plan, redaction, sql, before=before).outputs[0].lineage
    assert lineage is not None
    ways = [each for edge in lineage.edges for each in edge.transformations]
    texts = {each.description for each in ways} | {step.expression for each in ways for step in each.way.steps}
    return texts - {""}


SECRET_FROM_BELOW = projections(
    ("p", ("concat('hunter2', ", Mention(1, "a"), ")"), (1,)),
    ("y", ("(", Mention(2, "password"), " = ", Mention(3, "p"), ")"), (2, 3)),
)


def test_what_a_composed_text_tells_to_be_a_secret_is_hidden_in_all_texts_of_the_run() -> None:
    statement = "WITH x AS (SELECT concat('hunter2', a) AS p, password FROM t) SELECT password = p AS y FROM x"
    before = memory(b="t.password")
    assert "(t.password = concat('hunter2', t.a))" in {
        each.description
        for output in state_of(SECRET_FROM_BELOW, statement, before=before).outputs
        for edge in output.lineage.edges
        for each in edge.transformations
    }
    assert shown_texts(SECRET_FROM_BELOW, sql=statement, before=before) == {
        "(t.password = concat('***', t.a))",
        "(password = p)",
        "concat('***', a)",
    }
    found = shown(SECRET_FROM_BELOW, sql=statement, before=before)
    assert found.job.sql == statement.replace("hunter2", "***")
    failed = attrs.evolve(
        state_of(SECRET_FROM_BELOW, statement, before=before), failure=Failure("no luck with hunter2", "PYTHON")
    )
    assert redacted(failed, Redaction()).failure == Failure("no luck with ***", "PYTHON")


def test_what_is_shown_holds_no_text_from_which_it_was_made() -> None:
    """The facets of other people's providers, and the last run of a notebook, are made of it."""
    for redaction in (Redaction(), Redaction(mask_literals=True)):
        found = shown(SECRET_FROM_BELOW, redaction, before=memory(b="t.password"))
        assert "hunter2" not in str(attrs.asdict(found))


def test_a_constant_that_a_column_gets_from_far_below_is_hidden_in_the_statement() -> None:
    statement = "WITH x AS (SELECT 'hunter2' AS p FROM t) INSERT INTO u (password) SELECT p FROM x"
    lineage = ColumnLineage((OutputColumn("password", ()),))
    state = attrs.evolve(
        state_of(SECRET_FROM_BELOW, statement), outputs=(RunOutput(table("/lake/u"), lineage=lineage),)
    )
    found = redacted(state, Redaction())
    assert found.job.sql == statement.replace("hunter2", "***")
    assert "hunter2" not in str(attrs.asdict(found))


def without_source(plan: Plan) -> tuple[str, str]:
    """Return the expression of the last column, which comes from no column: as found, and as it is shown."""
    found = lineage_of_plan(plan, SESSION, memory()).columns
    lineage = shown(plan).outputs[0].lineage
    assert found is not None
    assert lineage is not None
    return found.columns[-1].expression, lineage.columns[-1].expression


def test_a_column_that_comes_from_no_column_has_its_expression_and_its_strings_are_not_shown() -> None:
    counted = projections(("n", ("count(1)",), ()), ("m", ("(", Mention(3, "n"), " + 1)"), (3,)))
    constant = projections(("kind", ("concat('hunter2', 'x', 4)",), ()))

    assert without_source(counted) == ("(count(1) + 1)", "(count(1) + 1)")
    assert without_source(constant) == ("concat('hunter2', 'x', 4)", "concat('***', '***', 4)")


def test_a_column_that_comes_from_no_column_and_is_called_a_secret_has_no_literal() -> None:
    plan = projections(("password", ("concat(", "4711", ")"), ()), ("p", (Mention(3, "password"),), (3,)))

    assert "4711" not in without_source(plan)[1]


def test_a_column_with_a_source_has_no_expression_of_its_own() -> None:
    assert without_source(projections(("n", ("(", Mention(1, "a"), " + 1)"), (1,)))) == ("", "")


def test_the_wording_of_a_plan_has_the_names_and_texts_of_all_that_it_computes_and_of_what_it_reads() -> None:
    plan = projections(("p", ("'one'",), ()), ("q", ("concat(", Mention(3, "p"), ", 'two')"), (3,)))
    before = memory(wording=Wording(frozenset(("earlier",)), ("f(x)", "'one'")))
    found = lineage_of_plan(plan, SESSION, before)
    assert found.wording == Wording(frozenset(("p", "q", "earlier")), ("'one'", "concat(p, 'two')", "f(x)"))
    assert found.columns is not None
    assert found.columns.wording is found.wording


def test_a_column_that_is_passed_on_under_its_own_name_is_no_wording() -> None:
    """A view names all columns of its tables."""
    plan = projections(("a", ("CAST(", Mention(1, "a"), " AS INT)"), (1,)), ("b", (Mention(1, "a"),), (1,)))
    cast = Expression("Cast", {"child": AttributeRef(1), "dataType": "int"})
    renamed = plan.expressions[3]._replace(arguments={"child": AttributeRef(1)})
    plan = attrs.evolve(plan, expressions=(cast, plan.expressions[1], plan.expressions[2], renamed))
    assert lineage_of_plan(plan, SESSION, memory()).wording == Wording(frozenset("b"), ("a",))


def test_what_an_earlier_plan_names_hides_the_literals_of_the_plan_that_reads_its_rows() -> None:
    plan = projections(("y", ("concat('hunter2', ", Mention(1, "a"), ")"), (1,)))
    before = memory(wording=Wording(frozenset(("token",))))
    assert shown_texts(plan) == {"concat('hunter2', t.a)", "concat('hunter2', a)"}
    assert shown_texts(plan, before=before) == {"concat('***', t.a)", "concat('***', a)"}


def test_an_own_text_has_the_names_that_spark_writes() -> None:
    sql = ("f(", Mention(7, "x.`a b`"), ", '#7', g#12L, ", SubqueryText("IN (SELECT 1)"), ")")
    assert own_text(sql) == "f(x.`a b`, '#7', g, (SELECT 1))"
    assert own_text((Mention(7, "t.`max(bonus#6L)`"), " + ", Mention(8, "t.`no#1`"))) == "t.`max(bonus)` + t.`no#1`"
    assert own_text(None) == own_text("") == ""


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("( SELECT  max(a)\n FROM t )", "(SELECT max(a) FROM t)"),
        ("NOT IN (SELECT a -- ids\n FROM t /* all */ WHERE b = ' x  y ')", "(SELECT a FROM t WHERE b = ' x  y ')"),
        ("EXISTS(SELECT 1)", "(SELECT 1)"),
        ("SELECT f(a) FROM t WHERE exists (SELECT g(1)) AND (b = 1)", "(SELECT g(1))"),
        ("SELECT (1) WHERE EXISTS (SELECT 1 WHERE EXISTS (SELECT 2))", "(SELECT 1 WHERE EXISTS (SELECT 2))"),
        ("SELECT EXISTS (SELECT 1), EXISTS (SELECT 2)", "(SELECT ...)"),
        ("NOT (EXISTS (SELECT 1) OR (b))", "(SELECT 1)"),
        ("(EXISTS (SELECT 1) OR (b))", "(SELECT 1)"),
        ("((WITH x AS (SELECT 1) SELECT * FROM x))", "((WITH x AS (SELECT 1) SELECT * FROM x))"),
        ("t", "(SELECT ...)"),
    ],
)
def test_a_subquery_is_on_one_line_without_what_is_around_it(given: str, shown: str) -> None:
    assert subquery_text(given) == shown


def test_subqueries_that_come_from_one_text_have_each_their_own() -> None:
    both = SubqueryText("f(a) OR EXISTS (SELECT 1 WHERE EXISTS (SELECT 2)) OR EXISTS (SELECT 3)")
    assert own_text(("(EXISTS ", both, " OR EXISTS ", both, ")")) == (
        "(EXISTS (SELECT 1 WHERE EXISTS (SELECT 2)) OR EXISTS (SELECT 3))"
    )
    assert own_text(("EXISTS ", both, " OR EXISTS ", both, " OR EXISTS ", both)).count("(SELECT ...)") == 3


def table(path: str, name: str | None = None, type_: str | None = None, namespace: str = "file") -> Dataset:
    links = (Symlink("file:/w", name),) if name else ()
    return Dataset(Identifier(namespace, path), symlinks=links, type=type_)


def test_a_source_has_the_shortest_name_that_tells_it_from_the_others() -> None:
    given = [
        table("/w/a.db/orders", "a.orders"),
        table("/w/b.db/orders", "b.orders"),
        table("/w/people", "default.people"),
        table("/landing/2026/raw files"),
        table("public.items", namespace="postgres://db"),
        table("shop.orders.v1", type_="TOPIC", namespace="kafka://k"),
    ]
    names = readable_names(given)
    assert [names[each.identifier] for each in given] == [
        "a.orders",
        "b.orders",
        "people",
        "`raw files`",
        "items",
        "`shop.orders.v1`",
    ]


def test_the_texts_of_a_plans_columns_are_composed_when_the_first_one_is_asked_for() -> None:
    plan = projections(("top", ("abs(", Mention(1, "a"), ")"), (1,)), ("rest", ("f(", Mention(3, "top"), ")"), (3,)))
    named: list[Origin] = []

    def name_of(origin: Origin) -> str:
        named.append(origin)
        return f"t.{origin.id}"

    texts = ColumnTexts(Composer(Trace(plan), name_of), plan, plan.root)
    assert named == []
    assert texts == {1: "t.1", 2: "t.2", 4: "f(abs(t.1))"}
    often = len(named)
    assert texts[4] == "f(abs(t.1))"
    assert len(named) == often


def test_a_plan_is_freed_as_soon_as_its_lineage_and_the_texts_of_its_columns_are_known() -> None:
    """It is freed at once, and does not wait for a collection of garbage."""
    plan = projections(("top", ("abs(", Mention(1, "a"), ")"), (1,)))
    kept = weakref.ref(plan)
    gc.disable()
    try:
        found = lineage_of_plan(plan, SESSION, memory())
        assert found.texts[3] == "abs(t.a)"
        del plan
        assert kept() is None
    finally:
        gc.enable()
