"""Plans that are hard on whoever reads them; of each, what it wrote is told."""

import hashlib
import time
from pathlib import Path

from foreign import CONNECTOR, Foreign
from pyspark.sql import DataFrame, SparkSession, functions

spark = SparkSession.builder.appName("plans").getOrCreate()
foreign = Foreign(spark)
few = spark.range(5).selectExpr("id", "id * 2 AS twice")


def deep(levels):
    """Give five rows with an expression of that depth."""
    total = functions.lit(1)
    for _ in range(levels):
        total = total + 1
    return spark.range(5).select((functions.col("id") * total).alias("total"))


def local(megabytes):
    """Give rows that the driver itself holds in its plan."""
    jvm = spark._jvm
    schema = jvm.org.apache.spark.sql.types.StructType().add("text", "string")
    array = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
    array[0] = "x" * (1 << 20)
    row = jvm.org.apache.spark.sql.RowFactory.create(array)
    rows = jvm.java.util.ArrayList(jvm.java.util.Collections.nCopies(megabytes, row))
    held = DataFrame(spark._jsparkSession.createDataFrame(rows, schema), spark)
    return held.selectExpr("length(text) AS length")


def wide(columns):
    """Give five rows of that many columns."""
    return spark.range(5).selectExpr(*(f"id + {number} AS c{number}" for number in range(columns)))


ROWS = {
    "exception": lambda: foreign.trap(few, "exception"),
    "stack": lambda: foreign.trap(few, "stack"),
    "linkage": lambda: foreign.trap(few, "linkage"),
    "operator": lambda: foreign.mystery(few),
    "reader": lambda: spark.read.format(CONNECTOR).load(),
    "nodes": lambda: foreign.many(spark.range(5), 10_000),
    "deep": lambda: deep(3_000),
    "wide": lambda: wide(5_000),
    "local": lambda: local(100),
    "afterwards": lambda: few,
}


def tell(name, begin):
    """Say what was written and, in a file, how many seconds that took."""
    with Path("seconds").open("a") as seconds:
        seconds.write(f"{name} {time.monotonic() - begin}\n")
    lines = sorted(line for part in Path(name).glob("part-*") for line in part.read_text().splitlines())
    print(name, len(lines), hashlib.sha256("".join(lines).encode()).hexdigest())


for way in ("exception", "stack", "linkage"):
    print("read", way, len(foreign.trap(few, way).collect()))
start = time.monotonic()
foreign.smuggle(few, "command")
tell("command", start)
start = time.monotonic()
few.write.format(CONNECTOR).option("to", "writer").save()
tell("writer", start)
for fault, rows in ROWS.items():
    start = time.monotonic()
    rows().write.json(fault)
    tell(fault, start)
print("end")
