"""Writes three times, with a clock that is set three days on, and then six days back."""

import os
import time
from pathlib import Path

from pyspark.sql import SparkSession

DAY = 86_400
spark = SparkSession.builder.appName("clock").getOrCreate()
begin, steady = time.time(), time.monotonic()
for name, days in (("before", 0), ("on", 3), ("back", -3)):
    Path(os.environ["CLOCK_SHIFT"]).write_text(str(days * DAY))
    spark.range(5).write.json(name)
    elapsed = time.time() - begin - (time.monotonic() - steady)
    print(name, spark.read.json(name).count(), "on day", round(elapsed / DAY))
