"""Has the JVM refuse some of the listener's first calls, and writes once."""

import sys

from openlineage_pyspark.listener.probe import client
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

refused = iter(range(int(sys.argv[1])))
context_facts = client.context_facts


def refusing(context):
    if next(refused, None) is not None:
        raise Py4JError("An error occurred while calling o25.getAll")
    return context_facts(context)


client.context_facts = refusing
spark = SparkSession.builder.getOrCreate()
spark.range(2).write.parquet("out")
print("rows", spark.read.parquet("out").count())
