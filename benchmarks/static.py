"""
Measure how long `lineage()` takes, against Spark's own parser and analyzer on the same statements in the same process.

Both are called from Python. Spark's own takes three calls of the JVM a statement, the fewest that it can: `spark.sql`
would run the statements. No query is run. Each statement is measured both ways in turns; the first turn, which fills
caches, does not count.
Elapsed time is what the user waits. Processor time is that of the two threads that work, in Python and in the JVM: a
busy machine disturbs it less.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from core import java_clock, session
from openlineage_pyspark import lineage
from workloads import WORKLOADS, Scene

_HERE = Path(__file__).resolve().parent


def _milliseconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    begin = clock()
    call()
    return 1000 * (clock() - begin)


def _analysis(spark: Any) -> Callable[[str], object]:
    """Return what only parses and analyzes a statement; all that it calls is looked up beforehand."""
    state = spark._jsparkSession.sessionState()
    parser = state.sqlParser()
    skip = spark._jvm.org.apache.spark.sql.execution.CommandExecutionMode.SKIP()
    return lambda statement: state.executePlan(parser.parsePlan(statement), skip).analyzed()


def _row(name: str, measured: list[tuple[float, float]]) -> str:
    """Return a row of the table, from what each statement took in Spark alone and in `lineage()`."""
    alone, whole = (sum(column) for column in zip(*measured, strict=True))
    ratios = median(both / analysis for analysis, both in measured)
    return f"| {name} | {len(measured)} | {alone:.0f} | {whole:.0f} | {whole / alone:.2f} | {ratios:.2f} |"


def main() -> None:
    """Print a Markdown table: what Spark alone takes, what `lineage()` takes, and the ratio of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=7, help="each figure is the median of so many turns (default 7)")
    parser.add_argument("--all-queries", action="store_true", help="all queries of TPC-DS, not every fifth")
    parser.add_argument("--tpcds", type=Path, default=_HERE.parents[1] / "shared" / "tpcds", help="folder of TPC-DS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        scene = Scene(spark, Path(folder) / "tpcds", options.tpcds, options.all_queries)
        workload = WORKLOADS["tpcds"]
        workload.prepare(scene)
        in_java, analyze = java_clock(spark), _analysis(spark)
        clocks: dict[str, Callable[[], float]] = {
            "elapsed": time.perf_counter,
            "processor": lambda: time.thread_time() + in_java(),
        }
        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in clocks}
        for _, statement in workload.plans(scene):
            calls = (partial(analyze, statement), partial(lineage, spark, statement))
            for call in calls:
                call()
            for name, clock in clocks.items():
                turns = [[_milliseconds(call, clock) for call in calls] for _ in range(options.times)]
                analysis, both = (median(column) for column in zip(*turns, strict=True))
                measured[name].append((analysis, both))
        spark.stop()
    print("| time | statements | Spark's parser and analyzer, ms | lineage(), ms | ratio | median of the ratios |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    print("\n".join(_row(name, each) for name, each in measured.items()))


main()
