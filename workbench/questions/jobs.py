"""`jobs`: the jobs of a store with their last runs."""

from __future__ import annotations

import itertools
import statistics
from datetime import datetime
from typing import Annotated

import attrs
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.model.short_names import without_classes
from openlineage_pyspark.workbench.model.times import known_time
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.arguments import LateAt, time_or_now
from openlineage_pyspark.workbench.questions.oddities import names_alike, shared_runs
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.row_text import row_writers, shown_time, time_column
from openlineage_pyspark.workbench.store.names import QueriedTables
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql

FAILED = ("FAIL", "ABORT")
"""The states of runs that failed or were stopped."""

_LATE = "only those that have not begun for more than twice their usual pause"
USUAL_RUNS = 20
"""How many of the last runs show what is usual."""
LEAST_RUNS = 3
"""How many durations of runs, or pauses between them, must be known at least."""
LEAST_DELAY = 60_000_000
"""How much longer than usual is late at least, in microseconds."""


@attrs.frozen
class JobRow:
    """
    A job, with its last run.

    Args:
        namespace: its namespace.
        name: its name.
        runs: how many runs there were.
        last_state: the state of the last one; empty without a run.
        last_started: when that began; None if it is unknown.
        usual_pause: the median of the seconds between the beginnings of its last runs; None if there are too few.
        late: whether it has not begun for more than twice its usual pause.
    """

    namespace: str
    name: str
    runs: int
    last_state: str
    last_started: datetime | None
    usual_pause: float | None = None
    late: bool = False


def _table(answer: Answer[Rows[JobRow]]) -> TextTable:
    names = without_classes(each.name for each in answer.result)
    rows = [
        (each.namespace, f"{each.runs:,}", each.last_state, shown_time(each.last_started), names[each.name])
        for each in answer.result
    ]
    columns = (
        *(TableColumn("namespace"), TableColumn("runs", right=True), TableColumn("last")),
        *(time_column("began"), TableColumn("job", wrap=True)),
    )
    return TextTable(columns, rows)


@question(row_writers(_table))
def jobs(
    tables: QueriedTables,
    containing: Annotated[str, Help("only those with this text in their names", "TEXT")] = "",
    *,
    failed: Annotated[bool, Help("only those whose last run failed or was stopped")] = False,
    late: Annotated[bool, Help(_LATE)] = False,
    as_of: LateAt = "",
) -> Answer[Rows[JobRow]]:
    """List jobs with their last runs. A job is late if it has not begun for more than twice its usual pause."""
    usual = late_jobs(tables, time_or_now(as_of))
    rows = tables.query(
        "SELECT j.job_id, j.namespace, j.name, r.state, coalesce(r.started, r.first_time), "
        "count(r.run_id) OVER (PARTITION BY j.job_id), "
        "row_number() OVER (PARTITION BY j.job_id ORDER BY coalesce(r.started, r.first_time) DESC, r.run_id) "
        "FROM job j LEFT JOIN run r ON r.job_id = j.job_id WHERE instr(lower(j.name), lower(?)) > 0 OR ? = ''",
        (containing, containing),
    )
    found = [
        JobRow(namespace, name, count, state or "", known_time(started), *usual.get(job_id, (None, False)))
        for job_id, namespace, name, state, started, count, place in rows
        if place == 1
    ]
    wanted = [job for job in found if (job.late or not late) and (job.last_state in FAILED or not failed)]
    ordered = tuple(sorted(wanted, key=lambda job: (job.namespace, job.name)))
    return answered(Rows("job", ordered), (*shared_runs(tables), *names_alike(tables, "job")))


def late_jobs(tables: QueriedTables, now: int) -> dict[int, tuple[float, bool]]:
    """
    Return how long jobs usually pause, and which of them are late.

    The pause is the median of the times between the beginnings of a job's last twenty runs, if there are at least four
    of them. A job is late if its last run began more than twice that pause ago, and more than that pause and a minute.
    Streams are never late.

    Args:
        tables: the store.
        now: the time, microseconds since 1970.

    Returns:
        A job's id -> that pause in seconds, and whether it is late.
    """
    rows = tables.query(
        checked_sql(
            "SELECT job_id, started FROM (SELECT r.job_id, r.started, "
            "row_number() OVER (PARTITION BY r.job_id ORDER BY r.started DESC, r.run_id) AS place FROM run r "
            "JOIN job j ON j.job_id = r.job_id WHERE r.started <= ? AND coalesce(j.processing, '') <> 'STREAMING') x "
            "WHERE place <= {usual_runs} ORDER BY job_id, started",
            usual_runs=USUAL_RUNS,
        ),
        (now,),
    )
    begins: dict[int, list[int]] = {}
    for job_id, started in rows:
        begins.setdefault(job_id, []).append(started)
    found: dict[int, tuple[float, bool]] = {}
    for job_id, times in begins.items():
        if len(times) > LEAST_RUNS:
            pause = statistics.median(after - before for before, after in itertools.pairwise(times))
            found[job_id] = pause / 1e6, now - times[-1] > max(2 * pause, pause + LEAST_DELAY)
    return found
