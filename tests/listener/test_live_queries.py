"""Which statements make a run, how those end that fail, and that threads do not mix."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.spark_jobs import SPARK_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

SPARK_4 = not SPARK_VERSION.startswith("3.")
ARROW_UDTF = SPARK_VERSION.startswith("4.") and not SPARK_VERSION.startswith("4.0")


@pytest.fixture(scope="module")
def failing(jobs: Any) -> Any:
    return jobs.run("failing.py", submit=False)


@pytest.fixture(scope="module")
def statements(jobs: Any) -> Any:
    return jobs.run("statements.py", submit=False)


def runs(events: list[dict]) -> list[list[dict]]:
    """Give the events of each run, the runs in the order of their beginning."""
    found: dict[str, list[dict]] = {}
    for event in events:
        found.setdefault(event["run"]["runId"], []).append(event)
    return list(found.values())


def outputs(event: dict) -> list[str]:
    return [Path(output["name"]).name for output in event["outputs"]]


def inputs(event: dict) -> list[str]:
    return [Path(read["name"]).name for read in event["inputs"]]


def of_output(job: Any, name: str) -> list[dict]:
    """Give the events of the one run that writes a thing of this name."""
    found = [run for run in runs(job.queries()) if outputs(run[0]) == [name]]
    assert len(found) == 1
    return found[0]


# What a query raises by `raise_error` may be the value of a row.
RAISED = "[USER_RAISED_EXCEPTION] ***" if SPARK_4 else "RuntimeException: *** (withheld"
FAILURES = [
    pytest.param("task", RAISED, "JAVA", {"id", "e"}, id="in a task"),
    pytest.param("late", RAISED, "JAVA", {"name", "e"}, id="after a job that succeeded"),
    pytest.param("udf", "ValueError: *** (withheld", "PYTHON", {"b"}, id="in a Python function"),
    pytest.param("exists", "already exists", "JAVA", {"id", "name"}, id="without any job"),
]


@pytest.mark.any_spark
@pytest.mark.parametrize(("name", "message", "language", "columns"), FAILURES)
def test_a_write_that_fails_is_a_failed_run_with_its_lineage(
    failing: Any, name: str, message: str, language: str, columns: set[str]
) -> None:
    start, fail = of_output(failing, failing.folder.name if name == "exists" else name)

    told = fail["run"]["facets"]["errorMessage"]

    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert message in told["message"]
    assert told["programmingLanguage"] == language
    assert message in told["stackTrace"]
    # Each language has its own way to name a line.
    assert ("\tat org.apache.spark" in told["stackTrace"]) == (language == "JAVA")
    assert ('failing.py", line' in told["stackTrace"]) == (language == "PYTHON")
    for event in (start, fail):
        assert inputs(event) == ["src"]
        lineage = event["outputs"][0]["facets"]["columnLineage"]["fields"]
        assert set(lineage) == columns
        assert all(Path(edge["name"]).name == "src" for column in lineage.values() for edge in column["inputFields"])
        assert "outputFacets" not in event["outputs"][0]


@pytest.mark.any_spark
@pytest.mark.skipif(not SPARK_4, reason="Spark 3.5 tells no listener of a statement that it can't analyse")
def test_an_insert_that_can_not_be_analysed_is_a_failed_run(failing: Any) -> None:
    ((start, fail),) = [run for run in runs(failing.queries()) if run[0]["outputs"] == []]

    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert start["job"]["name"] == "failing.insert_into_statement"
    assert start["job"]["facets"]["sql"]["query"] == "INSERT INTO src SELECT nope FROM src"
    told = fail["run"]["facets"]["errorMessage"]
    assert told["message"].startswith("[UNRESOLVED_COLUMN.WITH_SUGGESTION]")
    assert told["programmingLanguage"] == "JAVA"


@pytest.mark.any_spark
@pytest.mark.skipif(not ARROW_UDTF, reason="this Spark has no function that only an inner write refuses")
def test_a_statement_that_fails_in_the_analysis_of_its_inner_write_is_one_failed_run(failing: Any) -> None:
    start, fail = of_output(failing, "inside")

    assert (start["eventType"], fail["eventType"]) == ("START", "FAIL")
    assert fail["run"]["facets"]["errorMessage"]["message"].startswith("[LATERAL_JOIN_WITH_ARROW_UDTF_UNSUPPORTED]")
    texts = [run[0]["job"]["facets"].get("sql", {}).get("query", "") for run in runs(failing.queries())]
    assert sum("inside" in text for text in texts) == 1


@pytest.mark.any_spark
def test_failures_keep_the_specification_and_spoil_nothing_after_them(
    failing: Any, specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    good = of_output(failing, "good")

    assert [event["eventType"] for event in good] == ["START", "COMPLETE"]
    assert good[1]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 20
    assert len(runs(failing.queries())) == 6 + SPARK_4 + ARROW_UDTF
    assert [event["eventType"] for event in failing.application()] == ["START", "COMPLETE"]
    assert specification.violations(failing.events()) == violations(failing.events()) == []


@pytest.mark.any_spark
@pytest.mark.long
def test_the_user_sees_the_same_exceptions(jobs: Any, failing: Any) -> None:
    without = jobs.run("failing.py", submit=False, lineage=False)

    assert (failing.code, failing.stdout) == (without.code, without.stdout)
    assert [line.split()[0] for line in failing.stdout.splitlines()] == [
        "task",
        "late",
        "exists",
        "udf",
        "analysis",
        *(["inside"] if ARROW_UDTF else []),
        "frames",
        "end",
    ]
    assert "frames 0\n" in failing.stdout


def test_only_a_statement_of_sql_has_its_text(statements: Any) -> None:
    """Spark keeps a table's relation with the text of the first statement that read it; a later job has another."""
    texts = [run[0]["job"]["facets"].get("sql", {}).get("query") for run in runs(statements.queries("quiet.ndjson"))]

    assert texts == [
        "CREATE TABLE quiet_made USING parquet AS SELECT id, id % 3 AS third FROM range(12)",
        "CREATE TABLE quiet_copy USING parquet AS SELECT * FROM quiet_made",
        None,
        None,
        None,
        "CREATE TABLE IF NOT EXISTS quiet_copy USING parquet AS SELECT * FROM quiet_made",
        None,
    ]


def test_a_write_that_was_skipped_because_its_target_is_there_says_that_it_changed_nothing(statements: Any) -> None:
    """One of no rows into a new place is a write all the same."""
    skipped = [run[1] for run in runs(statements.queries("quiet.ndjson"))][4:]

    assert [event["eventType"] for event in skipped] == ["COMPLETE"] * 3
    assert [outputs(event) for event in skipped] == [["quiet_path"], ["quiet_copy"], ["quiet_empty"]]
    said = [{"columnLineage", "lifecycleStateChange"} & set(event["outputs"][0]["facets"]) for event in skipped]
    assert said == [set(), set(), {"columnLineage", "lifecycleStateChange"}]
    assert [inputs(event) for event in skipped] == [["quiet_made"]] * 3


@pytest.mark.parametrize("name", ["quiet", "reads"])
def test_a_table_made_from_a_query_is_exactly_one_run(statements: Any, name: str) -> None:
    """Spark runs an inner execution for the rows, which is part of it."""
    writes = [run for run in runs(statements.queries(f"{name}.ndjson")) if run[0]["outputs"]][:4]

    assert [outputs(run[0]) for run in writes] == [[f"{name}_{end}"] for end in ("made", "copy", "saved", "path")]
    for run, rows, read in zip(writes, (12, 12, 3, 12), ([], *[[f"{name}_made"]] * 3), strict=True):
        start, complete = run
        assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
        assert inputs(start) == inputs(complete) == read
        assert complete["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == rows


def test_what_writes_nothing_makes_no_event(statements: Any) -> None:
    assert [run for run in runs(statements.queries("quiet.ndjson")) if not run[0]["outputs"]] == []


def test_a_read_makes_one_run_with_inputs_where_reads_are_asked_for(statements: Any) -> None:
    """The statements that are no queries (CACHE, SHOW, DESCRIBE, SET) still make none."""
    (read,) = [run for run in runs(statements.queries("reads.ndjson")) if not run[0]["outputs"]]

    assert [event["eventType"] for event in read] == ["START", "COMPLETE"]
    assert [inputs(event) for event in read] == [["reads_made"], ["reads_made"]]
    assert read[0]["job"]["name"] == "reads.query.default_reads_made"
    assert read[1]["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 12


def test_the_events_of_statements_keep_the_specification(
    statements: Any, specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    assert (statements.code, statements.stdout) == (0, "4\n4\n")
    for name in ("quiet", "reads"):
        events = statements.events(f"{name}.ndjson")
        assert specification.violations(events) == violations(events) == []


@pytest.mark.long
@pytest.mark.any_spark
@pytest.mark.parametrize("writes", [4, 25])
def test_threads_in_one_and_in_several_sessions_do_not_mix(
    jobs: Any, violations: Callable[[list[dict]], list[str]], writes: int
) -> None:
    """Each write has another number of rows, so a figure at the wrong run shows."""
    job = jobs.run("threads.py", str(writes), submit=False)

    pairs = runs(job.queries())

    assert job.code == 0
    assert violations(job.events()) == []
    assert [[event["eventType"] for event in pair] for pair in pairs] == [["START", "COMPLETE"]] * (2 * 8 * writes)
    figures = {
        event["outputs"][0]["name"]: event["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"]
        for _, event in pairs
    }
    numbers = range(1, 8 * writes + 1)
    assert figures == {str(job.folder / name / str(rows)): rows for name in ("one", "several") for rows in numbers}


@pytest.mark.any_spark
def test_a_column_tells_its_line_of_python_since_spark_4(failing: Any) -> None:
    start, _ = of_output(failing, "udf")
    [edge] = start["outputs"][0]["facets"]["pyspark_lineage_steps"]["columns"]["b"]

    assert [step.get("callSite") for step in edge["steps"]] == ["failing.py:45" if SPARK_4 else None]
