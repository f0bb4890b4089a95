"""Read the tables of a plan in a Spark session, and run the plan's statements there."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.recovery.model.statements import all_rows, is_table_of_path, quoted_part, sql_name
from openlineage_pyspark.workbench.store.spark.session import named_failure

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from openlineage_pyspark.workbench.recovery.model.plan import TableId
    from pyspark.sql import Row, SparkSession

_NOT_FOUND = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE")
# What Delta Lake answers about a path without a Delta table, even if nothing is there.
_NOT_FOUND_AT_PATH = (*_NOT_FOUND, "DELTA_TABLE_ONLY_OPERATION")
ALTERING = frozenset(
    {
        *("AddColumns", "AlterColumn", "AlterColumns", "DropColumns", "RenameColumn", "ReplaceColumns"),
        *("SetTableProperties", "UnsetTableProperties"),
    }
)
"""The classes of parsed statements that change the columns or the properties of a table: a RESTORE takes that back."""

# The class of a parsed statement -> the method that gives its target. Other kinds of statements are not run.
_TARGETS = {
    "InsertIntoStatement": "table",
    "OverwriteByExpression": "table",
    "OverwritePartitionsDynamic": "table",
    "AppendData": "table",
    "MergeIntoTable": "targetTable",
    "UpdateTable": "table",
    "DeleteFromTable": "table",
    "TruncateTable": "table",
    "CreateTableAsSelect": "name",
    "ReplaceTableAsSelect": "name",
    "CreateTable": "name",
    "ReplaceTable": "name",
    "CloneTableStatement": "target",
    "DropTable": "child",
    "RestoreTableStatement": "table",
    **dict.fromkeys(ALTERING, "table"),
}
# Operations that change no row, as Iceberg and Delta Lake call them.
KEEPING_ROWS = frozenset({"replace", "OPTIMIZE", "SET TBLPROPERTIES", "VACUUM START", "VACUUM END", "CREATE TABLE"})
# In DESCRIBE TABLE: the heading of partitions by columns alone, the line below it, the heading of other partitions, and
# the beginning of each of these, before its number.
_BY_COLUMNS, _HEADER, _BY_FUNCTIONS, _PART = "# Partition Information", "# col_name", "# Partitioning", "Part "
# The catalog, the schema and the name.
_SESSION_PARTS = 3
# The beginnings of the properties of a Delta table that Delta Lake itself sets.
_OF_FORMAT = ("delta.minReaderVersion", "delta.minWriterVersion", "delta.feature.", "delta.columnMapping.maxColumnId")
# What Delta Lake writes into the log with a version.
_MADE_BY = "spark.databricks.delta.commitInfo.userMetadata"
# The class of an unresolved name -> the method that gives its parts.
_NAMES = {
    "UnresolvedRelation": "multipartIdentifier",
    "UnresolvedTable": "multipartIdentifier",
    "UnresolvedTableOrView": "multipartIdentifier",
    "UnresolvedIdentifier": "nameParts",
}


@attrs.frozen
class LiveVersion:
    """
    A version that a table has.

    Args:
        version: its number or id.
        parent: the version before it; empty for the first.
        operation: what made it, as the format calls that.
        time: when, as text.
        added: how many rows it added; None if the format does not report it.
        micros: when, in microseconds since 1970; 0 if that is unknown.
        is_empty: whether the table has no rows then, according to its format.
        restored: the version whose rows a RESTORE brought back; empty for other operations, and if its log names a
            time instead of a version.
        application: the application that made it; empty if the format does not state it. In a Delta table, only
            recoveries state theirs; others are `another`, or some other word.
    """

    version: str
    parent: str
    operation: str
    time: str
    added: int | None = None
    micros: int = 0
    is_empty: bool = False
    restored: str = ""
    application: str = ""

    def __str__(self) -> str:
        """Return the version with what made it and when."""
        return f"{self.version} ({self.operation}, {self.time})"

    @property
    def origin(self) -> str:
        """Return the version whose rows it has, or begins with."""
        return self.restored or self.parent


@attrs.frozen(slots=False)
class LiveTable:
    """
    A table as it is now.

    Args:
        location: where its files are; empty if Spark does not report it.
        version: its current version; empty if it has none, or keeps none.
        versions: all that it has.
        table_id: the id that its format gives it; empty if Spark does not report it.
    """

    location: str = ""
    version: str = ""
    versions: Mapping[str, LiveVersion] = attrs.field(factory=dict)
    table_id: str = ""

    @functools.cached_property
    def line(self) -> tuple[LiveVersion, ...]:
        """Return the current version and its ancestors, the newest first, as far as they exist."""
        found: dict[str, LiveVersion] = {}
        here = self.version
        while here in self.versions and here not in found:
            found[here] = self.versions[here]
            here = self.versions[here].parent
        return tuple(found.values())

    def since(self, version: str) -> Iterator[LiveVersion]:
        """Yield the versions that changed rows since one, the newest first: without those that were rolled back."""
        goal, seen = self.held(version), set[str]()
        here = self.held(self.version)
        while here != goal and here in self.versions and here not in seen:
            seen.add(here)
            yield self.versions[here]
            here = self.held(self.versions[here].parent)

    def held(self, version: str) -> str:
        """Return a version, or the earlier one whose rows it has: those since only tidied up files, or restored it."""
        seen: set[str] = set()
        while (here := self.versions.get(version)) is not None and version not in seen:
            if not (here.operation in KEEPING_ROWS and here.parent) and not here.restored:
                break
            seen.add(version)
            version = here.origin
        return version


@attrs.frozen
class TableLayout:
    """
    How a table lays out rows.

    Args:
        columns: the names of its columns, in their order.
        partitions: what it is partitioned by, as its format writes that; None if that is unknown.
    """

    columns: tuple[str, ...]
    partitions: str | None = None


@attrs.frozen
class LiveStatement:
    """
    A statement as the session's parser reads it.

    Args:
        kind: the class of its plan.
        target: the parts of the name that it writes; None if it is of a kind that is not run, or names none.
    """

    kind: str
    target: tuple[str, ...] | None


class LiveSession:
    """A Spark session in which a plan is checked and applied."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def table(self, table: TableId) -> LiveTable | None:
        """
        Return a table as it is now; None if there is none.

        Raises:
            StoreError: Spark can't read it.
        """
        name = sql_name(table)
        is_path = is_table_of_path(name)
        try:
            location = "" if is_path else self._location(name)
            if table.format == "iceberg":
                return self._iceberg(name, location)
            if table.format == "delta":
                return self._delta(name, location)
        except StoreError as problem:
            if any(code in str(problem) for code in (_NOT_FOUND_AT_PATH if is_path else _NOT_FOUND)):
                return None
            raise
        return LiveTable(location)

    def parsed(self, sql: str) -> LiveStatement:
        """
        Return the kind of a statement, and its target.

        Raises:
            StoreError: the session's parser refuses it: it is not a statement, or several.
        """
        with named_failure("Spark can't parse it"):
            # PySpark has no function that parses a statement and does not run it.
            plan: Any = self._session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
            while _kind(plan) == "UnresolvedWith":
                plan = plan.child()
            kind = _kind(plan)
            target = _target(plan, kind)
            manager: Any = self._session._jsparkSession.sessionState().catalogManager()
            current = manager.currentCatalog().name()
            return LiveStatement(kind, target and with_catalog(target, manager.isCatalogRegistered, current))

    def problem_of(self, sql: str) -> str:
        """Return why Spark can't analyze a statement, which is not run; empty if it can."""
        try:
            with named_failure("Spark can't analyze it"):
                state: Any = self._session._jsparkSession.sessionState()
                # EXPLAIN accepts some statements that can't be analyzed. A command runs only if its result is read.
                mode = getattr(state, "executePlan$default$2")()
                state.executePlan(state.sqlParser().parsePlan(sql), mode).assertAnalyzed()
        except StoreError as problem:
            return str(problem).split(";\n")[0]
        return ""

    def is_as_wide(self, query: str, name: str, settings: Sequence[tuple[str, str]]) -> bool:
        """
        Return whether a query has the columns of a table, with their types and in their order.

        Args:
            query: the query.
            name: the table, as statements name it.
            settings: the settings under which the query runs.

        Raises:
            StoreError: Spark can't analyze them.
        """
        with named_failure("Spark can't analyze it"), self._under(settings):
            new, there = (
                [(field.name, field.dataType.simpleString()) for field in self._session.sql(sql).schema]
                for sql in (query, all_rows(name))
            )
        return new == there

    def has_files_of(self, table: TableId, version: str) -> bool:
        """Return whether the files of a version of a Delta table exist: VACUUM removes old ones."""
        with named_failure("Spark can't read the version"):
            files = self._session.sql(all_rows(sql_name(table), version)).inputFiles()
            jvm: Any = self._session.sparkContext._jvm
            conf: Any = self._session.sparkContext._jsc.hadoopConfiguration()
            for file in files:
                # Delta Lake names them as paths, other formats as quoted URIs.
                found = (jvm.org.apache.hadoop.fs.Path(each) for each in _spellings(file))
                if not any(path.getFileSystem(conf).exists(path) for path in found):
                    return False
        return True

    def partitions_of(self, name: str) -> tuple[str, ...]:
        """
        Return what a table is partitioned by, as statements have it; nothing if it has no partitions.

        Args:
            name: the table's name, as statements have it.

        Raises:
            StoreError: Spark can't read it.
        """
        rows = self._rows(f"DESCRIBE TABLE {name}")
        return partitions_in([(str(row["col_name"]), str(row["data_type"])) for row in rows])

    def properties_of(self, name: str) -> dict[str, str]:
        """
        Return the properties of a table that users have set.

        Args:
            name: the table's name, as statements have it.

        Raises:
            StoreError: Spark can't read it.
        """
        rows = self._rows(f"SHOW TBLPROPERTIES {name}")
        found = {str(row["key"]): str(row["value"]) for row in rows}
        return {key: value for key, value in found.items() if not key.startswith(_OF_FORMAT)}

    def layouts_of(self, table: TableId, version: str) -> tuple[TableLayout, TableLayout]:
        """
        Return the layout that an Iceberg table had when a version was made, and the current one.

        A rollback of an Iceberg table brings back its rows, and not the layout. Statements run under the current one.

        Raises:
            StoreError: Spark can't read the version.
        """
        name = sql_name(table)
        then, now = self.columns_of(table, version), self.columns_of(table)
        # A version may also have rewritten the manifests of files that it removed, which have former partitions.
        added = f"added_snapshot_id = {version} AND added_data_files_count > 0"
        written = {
            int(row[0])
            for row in self._rows(f"SELECT DISTINCT partition_spec_id FROM {name}.all_manifests WHERE {added}")  # noqa: S608
        }
        with named_failure("Spark can't read its partitions"):
            jvm: Any = self._session.sparkContext._jvm
            loaded = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self._session._jsparkSession, name)
            specs = loaded.specs()
            former = ", ".join(str(specs.get(each)) for each in sorted(written))
            return TableLayout(then, former or None), TableLayout(now, str(loaded.spec()))

    def columns_of(self, table: TableId, version: str = "") -> tuple[str, ...]:
        """
        Return the names of the columns that a table has, or had at a version.

        Raises:
            StoreError: Spark can't read it.
        """
        with named_failure("Spark can't read its columns"):
            return tuple(self._session.sql(all_rows(sql_name(table), version)).columns)

    def count_of(self, table: TableId) -> int:
        """
        Return how many rows a table has.

        Raises:
            StoreError: Spark can't read it.
        """
        name = sql_name(table)
        self._rows(f"REFRESH TABLE {name}")
        return int(self._rows(f"SELECT count(1) FROM {name}")[0][0])  # noqa: S608 (a quoted name)

    def leftover(self, table: TableId) -> str:
        """
        Return the folder that a new table of the session catalog would get, if it has files: CREATE TABLE fails then.

        A statement that was killed leaves such files. It is empty for a table that exists, or of another catalog.

        Raises:
            StoreError: Spark can't read the folder.
        """
        if len(table.parts) != _SESSION_PARTS or table.parts[0] != "spark_catalog":
            return ""
        with named_failure("Spark can't read the folder of the table"):
            jvm: Any = self._session.sparkContext._jvm
            catalog: Any = self._session._jsparkSession.sessionState().catalog()
            identifier = jvm.org.apache.spark.sql.catalyst.TableIdentifier(
                table.parts[2], jvm.scala.Some(table.parts[1])
            )
            if catalog.tableExists(identifier):
                return ""
            folder = jvm.org.apache.hadoop.fs.Path(catalog.defaultTablePath(identifier))
            files = folder.getFileSystem(self._session.sparkContext._jsc.hadoopConfiguration())
            return str(folder) if files.exists(folder) and len(files.listStatus(folder)) else ""

    def files_of(self, table: TableId) -> str:
        """Return a fingerprint of the files of a table; empty if there is no such table."""
        name = sql_name(table)
        try:
            self._rows(f"REFRESH TABLE {name}")
            with named_failure("Spark can't read it"):
                files = sorted(self._session.sql(all_rows(name)).inputFiles())
        except StoreError as problem:
            if any(code in str(problem) for code in _NOT_FOUND):
                return ""
            raise
        return hashlib.sha256("\n".join(files).encode()).hexdigest()[:16]

    def run(self, sql: str, settings: Sequence[tuple[str, str]] = ()) -> None:
        """
        Run a statement under some settings, which are reset afterwards.

        Raises:
            StoreError: Spark refused it, or it failed.
        """
        with named_failure("Spark did not finish it"):
            mark = marked(self._session.conf.get(_MADE_BY, None) or "", self.application)
            with self._under((*settings, (_MADE_BY, mark))):
                self._session.sql(sql).collect()

    @property
    def application(self) -> str:
        """
        Return the id of the session's application, with which its versions are marked.

        Raises:
            StoreError: Spark has ended.
        """
        with named_failure("Spark does not state its application"):
            return str(self._session.sparkContext.applicationId)

    @contextmanager
    def _under(self, settings: Sequence[tuple[str, str]]) -> Iterator[None]:
        before = [(key, self._session.conf.get(key, None)) for key, _ in settings]
        for key, value in settings:
            self._session.conf.set(key, value)
        try:
            yield
        finally:
            for key, old in before:
                self._session.conf.unset(key) if old is None else self._session.conf.set(key, old)

    def _rows(self, sql: str) -> list[Row]:
        with named_failure("Spark refused it"):
            return list(self._session.sql(sql).collect())

    def _location(self, name: str) -> str:
        rows = self._rows(f"DESCRIBE TABLE EXTENDED {name}")
        return next((str(row["data_type"]) for row in rows if row["col_name"] == "Location"), "")

    def _iceberg(self, name: str, location: str) -> LiveTable:
        # Its metadata tables are cached apart from it, and a name with a dot is not known there.
        for table in (name, f"{name}.snapshots", f"{name}.refs"):
            self._rows(f"REFRESH TABLE {table}")
        fields = "snapshot_id, parent_id, operation, committed_at, summary"
        rows = self._rows(f"SELECT {fields} FROM {name}.snapshots")  # noqa: S608 (a quoted name)
        versions = {}
        for row in rows:
            summary = row["summary"] or {}
            added, is_empty = summary.get("added-records"), summary.get("total-records") == "0"
            parent = "" if row["parent_id"] is None else str(row["parent_id"])
            version = str(row["snapshot_id"])
            count = None if added is None else int(added)
            at = row["committed_at"]
            made = (str(row["operation"]), str(at), count, _micros(at), is_empty, "", summary.get("spark.app.id", ""))
            versions[version] = LiveVersion(version, parent, *made)
        main = self._rows(f"SELECT snapshot_id FROM {name}.refs WHERE name = 'main'")  # noqa: S608 (a quoted name)
        return LiveTable(location, str(main[0][0]) if main else "", versions, self._iceberg_id(name))

    def _iceberg_id(self, name: str) -> str:
        """Return the id of an Iceberg table, which no statement returns; empty if its classes have no such method."""
        jvm: Any = self._session._jvm
        try:
            with named_failure("Spark can't read it"):
                table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self._session._jsparkSession, name)
                return str(table.uuid())
        except (StoreError, TypeError):
            return ""

    def _delta(self, name: str, location: str) -> LiveTable:
        versions = {}
        for row in self._rows(f"DESCRIBE HISTORY {name}"):
            number = int(row["version"])
            added = (row["operationMetrics"] or {}).get("numOutputRows")
            parent = str(number - 1) if number else ""
            count = None if added is None else int(added)
            at = row["timestamp"]
            operation = str(row["operation"])
            parameters = row["operationParameters"] or {}
            is_empty = operation == "TRUNCATE" or (operation == "DELETE" and _is_whole(parameters))
            restored = parameters.get("version") if operation == "RESTORE" else ""
            by = application_of(row["userMetadata"]) if "userMetadata" in row else ""
            made = (operation, str(at), count, _micros(at), is_empty, restored or "", by)
            versions[str(number)] = LiveVersion(str(number), parent, *made)
        newest = str(max(map(int, versions))) if versions else ""
        return LiveTable(location, newest, versions, str(self._rows(f"DESCRIBE DETAIL {name}")[0]["id"]))


def partitions_in(description: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """
    Return what a table is partitioned by, as statements have it.

    Args:
        description: the first two columns of DESCRIBE TABLE: columns with their types, and below a heading what the
            table is partitioned by.
    """
    columns = {name for name, _ in itertools.takewhile(lambda row: row[0] and not row[0].startswith("# "), description)}
    below = [
        list(itertools.takewhile(lambda row: row[0] and not row[0].startswith("# P"), description[place + 1 :]))
        for place, (heading, _) in enumerate(description)
        if heading in (_BY_COLUMNS, _BY_FUNCTIONS)
    ]
    found = []
    for name, text in itertools.chain.from_iterable(below):
        if name.startswith(_PART):
            found.append(text)
        elif name != _HEADER:
            # The name of a column may be quoted, and that of a field in it has dots.
            found.append(quoted_part(name) if name in columns else name)
    return tuple(found)


def _spellings(file: str) -> tuple[str, ...]:
    """Return the name of a file unchanged, and without the quoting of URIs."""
    return tuple(dict.fromkeys((file, unquote(file))))


def marked(text: str, application: str) -> str:
    """Return the user metadata of a version that a recovery makes: the user's own text, and the application."""
    return f"{text} {application}".lstrip()


def application_of(metadata: str | None) -> str:
    """Return the last word of user metadata, which is the application if a recovery wrote it; `another` for none."""
    return ((metadata or "").split() or ["another"])[-1]


def _is_whole(parameters: Mapping[str, str]) -> bool:
    """Return whether a DELETE of Delta Lake had no condition."""
    return parameters.get("predicate") in ("[]", '["true"]')


def _micros(time: datetime) -> int:
    """Return a time of a row, which PySpark gives in this machine's zone, as microseconds since 1970."""
    return round(time.timestamp() * 1_000_000)


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())


def _target(plan: Any, kind: str) -> tuple[str, ...] | None:
    """Return the parts of the target's name of a parsed statement."""
    if kind not in _TARGETS:
        return None
    node = getattr(plan, _TARGETS[kind])()
    while (inner := _kind(node)) in ("SubqueryAlias", "TimeTravel", "RelationTimeTravel"):
        node = node.child() if inner == "SubqueryAlias" else node.relation()
    if _kind(node) not in _NAMES:
        return None
    parts = getattr(node, _NAMES[_kind(node)])()
    return tuple(str(parts.apply(place)) for place in range(parts.size()))


def with_catalog(target: tuple[str, ...], is_catalog: Callable[[str], bool], current: str) -> tuple[str, ...]:
    """
    Return a table's name with its catalog, as Spark finds it; a path, and a name without a schema, stay unchanged.

    Args:
        target: the parts of the name in a statement.
        is_catalog: returns whether the session has a catalog of a name.
        current: the session's current catalog.
    """
    if len(target) < 2 or "/" in target[-1] or is_catalog(target[0]):
        return target
    return (current, *target)
