"""Say what the listener names the datasets of connectors whose servers are not there."""

import json

import openlineage_pyspark
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("connectors").master("local[1]").getOrCreate()
SNOWFLAKE = {"sfURL": "acme.snowflakecomputing.com", "sfUser": "u", "sfPassword": "s3cret", "sfDatabase": "sales"}
MONGODB = {"connection.uri": "mongodb://u:s3cret@One:27018", "database": "shop", "collection": "orders"}


def reader(name, **options):
    return spark.read.format(name).schema("id INT, name STRING").options(**options)


spark.conf.set("spark.mongodb.read.connection.uri", "mongodb://u:s3cret@two/shop.returns")
spark.conf.set("spark.mongodb.write.connection.uri", "mongodb://u:s3cret@two/shop.archive")
READ = {
    "MongoDB, by options": reader("mongodb", **MONGODB),
    "MongoDB, by the session": reader("mongodb"),
    "Snowflake": reader("net.snowflake.spark.snowflake", **SNOWFLAKE, sfSchema="public", dbtable="orders"),
}
for connector, options in READ.items():
    for dataset in openlineage_pyspark.lineage(spark, options.load()).inputs:
        name = dataset.identifier
        print(json.dumps([connector, name.namespace, name.name, dataset.guessed]), flush=True)
spark.stop()
