"""What a session of a script reads: tables and places have columns but no rows."""

from __future__ import annotations

import json
import os
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import ProbeError
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Identifier
from openlineage_pyspark.listener.analyze import encoded_query
from openlineage_pyspark.listener.probe.client import analysis_errors, refusal_of
from openlineage_pyspark.workbench.dryrun.empty_spark.boundary import PARSED, Reader
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown, UnknownNames
from openlineage_pyspark.workbench.dryrun.script.partitions import with_partitions_last
from openlineage_pyspark.workbench.dryrun.script.places import datasets_of, qualified, with_whole_paths
from openlineage_pyspark.workbench.dryrun.script.request import document_of_table
from openlineage_pyspark.workbench.predict.compare import name_of
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.sql.databricks import COLUMNS_OF_CHANGES
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, DeclaredTable, in_backticks, name_key
from openlineage_pyspark.workbench.predict.tables.declaring import compiled
from openlineage_pyspark.workbench.predict.tables.words import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openlineage_pyspark.workbench.dryrun.script.places import DataPlace
    from openlineage_pyspark.workbench.dryrun.script.request import Columns
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

STAND_IN = re.compile(r"\{[^{}]*\}")
NAME_OF_UNKNOWN = re.compile(r"\{[^{}\":]*[A-Za-z_][^{}\":]*\}")
"""The text of a stand-in, in an error; no JSON."""
_PARTS = re.compile(r"(?:\{[^{}]*\}|[^.])+")
"""The parts of a name that contains stand-ins: a dot within a stand-in separates nothing."""
_DATE = re.compile(r"(?<!\d)(?:1999|2000)(?:[-_/.]?\d\d(?:[-_/.]?\d\d)?)?(?!\d)")
"""A date near the one that replaces those of rows (`standins.py`), as scripts write it in names."""
_JAVA = "KnownTables.java"
_CLASS = "openlineage.pyspark.KnownTables"
_KNOWN_TABLE = "KnownTable"
# The class of Spark's table for each data source in Python.
_OF_PYTHON = "PythonTable"
UNKNOWN_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_KAFKA = (
    ("key", "BINARY"), ("value", "BINARY"), ("topic", "STRING"), ("partition", "INT"), ("offset", "BIGINT"),
    ("timestamp", "TIMESTAMP"), ("timestampType", "INT"),
)  # fmt: skip
_HEADERS = ("headers", "ARRAY<STRUCT<key: STRING, value: BINARY>>")
# The formats whose columns are always the same.
_FIXED: dict[str, Columns] = {
    "text": (("value", "STRING"),),
    "binaryfile": (
        ("path", "STRING"), ("modificationTime", "TIMESTAMP"), ("length", "BIGINT"), ("content", "BINARY"),
    ),
    "rate": (("timestamp", "TIMESTAMP"), ("value", "BIGINT")),
    "rate-micro-batch": (("timestamp", "TIMESTAMP"), ("value", "BIGINT")),
    "socket": (("value", "STRING"),),
}  # fmt: skip
_READS_CHANGES = ("readChangeFeed", "readChangeData")
# The columns that Hudi adds to each table.
_OF_HUDI: Columns = tuple(
    (f"_hoodie_{name}", "STRING")
    for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
)
_MADE_UP = frozenset({"rate", "rate-micro-batch"})
_BY_NAME = frozenset({"parquet", "orc", "avro", "delta", "iceberg", "jdbc"})
"""The formats of which each column is read by its name, and does not depend on the other columns that are read."""


class Reads:
    """
    The data that one session of a script reads, as far as their columns are known.

    Args:
        spark: the session.
        session: analyzes its SQL statements.
        stage: the stage of the script.
    """

    def __init__(self, spark: Any, session: ScriptSession, stage: Stage) -> None:
        self.spark = spark
        self.session = session
        self.stage = stage
        self.unknown = UnknownNames()
        # A pipeline replaces these: the first makes the table or view of a name, if the pipeline defines it; the second
        # removes the pipeline's own schema from a name.
        self.maker: Callable[[str], bool] = lambda _: False
        self.plain_name: Callable[[str], str] = str
        self.jvm = spark._jvm
        text = resources.files(__package__).joinpath(_JAVA).read_text(encoding="utf-8")
        self._known = compiled(spark.sparkContext._gateway, _CLASS, text)
        old = str(spark.version).startswith("3.")
        self.datasets = self.jvm.org.apache.spark.sql.Dataset if old else self.jvm.org.apache.spark.sql.classic.Dataset

    @property
    def default_format(self) -> str:
        """The format of data for which a script names none."""
        return str(self.spark.conf.get("spark.sql.sources.default", "parquet"))

    def reader(self, *, streamed: bool) -> Reader:
        """Return the replacement of a reader in the JVM."""
        return Reader(
            self.default_format,
            self.stage.request.folder,
            lambda place, schema, reader: self._changes(self.load_place(place, schema, reader), reader),
            lambda name, reader: self._changes(self.load_table(name, reader), reader),
            streamed=streamed,
        )

    def _changes(self, found: Any, reader: Reader) -> Any:
        """Return a DataFrame of the JVM with the columns that a read of Delta Lake's changes adds, if it is one."""
        if isinstance(found, Unknown) or not any(map(reader.is_on, _READS_CHANGES)):
            return found
        for name, type_ in COLUMNS_OF_CHANGES:
            # They are no columns of the table.
            found = found.withColumn(name, self.jvm.org.apache.spark.sql.functions.expr(f"CAST(NULL AS {type_})"))
        return found

    def load_place(self, place: DataPlace, schema: Any, reader: Reader) -> Any:
        """Return the data at a place, as a DataFrame of the JVM; `Unknown` if its columns are unknown."""
        place = self.of_script(place)
        if place.table_class == _OF_PYTHON:
            self.stage.hides(f"the code of the data source {place.format}")
        for path in place.paths if place.is_of_files else ():
            self.stage.opens_data(path)
        typed = self._schema(place, schema, reader)
        if typed is None:
            return self.missing(place, reader)
        if place.format == PARSED:
            message = "rows are parsed from strings here: which columns these come from is unknown"
            self.stage.problem("STAND_IN", message)
            return self._of_strings(reader, typed)
        if place.format in _MADE_UP:
            return self._jvm_frame("rate", place, typed, reader)
        names = [each.identifier.name for each in datasets_of(place)]
        return self._jvm_frame(names[0] if names else place.format, place, typed, reader)

    def of_script(self, place: DataPlace) -> DataPlace:
        """Return a place, with the class of its table if the script defines its data source in Python."""
        if place.format in self.stage.python_sources:
            place = attrs.evolve(place, table_class=_OF_PYTHON)
        names = [DEFAULT_TRIMMING.dataset(each).identifier.name for each in datasets_of(place)]
        if all(self.undated(each) == each for each in names):
            return place
        return attrs.evolve(
            place,
            paths=tuple(map(self.undated, place.paths)),
            options={key: self.undated(value) for key, value in place.options.items()},
        )

    def undated(self, name: str) -> str:
        """Return a name in which a pattern replaces a date, if a row may have given the date to the script."""
        if not self.stage.gave_dates or not _DATE.search(name):
            return name
        self.stage.problem("PATTERN", f"the name {name} contains a date that may come from data: which one is unknown")
        return _DATE.sub("{date}", name)

    def _jvm_frame(self, name: str, place: DataPlace, schema: Any, reader: Reader) -> Any:
        read = [name_of(DEFAULT_TRIMMING.dataset(each)) for each in datasets_of(place)]
        # All columns decide which values these files have, and which rows are malformed.
        columns = "" if place.short in _BY_NAME else str(schema.json())
        reading = {"tables": read, "place": place.to_text(), "manner": reader.manner(place.to_text(), columns)}
        self.stage.held.update(dict.fromkeys(read))
        relation = self._known.relation(name, place.to_text(), schema, place.is_of_files, json.dumps(reading))
        return self.datasets.ofRows(self.spark._jsparkSession, relation)

    def _schema(self, place: DataPlace, given: Any, reader: Reader) -> Any:
        """Return the schema of a place in the JVM; None if it is unknown."""
        if given is not None:
            return self.schema_of_ddl(given) if isinstance(given, str) else given
        if place.format == PARSED:
            return None
        if place.table_class:
            declared = self._declared_schema(place, reader)
            if declared is not None:
                return declared
        if place.short == "libsvm":
            vector = self.jvm.org.apache.spark.ml.linalg.SQLDataTypes.VectorType()
            return self.jvm.org.apache.spark.sql.types.StructType().add("label", "double").add("features", vector)
        known: Columns | None = self._columns_at(
            place,
            header=reader.is_on("header"),
            inferred=reader.is_on("inferSchema"),
            base=reader.given_text("basePath"),
        )
        if place.format == "kafka":
            known = (*_KAFKA, _HEADERS) if reader.is_on("includeHeaders") else _KAFKA
        if known is None and place.is_of_files and len(place.paths) == 1:
            table = self.session.known((SPARK_CATALOG, place.short, place.paths[0]))
            known = table.columns if table is not None else None
        if known is not None and place.short == "hudi":
            names = {name.lower() for name, _ in known}
            known = (*(each for each in _OF_HUDI if each[0] not in names), *known)
        return None if known is None else self.schema_of_ddl(", ".join(f"{in_backticks(n)} {t}" for n, t in known))

    def _columns_at(
        self, place: DataPlace, *, header: bool = False, inferred: bool = False, base: str = ""
    ) -> Columns | None:
        """Return the columns at a place, of which some formats have always the same; None if they are unknown."""
        fixed = _FIXED.get(place.short)
        if fixed is not None and not place.is_of_files:
            return fixed
        found = self.stage.columns_of(place, header=header, inferred=inferred, base=base)
        if fixed is None or found is None:
            return fixed or found
        # Only the folders of partitions add columns. A file does not keep the name that a column had before.
        names = [name.lower() for name, _ in found[: len(fixed)]]
        return (*fixed, *found[len(fixed) :]) if names == [name.lower() for name, _ in fixed] else fixed

    def _declared_schema(self, place: DataPlace, reader: Reader) -> Any:
        """Return the schema that a data source of the script states for its options; None if that is unknown."""
        stated = self.stage.python_sources[place.format](reader.given)
        if not stated:
            return None
        types = self.jvm.org.apache.spark.sql.types.DataType
        return types.fromJson(stated) if stated.startswith("{") else self.schema_of_ddl(stated)

    def schema_of_ddl(self, ddl: str) -> Any:
        """Return the schema, in the JVM, of columns that are declared in SQL."""
        return self.spark._jsparkSession.sessionState().sqlParser().parseTableSchema(ddl)

    def _of_strings(self, reader: Reader, schema: Any) -> Any:
        """Return a DataFrame of the JVM with the sources of the strings that are parsed, but without their rows."""
        strings = reader.strings
        if strings is None:
            return self.spark._jsparkSession.createDataFrame(self.jvm.java.util.ArrayList(), schema)
        rows = strings if str(strings.getClass().getName()).endswith("RDD") else strings.toJavaRDD()
        return self.spark._jsparkSession.createDataFrame(rows, schema)

    def missing(self, place: DataPlace, reader: Reader | None = None) -> Unknown:
        """Report that the columns at a place are unknown, and how to supply them."""
        if place.format == PARSED and reader is not None:
            message = "the columns of rows that are parsed from strings are unknown: give them with .schema(...)"
            self.stage.problem("UNKNOWN_SCHEMA", message)
            plan = encoded_query(
                self.spark, self._of_strings(reader, self.schema_of_ddl("value STRING")).logicalPlan()
            ).plan
            return Unknown((plan,))
        folder = self.stage.request.folder
        paths = [os.path.relpath(each, folder) if each.startswith(f"{folder}/") else each for each in place.paths]
        names = paths or [next((_name(each.identifier) for each in datasets_of(place)), place.format)]
        where, given = ", ".join(names), ", ".join(f'"{each}": "id INT, ..."' for each in names)
        if place.is_query:
            self.stage.problem(
                "UNKNOWN_SCHEMA",
                "the columns of a query over JDBC are unknown: name each in the query, or give the columns of its "
                f"tables with --schemas FILE containing {{{given}}}",
            )
            return Unknown(places=(place.to_text(),))
        self.stage.problem(
            "UNKNOWN_SCHEMA",
            f"the columns of {where} are unknown: give them with .schema(...), with --schemas FILE containing "
            f"{{{given}}}, or with a store in --catalog",
        )
        return Unknown(places=(place.to_text(),))

    def load_table(self, name: str, reader: Reader | None = None) -> Any:
        """Return a table as a DataFrame of the JVM; `Unknown` if the table is unknown."""
        name = self.undated(name)
        if reader is not None and reader.given:
            # They may name a version of the table, and no plan of a dry run has them.
            self.stage.hides(f"the options of the read of {name}")
        if is_of_data(name):
            return self.missing_table(name)
        self.maker(name)
        name = self.plain_name(name)
        unknown = self.unknown_of(name)
        if unknown is not None:
            return unknown
        try:
            return self.holding(self.session.with_known(lambda: self.spark._jsparkSession.table(name)))
        except analysis_errors() as problem:
            refusal = refusal_of(problem)
            if refusal.code != UNKNOWN_TABLE:
                raise
            return self.missing_table(name)

    def holding(self, found: Any) -> Any:
        """Note the tables of a DataFrame of the JVM, which may have their rows of now, or later ones; return it."""
        if self.stage.request.shapes:
            leaves = found.queryExecution().analyzed().collectLeaves()
            for leaf in map(leaves.apply, range(leaves.size())):
                if str(leaf.getClass().getSimpleName()) == "DataSourceV2Relation":
                    self.stage.held[str(leaf.table().name())] = None
        return found

    def unknown_of(self, name: str) -> Unknown | None:
        """Return what is known about a table or view without known columns; None if it is none of these."""
        names = names_in(name)
        return self.unknown.of(names, self.session.whole(names)) if names else None

    def put_view(self, name: str, known: Unknown) -> None:
        """Create a temporary view of a DataFrame without known columns; it replaces a view of the same name."""
        self.spark._jsparkSession.catalog().dropTempView(name)
        self.unknown.put_view(name, known)

    def drop_view(self, name: str) -> bool:
        """Forget such a view, and return whether there was one."""
        return self.unknown.drop_view(name)

    def missing_table(self, name: str) -> Unknown:
        """Report that a table is unknown, and how to declare it."""
        if is_of_data(name):
            message = f"the table name {name} comes from data: which tables have such a name is unknown"
            self.stage.problem("PATTERN", message)
            return Unknown(tables=(name,))
        self.stage.problem(
            "UNKNOWN_TABLE",
            f"the table {name} is unknown: no DDL, no earlier statement and no catalog declares it; declare it with "
            f'--ddl, --catalog, or --schemas FILE containing {{"{name}": "id INT, ..."}}',
        )
        return Unknown(tables=(name,))

    def know_path(self, place: DataPlace) -> bool:
        """Declare a path to SQL statements, if it is undeclared and its columns are known; return whether it was."""
        columns = self._columns_at(place)
        parts = (SPARK_CATALOG, place.short, place.paths[0])
        if columns is None or self.session.known(parts) is not None:
            return False
        self.session.declare(DeclaredTable(parts, columns))
        return True

    def declared(self, name: str) -> DeclaredTable | None:
        """Return the known table of a name, as the script writes it; None if there is none."""
        return self.session.known(self.whole(name))

    def whole(self, name: str) -> tuple[str, ...]:
        """Return the parts of a table's full name, with its catalog and its database."""
        return self.session.whole(tuple(_PARTS.findall(name)) if is_of_data(name) else names_in(name))

    def path_of_new(self, parts: tuple[str, ...]) -> str:
        """Return the path of a new table in a database that the script creates at a location; empty for any other."""
        folder = self.stage.databases.get(name_key(parts[:-1]), "")
        return f"{folder.rstrip('/')}/{parts[-1].lower()}" if folder else ""

    def declare(
        self, parts: tuple[str, ...], columns: Columns, partitions: Sequence[str], place: DataPlace | None = None
    ) -> None:
        """Declare a table to later statements, with the columns that a write gives it."""
        ordered = with_partitions_last(columns, partitions)
        last = {each.lower() for each in partitions}
        names = tuple(name for name, _ in ordered if name.lower() in last)
        self.unknown.drop_table(parts)
        self.session.declare(DeclaredTable(parts, ordered, names, identifier_at(place)))
        self.record_tables()

    def forget_columns(self, parts: tuple[str, ...]) -> None:
        """Add a table with unknown columns."""
        self.session.forget(parts)
        self.unknown.put_table(parts)

    def record_tables(self) -> None:
        """Record the tables that a statement has created, changed or dropped."""
        for table in self.session.made():
            self.stage.record("table", **document_of_table(table))

    def columns_of(self, frame: Any) -> Columns:
        """Return the columns of a DataFrame, with their types in SQL."""
        fields = frame._jdf.schema().fields()
        return tuple((str(each.name()), str(each.dataType().sql())) for each in fields)

    def plan(self, frame: Any) -> str:
        """Return the encoded plan of a DataFrame; empty if it can't be read."""
        try:
            analyzed_plan = self.session.with_values(frame._jdf.queryExecution().analyzed())
            return encoded_query(self.spark, analyzed_plan).plan
        except ProbeError as problem:
            self.stage.problem("UNREADABLE", f"the plan can't be read: {problem}")
            return ""

    def places_of(self, frame: Any) -> tuple[str, ...]:
        """Return the places that a DataFrame reads, as `DataPlace.to_text` writes them, except tables."""
        leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
        tables = [
            each.table()
            for each in map(leaves.apply, range(leaves.size()))
            if str(each.getClass().getSimpleName()) == "DataSourceV2Relation"
        ]
        return tuple(str(each.place()) for each in tables if str(each.getClass().getSimpleName()) == _KNOWN_TABLE)

    def type_in_sql(self, type_: Any) -> str:
        """Return a type of PySpark in SQL."""
        return str(self.jvm.org.apache.spark.sql.types.DataType.fromJson(type_.json()).sql())

    def qualified(self, path: str) -> str:
        """Return the absolute form of a path."""
        return qualified(path, self.stage.request.folder)

    def whole_paths(self, text: str) -> str:
        """Return a statement with absolute paths."""
        return with_whole_paths(text, self.stage.request.folder)


def identifier_at(place: DataPlace | None) -> Identifier | None:
    """Return the identifier of the dataset at a place."""
    return None if place is None else next((each.identifier for each in datasets_of(place)), None)


def is_of_data(text: str) -> bool:
    """Return whether a text contains a stand-in for an unknown value, such as `{country}`."""
    return STAND_IN.search(text) is not None


def _name(identifier: Identifier) -> str:
    return f"{identifier.namespace}/{identifier.name}"
