"""A job of classes with a configuration beside the script, and a module of its own."""

import json
from pathlib import Path

from classes_steps import Cleaner
from pyspark.sql import SparkSession


class Job:
    def __init__(self, config):
        self.config = config
        self.spark = SparkSession.builder.appName(config["name"]).config("spark.executor.memory", "8g").getOrCreate()

    def run(self):
        for step in self.config["steps"]:
            frame = self.spark.read.format(step["format"]).options(**step.get("options", {})).load(step["path"])
            Cleaner(step["factor"]).clean(frame).write.mode("overwrite").format("parquet").save(step["out"])


if __name__ == "__main__":
    Job(json.loads((Path(__file__).parent / "classes_config.json").read_text())).run()
