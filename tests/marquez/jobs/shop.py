"""A night of a shop: its tables, then a report three times, which waits in the second run and fails in the third."""

import time
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

RUNNING, GO, FAIL = (Path(name).absolute() for name in ("running", "go", "fail"))


def booked(amount):
    """Give the amount; in the run after `running` is asked for, not before there is `go`."""
    if FAIL.exists():
        raise ValueError("the books are closed")
    if RUNNING.exists():
        RUNNING.write_text("in a task")
        while not GO.exists():
            time.sleep(0.05)
    return amount


spark = SparkSession.builder.appName("Shop Night").getOrCreate()
spark.udf.register("booked", booked, "double")
spark.sql("""
    CREATE TABLE customers USING parquet AS
    SELECT * FROM VALUES (1, 'Ann', 'DE'), (2, 'Bo', 'FR') AS t (id, name, country)
""")
spark.sql("""
    CREATE TABLE orders USING parquet AS
    SELECT * FROM VALUES (7, 1, 20.0D, 'paid'), (8, 2, 30.0D, 'open') AS t (id, customer, amount, status)
""")
spark.sql("CREATE TABLE revenue (country STRING, net DOUBLE, buyers BIGINT) USING parquet")


def report():
    spark.sql("""
        INSERT OVERWRITE revenue
        SELECT c.country, sum(booked(o.amount)), count(DISTINCT c.name)
        FROM orders o JOIN customers c ON o.customer = c.id
        WHERE o.status = 'paid'
        GROUP BY c.country
    """)


report()
spark.table("revenue").selectExpr("country AS land", "net * 1.19 AS gross").write.mode("overwrite").csv("export")
RUNNING.touch()
report()
FAIL.touch()
try:
    report()
except (PySparkException, Py4JError) as problem:
    print("refused:", type(problem).__name__)
