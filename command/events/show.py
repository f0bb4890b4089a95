"""`show`: lineage as a table."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.command.events.lines import refuse_store
from openlineage_pyspark.command.store_option import file_reason_of
from openlineage_pyspark.command.unfold_option import add_unfold, unfold_refusal
from openlineage_pyspark.command.view import opened_from
from openlineage_pyspark.errors import EventError, NameNotFoundError, StoreError
from openlineage_pyspark.workbench.model.kinds import ODD_CODES
from openlineage_pyspark.workbench.model.short_names import without_classes
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.questions.registry import input_diagnostics
from openlineage_pyspark.workbench.questions.show import shown_outputs
from openlineage_pyspark.workbench.report import (
    EVERY_ROW,
    HEADINGS,
    gap_line,
    grouped_rows,
    reads_lines,
    without_source,
)
from openlineage_pyspark.workbench.store.sqlite.in_memory import events_in_memory

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.command.screen import Screen
    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.workbench.model.kinds import Diagnostic
    from openlineage_pyspark.workbench.questions.show import Shown, ShownOutput, ShownRun
    from openlineage_pyspark.workbench.report import ShortNames

_DESCRIPTION = """\
Prints the sources of each column of each output. Then it lists the runs: how each ended, when it started, its duration
in seconds, its rows, the end of its id, and its job. A dataset is shown as its jobs make it now: each run that computed
it differently is shown. --ever adds what its jobs no longer do. Long texts are continued on the next line. If several
columns are used in the same way, the expression is shown once."""
_FILES = "event files, also gzipped; folders of them; - for standard input"
_GRAPHS = ("mermaid", "dot", "html", "svg")
_FORMAT = (
    f"default: text; json has the same content; {', '.join(_GRAPHS)} draw the graph, with --dataset only around that"
)


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("show", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help=_FILES)
    parser.add_argument(
        "--dataset",
        metavar="NAME",
        help="only this output: its table, its path, or the last part of either; * matches any text",
    )
    parser.add_argument("--column", metavar="NAME", help="only this column; * matches any text")
    parser.add_argument("--ever", action="store_true", help="include edges that jobs no longer make")
    parser.add_argument("--format", choices=("text", "json", *_GRAPHS), default="text", help=_FORMAT)
    add_unfold(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Show the lineage of some files.

    Args:
        options: `files`, `dataset`, `column`, `ever`, `format` and `unfold`.

    Returns:
        The exit code: 1 if a line is not an event or there is nothing to show, 2 if a file can't be read, or
        nothing has a given name.
    """
    from openlineage_pyspark.command.screen import Screen, complain

    if options.format in _GRAPHS or options.unfold:
        return _draw(options)
    try:
        for file in options.files:
            refuse_store(file)
        read = events_in_memory([*map(Path, options.files)])
    except (EventError, StoreError, OSError) as problem:
        complain(file_reason_of(problem))
        return 2
    with read.database as database:
        of_input = tuple(input_diagnostics(database))
        _complain(of_input)
        try:
            answer = shown_outputs(database, dataset=options.dataset, column=options.column, ever=options.ever)
        except StoreError as problem:
            complain(str(problem))
            return 2
    if not answer.result.runs:
        complain(f"no run events in {', '.join(options.files)}: name a file that a transport of type file has written")
        return 1
    if options.format == "json":
        arguments = {"files": options.files, **answer.arguments}
        Screen().json(attrs.evolve(answer, arguments=arguments).to_dict())
    else:
        _complain(each for each in answer.diagnostics if each.code in ODD_CODES and each not in of_input)
        _show(Screen(), answer.result)
    return int(bool(read.taken.rejected or read.damaged))


def _complain(diagnostics: Iterable[Diagnostic]) -> None:
    """Report invalid events, and the parts of others that are left out."""
    from openlineage_pyspark.command.screen import complain

    for each in diagnostics:
        is_part = each.code == "odd-facet" and each.place
        complain(f"{each.place}: {each.message}" if is_part else each.message)


def _draw(options: argparse.Namespace) -> int:
    """Print the graph of some files, or the surroundings of one output or column."""
    from openlineage_pyspark.command.screen import complain

    refusal = unfold_refusal(options) or _refusal(options)
    if refusal:
        complain(refusal)
        return 2
    problems: list[str] = []
    around = ".".join(filter(None, (options.dataset, options.column)))
    try:
        with opened_from([Path(file) for file in options.files], problems) as store:
            graph = with_diagnostics(store.graph(around, ever=options.ever))
        sys.stdout.write(text_of_graph(graph, options.format, unfold=options.unfold))
    except NameNotFoundError as problem:
        complain(f"{problem}; `show {' '.join(options.files)}` lists the outputs and their columns")
        return 2
    except (StoreError, OSError) as problem:
        complain(file_reason_of(problem))
        return 2
    for problem_of_line in problems:
        complain(problem_of_line)
    return int(bool(problems))


def _refusal(options: argparse.Namespace) -> str:
    """Return why a graph can't be printed with these options, and which ones to use instead; empty if it can."""
    if options.column is not None and options.dataset is None:
        return (
            f"--format {options.format} prints the lineage around one column of one output: "
            f"name its dataset too, as in --dataset orders --column {options.column}"
        )
    if "*" in f"{options.dataset}{options.column}":
        return f"--format {options.format} prints the lineage around one output: give its whole name, without *"
    return ""


def _show(screen: Screen, shown: Shown) -> None:
    from openlineage_pyspark.workbench.pictures.words import counted

    names, outputs = shown.names, shown.outputs
    runs = {each.run: each for each in shown.runs}
    screen.heading("COLUMN LINEAGE")
    for namespace in names.used(_shown_datasets(outputs)):
        screen.line(names.note(namespace))
    written = Counter(output.dataset for output in outputs)
    for output in outputs:
        rows = "rows unknown" if output.rows is None else counted(output.rows, "row")
        run = f", run {_end_of(output.run)}" if written[output.dataset] > 1 else ""
        screen.line()
        screen.heading(f"{names.of(output.dataset)}: {rows}, {output.state}{run}")
        for line in reads_lines(map(names.of, output.views), map(names.of, output.reads)):
            screen.line(f"  {line}")
        for each in runs[output.run].not_understood:
            screen.line(f"  {gap_line(each.operator, each.message)}")
        _show_columns(screen, output, names)
    screen.line()
    _show_runs(screen, shown.runs)


def _shown_datasets(outputs: Iterable[ShownOutput]) -> Iterator[Identifier]:
    for output in outputs:
        yield output.dataset
        yield from (source.dataset for column in output.columns for source in column.sources)
        yield from output.reads


def _show_columns(screen: Screen, output: ShownOutput, names: ShortNames) -> None:
    from openlineage_pyspark.workbench.pictures.table import TableColumn
    from openlineage_pyspark.workbench.pictures.words import hows

    rows = []
    for column in output.columns:
        name = EVERY_ROW if column.column is None else column.column
        if not column.sources:
            rows.append((name, "-", without_source(column.expression)))
        found: dict[str, list[tuple[str, str]]] = {}
        for each in column.sources:
            for how in hows(each.paths):
                found.setdefault(how, []).append((names.of(each.dataset), each.field))
        rows += grouped_rows(name, found)
    column_title, source_title, how_title = HEADINGS
    columns = (
        TableColumn(column_title, 12),
        TableColumn(source_title, 20, wrap=True),
        TableColumn(how_title, 24, wrap=True),
    )
    screen.table(columns, rows)


def _show_runs(screen: Screen, runs: Sequence[ShownRun]) -> None:
    from openlineage_pyspark.workbench.pictures.table import TableColumn

    jobs = without_classes(each.job for each in runs)
    days = {each.started.date() for each in runs}
    one_day = f" on {next(iter(days))}" if len(days) == 1 else ""
    pattern = "%H:%M:%S" if one_day else "%Y-%m-%d %H:%M:%S"
    rows = []
    for each in runs:
        count = "-" if each.rows is None else f"{each.rows:,}"
        seconds = "-" if each.seconds is None else f"{each.seconds:.1f}"
        rows.append((each.state, each.started.strftime(pattern), seconds, count, _end_of(each.run), jobs[each.job]))
        if each.error:
            rows.append(("", "", "", "", "", f"  {each.error}"))
    screen.heading(f"RUNS{one_day}, times in UTC")
    columns = (
        *(TableColumn("state"), TableColumn("started", 19), TableColumn("seconds", right=True)),
        *(TableColumn("rows", right=True), TableColumn("run", 12), TableColumn("job", 20, wrap=True)),
    )
    screen.table(columns, rows)


def _end_of(run_id: str) -> str:
    """Return the last part of a run's id: the ids of runs that begin within a minute have the same first part."""
    return run_id.rpartition("-")[2][-12:]
