"""Makes one SparkContext after the other, each as one entry of its JSON argument says, and writes with each."""

import json
import os
import sys
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession


def load_java_listener() -> None:
    """Compile a class of the Java listener's name, for a JVM that hasn't its jar."""
    jvm = SparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
    compiler.cook(
        "package io.openlineage.spark.agent;"
        "public class OpenLineageSparkListener extends org.apache.spark.scheduler.SparkListener {}"
    )
    jvm.java.lang.Thread.currentThread().setContextClassLoader(compiler.getClassLoader())


# Else the settings of the first context would be the command line of the JVM, and so those of all.
SparkContext._ensure_initialized()
for number, entry in enumerate(json.loads(sys.argv[1])):
    print("context", number, file=sys.stderr, flush=True)
    os.environ.update(entry.get("environment", {}))
    for name, text in entry.get("files", {}).items():
        Path(name).write_text(text, "utf-8")
    conf = SparkConf().setAppName(f"app {number}")
    for key, value in entry.get("conf", {}).items():
        conf.set(key, value)
    if conf.contains("spark.extraListeners"):
        load_java_listener()
    context = SparkContext(conf=conf)
    spark = SparkSession(context)
    spark.range(number + 1).write.parquet(f"out{number}")
    print("context", number, "rows", spark.read.parquet(f"out{number}").count())
    context.stop()
    for name in entry.get("files", {}):
        Path(name).unlink()
    for name in entry.get("environment", {}):
        del os.environ[name]
