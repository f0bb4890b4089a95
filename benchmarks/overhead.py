"""
Measure what the listener costs a job: the same job with and without it, in turns, each time in a separate driver.

Why not one driver for both: the listener works in the background after a statement, so in one driver the next statement
would pay for it; and one-time costs (compiling the probe, importing libraries, the last flush) would not show. The
order is ABBA, so that a drift of the machine cancels out, and two neighbours of the same kind show how much a figure
varies when there is no difference.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from process import cpu_seconds
from table import table
from workloads import WORKLOADS

_HERE = Path(__file__).resolve().parent
_CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    # TPC-DS q90 divides by zero on empty tables.
    "spark.sql.ansi.enabled": "false",
    "spark.driver.memory": "2g",
    # The wide plans have more columns than Spark shows, and it says so each time.
    "spark.sql.debug.maxToStringFields": "100",
}


def run_once(workload: str, options: argparse.Namespace, *, listening: bool) -> dict[str, Any]:
    """
    Run one driver.

    Args:
        workload: its name.
        options: the options of the command line.
        listening: whether the listener is configured.

    Returns:
        What was measured, in seconds and MiB.

    Raises:
        RuntimeError: the job failed, or the listener did not do what it is measured for.
    """
    folder = Path(tempfile.mkdtemp(prefix="overhead-"))
    try:
        return _run_in(folder, workload, options, listening=listening)
    finally:
        shutil.rmtree(folder)


def _run_in(folder: Path, workload: str, options: argparse.Namespace, *, listening: bool) -> dict[str, Any]:
    events, report = folder / "events.ndjson", folder / "report.json"
    conf = {**_CONF, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    if listening:
        conf |= {"spark.openlineage.transport.type": "file", "spark.openlineage.transport.location": str(events)}
    queries = "all" if options.all_queries else "one-in-five"
    arguments = [
        str(Path(sys.executable).with_name("spark-submit")),
        *("--driver-java-options", f"-Dlog4j2.configurationFile=file:{_HERE / 'log4j2.properties'}"),
        *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
        str(_HERE / "driver.py"),
        *(workload, str(folder), str(options.tpcds), queries, str(report)),
    ]
    begin = time.monotonic()
    with (folder / "log").open("wb") as log:
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        process = subprocess.Popen(arguments, cwd=folder, env=environment, stdout=log, stderr=log)
    # spark-submit has become the JVM. It is not reaped until its counters are read.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    whole, jvm_cpu = time.monotonic() - begin, cpu_seconds(process.pid)
    printed = (folder / "log").read_text("utf-8", "replace")[-4000:]
    if process.wait() != 0 or not report.is_file():
        raise RuntimeError(f"{workload} failed:\n{printed}")
    found: dict[str, Any] = json.loads(report.read_text("utf-8"))
    problem = _problem(found, events, listening=listening)
    if problem:
        raise RuntimeError(f"{workload}: {problem}\n{printed}")
    found["statement seconds"] = sum(found["statements"].values())
    found["whole seconds"] = whole
    found["jvm cpu"] = jvm_cpu
    found["cpu"] = jvm_cpu + found["python cpu"]
    found["event bytes"] = events.stat().st_size if listening else 0
    return found


def _problem(found: dict[str, Any], events: Path, *, listening: bool) -> str | None:
    """Return why a run's figures are invalid, if they are: a listener that heard nothing would have good figures."""
    if found["listened"] != listening:
        return "the listener " + ("was not there" if listening else "was there: look for an openlineage.yml")
    if not listening:
        return None
    with events.open(encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    found["events"] = len(read)
    complete = {event["run"]["runId"] for event in read if event["eventType"] == "COMPLETE" and event["outputs"]}
    if len(complete) < len(found["statements"]):
        return f"{len(found['statements'])} statements, but the events tell of {len(complete)} complete runs"
    return None


def measure(workload: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """
    Run the drivers of one workload.

    Args:
        workload: its name.
        options: the options of the command line.

    Returns:
        What was measured, in the order of the runs.
    """
    runs = []
    for pair in range(options.pairs):
        for listening in (False, True) if pair % 2 == 0 else (True, False):
            run = run_once(workload, options, listening=listening)
            runs.append({"listening": listening, **run})
            with_or_without = "with" if listening else "without"
            print(
                f"{workload} {pair + 1}/{options.pairs} {with_or_without}: {run['statement seconds']:.2f} s, "
                f"CPU {run['cpu']:.2f} s, load {os.getloadavg()[0]:.1f}",
                file=sys.stderr,
                flush=True,
            )
    return runs


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./run bench",
        description=__doc__.split("\n\n")[0].strip(),
        epilog="\n".join(f"{name:14}{workload.about}" for name, workload in WORKLOADS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("workloads", nargs="*", metavar="workload", help="default: all of those below")
    parser.add_argument("--pairs", type=int, default=5, help="runs with and without of each (default 5)")
    parser.add_argument("--all-queries", action="store_true", help="all queries of TPC-DS, not every fifth")
    parser.add_argument("--tpcds", type=Path, default=_HERE.parents[1] / "shared" / "tpcds", help="folder of TPC-DS")
    parser.add_argument("--output", type=Path, default=Path("build/bench/overhead.json"), help="the JSON file")
    options = parser.parse_args()
    unknown = sorted(set(options.workloads) - set(WORKLOADS))
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}: choose from {', '.join(WORKLOADS)}")
    if options.pairs < 1:
        parser.error("--pairs must be at least 1")
    if not Path("/proc/self/stat").is_file():
        parser.error("the processor time of a process is read from /proc, which is Linux's")
    return options


def main() -> None:
    """Measure what the command line asks for; print the table, and write all figures as JSON."""
    options = _arguments()
    chosen = options.workloads or list(WORKLOADS)
    if "tpcds" in chosen and not (options.tpcds / "create_tables.py").is_file():
        if options.workloads:
            sys.exit(f"{options.tpcds} has no create_tables.py: name the folder of TPC-DS with --tpcds")
        print(f"tpcds is left out: {options.tpcds} has no create_tables.py", file=sys.stderr)
        chosen.remove("tpcds")
    run_once("start", options, listening=True)  # the first driver after a while reads Spark's jars from the disk
    options.output.parent.mkdir(parents=True, exist_ok=True)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load before": os.getloadavg()[0]}
    measured: dict[str, list[dict[str, Any]]] = {}
    for workload in chosen:
        measured[workload] = measure(workload, options)
        # After each workload, so that an interrupted benchmark keeps what it has measured.
        options.output.write_text(json.dumps({"machine": machine, "workloads": measured}, indent=1), "utf-8")
    print(table(measured))
    print(f"\nAll figures: {options.output}")


main()
