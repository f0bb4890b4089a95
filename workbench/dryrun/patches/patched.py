"""Patch PySpark to use the stage: its readers, writers and functions here, all else by the modules beside this one."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.patches.binary_formats import (
    AVRO,
    PROTOBUF,
    install_avro,
    install_protobuf,
)
from openlineage_pyspark.workbench.dryrun.patches.catalog import ScriptCatalog
from openlineage_pyspark.workbench.dryrun.patches.doors import DoorOfFrame, DoorToJava
from openlineage_pyspark.workbench.dryrun.patches.frames import FrameMethods
from openlineage_pyspark.workbench.dryrun.patches.late_imports import when_imported
from openlineage_pyspark.workbench.dryrun.patches.local_frames import install_local_frames
from openlineage_pyspark.workbench.dryrun.patches.models import MODELS, install_models
from openlineage_pyspark.workbench.dryrun.patches.plots import PLOTS, install_plots
from openlineage_pyspark.workbench.dryrun.patches.rdds import install_rdds
from openlineage_pyspark.workbench.dryrun.patches.sessions import ScriptSessions
from openlineage_pyspark.workbench.dryrun.patches.streams import DSTREAMS, FinishedQuery, install_dstreams
from openlineage_pyspark.workbench.dryrun.patches.table_functions import TABLE_FUNCTIONS, install_table_functions
from openlineage_pyspark.workbench.dryrun.patches.unknown_arguments import install_unknown_arguments
from openlineage_pyspark.workbench.dryrun.patches.worlds import Worlds
from openlineage_pyspark.workbench.dryrun.sandbox.modules import StandIn
from openlineage_pyspark.workbench.dryrun.script.fingerprint import fingerprint
from openlineage_pyspark.workbench.predict.acts import CODE
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from py4j import java_gateway
from py4j.clientserver import JavaClient
from pyspark import SparkContext
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)
from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter, DataFrameWriterV2
from pyspark.sql.streaming import DataStreamReader, DataStreamWriter
from pyspark.sql.udf import UDFRegistration, UserDefinedFunction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_PYTHON_SOURCES = "pyspark.sql.datasource"
_OF_VECTORS = frozenset({"pyspark.ml.linalg", "pyspark.mllib.linalg"})
"""The modules of the values that a parameter of a model passes to the JVM."""
_OF_GROUPS = F.PandasUDFType.GROUPED_AGG


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
        self._stage = stage
        self.worlds = Worlds(spark, tables, session, stage)
        self._frames = FrameMethods(self.worlds)

    def apply(self) -> None:
        """Replace everything, for the rest of the process."""
        ScriptSessions(self.worlds).install()
        install_rdds(self._stage, self._write_rdd)
        self._patch_readers()
        self._patch_writers()
        self._frames.install()
        ScriptCatalog(self.worlds.tables, self._stage, self.worlds.world_of).install()
        self._patch_functions()
        install_unknown_arguments(self._stage, self.worlds.frame, self.worlds.without_columns)
        when_imported(AVRO, lambda: install_avro(self._stage))
        when_imported(PROTOBUF, lambda: install_protobuf(self._stage))
        when_imported(MODELS, lambda: install_models(self._stage, self.worlds.without_columns))
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
        setattr(self.worlds.frame, "_jdf", DoorOfFrame(self._stage))  # noqa: B010 (mypy knows another type)
        take_name = java_gateway.java_import

        def java_import(jvm: Any, name: str) -> Any:
            return None if isinstance(jvm, StandIn) else take_name(jvm, name)

        java_gateway.java_import = java_import
        self._patch_threads()
        # Code that is never sent to a worker need not be pickled; a comparison of plans needs to know what it is.
        pickled = CloudPickleSerializer.dumps
        CloudPickleSerializer.dumps = lambda serializer, command: (
            pickled(serializer, command) if type(command).__module__ in _OF_VECTORS else self._code(command)
        )
        time.sleep = lambda _seconds: None
        pause = asyncio.sleep
        asyncio.sleep = lambda _delay, result=None: pause(0, result)

    def _code(self, command: Any) -> bytes:
        found = fingerprint(command, self._stage.is_users) if self._stage.request.shapes else ""
        return f"{CODE}{found}".encode()

    def _patch_threads(self) -> None:
        """Make each thread of the script find the catalogs, because each has its own thread in the JVM."""
        connect = JavaClient._create_new_connection

        def connected(client: Any) -> Any:
            connection = connect(client)
            self.worlds.world.session.use_from_this_thread()
            return connection

        JavaClient._create_new_connection = connected

    def _patch_functions(self) -> None:
        """Register functions of Java, whose classes are not here, and functions of absent modules by their names."""
        register = UDFRegistration.register

        def any_function(registration: Any, name: str, f: Any, returnType: Any = None) -> Any:
            if not isinstance(f, StandIn):
                return register(registration, name, f, returnType)
            self.worlds.world.session.know_function(name)
            return f

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
                self.worlds.world.session.know_function(name)

        UDFRegistration.register = any_function
        UDFRegistration.registerJavaFunction = one_value
        UDFRegistration.registerJavaUDAF = of_groups

    def _write_rdd(self, rdd: Any, path: str) -> None:
        """Record that an RDD would be written to a path."""
        read = self.worlds.world.reads.plan(self.worlds.spark.createDataFrame(rdd, "value STRING"))
        self.worlds.unknown(self.worlds.spark, Unknown((read,))).write.text(path)

    def _patch_readers(self) -> None:
        def begin(streamed: bool) -> Callable[[Any, Any], None]:  # noqa: FBT001 (of this loop)
            def init(reader: Any, spark: Any) -> None:
                reader._spark = spark
                reader._jreader = self.worlds.world_of(spark).reads.reader(streamed=streamed)

            return init

        for reader, streamed in ((DataFrameReader, False), (DataStreamReader, True)):
            reader.__init__ = begin(streamed)
            reader._df = lambda self_, found: self.worlds.frame_read(found, self_._spark)

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
            writer._jwrite = self.worlds.world_of(writer._spark).writes.writer(frame)

        def init_v2(writer: Any, frame: Any, name: str) -> None:
            writer._df, writer._spark = frame, frame.sparkSession
            writer._jwriter = self.worlds.world_of(writer._spark).writes.table_writer(frame, name)

        def each_batch(writer: Any, func: Callable[[Any, int], None]) -> Any:
            def save(*_: Any) -> None:
                self._stage.hides("the batches of a stream")
                self._frames.in_batch += 1
                func(writer._df, 0)
                self._frames.in_batch -= 1

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
        # Databricks has both names.
        DataStreamWriter.table = DataStreamWriter.toTable
        DataStreamWriter._sq = lambda *_: FinishedQuery()
