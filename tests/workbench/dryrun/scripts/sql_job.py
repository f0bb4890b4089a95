"""A job of statements of SQL."""

from datetime import date, timedelta
from pyspark.sql import SparkSession
from pyspark.sql.utils import AnalysisException

spark = SparkSession.builder.getOrCreate()
day = date(2024, 1, 2)
target = "shop.daily"
spark.sql("USE shop")
spark.sql(f"""
  CREATE TABLE IF NOT EXISTS {target} (customer_id STRING, total DOUBLE, day DATE) USING parquet PARTITIONED BY (day)
""")
spark.sql(f"""
  INSERT OVERWRITE TABLE {target} PARTITION (day = '{day}')
  SELECT customer_id, sum(amount) FROM orders WHERE day >= date'{day - timedelta(days=1)}' GROUP BY customer_id
""")
spark.sql("SELECT * FROM orders WHERE amount > :m AND status = :s", args={"m": 3, "s": "x"}).write.mode(
    "overwrite"
).saveAsTable("shop.filtered")
spark.sql("SELECT customer_id, amount FROM orders WHERE amount > ?", args=[3]).createOrReplaceTempView("big")
df = spark.table("big")
spark.sql(
    "SELECT b.customer_id, c.country FROM {b} b JOIN {c} c USING (customer_id)", b=df, c=spark.table("customers")
).write.saveAsTable("joined")
spark.sql("INSERT INTO targets SELECT customer_id, amount FROM big")
spark.sql("CREATE OR REPLACE VIEW v AS SELECT customer_id, sum(total) AS s FROM targets GROUP BY 1")
spark.sql("CREATE TABLE from_v USING parquet AS WITH x AS (SELECT * FROM v) SELECT * FROM x WHERE s > 1")
spark.sql("CACHE TABLE cached AS SELECT country, count(*) n FROM customers GROUP BY country")
spark.table("cached").write.parquet("out/cached")
try:
    spark.table("nope.nothing").write.parquet("out/never")
except AnalysisException as e:
    print("missing", e)
spark.catalog.setCurrentDatabase("default")
spark.sql("SET x.y = 1")
spark.sql("DROP TABLE IF EXISTS shop.old")
if spark.catalog.tableExists("shop.daily"):
    spark.table("shop.daily").groupBy("day").count().write.parquet("out/counts")
for t in ("orders", "customers"):
    spark.table(f"shop.{t}").limit(0).write.mode("overwrite").saveAsTable(f"shop.{t}_copy")
spark.sql("select 1 as one, current_date() as d").write.parquet("out/const")
spark.sql(
    "select o.*, (select max(total) from shop.targets t where t.customer_id = o.customer_id) mt from shop.orders o where exists (select 1 from shop.customers c where c.customer_id = o.customer_id)"
).write.parquet("out/sub")
