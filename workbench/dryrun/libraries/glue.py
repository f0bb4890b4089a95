"""
AWS Glue's library (`awsglue`) as DataFrames of Spark: dynamic frames, their transforms, sources and sinks.

The library is not installed outside of Glue. In Glue, the databases and tables are those of Spark's catalog.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn, module_of
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_DATABASES = frozenset({"mysql", "oracle", "postgresql", "redshift", "sqlserver"})
_SAME = ("coalesce", "repartition", "spigot", "unbox", "unnest", "drop_nulls", "assertErrorThreshold")
_FILES = frozenset({"s3", "file", ""})
# A whole mapping consists of four texts: the name and the type of the source, and those of the target.
_TYPED = 4


class DynamicFrame:
    """
    A DataFrame with Glue's methods.

    Args:
        frame: the DataFrame.
        context: Glue's context.
        name: its name, which has no effect here.
    """

    stage: Stage
    without_columns: Callable[[Any], Any]

    def __init__(self, frame: Any, context: Any = None, name: str = "") -> None:
        self._frame = frame
        self.glue_ctx = context
        self.name = name

    @classmethod
    def fromDF(cls, frame: Any, context: Any = None, name: str = "") -> Any:  # noqa: N802 (Glue's)
        """Return a dynamic frame of a DataFrame."""
        return cls(frame, context, name)

    def toDF(self, *_: Any) -> Any:  # noqa: N802 (Glue's)
        """Return the DataFrame."""
        return self._frame

    def _with(self, frame: Any) -> Any:
        return type(self)(frame, self.glue_ctx, self.name)

    def count(self) -> Any:
        """Return how many rows there are, which depends on the data."""
        return self._frame.count()

    def schema(self) -> Any:
        """Return the schema."""
        return self._frame.schema

    def select_fields(self, paths: Sequence[str], *_: Any, **__: Any) -> Any:
        """Return some columns."""
        return self._with(self._frame.select(*_names(paths)))

    def drop_fields(self, paths: Sequence[str], *_: Any, **__: Any) -> Any:
        """Return all columns except some."""
        return self._with(self._frame.drop(*_names(paths)))

    def rename_field(self, oldName: str, newName: str, *_: Any, **__: Any) -> Any:
        """Return the frame with a renamed column."""
        return self._with(self._frame.withColumnRenamed(oldName.strip("`"), newName.strip("`")))

    def apply_mapping(self, mappings: Iterable[Sequence[str]], *_: Any, **__: Any) -> Any:
        """Return columns under other names and with other types."""
        return self._with(self._frame.select(*_nested({_parts(each): _mapped(each) for each in mappings})))

    def resolveChoice(self, specs: Any = None, *_: Any, **__: Any) -> Any:  # noqa: N802 (Glue's)
        """Return a frame in which each column has one type."""
        frame = self._frame
        for name, action in specs or ():
            if not action.startswith(("cast:", "project:")):
                message = f"only the data show whether {name} has values of several types, which {action} distinguishes"
                self.stage.problem("PATTERN", message)
            elif Unknown.of(frame) is None:
                frame = frame.withColumn(name, F.col(name).cast(action.partition(":")[2]))
        return self._with(frame)

    def filter(self, f: Any, *_: Any, **__: Any) -> Any:
        """Return the rows that a Python function selects."""
        if Unknown.of(self._frame) is not None:
            return self
        return self._with(self._frame.filter(F.udf(f, "boolean")(F.struct(*map(in_backticks, self._frame.columns)))))

    def map(self, *_: Any, **__: Any) -> Any:
        """Return the results of a Python function for each row; their columns are unknown."""
        message = "the columns that a function returns for a row of a dynamic frame are unknown, and so is what is made"
        self.stage.problem("UNKNOWN_SCHEMA", f"{message} from them")
        return self._with(type(self).without_columns(self._frame))

    def relationalize(self, root_table_name: Any = None, *_: Any, name: Any = None, **__: Any) -> Any:
        """Return a collection of frames whose columns depend on data: the root, and one for each field with lists."""
        self.stage.problem("UNKNOWN_SCHEMA", "the frames that relationalize() returns depend on the data")
        root, frame = str(root_table_name or name or "roottable"), self._with(type(self).without_columns(self._frame))
        return DynamicFrameCollection({root: frame, f"{root}_{{field}}": frame}, frame)

    def join(self, paths1: Sequence[str], paths2: Sequence[str], frame2: Any, *_: Any, **__: Any) -> Any:
        """Return the rows of two frames whose keys are the same."""
        one, other = self._frame, frame2.toDF()
        keys, others = _names(paths1), _names(paths2)
        if keys == others or any(Unknown.of(each) is not None for each in (one, other)):
            return self._with(one.join(other, keys))
        condition = [F.col(a) == F.col(b) for a, b in zip(keys, others, strict=True)]
        return self._with(one.join(other, condition))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _SAME:
            return lambda *_, **__: self
        return getattr(self._frame, name)


class DynamicFrameCollection(dict[str, Any]):
    """
    Dynamic frames by their names.

    Args:
        frames: the frames.
        other: the frame under every other name.
    """

    def __init__(self, frames: Mapping[str, Any], other: Any = None) -> None:
        super().__init__(frames)
        self._other = other

    def __missing__(self, name: str) -> Any:
        return self._other

    def select(self, key: str, *_: Any) -> Any:
        """Return a frame."""
        return self[key]


def _names(paths: str | Sequence[str]) -> list[str]:
    """Return a list of names; a single name may be given as a string."""
    return [paths] if isinstance(paths, str) else list(paths)


def _parts(mapping: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a mapping's target: unless the name is in backquotes, the name of a field follows a dot."""
    target = mapping[-2] if len(mapping) == _TYPED else mapping[1]
    return (target.strip("`"),) if target.startswith("`") else tuple(target.split("."))


def _mapped(mapping: Sequence[str]) -> Any:
    """Return the source column of a mapping, with the mapping's type."""
    column = F.col(mapping[0])
    return column if len(mapping) != _TYPED or mapping[1] == mapping[3] else column.cast(mapping[3])


def _nested(columns: Mapping[tuple[str, ...], Any]) -> list[Any]:
    """Return columns under their names: those whose names begin with the same part are fields of one struct."""
    below: dict[str, dict[tuple[str, ...], Any]] = {}
    for parts, column in columns.items():
        below.setdefault(parts[0], {})[parts[1:]] = column
    return [(each[()] if () in each else F.struct(*_nested(each))).alias(name) for name, each in below.items()]


class GlueContext:
    """Glue's context: the Spark session, and the readers and writers of dynamic frames."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.spark_session = SparkSession.builder.getOrCreate()
        self.create_dynamic_frame = _Sources(self, lambda frame: DynamicFrame(frame, self))
        self.create_data_frame = _Sources(self, lambda frame: frame)
        self.write_dynamic_frame = self.write_data_frame = _Sinks(self)

    @property
    def sparkSession(self) -> Any:  # noqa: N802 (Glue's)
        """The Spark session."""
        return self.spark_session

    def getSink(self, connection_type: str = "", path: str = "", **options: Any) -> Any:  # noqa: N802 (Glue's)
        """Return a sink that writes one frame."""
        return _Sink(self, connection_type, {**options, **({"path": path} if path else {})})

    def getSource(  # noqa: N802 (Glue's)
        self,
        connection_type: str,
        transformation_ctx: str = "",  # noqa: ARG002
        push_down_predicate: str = "",  # noqa: ARG002
        **options: Any,
    ) -> Any:
        """Return a source of one frame."""
        return _Source(self, connection_type, options)

    def forEachBatch(self, frame: Any, batch_function: Any, options: Any = None) -> None:  # noqa: ARG002, N802 (Glue's)
        """Call a function once, with a batch of a stream."""
        batch_function(frame, 0)

    def add_ingestion_time_columns(self, frame: Any, timeGranularity: str = "") -> Any:
        """Return a frame with the parts of the current time, down to a day, an hour or a minute."""
        found, last = _frame(frame), {"day": 3, "hour": 4}.get(timeGranularity, 5)
        for part in ("year", "month", "day", "hour", "minute")[:last]:
            found = found.withColumn(f"ingest_{part}", F.date_part(F.lit(part), F.current_timestamp()).cast("int"))
        return DynamicFrame(found, self) if isinstance(frame, DynamicFrame) else found

    def get_logger(self) -> Any:
        """Return a logger."""
        return logging.getLogger("glue")

    def __getattr__(self, name: str) -> Any:
        for begin, of in (
            ("create_dynamic_frame_", "create_dynamic_frame"),
            ("create_data_frame_", "create_data_frame"),
            ("write_dynamic_frame_", "write_dynamic_frame"),
            ("write_data_frame_", "write_data_frame"),
        ):
            if name.startswith(begin):
                return getattr(getattr(self, of), name.removeprefix(begin))
        if name in ("_jsc", "_jvm", "_sc"):
            context = self.spark_session.sparkContext
            return context if name == "_sc" else getattr(context, name)
        if name.startswith("_"):
            raise AttributeError(name)
        # It is also the context of Spark's SQL.
        return getattr(self.spark_session, name) if hasattr(SparkSession, name) else StandIn(f"GlueContext.{name}")


class _Sources:
    def __init__(self, context: GlueContext, made: Callable[[Any], Any]) -> None:
        self._context = context
        self._made = made

    def from_catalog(self, database: str = "", table_name: str = "", **_: Any) -> Any:
        """Read a table."""
        return self._made(self._context.spark_session.table(_table(database, table_name)))

    def from_options(
        self,
        connection_type: str = "",
        connection_options: Mapping[str, Any] | None = None,
        format: str | None = None,  # noqa: A002 (Glue's)
        format_options: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> Any:
        """Read a place."""
        options = dict(connection_options or {})
        reader = self._context.spark_session.read.format(_format(connection_type, format))
        if connection_type in _FILES:
            paths = options.get("paths") or options.get("path") or []
            header = str((format_options or {}).get("withHeader", "false")).lower()
            return self._made(reader.option("header", header).load([paths] if isinstance(paths, str) else list(paths)))
        return self._made(reader.options(**_named(connection_type, options)).load())

    def from_rdd(self, data: Any, *_: Any, **__: Any) -> Any:
        """Make a frame from an RDD."""
        return self._made(self._context.spark_session.createDataFrame(data))


class _Connection:
    def __init__(self, context: GlueContext, connection_type: str, options: Mapping[str, Any]) -> None:
        self._context = context
        self._type = connection_type
        self._options = options
        self._format: str | None = None

    def setFormat(self, format: str, **_: Any) -> None:  # noqa: A002, N802 (Glue's)
        """Set the format."""
        self._format = format


class _Source(_Connection):
    def getFrame(self, **_: Any) -> Any:  # noqa: N802 (Glue's)
        """Read the frame."""
        return self._context.create_dynamic_frame.from_options(self._type, self._options, self._format)


class _Sinks:
    def __init__(self, context: GlueContext) -> None:
        self._context = context

    def from_catalog(self, frame: Any = None, database: str = "", table_name: str = "", **_: Any) -> Any:
        """Write to a table."""
        _frame(frame).write.mode("append").saveAsTable(_table(database, table_name))
        return frame

    def from_options(
        self,
        frame: Any = None,
        connection_type: str = "",
        connection_options: Mapping[str, Any] | None = None,
        format: str | None = None,  # noqa: A002 (Glue's)
        **_: Any,
    ) -> Any:
        """Write to a place."""
        options = dict(connection_options or {})
        writer = _frame(frame).write.format(_format(connection_type, format)).mode("append")
        if options.get("partitionKeys"):
            writer = writer.partitionBy(*options["partitionKeys"])
        if connection_type in _FILES:
            writer.save(options.get("path"))
        else:
            writer.options(**_named(connection_type, options)).save()
        return frame

    def from_jdbc_conf(self, frame: Any = None, catalog_connection: str = "", **given: Any) -> Any:
        """Write to a database that a connection of Glue's catalog names."""
        options = dict(given.get("connection_options") or {})
        url = f"jdbc:{{{catalog_connection}}}/{options.get('database', '')}"
        writer = _frame(frame).write.format("jdbc").mode("append")
        writer.options(url=url, dbtable=str(options.get("dbtable", ""))).save()
        return frame


class _Sink(_Connection):
    def setCatalogInfo(self, *_: Any, **__: Any) -> None:  # noqa: N802 (Glue's)
        """Accept the table in Glue's catalog: the write goes to its path."""

    def writeFrame(self, frame: Any, *_: Any) -> Any:  # noqa: N802 (Glue's)
        """Write a frame."""
        return self._context.write_dynamic_frame.from_options(frame, self._type, self._options, self._format)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *_, **__: self


def _table(database: str, name: str) -> str:
    """Return the name of a table in Spark's form: in Glue, a name may contain any characters, such as hyphens."""
    parts = (str(database), str(name))
    return ".".join(each if re.fullmatch(r"\w+", each) or "{" in each else in_backticks(each) for each in parts)


def _frame(frame: Any) -> Any:
    """Return the DataFrame of a dynamic frame, or a DataFrame."""
    return frame.toDF() if isinstance(frame, DynamicFrame) else frame


def _format(connection_type: str, format_: str | None) -> str:
    """Return Spark's format for a connection type of Glue."""
    if connection_type in _DATABASES:
        return "jdbc"
    return (format_ or "parquet").removeprefix("glue") if connection_type in _FILES else connection_type


def _named(connection_type: str, options: Mapping[str, Any]) -> dict[str, str]:
    """Return options under Spark's names."""
    found = {key: str(value) for key, value in options.items() if isinstance(value, (str, int))}
    return {**found, "dbtable": found.get("dbtable", "")} if connection_type in _DATABASES else found


def _applied(method: str) -> type:
    """Return a transform of Glue: a class whose `apply` calls a method of its first argument, a frame."""

    def apply(frame: Any = None, *arguments: Any, **named: Any) -> Any:
        first = named.pop("frame1", None) if frame is None else frame
        for of_join, of_method in (("keys1", "paths1"), ("keys2", "paths2")):
            if of_join in named:
                named[of_method] = named.pop(of_join)
        if method == "join" and arguments:
            frame2, keys1, keys2 = arguments[:3]
            return first.join(keys1, keys2, frame2)
        return getattr(first, method)(*arguments, **named)

    return type(method, (), {"apply": staticmethod(apply), "__call__": staticmethod(apply)})


_TRANSFORMS = {
    "ApplyMapping": "apply_mapping", "DropFields": "drop_fields", "DropNullFields": "drop_nulls", "Filter": "filter",
    "Join": "join", "Map": "map", "Relationalize": "relationalize", "RenameField": "rename_field",
    "ResolveChoice": "resolveChoice", "SelectFields": "select_fields", "SelectFromCollection": "select",
    "Spigot": "spigot", "Unbox": "unbox", "UnnestFrame": "unnest",
}  # fmt: skip


def install_glue(stage: Stage, without_columns: Callable[[Any], Any]) -> None:
    """
    Put these classes where a script imports Glue's.

    Args:
        stage: records the unknown parts.
        without_columns: makes a DataFrame without known columns from another one.
    """
    DynamicFrame.stage, DynamicFrame.without_columns = stage, staticmethod(without_columns)

    def options(argv: Sequence[str], names: Iterable[str]) -> dict[str, str]:
        given = dict(stage.request.parameters)
        for at, each in enumerate(argv):
            name, equals, value = each.removeprefix("--").partition("=")
            if each.startswith("--"):
                given[name] = value if equals else (argv[at + 1] if at + 1 < len(argv) else "")
        for name in names:
            if name not in given:
                message = f"the job argument {name} has no value: it is assumed to be {{{name}}}"
                stage.problem("STAND_IN", f"{message} (--param {name}=VALUE sets it)")
        return {name: given.get(name, f"{{{name}}}") for name in names}

    transforms = {name: _applied(method) for name, method in _TRANSFORMS.items()}
    parts: dict[str, dict[str, Any]] = {
        "context": {"GlueContext": GlueContext},
        "dynamicframe": {"DynamicFrame": DynamicFrame, "DynamicFrameCollection": DynamicFrameCollection},
        "gluetypes": {},
        "job": {"Job": lambda *_: StandIn("Job")},
        "transforms": {**transforms, "DynamicFrame": DynamicFrame},
        "utils": {"getResolvedOptions": options, "GlueArgumentError": type("GlueArgumentError", (Exception,), {})},
    }

    def unknown(module: str) -> Callable[[str], Any]:
        def stand_in(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            stage.problem("STAND_IN", f"a dry run does not have {module}.{name}: what it returns is unknown")
            return StandIn(f"{module}.{name}")

        return stand_in

    modules = {
        name: module_of(f"awsglue.{name}", **members, __getattr__=unknown(f"awsglue.{name}"))
        for name, members in parts.items()
    }
    whole = module_of("awsglue", DynamicFrame=DynamicFrame, **modules, __path__=[])
    sys.modules.update({"awsglue": whole, **{f"awsglue.{name}": each for name, each in modules.items()}})
