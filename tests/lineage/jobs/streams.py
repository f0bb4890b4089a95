"""Streams whose rows come from no dataset, from a source in Python and from files, and applications one by one."""
# ruff: noqa: ARG002, N802

import socket
import threading
import time

import pandas as pd
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr


def session(name):
    spark = SparkSession.builder.appName(name).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def run(frame, state, start):
    """Run two micro-batches of a source that always has more rows, or all of another one."""
    writer = frame.writeStream.option("checkpointLocation", f"state/{state}").trigger(processingTime="0 seconds")
    query = start(writer)
    if state.startswith("rate"):
        while len(query.recentProgress) < 3 and query.exception() is None:
            time.sleep(0.05)
    else:
        query.processAllAvailable()
    query.stop()


def count(key, frames, state):
    n = sum(map(len, frames)) + (state.get[0] if state.exists else 0)
    state.update((n,))
    yield pd.DataFrame({"k": [key[0]], "n": [n]})


def tell(server):
    connection, _ = server.accept()
    connection.sendall(b"a\nb\n")
    time.sleep(60)


if pyspark.__version__ >= "4":
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
        InputPartition,
        WriterCommitMessage,
    )

    class Rows(DataSourceReader):
        def read(self, partition):
            yield from ((n,) for n in range(3))

    class Stream(DataSourceStreamReader):
        def initialOffset(self):
            return {"n": 0}

        def latestOffset(self):
            return {"n": 4}

        def partitions(self, start, end):
            return [InputPartition((start["n"], end["n"]))]

        def read(self, partition):
            yield from ((n,) for n in range(*partition.value))

    class Sink(DataSourceWriter):
        def write(self, rows):
            list(rows)
            return WriterCommitMessage()

    class StreamSink(DataSourceStreamWriter):
        def write(self, rows):
            list(rows)
            return WriterCommitMessage()

    class Numbers(DataSource):
        @classmethod
        def name(cls):
            return "numbers"

        def schema(self):
            return "n INT"

        def reader(self, schema):
            return Rows()

        def streamReader(self, schema):
            return Stream()

        def writer(self, schema, overwrite):
            return Sink()

        def streamWriter(self, schema, overwrite):
            return StreamSink()


spark = session("first")
rate = spark.readStream.format("rate").option("rowsPerSecond", 1000).load().selectExpr("value + 1 AS next")
run(rate, "rate file", lambda w: w.format("parquet").start("rate_file"))
run(rate, "rate foreach", lambda w: w.foreachBatch(lambda b, _: b.write.mode("append").parquet("rate_foreach")).start())
batches = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
run(batches.select("value"), "rate batches", lambda w: w.toTable("Rate_Batches"))
if pyspark.__version__ >= "4":
    spark.dataSource.register(Numbers)
    numbers = spark.readStream.format("numbers").load()
    spark.read.format("numbers").load().write.format("numbers").mode("append").save()
    run(numbers, "numbers", lambda w: w.format("numbers").queryName("numbers").start())
spark.stop()
spark = session("second")
spark.sql("CREATE TABLE Mixed_Case (a INT) USING parquet")
spark.range(3).selectExpr("CAST(id AS INT) AS a").write.mode("overwrite").saveAsTable("MIXED_Case")
spark.stop()
spark = session("third")
spark.conf.set("spark.sql.shuffle.partitions", "1")
ROWS = "CAST(id AS INT) AS {0}, CAST(id AS STRING) AS {1}, timestamp_seconds(1700000000 + id) AS {2}"
READ = {"visits": ("k", "v", "at"), "sales": ("n", "w", "since")}
for folder, names in READ.items():
    spark.sql(f"SELECT {ROWS.format(*names)} FROM range(3)").write.parquet(folder)
visits, sales = (
    spark.readStream.schema(f"{k} INT, {v} STRING, {at} TIMESTAMP").parquet(folder).withWatermark(at, "1 hour")
    for folder, (k, v, at) in READ.items()
)
met = visits.join(sales, expr("k = n AND since BETWEEN at AND at + INTERVAL 1 HOUR")).selectExpr("k", "v || w AS both")
run(met, "joined", lambda w: w.start("joined"))
run(visits.dropDuplicates(["k"]).select("k", "v"), "deduplicated", lambda w: w.start("deduplicated"))
counted = visits.groupBy("k").applyInPandasWithState(count, "k INT, n BIGINT", "n BIGINT", "append", "NoTimeout")
run(counted, "counted", lambda w: w.outputMode("append").start("counted"))
# The next micro-batch has a state of its own.
spark.sql(f"SELECT {ROWS.format(*READ['visits'])} FROM range(3, 5)").write.mode("append").parquet("visits")
run(counted, "counted", lambda w: w.outputMode("append").start("counted"))
if pyspark.__version__ >= "4":
    for to, options in {"latest_state": {}, "first_state": {"batchId": 0}}.items():
        spark.read.format("statestore").options(**options).load("state/counted").selectExpr("key.k").write.parquet(to)
with socket.create_server(("127.0.0.1", 0)) as server:
    threading.Thread(target=tell, args=[server], daemon=True).start()
    told = spark.readStream.format("socket").option("host", "127.0.0.1").option("port", server.getsockname()[1]).load()
    run(told, "told", lambda w: w.start("told"))
spark.stop()
print(time.time())
