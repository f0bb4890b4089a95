"""Start a Spark that ignores the configuration of the machine, connects to nothing, and cleans up after itself."""

from __future__ import annotations

import atexit
import functools
import logging
import os
import re
import shutil
import socket
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.errors import LineageError
from openlineage_pyspark.workbench.predict.class_archive import class_archive

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.workbench.predict.class_archive import ClassArchive

_STDERR = 2
_MOST_LINES = 3
# What a JVM writes in any case, and the frames of a stack.
_NO_REASON = ("Setting default log level", "To adjust logging level", "WARNING: Using incubator modules", "\t")
# Without an appender, Spark uses its own log configuration.
_QUIET = """\
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
appender.none.type = Null
appender.none.name = none
"""
_LOG4J = "log4j2.properties"
# A path that never exists, and that no user can create.
_NO_FOLDER = f"{os.devnull}/conf"
# With only the first option, the JVM has a fifth of the usual code cache, and prints to stdout when that is full.
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
_SEARCHED = ("SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_REMOTE", "PYSPARK_SUBMIT_ARGS", "SPARK_HOME",
             "SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME")  # fmt: skip
_PYTHON = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
_CONF = {
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.hadoop.fs.defaultFS": "file:///",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.legacy.createHiveTableByDefault": "false",
    # Otherwise Spark would list any path in a FROM.
    "spark.sql.runSQLOnFiles": "false",
    # Otherwise Spark would substitute environment variables, which a script must not show (`variables.py`).
    "spark.sql.variable.substitute": "false",
    "spark.openlineage.disabled": "true",
}


@contextmanager
def throw_away_session(conf: Mapping[str, str], *, classes: Path | None = None, purpose: str = "sql") -> Iterator[Any]:
    """
    Yield a new local Spark that uses no configuration but its own, and remove everything that it created.

    The temporary folder of its JVM is removed when the process ends, since a later session may use the same JVM.

    Args:
        conf: further properties.
        classes: the folder with the archives of the classes that JVMs load; None to use none.
        purpose: the JVM's task, which decides which classes it loads.

    Raises:
        LineageError: PySpark is not installed, Spark already runs in this process, or Spark does not start.
        OSError: the archives can't be read, or no temporary folder can be written.
    """
    try:
        from pyspark import SparkContext
        from pyspark.find_spark_home import _find_spark_home
    except ImportError:
        raise LineageError("the lineage of files needs PySpark 3.5 or newer: pip install pyspark") from None
    if SparkContext._active_spark_context is not None:
        raise LineageError("Spark already runs in this process: stop it, because the lineage of files needs its own")
    home = _find_spark_home()
    # The JVM's options are split at spaces, so no path may have one; a JVM that already runs has loaded its classes.
    fits = SparkContext._gateway is None and not re.search(r"\s", tempfile.gettempdir())
    archive = class_archive(classes, Path(home, "jars"), purpose) if classes is not None and fits else None
    with _own_environment(home, archive) as folder, _quiet_pyspark():
        spark, is_whole = None, False
        try:
            spark = _started(folder, conf)
            yield spark
            is_whole = True
        finally:
            if spark is not None:
                spark.stop()
            if archive is not None and archive.is_made and SparkContext._gateway is not None:
                (archive.write if is_whole else archive.give_up)(_detached_jvm(SparkContext))


@contextmanager
def _own_environment(home: str, archive: ClassArchive | None) -> Iterator[Path]:
    """Set the environment variables that Spark reads, and yield the folder for all of Spark's files."""
    kept = {name: os.environ.pop(name, None) for name in (*_SEARCHED, *_PYTHON)}
    folder = Path(tempfile.mkdtemp(prefix="openlineage-pyspark-"))
    try:
        # For an unknown provider, Spark would start Python, which imports all modules called `pyspark_...`.
        os.environ.update(dict.fromkeys(_PYTHON, str(folder / "no-python")), SPARK_HOME=home)
        (folder / _LOG4J).write_text(_QUIET, encoding="utf-8")
        os.environ["SPARK_CONF_DIR"] = str(folder)
        os.environ.update(SPARK_LOCAL_IP="127.0.0.1", SPARK_LOCAL_HOSTNAME="localhost")
        java = [_QUICK_JVM, *_kept_in(_folder_of_jvm())]
        if archive is not None:
            # An archive requires the same class path, in which no folder may contain files.
            os.environ["SPARK_CONF_DIR"] = _NO_FOLDER
            java += [f"-Dlog4j2.configurationFile={folder / _LOG4J}", *archive.options]
        os.environ["PYSPARK_SUBMIT_ARGS"] = f"--driver-java-options '{' '.join(java)}' pyspark-shell"
        yield folder
    finally:
        for name, before in kept.items():
            os.environ.pop(name, None)
            if before is not None:
                os.environ[name] = before
        shutil.rmtree(folder, ignore_errors=True)


def _started(folder: Path, conf: Mapping[str, str]) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("openlineage-pyspark lineage")
    for key, value in {**_CONF, "spark.sql.warehouse.dir": str(folder / "warehouse"), **conf}.items():
        builder = builder.config(key, value)
    log = folder / "stderr"
    try:
        with _stderr_in(log):
            return builder.getOrCreate()
    except (RuntimeError, OSError, Py4JError) as problem:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        kept = [each for each in lines if not each.startswith(_NO_REASON)]
        why = "; ".join([*kept[-_MOST_LINES:], _message(str(problem))])
        raise LineageError(f"Spark did not start: {why}") from problem


def _message(problem: str) -> str:
    """Return the message of an exception; of a Java exception, which py4j puts on the second line, that one's."""
    first, _, rest = problem.partition("\n")
    java = rest.partition("\n")[0]
    return java.removeprefix(": ") if java.startswith(": ") else first


@functools.cache
def _folder_of_jvm() -> Path:
    """Return a folder that exists until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="openlineage-pyspark-jvm-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _kept_in(folder: Path) -> tuple[str, ...]:
    """Return options with which the JVM asks no name server, and keeps its own files in a folder."""
    (hosts := folder / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n", encoding="utf-8")
    # Java's options are split at spaces.
    return () if " " in str(hosts) else (f"-Djdk.net.hosts.file={hosts}", f"-Djava.io.tmpdir={folder}")


def _detached_jvm(context: Any) -> subprocess.Popen[bytes]:
    """Detach this process from its JVM, so that a later session starts a new one, and return the JVM."""
    gateway, context._gateway, context._jvm = context._gateway, None, None
    gateway.shutdown()
    jvm: subprocess.Popen[bytes] = gateway.proc
    return jvm


@contextmanager
def _stderr_in(path: Path) -> Iterator[None]:
    """Redirect the standard error of this process, and of the JVM that it starts, to a file."""
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    with path.open("wb") as file:
        os.dup2(file.fileno(), _STDERR)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, _STDERR)
        os.close(kept)


@contextmanager
def _quiet_pyspark() -> Iterator[None]:
    """Keep PySpark 4 from logging exceptions: those that matter are reported as problems of statements."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        yield
        return
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    before = int(logger.level)
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
