"""`runs`: the runs of a store."""

from __future__ import annotations

import statistics
from collections import deque
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import attrs
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.events.read import ENDS
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.short_names import without_classes
from openlineage_pyspark.workbench.model.times import known_time
from openlineage_pyspark.workbench.pictures.plain import first_of
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.arguments import LateAt, time_or_now
from openlineage_pyspark.workbench.questions.jobs import FAILED, LEAST_DELAY, LEAST_RUNS, USUAL_RUNS
from openlineage_pyspark.workbench.questions.oddities import dropped_diagnostics
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.row_text import row_writers, shown_time, time_column
from openlineage_pyspark.workbench.store.names import QueriedTables
from openlineage_pyspark.workbench.store.tables.checked_sql import ANY, CheckedSql, checked_sql, marks_for

State: TypeAlias = Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"]

_UNFINISHED = ("START", "RUNNING", "OTHER")
_RUNS = 50
_LATE = "only those that took, or have taken so far, more than three times as long as the job usually does"
_MUCH_LONGER = 3
_NO_END = "no end"


@attrs.frozen
class RunRow:
    """
    A run.

    Args:
        run_id: its id.
        job_namespace: the namespace of its job.
        job: the name of its job.
        state: its state: START or RUNNING if no event states its end.
        started: when it began; None if it is unknown.
        ended: when it ended; None if it did not.
        error: the error message; empty without one.
        usual_seconds: the median of the seconds that the last complete runs of its job took; None if there are too few.
        late: whether it took, or takes already, much longer than that.
    """

    run_id: str
    job_namespace: str
    job: str
    state: Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT", "OTHER"]
    started: datetime | None
    ended: datetime | None
    error: str
    usual_seconds: float | None = None
    late: bool = False

    @property
    def seconds(self) -> float | None:
        """Return how many seconds it took; None if that is unknown, or its events end before they begin."""
        if self.started is None or self.ended is None or self.ended < self.started:
            return None
        return (self.ended - self.started).total_seconds()


def _table(answer: Answer[Rows[RunRow]]) -> TextTable:
    rows = []
    names = without_classes(each.job for each in answer.result)
    for each in answer.result:
        took = "" if each.seconds is None else f"{each.seconds:,.1f} s"
        state = each.state if each.state in ENDS else _NO_END
        rows.append((shown_time(each.started), state, took, each.run_id, names[each.job]))
        if each.error:
            rows.append(("", "", "", "", each.error.splitlines()[0]))
    columns = (
        *(time_column("began"), TableColumn("state"), TableColumn("took", right=True)),
        *(TableColumn("run", 13), TableColumn("job", 24, wrap=True)),
    )
    return TextTable(columns, rows)


@question(row_writers(_table))
def runs(
    tables: QueriedTables,
    job: Annotated[str, Help("only those of jobs with this text in a name", "JOB")] = "",
    *,
    state: Annotated[tuple[State, ...], Help("only those in this state; may be repeated")] = (),
    failed: Annotated[bool, Help("only those that failed or were stopped: FAIL and ABORT")] = False,
    unfinished: Annotated[bool, Help("only those without an end: START, RUNNING and OTHER")] = False,
    late: Annotated[bool, Help(_LATE)] = False,
    since: Annotated[str, Help("only those that began since, such as 2d", "TIME")] = "",
    limit: Annotated[int | None, Help(f"at most N; default: {_RUNS}", "N", least=1)] = _RUNS,
    as_of: LateAt = "",
) -> Answer[Rows[RunRow]]:
    """List runs, newest first."""
    wanted = sorted({*state, *(FAILED if failed else ()), *(_UNFINISHED if unfinished else ())})
    usual = late_runs(tables, time_or_now(as_of)) if late else {}
    in_states = checked_sql("r.state IN ({marks})", marks=marks_for(wanted)) if wanted else ANY
    limited = CheckedSql("") if limit is None or late else checked_sql("LIMIT {most}", most=limit + 1)
    rows = tables.query(
        checked_sql(
            "SELECT r.run_id, j.namespace, j.name, r.state, r.started, r.ended, r.error FROM run r "
            "JOIN job j ON j.job_id = r.job_id WHERE coalesce(r.started, r.first_time) >= ? "
            "AND (? = '' OR instr(lower(j.name), lower(?)) > 0) AND {in_states} "
            "ORDER BY coalesce(r.started, r.first_time) DESC, r.run_id {limited}",
            in_states=in_states,
            limited=limited,
        ),
        (time_or_now(since) if since else 0, job, job, *wanted),
    )
    found = tuple(
        RunRow(
            *(run_id, namespace, name, run_state, known_time(started), known_time(ended), error or ""),
            usual_seconds=usual.get(run_id),
            late=run_id in usual,
        )
        for run_id, namespace, name, run_state, started, ended, error in rows
        if not late or run_id in usual
    )
    begin = time_or_now(since) if since else 0
    lost = (each for each in tables.dropped() if job.lower() in each.name.lower() and each.last_time >= begin)
    diagnostics = [*dropped_diagnostics(lost), *_oddities(found[:limit])]
    if limit is not None and len(found) > limit:
        more = f"there are more runs than {limit}: a higher limit shows them"
        diagnostics.insert(0, Diagnostic("limit", more, missing=True))
    return answered(Rows("run", found[:limit]), diagnostics)


def _oddities(runs: tuple[RunRow, ...]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics about runs: those that end before they start."""
    odd = [run.run_id for run in runs if run.started and run.ended and run.ended < run.started]
    if not odd:
        return ()
    return (Diagnostic("odd-time", f"by the times of their events, these runs end before they begin: {first_of(odd)}"),)


def late_runs(tables: QueriedTables, now: int) -> dict[str, float]:
    """
    Return the runs that took, or take already, much longer than the runs of their jobs usually do.

    They took more than three times as long as usual, and more than a minute longer. Usual is the median of the last
    twenty complete runs of the job that began before; there must be at least three. Streams are never late.

    Args:
        tables: the store.
        now: the time until which a run without an end took, microseconds since 1970.

    Returns:
        A run's id -> that median in seconds.
    """
    rows = tables.query(
        "SELECT r.run_id, r.job_id, r.state, r.started, coalesce(r.ended, ?) FROM run r "
        "JOIN job j ON j.job_id = r.job_id "
        "WHERE r.started IS NOT NULL AND r.started <= ? AND coalesce(j.processing, '') <> 'STREAMING' "
        "ORDER BY r.job_id, r.started, r.run_id",
        (now, now),
    )
    found: dict[str, float] = {}
    took: dict[int, deque[int]] = {}
    for run_id, job_id, state, started, ended in rows:
        usual = took.setdefault(job_id, deque(maxlen=USUAL_RUNS))
        if len(usual) >= LEAST_RUNS:
            median = statistics.median(usual)
            if ended - started > max(_MUCH_LONGER * median, median + LEAST_DELAY):
                found[run_id] = median / 1e6
        if state == "COMPLETE" and ended >= started:
            usual.append(ended - started)
    return found
