"""Is interrupted; the argument says where. What a caught interrupt leaves usable goes on."""

import atexit
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("interrupts").getOrCreate()
spark.range(5).write.json("before")
print("before", spark.read.json("before").count())


def tell():
    """Say when a task runs."""
    while not spark.sparkContext.statusTracker().getActiveStageIds():
        time.sleep(0.02)
    Path("ready").touch()


if sys.argv[1] == "caught":
    Path("ready").touch()
    try:
        time.sleep(120)
    except KeyboardInterrupt:
        print("caught")
    spark.range(5).write.json("after")
    print("after", spark.read.json("after").count())
elif sys.argv[1] == "end":
    # Called before what was registered earlier.
    atexit.register(Path("ending").touch)
elif sys.argv[1] == "query":
    threading.Thread(target=tell, daemon=True).start()
    spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', 60000L)").write.json("never")
print("end")
