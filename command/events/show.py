"""`show`: lineage as a table."""

from __future__ import annotations

import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.events.lines import read_lines
from openlineage_pyspark.command.events.runs import current_outputs, names_of, reported_state_of, runs_of
from openlineage_pyspark.command.view import add_unfold
from openlineage_pyspark.errors import EventError, InvalidEventError
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.events.read import facts
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.short_names import without_classes
from openlineage_pyspark.workbench.report import (
    EVERY_ROW,
    HEADINGS,
    NO_SOURCE,
    grouped_rows,
    reads_lines,
    remark_line,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.command.events.runs import ReportedColumn, ReportedDataset, ReportedState, RunEvents
    from openlineage_pyspark.command.screen import Screen
    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.workbench.report import ShortNames

_DESCRIPTION = """\
Prints the sources of each column of each output. Then it lists the runs: how each ended, when it started, its duration
in seconds, its rows, the end of its id, and its job. Of the completed runs that wrote a dataset since it was last
replaced,
each one that computed it differently is shown. Long texts are continued on the next line. If several columns are used
in
the same way, the expression is shown once."""
# At most this many lines that are not events are named: in a file of another kind, each line is one.
_MOST_PROBLEMS = 3

_GRAPHS = ("mermaid", "dot", "html", "svg")
_FORMAT = (
    f"default: text; json has the same content; {', '.join(_GRAPHS)} draw the graph, with --dataset only around that"
)


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("show", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="files of events, also gzipped; - is standard input")
    parser.add_argument(
        "--dataset",
        metavar="NAME",
        help="only this output: its table, its path, or the last part of either; * matches any text",
    )
    parser.add_argument("--column", metavar="NAME", help="only this column; * matches any text")
    parser.add_argument("--format", choices=("text", "json", *_GRAPHS), default="text", help=_FORMAT)
    add_unfold(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Show the lineage of some files.

    Args:
        options: `files`, `dataset`, `column`, `format` and `unfold`.

    Returns:
        The exit code: 1 if a line is not an event or there is nothing to show, 2 if a file can't be read.
    """
    from openlineage_pyspark.command.screen import Screen, complain

    if options.format in _GRAPHS or options.unfold:
        return _draw(options)
    problems: list[str] = []
    left_out: list[str] = []
    try:
        runs = runs_of(_states(options.files, problems, left_out))
    except EventError as problem:
        complain(str(problem))
        return 2
    _complain(problems, left_out)
    if not runs:
        complain(f"no run events in {', '.join(options.files)}: was the job started with a transport of type file?")
        return 1
    names = names_of(runs)
    outputs = current_outputs(runs)
    if options.dataset is not None or options.column is not None:
        found = [(each, output) for each, output in outputs if _is_meant(output, names, options)]
        if not found:
            complain(_nothing_found(outputs, names, options))
            return 1
        outputs, runs = found, [each for each in runs if any(each is writer for writer, _ in found)]
    if options.format == "json":
        given = {"files": options.files, "dataset": options.dataset, "column": options.column}
        arguments = {name: value for name, value in given.items() if value is not None}
        values = Values("events", _document(outputs, runs, options.column))
        skipped = tuple(Diagnostic("rejected", problem, missing=True) for problem in problems)
        Screen().json(Answer("show", arguments, values, diagnostics=skipped).to_dict())
    else:
        _show(Screen(), outputs, runs, names, options.column)
    return int(bool(problems))


def _complain(problems: Sequence[str], left_out: Sequence[str]) -> None:
    """Report invalid events, and the parts of others that are left out: the first few of both."""
    from openlineage_pyspark.command.screen import complain

    for found, each_is, more in ((problems, ", skipped", "lines are skipped"), (left_out, "", "parts are left out")):
        for problem in found[:_MOST_PROBLEMS]:
            complain(f"{problem}{each_is}")
        if len(found) > _MOST_PROBLEMS:
            complain(f"{len(found) - _MOST_PROBLEMS:,} more {more}")


def _draw(options: argparse.Namespace) -> int:
    """Print the graph of some files, or the surroundings of one output or column."""
    from openlineage_pyspark.command.screen import complain
    from openlineage_pyspark.command.store_option import file_reason_of
    from openlineage_pyspark.command.view import opened_from, unfold_refusal
    from openlineage_pyspark.errors import NameNotFoundError, StoreError
    from openlineage_pyspark.workbench.page.formats import text_of_graph
    from openlineage_pyspark.workbench.questions.graph import with_diagnostics

    refusal = unfold_refusal(options) or _refusal(options)
    if refusal:
        complain(refusal)
        return 2
    problems: list[str] = []
    around = ".".join(filter(None, (options.dataset, options.column)))
    try:
        with opened_from([Path(file) for file in options.files], problems) as store:
            graph = with_diagnostics(store.graph(around))
        sys.stdout.write(text_of_graph(graph, options.format, unfold=options.unfold))
    except NameNotFoundError as problem:
        complain(f"{problem}; `show {' '.join(options.files)}` lists the outputs and their columns")
        return 1
    except (StoreError, OSError) as problem:
        complain(file_reason_of(problem))
        return 2
    for problem_of_line in problems[:_MOST_PROBLEMS]:
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


def _states(files: Sequence[str], problems: list[str], left_out: list[str]) -> Iterator[ReportedState]:
    """
    Yield the states that run events report; dataset events and job events are skipped.

    Args:
        files: the files.
        problems: gets a line for each line that is not an event.
        left_out: gets a line for each part of an event that is left out.
    """
    for line in read_lines(files):
        if line.event is None:
            problems.append(f"{line.place}: {line.problem}")
            continue
        try:
            event = facts(line.event)
        except InvalidEventError as problem:
            problems.append(f"{line.place}: not an OpenLineage event: {problem}")
            continue
        left_out += (
            f"{line.place}: {each.place}: {each.message}" for each in event.diagnostics if each.code == "odd-facet"
        )
        if event.run is not None:
            yield reported_state_of(event, event.run)


def _is_meant(output: ReportedDataset, names: ShortNames, options: argparse.Namespace) -> bool:
    return _is_named(output, names, options.dataset) and _has_column(output, options.column)


def _is_named(output: ReportedDataset, names: ShortNames, wanted: str | None) -> bool:
    if wanted is None:
        return True
    own = (output.dataset.name, *output.other_names)
    short = (names.of(output.dataset), f"{output.dataset.namespace}/{output.dataset.name}")
    last = (name.rsplit("/", 1)[-1].rsplit(".", 1)[-1] for name in own)
    ends = (output.dataset.name.endswith(f"/{wanted}"),)
    return any(ends) or any(fnmatchcase(name, wanted) for name in (*own, *short, *last))


def _has_column(output: ReportedDataset, wanted: str | None) -> bool:
    return wanted is None or any(fnmatchcase(column, wanted) for column, _ in output.columns or ())


def _nothing_found(
    outputs: Sequence[tuple[RunEvents, ReportedDataset]], names: ShortNames, options: argparse.Namespace
) -> str:
    named = [output for _, output in outputs if _is_named(output, names, options.dataset)]
    if named and options.column is not None:
        columns = (column for output in named for column, _ in output.columns or () if column != EVERY_ROW)
        return f"no column {options.column}; columns: {', '.join(dict.fromkeys(columns)) or 'none'}"
    known = ", ".join(names.of(output.dataset) for _, output in outputs) or "none"
    return f"no output {options.dataset}; outputs with column lineage: {known}"


def _show(
    screen: Screen,
    outputs: Sequence[tuple[RunEvents, ReportedDataset]],
    runs: Sequence[RunEvents],
    names: ShortNames,
    column: str | None,
) -> None:
    from openlineage_pyspark.workbench.pictures.words import counted

    screen.heading("COLUMN LINEAGE")
    for namespace in names.used(_shown_datasets(outputs)):
        screen.line(names.remark(namespace))
    written = Counter(output.dataset for _, output in outputs)
    for each, output in outputs:
        rows = "rows unknown" if output.rows is None else counted(output.rows, "row")
        run = f", run {_end_of(each.last.run_id)}" if written[output.dataset] > 1 else ""
        screen.line()
        screen.heading(f"{names.of(output.dataset)}: {rows}, {each.state}{run}")
        views = (names.of(read.dataset) for read in _views(each))
        for line in reads_lines(views, (names.of(dataset) for dataset in _without_edges(each, output))):
            screen.line(f"  {line}")
        for operator, message in each.last.remarks:
            screen.line(f"  {remark_line(operator, message)}")
        _show_columns(screen, output, names, column)
    screen.line()
    _show_runs(screen, runs)


def _views(run: RunEvents) -> Iterator[ReportedDataset]:
    return (read for read in run.last.inputs if read.is_view)


def _without_edges(run: RunEvents, output: ReportedDataset) -> Iterator[Identifier]:
    """Yield the inputs of a run, except views, that have no edge to an output."""
    used = {edge.dataset for written in run.last.outputs for _, edges in written.columns or () for edge in edges}
    for read in run.last.inputs:
        if not read.is_view and read.dataset not in used and read.dataset != output.dataset:
            yield read.dataset


def _shown_datasets(outputs: Iterable[tuple[RunEvents, ReportedDataset]]) -> Iterator[Identifier]:
    for run, output in outputs:
        yield output.dataset
        yield from (edge.dataset for _, edges in output.columns or () for edge in edges)
        yield from _without_edges(run, output)


def _show_columns(screen: Screen, output: ReportedDataset, names: ShortNames, wanted: str | None) -> None:
    from openlineage_pyspark.workbench.pictures.table import TableColumn
    from openlineage_pyspark.workbench.pictures.words import hows

    rows = []
    for column, edges in output.columns or ():
        if wanted is not None and not fnmatchcase(column, wanted):
            continue
        if not edges:
            rows.append((column, "-", NO_SOURCE))
        found: dict[str, list[tuple[str, str]]] = {}
        for edge in edges:
            for how in hows(edge.paths):
                found.setdefault(how, []).append((names.of(edge.dataset), edge.field or ""))
        rows += grouped_rows(column, found)
    column_title, source_title, how_title = HEADINGS
    columns = (
        TableColumn(column_title, 12),
        TableColumn(source_title, 20, wrap=True),
        TableColumn(how_title, 24, wrap=True),
    )
    screen.table(columns, rows)


def _show_runs(screen: Screen, runs: Sequence[RunEvents]) -> None:
    from openlineage_pyspark.workbench.pictures.table import TableColumn

    jobs = without_classes(each.last.job for each in runs)
    days = {each.first.time.date() for each in runs}
    one_day = f" on {next(iter(days))}" if len(days) == 1 else ""
    rows = []
    for each in runs:
        count = "-" if each.rows is None else f"{each.rows:,}"
        seconds = "-" if each.seconds is None else f"{each.seconds:.1f}"
        pattern = "%H:%M:%S" if one_day else "%Y-%m-%d %H:%M:%S"
        started = each.first.time.strftime(pattern)
        rows.append((each.state, started, seconds, count, _end_of(each.last.run_id), jobs[each.last.job]))
        if each.last.error:
            rows.append(("", "", "", "", "", f"  {each.last.error}"))
    screen.heading(f"RUNS{one_day}, times in UTC")
    columns = (
        *(TableColumn("state"), TableColumn("started", 19), TableColumn("seconds", right=True)),
        *(TableColumn("rows", right=True), TableColumn("run", 12), TableColumn("job", 20, wrap=True)),
    )
    screen.table(columns, rows)


def _end_of(run_id: str) -> str:
    """Return the last part of an id: runs that begin within a minute share the first part."""
    return run_id.rpartition("-")[2][-12:]


def _document(
    outputs: Iterable[tuple[RunEvents, ReportedDataset]], runs: Iterable[RunEvents], wanted: str | None
) -> dict[str, Any]:
    """Return the content of the output, for programs: all names and ids in full."""
    return {
        "outputs": [
            {
                "namespace": output.dataset.namespace,
                "name": output.dataset.name,
                "table": output.table,
                "run": each.last.run_id,
                "state": each.state,
                "rows": output.rows,
                "views": [{"namespace": v.dataset.namespace, "name": v.dataset.name} for v in _views(each)],
                "columns": [
                    {"column": None if column == EVERY_ROW else column, "sources": [*map(_source, edges)]}
                    for column, edges in output.columns or ()
                    if wanted is None or fnmatchcase(column, wanted)
                ],
            }
            for each, output in outputs
        ],
        "runs": [
            {
                "run": each.last.run_id,
                "job": each.last.job,
                "state": each.state,
                "started": each.first.time.isoformat(),
                "seconds": each.seconds,
                "rows": each.rows,
                "error": each.last.error,
                "notUnderstood": [{"operator": name, "message": message} for name, message in each.last.remarks],
            }
            for each in runs
        ],
    }


def _source(edge: ReportedColumn) -> dict[str, Any]:
    return {
        "namespace": edge.dataset.namespace,
        "name": edge.dataset.name,
        "field": edge.field,
        "paths": [path.to_dict() for path in edge.paths],
    }
