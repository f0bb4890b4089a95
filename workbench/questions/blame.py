"""`blame`: which run made each version of a table."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.arguments import DatasetRef
from openlineage_pyspark.workbench.questions.history import history_of, lacking_versions
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.row_text import TIME_WIDTH, row_writers, shown_time
from openlineage_pyspark.workbench.store.names import QueriedTables, find_dataset
from openlineage_pyspark.workbench.store.tables.ids import marked_lists

if TYPE_CHECKING:
    from collections.abc import Iterable

# The words that say what a statement does to a table, after a WITH or a comment too.
_OPERATION = re.compile(
    r"\b(INSERT\s+OVERWRITE|INSERT|MERGE|UPDATE|DELETE|TRUNCATE|DROP|ALTER|RESTORE|OPTIMIZE|CALL"
    r"|CREATE(?:\s+OR\s+REPLACE)?|REPLACE|COPY)\b",
    re.IGNORECASE,
)
_STRINGS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_APPEND = "APPEND"
_NO_ROWS = (
    "a store knows the versions of a table, and no rows. Ask the table itself for the version of a row: "
    "`_last_updated_sequence_number` of Iceberg 3, of which the metadata table `all_entries` has the snapshot, or "
    "`_metadata.row_commit_version` of Delta Lake with row tracking; and leave `where` out here"
)


@attrs.frozen
class BlameRow:
    """
    A version of a table, and the run that made it.

    Args:
        version: the snapshot, if the format has some; else the run, and with a micro-batch, a slash and its number.
        time: when it was made; for a version that was only read, when it was first read.
        job_namespace: the namespace of the job that made it; empty if no run is known.
        job: the name of the job.
        run_id: the run; empty if no event states it.
        batch: the micro-batch of that run; None if there is none.
        operation: what the statement did, such as MERGE; else the change that the event states, such as OVERWRITE, or
            APPEND if it states none. Empty if no run is known.
        rows: how many rows were written; None if it is not known.
    """

    version: str
    time: datetime
    job_namespace: str
    job: str
    run_id: str
    batch: int | None
    operation: str
    rows: int | None


def _table(answer: Answer[Rows[BlameRow]]) -> TextTable:
    rows = []
    for each in answer.result:
        run = each.run_id if each.batch is None else f"{each.run_id}, batch {each.batch}"
        count = "" if each.rows is None else f"{each.rows:,}"
        rows.append((each.version, shown_time(each.time), each.operation, count, run or "unknown", each.job))
    columns = (
        *(TableColumn("version", 9), TableColumn("time", TIME_WIDTH), TableColumn("operation")),
        *(TableColumn("rows", right=True), TableColumn("run", 13), TableColumn("job", 24, wrap=True)),
    )
    return TextTable(columns, rows)


@question(row_writers(_table))
def blame(
    tables: QueriedTables,
    table: DatasetRef,
    *,
    where: Annotated[str, Help("refused: a store knows versions, and no rows", "CONDITION")] = "",
) -> Answer[Rows[BlameRow]]:
    """Show which run made each version of a table: its job, its time and what it did, newest first."""
    if where:
        raise StoreError(_NO_ROWS)
    named, versions = history_of(tables, find_dataset(tables, table))
    jobs = _jobs_of_runs(tables, (each.run_id for each in versions))
    rows = []
    for each in versions:
        namespace, job, statement = jobs.get(each.run_id, ("", each.job, ""))
        operation = (_operation(statement) or each.change or _APPEND) if each.run_id else ""
        made = (each.run_id, each.batch, operation, each.rows)
        rows.append(BlameRow(each.version, each.time, namespace, job, *made))
    return answered(Rows("blame", tuple(rows)), lacking_versions(tables, named, versions))


def _operation(statement: str) -> str:
    """Return the words that say what a statement does; empty if there are none."""
    found = _OPERATION.search(_STRINGS.sub(" ", statement))
    return " ".join(found[1].upper().split()) if found else ""


def _jobs_of_runs(tables: QueriedTables, runs: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Return the namespace, the name and the statement of the job of each run."""
    found: dict[str, tuple[str, str, str]] = {}
    for marks, part in marked_lists(sorted({run for run in runs if run})):
        rows = tables.query(
            "SELECT r.run_id, j.namespace, j.name, j.sql FROM run r JOIN job j ON j.job_id = r.job_id "  # noqa: S608
            f"WHERE r.run_id IN ({marks})",
            part,
        )
        found |= {run: (namespace, name, sql or "") for run, namespace, name, sql in rows}
    return found
