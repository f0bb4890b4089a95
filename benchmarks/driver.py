"""
The job to be measured: one workload in one driver, which `overhead.py` starts through spark-submit.

It knows nothing about lineage. Usage: driver.py WORKLOAD FOLDER TPCDS-FOLDER one-in-five|all REPORT.json
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from process import command, cpu_seconds, peak_megabytes

_report: dict[str, Any] = {}
_JVM = os.getppid()


def _finish() -> None:
    """Read the counters after everything else that runs when the interpreter exits."""
    _report["exit seconds"] = time.monotonic() - _report.pop("stopped")
    _report["python cpu"] = cpu_seconds(os.getpid())
    _report["python peak"] = peak_megabytes(os.getpid())
    _report["jvm peak"] = peak_megabytes(_JVM)
    Path(sys.argv[5]).write_text(json.dumps(_report), "utf-8")


# Registered first, so that it runs last and counts what a listener does at the end.
atexit.register(_finish)


def main() -> None:
    """Run the workload named on the command line."""
    if command(_JVM) != "java":
        raise RuntimeError(f"the parent of this process is {command(_JVM)}, not a JVM: start it with spark-submit")
    name, folder, tpcds, queries = sys.argv[1:5]

    from pyspark.sql import SparkSession
    from workloads import WORKLOADS, Scene

    begin = time.monotonic()
    spark = SparkSession.builder.appName("overhead").getOrCreate()
    _report["session seconds"] = time.monotonic() - begin
    workload = WORKLOADS[name]
    scene = Scene(spark, Path(folder), Path(tpcds), queries == "all")
    workload.prepare(scene)
    statements = list(workload.statements(scene))

    seconds = {}
    before = {"jvm": cpu_seconds(_JVM), "python": cpu_seconds(os.getpid())}
    for label, statement in statements:
        begin = time.monotonic()
        statement()
        seconds[label] = time.monotonic() - begin
    _report["jvm cpu in statements"] = cpu_seconds(_JVM) - before["jvm"]
    _report["python cpu in statements"] = cpu_seconds(os.getpid()) - before["python"]
    _report["statements"] = seconds

    begin = time.monotonic()
    spark.stop()
    _report["stopped"] = time.monotonic()
    _report["stop seconds"] = _report["stopped"] - begin
    _report["listened"] = "openlineage_pyspark.listener.start.register" in sys.modules


main()
