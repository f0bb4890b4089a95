"""The queries of TPC-H with subqueries in their conditions, as DataFrames."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
names = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
t = {name: spark.read.parquet(f"tpch/{name}") for name in names}


def save(frame, number):
    frame.write.mode("overwrite").parquet(f"out/q{number}")


large = t["lineitem"].groupBy("l_orderkey").agg(F.sum("l_quantity").alias("quantity")).filter("quantity > 300")
keys = ["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice"]
save(
    t["orders"]
    .join(large.select(F.col("l_orderkey").alias("key")), F.col("o_orderkey") == F.col("key"), "leftsemi")
    .join(t["customer"], F.col("o_custkey") == F.col("c_custkey"))
    .join(t["lineitem"], F.col("o_orderkey") == F.col("l_orderkey"))
    .groupBy(keys)
    .agg({"l_quantity": "sum"})
    .orderBy(F.desc("o_totalprice"), "o_orderdate")
    .limit(100),
    18,
)

pairs = t["lineitem"].join(t["part"], t["lineitem"].l_partkey == t["part"].p_partkey)
condition = F.lit(False)
for brand, containers, quantity, size in (
    ("Brand#12", ["SM CASE", "SM BOX"], 1, 5),
    ("Brand#23", ["MED BAG", "MED BOX"], 10, 10),
    ("Brand#34", ["LG CASE", "LG BOX"], 20, 15),
):
    condition |= (
        (F.col("p_brand") == brand)
        & F.col("p_container").isin(containers)
        & F.col("l_quantity").between(quantity, quantity + 10)
        & F.col("p_size").between(1, size)
    )
delivered = F.col("l_shipmode").isin("AIR", "AIR REG") & (F.col("l_shipinstruct") == "DELIVER IN PERSON")
revenue = F.sum(F.col("l_extendedprice") * (1 - F.col("l_discount"))).alias("revenue")
save(pairs.filter(delivered & condition).select(revenue), 19)

shipped = (
    t["lineitem"]
    .filter("l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'")
    .groupBy("l_partkey", "l_suppkey")
    .agg((0.5 * F.sum("l_quantity")).alias("half"))
)
forest = t["part"].filter(F.col("p_name").startswith("forest")).select("p_partkey").distinct()
available = (
    t["partsupp"]
    .join(forest, F.col("ps_partkey") == F.col("p_partkey"), "left_semi")
    .join(shipped, (F.col("ps_partkey") == F.col("l_partkey")) & (F.col("ps_suppkey") == F.col("l_suppkey")))
    .filter(F.col("ps_availqty") > F.col("half"))
)
save(
    t["supplier"]
    .join(available, F.col("s_suppkey") == F.col("ps_suppkey"), "semi")
    .join(t["nation"].filter("n_name = 'CANADA'"), F.col("s_nationkey") == F.col("n_nationkey"))
    .select("s_name", "s_address")
    .orderBy("s_name"),
    20,
)

l1, l2, l3 = (t["lineitem"].alias(name) for name in ("l1", "l2", "l3"))
other = (F.col("l2.l_orderkey") == F.col("l1.l_orderkey")) & (F.col("l2.l_suppkey") != F.col("l1.l_suppkey"))
late_other = (
    (F.col("l3.l_orderkey") == F.col("l1.l_orderkey"))
    & (F.col("l3.l_suppkey") != F.col("l1.l_suppkey"))
    & (F.col("l3.l_receiptdate") > F.col("l3.l_commitdate"))
)
save(
    l1.where("l1.l_receiptdate > l1.l_commitdate")
    .join(l2, other, "left_semi")
    .join(l3, late_other, "left_anti")
    .join(t["supplier"], F.col("s_suppkey") == F.col("l1.l_suppkey"))
    .join(t["orders"].filter("o_orderstatus = 'F'"), F.col("o_orderkey") == F.col("l1.l_orderkey"))
    .join(t["nation"].filter("n_name = 'SAUDI ARABIA'"), F.col("s_nationkey") == F.col("n_nationkey"))
    .groupBy("s_name")
    .agg(F.count(F.lit(1)).alias("numwait"))
    .orderBy(F.col("numwait").desc(), F.col("s_name"))
    .limit(100),
    21,
)

prefix = F.substring("c_phone", 1, 2)
called = t["customer"].filter(prefix.isin("13", "31", "23", "29", "30", "18", "17"))
mean = called.filter("c_acctbal > 0").agg(F.avg("c_acctbal").alias("mean"))
save(
    called.crossJoin(mean)
    .filter(F.col("c_acctbal") > F.col("mean"))
    .join(t["orders"], F.col("o_custkey") == F.col("c_custkey"), "left_anti")
    .withColumn("cntrycode", prefix)
    .groupBy("cntrycode")
    .agg(F.count("*").alias("numcust"), F.round(F.sum("c_acctbal"), 2).alias("totacctbal"))
    .orderBy("cntrycode"),
    22,
)
