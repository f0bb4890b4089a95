"""Writes in each of 8 threads as often as the argument says, first in one session, then in one session a thread."""

import sys
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

THREADS, WRITES = 8, int(sys.argv[1])
spark = SparkSession.builder.appName("threads").getOrCreate()


def write(session, name, thread):
    for number in range(WRITES):
        rows = 1 + thread * WRITES + number
        session.range(0, rows, 1, 1).write.json(f"{name}/{rows}")


for name, sessions in (
    ("one", [spark] * THREADS),
    ("several", [spark.newSession() for _ in range(THREADS)]),
):
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, sessions, [name] * THREADS, range(THREADS)))
