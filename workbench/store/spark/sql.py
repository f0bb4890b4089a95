"""
The statements that create, fill and query the store's tables in Spark. Pure: all of them follow from the schema.

If the format can change rows (Iceberg, Delta Lake), a batch is merged by one MERGE for each table. Parquet can't:
there rows are appended to a table `<name>_rows...`, the view `<name>` merges them when it is read, and a compaction
merges them for good. Since all merges can be repeated, a batch that was written in part is simply written again.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence

from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.schema import Merge, StoredColumn, StoredTable, Type

PROPERTY_VERSION = "openlineage_pyspark.version"
"""The property of a table that holds the version of the schema."""

PROPERTY_FORMAT = "openlineage_pyspark.format"
"""The property of a table that holds its format."""

PROPERTY_ROWS = "openlineage_pyspark.rows"
"""The property of a view that names the table with its rows."""

ROWS_COLUMNS = "table_name STRING, row_count BIGINT, texts ARRAY<ARRAY<STRING>>, numbers ARRAY<ARRAY<BIGINT>>"
"""
The columns of a batch. Each of its rows holds many rows of one table: how many, and their values, by columns: those of
texts and those of numbers, both in the order of `StoredTable.stored`.
"""

_DAY_MICROSECONDS = 86_400_000_000
_DAY = "day"
_WRITTEN = StoredColumn("written", "When it was found.", Merge.LAST, Type.INTEGER)
_QUESTION_TABLES = frozenset(table.name for table in schema.CATALOG_TABLES)
_JOB_VERSION = (
    "(SELECT version, job_id, min(first_time) AS first_time, max(last_time) AS last_time FROM run_version "
    "GROUP BY version, job_id)"
)
# As in a file: the events of one run, taken together, and each event without a run for itself.
_VERSION_PAIR = (
    "(SELECT DISTINCT x.version, y.version AS other FROM run_version x "
    "JOIN run_version y ON y.run_id = x.run_id AND (x.run_id <> '' OR y.version = x.version))"
)
_FLOW = (
    "SELECT v.job_id, r.name_id AS input_id, w.name_id AS output_id, "
    "CASE WHEN v.first_time > o.first_time THEN v.first_time ELSE o.first_time END AS first_time, "
    "CASE WHEN v.last_time < o.last_time THEN v.last_time ELSE o.last_time END AS last_time "
    "FROM described_dataset r JOIN version_description a ON a.description = r.description "
    f"JOIN {_VERSION_PAIR} p ON p.version = a.version JOIN version_description b ON b.version = p.other "
    "JOIN described_dataset w ON w.description = b.description AND w.is_written = 1 "
    "AND (w.states_sources = 0 OR r.description = w.description) "
    f"JOIN {_JOB_VERSION} v ON v.version = p.version "
    f"JOIN {_JOB_VERSION} o ON o.version = p.other AND o.job_id = v.job_id WHERE r.is_written = 0"
)
_WRITTEN_EDGES = (
    "SELECT d.name_id AS output_id, d.job_id, {columns} FROM described_edge e "
    "JOIN described_dataset d ON d.description = e.description AND d.is_written = 1"
)
_SPAN = ("first_time", "first_run", "last_time", "last_run")
VIEWS = {
    stored.STATED_FLOW: _FLOW,
    "stated_edge": _WRITTEN_EDGES.format(columns=", ".join(("e.*", *(f"d.{name}" for name in _SPAN)))),
    "stated_version": "SELECT run_id, version, first_time FROM run_version",
    "stated_alone": "SELECT job_id, version, first_time, last_time FROM run_version WHERE run_id = ''",
    "stated_dataset": "SELECT description, name_id, is_written, change, states_sources FROM described_dataset",
    "stated_path": f"{_WRITTEN_EDGES.format(columns='e.*')} WHERE e.steps IS NOT NULL",
}
"""The views that questions query, and that are not tables here: the query of each, in SQLite's dialect."""
_DOCUMENTED = {name: table for name, (table, _) in stored.DESCRIBED.items()}


class Format(enum.Enum):
    """How the tables are stored."""

    ICEBERG = "iceberg"
    DELTA = "delta"
    PARQUET = "parquet"

    @property
    def merges(self) -> bool:
        """Return whether the format has MERGE."""
        return self is not Format.PARQUET


def identifier(name: str) -> str:
    """Return a name of one part as an identifier."""
    return "`" + name.replace("`", "``") + "`"


def table_identifier(schema_name: str, table: str) -> str:
    """Return the identifier of a table: the catalog and the schema are separated by dots."""
    return ".".join(identifier(part) for part in (*schema_name.split("."), table))


def literal(value: str) -> str:
    """Return a text as a literal."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def columns_with_types(table: StoredTable, format_: Format) -> list[tuple[str, str]]:
    """Return the names and the types of a table's columns."""
    return [
        *((column.name, column.type.value[1]) for column in _stored(table, format_)),
        *([(_DAY, "DATE")] if table is schema.EVENT else []),
    ]


def create_table(schema_name: str, table: StoredTable, format_: Format, name: str) -> str:
    """
    Return the statement that creates a table.

    Args:
        schema_name: the schema, with its catalog.
        table: the table.
        format_: its format.
        name: its name: the table's own, or that of a table of rows.
    """
    return f"CREATE TABLE IF NOT EXISTS {table_identifier(schema_name, name)} {_definition(table, format_)}"


def replace_table(schema_name: str, table: StoredTable, format_: Format) -> str:
    """
    Return the statement that replaces a table by one without rows, in a format that can change rows.

    Args:
        schema_name: the schema, with its catalog.
        table: the table.
        format_: its format.
    """
    # With the rows in one statement, Delta Lake 3.3 fails on Spark 3.5.9.
    return f"CREATE OR REPLACE TABLE {table_identifier(schema_name, table.name)} {_definition(table, format_)}"


def mark_version(schema_name: str, table: StoredTable) -> str:
    """Return the statement that marks a table with this version, in a format whose rows can change."""
    properties = _properties({PROPERTY_VERSION: str(schema.CATALOG_VERSION)})
    return f"ALTER TABLE {table_identifier(schema_name, table.name)} SET TBLPROPERTIES ({properties})"


def create_view(schema_name: str, table: StoredTable, rows: str) -> str:
    """
    Return the statement that creates the view of a table whose rows are merged when they are read.

    Args:
        schema_name: the schema, with its catalog.
        table: the table.
        rows: the name of the table of rows.
    """
    properties = {
        PROPERTY_VERSION: str(schema.CATALOG_VERSION),
        PROPERTY_FORMAT: Format.PARQUET.value,
        PROPERTY_ROWS: rows,
    }
    return (
        f"CREATE OR REPLACE VIEW {table_identifier(schema_name, table.name)} COMMENT {literal(table.meaning)} "
        f"TBLPROPERTIES ({_properties(properties)}) AS {merged_rows(schema_name, table, rows)}"
    )


def merged_rows(schema_name: str, table: StoredTable, rows: str) -> str:
    """Return the query of all rows of a table of rows, merged."""
    return _merged_select(table, _stored(table, Format.PARQUET), table_identifier(schema_name, rows))


def batch(table: StoredTable, view: str) -> str:
    """
    Return the query of a table's rows of a batch: merged, so that each key occurs once.

    Args:
        table: the table.
        view: the name of the view of the batch, with ROWS_COLUMNS.
    """
    chosen = batch_rows(table, view, [column.name for column in table.stored])
    if table is schema.EVENT:
        day = f"CAST((`time` - pmod(`time`, {_DAY_MICROSECONDS})) div {_DAY_MICROSECONDS} AS INT)"
        chosen = f"SELECT *, date_add(DATE'1970-01-01', {day}) AS {_DAY} FROM ({chosen})"
    return _merged_select(table, table.stored, f"({chosen})")


def batch_rows(table: StoredTable, view: str, names: Sequence[str]) -> str:
    """
    Return the query of a table's rows of a batch, not merged: a key may occur several times.

    Args:
        table: the table.
        view: the name of the view of the batch, with ROWS_COLUMNS.
        names: the columns that are wanted.
    """
    places: dict[str, str] = {}
    for type_, array in ((Type.TEXT, "texts"), (Type.INTEGER, "numbers")):
        of_type = [column.name for column in table.stored if column.type is type_]
        places |= {name: f"{array}[{place}]" for place, name in enumerate(of_type)}
    arrays = ", ".join(places[name] for name in names)
    return (
        f"SELECT inline(arrays_zip({arrays})) AS ({', '.join(map(identifier, names))}) FROM {identifier(view)} "
        f"WHERE table_name = {literal(table.name)}"
    )


def merge_into(schema_name: str, table: StoredTable, query: str) -> str:
    """
    Return the statement that merges rows into a table of a format that can change rows.

    Args:
        schema_name: the schema, with its catalog.
        table: the table.
        query: gives the rows, each key once.
    """
    key = _key(table)
    names = [name for name, _ in columns_with_types(table, Format.ICEBERG)]
    on = " AND ".join(f"t.{identifier(name)} = s.{identifier(name)}" for name in key)
    values = _changing(table)
    setting = ", ".join(f"t.{identifier(name)} = {value}" for name, value in values.items())
    matched = f"WHEN MATCHED AND ({_is_changed(values)}) THEN UPDATE SET {setting} " if values else ""
    return (
        f"MERGE INTO {table_identifier(schema_name, table.name)} AS t USING ({query}) AS s ON {on} {matched}"
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(map(identifier, names))}) "
        f"VALUES ({', '.join(f's.{identifier(name)}' for name in names)})"
    )


def append(schema_name: str, table: StoredTable, query: str, rows: str) -> str:
    """
    Return the statement that appends those rows that change something to a table of rows.

    Args:
        schema_name: the schema, with its catalog.
        table: the table.
        query: gives the rows, each key once.
        rows: the name of the table of rows.
    """
    key = _key(table)
    names = [name for name, _ in columns_with_types(table, Format.PARQUET)]
    on = " AND ".join(f"t.{identifier(name)} = s.{identifier(name)}" for name in key)
    changed = _is_changed(_changing(table))
    # One file for many rows: the rows of one day come to one task.
    hint = f"/*+ REBALANCE({_DAY}) */ " if table is schema.EVENT else "/*+ REBALANCE */ "
    return (
        f"INSERT INTO {table_identifier(schema_name, rows)} ({', '.join(map(identifier, names))}) "
        f"SELECT {hint}{', '.join(f's.{identifier(name)}' for name in names)} FROM ({query}) AS s "
        f"LEFT JOIN {table_identifier(schema_name, table.name)} AS t ON {on} "
        f"WHERE t.{identifier(key[0])} IS NULL{f' OR {changed}' if changed else ''}"
    )


def delete_events(schema_name: str, view: str) -> str:
    """Return the statement that deletes the events whose ids a view has, in a format that can change rows."""
    # Delta Lake's DELETE takes no subquery.
    return (
        f"MERGE INTO {table_identifier(schema_name, schema.EVENT.name)} AS t USING {identifier(view)} AS s "
        "ON t.event_id = s.id WHEN MATCHED THEN DELETE"
    )


def merge_identities(schema_name: str, view: str) -> str:
    """Return the statement that replaces the identities of names by those of a view, and adds the ones of new names."""
    name = table_identifier(schema_name, schema.DATASET_IDENTITY.name)
    return (
        f"MERGE INTO {name} AS t USING {identifier(view)} AS s ON t.name_id = s.name_id "
        "WHEN MATCHED AND t.dataset_id <> s.dataset_id THEN UPDATE SET t.dataset_id = s.dataset_id "
        "WHEN NOT MATCHED THEN INSERT (name_id, dataset_id) VALUES (s.name_id, s.dataset_id)"
    )


def append_identities(schema_name: str, view: str, rows: str, now: int) -> str:
    """
    Return the statement that appends those identities of a view that are new or changed.

    Args:
        schema_name: the schema, with its catalog.
        view: the view.
        rows: the name of the table of rows.
        now: the time, microseconds since 1970: of two identities of one name the later one counts.
    """
    name = table_identifier(schema_name, schema.DATASET_IDENTITY.name)
    return (
        f"INSERT INTO {table_identifier(schema_name, rows)} (name_id, dataset_id, written) "
        f"SELECT /*+ REBALANCE */ s.name_id, s.dataset_id, {now} FROM {identifier(view)} AS s "
        f"LEFT JOIN {name} AS t ON t.name_id = s.name_id WHERE NOT (t.dataset_id <=> s.dataset_id)"
    )


@functools.lru_cache(maxsize=1000)
def translated(sql: str, schema_name: str) -> str:
    """
    Return a question's query in Spark's dialect.

    Args:
        sql: the query in SQLite's dialect, with `?` for parameters.
        schema_name: the schema of the tables, with its catalog.

    Returns:
        The query with `:p0`, `:p1` ... for parameters, and with whole names of tables.
    """
    # sqlglot is large, and only a store in Spark's tables needs it.
    import sqlglot
    from sqlglot import TokenType, exp

    dialect = sqlglot.Dialect.get_or_raise("sqlite")
    marks = [token for token in dialect.tokenize(sql) if token.token_type is TokenType.PLACEHOLDER]
    for number, mark in reversed(list(enumerate(marks))):
        sql = f"{sql[: mark.start]}:p{number}{sql[mark.end + 1 :]}"
    tree = sqlglot.parse_one(sql, read="sqlite")
    own = {each.alias_or_name for each in tree.find_all(exp.CTE)}
    *catalog, database = schema_name.split(".")
    for found in [each for each in tree.find_all(exp.Table) if each.name in VIEWS]:
        view = sqlglot.parse_one(VIEWS[found.name], read="sqlite")
        found.replace(exp.Subquery(this=view, alias=found.alias_or_name))
    for found in tree.find_all(exp.Table):
        if found.name in _DOCUMENTED.keys() - own:
            found.set("this", exp.to_identifier(_DOCUMENTED[found.name]))
        if found.name in _QUESTION_TABLES - own and not found.args.get("db"):
            found.set("db", exp.to_identifier(database, quoted=True))
            if catalog:
                found.set("catalog", exp.to_identifier(".".join(catalog), quoted=True))
    return tree.sql("spark")


def _definition(table: StoredTable, format_: Format) -> str:
    """Return the part of a CREATE TABLE after the table's name: its columns, and how it is stored."""
    columns = ", ".join(f"{identifier(column)} {type_}" for column, type_ in columns_with_types(table, format_))
    partition = f" PARTITIONED BY ({_DAY})" if table is schema.EVENT else ""
    properties = {PROPERTY_VERSION: str(schema.CATALOG_VERSION), PROPERTY_FORMAT: format_.value}
    if format_ is Format.ICEBERG:
        # A MERGE then writes changed rows only, instead of copying each file that holds one.
        properties |= {"format-version": "2", "write.merge.mode": "merge-on-read"}
    meaning = literal(table.meaning)
    kept = f"USING {format_.value}{partition} COMMENT {meaning} TBLPROPERTIES ({_properties(properties)})"
    return f"({columns}) {kept}"


def _stored(table: StoredTable, format_: Format) -> tuple[StoredColumn, ...]:
    if table is schema.DATASET_IDENTITY and format_ is Format.PARQUET:
        return (*table.stored, _WRITTEN)
    return table.stored


def _key(table: StoredTable) -> tuple[str, ...]:
    # An event's day follows from the event. With it, partitions without an event of the batch are not read.
    return (*table.key, _DAY) if table is schema.EVENT else table.key


def _merged_select(table: StoredTable, stored: tuple[StoredColumn, ...], source: str) -> str:
    keys = ", ".join(identifier(name) for name in _key(table))
    values = [
        f"{_gathered(table, column)} AS {identifier(column.name)}" for column in stored if column.merge != Merge.KEY
    ]
    return f"SELECT {', '.join([keys, *values])} FROM {source} GROUP BY {keys}"


def _gathered(table: StoredTable, column: StoredColumn) -> str:
    """Return the aggregate that merges the values of a column."""
    name = identifier(column.name)
    if table is schema.DATASET_IDENTITY and column is not _WRITTEN:
        return f"max(named_struct('place', written, 'value', {name})).value"
    if column.merge in (Merge.FIXED, Merge.FIRST, Merge.LAST):
        return f"{'min' if column.merge is Merge.FIRST else 'max'}({name})"
    function = "min" if column.merge is Merge.EARLIEST else "max"
    pair = f"named_struct('place', {identifier(column.ordered_by)}, 'value', {name})"
    return f"{function}(IF({name} IS NULL, NULL, {pair})).value"


def _changing(table: StoredTable) -> dict[str, str]:
    """Return the columns that a merge may change, and the value of each after it."""
    # The same event has always the same row.
    columns = () if table is schema.EVENT else table.stored
    return {column.name: _merged(column) for column in columns if column.merge not in (Merge.KEY, Merge.FIXED)}


def _is_changed(values: dict[str, str]) -> str:
    """Return the condition that a merge changes a row; empty if it changes no column."""
    return " OR ".join(f"NOT (t.{identifier(name)} <=> ({value}))" for name, value in values.items())


def _merged(column: StoredColumn) -> str:
    """Return the value of a column after a merge of the row `s` into the row `t`."""
    old, new = f"t.{identifier(column.name)}", f"s.{identifier(column.name)}"
    if column.merge in (Merge.FIRST, Merge.LAST):
        # Both ignore NULL.
        return f"{'least' if column.merge is Merge.FIRST else 'greatest'}({old}, {new})"
    order = "<" if column.merge is Merge.EARLIEST else ">"
    here, there = f"s.{identifier(column.ordered_by)}", f"t.{identifier(column.ordered_by)}"
    wins = f"{old} IS NULL OR {here} {order} {there} OR ({here} = {there} AND {new} {order} {old})"
    return f"CASE WHEN {new} IS NOT NULL AND ({wins}) THEN {new} ELSE {old} END"


def _properties(properties: dict[str, str]) -> str:
    return ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
