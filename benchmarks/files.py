"""
Measure `lineage` on a folder of files of SQL, against Spark's own parsing and analysis of the same queries.

Each file makes a table of two others. The command is called as a user calls it, first without a cache, then with the
answers kept, then after some files have changed, also with `--diff`. Spark's own time is that of the same queries
over empty tables, in a session that is warm already.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commands import Took, called
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session

_BASE = "CREATE TABLE t0 (id INT, customer INT, amount DECIMAL(10,2), status STRING, day DATE)"
_GIT = ("git", "-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org")
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


def took(folder: Path, *options: str) -> Took:
    """Return how long the command takes."""
    done = called(folder, "lineage", ".", "--format", "json", *options)
    # Something downstream of a change is touched.
    if done.code not in (0, 3):
        raise SystemExit(done.errors)
    sys.stderr.write(f"{' '.join(options) or 'lineage'}: {done.took}\n")
    return done.took


def spark_alone(count: int) -> Took:
    """Return how long Spark itself parses and analyzes the queries; of its JVM, the time of all its threads."""
    with throw_away_session({}) as spark:
        spark.sql(f"{_BASE} USING parquet")
        # Empty tables, as our own session declares them: a view would be analyzed again by each of its readers.
        for number in range(1, 20):
            columns = ", ".join(
                f"{field.name} {field.dataType.simpleString()}" for field in spark.sql(query(number)).schema
            )
            spark.sql(f"CREATE TABLE t{number} ({columns}) USING parquet")
        java = Path(f"/proc/{spark._jvm.java.lang.ProcessHandle.current().pid()}/stat")
        begin, before = time.perf_counter(), time.process_time() + _processor(java)
        for number in range(1, count):
            spark.sql(query(number))
        return Took(time.perf_counter() - begin, time.process_time() + _processor(java) - before)


def _processor(stat: Path) -> float:
    """Return how many seconds processors have worked for a process, by what Linux says of it."""
    numbers = stat.read_text("utf-8").rpartition(")")[2].split()
    return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")


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
        for command in ("init -q", "add -A", "commit -q -m all"):
            subprocess.run([*_GIT, *command.split()], cwd=folder, check=True)
        cold = took(folder, "--cache", cache)
        kept = took(folder, "--cache", cache)
        # The first call writes the archive of classes, from which the next ones start.
        for status in ("b.status END", "a.status || b.status END"):
            for number in range(1, options.changed + 1):
                path = folder / f"f{options.files * number // (options.changed + 1):05}.sql"
                path.write_text(path.read_text("utf-8").replace("THEN a.status END", f"THEN {status}"), "utf-8")
                path.write_text(path.read_text("utf-8").replace("THEN b.status END", f"THEN {status}"), "utf-8")
            changed = took(folder, "--cache", cache)
        changed_diff = took(folder, "--cache", cache, "--diff", "HEAD")
    alone = spark_alone(options.files)
    print("Seconds are those that pass, and in parentheses those of processors.\n")
    print("| files | Spark alone | cold | ratio | nothing changed | some changed | the same, --diff |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    ratio = f"{cold.seconds / alone.seconds:.1f} ({cold.processor / alone.processor:.1f})"
    print(f"| {options.files:,} | {alone} | {cold} | {ratio} | {kept} | {changed} | {changed_diff} |")


if __name__ == "__main__":
    main()
