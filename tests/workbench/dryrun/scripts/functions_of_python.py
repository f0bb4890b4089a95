"""Functions of Python and of pandas, on rows, groups and batches."""

import pandas as pd
from typing import Iterator
from pyspark.sql import SparkSession, functions as F, types as T
from pyspark.sql.functions import udf, pandas_udf, PandasUDFType

spark = SparkSession.builder.getOrCreate()
o = spark.read.parquet("data/orders")


@udf(returnType=T.StringType())
def clean(x):
    return x.strip() if x else None


@udf("struct<a:string,b:int>")
def pair(x, y):
    return (x, int(y))


@pandas_udf("double")
def plus(s: pd.Series) -> pd.Series:
    return s + 1


@pandas_udf("double")
def mean(s: pd.Series) -> float:
    return s.mean()


o.select(clean("status").alias("s"), pair("customer_id", "amount").alias("p"), plus("amount").alias("q")).select(
    "s", "p.a", "q"
).write.parquet("out/u1")
o.groupBy("status").agg(mean("amount").alias("m")).write.parquet("out/u2")
spark.udf.register("clean_sql", clean)
spark.udf.register("len_sql", lambda s: len(s or ""), T.IntegerType())
o.createOrReplaceTempView("o")
spark.sql("select clean_sql(status) s, len_sql(customer_id) l from o").write.parquet("out/u3")


def double(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for b in batches:
        yield b[["order_id", "amount"]]


o.mapInPandas(double, "order_id long, amount double").write.parquet("out/mip")


def per(key, pdf):
    return pdf[["customer_id", "amount"]]


o.groupBy("customer_id").applyInPandas(per, schema="customer_id string, amount double").write.parquet("out/aip")
i = spark.read.parquet("data/items")
o.groupBy("order_id").cogroup(i.groupBy("order_id")).applyInPandas(
    lambda l, r: l[["order_id", "amount"]], "order_id long, amount double"
).write.parquet("out/cog")
