"""Structs, maps and arrays, and functions of higher order."""

from pyspark.sql import SparkSession, functions as F, types as T

spark = SparkSession.builder.getOrCreate()
schema = T.StructType(
    [
        T.StructField("user", T.StringType()),
        T.StructField("payload", T.StructType([T.StructField("a", T.LongType()), T.StructField("b", T.StringType())])),
        T.StructField("tags", T.ArrayType(T.StringType())),
        T.StructField("ts", T.StringType()),
    ]
)
e = spark.read.schema(schema).json("data/events.json")
e.select("user", F.explode("tags").alias("tag")).write.parquet("out/ex")
e.select("user", F.posexplode_outer("tags")).write.parquet("out/pos")
e.select(
    "user",
    F.transform("tags", lambda x: F.concat(x, F.col("user"))).alias("t"),
    F.filter("tags", lambda x: x != "").alias("f"),
    F.aggregate("tags", F.lit(""), lambda a, x: F.concat(a, x)).alias("g"),
    F.exists("tags", lambda x: x == "k").alias("e"),
).write.parquet("out/hof")
e.select(
    F.create_map(F.lit("a"), F.col("payload.a"), F.lit("b"), F.length("payload.b")).alias("m"),
    F.map_from_arrays(F.array("user"), F.array("ts")).alias("n"),
).select(F.explode("m").alias("k", "v"), F.col("n")["x"].alias("nx")).write.parquet("out/maps")
e.withColumn("payload", F.col("payload").withField("c", F.lit(1)).dropFields("b")).select(
    "payload.*", "user"
).write.parquet("out/fields")
e.select(F.to_json(F.struct("user", "payload.a")).alias("j")).select(
    F.from_json("j", "user STRING, a BIGINT").alias("p")
).select("p.user", "p.a").write.parquet("out/json")
e.select(F.arrays_zip("tags", F.array(F.col("user"))).alias("z")).select(F.inline("z")).write.parquet("out/inline")
e.groupBy("user").agg(F.collect_list(F.struct("ts", "payload")).alias("l"), F.collect_set("ts").alias("s")).select(
    "user", F.sort_array("l")[0]["payload"]["a"].alias("first_a"), F.array_join("s", ",").alias("js")
).write.parquet("out/coll")
e.select(F.json_tuple(F.to_json("payload"), "a", "b").alias("x", "y")).write.parquet("out/jt")
e.select(
    "*", F.col("payload").getField("a").alias("pa"), e.payload.b.alias("pb"), e["tags"].getItem(0).alias("t0")
).write.parquet("out/get")
