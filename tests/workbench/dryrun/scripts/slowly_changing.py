"""A dimension that keeps its history."""

from pyspark.sql import SparkSession, Window, functions as F

spark = SparkSession.builder.getOrCreate()
new = spark.table("shop.customers").withColumn("h", F.xxhash64("country", "email", "segment"))
old = (
    new.withColumn("valid_from", F.lit("2020-01-01").cast("date"))
    .withColumn("valid_to", F.lit(None).cast("date"))
    .withColumn("is_current", F.lit(True))
)
old.write.mode("overwrite").saveAsTable("shop.dim")
cur = spark.table("shop.dim").where("is_current")
j = new.alias("n").join(cur.alias("c"), F.col("n.customer_id") == F.col("c.customer_id"), "full_outer")
changed = j.where("n.h <> c.h or c.customer_id is null").select(
    "n.*",
    F.current_date().alias("valid_from"),
    F.lit(None).cast("date").alias("valid_to"),
    F.lit(True).alias("is_current"),
)
closed = (
    j.where("n.h <> c.h").select("c.*").withColumn("valid_to", F.current_date()).withColumn("is_current", F.lit(False))
)
keep = spark.table("shop.dim").join(
    closed.select("customer_id", "valid_from"), ["customer_id", "valid_from"], "left_anti"
)
final = keep.unionByName(closed).unionByName(changed, allowMissingColumns=True)
final.write.mode("overwrite").saveAsTable("shop.dim_new")
w = Window.partitionBy("customer_id").orderBy("valid_from")
spark.table("shop.dim_new").withColumn("next", F.lead("valid_from").over(w)).withColumn(
    "dq", F.when(F.col("next") < F.col("valid_to"), "bad").otherwise("ok")
).groupBy("dq").count().write.mode("overwrite").parquet("out/dq")
