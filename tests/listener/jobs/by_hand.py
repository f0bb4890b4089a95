"""Registers the listener on sessions that run already, and takes it off again."""

from pathlib import Path

import openlineage_pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

TO_FILE = {"spark.openlineage.transport.type": "file", "spark.openlineage.transport.location": "events.ndjson"}


def events():
    file = Path("events.ndjson")
    return len(file.read_text().splitlines()) if file.exists() else 0


def register(session, options):
    try:
        return openlineage_pyspark.register(session, options)
    except openlineage_pyspark.RegistrationError as problem:
        print("refused:", problem)
    except TypeError as problem:
        print("wrong:", str(problem).replace("pyspark.context", "pyspark.core.context"))


spark = SparkSession.builder.appName("by hand").getOrCreate()
spark.range(1).write.parquet("before")
register(spark, {})
register(spark, {"spark.openlineage.transport.type": "filo"})
register(spark, {**TO_FILE, "spark.openlineage.disabled": "true"})
register(spark, {"transport.type": "console"})
register(None, TO_FILE)
register(spark.sparkContext, TO_FILE)

handle = register(spark, TO_FILE)
print("the same handle:", register(spark, TO_FILE) is handle)
spark.range(2).write.parquet("during")
spark.newSession().range(3).write.parquet("elsewhere")
print("delivered by the flush:", handle.flush())
print("events after the flush:", events())
print("all shipped:", handle.close(), handle.close())
print("events after the closing:", events())
spark.range(4).write.parquet("after")

again = register(spark, TO_FILE)
print("another handle:", again is not handle)
spark.range(5).write.parquet("again")
spark.stop()
print("events after the stop:", events())
register(spark, TO_FILE)

# As the kernels of Livy and Zeppelin do: the JVM made the context.
conf = SparkConf().setAppName("handed over")
for key, value in TO_FILE.items():
    conf.set(key, value)
java_context = SparkContext._jvm.org.apache.spark.api.java.JavaSparkContext(conf._jconf)
context = SparkContext(jsc=java_context, gateway=SparkContext._gateway, conf=conf)
SparkSession(context).range(6).write.parquet("handed over")
