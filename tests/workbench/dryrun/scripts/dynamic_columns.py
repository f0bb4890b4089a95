"""Columns by their types and names."""

from pyspark.sql import SparkSession, functions as F, types as T

spark = SparkSession.builder.getOrCreate()
df = spark.read.parquet("data/orders")
num = [f.name for f in df.schema.fields if isinstance(f.dataType, T.NumericType)]
txt = [c for c, t in df.dtypes if t == "string"]
df = df.select("*", *[F.trim(F.col(c)).alias(f"{c}_clean") for c in txt])
df = df.withColumns({f"{c}_filled": F.coalesce(F.col(c), F.lit(0)) for c in num})
aggs = [F.sum(c).alias(f"sum_{c}") for c in num] + [F.countDistinct(c).alias(f"nd_{c}") for c in txt]
df.groupBy("day").agg(*aggs).write.mode("overwrite").parquet("out/aggs")
df.groupBy("day").agg({"amount": "sum", "order_id": "max"}).write.parquet("out/agg_dict")
df.drop(*num).dropDuplicates(["customer_id"]).fillna("x", subset=["status"]).na.replace(
    {"a": "b"}, subset=["status"]
).write.parquet("out/clean")
df.selectExpr(
    "order_id", "amount * 2 as twice", "CASE WHEN status = 'x' THEN amount END AS cx", "upper(status_clean) u"
).write.parquet("out/expr")
df.toDF(*[c.upper() for c in df.columns]).write.parquet("out/upper")
df.select([F.sum(F.when(F.col(c).isNull(), 1).otherwise(0)).alias(c) for c in df.columns]).write.parquet("out/nulls")
df.withColumnsRenamed({"amount": "amt", "day": "dt"}).write.parquet("out/renamed")
df.select(df.colRegex("`.*_id`")).write.parquet("out/regex")
df.select(F.expr("struct(order_id, amount) as s")).select("s.*").write.parquet("out/structstar")
