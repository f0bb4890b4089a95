"""
The one boundary to the driver's JVM.

Nothing else in the package touches py4j, and only `hadoop_files` uses other Java objects. The probe (`Probe.java` and
the sources beside it) is compiled in the JVM with the Janino that Spark ships for its own code generation. It has its
own listener queue, and Python polls it for its records: there is no callback server and no open port. `PROTOCOL.md`
describes the protocol between the two.
"""

from __future__ import annotations

import contextlib
import functools
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs
from openlineage_pyspark.errors import ProbeError
from openlineage_pyspark.facets.urls import without_credentials
from openlineage_pyspark.listener.probe import class_cache, java_sources, readings
from openlineage_pyspark.listener.probe.limits import ProbeLimits

# Hadoop's clients for object stores, which Spark does not include -> the package that the job must be started with.
_CONNECTORS = {
    "S3AFileSystem": "org.apache.hadoop:hadoop-aws",
    "AzureBlobFileSystem": "org.apache.hadoop:hadoop-azure",
    "NativeAzureFileSystem": "org.apache.hadoop:hadoop-azure",
    "GoogleHadoopFileSystem": "com.google.cloud.bigdataoss:gcs-connector",
}


@attrs.frozen
class PythonProcess:
    """
    The Python process of the driver, and how to start another one that delivers its last words.

    Args:
        id: the process id.
        command: the command line of the other process, which reads the words from its standard input.
        kept: a file that the JVM opens but never reads, so that the other process finds it among the JVM's open files.
        seconds: how long the JVM waits for the other process before it kills it.
    """

    id: int
    command: tuple[str, ...]
    kept: str
    seconds: int


class Probe:
    """Controls the probe in one JVM."""

    QUEUE = "openlineage"

    def __init__(self, gateway: Any, limits: ProbeLimits, *, cached: bool = True) -> None:
        """
        Compile the probe.

        Args:
            gateway: py4j's gateway of the driver (`SparkContext._gateway`).
            limits: the probe's limits.
            cached: whether its classes may be loaded from the cache and stored there.

        Raises:
            ProbeError: the JVM has no Janino, or the probe does not compile against its Spark.
        """
        from py4j.protocol import Py4JError

        self._gateway = gateway
        self._at_once = threading.local()
        # The number of the last batch of records that arrived.
        self._acknowledged = 0
        jvm = gateway.jvm
        try:
            arguments = gateway.new_array(jvm.java.lang.Object, 5)
            for at, value in enumerate(
                (readings.table(limits.options), limits.max_nodes, limits.max_bytes, limits.max_waiting, limits.reads)
            ):
                arguments[at] = jvm.java.lang.Long(value) if at in (2, 3) else value
            self._java: Any = _probe_class(gateway, cached=cached).getConstructors()[0].newInstance(arguments)
        except (Py4JError, TypeError) as problem:
            raise ProbeError(_short(problem)) from problem

    def attach(self, java_spark_context: Any) -> None:
        """
        Start listening to the executions of a context, on the probe's own listener queue.

        Args:
            java_spark_context: `SparkContext._jsc`.

        Raises:
            ProbeError: the JVM refuses, or does not answer.
        """
        with as_probe_error():
            context = java_spark_context.sc()
            self._java.watch(context, self.QUEUE)
            context.listenerBus().addToQueue(self._java, self.QUEUE)

    @property
    def gone(self) -> tuple[type[Exception], ...]:
        """The exceptions that a call raises if the JVM has ended."""
        from py4j.protocol import Py4JNetworkError

        return (ConnectionError, Py4JNetworkError)

    def detach(self, java_spark_context: Any) -> None:
        """Stop listening to a context."""
        java_spark_context.sc().listenerBus().removeListener(self._java)

    def speak_for(self, python: PythonProcess) -> None:
        """
        Make the JVM deliver the last words if the Python process of the driver is killed.

        Args:
            python: the process, and how to start the one that delivers them.

        Raises:
            OSError: the JVM is shutting down, or does not answer.
        """
        with as_os_error():
            lang = self._gateway.jvm.java.lang
            command = self._gateway.new_array(lang.String, len(python.command))
            for at, word in enumerate(python.command):
                command[at] = word
            self._java.speakFor(lang.Long(python.id), command, python.kept, lang.Long(python.seconds))

    def entrust(self, words: str) -> None:
        """
        Replace the last words; call `speak_for` first.

        Args:
            words: the standard input of the other process; empty if there is nothing to deliver.

        Raises:
            OSError: the JVM is gone.
        """
        with as_os_error():
            self._java.entrust(words)

    def take(self, wait_milliseconds: int) -> list[str]:
        """
        Return the waiting records, oldest first.

        Args:
            wait_milliseconds: how long to wait for the first one.

        Returns:
            Each record as one JSON text; an empty list if none came in time.
        """
        # If the connection breaks, py4j repeats the call, and the probe returns the same batch again.
        head: str = self._java.take(self._acknowledged, wait_milliseconds)
        if not head:
            return []
        number, pieces = map(int, head.split(" "))
        taken = "".join(self._java.piece(each) for each in range(pieces))
        self._acknowledged = number
        return [record for record in taken.split("\n") if record]

    def is_running(self, execution: int) -> bool:
        """Return whether an execution is still running; False if the JVM has ended."""
        with contextlib.suppress(*self.gone):
            return bool(self._java.isRunning(execution))
        return False

    def wake(self) -> None:
        """Make a waiting `take` return at once."""
        self._java.wake()

    def settle(self, java_spark_context: Any, seconds: float) -> None:
        """
        Wait until the context's listener bus has delivered its events.

        Args:
            java_spark_context: `SparkContext._jsc`.
            seconds: the longest time to wait.
        """
        context = java_spark_context.sc()
        if not context.isStopped():
            context.listenerBus().waitUntilEmpty(int(max(seconds, 0.001) * 1000))

    def lost(self) -> int:
        """Return how many records were dropped because they were not fetched in time."""
        return int(self._java.lost())

    def analyzed(self, statement: str, java_session: Any) -> Any:
        """
        Return the analyzed plan of a statement, without running it.

        Args:
            statement: its text.
            java_session: the session in the JVM, whose parser and analyzer make the plan.

        Raises:
            ValueError: Spark would run the statement while analyzing it, or the statement is an EXPLAIN.
        """
        return _plan_in(self._java.analyzed(statement, java_session))

    def attempted(self, statement: str, java_session: Any, attempt: Callable[[Any, str, str, Any], Any]) -> Any:
        """
        Return the outcome of analyzing a statement with the caller's own call of the JVM.

        Args:
            statement: its text.
            java_session: the session in the JVM.
            attempt: calls a method of an object in the JVM; it gets the object, the method's name, a text and the
                session.

        Raises:
            ValueError: Spark would run the statement while analyzing it, or the statement is an EXPLAIN.
        """
        return _plan_in(attempt(self._java, "analyzed", statement, java_session))

    def encode(self, query: Any, java_session: Any) -> str:
        """
        Return the encoding of a plan that is not being run.

        Args:
            query: an analyzed plan in the JVM; or the text of a statement, which is analyzed first.
            java_session: the session in the JVM.

        Raises:
            ValueError: Spark would run the statement while analyzing it, or the statement is an EXPLAIN.
            ProbeError: the JVM has dropped the encoding, because too many others were requested at the same time.
        """
        encode = self._java.encodeStatement if isinstance(query, str) else self._java.encode
        pieces, number, first = encode(query, java_session, self._sends_at_once()).split(" ", 2)
        if pieces == "0":
            raise _refused(first)
        taken = [first, *(self._java.encoded(int(number), at) for at in range(1, int(pieces)))]
        if None in taken:
            raise ProbeError("too many plans are read from the JVM at the same time: ask for them in fewer threads")
        return "".join(taken)

    def _sends_at_once(self) -> bool:
        """
        Return whether this thread receives an answer of any length without delay.

        This takes one more call for each thread, because PySpark has one connection for each thread unless
        `PYSPARK_PIN_THREAD=false`.
        """
        from py4j.clientserver import ClientServer

        known: bool | None = getattr(self._at_once, "known", None)
        if known is None:
            pinned = isinstance(self._gateway, ClientServer)
            known = pinned and bool(self._java.sendAtOnce(self._gateway.java_gateway_server))
            self._at_once.known = known
        return known


_CLASS = "openlineage.pyspark.Probe"
NOT_SUPPORTED = "lineage() does not support "
"""The beginning of the error about a statement that is not analyzed."""
_CLASSES: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_COMPILING = threading.Lock()


def _plan_in(found: Any) -> Any:
    """Return the probe's answer about a statement; raise ValueError if it is a kind of statement, and not a plan."""
    if isinstance(found, str) and found in readings.REFUSED:
        raise _refused(found)
    return found


def _refused(kind: str) -> ValueError:
    """Return the error about a statement that is not analyzed, by the class of the parsed statement."""
    return ValueError(f"{NOT_SUPPORTED}{readings.REFUSED[kind]}")


def _probe_class(gateway: Any, *, cached: bool) -> Any:
    """Return the probe's class, loaded once per JVM, because py4j caches methods by the name of their class."""
    with _COMPILING:
        if gateway not in _CLASSES:
            _CLASSES[gateway] = load_class(gateway.jvm, java_sources.compilation_unit(), cached=cached)
        return _CLASSES[gateway]


def load_class(jvm: Any, source: str, *, cached: bool = True) -> Any:
    """
    Return the probe's class: from the cache, or compiled.

    Args:
        jvm: py4j's view of the driver.
        source: source of the class and of those that it needs, as one compilation unit.
        cached: whether it may be loaded from the cache and stored there.
    """
    from py4j.protocol import Py4JJavaError

    parent = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    java = [jvm.java.lang.System.getProperty(f"java.{name}") for name in ("vm.name", "vm.version", "class.path")]
    directory, key = class_cache.directory() if cached else None, class_cache.cache_key(source, *java)
    kept = class_cache.cached_classes(directory, key) if directory is not None else None
    if kept is not None:
        codes, initialize = jvm.java.util.HashMap(), True
        for name, code in kept.items():
            codes.put(name, code)
        loader = jvm.org.codehaus.commons.compiler.util.reflect.ByteArrayClassLoader(codes, parent)
        # If this JVM rejects the cached classes, they are compiled again.
        with contextlib.suppress(Py4JJavaError):
            return jvm.java.lang.Class.forName(_CLASS, initialize, loader)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(parent)
    compiler.cook(source)
    if directory is not None:
        class_cache.store(directory, key, {str(name): bytes(code) for name, code in compiler.getBytecodes().items()})
    return compiler.getClassLoader().loadClass(_CLASS)


@attrs.frozen
class ContextFacts:
    """
    The facts about an application that its SparkContext provides.

    Args:
        application_id: Spark's application id.
        start_milliseconds: when it started, in milliseconds since the epoch.
        version: the version of Spark.
        user: the user who runs it.
        ui: the address of its web UI, if it has one.
        conf: the SparkConf.
        metastore: `hive.metastore.uris`, wherever it is configured.
    """

    application_id: str
    start_milliseconds: int
    version: str
    user: str
    ui: str | None
    conf: Mapping[str, str]
    metastore: str | None = None


def context_facts(java_spark_context: Any) -> ContextFacts:
    """Return the facts that a context (`SparkContext._jsc`) provides about its application."""
    scala_context = java_spark_context.sc()
    ui = scala_context.uiWebUrl()
    conf = {pair._1(): pair._2() for pair in scala_context.getConf().getAll()}
    key = "hive.metastore.uris"
    # The second key is one of the Java integration; Hadoop's configuration includes hive-site.xml.
    metastore = conf.get(key) or conf.get(f"spark.sql.{key}") or scala_context.hadoopConfiguration().get(key)
    return ContextFacts(
        application_id=str(scala_context.applicationId()),
        start_milliseconds=int(scala_context.startTime()),
        version=str(scala_context.version()),
        user=str(scala_context.sparkUser()),
        ui=str(ui.get()) if ui.isDefined() else None,
        conf=conf,
        metastore=metastore or None,
    )


@contextlib.contextmanager
def as_os_error() -> Iterator[None]:
    """Convert failures of a call to the JVM into OSError: an exception in Java, or the end of the JVM."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError as problem:
        text = without_credentials(_short(problem))
        missing = next((package for name, package in _CONNECTORS.items() if name in text), None)
        if missing is not None and "ClassNotFoundException" in text:
            text += f"; start the job with --packages {missing}:VERSION"
        raise OSError(text) from problem


@contextlib.contextmanager
def as_probe_error() -> Iterator[None]:
    """Convert failures of a call to the JVM into ProbeError, unless PySpark has its own exception for them."""
    from py4j.protocol import Py4JError

    try:
        yield
    except Py4JError as problem:
        raise ProbeError(without_credentials(_short(problem))) from problem


def context_of(spark: Any) -> Any:
    """
    Return the running SparkContext of a session.

    Args:
        spark: a `pyspark.sql.SparkSession`.

    Raises:
        TypeError: it is not a session.
        ProbeError: it is a Spark Connect session, or is stopped.
    """
    if not hasattr(spark, "createDataFrame"):
        raise TypeError(f"expected a SparkSession, got {_type_of(spark)}")
    # A Spark Connect session raises for `sparkContext` and has no `_sc`.
    context = getattr(spark, "_sc", None)
    if context is None or getattr(context, "_gateway", None) is None:
        raise ProbeError(
            "a Spark Connect session has no driver JVM: use a session on the driver itself, or put "
            "spark.openlineage.transport.type and its options where the Connect server starts, such as its "
            "spark-defaults.conf (docs/limits.md says which servers)"
        )
    if context._jsc is None:
        raise ProbeError("this session is stopped: create a new one with SparkSession.builder.getOrCreate()")
    return context


def active_session() -> Any:
    """Return PySpark's active session, or else its first running one; None if there is none."""
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    first = SparkSession._instantiatedSession
    running = first is not None and getattr(getattr(first, "_sc", None), "_jsc", None) is not None
    return first if running else None


def refusals() -> tuple[type[Exception], ...]:
    """Return the exceptions by which Spark refuses a query: it is not SQL, or names something that does not exist."""
    from pyspark.errors import PySparkException

    return (PySparkException,)


def plan_of_frame(query: Any) -> Any:
    """
    Return the analyzed plan of a DataFrame, in the JVM.

    Raises:
        TypeError: `query` is not a DataFrame.
    """
    frame = getattr(query, "_jdf", None)
    if frame is None:
        raise TypeError(f"lineage() takes a DataFrame or the text of an SQL statement, not {_type_of(query)}")
    return frame.queryExecution().analyzed()


@attrs.frozen
class Refusal:
    """
    Why Spark can't parse or analyze a statement.

    Args:
        code: the class of the error, such as `TABLE_OR_VIEW_NOT_FOUND`; empty if it has none.
        message: the problem on one line, without a stack trace and without the statement.
        parameters: the names in the error, such as `relationName`.
        line: the line within the statement, from 1; None if Spark does not report it.
        column: the position on that line, from 0.
        is_sql: whether Spark's parser accepts the text.
    """

    code: str
    message: str
    parameters: Mapping[str, str] = attrs.field(factory=dict)
    line: int | None = None
    column: int | None = None
    is_sql: bool = True


def analysis_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions with which Spark refuses a statement: its parser's, and its analyzer's."""
    from pyspark.errors import AnalysisException

    # The parser's exception is a subclass of it.
    return (AnalysisException, StatementRefusedError)


def spark_errors() -> tuple[type[Exception], ...]:
    """Return all classes of Spark's own exceptions, such as that of a setting with a value of the wrong type."""
    from pyspark.errors import PySparkException

    return (PySparkException, StatementRefusedError)


class StatementRefusedError(Exception):
    """
    Raised if Spark refuses a statement.

    The JVM returns the reason as texts, because to read a Java exception takes many calls.

    Args:
        refusal: the reason.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def refusal_in(parts: Sequence[str]) -> Refusal:
    """
    Return a refusal from the JVM's data about a Spark exception.

    Args:
        parts: whether it is SQL (empty if not), the class of the error, and the message; for the analyzer's messages
            also the line and the column, empty if unknown, and the parameters, each after its name.
    """
    is_sql, code, message, line, column, *parameters = [*parts, "", ""] if len(parts) == 3 else parts
    named = dict(zip(parameters[::2], parameters[1::2], strict=True))
    at = int(line) if line else None, int(column) if column else None
    return Refusal(code, _message(message, code), named, at[0], at[1], bool(is_sql))


def refusal_of(problem: Exception) -> Refusal:
    """Return the refusal in a Spark exception, with its place if it comes from the parser or the analyzer."""
    if isinstance(problem, StatementRefusedError):
        return problem.refusal
    from pyspark.errors import AnalysisException, ParseException

    java = getattr(problem, "_origin", None)
    code = parameters = None
    line = column = None
    if not isinstance(problem, AnalysisException):
        # Before Spark 4, the method was called `getErrorClass`.
        code = (getattr(problem, "getCondition", None) or problem.getErrorClass)()  # type: ignore[attr-defined]
    elif java is not None:
        code, parameters = java.getErrorClass(), java.getMessageParameters()
        line, column = (found.get() if found.isDefined() else None for found in (java.line(), java.startPosition()))
    message = _message(str(problem), str(code))
    return Refusal(
        str(code or ""), message, dict(parameters or {}), line, column, not isinstance(problem, ParseException)
    )


def _message(text: str, code: str) -> str:
    """Return the message of an exception on one line, without the class of the error and without the statement."""
    text = _ENDING.split(text.strip(), maxsplit=1)[0]
    return " ".join(text.removeprefix(f"[{code}]").split()).rstrip(".")


_unlogged = threading.local()


def _is_logged(_record: object) -> bool:
    return not getattr(_unlogged, "active", False)


@functools.cache
def _filter_refusals() -> None:
    # PySpark 3.5 has no such log.
    with contextlib.suppress(ImportError):
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger("SQLQueryContextLogger").addFilter(_is_logged)


@contextlib.contextmanager
def unlogged_refusals() -> Iterator[None]:
    """Keep Spark's refusals on this thread out of PySpark's log: PySpark 4 logs each such exception as an error."""
    _filter_refusals()
    _unlogged.active = True
    try:
        yield
    finally:
        _unlogged.active = False


# The parts after the message: the error's class in SQL, the place, the statement, the plan.
_ENDING = re.compile(r"[.;]? SQLSTATE: |; line \d+,? pos \d+|\s*\(line \d+, pos \d+\)|\n== SQL|;\n'|\nSearch path: ")


def _type_of(value: object) -> str:
    """Return the full name of a value's type: several libraries have a DataFrame."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _short(problem: Exception) -> str:
    java = getattr(problem, "java_exception", None)
    text = str(java.toString()) if java is not None else str(problem)
    return text.split("\n", 1)[0][:400]
