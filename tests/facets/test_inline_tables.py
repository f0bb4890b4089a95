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
from openlineage_pyspark.facets.redaction.redact import Redaction


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


def lineage_of(names: Value, columns: int = 2, scope: int | None = 1) -> PlanLineage:
    """Return the lineage of a VALUES in whose rows the probe found names."""
    output = tuple(Output(at, f"col{at}") for at in range(columns))
    leaf = Operator("LocalRelation", LOCAL_RELATION, {"names": names, "scope": scope}, output)
    plan = Plan((leaf,), (), {at: Attribute(f"col{at}", "int") for at in range(columns)})
    return lineage_of_plan(plan, Session("file:/w"), EarlierPlans(variables=VARIABLES), paths=True)


def row(*columns: str) -> tuple[tuple[bool | str, ...], ...]:
    """Return a row of names: a column is one name, or in brackets those of an expression."""
    return tuple(
        (False, *each[1:-1].split()) if each.startswith("(") else (True, each) if each else (False,) for each in columns
    )


def sources(found: PlanLineage) -> list[list[str]]:
    """Return the sources of each column, with their kinds."""
    assert found.columns is not None
    return [
        sorted(f"{edge.field} {each.subtype}" for edge in column.edges for each in edge.transformations)
        for column in found.columns.columns
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((row("m", ""),), [["pay AGGREGATION"], []]),
        ((row("", "session.M"),), [[], ["pay AGGREGATION"]]),
        ((row("", "system.session.m"),), [[], ["pay AGGREGATION"]]),
        ((row("copy", "(copy)"),), [["name IDENTITY"], ["name TRANSFORMATION"]]),
        ((row("copy", ""), row("m", "m")), [["name IDENTITY", "pay AGGREGATION"], ["pay AGGREGATION"]]),
        ((row("(copy m)", ""),), [["name TRANSFORMATION", "pay AGGREGATION"], []]),
        ((row("`odd name`", "`Odd Name`"),), [["odd IDENTITY"], ["odd IDENTITY"]]),
        ((row("r.v.m", "v.x"),), [["struct TRANSFORMATION"], ["struct TRANSFORMATION"]]),
        ((row("current_date", "session.copy.y"),), [[], ["name TRANSFORMATION"]]),
    ],
)
def test_a_column_of_values_has_the_sources_of_the_variables_in_its_expressions(
    rows: Value, expected: list[list[str]]
) -> None:
    found = lineage_of(rows)
    assert sources(found) == expected
    assert found.gaps == ()
    assert [each.identifier.name for each in found.inputs] == ["/lake/t"]


@pytest.mark.parametrize(
    ("rows", "scope"),
    [
        ((row("fixed", ""),), 1),
        ((row("DEFAULT", "(user Current_Timestamp)"),), 1),
        ((), 1),
        (None, 1),
        ("m", 1),
        ((7,), 1),
        (((7, 7),), 1),
        ((((True, 7), (True,)),), 1),
    ],
)
def test_values_without_a_variable_that_has_sources_come_from_no_dataset(rows: Value, scope: int) -> None:
    found = lineage_of(rows, scope=scope)
    assert (sources(found), found.inputs, found.gaps) == ([[], []], (), ())


@pytest.mark.parametrize(
    ("rows", "scope", "unknown"),
    [
        ((row("mm", "(fixed copy2)"),), 1, ["mm", "copy2"]),
        ((row("other", "session.Other"),), 1, ["other", "session.other"]),
        ((row("m", ""), row("m", "")), 3, ["m"]),
        ((row("x.user", ""),), 1, ["x.user"]),
    ],
)
def test_a_name_that_no_known_variable_has_is_a_variable_with_unknown_sources(
    rows: Value, scope: int, unknown: list[str]
) -> None:
    """Another session may have set it, or a statement that nobody has seen, as before `lineage()`."""
    found = lineage_of(rows, scope=scope)
    assert (sources(found), found.inputs) == ([[], []], ())
    messages = [f"the sources of the variable {name} are unknown" for name in unknown]
    assert [gap.message for gap in found.gaps] == messages


def test_an_edge_that_only_the_text_shows_is_marked_so() -> None:
    found = lineage_of((row("copy", ""),))
    assert found.columns is not None
    ((edge,), _) = (column.edges for column in found.columns.columns)
    assert {each.way.certainty for each in edge.transformations} == {Certainty.TEXT}


def test_a_variable_of_an_unknown_session_is_found() -> None:
    assert sources(lineage_of((row("other", ""),), scope=None)) == [["other IDENTITY"], []]


def test_a_variable_with_unknown_sources_is_a_gap_and_hides_an_older_one_of_its_name() -> None:
    found = lineage_of((row("a", "copy"),))
    assert sources(found) == [[], ["name IDENTITY"]]
    assert [gap.message for gap in found.gaps] == ["the sources of the variable r.a are unknown"]


@pytest.mark.parametrize("rows", [(row("row.secret", ""),), (row("row.secret", "", ""), row("api_token", "", ""))])
def test_a_message_about_a_variable_that_is_called_a_secret_is_shown_whole(rows: Value) -> None:
    """A word after `secret:` would be hidden."""
    messages = [gap.message for gap in lineage_of(rows).gaps]
    assert messages
    assert [Redaction().text(each) for each in messages] == messages


def test_rows_of_another_length_than_the_text_has_are_a_gap() -> None:
    found = lineage_of((row("m", "", ""),))
    assert sources(found) == [[], []]
    assert [gap.message for gap in found.gaps] == [
        "which columns of VALUES have the values of the variables session.m is unknown"
    ]
