"""A session for one script in a running JVM, with its own catalogs, views and settings."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from py4j.protocol import INPUT_CONVERTER
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_PYTHON = "/nowhere/python"


def import_converters() -> None:
    """Import what PySpark imports when it sends the first value to a JVM, such as pandas, which takes a second."""
    for converter in INPUT_CONVERTER:
        converter.can_convert(None)


def attached_session(port: int, secret: str, conf: Mapping[str, str]) -> Any:
    """
    Return a new session, in the context of a JVM.

    Args:
        port: the port of the JVM's gateway.
        secret: its secret.
        conf: Spark's properties for the session.
    """
    os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
    # No worker may run a script's code, so there is no Python for workers.
    os.environ.update(PYSPARK_PYTHON=_NO_PYTHON, PYSPARK_DRIVER_PYTHON=_NO_PYTHON)
    gateway = launch_gateway()
    SparkContext._ensure_initialized(gateway=gateway)
    jvm = gateway.jvm
    java = jvm.JavaSparkContext(jvm.org.apache.spark.SparkContext.getOrCreate())
    context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jvm=jvm, _jconf=java.sc().conf()))
    classic = jvm.org.apache.spark.sql
    name = "org.apache.spark.sql.SparkSession"
    if not str(context.version).startswith("3."):
        classic, name = classic.classic, "org.apache.spark.sql.classic.SparkSession"
    getattr(jvm, f"{name}").clearDefaultSession()
    getattr(jvm, f"{name}").clearActiveSession()
    # A session that is created directly from a context shares no catalog, views or settings with another one.
    made = (
        classic.SparkSession(java.sc())
        if name.count(".") == 4
        else classic.SparkSession(java.sc(), jvm.java.util.HashMap())
    )
    session = SparkSession(context, jsparkSession=made)
    for key, value in conf.items():
        session.conf.set(key, value)
    return session
