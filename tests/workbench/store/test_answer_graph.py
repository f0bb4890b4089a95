"""The answers of a store as graphs, and as a notebook shows them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import attrs
import pytest
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.model.graph import (
    DatasetNode,
    JobNode,
    RunNode,
    VersionNode,
    through_jobs,
)
from openlineage_pyspark.workbench.model.reach import Reach
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event, taken
from support.lineage_paths import hows
from support.shop import shop


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = Path(tmp_path_factory.mktemp("answers"), "store.db")
    taken(path, shop())
    with Store.open(path) as opened:
        yield opened


def edges(found: Reach) -> list[tuple[str, ...]]:
    """Return the ends of each edge, without their namespaces, and its kinds or its job."""
    return [
        (plain(edge.source), plain(edge.target), *(hows(edge) if edge.paths else (plain(edge.job),)))
        for edge in found.graph.edges
    ]


def plain(id_: str) -> str:
    return re.sub(r"\|(file|lake|jobs)\|", " ", id_)


def test_a_graph_has_each_text_of_the_runs_that_hold_as_an_answer_has(tmp_path: Path) -> None:
    """Two statements of an application may be runs of one job, and make one column by different texts."""
    events = []
    for minute, text in ((1, "a + 1"), (2, "a * 2")):
        facet = lineage(x=[("raw", "a", "TRANSFORMATION")])
        facet["fields"]["x"]["inputFields"][0]["transformations"][0]["description"] = text
        made = dataset("s", columns=("x",), columnLineage=facet)
        above = {"run": {"runId": "app"}, "job": {"namespace": "jobs", "name": "app"}}
        events.append(run_event("load", "COMPLETE", minute, inputs=(dataset("raw"),), outputs=(made,), parent=above))
    taken(tmp_path / "s.db", events)
    with Store.open(tmp_path / "s.db") as opened:
        graphs = [opened.graph().result, opened.graph("s.x").result, opened.upstream("s.x").result.graph]
    for graph in graphs:
        [paths] = [edge.paths for edge in graph.edges if edge.paths]
        assert [path.expression for path in paths] == ["a * 2", "a + 1"]


def test_columns_are_nodes_and_jobs_stand_between_them(store: Store) -> None:
    graph = store.upstream("daily.total").result.graph

    assert edges(store.upstream("daily.total").result) == [
        ("column clean|amount", "column daily|total", "AGGREGATION"),
        ("column clean|day", "dataset daily", "GROUP_BY"),
        ("column /lake/orders|amount", "column clean|amount", "IDENTITY"),
        ("column /lake/orders|day", "column clean|day", "IDENTITY"),
    ]
    assert [edge.job for edge in graph.edges] == ["job|jobs|shop.daily"] * 2 + ["job|jobs|shop.clean"] * 2
    assert [node.label for node in graph.nodes if isinstance(node, DatasetNode)] == ["daily", "clean", "shop.orders"]
    assert [node.name for node in graph.nodes if isinstance(node, JobNode)] == ["shop.daily", "shop.clean"]
    assert {end for edge in graph.edges for end in (edge.source, edge.target)} <= {node.id for node in graph.nodes}


def test_a_job_makes_a_table_from_a_table(store: Store) -> None:
    assert edges(store.upstream("clean").result) == [("dataset /lake/orders", "dataset clean", "job shop.clean")]


def test_pictures_lead_through_jobs(store: Store) -> None:
    drawn = through_jobs(store.upstream("clean").result.graph)
    assert [(plain(edge.source), plain(edge.target), *hows(edge)) for edge in drawn.edges] == [
        ("dataset /lake/orders", "job shop.clean", "READ"),
        ("job shop.clean", "dataset clean", "WRITE"),
    ]
    of_run = through_jobs(store.upstream("run:r2", depth=1).result.graph)
    assert [(plain(edge.source), plain(edge.target)) for edge in of_run.edges] == [("version clean|r1", "run|r2")]


def test_jobs_follow_jobs(store: Store) -> None:
    assert edges(store.upstream("daily", by="job").result) == [
        ("job shop.daily", "dataset daily", "job shop.daily"),
        ("job shop.clean", "job shop.daily", "job shop.daily"),
    ]


@pytest.mark.parametrize(
    ("ref", "by"),
    [("daily.total", None), ("daily", None), ("daily", "job"), ("daily@latest", None), ("run:r2", None)],
)
def test_all_formats_follow_from_the_json_of_an_answer(store: Store, ref: str, by: Literal["job"] | None) -> None:
    """What an answer shows is in its graph, its start and its depths."""
    for answer in (store.upstream(ref, by=by), store.downstream(ref, by=by)):
        read = Answer.from_dict(json.loads(answer.to_text("json")))
        assert read.result == answer.result
        again = attrs.evolve(read, writers=answer.writers, figure=answer.figure)
        for format_ in answer.formats:
            assert again.to_text(format_) == answer.to_text(format_), format_
        assert again._repr_html_() == answer._repr_html_()


def test_a_version_is_a_part_of_its_table_and_less_sure_if_no_event_names_it(store: Store) -> None:
    graph = store.upstream("daily@latest").result.graph

    assert [node.name for node in graph.nodes if isinstance(node, VersionNode)] == [
        *("@r2", "@r1", "before the first version"),
    ]
    assert {edge.paths for edge in graph.edges} == {()}
    assert {edge.certainty for edge in graph.edges} == {"guessed"}
    read = [edge for edge in store.history("daily").result.graph().edges if not edge.is_flow]
    assert [(edge.paths, edge.certainty) for edge in read] == [((), "guessed")]


def test_a_run_is_the_start_with_its_state_and_its_job(store: Store) -> None:
    found = store.upstream("run:r2").result
    assert edges(found) == [
        ("version clean|r1", "run|r2", "job shop.daily"),
        ("version /lake/orders|", "version clean|r1", "job shop.clean"),
    ]
    [run] = [found.nodes[start] for start in found.start]
    assert isinstance(run, RunNode)
    assert (run.job, run.state, run.started) == ("job|jobs|shop.daily", "COMPLETE", "2026-01-01T00:03:00Z")


def test_a_run_is_nowhere_a_job(store: Store) -> None:
    """The run of a version is a node of its own, beside its job, in every graph and every picture."""
    history, of_run = store.history("daily"), store.upstream("run:r2")
    drawn = history.result.graph()
    assert [node for node in drawn.nodes if isinstance(node, (JobNode, RunNode))] == [
        JobNode("jobs", "shop.daily"),
        RunNode("r2", "job|jobs|shop.daily", "COMPLETE"),
    ]
    assert [(plain(edge.source), plain(edge.target), plain(edge.job), edge.run) for edge in drawn.edges] == [
        ("run|r2", "version daily|r2", "job shop.daily", "run|r2"),
        ("version clean|r1", "version daily|r2", "job shop.daily", "run|r2"),
    ]
    assert {edge.source for edge in drawn.edges} | {edge.target for edge in drawn.edges} <= {
        node.id for node in drawn.nodes
    }
    assert 'label="job ' not in history.to_text("dot") + of_run.to_text("dot")
    boxes = 'class="(job[^"]*)" role="group" aria-label="([^"]*)"'
    run = "Run r2 of shop.daily: complete"
    assert re.findall(boxes, history.to_text("svg")) == [("job run good", run)]
    assert re.findall(boxes, of_run.to_text("svg")) == [
        *(("job good", "Job shop.clean, its last run: complete"), ("job run good", run)),
    ]


def test_runs_of_one_job_are_drawn_apart(tmp_path: Path) -> None:
    """The first run reads nothing: it must not be lost for another run of its job that reads."""
    made = dataset("d")
    events = [
        run_event("load", "COMPLETE", 1, outputs=(made,), run="a"),
        run_event("load", "COMPLETE", 2, inputs=(dataset("s"),), outputs=(made,), run="b"),
    ]
    taken(tmp_path / "s.db", events)
    with Store.open(tmp_path / "s.db") as opened:
        history = opened.history("d")
    assert re.findall('class="job[^"]*" role="group" aria-label="([^"]*)"', history.to_text("svg")) == [
        *("Run b of load: complete", "Run a of load: complete"),
    ]
    assert re.findall(r'\[label="([^"]*)"\]', history.to_text("dot")) == [
        *("@b: run b, 2026-01-01 00:02:00", "@a: run a, 2026-01-01 00:01:00", "s", "run a of load", ""),
    ]


def test_a_notebook_shows_the_graph_and_the_edges(store: Store) -> None:
    shown = str(store.upstream("daily.total")._repr_html_())

    assert re.findall('<svg class="(table[^"]*)" role="group" aria-label="([^"]*)"', shown) == [
        ("table start", "Table daily, every row: GROUP_BY of clean.day"),
        ("table", "Table clean"),
        ("table", "Table shop.orders"),
    ]
    assert re.findall('<g class="row start" role="img" aria-label="([^"]*)"', shown) == [
        "Column total int, AGGREGATION of clean.amount",
    ]
    assert re.findall("<caption[^>]*>(.*?)</caption>", shown) == ["upstream of daily.total"]
    assert re.findall("<th [^>]*>(.*?)</th>", shown) == [
        *("depth", "source", "source column", "target", "target column", "kinds", "expression", "job", "last run"),
    ]
    assert shown.count("<tr>") == 5


def test_a_notebook_shows_answers_as_their_results(store: Store) -> None:
    upstream, history = store.upstream("daily.total"), store.history("daily")

    assert "<caption" in str(upstream._repr_html_())
    shown = str(history._repr_html_())
    assert re.findall('<svg class="(table[^"]*)" role="group" aria-label="([^"]*)"', shown) == [
        ("table start", "Table daily"),
        ("table", "Table clean"),
    ]
    assert store.jobs()._repr_html_() is None


def test_columns_of_the_table_that_say_nothing_are_left_out(store: Store) -> None:
    shown = str(store.upstream("clean")._repr_html_())

    assert re.findall("<th [^>]*>(.*?)</th>", shown) == ["depth", "source", "target", "job"]


def test_an_answer_of_nothing_says_so(store: Store) -> None:
    shown = str(store.upstream("shop.orders")._repr_html_())

    assert "<p>nothing in the store is upstream of shop.orders</p>" in shown
    assert "<table" not in shown
