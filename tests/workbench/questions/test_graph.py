"""The graph as data: what it says of a store's events, and that its JSON is as its schema says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from openlineage_pyspark.errors import NameNotFoundError
from openlineage_pyspark.workbench.answer import answer_of_graph, schema
from openlineage_pyspark.workbench.model.graph import (
    ColumnNode,
    DatasetNode,
    Edge,
    Graph,
    JobNode,
    OperatorNode,
    RunNode,
    column_id,
    names_of_id,
    node_id,
)
from openlineage_pyspark.workbench.model.kinds import Kind
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import company, dataset, run_event, taken
from support.lineage_paths import hows, path
from support.shop import later, shop

ORDERS = "dataset|file|/lake/orders"
CLEAN, DAILY, GUESSED = "dataset|lake|clean", "dataset|lake|daily", "dataset|lake|guessed"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("graph") / "store.db"
    taken(path, [*shop(), *later()])
    with Store.open(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def first_day(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    path = tmp_path_factory.mktemp("first") / "store.db"
    taken(path, shop())
    with Store.open(path) as opened:
        return with_diagnostics(opened.graph())


def edges_to(graph: Graph, target: str) -> list[tuple[str, ...]]:
    return [(edge.source, *hows(edge)) for edge in graph.edges if edge.target == target]


def ids_of(graph: Graph, kind: type) -> list[str]:
    return [node.id for node in graph.nodes if isinstance(node, kind)]


def test_the_nodes_are_datasets_columns_jobs_and_their_latest_runs(first_day: Graph) -> None:
    assert DatasetNode("file", "/lake/orders", "shop.orders", ("catalog/shop.orders",)) in first_day.nodes
    assert [node for node in first_day.nodes if isinstance(node, ColumnNode) and node.dataset == CLEAN] == [
        ColumnNode(CLEAN, "amount", "int"),
        ColumnNode(CLEAN, "day", "int"),
    ]
    assert JobNode("jobs", "shop.clean", last_seen="2026-01-01T00:02:00Z") in first_day.nodes
    assert RunNode("r1", "job|jobs|shop.clean", "COMPLETE", "2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z") in (
        first_day.nodes
    )


def test_edges_have_paths_in_the_words_of_openlineage(first_day: Graph) -> None:
    (total,) = [edge for edge in first_day.edges if edge.target == column_id(DAILY, "total")]

    assert total == Edge(
        column_id(CLEAN, "amount"),
        column_id(DAILY, "total"),
        (path("AGGREGATION", "AGGREGATION of amount"),),
        "job|jobs|shop.daily",
        "run|r2",
    )
    assert total.certainty == "exact"


def test_what_decides_about_rows_ends_at_the_dataset_beside_the_job_that_writes_it(first_day: Graph) -> None:
    assert edges_to(first_day, DAILY) == [
        ("job|jobs|shop.daily", "WRITE"),
        (column_id(CLEAN, "day"), "GROUP_BY"),
    ]


def test_an_operator_that_was_not_understood_lowers_the_certainty_and_is_a_diagnostic(first_day: Graph) -> None:
    (score,) = [edge for edge in first_day.edges if edge.target == column_id(GUESSED, "score")]

    assert score.certainty == "guessed"
    assert [each.to_dict() for each in first_day.diagnostics] == [
        {
            "code": "unknown-operator",
            "level": "warning",
            "message": "no rule for this operator",
            "missing": True,
            "node": "job|jobs|shop.guess",
            "run": "run|r3",
            "operator": "MapInPandas",
        }
    ]


def test_failed_and_unfinished_runs_say_so(first_day: Graph) -> None:
    runs = {node.run_id: node for node in first_day.nodes if isinstance(node, RunNode)}

    assert (runs["r5"].state, runs["r5"].error, runs["r5"].ended) == (
        "FAIL",
        "the disk is full",
        "2026-01-01T00:08:00Z",
    )
    assert (runs["r6"].state, runs["r6"].ended) == ("START", "")


def test_a_graph_holds_for_a_time(store: Store, first_day: Graph) -> None:
    now, then = store.graph().result, store.graph(as_of="2026-01-01T12:00:00Z").result

    assert ids_of(then, DatasetNode) == ids_of(first_day, DatasetNode)
    assert ids_of(then, ColumnNode) == ids_of(first_day, ColumnNode)
    assert ids_of(then, RunNode) == ids_of(first_day, RunNode)
    assert "dataset|lake|new" in ids_of(now, DatasetNode)
    assert edges_to(then, column_id(CLEAN, "day")) == [(column_id(ORDERS, "day"), "IDENTITY")]
    assert edges_to(now, column_id(CLEAN, "day")) == []
    assert edges_to(store.graph(ever=True).result, column_id(CLEAN, "day")) == [(column_id(ORDERS, "day"), "IDENTITY")]
    assert (then.time, now.time) == ("2026-01-01T12:00:00Z", "")


def test_around_a_thing_stands_what_is_upstream_and_downstream_and_nothing_else(store: Store) -> None:
    graph = store.graph("guessed", as_of="2026-01-01T12:00:00Z").result

    assert sorted(ids_of(graph, DatasetNode)) == [ORDERS, CLEAN, DAILY, GUESSED]
    assert sorted(ids_of(graph, JobNode)) == ["job|jobs|shop.clean", "job|jobs|shop.daily", "job|jobs|shop.guess"]
    assert sorted(ids_of(store.graph("guessed", depth=1).result, DatasetNode)) == [DAILY, GUESSED]
    with pytest.raises(NameNotFoundError, match="nothing is called 'nowhere'"):
        store.graph("nowhere")


def test_direct_leaves_out_what_decides_about_rows(store: Store) -> None:
    assert {how for edge in store.graph(direct=True).result.edges for how in hows(edge)} == {
        *("IDENTITY", "TRANSFORMATION", "AGGREGATION", "READ", "WRITE"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("around", ["", "guessed", "clean.amount"])
def test_the_json_is_as_its_schema_says_and_each_end_of_an_edge_is_a_node(store: Store, around: str) -> None:
    document = store.graph(around).to_dict()

    jsonschema.validate(document, schema(), cls=jsonschema.Draft202012Validator)
    ids = [node["id"] for node in document["result"]["nodes"]]
    assert len(ids) == len(set(ids))
    assert {end for edge in document["result"]["edges"] for end in (edge["source"], edge["target"])} <= set(ids)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_any_company_gives_a_graph_with_the_edges_of_its_events(tmp_path: Path, seed: int) -> None:
    events = company(seed)
    taken(tmp_path / "store.db", events)
    with Store.open(tmp_path / "store.db") as made:
        graph = made.graph().result

    jsonschema.validate(answer_of_graph(graph).to_dict(), schema(), cls=jsonschema.Draft202012Validator)
    said = {
        (f"column|lake|{source['name']}|{source['field']}", f"column|lake|{event['outputs'][0]['name']}|{column}")
        for event in events
        for column, field in event["outputs"][0]["facets"]["columnLineage"]["fields"].items()
        for source in field["inputFields"]
    }
    assert {(edge.source, edge.target) for edge in graph.edges if edge.target.startswith("column|")} == said


@pytest.mark.parametrize(
    ("type_", "subtype", "is_influence", "is_stated", "text"),
    [
        ("DIRECT", "IDENTITY", False, True, "IDENTITY"),
        ("DIRECT", "TRANSFORMATION", False, True, "TRANSFORMATION"),
        ("DIRECT", "AGGREGATION", False, True, "AGGREGATION"),
        ("DIRECT", "", False, False, "DIRECT"),
        ("", "", False, False, ""),
        ("DIRECT", "MAGIC", False, False, "MAGIC"),
        ("INDIRECT", "JOIN", True, True, "JOIN"),
        ("INDIRECT", "GROUP_BY", True, True, "GROUP_BY"),
        ("INDIRECT", "CONDITIONAL", True, True, "CONDITIONAL"),
        ("INDIRECT", "READ", True, True, "READ"),
        ("INDIRECT", "", True, True, "INDIRECT"),
    ],
)
def test_a_kind_is_openlineages_words_for_it(
    type_: str,
    subtype: str,
    text: str,
    *,
    is_influence: bool,
    is_stated: bool,
) -> None:
    kind = Kind(type_, subtype)

    assert (kind.is_influence, kind.is_stated, str(kind)) == (is_influence, is_stated, text)
    assert str(Kind(type_, subtype, masking=True)) == f"{text} (masked)".lstrip()


def test_names_with_the_sign_between_names_never_give_the_same_id() -> None:
    assert node_id("dataset", "a|b", "c") == "dataset|a%7Cb|c"
    assert node_id("dataset", "a", "b|c") == "dataset|a|b%7Cc"
    assert node_id("dataset", "a%7Cb", "c") == "dataset|a%257Cb|c"
    assert column_id("dataset|a|b", "c|d") == "column|a|b|c%7Cd"
    assert column_id("dataset|a|b", "") == "dataset|a|b"
    for names in (("a|b", "c"), ("a%7Cb", "%25", "|"), ("", "%"), ()):
        assert names_of_id(node_id("dataset", *names)) == names


def test_an_operator_and_a_path_of_operators_have_their_place_in_the_json() -> None:
    operator = OperatorNode("", 3, "Aggregate")
    source, target = DatasetNode("n", "a", "a"), DatasetNode("n", "b", "b")
    edge = Edge(source.id, target.id, (path("IDENTITY", "", "guessed", ("Relation#4", "Aggregate#3")),))
    document = answer_of_graph(Graph((source, target, operator), (edge,))).to_dict()

    jsonschema.validate(document, schema(), cls=jsonschema.Draft202012Validator)
    assert document["result"]["nodes"][2] == {
        "id": "operator||Aggregate#3",
        "type": "operator",
        "index": 3,
        "name": "Aggregate",
    }
    assert document["result"]["edges"][0]["paths"][0]["steps"] == [
        {"operator": "Relation#4"},
        {"operator": "Aggregate#3"},
    ]


def test_what_events_say_of_errors_in_another_shape_is_left_out(tmp_path: Path) -> None:
    strange: list[Any] = [7, {"errors": 7}, {"errors": [7, {}, {"errorMessage": 7}, {"errorMessage": "m"}]}]
    events = [
        run_event(f"j{number}", "COMPLETE", number, run=f"r{number}", inputs=(dataset("a"),), extractionError=each)
        for number, each in enumerate(strange)
    ]
    taken(tmp_path / "store.db", events)
    with Store.open(tmp_path / "store.db") as made:
        found = made.graph().diagnostics
    assert [(each.operator, each.message) for each in found if each.code != "odd-facet"] == [("", "m")]
    assert len([each for each in found if each.code == "odd-facet"]) == 4
