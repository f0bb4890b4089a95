"""The contexts of earlier versions of Spark, and words that are counted."""

from pyspark.sql import SparkSession, functions as F
from pyspark import SparkContext, SparkConf
from pyspark.sql import SQLContext, HiveContext

conf = SparkConf().setAppName("old").setMaster("local[*]").set("spark.sql.ansi.enabled", "false")
sc = SparkContext.getOrCreate(conf=conf)
sqlContext = SQLContext(sc)
df = sqlContext.read.parquet("data/orders")
df.registerTempTable("o") if hasattr(df, "registerTempTable") else df.createOrReplaceTempView("o")
sqlContext.sql("select status, sum(amount) a from o group by status").write.mode("overwrite").parquet("out/old")
spark = SparkSession(sc)
spark.table("o").select("day").write.mode("overwrite").parquet("out/s")
words = sc.textFile("data/log.txt").flatMap(lambda l: l.split()).map(lambda w: (w, 1)).reduceByKey(lambda a, b: a + b)
words.saveAsTextFile("out/words")
for w, c in words.collect():
    print(w, c)
words.toDF(["w", "c"]).write.parquet("out/wc")
