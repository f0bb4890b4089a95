"""Forget a job or a dataset: all events of the runs that mention it, and that mention nothing else that is kept."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.questions.resolve import ResolvedJob, resolve_ref
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.store.events.memory import EventMemory
from openlineage_pyspark.workbench.store.events.rows import identity
from openlineage_pyspark.workbench.store.expiry import lost_runs
from openlineage_pyspark.workbench.store.names import ResolvedPlace, names_of_datasets, rows_by_text
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.events.read import EventFacts
    from openlineage_pyspark.workbench.store.names import DroppedRuns, QueriedTables


@attrs.frozen
class Forgetting:
    """
    The events and runs that are forgotten with a job or a dataset.

    Args:
        label: the job or the dataset.
        events: the ids of the events.
        runs: how many runs they are of.
        jobs: the names of the jobs that lose runs.
        datasets: the names of further datasets that these runs mention.
        lost: the runs, by the nodes that are not forgotten: answers about these may lack the runs.
    """

    label: str
    events: tuple[str, ...]
    runs: int
    jobs: tuple[str, ...]
    datasets: tuple[str, ...]
    lost: tuple[DroppedRuns, ...]


def forgetting(tables: QueriedTables, ref: str) -> Forgetting:
    """
    Return what would be forgotten with a dataset or a job.

    Args:
        tables: the store.
        ref: a dataset; or `job:` and a name.

    Raises:
        StoreError: nothing has this name, several nodes have it, or it is neither a dataset nor a job.
    """
    asked = resolve_ref(tables, StoredVersions(tables), ref)
    if isinstance(asked, ResolvedJob):
        jobs, names = {asked.job_id}, frozenset[int]()
        label = f"job:{asked.name}"
    elif isinstance(asked, ResolvedPlace) and not asked.column:
        names = frozenset(names_of_datasets(tables, (asked.dataset.id,)))
        jobs = set(_jobs_with(tables, asked.dataset.id))
        label = asked.dataset.label
    else:
        raise StoreError(f"{ref} is neither a dataset nor a job: only these are forgotten")
    found, runs, lost, others = [], set[str](), set[str](), set[str]()
    for event_id, run_id, event in _events(tables, jobs):
        own = set() if event.job is None else {identity("job", event.job.namespace, event.job.name)}
        named = {identity("dataset", each.namespace, each.name): each.name for each in event.datasets}
        if not (names & named.keys() if names else own & jobs):
            continue
        found.append(event_id)
        runs |= {run_id} if run_id else set()
        lost |= set() if event.job is None else {event.job.name}
        others |= {name for id_, name in named.items() if id_ not in names}
    # If a job is forgotten, nothing of it is kept.
    kept = lost_runs(tables, runs, names) if names else ()
    return Forgetting(label, tuple(found), len(runs), tuple(sorted(lost)), tuple(sorted(others)), tuple(kept))


def _jobs_with(tables: QueriedTables, dataset_id: int) -> Iterator[int]:
    for table in ("stated_read", "stated_write"):
        sql = checked_sql(
            "SELECT DISTINCT l.job_id FROM {table} l JOIN dataset_identity i ON i.name_id = l.name_id "
            "WHERE i.dataset_id = ? AND l.job_id IS NOT NULL",
            table=table,
        )
        yield from (row[0] for row in tables.query(sql, (dataset_id,)))


def _events(tables: QueriedTables, jobs: Iterable[int]) -> Iterator[tuple[str, str, EventFacts]]:
    """Yield the events of jobs' runs, and those without a run: their ids, their runs, and their content."""
    memory = EventMemory()
    without_run = "SELECT event_id, run_id, json FROM event WHERE run_id = '' ORDER BY event_id"
    of_runs = "SELECT event_id, run_id, json FROM event WHERE run_id IN ({marks}) ORDER BY event_id"
    runs = [row[0] for job in sorted(jobs) for row in tables.query("SELECT run_id FROM run WHERE job_id = ?", (job,))]
    for event_id, run_id, text in itertools.chain(tables.query(without_run), rows_by_text(tables, of_runs, runs)):
        yield event_id, run_id, memory.facts(text)
