"""What is in a store: datasets, jobs, runs, and the history of a dataset."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.store.names import datasets, find
from openlineage_pyspark.store.times import known_time, time_of_micros

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.store.names import DatasetName, Tables


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
    """

    namespace: str
    name: str
    runs: int
    last_state: str
    last_started: datetime | None


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
    """

    run_id: str
    job_namespace: str
    job: str
    state: str
    started: datetime | None
    ended: datetime | None
    error: str


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
class Version:
    """
    A version of a dataset.

    Args:
        version: the snapshot, if the format has some; else the run that wrote it.
        time: when the run said so.
        run_id: the run.
        job: the job.
        change: such as OVERWRITE or DROP; empty for an append.
        rows: how many rows were written; None if it is not known.
        columns_added: columns that it has and the version before had not; of the first one, none.
        columns_removed: columns that the version before had.
        inputs: what the run read: a dataset and its version, which is empty if the event does not say.
    """

    version: str
    time: datetime
    run_id: str
    job: str
    change: str
    rows: int | None
    columns_added: tuple[str, ...]
    columns_removed: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...]


def jobs(tables: Tables, *, containing: str = "") -> list[JobLine]:
    """Return the jobs whose names contain a text, by name."""
    rows = tables.query(
        "SELECT j.namespace, j.name, r.state, coalesce(r.started, r.first_time), "
        "count(r.run_id) OVER (PARTITION BY j.job_id), "
        "row_number() OVER (PARTITION BY j.job_id ORDER BY coalesce(r.started, r.first_time) DESC, r.run_id) "
        "FROM job j LEFT JOIN run r ON r.job_id = j.job_id WHERE instr(lower(j.name), lower(?)) > 0 OR ? = ''",
        (containing, containing),
    )
    found = [
        JobLine(namespace, name, count, state or "", known_time(started))
        for namespace, name, state, started, count, place in rows
        if place == 1
    ]
    return sorted(found, key=lambda job: (job.namespace, job.name))


def runs(
    tables: Tables, *, job: str = "", states: Iterable[str] = (), since: int = 0, limit: int | None = None
) -> list[RunLine]:
    """
    Return runs, the latest first.

    Args:
        tables: the store.
        job: a text that the job's name contains.
        states: the states to be shown; all if there is none.
        since: the least time of the beginning, microseconds since 1970.
        limit: how many at most.
    """
    wanted = sorted(states)
    marks = ", ".join("?" * len(wanted))
    rows = tables.query(
        "SELECT r.run_id, j.namespace, j.name, r.state, r.started, r.ended, r.error FROM run r "  # noqa: S608 (marks)
        "JOIN job j ON j.job_id = r.job_id WHERE coalesce(r.started, r.first_time) >= ? "
        f"AND (? = '' OR instr(lower(j.name), lower(?)) > 0){f' AND r.state IN ({marks})' if wanted else ''} "
        f"ORDER BY coalesce(r.started, r.first_time) DESC, r.run_id{f' LIMIT {limit:d}' if limit is not None else ''}",
        (since, job, job, *wanted),
    )
    return [
        RunLine(run_id, namespace, name, state, known_time(started), known_time(ended), error or "")
        for run_id, namespace, name, state, started, ended, error in rows
    ]


def dataset_lines(tables: Tables, *, containing: str = "") -> list[DatasetLine]:
    """Return the datasets of which a name contains a text, by the name that people know."""
    counted: dict[int, list[int | None]] = {}
    for position, table in enumerate(("source_job_lineage", "sink_job_lineage")):
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


def history(tables: Tables, thing: str) -> list[Version]:
    """
    Return the versions of a dataset, the latest first.

    Args:
        tables: the store.
        thing: the dataset.

    Raises:
        StoreError: nothing is called so, or several things are.
    """
    dataset = find(tables, thing).dataset
    of_dataset = "IN (SELECT name_id FROM dataset_identity WHERE dataset_id = ?)"
    columns = tables.query(
        f"SELECT column_name, first_time, last_time FROM dataset_column WHERE name_id {of_dataset}",  # noqa: S608
        (dataset.id,),
    )
    rows = tables.query(
        "SELECT l.snapshot, l.time, l.run_id, l.batch_id, j.name, l.change, l.row_count FROM sink_snapshot_lineage l "  # noqa: S608
        "LEFT JOIN job j ON j.job_id = l.job_id LEFT JOIN run r ON r.run_id = l.run_id "
        f"WHERE l.name_id {of_dataset} AND (r.state IS NULL OR r.state NOT IN ('FAIL', 'ABORT') OR l.snapshot <> '') "
        "ORDER BY l.time, l.run_id, l.batch_id",
        (dataset.id,),
    )
    found: list[Version] = []
    before: frozenset[str] | None = None
    for snapshot, time, run_id, batch_id, job, change, row_count in rows:
        now = frozenset(column for column, first, last in columns if first <= time <= last)
        added, removed = (now - before, before - now) if before is not None and now else (frozenset(), frozenset())
        before = now or before
        found.append(
            Version(
                *(
                    snapshot or run_id,
                    time_of_micros(time),
                    run_id,
                    job or "",
                    change or "",
                    row_count,
                ),
                *(tuple(sorted(added)), tuple(sorted(removed)), _inputs(tables, run_id, batch_id)),
            )
        )
    return found[::-1]


def _inputs(tables: Tables, run_id: str, batch_id: int) -> tuple[tuple[str, str], ...]:
    rows = tables.query(
        "SELECT i.dataset_id, l.snapshot FROM source_snapshot_lineage l "
        "JOIN dataset_identity i ON i.name_id = l.name_id WHERE l.run_id = ? AND l.batch_id = ?",
        (run_id, batch_id),
    )
    named = datasets(tables, (row[0] for row in rows))
    return tuple(sorted((named[dataset_id].label, snapshot) for dataset_id, snapshot in rows))


def _dataset_line(dataset: DatasetName, readers: int, writers: int, written: int | None) -> DatasetLine:
    others = tuple(dict.fromkeys(name for _, name in dataset.others))
    return DatasetLine(dataset.label, dataset.namespace, dataset.name, others, readers, writers, known_time(written))


def as_plain(value: Any) -> Any:
    """Return a value of this module as plain values, for JSON."""
    plain = attrs.asdict(value)
    return {key: each.isoformat() if isinstance(each, datetime) else each for key, each in plain.items()}
