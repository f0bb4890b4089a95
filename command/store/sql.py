"""`sql`: a query of one's own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen
from openlineage_pyspark.command.store_option import add_store, asking
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.pictures.plain import csv_of
from openlineage_pyspark.workbench.pictures.table import TableColumn
from openlineage_pyspark.workbench.store.tables.views import PROPOSAL

if TYPE_CHECKING:
    import argparse

    from openlineage_pyspark.workbench.store_api import Store

_DESCRIPTION = f"""\
Asks the store's tables and views with a query of your own. The query is written as for Spark. The names
{", ".join(PROPOSAL)} mean the views with the columns job, barrier_id, database, table and snapshot_id here."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("sql", description=_DESCRIPTION)
    parser.add_argument("query", metavar="QUERY", help="a SELECT; - is standard input")
    parser.add_argument("--dialect", default="spark", help="the dialect of the query; default: spark")
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table", help="default: table")
    add_store(parser)
    parser.set_defaults(run=asking(_sql))


def _sql(store: Store, options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.query == "-" else options.query
    columns, rows = store.sql(text, dialect=options.dialect)
    if options.format == "json":
        found = Rows("row", [dict(zip(columns, row, strict=True)) for row in rows])
        arguments = {"query": text, "dialect": options.dialect}
        Screen().json(Answer("sql", arguments, found, last_seen=store.last_seen()).to_dict())
    elif options.format == "csv":
        sys.stdout.write(csv_of([columns, *rows]))
    elif rows:
        Screen().table([TableColumn(name) for name in columns], [[_text(each) for each in row] for row in rows])
    else:
        Screen().line("nothing found")
    return 0


def _text(value: object) -> str:
    return "" if value is None else str(value)
