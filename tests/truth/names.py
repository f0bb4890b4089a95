"""
Compare the names of datasets in the events of random statements with what the statements use.

    ./run truth names --statements 300 --seed 1

Folders, tables of the session catalog, tables of lakes and of databases are made, written, read, renamed, moved,
dropped and made again, each time in another way and spelling. Where a table is, Spark's catalog is asked. Wrong is a
statement if a thing has another name in its events, or if a thing that it uses by its table's name lacks that name as a
symlink. Wrong are also several jobs for one command on one thing, and several things of one job. The exit code is 1 if
something was found. Delta Lake and Iceberg take part if the tests know their jars for the installed Spark.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyspark
from pyspark.sql import SparkSession
from support.lakes import LAKE_CONF, LAKE_JARS
from support.maven import fetched
from support.named_things import FILES, KINDS, WAREHOUSE, Executed, Use, World

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SQLITE = "org.xerial:sqlite-jdbc:3.46.1.3"
_SLACK = 0.01
Event = dict[str, Any]


class Comparison:
    """
    Collects what is wrong.

    Args:
        most: so many findings are printed.
    """

    def __init__(self, most: int) -> None:
        self.found = 0
        self._most = most
        self._jobs: dict[tuple[object, ...], set[str]] = defaultdict(set)
        self._things: dict[str, set[object]] = defaultdict(set)

    def take(self, statement: Executed, runs: Sequence[tuple[Event, Event]]) -> None:
        """Compare a statement with the first and the last event of each of its runs."""
        ends = [end for _, end in runs]
        for side, uses in (("inputs", statement.reads), ("outputs", statement.writes)):
            wanted = sorted({use.name for use in uses})
            # What a stream writes is known when it writes.
            begins = [] if any(_is_stream(end) for end in ends) else [begin for begin, _ in runs]
            for events in filter(None, (begins, ends)):
                names = sorted({_named(dataset) for event in events for dataset in event[side]})
                if names != wanted:
                    self._wrong(statement.text, f"{side} {names}, not {wanted}, of {[_job(each) for each in events]}")
            self._links(statement, side, uses, ends)
        for end in ends:
            errors = end["run"]["facets"].get("extractionError", {}).get("errors", ())
            remarks = [each["errorMessage"] for each in errors]
            if end["eventType"] != "COMPLETE" or remarks:
                self._wrong(statement.text, f"{end['eventType']} {remarks}")
        if bool(runs) != bool(statement.writes):
            self._wrong(statement.text, f"{len(runs)} runs")
        for use in statement.writes if len(statement.writes) == 1 else ():
            for end in ends:
                self._jobs[use, _job(end).split(".")[1]].add(_job(end))
                # The table of a name may be another one later.
                self._things[_job(end)].add(use.table or use.name)

    def _links(self, statement: Executed, side: str, uses: Iterable[Use], ends: Iterable[Event]) -> None:
        for use in uses:
            datasets = (each for end in ends for each in end[side] if _named(each) == use.name)
            links = [each["facets"].get("symlinks", {}).get("identifiers", ()) for each in datasets]
            found = {tuple(link["name"] for link in each) for each in links}
            if any(set(each) != ({use.table} if use.table else set()) for each in found):
                self._wrong(statement.text, f"symlinks {sorted(found)} of {side}, not {use.table or 'none'}")

    def report(self, statements: Sequence[Executed], refused: Iterable[tuple[str, int]]) -> int:
        """Print what was found, and return the exit code."""
        for what, jobs in self._jobs.items():
            if len(jobs) > 1:
                self._wrong(str(what), f"jobs {sorted(jobs)}")
        for job, things in self._things.items():
            if len(things) > 1:
                self._wrong(job, f"things {things}")
        print(f"{len(statements):,} statements: {self.found} findings")
        for why, count in refused:
            print(f"  refused {count}: {why.splitlines()[0]}")
        return int(bool(self.found))

    def _wrong(self, what: str, why: str) -> None:
        self.found += 1
        if self.found <= self._most:
            print(f"{what}\n    {why}", flush=True)


def _named(dataset: Event) -> tuple[str, str]:
    return dataset["namespace"], dataset["name"]


def _job(event: Event) -> str:
    return str(event["job"]["name"])


def _is_stream(event: Event) -> bool:
    return bool(event["job"]["facets"]["jobType"]["processingType"] == "STREAMING")


def runs_of(events: Iterable[Event]) -> list[tuple[float, Event, Event]]:
    """Return when each run began, with its first and its last event, without the application's."""
    started: dict[str, Event] = {}
    found = []
    for event in events:
        if event["job"]["facets"]["jobType"]["jobType"] == "APPLICATION":
            continue
        first = started.setdefault(event["run"]["runId"], event)
        if event["eventType"] not in ("START", "RUNNING"):
            began = datetime.datetime.fromisoformat(first["eventTime"].replace("Z", "+00:00"))
            found.append((began.timestamp(), first, event))
    return found


def session(folder: Path) -> tuple[SparkSession, bool]:
    """Return a session with the listener, and whether it has lakes."""
    lakes = LAKE_JARS.get(pyspark.__version__[:3], ())
    jars = [*lakes, SQLITE]
    files = [str(fetched(each, Path(tempfile.mkdtemp()))) for each in jars]
    conf = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.warehouse.dir": f"{folder}/{WAREHOUSE}",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
        "spark.jars": ",".join(files),
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": f"{folder}/events.ndjson",
    }
    if lakes:
        conf |= LAKE_CONF | {"spark.sql.catalog.ice.warehouse": f"{folder}/ice"}
    builder = SparkSession.builder.appName("names").master("local[2]")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark, bool(lakes)


def main() -> int:
    """Run as many statements as were asked for, and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--statements", type=int, default=300, help="so many random statements")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", nargs="+", choices=list(KINDS), default=list(KINDS), help="only things of these kinds"
    )
    parser.add_argument("--findings", type=int, default=30, help="print so many at most")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp()).resolve()
    os.chdir(folder)
    spark, lakes = session(folder)
    chance = random.Random(options.seed)  # noqa: S311 (no secret)
    world = World(spark, folder, chance, lakes=lakes)
    weights = {"folder": 3, "table": 5, "jdbc": 1, "iceberg": 2 if lakes else 0}
    while len(world.executed) < options.statements:
        kind = chance.choices(options.only, [weights[each] for each in options.only])[0]
        formats = [*FILES, *(["text"] if kind == "folder" else []), *(["delta"] * 3 if lakes else [])]
        world.live(kind, chance.choice(formats))
    spark.stop()
    lines = (folder / "events.ndjson").read_text("utf-8").splitlines()
    runs = runs_of(json.loads(line) for line in lines)
    comparison = Comparison(options.findings)
    for statement in world.executed:
        those = [(a, z) for at, a, z in runs if statement.began - _SLACK <= at <= statement.ended + _SLACK]
        comparison.take(statement, those)
    return comparison.report(world.executed, world.refused.most_common(20))


if __name__ == "__main__":
    sys.exit(main())
