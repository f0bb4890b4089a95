"""Functions of Python, plain and of pandas where it is installed."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType

spark = SparkSession.builder.getOrCreate()


@F.udf(returnType=StringType())
def masked(email):
    return email[0] + "***"


length = F.udf(lambda text: len(text), IntegerType())
spark.udf.register("shout", lambda text: text.upper(), "string")
customers = spark.read.option("header", True).csv("data/customers.csv")
customers.select("customer_id", masked("email").alias("email"), length(F.col("country")).alias("n")).write.mode(
    "overwrite"
).orc("out/masked")
customers.createOrReplaceTempView("customers")
spark.sql("SELECT shout(segment) AS loud FROM customers").write.mode("overwrite").text("out/loud")
