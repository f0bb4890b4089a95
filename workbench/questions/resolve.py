"""Resolve a reference to a dataset, a column, a version of a dataset, a job or a run."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.errors import AmbiguousNameError, NameNotFoundError, StoreError
from openlineage_pyspark.workbench.model.times import FOREVER, time_of, time_of_micros
from openlineage_pyspark.workbench.pictures.plain import first_of
from openlineage_pyspark.workbench.store.names import find, find_dataset, rows_by_id, rows_by_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
    from openlineage_pyspark.workbench.questions.versions.versions import DatasetVersion
    from openlineage_pyspark.workbench.store.names import DatasetName, QueriedTables, ResolvedPlace

_T = TypeVar("_T")

LATEST = "latest"
"""The name of the current version of a dataset."""

_JOB, _RUN = "job:", "run:"
_LEAST_PREFIX = 4
_CUT = "…"
_SHOWN = 10


@attrs.frozen
class ResolvedVersion:
    """A version of a dataset."""

    dataset: DatasetName
    version: DatasetVersion


@attrs.frozen
class ResolvedJob:
    """A job."""

    job_id: int
    namespace: str
    name: str


@attrs.frozen
class ResolvedRun:
    """A run."""

    run_id: str
    job: ResolvedJob


ResolvedRef: TypeAlias = "ResolvedPlace | ResolvedVersion | ResolvedJob | ResolvedRun"


def resolve_ref(tables: QueriedTables, versions: StoredVersions, text: str, as_of: int = FOREVER) -> ResolvedRef:
    """
    Return the node that a text names.

    Args:
        tables: the store.
        versions: its versions.
        text: a dataset or a column, as `names.find` takes it; a dataset, `@` and a version; `job:` and a name; `run:`
            and an id. A name that no dataset has may be that of a job, or a run's id. Versions and runs may be named by
            their first or their last characters.
        as_of: the time for which `@latest` is meant, microseconds since 1970.

    Raises:
        StoreError: nothing has this name, or several nodes have it.
    """
    if text.startswith(_JOB):
        return find_job(tables, text[len(_JOB) :])
    if text.startswith(_RUN):
        return find_run(tables, text[len(_RUN) :])
    try:
        return find(tables, text)
    except NameNotFoundError as problem:
        if "@" in text:
            try:
                return find_version(tables, versions, text, as_of)
            except NameNotFoundError as other:
                raise other from None
        return _find_other(tables, text, problem)


def _find_other(tables: QueriedTables, text: str, problem: NameNotFoundError) -> ResolvedRef:
    """Return the job or the run that has this name, if no dataset has it."""
    if _jobs_called(tables, text):
        return find_job(tables, text)
    try:
        return find_run(tables, text)
    except NameNotFoundError:
        raise problem from None


def find_version(tables: QueriedTables, versions: StoredVersions, text: str, as_of: int) -> ResolvedVersion:
    """
    Return the version that a text names.

    Args:
        tables: the store.
        versions: its versions.
        text: a dataset, `@`, and a version, its first or last characters, `latest`, or a time or an age, for the
            version that was current then. A dataset alone means its latest version.
        as_of: the time for which `latest` is meant, microseconds since 1970.

    Raises:
        StoreError: nothing has this name, or several nodes have it; or the dataset has no version that is known.
    """
    name, _, wanted = text.rpartition("@") if "@" in text else (text, "", LATEST)
    dataset = find_dataset(tables, name)
    return ResolvedVersion(dataset, version_called(dataset, versions, wanted, as_of))


def version_called(dataset: DatasetName, versions: StoredVersions, wanted: str, as_of: int = FOREVER) -> DatasetVersion:
    """
    Return the version of a dataset that a text names, as `find_version` takes it after the `@`.

    Raises:
        NameNotFoundError: none has this name, or several have it; or the dataset has no version that is known.
    """
    every = versions.of(dataset.id)
    if not every:
        raise NameNotFoundError(f"the store knows no version of {dataset.label}", ref=wanted)
    if wanted == LATEST:
        return _current(dataset, versions, as_of)
    found = [each for each in every if each.id == wanted]
    if not found and len(wanted) >= _LEAST_PREFIX:
        found = [each for each in every if each.id.startswith(wanted)] or [
            each for each in every if is_called(each.id, wanted)
        ]
    if len(found) == 1:
        return found[0]
    if found:
        ids = [each.id for each in found]
        message = f"{wanted!r} may mean any of these versions of {dataset.label}: {first_of(ids, _SHOWN)}"
        raise AmbiguousNameError(message, ref=wanted, candidates=tuple(ids))
    try:
        time = time_of(wanted, datetime.now(timezone.utc))
    except StoreError:
        ids = [each.id for each in every[::-1]]
        message = f"{dataset.label} has no version {wanted!r}; its versions, the latest first: {first_of(ids, _SHOWN)}"
        raise NameNotFoundError(message, ref=wanted, candidates=tuple(ids)) from None
    return _current(dataset, versions, time)


def is_called(id_: str, text: str) -> bool:
    """Return whether an id begins or ends with a text, or has its two ends with an ellipsis between them."""
    begin, _, end = text.rpartition(_CUT)
    return id_.startswith(text) or (id_.startswith(begin) and id_.endswith(end))


def find_job(tables: QueriedTables, name: str) -> ResolvedJob:
    """
    Return the job with a name, or with its namespace, a slash and its name.

    Raises:
        NameNotFoundError: none has it, or several have it.
    """
    rows = _jobs_called(tables, name)
    if not rows:
        found = tables.query(
            "SELECT DISTINCT name FROM job WHERE instr(lower(name), lower(?)) > 0 ORDER BY name LIMIT 5", (name,)
        )
        near = tuple(each for (each,) in found)
        message = f"no job is called {name!r}{'; near it: ' if near else ''}{', '.join(near)}"
        raise NameNotFoundError(message, ref=name, candidates=near, listing="jobs")
    if len(rows) > 1:
        candidates = tuple(f"job:{namespace}/{each}" for _, namespace, each in rows)
        listed = "".join(f"\n  {each}" for each in candidates[:_SHOWN])
        raise AmbiguousNameError(f"{name!r} may mean any of these jobs:{listed}", ref=name, candidates=candidates)
    return ResolvedJob(*rows[0])


def find_run(tables: QueriedTables, id_: str) -> ResolvedRun:
    """
    Return the run with an id, or the one whose id has this beginning or end.

    Args:
        tables: the store.
        id_: the id, its first or its last characters, or both with an ellipsis between them, as tables show it.

    Raises:
        NameNotFoundError: none has it, or several have it.
    """
    select = "SELECT r.run_id, j.job_id, j.namespace, j.name FROM run r JOIN job j ON j.job_id = r.job_id WHERE "
    rows = tables.query(f"{select}r.run_id = ?", (id_,))
    if not rows and len(id_) >= _LEAST_PREFIX:
        # These are the ids from this text up to the same text followed by the last character of Unicode.
        rows = tables.query(
            f"{select}r.run_id >= ? AND r.run_id < ? ORDER BY r.run_id LIMIT {_SHOWN:d}", (id_, f"{id_}\U0010ffff")
        )
    begin, _, end = id_.rpartition(_CUT)
    if not rows and end and len(id_) >= _LEAST_PREFIX:
        rows = tables.query(
            f"{select}substr(r.run_id, 1, {len(begin):d}) = ? AND substr(r.run_id, {-len(end):d}) = ? "
            f"ORDER BY r.run_id LIMIT {_SHOWN:d}",
            (begin, end),
        )
    if not rows:
        raise NameNotFoundError(f"no run has the id {id_!r}, or one that begins or ends so", ref=id_, listing="runs")
    if len(rows) > 1:
        ids = [row[0] for row in rows]
        message = f"{id_!r} may mean any of these runs: {first_of(ids, _SHOWN)}"
        raise AmbiguousNameError(message, ref=id_, candidates=tuple(ids))
    return ResolvedRun(rows[0][0], ResolvedJob(*rows[0][1:]))


def runs_within(tables: QueriedTables, run_id: str) -> list[str]:
    """Return a run and those that it started, those that these started, and so on."""

    def started(runs: Iterable[str]) -> Iterator[str]:
        sql = "SELECT run_id FROM run WHERE parent_run_id IN ({marks}) ORDER BY run_id"
        return (each for (each,) in rows_by_text(tables, sql, runs))

    return _with_all_below(run_id, started)


def jobs_within(tables: QueriedTables, job_id: int) -> list[int]:
    """Return a job and those whose runs its runs started, such as the statements of an application, and so on."""

    def started(jobs: Iterable[int]) -> Iterator[int]:
        sql = (
            "SELECT DISTINCT c.job_id FROM run p JOIN run c ON c.parent_run_id = p.run_id "
            "WHERE p.job_id IN ({ids}) ORDER BY c.job_id"
        )
        return (each for (each,) in rows_by_id(tables, sql, jobs))

    return _with_all_below(job_id, started)


def _with_all_below(first: _T, started: Callable[[list[_T]], Iterable[_T]]) -> list[_T]:
    """Return a run or a job with all that it started, directly or not, the nearest first."""
    found = frontier = {first: None}
    while frontier:
        frontier = {each: None for each in started([*frontier]) if each not in found}
        found |= frontier
    return list(found)


def _jobs_called(tables: QueriedTables, name: str) -> list[tuple[Any, ...]]:
    return tables.query(
        "SELECT job_id, namespace, name FROM job WHERE name = ? OR namespace || '/' || name = ? "
        "ORDER BY namespace, name",
        (name, name),
    )


def _current(dataset: DatasetName, versions: StoredVersions, time: int) -> DatasetVersion:
    found = versions.current(dataset.id, time)
    if found is None:
        raise NameNotFoundError(f"the store knows no version of {dataset.label} at {time_of_micros(time).isoformat()}")
    return found
