"""The catalog of a script's session: it has the known tables, and accepts new ones."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks
from pyspark.sql import catalog as classes
from pyspark.sql.catalog import Catalog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openlineage_pyspark.workbench.dryrun.empty_spark.world import World
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage
    from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables

_NOTHING = ("analyzeTable", "cacheTable", "clearCache", "createDatabase", "refreshByPath", "refreshTable",
            "uncacheTable")  # fmt: skip
_CHANGES = ("dropDatabase", "recoverPartitions")
"""Methods that change what is in tables, of which nothing is recorded."""
_STATEMENTS = {
    "dropTable": "DROP TABLE IF EXISTS",
    "dropView": "DROP VIEW IF EXISTS",
    "truncateTable": "TRUNCATE TABLE",
}
_LISTS = ("listTables", "listViews", "listDatabases", "listPartitions")


class ScriptCatalog:
    """
    Answers a script's calls of a catalog.

    Args:
        tables: the known tables.
        stage: records each answer that may differ in a real run.
        world: returns the world of a session.
    """

    def __init__(self, tables: DeclaredTables, stage: Stage, world: Callable[[Any], World]) -> None:
        self._tables = tables
        self._stage = stage
        self._world = world

    def install(self) -> None:
        """Make PySpark's catalogs answer in this way, for the rest of the process."""
        for name in _NOTHING:
            setattr(Catalog, name, lambda *_, **__: None)
        for name in _CHANGES:
            setattr(Catalog, name, self._hiding(name))
        for name, begin in _STATEMENTS.items():
            if hasattr(Catalog, name):
                setattr(Catalog, name, self._stating(begin))
        for name in _LISTS:
            if hasattr(Catalog, name):
                setattr(Catalog, name, self._listing(name, getattr(Catalog, name)))
        # Scripts may name the arguments, so they have Spark's names.
        Catalog.tableExists = lambda catalog, tableName, dbName=None: self._exists(catalog, tableName, dbName)
        Catalog.databaseExists = lambda _, dbName: not self._decides(f"the database {dbName}", known=True)
        Catalog.functionExists = lambda _, functionName, *__, **___: (
            not self._decides(f"the function {functionName}", known=True)
        )
        Catalog.setCurrentDatabase = Catalog.setCurrentCatalog = self._stating("USE")
        Catalog.isCached = lambda *_, **__: False
        Catalog.listColumns = lambda catalog, tableName, dbName=None: self._columns(catalog, tableName, dbName)
        Catalog.getTable = lambda catalog, tableName: self._table(self._of(catalog).reads.whole(tableName))
        Catalog.createTable = Catalog.createExternalTable = self._creating()
        drop = Catalog.dropTempView

        def drop_view(catalog: Catalog, viewName: str) -> bool:
            return self._of(catalog).reads.drop_view(viewName) or bool(drop(catalog, viewName))

        Catalog.dropTempView = drop_view

    def _of(self, catalog: Catalog) -> World:
        return self._world(catalog._sparkSession)

    def _decides(self, what: str, *, known: bool) -> bool:
        return self._stage.decides(f"whether {what} exists", taken=str(known).lower())

    def _exists(self, catalog: Catalog, name: str, database: str | None) -> bool:
        whole = f"{database}.{name}" if database else name
        known = self._of(catalog).reads.declared(whole) is not None
        return known != self._decides(f"the table {whole}", known=known)

    def _hiding(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: self._stage.hides(f"{name}() of the catalog")

    def _stating(self, begin: str) -> Callable[..., None]:
        def state(catalog: Catalog, *given: Any, **named: Any) -> None:
            name = next(iter((*given, *named.values())))
            self._of(catalog).statements.record(f"{begin} {name}")

        return state

    def _listing(self, name: str, ask: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        def found(catalog: Catalog, dbName: str | None = None, pattern: str | None = None, **_: Any) -> list[Any]:
            self._stage.problem("STAND_IN", f"{name}() returns only what the dry run knows: a real run may find more")
            if name == "listTables":
                return [*self._views(catalog, ask), *self._known(catalog, dbName, pattern)]
            # Its first argument is the pattern.
            return ask(catalog, dbName or pattern) if name == "listDatabases" else []

        return found

    @staticmethod
    def _views(catalog: Catalog, ask: Callable[..., list[Any]]) -> list[Any]:
        return [each for each in ask(catalog) if each.isTemporary]

    def _known(self, catalog: Catalog, database: str | None, pattern: str | None) -> Iterator[Any]:
        """Yield the known tables of a database."""
        within = self._of(catalog).reads.whole(f"{database}.x" if database else "x")[:-1]
        for table in list(self._tables):
            parts = self._of(catalog).session.whole(table.parts)
            is_of_path = parts[-1].startswith("/") or ":" in parts[-1]
            is_within = [each.lower() for each in parts[:-1]] == [each.lower() for each in within]
            if is_within and not is_of_path and fnmatch.fnmatch(parts[-1], pattern or "*"):
                yield self._table(parts)

    @staticmethod
    def _table(parts: tuple[str, ...]) -> Any:
        return classes.Table(parts[-1], parts[0], list(parts[1:-1]), None, "MANAGED", isTemporary=False)

    def _columns(self, catalog: Catalog, name: str, database: str | None) -> list[Any]:
        """Return the columns of a table; none if they are unknown."""
        session = catalog._sparkSession
        frame = session.table(f"{database}.{name}" if database else name)
        known = self._of(catalog).reads.declared(f"{database}.{name}" if database else name)
        partitions = () if known is None else known.partitions
        return [
            self._column(each.name, each.dataType.simpleString(), each.name in partitions)
            for each in (() if Unknown.of(frame) is not None else frame.schema.fields)
        ]

    @staticmethod
    def _column(name: str, type_: str, is_partition: bool) -> Any:  # noqa: FBT001 (places of a tuple)
        # Older versions of PySpark have fewer fields.
        further = [False] * (len(classes.Column._fields) - 5)
        return classes.Column(name, None, type_, True, is_partition, *further)  # noqa: FBT003 (likewise)

    def _creating(self) -> Callable[..., Any]:
        def create(
            catalog: Catalog,
            tableName: str,
            path: str | None = None,
            source: str | None = None,
            schema: Any = None,
            description: str | None = None,
            **options: str,
        ) -> Any:
            """Declare a table; without a schema, it has the columns of the data at its path."""
            session, world = catalog._sparkSession, self._of(catalog)
            self._stage.hides("createTable() of the catalog, which has options")
            del description
            self._stage.settings[f"options of {tableName}"] = str(sorted(options.items()))
            provider = source or str(session.conf.get("spark.sql.sources.default", "parquet"))
            if schema is None and path is not None:
                there = session.read.format(provider).options(**options).load(path)
                if Unknown.of(there) is not None:
                    return there
                schema = there.schema
            columns = "" if schema is None else self._ddl(schema)
            where = "" if path is None else f" LOCATION '{world.reads.qualified(path)}'"
            world.statements.record(f"CREATE TABLE {tableName} ({columns}) USING {provider}{where}")
            return session.table(tableName)

        return create

    @staticmethod
    def _ddl(schema: Any) -> str:
        return ", ".join(f"{in_backticks(each.name)} {each.dataType.simpleString()}" for each in schema.fields)
