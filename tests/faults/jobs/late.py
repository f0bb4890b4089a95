"""Holds up the listener's queue while writes begin and end that consist of executions within executions."""

from foreign import Foreign
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("late").getOrCreate()
foreign = Foreign(spark)
few = spark.range(5)
few.write.json("rows")
source = spark.read.json("rows")
stream = spark.readStream.schema(source.schema).json("rows").writeStream.trigger(availableNow=True)
stream = stream.option("checkpointLocation", "state").queryName("late")
foreign.trap(few, "sleep 15000").write.json("held")
source.write.saveAsTable("saved")
spark.sql("CREATE TABLE made USING parquet AS SELECT id + 1 AS id FROM saved")
stream.foreachBatch(lambda batch, _: batch.write.mode("append").parquet("batches")).start().awaitTermination()
# At the end there is not enough time for it.
spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(150_000)
print("rows", *(frame.count() for frame in (spark.table("saved"), spark.table("made"), spark.read.parquet("batches"))))
