"""
Measure how long `lineage` takes on PySpark scripts that do not run yet: one, and a second one in the same call.

A script has as many steps as asked for: each reads a path, a table or what an earlier step has made, and joins, groups,
counts, asks SQL or adds columns, and every fifth one writes. The first script pays for the start of the Spark without
data; what the second one adds is the difference between a call with both and a call with one.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path
from statistics import median

from commands import Called, called

_COLUMNS = "id BIGINT, customer STRING, amount DOUBLE, day DATE, status STRING"
_BEGIN = """\
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("steps").getOrCreate()
s0 = spark.read.parquet("s3://lake/orders")
"""
_STEPS = (
    's{n} = s{p}.filter(F.col("amount") > {n}).withColumn("c{n}", F.col("amount") * {n})',
    's{n} = s{p}.join(spark.table("shop.customers"), "customer", "left").drop("country", "segment")',
    's{n} = s{p}.withColumn("r{n}", F.row_number().over(Window.partitionBy("id").orderBy("day"))).where("r{n} < 2")',
    's{p}.createOrReplaceTempView("v{n}"); s{n} = spark.sql("SELECT *, upper(status) u{n} FROM v{n} WHERE id > {n}")',
    's{n} = s{p}; s{n}.write.mode("overwrite").partitionBy("day").parquet("s3://lake/out/{name}/{n}")',
    's{n} = s{p}.unionByName(spark.read.parquet("s3://lake/orders"), allowMissingColumns=True).dropDuplicates(["id"])',
    's{p}.groupBy("customer").agg(F.sum("amount").alias("total")).write.saveAsTable("shop.{name}_{n}"); s{n} = s{p}',
)


def script_of(name: str, steps: int) -> str:
    """Return a script of so many steps."""
    lines = (_STEPS[at % len(_STEPS)].format(n=at + 1, p=at, name=name) for at in range(steps))
    return "\n".join([_BEGIN.rstrip(), *lines, ""])


def main() -> None:
    """Print a Markdown table of the seconds that passed, with those of processors in parentheses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="each figure is the median of so many calls (default 3)")
    parser.add_argument("--steps", type=int, default=50, help="the steps of a script (default 50)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        schemas = {"s3://lake/orders": _COLUMNS, "shop.customers": "customer STRING, country STRING, segment STRING"}
        (folder / "schemas.json").write_text(json.dumps(schemas), "utf-8")
        for each in ("first", "second"):
            (folder / f"{each}.py").write_text(script_of(each, options.steps), "utf-8")
        one, two = (
            [_call(folder, *files) for _ in range(options.times)] for files in (("first",), ("first", "second"))
        )
    rows = [("one script", one), ("two scripts", two)]
    print("| `lineage` of | seconds | seconds of processors | statements |\n| --- | ---: | ---: | ---: |")
    for what, calls in rows:
        seconds, processor = (median(getattr(each.took, key) for each in calls) for key in ("seconds", "processor"))
        print(f"| {what} of {options.steps} steps | {seconds:.1f} | {processor:.1f} | {_statements(calls[0])} |")
    further = median(each.took.seconds for each in two) - median(each.took.seconds for each in one)
    print(f"\nThe second script takes {further:.1f} s. The load of the machine is {os.getloadavg()[0]:.1f}.")


def _call(folder: Path, *names: str) -> Called:
    files = (f"{each}.py" for each in names)
    found = called(folder, "lineage", *files, "--schemas", "schemas.json", "--format", "json")
    if found.code:
        raise SystemExit(f"the command ends with {found.code}: {found.errors}")
    return found


def _statements(found: Called) -> int:
    return len(json.loads(found.output)["result"]["statements"])


if __name__ == "__main__":
    main()
