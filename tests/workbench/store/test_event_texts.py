"""The text of an event comes back byte for byte, whatever it is packed against, and takes little room."""

from __future__ import annotations

import copy
import functools
import json
import random
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.store.events import ingest
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.sqlite.event_texts import pack, unpack
from support.lineage_events import at, company, dataset, run_event, text_of_events
from support.recorded_events import recorded_events

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "facets"


@functools.cache
def golden_texts() -> list[str]:
    """Return the texts of the golden events, and of some of the recorded plans."""
    whole = json.loads((GOLDEN / "full_event.json").read_text("utf-8"))
    return [json.dumps(each) for each in (whole, *recorded_events()[::8])]


def oddly(event: dict[str, Any], chance: random.Random) -> str:
    """Return an event as some producer may write it: spaces, another order, keys twice, large numbers, half pairs."""
    changed = copy.deepcopy(event)
    facet = {
        "n": chance.choice([10**40, 1.5e300, -0.0]),
        "t": chance.choice(["\u00e9", "\U0001f600", "\ud800", "\x00"]),
    }
    changed["run"]["facets"]["odd"] = facet
    changed["job"]["facets"]["inputs"] = {"inputs": "x"}
    items = list(changed.items())
    chance.shuffle(items)
    spaces: dict[str, Any] = chance.choice([{}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}])
    text = json.dumps(dict(items), **spaces)
    twice = chance.choice(['"inputs": 1, ', '"outputs":[], ', '"x": 1, "x": 2, ', '"in\\u0070uts": [], ', ""])
    return chance.choice([text, f"{{{twice}{text[1:]}", f"  {text}\t"])


def kept(path: Path) -> set[str]:
    """Return the texts of a store's events."""
    with Database(path, read_only=True) as database:
        return {text for (text,) in database.query("SELECT json FROM event")}


def generated(seed: int) -> list[str]:
    """Return the texts of events of a made-up company, as all kinds of producers write them."""
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    return [oddly(event, chance) for event in company(seed) for _ in range(2)]


def cut(texts: list[str], seed: int) -> list[str]:
    """Return texts of which each one is damaged in a place."""
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    found = []
    for text in texts:
        place = chance.randrange(len(text))
        found.append(text[:place] + chance.choice(["", "x", "}", '"', "\\ud800"]) + text[place + chance.randrange(3) :])
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2, 3))])
@pytest.mark.slow
def test_each_text_comes_back_as_it_arrived(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "_MOST_LINES", 30)
    texts = [*golden_texts(), *generated(seed)]
    texts += cut(texts, seed)
    random.Random(seed).shuffle(texts)  # noqa: S311 (a test's choice)
    with Database(tmp_path / "s.db") as database:
        found = take(database, [EventLine("test", text) for text in texts])
        refused = {text for (text,) in database.query("SELECT text FROM rejected")}
    assert found.events > len(texts) / 3
    assert found.rejected > len(texts) / 10
    whole = {text.strip() for text in texts} - refused
    assert kept(tmp_path / "s.db") == {text for text in whole if text[:10_000] not in refused}


@pytest.mark.slow
def test_each_text_comes_back_from_a_store_that_was_rebuilt(tmp_path: Path) -> None:
    texts = [*golden_texts(), *generated(1)]
    with Database(tmp_path / "s.db") as database:
        take(database, [EventLine("test", text) for text in texts])
        before = kept(tmp_path / "s.db")
        assert database.rebuild() == len(before)
        assert kept(tmp_path / "s.db") == before
        # What others are packed against goes, and they stay.
        gone = [each for (each,) in database.query("SELECT event_id FROM event ORDER BY time LIMIT 100")]
        marks = ",".join("?" * len(gone))
        texts_gone = {text for (text,) in database.query(f"SELECT json FROM event WHERE event_id IN ({marks})", gone)}
        assert database.forget(lambda: gone) == 100
    assert kept(tmp_path / "s.db") == before - texts_gone


def random_texts(chance: random.Random) -> Iterator[tuple[bytes, bytes]]:
    """Yield texts with texts like them, of any length."""
    for _ in range(200):
        base = chance.randbytes(chance.choice((0, 1, 100, 5_000, 40_000, 100_000)))
        place = chance.randrange(len(base) + 1)
        text = base[:place] + chance.randbytes(chance.randrange(20)) + base[place:]
        mark = chance.choice((b"", b'"inputs":'))
        yield text + mark + base[:100], chance.choice((base, base + mark + base[:100], b""))


@pytest.mark.slow
def test_what_is_packed_is_unpacked(tmp_path: Path) -> None:
    for text, base in random_texts(random.Random(1)):  # noqa: S311 (a test's choice)
        assert unpack(pack(text, base), base) == text


def repeated(texts: list[str], times: int) -> list[str]:
    """Return events again and again, as the runs of another day tell them: ids, times and counts are other ones."""
    found = []
    for number in range(times):
        ids: dict[str, str] = {}
        for text in texts:
            event = json.loads(text)
            event["eventTime"] = at(number)
            if "run" in event:
                old = event["run"]["runId"]
                event["run"]["runId"] = ids.setdefault(old, str(uuid.UUID(int=hash((old, number)) & ((1 << 128) - 1))))
            for output in event.get("outputs", ()):
                facets = output.setdefault("outputFacets", {})
                facets["outputStatistics"] = {"rowCount": 1_000 + number, "size": 7 * number}
            found.append(json.dumps(event))
    return found


def _recorded() -> list[str]:
    return golden_texts()


def _company() -> list[str]:
    return text_of_events(company(1)).splitlines()


@pytest.mark.parametrize("texts", [_recorded, _company])
@pytest.mark.slow
def test_a_store_of_runs_that_repeat_is_a_quarter_of_their_text(tmp_path: Path, texts: Callable[[], list[str]]) -> None:
    every = repeated(texts(), 50)
    with Database(tmp_path / "s.db") as database:
        assert take(database, [EventLine("test", text) for text in every]).rejected == 0
        database.shrink()
        assert database.size() < sum(map(len, every)) / 4


def test_who_opens_the_file_without_this_package_is_told_that_there_are_no_texts(tmp_path: Path) -> None:
    with Database(tmp_path / "s.db") as database:
        take(database, [EventLine("test", text_of_events([run_event("j", "START", 1, outputs=(dataset("t"),))]))])
        assert len(database.query("SELECT json FROM event")) == 1
    with closing(sqlite3.connect(tmp_path / "s.db")) as connection:
        assert connection.execute("SELECT type FROM event").fetchall() == [("START",)]
        with pytest.raises(sqlite3.OperationalError, match="no such column: json"):
            connection.execute("SELECT json FROM event")
