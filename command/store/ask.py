"""`upstream`, `downstream` and `between`: where data come from, and what is made from them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.command.screen import Screen, TableColumn
from openlineage_pyspark.command.store_option import add_store, asking, count_of_one_or_more
from openlineage_pyspark.workbench.answer import answer_of_reach
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.questions.pictures import PICTURE_FORMATS, picture_of_answer, table_of_csv
from openlineage_pyspark.workbench.questions.reached import Grain, reach_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.questions.reached import AnswerLink, AnswerNode, LinkedNodes
    from openlineage_pyspark.workbench.store_api import Store

_PLACE = """a dataset, or DATASET.COLUMN; the end of a name is enough, such as `orders` for `s3://lake/sales/orders`"""
_THING = f"""{_PLACE}; or DATASET@VERSION, DATASET@latest, DATASET@TIME, job:NAME or run:ID"""
_AS_OF = "answer for an earlier time, such as 2026-01-31T12:00:00Z or 2d (two days ago)"
_SINCE = "leave out what jobs do that were not seen since, such as 90d"
_BY = "what is listed; default: columns for a column, snapshots (versions) for a version and a run, else tables"
_UPSTREAM = "Shows where a dataset, a column, a version, a job or a run comes from, the closest first."
_DOWNSTREAM = "Shows what is made from a dataset, a column, a version, by a job or a run, the closest first."
_BETWEEN = "Shows the ways from one dataset or column to another, and nothing else."

_FORMATS = ("table", "csv", "json", *PICTURE_FORMATS, "html", "svg")


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the command line."""
    for name, description in (("upstream", _UPSTREAM), ("downstream", _DOWNSTREAM)):
        parser = commands.add_parser(name, description=description)
        parser.add_argument("thing", metavar="THING", help=_THING)
        parser.add_argument("--depth", type=count_of_one_or_more, metavar="N", help="pass at most N jobs")
        parser.add_argument("--by", choices=[grain.value for grain in Grain], default="", help=_BY)
        _add_options(parser)
        parser.set_defaults(run=asking(_reached), question=name)
    parser = commands.add_parser("between", description=_BETWEEN)
    parser.add_argument("source", metavar="FROM", help=_PLACE)
    parser.add_argument("target", metavar="TO", help="the same")
    _add_options(parser)
    parser.set_defaults(run=asking(_between))


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--direct", action="store_true", help="leave out columns that only decide about rows")
    parser.add_argument("--as-of", default="", metavar="TIME", help=_AS_OF)
    parser.add_argument("--ever", action="store_true", help="count what jobs did once and do no longer")
    parser.add_argument("--since", default="", metavar="TIME", help=_SINCE)
    parser.add_argument("--format", choices=_FORMATS, default="table", help="default: table")
    add_store(parser)


def _reached(store: Store, options: argparse.Namespace) -> int:
    ask = store.upstream if options.question == "upstream" else store.downstream
    how_far = {"depth": options.depth, "direct": options.direct, "as_of": options.as_of, "ever": options.ever}
    how_far["since"] = options.since
    answer = ask(options.thing, **how_far, by=options.by)
    return _print(store, answer, options)


def _between(store: Store, options: argparse.Namespace) -> int:
    answer = store.between(
        options.source,
        options.target,
        direct=options.direct,
        as_of=options.as_of,
        ever=options.ever,
        since=options.since,
    )
    if options.format == "table" and not answer.links:
        Screen().line(f"no way leads from {options.source} to {options.target}")
        return 0
    return _print(store, answer, options)


def _print(store: Store, answer: LinkedNodes, options: argparse.Namespace) -> int:
    if options.format == "table":
        _print_table(Screen(), answer)
    elif options.format == "csv":
        sys.stdout.write(table_of_csv(answer))
    elif options.format == "json":
        Screen().json(_json(store, answer, options))
    elif options.format in PICTURE_FORMATS and not _is_graph(answer, options):
        sys.stdout.write(PICTURE_FORMATS[options.format](picture_of_answer(answer)))
    else:
        graph = store.graph_of(answer, direct=options.direct, as_of=options.as_of, ever=options.ever)
        sys.stdout.write(text_of_graph(graph, options.format))
    return 0


def _json(store: Store, found: LinkedNodes, options: argparse.Namespace) -> dict[str, Any]:
    """Return the answer as JSON: with all that the store knows of its nodes and edges, unless it is one by jobs."""
    graph = found.graph()
    if _is_graph(found, options):
        graph = store.graph_of(found, direct=options.direct, as_of=options.as_of, ever=options.ever)
    names = {"thing": "ref", "source": "source", "target": "target", "depth": "depth", "by": "by"}
    names |= {"direct": "direct", "as_of": "asOf", "ever": "ever", "since": "since"}
    given = {text: value for name, text in names.items() if (value := getattr(options, name, None))}
    answer = answer_of_reach(reach_of(found, graph), found.question, given, store.last_seen())
    return attrs.evolve(answer, diagnostics=(*store.diagnostics(), *answer.diagnostics)).to_dict()


def _is_graph(answer: LinkedNodes, options: argparse.Namespace) -> bool:
    """Return whether the graph says all: it has no versions, and no edges between jobs."""
    by_job = getattr(options, "by", "") == Grain.JOB.value
    return not by_job and not any(node.kind in ("version", "run") for node in answer.all_nodes)


def _print_table(screen: Screen, answer: LinkedNodes) -> None:
    if not answer.links:
        screen.line(f"nothing in the store is {answer.question} of {answer.start.label}")
        return
    kinds = {node.kind for node in answer.all_nodes}
    how = _HOWS["version" if "version" in kinds else "column" if "column" in kinds else "dataset"]
    rows = [
        (str(link.depth), *(_label(node, kinds) for node in (link.source, link.target)), *how(link), link.job)
        for link in answer.links
    ]
    # Of a version, both the dataset and the id are needed.
    names = [TableColumn(title, 28, cut_start="version" not in kinds) for title in ("from", "to")]
    columns = [TableColumn("depth", right=True), *names, TableColumn("job", 12)]
    if how is not _HOWS["dataset"]:
        columns.insert(3, TableColumn("how", 12, cut_end=True))
    screen.table(columns, rows)


def _label(node: AnswerNode, kinds: set[str]) -> str:
    return f"{node.label} (every row)" if "column" in kinds and node.kind == "dataset" else node.label


def _how_of_column(link: AnswerLink) -> tuple[str, ...]:
    doubts = [] if link.certainty == "exact" else [link.certainty]
    expressions = (path.expression for path in link.paths if path.kind.subtype != "IDENTITY")
    words = ", ".join(filter(None, dict.fromkeys([*link.kind_texts, *doubts])))
    return (f"{words}  {next(filter(None, expressions), '')}".rstrip(),)


def _how_of_version(link: AnswerLink) -> tuple[str, ...]:
    if link.kept:
        return ("keeps its rows",)
    by = f"run {link.last_run}" if link.batch is None else f"run {link.last_run}, batch {link.batch}"
    return (f"{by}, version inferred" if link.inferred else by,)


_HOWS: dict[str, Callable[[AnswerLink], tuple[str, ...]]] = {
    "column": _how_of_column,
    "dataset": lambda _: (),
    "version": _how_of_version,
}
