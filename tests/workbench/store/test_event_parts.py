"""The parser that remembers facets gives what the plain parser gives."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from openlineage_pyspark.workbench.store.events.parts import EventPart, PartParser, RepeatedDataset
from openlineage_pyspark.workbench.store.events.rows import read_event
from support.lineage_events import company


def _variant(event: dict[str, Any], chance: random.Random) -> str:
    """Return an event as another producer writes it: other spaces, another order, other values."""
    changed = copy.deepcopy(event)
    changed["run"]["facets"]["properties"] = {"a": chance.choice([1, 1.5, None, True, 'q"uote', "\u00e9\ud83d\ude00"])}
    changed["run"]["facets"]["long"] = {"text": "x" * 100, "number": chance.randrange(2)}
    for each in (*changed["inputs"], *changed["outputs"]):
        each["facets"]["version"] = {"datasetVersion": str(chance.randrange(3)), "why": "x" * 80}
        if chance.random() < 0.2:
            del each["facets"]
        elif chance.random() < 0.2:
            each["facets"] = chance.choice([{}, None, [], "none"])
    items = list(changed.items())
    chance.shuffle(items)
    spaces: dict[str, Any] = chance.choice(
        [{}, {"indent": 1}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}]
    )
    return json.dumps(dict(items), ensure_ascii=chance.random() < 0.5, **spaces)


def _plain(event: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return an event with its datasets as parsed JSON."""
    if event is None:
        return None
    return {
        key: [each.parsed if isinstance(each, RepeatedDataset) else each for each in value]
        if isinstance(value, list)
        else value
        for key, value in event.items()
    }


@pytest.mark.parametrize("seed", range(3))
def test_it_gives_the_same_event_and_the_same_rows_as_the_plain_parser(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    parser = PartParser()
    for event in company(seed) * 3:
        text = _variant(event, chance)
        parsed, plain = parser.parse(text), json.loads(text)
        assert parsed is not None
        assert _plain(parsed) == plain
        found, expected = read_event(parsed), read_event(plain)
        assert (found.rows, found.mentions, found.span) == (expected.rows, expected.mentions, expected.span)


def test_what_stands_there_again_is_the_same_object() -> None:
    parser = PartParser()
    event = company(1)[0]
    parsed = []
    for version in ("1", "2", "3", "3"):
        event["outputs"][0]["facets"]["version"] = {"datasetVersion": version}
        found = parser.parse(json.dumps(event))
        assert found is not None
        assert _plain(found) == event
        parsed.append(found["outputs"][0])
    # A dataset that changed is looked at facet by facet.
    assert isinstance(parsed[1].parsed["facets"]["schema"], EventPart)
    assert parsed[2].parsed["facets"]["schema"] is parsed[1].parsed["facets"]["schema"]
    assert parsed[3] is parsed[2]


def test_a_dataset_in_the_same_words_is_read_for_each_job() -> None:
    parser = PartParser()
    events = [copy.deepcopy(event) for event in company(1)[:1] * 2]
    events[1]["job"]["name"] = "another"
    # Before the job is known, the place is the same.
    texts = [json.dumps({"outputs": event["outputs"], **event}) for event in events]
    found = [parser.parse(text) for text in texts]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0]["outputs"][0] is found[1]["outputs"][0]
    assert [read_event(event).mentions for event in found if event] == [read_event(event).mentions for event in events]


def test_a_facet_that_changed_is_parsed_again() -> None:
    parser = PartParser()
    text = json.dumps(company(1)[0])
    parser.parse(text)
    changed = text.replace('"int"', '"string"')
    assert _plain(parser.parse(changed)) == json.loads(changed)
    # The beginning of a text that was seen is another value.
    longer = '{"run": {"facets": {"a": {"k": "%s"}}}}'
    assert parser.parse(longer % ("x" * 70)) == json.loads(longer % ("x" * 70))
    assert parser.parse(longer % ("x" * 71)) == json.loads(longer % ("x" * 71))


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "1", '{"a": 1', '{"a": 1} x', '{"a": 1,}', '{"run": {"facets": {"a": }}}', '{"inputs": [{},'),
        *(
            '{"inputs": [{"a": 1} {"b": 2}]}',
            '{"a": 1, "a\\u0062": 1}',
            '{"a": 1]',
            "[" * 100_000,
            '{"a": ' + "[" * 100_000,
        ),
    ],
)
def test_what_is_no_event_or_rarely_written_is_left_to_the_plain_parser(text: str) -> None:
    assert PartParser().parse(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("{}", ' {"a": NaN} ', '{"inputs": []}', '{"inputs": [{}]}', '{"inputs": [1, {}]}', '{"inputs": {"a": 1}}'),
        *('{"run": null}', '{"run": {"facets": []}}', '{"a": 1, "a": 2}', '{"job": {"facets": {}}, "dataset": {}}'),
        '{"inputs": [{"name": "a"}, 5]}',
    ],
)
def test_valid_texts_of_any_shape_are_parsed(text: str) -> None:
    assert repr(_plain(PartParser().parse(text))) == repr(json.loads(text))


def test_what_is_remembered_has_a_limit() -> None:
    parser = PartParser()
    for number in range(100):
        parser.parse(
            json.dumps({"job": {"namespace": "n", "name": str(number), "facets": {"sql": {"q": "x" * 500_000}}}})
        )
    held = {*parser._facet_memory._known, *parser._facet_memory._older}
    assert 8 <= len(held) <= 18
    assert ("n", "99", "sql") in held
