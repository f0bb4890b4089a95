"""
The views of the store in a SQLite file, for SQL by people: names instead of ids.

Paimon's proposal of lineage tables has four tables with the columns job, barrier_id, database, table and snapshot_id.
The store has tables of the same names with ids. So the views with names end in `_by_name`; they have the proposal's
columns and ours. `Store.sql` calls them by the proposal's names, so that its queries run unchanged.
"""

from __future__ import annotations

import attrs
from openlineage_pyspark.workbench.store.tables.checked_sql import CheckedSql, checked_sql


@attrs.frozen
class View:
    """
    One view.

    Args:
        name: its name.
        meaning: the meaning of a row, for people.
        columns: its columns with their meanings.
        sql: the query.
    """

    name: str
    meaning: str
    columns: tuple[tuple[str, str], ...]
    sql: str


_JOB = ("job", "The job's name; with its namespace and a slash if jobs of several namespaces have this name.")
_TABLE = (
    ("database", "The part of the dataset's name before its last dot or slash; `default` if there is none."),
    ("table", "The part after it."),
)
_IDS = (("job_id", "The job."), ("name_id", "The dataset's name."), ("dataset_id", "The dataset."))
_BARRIER = (
    "barrier_id",
    "The micro-batch; of a run that has none, its start in microseconds since 1970.",
)
_RUN = ("run_id", "The run. A job whose checkpoint was deleted has the same barriers again, in another run.")
_SNAPSHOT = "The snapshot or the version of the storage; else the run, and with a micro-batch, a slash and its number."

# The character before the last part of the name: rtrim takes all other characters from the end.
_DATASET_NAME = """
WITH ranked AS (
  SELECT i.dataset_id, d.namespace, rtrim(d.name, '/') AS name,
    row_number() OVER (PARTITION BY i.dataset_id
      ORDER BY CASE WHEN d.name_id = i.dataset_id THEN 1 ELSE 0 END, d.last_time DESC, d.namespace, d.name) AS place
  FROM dataset_identity i JOIN dataset d ON d.name_id = i.name_id
), separated AS (
  SELECT dataset_id, namespace, name, CASE WHEN instr(name, '/') > 0 THEN '/' ELSE '.' END AS separator
  FROM ranked WHERE place = 1
), parted AS (
  SELECT dataset_id, namespace, name, separator, rtrim(name, replace(name, separator, '')) AS before FROM separated
), above AS (
  SELECT dataset_id, namespace, name, separator, before, rtrim(before, separator) AS above FROM parted
)
SELECT dataset_id, namespace, name,
  CASE WHEN above = '' THEN 'default'
    ELSE substr(above, length(rtrim(above, replace(above, separator, ''))) + 1) END AS "database",
  substr(name, length(before) + 1) AS "table"
FROM above"""
_JOB_NAME = """
SELECT j.job_id, j.namespace, CASE WHEN EXISTS (SELECT 1 FROM job o WHERE o.name = j.name AND o.job_id <> j.job_id)
  THEN j.namespace || '/' || j.name ELSE j.name END AS job
FROM job j"""
_JOB_LINEAGE = """
SELECT DISTINCT j.job, d."database", d."table", l.job_id, l.name_id, i.dataset_id, l.first_time, l.last_time
FROM {table} l
JOIN job_name j ON j.job_id = l.job_id
JOIN dataset_identity i ON i.name_id = l.name_id
JOIN dataset_name d ON d.dataset_id = i.dataset_id"""
_BARRIER_ID = "CASE WHEN l.batch_id >= 0 THEN l.batch_id ELSE coalesce(r.started, r.first_time, l.time) END"
_ID = (
    "CASE WHEN {row}.snapshot <> '' THEN {row}.snapshot "
    "WHEN {row}.batch_id >= 0 THEN {row}.run_id || '/' || {row}.batch_id ELSE {row}.run_id END"
)
_MADE = (
    "({row}.snapshot <> '' OR {row}.batch_id >= 0 OR ("
    "({run}.state IS NULL OR {run}.state NOT IN ('FAIL', 'ABORT')) AND NOT ("
    "coalesce({row}.change, '') IN ('', 'OVERWRITE') AND coalesce({row}.row_count, 0) = 0 "
    "AND EXISTS (SELECT 1 FROM source_snapshot_lineage t WHERE t.run_id = {row}.run_id "
    "AND t.batch_id = {row}.batch_id AND t.name_id = {row}.name_id AND t.snapshot <> ''))))"
)


def _id(row: str) -> CheckedSql:
    return checked_sql(_ID, row=row)


def made(row: str, run: str) -> CheckedSql:
    """
    Return the condition that a row of `sink_snapshot_lineage` is a version.

    What a failed run wrote is not a version, unless the storage gave it one or the micro-batch was committed. Neither
    is the write of a run that changed nothing: it read a version of what it writes, wrote no rows, and got no version,
    as an UPDATE that finds no row.

    Args:
        row: the alias of the row.
        run: the alias of its run.
    """
    return checked_sql(_MADE, row=row, run=run)


_SNAPSHOTS = """
SELECT j.job, {barrier} AS barrier_id, d."database", d."table", {snapshot} AS snapshot_id,
  {more}l.run_id, l.batch_id, l.job_id, l.name_id, i.dataset_id, l.time, l.row_count, l.bytes
FROM {table} l
JOIN dataset_identity i ON i.name_id = l.name_id
JOIN dataset_name d ON d.dataset_id = i.dataset_id
LEFT JOIN job_name j ON j.job_id = l.job_id
LEFT JOIN run r ON r.run_id = l.run_id"""
_CURRENT = checked_sql(
    """(
    SELECT {id} FROM dataset_identity o JOIN sink_snapshot_lineage w ON w.name_id = o.name_id
    LEFT JOIN run v ON v.run_id = w.run_id
    WHERE o.dataset_id = i.dataset_id AND NOT (w.run_id = l.run_id AND w.batch_id = l.batch_id)
      AND w.time <= CASE WHEN l.batch_id < 0 AND r.started < l.time THEN r.started ELSE l.time END
      AND {made}
    ORDER BY w.time DESC LIMIT 1)""",
    id=_id("w"),
    made=made("w", "v"),
)


def _of_snapshots(
    table: str,
    meaning: str,
    snapshot: tuple[str, str],
    more: tuple[tuple[str, str, str], ...],
    *,
    where: str,
) -> View:
    """
    Return the view of a table of snapshots, with names instead of ids.

    Args:
        table: the table.
        meaning: the meaning of a row.
        snapshot: the meaning of `snapshot_id`, and its SQL.
        more: the columns that this view alone has: name, meaning and SQL.
        where: which rows it has; empty for all.
    """
    as_there = f"As in `{table}`."
    columns = (
        _JOB,
        _BARRIER,
        *_TABLE,
        ("snapshot_id", snapshot[0]),
        *((name, text) for name, text, _ in more),
        _RUN,
        ("batch_id", as_there),
        *_IDS,
        *((name, as_there) for name in ("time", "row_count", "bytes")),
    )
    sql = _SNAPSHOTS.format(
        barrier=_BARRIER_ID,
        snapshot=f"CAST({snapshot[1]} AS TEXT)",
        more="".join(f"{code} AS {name}, " for name, _, code in more),
        table=table,
    )
    return View(f"{table}_by_name", meaning, columns, f"{sql}\nWHERE {where}" if where else sql)


VIEWS = (
    View(
        "dataset_name",
        "A dataset with the name by which people know it.",
        (
            ("dataset_id", "The dataset."),
            ("namespace", "The namespace of that name."),
            ("name", "The name: the latest other name that an event gave, else the dataset's own."),
            *_TABLE,
        ),
        _DATASET_NAME,
    ),
    View(
        "job_name",
        "A job with a name that no other job has.",
        (("job_id", "The job."), ("namespace", "Its namespace."), _JOB),
        _JOB_NAME,
    ),
    View(
        "source_job_lineage_by_name",
        "A job reads a table.",
        (
            _JOB,
            *_TABLE,
            *_IDS,
            ("first_time", "As in `source_job_lineage`."),
            ("last_time", "As in `source_job_lineage`."),
        ),
        _JOB_LINEAGE.format(table="source_job_lineage"),
    ),
    View(
        "sink_job_lineage_by_name",
        "A job writes a table.",
        (_JOB, *_TABLE, *_IDS, ("first_time", "As in `sink_job_lineage`."), ("last_time", "As in `sink_job_lineage`.")),
        _JOB_LINEAGE.format(table="sink_job_lineage"),
    ),
    _of_snapshots(
        "source_snapshot_lineage",
        "A run, or one micro-batch of it, read a version of a table.",
        (
            f"{_SNAPSHOT} The one that was current then, if the event has none.",
            f"CASE WHEN l.snapshot <> '' THEN l.snapshot ELSE {_CURRENT} END",
        ),
        (("inferred", "1 if the event has none.", "CASE WHEN l.snapshot = '' THEN 1 ELSE 0 END"),),
        # A batch that ends where it began has read nothing.
        where="l.offset_from IS NULL OR l.offset_from <> l.offset_to",
    ),
    _of_snapshots(
        "sink_snapshot_lineage",
        "A run, or one micro-batch of it, made a version of a table.",
        (_SNAPSHOT, _id("l")),
        (
            ("parent", "As in `sink_snapshot_lineage`.", "l.parent"),
            ("change", "As in `sink_snapshot_lineage`.", "l.change"),
        ),
        where=made("l", "r"),
    ),
    View(
        "dataset_version",
        "A version of a dataset, by its writers. `history` has their order, and versions that were only read.",
        (
            ("dataset_id", "The dataset."),
            ("version", _SNAPSHOT),
            ("kind", "`storage` or `run`: what gives the version its name."),
            ("time", "The time of the event or of the micro-batch."),
            ("run_id", "The run that made it."),
            ("batch_id", "The micro-batch; -1 if there is none."),
            ("job_id", "The job."),
            ("parent", "The version before it, according to the storage."),
            ("change", "Such as OVERWRITE or DROP; empty for an append."),
            ("row_count", "How many rows were written."),
            ("bytes", "How many bytes were written."),
        ),
        checked_sql(
            """
SELECT i.dataset_id, CAST({id} AS TEXT) AS version,
  CASE WHEN l.snapshot <> '' THEN 'storage' ELSE 'run' END AS kind,
  l.time, l.run_id, l.batch_id, l.job_id, l.parent, l.change, l.row_count, l.bytes
FROM sink_snapshot_lineage l
JOIN dataset_identity i ON i.name_id = l.name_id
LEFT JOIN run r ON r.run_id = l.run_id
WHERE {made}""",
            id=_id("l"),
            made=made("l", "r"),
        ),
    ),
    View(
        "version_column",
        "A column of a version of a dataset, with its type: the schema in events around that time.",
        (
            ("dataset_id", "The dataset."),
            ("version", "The version, as in `dataset_version`."),
            ("column_name", "The column; `a.b` for the field b of the struct a."),
            ("type", "Its type."),
            ("position", "Its place in the schema, from 0."),
        ),
        """
SELECT DISTINCT v.dataset_id, v.version, c.column_name, c.type, c.position
FROM dataset_version v
JOIN dataset_identity i ON i.dataset_id = v.dataset_id
JOIN dataset_column c ON c.name_id = i.name_id AND c.first_time <= v.time AND c.last_time >= v.time""",
    ),
    View(
        "table_lineage",
        "A job makes a table from another one.",
        (
            ("source_database", "The database of the table that is read."),
            ("source_table", "The table."),
            ("target_database", "The database of the table that is written."),
            ("target_table", "The table."),
            _JOB,
            ("source_id", "The `dataset_id` of what is read."),
            ("target_id", "The `dataset_id` of what is written."),
            ("job_id", "The job."),
        ),
        """
SELECT DISTINCT s."database" AS source_database, s."table" AS source_table, t."database" AS target_database,
  t."table" AS target_table, j.job, s.dataset_id AS source_id, t.dataset_id AS target_id, f.job_id
FROM stated_flow f
JOIN job_name j ON j.job_id = f.job_id
JOIN dataset_identity i ON i.name_id = f.input_id JOIN dataset_name s ON s.dataset_id = i.dataset_id
JOIN dataset_identity o ON o.name_id = f.output_id JOIN dataset_name t ON t.dataset_id = o.dataset_id""",
    ),
)
"""All views, each after those that it uses."""

PROPOSAL = ("source_job_lineage", "sink_job_lineage", "source_snapshot_lineage", "sink_snapshot_lineage")
"""The names of the proposal's tables. `<name>_by_name` is the view of each."""


def view_ddl() -> list[str]:
    """Return the statements that create the views."""
    return [f'CREATE VIEW IF NOT EXISTS "{view.name}" AS {view.sql.strip()}' for view in VIEWS]
