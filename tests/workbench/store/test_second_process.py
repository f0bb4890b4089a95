"""Many events are read in a second process, whatever becomes of that one."""

from __future__ import annotations

import itertools
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.store.events import portions as portions_module
from openlineage_pyspark.workbench.store.events.ingest import Ingested, lines_of, take
from openlineage_pyspark.workbench.store.events.portions import EventLine, portions
from openlineage_pyspark.workbench.store.events.rows import Rows
from openlineage_pyspark.workbench.store.events.second_process import portions_beside
from openlineage_pyspark.workbench.store.sqlite import Database
from support.lineage_events import company, text_of_events

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in Linux's /proc")

_BATCH = 20
# It goes on until somebody ends it.
_ENDLESS = """
import itertools
from openlineage_pyspark.workbench.store.events import portions
from openlineage_pyspark.workbench.store.events.second_process import portions_beside
portions._MOST_LINES = 20
for portion in portions_beside(portions.EventLine("", "{}") for _ in itertools.count()):
    print(len(portion.reasons), flush=True)
"""


@pytest.fixture(autouse=True)
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portions_module, "_MOST_LINES", _BATCH)


def _lines(count: int) -> list[EventLine]:
    """Return events, of which each fourth line is none, and one has half of a surrogate pair."""
    texts = text_of_events(company(1, jobs=5 * _BATCH)).splitlines()
    texts[::4] = ["no event"] * len(texts[::4])
    texts[2] = texts[2].replace('"lake"', '"\\ud800"')
    return [EventLine(f"file:{number}", text) for number, text in enumerate(texts[:count], 1)]


def _rows(found: Iterator[portions_module.Portion]) -> list[Rows]:
    return [portion.all_rows() for portion in found]


def _state(process: int) -> tuple[str, int]:
    """Return the state of a process, and its parent."""
    state, parent = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:2]
    return state, int(parent)


def _children(parent: int = 0) -> list[int]:
    """Return the ids of the second processes of a process, by default of this one, that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, above = _state(int(folder.name))
            is_second = b"second_process" in (folder / "cmdline").read_bytes()
            if is_second and above == (parent or os.getpid()) and state != "Z":
                found.append(int(folder.name))
    return found


def _child(parent: int = 0) -> int:
    """Return the id of the only second process of a process, by default of this one."""
    # A process that has just been started has no command line for a moment.
    for _ in range(200):
        if found := _children(parent):
            break
        time.sleep(0.05)
    (child,) = found
    return child


def _has_ended(process: int) -> bool:
    """Return whether a process has ended, or does within some seconds."""
    for _ in range(200):
        try:
            state, _ = _state(process)
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("count", [0, 1, _BATCH, _BATCH + 1, 5 * _BATCH])
def test_the_rows_are_those_of_one_process(count: int) -> None:
    assert _rows(portions_beside(iter(_lines(count)))) == _rows(portions(_lines(count)))
    assert _children() == []


def test_one_portion_needs_no_second_process() -> None:
    running = [len(_children()) for _ in portions_beside(_lines(_BATCH))]
    assert running == [0]
    several = [_child() for _ in portions_beside(_lines(3 * _BATCH))]
    assert several == several[:1] * 3


def test_if_it_is_killed_nothing_is_lost_or_doubled(caplog: pytest.LogCaptureFixture) -> None:
    def lines() -> Iterator[EventLine]:
        for number, line in enumerate(_lines(6 * _BATCH)):
            if number == 3 * _BATCH:
                child = _child()
                os.kill(child, signal.SIGKILL)
                assert _has_ended(child)
            yield line

    with caplog.at_level(logging.WARNING):
        found = _rows(portions_beside(lines()))
    assert found == _rows(portions(_lines(6 * _BATCH)))
    (record,) = caplog.records
    assert record.getMessage() == (
        "The process that reads events beside the one that writes them ended with -9. They are read here, which takes "
        "longer."
    )


def test_if_it_can_not_start_the_events_are_read_here(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    for interpreter in (str(tmp_path / "none"), "/bin/false"):
        caplog.clear()
        monkeypatch.setattr(sys, "executable", interpreter)
        with caplog.at_level(logging.WARNING):
            assert _rows(portions_beside(_lines(3 * _BATCH))) == _rows(portions(_lines(3 * _BATCH)))
        assert len(caplog.records) == 1


def test_it_ends_when_the_portions_are_not_wanted_any_more() -> None:
    found = portions_beside(EventLine("", "{}") for _ in itertools.count())
    next(found)
    child = _child()
    assert isinstance(found, Generator)
    found.close()
    assert _has_ended(child)


def test_it_ends_with_a_process_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-I", "-c", _ENDLESS], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == [b"20\n"] * 3
        child = _child(process.pid)
        process.kill()
    assert _has_ended(child)


def test_a_store_is_the_same_and_the_counts_are(tmp_path: Path) -> None:
    (tmp_path / "events.ndjson").write_text("\n".join(line.text for line in _lines(5 * _BATCH)))
    found: list[Ingested] = []
    dumps = []
    for is_beside in (False, True):
        with Database(tmp_path / f"{is_beside}.db") as database:
            found.append(take(database, lines_of(tmp_path / "events.ndjson"), is_beside=is_beside))
            dumps.append([database.query(f"SELECT * FROM {name}") for name in ("event", "column_lineage", "rejected")])
    assert dumps[0] == dumps[1]
    assert found[0] == found[1]
    assert (found[0].events, found[0].rejected, len(found[0].reasons)) == (75, 25, 10)
