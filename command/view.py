"""`view`: writes lineage as a page that a browser opens, or as a graph in another format."""

from __future__ import annotations

import argparse
import os
import sys
import webbrowser
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.consent import add_yes, may_overwrite
from openlineage_pyspark.command.screen import Screen, complain, printable
from openlineage_pyspark.command.store_option import (
    STORE,
    VARIABLE,
    add_spark,
    file_reason_of,
    is_in_spark,
    opened,
    refuse_spark_options,
    whole_number,
    write_file,
)
from openlineage_pyspark.command.unfold_option import add_unfold, unfold_refusal
from openlineage_pyspark.errors import NameNotFoundError, StoreError
from openlineage_pyspark.workbench.events.files import database_in, refuse_missing_file
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, JobNode
from openlineage_pyspark.workbench.model.kinds import ODD_CODES
from openlineage_pyspark.workbench.model.times import time_of
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.page.html import page_of
from openlineage_pyspark.workbench.pictures.words import counted
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.questions.node_facts import owners, row_counts
from openlineage_pyspark.workbench.store.events.ingest import files_of
from openlineage_pyspark.workbench.store.sqlite.in_memory import events_in_memory
from openlineage_pyspark.workbench.store_api import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.workbench.answer import Answer
    from openlineage_pyspark.workbench.model.graph import Graph

_DESCRIPTION = """\
Writes lineage as one HTML file, which needs no network: tables with their columns, the jobs between them, and what each
column is made from. It takes event files, or a store that `ingest` made."""
_PATHS = (
    "event files, also gzipped; folders of them; - for standard input; or a store: its file, or its CATALOG.SCHEMA in "
    f"Spark; by default ${VARIABLE}"
)
_OUTPUT = "default: lineage.html, or with another format lineage.json and so on; - for standard output"
_AROUND = "only what is upstream and downstream of a DATASET or a DATASET.COLUMN; the end of a name is enough"
_COMPARE = "show what was added, removed and changed since a time, or compared with other files or another store"
_WRONG = 2
_STANDARD = "-"
_ENDINGS = {"html": "html", "json": "json", "mermaid": "mmd", "dot": "dot", "svg": "svg"}
"""The formats, and the ending of the file that each of them is written to."""
_BEGINNINGS = (
    """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-""",
    '{"schema":',
    "flowchart LR",
    "digraph lineage {",
    '<svg xmlns="http://www.w3.org/2000/svg" class="openlineage-graph"',
)
"""How our files of these formats begin: an existing file that begins differently is somebody else's."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("view", description=_DESCRIPTION)
    parser.add_argument("paths", nargs="*", type=Path, metavar="EVENTS|STORE", help=_PATHS)
    parser.add_argument("--store", metavar="STORE", help=f"{STORE}; the same as STORE without the option")
    add_spark(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help=_OUTPUT)
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument("--around", default="", metavar="REF", help=_AROUND)
    parser.add_argument("--depth", type=whole_number(1), metavar="N", help="with --around: follow at most N jobs")
    parser.add_argument("--as-of", default="", metavar="TIME", help="the lineage at a time, such as 2026-01-31 or 2d")
    parser.add_argument("--compare", default="", metavar="TIME|EVENTS|STORE", help=_COMPARE)
    parser.add_argument("--ever", action="store_true", help="include edges that jobs no longer make")
    parser.add_argument("--format", choices=tuple(_ENDINGS), help="default: by the ending of --output, else html")
    add_unfold(parser)
    add_yes(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Write the page or the graph.

    Args:
        options: those of the command line.

    Returns:
        The exit code: 1 if a line was not an event, or if the user keeps a file that is not ours; 2 if there is
        nothing to read, or the output can't be written. Then an existing file is unchanged.
    """
    options.format = options.format or _format_of(options.output or "")
    if refusal := _refusal(options):
        complain(refusal)
        return _WRONG
    if options.store is not None:
        options.paths = [Path(options.store)]
    options.paths = options.paths or [Path(each) for each in (os.environ.get(VARIABLE),) if each]
    problems: list[str] = []
    output = options.output or f"lineage.{_ENDINGS[options.format]}"
    try:
        _keep_inputs(output, options)
        with _shown(options, problems) as store:
            answer = _asked(store, options, options.as_of)
            graph = with_diagnostics(answer)
            beside = _beside(store, graph, options)
            _refuse_nothing(graph, options)
            before = _before(store, options, problems) if options.compare else None
        if options.format == "html":
            text = page_of(graph, before=before, around=options.around, unfold=options.unfold, **beside)
        elif options.format == "json":
            text = f"{answer.to_json()}\n"
        else:
            text = text_of_graph(graph, options.format, unfold=options.unfold)
        if output != _STANDARD and not may_overwrite(Path(output), text, _BEGINNINGS, options):
            return 1
        _write(text, graph, output, opens=options.open)
    except NameNotFoundError as problem:
        # The candidates are below, each on a line.
        first, *candidates = str(problem).split("\n")
        complain(f"{first}; without --around, everything is shown")
        sys.stderr.writelines(f"{printable(line)}\n" for line in candidates)
        return _WRONG
    except (StoreError, OSError) as problem:
        complain(file_reason_of(problem))
        return _WRONG
    odd = [each.message for each in answer.diagnostics if each.code in ODD_CODES]
    for problem_of_line in (*problems, *odd):
        complain(problem_of_line)
    return int(bool(problems))


def _format_of(output: str) -> str:
    """Return the format for a file's ending."""
    ending = Path(output).suffix.lower().lstrip(".")
    return next((format_ for format_, known in _ENDINGS.items() if known == ending), "html")


def _refusal(options: argparse.Namespace) -> str:
    """Return why the options can't be combined; empty if they can."""
    if options.depth is not None and not options.around:
        return "--depth needs --around: it counts the jobs from there"
    if options.compare and options.format != "html":
        return "--compare needs --format html: only the page shows a comparison"
    if options.open and options.output == _STANDARD:
        return "--open needs a file: leave out --output -"
    if options.store is not None and options.paths:
        return "--store names what is shown: leave out the other files"
    return unfold_refusal(options)


def _asked(store: Store, options: argparse.Namespace, as_of: str) -> Answer[Graph]:
    return store.graph(options.around, depth=options.depth, as_of=as_of, ever=options.ever)


def _beside(store: Store, graph: Graph, options: argparse.Namespace) -> dict[str, Any]:
    """Return what a page of the current lineage shows beside the graph, as arguments of `page_of`."""
    if options.format != "html" or options.as_of:
        return {}
    return {"rows": row_counts(store.tables, graph), "owners": owners(store.tables, graph)}


def _before(store: Store, options: argparse.Namespace, problems: list[str]) -> Graph:
    """Return the graph to compare with: the same store at an earlier time, or another store or file."""
    other = Path(options.compare)
    named = _naming(options, options.compare, spark=False)
    if other.exists() or is_in_spark(named):
        with _opened(named, [other], problems) as compared:
            return with_diagnostics(compared.graph(ever=options.ever))
    refuse_missing_file(options.compare)
    _refuse_no_time(options.compare)
    return with_diagnostics(_asked(store, options, options.compare))


def _refuse_nothing(graph: Graph, options: argparse.Namespace) -> None:
    """
    Refuse to write an empty page over one that may be there.

    Raises:
        StoreError: there is nothing to show.
    """
    if not graph.nodes:
        then = f" as of {options.as_of}" if options.as_of else ""
        where = ", ".join(map(str, options.paths)) or "the store"
        raise StoreError(f"no lineage was found in {where}{then}: nothing was written")


def _refuse_no_time(text: str) -> None:
    """
    Refuse a value that is neither a time nor an existing file.

    Raises:
        StoreError: it is not a time.
    """
    try:
        time_of(text, datetime.now(timezone.utc))
    except StoreError:
        raise StoreError(
            f"{text} is neither a time, such as 2026-01-31 or 2d, nor an existing file or folder"
        ) from None


def _keep_inputs(output: str, options: argparse.Namespace) -> None:
    """
    Refuse to overwrite an input.

    Raises:
        StoreError: the output is one of the event files, or the store.
    """
    target = Path(output)
    if output == _STANDARD or not target.exists():
        return
    for path in (*options.paths, *((Path(options.compare),) if options.compare else ())):
        if any(file.exists() and file.samefile(target) for file in files_of(path)):
            raise StoreError(f"{output} is read here, so it can't be written too: name another file with --output")


def _write(text: str, graph: Graph, output: str, *, opens: bool) -> None:
    if output == _STANDARD:
        sys.stdout.write(text)
        return
    path = Path(output)
    write_file(path, text)
    counts = ", ".join(
        counted(sum(isinstance(node, kind) for node in graph.nodes), noun)
        for kind, noun in ((DatasetNode, "table"), (ColumnNode, "column"), (JobNode, "job"))
    )
    Screen().line(f"{path}: {counts}, {path.stat().st_size / 1e6:.1f} MB")
    if opens and not webbrowser.open(path.absolute().as_uri()):
        complain(f"no browser was found to open {path}")


@contextmanager
def _shown(options: argparse.Namespace, problems: list[str]) -> Iterator[Store]:
    """
    Open the store or the files to show.

    Raises:
        StoreError: nothing is named, Spark's options have no effect, or as for `_opened`.
        OSError: as for `_opened`.
    """
    paths = options.paths
    if not paths:
        raise StoreError(f"name event files or a store, or set the environment variable {VARIABLE}")
    if options.spark and len(paths) > 1:
        raise StoreError("--spark can't be used: it takes one CATALOG.SCHEMA, not several files")
    named = _naming(options, str(paths[0]), spark=options.spark)
    compared = _naming(options, options.compare, spark=False)
    if not (len(paths) == 1 and is_in_spark(named)) and not is_in_spark(compared):
        refuse_spark_options(options, named.store)
    with _opened(named, paths, problems) as store:
        yield store


@contextmanager
def _opened(named: argparse.Namespace, paths: list[Path], problems: list[str]) -> Iterator[Store]:
    """
    Open a store in Spark's tables, or what `opened_from` opens.

    Args:
        named: the options with which other commands name the store in Spark's tables.
        paths: the same as a path, or several files.
        problems: gets a line for each line that is not an event.

    Raises:
        StoreError: as for `opened_from` and `command.store_option.opened`.
        OSError: as for `opened_from`.
    """
    if len(paths) > 1 or not is_in_spark(named):
        with opened_from(paths, problems) as store:
            yield store
        return
    try:
        found = opened(named)
    except StoreError as problem:
        if named.spark:
            raise
        raise StoreError(f"{named.store} is not an existing file, nor a store in Spark's tables: {problem}") from None
    with found as store:
        yield store


def _naming(options: argparse.Namespace, store: str, *, spark: bool) -> argparse.Namespace:
    """Return the options with which other commands name a store."""
    return argparse.Namespace(store=store, spark=spark, conf=options.conf, packages=options.packages)


@contextmanager
def opened_from(paths: list[Path], problems: list[str]) -> Iterator[Store]:
    """
    Open the store at a path, or a store in memory that is made from event files.

    Args:
        paths: a store's file, or event files and folders of them.
        problems: gets a line for each line that is not an event, and for each file whose end can't be read.

    Raises:
        StoreError: one of several paths is a store, or no line is an event.
        OSError: one can't be read.
    """
    if len(paths) == 1 and database_in(paths[0]):
        with Store.open(paths[0]) as store:
            yield store
        return
    read = events_in_memory(paths)
    with Store(read.database) as store:
        if read.taken.rejected and not read.taken.events:
            raise StoreError(f"there is no event in {', '.join(map(str, paths))}: {read.taken.reasons[0]}")
        problems += (*read.damaged, *read.taken.reasons)
        yield store
