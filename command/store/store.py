"""`store`: the operations on a lineage store as a whole."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.consent import add_consent, is_agreed
from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.store import spark_ingest
from openlineage_pyspark.command.store_option import add_store, is_in_spark, path_of, refuse_spark_options, session_for
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.model.times import time_of
from openlineage_pyspark.workbench.pictures.plain import first_of
from openlineage_pyspark.workbench.pictures.table import TableColumn
from openlineage_pyspark.workbench.pictures.words import counted
from openlineage_pyspark.workbench.questions.forgetting import forgetting
from openlineage_pyspark.workbench.store.expiry import expire
from openlineage_pyspark.workbench.store.spark.tables import SparkTables
from openlineage_pyspark.workbench.store.sqlite.database import Database

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.questions.forgetting import Forgetting
    from openlineage_pyspark.workbench.store.expiry import ExpirableTables, Expired

_REBUILD = """\
Rebuilds all tables of a store from its events. This also migrates a store that an older version of the package made.
Meanwhile, other processes may read a store in a file, and those that write wait for up to a minute. If the store is in
Spark's tables, no ingest may run meanwhile."""
_EXPIRE = """\
Drops runs that are older than a time, with their events and versions. It first reports how many there are, and asks for
confirmation. What is current stays: the newest version of each dataset, the current lineage of each job, and everything
that newer versions were made from."""
_FORGET = """\
Drops all events of the runs that read or wrote a dataset, or of the runs of a job, for example if it no longer exists.
It first lists what else these events contain, and asks for confirmation."""
_SHOWN = 10
_OLDER = "a time such as 2026-01-31, or an age such as 90d"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the command line."""
    parser = commands.add_parser("store", description="Maintains a lineage store.")
    below = parser.add_subparsers(metavar="COMMAND", required=True)
    rebuild = below.add_parser("rebuild", help="rebuild all tables from the events", description=_REBUILD)
    add_store(rebuild)
    rebuild.set_defaults(run=run_rebuild)
    old = below.add_parser("expire", help="drop old runs", description=_EXPIRE)
    old.add_argument("--older-than", required=True, metavar="TIME", help=_OLDER)
    add_consent(old)
    old.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    add_store(old)
    old.set_defaults(run=run_expiry)
    gone = below.add_parser("forget", help="drop the events of a dataset or a job", description=_FORGET)
    gone.add_argument("ref", metavar="DATASET|job:NAME", help="the dataset or job to forget")
    add_consent(gone)
    add_store(gone)
    gone.set_defaults(run=run_forget)
    spark_ingest.add_below(below)


def run_rebuild(options: argparse.Namespace) -> int:
    """
    Rebuild all tables of a store.

    Args:
        options: `store`.

    Returns:
        The exit code: 2 if there is no such store.
    """
    try:
        path = path_of(options)
        if is_in_spark(options):
            count = SparkTables(session_for(path, options), path, may_be_old=True).rebuild()
        else:
            refuse_spark_options(options, path)
            with Database(Path(path), migrate=False, create=False) as database:
                count = _rebuild(database)
    except StoreError as problem:
        complain(str(problem))
        return 2
    Screen().line(f"all tables of {path} rebuilt from {count:,} event{'' if count == 1 else 's'}")
    return 0


def _rebuild(database: Database) -> int:
    """Rebuild with a count on the terminal, if there is one."""
    if not sys.stderr.isatty():
        return database.rebuild()
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} events"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        return database.rebuild(progress=lambda count: progress.update(task, completed=count))


def run_expiry(options: argparse.Namespace) -> int:
    """
    Drop old runs.

    Args:
        options: `older_than`, `dry_run`, `yes`, `format` and `store`.

    Returns:
        The exit code: 1 if the user declines, 2 if there is no such store, or the time can't be read.
    """
    try:
        path = path_of(options)
        time = time_of(options.older_than, datetime.now(timezone.utc))
        if is_in_spark(options):
            return _expire(SparkTables(session_for(path, options), path), time, path, options)
        refuse_spark_options(options, path)
        # A missing store is not created.
        Database(Path(path), read_only=True).close()
        with Database(Path(path)) as database:
            return _expire(database, time, path, options)
    except StoreError as problem:
        complain(str(problem))
        return 2


def _expire(tables: ExpirableTables, time: int, path: str, options: argparse.Namespace) -> int:
    screen, is_text = Screen(), options.format == "text"
    found, dropped = expire(tables, time, dry_run=True), False
    if found.events and not options.dry_run:
        if is_text:
            _show(screen, path, found, dropped=False)
        if not is_agreed(f"Drop {counted(found.events, 'event')} from {path}?", options):
            return 1
        found, dropped = expire(tables, time), True
    if is_text:
        _show(screen, path, found, dropped=dropped)
    else:
        arguments = {"olderThan": options.older_than, **({"dryRun": True} if options.dry_run else {})}
        document = _document(found, dry_run=options.dry_run)
        screen.json(Answer("expire", arguments, Values("expiry", document)).to_dict())
    return 0


def run_forget(options: argparse.Namespace) -> int:
    """
    Forget a dataset or a job.

    Args:
        options: `ref`, `dry_run`, `yes` and `store`.

    Returns:
        The exit code: 1 if the user declines, 2 if there is no such store, dataset or job.
    """
    try:
        path = path_of(options)
        if is_in_spark(options):
            return _forget(SparkTables(session_for(path, options), path), path, options)
        refuse_spark_options(options, path)
        Database(Path(path), read_only=True).close()
        with Database(Path(path)) as database:
            return _forget(database, path, options)
    except StoreError as problem:
        complain(str(problem))
        return 2


def _forget(tables: ExpirableTables, path: str, options: argparse.Namespace) -> int:
    found, screen = forgetting(tables, options.ref), Screen()
    screen.line(f"{found.label}: {counted(len(found.events), 'event')} of {counted(found.runs, 'run')} in {path}")
    screen.line(f"jobs that lose runs: {first_of(found.jobs, _SHOWN) or 'none'}", indent=2)
    screen.line(f"other datasets in the events of these runs: {first_of(found.datasets, _SHOWN) or 'none'}", indent=2)
    if not is_agreed(f"Forget {found.label}?", options):
        return int(not options.dry_run)
    count = _drop(tables, options.ref)
    tables.shrink()
    screen.line(f"{counted(count, 'event')} dropped from {path}")
    return 0


def _drop(tables: ExpirableTables, ref: str) -> int:
    """Forget a dataset or a job, including events that arrived meanwhile, and return how many events there were."""
    found: list[Forgetting] = []

    def events() -> tuple[str, ...]:
        found.append(forgetting(tables, ref))
        return found[-1].events

    return tables.forget(events, lambda: found[-1].lost)


def _show(screen: Screen, path: str, found: Expired, *, dropped: bool) -> None:
    if not found.events:
        screen.line(f"{path} has no runs that are that old and no longer needed")
        return
    verb = "were" if dropped else "would be"
    screen.line(f"{found.runs:,} runs with {found.events:,} events in all {verb} dropped from {path}")
    if not dropped:
        return
    rows = [(name, f"{found.before[name]:,}", f"{found.after[name]:,}") for name in found.before]
    screen.table([TableColumn("table"), TableColumn("rows before", right=True), TableColumn("now", right=True)], rows)
    if found.size_before is None:
        screen.line("the catalog keeps the files of earlier snapshots, until its own expiry or vacuum removes them")
    elif found.shrunk:
        screen.line(f"the file had {found.size_before:,} bytes and has {found.size_after:,}")
    else:
        screen.line(
            "the file keeps its size, because another process uses it or the disk is full; new events will fill it"
        )


def _document(found: Expired, *, dry_run: bool) -> dict[str, object]:
    return {
        "dryRun": dry_run,
        "events": found.events,
        "runs": found.runs,
        "rowsBefore": found.before,
        "rowsAfter": found.after,
        "bytesBefore": found.size_before,
        "bytesAfter": found.size_after,
        "shrunk": found.shrunk,
    }
