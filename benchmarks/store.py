"""
Measure the lineage store: how fast it takes events in, how large it gets, and how long its answers take.

The lineage is made up: jobs in layers, each of which reads some tables of the layers before and writes one, so that the
number of column edges grows with the number of jobs. Everything is measured in one process, and each size in a store of
its own: the exponent of growth is the slope between the smallest and the largest size, 1 for linear growth.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openlineage_pyspark.store.answers import Store
from openlineage_pyspark.store.ingest import EventLine, take
from openlineage_pyspark.store.sqlite import Database

_COLUMNS = 20
_SOURCES = 2
_EVENTS_PER_JOB = 100
_DATASETS_PER_JOB = 5
_QUESTIONS = 100
_DEPTHS = (3, 10, None)


def events(count: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """
    Make up events: for each job, a START and a COMPLETE of many runs.

    Args:
        count: how many events.
        chance: the source of choices.
    """
    jobs = max(2, count // _EVENTS_PER_JOB)
    made = [_job(number, jobs, chance) for number in range(jobs)]
    for number in range(count):
        job = made[(number // 2) % jobs]
        run, start = divmod(number, 2)
        yield {
            "eventType": "COMPLETE" if start else "START",
            "eventTime": f"2026-01-{1 + run % 28:02d}T{run // 28 % 24:02d}:{run // 672 % 60:02d}:{30 * start:02d}Z",
            "producer": "https://example.org/benchmark",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": f"00000000-0000-7000-8000-{run:012d}"},
            **job,
        }


def _job(number: int, jobs: int, chance: random.Random) -> dict[str, Any]:
    """Return the job of an event with its inputs and outputs: it reads what jobs shortly before it wrote."""
    before = range(max(0, number - 50), number) if number else range(jobs, jobs + 1)
    sources = [_name(chance.choice(before)) for _ in range(_DATASETS_PER_JOB - 1)]
    fields = {
        f"c{column}": {"inputFields": [_source(chance.choice(sources), chance) for _ in range(_SOURCES)]}
        for column in range(_COLUMNS)
    }
    schema = {"fields": [{"name": f"c{column}", "type": "bigint"} for column in range(_COLUMNS)]}
    facets = {"schema": schema, "columnLineage": {"fields": fields}}
    return {
        "job": {"namespace": "jobs", "name": f"job{number}"},
        "inputs": [{"namespace": "lake", "name": source} for source in sources],
        "outputs": [{"namespace": "lake", "name": _name(number), "facets": facets}],
    }


def _source(name: str, chance: random.Random) -> dict[str, Any]:
    column = f"c{chance.randrange(_COLUMNS)}"
    transformation = {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": f"upper({column})"}
    return {"namespace": "lake", "name": name, "field": column, "transformations": [transformation]}


def _name(number: int) -> str:
    return f"warehouse.table{number}"


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
    lines = [EventLine("benchmark", json.dumps(event)) for event in events(count, chance)]
    path = folder / f"{count}.db"
    with Database(path) as database:
        begin = time.perf_counter()
        taken = take(database, lines)
        seconds = time.perf_counter() - begin
        edges = database.query("SELECT count(*) FROM column_lineage")[0][0]
    if taken.events != count:
        raise RuntimeError(f"{count - taken.events} of {count} made-up events were refused: {taken.reasons}")
    found: dict[str, float] = {"events": count, "seconds": seconds, "bytes": path.stat().st_size, "edges": edges}
    jobs = max(2, count // _EVENTS_PER_JOB)
    with Store.open(path) as store:
        for depth in _DEPTHS:
            times = []
            for _ in range(_QUESTIONS):
                thing = f"{_name(chance.randrange(jobs))}.c{chance.randrange(_COLUMNS)}"
                ask = store.upstream if chance.random() < 0.5 else store.downstream
                begin = time.perf_counter()
                ask(thing, depth=depth)
                times.append(1000 * (time.perf_counter() - begin))
            times.sort()
            found[f"median {depth or 'all'}"] = times[len(times) // 2]
            found[f"95 % {depth or 'all'}"] = times[len(times) * 95 // 100]
    return found


def main() -> None:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000], help="numbers of events")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="store-") as folder:
        results = [measured(size, Path(folder)) for size in options.sizes]
    asked = [key for key in results[0] if key.startswith(("median", "95 %"))]
    rows = [
        [
            *(f"{result['events']:,.0f}", f"{result['edges']:,.0f}", f"{result['events'] / result['seconds']:,.0f}"),
            f"{result['bytes'] / result['events']:,.0f}",
            *(f"{result[key]:,.1f}" for key in asked),
        ]
        for result in results
    ]
    head = ["events", "column edges", "events/s", "bytes/event", *(f"{key}, ms" for key in asked)]
    for row in [head, ["---:"] * len(head), *rows]:
        print(f"| {' | '.join(row)} |")
    if len(results) > 1:
        first, last = results[0], results[-1]
        slope = math.log(last["seconds"] / first["seconds"]) / math.log(last["events"] / first["events"])
        print(f"\nexponent of ingest: {slope:.2f}")


if __name__ == "__main__":
    main()
