"""Columns that Delta Lake computes with each write: their sources are those of the columns that they are made from."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.commands.generated import columns_named
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.plan import Value
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from support.delta_append import append_plan


def edges(*written: str, generated: Value) -> dict[str, list[str]]:
    """Return the edges of an INSERT of equally named columns into a table, for each column that the event lists."""
    plan = append_plan(("made", *written), written, generated=generated)
    (output,) = lineage_of_plan(plan, Session("file:/wh")).outputs
    assert output.lineage is not None
    return {
        column.name: [f"{edge.field} {t.subtype}" for edge in column.edges for t in edge.transformations]
        for column in output.lineage.columns
    }


def test_a_computed_column_that_the_query_lacks_has_the_sources_of_its_expression() -> None:
    assert edges("a", "b", "c", generated=(("made", "year(a) + B"),)) == {
        "a": ["a IDENTITY"],
        "b": ["b IDENTITY"],
        "c": ["c IDENTITY"],
        "made": ["a TRANSFORMATION", "b TRANSFORMATION"],
    }


def test_a_column_that_is_computed_as_a_copy_of_another_is_one() -> None:
    assert edges("a", generated=(("made", "`A`"),))["made"] == ["a IDENTITY"]


@pytest.mark.parametrize("expression", ["EXTRACT(YEAR FROM b)", "b - INTERVAL 1 YEAR", "b - INTERVAL '1' year"])
def test_a_unit_is_no_source_of_a_computed_column(expression: str) -> None:
    assert edges("year", "b", generated=(("made", expression),))["made"] == ["b TRANSFORMATION"]


def test_a_column_that_is_computed_from_columns_that_the_query_lacks_has_no_source() -> None:
    assert edges("a", generated=(("made", "b + 1"),))["made"] == []


def test_a_computed_column_that_the_query_gives_has_its_value() -> None:
    assert edges("made", "a", generated=(("made", "a"),))["made"] == ["made IDENTITY"]


@pytest.mark.parametrize("generated", [None, (), (("made", None),), ("made",)])
def test_a_table_without_computed_columns_has_those_of_the_query(generated: Value) -> None:
    assert edges("a", generated=generated) == {"a": ["a IDENTITY"]}


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("a * 2", {"a"}),
        ("year(month)", {"month"}),
        ("CAST(ts AS DATE)", {"ts"}),
        ("p.street", {"p"}),
        ("`a b` || 'c' /* d */", {"a b"}),
        ("DATE '2026-01-01'", set()),
    ],
)
def test_names_in_an_expression_are_columns_and_no_functions_types_or_fields(expression: str, names: set[str]) -> None:
    assert columns_named(expression) == names
