"""What the offsets of streams say."""

from __future__ import annotations

import json

import pytest
from openlineage_pyspark.facets.datasets.stream_offsets import by_topic, messages_between, of_topic, version_read


def iceberg(snapshot: int, position: int) -> str:
    return json.dumps({"version": 1, "snapshot_id": snapshot, "position": position, "scan_all_files": False})


def delta(version: int, index: int, *, begins: bool = False) -> str:
    own = {"reservoirId": "be48", "reservoirVersion": version, "index": index, "isStartingVersion": begins}
    return json.dumps({"sourceVersion": 1, **own})


@pytest.mark.parametrize(
    ("offset", "version"),
    [
        (iceberg(670051821130434080, 2), "670051821130434080"),
        (iceberg(7935214252273038577, 0), None),
        (iceberg(-1, 0), None),
        (delta(3, 0, begins=True), "3"),
        (delta(3, 5, begins=True), "3"),
        (delta(4, -1), "3"),
        (delta(4, 7), "4"),
        (delta(3, -1, begins=True), None),
        (delta(4, -100), "3"),
        (delta(4, -20), "3"),
        (delta(0, -1), None),
        ('{"logOffset":3}', None),
        ('{"clicks":{"0":7}}', None),
        ('{"reservoirVersion":true,"index":0}', None),
        ("17", None),
        ("no JSON", None),
        (None, None),
    ],
)
def test_the_version_is_the_last_one_of_which_something_was_read(offset: str | None, version: str | None) -> None:
    assert version_read(offset) == version


def test_the_offset_of_several_topics_has_a_part_for_each() -> None:
    start, end = '{"b":{"0":1,"1":2},"a":{"0":0}}', '{"b":{"0":4,"1":2},"a":{"0":5}}'

    assert [of_topic(end, each) for each in ("a", "b", "c")] == ['{"a":{"0":5}}', '{"b":{"0":4,"1":2}}', None]
    assert [messages_between(start, end, each) for each in ("a", "b", "c")] == [5, 3, None]
    assert messages_between(None, end, "a") is None
    assert messages_between('{"a":{}}', end, "a") is None


@pytest.mark.parametrize("offset", ['{"logOffset":3}', '{"a":{"0":"x"}}', '{"a":{"0":1},"b":2}', "[]", "{}", None])
def test_what_is_no_offset_of_topics_has_none(offset: str | None) -> None:
    assert by_topic(offset) is None
