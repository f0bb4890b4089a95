"""Puts the hook in by an import, writes, and leaves what it saw of the package in `seen.json`."""

import importlib
import importlib.util
import json
import sys
from pathlib import Path

import openlineage_pyspark.auto
from openlineage_pyspark.transport.http.transport import HttpTransport
from pyspark.sql import SparkSession


def finders() -> list[str]:
    """Give the finders that are classes, in a Python worker as well, after the import."""
    assert openlineage_pyspark.auto
    return [finder.__name__ for finder in sys.meta_path if isinstance(finder, type)]


before = list(sys.path)
spark = SparkSession.builder.appName("By Import").getOrCreate()
spark.range(10).write.parquet("out")
worker = spark.sparkContext.parallelize([0], 1).map(lambda _: finders()).collect()[0]
copied = next(path for path in sys.path if path not in before and path.endswith("packages.zip"))
spark.stop()
seen = {
    "package": openlineage_pyspark.auto.__file__,
    "client": sys.modules[HttpTransport.__module__].__file__,
    "attrs": importlib.util.find_spec("attrs").origin,
    "driver": finders(),
    "worker": worker,
    "copied": Path(copied).name,
    "copy is left": Path(copied).exists(),
    # Of the libraries, a module that nothing imports.
    "late": importlib.import_module("requests.help").__file__,
}
Path("seen.json").write_text(json.dumps(seen))
