"""
Measure `lineage` on a folder of files of SQL, against Spark's own parsing and analysis of the same queries.

Each file makes a table of two others. The command is called as a user calls it, first without a cache, then with the
answers kept, then after some files have changed. Spark's own time is that of views of the same queries, in a session
that is warm already.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from openlineage_pyspark.workbench.predict.session import throw_away_session

_BASE = "CREATE TABLE t0 (id INT, customer INT, amount DECIMAL(10,2), status STRING, day DATE)"
_QUERY = """\
SELECT a.id, a.customer, sum(a.amount + {number}) AS amount, max(CASE WHEN b.status = 'x' THEN a.status END) AS status,
  a.day
FROM t{first} a LEFT JOIN t{second} b ON a.id = b.id
WHERE a.amount > {number} GROUP BY a.id, a.customer, a.day"""


def query(number: int) -> str:
    """Return the query of a file: it reads the table before, and one from the first half."""
    return _QUERY.format(number=number, first=max(0, number - 1) % 20, second=number // 2 % 20)


def make(folder: Path, count: int) -> None:
    """Make files of one statement each."""
    (folder / "f00000.sql").write_text(f"{_BASE};\n", "utf-8")
    for number in range(1, count):
        (folder / f"f{number:05}.sql").write_text(f"CREATE TABLE t{number} AS\n{query(number)};\n", "utf-8")


def seconds(folder: Path, *options: str) -> float:
    """Return how long the command takes."""
    begin = time.perf_counter()
    command = [sys.executable, "-Im", "openlineage_pyspark", "lineage", str(folder), "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return time.perf_counter() - begin


def spark_seconds(count: int) -> float:
    """Return how long Spark itself parses and analyzes the queries."""
    with throw_away_session({}) as spark:
        spark.sql(
            "CREATE TEMP VIEW t0 AS SELECT 1 AS id, 2 AS customer, CAST(1 AS DECIMAL(10,2)) AS amount, 'x' AS status, "
            "current_date() AS day"
        )
        begin = time.perf_counter()
        for number in range(1, count):
            spark.sql(query(number) if number >= 20 else f"CREATE TEMP VIEW t{number} AS {query(number)}")
        return time.perf_counter() - begin


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--changed", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, cache = Path(scratch) / "sql", str(Path(scratch) / "cache")
        folder.mkdir()
        make(folder, options.files)
        cold = seconds(folder, "--cache", cache)
        kept = seconds(folder, "--cache", cache)
        for number in range(1, options.changed + 1):
            path = folder / f"f{options.files * number // (options.changed + 1):05}.sql"
            path.write_text(path.read_text("utf-8").replace("a.status END", "b.status END"), "utf-8")
        changed = seconds(folder, "--cache", cache)
    alone = spark_seconds(options.files)
    print("| files | Spark alone, s | lineage, s | nothing changed, s | some changed, s |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    print(f"| {options.files:,} | {alone:.1f} | {cold:.1f} | {kept:.1f} | {changed:.1f} |")


if __name__ == "__main__":
    main()
