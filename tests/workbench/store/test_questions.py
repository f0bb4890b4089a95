"""What is upstream and downstream of versions, jobs and runs, and by tables, columns and jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import networkx
import pytest
from openlineage_pyspark.errors import NameNotFoundError, StoreError
from openlineage_pyspark.workbench.model.graph import JobNode
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, company, company_of_versions, dataset, lineage, run_event, symlink
from support.reached import datasets_of, nodes_of, pairs_of, start_of

Fill = Callable[..., Store]


def versioned(name: str, number: str, **facets: Any) -> dict[str, Any]:
    """Return a dataset with a version."""
    return dataset(name, version={"datasetVersion": number}, **facets)


COLUMNS = "depth,source,source_column,target,target_column,kinds,expression,job,last_run,certainty"
LAYERS = (
    run_event("load", "START", 0, run="load-1"),
    run_event("load", "COMPLETE", 1, run="load-1", outputs=(versioned("raw", "101"),)),
    run_event("load", "COMPLETE", 2, run="load-2", outputs=(versioned("raw", "102"),)),
    run_event(
        "clean", "COMPLETE", 3, run="clean-1", inputs=(versioned("raw", "101"),), outputs=(versioned("clean", "201"),)
    ),
    run_event("sum", "START", 4, run="sum-1", inputs=(dataset("clean"),)),
    run_event("sum", "COMPLETE", 5, run="sum-1", inputs=(dataset("clean"),), outputs=(dataset("daily"),)),
)


def test_a_version_is_followed_by_versions(filled: Fill) -> None:
    store = filled(*LAYERS)
    down = store.downstream("raw@101")
    assert nodes_of(down) == {"raw@102": 0, "clean@201": 1, "daily@sum-1": 2}
    edges = down.result.graph.edges
    assert [(down.result.label(edge.target), edge.kept, edge.is_inferred, edge.run_id) for edge in edges] == [
        ("raw@102", True, True, "load-2"),
        ("clean@201", False, False, "clean-1"),
        ("daily@sum-1", False, True, "sum-1"),
    ]
    assert nodes_of(store.downstream("raw@102")) == {}
    assert nodes_of(store.upstream("daily@latest")) == {"clean@201": 1, "raw@101": 2}
    assert nodes_of(store.upstream("daily", by="snapshot", depth=1)) == {"clean@201": 1}
    assert nodes_of(store.downstream("raw@101", as_of=at(4))) == {"raw@102": 0, "clean@201": 1}


def test_a_version_is_named_by_its_beginning_its_time_or_as_the_latest(filled: Fill) -> None:
    store = filled(*LAYERS)
    for name in ("raw@102", "raw@latest", f"raw@{at(2)}", "lake/raw@2026-01-02"):
        assert start_of(store.upstream(name)) == "raw@102", name
    assert start_of(store.upstream("raw@latest", as_of=at(1.5))) == "raw@101"
    assert start_of(store.upstream("daily@sum-")) == "daily@sum-1"
    with pytest.raises(NameNotFoundError, match=r"^raw has no version '9'; its versions, the latest first: 102, 101$"):
        store.upstream("raw@9")
    with pytest.raises(NameNotFoundError, match=r"^the store knows no version of raw at 2026-01-01T00:00:00\+00:00$"):
        store.upstream(f"raw@{at(0)}")
    with pytest.raises(NameNotFoundError, match=r"^nothing is called 'none'"):
        store.upstream("none@1")


def test_a_dataset_whose_name_has_an_at_is_found(filled: Fill) -> None:
    store = filled(run_event("load", "COMPLETE", 1, inputs=(dataset("me@host/t"),), outputs=(dataset("out"),)))
    assert nodes_of(store.downstream("me@host/t")) == {"out": 1}


def test_a_job_is_followed_by_what_it_makes(filled: Fill) -> None:
    store = filled(*LAYERS)
    for name in ("job:clean", "job:jobs/clean"):
        answer = store.downstream(name)
        assert (start_of(answer), nodes_of(answer)) == ("job:clean", {"clean": 1, "daily": 2})
    assert pairs_of(store.upstream("job:sum")) == [("clean", "job:sum"), ("raw", "clean")]
    assert nodes_of(store.upstream("job:sum", depth=1)) == {"clean": 1}
    # No dataset has this name.
    found = store.downstream("load").result
    assert isinstance(found.nodes[found.start[0]], JobNode)
    with pytest.raises(NameNotFoundError, match=r"^no job is called 'cle'; near it: clean$"):
        store.downstream("job:cle")


def test_jobs_of_one_name_have_their_namespaces_in_every_format(filled: Fill) -> None:
    events = [
        run_event("load", "COMPLETE", 1, inputs=(dataset("raw"),), outputs=(dataset("a"),)),
        run_event("load", "COMPLETE", 2, inputs=(dataset("a"),), outputs=(dataset("b"),)),
    ]
    events[1]["job"]["namespace"] = "far"
    store = filled(*events)

    answer = store.downstream("raw", by="job")
    assert pairs_of(answer) == [("raw", "job:jobs/load"), ("job:jobs/load", "job:far/load")]
    assert [row[1::2] for row in answer.table()[1]] == [
        ("raw", "job:jobs/load", "", "jobs/load", ""),
        ("job:jobs/load", "job:far/load", "", "far/load", ""),
    ]
    assert "n1 --> n2" in answer.to_text("mermaid")
    assert '"job:far/load"' in answer.to_text("mermaid")
    # Each label is a reference.
    assert nodes_of(store.upstream("job:far/load")) == {"a": 1, "raw": 2}


def test_an_application_stands_for_its_statements(filled: Fill) -> None:
    """Its own job reads and writes nothing; neither does that of a task that has started it."""

    def within(parent: str) -> dict[str, Any]:
        return {"parent": {"run": {"runId": parent}, "job": {"namespace": "jobs", "name": "its name"}}}

    raw, mid, out = dataset("raw"), dataset("mid"), dataset("out")
    store = filled(
        run_event("task", "COMPLETE", 9, run="t"),
        run_event("app", "COMPLETE", 8, run="a", **within("t")),
        run_event("app.mid", "COMPLETE", 2, run="a1", inputs=(raw,), outputs=(mid,), **within("a")),
        run_event("app.out", "COMPLETE", 3, run="a2", inputs=(mid,), outputs=(out,), **within("a")),
        run_event("other", "COMPLETE", 4, run="o", inputs=(out,), outputs=(dataset("far"),)),
    )

    for name in ("task", "app"):
        start = f"job:{name}"
        assert nodes_of(store.downstream(start)) == {"mid": 1, "out": 1, "far": 2}
        answer = store.upstream(start)
        assert nodes_of(answer) == {"mid": 1, "raw": 1}
        jobs = [answer.result.job(edge)[1] for edge in answer.result.graph.edges]
        assert {(*pair, job) for pair, job in zip(pairs_of(answer), jobs, strict=True)} == {
            ("mid", start, "app.out"),
            ("raw", start, "app.mid"),
            ("raw", "mid", "app.mid"),
        }


def test_jobs_of_one_name_are_listed_with_their_namespaces(filled: Fill) -> None:
    other = run_event("clean", "COMPLETE", 1)
    other["job"]["namespace"] = "elsewhere"
    store = filled(*LAYERS, other)
    with pytest.raises(NameNotFoundError, match=r"^'clean' may mean any of these jobs:\n  job:elsewhere/clean\n"):
        store.downstream("job:clean")


def test_a_run_is_followed_by_the_versions_that_it_made_and_read(filled: Fill) -> None:
    store = filled(*LAYERS)
    answer = store.downstream("run:clean-1")
    assert (start_of(answer), nodes_of(answer)) == ("run:clean-1", {"clean@201": 1, "daily@sum-1": 2})
    assert nodes_of(store.upstream("run:sum-1")) == {"clean@201": 1, "raw@101": 2}
    assert nodes_of(store.upstream("sum-1", depth=1)) == {"clean@201": 1}
    assert nodes_of(store.downstream("run:load-1", by="table")) == {"raw": 1, "clean": 2, "daily": 3}
    with pytest.raises(NameNotFoundError, match=r"^'load' may mean any of these runs: load-1, load-2$"):
        store.upstream("run:load")
    with pytest.raises(NameNotFoundError, match=r"^no run has the id 'x', or one that begins or ends so$"):
        store.upstream("run:x")


@pytest.mark.parametrize("end", ["dfa242309cf6", "01a20389…309cf6", "01a20389-7d88-7a69"])
def test_a_run_and_its_version_are_named_as_a_table_shows_them(filled: Fill, end: str) -> None:
    first, other = "01a20389-7d88-7a69-ac6d-dfa242309cf6", "01a20389-7d88-7b2b-9496-918805943d11"
    store = filled(
        run_event("load", "COMPLETE", 1, run=first, inputs=(dataset("s"),), outputs=(dataset("t"),)),
        run_event("load", "COMPLETE", 2, run=other, inputs=(dataset("s"),), outputs=(dataset("t"),)),
    )

    assert start_of(store.downstream(f"run:{end}")) == f"run:{first}"
    assert start_of(store.upstream(f"t@{end}")) == f"t@{first}"
    with pytest.raises(NameNotFoundError, match=f"^'01a20389' may mean any of these runs: {first}, {other}$"):
        store.downstream("run:01a20389")


def test_a_run_has_what_the_runs_within_it_made(filled: Fill) -> None:
    parent = {"run": {"runId": "application"}, "job": {"namespace": "jobs", "name": "app"}}
    store = filled(
        run_event("app", "START", 0, run="application"),
        run_event("app.t", "COMPLETE", 1, run="r1", inputs=(dataset("s"),), outputs=(dataset("t"),), parent=parent),
        run_event("app.u", "COMPLETE", 2, run="r2", inputs=(dataset("t"),), outputs=(dataset("u"),), parent=parent),
    )
    assert nodes_of(store.downstream("run:application")) == {"t@r1": 1, "u@r2": 1}


def test_what_is_asked_by_table_names_each_table_once(filled: Fill) -> None:
    store = filled(*LAYERS)
    answer = store.downstream("raw@101", by="table")
    assert (start_of(answer), pairs_of(answer)) == ("raw", [("raw", "clean"), ("clean", "daily")])
    assert [*nodes_of(answer).values()] == [1, 2]


def test_what_is_asked_by_job_names_jobs_in_their_order(filled: Fill) -> None:
    store = filled(*LAYERS)
    for name in ("raw", "raw@101"):
        answer = store.downstream(name, by="job")
        assert pairs_of(answer) == [("raw", "job:clean"), ("job:clean", "job:sum")]
        assert nodes_of(answer) == {"job:clean": 1, "job:sum": 2}
    assert pairs_of(store.upstream("daily", by="job")) == [("job:sum", "daily"), ("job:clean", "job:sum")]
    assert nodes_of(store.downstream("job:load", by="job")) == {"job:clean": 1, "job:sum": 2}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_jobs_downstream_are_those_of_a_plain_graph(filled: Fill, seed: int) -> None:
    events = company(seed)
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    for one in events:
        for other in events:
            if {each["name"] for each in one["outputs"]} & {each["name"] for each in other["inputs"]}:
                graph.add_edge(one["job"]["name"], other["job"]["name"])
    store = filled(*events)
    for job in sorted(graph):
        depths = networkx.single_source_shortest_path_length(graph, job)
        found = nodes_of(store.downstream(f"job:{job}", by="job"))
        assert found == {f"job:{name}": depth for name, depth in depths.items() if name != job}


def test_a_table_is_asked_by_column_with_all_of_its_columns(filled: Fill) -> None:
    made = dataset("t", columnLineage=lineage(x=[("s", "a", "IDENTITY")], y=[("s", "b", "IDENTITY")]))
    last = dataset("u", columnLineage=lineage(z=[("t", "y", "IDENTITY")]))
    store = filled(run_event("one", "COMPLETE", 1, outputs=(made,)), run_event("two", "COMPLETE", 2, outputs=(last,)))
    assert nodes_of(store.downstream("s", by="column")) == {"t.x": 1, "t.y": 1, "u.z": 2}
    assert nodes_of(store.upstream("u", by="column")) == {"t.y": 1, "s.b": 2}
    assert nodes_of(store.downstream("s.b", by="table")) == {"t": 1, "u": 2}
    assert nodes_of(store.downstream("s.b", by="job")) == {"job:one": 1, "job:two": 2}


def test_what_can_not_be_asked_is_said(filled: Fill) -> None:
    store = filled(*LAYERS, run_event("x", "COMPLETE", 9, inputs=(dataset("d", columns=("a",)),)))
    with pytest.raises(StoreError, match=r"^job:clean can't be listed by column: name a dataset or a column$"):
        store.downstream("job:clean", by="column")
    with pytest.raises(StoreError, match=r"^d.a can't be listed by snapshot: name a dataset, a version"):
        store.downstream("d.a", by="snapshot")


@pytest.mark.parametrize("seed", range(3))
def test_versions_by_table_are_the_tables_of_the_versions(filled: Fill, seed: int) -> None:
    events, graph = company_of_versions(seed)
    store = filled(*events)
    for table, version in sorted({content[:2] for content in graph})[::4]:
        reached = networkx.descendants(graph, (table, version, "added"))
        found = datasets_of(store.downstream(f"{table}@{version}", by="table"))
        assert found == {content[0] for content in reached} - {table}, (table, version)


def test_a_renamed_table_is_followed_to_its_old_name(filled: Fill) -> None:
    change = {"lifecycleStateChange": "RENAME", "previousIdentifier": {"namespace": "lake", "name": "old"}}
    store = filled(
        run_event("fill", "COMPLETE", 1, run="r1", inputs=(dataset("raw"),), outputs=(dataset("old"),)),
        run_event("rename", "COMPLETE", 2, run="r2", outputs=(dataset("new", lifecycleStateChange=change),)),
        run_event("use", "COMPLETE", 3, run="r3", inputs=(dataset("new"),), outputs=(dataset("last"),)),
    )
    assert nodes_of(store.upstream("last@latest")) == {"new@r2": 1, "old@r1": 2, "raw@?": 3}
    assert nodes_of(store.downstream("old@r1")) == {"new@r2": 1, "last@r3": 2}


def test_pictures_and_tables_show_versions_and_jobs(filled: Fill) -> None:
    store = filled(*LAYERS)
    answer = store.downstream("raw@101")
    assert (
        answer.to_text("mermaid")
        == """\
flowchart LR
  subgraph d0["raw"]
    n0["101"]
    n1["102"]
  end
  subgraph d1["clean"]
    n2["201"]
  end
  subgraph d2["daily"]
    n3["sum-1"]
  end
  n0 -.->|"kept"| n1
  n0 --> n2
  n2 -.->|"version inferred"| n3
"""
    )
    assert answer.to_text("csv").splitlines()[:3] == [
        f"{COLUMNS},source_version,target_version,batch,kept,inferred",
        "0,raw,,raw,,,,load,load-2,,101,102,,True,True",
        "1,raw,,clean,,,,clean,clean-1,,101,201,,False,False",
    ]
    assert 'label="job:clean"' in store.downstream("raw", by="job").to_text("dot")
    result = json.loads(answer.to_text("json"))["result"]
    kept = result["edges"][0]
    assert result["start"] == ["version|lake|raw|101"]
    assert (kept["source"], kept["target"], kept["certainty"]) == (
        *("version|lake|raw|101", "version|lake|raw|102", "guessed"),
    )


def test_an_answer_is_a_table_of_pandas(filled: Fill) -> None:
    pytest.importorskip("pandas")
    table = filled(*LAYERS).downstream("raw").to_pandas()
    assert list(table.columns)[:2] == ["depth", "source"]
    assert table["target"].tolist() == ["clean", "daily"]


def test_other_names_are_shown_as_people_know_them(filled: Fill) -> None:
    named = dataset("/w/t", version={"datasetVersion": "5"}, symlinks=symlink("db.t"))
    store = filled(run_event("load", "COMPLETE", 1, inputs=(named,), outputs=(dataset("out"),)))
    assert start_of(store.downstream("db.t@5")) == "db.t@5"
