"""Writes from many threads, behind a plan so wide that whoever hears of it is busy."""

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("flood").getOrCreate()
columns = [f"id + {number} AS c{number}" for number in range(2000)]
spark.range(3).selectExpr(*columns).write.json("wide")


def write(number):
    spark.range(0, 1 + number, 1, 1).write.json(f"narrow/{number}")


with ThreadPoolExecutor(8) as pool:
    list(pool.map(write, range(40)))
print("rows", spark.read.json("narrow/*").count(), spark.read.json("wide").count())
