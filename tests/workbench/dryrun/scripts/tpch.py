"""Queries of TPC-H as DataFrames."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
names = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
t = {name: spark.read.parquet(f"tpch/{name}") for name in names}
volume = F.col("l_extendedprice") * (1 - F.col("l_discount"))


def save(frame, number):
    frame.write.mode("overwrite").parquet(f"out/q{number}")


save(
    t["lineitem"]
    .filter(F.col("l_shipdate") <= "1998-09-02")
    .groupBy("l_returnflag", "l_linestatus")
    .agg(
        F.sum("l_quantity").alias("sum_qty"),
        F.sum(volume).alias("sum_disc_price"),
        F.sum(volume * (1 + F.col("l_tax"))).alias("sum_charge"),
        F.avg("l_discount").alias("avg_disc"),
        F.count("*").alias("count_order"),
    )
    .orderBy("l_returnflag", "l_linestatus"),
    1,
)
save(
    t["customer"]
    .filter("c_mktsegment = 'BUILDING'")
    .join(t["orders"].filter("o_orderdate < '1995-03-15'"), F.col("c_custkey") == F.col("o_custkey"))
    .join(t["lineitem"].filter("l_shipdate > '1995-03-15'"), F.col("l_orderkey") == F.col("o_orderkey"))
    .groupBy("l_orderkey", "o_orderdate", "o_shippriority")
    .agg(F.sum(volume).alias("revenue"))
    .orderBy(F.desc("revenue"), "o_orderdate")
    .limit(10),
    3,
)
late = t["lineitem"].filter("l_commitdate < l_receiptdate").select("l_orderkey")
save(
    t["orders"]
    .join(late, F.col("o_orderkey") == F.col("l_orderkey"), "left_semi")
    .groupBy("o_orderpriority")
    .count()
    .orderBy("o_orderpriority"),
    4,
)
save(
    t["region"]
    .filter("r_name = 'ASIA'")
    .join(t["nation"], F.col("r_regionkey") == F.col("n_regionkey"))
    .join(t["supplier"], F.col("n_nationkey") == F.col("s_nationkey"))
    .join(t["lineitem"], F.col("s_suppkey") == F.col("l_suppkey"))
    .join(t["orders"], F.col("l_orderkey") == F.col("o_orderkey"))
    .join(t["customer"], (F.col("o_custkey") == F.col("c_custkey")) & (F.col("c_nationkey") == F.col("s_nationkey")))
    .groupBy("n_name")
    .agg(F.sum(volume).alias("revenue"))
    .orderBy(F.desc("revenue")),
    5,
)
save(
    t["lineitem"]
    .filter("l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24")
    .agg(F.sum(F.col("l_extendedprice") * F.col("l_discount")).alias("revenue")),
    6,
)
high = F.when(F.col("o_orderpriority").isin("1-URGENT", "2-HIGH"), 1).otherwise(0)
save(
    t["orders"]
    .join(t["lineitem"], F.col("o_orderkey") == F.col("l_orderkey"))
    .groupBy("l_shipmode")
    .agg(F.sum(high).alias("high"), F.sum(1 - high).alias("low")),
    12,
)
counted = (
    t["customer"]
    .join(t["orders"], F.col("c_custkey") == F.col("o_custkey"), "left")
    .groupBy("c_custkey")
    .agg(F.count("o_orderkey").alias("c_count"))
)
save(counted.groupBy("c_count").agg(F.count("*").alias("custdist")).orderBy(F.desc("custdist")), 13)
promo = F.when(F.col("p_type").like("PROMO%"), volume).otherwise(0)
save(
    t["lineitem"]
    .join(t["part"], F.col("l_partkey") == F.col("p_partkey"))
    .agg((100 * F.sum(promo) / F.sum(volume)).alias("promo")),
    14,
)
revenue = t["lineitem"].groupBy(F.col("l_suppkey").alias("supplier_no")).agg(F.sum(volume).alias("total"))
most = revenue.agg(F.max("total").alias("most"))
save(
    t["supplier"]
    .join(revenue, F.col("s_suppkey") == F.col("supplier_no"))
    .join(most, F.col("total") == F.col("most"))
    .select("s_suppkey", "s_name", "total"),
    15,
)
small = t["lineitem"].groupBy("l_partkey").agg((0.2 * F.avg("l_quantity")).alias("limit"))
save(
    t["lineitem"]
    .join(small.withColumnRenamed("l_partkey", "key"), F.col("l_partkey") == F.col("key"))
    .filter(F.col("l_quantity") < F.col("limit"))
    .agg((F.sum("l_extendedprice") / 7.0).alias("avg_yearly")),
    17,
)
save(
    t["partsupp"]
    .join(t["part"], F.col("ps_partkey") == F.col("p_partkey"))
    .join(
        t["supplier"].filter("s_comment LIKE '%Customer%Complaints%'"),
        F.col("ps_suppkey") == F.col("s_suppkey"),
        "left_anti",
    )
    .groupBy("p_brand", "p_type", "p_size")
    .agg(F.countDistinct("ps_suppkey").alias("supplier_cnt")),
    16,
)
