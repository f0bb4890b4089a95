"""
Measure the ingest into a lineage store in Spark's tables, on this machine (`local[*]`), with Parquet tables.

The events are those of `store.py`. Each size has a store of its own; the smallest one is taken once before, unmeasured,
so that the JVM is warm. The exponent of growth is the slope between the smallest and the largest size, 1 for linear
growth.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from openlineage_pyspark.workbench.store.spark.ingest import EventOrigin, take_once
from openlineage_pyspark.workbench.store.spark.session import active_or_new_session
from openlineage_pyspark.workbench.store.spark.sql import Format
from openlineage_pyspark.workbench.store.spark.tables import SparkTables

_EVENTS_PER_FILE = 10_000


def write_events(count: int, folder: Path) -> None:
    """
    Write made-up events, as many into each file as a rotated file of a driver may have.

    Args:
        count: how many.
        folder: where the files are made.
    """
    folder.mkdir()
    made = _lines(count)
    for begin in range(0, count, _EVENTS_PER_FILE):
        with (folder / f"{begin}.ndjson").open("w") as file:
            for _ in range(min(_EVENTS_PER_FILE, count - begin)):
                file.write(f"{next(made)}\n")


def _lines(count: int) -> Any:
    """Return the events that `store.py`, which lies beside this file, makes up."""
    spec = importlib.util.spec_from_file_location("store_benchmark", Path(__file__).with_name("store.py"))
    if spec is None or spec.loader is None:
        raise RuntimeError("store.py is not beside this file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.lines(count, random.Random(count))  # noqa: S311 (made-up data)


def seconds_of(session: Any, name: str, folder: Path) -> float:
    """Return how long it takes to take the events of a folder into a new store."""
    tables = SparkTables.make(session, name, Format.PARQUET)
    begin = time.perf_counter()
    taken = take_once(tables, EventOrigin(str(folder)))
    seconds = time.perf_counter() - begin
    if taken.rejected:
        raise RuntimeError(f"{taken.rejected} made-up events were refused: {taken.reasons}")
    return seconds


def main() -> None:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 100_000], help="numbers of events")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="store-spark-") as folder:
        conf = {
            "spark.master": "local[*]",
            "spark.ui.enabled": "false",
            "spark.sql.catalogImplementation": "in-memory",
            "spark.sql.warehouse.dir": f"{folder}/warehouse",
        }
        session = active_or_new_session(conf)
        session.sparkContext.setLogLevel("ERROR")
        results = []
        for number, size in enumerate([min(options.sizes), *options.sizes]):
            events = Path(folder) / f"events{number}"
            write_events(size, events)
            results.append((size, seconds_of(session, f"store{number}", events)))
        session.stop()
    measured = results[1:]
    print("| events | seconds | events/s |\n| ---: | ---: | ---: |")
    for size, seconds in measured:
        print(f"| {size:,} | {seconds:,.1f} | {size / seconds:,.0f} |")
    if len(measured) > 1:
        (first, fast), (last, slow) = measured[0], measured[-1]
        print(f"\nexponent of ingest: {math.log(slow / fast) / math.log(last / first):.2f}")


if __name__ == "__main__":
    main()
