from pyspark.sql import SparkSession
def (
