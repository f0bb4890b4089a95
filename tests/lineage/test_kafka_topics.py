"""What the events of a real job say of Kafka's topics, on a real broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import checkpoints, kafka
from support.spark_jobs import Jobs, short_name

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def job(packaged, broker, tmp_path_factory):
    for topic in ("clicks", "views", "out", "second"):
        broker.create(topic)
    jars = f"{packaged(kafka.CONNECTOR)},{broker.jars / f'kafka-clients-{kafka.VERSION}.jar'}"
    jobs = Jobs(Path(__file__).parent / "jobs", tmp_path_factory.mktemp)
    done = jobs.run("kafka.py", broker.address, conf={"spark.jars": jars})
    assert done.code == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def runs(job):
    """Give the events of runs that were completed, by what ends the job's name."""
    return {short_name(e).split(".", 1)[1]: e for e in job.queries() if e["eventType"] == "COMPLETE"}


def named(datasets, broker):
    """Give the names of topics, and the last parts of paths."""
    topics = f"kafka://{broker.address}"
    return [d["name"] if d["namespace"] == topics else Path(d["name"]).name for d in datasets]


def edges(output):
    """Give the columns of a topic that each column comes from."""
    found = output["facets"]["columnLineage"]["fields"].items()
    return {name: sorted(f"{f['name']}.{f['field']}" for f in column["inputFields"]) for name, column in found}


def rows(datasets, kind):
    return [(d.get(f"{kind}Facets") or {}).get(f"{kind}Statistics", {}).get("rowCount") for d in datasets]


def of(runs, end):
    (found,) = [event for name, event in runs.items() if f"{name.partition('.')[2]}_".startswith(end)]
    return found


BOTH = ["clicks.value", "views.value"]


def test_events_are_whole_and_tell_no_secret(job, violations):
    assert violations(job.events()) == []
    assert "canary" not in (job.folder / "events.ndjson").read_text("utf-8")


@pytest.mark.parametrize(
    ("run", "topics", "column", "columns"),
    [
        ("subscribed_", ["clicks", "views"], "said", BOTH),
        ("assigned_", ["clicks"], "said", ["clicks.value"]),
        ("of_table_", ["clicks"], "value", ["clicks.value"]),
        ("of_second_", ["second"], "said", ["second.value"]),
    ],
)
def test_a_batch_reads_the_topics_that_its_options_name(job, runs, broker, run, topics, column, columns):
    event = of(runs, f"{job.folder.name}_{run}")

    assert [named(event["inputs"], broker), edges(event["outputs"][0])] == [topics, {column: columns}]
    assert [d["facets"]["datasetType"]["datasetType"] for d in event["inputs"]] == ["TOPIC"] * len(topics)
    assert "extractionError" not in event["run"]["facets"]


def test_which_topics_match_the_pattern_of_a_batch_is_not_known_and_said(job, runs):
    event = of(runs, f"{job.folder.name}_matched_")

    assert event["inputs"] == []
    assert [e["errorMessage"] for e in event["run"]["facets"]["extractionError"]["errors"]] == [
        "the topics are given by a pattern: which topics match it is unknown"
    ]


def test_a_topic_is_written_by_a_batch(runs, broker):
    for name in ("execute_save_into_data_source_command.clicks", "append_data.second"):
        assert named(runs[name]["outputs"], broker) == [name.partition(".")[2]]
        assert edges(runs[name]["outputs"][0]) == {"key": [], "value": []}


def test_what_rows_name_as_their_topic_is_not_known_and_said(runs):
    errors = (event["run"]["facets"].get("extractionError", {"errors": []})["errors"] for event in runs.values())
    messages = [each["errorMessage"] for several in errors for each in several]
    assert messages.count("Kafka topics named in the rows: what it writes is unknown") == 1


@pytest.mark.parametrize(
    ("query", "topics", "columns", "output", "read", "written"),
    [
        ("subscribed", ["clicks", "views"], BOTH, "s_subscribed", [None, None], 6),
        ("assigned", ["clicks"], ["clicks.value"], "s_assigned", [3], 3),
        ("matched", ["clicks", "views"], BOTH, "out", [None, None], 6),
    ],
)
def test_a_stream_reads_topics_and_counts_each_row_once(
    job, runs, broker, query, topics, columns, output, read, written
):
    event = runs[f"streaming_query.{query}"]

    assert [named(event["inputs"], broker), named(event["outputs"], broker)] == [topics, [output]]
    assert edges(event["outputs"][0]) == {"value": columns}
    assert [rows(event["inputs"], "input"), rows(event["outputs"], "output")] == [read, [written]]
    assert Path(event["outputs"][0]["name"]).is_absolute() is (output != "out")
    assert "extractionError" not in event["run"]["facets"]


def test_a_stream_by_the_older_kind_of_source_has_its_topics_and_no_columns(runs, broker):
    event = runs["streaming_query.by_v1"]

    assert sorted(named(event["inputs"], broker)) == ["clicks", "views"]
    assert [edges(event["outputs"][0]), rows(event["outputs"], "output")] == [{"value": []}, [6]]
    assert [e["errorMessage"] for e in event["run"]["facets"]["extractionError"]["errors"]] == [
        "the rows come from an RDD: its inputs are known, its columns are not"
    ]


def test_what_passes_through_an_rdd_in_a_micro_batch_comes_from_its_topic(runs, broker):
    event = runs["streaming_query.through"]

    assert [named(event["inputs"], broker), edges(event["outputs"][0])] == [["clicks"], {"word": []}]


def test_two_outputs_of_one_stream_have_their_own_figures(job, runs, broker):
    event = of(runs, f"{job.folder.name}_all_")

    # What is not persisted is read for each of the two writes.
    assert [named(event["inputs"], broker), rows(event["inputs"], "input")] == [["clicks"], [6]]
    assert [named(event["outputs"], broker), rows(event["outputs"], "output")] == [["all", "some_rows"], [3, 1]]
    assert [edges(output) for output in event["outputs"]] == [{"value": ["clicks.value"]}] * 2
    sizes = [output["outputFacets"]["outputStatistics"]["size"] for output in event["outputs"]]
    assert sizes[0] > sizes[1] > 0


def batches(job, name):
    """Give what the micro-batches of a query read: batch, topic, offsets from and to, rows."""
    facets = [event["run"]["facets"].get("pyspark_micro_batches", {}) for event in job.queries()]
    of_query = [each for facet in facets if facet.get("queryName") == name for each in facet["batches"]]
    return [
        (
            batch["batchId"],
            source.get("name"),
            *(json.loads(source[key] or "{}") for key in ("from", "to")),
            source.get("rows"),
        )
        for batch in of_query
        for source in batch["sources"]
    ]


@pytest.mark.parametrize(
    ("query", "topics"),
    [
        # The first batch of a query has no offset to begin with: of two topics it can't be told how much of each it is.
        ("subscribed", {"clicks": None, "views": None}),
        ("assigned", {"clicks": 3}),
        ("matched", {"clicks": None, "views": None}),
        ("by_v1", {"clicks": None, "views": None}),
    ],
)
def test_the_offsets_of_each_topic_are_those_of_the_checkpoint(job, query, topics):
    told = batches(job, query)
    logged = checkpoints.ranges(job.folder / "state" / query)

    assert len(logged) == 1
    for each in logged:
        of_batch = [found for found in told if found[0] == each.batch]
        assert {topic: rows for _, topic, _, _, rows in of_batch} == topics
        parts = {topic: to[topic] for _, topic, _, to, _ in of_batch}
        assert parts == json.loads(each.end or "{}")
