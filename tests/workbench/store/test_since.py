"""Facts have an age: each says when it was last seen, and those that are older may be left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from openlineage_pyspark.workbench.model.graph import DatasetNode
from openlineage_pyspark.workbench.questions.node_facts import owners
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, dataset, lineage, run_event, symlink
from support.reached import datasets_of, nodes_of, pairs_of


def _filled(filled: Callable[..., Store]) -> Store:
    def made(name: str, source: str) -> tuple[dict[str, object], ...]:
        return (dataset(name, columns=("a",), columnLineage=lineage(a=[(source, "a", "IDENTITY")])),)

    return filled(
        run_event("gone", "COMPLETE", 1, inputs=(dataset("old", columns=("a",)),), outputs=made("t", "old")),
        run_event("daily", "COMPLETE", 60, inputs=(dataset("new", columns=("a",)),), outputs=made("t", "new")),
        run_event("report", "COMPLETE", 61, inputs=(dataset("t", columns=("a",)),), outputs=made("r", "t")),
    )


def test_what_jobs_do_that_were_not_seen_since_is_left_out(filled: Callable[..., Store]) -> None:
    store = _filled(filled)
    assert datasets_of(store.upstream("r")) == {"t", "old", "new"}
    assert datasets_of(store.upstream("r", since=at(30))) == {"t", "new"}
    assert datasets_of(store.upstream("r.a", since=at(30))) == {"t", "new"}
    assert nodes_of(store.downstream("old", since=at(30))) == {}
    assert pairs_of(store.between("old", "r", since=at(30))) == []
    assert "job|jobs|gone" in {node.id for node in store.graph().result.nodes}
    recent = store.graph(since=at(30)).result
    assert "job|jobs|gone" not in {node.id for node in recent.nodes}
    assert not [edge for edge in recent.edges if "|old" in edge.source or edge.job == "job|jobs|gone"]


def test_each_job_says_when_it_was_last_seen(filled: Callable[..., Store]) -> None:
    for answer in (_filled(filled).upstream("t"), _filled(filled).graph()):
        jobs = {each["name"]: each["lastSeen"] for each in answer.to_dict()["result"]["nodes"] if each["type"] == "job"}
        assert (jobs["gone"], jobs["daily"]) == ("2026-01-01T00:01:00Z", "2026-01-01T01:00:00Z")


def test_an_answer_that_ends_at_its_depth_lacks_nothing_if_only_an_unseen_job_leads_on(
    filled: Callable[..., Store],
) -> None:
    store = filled(
        run_event("daily", "COMPLETE", 60, inputs=(dataset("raw"),), outputs=(dataset("t"),)),
        run_event("gone", "COMPLETE", 1, inputs=(dataset("t"),), outputs=(dataset("old"),)),
    )
    assert [each.code for each in store.downstream("raw", depth=1).diagnostics] == ["limit"]
    assert store.downstream("raw", depth=1, since=at(30)).diagnostics == ()


def test_the_last_run_is_the_latest_one_whatever_its_id_is(filled: Callable[..., Store]) -> None:
    def ran(run: str, minute: int, kind: str, *more: str) -> dict[str, Any]:
        edges = lineage(x=[("s", "x", kind)], **{column: [("s", "x", "IDENTITY")] for column in more})
        output = dataset("t", columns=("x", *more), columnLineage=edges)
        return run_event("make", "COMPLETE", minute, run=run, inputs=(dataset("s"),), outputs=(output,))

    store = filled(ran("r-9", 1, "IDENTITY"), ran("r-5", 2, "TRANSFORMATION"), ran("r-1", 3, "IDENTITY", "y"))

    for answer in (store.downstream("s.x", ever=True), store.between("s.x", "t.x", ever=True), store.graph(ever=True)):
        graph = getattr(answer.result, "graph", answer.result)
        assert {edge.run_id for edge in graph.edges if edge.target.endswith("|x") and edge.paths} == {"r-1"}
    [edge] = store.downstream("s.x", by="table", ever=True).result.graph.edges
    assert edge.run_id == "r-1"


def test_a_table_has_the_format_and_the_owners_that_its_latest_event_states(filled: Callable[..., Store]) -> None:
    """Another name of the table stated both before, in words that sort behind the latest ones."""

    def written(run: str, minute: int, table: dict[str, Any], format_: str) -> dict[str, Any]:
        table["facets"]["storage"] = {"storageLayer": format_, "fileFormat": format_}
        table["facets"]["ownership"] = {"owners": [{"name": run}]}
        return run_event(run, "COMPLETE", minute, run=run, outputs=(table,))

    old = written("z", 2, dataset("/lake/t", symlinks=symlink("db.t")), "parquet")
    store = filled(old, written("a", 3, dataset("db.t", namespace="catalog"), "delta"))
    graph = store.graph(ever=True).result
    [node] = [each for each in graph.nodes if isinstance(each, DatasetNode)]

    assert node.format == "delta"
    assert [[each.name for each in found] for found in owners(store.tables, graph).values()] == [["a"]]


@pytest.mark.parametrize(("minute", "owner"), [(1, "run"), (3, "alone")])
def test_the_latest_event_names_the_owners_with_a_run_or_without(
    filled: Callable[..., Store], minute: int, owner: str
) -> None:
    def named(name: str) -> dict[str, Any]:
        return dataset("t", ownership={"owners": [{"name": name}]})

    alone = {"eventTime": at(minute), "producer": "p", "dataset": named("alone")}
    store = filled(run_event("make", "COMPLETE", 2, run="r", outputs=(named("run"),)), alone)
    graph = store.graph(ever=True).result

    assert [[each.name for each in found] for found in owners(store.tables, graph).values()] == [[owner]]


def test_owners_are_in_the_table_of_owners_and_the_latest_event_that_names_some_decides(
    filled: Callable[..., Store],
) -> None:
    def ran(run: str, minute: int, *names: str, type_: str = "COMPLETE") -> dict[str, Any]:
        facet: dict[str, Any] = {"owners": [{"name": name, "type": "TEAM"} for name in names]}
        facets: dict[str, Any] = {"ownership": facet} if names else {}
        event = run_event("make", type_, minute, run=run, outputs=(dataset("t", **facets),))
        if names:
            event["job"]["facets"]["ownership"] = facet
        return event

    # A later run names none, and the text of an event holds the word without a facet.
    later = ran("r3", 4)
    later["run"]["facets"]["note"] = {'"ownership"': "of nobody"}
    store = filled(ran("r1", 1, "z", "a"), ran("r2", 2, "z", "b"), later)
    graph = store.graph(ever=True).result

    assert {node: [tuple(each) for each in found] for node, found in owners(store.tables, graph).items()} == {
        "job|jobs|make": [("z", "TEAM"), ("b", "TEAM")],
        "dataset|lake|t": [("z", "TEAM"), ("b", "TEAM")],
    }
    rows = store.sql(
        "SELECT kind, name, type, first_time < last_time FROM owner ORDER BY 1, 2", dialect="sqlite"
    ).table()[1]
    assert [tuple(row) for row in rows] == [
        *((kind, name, "TEAM", int(name == "z")) for kind in ("dataset", "job") for name in "abz"),
    ]
