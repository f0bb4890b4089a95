"""
The tables of a store in a SQLite file, and the documented tables as views of them.

Whatever the runs of a job repeat is stored once: a `description` is an event's whole mention of one dataset of a job,
and a `job_version` its mentions of the job and all datasets, without versions and counts. An event points to its
version, and its text is packed against that of a similar one.
"""

# ruff: noqa: S608 (these statements are of our own names alone)
from __future__ import annotations

import attrs
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store.tables.schema import Merge, StoredColumn, StoredTable, Type

EVENT_TEXT = "event_text"
"""The name of the SQL function that returns the text of an event as it was. Only our connections have it."""
NO_RUN = 0
"""The number that means no run."""

_RUN_NUMBER = StoredColumn("run", "The number of the run.", Merge.KEY, Type.INTEGER)


def _by_number(table: StoredTable, name: str) -> StoredTable:
    """Return a table of versions that has the number of a run instead of its id."""
    return attrs.evolve(table, name=name, columns=(_RUN_NUMBER, *table.columns[1:]))


RUN = attrs.evolve(schema.RUN, name="stored_run")
READ_VERSION = _by_number(schema.SOURCE_SNAPSHOT_LINEAGE, "read_version")
MADE_VERSION = _by_number(schema.SINK_SNAPSHOT_LINEAGE, "made_version")
MERGED = (
    *(schema.REJECTED, schema.JOB, RUN, schema.DATASET, schema.DATASET_IDENTITY, schema.OWNER),
    *(READ_VERSION, MADE_VERSION, schema.ODD_FACET),
)
"""The tables whose rows are merged by their keys, column by column."""
STORED_AS = {
    schema.RUN.name: RUN,
    schema.SOURCE_SNAPSHOT_LINEAGE.name: READ_VERSION,
    schema.SINK_SNAPSHOT_LINEAGE.name: MADE_VERSION,
}
"""A documented table -> the table that its rows are merged into, with the number of the run instead of its id."""

_SPAN = "first_time INTEGER NOT NULL, first_run TEXT NOT NULL, last_time INTEGER NOT NULL, last_run TEXT NOT NULL"
OF_VERSIONS = {
    "job_version": (
        "version INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, job_id INTEGER, producer TEXT NOT NULL, "
        "first_time INTEGER NOT NULL, last_time INTEGER NOT NULL, alone_time INTEGER"
    ),
    "description": (
        "description INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, job_id INTEGER, name_id INTEGER NOT NULL, "
        + _SPAN
    ),
    "version_description": "version INTEGER, description INTEGER, PRIMARY KEY (version, description)",
    "run_version": "run INTEGER, version INTEGER, first_time INTEGER NOT NULL, PRIMARY KEY (run, version)",
    "version_pair": "version INTEGER, other INTEGER, PRIMARY KEY (version, other)",
    "reading": "name_id INTEGER, description INTEGER, PRIMARY KEY (name_id, description)",
    "writing": (
        "name_id INTEGER, description INTEGER, change TEXT NOT NULL, states_sources INTEGER NOT NULL, "
        "PRIMARY KEY (name_id, description)"
    ),
    "field": (
        "description INTEGER, position INTEGER, column_name TEXT NOT NULL, type TEXT NOT NULL, "
        "PRIMARY KEY (description, position)"
    ),
    "edge": (
        "description INTEGER, number INTEGER, output_column TEXT NOT NULL, input_id INTEGER NOT NULL, "
        "input_column TEXT NOT NULL, type TEXT NOT NULL, subtype TEXT NOT NULL, masking INTEGER NOT NULL, "
        "expression TEXT NOT NULL, path INTEGER, PRIMARY KEY (description, number)"
    ),
    "path": "path INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, certainty TEXT NOT NULL, steps TEXT NOT NULL",
    "gap": (
        "version INTEGER, number INTEGER, operator TEXT NOT NULL, message TEXT NOT NULL, PRIMARY KEY (version, number)"
    ),
}
"""The tables of what runs repeat: the definition of each."""
OF_EVENTS = {
    "stored_event": (
        "event INTEGER PRIMARY KEY, run INTEGER NOT NULL, digest BLOB NOT NULL, type TEXT NOT NULL, "
        "time INTEGER NOT NULL, version INTEGER NOT NULL, base INTEGER NOT NULL, shared INTEGER NOT NULL, "
        "packed BLOB NOT NULL, UNIQUE (run, digest)"
    ),
    "version_base": "version INTEGER, type TEXT, event INTEGER NOT NULL, PRIMARY KEY (version, type)",
    "dictionary": "dictionary INTEGER PRIMARY KEY, packed BLOB NOT NULL",
}
"""The tables of the texts of events: the definition of each."""
INDEXES = {
    "job_version_by_job_id": "job_version (job_id)",
    "description_by_name_id": "description (name_id)",
    "description_by_job_id": "description (job_id)",
    "version_description_by_description": "version_description (description)",
    "reading_by_description": "reading (description)",
    "writing_by_description": "writing (description)",
    "edge_by_input": "edge (input_id, input_column)",
}
"""Their indexes."""
_WITH_NUMBERS = ("job_version", "description", "path", "stored_event", "dictionary")


def definitions() -> list[str]:
    """Return the statements that create the tables of repeated descriptions, those of events, and their indexes."""
    made = [
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}){'' if name in _WITH_NUMBERS else ' WITHOUT ROWID'}"
        for name, columns in (OF_VERSIONS | OF_EVENTS).items()
    ]
    return [*made, *(f"CREATE INDEX IF NOT EXISTS {name} ON {what}" for name, what in INDEXES.items())]


def _names(table: StoredTable, alias: str, without: int = 0) -> str:
    return ", ".join(f"{alias}.{column.name}" for column in table.stored[without:])


def _latest(place: str, value: str, function: str = "max") -> str:
    """Return the aggregate of the value with the greatest or the least place, a number."""
    # As texts of one length, numbers keep their order, unless they are negative: the addition makes them positive.
    return f"substr({function}(printf('%020d', {place} + {1 << 60}) || {value}), 21)"


_OF_RUNS = "SELECT r.run_id, {columns} FROM {table} s JOIN stored_run r ON r.run = s.run"
_EVENT = (
    "SELECT lower(hex(e.digest)) AS event_id, r.run_id, e.type, e.time, "
    "(SELECT v.producer FROM {database}job_version v WHERE v.version = e.version) AS producer{json} "
    "FROM {database}stored_event e JOIN {database}stored_run r ON r.run = e.run"
)
_OF_JOBS = (
    "SELECT job_id, name_id, min(first_time) AS first_time, max(last_time) AS last_time FROM {table} GROUP BY 1, 2"
)
_STATED_BY_JOBS = (
    "SELECT d.job_id, u.name_id, d.first_time, d.last_time FROM {table} u "
    "JOIN description d ON d.description = u.description"
)
# The events of one run, taken together: its START may name the inputs, and its terminal event the outputs.
_FLOW = (
    "SELECT v.job_id, r.name_id AS input_id, w.name_id AS output_id, max(v.first_time, o.first_time) AS first_time, "
    "min(v.last_time, o.last_time) AS last_time FROM reading r "
    "JOIN version_description a ON a.description = r.description JOIN version_pair p ON p.version = a.version "
    "JOIN version_description b ON b.version = p.other JOIN writing w ON w.description = b.description "
    "AND (w.states_sources = 0 OR r.description = w.description) "
    "JOIN job_version v ON v.version = p.version JOIN job_version o ON o.version = p.other AND o.job_id = v.job_id"
)
_SPAN_COLUMNS = "d.first_time, d.first_run, d.last_time, d.last_run"
DESCRIBED = {
    "stated_read": (schema.SOURCE_JOB_LINEAGE.name, _STATED_BY_JOBS.format(table="reading")),
    "stated_write": (schema.SINK_JOB_LINEAGE.name, _STATED_BY_JOBS.format(table="writing")),
    "stated_column": (
        schema.DATASET_COLUMN.name,
        (
            "SELECT d.name_id, f.column_name, f.type, f.position, d.first_time, d.last_time FROM description d "
            "JOIN field f ON f.description = d.description"
        ),
    ),
    "stated_edge": (
        schema.COLUMN_LINEAGE_TABLE.name,
        (
            "SELECT d.name_id AS output_id, e.output_column, e.input_id, e.input_column, d.job_id, e.type, e.subtype, "
            f"e.masking, e.expression, {_SPAN_COLUMNS}, e.description, e.path "
            "FROM edge e JOIN description d ON d.description = e.description"
        ),
    ),
}
"""
The views that questions query: a row for each description that states it, where the documented table has one for all.

The name of each -> the documented table, and the query. An engine that has no descriptions has that table.
"""
STATED_FLOW = "stated_flow"
"""The view that questions query: a job makes one dataset from another one, as the events of one run state."""
STATED = {
    "stated_version": "SELECT r.run_id, v.version, v.first_time FROM run_version v JOIN stored_run r ON r.run = v.run",
    "stated_alone": (
        "SELECT j.job_id, j.version, v.first_time, j.alone_time AS last_time FROM job_version j "
        f"JOIN run_version v ON v.version = j.version AND v.run = {NO_RUN}"
    ),
    "stated_dataset": (
        "SELECT description, name_id, 0 AS is_written, '' AS change, 0 AS states_sources FROM reading UNION ALL "
        "SELECT description, name_id, 1, change, states_sources FROM writing"
    ),
    "stated_path": (
        "SELECT e.description, e.number, e.input_id, e.input_column, d.name_id AS output_id, e.output_column, e.type, "
        "e.subtype, e.masking, e.expression, p.certainty, p.steps "
        "FROM edge e JOIN description d ON d.description = e.description JOIN path p ON p.path = e.path"
    ),
}
"""The views of versions and descriptions that questions query: the query of each."""
_DATASET_COLUMN = (
    "SELECT name_id, column_name, type, CAST({position} AS INTEGER) AS position, min(first_time) AS first_time, "
    "max(last_time) AS last_time FROM stated_column GROUP BY 1, 2, 3"
).format(position=_latest("last_time", "printf('%012d', position)"))
_COLUMN_LINEAGE = (
    "SELECT output_id, output_column, input_id, input_column, job_id, type, subtype, masking, expression, "
    "coalesce(p.certainty, '') AS certainty, min(first_time) AS first_time, {first_run} AS first_run, "
    "max(last_time) AS last_time, {last_run} AS last_run FROM stated_edge e LEFT JOIN path p ON p.path = e.path "
    "GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
).format(
    first_run=_latest("first_time", "first_run", "min"),
    last_run=_latest("last_time", "last_run"),
)
DOCUMENTED = {
    schema.EVENT.name: _EVENT.format(database="", json=""),
    schema.RUN.name: f"SELECT {_names(schema.RUN, 'r')} FROM stored_run r WHERE r.run_id <> ''",
    schema.DATASET_COLUMN.name: _DATASET_COLUMN,
    schema.SOURCE_JOB_LINEAGE.name: _OF_JOBS.format(table="stated_read"),
    schema.SINK_JOB_LINEAGE.name: _OF_JOBS.format(table="stated_write"),
    schema.SOURCE_SNAPSHOT_LINEAGE.name: _OF_RUNS.format(columns=_names(READ_VERSION, "s", 1), table="read_version"),
    schema.SINK_SNAPSHOT_LINEAGE.name: _OF_RUNS.format(columns=_names(MADE_VERSION, "s", 1), table="made_version"),
    schema.COLUMN_LINEAGE_TABLE.name: _COLUMN_LINEAGE,
}
"""The documented tables that are views: the query of each."""
EVENTS_WITH_TEXT = _EVENT.format(database="main.", json=f", {EVENT_TEXT}(e.base, e.shared, e.packed) AS json")
"""The query of `event` with the texts, for a connection that has the function."""


def views_of_tables() -> list[str]:
    """Return the statements that create the documented tables as views, and the views that questions query."""
    queries = {name: query for name, (_, query) in DESCRIBED.items()} | {STATED_FLOW: _FLOW} | STATED | DOCUMENTED
    return [f"CREATE VIEW IF NOT EXISTS {name} AS {query}" for name, query in queries.items()]


def own_columns() -> frozenset[str]:
    """Return the names of all columns of the tables that are defined here."""
    columns = (part.split()[0] for definition in (OF_VERSIONS | OF_EVENTS).values() for part in definition.split(", "))
    return frozenset(column for column in columns if column.islower() and column.isidentifier())


def own_names() -> frozenset[str]:
    """Return the names of all tables and views of this module."""
    views = (*DESCRIBED, STATED_FLOW, *STATED, *DOCUMENTED)
    return frozenset((*OF_VERSIONS, *OF_EVENTS, *views, *(table.name for table in MERGED)))
