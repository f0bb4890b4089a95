"""The way of one event: from the text of a record to what is handed to the delivery. No Spark, no thread."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage.client.facet_v2 import documentation_job
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.events.providers import CustomFacets, Provider
from openlineage_pyspark.facets.model.run import CallSite, Engine, Gap, RunReference, RunState
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.probe.records import InvalidRecordError
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.start.script_end import failed_outcome
from openlineage_pyspark.transport.event import Event, dataset_keys

RECORD = (Path(__file__).parent / "records" / "insert_aggregate.json").read_text("utf-8")
RUN = RunReference("01941f29-7c00-7000-8000-000000000001", "team", "app")
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
CANARY = "canary-c4n4ry"
SAVE = "org.apache.spark.sql.execution.datasources.SaveIntoDataSourceCommand"
RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
UNREADABLE = {"classes": [], "types": [], "attributes": [], "cut": False, "nodes": [[7, None, []]]}


class Submitted:
    """A delivery as far as the pipeline knows it: it keeps what it is handed."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def submit(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The events as parsed from JSON."""
        return [json.loads(event.body) for event in self.events]


@attrs.frozen
class Way:
    """A pipeline with both of its ends."""

    pipeline: Pipeline
    submitted: Submitted
    guard: Guard

    def take(self, *records: dict[str, Any]) -> None:
        """Take records that are given as objects."""
        for record in records:
            self.pipeline.take(json.dumps(record))


def way(*providers: Provider, options: EventOptions | None = None, **more: Any) -> Way:
    application = Application("app-1", NOW, "team", "app", RUN, RUN, Engine("4.3.0"), **more)
    submitted: Any = Submitted()
    guard = Guard()
    pipeline = Pipeline(application, options or EventOptions(), providers, submitted, guard)
    return Way(pipeline, submitted, guard)


def provider(answer: Any) -> Provider:
    return Provider("mine", lambda: answer)


def start(id_: int, root: int | None = None, **more: Any) -> dict[str, Any]:
    return {"k": "start", "id": id_, "root": id_ if root is None else root, "time": id_ * 1000, **more}


def end(id_: int, **more: Any) -> dict[str, Any]:
    return {"k": "end", "id": id_, "time": id_ * 1000 + 500, **more}


def save(path: str, **more: Any) -> dict[str, Any]:
    """Give what the probe says of a command that saves one directory in another."""
    plan = {
        "classes": [[SAVE, "P", ["query", "path"]], [RELATION, "P", ["relation"]]],
        "types": ["int"],
        "attributes": [[1, "a", 0]],
        "cut": False,
        "nodes": [
            [0, [], [-1, f"file:{path}"]],
            [1, [1], [{"o": FILES, "rootPaths": ["file:/in"]}]],
        ],
    }
    return {"plan": plan, "class": SAVE, "command": True, **more}


def test_the_record_of_a_started_insert_becomes_one_event_with_its_columns() -> None:
    found = way()
    found.pipeline.take(RECORD)
    (event,), (body,) = found.submitted.events, found.submitted.bodies

    assert (body["eventType"], body["job"]["namespace"]) == ("START", "team")
    assert body["job"]["facets"]["sql"]["query"].startswith("INSERT INTO totals SELECT customer, sum(amount)")
    assert [read["name"] for read in body["inputs"]] == ["/warehouse/orders"]
    assert [written["name"] for written in body["outputs"]] == ["/warehouse/totals"]
    fields = body["outputs"][0]["facets"]["columnLineage"]["fields"]
    edges = {column: lineage["inputFields"] for column, lineage in fields.items()}
    assert {
        column: [(edge["field"], [how["subtype"] for how in edge["transformations"]]) for edge in found]
        for column, found in edges.items()
    } == {"customer": [("customer", ["IDENTITY"])], "total": [("amount", ["AGGREGATION"])]}
    assert (event.run_id, event.event_type, event.parent_run_id) == (body["run"]["runId"], "START", RUN.run_id)
    assert event.id == body["run"]["facets"]["pyspark_event"]["id"]
    assert event.reads == dataset_keys([("file", "/warehouse/orders")])
    assert event.writes == dataset_keys([("file", "/warehouse/totals")])
    assert (found.pipeline.events, found.pipeline.gaps, dict(found.guard.caught)) == (1, {}, {})


def test_an_event_has_the_same_id_where_the_facet_that_shows_it_is_left_out() -> None:
    shown, hidden = way(), way(options=EventOptions(disabled=frozenset({"pyspark_event"})))
    shown.pipeline.take(RECORD)
    hidden.pipeline.take(RECORD)

    assert shown.submitted.events[0].id == hidden.submitted.events[0].id
    assert "pyspark_event" not in hidden.submitted.bodies[0]["run"]["facets"]


def test_no_provider_and_no_event_sees_a_state_that_is_not_redacted() -> None:
    seen: list[RunState] = []

    def copying(state: RunState) -> CustomFacets:
        """Show all that there is to see."""
        seen.append(state)
        return CustomFacets(job={"documentation": documentation_job.DocumentationJobFacet(description=repr(state))})

    sql = f"INSERT INTO t SELECT '{CANARY}' AS password"
    error = {"class": "x.Problem", "message": f"password={CANARY}", "stack": f"x.Problem: {CANARY}"}
    for providers in ((), (provider(copying),)):
        found = way(*providers, options=EventOptions(redaction=Redaction(known=(CANARY,))))
        found.take(start(3, **save("/out", sql=sql)), end(3, error=error))

        assert [event.event_type for event in found.submitted.events] == ["START", "FAIL"]
        assert [CANARY in event.body.decode() for event in found.submitted.events] == [False, False]
    assert [state.event_type for state in seen] == ["START", "FAIL"]
    assert [CANARY in repr(state) for state in seen] == [False, False]
    assert seen[1].failure is not None
    assert seen[1].failure.message == "password=***"


def test_a_provider_changes_nothing_of_an_event_but_its_own_facet() -> None:
    plain, more = way(), way(provider(lambda _state: CustomFacets()))
    plain.pipeline.take(RECORD)
    more.pipeline.take(RECORD)

    assert plain.submitted.events == more.submitted.events


def test_a_provider_that_fails_costs_its_own_facets_and_is_a_gap() -> None:
    def failing(_state: RunState) -> CustomFacets:
        raise KeyError(CANARY)

    found = way(provider(failing))
    found.pipeline.take(RECORD)

    assert list(found.pipeline.gaps) == [
        Gap("facet provider mine", "its facets are missing: KeyError, see the log"),
    ]
    assert dict(found.guard.caught) == {"facets of mine: KeyError": 1}


UNKNOWN: dict[str, Any] = {"plan": UNREADABLE, "class": "x.Save", "command": True}


def errors(body: dict[str, Any]) -> list[Gap]:
    """Give what an event says is missing from it."""
    facet = body["run"]["facets"].get("extractionError", {"errors": []})
    return [Gap(error["task"], error["errorMessage"]) for error in facet["errors"]]


@pytest.mark.parametrize("max_bytes", [1_000_000, 2_400])
def test_the_gaps_that_are_kept_are_those_that_the_events_admit(max_bytes: int) -> None:
    found = way(options=EventOptions(max_bytes=max_bytes))
    found.take(start(3, **UNKNOWN, sql="INSERT INTO t SELECT " + ", ".join(f"column_{n}" for n in range(100))))
    (body,) = found.submitted.bodies

    assert list(found.pipeline.gaps) == errors(body)
    tasks = [gap.task for gap in found.pipeline.gaps]
    assert tasks == (["x.Save"] if max_bytes > 100_000 else ["x.Save", "event.maxBytes", "the job's sql"])


def test_where_events_admit_nothing_no_gap_is_kept() -> None:
    found = way(options=EventOptions(disabled=frozenset({"extractionError"})))
    found.take(start(3, **UNKNOWN))

    assert (errors(found.submitted.bodies[0]), found.pipeline.gaps) == ([], {})


def test_a_text_that_is_no_record_raises() -> None:
    with pytest.raises(InvalidRecordError):
        way().pipeline.take('{"k":"begin"}')


def test_what_the_probe_says_of_itself_is_counted() -> None:
    found = way()
    found.take({"k": "fault", "where": "onJobEnd", "message": "x.Error: no"}, {"k": "dropped", "count": 7})

    assert dict(found.guard.caught) == {"the probe (onJobEnd): RuntimeError": 1}
    assert (found.pipeline.dropped, found.submitted.events) == (7, [])


@pytest.mark.parametrize(
    ("row_values", "shown"), [(False, "no load: [X_Y] of ***"), (True, f"no load: [X_Y] of {CANARY}")]
)
def test_what_the_script_repeats_of_a_failed_query_shows_no_value(*, row_values: bool, shown: str) -> None:
    """The query itself, which only reads, has no event."""
    found = way(options=EventOptions(redaction=Redaction(row_values=row_values)))
    message = f"[X_Y] of {CANARY}"
    raised = {
        "class": "a.B", "message": message, "frames": "", "ofRows": True, "condition": "X_Y", "template": "of <value>",
        "parameters": {"value": CANARY},
    }  # fmt: skip
    error = {"class": "a.B", "message": message, "stack": "", "raised": [raised]}
    found.take(start(1), end(1, error=error))
    found.pipeline.ship(failing_application(f"no load: {message}"))

    (body,) = found.submitted.bodies
    assert body["run"]["facets"]["errorMessage"]["message"] == f"RuntimeError: {shown}"


def failing_application(message: str) -> RunState:
    application = Application("app-1", NOW, "team", "app", RUN, RUN, Engine("4.3.0"))
    return application.ended_state(failed_outcome("FAIL", RuntimeError(message)), NOW, (), 0)


def test_a_plan_that_no_run_needs_is_not_read() -> None:
    """Spark runs a write within a write, each with the whole plan."""
    found = way()
    unread = {"plan": UNREADABLE, "class": SAVE, "command": True}
    found.take(start(1, **save("/out")), start(2, root=1, **unread), end(2), end(1, **unread))

    assert [event.event_type for event in found.submitted.events] == ["START", "COMPLETE"]
    assert dict(found.guard.caught) == {}


CHECKPOINT: dict[str, Any] = {
    "class": RELATION,
    "plan": {
        "classes": [[RELATION, "P", ["relation"]]],
        "types": ["int"],
        "attributes": [[1, "a", 0]],
        "cut": False,
        "nodes": [[0, [1], [{"o": FILES, "rootPaths": ["file:/in"]}]]],
    },
}
LATER: dict[str, Any] = {
    "class": SAVE,
    "command": True,
    "plan": {
        "classes": [[SAVE, "P", ["query", "path"]], ["org.apache.spark.sql.execution.LogicalRDD", "P", []]],
        "types": ["int"],
        "attributes": [[1, "a", 0]],
        "cut": False,
        "nodes": [[0, [], [-1, "file:/out"]], [1, [1], []]],
    },
}


@pytest.mark.parametrize(
    ("records", "reads"),
    [
        ((start(1), end(1, checkpoint=True, **CHECKPOINT)), ["/in"]),
        ((start(1, **CHECKPOINT), end(1, checkpoint=True)), ["/in"]),
        ((start(1, stream="s", **CHECKPOINT), end(1)), ["/in"]),
        ((start(1, **CHECKPOINT), end(1, name="collect")), []),
    ],
)
def test_rows_that_go_on_without_their_plan_are_traced_to_where_they_come_from(
    records: tuple[dict[str, Any], ...], reads: list[str]
) -> None:
    found = way()
    found.take(*records, start(2, **LATER))

    assert [read["name"] for read in found.submitted.bodies[-1]["inputs"]] == reads


RDD = "org.apache.spark.sql.execution.LogicalRDD"


def later(*sources: str) -> dict[str, Any]:
    """Return a write of rows that have other exprIds than those of the plan that computed them."""
    rdd = {"o": "org.apache.spark.rdd.MapPartitionsRDD", "id": 7, "sources": list(sources)}
    classes = [[SAVE, "P", ["query", "path"]], [RDD, "P", ["rdd"]]]
    nodes = [[0, [], [-1, "file:/out"]], [1, [9], [rdd]]]
    plan = {"classes": classes, "types": ["int"], "attributes": [[9, "a", 0]], "cut": False, "nodes": nodes}
    return {"class": SAVE, "command": True, "plan": plan}


def of_folder(path: str) -> dict[str, Any]:
    """Return the checkpoint of another folder."""
    plan = {**CHECKPOINT["plan"], "nodes": [[0, [1], [{"o": FILES, "rootPaths": [path]}]]]}
    return {**CHECKPOINT, "plan": plan}


CUT = "the rows come from an RDD (checkpoint) whose inputs are unknown"


@pytest.mark.parametrize(
    ("earlier", "sources", "reads", "messages"),
    [
        ([CHECKPOINT], ["?checkpoint"], ["/in"], []),
        ([CHECKPOINT, CHECKPOINT], ["?checkpoint"], ["/in"], []),
        ([CHECKPOINT, of_folder("file:/other")], ["?checkpoint"], [], [CUT]),
        ([CHECKPOINT, of_folder("file:/other"), CHECKPOINT], ["?checkpoint"], [], [CUT]),
        ([], ["?checkpoint"], [], [CUT]),
        ([CHECKPOINT], [], [], []),
    ],
)
def test_a_checkpoint_with_new_ids_is_found_again_by_its_columns_if_no_other_has_them(
    earlier: list[dict[str, Any]], sources: list[str], reads: list[str], messages: list[str]
) -> None:
    """Spark gives them to a checkpoint that is joined with what it was computed from."""
    found = way()
    steps = [step for at, each in enumerate(earlier) for step in (start(at, **each), end(at, checkpoint=True))]
    found.take(*steps, start(8, **later(*sources)))

    body = found.submitted.bodies[-1]
    assert [read["name"] for read in body["inputs"]] == reads
    assert [each["errorMessage"] for each in errors_of(body)] == messages


def test_what_is_unknown_about_a_checkpoint_is_reported_by_what_is_written_from_it() -> None:
    found = way()
    unknown = {"classes": [["com.example.OddRelation", "P", []]], "nodes": [[0, [1], []]]}
    odd: dict[str, Any] = {"class": "com.example.OddRelation", "plan": {**CHECKPOINT["plan"], **unknown}}
    found.take(start(1, **odd), end(1, checkpoint=True), start(2, **LATER))

    (error,) = errors_of(found.submitted.bodies[-1])
    assert error["task"] == "com.example.OddRelation"
    assert error["errorMessage"] == "a source without a resolver: what it reads is unknown"


def errors_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    errors: list[dict[str, Any]] = body["run"]["facets"].get("extractionError", {}).get("errors", [])
    return errors


def test_what_waits_for_a_root_that_never_ends_is_a_state_when_the_application_ends() -> None:
    found = way()
    found.take(start(1), start(2, root=1, **save("/out")), end(2))

    assert found.submitted.events == []
    assert [state.event_type for state in found.pipeline.abandon(NOW)] == ["START", "COMPLETE"]


SCRIPT = "file:///home/ann/jobs/etl.py"


@pytest.mark.parametrize(
    ("call_sites", "file", "line", "url"),
    [
        ("facet", "/home/ann/jobs/etl.py", {"file": "etl.py", "line": 7, "function": "save"}, SCRIPT),
        ("url", "/home/ann/jobs/etl.py", {"file": "etl.py", "line": 7, "function": "save"}, f"{SCRIPT}#L7"),
        ("url", "/home/ann/other.py", {"file": "other.py", "line": 7, "function": "save"}, SCRIPT),
        ("none", "/home/ann/jobs/etl.py", None, SCRIPT),
    ],
)
def test_a_run_tells_the_line_of_the_execution_around_it(
    call_sites: str, file: str, line: dict[str, Any] | None, url: str
) -> None:
    found = way(source_location=SCRIPT, call_sites=call_sites)
    sites = {1: CallSite(file, 7, "save")}
    found.pipeline._call_site_of = sites.get
    found.take(start(1, read=True), start(2, root=1, **save("/out")), end(2), end(1))

    facets = [body["run"]["facets"].get("pyspark_call_site") for body in found.submitted.bodies]
    told = [facet and {name: facet[name] for name in ("file", "line", "function")} for facet in facets]
    assert told == [line, line]
    urls = [body["job"]["facets"]["sourceCodeLocation"]["url"] for body in found.submitted.bodies]
    assert urls == [url, url]


def test_an_action_tells_the_line_that_pyspark_gives() -> None:
    found = way(source_location=SCRIPT)
    found.take(start(1, site="collect at /home/ann/jobs/lib/a.py:3", **save("/out")))

    facet = found.submitted.bodies[0]["run"]["facets"]["pyspark_call_site"]
    assert (facet["file"], facet["line"], facet["function"]) == ("lib/a.py", 3, "collect")


def test_code_that_can_not_be_read_is_counted_once_for_each_run_that_has_ended() -> None:
    written = save("/out")
    written["plan"]["classes"].append(["org.apache.spark.sql.catalyst.expressions.PythonUDF", "E", ["name"]])
    written["plan"]["nodes"][1][2].append(-2)
    written["plan"]["classes"][1][2].append("call")
    written["plan"]["nodes"].append([2, ["f"]])
    found = way()
    found.take(start(1, **written))
    assert dict(found.pipeline.code) == {}
    found.take(end(1), start(3, **written), end(3))
    assert dict(found.pipeline.code) == {"pythonFunctions": 2}


def test_the_last_state_of_the_run_that_ended_last_is_kept_as_its_event_says_it() -> None:
    """The application's own run is none of them."""
    found = way(options=EventOptions(redaction=Redaction(known=(CANARY,))))
    assert found.pipeline.last is None
    sql = f"INSERT INTO t SELECT '{CANARY}' AS password"
    found.take(start(1, **save("/out"), sql=sql), end(1), start(2, **save("/later")))
    kept = found.pipeline.last

    assert kept is not None
    assert (kept.event_type, kept.run_id) == ("COMPLETE", found.submitted.bodies[-2]["run"]["runId"])
    assert CANARY not in repr(kept)
    found.pipeline.ship(attrs.evolve(kept, run_id=RUN.run_id))
    assert found.pipeline.last is kept
