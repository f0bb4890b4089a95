"""
Arguments that another system or the data give: names of columns, conditions and schemas that are unknown in a dry run.

A script that is driven by metadata reads its columns and conditions from a service or a table. A stand-in for one is
passed to Spark as its text. If Spark then refuses the call, the columns of the result are unknown, and the script goes
on. A call that keeps all columns, such as `filter`, is left out. A column that is added may come from all others. The
text of an unknown table, path or format is a pattern.
"""

from __future__ import annotations

import functools
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.listener.probe.client import spark_errors
from openlineage_pyspark.workbench.dryrun.empty_spark.reads import NAME_OF_UNKNOWN
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import UnknownRows
from openlineage_pyspark.workbench.dryrun.patches.standins import plain_row
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn
from py4j.protocol import Py4JError, register_input_converter
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)
from pyspark.sql.catalog import Catalog
from pyspark.sql.group import GroupedData
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter, DataFrameWriterV2
from pyspark.sql.streaming import DataStreamReader, DataStreamWriter
from pyspark.sql.types import ArrayType, MapType, StringType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_KEEPING = frozenset(
    """
    alias coalesce distinct drop_duplicates dropDuplicates dropDuplicatesWithinWatermark dropna fillna filter hint limit
    offset orderBy repartition repartitionByRange replace sample sampleBy sort sortWithinPartitions where withWatermark
    """.split()
)
"""The methods whose result has the same columns, from the same sources."""
_CHANGING = frozenset(
    """
    describe drop join lateralJoin melt select selectExpr summary to toDF unpivot withColumnRenamed withColumnsRenamed
    """.split()
)
_TEXTS = (
    (SparkSession, ("table",)),
    (
        Catalog,
        """
        createExternalTable createTable databaseExists dropGlobalTempView dropTable dropTempView dropView
        functionExists getTable listColumns setCurrentCatalog setCurrentDatabase tableExists truncateTable
        """.split(),
    ),
    (DataFrameReader, "changes csv format jdbc json load option orc parquet table text xml".split()),
    (DataStreamReader, "changes csv format json load option orc parquet table text xml".split()),
    (
        DataFrameWriter,
        "csv format insertInto jdbc json mode option orc parquet partitionBy save saveAsTable sortBy text xml".split(),
    ),
    (DataStreamWriter, "format option outputMode partitionBy queryName start table toTable".split()),
    (DataFrameWriterV2, "option using".split()),
)
"""The methods whose arguments are names, paths and other texts."""
_OF_FRAMES = """
    createGlobalTempView createOrReplaceGlobalTempView createOrReplaceTempView createTempView registerTempTable writeTo
    """.split()
"""Those of DataFrames."""
_ADDING = frozenset({"withColumn", "withColumns"})
_GROUPING = frozenset("cube groupBy groupby groupingSets rollup".split())
_OF_GROUPS = frozenset("agg avg count max mean min pivot sum".split())
_OF_LISTS = frozenset("agg select selectExpr toDF".split())
"""The methods that no script calls without an argument, unless its list of columns is unknown."""
_EMPTY = frozenset({"select", "selectExpr"})
"""Those of them that Spark accepts then."""
_FIELDS = "{schema}"
"""The one field that stands for all fields of an unknown schema: an error about another field names it."""
_ERRORS = (*spark_errors(), Py4JError, AssertionError, TypeError, ValueError)


def install_unknown_arguments(stage: Stage, frame: Any, without_columns: Callable[[Any], Any]) -> None:
    """
    Make methods of DataFrames, functions and readers accept such arguments, for the rest of the process.

    Args:
        stage: records each.
        frame: PySpark's class of DataFrames.
        without_columns: makes a DataFrame without known columns from another one.
    """
    StandIn.yields_to = (Column,)
    register_input_converter(_Texts(), prepend=True)
    _install_names()
    _install_expressions()
    _install_schemas(stage)
    _install_parsers(stage)
    _install_texts(frame)
    _install_unknown_strings()
    accepting = _Accepting(stage, without_columns)
    for owner, names in ((frame, _KEEPING | _ADDING | _CHANGING | _GROUPING), (GroupedData, _OF_GROUPS)):
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, accepting.method(name, getattr(owner, name)))
    item = frame.__getitem__

    def column_of(self: Any, name: Any) -> Any:
        named = plain_row(name)
        try:
            return item(self, named)
        except _ERRORS as problem:
            if not isinstance(named, str) or not NAME_OF_UNKNOWN.search(f"{named}{problem}"):
                raise
            return _named(named)

    frame.__getitem__ = column_of


class _Accepting:
    """
    Makes methods accept unknown arguments.

    Args:
        stage: records each.
        without_columns: makes a DataFrame without known columns from another one.
    """

    def __init__(self, stage: Stage, without_columns: Callable[[Any], Any]) -> None:
        self._stage = stage
        self._without_columns = without_columns

    def method(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that calls another one, and that goes on where Spark refuses an unknown argument."""

        def call(owner: Any, *given: Any, **named: Any) -> Any:
            unknown = list(dict.fromkeys(map(str, _stand_ins((given, named)))))
            if unknown:
                self._stage.problem("STAND_IN", f"{name}() gets {', '.join(unknown)}, which is unknown in a dry run")
            given = tuple(map(plain_row, given))
            named = {key: plain_row(value) for key, value in named.items()}
            is_of_nothing = name in _OF_LISTS and not named and all(type(each) is list and not each for each in given)
            try:
                if not (is_of_nothing and name in _EMPTY):
                    return method(owner, *given, **named)
                found = None
            except _ERRORS as problem:
                found = NAME_OF_UNKNOWN.search(str(problem))
                if not unknown and not found and not is_of_nothing:
                    raise
            of = ", ".join(unknown) or (found[0].replace("`", "") if found else "a list")
            if name in _ADDING:
                return self._added(owner, method, _columns_in(name, given, named), of)
            return self._instead(name, owner, of)

        call.__name__ = name
        return call

    def _added(self, owner: Any, method: Callable[..., Any], columns: dict[str, Any], unknown: str) -> Any:
        """Return a DataFrame with further columns, of which some are made from unknown ones."""
        if len(columns) > 1:
            for name, column in columns.items():
                owner = owner.withColumn(name, column)
            return owner
        for name in columns:
            message = f"the column {name} depends on {unknown}, which is unknown in a dry run: all columns may be in it"
            self._stage.problem("STAND_IN", message)
            # Two columns of one name can't be told apart.
            every = [owner[_quoted(each)] for each, times in Counter(owner.columns).items() if times == 1]
            made = F.udf(_unknown_value, StringType())(*every) if every else F.lit(None).cast(StringType())
            return method(owner, name, made) if method.__name__ == "withColumn" else method(owner, {name: made})
        return owner

    def _instead(self, name: str, owner: Any, unknown: str) -> Any:
        """Return what a refused call returns, and report it."""
        if name in _KEEPING:
            message = f"{name}() depends on {unknown}, which is unknown in a dry run: it is left out"
            self._stage.problem("STAND_IN", message)
            return owner
        self._stage.problem(
            "UNKNOWN_SCHEMA",
            f"{name}() depends on {unknown}, which is unknown in a dry run: the columns of its result are unknown",
        )
        found = self._without_columns(owner._df if isinstance(owner, GroupedData) else owner)
        return found.groupBy() if name in _GROUPING or name == "pivot" else found


def _columns_in(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that a call adds: the name of each -> what it is made from."""
    values = [*given, *named.values()]
    return dict(values[0]) if name == "withColumns" else {str(values[0]): values[-1]}


def _unknown_value(*_: Any) -> None:
    """Represent an unknown expression, which may use each of its arguments; it is never called."""


_unknown_value.__name__ = "unknown"


class _Texts:
    """Passes a stand-in to the JVM as its text."""

    def can_convert(self, value: object) -> bool:
        """Return whether a value is a stand-in."""
        return isinstance(value, StandIn)

    def convert(self, value: object, _: Any) -> str:
        """Return the text of a stand-in."""
        return str(value)


def _stand_ins(value: Any) -> Iterator[StandIn]:
    """Return the stand-ins in the arguments of a call."""
    if isinstance(value, StandIn):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for each in (*value.keys(), *value.values()) if isinstance(value, dict) else value:
            yield from _stand_ins(each)


def _named(name: str) -> Any:
    """Return the column of a name that Spark can't read as one."""
    return F.col(_quoted(name))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _install_names() -> None:
    """Make functions of columns take a stand-in as the name of a column."""
    owner: Any = sys.modules.get("pyspark.sql.classic.column") or sys.modules["pyspark.sql.column"]
    convert = owner._to_java_column

    def converted(column: Any) -> Any:
        return convert(str(column) if isinstance(column, StandIn) else column)

    for name, module in list(sys.modules.items()):
        if name.startswith("pyspark.") and vars(module).get("_to_java_column") is convert:
            setattr(module, "_to_java_column", converted)  # noqa: B010 (mypy knows no such attribute)


def _install_expressions() -> None:
    """Make an expression that Spark can't read, because a part of it is unknown, a column of this name."""
    parse = F.expr

    def expr(text: Any) -> Any:
        try:
            return parse(plain_row(text))
        except spark_errors() as problem:
            if not NAME_OF_UNKNOWN.search(f"{text}{problem}"):
                raise
            return _named(str(text))

    F.expr = expr


def _install_texts(frame: Any) -> None:
    """Make readers, writers and the catalog take a stand-in as its text."""

    def taking(method: Callable[..., Any]) -> Callable[..., Any]:
        # The further arguments of jdbc() are numbers and properties.
        texts = 2 if method.__name__ == "jdbc" else None

        @functools.wraps(method)
        def call(owner: Any, *given: Any, **named: Any) -> Any:
            shown = {key: value if key == "properties" else _text(value) for key, value in named.items()}
            return method(owner, *map(_text, given[:texts]), *(given[texts:] if texts else ()), **shown)

        return call

    for owner, names in (*_TEXTS, (frame, _OF_FRAMES)):
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, taking(getattr(owner, name)))


def _install_unknown_strings() -> None:
    """Make readers that parse the strings of an RDD return all that is known of one with unknown rows."""

    def parsing(read: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(read)
        def call(reader: Any, path: Any, *given: Any, **named: Any) -> Any:
            return path.toDF() if isinstance(path, UnknownRows) else read(reader, path, *given, **named)

        return call

    for name in ("csv", "json", "xml"):
        if hasattr(DataFrameReader, name):
            setattr(DataFrameReader, name, parsing(getattr(DataFrameReader, name)))


def _text(value: Any) -> Any:
    """Return the text of a stand-in, and of each in a list; any other value as it is."""
    if isinstance(value, StandIn):
        return str(value)
    return [_text(each) for each in value] if type(value) is list else value


def _install_schemas(stage: Stage) -> None:
    """Make readers ignore an unknown schema."""

    def with_schema(give: Callable[..., Any]) -> Callable[..., Any]:
        def schema(reader: Any, schema: Any) -> Any:
            is_unknown = isinstance(schema, StandIn) or (isinstance(schema, str) and NAME_OF_UNKNOWN.search(schema))
            if is_unknown or (isinstance(schema, StructType) and not schema.fields):
                shown = "a list of columns" if isinstance(schema, StructType) else schema
                stage.problem("STAND_IN", f"schema() gets {shown}, which is unknown in a dry run: it is left out")
                return reader
            return give(reader, schema)

        return schema

    for reader in (DataFrameReader, DataStreamReader):
        reader.schema = with_schema(reader.schema)


def _install_parsers(stage: Stage) -> None:
    """Make functions that parse texts give a struct of one field for all, if its schema is unknown."""

    def parsing(name: str, parse: Callable[..., Any]) -> Callable[..., Any]:
        def parsed(col: Any, schema: Any, *rest: Any, **named: Any) -> Any:
            known = _with_fields(schema)
            if known is not schema:
                message = f"{name}() gets a schema that is unknown in a dry run: one field, {_FIELDS}, represents all"
                stage.problem("PATTERN", message)
            return parse(col, known, *rest, **named)

        parsed.__name__ = name
        return parsed

    for name in ("from_csv", "from_json", "from_xml"):
        if hasattr(F, name):
            setattr(F, name, parsing(name, getattr(F, name)))


def _with_fields(schema: Any) -> Any:
    """Return a schema in which one field represents those of each struct that has none; the same if there is none."""
    if isinstance(schema, StandIn) or (isinstance(schema, str | Column) and NAME_OF_UNKNOWN.search(str(schema))):
        return _with_fields(StructType([]))
    if isinstance(schema, StructType):
        fields = [StructField(each.name, _with_fields(each.dataType), each.nullable) for each in schema.fields]
        made = StructType(fields or [StructField(_FIELDS, StringType())])
    elif isinstance(schema, ArrayType):
        made = ArrayType(_with_fields(schema.elementType), schema.containsNull)
    elif isinstance(schema, MapType):
        made = MapType(schema.keyType, _with_fields(schema.valueType), schema.valueContainsNull)
    else:
        return schema
    return schema if made.simpleString() == schema.simpleString() else made
