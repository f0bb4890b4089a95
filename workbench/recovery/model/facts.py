"""The facts of a recovery plan: versions, reads, runs and applications, as values."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import attrs
from openlineage_pyspark.workbench.model.short_names import without_class
from openlineage_pyspark.workbench.questions.versions.versions import RunPart
from openlineage_pyspark.workbench.store.current import PARTITION_OPERATORS

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.events.facts import RecoveryOfRun, SessionOfRun


class HistoryPlace(NamedTuple):
    """
    A version of a dataset, by its place.

    Args:
        dataset: the dataset's id.
        place: the place of the version in the dataset's history, from 0.
    """

    dataset: int
    place: int


_EMPTYING = frozenset({"DROP", "TRUNCATE"})
COMMENTS = r"(?:\s|--[^\n]*(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*\*/)*"
"""
The blanks and comments before a word of a statement, as a pattern.

It matches each text in one way only: otherwise a statement after many blanks would take hours.
"""
_BEGIN = re.compile(COMMENTS)
_CREATED_EMPTY = re.compile(r"\s*CREATE\b(?!.*\b(?:SELECT|CLONE|FROM)\b)", re.IGNORECASE | re.DOTALL)
_WHOLE_OVERWRITE = re.compile(
    r"\s*(?:WITH\b.*)?INSERT\s+OVERWRITE\b(?!.*\bPARTITION\s*\()(?!.*\bREPLACE\s+WHERE\b)", re.IGNORECASE | re.DOTALL
)
_PARTITION_OVERWRITTEN = re.compile(
    r"\s*(?:WITH\b.*)?INSERT\s+OVERWRITE\b(?:(?!\bSELECT\b|\bVALUES\b).)*"
    r"(?:\bPARTITION\s*\([^()]*=|\bREPLACE\s+WHERE\b)",
    re.IGNORECASE | re.DOTALL,
)
_ROW_LEVEL = re.compile(r"\.(replace_data|write_delta|merge_into_table|update_table|delete_from_table)\.")
_FOUND_THERE = re.compile(r"\s*CREATE\b(?:(?!\bAS\b|\().)*\bIF\s+NOT\s+EXISTS\b", re.IGNORECASE | re.DOTALL)
_OVER_FILES = re.compile(r"\bLOCATION\s*['\"]|\bpath\b\s*=?\s*['\"]", re.IGNORECASE)
_QUERIED_SHORTLY = re.compile(r"\bAS\s*(?:TABLE|VALUES)\b", re.IGNORECASE)
_REPLACED = re.compile(r"\s*(?:CREATE\s+OR\s+)?REPLACE\s+TABLE\b", re.IGNORECASE)
# A name, whose parts in backquotes may have spaces.
_NAME = r"(?:`(?:[^`]|``)*`|[^\s`])+"
_COLUMNS_ALTERED = re.compile(
    rf"ALTER\s+TABLE\s+{_NAME}\s+(?:(?:ADD|ALTER|CHANGE|DROP|RENAME|REPLACE)\s+COLUMNS?\b|(?:UN)?SET\s+TBLPROPERTIES\b)",
    re.IGNORECASE,
)
_PARTITION_TRUNCATED = re.compile(rf"TRUNCATE\s+TABLE\s+{_NAME}\s+PARTITION\b", re.IGNORECASE)
_QUERIED = re.compile(r"\b(?:SELECT|CLONE|FROM)\b", re.IGNORECASE)
_RESTORED = re.compile(
    rf"\s*RESTORE\s+(?:TABLE\s+)?{_NAME}\s+(?:TO\s+)?VERSION\s+AS\s+OF\s+['\"]?(\d+)['\"]?\s*;?\s*", re.IGNORECASE
)
_RESTORE = re.compile(r"RESTORE\b", re.IGNORECASE)
_RESTORING = ".execute_restore_table_command."
# Spark names these operators for a table without rows: execute_create_data_source_table_command, create_table.
_EMPTY_CREATION = re.compile(
    r"(?:^|\.)(?:execute_create_(?:data_source_)?table(?:_like)?_command|create_table)(?:\.|$)"
)
_VERSIONED = frozenset({"iceberg", "delta"})


@attrs.frozen
class DatasetFacts:
    """
    A dataset.

    Args:
        id: its id in the store.
        label: its name for people.
        sql: its name in statements, with the catalog; empty if it has none.
        format: such as iceberg, delta or parquet; empty if it is unknown.
        location: its path or URI; empty if it has none.
        former: the name that earlier statements have; empty if it is the same.
    """

    id: int
    label: str
    sql: str = ""
    format: str = ""
    location: str = ""
    former: str = ""

    @property
    def is_of_spark(self) -> bool:
        """Return whether its name in statements is one of Spark's: a table of a database may have another."""
        return bool(self.sql) and bool(self.format or self.location)

    @property
    def has_versions(self) -> bool:
        """Return whether its format keeps versions to which a table can be rolled back."""
        return self.format in _VERSIONED and bool(self.sql)


@attrs.frozen
class MadeVersion:
    """
    A version of a dataset.

    Args:
        dataset: the dataset.
        run_id: the run that made it; empty if none is recorded.
        batch_id: the micro-batch; NO_BATCH for a run that has none.
        snapshot: the storage's version; empty if it has none.
        time: when, in microseconds since 1970.
        parent: the version before it, according to the storage; empty if it is unknown.
        change: such as OVERWRITE; empty for an append.
        whole: whether it holds nothing of the version before; None if that is unknown.
        is_stated: whether its event states what it replaced, so that `whole` is not guessed from the statement.
        empties: whether it has no rows, as after TRUNCATE.
        nothing: whether what made it has written no rows: a CREATE TABLE IF NOT EXISTS that found the table there, a
            new name, other columns, a RESTORE.
        branch: the branch that was written; empty for the main one.
        rows: how many rows were written; None if it is unknown.
        table_id: the id that the format gives the table; empty if it is unknown.
        restored: of a RESTORE, the version whose rows it brought back, which is its parent too; empty if no event
            states that version, and None if it is no RESTORE.
        idle: whether it changed no row, and the storage made no version of it: a DELETE of Delta Lake that found none.
    """

    dataset: int
    run_id: str
    batch_id: int
    snapshot: str
    time: int
    parent: str = ""
    change: str = ""
    whole: bool | None = False
    is_stated: bool = False
    empties: bool = False
    nothing: bool = False
    branch: str = ""
    rows: int | None = None
    table_id: str = ""
    restored: str | None = None
    idle: bool = False

    @property
    def is_between(self) -> bool:
        """Return whether it is a write of which the storage has no version, although it may have others around it."""
        is_write = self.change in ("", "OVERWRITE") and not self.nothing
        return is_write and bool(self.run_id) and not self.snapshot and not self.unit.is_batch

    @property
    def unit(self) -> RunPart:
        """Return the run or micro-batch that made it."""
        return RunPart(self.run_id, self.batch_id)

    @property
    def version(self) -> str:
        """Return its name: the storage's version, else the run and its micro-batch."""
        if self.snapshot or not self.unit.is_batch:
            return self.snapshot or self.run_id
        return f"{self.run_id}/{self.batch_id}"


@attrs.frozen
class ReadFacts:
    """
    The read of a run or a micro-batch.

    Args:
        dataset: the dataset.
        run_id: the run.
        batch_id: the micro-batch.
        version: the version; empty if no version is known that existed then.
        inferred: whether the event does not name it, so that the one that was current then is assumed.
        offset_from: where a micro-batch began to read, as JSON; empty if no event states it.
        offset_to: where it ended, as JSON; empty if no event states it.
        is_source: whether the dataset is a source of a streaming query, whose checkpoint states how far it was read. A
            table that each micro-batch joins is not.
    """

    dataset: int
    run_id: str
    batch_id: int
    version: str
    inferred: bool = False
    offset_from: str = ""
    offset_to: str = ""
    is_source: bool = False


@attrs.frozen
class RunFacts:
    """
    A run.

    Args:
        id: its id.
        job: the name of its job.
        job_id: its job.
        state: such as COMPLETE; START or RUNNING if no event reports its end.
        started: when it began, in microseconds since 1970.
        application: the run that started it; empty if there is none.
        query: what identifies the streaming query: its checkpoint, else its id; empty for a batch.
        checkpoint: the place of its checkpoint; empty if it is unknown.
        sql: the text of its statement; empty if it has none.
        gaps: the gaps that its events report.
        seconds: how long it took; None if that is unknown.
        corrects: the version that it corrected in place, in a recovery; empty for others.
        session: the settings under which it ran; None if no event states them.
        recovery: the recovery whose step it is; None if it is of none.
    """

    id: str
    job: str
    job_id: int = 0
    state: str = "COMPLETE"
    started: int = 0
    application: str = ""
    query: str = ""
    checkpoint: str = ""
    sql: str = ""
    gaps: tuple[str, ...] = ()
    seconds: float | None = None
    corrects: str = ""
    session: SessionOfRun | None = None
    recovery: RecoveryOfRun | None = None

    @property
    def ended(self) -> bool:
        """Return whether an event reported its end."""
        return self.state in {"COMPLETE", "FAIL", "ABORT"}

    @property
    def shown_job(self) -> str:
        """Return the name of its job for people, without the name of Spark's class."""
        return without_class(self.job)


@attrs.frozen
class ApplicationFacts:
    """
    The known facts about the start of an application.

    Args:
        run_id: its run.
        job: the name of its job.
        script: where its source is; empty if that is unknown.
        command: the words of the command that started it, without secrets; empty if they are unknown.
        folder: the folder in which it was started.
        deploy_mode: `client` or `cluster`; empty if it is unknown.
        redacted: whether parts of the command were replaced because they are secret.
    """

    run_id: str
    job: str
    script: str = ""
    command: tuple[str, ...] = ()
    folder: str = ""
    deploy_mode: str = ""
    redacted: bool = False


_UNKNOWN_RUN = RunFacts("", "an unknown job", state="")


@attrs.frozen(slots=False)
class Facts:
    """
    All that a plan is made from.

    Args:
        datasets: the datasets by their ids.
        histories: a dataset -> its versions, the oldest first.
        reads: the reads.
        runs: the runs by their ids.
        applications: the applications by their runs' ids.
        unfinished: a dataset -> runs that began to write it and never reported an end, and no version of theirs is
            known.
        beside: an application -> the datasets that its runs write.
        open_readers: runs that began to read a dataset and never reported an end: the dataset, the run, and another
            dataset that its job writes.
    """

    datasets: Mapping[int, DatasetFacts]
    histories: Mapping[int, tuple[MadeVersion, ...]]
    reads: tuple[ReadFacts, ...]
    runs: Mapping[str, RunFacts]
    applications: Mapping[str, ApplicationFacts] = attrs.Factory(dict)
    unfinished: Mapping[int, tuple[str, ...]] = attrs.Factory(dict)
    beside: Mapping[str, tuple[int, ...]] = attrs.Factory(dict)
    open_readers: tuple[tuple[int, str, int], ...] = ()

    def run(self, run_id: str) -> RunFacts:
        """Return a run; one without facts if it is not recorded."""
        return self.runs.get(run_id, _UNKNOWN_RUN)

    def label(self, dataset: int) -> str:
        """Return the name of a dataset for people."""
        return self.datasets[dataset].label

    def has_maker(self, made: MadeVersion) -> bool:
        """Return whether the maker of a version is known: a version that was only read has none."""
        return made.run_id in self.runs

    def unknown_parent(self, made: MadeVersion) -> str:
        """Return the version before one if the store knows only that it existed; empty if it has the version."""
        return made.parent if made.parent not in self._snapshots[made.dataset] else ""

    def unknown_maker(self, made: MadeVersion) -> str:
        """Return a version, or the one before it, if its maker is unknown; empty if both makers are known."""
        return self.unknown_parent(made) if self.has_maker(made) else made.snapshot

    @functools.cached_property
    def _snapshots(self) -> dict[int, frozenset[str]]:
        """Return the versions of each dataset that the storage has named, with the empty one."""
        return {each: frozenset(("", *(made.snapshot for made in line))) for each, line in self.histories.items()}


@attrs.frozen
class Effect:
    """
    The change of a dataset by a run that wrote it, as `MadeVersion` has it.

    Args:
        whole: whether the version holds nothing of the one before; None if that is unknown.
        empties: whether it has no rows.
        nothing: whether no rows were written.
    """

    whole: bool | None = False
    empties: bool = False
    nothing: bool = False


def registers_files(change: str, sql: str, job: str, format_: str) -> bool:
    """
    Return whether a run only gave a table a location, with whatever rows are there.

    The arguments are those of `effect`. A table of Iceberg has no rows then: its catalog alone knows which it had.
    """
    is_empty = _is_empty_creation(sql, job) and not _QUERIED_SHORTLY.search(sql)
    is_over_files = is_empty and (not sql or _OVER_FILES.search(sql) is not None)
    return not change and format_ != "iceberg" and is_over_files


def effect(change: str, sql: str, job: str, format_: str, *, was_there: bool, replaced: str = "") -> Effect:
    """
    Return the change of a dataset by a run that wrote it.

    Args:
        change: such as OVERWRITE; empty for an append.
        sql: the statement that made it; empty if it is unknown.
        job: the name of the job, which contains the name of the operator.
        format_: the format of the dataset.
        was_there: whether there is a version before it that is not a DROP.
        replaced: the part that it replaced according to its event, such as `all`; empty if the event does not state it.
    """
    if begin := _BEGIN.match(sql):
        sql = sql[begin.end() :]
    if change in _EMPTYING:
        is_part = change == "TRUNCATE" and (_PARTITION_TRUNCATED.match(sql) or "truncate_partition" in job)
        return Effect() if is_part else Effect(whole=True, empties=True)
    if change == "RENAME":
        return Effect(whole=True, nothing=True)
    if registers_files(change, sql, job, format_):
        return Effect(nothing=True)
    if change == "ALTER" and format_ != "delta" and _COLUMNS_ALTERED.match(sql):
        # A RESTORE also resets the columns of a Delta table. A rollback of other tables does not.
        return Effect(nothing=True)
    if change == "CREATE":
        return _creation(sql, job, was_there=was_there)
    return _overwrite(sql, job, replaced) if change == "OVERWRITE" else Effect()


def replaces_partitions(job: str) -> bool:
    """Return whether a job's name has the operator that replaces only the partitions of its own rows."""
    return any(operator in job for operator in PARTITION_OPERATORS)


def changes_rows(job: str) -> bool:
    """Return whether a job's name has the operator of a command that changes single rows: MERGE, UPDATE or DELETE."""
    return _ROW_LEVEL.search(job) is not None


def restored(sql: str, job: str, read: str) -> str | None:
    """
    Return the version that a RESTORE of Delta Lake brings a table back to; None if the run is none.

    Args:
        sql: its statement; empty if it has none, as one of `DeltaTable.restoreToVersion`.
        job: the name of its job.
        read: the version of the table that it read according to its event; empty if the event states none: it restored
            the table to a time.
    """
    if begin := _BEGIN.match(sql):
        sql = sql[begin.end() :]
    found = _RESTORED.fullmatch(sql)
    if found is not None:
        return found[1]
    return read if _RESTORING in job or _RESTORE.match(sql) else None


def _overwrite(sql: str, job: str, replaced: str) -> Effect:
    if _REPLACED.match(sql):
        return Effect(whole=True, empties=not _QUERIED.search(sql))
    if replaced:
        return Effect(whole=replaced == "all")
    if replaces_partitions(job) or _PARTITION_OVERWRITTEN.match(sql):
        return Effect()
    # An OVERWRITE may replace some partitions only.
    return Effect(whole=True if _WHOLE_OVERWRITE.match(sql) else None)


def _is_empty_creation(sql: str, job: str) -> bool:
    # The run of a CREATE TABLE may have no text. Then the name of its operator shows its kind.
    return bool(_CREATED_EMPTY.match(sql) if sql else _EMPTY_CREATION.search(job))


def _creation(sql: str, job: str, *, was_there: bool) -> Effect:
    is_empty = _is_empty_creation(sql, job)
    may_be_there = _FOUND_THERE.match(sql) or (is_empty and (not sql or _OVER_FILES.search(sql)))
    if not was_there or not may_be_there:
        return Effect(whole=True, empties=is_empty)
    return Effect(nothing=True) if is_empty else Effect(whole=None)
