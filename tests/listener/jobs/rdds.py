"""Reads and writes with RDDs in three applications: as it comes, with reads asked for, and with such jobs left out."""

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

NEW_FORMAT = "org.apache.hadoop.mapreduce.lib.output.SequenceFileOutputFormat"


def begin(name, **more):
    conf = SparkConf().setAppName(name)
    conf.set("spark.openlineage.transport.location", f"{name}.ndjson")
    for key, value in more.items():
        conf.set("spark.openlineage." + key.replace("_", "."), value)
    return SparkSession(SparkContext(conf=conf))


def broken(line):
    raise ValueError(f"broken on purpose for {line[:0]}")


spark = begin("quiet")
context = spark.sparkContext
lines = context.textFile("in")
lines.map(str.upper).saveAsTextFile("text")
words = context.textFile("in/a.txt").map(lambda line: (line, 1))
words.reduceByKey(lambda one, two: one + two).saveAsTextFile("counts")
context.textFile("in/*.txt").map(lambda line: (line, 1)).saveAsSequenceFile("sequence")
context.parallelize([("a", 1)]).saveAsNewAPIHadoopFile("new", NEW_FORMAT)
context.wholeTextFiles("in").union(context.wholeTextFiles("more")).saveAsPickleFile("pickle")
context._jsc.textFile("in").saveAsTextFile("scala")
spark.range(5).write.parquet("table")
spark.read.parquet("table").rdd.map(lambda row: str(row.id)).saveAsTextFile("from table")
spark.conf.set("spark.sql.sources.useV1SourceList", "")
spark.read.parquet("table").rdd.map(lambda row: str(row.id)).saveAsTextFile("from scan")
spark.conf.unset("spark.sql.sources.useV1SourceList")
try:
    lines.map(broken).saveAsTextFile("broken")
except Py4JError as problem:
    print("broken", type(problem).__name__)
print("lines", lines.count(), sorted(lines.sortBy(len).collect()))
spark.createDataFrame(lines.map(lambda line: (line,)), "line string").write.parquet("frame")
spark.stop()

spark = begin("reads", reads_enabled="true")
print("lines", spark.sparkContext.textFile("in").count())
print("columns", spark.read.csv("in", inferSchema=True).columns)
print("none", spark.sparkContext.parallelize([1, 2]).sum())
spark.stop()

spark = begin("left_out", filter_rddEventsDisabled="true")
spark.sparkContext.textFile("in").saveAsTextFile("unseen")
spark.range(5).write.parquet("seen")
spark.stop()
