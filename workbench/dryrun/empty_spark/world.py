"""One Spark session of a script: what is read has columns but no rows, and writes are only recorded."""

from __future__ import annotations

import contextlib
import json
import os
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import ProbeError
from openlineage_pyspark.facets.datasets.naming import is_absolute
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Identifier
from openlineage_pyspark.listener.analyze import encoded_query
from openlineage_pyspark.listener.probe.client import analysis_errors, refusal_of, spark_errors
from openlineage_pyspark.workbench.dryrun.empty_spark.boundary import PARSED, Reader, TableWriter, Writer
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown, UnknownNames
from openlineage_pyspark.workbench.dryrun.script.answers import columns_of_answer
from openlineage_pyspark.workbench.dryrun.script.partitions import with_more_columns, with_partitions_last
from openlineage_pyspark.workbench.dryrun.script.places import data_place, datasets_of, qualified, with_whole_paths
from openlineage_pyspark.workbench.dryrun.script.records import WriteRecord
from openlineage_pyspark.workbench.dryrun.script.request import document_of_table
from openlineage_pyspark.workbench.dryrun.script.values import with_assumed_values
from openlineage_pyspark.workbench.predict.acts import PLACES, SETTINGS
from openlineage_pyspark.workbench.predict.caching.cache import document_of_answer
from openlineage_pyspark.workbench.predict.compare import name_of
from openlineage_pyspark.workbench.predict.from_text.text import is_format_and_path
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, analyzed, read_text
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, DeclaredTable, in_backticks, name_key
from openlineage_pyspark.workbench.predict.tables.declaring import compiled_class
from openlineage_pyspark.workbench.predict.tables.following import FILLS
from openlineage_pyspark.workbench.predict.tables.parsed import text_items
from openlineage_pyspark.workbench.predict.tables.words import names_after, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openlineage_pyspark.workbench.dryrun.script.places import DataPlace
    from openlineage_pyspark.workbench.dryrun.script.request import Columns
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage
    from openlineage_pyspark.workbench.predict.session import Analyzed

_STAND_IN = re.compile(r"\{[^{}]*\}")
_PARTS = re.compile(r"(?:\{[^{}]*\}|[^.])+")
"""The parts of a name that contains stand-ins: a dot within a stand-in separates nothing."""
_DATE = re.compile(r"(?<!\d)(?:1999|2000)(?:[-_/.]?\d\d(?:[-_/.]?\d\d)?)?(?!\d)")
"""A date near the one that replaces those of rows (`standins.py`), as scripts write it in names."""
_VIEW, _DIRECTORY = "CreateViewCommand", "InsertIntoDir"
"""What Spark's parser makes of a temporary view (of another view it makes `CreateView`), and of a write to a folder."""
_QUOTED_OR_STAND_IN = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\w*(?:\{[^{}]*\}\w*)+")
_JAVA = "KnownTables.java"
_CLASS = "openlineage.pyspark.KnownTables"
_KNOWN_TABLE = "KnownTable"
# The class of Spark's table for each data source in Python.
_OF_PYTHON = "PythonTable"
_UNKNOWN_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
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
# The columns that Hudi adds to each table.
_OF_HUDI: Columns = tuple(
    (f"_hoodie_{name}", "STRING")
    for name in ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
)
_MADE_UP = frozenset({"rate", "rate-micro-batch"})
_PROVIDED_VIEW = "CreateTempViewUsing"
_TEMPORARY_VIEW, _DROPPED_VIEW, _CACHED = "CreateViewCommand", "DropView", "CacheTableAsSelect"
_INSERT = "InsertIntoStatement"
_PLACED = frozenset({"CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect", "SetTableLocation"})
_IN_MEMORY = "memory"
_BY_NAME = frozenset({"parquet", "orc", "avro", "delta", "iceberg", "jdbc"})
"""The formats of which each column is read by its name, and does not depend on the other columns that are read."""
_OF_TEXT = frozenset({"csv", "json", "text", "xml"})
"""The formats whose columns depend on options."""
_READS_NOTHING = ("Show", "Describe", "List")
_OF_PARTITIONS = "partitionoverwritemode"
_STATEMENTS = frozenset(
    {"Call", "InsertIntoStatement", "InsertIntoDir", "UpdateTable", "DeleteFromTable", "MergeIntoTable"}
)


class World:
    """
    One session of a script: what it reads, and what it would write.

    Args:
        spark: the session.
        session: analyzes its SQL statements.
        stage: the stage of the script.
    """

    def __init__(self, spark: Any, session: ScriptSession, stage: Stage) -> None:
        self.spark = spark
        self.session = session
        self.stage = stage
        self._unknown = UnknownNames()
        # The name of a table -> its columns that Delta Lake computes from others with each write.
        self._generated: dict[tuple[str, ...], Mapping[str, str]] = {}
        self._rdds = 0
        # A pipeline replaces these: the first makes the table or view of a name, if the pipeline defines it; the second
        # removes the pipeline's own schema from a name.
        self.maker: Callable[[str], bool] = lambda _: False
        self.plain_name: Callable[[str], str] = str
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        text = resources.files(__package__).joinpath(_JAVA).read_text(encoding="utf-8")
        methods = compiled_class(self._gateway, _CLASS, text).getMethods()
        self._relation = next(each for each in methods if each.getName() == "relation")
        old = str(spark.version).startswith("3.")
        self._frames = self._jvm.org.apache.spark.sql.Dataset if old else self._jvm.org.apache.spark.sql.classic.Dataset

    @property
    def _format(self) -> str:
        return str(self.spark.conf.get("spark.sql.sources.default", "parquet"))

    def reader(self, *, streamed: bool) -> Reader:
        """Return the replacement of a reader in the JVM."""
        return Reader(self._format, self.stage.request.folder, self.load_place, self.load_table, streamed=streamed)

    def writer(self, frame: Any) -> Writer:
        """Return the replacement of a writer in the JVM."""

        def to_place(place: DataPlace, writer: Writer) -> None:
            is_added = writer.saves == "append"
            self.write_place(frame, self._of_script(place), writer.partitions, is_added=is_added, writer=writer)
            if place.format == _IN_MEMORY and writer.query:
                self._put_rows_in_memory(writer.query, frame)

        def to_table(name: str, writer: Writer, mode: str) -> None:
            place = writer.place(())
            # A relative path would be below the warehouse, which is unknown here.
            is_placed = place.is_of_files and is_absolute(writer.given.get("path", ""))
            at = place if is_placed else None
            self.write_table(frame, name, mode, writer.partitions, at, writer.manner_of_rows, writer.replaces)
            if mode == "append" and writer.is_on("mergeSchema"):
                self._widen(self.whole(name), frame)
            if place.is_of_files and Unknown.of(frame) is None:
                # The table has its own path, by which the script may read it.
                self.stage.learn(place, self._columns(frame), writer.partitions)

        return Writer(self._format, self.stage.request.folder, to_place, to_table)

    def table_writer(self, frame: Any, name: str) -> TableWriter:
        """Return the replacement of a `DataFrameWriterV2`."""

        def to_table(name: str, mode: str, manner: str) -> None:
            self.write_table(frame, name, mode, (), manner=manner, is_whole=mode == "create")

        return TableWriter(name, self._format, self.stage.request.folder, to_table)

    def load_place(self, place: DataPlace, schema: Any, reader: Reader) -> Any:
        """Return the data at a place, as a DataFrame of the JVM; `Unknown` if its columns are unknown."""
        place = self._of_script(place)
        if place.table_class == _OF_PYTHON:
            self.stage.hides(f"the code of the data source {place.format}")
        for path in place.paths if place.is_of_files else ():
            self.stage.opens_data(path)
        typed = self._schema(place, schema, reader)
        if typed is None:
            return self._missing(place, reader)
        if place.format == PARSED:
            message = "rows are parsed from strings here: which columns these come from is unknown"
            self.stage.problem("STAND_IN", message)
            return self._of_strings(reader, typed)
        if place.format in _MADE_UP:
            return self._jvm_frame("rate", place, typed, reader)
        names = [each.identifier.name for each in datasets_of(place)]
        return self._jvm_frame(names[0] if names else place.format, place, typed, reader)

    def _of_script(self, place: DataPlace) -> DataPlace:
        """Return a place, with the class of its table if the script defines its data source in Python."""
        if place.format in self.stage.python_sources:
            place = attrs.evolve(place, table_class=_OF_PYTHON)
        names = [DEFAULT_TRIMMING.dataset(each).identifier.name for each in datasets_of(place)]
        if all(self._undated(each) == each for each in names):
            return place
        return attrs.evolve(
            place,
            paths=tuple(map(self._undated, place.paths)),
            options={key: self._undated(value) for key, value in place.options.items()},
        )

    def _undated(self, name: str) -> str:
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
        arguments = self._array((name, place.to_text(), schema, place.is_of_files, json.dumps(reading)))
        return self._frames.ofRows(self.spark._jsparkSession, self._relation.invoke(None, arguments))

    def _array(self, values: Sequence[Any]) -> Any:
        found = self._gateway.new_array(self._jvm.java.lang.Object, len(values))
        for at, value in enumerate(values):
            found[at] = value
        return found

    def _schema(self, place: DataPlace, given: Any, reader: Reader) -> Any:
        """Return the schema of a place in the JVM; None if it is unknown."""
        if given is not None:
            return self._parsed(given) if isinstance(given, str) else given
        if place.format == PARSED:
            return None
        if place.table_class:
            declared = self._declared_schema(place, reader)
            if declared is not None:
                return declared
        known: Columns | None = _FIXED.get(place.short)
        if place.format == "kafka":
            known = (*_KAFKA, _HEADERS) if reader.is_on("includeHeaders") else _KAFKA
        if known is None:
            known = self.stage.columns_of(
                place,
                header=reader.is_on("header"),
                inferred=reader.is_on("inferSchema"),
                base=reader.given_text("basePath"),
            )
        if known is None and place.is_of_files and len(place.paths) == 1:
            table = self.session.known((SPARK_CATALOG, place.short, place.paths[0]))
            known = table.columns if table is not None else None
        if known is not None and place.short == "hudi":
            names = {name.lower() for name, _ in known}
            known = (*(each for each in _OF_HUDI if each[0] not in names), *known)
        return None if known is None else self._parsed(", ".join(f"{in_backticks(n)} {t}" for n, t in known))

    def _declared_schema(self, place: DataPlace, reader: Reader) -> Any:
        """Return the schema that a data source of the script states for its options; None if that is unknown."""
        stated = self.stage.python_sources[place.format](reader.given)
        if not stated:
            return None
        types = self._jvm.org.apache.spark.sql.types.DataType
        return types.fromJson(stated) if stated.startswith("{") else self._parsed(stated)

    def _parsed(self, ddl: str) -> Any:
        return self.spark._jsparkSession.sessionState().sqlParser().parseTableSchema(ddl)

    def _of_strings(self, reader: Reader, schema: Any) -> Any:
        """Return a DataFrame of the JVM with the sources of the strings that are parsed, but without their rows."""
        strings = reader.strings
        if strings is None:
            return self.spark._jsparkSession.createDataFrame(self._jvm.java.util.ArrayList(), schema)
        rows = strings if str(strings.getClass().getName()).endswith("RDD") else strings.toJavaRDD()
        return self.spark._jsparkSession.createDataFrame(rows, schema)

    def rows_of(self, frame: Any) -> Any:
        """Return the rows of a DataFrame as an RDD of the JVM, which has none but shows that they come from it."""
        self._rdds += 1
        file = self.stage.file_of_rows(self._rdds)
        self.stage.record("frame", file=file, plan=self.plan(frame))
        return self.spark.sparkContext._jsc.textFile(file, 1)

    def _missing(self, place: DataPlace, reader: Reader | None = None) -> Unknown:
        """Report that the columns at a place are unknown, and how to supply them."""
        if place.format == PARSED and reader is not None:
            message = "the columns of rows that are parsed from strings are unknown: give them with .schema(...)"
            self.stage.problem("UNKNOWN_SCHEMA", message)
            plan = encoded_query(self.spark, self._of_strings(reader, self._parsed("value STRING")).logicalPlan()).plan
            return Unknown((plan,))
        folder = self.stage.request.folder
        paths = (os.path.relpath(each, folder) if each.startswith(f"{folder}/") else each for each in place.paths)
        where = ", ".join(paths) or next((_name(each.identifier) for each in datasets_of(place)), place.format)
        if place.is_query:
            self.stage.problem(
                "UNKNOWN_SCHEMA",
                "the columns of a query over JDBC are unknown: name each in the query, or give the columns of its "
                f'tables with --schemas FILE containing {{"{where}": "id INT, ..."}}',
            )
            return Unknown(places=(place.to_text(),))
        self.stage.problem(
            "UNKNOWN_SCHEMA",
            f"the columns of {where} are unknown: give them with .schema(...), with --schemas FILE containing "
            f'{{"{where}": "id INT, ..."}}, or with a store in --catalog',
        )
        return Unknown(places=(place.to_text(),))

    def load_table(self, name: str, reader: Reader | None = None) -> Any:
        """Return a table as a DataFrame of the JVM; `Unknown` if the table is unknown."""
        name = self._undated(name)
        if reader is not None and reader.given:
            # They may name a version of the table, and no plan of a dry run has them.
            self.stage.hides(f"the options of the read of {name}")
        if _is_of_data(name):
            return self._missing_table(name)
        self.maker(name)
        name = self.plain_name(name)
        unknown = self._unknown_of(name)
        if unknown is not None:
            return unknown
        try:
            return self._holding(self.session.with_known(lambda: self.spark._jsparkSession.table(name)))
        except analysis_errors() as problem:
            refusal = refusal_of(problem)
            if refusal.code != _UNKNOWN_TABLE:
                raise
            return self._missing_table(name)

    def _holding(self, found: Any) -> Any:
        """Note the tables of a DataFrame of the JVM, which may have their rows of now, or later ones; return it."""
        if self.stage.request.shapes:
            leaves = found.queryExecution().analyzed().collectLeaves()
            for leaf in map(leaves.apply, range(leaves.size())):
                if str(leaf.getClass().getSimpleName()) == "DataSourceV2Relation":
                    self.stage.held[str(leaf.table().name())] = None
        return found

    def _unknown_of(self, name: str) -> Unknown | None:
        names = names_in(name)
        return self._unknown.of(names, self.session.whole(names)) if names else None

    def put_view(self, name: str, known: Unknown) -> None:
        """Create a temporary view of a DataFrame without known columns; it replaces a view of the same name."""
        self.spark._jsparkSession.catalog().dropTempView(name)
        self._unknown.put_view(name, known)

    def _put_rows_in_memory(self, name: str, frame: Any) -> None:
        """Create the temporary view by which a script reads what a stream has written to memory."""
        known = Unknown.of(frame)
        if known is not None:
            self.put_view(name, known)
            return
        # Spark keeps the rows, and nothing of the stream's query, as in a real run.
        self.stage.hides("what a stream writes to memory")
        self.stage.problem("STAND_IN", f"the rows of the table {name} in memory have no sources where they are read")
        rows = self.spark._jsparkSession.createDataFrame(self._jvm.java.util.ArrayList(), frame._jdf.schema())
        rows.createOrReplaceTempView(name)
        self.drop_view(name)

    def drop_view(self, name: str) -> bool:
        """Forget such a view, and return whether there was one."""
        return self._unknown.drop_view(name)

    def _missing_table(self, name: str) -> Unknown:
        """Report that a table is unknown, and how to declare it."""
        if _is_of_data(name):
            message = f"the table name {name} comes from data: which tables have such a name is unknown"
            self.stage.problem("PATTERN", message)
            return Unknown(tables=(name,))
        self.stage.problem(
            "UNKNOWN_TABLE",
            f"the table {name} is unknown: no DDL, no earlier statement and no catalog declares it; declare it with "
            f'--ddl, --catalog, or --schemas FILE containing {{"{name}": "id INT, ..."}}',
        )
        return Unknown(tables=(name,))

    def _widen(self, parts: tuple[str, ...], frame: Any) -> None:
        """Add to a table the new columns of rows that are appended to it."""
        known = self.session.known(parts)
        if known is not None and Unknown.of(frame) is None:
            self.session.declare(attrs.evolve(known, columns=with_more_columns(known.columns, self._columns(frame))))
            self.record_tables()

    def write_place(
        self,
        frame: Any,
        place: DataPlace,
        partitions: Sequence[str] = (),
        *,
        is_added: bool = False,
        writer: Writer | None = None,
    ) -> None:
        """
        Record a write to a place, and remember the columns that would be there.

        Args:
            frame: the rows of the write.
            place: the place.
            partitions: the partition columns.
            is_added: whether the rows that are already there remain.
            writer: the writer that the script has called; None if there is none.
        """
        if place.keeps_nothing:
            return
        if is_added and place.is_of_files:
            frame = self._with_generated(frame, (SPARK_CATALOG, place.short, place.paths[0]))
        # A path may name a part of its dataset, such as a partition.
        is_part = any(each != DEFAULT_TRIMMING.dataset(each) for each in datasets_of(place))
        is_whole = writer is not None and writer.replaces and not is_part
        manner = "" if writer is None else writer.manner_of_rows
        record = attrs.evolve(self._record_of(frame), manner=manner, is_whole=self._is_all(is_whole))
        self.stage.record("write", **attrs.asdict(attrs.evolve(record, target=place.to_text())))
        if record.schema:
            columns = self._columns(frame)
            if is_added:
                columns = with_more_columns(self.stage.known_of(place), columns)
            self.stage.learn(place, columns, partitions)
            if place.is_of_files:
                self._declare((SPARK_CATALOG, place.short, place.paths[0]), columns, partitions)

    def _is_all(self, is_whole: bool) -> bool:  # noqa: FBT001 (it becomes the answer)
        """Return whether a write replaces everything in its target, unless a setting leaves other partitions there."""
        every = {**self.stage.request.conf, **self.stage.settings}
        return is_whole and not any(_OF_PARTITIONS in f"{key} {value}".lower() for key, value in every.items())

    def write_table(
        self,
        frame: Any,
        name: str,
        mode: str,
        partitions: Sequence[str],
        place: DataPlace | None = None,
        manner: str = "",
        is_whole: bool = False,  # noqa: FBT001, FBT002 (it goes with the manner)
    ) -> None:
        """
        Record a write to a table, and declare the table that it would create.

        Args:
            frame: the rows of the write.
            name: the table's name, as the script writes it.
            mode: `create`, `append`, or `insert` for an insert by the positions of columns.
            partitions: the partition columns.
            place: the place of the table; None if its catalog decides that.
            manner: a hash of how the rows are written; empty if not all of that is known.
            is_whole: whether the write replaces everything in the table.
        """
        parts = self.whole(self._undated(name))
        known = self.session.known(parts)
        if mode == "append":
            frame = self._with_generated(frame, parts)
        record = attrs.evolve(self._record_of(frame), table=parts, manner=manner, is_whole=self._is_all(is_whole))
        if known is None and mode == "insert":
            self._missing_table(name)
        if record.schema:
            given = [column for column, _ in self._columns(frame)]
            if known is not None and mode != "create":
                own = [column for column, _ in known.columns]
                spelt = {column.lower(): column for column in own}
                names = own if mode == "insert" else [spelt.get(each.lower(), each) for each in given]
                record = attrs.evolve(record, names=tuple(names[: len(given)]))
            elif mode != "insert":
                self._declare(parts, self._columns(frame), partitions, place)
        elif mode == "create" or (known is None and mode == "append"):
            self._without_columns(parts)
        self.stage.record("write", **attrs.asdict(record))

    def generate(self, name: str, path: str, columns: Mapping[str, str]) -> None:
        """
        Remember the columns of a table that Delta Lake computes from others with each write.

        Args:
            name: the name of the table, as the script writes it.
            path: its location; empty if the script gives none.
            columns: each column with its expression.
        """
        for parts in (self.whole(name), *([(SPARK_CATALOG, "delta", path)] if path else ())):
            self._generated[name_key(parts)] = dict(columns)

    def _with_generated(self, frame: Any, parts: tuple[str, ...]) -> Any:
        """Return the rows that are added to a table, with the columns that Delta Lake computes from the others."""
        known = self.session.known(parts)
        made = self._generated.get(name_key(parts)) or ({} if known is None else dict(known.computed))
        if not made or Unknown.of(frame) is not None:
            return frame
        given = {column.lower() for column, _ in self._columns(frame)}
        new = [f"{text} AS {in_backticks(name)}" for name, text in made.items() if name.lower() not in given]
        try:
            return frame.selectExpr("*", *new)
        except analysis_errors():
            names = ", ".join(made)
            self.stage.problem("NOT_DONE", f"the columns that Delta Lake computes are left out here: {names}")
            return frame

    def whole(self, name: str) -> tuple[str, ...]:
        """Return the parts of a table's full name, with its catalog and its database."""
        return self.session.whole(tuple(_PARTS.findall(name)) if _is_of_data(name) else names_in(name))

    def _declare(
        self, parts: tuple[str, ...], columns: Columns, partitions: Sequence[str], place: DataPlace | None = None
    ) -> None:
        ordered = with_partitions_last(columns, partitions)
        last = {each.lower() for each in partitions}
        names = tuple(name for name, _ in ordered if name.lower() in last)
        self._unknown.drop_table(parts)
        self.session.declare(DeclaredTable(parts, ordered, names, _identifier(place)))
        self.record_tables()

    def type_in_sql(self, type_: Any) -> str:
        """Return a type of PySpark in SQL."""
        return str(self._jvm.org.apache.spark.sql.types.DataType.fromJson(type_.json()).sql())

    def _columns(self, frame: Any) -> Columns:
        fields = frame._jdf.schema().fields()
        return tuple((str(each.name()), str(each.dataType().sql())) for each in fields)

    def _record_of(self, frame: Any) -> WriteRecord:
        """Return the part of a write's record that describes its rows."""
        unknown = Unknown.of(frame)
        if unknown is None and not frame.schema.fields:
            # A script that chooses columns by data keeps some of them in a real run.
            self.stage.problem("UNKNOWN_SCHEMA", "no column is left here: the columns of a real run are unknown")
            unknown = Unknown((self.plan(frame),))
        if unknown is not None:
            return self._record_of_unknown(unknown)
        schema = str(frame._jdf.schema().json())
        return WriteRecord(
            self.stage.spot(),
            (self.plan(frame),),
            schema=schema,
            shape=self._shape(frame),
            within=self._within(),
            settings=f"{self._settings()}{_metadata_in(schema)}",
            held=tuple(self.stage.held),
        )

    def _record_of_unknown(self, unknown: Unknown) -> WriteRecord:
        tables = tuple(f"table:{'.'.join(self.whole(each))}" for each in unknown.tables)
        held = tuple(self.stage.held)
        return WriteRecord(self.stage.spot(), unknown.plans, places=(*unknown.places, *tables), held=held)

    def _shape(self, frame: Any) -> str:
        """Return the shape of a DataFrame's plan; empty if shapes are not requested, or if Spark can't give it."""
        if self.stage.request.shapes:
            with contextlib.suppress(*spark_errors()):
                return self.session.shape_of(frame._jdf.queryExecution().analyzed())
        return ""

    def _within(self) -> str:
        return ".".join(self.session.current()) if self.stage.request.shapes else ""

    def _settings(self) -> str:
        return json.dumps(sorted(self.stage.settings.items()))

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

    def is_query(self, text: str) -> bool:
        """Return whether an SQL text is a query, which has no effect by itself; False if it can't be parsed."""
        parsed = self._parsed_plan(text)
        if parsed is None:
            return False
        while str(parsed.nodeName()) == "UnresolvedWith":
            parsed = parsed.child()
        classes = (
            self._jvm.java.lang.Class.forName(f"org.apache.spark.sql.catalyst.plans.logical.{name}")
            for name in ("Command", "ParsedStatement")
        )
        name = str(parsed.nodeName())
        is_multi = name == "Union" and str(parsed.children().apply(0).nodeName()) in _STATEMENTS
        return not (is_multi or name in _STATEMENTS or any(each.isInstance(parsed) for each in classes))

    def _read_by(self, text: str) -> tuple[str, Unknown]:
        """Return the target and the sources that the text of a statement names."""
        target, read = "", Unknown()
        for lineage in read_text(text):
            target = lineage.target or target
            for name in lineage.tables:
                read = read.joined(self._unknown_of(name) or self._named(name))
        return target, read

    def _named(self, name: str) -> Unknown:
        """Return what is known about a table or a path that a text names."""
        names = names_in(name)
        if is_format_and_path(names):
            return Unknown(places=(self.reader(streamed=False).format(names[0]).place(names[1:]).to_text(),))
        table = self.session.table(name)
        return Unknown((table.query.plan,)) if table is not None else Unknown(tables=(name.replace("`", ""),))

    def query(self, text: str, ask: Callable[[], Any]) -> Any:
        """
        Return the result of a query.

        Args:
            text: the query.
            ask: makes Spark analyze the query, and returns the result.

        Returns:
            `Unknown` if the columns of a table in it are unknown.
        """
        while True:
            try:
                found = self.session.with_known(ask, text)
            except analysis_errors() as problem:
                refusal = refusal_of(problem)
                if refusal.code != _UNKNOWN_TABLE:
                    raise
            else:
                self._holding(found._jdf)
                return found
            names = names_in(refusal.parameters.get("relationName", ""))
            unknown = self._unknown.of(names, self.session.whole(names)) if names else None
            if unknown is not None:
                return self._read_by(text)[1].joined(unknown)
            if self.maker(".".join(names)):
                continue
            if not is_format_and_path(names):
                return self._missing_table(".".join(names))
            place = self.reader(streamed=False).format(names[0]).place(names[1:])
            if not self.know_path(place):
                return self._missing(place)

    def qualified(self, path: str) -> str:
        """Return the absolute form of a path."""
        return qualified(path, self.stage.request.folder)

    def whole_paths(self, text: str) -> str:
        """Return a statement with absolute paths."""
        return with_whole_paths(text, self.stage.request.folder)

    def assumed(self, text: str) -> str:
        """Return a statement that Spark can read, if only values in it come from data; else the same statement."""
        if not _is_of_data(text) or self._parsed_plan(text) is not None:
            return text
        assumed = with_assumed_values(text)
        if assumed == text or self._parsed_plan(assumed) is None:
            return text
        names = ", ".join(dict.fromkeys(_STAND_IN.findall(text)))
        self.stage.problem("STAND_IN", f"{names} in this statement is assumed to be a value, and no column")
        return assumed

    def of_data(self, text: str) -> Unknown | None:
        """
        Return what is known about a statement that Spark can't read because parts of it come from data.

        Its tables are those that its text names; what it would write is recorded.

        Returns:
            None if Spark can read it.
        """
        if not _is_of_data(text) or self._parsed_plan(text) is not None:
            return None
        quoted = _with_quoted_stand_ins(text)
        target, read = self._read_by(quoted)
        parsed = self._parsed_plan(quoted)
        if parsed is not None and self._of_known_query(parsed, target.replace("`", "")):
            return read
        names = ", ".join(dict.fromkeys(_STAND_IN.findall(text)))
        message = f"{names} in this statement is unknown: only the tables and paths that its text names are known"
        self.stage.problem("UNKNOWN_STATEMENT", message)
        if parsed is not None and not self.is_query(quoted):
            self._record_of_data(parsed, quoted, target, read)
        return read

    def _of_known_query(self, parsed: Any, target: str) -> bool:
        """Record a write of a query that is known to a table whose name comes from data; return whether it is one."""
        kind = str(parsed.nodeName())
        if kind not in (_INSERT, *FILLS) or not _is_of_data(target):
            return False
        try:
            found = self.session.with_known(
                lambda: self._frames.ofRows(self.spark._jsparkSession, parsed.query()), str(parsed.query())
            )
        except analysis_errors():
            return False
        frame = type(self.spark.range(0))(found, self.spark)
        columns = text_items(parsed.userSpecifiedCols()) if kind == _INSERT else ()
        if columns and len(columns) == len(frame.columns):
            frame = frame.toDF(*columns)
        self._missing_table(target)
        self.write_table(frame, target, "append" if kind == _INSERT else "create", ())
        return True

    def _record_of_data(self, parsed: Any, text: str, target: str, read: Unknown) -> None:
        """Record the write of a statement, of which only the datasets are known."""
        record, name = self._record_of_unknown(read), str(parsed.nodeName())
        if name == _VIEW:
            self.put_view(names_after(text, "VIEW")[-1], read)
        elif name == _DIRECTORY and parsed.storage().locationUri().isDefined():
            path = str(parsed.storage().locationUri().get().getPath())
            place = data_place(_text_of(parsed.provider()), {}, (path,), self.stage.request.folder)
            self.stage.record("write", **attrs.asdict(attrs.evolve(record, target=place.to_text())))
        elif target:
            parts = self.whole(target.replace("`", ""))
            if self.session.known(parts) is None:
                self._without_columns(parts)
            self.stage.record("write", **attrs.asdict(attrs.evolve(record, table=parts)))

    def _parsed_plan(self, text: str) -> Any:
        """Return the plan that Spark's parser makes of a statement; None if it can't be parsed."""
        try:
            return self.spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
        except analysis_errors():
            return None

    def statement(self, text: str, written: str = "", hidden: Sequence[str] = ()) -> Any:
        """
        Record a statement that is not a query, and return a DataFrame of the JVM with its answer.

        Args:
            text: the statement.
            written: the statement as the script writes it, with its parameters; by default the same.
            hidden: the values of its parameters, which are not shown, as in a real run.
        """
        spot = self.stage.spot()
        statement = ScriptStatement(text, spot.file, spot.line, 1)
        self.session.use_from_this_thread()
        if self._viewed(text):
            return self.spark._jsparkSession.emptyDataFrame()
        found = self._analyzed(statement)
        self.record_tables()
        if found.kind in _PLACED:
            self._place_table(text)
        if found.refusal is not None and found.refusal.code == _UNKNOWN_TABLE and self._of_unknown(text, found):
            return self.spark._jsparkSession.emptyDataFrame()
        if found.refusal is None and found.kind == _TEMPORARY_VIEW:
            self.drop_view(names_after(text, "VIEW")[-1])
        if found.refusal is None and found.kind == _DROPPED_VIEW:
            self.drop_view((names_after(text, "EXISTS") or names_after(text, "VIEW"))[-1])
        if found.kind.startswith(SETTINGS) and not found.kind.startswith(PLACES):
            self.stage.settings[f"statement {len(self.stage.settings)}"] = text
        answer = StatementAnswer(attrs.evolve(statement, text=written or text), found)
        has_lineage = found.query is not None or found.refusal is not None or found.missed is not None
        if has_lineage or self.stage.request.shapes:
            act: dict[str, Any] = {}
            if self.stage.request.shapes:
                act = {"text": text, "settings": self._settings(), "held": list(self.stage.held)}
            self.stage.record("sql", answer=document_of_answer(answer), hidden=list(hidden), act=act)
        return self._answer_of(text, found)

    def _analyzed(self, statement: ScriptStatement) -> Analyzed:
        """Analyze a statement, with the columns of the paths in it that are known."""
        while True:
            found = analyzed(self.session, statement)
            refusal = found.refusal
            if refusal is None or refusal.code != _UNKNOWN_TABLE:
                return found
            names = names_in(refusal.parameters.get("relationName", ""))
            if not is_format_and_path(names):
                return found
            if not self.know_path(self.reader(streamed=False).format(names[0]).place(names[1:])):
                return found

    def _of_unknown(self, text: str, found: Analyzed) -> bool:
        """Record a statement that Spark refuses because it reads unknown columns; return whether this is one."""
        names = names_in(found.refusal.parameters.get("relationName", "")) if found.refusal is not None else ()
        if not names or self._unknown.of(names, self.session.whole(names)) is None:
            return False
        target, read = self._read_by(text)
        view = names_after(text, "VIEW" if found.kind == _TEMPORARY_VIEW else "TABLE")
        if found.kind in (_TEMPORARY_VIEW, _CACHED) and view:
            self.put_view(view[-1], read)
            return True
        if not target:
            return False
        parts = self.session.whole(names_in(target))
        if self.session.known(parts) is None or found.kind in _PLACED:
            self._without_columns(parts)
        self.stage.record("write", **attrs.asdict(attrs.evolve(self._record_of_unknown(read), table=parts)))
        return True

    def _without_columns(self, parts: tuple[str, ...]) -> None:
        """Add a table with unknown columns."""
        self.session.forget(parts)
        self._unknown.put_table(parts)

    def _place_table(self, text: str) -> None:
        """Remember the location that a statement gives a table; record a statement that moves the table as a write."""
        parsed = self._parsed_plan(text)
        if parsed is None:
            # A statement of another engine, such as CLONE, gives no location.
            return
        is_moved = str(parsed.nodeName()) == "SetTableLocation"
        if is_moved and parsed.partitionSpec().isDefined():
            return
        parts = self.session.whole(names_after(text, "EXISTS") or names_after(text, "TABLE"))
        path = str(parsed.location()) if is_moved else _location_of(parsed)
        if not is_absolute(path):
            return
        provider = "" if is_moved else _text_of(parsed.tableSpec().provider())
        place = data_place(provider or self._format, {}, (path,), self.stage.request.folder)
        table = self.session.known(parts) or self._table_at(parts, place)
        if table is None:
            # Only its files show its columns, and these are unknown; yet it is named by its path.
            unknown = DeclaredTable(parts, (), identifier=_identifier(place))
            self.stage.record("located", **document_of_table(unknown))
            return
        for each in place.paths:
            self.stage.opens_data(each)
        self.stage.learn(place, table.columns, table.partitions)
        self.session.declare(attrs.evolve(table, identifier=_identifier(place)))
        self.record_tables()
        if is_moved:
            record = WriteRecord(self.stage.spot(), (), table=table.parts, schema=str(self._parsed(table.ddl).json()))
            self.stage.record("write", **attrs.asdict(record))

    def _table_at(self, parts: tuple[str, ...], place: DataPlace) -> DeclaredTable | None:
        """Return a table with the columns of the files at its place; None if they are unknown."""
        if place.short in _OF_TEXT:
            return None
        table = self.session.known((SPARK_CATALOG, place.short, *place.paths))
        columns = self.stage.columns_of(place, header=False, inferred=False) or (table and table.columns)
        return DeclaredTable(parts, columns, () if table is None else table.partitions) if columns else None

    def _viewed(self, text: str) -> bool:
        """Create a temporary view of a place, if a statement does so without naming columns; return whether it does."""
        parsed = self._parsed_plan(text)
        if parsed is None or str(parsed.nodeName()) != _PROVIDED_VIEW or parsed.userSpecifiedSchema().isDefined():
            return False
        reader = self.reader(streamed=False).format(str(parsed.provider()))
        options = parsed.options().iterator()
        while options.hasNext():
            pair = options.next()
            reader.option(str(pair._1()), str(pair._2()))
        found, name = reader.load(), str(parsed.tableIdent().table())
        self.drop_view(name)
        if isinstance(found, Unknown):
            self.put_view(name, found)
        elif getattr(parsed, "global")():
            found.createOrReplaceGlobalTempView(name)
        else:
            found.createOrReplaceTempView(name)
        return True

    def record_tables(self) -> None:
        """Record the tables that a statement has created, changed or dropped."""
        for table in self.session.made():
            self.stage.record("table", **document_of_table(table))

    def _answer_of(self, text: str, found: Analyzed) -> Any:
        """Return the answer of a statement, as a DataFrame of the JVM; without columns if they are unknown."""
        columns = columns_of_answer(text)
        if columns:
            return self.spark._jsparkSession.createDataFrame(self._jvm.java.util.ArrayList(), self._parsed(columns))
        if found.kind.startswith(_READS_NOTHING):
            try:
                return self.session.with_known(lambda: self.spark._jsparkSession.sql(text))
            except analysis_errors():
                pass
        return self._empty_answer(text)

    def _empty_answer(self, text: str) -> Any:
        """Return the answer of a statement without its rows; without columns if only its execution shows them."""
        own = self.spark._jsparkSession
        try:
            schema = own.sessionState().sqlParser().parsePlan(text).schema()
            return own.createDataFrame(self._jvm.java.util.ArrayList(), schema)
        except spark_errors():
            return own.emptyDataFrame()

    def know_path(self, place: DataPlace) -> bool:
        """Declare a path to SQL statements, if it is undeclared and its columns are known; return whether it was."""
        columns = _FIXED.get(place.short) or self.stage.columns_of(place, header=False, inferred=False)
        parts = (SPARK_CATALOG, place.short, place.paths[0])
        if columns is None or self.session.known(parts) is not None:
            return False
        self.session.declare(DeclaredTable(parts, columns))
        return True

    def declared(self, name: str) -> DeclaredTable | None:
        """Return the known table of a name, as the script writes it; None if there is none."""
        return self.session.known(self.whole(name))


def _identifier(place: DataPlace | None) -> Identifier | None:
    """Return the identifier of the dataset at a place."""
    return None if place is None else next((each.identifier for each in datasets_of(place)), None)


def _metadata_in(schema: str) -> str:
    """Return the metadata of columns, such as comments, with the columns; empty if there are none."""
    found: list[Any] = []

    def note(values: dict[str, Any]) -> dict[str, Any]:
        if values.get("metadata") and "name" in values:
            found.append([values["name"], values["metadata"]])
        return values

    json.loads(schema, object_hook=note)
    return json.dumps(found) if found else ""


def _text_of(option: Any) -> str:
    """Return the text in an option of Scala; empty if it has none."""
    return str(option.get()) if option.isDefined() else ""


def _location_of(parsed: Any) -> str:
    """Return the location in a statement that creates a table; empty if it has none."""
    return _text_of(parsed.tableSpec().location())


def _is_of_data(text: str) -> bool:
    """Return whether a text contains a stand-in for an unknown value, such as `{country}`."""
    return _STAND_IN.search(text) is not None


def _with_quoted_stand_ins(text: str) -> str:
    """Return a statement whose stand-ins outside of quotes are names in backquotes, so that it may be parsed."""

    def quoted(found: re.Match[str]) -> str:
        return found[0] if found[0][0] in "`'\"" else in_backticks(found[0])

    return _QUOTED_OR_STAND_IN.sub(quoted, text)


def _name(identifier: Identifier) -> str:
    return f"{identifier.namespace}/{identifier.name}"
