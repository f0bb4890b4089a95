"""The steps of classes.py."""

from pyspark.sql import functions as F


class Cleaner:
    def __init__(self, factor):
        self.factor = factor

    def clean(self, frame):
        return frame.transform(self._scaled).where("amount IS NOT NULL")

    def _scaled(self, frame):
        return frame.withColumn("scaled", F.col("amount") * self.factor).drop("status")
