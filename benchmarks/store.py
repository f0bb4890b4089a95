"""
Measure the lineage store: how fast it takes events in, how large it gets, and how long its answers take.

The lineage is made up: 10,000 jobs, 50,000 datasets and 2,000,000 column edges for 1,000,000 events, and the same in
proportion for other numbers. Each job reads two tables of other jobs and four of nobody, and writes one of ten columns,
each of which comes from two columns. It runs 50 times, all jobs in turn, and its statement changes ten times. 200 jobs
make a domain of 20 layers; half of the questions are about tables, half about columns. An event has 4 to 5 KB, as those
of this listener in its own tests. The events lie in a file, and are taken in as by the command `ingest`. Each size has
a store of its own: the exponent of growth is the slope between the smallest and the largest size, 1 for linear growth.

The baseline, in the same run, is what no store can do without: each event is parsed, and its text is written.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import os
import platform
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.store.events.ingest import Portion, lines_of, take
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store_api import Store

_COLUMNS = 10
_LANDED = 4
_EVENTS_PER_JOB = 100
_STATEMENTS = 10
_DOMAIN_JOBS = 200
_LAYER_JOBS = 10
_QUESTIONS = 100
_PLANS = 20
_DEPTHS = (3, 10, None)
_BASELINE_EVENTS = 5_000
_MARQUEZ_EVENTS = 100_000
_MARQUEZ_SECONDS = 180
_MARQUEZ_QUESTIONS = 20
_BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
_OURS = {"_producer": "https://example.org/benchmark", "_schemaURL": "https://example.org/facet.json"}


def lines(count: int, chance: random.Random) -> Iterator[str]:
    """
    Make up events: for each job, a START and a COMPLETE of many runs.

    Args:
        count: how many events.
        chance: the source of choices.

    Yields:
        The JSON of each.
    """
    jobs = _jobs(count)
    seeds = [chance.random() for _ in range(jobs)]
    # What the runs of a statement share is made once.
    shared: dict[int, tuple[int, str]] = {}
    for number in range(count):
        run, is_end = divmod(number, 2)
        turn, which = divmod(run, jobs)
        statement = turn * _STATEMENTS * 2 // _EVENTS_PER_JOB
        if which not in shared or shared[which][0] != statement:
            job = _job(which, statement, random.Random(seeds[which]))  # noqa: S311 (made-up data)
            shared[which] = statement, json.dumps(job)
        own = {
            "eventType": "COMPLETE" if is_end else "START",
            "eventTime": (_BEGIN + timedelta(seconds=number)).isoformat(),
            "producer": "https://example.org/benchmark",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": f"00000000-0000-7000-8000-{run:012d}"},
        }
        yield f"{json.dumps(own)[:-1]}, {shared[which][1][1:]}"


def _jobs(count: int) -> int:
    return max(2, count // _EVENTS_PER_JOB)


def _job(number: int, statement: int, chance: random.Random) -> dict[str, Any]:
    """Return the job of an event with its inputs and outputs, as one of its statements has them."""
    made = [_name(each) for each in _read_by(number, chance)]
    landed = [f"landing.table{number}_{each}" for each in range(_LANDED)]
    fields = {
        f"c{column}": {"inputFields": [_source(each, statement, chance) for each in (made or landed[:2], landed[2:])]}
        for column in range(_COLUMNS)
    }
    schema = {**_OURS, "fields": [{"name": f"c{column}", "type": "bigint"} for column in range(_COLUMNS)]}
    facets = {"schema": schema, "columnLineage": {**_OURS, "fields": fields}}
    return {
        "job": {"namespace": "jobs", "name": f"job{number}"},
        "inputs": [{"namespace": "lake", "name": name} for name in (*made, *landed)],
        "outputs": [{"namespace": "lake", "name": _name(number), "facets": facets}],
    }


def _read_by(number: int, chance: random.Random) -> list[int]:
    """Return the jobs of which a job reads the tables: two of the layer before its own; none in the first layer."""
    layer = number // _LAYER_JOBS * _LAYER_JOBS
    return [] if layer % _DOMAIN_JOBS == 0 else chance.sample(range(layer - _LAYER_JOBS, layer), 2)


def _source(tables: list[str], statement: int, chance: random.Random) -> dict[str, Any]:
    """Return a column that a statement reads: no other statement of the job makes the same column from it."""
    columns = [(name, f"c{number}") for name in tables for number in range(_COLUMNS)]
    name, column = chance.sample(columns, _STATEMENTS)[statement]
    transformation = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": f"upper({column})"}
    return {"namespace": "lake", "name": name, "field": column, "transformations": [transformation]}


def _name(number: int) -> str:
    return f"warehouse.table{number}"


def write_events(count: int, path: Path) -> None:
    """
    Write made-up events into a file.

    Args:
        count: how many.
        path: the file.
    """
    with path.open("w") as file:
        for line in lines(count, random.Random(count)):  # noqa: S311 (made-up data)
            file.write(f"{line}\n")


def _baseline(file: Path, database: Path) -> float:
    """Return the CPU seconds for one event of parsing it and writing its text, in transactions of 2,000."""
    with file.open() as opened:
        texts = list(itertools.islice(opened, _BASELINE_EVENTS))
    cpu = time.process_time()
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE event (run_id TEXT, json TEXT)")
    for begin in range(0, len(texts), 2000):
        rows = [(json.loads(text)["run"]["runId"], text) for text in texts[begin : begin + 2000]]
        connection.executemany("INSERT INTO event VALUES (?, ?)", rows)
        connection.commit()
    connection.close()
    return (time.process_time() - cpu) / len(texts)


def in_marquez(count: int, url: str, most_seconds: float) -> dict[str, float]:
    """
    Send the same events to a Marquez, and ask it.

    Args:
        count: how many events.
        url: the server, without a path.
        most_seconds: after how long it gets no more of them.

    Returns:
        What was measured, as `measured` does: how many it took, seconds, and milliseconds of the answers about the
        tables around one.
    """
    import requests

    chance = random.Random(count)  # noqa: S311 (made-up data)
    seconds = 0.0
    sent = 0
    found: dict[str, float] = {}
    with requests.Session() as session:
        session.headers["Content-Type"] = "application/json"
        for line in lines(count, chance):
            begin = time.perf_counter()
            session.post(f"{url}/api/v1/lineage", data=line.encode(), timeout=600).raise_for_status()
            seconds += time.perf_counter() - begin
            sent += 1
            if seconds > most_seconds:
                break
        found |= {"events": sent, "seconds": seconds}
        # The tables that are there: each of the first jobs has written one.
        tables = min(_jobs(count), sent // 2)
        for depth in _DEPTHS:
            times = []
            for _ in range(_MARQUEZ_QUESTIONS):
                node = f"dataset:lake:{_name(chance.randrange(tables))}"
                # Each job that is passed is a step of its own there.
                asked: dict[str, str | int] = {"nodeId": node, "depth": 2 * (depth or 100)}
                begin = time.perf_counter()
                session.get(f"{url}/api/v1/lineage", params=asked, timeout=600).raise_for_status()
                times.append(1000 * (time.perf_counter() - begin))
            found |= _summed_up(times, f"depth {depth}" if depth else "all")
    return found


def _summed_up(times: list[float], what: str) -> dict[str, float]:
    """Return the median and the 95th percentile of the milliseconds of answers."""
    times.sort()
    return {f"median {what}": times[len(times) // 2], f"95 % {what}": times[len(times) * 95 // 100]}


class _CountingSink:
    """
    Counts the rows on their way into a database.

    Attributes:
        rows: how many there were.
        seconds, cpu_seconds: how long it took to count them, which is no part of the ingest.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.rows = 0
        self.seconds = 0.0
        self.cpu_seconds = 0.0

    def add(self, portion: Portion) -> None:
        """Merge the rows of a portion, and count them."""
        begin, cpu = time.perf_counter(), _cpu_seconds()
        self.rows += sum(map(len, portion.all_rows().values()))
        self.seconds += time.perf_counter() - begin
        self.cpu_seconds += _cpu_seconds() - cpu
        self._database.add(portion)


def measured(count: int, folder: Path) -> dict[str, float]:
    """
    Fill a store and ask it.

    Args:
        count: how many events.
        folder: where the store is made.

    Returns:
        What was measured: seconds of ingest, bytes, and milliseconds of the answers.
    """
    chance = random.Random(count)  # noqa: S311 (made-up data)
    path, file = folder / f"{count}.db", folder / f"{count}.ndjson"
    write_events(count, file)
    with Database(path) as database, database.many(), without_cycle_collection():
        sink = _CountingSink(database)
        begin, cpu = time.perf_counter(), _cpu_seconds()
        taken = take(sink, lines_of(file))
    seconds = time.perf_counter() - begin - sink.seconds
    cpu_seconds = _cpu_seconds() - cpu - sink.cpu_seconds
    if taken.events != count:
        raise RuntimeError(f"{count - taken.events} of {count} made-up events were refused: {taken.reasons}")
    found: dict[str, float] = {
        "events": count,
        "rows": sink.rows,
        "seconds": seconds,
        "cpu": cpu_seconds,
        "bytes": path.stat().st_size,
        "text": file.stat().st_size,
        "ratio": cpu_seconds / count / _baseline(file, folder / f"baseline{count}.db"),
    }
    file.unlink()
    with Store.open(path) as store:
        found["edges"] = store.sql("SELECT count(*) FROM column_lineage").table()[1][0][0]
        found |= _answers(store, _jobs(count), chance)
    for each in folder.iterdir():
        each.unlink()
    return found


def _cpu_seconds() -> float:
    """Return the processor time of this process, and of the second ones that have ended."""
    return sum(os.times()[:4])


def _answers(store: Store, jobs: int, chance: random.Random) -> dict[str, float]:
    """Return the median and the 95th percentile of the milliseconds of answers, of plans of recovery at last."""
    found: dict[str, float] = {}
    for depth in _DEPTHS:
        times = []
        for number in range(_QUESTIONS):
            thing = f"table{chance.randrange(jobs)}"
            if number % 2:
                thing += f".c{chance.randrange(_COLUMNS)}"
            ask = store.upstream if chance.random() < 0.5 else store.downstream
            times.append(_milliseconds(functools.partial(ask, thing, depth=depth)))
        found |= _summed_up(times, f"depth {depth}" if depth else "all")
    times = [_milliseconds(functools.partial(store.recover, f"table{chance.randrange(jobs)}")) for _ in range(_PLANS)]
    return found | _summed_up(times, "recover")


def _milliseconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - begin)


def _print(result: dict[str, float], what: str = "", *, is_first: bool = False) -> None:
    """Print a row of the table, as soon as it is known: a large size takes long."""
    shown = {
        "events": f"{what}{result['events']:,.0f}",
        "column edges": f"{result['edges']:,.0f}" if "edges" in result else "",
        "events/s": f"{result['events'] / result['seconds']:,.0f}",
        "rows/event": f"{result['rows'] / result['events']:.1f}" if "rows" in result else "",
        "events/CPU s": f"{result['events'] / result['cpu']:,.0f}" if "cpu" in result else "",
        "baseline": f"{result['ratio']:.1f}x" if "ratio" in result else "",
        "bytes/event": f"{result['bytes'] / result['events']:,.0f}" if "bytes" in result else "",
        "of them its text": f"{result['text'] / result['events']:,.0f}" if "text" in result else "",
    }
    shown |= {f"{key}, ms": f"{value:,.1f}" for key, value in result.items() if key.startswith(("median", "95 %"))}
    if is_first:
        print(f"| {' | '.join(shown)} |\n|{' ---: |' * len(shown)}", flush=True)
    print(f"| {' | '.join(shown.values())} |", flush=True)


def main() -> None:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000], help="numbers of events")
    parser.add_argument(
        "--marquez",
        metavar="URL",
        help="send 100,000 events, or the smallest number, to this Marquez too, for three minutes at most",
    )
    options = parser.parse_args()
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, "
        f"{platform.system()} {platform.machine()}\n",
        flush=True,
    )
    results = []
    if options.marquez:
        count = min(_MARQUEZ_EVENTS, max(options.sizes))
        _print(in_marquez(count, options.marquez.rstrip("/"), _MARQUEZ_SECONDS), what="Marquez, ", is_first=True)
    with tempfile.TemporaryDirectory(prefix="store-") as folder:
        for size in options.sizes:
            results.append(measured(size, Path(folder)))
            _print(results[-1], is_first=len(results) == 1 and not options.marquez)
    if len(results) > 1:
        first, last = results[0], results[-1]
        for unit in ("events", "rows"):
            for key, what in (("seconds", "time"), ("cpu", "CPU time")):
                slope = math.log(last[key] / first[key]) / math.log(last[unit] / first[unit])
                print(f"\nexponent of ingest, by {what}, for {unit}: {slope:.2f}")


if __name__ == "__main__":
    main()
