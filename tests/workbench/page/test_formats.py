"""The worked example in each format: a CTE over a table, a sum, and the maximum of a cast or of a function's result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import attrs
import jsonschema
import pytest
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.workbench.answer import answer_of_graph, schema
from openlineage_pyspark.workbench.model.graph import DatasetNode
from openlineage_pyspark.workbench.page.formats import GRAPH_FORMATS, GraphFormat, text_of_graph
from openlineage_pyspark.workbench.report import lineage_of
from support import recorded_plans

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark import GraphFormat, Lineage

CASES = ("cte-grouped", "cte-grouped-function")
ENDINGS: dict[GraphFormat, str] = {"json": "json", "mermaid": "mmd", "dot": "dot", "svg": "svg"}


def asked(case: str) -> Lineage:
    """Return the lineage of a case, as Spark 4.3 analyzes it."""
    plan = decode_plan(recorded_plans.read("4.3", "graph")[case])
    return lineage_of(lineage_of_plan(plan, session_settings_of(plan, None), paths=True), plan)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("format_", ENDINGS)
def test_the_worked_example_looks_so_in_each_format(
    case: str, format_: GraphFormat, golden: Callable[[str, str], None]
) -> None:
    text = asked(case).to_text(format_)
    readable = json.dumps(json.loads(text), indent=1) + "\n" if format_ == "json" else text

    golden(f"graph/{case}.{ENDINGS[format_]}", readable)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("format_", ["mermaid", "dot", "svg"])
def test_the_worked_example_looks_so_with_its_cte(
    case: str, format_: GraphFormat, golden: Callable[[str, str], None]
) -> None:
    golden(f"graph/{case}-unfolded.{ENDINGS[format_]}", asked(case).to_text(format_, unfold=True))


def test_the_page_shows_ctes_first_if_it_is_asked_to() -> None:
    found = asked(CASES[0])

    assert '<script type="application/json" id="unfold">true</script>' in found.to_text("html", unfold=True)
    assert 'id="unfold"' not in found.to_text("html")
    assert found.to_text("json").strip() in found.to_text("html", unfold=True).replace("\\u003c", "<")


def test_what_always_has_ctes_is_not_unfolded() -> None:
    why = "unfold shows CTEs, views and subqueries in mermaid, dot, svg, html; json always has them"
    with pytest.raises(ValueError, match=why):
        asked(CASES[0]).to_text("json", unfold=True)


def test_the_page_holds_the_same_graph() -> None:
    found = asked(CASES[0])

    assert set(GRAPH_FORMATS) == {*ENDINGS, "html"}
    assert found.to_text("json").strip() in found.to_text("html").replace("\\u003c", "<")


@pytest.mark.parametrize("case", CASES)
def test_the_json_of_the_worked_example_is_as_its_schema_says(case: str) -> None:
    jsonschema.validate(answer_of_graph(asked(case).graph()).to_dict(), schema(), cls=jsonschema.Draft202012Validator)


def test_kinds_expressions_and_certainty_of_the_worked_example() -> None:
    graphs = [asked(case).graph() for case in CASES]
    told = [
        {
            (edge.source.rpartition("|")[2], edge.target.rpartition("|")[2], str(path.kind)): path.certainty
            for edge in graph.edges
            for path in edge.paths
        }
        for graph in graphs
    ]

    same = {("user_id", "user_id", "IDENTITY"): "exact", ("amount", "total_amt", "AGGREGATION"): "exact"}
    rows = {("user_id", "(query)", "GROUP_BY"): "exact"}
    assert told[0] == {**same, ("ts", "max_ts", "AGGREGATION"): "exact", **rows}
    assert told[1] == {**same, ("ts", "max_ts", "AGGREGATION"): "opaque", **rows}
    assert graphs[0].diagnostics == ()
    (warning,) = graphs[1].diagnostics
    assert warning.code == "opaque-code"
    assert warning.message.startswith("toUInt64(")
    assert warning.message.endswith("can't be read: its result is taken to depend on all of its arguments")
    assert [(node.role, node.label) for node in graphs[0].nodes if getattr(node, "role", "")] == [("CTE", "x")]


def test_there_is_no_other_format() -> None:
    with pytest.raises(ValueError, match="unknown format 'xml'; the formats are json, mermaid, dot, html, svg"):
        text_of_graph(asked(CASES[0]).graph(), "xml")


@pytest.mark.parametrize(("length", "shown"), [(200, "x" * 200), (201, f"{'x' * 100}...{'x' * 100}")])
def test_a_long_name_is_cut_in_the_middle_of_a_diagram(length: int, shown: str) -> None:
    graph = attrs.evolve(asked(CASES[0]).graph(), nodes=(DatasetNode("n", "x", "x" * length),), edges=())

    assert f'"{shown}"' in text_of_graph(graph, "mermaid")
