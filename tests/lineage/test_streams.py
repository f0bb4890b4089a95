"""What the events of a real job say of streams: where their rows come from, their names and their figures."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from support.spark_jobs import SPARK_VERSION, Jobs

# In the check, those of test_stream_batches.py run.
pytestmark = [pytest.mark.any_spark, pytest.mark.long]


@pytest.fixture(scope="module")
def job(real_spark, tmp_path_factory):
    done = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp).run("streams.py", submit=False)
    assert done.code == 0, done.stderr[-3000:]
    return done


def completed(job, *words):
    """Give the events that end the runs of which the job's name has these words in it."""
    names = [(event["job"]["name"], event) for event in job.queries() if event["eventType"] == "COMPLETE"]
    return [event for name, event in names if all(word in name for word in words)]


def edges(output):
    """Give the fields that each column comes from."""
    found = output["facets"]["columnLineage"]["fields"].items()
    return {name: [f["field"] for f in column["inputFields"]] for name, column in found}


def influences(output):
    """Give the columns that decide about all rows: the dataset's last name, the field and how."""
    found = output["facets"]["columnLineage"].get("dataset", [])
    return {(Path(f["name"]).name, f["field"], t["subtype"]) for f in found for t in f["transformations"]}


def rows(event):
    return [each["outputFacets"]["outputStatistics"]["rowCount"] for each in event["outputs"]]


@pytest.mark.parametrize(
    ("name", "output"),
    [("rate_file_", "rate_file"), ("rate_foreach_", "rate_foreach"), ("rate_batches", "rate_batches")],
)
def test_a_stream_of_generated_rows_reads_no_dataset_and_its_job_is_named_by_what_it_writes(job, name, output):
    (event,) = completed(job, "first.streaming_query.", name)

    assert event["inputs"] == []
    assert [Path(each["name"]).name for each in event["outputs"]] == [output]
    assert Path(event["outputs"][0]["name"]).is_absolute()
    assert [column["inputFields"] for column in event["outputs"][0]["facets"]["columnLineage"]["fields"].values()] == [
        []
    ]
    assert "extractionError" not in event["run"]["facets"]
    assert rows(event)[0] > 0


@pytest.mark.skipif(SPARK_VERSION < "4", reason="there are no data sources in Python before Spark 4")
def test_a_data_source_in_python_has_one_name_in_batches_and_streams_read_and_written(job):
    (batch,), (stream,) = completed(job, "append_data.numbers"), completed(job, "streaming_query.numbers")

    for event, count in ((batch, 3), (stream, 4)):
        datasets = event["inputs"] + event["outputs"]
        assert [(each["namespace"], each["name"]) for each in datasets] == [("datasource:PythonTable", "numbers")] * 2
        assert [f["field"] for f in event["outputs"][0]["facets"]["columnLineage"]["fields"]["n"]["inputFields"]] == [
            "n"
        ]
        assert rows(event) == [event["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"]] == [count]
        assert "extractionError" not in event["run"]["facets"]


def test_a_table_has_one_spelling_in_the_names_of_jobs_and_in_its_own(job):
    events = completed(job, "second.")
    outputs = [output for event in events for output in event["outputs"]]

    assert len(events) == 2
    assert {event["job"]["name"].rpartition(".")[2] for event in events} == {"default_mixed_case"}
    assert {link["name"] for output in outputs for link in output["facets"]["symlinks"]["identifiers"]} == {
        "default.mixed_case"
    }
    assert len({output["name"] for output in outputs}) == 1


def test_a_join_of_streams_has_the_columns_of_both_and_what_they_are_joined_by(job):
    (event,) = completed(job, "third.streaming_query.", "joined")
    (output,) = event["outputs"]

    assert [Path(each["name"]).name for each in event["inputs"]] == ["visits", "sales"]
    assert edges(output) == {"k": ["k"], "both": ["w", "v"]}
    assert influences(output) == {("sales", "n", "JOIN"), ("sales", "since", "JOIN"), ("visits", "at", "JOIN"),
                                  ("visits", "k", "JOIN")}  # fmt: skip
    assert rows(event) == [3]


def test_rows_that_are_dropped_from_a_stream_are_so_by_their_keys(job):
    (event,) = completed(job, "third.streaming_query.", "deduplicated")
    (output,) = event["outputs"]

    assert edges(output) == {"k": ["k"], "v": ["v"]}
    assert influences(output) == {("visits", "k", "GROUP_BY")}
    assert rows(event) == [3]


def test_code_that_keeps_a_state_has_groups_and_no_edge_of_its_own(job):
    event, _ = completed(job, "third.streaming_query.", "counted")
    (output,) = event["outputs"]

    assert {name: sorted(set(each)) for name, each in edges(output).items()} == {
        "k": ["at", "k", "v"],
        "n": ["at", "k", "v"],
    }
    assert influences(output) == {("visits", "k", "GROUP_BY")}


@pytest.mark.skipif(SPARK_VERSION < "4", reason="there is no source of states before Spark 4")
def test_a_state_has_the_same_name_whichever_batch_it_is_read_at(job):
    for name in ("latest_state", "first_state"):
        (event,) = completed(job, "third.", name)
        place = f"{job.folder}/state/counted/state/0"
        assert [(each["namespace"], each["name"]) for each in event["inputs"]] == [("file", place)]
        assert edges(event["outputs"][0]) == {"k": ["key"]}


def test_a_socket_is_a_dataset_of_lines(job):
    (event,) = completed(job, "third.streaming_query.", "told")

    assert [(each["namespace"].rpartition(":")[0], each["name"]) for each in event["inputs"]] == [
        ("socket://127.0.0.1", "lines")
    ]
    assert edges(event["outputs"][0]) == {"value": ["value"]}
    assert rows(event) == [2]


def test_an_application_ends_with_its_context_and_not_when_the_next_one_or_the_script_is_over(job):
    told = [event["eventTime"].replace("Z", "+00:00") for event in job.application()]
    times = [datetime.datetime.fromisoformat(time) for time in told]

    assert [event["eventType"] for event in job.application()] == ["START", "COMPLETE"] * 3
    assert times == sorted(times)
    # The script tells the time after its last context.
    assert times[5].timestamp() <= float(job.stdout.split()[-1])
