"""Join the versions and rows that a store and a table know with the runs that made them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.model.document import frozen_mapping, values_by_field
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.short_names import without_classes
from openlineage_pyspark.workbench.model.times import known_time
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.pictures.words import counted
from openlineage_pyspark.workbench.questions.row_text import shown_time, time_column

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.applying.live import LiveVersion

# The names of the operations of Iceberg and Delta Lake that only copy rows into new files, or number them.
_COPYING = frozenset({"replace", "ROW TRACKING BACKFILL"})


@attrs.frozen
class BlameRow:
    """
    A version of a table, and the run that made it.

    Args:
        version: the snapshot, if the format has snapshots; else the run, followed by a slash and the number of the
            micro-batch if there is one. For a row, empty if it is unknown.
        time: when it was made; for a version that was only read, when it was first read. None if it is unknown.
        job_namespace: the namespace of the job that made it; empty if no run is known.
        job: the name of the job.
        run_id: the run; empty if no event states it.
        batch: the micro-batch of that run; None if there is none.
        operation: what the statement did, such as MERGE; else the change that the event states, such as OVERWRITE, or
            APPEND if it states none. Empty if no run is known.
        rows: how many rows were written; None if it is unknown.
    """

    version: str
    time: datetime | None
    job_namespace: str = ""
    job: str = ""
    run_id: str = ""
    batch: int | None = None
    operation: str = ""
    rows: int | None = None


@attrs.frozen
class BlamedRow(BlameRow):
    """
    A row of a table, with the version that wrote it last and the run that made this version.

    Args:
        row_id: the row's id, which it keeps when it is updated; None if the table has none for it.
        values: the columns that are shown -> their values. Numbers and booleans are unchanged, other values are texts.
    """

    row_id: int | None = attrs.field(kw_only=True, default=None)
    values: Mapping[str, Any] = attrs.field(kw_only=True, factory=dict, converter=frozen_mapping, hash=False)


@attrs.frozen
class LiveRow:
    """
    A row as Spark reads it.

    Args:
        values: the columns that are shown -> their values.
        row_id: the row's id; None if the table has none for it.
        number: the sequence number of Iceberg, or the version of Delta Lake, that wrote it last; None if the table
            keeps none for it.
        version: the snapshot with this sequence number, or the version; empty if the table no longer knows it.
    """

    values: Mapping[str, Any] = attrs.field(converter=frozen_mapping, hash=False)
    row_id: int | None
    number: int | None
    version: str


@attrs.frozen
class Joined:
    """
    Rows with the runs that made them.

    Args:
        rows: the rows, those of the newest versions first.
        diagnostics: what is unknown about them.
    """

    rows: tuple[BlamedRow, ...]
    diagnostics: tuple[Diagnostic, ...]


def join_rows(
    rows: Sequence[LiveRow], made: Mapping[str, BlameRow], live: Mapping[str, LiveVersion], label: str
) -> Joined:
    """
    Return rows with the runs that made their versions.

    Args:
        rows: the rows.
        made: the versions that the store knows of this table -> the runs that made them.
        live: the versions that the table itself has.
        label: the name of the table, for people.
    """
    found = []
    unknown: dict[str, list[LiveRow]] = {}
    for row in sorted(rows, key=lambda each: -1 if each.number is None else each.number, reverse=True):
        committed = live.get(row.version)
        why = _unknown(row, made.get(row.version), committed, label)
        time = known_time(committed.micros or None) if committed else None
        version = BlameRow(row.version, time) if why else made[row.version]
        found.append(BlamedRow(**values_by_field(version), row_id=row.row_id, values=row.values))
        if why:
            unknown.setdefault(why, []).append(row)
    return Joined(tuple(found), tuple(_diagnostics(unknown)))


def _unknown(row: LiveRow, made: BlameRow | None, committed: LiveVersion | None, label: str) -> str:
    """Return why the run that made a row is unknown; empty if it is known."""
    if row.number is None:
        return f"{label} kept no versions of rows yet"
    if not row.version:
        return f"{label} no longer has the snapshot with the sequence number {row.number}"
    if committed is not None and committed.operation in _COPYING:
        return f"{label}@{row.version} only copied older rows ({committed.operation})"
    if made is None or not made.run_id:
        by = f", committed {committed.time} ({committed.operation})" if committed else ""
        return f"no run is known that made {label}@{row.version}{by}"
    return ""


def _diagnostics(unknown: Mapping[str, Sequence[LiveRow]]) -> Iterator[Diagnostic]:
    for why, rows in unknown.items():
        yield Diagnostic("unknown-writer", f"{counted(len(rows), 'row')} without a run: {why}", missing=True)


def text_of_versions(versions: Iterable[BlameRow]) -> TextTable:
    """Return versions as a table for people."""
    rows, versions = [], list(versions)
    jobs = without_classes(each.job for each in versions)
    for each in versions:
        count = "" if each.rows is None else f"{each.rows:,}"
        rows.append((each.version, shown_time(each.time), each.operation, count, _run(each), jobs[each.job]))
    columns = (
        *(TableColumn("version", 9), time_column("time"), TableColumn("operation")),
        *(TableColumn("rows", right=True), TableColumn("run", 13), TableColumn("job", 24, wrap=True)),
    )
    return TextTable(columns, rows)


def text_of_rows(blamed: Sequence[BlamedRow]) -> TextTable:
    """Return rows as a table for people: the columns that are shown, and the run that made each."""
    names = tuple(dict.fromkeys(name for each in blamed for name in each.values))
    jobs = without_classes(each.job for each in blamed)
    rows = []
    for each in blamed:
        values = ("NULL" if (value := each.values.get(name)) is None else str(value) for name in names)
        rows.append((*values, each.version, shown_time(each.time), each.operation, _run(each), jobs[each.job]))
    columns = (
        *(TableColumn(name, cut_end=True) for name in names),
        *(TableColumn("version", 9), time_column("time"), TableColumn("operation")),
        *(TableColumn("run", 13), TableColumn("job", 24, wrap=True)),
    )
    return TextTable(columns, rows, "no row meets the condition")


def _run(version: BlameRow) -> str:
    return (version.run_id if version.batch is None else f"{version.run_id}, batch {version.batch}") or "unknown"
