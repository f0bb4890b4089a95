"""The queries of TPC-H that join many tables, or a table with itself, as DataFrames."""

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
names = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
customer, lineitem, nation, orders, part, partsupp, region, supplier = (
    spark.read.parquet(f"tpch/{name}") for name in names
)
volume = F.col("l_extendedprice") * (1 - F.col("l_discount"))


def save(frame, number):
    frame.write.mode("overwrite").parquet(f"out/q{number}")


offers = (
    region.filter(F.col("r_name") == "EUROPE")
    .join(nation, region.r_regionkey == nation.n_regionkey)
    .join(supplier, nation.n_nationkey == supplier.s_nationkey)
    .join(partsupp, supplier.s_suppkey == partsupp.ps_suppkey)
    .join(part.filter("p_size = 15 AND p_type LIKE '%BRASS'"), part.p_partkey == partsupp.ps_partkey)
    .withColumn("least", F.min("ps_supplycost").over(Window.partitionBy("p_partkey")))
)
save(
    offers.where(F.col("ps_supplycost") == F.col("least"))
    .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
    .orderBy(F.desc("s_acctbal"), "n_name", "s_name", "p_partkey")
    .limit(100),
    2,
)

n1 = nation.select(F.col("n_nationkey").alias("n1_number"), F.col("n_name").alias("supp_nation"))
n2 = nation.toDF("n2_number", "cust_nation", "n2_region").drop("n2_region")
between = (F.col("supp_nation") == "FRANCE") & (F.col("cust_nation") == "GERMANY")
back = (F.col("supp_nation") == "GERMANY") & (F.col("cust_nation") == "FRANCE")
save(
    supplier.join(lineitem, F.expr("s_suppkey = l_suppkey"))
    .join(orders, F.expr("o_orderkey = l_orderkey"))
    .join(customer, F.expr("c_custkey = o_custkey"))
    .join(n1, F.expr("s_nationkey = n1_number"))
    .join(n2, F.expr("c_nationkey = n2_number"))
    .filter(between | back)
    .filter(F.col("l_shipdate").between("1995-01-01", "1996-12-31"))
    .select("supp_nation", "cust_nation", F.year("l_shipdate").alias("l_year"), volume.alias("volume"))
    .groupBy("supp_nation", "cust_nation", "l_year")
    .agg(F.round(F.sum("volume"), 2).alias("revenue"))
    .sort("supp_nation", "cust_nation", "l_year"),
    7,
)

of_customer, of_supplier = nation.alias("n1"), nation.alias("n2")
all_nations = (
    part.where("p_type = 'ECONOMY ANODIZED STEEL'")
    .join(lineitem, part["p_partkey"] == lineitem["l_partkey"])
    .join(supplier, supplier["s_suppkey"] == lineitem["l_suppkey"])
    .join(orders, orders["o_orderkey"] == lineitem["l_orderkey"])
    .join(customer, orders["o_custkey"] == customer["c_custkey"])
    .join(of_customer, F.col("c_nationkey") == F.col("n1.n_nationkey"))
    .join(region, F.col("n1.n_regionkey") == region["r_regionkey"])
    .join(of_supplier, F.col("s_nationkey") == F.col("n2.n_nationkey"))
    .where((F.col("r_name") == "AMERICA") & F.col("o_orderdate").between("1995-01-01", "1996-12-31"))
    .select(F.year("o_orderdate").alias("o_year"), volume.alias("volume"), F.col("n2.n_name").alias("nation"))
)
brazil = F.when(F.col("nation") == "BRAZIL", F.col("volume")).otherwise(0)
save(all_nations.groupBy("o_year").agg((F.sum(brazil) / F.sum("volume")).alias("mkt_share")).orderBy("o_year"), 8)

green = part.filter(part.p_name.contains("green"))
profit = (
    lineitem.join(green, lineitem.l_partkey == green.p_partkey, "inner")
    .join(supplier, lineitem.l_suppkey == supplier.s_suppkey)
    .join(partsupp, [lineitem.l_suppkey == partsupp.ps_suppkey, lineitem.l_partkey == partsupp.ps_partkey])
    .join(orders, lineitem.l_orderkey == orders.o_orderkey)
    .join(nation, supplier.s_nationkey == nation.n_nationkey)
    .withColumn("amount", volume - F.col("ps_supplycost") * F.col("l_quantity"))
    .withColumn("o_year", F.year("o_orderdate"))
    .withColumnRenamed("n_name", "nation")
)
save(
    profit.groupBy("nation", "o_year")
    .agg(F.round(F.sum("amount"), 2).alias("sum_profit"))
    .orderBy("nation", F.col("o_year").desc()),
    9,
)

keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
save(
    customer.join(orders.filter("o_orderdate >= '1993-10-01'"), F.col("c_custkey") == F.col("o_custkey"))
    .filter(F.col("o_orderdate") < F.expr("date '1993-10-01' + interval 3 months"))
    .join(lineitem.filter(lineitem.l_returnflag == "R"), F.col("l_orderkey") == F.col("o_orderkey"))
    .join(nation, F.col("c_nationkey") == F.col("n_nationkey"))
    .groupBy(*keys)
    .agg(F.sum(volume).alias("revenue"))
    .orderBy(F.desc("revenue"))
    .limit(20),
    10,
)

german = (
    partsupp.join(supplier, partsupp.ps_suppkey == supplier.s_suppkey)
    .join(nation.filter("n_name = 'GERMANY'"), F.col("s_nationkey") == F.col("n_nationkey"))
    .withColumn("value", F.col("ps_supplycost") * F.col("ps_availqty"))
)
least = german.agg((F.sum("value") * 0.0001).alias("least"))
save(
    german.groupBy("ps_partkey")
    .agg(F.sum("value").alias("value"))
    .crossJoin(least)
    .filter("value > least")
    .drop("least")
    .orderBy(F.desc("value")),
    11,
)
