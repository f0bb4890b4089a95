"""Arguments, a function that loads, a window, a partitioned write."""

import argparse

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F


def load(spark, base):
    return spark.read.option("header", "true").csv(f"{base}/customers.csv"), spark.read.parquet(f"{base}/orders/")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--base", default="data")
    parser.add_argument("--out", default="out")
    arguments = parser.parse_args()
    spark = SparkSession.builder.master("local[1]").appName("nightly").getOrCreate()
    customers, orders = load(spark, arguments.base)
    print("orders:", orders.count())
    window = Window.partitionBy("country").orderBy(F.desc("amount"))
    enriched = (
        orders.join(customers, "customer_id", "left")
        .filter(F.col("amount") > 0)
        .withColumn("rank", F.row_number().over(window))
    )
    enriched.write.mode("overwrite").partitionBy("country").parquet(f"{arguments.out}/enriched")
    spark.stop()


if __name__ == "__main__":
    main()
