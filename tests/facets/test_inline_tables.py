"""Columns of VALUES come from the variables in its text: Spark has replaced them by their values."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import Certainty, UseKind, Way
from openlineage_pyspark.facets.model.plan import LOCAL_RELATION, Attribute, Operator, Output, Plan, Value
from openlineage_pyspark.facets.model.variables import VariableName
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import EarlierPlans, PlanLineage, VariableValue


def of_column(name: str, kind: UseKind = UseKind.IDENTITY) -> VariableValue:
    """Return the value of a variable that comes from a column of the table `t`."""
    table = Dataset(Identifier("file", "/lake/t"))
    return VariableValue((table,), {(table.identifier, name): {kind: (Way(),)}})


VARIABLES: dict[VariableName, VariableValue | None] = {
    VariableName(1, ("session", "m")): of_column("pay", UseKind.AGGREGATION),
    VariableName(1, ("session", "copy")): of_column("name"),
    VariableName(1, ("session", "fixed")): VariableValue(),
    VariableName(1, ("session", "a")): of_column("older"),
    VariableName(1, ("r", "a")): None,
    VariableName(1, ("r", "v")): of_column("struct"),
    VariableName(1, ("session", "odd name")): of_column("odd"),
    VariableName(2, ("session", "other")): of_column("other"),
}


def lineage_of(text: Value, columns: int = 2, scope: int | None = 1) -> PlanLineage:
    output = tuple(Output(at, f"col{at}") for at in range(columns))
    leaf = Operator("LocalRelation", LOCAL_RELATION, {"text": text, "scope": scope}, output)
    plan = Plan((leaf,), (), {at: Attribute(f"col{at}", "int") for at in range(columns)})
    return lineage_of_plan(plan, Session("file:/w"), EarlierPlans(variables=VARIABLES), paths=True)


def sources(found: PlanLineage) -> list[list[str]]:
    """Return the sources of each column, with their kinds."""
    assert found.columns is not None
    return [
        sorted(f"{edge.field} {each.subtype}" for edge in column.edges for each in edge.transformations)
        for column in found.columns.columns
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VALUES (m, 'k')", [["pay AGGREGATION"], []]),
        ("values (1, session.M)", [[], ["pay AGGREGATION"]]),
        ("VALUES (1, system.session.m)", [[], ["pay AGGREGATION"]]),
        ("VALUES (copy, copy || 'x')", [["name IDENTITY"], ["name TRANSFORMATION"]]),
        ("VALUES (copy, 1), (2, m), (m, 3)", [["name IDENTITY", "pay AGGREGATION"], ["pay AGGREGATION"]]),
        ("VALUES (f(copy, [m]), 1) AS t(copy, m)", [["name TRANSFORMATION", "pay AGGREGATION"], []]),
        ("VALUES (copy, 1) copy", [["name IDENTITY"], []]),
        ("VALUES -- m\n (`odd name`, /* m */ 'copy')", [["odd IDENTITY"], []]),
        ("VALUES (r.v.m, v.x)", [["struct TRANSFORMATION"], ["struct TRANSFORMATION"]]),
        ("VALUES (copy(1), session.copy.y)", [[], ["name TRANSFORMATION"]]),
        ("VALUES ((copy), (1 + m) * 2)", [["name TRANSFORMATION"], ["pay AGGREGATION"]]),
    ],
)
def test_a_column_of_values_has_the_sources_of_the_variables_in_its_expressions(
    text: str, expected: list[list[str]]
) -> None:
    found = lineage_of(text)
    assert sources(found) == expected
    assert found.gaps == ()
    assert [each.identifier.name for each in found.inputs] == ["/lake/t"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VALUES m, 2", ["pay AGGREGATION"]),
        ("VALUES 1, copy AS t(m)", ["name IDENTITY"]),
        ("VALUES (1 + copy) * 2", ["name TRANSFORMATION"]),
        ("VALUES (copy)", ["name IDENTITY"]),
    ],
)
def test_values_of_one_column_need_no_brackets(text: str, expected: list[str]) -> None:
    assert sources(lineage_of(text, 1)) == [expected]


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("VALUES ('m', 'copy')", 1),
        ("VALUES (fixed, 1)", 1),
        ("VALUES (other, 1)", 1),
        ("VALUES (mm, copy2)", 1),
        ("VALUES (m, 1)", 3),
        ("VALUES", 1),
        ("VALUES ,", 1),
        ("", 1),
        (None, 1),
        (7, 1),
    ],
)
def test_values_without_a_variable_that_has_sources_come_from_no_dataset(text: Value, scope: int) -> None:
    found = lineage_of(text, scope=scope)
    assert (sources(found), found.inputs, found.gaps) == ([[], []], (), ())


def test_an_edge_that_only_the_text_shows_is_marked_so() -> None:
    found = lineage_of("VALUES (copy, 1)")
    assert found.columns is not None
    ((edge,), _) = (column.edges for column in found.columns.columns)
    assert {each.way.certainty for each in edge.transformations} == {Certainty.TEXT}


def test_a_variable_of_an_unknown_session_is_found() -> None:
    assert sources(lineage_of("VALUES (other, 1)", scope=None)) == [["other IDENTITY"], []]


def test_a_variable_with_unknown_sources_is_a_gap_and_hides_an_older_one_of_its_name() -> None:
    found = lineage_of("VALUES (a, copy)")
    assert sources(found) == [[], ["name IDENTITY"]]
    assert [gap.message for gap in found.gaps] == ["the variable r.a: the sources of its value are unknown"]


def test_rows_of_another_length_than_the_text_has_are_a_gap() -> None:
    found = lineage_of("VALUES (m, 1, 2)")
    assert sources(found) == [[], []]
    assert [gap.message for gap in found.gaps] == [
        "VALUES with the variables session.m: which columns have their values is unknown"
    ]
