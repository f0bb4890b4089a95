"""
Compare the Java listener (openlineage-spark) with this one on the same statements and the same Spark, in separate runs.

For each statement, it counts the runs in the events of either, and the sound ones among them (one START, and one
COMPLETE, FAIL or ABORT). It notes in what state they end, and how many of the true edges from source column to output
column are there. All events of a statement count together, no matter which run they belong to.

The Java listener's jar comes from Maven Central, through Spark's own `--packages`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
from peer_statements import STATEMENTS, Statement

_HERE = Path(__file__).resolve().parent
_ENDS = ("COMPLETE", "FAIL", "ABORT")
_CONF = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.legacy.createHiveTableByDefault": "false",
    "spark.openlineage.transport.type": "file",
    "spark.openlineage.namespace": "peer",
}
_JAVA_LISTENER = "io.openlineage.spark.agent.OpenLineageSparkListener"


@attrs.frozen
class Heard:
    """
    What the events of one statement report.

    Args:
        runs: the number of runs, not counting the application's.
        sound: how many of them have one START and one terminal event.
        ends: the terminal states of all of them, sorted.
        edges: how many of the true edges are there.
        wrong: how many edges are there that are not true.
    """

    runs: int
    sound: int
    ends: tuple[str, ...]
    edges: int
    wrong: int

    def is_right(self, statement: Statement) -> bool:
        """Whether there is one sound run in the right state, with all edges and no others."""
        return (self.runs, self.sound, self.ends) == (1, 1, (statement.ends,)) and (self.edges, self.wrong) == (
            len(_true_edges(statement)),
            0,
        )


def heard(statement: Statement, events: Sequence[dict[str, Any]]) -> Heard:
    """
    Judge the events of one statement.

    Args:
        statement: the statement, with what is true of it.
        events: its events, in order.
    """
    types: dict[str, list[str]] = {}
    found: set[tuple[str, str]] = set()
    for event in events:
        if event["job"]["facets"]["jobType"]["jobType"] == "APPLICATION":
            continue
        types.setdefault(event["run"]["runId"], []).append(event["eventType"])
        found |= set(_edges(event))
    sound = 0
    for of_run in types.values():
        counted = Counter(of_run)
        sound += counted["START"] == 1 and sum(counted[state] for state in _ENDS) == 1
    ends = sorted(state for of_run in types.values() for state in of_run if state in _ENDS)
    true = _true_edges(statement)
    return Heard(len(types), sound, tuple(ends), len(true & found), len(found - true))


def _true_edges(statement: Statement) -> set[tuple[str, str]]:
    return {(column, source) for column, sources in statement.edges.items() for source in sources}


def _edges(event: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield the DIRECT edges of an event; an edge without a transformation counts as one."""
    for output in event.get("outputs", ()):
        fields = output.get("facets", {}).get("columnLineage", {}).get("fields", {})
        for column, lineage in fields.items():
            for source in lineage["inputFields"]:
                kinds = {way["type"] for way in source.get("transformations", ())} or {"DIRECT"}
                if "DIRECT" in kinds:
                    yield column, f"{source['name'].rpartition('/')[2]}.{source['field'].partition('.')[0]}"


def run(listener: Sequence[str], ivy: Path) -> tuple[str, list[Heard]]:
    """
    Run the statements under one listener.

    Args:
        listener: the spark-submit arguments that attach it.
        ivy: the folder that keeps downloaded jars.

    Returns:
        The version of Spark, and what was heard of each statement.

    Raises:
        RuntimeError: the job did not end as it should.
    """
    folder = Path(tempfile.mkdtemp(prefix="peer-"))
    try:
        events, marks = folder / "events.ndjson", folder / "marks.json"
        places = {"spark.sql.warehouse.dir": folder / "warehouse", "spark.jars.ivy": ivy}
        conf = {**_CONF, **places, "spark.openlineage.transport.location": events}
        arguments = [
            str(Path(sys.executable).with_name("spark-submit")),
            *("--driver-java-options", f"-Dlog4j2.configurationFile=file:{_HERE / 'log4j2.properties'}"),
            *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
            *listener,
            *(str(_HERE / "peer_statements.py"), str(folder), str(events), str(marks)),
        ]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not marks.is_file():
            raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return _judged(json.loads(marks.read_text("utf-8")), events)
    finally:
        shutil.rmtree(folder)


def _judged(marks: dict[str, Any], events: Path) -> tuple[str, list[Heard]]:
    lines = [json.loads(line) for line in events.read_text("utf-8").splitlines()]
    found = []
    for statement, mark in zip(STATEMENTS, marks["statements"], strict=True):
        if mark["failed"] != (statement.ends == "FAIL"):
            raise RuntimeError(f"{statement.name}: failed is {mark['failed']}, which is not what it is there to show")
        found.append(heard(statement, lines[mark["begin"] : mark["end"]]))
    return marks["spark"], found


def table(java: Sequence[Heard], python: Sequence[Heard]) -> str:
    """
    Return both listeners side by side, as a Markdown table.

    Args:
        java: what the Java listener's events report for each statement.
        python: what this listener's events report.
    """
    lines = [
        "| statement | Java: runs (sound) | ends | edges | Python: runs (sound) | ends | edges |",
        "|---|---|---|---|---|---|---|",
    ]
    for statement, *both in zip(STATEMENTS, java, python, strict=True):
        cells = [statement.name]
        for one in both:
            states = Counter(one.ends)
            ends = ", ".join(f"{count} {state}" if count > 1 else state for state, count in states.items())
            wrong = f", {one.wrong} wrong" if one.wrong else ""
            cells += [
                f"{one.runs} ({one.sound})",
                ends or "no end",
                f"{one.edges} of {len(_true_edges(statement))}{wrong}",
            ]
        lines.append(f"| {' | '.join(cells)} |")
    right = [sum(one.is_right(s) for s, one in zip(STATEMENTS, all_, strict=True)) for all_ in (java, python)]
    lines.append(
        f"| **all right** | **{right[0]} of {len(STATEMENTS)}** | | | **{right[1]} of {len(STATEMENTS)}** | | |"
    )
    return "\n".join(lines)


def main() -> None:
    """Run both and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="1.53.0", help="of openlineage-spark (default: %(default)s)")
    parser.add_argument("--scala", default="2.13", help="of the Spark: 2.13, or 2.12 for PySpark 3.5")
    parser.add_argument("--ivy", type=Path, default=Path.home() / ".ivy2", help="where downloaded jars are kept")
    options = parser.parse_args()
    jar = f"io.openlineage:openlineage-spark_{options.scala}:{options.version}"
    spark, java = run(["--packages", jar, "--conf", f"spark.extraListeners={_JAVA_LISTENER}"], options.ivy)
    _, python = run([], options.ivy)
    print(f"Spark {spark}, {jar}\n")
    print(table(java, python))


if __name__ == "__main__":
    main()
