"""
The tables of the store, as data: the DDL of each engine, its merges and the documentation are made from them.

Each row is merged into its table by its key, by the rule of each column. All merges commute and can be repeated, so the
tables are the same in whatever order events arrive, and however often.
"""

from __future__ import annotations

import enum

import attrs

VERSION = 8
"""The version of the tables in a file. A store of an older version is migrated, one of a newer version is refused."""
CATALOG_VERSION = 6
"""The version of the tables in a catalog: the documented ones themselves, and those of `OF_VERSIONS`."""


class Type(enum.Enum):
    """The type of a column: names of SQLite and of Spark."""

    TEXT = ("TEXT", "STRING")
    INTEGER = ("INTEGER", "BIGINT")


class Merge(enum.Enum):
    """
    How a column's value is merged with the one that is stored.

    KEY is part of the key, and FIXED follows from it: it never changes. FIRST keeps the least value and LAST the
    greatest. EARLIEST and LATEST keep the value of the row that another column orders first or last; of two rows in the
    same place, the least or the greatest value. NULL never replaces a value. There is no sum: it could not be repeated.
    """

    KEY = enum.auto()
    FIXED = enum.auto()
    FIRST = enum.auto()
    LAST = enum.auto()
    EARLIEST = enum.auto()
    LATEST = enum.auto()


@attrs.frozen
class StoredColumn:
    """
    One column.

    Args:
        name: its name.
        meaning: its meaning, for people.
        merge: how its values are merged.
        type: its type. Times are microseconds since 1970, UTC.
        order: the column that orders an EARLIEST or LATEST one; by default a companion, `<name>_order`, which is NULL
            where the value is.
    """

    name: str
    meaning: str
    merge: Merge = Merge.LAST
    type: Type = Type.TEXT
    order: str = ""

    @property
    def ordered_by(self) -> str:
        """Return the name of the column that orders this one."""
        return self.order or f"{self.name}_order"


@attrs.frozen
class StoredTable:
    """
    One table.

    Args:
        name: its name.
        meaning: the meaning of a row, for people.
        columns: its columns, the key's first.
        indexes: further columns by which it is searched, for engines that have indexes.
        computed: names and expressions, in SQLite's dialect, by which it is searched too.
        partial: names, columns and conditions: the indexes of only those rows for which the condition is true.
    """

    name: str
    meaning: str
    columns: tuple[StoredColumn, ...]
    indexes: tuple[tuple[str, ...], ...] = ()
    computed: tuple[tuple[str, str], ...] = ()
    partial: tuple[tuple[str, tuple[str, ...], str], ...] = ()

    @property
    def key(self) -> tuple[str, ...]:
        """Return the names of the key's columns."""
        return tuple(column.name for column in self.columns if column.merge is Merge.KEY)

    @property
    def stored(self) -> tuple[StoredColumn, ...]:
        """Return all columns as they are stored: a LATEST column without an order is followed by its companion."""
        found: list[StoredColumn] = []
        for column in self.columns:
            found.append(column)
            if column.merge is Merge.LATEST and not column.order:
                meaning = f"The place of `{column.name}`: the value with the greatest one stays."
                found.append(StoredColumn(column.ordered_by, meaning, Merge.LAST, Type.INTEGER))
        return tuple(found)


def _id(name: str, meaning: str, merge: Merge = Merge.KEY) -> StoredColumn:
    return StoredColumn(name, meaning, merge, Type.INTEGER)


def _text(name: str, meaning: str, merge: Merge = Merge.LAST) -> StoredColumn:
    return StoredColumn(name, meaning, merge)


def _number(name: str, meaning: str, merge: Merge = Merge.LAST) -> StoredColumn:
    return StoredColumn(name, meaning, merge, Type.INTEGER)


_SPAN = (
    _number("first_time", "The time of the first event with this.", Merge.FIRST),
    _number("last_time", "The time of the last event with this."),
)

EVENT = StoredTable(
    "event",
    "An event as it arrived: all other tables can be made from these.",
    (
        _text("event_id", "SHA-256 of the event's text, its first 32 digits.", Merge.KEY),
        _text("run_id", "The run; empty for the event of a job or a dataset."),
        _text("type", "START, RUNNING, COMPLETE, FAIL, ABORT or OTHER; JOB or DATASET for events without a run."),
        _number("time", "The event's time."),
        _text("producer", "Who made it."),
        _text("json", "The whole event, as it arrived. In a file it is packed, and only this package can read it."),
    ),
    (("run_id",),),
)
REJECTED = StoredTable(
    "rejected",
    "A text that is not a valid event.",
    (
        _text("rejected_id", "SHA-256 of the text, or else of its place, its first 32 digits.", Merge.KEY),
        _text("reason", "Why it is not an event."),
        _text("source", "Where it came from: a file and a line."),
        _text("text", "The text; its first 10,000 characters. Empty for what can't be read, such as damaged gzip."),
    ),
)
ODD_FACET = StoredTable(
    "odd_facet",
    "A part of an event that has another shape than its schema requires, and is left out.",
    (
        _text("event_id", "The event.", Merge.KEY),
        _text("place", "The part: what it is about, with its names, and the facet.", Merge.KEY),
        _text("message", "Why it is left out.", Merge.KEY),
        _text("source", "Where the event came from: a file and a line.", Merge.FIRST),
    ),
)
JOB = StoredTable(
    "job",
    "A job: what is run again and again.",
    (
        _id("job_id", "A hash of namespace and name."),
        _text("namespace", "Its namespace.", Merge.FIXED),
        _text("name", "Its name.", Merge.FIXED),
        _text("processing", "BATCH or STREAMING.", Merge.LATEST),
        _text("integration", "What runs it, such as SPARK or AIRFLOW.", Merge.LATEST),
        _text("type", "What kind of a job it is there, such as QUERY or TASK.", Merge.LATEST),
        _text("sql", "The text of its statement.", Merge.LATEST),
        _text("description", "Its documentation.", Merge.LATEST),
        *_SPAN,
    ),
    (("name",), ("last_time",)),
)
RUN = StoredTable(
    "run",
    "One run of a job.",
    (
        _text("run_id", "The run's id.", Merge.KEY),
        _number("job_id", "Its job."),
        _text("state", "The type of its last event; one that ends the run stays.", Merge.LATEST),
        _number("started", "The time of its START.", Merge.FIRST),
        _number("ended", "The time of its COMPLETE, FAIL or ABORT; NULL while it runs."),
        _text("parent_run_id", "The run that started it, such as that of the application.", Merge.LATEST),
        _text("root_run_id", "The run at the beginning of that chain, such as that of the DAG.", Merge.LATEST),
        _text("error", "The error message.", Merge.LATEST),
        _text(
            "query_id",
            "The id of the streaming query: it stays when the query restarts from its checkpoint.",
            Merge.LATEST,
        ),
        _text("checkpoint", "The location of the streaming query's checkpoint.", Merge.LATEST),
        _text("call_site", "The line of the user's Python that ran it: the file and its number."),
        *_SPAN,
    ),
    (("started",), ("parent_run_id", "job_id")),
    (("job_id_state_began", "job_id, state, coalesce(started, first_time)"),),
)
# rtrim takes all characters from the end that are neither a dot nor a slash.
LAST_PART = "lower(substr(name, length(rtrim(name, replace(replace(name, '.', ''), '/', ''))) + 1))"
"""The part of a name after its last dot or slash, in lower case; in SQLite's dialect."""

DATASET = StoredTable(
    "dataset",
    "A name of a dataset. Several names may be those of one dataset.",
    (
        _id("name_id", "A hash of namespace and name."),
        _text("namespace", "The namespace.", Merge.FIXED),
        _text("name", "The name.", Merge.FIXED),
        _number("same_as", "The `name_id` of the dataset whose symlink this name is.", Merge.LATEST),
        _text("format", "How it is stored, such as iceberg or parquet.", Merge.LATEST),
        *_SPAN,
    ),
    (("same_as",), ("name",)),
    (("last_part", LAST_PART),),
)
DATASET_IDENTITY = StoredTable(
    "dataset_identity",
    "Which names are those of one dataset: made from `dataset.same_as`, which is followed to its end.",
    (
        _id("name_id", "The name."),
        _number("dataset_id", "The `name_id` of the dataset's own name."),
    ),
    (("dataset_id",),),
)
DATASET_COLUMN = StoredTable(
    "dataset_column",
    "A column of a dataset, with a type that it has or had.",
    (
        _id("name_id", "The dataset."),
        _text("column_name", "The column; `a.b` for the field b of the struct a.", Merge.KEY),
        _text("type", "Its type.", Merge.KEY),
        StoredColumn("position", "Its place in the schema, from 0.", Merge.LATEST, Type.INTEGER, order="last_time"),
        *_SPAN,
    ),
)
OWNER = StoredTable(
    "owner",
    "An owner of a job or of a dataset. Those that the latest event with any names are its owners now.",
    (
        _text("kind", "`job` or `dataset`.", Merge.KEY),
        _id("id", "The `job_id` or the `name_id`."),
        _text("name", "The owner.", Merge.KEY),
        _text("type", "The type of ownership, such as MAINTAINER; empty if the event has none.", Merge.KEY),
        StoredColumn("position", "Its place in the facet, from 0.", Merge.LATEST, Type.INTEGER, order="last_time"),
        *_SPAN,
    ),
)
SOURCE_JOB_LINEAGE = StoredTable(
    "source_job_lineage",
    "A job reads a dataset.",
    (_id("job_id", "The job."), _id("name_id", "The dataset."), *_SPAN),
    (("name_id",),),
)
SINK_JOB_LINEAGE = StoredTable(
    "sink_job_lineage",
    "A job writes a dataset.",
    (_id("job_id", "The job."), _id("name_id", "The dataset."), *_SPAN),
    (("name_id",),),
)
_AT = (
    _text("run_id", "The run.", Merge.KEY),
    _number("batch_id", "The micro-batch of a stream; -1 for a run that has none.", Merge.KEY),
    _id("name_id", "The dataset."),
)
# A run reads many datasets at once. In an index by datasets, each of these rows would change another page; in one by
# jobs they are side by side, and the jobs that read a dataset are known.
PLAIN_READ = "snapshot = '' AND batch_id = -1"
"""Which rows of `source_snapshot_lineage` are searched by their jobs: the reads of batch runs that state no version."""
STATED_READ = "snapshot <> '' OR batch_id <> -1"
"""Which of its rows are searched by their datasets: all others."""

SOURCE_SNAPSHOT_LINEAGE = StoredTable(
    "source_snapshot_lineage",
    "A run, or one micro-batch of it, read a version of a dataset.",
    (
        *_AT,
        _text("snapshot", "The version; empty if the event has none: the one that was current then.", Merge.KEY),
        _number("job_id", "The run's job."),
        _number("time", "The time of the event or of the micro-batch."),
        _text("offset_from", "The offset after which the micro-batch reads, as JSON."),
        _text("offset_to", "The last offset that the micro-batch read, as JSON."),
        _number("row_count", "How many rows were read."),
        _number("bytes", "How many bytes were read."),
    ),
    partial=(
        ("job_id_time", ("job_id", "time"), PLAIN_READ),
        ("name_id_time_stated", ("name_id", "time"), STATED_READ),
    ),
)
SINK_SNAPSHOT_LINEAGE = StoredTable(
    "sink_snapshot_lineage",
    "A run, or one micro-batch of it, made a version of a dataset.",
    (
        *_AT,
        _text("snapshot", "The version; empty if the event has none: the run itself is the version.", Merge.KEY),
        _number("job_id", "The run's job."),
        _number("time", "The time of the event or of the micro-batch."),
        _text("parent", "The version before it, according to the storage; NULL if unknown."),
        _text("change", "The dataset's change, such as OVERWRITE or DROP; empty for an append."),
        _number("row_count", "How many rows were written."),
        _number("bytes", "How many bytes were written."),
    ),
    (("name_id", "time"),),
)
COLUMN_LINEAGE_TABLE = StoredTable(
    "column_lineage",
    "A column of an output comes from a column of an input by a path: an edge has a row for each of its paths.",
    (
        _id("output_id", "The dataset that is written."),
        _text("output_column", "Its column; empty for what decides about all of its rows.", Merge.KEY),
        _id("input_id", "The dataset that is read."),
        _text("input_column", "Its column.", Merge.KEY),
        _id("job_id", "The job of the edge."),
        _text("type", "DIRECT or INDIRECT; empty if the event does not state it.", Merge.KEY),
        _text("subtype", "Such as IDENTITY, AGGREGATION or FILTER.", Merge.KEY),
        _number("masking", "1 if the value is masked.", Merge.KEY),
        _text("expression", "The text that makes the output column; empty if the event has none.", Merge.KEY),
        _text("certainty", "How sure the path is; empty if the event does not state it.", Merge.KEY),
        _number("first_time", "The time of the first event with this.", Merge.FIRST),
        StoredColumn("first_run", "Its run.", Merge.EARLIEST, order="first_time"),
        _number("last_time", "The time of the last event with this."),
        StoredColumn("last_run", "Its run.", Merge.LATEST, order="last_time"),
    ),
    (("input_id", "input_column"),),
)

TABLES = (
    EVENT,
    REJECTED,
    ODD_FACET,
    JOB,
    RUN,
    DATASET,
    DATASET_IDENTITY,
    DATASET_COLUMN,
    OWNER,
    SOURCE_JOB_LINEAGE,
    SINK_JOB_LINEAGE,
    SOURCE_SNAPSHOT_LINEAGE,
    SINK_SNAPSHOT_LINEAGE,
    COLUMN_LINEAGE_TABLE,
)
"""The tables of every store, in the order in which they are documented."""

_VERSION = _id("version", "The version of the job.")
_DESCRIPTION = _id("description", "The description.")
RUN_VERSION = StoredTable(
    "run_version",
    (
        "A run states a version of its job: all that an event mentions of the job and its datasets, apart from counts "
        "and the versions of these."
    ),
    (
        _text("run_id", "The run; empty for the events of jobs and datasets.", Merge.KEY),
        _id("version", "A hash of all that is mentioned."),
        _number("job_id", "The job.", Merge.FIXED),
        *_SPAN,
    ),
)
GAP = StoredTable(
    "gap",
    "A gap that the producer reports in the events of a version.",
    (
        _VERSION,
        _id("number", "Its place in the facet, from 0."),
        _text("operator", "The operator that was not understood.", Merge.FIXED),
        _text("message", "Why.", Merge.FIXED),
    ),
)
VERSION_DESCRIPTION = StoredTable(
    "version_description",
    "A version of a job has a description of a dataset: all that an event mentions of it but counts and versions.",
    (_VERSION, _id("description", "A hash of all that is mentioned.")),
)
DESCRIBED_DATASET = StoredTable(
    "described_dataset",
    "A description states that its job reads or writes a dataset.",
    (
        _DESCRIPTION,
        _id("name_id", "The dataset."),
        _number("is_written", "1 if the job writes it, 0 if it reads it.", Merge.KEY),
        _number("job_id", "The job.", Merge.FIXED),
        _text("change", "The dataset's change, such as OVERWRITE or DROP; empty for an append.", Merge.FIXED),
        _number("states_sources", "1 if it is made only from what this description states as read.", Merge.FIXED),
        _number("first_time", "The time of the first event with this.", Merge.FIRST),
        StoredColumn("first_run", "Its run.", Merge.EARLIEST, order="first_time"),
        _number("last_time", "The time of the last event with this."),
        StoredColumn("last_run", "Its run.", Merge.LATEST, order="last_time"),
    ),
)
DESCRIBED_EDGE = StoredTable(
    "described_edge",
    "A description states that a column comes from a column of an input by a path.",
    (
        _DESCRIPTION,
        _id("number", "The place of the path in the description, from 0."),
        *(
            attrs.evolve(column, merge=Merge.FIXED)
            for column in COLUMN_LINEAGE_TABLE.columns
            if column.merge is Merge.KEY and column.name not in ("output_id", "job_id")
        ),
        _text("steps", "The operators that it passes, as JSON; NULL if the event does not state them.", Merge.FIXED),
    ),
)
OF_VERSIONS = (RUN_VERSION, GAP, VERSION_DESCRIPTION, DESCRIBED_DATASET, DESCRIBED_EDGE)
"""
The tables of what the runs of jobs repeat, in a catalog.

A file has other tables for them (`tables.stored`). The questions query both through the views `stated_...`.
"""
CATALOG_TABLES = (*TABLES, *OF_VERSIONS)
"""The tables of a store in a catalog."""
