"""Writes ten rows, with the fault and then the ending that its arguments name."""

import atexit
import sys
from pathlib import Path

from pyspark.sql import SparkSession


class Late:
    """Says when it is let go of."""

    def __del__(self):
        print("let go of")


atexit.register(print, "atexit, before the session")
spark = SparkSession.builder.appName("strict").getOrCreate()
atexit.register(print, "atexit, after the session")
late = Late()
# Left to the interpreter to close.
unclosed = Path("unclosed").open("w")  # noqa: SIM115
unclosed.write("all of it")
rows = spark.range(10)
fault, ending = sys.argv[1:]
if fault == "operator":
    from foreign import Foreign

    rows = Foreign(spark).mystery(rows)
rows.write.json("out")
print("rows", spark.read.json("out").count())
if ending == "exit":
    sys.exit(3)
elif ending == "zero":
    raise SystemExit(0)
elif ending == "stop":
    spark.stop()
