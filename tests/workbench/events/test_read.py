"""An event as facts: what each facet says, what is left out, and which edges there are."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage_pyspark.errors import InvalidEventError
from openlineage_pyspark.workbench.events.facts import (
    BatchOfRun,
    MadeByBatch,
    Name,
    OtherName,
    ParentRun,
    PathStep,
    Place,
    ReadByBatch,
    RowsAndBytes,
    SchemaField,
    SessionOfRun,
    StatedEdge,
    StatedPath,
    SubmittedAs,
)
from openlineage_pyspark.workbench.events.read import EventFacts, Role, dataset_facts, facts, sides_of
from openlineage_pyspark.workbench.model.kinds import Diagnostic, Kind

ROOT = Path(__file__).parents[3]
SCENARIOS = ROOT.parent / "shared" / "compat" / "scenarios"
EXACT = ("DIRECT", "IDENTITY")


def event(**parts: Any) -> dict[str, Any]:
    """Return an event of a run, with these parts beside or instead of its own."""
    own = {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:01.5Z",
        "producer": "https://example.org",
        "run": {"runId": "r"},
        "job": {"namespace": "prod", "name": "j"},
    }
    return {**own, **parts}


def of_run(**run_facets: Any) -> EventFacts:
    """Return the facts of an event whose run has some facets."""
    return facts(event(run={"runId": "r", "facets": run_facets}))


def output(**dataset_facets: Any) -> dict[str, Any]:
    """Return an output with some facets."""
    return {"namespace": "lake", "name": "o", "facets": dataset_facets}


def source(field: str = "a", *transformations: dict[str, Any], name: str = "i") -> dict[str, Any]:
    """Return an input field with its transformations."""
    return {"namespace": "lake", "name": name, "field": field, "transformations": list(transformations)}


def lineage(*sources: dict[str, Any], column: str = "x", **more: Any) -> dict[str, Any]:
    """Return the facet columnLineage with the sources of one column."""
    return {"fields": {column: {"inputFields": list(sources), **more}}}


def paths_of(*outputs: dict[str, Any], **parts: Any) -> dict[tuple[str, str], tuple[StatedPath, ...]]:
    """Return the paths of the edges of an event, by their ends as text."""
    edges = facts(event(outputs=list(outputs), **parts)).edges
    return {(f"{edge.source.name}.{edge.source.column}", edge.target.column): edge.paths for edge in edges}


def test_the_head_of_an_event_says_who_did_what_and_when() -> None:
    found = facts(event())

    assert (found.type, found.time, found.producer) == ("COMPLETE", 1767225601500000, "https://example.org")
    assert found.run is not None
    assert found.job is not None
    assert (found.run.id, found.job.namespace, found.job.name) == ("r", "prod", "j")
    assert (found.datasets, found.edges, found.diagnostics) == ((), (), ())


def test_an_event_without_a_type_is_other_and_those_of_jobs_and_datasets_have_a_type_of_their_own() -> None:
    head = {"eventTime": "2026-01-01", "producer": "p"}

    untyped = event()
    del untyped["eventType"]
    assert facts(untyped).type == "OTHER"
    of_job = facts({**head, "job": {"namespace": "n", "name": "j"}, "inputs": [output()]})
    assert (of_job.type, of_job.run, of_job.inputs[0].name) == ("JOB", None, "o")
    of_dataset = facts({**head, "dataset": output(version={"datasetVersion": "7"})})
    assert of_dataset.dataset is not None
    assert (of_dataset.type, of_dataset.job, of_dataset.dataset.version) == ("DATASET", None, "7")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"eventTime": None}, "`eventTime` is missing or not a string"),
        ({"eventTime": "yesterday"}, '`eventTime` is "yesterday"'),
        ({"producer": 1}, "`producer` is missing or not a string"),
        ({"job": {"namespace": "n"}}, "`job` has no namespace or no name"),
        ({"eventType": "END"}, '`eventType` is "END"'),
        ({"run": {}}, "`run.runId` is missing or not a string"),
        ({"run": []}, "`run.runId` is missing or not a string"),
        ({"inputs": [{"name": "i"}]}, "`inputs` has no namespace or no name"),
        ({"outputs": ["o"]}, "`outputs` has no namespace or no name"),
    ],
)
def test_what_the_specification_requires_of_each_event_makes_it_invalid(broken: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidEventError) as raised:
        facts(event(**broken))

    assert str(raised.value) == reason


def test_an_event_of_nothing_is_invalid() -> None:
    with pytest.raises(InvalidEventError, match=r"^neither `run`, `job` nor `dataset`$"):
        facts({"eventTime": "2026-01-01", "producer": "p"})


def test_a_run_has_its_parents_its_error_and_how_it_was_submitted() -> None:
    parent = {"run": {"runId": "p"}, "job": {"namespace": "n", "name": "pj"}, "root": {"run": {"runId": "q"}}}
    run = of_run(
        parent=parent,
        errorMessage={"message": "boom"},
        pyspark_event={"id": "e1"},
        pyspark_call_site={"file": "jobs/a.py", "line": 12},
        pyspark_submission={"command": ["spark-submit", "a.py"], "workingDirectory": "/w", "redacted": True},
        spark_applicationDetails={"deployMode": "client"},
    ).run

    assert run is not None
    assert (run.parent, run.root) == (ParentRun("p", Name("n", "pj")), ParentRun("q", Name("", "")))
    assert (run.error, run.event_id, run.call_site) == ("boom", "e1", "jobs/a.py:12")
    assert run.submission == SubmittedAs(("spark-submit", "a.py"), "/w", "client", is_redacted=True)
    assert run.diagnostics == ()


def test_a_run_has_the_session_of_its_statement() -> None:
    settings = {"spark.sql.session.timeZone": "Europe/Rome", "b": "x", "spark.sql.caseSensitive": 1}
    run = of_run(pyspark_session={"settings": settings, "currentCatalog": "ice", "currentSchema": "mart"}).run

    assert run is not None
    told = (("b", "x"), ("spark.sql.session.timeZone", "Europe/Rome"))
    assert run.session == SessionOfRun(told, "ice", "mart")
    assert [each.message for each in run.diagnostics] == ["a setting is not a string; it is left out"]
    assert of_run(pyspark_session={"settings": {}}).run.session == SessionOfRun()
    assert of_run().run.session is None


def test_a_job_has_its_statement_and_its_kind() -> None:
    job_facets = {
        "jobType": {"processingType": "BATCH", "integration": "SPARK", "jobType": "SQL_JOB"},
        "sql": {"query": "SELECT 1"},
        "documentation": {"description": "d"},
        "sourceCodeLocation": {"url": "file:///a.py"},
    }
    job = facts(event(job={"namespace": "n", "name": "j", "facets": job_facets})).job

    assert job is not None
    assert (job.processing, job.integration, job.type, job.sql) == ("BATCH", "SPARK", "SQL_JOB", "SELECT 1")
    assert (job.description, job.source_url) == ("d", "file:///a.py")


def test_a_dataset_has_its_names_schema_versions_and_counts() -> None:
    read = {
        "namespace": "s3://b",
        "name": "t",
        "inputFacets": {"inputStatistics": {"rowCount": 3, "size": 44.0}},
        "facets": {
            "schema": {"fields": [{"name": "a", "type": "struct", "fields": [{"name": "b"}]}, {"name": "c"}]},
            "symlinks": {"identifiers": [{"namespace": "hive", "name": "db.t", "type": "TABLE"}]},
            "version": {"datasetVersion": "8"},
            "pyspark_snapshot": {"versions": ["7", "8"], "parent": "6", "branch": "dev", "tableId": "id of t"},
            "storage": {"storageLayer": "iceberg", "fileFormat": "parquet"},
            "catalog": {"name": "lake"},
            "datasetType": {"datasetType": "VIEW"},
        },
    }
    found = facts(event(inputs=[read])).inputs[0]

    assert found.fields == (SchemaField("a", "struct"), SchemaField("a.b", "", 0), SchemaField("c", ""))
    assert found.symlinks == (OtherName("hive", "db.t", "TABLE"),)
    assert (found.version, found.versions, found.version_before, found.branch) == ("8", ("7", "8"), "6", "dev")
    assert found.table_id == "id of t"
    assert (found.storage_layer, found.file_format, found.catalog, found.type) == ("iceberg", "parquet", "lake", "VIEW")
    assert (found.counts, found.role, found.diagnostics) == (RowsAndBytes(3, 44), Role.INPUT, ())


def test_a_schema_may_be_nested_deeper_than_python_calls() -> None:
    fields: list[dict[str, Any]] = [{"name": "z"}]
    for _ in range(3000):
        fields = [{"name": "a", "fields": fields}]
    found = dataset_facts({"namespace": "n", "name": "t", "facets": {"schema": {"fields": fields}}}, Role.INPUT)

    assert [len(field.path) for field in found.fields[:3]] == [1, 3, 5]
    assert len(found.fields) == 3001


def test_micro_batches_say_what_each_read_and_made() -> None:
    batch = {
        "batchId": 4,
        "time": "1970-01-01T00:00:01Z",
        "sources": [{"namespace": "kafka", "name": "t", "from": "1", "to": "5", "rows": 4}, {"name": "t"}],
        "sinks": [{"namespace": "lake", "name": "o", "version": "9", "parent": "8", "change": "OVERWRITE"}],
    }
    run = of_run(pyspark_micro_batches={"queryId": "q", "checkpoint": "/c", "batches": [batch, {"time": "x"}]}).run

    assert run is not None
    assert (run.query_id, run.checkpoint) == ("q", "/c")
    read = ReadByBatch(Name("kafka", "t"), "1", "5", "", 4)
    made = MadeByBatch(Name("lake", "o"), "9", "8", "OVERWRITE", None)
    assert run.batches == (BatchOfRun(4, 1000000, (read,), (made,)),)
    assert [each.message for each in run.diagnostics] == [
        "a source has no namespace or no name; it is left out",
        "a batch has no number; it is left out",
    ]
    assert of_run().run.batches is None


def test_a_source_or_sink_that_only_has_a_description_is_no_dataset_and_nothing_odd() -> None:
    """Our own events have such sinks, of the console for example, and sources of rates."""
    told = {"description": "RateStreamV2[rowsPerSecond=1]", "from": "1", "to": "2", "rows": 4}
    batch = {"batchId": 4, "time": "1970-01-01T00:00:01Z", "sources": [told], "sinks": [{"description": "console"}]}
    run = of_run(pyspark_micro_batches={"queryId": "q", "batches": [batch]}).run

    assert run is not None
    assert (run.batches, run.diagnostics) == ((BatchOfRun(4, 1000000, (), ()),), ())


def test_edges_have_kinds_masking_and_texts() -> None:
    kinds = (
        {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "upper(a)", "masking": False},
        {"type": "INDIRECT", "subtype": "FILTER", "masking": True},
    )
    facet = {**lineage(source("a", *kinds)), "dataset": [source("b", {"type": "INDIRECT", "subtype": "JOIN"})]}

    assert paths_of(output(columnLineage=facet)) == {
        ("i.a", "x"): (
            StatedPath(Kind("DIRECT", "TRANSFORMATION"), "upper(a)"),
            StatedPath(Kind("INDIRECT", "FILTER", masking=True)),
        ),
        ("i.b", ""): (StatedPath(Kind("INDIRECT", "JOIN")),),
    }


def test_a_source_that_is_named_twice_is_one_edge_with_the_paths_of_both() -> None:
    facet = lineage(
        source("a", {"type": "DIRECT", "subtype": "IDENTITY"}),
        source("a", {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "a + 1"}),
        source("a", {"type": "DIRECT", "subtype": "IDENTITY"}),
    )

    assert paths_of(output(columnLineage=facet)) == {
        ("i.a", "x"): (StatedPath(Kind(*EXACT)), StatedPath(Kind("DIRECT", "TRANSFORMATION"), "a + 1"))
    }


def test_the_first_version_of_the_facet_tells_the_kind_of_the_column() -> None:
    plain = {"namespace": "lake", "name": "i", "field": "a"}
    older = lineage(plain, transformationType="MASKED", transformationDescription="sha(a)")

    assert paths_of(output(columnLineage=older)) == {
        ("i.a", "x"): (StatedPath(Kind("DIRECT", "MASKED", masking=True), "sha(a)"),)
    }


def test_an_edge_that_does_not_say_how_it_comes_is_unstated() -> None:
    bare = {"namespace": "lake", "name": "i", "field": "a"}
    typed = {"namespace": "lake", "name": "i", "field": "b", "transformations": [{"type": "DIRECT"}]}

    assert paths_of(output(columnLineage=lineage(bare, typed))) == {
        ("i.a", "x"): (StatedPath(Kind("", ""), certainty="unstated"),),
        ("i.b", "x"): (StatedPath(Kind("DIRECT", ""), certainty="unstated"),),
    }


def steps_facet(*ways: dict[str, Any]) -> dict[str, Any]:
    """Return the facet with the ways of column x."""
    own = {"namespace": "lake", "name": "i", "field": "a", "type": "DIRECT", "subtype": "TRANSFORMATION"}
    told = [{**own, "masking": False, "certainty": "opaque", "operators": [0, 1], "steps": [], **way} for way in ways]
    return {"operators": ["Project#1", "PythonUDF#2"], "expressions": ["f(a)"], "columns": {"x": told}, "rows": []}


TRANSFORMED = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "f(a)"}


def test_steps_are_joined_to_their_path() -> None:
    step = {"operator": 1, "expression": 0, "certainty": "opaque", "callSite": "a.py:3"}
    found = paths_of(
        output(
            columnLineage=lineage(source("a", TRANSFORMED, {"type": "INDIRECT", "subtype": "FILTER"})),
            pyspark_lineage_steps=steps_facet({"steps": [step]}),
        )
    )

    way = PathStep("PythonUDF#2", "f(a)", "opaque", "a.py:3")
    assert found["i.a", "x"] == (
        StatedPath(
            Kind("DIRECT", "TRANSFORMATION"), "f(a)", "opaque", ("Project#1", "PythonUDF#2"), (way,), is_traced=True
        ),
        StatedPath(Kind("INDIRECT", "FILTER")),
    )


def test_several_ways_of_one_kind_are_several_paths() -> None:
    """In the order of the facets; where the steps name more of them, the last one has these."""
    other = {**TRANSFORMED, "description": "g(a)"}
    ways = ({"operators": [0]}, {"operators": [1]}, {"operators": [1, 0], "certainty": "guessed"})
    found = paths_of(
        output(columnLineage=lineage(source("a", TRANSFORMED, other)), pyspark_lineage_steps=steps_facet(*ways))
    )

    kind = Kind("DIRECT", "TRANSFORMATION")
    assert found["i.a", "x"] == (
        StatedPath(kind, "f(a)", "opaque", ("Project#1",), is_traced=True),
        StatedPath(kind, "g(a)", "opaque", ("PythonUDF#2",), is_traced=True),
        StatedPath(kind, "g(a)", "guessed", ("PythonUDF#2", "Project#1"), is_traced=True),
    )


def test_of_an_event_with_gaps_only_paths_with_steps_are_surer_than_guessed() -> None:
    run = {"runId": "r", "facets": {"extractionError": {"errors": [{"task": "Weird#3", "errorMessage": "no rule"}]}}}
    unsaid = {"namespace": "lake", "name": "i", "field": "c"}
    facet = lineage(source("a", TRANSFORMED), source("b", TRANSFORMED), unsaid)
    steps = steps_facet({"certainty": "exact"})
    made = event(run=run, outputs=[output(columnLineage=facet, pyspark_lineage_steps=steps)])
    found = facts(made)

    assert {edge.source.column: edge.paths[0].certainty for edge in found.edges} == {
        "a": "exact",
        "b": "guessed",
        "c": "unstated",
    }
    assert found.diagnostics == (
        Diagnostic("unknown-operator", "no rule", missing=True, operator="Weird#3", place="run"),
    )


def test_a_new_name_continues_the_columns_of_the_old_one() -> None:
    change = {"lifecycleStateChange": "RENAME", "previousIdentifier": {"namespace": "lake", "name": "old"}}
    found = facts(event(outputs=[output(schema={"fields": [{"name": "a"}]}, lifecycleStateChange=change)]))

    assert found.outputs[0].renamed_from == Name("lake", "old")
    assert found.edges == (StatedEdge(Place("lake", "old", "a"), Place("lake", "o", "a"), (StatedPath(Kind(*EXACT)),)),)


@pytest.mark.parametrize(
    ("facet", "value", "message"),
    [
        ("schema", "x", "schema is a text, not an object"),
        ("schema", {"fields": {}}, "fields is an object, not an array"),
        ("schema", {"fields": [{"type": "int"}]}, "a field has no name"),
        ("symlinks", {"identifiers": [3]}, "identifiers[0] is a number, not an object"),
        ("symlinks", {"identifiers": [{"name": "x"}]}, "an identifier has no namespace or no name"),
        ("version", {"datasetVersion": 3}, "datasetVersion is a number, not a text"),
        ("pyspark_snapshot", {"versions": True}, "versions is true or false, not an array"),
        ("columnLineage", [], "columnLineage is an array, not an object"),
        ("columnLineage", {"fields": []}, "fields is an array, not an object"),
        ("columnLineage", {"fields": {"x": 1}}, "the field 'x' is a number, not an object"),
        ("columnLineage", {"fields": {"x": {"inputFields": [{}]}}}, "a source of 'x' has no namespace, name or field"),
        ("lineage", {"inputs": [{"name": "i"}]}, "an input has neither the type DATASET nor JOB"),
    ],
)
def test_a_part_of_another_shape_is_left_out_and_named(facet: str, value: Any, message: str) -> None:
    good = {"schema": {"fields": [{"name": "s"}]}, "columnLineage": lineage(source("a", TRANSFORMED))}
    found = facts(event(outputs=[output(**{**good, facet: value}), output(**good)]))

    assert found.diagnostics[0] == Diagnostic(
        "odd-facet", f"{message}; it is left out", missing=True, place=f"output lake o: {facet}"
    )
    assert [field.path for field in found.outputs[1].fields] == ["s"]
    assert len(found.outputs[1].edges) == 1


def test_a_row_count_of_another_type_costs_the_count_alone() -> None:
    made = {**output(schema={"fields": [{"name": "s"}]}), "outputFacets": {"outputStatistics": {"rowCount": "12"}}}
    found = facts(event(outputs=[made]))

    assert found.outputs[0].counts == RowsAndBytes(None, None)
    assert found.outputs[0].fields == (SchemaField("s", ""),)
    assert [each.place for each in found.diagnostics] == ["output lake o: outputStatistics"]


def test_steps_that_point_nowhere_cost_the_steps_and_no_edge() -> None:
    broken = {**steps_facet({}), "operators": []}
    made = event(outputs=[output(columnLineage=lineage(source("a", TRANSFORMED)), pyspark_lineage_steps=broken)])
    found = facts(made)

    assert [edge.paths for edge in found.edges] == [(StatedPath(Kind("DIRECT", "TRANSFORMATION"), "f(a)"),)]
    assert [each.place for each in found.diagnostics] == ["output lake o: pyspark_lineage_steps"]


def stated(type_: str = "DATASET", **parts: Any) -> dict[str, Any]:
    """Return an entry, or an input, of the explicit lineage facet."""
    return {"type": type_, **parts}


def with_entries(*entries: dict[str, Any], **parts: Any) -> EventFacts:
    """Return the facts of an event whose job has the explicit lineage facet."""
    job = {"namespace": "prod", "name": "j", "facets": {"lineage": {"entries": list(entries)}}}
    return facts(event(job=job, **parts))


A, B = stated(namespace="lake", name="a"), stated(namespace="lake", name="b")


def test_an_event_with_explicit_lineage_has_the_edges_that_it_states() -> None:
    """Two inputs and two outputs, each output of one input; nothing is multiplied."""
    first = stated(namespace="lake", name="o", inputs=[A], fields={"x": {"inputs": [{**A, "field": "k"}]}})
    second = stated(namespace="lake", name="p", inputs=[{**B, "transformations": [TRANSFORMED]}])
    datasets = [{"namespace": "lake", "name": name} for name in "abop"]
    found = with_entries(first, second, inputs=datasets[:2], outputs=datasets[2:])

    unstated = (StatedPath(Kind("", ""), certainty="unstated"),)
    assert found.edges == (
        StatedEdge(Place("lake", "a"), Place("lake", "o"), unstated),
        StatedEdge(Place("lake", "a", "k"), Place("lake", "o", "x"), unstated),
        StatedEdge(Place("lake", "b"), Place("lake", "p"), (StatedPath(Kind("DIRECT", "TRANSFORMATION"), "f(a)"),)),
    )
    assert [each.target.name for each in found.stated] == ["o", "p"]
    assert found.diagnostics == ()


def test_jobs_are_ends_of_edges_too_and_one_without_names_is_the_events_own() -> None:
    found = with_entries(
        stated("JOB", inputs=[A]),
        stated(namespace="lake", name="o", inputs=[stated("JOB"), stated("JOB", namespace="n", name="k")]),
    )

    assert [(edge.source[1:], edge.target[1:]) for edge in found.edges] == [
        (("a", "", False), ("j", "", True)),
        (("j", "", True), ("o", "", False)),
        (("k", "", True), ("o", "", False)),
    ]


def test_explicit_lineage_decides_over_column_lineage_and_says_where_they_differ() -> None:
    columns = lineage(source("k", TRANSFORMED, name="a"), source("k", TRANSFORMED, name="b"))
    entry = stated(namespace="lake", name="o", fields={"x": {"inputs": [{**A, "field": "k"}]}})
    found = with_entries(entry, outputs=[output(columnLineage=columns)])

    assert [edge.source for edge in found.edges] == [Place("lake", "a", "k")]
    message = "columnLineage has 1 edge that the explicit facet `lineage` does not have; the explicit one is taken"
    assert found.diagnostics == (Diagnostic("two-lineages", message, place="output lake o"),)


def test_explicit_lineage_of_whole_datasets_leaves_the_columns_of_these_datasets() -> None:
    """The dataset whose columns lead there is not stated once more as a whole."""
    columns = lineage(source("k", TRANSFORMED, name="a"), source("k", TRANSFORMED, name="b"))
    other = stated(namespace="lake", name="c")
    found = with_entries(stated(namespace="lake", name="o", inputs=[A, other]), outputs=[output(columnLineage=columns)])

    assert [edge.source for edge in found.edges] == [Place("lake", "c"), Place("lake", "a", "k")]
    assert [each.code for each in found.diagnostics] == ["two-lineages"]


def test_a_dataset_states_its_own_lineage() -> None:
    own = {"inputs": [A], "fields": {"x": {"inputs": [{**B, "field": "k"}]}}}
    head = {"eventTime": "2026-01-01", "producer": "p"}
    ends = [(Place("lake", "a"), Place("lake", "o")), (Place("lake", "b", "k"), Place("lake", "o", "x"))]

    assert [edge[:2] for edge in facts(event(outputs=[output(lineage=own)])).edges] == ends
    assert [edge[:2] for edge in facts({**head, "dataset": output(lineage=own)}).edges] == ends


def test_an_empty_array_states_that_an_output_has_no_source() -> None:
    columns = lineage(source("k", TRANSFORMED, name="a"))
    found = with_entries(stated(namespace="lake", name="o", inputs=[]), outputs=[output(columnLineage=columns)])

    assert (found.edges, [each.code for each in found.diagnostics]) == ((), ["two-lineages"])


def test_datasets_that_were_read_before_are_not_read_again() -> None:
    sides = sides_of(event(outputs=[output(columnLineage=lineage(source("a", TRANSFORMED)))]))
    found = facts(event(), sides)

    assert found.outputs[0] is sides.outputs[0]
    assert [edge.source.column for edge in found.edges] == ["a"]


def counted_by_hand(made: dict[str, Any]) -> dict[tuple[str, ...], set[tuple[str, str, bool]]]:
    """Return the edges of an event, by plain walking through its JSON: their ends -> type, subtype, masking."""
    found: dict[tuple[str, ...], set[tuple[str, str, bool]]] = {}
    for target in made.get("outputs") or []:
        facet = (target.get("facets") or {}).get("columnLineage") or {}
        lists = [(name, field["inputFields"], field) for name, field in facet.get("fields", {}).items()]
        for column, sources, field in [*lists, ("", facet.get("dataset", []), {})]:
            older = field.get("transformationType") or ""
            for each in sources:
                ends = (each["namespace"], each["name"], each["field"], target["namespace"], target["name"], column)
                ways = [
                    (way["type"], way.get("subtype", ""), bool(way.get("masking")))
                    for way in each.get("transformations") or []
                ]
                alone = ("DIRECT" if older else "", older, older == "MASKED")
                found.setdefault(ends, set()).update(ways or [alone])
    return found


@pytest.mark.skipif(not SCENARIOS.is_dir(), reason="needs the scenarios of OpenLineage's compatibility tests")
def test_the_events_of_openlineages_consumer_scenarios_have_all_their_edges_and_no_others() -> None:
    counts: dict[str, tuple[int, int]] = {}
    for path in sorted(SCENARIOS.glob("*/events/*.json")):
        made = json.loads(path.read_text(encoding="utf-8"))
        found = facts(made)
        edges = {
            (*edge.source[:3], *edge.target[:3]): {attrs.astuple(path.kind) for path in edge.paths}
            for edge in found.edges
        }
        assert edges == counted_by_hand(made), path
        assert not [each for each in found.diagnostics if each.code == "odd-facet"], path
        events, before = counts.get(path.parts[-3], (0, 0))
        counts[path.parts[-3]] = events + 1, before + len(edges)

    assert sum(events for events, _ in counts.values()) == 74
    assert {name: edges for name, (_, edges) in counts.items() if edges} == EDGES_OF_SCENARIOS


EDGES_OF_SCENARIOS = {
    "CLL": 40,
    "airflow": 16,
    "spark_dataproc_bigquery_shakespare": 20,
    "spark_dataproc_simple_producer_test": 8,
    "spark_dataproc_simple_producer_test_complete": 8,
}

STRANGE = [None, "x", "", 5, -1.5, True, [], {}, ["a"], [{}], {"a": 1}, [None], "IDENTITY", float("inf"), 1 << 70]


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Return each place of a JSON value as its holder and its key."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        holder = pending.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                pending.append(holder[key])
    return found


@pytest.mark.slow
def test_whatever_a_facet_holds_the_rest_of_the_event_is_read() -> None:
    """Each strange value once at each place of a full event, and 2,000 events with several of them."""
    full = json.loads((ROOT / "tests" / "golden" / "facets" / "full_event.json").read_text(encoding="utf-8"))
    whole = facts(full)
    assert whole.diagnostics is not None
    chance = random.Random(20261125)  # noqa: S311 (tests)
    many = [copy.deepcopy(full) for _ in range(2000)]
    for made in many:
        for _ in range(chance.randint(2, 5)):
            holder, key = chance.choice(places_in(made))
            holder[key] = copy.deepcopy(chance.choice(STRANGE))
    invalid = 0
    for made in many:
        try:
            found = facts(made)
        except InvalidEventError:
            invalid += 1
            continue
        assert found.diagnostics is not None
        assert all(edge.paths for edge in found.edges)
    assert invalid < 800

    facets = full["outputs"][0]["facets"]
    for name in facets:
        for strange in STRANGE:
            broken = copy.deepcopy(full)
            broken["outputs"][0]["facets"][name] = strange
            found = facts(broken)
            assert found.diagnostics is not None
            if name != "columnLineage" and name != "pyspark_lineage_steps":
                assert [edge[:2] for edge in found.edges] == [edge[:2] for edge in whole.edges]
