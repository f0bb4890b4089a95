"""Prints what a context says of its metastore, with a hive-site.xml in the folder `conf`, and with a property too."""

import json
import os
from pathlib import Path

from openlineage_pyspark.listener.probe.client import context_facts
from pyspark import SparkConf, SparkContext

os.environ["SPARK_CONF_DIR"] = str(Path("conf").absolute())
found = {}
for name, properties in (("hive-site.xml", {}), ("spark", {"spark.hadoop.hive.metastore.uris": "thrift://own:9083"})):
    with SparkContext(conf=SparkConf().setAll(properties.items())) as context:
        found[name] = context_facts(context._jsc).metastore
print(json.dumps(found))
