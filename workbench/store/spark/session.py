"""The Spark session of a store: the only module of the store that imports PySpark."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store.spark.rows import write_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame, Row, SparkSession

_NAME = "openlineage-pyspark store"
_LONGEST_REASON = 2000
# py4j has an answer of the JVM for every other error: a stack, or the reason why it knows no such method.
_NO_ANSWER = re.compile(r"An error occurred while calling \S+")
# The store's own statements are not part of the user's lineage, unless the user wants them.
_QUIET = {"spark.openlineage.disabled": "true", "spark.ui.showConsoleProgress": "false"}

_PYTHON = "PYSPARK_PYTHON"
_PYTHON_KEY = "spark.pyspark.python"
_AT_ONCE = 4
_KAFKA = "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}"
_NONE: Mapping[str, str] = MappingProxyType({})
_CONF: ContextVar[Mapping[str, str]] = ContextVar("properties of a session that reads rows", default=_NONE)
_S3 = "org.apache.hadoop:hadoop-aws:{hadoop}"


@contextmanager
def configured(conf: Mapping[str, str]) -> Iterator[None]:
    """Set the Spark properties of a session that is started to read the rows of a table."""
    before = _CONF.set(dict(conf))
    try:
        yield
    finally:
        _CONF.reset(before)


def session_of_rows() -> SparkSession:
    """
    Return the session that reads the rows of a table: the active one, or a new one with the settings of `configured`.

    Raises:
        StoreError: PySpark is not installed, or no session starts.
    """
    return active_or_new_session(_CONF.get(), what="reading the rows of a table")


def active_or_new_session(
    conf: Mapping[str, str], *, is_session_catalog: bool = False, what: str = "a store in Spark's tables"
) -> SparkSession:
    """
    Return the active session if no settings are given, or else a new one.

    The Python workers of a new local session run this interpreter, unless the environment or the configuration names
    another one: only this one is known to have the package. The workers of a cluster run the interpreter there.

    Args:
        conf: Spark properties, as `spark-submit --conf` takes them.
        is_session_catalog: whether the store is in Spark's own catalog, which a metastore must keep.
        what: what needs the session, for the error message.

    Raises:
        StoreError: PySpark is not installed, or no session starts.
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError:
        raise StoreError(f"{what} needs PySpark 3.5 or newer: pip install pyspark") from None
    active = SparkSession.getActiveSession()
    if active is not None and not conf:
        return active
    builder = SparkSession.builder.appName(_NAME)
    for key, value in {**_QUIET, **conf}.items():
        builder = builder.config(key, value)
    if is_session_catalog and "spark.sql.catalogImplementation" not in conf:
        builder = builder.enableHiveSupport()
    is_new = SparkContext._active_spark_context is None
    with named_failure("Spark did not start"):
        session = builder.getOrCreate()
        if is_new:
            context = session.sparkContext
            named = context.getConf().get(_PYTHON_KEY) or ""
            context.pythonExec = python_of_workers(
                context.master, named, os.environ.get(_PYTHON, ""), context.pythonExec
            )
    return session


def prepare_executors(session: SparkSession) -> None:
    """
    Send the executors of a cluster the parts of this package that they need; those of a local session have it.

    Raises:
        StoreError: the modules are not found as files.
    """
    context = session.sparkContext
    if context.master.startswith("local"):
        return
    archive = Path(tempfile.mkdtemp(prefix="openlineage-store-")) / "openlineage_pyspark_store.zip"
    write_package(archive)
    context.addPyFile(str(archive))


def answered_rows(data: DataFrame) -> list[Row]:
    """
    Return the rows of a query that is not used again, and let the JVM forget it.

    py4j's objects form cycles. Until Python looks for those, the JVM keeps each query with its plan and with the
    tables that it broadcast: half a megabyte, of which Python knows nothing. A thousand queries fill a driver.
    """
    try:
        return list(data.collect())
    finally:
        gateway: Any = data.sparkSession.sparkContext._gateway
        gateway.detach(data._jdf)


def keep_on_disk(data: DataFrame) -> None:
    """
    Let Spark compute data once, and keep them on the executors' disks.

    Spark's default brings a whole partition back into memory when it is read. The events of one partition may take more
    than an executor has.
    """
    from pyspark import StorageLevel

    data.persist(StorageLevel.DISK_ONLY)


def python_of_workers(master: str, configured: str, variable: str, default: str) -> str:
    """
    Return the interpreter of a session's Python workers.

    Args:
        master: the session's master.
        configured: the value of spark.pyspark.python, which spark-submit respects and PySpark alone does not.
        variable: the value of PYSPARK_PYTHON.
        default: what PySpark uses by default: `python3` of the PATH.
    """
    if configured or variable:
        return configured or variable
    return sys.executable if master.startswith("local") and sys.executable else default


def at_once(session: SparkSession, calls: Iterable[Callable[[], None]]) -> None:
    """
    Make calls that need Spark's driver most of the time, a few of them at the same time.

    Their threads have the local properties of this one: what a stream runs ends with the stream.

    Args:
        session: the Spark session that they use.
        calls: the calls. If one of them raises something, no further ones are begun, and that is raised.
    """
    context: Any = session.sparkContext._jsc.sc()
    properties = context.getLocalProperties()
    pool = ThreadPoolExecutor(_AT_ONCE, initializer=lambda: context.setLocalProperties(properties.clone()))
    try:
        for made in [pool.submit(call) for call in calls]:
            made.result()
    finally:
        pool.shutdown(cancel_futures=True)


def package_of_kafka(session: SparkSession) -> str:
    """Return the Maven package with which a session reads Kafka."""
    return _package(_KAFKA, session)


def package_of_s3(session: SparkSession) -> str:
    """Return the Maven package with which a session reads S3."""
    return _package(_S3, session)


def _package(pattern: str, session: SparkSession) -> str:
    jvm: Any = session.sparkContext._jvm
    scala = str(jvm.scala.util.Properties.versionNumberString()).rpartition(".")[0]
    hadoop = str(jvm.org.apache.hadoop.util.VersionInfo.getVersion())
    return pattern.format(scala=scala, spark=session.version, hadoop=hadoop)


@contextmanager
def named_failure(what: str, advice: str = "") -> Iterator[None]:
    """
    Turn what Spark raises, and what Python raises once its JVM has ended, into a StoreError.

    Args:
        what: what could not be done.
        advice: what may help, as a sentence.

    Raises:
        StoreError: Spark raised something, or has ended.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as problem:
        raise StoreError("\n".join([f"{what}: {spark_reason_of(problem)}", *([advice] if advice else [])])) from problem


def spark_reason_of(problem: BaseException) -> str:
    """Return why Spark refused something: its message without the stack of the JVM."""
    text = str(problem).strip()
    if isinstance(problem, ConnectionError) or _NO_ANSWER.fullmatch(text):
        # On Ctrl-C, the handler of PySpark 3.5 calls by the connection that waits, and breaks it.
        return "the JVM of Spark does not answer: it has ended, or Ctrl-C interrupted the call"
    lines = text.splitlines()
    kept = [line for line in lines if not line.startswith(("\tat ", "\t... "))]
    return "\n".join(kept)[:_LONGEST_REASON]
