"""Does a little of everything that jobs of the tests do, so that the classes for it are loaded."""

from pyspark.sql import SparkSession

STATEMENTS = """
    CREATE TABLE made USING parquet AS
    SELECT a.name, sum(a.twice) AS total FROM parquet.first a JOIN third b ON a.id = b.id
    WHERE b.twice > 2 GROUP BY a.name ORDER BY total LIMIT 5;
    INSERT INTO made SELECT CASE WHEN twice > 1 THEN upper(name) END, max(id) OVER (PARTITION BY name) FROM third;
    INSERT INTO made WITH c AS (SELECT * FROM made) SELECT * FROM c UNION ALL SELECT * FROM c;
    CREATE VIEW seen AS SELECT DISTINCT name FROM made WHERE name IN (SELECT name FROM made);
    SELECT * FROM seen;
    DROP VIEW seen;
    DROP TABLE made
"""

spark = SparkSession.builder.getOrCreate()
spark.range(10).selectExpr("id", "id * 2 AS twice", "cast(id AS string) AS name").write.parquet("first")
spark.read.parquet("first").write.json("second")
spark.read.json("second").write.csv("third", header=True)
spark.read.csv("third", header=True, inferSchema=True).createOrReplaceTempView("third")
for statement in STATEMENTS.split(";"):
    spark.sql(statement).collect()
spark.sparkContext.textFile("third").map(len).filter(bool).saveAsTextFile("fourth")
rows = spark.readStream.schema("id LONG, twice LONG, name STRING").parquet("first")
query = rows.writeStream.option("checkpointLocation", "state").start("fifth", format="parquet")
query.processAllAvailable()
query.stop()
spark.stop()
