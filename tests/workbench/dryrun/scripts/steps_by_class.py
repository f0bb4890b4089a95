"""Steps that are classes, in the order in which they are defined."""

from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import wraps, partial
from itertools import chain
from typing import Dict
import json, time, uuid, re, sys
from pathlib import Path
from pyspark.sql import DataFrame, SparkSession, functions as F


def timed(fn):
    @wraps(fn)
    def inner(*a, **k):
        t = time.time()
        try:
            return fn(*a, **k)
        finally:
            print(fn.__name__, time.time() - t)

    return inner


class Step(ABC):
    registry: dict = {}

    def __init_subclass__(cls, **k):
        Step.registry[cls.__name__] = cls

    def __init__(self, spark):
        self.spark = spark

    @abstractmethod
    def run(self, ins): ...


class Clean(Step):
    @timed
    def run(self, ins):
        df = ins["orders"]
        for name, dtype in df.dtypes:
            if dtype == "string":
                df = df.withColumn(name, F.regexp_replace(F.col(name), r"\s+", " "))
        return df


class Enrich(Step):
    @timed
    def run(self, ins):
        m = F.create_map(*chain.from_iterable((F.lit(k), F.lit(v)) for k, v in {"A": "open", "B": "shut"}.items()))
        return (
            ins["Clean"]
            .withColumn("label", m[F.col("status")])
            .withColumn("hash", F.sha2(F.concat_ws("||", *sorted(ins["Clean"].columns)), 256))
        )


class Report(Step):
    def run(self, ins):
        return (
            ins["Enrich"]
            .groupBy("label")
            .agg(F.expr("percentile_approx(amount, 0.5)").alias("med"), F.max_by("customer_id", "amount").alias("best"))
        )


@contextmanager
def session():
    spark = SparkSession.builder.master("yarn").config("spark.executor.memory", "8g").getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


if __name__ == "__main__":
    with session() as spark:
        ins = {"orders": spark.read.load("data/orders", format="parquet")}
        for name, cls in Step.registry.items():
            ins[name] = cls(spark).run(ins)
            ins[name].write.save(f"out/{name.lower()}", format="parquet", mode="overwrite")
        write = partial(lambda df, n: df.write.mode("overwrite").json(f"out/{n}"))
        write(ins["Report"], "json")
