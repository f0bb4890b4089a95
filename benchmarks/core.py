"""
Measure where the listener's own time goes: each of its parts alone, on the plans of the same workloads, in one process.

No query is run: the plans come from the session's analyzer. The figures are processor time of the thread that does the
work, in the JVM for the probe and in Python for the rest, so a busy machine changes them little. `--profile` names
the hottest functions instead.
"""

from __future__ import annotations

import argparse
import cProfile
import datetime
import itertools
import json
import pstats
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import attrs
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.events.build import build_event
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.run import Engine, RunReference, RunState
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted
from openlineage_pyspark.listener.analyze import analyzed_plan
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.probe.client import Probe
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.listener.probe.limits import ProbeLimits
from openlineage_pyspark.listener.probe.records import parse
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.memory import MemoryTransport
from pyspark.sql import SparkSession
from workloads import WORKLOADS, Scene

_HERE = Path(__file__).resolve().parent
_PARTS = ("encode", "parse", "decode", "understand", "redact", "describe", "serialise")


@attrs.frozen
class Sample:
    """
    The plan of one statement, at each stage of its processing.

    Args:
        java_plan: the analyzed plan in the JVM.
        encoded: the plan as text, as the probe encodes it.
        parsed: the same text, parsed.
        state: the state of the run at its START, not redacted.
    """

    java_plan: Any
    encoded: str
    parsed: dict[str, Any]
    state: RunState


def _state(parsed: dict[str, Any], statement: str) -> RunState:
    """Return the state that the listener derives from the plan of a statement."""
    started = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    run = RunReference("01900000-0000-7000-8000-000000000000", "default", "core")
    application = Application("local-1", started, "default", "core", run, run, Engine("4", (), ()))
    record = {"k": "start", "id": 1, "root": 1, "time": 1767225600000, "plan": parsed}
    pipeline = Pipeline(application, EventOptions(), (), Delivery(MemoryTransport()), Guard())
    states = pipeline.states(parse(json.dumps(record)))
    if len(states) != 1:
        raise RuntimeError(f"a statement gave {len(states)} states of runs, not the START alone")
    return attrs.evolve(states[0], job=attrs.evolve(states[0].job, sql=statement))


def _samples(name: str, scene: Scene, probe: Probe) -> list[Sample]:
    workload = WORKLOADS[name]
    workload.prepare(scene)
    samples = []
    for _, statement in workload.plans(scene):
        java_plan = analyzed_plan(scene.spark, statement)
        encoded = probe.encode(java_plan, scene.spark._jsparkSession)
        parsed = json.loads(encoded)
        samples.append(Sample(java_plan, encoded, parsed, _state(parsed, statement)))
    return samples


def _parts(samples: list[Sample], probe: Probe, java_session: Any) -> dict[str, Callable[[], Any]]:
    """Return each part as a function that processes all statements of a workload."""
    session, options = Session("/warehouse", None, "in-memory"), EventOptions()
    plans = [decode_plan(sample.parsed) for sample in samples]
    states = [redacted(sample.state, Redaction()) for sample in samples]
    events = [build_event(state, options) for state in states]
    # A text is redacted once: with the same values to hide, the second time would show nothing.
    hidden = (Redaction(known=(f"the value of round {at}",)) for at in itertools.count())
    return {
        "encode": lambda: [probe.encode(sample.java_plan, java_session) for sample in samples],
        "parse": lambda: [json.loads(sample.encoded) for sample in samples],
        "decode": lambda: [decode_plan(sample.parsed) for sample in samples],
        "understand": lambda: [lineage_of_plan(plan, session) for plan in plans],
        "redact": lambda: [redacted(sample.state, next(hidden)) for sample in samples],
        "describe": lambda: [build_event(state, options) for state in states],
        "serialise": lambda: [serialise(event) for event in events],
    }


def _milliseconds(part: Callable[[], Any], clock: Callable[[], float], times: int) -> float:
    found = []
    for _ in range(times):
        begin = clock()
        part()
        found.append(clock() - begin)
    return 1000 * median(found)


def java_clock(spark: Any) -> Callable[[], float]:
    """Return a clock of the processor time, in seconds, of the JVM thread that serves this one."""
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    return lambda: float(threads.getCurrentThreadCpuTime()) / 1e9


def _profile(parts: dict[str, Callable[[], Any]], times: int) -> None:
    for name in ("decode", "understand", "redact", "describe", "serialise"):
        profile = cProfile.Profile(time.thread_time)
        profile.enable()
        for _ in range(times):
            parts[name]()
        profile.disable()
        print(f"\n{name}, {times} times")
        pstats.Stats(profile, stream=sys.stdout).strip_dirs().sort_stats("tottime").print_stats(12)


def session(folder: str) -> Any:
    """Return a session without a UI that keeps its tables in a folder."""
    builder = SparkSession.builder.master("local[1]").appName("core")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{_HERE / 'log4j2.properties'}",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main() -> None:
    """Measure what the command line asks for; print a Markdown table, or profiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workloads", nargs="*", metavar="workload", help=f"of {', '.join(WORKLOADS)}; default: all")
    parser.add_argument("--times", type=int, default=5, help="the figures are medians of so many (default 5)")
    parser.add_argument("--all-queries", action="store_true", help="all queries of TPC-DS, not every fifth")
    parser.add_argument("--tpcds", type=Path, default=_HERE.parents[1] / "shared" / "tpcds", help="folder of TPC-DS")
    parser.add_argument("--profile", action="store_true", help="name the hottest functions of each part")
    options = parser.parse_args()
    unknown = sorted(set(options.workloads) - set(WORKLOADS))
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}: choose from {', '.join(WORKLOADS)}")
    heads = ["workload", "plans", "nodes", "KB of plan", *(f"{part}, ms" for part in _PARTS), "KB of event"]
    rows = [heads, ["---", *(["---:"] * (len(heads) - 1))]]
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        probe = Probe(spark.sparkContext._gateway, ProbeLimits())
        for name in options.workloads or WORKLOADS:
            scene = Scene(spark, Path(folder) / name, options.tpcds, options.all_queries)
            samples = _samples(name, scene, probe)
            parts = _parts(samples, probe, spark._jsparkSession)
            if options.profile:
                print(f"\n{name}: {WORKLOADS[name].about}")
                _profile(parts, options.times)
                continue
            clocks = {"encode": java_clock(spark)}
            figures = [
                f"{_milliseconds(parts[part], clocks.get(part, time.thread_time), options.times):.1f}"
                for part in _PARTS
            ]
            nodes = sum(len(sample.parsed["nodes"]) for sample in samples)
            plan_size = sum(len(sample.encoded) for sample in samples) / 1000
            event_size = sum(len(event) for event in parts["serialise"]()) / 1000
            rows.append([name, str(len(samples)), f"{nodes:,}", f"{plan_size:,.0f}", *figures, f"{event_size:,.0f}"])
        spark.stop()
    if not options.profile:
        print("\n".join(f"| {' | '.join(row)} |" for row in rows))


if __name__ == "__main__":
    main()
