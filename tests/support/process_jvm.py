"""
The one JVM that PySpark starts in a process of the tests: it begins bare, and each session leaves it so.

PySpark gives the properties of the first session to the JVM that it starts for it, and they stay there as properties of
the system: each later session of the process takes them up. So the JVM starts before any session, without properties.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_EVERY_START = (
    *("spark.app.name", "spark.app.submitTime", "spark.master", "spark.submit.", "spark.ui.show"),
    # Of `class_archive.INTERPRETED`.
    "spark.sql.codegen.",
)


def started() -> Any:
    """
    Return the gateway of this process's JVM, which is started where there is none.

    Raises:
        RuntimeError: a session's properties are in it.
    """
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    gateway = SparkContext._gateway
    foreign = sorted(
        f"{name}={value}"
        for name, value in dict(gateway.jvm.java.lang.System.getProperties()).items()
        if name.startswith("spark.") and not name.startswith(_OF_EVERY_START)
    )
    if foreign:
        raise RuntimeError(f"an earlier test has started the JVM of this process with its own properties: {foreign}")
    return gateway


@contextmanager
def with_jars(jars: str) -> Iterator[None]:
    """
    Have a JVM that knows jars from its start on, and end it afterwards; without jars, that of the process will do.

    Args:
        jars: as of `spark.jars`.
    """
    from pyspark import SparkConf, SparkContext

    if not jars:
        started()
        yield
        return
    _end()
    # Without a JVM, PySpark's own class holds the properties.
    SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False).set("spark.jars", jars))
    try:
        yield
    finally:
        _end()


def _end() -> None:
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)
    SparkContext._gateway = SparkContext._jvm = None
