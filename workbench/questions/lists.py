"""What is in a store: datasets, jobs, runs, and the history of a dataset."""

from __future__ import annotations

import itertools
import statistics
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.model.times import FOREVER, known_time, time_of_micros
from openlineage_pyspark.workbench.questions.versions import StoredVersions
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH
from openlineage_pyspark.workbench.store.names import datasets, find_dataset
from openlineage_pyspark.workbench.store.tables.ids import id_lists

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.store.names import DatasetName, QueriedTables


@attrs.frozen
class JobLine:
    """
    A job, with its last run.

    Args:
        namespace: its namespace.
        name: its name.
        runs: how many runs there were.
        last_state: the state of the last one; empty without a run.
        last_started: when that began; None if it is not known.
        usual_pause: the median of the seconds between the beginnings of its last runs; None if there are too few.
        late: whether it has not begun for longer than it usually pauses.
    """

    namespace: str
    name: str
    runs: int
    last_state: str
    last_started: datetime | None
    usual_pause: float | None = None
    late: bool = False


@attrs.frozen
class RunLine:
    """
    A run.

    Args:
        run_id: its id.
        job_namespace: the namespace of its job.
        job: the name of its job.
        state: its state: START or RUNNING if no event tells its end.
        started: when it began; None if it is not known.
        ended: when it ended; None if it did not.
        error: the error message; empty without one.
        usual_seconds: the median of the seconds that the last complete runs of its job took; None if there are too few.
        late: whether it took, or takes already, much longer.
    """

    run_id: str
    job_namespace: str
    job: str
    state: str
    started: datetime | None
    ended: datetime | None
    error: str
    usual_seconds: float | None = None
    late: bool = False

    @property
    def seconds(self) -> float | None:
        """Return how long it took; None if that is not known, as where it ends before it begins."""
        if self.started is None or self.ended is None or self.ended < self.started:
            return None
        return (self.ended - self.started).total_seconds()


@attrs.frozen
class DatasetLine:
    """
    A dataset.

    Args:
        label: its name as people know it.
        namespace: the namespace of its own name.
        name: its own name.
        others: its other names.
        readers: how many jobs read it.
        writers: how many jobs write it.
        last_written: when a run last wrote it; None if none did.
    """

    label: str
    namespace: str
    name: str
    others: tuple[str, ...]
    readers: int
    writers: int
    last_written: datetime | None


@attrs.frozen
class InputVersion:
    """
    A version that a run read.

    Args:
        dataset: the dataset.
        version: the version; empty if none is known.
        inferred: whether no event names it: it was current when the run began.
    """

    dataset: str
    version: str
    inferred: bool

    @property
    def label(self) -> str:
        """Return the dataset with the version, and a question mark if that is inferred."""
        return f"{self.dataset}@{self.version}{'?' if self.inferred else ''}" if self.version else self.dataset


@attrs.frozen
class VersionLine:
    """
    A version of a dataset.

    Args:
        version: the snapshot, if the format has some; else the run, and with a micro-batch, a slash and its number.
        kind: `storage` or `run`: which of the two.
        time: when it was made; of a version that was only read, when that was first.
        run_id: the run that made it; empty if no event tells it.
        batch: the micro-batch of that run; None if there is none.
        job: the job.
        parent: the version before; empty if none is known.
        change: such as OVERWRITE or DROP; empty for an append.
        rows: how many rows were written; None if it is not known.
        columns_added: columns that it has and the version before had not; of the first one, none.
        columns_removed: columns that the version before had.
        columns_changed: columns whose types are others than in the version before, with both types.
        inputs: what the run read.
    """

    version: str
    kind: str
    time: datetime
    run_id: str
    batch: int | None
    job: str
    parent: str
    change: str
    rows: int | None
    columns_added: tuple[str, ...]
    columns_removed: tuple[str, ...]
    columns_changed: tuple[tuple[str, str, str], ...]
    inputs: tuple[InputVersion, ...]


def jobs(tables: QueriedTables, *, containing: str = "", now: int = FOREVER) -> list[JobLine]:
    """
    Return the jobs whose names contain a text, by name.

    Args:
        tables: the store.
        containing: the text; empty for all jobs.
        now: the time at which they are late or not, microseconds since 1970; by default, none is.
    """
    usual = late_jobs(tables, now) if now != FOREVER else {}
    rows = tables.query(
        "SELECT j.job_id, j.namespace, j.name, r.state, coalesce(r.started, r.first_time), "
        "count(r.run_id) OVER (PARTITION BY j.job_id), "
        "row_number() OVER (PARTITION BY j.job_id ORDER BY coalesce(r.started, r.first_time) DESC, r.run_id) "
        "FROM job j LEFT JOIN run r ON r.job_id = j.job_id WHERE instr(lower(j.name), lower(?)) > 0 OR ? = ''",
        (containing, containing),
    )
    found = [
        JobLine(namespace, name, count, state or "", known_time(started), *usual.get(job_id, (None, False)))
        for job_id, namespace, name, state, started, count, place in rows
        if place == 1
    ]
    return sorted(found, key=lambda job: (job.namespace, job.name))


def runs(
    tables: QueriedTables,
    *,
    job: str = "",
    states: Iterable[str] = (),
    since: int = 0,
    limit: int | None = None,
    late: int | None = None,
) -> list[RunLine]:
    """
    Return runs, the latest first.

    Args:
        tables: the store.
        job: a text that the job's name contains.
        states: the states to be shown; all if there is none.
        since: the least time of the beginning, microseconds since 1970.
        limit: how many at most.
        late: leave out what is not late at this time, microseconds since 1970; None for nothing.
    """
    usual = {} if late is None else late_runs(tables, late)
    wanted = sorted(states)
    marks = ", ".join("?" * len(wanted))
    rows = tables.query(
        "SELECT r.run_id, j.namespace, j.name, r.state, r.started, r.ended, r.error FROM run r "  # noqa: S608 (marks)
        "JOIN job j ON j.job_id = r.job_id WHERE coalesce(r.started, r.first_time) >= ? "
        f"AND (? = '' OR instr(lower(j.name), lower(?)) > 0){f' AND r.state IN ({marks})' if wanted else ''} "
        "ORDER BY coalesce(r.started, r.first_time) DESC, r.run_id"
        f"{f' LIMIT {limit:d}' if limit is not None and late is None else ''}",
        (since, job, job, *wanted),
    )
    found = [
        RunLine(
            *(run_id, namespace, name, state, known_time(started), known_time(ended), error or ""),
            usual_seconds=usual.get(run_id),
            late=run_id in usual,
        )
        for run_id, namespace, name, state, started, ended, error in rows
        if late is None or run_id in usual
    ]
    return found[:limit]


def dataset_lines(tables: QueriedTables, *, containing: str = "") -> list[DatasetLine]:
    """Return the datasets of which a name contains a text, by the name that people know."""
    counted: dict[int, list[int | None]] = {}
    for position, table in enumerate(("told_read", "told_write")):
        for dataset_id, count in tables.query(
            f"SELECT i.dataset_id, count(DISTINCT l.job_id) FROM {table} l "  # noqa: S608 (our own names)
            "JOIN dataset_identity i ON i.name_id = l.name_id GROUP BY i.dataset_id"
        ):
            counted.setdefault(dataset_id, [0, 0, None])[position] = count
    for dataset_id, time in tables.query(
        "SELECT i.dataset_id, max(l.time) FROM sink_snapshot_lineage l "
        "JOIN dataset_identity i ON i.name_id = l.name_id GROUP BY i.dataset_id"
    ):
        counted.setdefault(dataset_id, [0, 0, None])[2] = time
    found = []
    for dataset in datasets(tables, counted).values():
        names = (dataset.name, *(name for _, name in dataset.others))
        if any(containing.lower() in name.lower() for name in names):
            readers, writers, written = counted[dataset.id]
            found.append(_dataset_line(dataset, readers or 0, writers or 0, written))
    return sorted(found, key=lambda line: (line.label, line.namespace, line.name))


def history(tables: QueriedTables, thing: str) -> list[VersionLine]:
    """
    Return the versions of a dataset, the latest first.

    Args:
        tables: the store.
        thing: the dataset.

    Raises:
        StoreError: nothing has this name, or several things have it.
    """
    return history_of(tables, find_dataset(tables, thing))


def history_of(tables: QueriedTables, dataset: DatasetName) -> list[VersionLine]:
    """Return the versions of a dataset that was found, the latest first."""
    versions = StoredVersions(tables)
    every = versions.of(dataset.id)
    reads = versions.read_by(version.parts[0] for version in every if version.parts)
    named = datasets(tables, {read.version[0] for found in reads.values() for read in found})
    jobs_of: dict[int | None, str] = {}
    for listed in id_lists(version.job_id for version in every if version.job_id is not None):
        sql = f"SELECT job_id, name FROM job WHERE job_id IN ({listed})"  # noqa: S608 (numbers alone)
        jobs_of |= dict(tables.query(sql))
    columns = tables.query(
        "SELECT c.column_name, c.type, min(c.first_time), max(c.last_time) FROM dataset_identity i "
        "JOIN told_column c ON c.name_id = i.name_id WHERE i.dataset_id = ? "
        "GROUP BY c.name_id, c.column_name, c.type ORDER BY 3",
        (dataset.id,),
    )
    found: list[VersionLine] = []
    before: dict[str, str] = {}
    for version in every:
        now = {column: type_ for column, type_, first, last in columns if first <= version.time <= last}
        both = sorted(now.keys() & before.keys())
        inputs = {
            InputVersion(named[read.version[0]].label, read.version[1], read.inferred)
            for read in reads.get((version.run_id, version.batch_id), ())
        }
        found.append(
            VersionLine(
                version=version.id,
                kind=version.kind.value,
                time=time_of_micros(version.time),
                run_id=version.run_id,
                batch=None if version.batch_id == NO_BATCH else version.batch_id,
                job=jobs_of.get(version.job_id, ""),
                parent=version.parent,
                change=version.change,
                rows=version.rows,
                columns_added=tuple(sorted(now.keys() - before.keys())) if before else (),
                columns_removed=tuple(sorted(before.keys() - now.keys())) if now else (),
                columns_changed=tuple((each, before[each], now[each]) for each in both if before[each] != now[each]),
                inputs=tuple(sorted(inputs, key=attrs.astuple)),
            )
        )
        before = now or before
    return found[::-1]


def late_runs(tables: QueriedTables, now: int) -> dict[str, float]:
    """
    Return the runs that took, or take already, much longer than the runs of their jobs usually do.

    They took more than three times as long as usual, and at least a minute longer. Usual is the median of the last
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
        usual = took.setdefault(job_id, deque(maxlen=_USUAL_RUNS))
        if len(usual) >= _LEAST_RUNS:
            median = statistics.median(usual)
            if ended - started > max(_MUCH_LONGER * median, median + _LEAST_DELAY):
                found[run_id] = median / 1e6
        if state == "COMPLETE" and ended >= started:
            usual.append(ended - started)
    return found


def late_jobs(tables: QueriedTables, now: int) -> dict[int, tuple[float, bool]]:
    """
    Return how long jobs usually pause, and which of them are late.

    The pause is the median of the times between the beginnings of a job's last twenty runs, if there are at least four
    of them. A job is late if its last run began more than twice that time ago, and at least a minute more than that.
    Streams are never late.

    Args:
        tables: the store.
        now: the time, microseconds since 1970.

    Returns:
        A job's id -> that pause in seconds, and whether it is late.
    """
    rows = tables.query(
        "SELECT job_id, started FROM (SELECT r.job_id, r.started, "  # noqa: S608 (a number alone)
        "row_number() OVER (PARTITION BY r.job_id ORDER BY r.started DESC, r.run_id) AS place FROM run r "
        "JOIN job j ON j.job_id = r.job_id WHERE r.started <= ? AND coalesce(j.processing, '') <> 'STREAMING') x "
        f"WHERE place <= {_USUAL_RUNS:d} ORDER BY job_id, started",
        (now,),
    )
    begins: dict[int, list[int]] = {}
    for job_id, started in rows:
        begins.setdefault(job_id, []).append(started)
    found: dict[int, tuple[float, bool]] = {}
    for job_id, times in begins.items():
        if len(times) > _LEAST_RUNS:
            pause = statistics.median(after - before for before, after in itertools.pairwise(times))
            found[job_id] = pause / 1e6, now - times[-1] > max(2 * pause, pause + _LEAST_DELAY)
    return found


_USUAL_RUNS = 20
_LEAST_RUNS = 3
_MUCH_LONGER = 3
_LEAST_DELAY = 60_000_000


def _dataset_line(dataset: DatasetName, readers: int, writers: int, written: int | None) -> DatasetLine:
    others = tuple(dict.fromkeys(name for _, name in dataset.others))
    return DatasetLine(dataset.label, dataset.namespace, dataset.name, others, readers, writers, known_time(written))


def as_plain(value: Any) -> Any:
    """Return a value of this module as plain values, for JSON."""
    plain = attrs.asdict(value)
    return {key: each.isoformat() if isinstance(each, datetime) else each for key, each in plain.items()}
