"""Events that anybody may send: none stops an answer, or makes one without end."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.lineage import ColumnLineage, OutputColumn
from openlineage_pyspark.workbench.from_plan import graph_of_plan
from openlineage_pyspark.workbench.model.graph import ColumnNode, Graph, RunNode, Step
from openlineage_pyspark.workbench.page.formats import GRAPH_FORMATS
from openlineage_pyspark.workbench.pictures.svg import svg
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.store.events.ingest import rows_of_events
from openlineage_pyspark.workbench.store.events.rows import Rows
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event, taken

STEPS = {
    "operators": ["Relation#0", "Aggregate#1"],
    "expressions": ["sum(a)"],
    "columns": {
        "x": [
            {
                "namespace": "lake",
                "name": "s",
                "field": "a",
                "type": "DIRECT",
                "subtype": "IDENTITY",
                "masking": False,
                "certainty": "exact",
                "operators": [0, 1],
                "steps": [{"operator": 1, "expression": 0}],
            }
        ]
    },
    "rows": [],
}


def graph(tmp_path: Path, event: dict[str, Any]) -> Graph:
    """Return the graph of a store that has taken one event."""
    path = tmp_path / "store.db"
    assert taken(path, [event]).events == 1
    with Store.open(path) as store:
        return with_diagnostics(store.graph())


def steps_of_edges(graph: Graph) -> list[Step]:
    return [step for edge in graph.edges for each in edge.paths for step in each.steps]


def told(steps: dict[str, Any], **run_facets: Any) -> dict[str, Any]:
    made = dataset("t", columns=("x",), columnLineage=lineage(x=[("s", "a", "IDENTITY")]), pyspark_lineage_steps=steps)
    return run_event("load", "COMPLETE", 1, inputs=(dataset("s", columns=("a",)),), outputs=(made,), **run_facets)


def test_the_steps_of_an_event_are_shown(tmp_path: Path) -> None:
    assert steps_of_edges(graph(tmp_path, told(STEPS))) == [Step("Relation#0"), Step("Aggregate#1", "sum(a)")]


@pytest.mark.parametrize("hostile", [["x"], {"x": 1}, 10**400, 1e999, None, [[[]]]])
@pytest.mark.parametrize("key", ["namespace", "name", "field", "type", "certainty", "operators", "steps"])
def test_steps_of_another_shape_are_left_out(tmp_path: Path, key: str, hostile: object) -> None:
    steps = copy.deepcopy(STEPS)
    steps["columns"]["x"][0][key] = hostile  # type: ignore[index]
    found = graph(tmp_path, told(steps))
    assert steps_of_edges(found) == []
    for name in sorted(GRAPH_FORMATS.keys() - {"html"}):
        assert GRAPH_FORMATS[name](found)


def test_a_small_facet_makes_no_endless_way(tmp_path: Path) -> None:
    steps = copy.deepcopy(STEPS)
    steps["operators"] = ["A" * 100_000]
    steps["columns"]["x"][0] |= {"operators": [0] * 10_000, "steps": [{"operator": 0}] * 10_000}  # type: ignore[index]
    found = steps_of_edges(graph(tmp_path, told(steps)))
    assert (len(found), len(found[0].operator)) == (200, 10_000)


@pytest.mark.parametrize("site", [{"file": "a", "line": 1e999}, {"file": json.loads("[" * 900 + "]" * 900), "line": 1}])
def test_a_line_of_another_shape_is_left_out(tmp_path: Path, site: dict[str, Any]) -> None:
    found = graph(tmp_path, told(STEPS, pyspark_call_site=site))
    assert [node.call_site for node in found.nodes if isinstance(node, RunNode)] == [""]


def test_a_column_without_a_name_is_no_column_and_not_all_rows(tmp_path: Path) -> None:
    made = dataset("t", columns=("", "x"), columnLineage=lineage(x=[("s", "", "IDENTITY"), ("s", "a", "IDENTITY")]))
    made["facets"]["columnLineage"]["fields"][""] = {"inputFields": [{"namespace": "lake", "name": "s", "field": "a"}]}
    found = graph(tmp_path, run_event("load", "COMPLETE", 1, outputs=(made,)))
    assert sorted(node.name for node in found.nodes if isinstance(node, ColumnNode)) == ["a", "x"]
    assert svg(found).startswith("<svg")


def test_a_column_of_spark_without_a_name_is_drawn_as_its_table() -> None:
    table = Dataset(Identifier("file", "/t"), fields=(Field("", "int"), Field("x", "int")))
    columns = ColumnLineage((OutputColumn("", ()), OutputColumn("x", ())))
    found = graph_of_plan((), ((table, columns),), (), (), lambda each: each.name)
    assert [node.name for node in found.nodes if isinstance(node, ColumnNode)] == ["x"]
    assert svg(found).startswith("<svg")


def test_the_paths_of_nested_fields_grow_with_the_event_and_not_with_its_square() -> None:
    field: dict[str, Any] = {"name": "n" * 1_000, "type": "struct"}
    for _ in range(100):
        field = {"name": "n" * 1_000, "type": "struct", "fields": [field]}
    event = run_event("load", "COMPLETE", 1, outputs=(dataset("t", schema={"fields": [field]}),))
    rows: list[Rows] = list(rows_of_events([json.dumps(event)]))
    paths = [row[1] for part in rows for row in part["dataset_column"]]
    assert max(len(str(path)) for path in paths) <= 10_000
    assert len(paths) == 9
