"""`upstream`, `downstream` and `between`: where data come from, and what is made from them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from openlineage_pyspark.command.screen import Screen, TableColumn
from openlineage_pyspark.command.stores import add_store, asking
from openlineage_pyspark.store.pictures import FORMATS

if TYPE_CHECKING:
    from openlineage_pyspark.store.answers import Answer, Store

_THING = """a dataset, or DATASET.COLUMN; the end of a name is enough, such as `orders` for `s3://lake/sales/orders`"""
_AS_OF = "answer for an earlier time, such as 2026-01-31T12:00:00Z or 2d (two days ago)"
_UPSTREAM = "Shows where a dataset or a column comes from, the closest first."
_DOWNSTREAM = "Shows what is made from a dataset or a column, the closest first."
_BETWEEN = "Shows the ways from one dataset or column to another, and nothing else."


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the command line."""
    for name, help_, description in (
        ("upstream", "where a dataset or a column comes from", _UPSTREAM),
        ("downstream", "what is made from a dataset or a column", _DOWNSTREAM),
    ):
        parser = commands.add_parser(name, help=help_, description=description)
        parser.add_argument("thing", metavar="THING", help=_THING)
        parser.add_argument("--depth", type=_positive, metavar="N", help="pass at most N jobs")
        _add_options(parser)
        parser.set_defaults(run=asking(_reached), question=name)
    parser = commands.add_parser("between", help="the ways from one thing to another", description=_BETWEEN)
    parser.add_argument("source", metavar="FROM", help=_THING)
    parser.add_argument("target", metavar="TO", help="the same")
    _add_options(parser)
    parser.set_defaults(run=asking(_between))


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--direct", action="store_true", help="leave out columns that only decide about rows")
    parser.add_argument("--as-of", default="", metavar="TIME", help=_AS_OF)
    parser.add_argument("--ever", action="store_true", help="count what jobs did once and do no longer")
    parser.add_argument("--format", choices=("table", "json", *FORMATS), default="table", help="default: table")
    add_store(parser)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _reached(store: Store, options: argparse.Namespace) -> int:
    ask = store.upstream if options.question == "upstream" else store.downstream
    answer = ask(options.thing, depth=options.depth, direct=options.direct, as_of=options.as_of, ever=options.ever)
    return _print(answer, options.format)


def _between(store: Store, options: argparse.Namespace) -> int:
    answer = store.between(
        options.source, options.target, direct=options.direct, as_of=options.as_of, ever=options.ever
    )
    if options.format == "table" and not answer.links:
        Screen().line(f"no way leads from {options.source} to {options.target}")
        return 0
    return _print(answer, options.format)


def _print(answer: Answer, format_: str) -> int:
    if format_ == "json":
        Screen().json(answer.to_dict())
    elif format_ in FORMATS:
        sys.stdout.write(FORMATS[format_](answer))
    else:
        _print_table(Screen(), answer)
    return 0


def _print_table(screen: Screen, answer: Answer) -> None:
    if not answer.links:
        screen.line(f"nothing in the store is {answer.question} of {answer.start.label}")
        return
    by_columns = bool(answer.start.column)
    rows = []
    for link in answer.links:
        depth = max(link.source.depth, link.target.depth)
        source, target = (
            node.label if node.column or not by_columns else f"{node.label} (every row)"
            for node in (link.source, link.target)
        )
        how = f"{', '.join(dict.fromkeys(link.kinds))} {next(filter(None, link.expressions), '')}".rstrip()
        rows.append((str(depth), source, target, *([how] if by_columns else []), link.job))
    columns = [TableColumn("depth", right=True), TableColumn("from", 20), TableColumn("to", 20), TableColumn("job", 12)]
    if by_columns:
        columns.insert(3, TableColumn("how", 20, cut_end=True))
    screen.table(columns, rows)
