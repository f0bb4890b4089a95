"""
Measure how long `lineage()` takes, against Spark's own parser and analyzer on the same statements in the same process.

No query is run. Each statement is measured both ways in turns; the first turn, which fills caches, does not count.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from core import session
from openlineage_pyspark import lineage
from openlineage_pyspark.listener.probe.client import analyzed_plan
from workloads import WORKLOADS, Scene

_HERE = Path(__file__).resolve().parent


def _milliseconds(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - begin)


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
        ratios, alone, whole = [], 0.0, 0.0
        for _, statement in workload.plans(scene):
            turns = [
                (
                    _milliseconds(lambda text=statement: analyzed_plan(spark, text)),  # type: ignore[misc]
                    _milliseconds(lambda text=statement: lineage(spark, text)),  # type: ignore[misc]
                )
                for _ in range(options.times + 1)
            ][1:]
            analysis, both = (median(column) for column in zip(*turns, strict=True))
            ratios.append(both / analysis)
            alone, whole = alone + analysis, whole + both
        spark.stop()
    print("| statements | Spark's parser and analyzer, ms | lineage(), ms | ratio | median of the ratios |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    print(f"| {len(ratios)} | {alone:.0f} | {whole:.0f} | {whole / alone:.2f} | {median(ratios):.2f} |")


main()
