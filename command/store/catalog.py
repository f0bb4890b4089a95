"""`datasets`, `jobs`, `runs` and `history`: what is in a store."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.events.runs import NO_END
from openlineage_pyspark.command.screen import Screen
from openlineage_pyspark.command.store_option import add_store, asking, count_of_one_or_more
from openlineage_pyspark.transport.event import TERMINAL_TYPES
from openlineage_pyspark.workbench.answer import Answer, Rows, camel_case
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.pictures.table import TableColumn
from openlineage_pyspark.workbench.questions.lists import as_plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from openlineage_pyspark.workbench.store_api import Store

_STATES = ("START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER")
_RUNS = 50
# The width of a time.
_TIME = 19
_FAILED, _OPEN = ("FAIL", "ABORT"), ("START", "RUNNING", "OTHER")
_LATE_RUNS = (
    """only those that took, or take already, more than three times as long as the runs of the job usually do"""
)
_LATE_JOBS = "only those that have not begun for more than twice their usual pause"
# Option -> the name of the argument, where that is another.
_NAMES = {"thing": "ref", "text": "containing", "state": "states"}
_DRAWN = ("mermaid", "dot", "html", "svg")
_HISTORY = "Lists the versions of a dataset with the runs that wrote them, the latest first."


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands to the command line."""
    datasets = commands.add_parser("datasets", description="Lists datasets.")
    datasets.add_argument("text", nargs="?", default="", metavar="TEXT", help="only those with this text in a name")
    datasets.set_defaults(run=asking(_datasets), question="datasets", of="dataset")
    jobs = commands.add_parser("jobs", description="Lists jobs with their last runs.")
    jobs.add_argument("text", nargs="?", default="", metavar="TEXT", help="only those with this text in their names")
    jobs.add_argument("--failed", action="store_true", help="only those whose last run failed or was stopped")
    jobs.add_argument("--late", action="store_true", help=_LATE_JOBS)
    jobs.set_defaults(run=asking(_jobs), question="jobs", of="job")
    runs = commands.add_parser("runs", description="Lists runs, the latest first.")
    runs.add_argument("text", nargs="?", default="", metavar="JOB", help="only those of jobs with this text in a name")
    runs.add_argument("--state", action="append", choices=_STATES, default=[], help="only those in this state")
    runs.add_argument("--failed", action="store_true", help="only those that failed or were stopped: FAIL and ABORT")
    runs.add_argument("--open", action="store_true", help="only those without an end: START, RUNNING and OTHER")
    runs.add_argument("--late", action="store_true", help=_LATE_RUNS)
    runs.add_argument("--since", default="", metavar="TIME", help="only those that began since, such as 2d")
    runs.add_argument(
        "--limit", type=count_of_one_or_more, default=_RUNS, metavar="N", help=f"at most N; default: {_RUNS}"
    )
    runs.set_defaults(run=asking(_runs), question="runs", of="run")
    history = commands.add_parser("history", description=_HISTORY)
    history.add_argument("thing", metavar="DATASET", help="its name, or the end of it")
    history.set_defaults(run=asking(_history), question="history", of="version")
    for parser in (datasets, jobs, runs, history):
        formats = ("table", "json", *(_DRAWN if parser is history else ()))
        parser.add_argument("--format", choices=formats, default="table", help="default: table")
        add_store(parser)


def _datasets(store: Store, options: argparse.Namespace) -> int:
    found = store.datasets(containing=options.text)
    rows = []
    for each in found:
        own = f"{each.namespace} {each.name}"
        rows.append((each.label, f"{each.readers:,}", f"{each.writers:,}", _time(each.last_written), own))
    columns = (
        *(TableColumn("dataset"), TableColumn("readers", right=True), TableColumn("writers", right=True)),
        *(TableColumn("last written", _TIME), TableColumn("own name")),
    )
    return _print(store, options, found, columns, rows)


def _jobs(store: Store, options: argparse.Namespace) -> int:
    found = [
        each
        for each in store.jobs(containing=options.text)
        if (each.late or not options.late) and (each.last_state in _FAILED or not options.failed)
    ]
    rows = [(each.namespace, f"{each.runs:,}", each.last_state, _time(each.last_started), each.name) for each in found]
    columns = (
        *(TableColumn("namespace"), TableColumn("runs", right=True), TableColumn("last")),
        *(TableColumn("began", _TIME), TableColumn("job")),
    )
    return _print(store, options, found, columns, rows)


def _runs(store: Store, options: argparse.Namespace) -> int:
    states = {*options.state, *(_FAILED if options.failed else ()), *(_OPEN if options.open else ())}
    found = store.runs(job=options.text, states=states, since=options.since, limit=options.limit, late=options.late)
    rows = []
    for each in found:
        took = f"{(each.ended - each.started).total_seconds():,.1f} s" if each.ended and each.started else ""
        rows.append((_time(each.started), _state(each.state), took, each.run_id, each.job))
        if each.error:
            rows.append(("", "", "", "", each.error.splitlines()[0]))
    columns = (
        *(TableColumn("began", _TIME), TableColumn("state"), TableColumn("took", right=True)),
        *(TableColumn("run", 13), TableColumn("job", 24, wrap=True)),
    )
    return _print(store, options, found, columns, rows)


def _history(store: Store, options: argparse.Namespace) -> int:
    if options.format in _DRAWN:
        sys.stdout.write(text_of_graph(store.history_graph(options.thing), options.format))
        return 0
    found = store.history(options.thing)
    rows = []
    for each in found:
        schema = [*(f"+{name}" for name in each.columns_added), *(f"-{name}" for name in each.columns_removed)]
        schema += [f"{name}:{old}->{new}" for name, old, new in each.columns_changed]
        inputs = ", ".join(read.label for read in each.inputs)
        job = f"{each.job} <- {inputs}" if inputs else each.job
        count = "" if each.rows is None else f"{each.rows:,}"
        rows.append((_time(each.time), each.version, each.change, count, " ".join(schema), job))
    columns = (
        *(TableColumn("time", _TIME), TableColumn("version", 9), TableColumn("change")),
        *(TableColumn("rows", right=True), TableColumn("columns")),
        TableColumn("job, and what it read", 24, wrap=True),
    )
    return _print(store, options, found, columns, rows)


def _print(
    store: Store,
    options: argparse.Namespace,
    found: Iterable[Any],
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[str]],
) -> int:
    if options.format == "json":
        rows_of = Rows(options.of, [_camel_case(as_plain(each)) for each in found])
        Screen().json(Answer(options.question, _arguments(options), rows_of, last_seen=store.last_seen()).to_dict())
    elif rows:
        Screen().table(columns, rows)
    else:
        Screen().line("nothing found")
    return 0


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return what was asked for, without what was left out."""
    names = ("thing", "text", "since", "limit", "late", "failed", "open", "state")
    given = {name: getattr(options, name, None) for name in names}
    return {_NAMES.get(name, name): value for name, value in given.items() if value}


def _camel_case(value: Any) -> Any:
    """Return a plain value with the names of its keys as JSON has them."""
    if isinstance(value, dict):
        return {camel_case(key): _camel_case(each) for key, each in value.items()}
    return [_camel_case(each) for each in value] if isinstance(value, (list, tuple)) else value


def _state(state: str) -> str:
    return state if state in TERMINAL_TYPES else NO_END


def _time(time: datetime | None) -> str:
    return "" if time is None else time.strftime("%Y-%m-%d %H:%M:%S")
