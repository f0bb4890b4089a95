"""Readers of files in all their forms."""

from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.getOrCreate()
paths = ["data/orders", "data/orders2"]
spark.read.parquet(*paths).write.parquet("out/two")
spark.read.format("parquet").load(paths).withColumn("f", F.input_file_name()).write.parquet("out/file")
spark.read.option("basePath", "data").parquet("data/orders").write.parquet("out/base")
spark.read.schema("customer_id STRING, country STRING, email STRING, segment STRING").option("header", True).option(
    "mode", "PERMISSIVE"
).csv("data/many/*.csv").write.parquet("out/glob")
spark.read.csv(
    "data/customers.csv", header=True, schema="customer_id STRING, country STRING, email STRING, segment STRING"
).write.parquet("out/csv")
spark.read.option("wholetext", True).text("data/log.txt").write.text("out/txt")
spark.read.format("binaryFile").load("data/log.txt").select("path", "length").write.parquet("out/bin")
t = spark.sparkContext.textFile("data/log.txt")
t.map(lambda l: (l.split(" ")[0], l)).toDF(["lvl", "msg"]).write.parquet("out/rddtext")
spark.createDataFrame(t.map(lambda l: (l,)), "line string").groupBy("line").count().write.parquet("out/rddtext2")
spark.sql("select * from parquet.`data/orders`").select("order_id").write.parquet("out/direct")
spark.read.json(spark.sparkContext.parallelize(['{"a": 1}']), schema="a INT").write.parquet("out/jrdd")
spark.sql("create temporary view cust using csv options (path 'data/customers.csv', header 'true')")
spark.table("cust").select("country").write.parquet("out/tv")
spark.read.parquet("data/orders").repartition(2, "day").sortWithinPartitions("day").hint("broadcast").withMetadata(
    "day", {"x": 1}
).to(spark.read.parquet("data/orders2").schema).write.parquet("out/to")
spark.read.parquet("data/orders").write.format("parquet").partitionBy("day").mode("append").save(path="out/part")
spark.read.parquet("out/part").select("day", "amount").write.parquet("out/part2")
