"""
The statements that both listeners hear, each with the truth: how it ends, and which column comes from which.

This is also the job itself: `peer_statements.py FOLDER EVENTS MARKS`, which `peer.py` starts through spark-submit. It
knows nothing about lineage; it notes which lines of the event file each statement produced.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

_QUIET_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 20.0
_SUM = {"total": {"orders.amount"}}


@attrs.frozen
class Statement:
    """
    One statement that writes one output.

    Args:
        name: what it demonstrates.
        run: runs it, given a session and the folder that it may write to.
        edges: output column -> the source columns whose values it uses.
        ends: the state that its run must end in.
    """

    name: str
    run: Callable[[Any, str], None]
    edges: dict[str, set[str]]
    ends: str = "COMPLETE"


def _sql(name: str, query: str, edges: dict[str, set[str]], ends: str = "COMPLETE") -> Statement:
    """Return a statement that writes a query's rows as Parquet files."""
    return Statement(name, lambda spark, to: spark.sql(query).write.parquet(to), edges, ends)


def _create_table(spark: Any, _: str) -> None:
    spark.sql("CREATE TABLE made USING parquet AS SELECT customer, amount * 2 AS twice FROM orders")


def _save_as_table(spark: Any, _: str) -> None:
    spark.table("orders").selectExpr("customer", "amount * 2 AS twice").write.saveAsTable("saved")


def _insert(spark: Any, _: str) -> None:
    spark.sql("INSERT INTO filled SELECT name, amount FROM orders o JOIN customers c ON o.customer = c.id")


def _python_function(spark: Any, to: str) -> None:
    spark.udf.register("shout", lambda text: text.upper())
    spark.sql("SELECT shout(name) AS loud FROM customers").write.parquet(to)


def _cached(spark: Any, to: str) -> None:
    big = spark.sql("SELECT id, amount FROM orders WHERE amount > 1").cache()
    other = big.withColumnsRenamed({"id": "other_id", "amount": "other"})
    big.join(other, big.id == other.other_id).select("id", "amount", "other").write.parquet(to)
    big.unpersist()


def _checkpoint(spark: Any, to: str) -> None:
    spark.table("orders").selectExpr("amount + 1 AS more").localCheckpoint().write.parquet(to)


def _in_every_batch(spark: Any, to: str) -> None:
    orders = spark.readStream.table("orders").selectExpr("customer", "amount * 2 AS twice")
    query = orders.writeStream.foreachBatch(lambda batch, _: batch.write.mode("append").parquet(to))
    query.trigger(availableNow=True).option("checkpointLocation", f"{to}_state").start().awaitTermination()


def _path_exists(spark: Any, to: str) -> None:
    Path(to).mkdir()
    spark.sql("SELECT customer FROM orders").write.parquet(to)


def _python_error(spark: Any, to: str) -> None:
    spark.udf.register("broken", lambda text: text.nothing)
    spark.sql("SELECT broken(name) AS loud FROM customers").write.parquet(to)


_COUNTRY = {"country": {"customers.country"}}
STATEMENTS = (
    _sql(
        "filter and GROUP BY, to a path",
        "SELECT customer, sum(amount) AS total FROM orders WHERE day > 1 GROUP BY customer",
        {"customer": {"orders.customer"}, **_SUM},
    ),
    Statement("CREATE TABLE AS SELECT", _create_table, {"customer": {"orders.customer"}, "twice": {"orders.amount"}}),
    Statement("df.write.saveAsTable", _save_as_table, {"customer": {"orders.customer"}, "twice": {"orders.amount"}}),
    Statement("INSERT INTO, of a join", _insert, {"name": {"customers.name"}, "amount": {"orders.amount"}}),
    _sql(
        "UNION ALL",
        "SELECT amount AS n FROM orders UNION ALL SELECT id FROM customers",
        {"n": {"orders.amount", "customers.id"}},
    ),
    Statement("Python UDF", _python_function, {"loud": {"customers.name"}}),
    _sql(
        "ROLLUP",
        "SELECT country, sum(amount) AS total FROM orders JOIN customers c ON customer = c.id GROUP BY ROLLUP(country)",
        {**_COUNTRY, **_SUM},
    ),
    _sql(
        "two COUNT(DISTINCT)",
        "SELECT day, count(DISTINCT customer) AS c, count(DISTINCT amount) AS a FROM orders GROUP BY day",
        {"day": {"orders.day"}, "c": {"orders.customer"}, "a": {"orders.amount"}},
    ),
    _sql(
        "scalar subquery",
        "SELECT name, (SELECT max(amount) FROM orders) AS highest FROM customers",
        {"name": {"customers.name"}, "highest": {"orders.amount"}},
    ),
    _sql(
        "UNPIVOT",
        "SELECT id, what, n FROM orders UNPIVOT (n FOR what IN (amount, day))",
        {"id": {"orders.id"}, "n": {"orders.amount", "orders.day"}},
    ),
    Statement(
        "cached frame, joined with itself",
        _cached,
        {"id": {"orders.id"}, "amount": {"orders.amount"}, "other": {"orders.amount"}},
    ),
    Statement("localCheckpoint", _checkpoint, {"more": {"orders.amount"}}),
    _sql("WHERE that is never true", "SELECT name FROM customers WHERE 1 = 0", {"name": {"customers.name"}}),
    Statement(
        "stream with foreachBatch", _in_every_batch, {"customer": {"orders.customer"}, "twice": {"orders.amount"}}
    ),
    Statement("failure: the path exists", _path_exists, {"customer": {"orders.customer"}}, "FAIL"),
    _sql(
        "failure: an error in a task",
        "SELECT if(amount > 1, raise_error('bad'), name) AS x FROM orders o JOIN customers c ON customer = c.id",
        {"x": {"customers.name"}},
        "FAIL",
    ),
    Statement("failure: an exception in a Python UDF", _python_error, {"loud": {"customers.name"}}, "FAIL"),
)


def _settle(spark: Any, events: Path) -> int:
    """Wait until Spark has told its listeners everything and the event file stops growing; return its line count."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    end, size, since = time.monotonic() + _LONGEST_WAIT_SECONDS, -1, 0.0
    while time.monotonic() < end and (size < 0 or time.monotonic() - since < _QUIET_SECONDS):
        now = events.stat().st_size if events.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        time.sleep(0.05)
    return len(events.read_text("utf-8").splitlines()) if events.exists() else 0


def main() -> None:
    """Run every statement, each after the previous one's events are written."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    folder, events, marks = (Path(argument) for argument in sys.argv[1:4])
    spark = SparkSession.builder.appName("peer").getOrCreate()
    spark.sql("CREATE TABLE orders (id INT, customer INT, amount INT, day INT) USING parquet")
    spark.sql("CREATE TABLE customers (id INT, name STRING, country STRING) USING parquet")
    spark.sql("CREATE TABLE filled (name STRING, amount INT) USING parquet")
    spark.sql("INSERT INTO orders VALUES (1, 1, 10, 1), (2, 1, 20, 2), (3, 2, 30, 3)")
    spark.sql("INSERT INTO customers VALUES (1, 'ann', 'de'), (2, 'bo', 'fr')")
    found = []
    for number, statement in enumerate(STATEMENTS):
        begin = _settle(spark, events)
        failed = True
        with contextlib.suppress(PySparkException):
            statement.run(spark, str(folder / f"out{number}"))
            failed = False
        found.append({"failed": failed, "begin": begin, "end": _settle(spark, events)})
    marks.write_text(json.dumps({"spark": spark.version, "statements": found}), "utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
