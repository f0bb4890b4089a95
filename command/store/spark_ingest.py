"""`ingest --spark`, `store compact` and `store views`: a store in the tables of a catalog."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.store_option import add_store, pairs, schema_of, session_for
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.spark.functions import FUNCTIONS
from openlineage_pyspark.workbench.store.spark.ingest import EventOrigin, take_once, take_stream
from openlineage_pyspark.workbench.store.spark.sql import Format
from openlineage_pyspark.workbench.store.spark.tables import SparkTables

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.events.ingest import Ingested

_WRONG = 2
_FROM = (
    "with --spark: an event file or a folder of them in any file system that Spark reads, kafka://HOST:PORT/TOPIC, or "
    "store:CATALOG.SCHEMA for the events of another store; repeatable"
)
_FORMAT = "with --spark: how new tables are stored; by default the catalog's format"
_STREAM = "with --spark: ingest only events that are new since the last call, with a streaming query"
_EVERY = "with --stream: continue, and look for new events at this interval, such as '1 minute'"
_CHECKPOINT = "with --stream: the folder in which Spark keeps its progress"
_OPTION = "with --spark: an option of Spark's source, such as kafka.security.protocol=SSL; repeatable"
_COMPACT = "Merges small files and repeated rows of a store in Spark's tables. No ingest may run at the same time."
_VIEWS = (
    "Creates the views table_edges and column_edges and, from Spark 4 on, the table functions upstream_tables, "
    "downstream_tables, upstream_columns and downstream_columns, with which plain SQL can query the store."
)


def add_ingest_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ingest --spark`."""
    parser.add_argument("--from", dest="origins", action="append", default=[], metavar="PATH", help=_FROM)
    parser.add_argument("--source-option", action="append", default=[], metavar="KEY=VALUE", help=_OPTION)
    parser.add_argument("--using", choices=[each.value for each in Format], help=_FORMAT)
    parser.add_argument("--stream", action="store_true", help=_STREAM)
    parser.add_argument("--every", default="", metavar="INTERVAL", help=_EVERY)
    parser.add_argument("--checkpoint", default="", metavar="DIR", help=_CHECKPOINT)


def refuse_ingest_options(options: argparse.Namespace) -> None:
    """
    Refuse the options of `ingest --spark` for a store that is a file.

    Args:
        options: those of `add_ingest_options`.

    Raises:
        StoreError: one of them is given.
    """
    values = (
        *(("--from", options.origins), ("--source-option", options.source_option)),
        *(("--using", options.using), ("--stream", options.stream), ("--every", options.every)),
        ("--checkpoint", options.checkpoint),
    )
    given = [name for name, value in values if value]
    if given:
        need = "needs" if len(given) == 1 else "need"
        raise StoreError(f"{', '.join(given)} {need} --spark, for a store in Spark's tables")


def add_below(parts: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compact` and `views` below `store`."""
    for name, help_, description, run in (
        ("compact", "merge small files in Spark's tables", _COMPACT, run_compact),
        ("views", "create views and table functions in Spark's tables", _VIEWS, run_views),
    ):
        parser = parts.add_parser(name, help=help_, description=description)
        add_store(parser)
        parser.set_defaults(run=run)


def run_ingest(options: argparse.Namespace) -> int:
    """
    Add events to a store in Spark's tables.

    Args:
        options: those of `add_ingest_options`, and of `add_spark`.

    Returns:
        The exit code: 1 if a line was not an event, 2 if nothing could be read or written.
    """
    try:
        name, origins = _asked(options)
        format_ = Format(options.using) if options.using else None
        tables = SparkTables.make(session_for(name, options), name, format_)
        found = [_take(tables, origin, options) for origin in origins]
    except StoreError as problem:
        complain(str(problem))
        return _WRONG
    return _print_counts(name, found)


def run_views(options: argparse.Namespace) -> int:
    """
    Create the views and the table functions of a store.

    Returns:
        The exit code: 2 if the catalog can't hold views, or the functions can't be created.
    """
    try:
        name = schema_of(options, "store views")
        tables = SparkTables(session_for(name, options), name)
        # In a catalog without views, the functions still work.
        holder = tables.make_functions()
        Screen().line(
            f"{holder} has the functions {', '.join(FUNCTIONS)}" if holder else "table functions need Spark 4"
        )
        tables.make_views()
    except StoreError as problem:
        complain(str(problem))
        return _WRONG
    Screen().line(f"{options.store} has the views table_edges and column_edges")
    return 0


def run_compact(options: argparse.Namespace) -> int:
    """
    Merge small files and repeated rows of a store.

    Returns:
        The exit code: 2 if it can't be done.
    """
    try:
        name = schema_of(options, "store compact")
        SparkTables(session_for(name, options), name).compact()
    except StoreError as problem:
        complain(str(problem))
        return _WRONG
    Screen().line(f"{options.store} is compact")
    return 0


def _asked(options: argparse.Namespace) -> tuple[str, list[EventOrigin]]:
    """
    Return the schema of the store, and where events come from.

    Raises:
        StoreError: one of the two is missing, a stream would have several origins, or an option has no value.
    """
    addresses = [*options.origins, *map(str, options.paths)]
    if not options.store or not addresses:
        raise StoreError("name the store and the events: --store CATALOG.SCHEMA --from PATH")
    if len(addresses) > 1 and (options.stream or options.every):
        raise StoreError("a stream reads from one place: give --from only once")
    given = pairs(options.source_option, "--source-option", "kafka.security.protocol=SSL")
    return options.store, [EventOrigin(address, given) for address in addresses]


def _take(tables: SparkTables, origin: EventOrigin, options: argparse.Namespace) -> Ingested:
    if options.stream or options.every:
        return take_stream(tables, origin, checkpoint=options.checkpoint, every=options.every)
    return take_once(tables, origin)


def _print_counts(name: str, found: list[Ingested]) -> int:
    events, rejected = sum(taken.events for taken in found), sum(taken.rejected for taken in found)
    Screen().line(f"{events:,} event{'' if events == 1 else 's'} added to {name}")
    for taken in found:
        for reason in taken.reasons:
            complain(reason)
    if rejected:
        are = "is not an event; it is" if rejected == 1 else "are not events; they are"
        complain(f"{rejected:,} of the lines {are} in the store's table `rejected`")
    return int(bool(rejected))
