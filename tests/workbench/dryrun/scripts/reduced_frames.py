"""A job with arguments, whose DataFrames are reduced to one."""

import argparse
import functools
import logging
import os
from dataclasses import dataclass, field
from typing import Callable, List

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

logger = logging.getLogger(__name__)
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")


@dataclass
class JobConfig:
    source: str
    target: str
    columns: List[str] = field(default_factory=list)


def parse_args(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--source", default="data/orders")
    p.add_argument("--target", default="out/argy")
    p.add_argument("--min-amount", type=float, default=1.0)
    return p.parse_args(argv)


def only_big(min_amount: float) -> Callable[[DataFrame], DataFrame]:
    def inner(df):
        return df.where(F.col("amount") > min_amount)

    return inner


def add_net(df: DataFrame, rate=0.2) -> DataFrame:
    return df.withColumn("net", F.round(F.col("amount") * (1 - F.lit(rate)), 2))


def main():
    args = parse_args()
    spark = SparkSession.builder.appName("argy").enableHiveSupport().getOrCreate()
    cfg = JobConfig(args.source, args.target, ["order_id", "net", "customer_id"])
    logger.info("reading %s", cfg.source)
    df = spark.read.parquet(cfg.source)
    df = df.transform(only_big(args.min_amount)).transform(add_net, rate=0.1)
    parts = [df.where(F.col("status") == s).withColumn("s", F.lit(s)) for s in ("A", "B", "C")]
    merged = functools.reduce(DataFrame.unionByName, parts)
    merged = functools.reduce(lambda d, c: d.withColumnRenamed(c, c.upper()), merged.columns, merged)
    try:
        merged.select([F.col(c.upper()) for c in cfg.columns] + ["S"]).write.mode("overwrite").partitionBy("S").parquet(
            cfg.target
        )
    except Exception:
        logger.exception("failed")
        raise
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
