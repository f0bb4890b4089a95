"""Topics are written and read in each of the ways that there are, by batches and by streams."""

import json
import sys

from pyspark.sql import SparkSession

servers = sys.argv[1]
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username='me' password='canary';"
CLUSTER = {"kafka.bootstrap.servers": servers, "kafka.sasl.jaas.config": LOGIN}
V1_STREAMS = "spark.sql.streaming.disabledV2MicroBatchReaders"
spark = SparkSession.builder.appName("topics").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
rows = spark.createDataFrame([("k1", "a"), ("k2", "b"), ("k3", "c")], "key string, value string")


def batch(**options):
    return spark.read.format("kafka").options(**CLUSTER, **options).load().selectExpr("CAST(value AS STRING) AS said")


def stream(**options):
    read = spark.readStream.format("kafka").options(**CLUSTER, startingOffsets="earliest", **options)
    return read.load().selectExpr("CAST(value AS STRING) AS value")


def run(frame, name, **to):
    writer = frame.writeStream.option("checkpointLocation", f"state/{name}").trigger(availableNow=True)
    if name != "foreach":
        writer = writer.queryName(name)
    query = to.pop("table")(writer) if "table" in to else to.pop("start")(writer).start(**to)
    query.awaitTermination(120)


def two(frame, _number):
    frame.write.mode("append").parquet("all")
    frame.filter("value = 'a'").write.mode("append").saveAsTable("Some_Rows")


def by_rdd(frame, _number):
    words = frame.rdd.map(lambda row: (row.value,))
    spark.createDataFrame(words, "word STRING").write.mode("append").parquet("by_rdd")


rows.write.format("kafka").options(**CLUSTER, topic="clicks").save()
rows.selectExpr("value", "'views' AS topic").write.format("kafka").options(**CLUSTER).save()
batch(subscribe="clicks, views").write.parquet("subscribed")
batch(assign=json.dumps({"clicks": [0, 1, 2]})).write.parquet("assigned")
batch(subscribePattern="cli.*").write.parquet("matched")
spark.sql(f"CREATE TABLE said USING kafka OPTIONS ('kafka.bootstrap.servers' '{servers}', subscribe 'clicks')")
spark.table("said").selectExpr("value").write.parquet("of_table")
run(stream(subscribe="clicks,views"), "subscribed", start=lambda w: w.format("parquet"), path="s_subscribed")
run(stream(assign=json.dumps({"clicks": [0, 1, 2]})), "assigned", table=lambda w: w.toTable("s_assigned"))
run(
    stream(subscribePattern="(clicks|views)"),
    "matched",
    start=lambda w: w.format("kafka").options(**CLUSTER, topic="out"),
)
run(stream(subscribe="clicks"), "foreach", start=lambda w: w.foreachBatch(two))
run(stream(subscribe="clicks"), "through", start=lambda w: w.foreachBatch(by_rdd))
spark.conf.set(V1_STREAMS, "org.apache.spark.sql.kafka010.KafkaSourceProvider")
run(stream(subscribePattern="(clicks|views)"), "by_v1", start=lambda w: w.format("parquet"), path="s_by_v1")
spark.conf.set("spark.sql.sources.useV1SourceList", "")
rows.write.format("kafka").options(**CLUSTER, topic="second").mode("append").save()
batch(subscribe="second").write.parquet("of_second")
spark.stop()
