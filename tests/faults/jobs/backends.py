"""
Writes once a fault, each time with a listener of its own, and tells what was written and how long each step took.

The argument is a JSON list: of each fault its name, the listener's options (null for no listener), and what is done to
its spool once it listens.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import openlineage_pyspark
from pyspark.sql import SparkSession

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""
spark = SparkSession.builder.appName("backends").getOrCreate()


def databases(spool):
    return sorted(Path(spool).glob("*/events.sqlite"))


def fill(spool):
    """Leave no room on the disk."""
    with (Path(spool).parent / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(b"x" * 4096)
        except OSError as full:
            print(full, file=sys.stderr)


def corrupt(spool):
    """Overwrite what is there."""
    for file in Path(spool).glob("*/events.sqlite*"):
        file.write_bytes(b"no database " * 1000)


def hold(spool):
    """Lock what is there, by another process."""
    for database in databases(spool):
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, database], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        holder.stdout.readline()
        HOLDERS.append(holder)


HOLDERS = []
DAMAGES = {"fill": fill, "corrupt": corrupt, "hold": hold}

for fault in json.loads(Path(sys.argv[1]).read_text()):
    name, options = fault["name"], fault["options"]
    print("fault", name, file=sys.stderr, flush=True)
    times = {}
    begin = time.monotonic()
    handle = openlineage_pyspark.register(spark, options) if options is not None else None
    times["register"] = time.monotonic() - begin
    if fault.get("damage"):
        # The listener's own thread makes the first event; what is damaged must be there.
        handle.flush(0.5)
        DAMAGES[fault["damage"]](options["spark.openlineage.spool.path"])
    begin = time.monotonic()
    spark.range(5).write.json(name)
    count = spark.read.json(name).count()
    times["statements"] = time.monotonic() - begin
    begin = time.monotonic()
    if handle is not None:
        handle.close()
    times["close"] = time.monotonic() - begin
    for holder in HOLDERS:
        holder.communicate()
    HOLDERS.clear()
    print(name, count)
    with Path("times.ndjson").open("a") as file:
        file.write(json.dumps({"name": name, **times}) + "\n")
print("end")
