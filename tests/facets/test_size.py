"""An event over the limit is cut in one fixed order, says what was cut, and stays valid at each step."""

from __future__ import annotations

import datetime as dt
import json

import attrs
import pytest
from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, JobFacet, RunFacet
from openlineage_pyspark.facets.events.build import build_event, serialise_within
from openlineage_pyspark.facets.events.cutting import OWN_FACETS
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions, Owner, Tag
from openlineage_pyspark.facets.events.providers import Contribution, CustomFacets
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, Symlink, TableVersions
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    Transformation,
    Way,
)
from openlineage_pyspark.facets.model.micro_batch import BatchSink, BatchSource, MicroBatch, StreamingQuery
from openlineage_pyspark.facets.model.run import Failure, Gap, Job, RunInput, RunOutput, Submission
from openlineage_pyspark.workbench.events import read

TEXT = "x" * 600
USER = Identifier("file", "/data/" + "user" * 60)
ORDER = [
    "error texts beyond 8000 characters",
    "descriptions of edges",
    "the job's sql",
    "documentation and comments",
    "properties, owners, tags and the source's location",
    "facets of custom providers",
    "diagnostics beyond the first 20",
    (
        "details of datasets: catalog, dataSource, datasetType, pyspark_lineage_steps, pyspark_name, storage, subset,"
        " symlinks"
    ),
    "schema fields without an edge",
    "INDIRECT edges",
    "columns of columnLineage, the largest first",
    "all facets of datasets",
    "inputs",
    "outputs",
    "offsets of micro-batches, those of the first ones first",
    "sources and sinks of micro-batches, those of the first ones first",
    "micro-batches",
    "all facets but errorMessage, extractionError, jobType, parent, pyspark_event, pyspark_micro_batches",
]
CUSTOM = {("RunFacet", "mine"), ("JobFacet", "mine"), ("DatasetFacet", "mine"), ("InputDatasetFacet", "ours")}
OPTIONS = EventOptions(
    owners=tuple(Owner(f"team:{n}") for n in range(20)),
    job_tags=tuple(Tag(f"job{n}") for n in range(20)),
    run_tags=tuple(Tag(f"run{n}") for n in range(20)),
    job_documentation=TEXT,
)


def blob(base):
    return attrs.make_class("Blob", {"blob": attrs.field(kw_only=True)}, bases=(base,))(blob=TEXT, producer="http://me")


def way(subtype, text="", kind="DIRECT"):
    return Transformation(kind, subtype, text)


UNSURE = Way(("Relation#1", "MapInPandas#0"), OperatorStep("MapInPandas#0", "", Certainty.OPAQUE), Certainty.OPAQUE)
VERSIONS = TableVersions("delta", ("1", "2"))


def batch(number):
    read = BatchSource("Orders", USER, '{"at":1}', '{"at":2}', rows=1)
    time = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
    return MicroBatch(number, time, sources=(read,), sinks=(BatchSink(USER, rows=1),))


@pytest.fixture(scope="module")
def large_state(full_run):
    """Return a failed run with much content of every kind."""
    source = Dataset(
        USER,
        (
            *(Field(f"f{n}", "string", "about") for n in range(100)),
            Field("deep", "struct", fields=(Field("in", "string", TEXT), Field("a.b", "string"))),
        ),
        symlinks=tuple(Symlink("hive://metastore", f"shop.t{n}") for n in range(20)),
        description=TEXT,
    )
    lineage = ColumnLineage(
        columns=(
            *(
                OutputColumn(
                    f"c{n}", tuple(InputField(USER, f"f{m}", (way("TRANSFORMATION", "f + 1"),)) for m in range(n))
                )
                for n in range(1, 6)
            ),
            OutputColumn("nested", (InputField(USER, "deep.a.b", (attrs.evolve(way("IDENTITY"), way=UNSURE),)),)),
            OutputColumn("decided", (InputField(USER, "f7", (way("CONDITIONAL", "f7 > 1", "INDIRECT"),)),)),
            OutputColumn("both", (InputField(USER, "f8", (way("AGGREGATION"), way("WINDOW", kind="INDIRECT"))),)),
            OutputColumn("constant", (), "count(1)"),
        ),
        dataset=tuple(InputField(USER, f"f{n}", (way("FILTER", "f > 2", "INDIRECT"),)) for n in range(10)),
    )
    names = [column.name for column in lineage.columns] + [f"unused{n}" for n in range(50)]
    target = Dataset(Identifier("file", "/data/out"), tuple(Field(name, "string") for name in names), type="FILE")
    written = attrs.evolve(full_run[1].outputs[0], dataset=target, lineage=lineage, replaced="rows", sources=(USER,))
    return attrs.evolve(
        full_run[1],
        job=attrs.evolve(full_run[1].job, sql="SELECT " + TEXT),
        inputs=(
            *full_run[1].inputs,
            RunInput(attrs.evolve(source, locations=("/data/users/2026-01-01",), guessed=True)),
            *(RunInput(Dataset(Identifier("file", f"/{n}"), versions=VERSIONS)) for n in range(30)),
        ),
        outputs=(written, *(RunOutput(Dataset(Identifier("file", f"/out/{n}"))) for n in range(30))),
        failure=Failure("message " + "m" * 9_000, "PYTHON", "first\n" + "t" * 9_000 + "\nlast"),
        gaps=tuple(Gap(f"Operator{n}", "r" * 700) for n in range(30)),
        stream=StreamingQuery("q", "r", batches=tuple(batch(n) for n in range(20))),
        submission=Submission(("python", "app.py"), "/jobs", "client"),
    )


@pytest.fixture(scope="module")
def large_event(large_state):
    facets = CustomFacets(
        run={"mine": blob(RunFacet)},
        job={"mine": blob(JobFacet)},
        inputs={USER: {"mine": blob(DatasetFacet), "ours": blob(InputDatasetFacet)}},
    )
    return build_event(large_state, OPTIONS, (Contribution("mine", facets),))


def within(event, limit, options=OPTIONS):
    return json.loads(serialise_within(event, attrs.evolve(options, max_bytes=limit)).body)


def remarks(event):
    errors = event["run"]["facets"].get("extractionError", {}).get("errors", [])
    return {error["task"]: error["errorMessage"] for error in errors if not error["task"].startswith("Operator")}


@pytest.fixture(scope="module")
def bodies(large_event):
    """Return the event after each step as bytes, by the name of the step, under ever smaller limits."""
    found, limit = {}, len(serialise(large_event))
    while True:
        body = serialise_within(large_event, attrs.evolve(OPTIONS, max_bytes=limit - 1)).body
        if len(body) >= limit:
            return found
        found[list(remarks(json.loads(body)))[-1]] = body
        limit = len(body)


@pytest.fixture
def stages(bodies):
    return {name: json.loads(body) for name, body in bodies.items()}


def facets_of(event, kind, number):
    return event[kind][number].get("facets", {})


def test_an_event_at_the_limit_is_not_touched(large_event):
    body = serialise(large_event)
    assert serialise_within(large_event, attrs.evolve(OPTIONS, max_bytes=len(body))).body == body


@pytest.mark.slow
def test_the_steps_come_in_the_documented_order_and_each_takes_the_ones_before_it(stages):
    found = stages
    assert list(found) == ORDER
    for number, (name, event) in enumerate(found.items()):
        assert list(remarks(event)) == ["event.maxBytes", *ORDER[: number + 1]], name


@pytest.mark.slow
def test_at_every_limit_the_event_is_within_it_and_valid(large_event, specification, violations):
    size = len(serialise(large_event))
    smallest = len(serialise_within(large_event, attrs.evolve(OPTIONS, max_bytes=1)).body)
    limit = float(size)
    while limit > smallest:
        body = serialise_within(large_event, attrs.evolve(OPTIONS, max_bytes=int(limit))).body
        assert len(body) <= limit
        event = json.loads(body)
        assert specification.violations([event], CUSTOM) == []
        # One event is no whole run.
        assert [found for found in violations([event]) if not found.startswith("run ")] == []
        limit /= 1.03


def test_the_remarks_say_how_large_the_event_was_and_what_each_step_took(large_event):
    size = len(serialise(large_event))
    event = within(large_event, size - 1)
    message, trace = (event["run"]["facets"]["errorMessage"][key] for key in ("message", "stackTrace"))
    shorter = 9_008 - len(message) + 9_011 - len(trace)
    escapes = 2 * 2  # each text has two line breaks more
    assert remarks(event) == {
        "event.maxBytes": f"the event had {size} bytes, over the limit of {size - 1}: what follows was cut",
        "error texts beyond 8000 characters": f"2 cut, {shorter - escapes} bytes",
    }


def test_the_counts_of_the_remarks_go_up_with_them(large_event):
    before = json.loads(serialise(large_event))["run"]["facets"]["extractionError"]
    after = within(large_event, len(serialise(large_event)) - 1)["run"]["facets"]["extractionError"]
    assert (before["failedTasks"], after["failedTasks"]) == (30, 32)
    assert (before["totalTasks"], after["totalTasks"]) == (30, 32)
    assert after["errors"][:30] == before["errors"]


def test_an_error_text_keeps_its_beginning_and_its_end(stages):
    error = stages[ORDER[0]]["run"]["facets"]["errorMessage"]
    assert error["stackTrace"] == "first\n" + "t" * 3_969 + "\n... 1061 characters cut ...\n" + "t" * 3_970 + "\nlast"
    assert error["message"].startswith("message mmm")
    assert len(error["message"]) <= 8_000


def test_descriptions_go_and_leave_every_edge(stages):
    before, after = stages[ORDER[0]], stages[ORDER[1]]

    def edges(event):
        lineage = facets_of(event, "outputs", 0)["columnLineage"]
        return [*lineage["dataset"], *(edge for c in lineage["fields"].values() for edge in c["inputFields"])]

    ways = [way for edge in edges(before) for way in edge["transformations"]]
    assert sum("description" in way for way in ways) == 26
    for way in ways:
        way.pop("description", None)
    assert edges(after) == edges(before)


def test_texts_configuration_and_custom_facets_go_one_after_the_other(stages):
    found = stages
    sql, comments, configuration, custom = (found[name] for name in ORDER[2:6])

    assert "sql" not in sql["job"]["facets"]
    assert sql["job"]["facets"]["documentation"]["description"] == TEXT
    assert "documentation" not in comments["job"]["facets"]
    assert "documentation" not in facets_of(comments, "inputs", 2)
    assert '"description"' not in json.dumps([comments[part] for part in ("job", "inputs", "outputs")])
    assert len(facets_of(comments, "inputs", 2)["schema"]["fields"]) == 101
    assert configuration["job"]["facets"].keys() == {"jobType", "mine"}
    assert configuration["run"]["facets"].keys() == {
        "parent", "processing_engine", "pyspark_event", "pyspark_micro_batches", "pyspark_session",
        "errorMessage", "extractionError", "mine",
    }  # fmt: skip
    assert "mine" in facets_of(configuration, "inputs", 2)
    assert "ours" in configuration["inputs"][2]["inputFacets"]
    assert TEXT not in json.dumps(custom)
    assert "inputStatistics" in custom["inputs"][0]["inputFacets"]


def test_of_many_remarks_the_first_20_stay_shortened(stages):
    errors = stages[ORDER[6]]["run"]["facets"]["extractionError"]["errors"]
    assert [error["task"] for error in errors[:20]] == [f"Operator{n}" for n in range(20)]
    assert errors[20]["task"] == "event.maxBytes"
    assert {len(error["errorMessage"]) for error in errors[:20]} == {478}


def test_schemas_keep_what_edges_name(stages):
    """The names of two fields hold dots, or lie below another: the whole column stays."""
    details, fields = (stages[name] for name in ORDER[7:9])
    assert facets_of(details, "inputs", 2).keys() == {"schema"}
    kept = {"schema", "columnLineage", "lifecycleStateChange", "lineage", "pyspark_replaced"}
    assert facets_of(details, "outputs", 0).keys() == kept
    kept = facets_of(fields, "inputs", 2)["schema"]["fields"]
    assert [field["name"] for field in kept] == [*(f"f{n}" for n in range(10)), "deep"]
    assert "schema" not in facets_of(fields, "inputs", 0)
    assert [field["name"] for field in facets_of(fields, "outputs", 0)["schema"]["fields"]] == [
        "c1", "c2", "c3", "c4", "c5", "nested", "decided", "both", "constant",
    ]  # fmt: skip


def test_indirect_edges_go_and_no_column_turns_into_a_constant(stages):
    lineage = facets_of(stages[ORDER[9]], "outputs", 0)["columnLineage"]
    assert "dataset" not in lineage
    assert list(lineage["fields"]) == ["c1", "c2", "c3", "c4", "c5", "nested", "both", "constant"]
    assert lineage["fields"]["constant"] == {"inputFields": []}
    (edge,) = lineage["fields"]["both"]["inputFields"]
    assert edge["transformations"] == [{"type": "DIRECT", "subtype": "AGGREGATION", "masking": False}]


@pytest.mark.slow
def test_columns_go_the_largest_first_and_no_more_of_them_than_needed(large_event, stages):
    whole = stages[ORDER[9]]
    counts = {}
    limit = len(serialise(whole)) - 1
    while True:
        event = within(large_event, limit)
        if list(remarks(event))[-1] != ORDER[10]:
            break
        names = tuple(facets_of(event, "outputs", 0).get("columnLineage", {}).get("fields", ()))
        counts[names] = remarks(event)[ORDER[10]].partition(",")[0]
        limit -= 20
    assert counts == {
        ("c1", "c2", "c3", "c4", "nested", "both", "constant"): "1 cut",
        ("c1", "c2", "c3", "nested", "both", "constant"): "2 cut",
        ("c1", "c2", "nested", "both", "constant"): "3 cut",
        ("c1", "nested", "both", "constant"): "4 cut",
        ("nested", "both", "constant"): "5 cut",
        ("both", "constant"): "6 cut",
        ("constant",): "7 cut",
        (): "8 cut",
    }


def test_datasets_lose_their_facets_then_inputs_go_then_outputs(stages):
    bare, no_inputs, no_outputs = (stages[name] for name in ORDER[11:14])
    assert {tuple(dataset) for dataset in bare["inputs"] + bare["outputs"]} == {("namespace", "name")}
    assert (len(bare["inputs"]), len(bare["outputs"])) == (33, 31)
    assert (no_inputs["inputs"], no_inputs["outputs"]) == ([], bare["outputs"])
    assert (no_outputs["inputs"], no_outputs["outputs"]) == ([], [])
    assert "processing_engine" in no_outputs["run"]["facets"]


def test_micro_batches_lose_their_offsets_then_their_sources_and_sinks_then_they_go(stages):
    facets = [stages[name]["run"]["facets"]["pyspark_micro_batches"] for name in ORDER[14:17]]
    no_offsets, no_parts, none = (facet["batches"] for facet in facets)
    # No more than is needed goes.
    assert [batch["sources"][0]["to"] for batch in no_offsets][:17] == [None] * 17
    assert [batch["batchId"] for batch in no_parts] == list(range(20))
    assert [(batch["sources"], batch["sinks"]) for batch in no_parts][:17] == [([], [])] * 17
    assert none == []


def test_the_skeleton_has_run_job_parent_error_and_what_was_cut(large_event, stages):
    event = stages[ORDER[17]]
    whole = json.loads(serialise(large_event))
    assert (event["run"]["runId"], event["job"]["name"]) == (whole["run"]["runId"], whole["job"]["name"])
    assert (event["eventType"], event["eventTime"]) == (whole["eventType"], whole["eventTime"])
    assert event["job"]["facets"] == {"jobType": whole["job"]["facets"]["jobType"]}
    kept = {"parent", "errorMessage", "extractionError", "pyspark_event", "pyspark_micro_batches"}
    assert event["run"]["facets"].keys() == kept
    assert event["run"]["facets"]["parent"] == whole["run"]["facets"]["parent"]
    error = event["run"]["facets"]["errorMessage"]
    assert "stackTrace" not in error
    assert error["message"].startswith("message mmm")
    assert 900 < len(error["message"]) <= 1_000
    assert list(remarks(event)) == ["event.maxBytes", *ORDER]


@pytest.mark.slow
def test_an_event_of_thousands_of_datasets_ends_as_a_skeleton_within_the_limit(full_run):
    inputs = tuple(RunInput(Dataset(Identifier("file", f"/data/{'part' * 10}/{n}"))) for n in range(5_000))
    state = attrs.evolve(full_run[0], inputs=inputs, outputs=())
    body = serialise_within(build_event(state, EventOptions()), EventOptions(max_bytes=4_000)).body
    assert len(body) <= 4_000
    event = json.loads(body)
    assert event["inputs"] == []
    assert remarks(event)["inputs"].startswith("1 cut, ")


def test_a_limit_below_the_skeleton_is_said(large_event):
    event = within(large_event, 100)
    messages = [error["errorMessage"] for error in event["run"]["facets"]["extractionError"]["errors"]]
    assert messages[-1] == "the event is still over the limit"
    within_it = within(large_event, len(serialise(event)))
    assert "the event is still over the limit" not in json.dumps(within_it)


def test_what_is_not_there_is_not_said_to_be_cut(full_run):
    """An application's own event has no datasets and no SQL."""
    state = attrs.evolve(full_run[0], inputs=(), outputs=(), job=Job("shop", "nightly", "APPLICATION"))
    event = within(build_event(state, EventOptions()), 1_500, EventOptions())
    assert set(remarks(event)) - {"event.maxBytes"} <= {ORDER[4], ORDER[17]}
    assert ORDER[4] in remarks(event)


def test_without_the_facet_nothing_is_said_and_the_event_is_as_small(large_state):
    options = attrs.evolve(OPTIONS, disabled=frozenset({"extractionError"}))
    event = build_event(large_state, options)
    size = len(serialise(event))
    body = serialise_within(event, attrs.evolve(options, max_bytes=size // 2)).body
    assert len(body) <= size // 2
    assert "extractionError" not in json.loads(body)["run"]["facets"]


def test_an_event_without_remarks_gets_the_facet_for_what_was_cut(full_run, specification):
    state = attrs.evolve(full_run[0], gaps=(), operators=0)
    whole = build_event(state, EventOptions())
    event = within(whole, len(serialise(whole)) - 1, EventOptions())
    facet = event["run"]["facets"]["extractionError"]
    assert facet["errors"][0]["task"] == "event.maxBytes"
    assert facet["failedTasks"] == facet["totalTasks"] == len(facet["errors"])
    assert specification.violations([event]) == []


def test_every_facet_of_this_package_is_known_to_the_steps(large_event):
    """A facet that is missing there would be cut as if a user had brought it."""
    names = {name for _, (_, name), _ in read.facets_of(json.loads(serialise(large_event)))}
    assert names - OWN_FACETS == {"mine", "ours"}
    assert OWN_FACETS - names == set()
