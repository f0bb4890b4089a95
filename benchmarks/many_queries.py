"""
Check whether memory stays flat over many small queries in one session, with the listener and without.

Every tenth query writes a row and the others read one; each is a run of its own, because reads are asked for. Spark's
own store of past queries is kept small, so that any growth is not Spark's. The heap is what is left after a garbage
collection; Python's memory is the process's resident set (VmRSS), and its number of live objects.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_CONF = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.ui.enabled": "false",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "20",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
}
_MIB = 1 << 20


def _resident() -> float:
    for line in Path("/proc/self/status").read_text("utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ValueError("/proc/self/status has no VmRSS")


def _heap(spark: Any) -> float:
    """Return the heap after repeated collections, because Spark's cleaner frees more after each collection."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    found = []
    for _ in range(4):
        spark._jvm.java.lang.System.gc()
        time.sleep(0.5)
        found.append((runtime.totalMemory() - runtime.freeMemory()) / _MIB)
    return min(found)


def _query(spark: Any, number: int) -> None:
    if number % 10:
        spark.sql(f"SELECT {number} AS number").collect()
    else:
        spark.range(number, number + 1, 1, 1).write.mode("overwrite").json("out")


def job(queries: int, steps: int) -> None:
    """Run the queries, and print a line of figures before them and after each step."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("many queries").getOrCreate()
    registration = sys.modules.get("openlineage_pyspark.listener.start.register")
    handle = registration._handle_of(spark.sparkContext) if registration is not None else None
    begin = time.monotonic()
    for number in range(queries + 1):
        if number % (queries // steps) == 0:
            if handle is not None:
                handle.flush(60)
            gc.collect()
            figures = {
                "queries": number,
                "heap": _heap(spark),
                "resident": _resident(),
                "objects": len(gc.get_objects()),
                "events": handle._worker.counts.events if handle is not None else 0,
                "seconds": time.monotonic() - begin,
            }
            print(json.dumps(figures), flush=True)
        if number < queries:
            _query(spark, number)
    spark.stop()


def _measure(queries: int, steps: int, *, listening: bool) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        conf = dict(_CONF)
        if listening:
            conf["spark.openlineage.transport.type"] = "file"
            conf["spark.openlineage.transport.location"] = f"{folder}/events.ndjson"
            conf["spark.openlineage.reads.enabled"] = "true"
        submit = " ".join(f'"--conf={key}={value}"' for key, value in conf.items()) + " pyspark-shell"
        done = subprocess.run(
            [sys.executable, __file__, "--job", f"--queries={queries}", f"--steps={steps}"],
            cwd=folder,
            env={**os.environ, "PYSPARK_SUBMIT_ARGS": submit, "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    lines = []
    for line in done.stdout.splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            lines.append(json.loads(line))
    return lines


def _table(heard: list[dict[str, float]], alone: list[dict[str, float]]) -> str:
    rows = [
        "| queries | events | JVM heap with, MiB | without | Python with, MiB | without | objects with | without |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for a, b in zip(heard, alone, strict=True):
        rows.append(
            f"| {a['queries']:,} | {a['events']:,} | {a['heap']:.1f} | {b['heap']:.1f} | {a['resident']:.1f} |"
            f" {b['resident']:.1f} | {a['objects']:,} | {b['objects']:,} |"
        )
    rows.append(f"\nSeconds: {heard[-1]['seconds']:.0f} with, {alone[-1]['seconds']:.0f} without.")
    return "\n".join(rows)


def main() -> None:
    """Measure with and without the listener, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--job", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(options.queries, options.steps)
        return
    heard, alone = (_measure(options.queries, options.steps, listening=on) for on in (True, False))
    print(_table(heard, alone))


if __name__ == "__main__":
    main()
