"""Answers about event files are complete, or state what is missing and why: each cause on each surface."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.lineage_events import company, dataset, lineage, run_event, text_of_events
from support.valid_answers import valid_answer

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]
Surface = Callable[[Run, str, str], str]


def copied(certainty: str = "exact", *, schema: Any = None, **run_facets: Any) -> dict[str, Any]:
    """Return the event of a run that copies a column, and states how sure that is."""
    edge = {"namespace": "lake", "name": "a", "field": "x", "type": "DIRECT", "subtype": "IDENTITY", "masking": False}
    columns = {"x": [{**edge, "certainty": certainty, "operators": [], "steps": []}]}
    steps = {"operators": [], "expressions": [], "columns": columns, "rows": []}
    facets: dict[str, Any] = {"columnLineage": lineage(x=[("a", "x", "IDENTITY")]), "pyspark_lineage_steps": steps}
    made = dataset("b", **facets, **({} if schema is None else {"schema": schema}))
    return run_event("copy", "COMPLETE", 1, run="r", inputs=(dataset("a"),), outputs=(made,), **run_facets)


def gap(task: str, message: str) -> dict[str, Any]:
    return {"totalTasks": 1, "failedTasks": 1, "errors": [{"task": task, "errorMessage": message}]}


SURFACES: dict[str, Surface] = {
    "show": lambda run, file, _: run("show", file, "--format", "json")[1],
    "view": lambda run, file, _: run("view", file, "--format", "json", "-o", "-")[1],
    "diff, before": lambda run, file, whole: run("diff", file, whole, "--format", "json")[1],
    "diff, after": lambda run, file, whole: run("diff", whole, file, "--format", "json")[1],
}
CAUSES: dict[str, tuple[list[dict[str, Any]], str, bool]] = {
    "nothing": ([copied()], "", False),
    "a text that is no event": ([copied(), {"no": "event"}], "rejected", True),
    "a gap of a run": ([copied(extractionError=gap("MapInPandas", "no rule"))], "unknown-operator", True),
    "paths that were left out": ([copied(extractionError=gap("paths", "too many paths"))], "cut", True),
    "a damaged facet": ([copied(schema=7)], "odd-facet", True),
    "a statement as text": ([copied("text")], "text-only", False),
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("cause", CAUSES)
def test_each_answer_about_files_states_each_cause(tmp_path: Path, run: Run, cause: str, surface: str) -> None:
    events, code, missing = CAUSES[cause]
    file, whole = tmp_path / "e.ndjson", tmp_path / "whole.ndjson"
    file.write_text(text_of_events(events), "utf-8")
    whole.write_text(text_of_events([copied()]), "utf-8")

    document = valid_answer(SURFACES[surface](run, str(file), str(whole)))

    assert document["complete"] is not missing
    assert [(each["code"], each.get("missing", False)) for each in document["diagnostics"]] == (
        [(code, missing)] if code else []
    )
    if code in ("rejected", "odd-facet"):
        line = len(events)
        assert document["diagnostics"][0]["place"].startswith(f"{file}:{line}")


@pytest.mark.parametrize("surface", ["show", "view"])
def test_a_gzipped_file_without_its_end_is_named_in_the_answer(tmp_path: Path, run: Run, surface: str) -> None:
    packed = gzip.compress(text_of_events([copied(), *company(1)]).encode())
    file = tmp_path / "e.ndjson.gz"
    file.write_bytes(packed[:-12])

    document = valid_answer(SURFACES[surface](run, str(file), ""))

    assert document["complete"] is False
    [found] = document["diagnostics"]
    assert found["code"] == "damaged"
    assert found["message"].startswith(f"{file}: the gzip data is damaged or cut off (")


@pytest.mark.parametrize("code", ["rejected", "odd-facet"])
def test_of_many_problems_the_first_few_are_named_and_the_others_counted(tmp_path: Path, run: Run, code: str) -> None:
    wrong = {"no": "event"} if code == "rejected" else copied(schema=7)
    file = tmp_path / "e.ndjson"
    # Each is another event, since one that is sent again is the same.
    events = [copied(), *({**wrong, "producer": f"https://example.org/{number}"} for number in range(9))]
    file.write_text(text_of_events(events), "utf-8")

    found = valid_answer(run("show", str(file), "--format", "json")[1])["diagnostics"]

    assert [each.get("place", "").partition(f"{file}:")[2].partition(":")[0] for each in found] == ["2", "3", "4", ""]
    assert found[-1]["message"].startswith("6 more ")
    assert found[-1]["message"].endswith(": `validate` names them")


def damaged() -> list[dict[str, Any]]:
    """Return events of which each has one damaged part: what is new in each run, and what its runs repeat."""

    def ran(run: str, **more: Any) -> dict[str, Any]:
        found = copied(**more.pop("run_facets", {}))
        found["run"]["runId"] = run
        for key, value in more.items():
            found["outputs"][0].setdefault(key, {}).update(value)
        return found

    whole = ran("r0")
    events = [
        *(whole, ran("r1", facets={"version": 5}), ran("r2", facets={"version": {"datasetVersion": []}})),
        *(ran("r3", outputFacets={"outputStatistics": {"rowCount": "many"}}), ran("r4", facets={"ownership": 3})),
        *(ran("r5", facets={"columnLineage": {"fields": 1}}), ran("r6", facets={"columnLineage": {"fields": 1}})),
        *(ran("r7", run_facets={"parent": "none"}), {**ran("r8"), "inputs": "none"}, ran("r9")),
    ]
    events[-1]["job"]["facets"] = {"sql": {"query": 7}}
    alone = {"eventTime": whole["eventTime"], "producer": "p", "dataset": {"namespace": "lake", "name": "d"}}
    return [*events, {**alone, "dataset": {**alone["dataset"], "facets": {"schema": {"fields": 1}}}}]


def test_a_store_states_the_same_of_each_damaged_facet_as_show_of_the_file_does(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openlineage_pyspark.workbench.questions.registry._SHOWN", 100)
    file, store = tmp_path / "e.ndjson", str(tmp_path / "s.db")
    file.write_text(text_of_events(damaged()), "utf-8")

    def of(*arguments: str) -> list[tuple[str, str, str]]:
        found = json.loads(run(*arguments, "--format", "json")[1])["diagnostics"]
        return [(each["code"], each["message"], each["place"]) for each in found if each["code"] == "odd-facet"]

    shown = of("show", str(file))
    assert [place.removeprefix(f"{file}:").partition(":")[0] for _, _, place in shown] == [*"23456789", "10", "11"]
    for _ in range(2):
        assert run("ingest", str(file), "--store", store)[0] == 0
        for question in (("jobs",), ("upstream", "b"), ("runs",), ("history", "b")):
            assert of(*question, "--store", store) == shown
    assert run("store", "rebuild", "--store", store)[0] == 0
    assert of("runs", "--store", store) == shown


def test_the_text_of_diff_states_on_the_error_stream_what_may_be_missing(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "e.ndjson"
    file.write_text(text_of_events([copied(extractionError=gap("MapInPandas", "no rule"))]), "utf-8")

    assert run("diff", str(file), str(file)) == (
        0,
        "nothing changed\n",
        "openlineage-pyspark: the answer may be incomplete: MapInPandas: no rule\n",
    )
