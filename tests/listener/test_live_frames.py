"""What a job on a real Spark tells of rows that outlive their plan, of statements with two writes, and of catalogs."""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.any_spark, pytest.mark.long]


@pytest.fixture(scope="module")
def frames(jobs: Any) -> Any:
    return jobs.run("frames.py", submit=False)


@pytest.fixture(scope="module")
def hive(jobs: Any) -> Any:
    return jobs.run("hive.py", submit=False, lineage=False)


def writing(job: Any, name: str) -> dict:
    """Give the last event of the run that writes a thing of this name."""
    return [e for e in job.queries() if [Path(o["name"]).name for o in e["outputs"]] == [name]][-1]


def test_a_file_below_an_rdd_has_the_name_that_it_has_in_the_plan(frames: Any) -> None:
    """Spark keeps the paths of what is scanned as URLs, in which a blank is `%20`."""
    (written,) = writing(frames, "my table, 50%")["outputs"]
    (read,) = writing(frames, "through rdd")["inputs"]

    assert (read["namespace"], read["name"]) == (written["namespace"], written["name"])


@pytest.mark.parametrize("name", ["checkpoint", "batches"])
def test_a_frame_that_is_joined_with_itself_keeps_its_lineage_on_both_sides(frames: Any, name: str) -> None:
    """A checkpoint, or the frame of `foreachBatch`: of the second Spark makes the same rows anew, with other ids."""
    event = writing(frames, name)
    columns = event["outputs"][0]["facets"]["columnLineage"]["fields"]

    sources = {
        column: [
            (Path(field["name"]).name, field["field"])
            for field in lineage["inputFields"]
            if {way["type"] for way in field["transformations"]} == {"DIRECT"}
        ]
        for column, lineage in columns.items()
    }
    assert sources == {column: [("my table, 50%", "k")] for column in ("first", "second")}
    assert "extractionError" not in event["run"]["facets"]


@pytest.mark.parametrize(
    ("name", "conditions"),
    [
        ("small", {"k": {"FILTER"}}),
        ("large", {"v": {"FILTER"}}),
        ("smallest", {"k": {"FILTER", "JOIN"}, "v": {"FILTER"}}),
    ],
)
def test_two_checkpoints_of_one_frame_have_their_own_conditions(
    frames: Any, name: str, conditions: dict[str, set[str]]
) -> None:
    """Their columns have the same ids."""
    event = writing(frames, name)
    rows = event["outputs"][0]["facets"]["columnLineage"]["dataset"]

    assert {each["field"]: {way["subtype"] for way in each["transformations"]} for each in rows} == conditions
    assert "extractionError" not in event["run"]["facets"]


def test_a_variable_in_values_has_the_sources_of_what_it_was_set_to(frames: Any) -> None:
    """Spark has replaced it by its value."""
    if importlib.metadata.version("pyspark").startswith("3."):
        pytest.skip("Spark 3.5 has no variables")
    event = writing(frames, "highest")
    columns = event["outputs"][0]["facets"]["columnLineage"]["fields"]

    sources = {
        column: [(Path(field["name"]).name, field["field"]) for field in lineage["inputFields"]]
        for column, lineage in columns.items()
    }
    assert sources == {"k": [("through rdd", "v")], "name": []}
    assert "extractionError" not in event["run"]["facets"]


@pytest.mark.parametrize("begin", ["FROM", "WITH"])
def test_a_statement_with_several_inserts_is_one_run(frames: Any, begin: str) -> None:
    """Spark 3.5 runs them one by one."""
    inserts = [e for e in frames.queries() if e["job"]["facets"].get("sql", {}).get("query", "").startswith(begin)]
    outputs = inserts[-1]["outputs"]

    assert [event["eventType"] for event in inserts] == ["START", "COMPLETE"]
    assert len({event["run"]["runId"] for event in inserts}) == 1
    assert [Path(output["name"]).name for output in outputs] == ["low", "high"]
    assert [list(output["facets"]["columnLineage"]["fields"]) for output in outputs] == [["k"], ["k"]]
    assert [output["outputFacets"]["outputStatistics"]["rowCount"] for output in outputs] == [1, 3]
    assert [Path(read["name"]).name for read in inserts[-1]["inputs"]] == ["through rdd"]


def test_what_a_loaded_model_makes_comes_from_its_folder_too_and_nothing_else_does(frames: Any) -> None:
    (model,) = writing(frames, "model")["outputs"]
    read = {name: writing(frames, name)["inputs"] for name in ("indexed", "copied")}

    assert [Path(each["name"]).name for each in read["indexed"]] == ["words", "model"]
    assert (read["indexed"][1]["namespace"], read["indexed"][1]["name"]) == (model["namespace"], model["name"])
    assert [Path(each["name"]).name for each in read["copied"]] == ["words"]


def test_the_job_is_as_it_is_and_its_events_keep_the_rules(frames: Any, violations: Any) -> None:
    assert (frames.code, frames.stdout) == (0, "rows 2 2\nrows 2 6\n")
    assert violations(frames.events()) == []


@pytest.mark.any_spark
def test_a_job_on_paths_alone_opens_no_metastore_for_its_lineage(hive: Any) -> None:
    assert hive.stdout.splitlines()[:2] == ["metastore False", "metastore True"]
    assert [event["eventType"] for event in hive.queries("paths.ndjson")] == ["START", "COMPLETE"] * 2


@pytest.mark.any_spark
def test_a_table_has_the_same_metastore_in_its_event_as_without_being_run(hive: Any) -> None:
    (written,) = [event["outputs"][0] for event in hive.queries("table.ndjson") if event["eventType"] == "COMPLETE"]
    (link,) = written["facets"]["symlinks"]["identifiers"]

    assert (link["namespace"], link["name"]) == ("hive://meta:9083", "default.t")
    assert hive.stdout.splitlines()[2:] == ["symlinks hive://meta:9083 default.t"]


@pytest.mark.any_spark
def test_a_table_of_hives_own_is_what_lies_at_its_location(hive: Any) -> None:
    done = [event for event in hive.queries("serde.ndjson") if event["eventType"] == "COMPLETE"]
    one = ("file", str(hive.folder / "warehouse" / "serde"))
    written = {
        (output["namespace"], output["name"]): [Path(each["name"]).name for each in event["inputs"]]
        for event in done
        for output in event["outputs"]
        if not Path(output["name"]).name.startswith("by ")
    }
    read = {
        Path(output["name"]).name: [(each["namespace"], each["name"]) for each in event["inputs"]]
        for event in done
        for output in event["outputs"]
        if Path(output["name"]).name.startswith("by ")
    }
    assert list(written) == [one]
    assert read == {f"by {way}": [one] for way in ("sql", "frame", "path")}
    # CREATE TABLE AS, INSERT, insertInto and DROP.
    assert len(done) == len(read) + 4
    assert all("extractionError" not in event["run"]["facets"] for event in done)


def test_the_metastore_may_be_configured_in_hive_site(jobs: Any) -> None:
    site = "<configuration><property><name>hive.metastore.uris</name><value>thrift://site:9083</value></property>"
    done = jobs.run("facts.py", submit=False, lineage=False, files={"conf/hive-site.xml": f"{site}</configuration>"})

    assert json.loads(done.stdout) == {"hive-site.xml": "thrift://site:9083", "spark": "thrift://own:9083"}


@pytest.mark.parametrize(("name", "line"), [("my table, 50%", 22), ("checkpoint", 30)])
def test_a_write_tells_its_line_of_python_or_none(frames: Any, name: str, line: int) -> None:
    found = {json.dumps(site) for event in frames.queries() if (site := call_site(event, name)) is not None}

    told = {json.dumps({"file": "frames.py", "line": line, "function": "parquet"})}
    assert found in (told, set())


def test_a_long_write_tells_its_line_of_python(frames: Any) -> None:
    """It goes on until its START is told."""
    told = [site for event in frames.queries() if (site := call_site(event, "through rdd")) is not None]

    assert told == [{"file": "frames.py", "line": 24, "function": "parquet"}] * 2


def call_site(event: dict, name: str) -> dict | None:
    """Give what an event of a run that writes a thing of this name says of its line, if it says anything."""
    facet = event["run"]["facets"].get("pyspark_call_site")
    if facet is None or [Path(output["name"]).name for output in event["outputs"]] != [name]:
        return None
    return {key: value for key, value in facet.items() if not key.startswith("_")}
