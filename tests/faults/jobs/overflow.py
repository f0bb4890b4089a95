"""Holds up the listener's queue, and goes on with as many writes as its argument says."""

import sys

from foreign import Foreign
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("overflow").getOrCreate()
foreign = Foreign(spark)
few = spark.range(5)
few.write.json("before")
# Whoever reads this plan on the queue is held up, and what comes meanwhile does not fit.
foreign.trap(few, "sleep 5000").write.json("held")
writes = int(sys.argv[1])
for number in range(writes):
    few.selectExpr(f"id + {number} AS id").write.json(f"out{number}")
print("rows", sum(spark.read.json(f"out{number}").count() for number in range(writes)))
