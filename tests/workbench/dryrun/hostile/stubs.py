"""Uses services, secrets and modules that are not there."""

import os

import boto3
import requests
from not_installed_anywhere import helper

from pyspark.sql import SparkSession

try:
    import also_not_installed
except ImportError:
    also_not_installed = None

spark = SparkSession.builder.getOrCreate()
secret = boto3.client("secretsmanager").get_secret_value(SecretId="x")["SecretString"]
if requests.get("https://example.invalid/x", timeout=1).ok:
    helper.warn()
base = os.environ["LAKE_BUCKET"]
day = os.environ.get("DAY", "today")
assert also_not_installed is None
spark._jvm.java.lang.System.exit(1)
spark.sparkContext._jsc.hadoopConfiguration().set("fs.s3a.access.key", secret)
spark.read.schema("a INT").parquet(f"s3a://{base}/in/{day}").write.parquet(f"s3a://{base}/out")
