"""Patch PySpark's classes to use the stage: readers, writers, actions, the session builder, and SQL texts."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.listener.probe.client import spark_errors
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import (
    Unknown,
    UnknownParts,
    UnknownRow,
    UnknownRows,
    maker_of_unknown,
)
from openlineage_pyspark.workbench.dryrun.empty_spark.world import World
from openlineage_pyspark.workbench.dryrun.patches.binary_formats import (
    AVRO,
    PROTOBUF,
    install_avro,
    install_protobuf,
)
from openlineage_pyspark.workbench.dryrun.patches.catalog import ScriptCatalog
from openlineage_pyspark.workbench.dryrun.patches.doors import DoorOfFrame, DoorToJava
from openlineage_pyspark.workbench.dryrun.patches.dstreams import DSTREAMS, install_dstreams
from openlineage_pyspark.workbench.dryrun.patches.late_imports import when_imported
from openlineage_pyspark.workbench.dryrun.patches.local_frames import install_local_frames
from openlineage_pyspark.workbench.dryrun.patches.models import MODELS, install_models
from openlineage_pyspark.workbench.dryrun.patches.plots import PLOTS, install_plots
from openlineage_pyspark.workbench.dryrun.patches.rdds import install_rdds, schema_of_names
from openlineage_pyspark.workbench.dryrun.patches.standins import plain_row, row_of
from openlineage_pyspark.workbench.dryrun.patches.statistics import install_statistics
from openlineage_pyspark.workbench.dryrun.patches.streams import FinishedQuery, NoQueries
from openlineage_pyspark.workbench.dryrun.patches.table_functions import TABLE_FUNCTIONS, install_table_functions
from openlineage_pyspark.workbench.dryrun.patches.unknown_arguments import install_unknown_arguments
from openlineage_pyspark.workbench.dryrun.sandbox.handled import is_absence_handled
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn, taken_next
from openlineage_pyspark.workbench.dryrun.script.fingerprint import fingerprint
from openlineage_pyspark.workbench.dryrun.script.places import DataPlace
from openlineage_pyspark.workbench.dryrun.script.values import executed_text, fills_variables, texts_in, with_values
from openlineage_pyspark.workbench.predict.acts import CODE
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.tables.following import is_kept_setting
from py4j import java_gateway
from py4j.clientserver import JavaClient
from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions.captured import AnalysisException
from pyspark.rdd import RDD
from pyspark.serializers import CloudPickleSerializer, CPickleSerializer
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)
from pyspark.sql.group import GroupedData
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter, DataFrameWriterV2
from pyspark.sql.streaming import DataStreamReader, DataStreamWriter
from pyspark.sql.types import StructType
from pyspark.sql.udf import UDFRegistration, UserDefinedFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_JOINING = ("crossJoin", "exceptAll", "intersect", "intersectAll", "join", "subtract", "union", "unionAll",
            "unionByName")  # fmt: skip
_VIEWS = ("createOrReplaceTempView", "createTempView", "createGlobalTempView", "createOrReplaceGlobalTempView",
          "registerTempTable")  # fmt: skip
_ROWS = ("collect", "first", "head", "tail", "take", "toArrow", "toLocalIterator", "toPandas")
_SAME = ("cache", "checkpoint", "localCheckpoint", "persist", "unpersist")
_NO_VALUE = object()
_PYTHON_SOURCES = "pyspark.sql.datasource"
_EXISTS = "whether the data exist that are read here"
_WITHOUT_ROWS = frozenset({"getNumPartitions", "getStorageLevel", "isEmpty", "name", "setName", "toDebugString"})
"""The methods of RDDs that pass no rows on."""
_OF_GROUPS = F.PandasUDFType.GROUPED_AGG
# Some are Databricks' additions to DataFrames.
_QUIET = ("display", "explain", "foreach", "foreachPartition", "printSchema", "show")


class Patches:
    """
    Replaces everything that would read, write or run.

    Args:
        spark: the session of the script.
        tables: the known tables.
        session: analyzes statements in that session.
        stage: the stage of the script.
    """

    def __init__(self, spark: Any, tables: DeclaredTables, session: ScriptSession, stage: Stage) -> None:
        self._spark = spark
        self._tables = tables
        self._stage = stage
        self.world = World(spark, session, stage)
        self._worlds = {self._key(spark): self.world}
        self._frame: Any = type(spark.range(0))
        self._conf = stage.settings
        given = stage.request.conf
        every = (*SparkConf().getAll(), *spark.sparkContext.getConf().getAll())
        # The properties of the dry run's own JVM: a real run has others.
        self._hosts = {(key, value) for key, value in every if given.get(key) != value}
        self._in_batch = 0
        self._unknown = maker_of_unknown(self._frame, self._methods_of_unknown(), F.col, self._plan)

    def apply(self) -> None:
        """Replace everything, for the rest of the process."""
        self._patch_sessions()
        self._patch_contexts()
        self._patch_readers()
        self._patch_writers()
        self._patch_actions()
        ScriptCatalog(self._tables, self._stage, self.world_of).install()
        self._patch_functions()
        install_unknown_arguments(self._stage, self._frame, self.without_columns)
        when_imported(AVRO, lambda: install_avro(self._stage))
        when_imported(PROTOBUF, lambda: install_protobuf(self._stage))
        when_imported(MODELS, lambda: install_models(self._stage, self.without_columns))
        when_imported(DSTREAMS, lambda: install_dstreams(self._stage, self._write_rdd))
        when_imported(PLOTS, lambda: install_plots(self._stage))
        when_imported(TABLE_FUNCTIONS, lambda: install_table_functions(self._stage))
        install_local_frames(self._stage)
        for owner, names in (
            (SparkSession, ("_jvm", "_jsc", "_jsparkSession")),
            (SparkContext, ("_jvm", "_jsc", "_gateway")),
        ):
            for name in names:
                setattr(owner, name, DoorToJava(name, owner.__dict__.get(name), self._stage))
        setattr(self._frame, "_jdf", DoorOfFrame(self._stage.is_users))  # noqa: B010 (mypy knows another type)
        take_name = java_gateway.java_import

        def java_import(jvm: Any, name: str) -> Any:
            return None if isinstance(jvm, StandIn) else take_name(jvm, name)

        java_gateway.java_import = java_import
        self._patch_threads()
        # Code that is never sent to a worker need not be pickled; a comparison of plans needs to know what it is.
        CloudPickleSerializer.dumps = lambda _self, command: self._code(command)
        time.sleep = lambda _seconds: None

    def _code(self, command: Any) -> bytes:
        found = fingerprint(command, self._stage.is_users) if self._stage.request.shapes else ""
        return f"{CODE}{found}".encode()

    def _patch_threads(self) -> None:
        """Make each thread of the script find the catalogs, because each has its own thread in the JVM."""
        connect = JavaClient._create_new_connection

        def connected(client: Any) -> Any:
            connection = connect(client)
            self.world.session.use_from_this_thread()
            return connection

        JavaClient._create_new_connection = connected

    @property
    def stage(self) -> Stage:
        """The stage of the script."""
        return self._stage

    def add_method(self, name: str, method: Callable[..., Any]) -> None:
        """Add a method to DataFrames, or replace it."""
        setattr(self._frame, name, method)

    def world_of(self, spark: Any) -> World:
        """Return the world of a session."""
        key = self._key(spark)
        if key not in self._worlds:
            session = ScriptSession(own_session(spark), self._tables, is_first=False, shapes=self._stage.request.shapes)
            self._worlds[key] = World(spark, session, self._stage)
        return self._worlds[key]

    def _key(self, spark: Any) -> int:
        return int(self._spark._jvm.java.lang.System.identityHashCode(spark._jsparkSession))

    def _plan(self, frame: Any) -> str:
        return self.world_of(frame.sparkSession).plan(frame)

    def without_columns(self, frame: Any, places: tuple[str, ...] = ()) -> Any:
        """Return a DataFrame with unknown columns that is made from another one, and from places."""
        known = Unknown.of(frame) or Unknown((self._plan(frame),))
        return self._unknown(frame.sparkSession, known.joined(Unknown(places=places)))

    def _frame_read(self, found: Any, spark: Any) -> Any:
        """Return a DataFrame for data that a script reads, unless it is to be assumed that they do not exist."""
        if is_absence_handled(self._stage.is_users):
            # Where nothing is known of the data, what the script does without them tells more.
            is_known = not isinstance(found, Unknown)
            if self._stage.decides(_EXISTS, taken="true" if is_known else "false") == is_known:
                raise AnalysisException("[PATH_NOT_FOUND] the data do not exist, as this run of the script assumes", "")
        return self._frame_of(found, spark)

    def _frame_of(self, found: Any, spark: Any) -> Any:
        """Return a DataFrame for the result of a world."""
        return self._unknown(spark, found) if isinstance(found, Unknown) else self._frame(found, spark)

    def _patch_sessions(self) -> None:
        one, ask = self._spark, SparkSession.sql

        def get(builder: Any) -> Any:
            self._configure(dict(builder._options))
            return one

        def sql(session: Any, sqlQuery: str, args: Any = None, **named: Any) -> Any:
            text = str(sqlQuery) if isinstance(sqlQuery, StandIn) else sqlQuery
            unknown = [Unknown.of(each) for each in named.values()]
            if any(unknown):
                return self._unknown(session, next(each for each in unknown if each is not None))
            world = self.world_of(session)
            if named:
                formatter = sys.modules["pyspark.sql.session"].SQLStringFormatter(session)
                text = formatter.format(text, **named)
            if fills_variables(text):
                self._stage.hides("the variables that EXECUTE IMMEDIATE sets")
            text = executed_text(text)
            if not text:
                message = "the text that EXECUTE IMMEDIATE runs is in a variable: what it reads and writes is unknown"
                self._stage.problem("UNKNOWN_STATEMENT", message)
                return self._unknown(session, Unknown())
            text = world.assumed(world.whole_paths(text))
            of_data = world.of_data(text)
            if of_data is not None:
                return self._unknown(session, of_data)
            if world.is_query(text):
                given = {} if args is None else {"args": args}
                found = world.query(text, lambda: ask(session, text, **given))
                return found if isinstance(found, self._frame) else self._unknown(session, found)
            hidden = texts_in(args)
            return self._frame(world.statement(with_values(text, args), text, hidden), session)

        SparkSession.createDataFrame = self._creating(SparkSession.createDataFrame)
        builder = SparkSession.Builder
        builder.getOrCreate = builder.create = get
        builder.remote = lambda self, url: self  # noqa: ARG005 (Spark's name)
        SparkSession.sql = sql
        SparkSession.table = lambda session, tableName: self._frame_read(
            self.world_of(session).load_table(tableName), session
        )
        SparkSession.stop = SparkSession.__exit__ = lambda *_: None
        SparkSession.streams = property(lambda _: NoQueries())
        SparkSession.conf = property(
            lambda session: ScriptConf(own_session(session).conf, self._conf, dict(self._hosts), self._stage)
        )

    def _creating(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def create(session: Any, data: Any, schema: Any = None, *rest: Any, **named: Any) -> Any:
            unknown = Unknown.of(data)
            if unknown is not None:
                return self._unknown(session, unknown)
            is_typed = isinstance(schema, str) or hasattr(schema, "typeName")
            if isinstance(schema, StandIn) or (isinstance(data, StandIn) and not is_typed):
                of = data if isinstance(data, StandIn) else f"the schema {schema}"
                message = f"the columns of a DataFrame of {of} are unknown without a schema: give it one"
                self._stage.problem("UNKNOWN_SCHEMA", message)
                return self._unknown(session, Unknown())
            if isinstance(data, RDD) and not is_typed:
                names = schema_of_names(schema)
                if names is None:
                    message = "the columns of a DataFrame of an RDD are unknown without a schema: give it one"
                    self._stage.problem("UNKNOWN_SCHEMA", message)
                    read = self.world_of(session).plan(make(session, data, "value STRING"))
                    return self._unknown(session, Unknown((read,)))
                message = (
                    "the types of a DataFrame of an RDD are unknown without a schema: they are assumed to be strings"
                )
                self._stage.problem("STAND_IN", message)
                schema = names
            plain = list(map(plain_row, data)) if isinstance(data, (list, tuple, StandIn)) else data
            if len(rest) < 2:
                # Stand-ins do not have the types of the values that they replace.
                named["verifySchema"] = False
            return make(session, plain, schema, *rest, **named)

        return create

    def _configure(self, options: dict[str, Any]) -> None:
        for key, value in options.items():
            # `SparkConf` has the properties of the dry run's own JVM.
            if (key, str(value)) not in self._hosts:
                self._spark.conf.set(key, str(value))

    def _patch_contexts(self) -> None:
        context = self._spark.sparkContext
        get_conf = SparkContext.getConf

        def init(_: Any, master: Any = None, name: Any = None, *given: Any, **named: Any) -> None:
            conf = named.get("conf", given[5] if len(given) > 5 else None)
            settings = {"spark.master": named.get("master", master), "spark.app.name": named.get("appName", name)}
            self._configure({} if conf is None else dict(conf.getAll()))
            self._configure({key: value for key, value in settings.items() if value is not None})

        def get_or_create(_: type, conf: Any = None) -> Any:
            init(context, conf=conf)
            return context

        def conf_of(owner: Any) -> Any:
            is_users = self._stage.is_users(sys._getframe(1).f_code.co_filename)
            return ContextConf(self._spark.conf, self._conf) if is_users else get_conf(owner)

        SparkContext.__new__ = lambda *_, **__: context
        SparkContext.__init__ = init
        SparkContext.getOrCreate = classmethod(get_or_create)
        SparkContext.getConf = conf_of
        SparkContext.appName = property(lambda _: self._spark.conf.get("spark.app.name"))
        SparkContext.master = property(lambda _: self._spark.conf.get("spark.master"))
        SparkContext.stop = SparkContext.__exit__ = lambda *_: None
        SparkContext.applicationId = property(lambda _: "{applicationId}")
        SparkContext.addPyFile = lambda _, path: sys.path.insert(1, str(path))
        install_rdds(self._stage, self._write_rdd)

    def _patch_functions(self) -> None:
        """Register functions of Java, whose classes are not here, by their names."""

        def one_value(
            registration: Any,
            name: str,
            javaClassName: str,
            returnType: Any = None,
        ) -> None:
            if returnType is None:
                message = (
                    f"the type of {name} is that of {javaClassName}, which is not here: it is assumed to be a string"
                )
                self._stage.problem("STAND_IN", f"{message} (registerJavaFunction takes a type, too)")
            registration.register(name, lambda *_: None, returnType or "string")

        def of_groups(registration: Any, name: str, javaClassName: str) -> None:
            message = f"the type of {name} is that of {javaClassName}, which is not here: it is assumed to be a string"
            self._stage.problem("STAND_IN", message)
            try:
                registration.register(name, UserDefinedFunction(lambda *_: None, "string", name, _OF_GROUPS))
            except ImportError:
                # Without Arrow, Python has no functions of groups.
                self.world.session.know_function(name)

        UDFRegistration.registerJavaFunction = one_value
        UDFRegistration.registerJavaUDAF = of_groups

    def _write_rdd(self, rdd: Any, path: str) -> None:
        """Record that an RDD would be written to a path."""
        read = self.world.plan(self._spark.createDataFrame(rdd, "value STRING"))
        self._unknown(self._spark, Unknown((read,))).write.text(path)

    def _patch_readers(self) -> None:
        def begin(streamed: bool) -> Callable[[Any, Any], None]:  # noqa: FBT001 (of this loop)
            def init(reader: Any, spark: Any) -> None:
                reader._spark = spark
                reader._jreader = self.world_of(spark).reader(streamed=streamed)

            return init

        for reader, streamed in ((DataFrameReader, False), (DataStreamReader, True)):
            reader.__init__ = begin(streamed)
            reader._df = lambda self_, found: self._frame_read(found, self_._spark)

        when_imported(_PYTHON_SOURCES, self._patch_sources)

    def _patch_sources(self) -> None:
        """Remember the data sources that the script registers."""
        owner: Any = sys.modules[_PYTHON_SOURCES].DataSourceRegistration
        register = owner.register

        def registering(registration: Any, source: Any) -> None:
            def schema(options: Mapping[str, str]) -> str:
                stated = source(dict(options)).schema()
                if isinstance(stated, StandIn):
                    return ""
                return stated if isinstance(stated, str) else str(stated.json())

            self._stage.python_sources[str(source.name()).lower()] = schema
            register(registration, source)

        owner.register = registering

    def _patch_writers(self) -> None:
        def init(writer: Any, frame: Any) -> None:
            writer._df, writer._spark = frame, frame.sparkSession
            writer._jwrite = self.world_of(writer._spark).writer(frame)

        def init_v2(writer: Any, frame: Any, name: str) -> None:
            writer._df, writer._spark = frame, frame.sparkSession
            writer._jwriter = self.world_of(writer._spark).table_writer(frame, name)

        def each_batch(writer: Any, func: Callable[[Any, int], None]) -> Any:
            def save(*_: Any) -> None:
                self._stage.hides("the batches of a stream")
                self._in_batch += 1
                func(writer._df, 0)
                self._in_batch -= 1

            writer._jwrite.save = save
            return writer

        def trigger(writer: Any, **given: Any) -> Any:
            writer._jwrite.note("trigger", sorted(given.items()))
            return writer

        def each_row(writer: Any, f: Any) -> Any:  # noqa: ARG001 (Spark's name)
            writer._jwrite.format("noop")
            return writer

        DataFrameWriter.__init__ = DataStreamWriter.__init__ = init
        DataFrameWriterV2.__init__ = init_v2
        DataStreamWriter.foreachBatch = each_batch
        DataStreamWriter.foreach = each_row
        DataStreamWriter.trigger = trigger
        DataStreamWriter._sq = lambda *_: FinishedQuery()
        frame = self._frame
        frame.write = property(DataFrameWriter)
        frame.writeStream = property(DataStreamWriter)
        frame.writeTo = _writer_to

    def _patch_actions(self) -> None:
        frame = self._frame
        for name in _SAME:
            setattr(frame, name, lambda self_, *_, **__: self_)
        for name in _QUIET:
            setattr(frame, name, lambda *_, **__: None)
        frame.withWatermark = self._watermarking(frame.withWatermark)
        frame.count = self._count
        frame.isStreaming = property(self._is_streaming)
        frame.isEmpty = lambda _: self._stage.is_empty("isEmpty()")
        for name in _ROWS:
            setattr(frame, name, self._action(name))
        # In newer versions, pandas on Spark calls this method instead.
        frame._to_pandas = self._action("toPandas")
        for name in _JOINING:
            setattr(frame, name, self._joining(name, getattr(frame, name)))
        for name in _VIEWS:
            setattr(frame, name, self._viewing(getattr(frame, name)))
        install_statistics(frame, self._stage, self.without_columns)
        pivot = GroupedData.pivot

        def known_pivot(grouped: Any, pivot_col: str, values: Any = None) -> Any:
            if values:
                return pivot(grouped, pivot_col, values)
            message = f"the columns of pivot({pivot_col!r}) are values in the data: one column represents all of them"
            self._stage.problem("PATTERN", message)
            # PySpark takes only a name; here the column is cast, because the value must have its type.
            java = F.col(pivot_col).cast("string")._jc
            return GroupedData(grouped._jgd.pivot(java, [f"{{{pivot_col}}}"]), grouped._df)

        GroupedData.pivot = known_pivot
        self._patch_rdds_of_frames()

    def _patch_rdds_of_frames(self) -> None:
        frame = self._frame

        def rdd(self_: Any) -> Any:
            if taken_next(sys._getframe(1)) in _WITHOUT_ROWS:
                # The plan of a declared table can't become an RDD.
                return self_.sparkSession.sparkContext.emptyRDD()
            message = "rows pass through an RDD here: the columns of what is made from them have no known source"
            self._stage.problem("STAND_IN", message)
            session = self_.sparkSession
            return RDD(self.world_of(session).rows_of(self_), session.sparkContext, CPickleSerializer())

        frame.rdd = property(rdd)

    @property
    def _count(self) -> Callable[..., Any]:
        return lambda *_: self._stage.number("count()")

    def _action(self, name: str) -> Callable[..., Any]:
        def action(frame: Any, *arguments: Any, **named: Any) -> Any:
            message = f"{name}() returns one row of stand-ins in a dry run: what is made from its values is unknown"
            self._stage.problem("STAND_IN", message)
            if Unknown.of(frame) is not None and name in ("toPandas", "toArrow"):
                return StandIn(f"{name}()")
            row = UnknownRow() if Unknown.of(frame) is not None else row_of(frame.schema, Row)
            if any(each in frame.schema.simpleString() for each in ("date", "timestamp")):
                self._stage.gave_dates = True
            if name == "first" or (name == "head" and not arguments and not named):
                return row
            if name == "toLocalIterator":
                return iter([row])
            if name in ("toPandas", "toArrow"):
                made = importlib.import_module("pandas").DataFrame([row.asDict()])
                return made if name == "toPandas" else sys.modules["pyarrow"].Table.from_pandas(made)
            return [row]

        return action

    def _viewing(self, method: Callable[[Any, str], None]) -> Callable[[Any, str], None]:
        def view(frame: Any, name: str) -> None:
            method(frame, name)
            self.world_of(frame.sparkSession).drop_view(name)

        return view

    def _joining(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def joined(frame: Any, *arguments: Any, **named: Any) -> Any:
            others = [each for each in (*arguments, *named.values()) if Unknown.of(each) is not None]
            if not others:
                return method(frame, *arguments, **named)
            known = Unknown((self._plan(frame),))
            for each in others:
                known = known.joined(Unknown.of(each) or Unknown())
            return self._unknown(frame.sparkSession, known)

        joined.__name__ = name
        return joined

    def _watermarking(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def watermarked(frame: Any, eventTime: str, delayThreshold: str) -> Any:
            # Spark removes it from a plan that is no stream, as this one.
            settings = self._stage.settings
            settings[f"watermark {len(settings)}"] = f"{eventTime} {delayThreshold}"
            return method(frame, eventTime, delayThreshold)

        return watermarked

    def _late(self, name: str) -> Callable[..., Any]:
        def method(frame: Any, *arguments: Any, **named: Any) -> Any:
            return getattr(self._frame, name)(frame, *arguments, **named)

        return method

    def _is_streaming(self, frame: Any) -> bool:
        """Return whether a stream reads one of the places of a DataFrame; False within a batch of a stream."""
        if self._in_batch:
            return False
        known = Unknown.of(frame)
        places = self.world.places_of(frame) if known is None else known.places
        return any(DataPlace.of_text(each).streamed for each in places)

    def _methods_of_unknown(self) -> dict[str, Any]:
        def view(frame: Any, name: str) -> None:
            known = Unknown.of(frame)
            if known is not None:
                self.world_of(frame.sparkSession).put_view(name, known)

        return {
            **dict.fromkeys(_VIEWS, view),
            **{name: self._action(name) for name in _ROWS},
            "_to_pandas": self._action("toPandas"),
            # These methods are replaced later.
            **{name: self._late(name) for name in ("approxQuantile", "corr", "cov", "inputFiles")},
            **dict.fromkeys(_QUIET, lambda *_, **__: None),
            "count": self._count,
            "isEmpty": lambda _: self._stage.is_empty("isEmpty()"),
            "columns": property(lambda _: []),
            "dtypes": property(lambda _: []),
            "schema": property(lambda _: StructType([])),
            "isStreaming": property(self._is_streaming),
            "sparkSession": property(lambda self_: vars(self_)["_session"]),
            "transform": lambda self_, call, *rest, **named: call(self_, *rest, **named),
            "write": property(DataFrameWriter),
            "writeStream": property(DataStreamWriter),
            "writeTo": _writer_to,
            "na": property(UnknownParts),
            "stat": property(lambda self_: self_),
            "rdd": property(UnknownRows),
        }


class _OwnSession(SparkSession):  # type: ignore[misc]
    """A session of the script without the patches, for the analysis of its statements."""

    sql = SparkSession.sql
    conf = SparkSession.conf


def own_session(spark: Any) -> Any:
    """Return a session that is not patched, with the same views, settings and catalogs."""
    if isinstance(spark, _OwnSession):
        return spark
    found: Any = object.__new__(_OwnSession)
    vars(found).update(vars(spark))
    return found


class ScriptConf:
    """
    The properties of a session, for a script.

    Args:
        conf: Spark's properties.
        given: the properties that the script has set; Spark gets those that concern its SQL.
        hosts: the properties of the dry run's own JVM, which are hidden from the script.
        stage: records properties that only the real application has.
    """

    def __init__(self, conf: Any, given: dict[str, str], hosts: Mapping[str, str], stage: Stage) -> None:
        self._conf = conf
        self._given = given
        self._hosts = hosts
        self._stage = stage

    def set(self, key: str, value: Any) -> None:
        """Set a property."""
        self._given[str(key)] = str(value)
        if str(key).startswith("spark.sql.") and not is_kept_setting(str(key)):
            # A property that is unknown here, or that a running session can't change, is only remembered.
            with contextlib.suppress(*spark_errors()):
                self._conf.set(key, value)

    def get(self, key: str, default: Any = _NO_VALUE) -> Any:
        """Return a property, or a stand-in for one that only the real application has."""
        if key in self._given:
            return self._given[key]
        if key not in self._hosts:
            with contextlib.suppress(*spark_errors()):
                return self._conf.get(key) if default is _NO_VALUE else self._conf.get(key, default)
        if default is not _NO_VALUE:
            return default
        message = f"the property {key} is not set: its value is assumed to be {{{key}}} (--conf {key}=VALUE sets it)"
        self._stage.problem("STAND_IN", message)
        return f"{{{key}}}"

    def unset(self, key: str) -> None:
        """Forget a property."""
        if self._given.pop(key, None) is None:
            # The call of the script may have set it.
            self._stage.settings[f"unset {key}"] = ""
        with contextlib.suppress(*spark_errors()):
            self._conf.unset(key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conf, name)


class ContextConf:
    """
    The properties of a context, for a script: a copy, as in a real run.

    Args:
        conf: returns the properties of the session.
        given: the properties that the script has set.
    """

    def __init__(self, conf: ScriptConf, given: Mapping[str, str]) -> None:
        self._conf = conf
        self._given = dict(given)

    def get(self, key: str, defaultValue: Any = None) -> Any:
        """Return a property."""
        if key in self._given:
            return self._given[key]
        return self._conf.get(key) if defaultValue is None else self._conf.get(key, defaultValue)

    def getAll(self) -> list[tuple[str, str]]:  # noqa: N802 (likewise)
        """Return the properties that the script has set."""
        return list(self._given.items())

    def contains(self, key: str) -> bool:
        """Return whether the script has set a property."""
        return key in self._given

    def set(self, key: str, value: Any) -> Any:
        """Change the copy."""
        self._given[key] = str(value)
        return self

    def toDebugString(self) -> str:  # noqa: N802 (likewise)
        """Return the properties as text."""
        return "\n".join(f"{key}={value}" for key, value in sorted(self._given.items()))


def _writer_to(frame: Any, table: str) -> Any:
    return DataFrameWriterV2(frame, table)
