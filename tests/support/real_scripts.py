"""Runs scripts really, each with the listener as an application of its own: `real_scripts.py FOLDER NAMES`."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import sys
import traceback
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[1] / "workbench" / "dryrun" / "scripts"
ORDERS = "order_id BIGINT, customer_id STRING, amount DOUBLE, day DATE, status STRING"
SCHEMAS = {
    "data/customers.csv": "customer_id STRING, country STRING, email STRING, segment STRING",
    "data/many": "customer_id STRING, country STRING, email STRING, segment STRING",
    "data/orders": ORDERS,
    "data/orders2": ORDERS,
    "data/items": "order_id BIGINT, sku STRING, quantity INT, price DOUBLE",
    "data/events.json": "kind STRING, payload STRUCT<a: BIGINT, b: STRING>, tags ARRAY<STRING>, ts STRING, user STRING",
    "shop.orders": ORDERS,
    "shop.customers": "customer_id STRING, country STRING, email STRING, segment STRING",
    "shop.targets": "customer_id STRING, total DOUBLE",
    "tpch/customer": "c_custkey BIGINT, c_name STRING, c_nationkey BIGINT, c_mktsegment STRING, c_acctbal DOUBLE, "
    "c_address STRING, c_phone STRING, c_comment STRING",
    "tpch/lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_quantity DOUBLE, "
    "l_extendedprice DOUBLE, l_discount DOUBLE, l_tax DOUBLE, l_returnflag STRING, l_linestatus STRING, "
    "l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipmode STRING, l_shipinstruct STRING",
    "tpch/nation": "n_nationkey BIGINT, n_name STRING, n_regionkey BIGINT",
    "tpch/orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderdate DATE, o_orderpriority STRING, o_shippriority INT, "
    "o_orderstatus STRING, o_totalprice DOUBLE",
    "tpch/part": "p_partkey BIGINT, p_name STRING, p_brand STRING, p_type STRING, p_size INT, p_mfgr STRING, "
    "p_container STRING",
    "tpch/partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_supplycost DOUBLE",
    "tpch/region": "r_regionkey BIGINT, r_name STRING",
    "tpch/supplier": "s_suppkey BIGINT, s_name STRING, s_nationkey BIGINT, s_comment STRING, s_address STRING, "
    "s_phone STRING, s_acctbal DOUBLE",
}
"""The columns of all that scripts read, as `--schemas` takes them: paths below the folder, and tables."""


def prepare(folder: Path) -> None:
    """Write the rows that scripts read, without the listener."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    for path, ddl in SCHEMAS.items():
        if path.startswith("tpch/") or path in ("data/orders", "data/orders2", "data/items"):
            columns = (each.split() for each in ddl.split(", "))
            values = [f"CAST({'NULL' if type_ == 'DATE' else 2} AS {type_}) AS {name}" for name, type_ in columns]
            spark.range(1).selectExpr(*values).coalesce(1).write.parquet(str(folder / path))
    spark.stop()
    row = "customer_id,country,email,segment\nc1,BE,a@b.c,x\n"
    (folder / "data" / "customers.csv").write_text(row)
    (folder / "data" / "many").mkdir()
    (folder / "data" / "many" / "one.csv").write_text(row)
    event = {"kind": "k", "payload": {"a": 1, "b": "x"}, "tags": ["t"], "ts": "2026-01-01", "user": "c1"}
    (folder / "data" / "events.json").write_text(json.dumps(event) + "\n")
    (folder / "data" / "stream").mkdir()
    (folder / "data" / "stream" / "one.json").write_text(json.dumps(event) + "\n")
    (folder / "data" / "log.txt").write_text("INFO hello\n")


def run(script: Path, folder: Path) -> str:
    """Run a script in a folder with the data, and return how it fails; empty if it does not."""
    from pyspark.sql import SparkSession

    os.chdir(folder)
    builder = SparkSession.builder.master("local[1]").appName(script.stem)
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": str(folder / "events.ndjson"),
        "spark.openlineage.namespace": "real",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    # The JVM keeps the folder in which it was started, and each script is to have its own.
    java = spark._jvm.org.apache.hadoop.fs
    files = java.FileSystem.getLocal(spark._jsc.hadoopConfiguration())
    files.setWorkingDirectory(java.Path(str(folder)))
    java.FileSystem.get(spark._jsc.hadoopConfiguration()).setWorkingDirectory(java.Path(str(folder)))
    spark.sql("CREATE DATABASE shop")
    for name, ddl in SCHEMAS.items():
        if "/" not in name:
            spark.sql(f"CREATE TABLE {name} ({ddl}) USING parquet")
    sys.argv, path = [str(script)], sys.path[:]
    sys.path.insert(0, str(script.parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except Exception as problem:  # noqa: BLE001 (whatever a script raises)
        return traceback.format_exception_only(problem)[-1]
    finally:
        sys.path[:] = path
        active = SparkSession.getActiveSession()
        if active is not None:
            active.stop()
        SparkSession.builder._options.clear()
    return ""


def main() -> None:
    """Prepare a folder for each script, and run it there."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    base = Path(sys.argv[1])
    (base / "given").mkdir(parents=True)
    prepare(base / "given")
    failed = {}
    for name in sys.argv[2:]:
        folder = base / name
        shutil.copytree(base / "given", folder)
        if why := run(SCRIPTS / f"{name}.py", folder):
            failed[name] = why
    (base / "failed.json").write_text(json.dumps(failed))


if __name__ == "__main__":
    main()
