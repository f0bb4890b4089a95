"""The facet with the micro-batches of a stream: its schema, what is hidden in it, and what is cut from it."""

from __future__ import annotations

import datetime as dt
import importlib.resources
import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage_pyspark.facets.events.build import build_event, serialise_within
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.model.micro_batch import BatchSink, BatchSource, MicroBatch, StreamingQuery
from openlineage_pyspark.facets.model.run import RunState
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted

NAME = "pyspark_micro_batches"
SCHEMA = importlib.resources.files("openlineage_pyspark.facets.events").joinpath(
    "schemas/PySparkMicroBatchesRunFacet.json"
)
CORE = Path(__file__).parents[3] / "shared" / "spec" / "OpenLineage.json"
ORDERS, OUT = Identifier("kafka://h 1:9092", "orders"), Identifier("file", "/out")
TIME = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, dt.timezone.utc)
FULL = MicroBatch(
    7,
    TIME,
    12,
    3,
    TIME,
    (
        BatchSource("KafkaV2[Subscribe[orders]]", ORDERS, '{"orders":{"0":1}}', '{"orders":{"0":4}}', "9", 3),
        BatchSource("RateStreamV2"),
    ),
    (BatchSink(OUT, None, "18", "17", 3, "OVERWRITE"), BatchSink(description="ConsoleTable")),
)
BARE = MicroBatch(8, TIME)
STREAM = StreamingQuery("query", "run", "shop", "s3://b/check", True, (FULL, BARE))  # noqa: FBT003


@pytest.fixture
def state(full_run: tuple[RunState, RunState]) -> RunState:
    return attrs.evolve(full_run[0], event_type="RUNNING", stream=STREAM)


def facet(state: RunState, options: EventOptions | None = None) -> Any:
    options = options or EventOptions()
    event = json.loads(serialise(build_event(redacted(state, options.redaction), options)))
    return event["run"]["facets"].get(NAME)


def problems(told: Any) -> list[str]:
    """Give what the facet's published schema has against a facet."""
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    if not CORE.exists():
        pytest.skip("the specification's schemas are not there")
    documents = [json.loads(SCHEMA.read_text("utf-8")), json.loads(CORE.read_text("utf-8"))]
    registry = Registry().with_resources([(each["$id"], Resource.from_contents(each)) for each in documents])
    validator = Draft202012Validator({"$ref": told["_schemaURL"]}, registry=registry)
    return [error.message for error in validator.iter_errors(told)]


def test_a_full_facet_is_valid_and_says_all(state: RunState, specification: Any) -> None:
    told = facet(state)

    assert problems(told) == []
    assert {key: value for key, value in told.items() if not key.startswith("_")} == {
        "queryId": "query",
        "queryRunId": "run",
        "queryName": "shop",
        "checkpoint": "s3://b/check",
        "continues": True,
        "batches": [
            {
                "batchId": 7,
                "time": "2026-01-02T03:04:05.678Z",
                "durationMs": 12,
                "rows": 3,
                "watermark": "2026-01-02T03:04:05.678Z",
                "sources": [
                    {
                        "namespace": "kafka://h_1:9092",
                        "name": "orders",
                        "description": "KafkaV2[Subscribe[orders]]",
                        "from": '{"orders":{"0":1}}',
                        "to": '{"orders":{"0":4}}',
                        "version": "9",
                        "rows": 3,
                    },
                    {"description": "RateStreamV2", "from": None, "to": None},
                ],
                "sinks": [
                    {
                        "namespace": "file",
                        "name": "/out",
                        "version": "18",
                        "parent": "17",
                        "rows": 3,
                        "change": "OVERWRITE",
                    },
                    {"description": "ConsoleTable"},
                ],
            },
            {"batchId": 8, "time": "2026-01-02T03:04:05.678Z", "sources": [], "sinks": []},
        ],
    }


@pytest.mark.parametrize(
    "spoil",
    [
        lambda told: told.pop("queryId"),
        lambda told: told["batches"][0].update(batchId="7"),
        lambda told: told["batches"][0]["sources"][0].pop("namespace"),
        lambda told: told["batches"][0]["sinks"][0].update(more=1),
        lambda told: told.pop("_producer"),
    ],
)
def test_the_schema_finds_what_is_wrong(state: RunState, spoil: Any) -> None:
    told = facet(state)
    spoil(told)

    assert len(problems(told)) == 1


def test_what_is_not_known_of_a_query_is_left_out(state: RunState) -> None:
    told = facet(attrs.evolve(state, stream=StreamingQuery("query", "run")))

    assert problems(told) == []
    assert [key for key in told if not key.startswith("_")] == ["queryId", "queryRunId", "continues", "batches"]


def test_it_can_be_disabled_as_any_other(state: RunState) -> None:
    assert facet(state, EventOptions(disabled=frozenset({NAME}))) is None
    assert facet(attrs.evolve(state, stream=None)) is None


def test_secrets_in_descriptions_and_offsets_are_hidden_and_offsets_stay_json(state: RunState) -> None:
    login = "s3://me:s3cr3t@b/x"
    offset = json.dumps({"path": login, "password": "s3cr3t", "token": {"0": 5}, "list": ["k9-known"]})
    source = BatchSource(f"FileStreamSource[{login}]", None, f"no JSON: {login}", offset)
    batch = MicroBatch(1, TIME, sources=(source,), sinks=(BatchSink(description=f"Sink[{login}]"),))
    stream = attrs.evolve(STREAM, name="k9-known", checkpoint=f"{login}/check", batches=(batch, batch))
    options = EventOptions(redaction=Redaction(known=("k9-known",)))
    told = facet(attrs.evolve(state, stream=stream), options)

    assert "s3cr3t" not in json.dumps(told)
    assert "k9-known" not in json.dumps(told)
    assert told["checkpoint"] == "s3://***@b/x/check"
    (read,) = told["batches"][1]["sources"]
    assert read["description"] == "FileStreamSource[s3://***@b/x]"
    assert json.loads(read["to"]) == {
        "path": "s3://***@b/x",
        "password": "***",
        "token": {"0": 5},
        "list": ["***"],
    }
    once = redacted(attrs.evolve(state, stream=stream), options.redaction)
    assert redacted(once, options.redaction) == once


def test_an_offset_without_a_secret_stays_as_it_was_written(state: RunState) -> None:
    offset = '{ "version" : 1,"reservoirId":"be4821f8-4def-4bce-be34-0f7ada3fc031" }'
    batch = MicroBatch(1, TIME, sources=(BatchSource("s", None, "17", offset),))
    told = facet(attrs.evolve(state, stream=attrs.evolve(STREAM, batches=(batch,))))

    assert [told["batches"][0]["sources"][0][key] for key in ("from", "to")] == ["17", offset]


def test_an_event_that_is_too_large_keeps_its_newest_offsets_longest(state: RunState) -> None:
    def batch(number: int) -> MicroBatch:
        return MicroBatch(number, TIME, sources=(BatchSource("s", None, None, "x" * 1000),))

    small = attrs.evolve(state, inputs=(), outputs=(), gaps=(), stream=attrs.evolve(STREAM, batches=(batch(0),)))
    large = attrs.evolve(small, stream=attrs.evolve(STREAM, batches=tuple(batch(n) for n in range(40))))
    options = EventOptions(max_bytes=30_000)
    event = json.loads(serialise_within(build_event(redacted(large, Redaction()), options), options).body)
    told = event["run"]["facets"][NAME]

    assert problems(told) == []
    assert [each["batchId"] for each in told["batches"]] == list(range(40))
    kept = [each["sources"][0]["to"] is not None for each in told["batches"]]
    assert kept == sorted(kept)
    assert 0 < sum(kept) < 40
    tasks = [error["task"] for error in event["run"]["facets"]["extractionError"]["errors"]]
    assert tasks[-1] == "offsets of micro-batches, those of the first ones first"
