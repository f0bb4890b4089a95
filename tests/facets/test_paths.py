"""All paths from a source column to a target are in the lineage, in the event, and in what reads it."""

from __future__ import annotations

from typing import Any

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.events.dataset import column_lineage_facet, steps_facets
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.workbench.report import lineage_of
from support.built_plans import Building


def found_in(building: Building, *, paths: bool = False) -> PlanLineage:
    return lineage_of_plan(building.plan(), Session("/w"), paths=paths)


def columns_of(found: PlanLineage) -> ColumnLineage:
    assert found.columns is not None
    return found.columns


def texts(edges: tuple[InputField, ...]) -> list[tuple[str, str]]:
    return [(each.subtype, each.description) for edge in edges for each in edge.transformations]


def branches(building: Building, *expressions: str) -> int:
    """Add a union of branches that each read a table again and make an expression of its column a."""
    made = []
    for expression in expressions:
        leaf = building.leaf(1)
        made.append(building.computed(leaf, (building.output(leaf)[0], expression)))
    return building.union(made)


def test_each_branch_of_a_union_is_a_path() -> None:
    building = Building()
    branches(building, "(a + 1)", "(a * 2)")
    (column,) = columns_of(found_in(building)).columns
    assert texts(column.edges) == [("TRANSFORMATION", "(t.a * 2)"), ("TRANSFORMATION", "(t.a + 1)")]


def test_each_branch_of_a_union_in_a_union_is_a_path() -> None:
    building = Building()
    inner = branches(building, "(a + 1)", "(a * 2)")
    leaf = building.leaf(1)
    building.union([inner, building.computed(leaf, (building.output(leaf)[0], "(a - 3)"))])
    (column,) = columns_of(found_in(building)).columns
    assert [text for _, text in texts(column.edges)] == ["(t.a * 2)", "(t.a + 1)", "(t.a - 3)"]


def test_branches_that_say_the_same_are_one_path_unless_operators_are_wanted() -> None:
    building = Building()
    branches(building, "(a + 1)", "(a + 1)")
    (plain,), (whole,) = (columns_of(found_in(building, paths=paths)).columns for paths in (False, True))
    assert texts(plain.edges) == [("TRANSFORMATION", "(t.a + 1)")]
    assert [each.way.operators for each in whole.edges[0].transformations] == [
        ("LogicalRelation#0", "Project#1", "Project#4", "Union#6"),
        ("LogicalRelation#2", "Project#3", "Project#5", "Union#6"),
    ]


def test_each_filter_is_a_path_to_all_rows() -> None:
    building = Building()
    leaf = building.leaf(1)
    (a,) = building.output(leaf)
    building.filter(building.filter(leaf, a), a)
    assert texts(columns_of(found_in(building)).dataset) == [
        ("FILTER", "isnotnull0(t.a)"),
        ("FILTER", "isnotnull1(t.a)"),
    ]


def test_both_sides_of_a_self_join_are_paths() -> None:
    building = Building()
    left, right = building.leaf(1), building.leaf(1)
    building.join(left, right, building.output(left)[0], 0)
    (edge,) = columns_of(found_in(building, paths=True)).dataset
    assert [(each.subtype, each.way.operators[0]) for each in edge.transformations] == [
        ("JOIN", "LogicalRelation#0"),
        ("JOIN", "LogicalRelation#1"),
    ]


@pytest.mark.parametrize("name", ["Intersect", "Except"])
def test_both_sides_of_a_set_difference_are_paths(name: str) -> None:
    building = Building()
    first, second = building.leaf(1), building.leaf(1)
    left = building.computed(first, (building.output(first)[0], "(a + 1)"))
    right = building.computed(second, (building.output(second)[0], "(a * 2)"))
    building.set_difference(name, left, right)
    lineage = columns_of(found_in(building, paths=True))
    assert texts(lineage.columns[0].edges) == [("TRANSFORMATION", "(t.a + 1)")]
    (edge,) = lineage.dataset
    assert [[step.expression for step in each.way.steps] for each in edge.transformations] == [
        ["(a * 2)", ""],
        ["(a + 1)", ""],
    ]


def test_a_text_above_a_cte_that_is_used_twice_is_that_of_its_path() -> None:
    """Both paths begin in one column of one leaf, and end in one expression."""
    building = Building()
    leaf = building.leaf(1)
    definition = building.definition(leaf)
    made = []
    for expression in ("(a + 1)", "(a * 2)"):
        reference = building.reference(definition)
        made.append(building.computed(reference, (building.output(reference)[0], expression)))
    union = building.union(made)
    (id_,) = building.output(union)
    building.computed(union, (id_, f"abs({building.attributes[id_].name})"))
    (column,) = columns_of(found_in(building)).columns
    assert texts(column.edges) == [("TRANSFORMATION", "abs((t.a * 2))"), ("TRANSFORMATION", "abs((t.a + 1))")]


def test_what_decides_inside_a_cte_that_is_used_twice_is_a_path_for_each_use() -> None:
    building = Building()
    leaf = building.leaf(1)
    definition = building.definition(building.filter(leaf, building.output(leaf)[0]))
    building.union([building.reference(definition), building.reference(definition)])
    (edge,) = columns_of(found_in(building, paths=True)).dataset
    assert [each.way.operators for each in edge.transformations] == [
        ("LogicalRelation#0", "Filter#1", "CTERelationDef#2", "CTERelationRef#3", "Project#5", "Union#7"),
        ("LogicalRelation#0", "Filter#1", "CTERelationDef#2", "CTERelationRef#4", "Project#6", "Union#7"),
    ]


def test_of_more_than_sixteen_paths_sixteen_are_kept_and_a_gap_says_so() -> None:
    building = Building()
    branches(building, *(f"(a + {number})" for number in range(17)))
    found = found_in(building)
    (column,) = columns_of(found).columns
    assert [text for _, text in texts(column.edges)] == sorted(f"(t.a + {number})" for number in range(16))
    message = "more than 16 paths of one kind lead from a of /lake/t to one target: the others are left out"
    assert found.gaps == (Gap("paths", message),)
    assert str(lineage_of(found)).splitlines()[-1] == f"left out: {message}"


def test_sixteen_paths_and_very_many_copies_are_no_gap() -> None:
    building = Building()
    branches(building, *(f"(a + {number})" for number in range(16)))
    assert found_in(building).gaps == ()
    copies = Building()
    copies.union([copies.leaf(1) for _ in range(20)])
    found = found_in(copies)
    assert (texts(columns_of(found).columns[0].edges), found.gaps) == ([("IDENTITY", "")], ())


def facets(building: Building, **options: Any) -> tuple[list[tuple[str | None, bool | None]], dict[str, Any]]:
    """Return the transformations of the only edge of the first column, and the facet of the steps."""
    lineage, chosen = columns_of(found_in(building, paths=True)), EventOptions(**options)
    facet = column_lineage_facet(lineage, chosen)
    assert facet is not None
    (column, *_) = facet.fields.values()
    (source,) = column.inputFields
    transformations = source.transformations or []
    steps: Any = steps_facets(lineage, chosen)["pyspark_lineage_steps"]
    return [(each.description, each.masking) for each in transformations], {
        "operators": steps.operators,
        "expressions": steps.expressions,
        "paths": next(iter(steps.columns.values())),
    }


def test_an_event_has_each_path_with_its_operators_and_its_description() -> None:
    building = Building()
    branches(building, "(a + 1)", "(a * 2)")
    transformations, steps = facets(building, steps="all")
    assert transformations == [("(t.a * 2)", False), ("(t.a + 1)", False)]
    names, expressions = steps["operators"], steps["expressions"]
    told = [
        (expressions[path["description"]], names[path["operators"][0]], expressions[path["steps"][0]["expression"]])
        for path in steps["paths"]
    ]
    assert told == [
        ("(t.a * 2)", "LogicalRelation#2", "(a * 2)"),
        ("(t.a + 1)", "LogicalRelation#0", "(a + 1)"),
    ]


def test_no_two_transformations_of_an_event_are_equal() -> None:
    building = Building()
    branches(building, "(a + 1)", "(a + 1)", "(a * 2)")
    assert facets(building, steps="all")[0] == [("(t.a * 2)", False), ("(t.a + 1)", False)]
    transformations, steps = facets(building, steps="all", descriptions_enabled=False)
    assert transformations == [(None, False)]
    assert ["description" in path for path in steps["paths"]] == [False, False, False]


def test_the_table_for_people_shows_the_expressions_of_all_paths() -> None:
    building = Building()
    branches(building, "(a + 1)", "(a * 2)")
    assert "TRANSFORMATION  (t.a * 2); (t.a + 1)" in str(lineage_of(found_in(building)))
