"""SQL with subqueries, EXISTS, lateral views, CTEs, HAVING."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql(
    """
    SELECT o.customer_id, o.amount, (SELECT max(amount) FROM shop.orders) AS most
    FROM shop.orders o
    WHERE EXISTS (SELECT 1 FROM shop.customers c WHERE c.customer_id = o.customer_id AND c.country = 'BE')
      AND o.status IN (SELECT status FROM shop.orders GROUP BY status HAVING count(*) > 1)
    """
).write.mode("overwrite").parquet("out/sub")
spark.read.json("data/events.json").createOrReplaceTempView("events")
spark.sql("SELECT user, tag FROM events LATERAL VIEW explode(tags) t AS tag WHERE size(tags) > 0").write.mode(
    "overwrite"
).saveAsTable("shop.user_tags")
