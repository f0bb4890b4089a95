"""The store in tables of a catalog, through Spark: the same tables and the same answers as in one SQLite file."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.events.files import FILE_ENDINGS
from openlineage_pyspark.workbench.store.events.ingest import Ingested
from openlineage_pyspark.workbench.store.names import ALL_DROPPED, DROPPED, DroppedRuns
from openlineage_pyspark.workbench.store.spark import functions as spark_functions
from openlineage_pyspark.workbench.store.spark import sql as spark_sql
from openlineage_pyspark.workbench.store.spark import views as spark_views
from openlineage_pyspark.workbench.store.spark.rows import coded_rows
from openlineage_pyspark.workbench.store.spark.session import (
    answered_rows,
    at_once,
    keep_on_disk,
    named_failure,
    prepare_executors,
)
from openlineage_pyspark.workbench.store.spark.sql import Format
from openlineage_pyspark.workbench.store.spark.table_rows import (
    SESSION_CATALOG,
    TableRows,
    database_identifier,
    write_again,
)
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store.tables.identity import dataset_ids

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.store.tables.schema import StoredTable
    from pyspark.sql import DataFrame, Row, SparkSession

_NAME = re.compile(r"\w[\w-]*(\.\w[\w-]*)?")
_WORD = re.compile(r"\w+")
_FIRST_WITH_FUNCTIONS = 4
_NO_FUNCTIONS = (
    "If spark.sql.extensions names those of Iceberg, which refuse functions with parameters: leave them out, here and "
    "where the functions are called."
)
_SHOWN = 10
# They hold the ingested events. All other tables follow from them.
_TAKEN = (schema.EVENT, schema.REJECTED)


def is_schema_name(name: str) -> bool:
    """Return whether a store's name can only be a schema in a catalog, and not a file; no file has it."""
    is_name = bool(_NAME.fullmatch(name)) and "." in name and not name.endswith(FILE_ENDINGS)
    return is_name and not Path(name).exists()


def catalog_of(schema_name: str) -> str:
    """Return the catalog of a schema; for a schema without one, Spark's own."""
    return schema_name.split(".", maxsplit=1)[0] if "." in schema_name else SESSION_CATALOG


def is_in_session_catalog(schema_name: str) -> bool:
    """Return whether a schema is in Spark's own catalog, which a metastore keeps."""
    return catalog_of(schema_name) == SESSION_CATALOG


class SparkTables:
    """
    A store in the tables of one schema.

    Args:
        session: the Spark session.
        schema_name: the schema with its catalog, such as `lake.lineage`; without one, in Spark's own.
        may_be_old: whether it may be a store of an older version, which can only be rebuilt.

    Raises:
        StoreError: there is no store, or one of another version.
    """

    def __init__(self, session: SparkSession, schema_name: str, *, may_be_old: bool = False) -> None:
        if not _NAME.fullmatch(schema_name):
            raise StoreError(f"{schema_name!r} is no schema: write CATALOG.SCHEMA")
        self.session = session
        self.schema_name = schema_name
        self.format = _kept_format(session, schema_name, may_be_old=may_be_old)
        tables_of_rows = {
            table.name: _rows_name(session, schema_name, table, may_be_missing=may_be_old)
            for table in (() if self.format.merges else schema.CATALOG_TABLES)
        }
        self._rows = TableRows(session, schema_name, self.format, tables_of_rows)
        self._has_executors = False
        self._unseen = set[str]()
        self._look_again()

    @classmethod
    def make(cls, session: SparkSession, schema_name: str, format_: Format | None = None) -> SparkTables:
        """
        Return the store of a schema; create the schema and the tables if they do not exist.

        Args:
            session: the Spark session.
            schema_name: as for the class.
            format_: how new tables are stored; by default the catalog's format.

        Raises:
            StoreError: Spark can't make them; or the format is not stated by the catalog.
        """
        if not _NAME.fullmatch(schema_name):
            raise StoreError(f"{schema_name!r} is no schema: write CATALOG.SCHEMA")
        with named_failure(f"the tables of {schema_name} can't be made"):
            if not _is_complete(session, schema_name):
                _make_tables(session, schema_name, format_ or format_of(session, schema_name))
        return cls(session, schema_name)

    def close(self) -> None:
        """Do nothing: the session belongs to the caller."""

    def query(self, sql: str, parameters: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        """
        Return the rows of a query.

        Args:
            sql: the query in SQLite's dialect, with `?` for parameters.
            parameters: their values.

        Raises:
            StoreError: Spark refuses the query.
        """
        values = {f"p{number}": value for number, value in enumerate(parameters)}
        translated = spark_sql.translated(sql, self.schema_name)
        self._see(_WORD.findall(translated))
        with named_failure(f"{self.schema_name} can't be queried"):
            found = answered_rows(self.session.sql(translated, args=values))
        return [tuple(row) for row in found]

    @property
    def damage(self) -> str:
        """Return no damage: the storage looks after its files itself."""
        return ""

    def take(self, lines: DataFrame) -> Ingested:
        """
        Take lines into the store. Taking them again changes nothing, even if the first time was interrupted.

        Args:
            lines: the column `text` and, for people, the column `source`: the place of the line.

        Returns:
            How many were taken.

        Raises:
            StoreError: the lines can't be read, or the store can't be written.
        """
        # The session of a micro-batch is another one.
        session = lines.sparkSession
        if session is self.session:
            self._see(table.name for table in schema.CATALOG_TABLES)
        with named_failure(f"{self.schema_name} can't be written"), self._batch(lines) as view:
            try:
                return self._take(session, view)
            finally:
                if session is not self.session:
                    self._look_again()

    def compact(self) -> None:
        """
        Merge the tables' small files, and the rows that are merged when they are read. No ingest may run meanwhile.

        Raises:
            StoreError: Spark can't.
        """
        self._see(table.name for table in schema.CATALOG_TABLES)
        with named_failure(f"{self.schema_name} can't be compacted"):
            for table in schema.CATALOG_TABLES:
                self._rows.compact(table)
            self._write_identities(self.session, dataset_ids(self._all_pointers()))

    def forget(self, chosen: Callable[[], Iterable[str]], lost: Callable[[], Iterable[DroppedRuns]] = tuple) -> int:
        """
        Delete events, and rebuild all other tables from those that stay. No ingest may run meanwhile.

        If this is interrupted, some tables still have rows of events that are to be deleted: repeat it.

        Args:
            chosen: returns the ids of the events to delete.
            lost: returns, after `chosen`, the runs of these events, which the store records as dropped.

        Returns:
            How many events were deleted.

        Raises:
            StoreError: Spark can't.
        """
        with named_failure(f"{self.schema_name} can't be written"):
            ids = sorted(chosen())
            if not ids:
                return 0
            self._keep([*lost()])
            with _view(self.session.createDataFrame([(each,) for each in ids], "id STRING")) as dropped:
                event = spark_sql.table_identifier(self.schema_name, schema.EVENT.name)
                self._see([schema.EVENT.name])
                kept = self.session.sql(
                    f"SELECT e.json AS text, e.event_id AS source FROM {event} AS e "
                    f"LEFT ANTI JOIN {spark_sql.identifier(dropped)} AS d ON d.id = e.event_id"
                )
                with self._batch(kept) as view:
                    self._fill(view, self._rows.replace)
                    # The events come last: all else follows from them.
                    if self.format.merges:
                        write_again(self.session, spark_sql.delete_events(self.schema_name, dropped))
                    else:
                        self._rows.replace(schema.EVENT, spark_sql.batch(schema.EVENT, view))
            return len(ids)

    def dropped(self) -> list[DroppedRuns]:
        """Return the runs that are no longer kept, by jobs and datasets."""
        name = spark_sql.table_identifier(self.schema_name, DROPPED)
        with named_failure(f"{self.schema_name} can't be queried"):
            if not self.session.catalog.tableExists(f"{self.schema_name}.{DROPPED}"):
                return []
            found = answered_rows(self.session.sql(f"{ALL_DROPPED} FROM {name} GROUP BY 1, 2, 3"))
        return sorted(DroppedRuns(*row) for row in found)

    def _keep(self, lost: list[DroppedRuns]) -> None:
        """Record the dropped runs."""
        if not lost:
            return
        name = spark_sql.table_identifier(self.schema_name, DROPPED)
        columns = "namespace STRING, name STRING, name_id BIGINT, runs BIGINT, last_time BIGINT"
        self.session.sql(f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING {self.format.value}")
        with _view(self.session.createDataFrame([tuple(each) for each in lost], columns)) as rows:
            write_again(self.session, f"INSERT INTO {name} SELECT * FROM {spark_sql.identifier(rows)}")

    def rebuild(self) -> int:
        """
        Rebuild all tables from the stored events. The table `rejected` stays. No ingest may run meanwhile.

        A store of an older version becomes one of this version. If this is interrupted, repeat it.

        Returns:
            How many events there are.

        Raises:
            StoreError: Spark can't; or the events of an older version have other columns.
        """
        event = spark_sql.table_identifier(self.schema_name, schema.EVENT.name)
        with named_failure(f"{self.schema_name} can't be rebuilt"):
            for table in _TAKEN:
                self._refuse_other_columns(table)
            self._see(table.name for table in _TAKEN)
            with self._batch(self.session.sql(f"SELECT json AS text, event_id AS source FROM {event}")) as view:
                self._fill(view, self._rows.remake)
            # The table of events comes last: its version is the store's.
            for table in reversed(_TAKEN):
                if self.format.merges:
                    self.session.sql(spark_sql.mark_version(self.schema_name, table))
                else:
                    self.session.sql(
                        spark_sql.create_view(self.schema_name, table, self._rows.tables_of_rows[table.name])
                    )
            return int(answered_rows(self.session.sql(f"SELECT count(*) FROM {event}"))[0][0])

    def shrink(self) -> bool:
        """Return False: the catalog removes files of earlier snapshots."""
        return False

    def size(self) -> None:
        """Return None: only the catalog knows the files."""

    def make_views(self) -> None:
        """
        Make the views by which SQL alone can query the store.

        Raises:
            StoreError: the catalog does not support views.
        """
        with named_failure(f"the views can't be made in the catalog {catalog_of(self.schema_name)}"):
            for statement in spark_views.views(self.schema_name):
                self.session.sql(statement)

    def make_functions(self) -> str:
        """
        Make the table functions by which SQL alone can query the store.

        Only Spark's own catalog supports functions that are written in SQL. Those of a store in another catalog get
        into a schema of the same name there.

        Returns:
            The schema that holds them, with its catalog; empty before Spark 4, which has no such functions.

        Raises:
            StoreError: Spark can't make them.
        """
        if int(self.session.version.split(".")[0]) < _FIRST_WITH_FUNCTIONS:
            return ""
        holder = f"{SESSION_CATALOG}.{self.schema_name.rpartition('.')[2]}"
        with named_failure(f"the functions can't be made in {holder}", _NO_FUNCTIONS):
            self.session.sql(f"CREATE SCHEMA IF NOT EXISTS {database_identifier(holder)}")
            for statement in spark_functions.functions(self.schema_name, holder):
                self.session.sql(statement)
        return holder

    def _take(self, session: SparkSession, view: str) -> Ingested:
        counts = dict(
            tuple(row)
            for row in answered_rows(
                session.sql(f"SELECT table_name, sum(row_count) FROM {spark_sql.identifier(view)} GROUP BY table_name")
            )
        )
        # Most of the time goes into planning and committing, whatever the number of rows.
        at_once(
            session,
            [
                partial(self._rows.merge, session, table, spark_sql.batch(table, view))
                for table in schema.CATALOG_TABLES
                if table.name in counts
            ],
        )
        if schema.DATASET.name in counts:
            self._identify(session, view)
        taken = Ingested(counts.get(schema.EVENT.name, 0), counts.get(schema.REJECTED.name, 0))
        if taken.rejected:
            rejected = spark_sql.batch_rows(schema.REJECTED, view, ("source", "reason"))
            reasons = session.sql(f"{rejected} LIMIT {_SHOWN}")
            taken.reasons += [f"{source}: {reason}" for source, reason in answered_rows(reasons)]
        return taken

    def _look_again(self) -> None:
        """Let the session see what others have written, as soon as it reads a table."""
        # Delta Lake checks this at each read.
        if self.format is not Format.DELTA:
            self._unseen.update(table.name for table in schema.CATALOG_TABLES)

    def _see(self, names: Iterable[str]) -> None:
        """Let the session see what others have written to tables: it keeps the files of those that it has read."""
        for name in self._unseen.intersection(names):
            with named_failure(f"{self.schema_name} can't be read"):
                self.session.sql(f"REFRESH TABLE {self._rows.stored_in(name)}")
            self._unseen.discard(name)

    @contextmanager
    def _batch(self, lines: DataFrame) -> Iterator[str]:
        """Make rows from lines, and give them a temporary name in the session of the lines."""
        if not self._has_executors:
            prepare_executors(self.session)
            self._has_executors = True
        coded = lines.select("text", "source").rdd.mapPartitions(coded_rows)
        rows = lines.sparkSession.createDataFrame(coded, spark_sql.ROWS_COLUMNS, verifySchema=False)
        keep_on_disk(rows)
        try:
            with _view(rows) as view:
                yield view
        finally:
            rows.unpersist()

    def _refuse_other_columns(self, table: StoredTable) -> None:
        """
        Refuse to rebuild a store that has other columns in a table that stays.

        Raises:
            StoreError: it has.
        """
        found = set(self.session.table(self._rows.stored_in(table.name)).columns)
        if not found.issuperset(name for name, _ in spark_sql.columns_with_types(table, self.format)):
            raise StoreError(
                f"the table {table.name} of {self.schema_name} has other columns than this version: make a new store "
                f"from its events, by `openlineage-pyspark ingest --spark --store NEW_SCHEMA --from "
                f"store:{self.schema_name}`, and drop the old one"
            )

    def _identify(self, session: SparkSession, view: str) -> None:
        """
        Update `dataset_identity`: only names in the batch may now belong to another dataset.

        Unchanged names are checked too, because a batch may have been written in part before.
        """
        named = spark_sql.batch_rows(schema.DATASET, view, ("name_id",))
        names = f"SELECT DISTINCT name_id AS id FROM ({named})"
        found = self._pointers(session, names)
        asked = {row.id for row in found}
        while unknown := {*(row.name_id for row in found), *(row.same_as for row in found)} - asked - {None}:
            with _view(session.createDataFrame([(name,) for name in unknown], "id BIGINT")) as more:
                found += self._pointers(session, f"SELECT id FROM {spark_sql.identifier(more)}")
            asked |= unknown
        before = {row.name_id: row.dataset_id for row in found}
        now = dataset_ids({row.name_id: row.same_as for row in found})
        self._write_identities(session, {name: id_ for name, id_ in now.items() if before.get(name) != id_})

    def _pointers(self, session: SparkSession, names: str) -> list[Row]:
        """
        Return what some names point to, and the names that point to these.

        Args:
            session: the Spark session.
            names: a query of the names' ids, `id`.

        Returns:
            For each: the requested id, the name, its target, and its identity until now.
        """
        dataset, identity = (
            spark_sql.table_identifier(self.schema_name, table.name)
            for table in (schema.DATASET, schema.DATASET_IDENTITY)
        )
        sides = " UNION ALL ".join(
            f"SELECT n.id, d.name_id, d.same_as FROM {dataset} AS d JOIN ({names}) AS n ON n.id = {side}"
            for side in ("d.name_id", "d.same_as")
        )
        found = session.sql(
            f"SELECT p.*, i.dataset_id FROM ({sides}) AS p LEFT JOIN {identity} AS i ON i.name_id = p.name_id"
        )
        return answered_rows(found)

    def _all_pointers(self) -> dict[int, int | None]:
        return dict(self.query("SELECT name_id, same_as FROM dataset"))

    def _write_identities(self, session: SparkSession, ids: dict[int, int]) -> None:
        if not ids:
            return
        with _view(session.createDataFrame(list(ids.items()), "name_id BIGINT, dataset_id BIGINT")) as view:
            if self.format.merges:
                write_again(session, spark_sql.merge_identities(self.schema_name, view))
            else:
                rows = self._rows.tables_of_rows[schema.DATASET_IDENTITY.name]
                now = time.time_ns() // 1000
                write_again(session, spark_sql.append_identities(self.schema_name, view, rows, now))

    def _fill(self, view: str, write: Callable[[StoredTable, str], None]) -> None:
        """
        Give all tables that follow from the events the rows of a batch and no others.

        Args:
            view: the name of the view of the batch.
            write: gives a table the rows of a query and no others.
        """
        for table in schema.CATALOG_TABLES:
            if table not in (*_TAKEN, schema.DATASET_IDENTITY):
                write(table, spark_sql.batch(table, view))
        ids = dataset_ids(self._all_pointers())
        identities = self.session.createDataFrame(list(ids.items()), "name_id BIGINT, dataset_id BIGINT")
        with _view(identities) as known:
            written = "" if self.format.merges else f", {time.time_ns() // 1000} AS written"
            write(schema.DATASET_IDENTITY, f"SELECT *{written} FROM {spark_sql.identifier(known)}")


def format_of(session: SparkSession, schema_name: str) -> Format:
    """
    Return the format that a catalog is for.

    Raises:
        StoreError: the catalog's class is unknown.
    """
    catalog = catalog_of(schema_name)
    implementation = session.conf.get(f"spark.sql.catalog.{catalog}", None) or ""
    for format_ in (Format.ICEBERG, Format.DELTA):
        if format_.value in implementation.lower():
            return format_
    if catalog == SESSION_CATALOG:
        return Format.PARQUET
    if not implementation:
        raise StoreError(f"Spark knows no catalog {catalog}: --conf spark.sql.catalog.{catalog}=CLASS names one")
    raise StoreError(f"the catalog {catalog} ({implementation}) does not report its table format: set --format")


def _is_complete(session: SparkSession, schema_name: str) -> bool:
    """Return whether all tables exist: whether the one that is created last does."""
    return bool(session.catalog.tableExists(spark_sql.table_identifier(schema_name, schema.CATALOG_TABLES[-1].name)))


def _make_tables(session: SparkSession, schema_name: str, format_: Format) -> None:
    session.sql(f"CREATE SCHEMA IF NOT EXISTS {database_identifier(schema_name)}")
    for table in schema.CATALOG_TABLES:
        rows = f"{table.name}_rows"
        if session.catalog.tableExists(spark_sql.table_identifier(schema_name, table.name)):
            # An earlier ingest was interrupted before it had created all tables.
            found = _own_properties(session, schema_name, table)
            rows = found.get(spark_sql.PROPERTY_ROWS, rows)
        if format_.merges:
            session.sql(spark_sql.create_table(schema_name, table, format_, table.name))
            continue
        session.sql(spark_sql.create_table(schema_name, table, format_, rows))
        session.sql(spark_sql.create_view(schema_name, table, rows))


def _kept_format(session: SparkSession, schema_name: str, *, may_be_old: bool) -> Format:
    """
    Return the format of a store.

    Raises:
        StoreError: there is none, or one of another version.
    """
    with named_failure(f"{schema_name} can't be read"):
        has_events = session.catalog.tableExists(spark_sql.table_identifier(schema_name, schema.EVENT.name))
        found = _own_properties(session, schema_name, schema.EVENT, may_be_old=may_be_old) if has_events else {}
        if not found or not (may_be_old or _is_complete(session, schema_name)):
            raise StoreError(
                f"there is no store at {schema_name}. "
                f"`openlineage-pyspark ingest --spark --store {schema_name} --from DIR` makes one"
            )
        return Format(found[spark_sql.PROPERTY_FORMAT])


def _rows_name(session: SparkSession, schema_name: str, table: StoredTable, *, may_be_missing: bool) -> str:
    """Return the name of a table's table of rows, even if an older version did not have the table."""
    if may_be_missing and not session.catalog.tableExists(spark_sql.table_identifier(schema_name, table.name)):
        return f"{table.name}_rows"
    return _properties(session, schema_name, table.name)[spark_sql.PROPERTY_ROWS]


def _own_properties(
    session: SparkSession, schema_name: str, table: StoredTable, *, may_be_old: bool = False
) -> dict[str, str]:
    """
    Return the properties of a table of this version.

    Raises:
        StoreError: it is a table of something else, or of another version.
    """
    found = _properties(session, schema_name, table.name)
    version = found.get(spark_sql.PROPERTY_VERSION)
    if version is None:
        raise StoreError(f"{schema_name} has tables of another program")
    if int(version) > schema.CATALOG_VERSION:
        raise StoreError(
            f"{schema_name} is a store of version {version}, and this package knows versions up to "
            f"{schema.CATALOG_VERSION}: upgrade the package"
        )
    if int(version) < schema.CATALOG_VERSION and not may_be_old:
        raise StoreError(
            f"{schema_name} is a store of version {version}, and this package knows version {schema.CATALOG_VERSION}: "
            f"`openlineage-pyspark store rebuild --spark --store {schema_name}` migrates it, from its events"
        )
    return found


def _properties(session: SparkSession, schema_name: str, table: str) -> dict[str, str]:
    rows = answered_rows(session.sql(f"SHOW TBLPROPERTIES {spark_sql.table_identifier(schema_name, table)}"))
    return {row[0]: row[1] for row in rows}


@contextmanager
def _view(data: DataFrame) -> Iterator[str]:
    """Give data a temporary name in their session."""
    name = f"openlineage_{uuid.uuid4().hex}"
    data.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        data.sparkSession.catalog.dropTempView(name)
