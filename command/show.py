"""`show`: lineage as a table."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from openlineage_pyspark.command.event_file import EventFileError, read_lines
from openlineage_pyspark.command.event_runs import Names, latest_outputs, runs_of, state_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.command.event_runs import ReportedOutput, Run, State
    from openlineage_pyspark.command.screen import Screen

_DESCRIPTION = """\
Prints where each column of each output comes from, then the runs: state, rows, seconds and job. A dataset that was
written more than once is shown as its last run that completed left it. In a terminal a row is one line, and long
texts are cut; in a pipe nothing is, such as before `less -S`."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("show", help="lineage of event files as a table", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="one event a line, also gzipped; - is standard input")
    parser.add_argument(
        "--output",
        metavar="NAME",
        help="this output alone: its table, its path, or the last part of either; * stands for any text",
    )
    parser.add_argument("--column", metavar="NAME", help="this column alone; * stands for any text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Show the lineage of some files.

    Args:
        options: `files`, `output` and `column`.

    Returns:
        The exit code: 1 if a file can't be read, a line is not an event, or there is nothing to show.
    """
    from openlineage_pyspark.command.screen import Screen, complain

    problems: list[str] = []
    try:
        runs = runs_of(_states(options.files, problems))
    except EventFileError as problem:
        complain(str(problem))
        return 1
    for problem_of_line in problems:
        complain(f"{problem_of_line}; it is left out")
    if not runs:
        complain(f"no run events in {', '.join(options.files)}: was the job started with a transport of type file?")
        return 1
    names = Names(runs)
    outputs = latest_outputs(runs)
    if options.output is not None or options.column is not None:
        found = [(each, output) for each, output in outputs if _is_meant(output, names, options)]
        if not found:
            known = ", ".join(_title(output, names) for _, output in outputs) or "none"
            complain(f"no output of this name has such a column; outputs with column lineage: {known}")
            return 1
        outputs, runs = found, [each for each in runs if any(each is writer for writer, _ in found)]
    _show(Screen(), outputs, runs, names, options.column)
    return int(bool(problems))


def _states(files: Sequence[str], problems: list[str]) -> Iterator[State]:
    """Yield the states that run events report; dataset events and job events are skipped."""
    for line in read_lines(files):
        if line.event is None:
            problems.append(f"{line.place} {line.problem}")
        elif "run" in line.event:
            try:
                yield state_of(line.event)
            except ValueError as problem:
                problems.append(f"{line.place} {problem}")
        elif not {"job", "dataset"} & line.event.keys():
            problems.append(f"{line.place} is not an OpenLineage event")


def _is_meant(output: ReportedOutput, names: Names, options: argparse.Namespace) -> bool:
    if options.output is not None:
        own = (output.dataset.name, *output.tables)
        short = (names.of(output.dataset), f"{output.dataset.namespace}/{output.dataset.name}")
        last = (name.rsplit("/", 1)[-1].rsplit(".", 1)[-1] for name in own)
        if not any(fnmatchcase(name, options.output) for name in (*own, *short, *last)):
            return False
    return options.column is None or any(fnmatchcase(column, options.column) for column, _ in output.columns or ())


def _title(output: ReportedOutput, names: Names) -> str:
    return " = ".join([*output.tables[:1], names.of(output.dataset)])


def _show(
    screen: Screen, outputs: Iterable[tuple[Run, ReportedOutput]], runs: Iterable[Run], names: Names, column: str | None
) -> None:
    screen.heading("COLUMN LINEAGE")
    for namespace, base in names.bases.items():
        screen.line(f"paths are below {base} in {namespace}")
    for each, output in outputs:
        rows = "rows unknown" if output.rows is None else f"{output.rows:,} rows"
        screen.line()
        screen.heading(f"{_title(output, names)}: {rows}, {each.last.type}")
        _show_columns(screen, output, names, column)
    screen.line()
    screen.heading("RUNS")
    _show_runs(screen, runs)


def _show_columns(screen: Screen, output: ReportedOutput, names: Names, wanted: str | None) -> None:
    from openlineage_pyspark.command.screen import Column

    rows = []
    for column, edges in output.columns or ():
        if wanted is not None and not fnmatchcase(column, wanted):
            continue
        if not edges:
            rows.append((column, "-", "no source column"))
        for place, edge in enumerate(edges):
            how = f"{edge.kinds}  {edge.expression}".rstrip()
            rows.append(("" if place else column, f"{names.of(edge.dataset)}.{edge.field}", how))
    screen.table((Column("column", 0.22), Column("from", 0.4), Column("how")), rows)


def _show_runs(screen: Screen, runs: Iterable[Run]) -> None:
    from openlineage_pyspark.command.screen import Column

    rows = []
    for each in runs:
        count = "-" if each.rows is None else f"{each.rows:,}"
        seconds = "-" if each.seconds is None else f"{each.seconds:.1f}"
        rows.append((each.last.type, count, seconds, each.last.job))
        if each.last.error:
            rows.append(("", "", "", f"  {each.last.error}"))
    numbers = (Column("rows", 0.15, right=True), Column("seconds", 0.1, right=True))
    # Cut in the middle, because the end of a job's name says what it writes.
    screen.table((Column("state", 0.2), *numbers, Column("job", 0.55)), rows)
