"""`blame`: which run made each version of a table, or each of its rows that meet a condition."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.blame.live_rows import RowReader
from openlineage_pyspark.workbench.blame.made import BlamedRow, BlameRow, join_rows, text_of_rows, text_of_versions
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.questions.arguments import DatasetRef
from openlineage_pyspark.workbench.questions.history import VersionRow, history_of, lacking_versions
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.row_text import row_writers
from openlineage_pyspark.workbench.recovery.model.statements import table_id
from openlineage_pyspark.workbench.recovery.reading import written_table
from openlineage_pyspark.workbench.store.names import QueriedTables, find_dataset, rows_by_text
from openlineage_pyspark.workbench.store.spark.session import session_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openlineage_pyspark.workbench.blame.made import LiveRow
    from openlineage_pyspark.workbench.pictures.table import TextTable
    from openlineage_pyspark.workbench.store.names import DatasetName

# The words that state what a statement does to a table, even after a WITH or a comment.
_OPERATION = re.compile(
    r"\b(INSERT\s+OVERWRITE|INSERT|MERGE|UPDATE|DELETE|TRUNCATE|DROP|ALTER|RESTORE|OPTIMIZE|CALL"
    r"|CREATE(?:\s+OR\s+REPLACE)?|REPLACE|COPY)\b",
    re.IGNORECASE,
)
_STRINGS = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_APPEND = "APPEND"
_LIMIT = 100
# How a table is stored is read from the events of this many of its newest runs.
_DESCRIBING = 20
_ROWS, _VERSIONS = "row", "blame"
_WHERE = (
    'the rows that meet this condition, such as "id = 1", instead of the versions: Spark reads them from the table, '
    "if it is of Iceberg's format version 3 or of Delta Lake with row tracking"
)
_KEY = "with --where: a column to show of each row; repeatable; default: those of the condition and the first ones"


def _table(answer: Answer[Rows[BlamedRow | BlameRow]]) -> TextTable:
    if answer.result.of == _ROWS:
        return text_of_rows([each for each in answer.result if isinstance(each, BlamedRow)])
    return text_of_versions(answer.result)


@question(row_writers(_table), reads_rows=lambda given: given["where"] is not None)
def blame(
    tables: QueriedTables,
    table: DatasetRef,
    *,
    where: Annotated[str | None, Help(_WHERE, "CONDITION")] = None,
    key: Annotated[tuple[str, ...], Help(_KEY, "COLUMN")] = (),
    limit: Annotated[int, Help(f"with --where: at most N rows; default: {_LIMIT}", "N", least=1)] = _LIMIT,
) -> Answer[Rows[BlamedRow | BlameRow]]:
    """
    Show which run made each version of a table: its job, its time and what it did, newest first.

    With a condition, show instead which run last wrote each row that meets it. The active Spark session, or else a new
    one, reads the rows.
    """
    if limit < 1:
        raise StoreError(f"limit is {limit}: it must be 1 or more")
    if where is None and (key or limit != _LIMIT):
        raise StoreError(f"{'key' if key else 'limit'} needs where: a condition that selects rows")
    named, history = history_of(tables, find_dataset(tables, table))
    made = _made(tables, history)
    if where is None:
        return answered(Rows[BlamedRow | BlameRow](_VERSIONS, made), lacking_versions(tables, named, history))
    found = written_table(tables, named, _runs(history)[:_DESCRIBING]).facts
    why = "" if found.is_of_spark else "it has no name in Spark's SQL"
    if not why:
        reader = RowReader(session_of_rows(), table_id(found), named.label)
        condition = reader.condition(where)
        why = reader.lacking()
    if why:
        message = f"{named.label} has no versions of rows, so these are the versions of the whole table: {why}"
        alone = Diagnostic("unknown-writer", message, missing=True)
        return answered(Rows[BlamedRow | BlameRow](_VERSIONS, made), (alone, *lacking_versions(tables, named, history)))
    rows = reader.rows(condition, key, limit + 1)
    more = f"more rows than {limit:,} meet the condition: a higher limit shows them"
    beyond = [Diagnostic("limit", more, missing=True)] if len(rows) > limit else []
    known = _of_this_table(tables, named, history, rows[:limit], reader.table.table_id)
    versions = {each.version: each for each in made if each.version in known}
    joined = join_rows(rows[:limit], versions, reader.table.versions, named.label)
    return answered(Rows[BlamedRow | BlameRow](_ROWS, joined.rows), (*beyond, *joined.diagnostics))


def _runs(history: Sequence[VersionRow]) -> list[str]:
    return list(dict.fromkeys(each.run_id for each in history if each.run_id))


def _of_this_table(
    tables: QueriedTables, named: DatasetName, history: Sequence[VersionRow], rows: Iterable[LiveRow], id_: str
) -> set[str]:
    """
    Return the versions of rows that belong to the current table, as far as the store knows.

    If a Delta Lake table is dropped and created again, its versions are numbered from 0 again, and another table may
    have the name or the folder of a dropped one.
    """
    wanted = {row.version for row in rows}
    dropped = next((at for at, each in enumerate(history) if each.change == "DROP"), len(history))
    found = [each for each in history[:dropped] if each.version in wanted]
    ids = written_table(tables, named, _runs(found)).ids
    return {each.version for each in found if ids.get((each.run_id, each.version)) in (None, id_) or not id_}


def _made(tables: QueriedTables, history: Sequence[VersionRow]) -> tuple[BlameRow, ...]:
    """Return the versions of a table with the runs that made them."""
    jobs = _jobs_of_runs(tables, _runs(history))
    rows = []
    for each in history:
        namespace, job, statement = jobs.get(each.run_id, ("", each.job, ""))
        operation = (_operation(statement) or each.change or _APPEND) if each.run_id else ""
        made = (each.run_id, each.batch, operation, each.rows)
        rows.append(BlameRow(each.version, each.time, namespace, job, *made))
    return tuple(rows)


def _operation(statement: str) -> str:
    """Return the words that state what a statement does; empty if there are none."""
    found = _OPERATION.search(_STRINGS.sub(" ", statement))
    return " ".join(found[1].upper().split()) if found else ""


def _jobs_of_runs(tables: QueriedTables, runs: Iterable[str]) -> dict[str, tuple[str, str, str]]:
    """Return the namespace, the name and the statement of the job of each run."""
    sql = (
        "SELECT r.run_id, j.namespace, j.name, j.sql FROM run r JOIN job j ON j.job_id = r.job_id "
        "WHERE r.run_id IN ({marks})"
    )
    rows = rows_by_text(tables, sql, sorted({run for run in runs if run}))
    return {run: (namespace, name, statement or "") for run, namespace, name, statement in rows}
