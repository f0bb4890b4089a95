"""The answers of a store: against a plain graph made by networkx, and by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import networkx
import pytest
from openlineage_pyspark.errors import NameNotFoundError, StoreError
from openlineage_pyspark.workbench.model.times import microseconds, time_of
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, company, dataset, lineage, run_event, symlink
from support.reached import columns_of, datasets_of, nodes_of, pairs_of


def label(name: str) -> str:
    """Return the name of a made-up table as the store shows it."""
    return f"db.{name}" if int(name[1:]) % 3 == 0 else name


def graph_of_tables(events: list[dict[str, Any]]) -> networkx.DiGraph[str]:
    """Return which table is made from which, straight from the events."""
    graph: networkx.DiGraph[str] = networkx.DiGraph()
    for event in events:
        for source in event["inputs"]:
            for target in event["outputs"]:
                graph.add_edge(label(source["name"]), label(target["name"]))
    return graph


def graph_of_columns(events: list[dict[str, Any]], *, direct: bool) -> networkx.DiGraph[tuple[str, str]]:
    """
    Return which column is made from which, straight from the events.

    All rows of a table, an empty column here, are made by what decides about them, and whatever reads the table is made
    from all of its rows.
    """
    graph: networkx.DiGraph[tuple[str, str]] = networkx.DiGraph()
    for event in events:
        for target in event["outputs"]:
            facet = target["facets"].get("columnLineage", {})
            whole = (label(target["name"]), "")
            places = [((whole[0], column), field["inputFields"]) for column, field in facet.get("fields", {}).items()]
            for place, sources in [*places, (whole, facet.get("dataset", []))]:
                for source in sources:
                    if not direct or source["transformations"][0]["type"] == "DIRECT":
                        graph.add_edge((label(source["name"]), source["field"]), place)
    return graph


def downstream_of(graph: networkx.DiGraph[tuple[str, str]], start: tuple[str, str]) -> dict[tuple[str, str], int]:
    """Return the columns downstream with their distances: after all rows of a table come all edges from its columns."""
    depths, frontier = {start: 0}, [start]
    while frontier:
        following = []
        for place in frontier:
            from_here = [each for each in graph if each == place or (not place[1] and each[0] == place[0])]
            for each in from_here:
                for end in graph.successors(each):
                    if end not in depths:
                        depths[end] = depths[place] + 1
                        following.append(end)
        frontier = following
    del depths[start]
    return depths


def upstream_of(graph: networkx.DiGraph[tuple[str, str]], start: tuple[str, str]) -> dict[tuple[str, str], int]:
    """Return the columns upstream with their distances: a column is made by what decides about all rows, too."""
    depths, frontier = {start: 0}, [start]
    while frontier:
        following = []
        for place in frontier:
            for each in {place, (place[0], "")} & set(graph):
                for end in graph.predecessors(each):
                    if end not in depths:
                        depths[end] = depths[place] + 1
                        following.append(end)
        frontier = following
    del depths[start]
    return depths


# The first is enough to see a fault at once.
SEEDS = [
    0,
    pytest.param(1, marks=pytest.mark.slow),
    *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3, 4)),
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_tables_up_and_down_are_those_of_a_plain_graph(filled: Callable[..., Store], seed: int) -> None:
    events = company(seed)
    store, graph = filled(*events), graph_of_tables(events)
    for table in sorted(graph):
        down = networkx.single_source_shortest_path_length(graph, table)
        up = networkx.single_source_shortest_path_length(graph.reverse(), table)
        assert nodes_of(store.downstream(table)) == {key: depth for key, depth in down.items() if key != table}
        assert nodes_of(store.upstream(table)) == {key: depth for key, depth in up.items() if key != table}
        near = {key: depth for key, depth in down.items() if 0 < depth <= 2}
        assert nodes_of(store.downstream(table, depth=2)) == near


@pytest.mark.slow
@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_columns_up_and_down_are_those_of_a_plain_graph(
    filled: Callable[..., Store], seed: int, *, direct: bool
) -> None:
    events = company(seed)
    store, graph = filled(*events), graph_of_columns(events, direct=direct)
    # Each second column, for every answer takes its time.
    for table, column in sorted(place for place in graph if place[1])[seed % 2 :: 2]:
        name = f"{table}.{column}"
        assert columns_of(store.downstream(name, direct=direct)) == downstream_of(graph, (table, column)), name
        assert columns_of(store.upstream(name, direct=direct)) == upstream_of(graph, (table, column)), name


@pytest.mark.slow
def test_between_keeps_what_lies_on_a_way_and_nothing_else(filled: Callable[..., Store]) -> None:
    events = company(3)
    store, graph = filled(*events), graph_of_tables(events)
    ends = [(a, b) for a in sorted(graph) for b in sorted(graph) if a != b and networkx.has_path(graph, a, b)]
    for source, target in ends[::7]:
        on_a_way = (networkx.descendants(graph, source) | {source}) & (networkx.ancestors(graph, target) | {target})
        answer = store.between(source, target)
        assert datasets_of(answer) | {source} == on_a_way
        assert {*pairs_of(answer)} == set(graph.subgraph(on_a_way).edges)


def test_the_closest_come_first(filled: Callable[..., Store]) -> None:
    found = filled(*company(1)).downstream("t1").result
    assert [*found.depths.values()] == sorted(found.depths.values())
    assert [found.depth(edge) for edge in found.graph.edges] == sorted(found.depth(edge) for edge in found.graph.edges)


def test_a_job_does_what_its_last_complete_run_did(filled: Callable[..., Store]) -> None:
    store = filled(
        run_event("load", "COMPLETE", 1, inputs=(dataset("old"),), outputs=(dataset("t"),)),
        run_event("load", "COMPLETE", 5, inputs=(dataset("new"),), outputs=(dataset("t"),)),
        run_event("load", "FAIL", 9),
    )
    assert nodes_of(store.upstream("t")) == {"new": 1}
    assert nodes_of(store.upstream("t", as_of=at(3))) == {"old": 1}
    assert nodes_of(store.upstream("t", ever=True)) == {"new": 1, "old": 1}
    assert nodes_of(store.upstream("t", as_of=at(0))) == {}


def test_two_runs_of_one_job_in_one_application_both_count(filled: Callable[..., Store]) -> None:
    parent = {"run": {"runId": "application"}, "job": {"namespace": "jobs", "name": "app"}}
    store = filled(
        run_event("app.append.t", "COMPLETE", 1, inputs=(dataset("a"),), outputs=(dataset("t"),), parent=parent),
        run_event("app.append.t", "COMPLETE", 2, inputs=(dataset("b"),), outputs=(dataset("t"),), parent=parent),
    )
    assert nodes_of(store.upstream("t")) == {"a": 1, "b": 1}


def test_a_stream_that_never_ends_has_lineage(filled: Callable[..., Store]) -> None:
    store = filled(run_event("stream", "START", 1, inputs=(dataset("a"),), outputs=(dataset("b"),)))
    assert nodes_of(store.downstream("a")) == {"b": 1}


def test_a_struct_and_its_fields_belong_together(filled: Callable[..., Store]) -> None:
    made = dataset("t", columnLineage=lineage(x=[("s", "who.name", "IDENTITY")], y=[("s", "who", "IDENTITY")]))
    store = filled(run_event("load", "COMPLETE", 1, inputs=(dataset("s"),), outputs=(made,)))
    assert columns_of(store.downstream("s.who")) == {("t", "x"): 1, ("t", "y"): 1}
    assert columns_of(store.downstream("s.who.name")) == {("t", "x"): 1, ("t", "y"): 1}
    assert columns_of(store.upstream("t.x")) == {("s", "who.name"): 1}


def test_a_way_between_columns_leads_over_rows_that_a_filter_chose(filled: Callable[..., Store]) -> None:
    middle = dataset("t", columnLineage=lineage(c=[("other", "z", "IDENTITY")], _rows=[("s", "a", "FILTER")]))
    last = dataset("u", columnLineage=lineage(x=[("t", "c", "IDENTITY")], y=[("other", "z", "IDENTITY")]))
    store = filled(
        run_event("first", "COMPLETE", 1, outputs=(middle,)), run_event("second", "COMPLETE", 2, outputs=(last,))
    )
    assert pairs_of(store.between("s.a", "u.x")) == [("s.a", "t"), ("t.c", "u.x")]
    assert pairs_of(store.between("s.a", "u.x", direct=True)) == []


def test_a_facet_of_an_older_version_has_kinds_too(filled: Callable[..., Store]) -> None:
    source = {"namespace": "lake", "name": "s", "field": "a"}
    field = {"inputFields": [source], "transformationType": "MASKED", "transformationDescription": "hashed"}
    made = dataset("t", columnLineage={"fields": {"x": field}})
    [edge] = filled(run_event("load", "COMPLETE", 1, outputs=(made,))).upstream("t.x").result.graph.edges
    assert [(path.kind.subtype or path.kind.type, path.expression) for path in edge.paths] == [("MASKED", "hashed")]


def test_a_name_is_found_as_people_type_it(filled: Callable[..., Store]) -> None:
    orders = dataset("/lake/sales/orders", namespace="s3://bucket", columns=("id",), symlinks=symlink("sales.orders"))
    store = filled(run_event("load", "COMPLETE", 1, inputs=(orders,), outputs=(dataset("out"),)))
    for name in (
        "sales.orders",
        "orders",
        "/lake/sales/orders",
        "sales/orders",
        "s3://bucket/lake/sales/orders",
        "ORDERS",
    ):
        assert store.downstream(name).result.start == ("dataset|s3://bucket|/lake/sales/orders",), name
    assert store.downstream("orders.id").result.start == ("column|s3://bucket|/lake/sales/orders|id",)


def test_a_name_that_several_have_lists_them(filled: Callable[..., Store]) -> None:
    store = filled(run_event("load", "COMPLETE", 1, inputs=(dataset("a.orders"), dataset("b.orders"))))
    with pytest.raises(NameNotFoundError) as raised:
        store.downstream("orders")
    expected = "'orders' may mean any of these; give more of its name:\n  lake/a.orders\n  lake/b.orders"
    assert str(raised.value) == expected


def test_a_name_that_nothing_has_tells_what_is_near(filled: Callable[..., Store]) -> None:
    store = filled(run_event("load", "COMPLETE", 1, inputs=(dataset("sales.orders", columns=("id", "day")),)))
    with pytest.raises(NameNotFoundError, match=r"^nothing is called 'shop.order'; near it: sales.orders$"):
        store.downstream("shop.order")
    with pytest.raises(NameNotFoundError, match=r"^sales.orders has no column 'dya'; its columns: id, day$"):
        store.downstream("sales.orders.dya")


def test_a_time_is_read_as_people_write_it() -> None:
    now = datetime(2026, 1, 10, tzinfo=timezone.utc)
    assert time_of("2d", now) == microseconds("2026-01-08T00:00:00Z")
    assert time_of("2026-01-08", now) == microseconds("2026-01-08T00:00:00Z")
    assert time_of("2026-01-08T01:00:00.123456789+01:00", now) == microseconds("2026-01-08T00:00:00.123456Z")
    with pytest.raises(StoreError, match="'yesterday' is not a time: write"):
        time_of("yesterday", now)


def test_the_history_tells_runs_rows_inputs_and_changed_columns(filled: Callable[..., Store]) -> None:
    def out(rows: int, *columns: str, **facets: Any) -> dict[str, Any]:
        made = dataset("t", columns=columns, **facets)
        made["outputFacets"] = {"outputStatistics": {"rowCount": rows}}
        return made

    source = dataset("s", version={"datasetVersion": "41"})
    change = {"lifecycleStateChange": "OVERWRITE"}
    store = filled(
        run_event("load", "COMPLETE", 1, run="r1", inputs=(source,), outputs=(out(5, "a"),)),
        run_event("load", "COMPLETE", 2, run="r2", outputs=(out(7, "a", "b", lifecycleStateChange=change),)),
        run_event("load", "START", 3, run="r3", outputs=(out(9, "a", "b"),)),
        run_event("load", "FAIL", 4, run="r3", outputs=(out(9, "a", "b"),)),
    )
    found = store.history("t").result
    assert [(each.version, each.rows, each.change) for each in found] == [("r2", 7, "OVERWRITE"), ("r1", 5, "")]
    assert [each.columns_added for each in found] == [("b",), ()]
    assert [[read.label for read in each.inputs] for each in found] == [[], ["s@41"]]


@pytest.mark.parametrize("ask", [Store.history, lambda store, name: store.upstream(f"{name}@latest")])
def test_what_only_a_dataset_has_is_not_told_of_a_column(filled: Callable[..., Store], ask: Callable[..., Any]) -> None:
    store = filled(run_event("load", "COMPLETE", 1, outputs=(dataset("a/t", columns=("c",)),)))
    with pytest.raises(StoreError, match=r"^t\.c is a column: name its dataset, a/t$"):
        ask(store, "t.c")


def test_lists_tell_what_is_there(filled: Callable[..., Store]) -> None:
    store = filled(
        run_event("load", "START", 1, run="r1", inputs=(dataset("a"),), outputs=(dataset("b"),)),
        run_event("load", "COMPLETE", 2, run="r1", inputs=(dataset("a"),), outputs=(dataset("b"),)),
        run_event("load", "START", 5, run="r2"),
        run_event("load", "FAIL", 6, run="r2", errorMessage={"message": "no space"}),
        run_event("other", "START", 7, run="r3"),
    )
    assert [(job.name, job.runs, job.last_state) for job in store.jobs().result] == [
        ("load", 2, "FAIL"),
        ("other", 1, "START"),
    ]
    assert [job.name for job in store.jobs(containing="OTH").result] == ["other"]
    assert [run.run_id for run in store.runs().result] == ["r3", "r2", "r1"]
    assert [(run.run_id, run.error) for run in store.runs(state=("FAIL",)).result] == [("r2", "no space")]
    assert [run.run_id for run in store.runs(job="load", limit=1).result] == ["r2"]
    assert [run.run_id for run in store.runs(since=at(4)).result] == ["r3", "r2"]
    rows = store.datasets().result
    lines = [(row.label, row.readers, row.writers, row.last_written is not None) for row in rows]
    assert lines == [("a", 1, 0, False), ("b", 0, 1, True)]


def hostile() -> str:
    """Return a name with what HTML, Mermaid and DOT read."""
    return 'a"]; <script>alert(1)</script> \n`#&\\'


@pytest.mark.parametrize("format_", ["csv", "dot", "mermaid"])
def test_each_format_shows_each_edge_and_takes_hostile_names(filled: Callable[..., Store], format_: str) -> None:
    made = dataset(hostile(), columnLineage=lineage(x=[("s", "a", "IDENTITY")]))
    store = filled(run_event("load", "COMPLETE", 1, run="r1", inputs=(dataset("s"),), outputs=(made,)))
    assert store.downstream("s.a").to_text(format_) == EXPECTED[format_]


EXPECTED = {
    "mermaid": """\
flowchart LR
  subgraph d0["s"]
    n0["a"]
  end
  subgraph d1["a#quot;]; #lt;script#gt;alert(1)#lt;/script#gt;  #96;#35;#amp;\\"]
    n1["x"]
  end
  n0 -->|"IDENTITY"| n1
""",
    "dot": """\
digraph lineage {
  rankdir=LR;
  node [shape=box];
  subgraph cluster_0 {
    label="s";
    n0 [label="a"];
  }
  subgraph cluster_1 {
    label="a\\"]; <script>alert(1)</script>  `#&amp;\\\\";
    n1 [label="x"];
  }
  n0 -> n1 [label="IDENTITY"];
}
""",
    "csv": "depth,source,source_column,target,target_column,kinds,expression,job,last_run,certainty\n"
    '1,s,a,"a""]; <script>alert(1)</script> \n`#&\\",x,IDENTITY,IDENTITY of a,load,'
    "r1,exact\n",
}


def test_an_answer_as_json_names_its_nodes_in_its_edges(filled: Callable[..., Store]) -> None:
    made = dataset("t", columnLineage=lineage(x=[("s", "a", "IDENTITY")]))
    store: Store = filled(run_event("load", "COMPLETE", 1, run="r1", inputs=(dataset("s"),), outputs=(made,)))
    result = json.loads(store.upstream("t.x").to_text("json"))["result"]
    target, source = "column|lake|t|x", "column|lake|s|a"
    assert (result["type"], result["start"], result["depths"]) == ("reach", [target], {target: 0, source: 1})
    assert {target, source} < {node["id"] for node in result["nodes"]}
    path = {"type": "DIRECT", "subtype": "IDENTITY", "masking": False, "certainty": "exact"}
    assert result["edges"] == [
        {
            "source": source,
            "target": target,
            "job": "job|jobs|load",
            "run": "run|r1",
            "certainty": "exact",
            "paths": [{**path, "expression": "IDENTITY of a"}],
        }
    ]


def _runs_of(job: str, *begins_and_ends: tuple[float, float], **facets: Any) -> list[dict[str, Any]]:
    """Return the STARTs and COMPLETEs of runs, in minutes. A run that ends at 0 has no end."""
    events = []
    for number, (begin, end) in enumerate(begins_and_ends):
        run = f"{job}-{number}"
        events.append(run_event(job, "START", begin, run=run, **facets))
        if end:
            events.append(run_event(job, "COMPLETE", end, run=run, **facets))
    return events


def test_a_run_is_late_if_it_takes_much_longer_than_the_runs_before_it(filled: Callable[..., Store]) -> None:
    usual = [(hour * 60, hour * 60 + 10) for hour in range(4)]
    store = filled(
        *_runs_of("slow", *usual, (240, 271), (300, 330), (360, 0)),
        *_runs_of("new", (0, 1), (60, 61), (120, 300)),
        *_runs_of("quick", (0, 0.01), (1, 1.01), (2, 2.01), (3, 3.9)),
    )
    # A third of an hour is twice the usual time, and a run of which too few came before is not late.
    late = store.runs(late=True, as_of=at(390)).result
    assert [(run.run_id, run.usual_seconds) for run in late] == [("slow-4", 600.0)]
    assert [run.run_id for run in store.runs(late=True, as_of=at(391)).result] == ["slow-6", "slow-4"]
    assert [run.late for run in store.runs(limit=1).result] == [False]


def test_a_job_is_late_if_it_pauses_much_longer_than_usual(filled: Callable[..., Store]) -> None:
    store = filled(
        *_runs_of("hourly", *((hour * 60, hour * 60 + 1) for hour in range(5))),
        *_runs_of("rare", (0, 1), (60, 61)),
    )
    lines = {job.name: (job.usual_pause, job.late) for job in store.jobs(as_of=at(360)).result}
    assert lines == {"hourly": (3600.0, False), "rare": (None, False)}
    assert {job.name: job.late for job in store.jobs(as_of=at(361)).result} == {"hourly": True, "rare": False}


def test_the_history_tells_types_that_changed_and_versions_that_were_inferred(filled: Callable[..., Store]) -> None:
    def made(minute: int, type_: str) -> dict[str, Any]:
        schema = {"fields": [{"name": "x", "type": type_}]}
        out = dataset("t", schema=schema, version={"datasetVersion": str(minute)})
        return run_event("load", "COMPLETE", minute, run=f"r{minute}", inputs=(dataset("s"),), outputs=(out,))

    first = run_event("fill", "COMPLETE", 0, run="w", outputs=(dataset("s"),))
    newest, oldest = filled(first, made(1, "int"), made(2, "bigint")).history("t").result
    assert (newest.columns_changed, oldest.columns_changed) == ((("x", "int", "bigint"),), ())
    assert (newest.parent, newest.kind, newest.batch) == ("1", "storage", None)
    assert [read.label for read in newest.inputs] == ["s@w?"]


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("amount", "bronze.claims.amount, silver.claims.amount"),
        ("AMOUNT", "bronze.claims.amount, silver.claims.amount"),
        ("gold.lossratio", "gold.loss_ratio"),
        ("gold.lossratio.id", "gold.loss_ratio"),
        ("loss", "gold.loss_ratio"),
        ("silver.clams", "silver.claims, bronze.claims"),
    ],
)
def test_what_is_near_a_name_is_shown_by_the_names_that_people_know_the_nearest_first(
    filled: Callable[..., Store], asked: str, near: str
) -> None:
    names = (
        "bronze.claims",
        "silver.claims",
        *(f"gold.{name}" for name in ("kpi", "loss_ratio", "fraud_score", "tops")),
    )
    outputs = [
        dataset(
            f"/work/{name.replace('.', '/')}",
            columns=("id", *(("amount",) if "claims" in name else ())),
            symlinks=symlink(name),
        )
        for name in names
    ]
    store = filled(run_event("load", "COMPLETE", 1, outputs=tuple(outputs)))
    with pytest.raises(NameNotFoundError) as raised:
        store.downstream(asked)
    assert str(raised.value) == f"nothing is called {asked!r}; near it: {near}"
