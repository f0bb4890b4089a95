"""Fails in several ways, and prints what it sees of each."""

import time

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions

spark = SparkSession.builder.appName("failing").getOrCreate()
spark.sql("CREATE TABLE src USING parquet AS SELECT id, concat('n', id) AS name FROM range(20)")
source = spark.table("src")


@functions.udf("long")
def broken(value):
    raise ValueError(f"broken on purpose for {value - value}")


problems = []


def attempt(name, action):
    try:
        action()
    except (PySparkException, Py4JError) as problem:
        print(name, type(problem).__name__)
        problems.append(problem)


def frames(problem):
    """Give the classes in the Java stack trace of what was caught."""
    thrown = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    return [] if thrown is None else [frame.getClassName() for frame in thrown.getStackTrace()]


attempt("task", lambda: source.selectExpr("id", "cast(raise_error('in a task') AS string) AS e").write.parquet("task"))
late = (
    source.groupBy("name")
    .count()
    .selectExpr("name", "if(count > 0, cast(raise_error('after a job') AS string), 'x') AS e")
)
attempt("late", lambda: late.write.parquet("late"))
attempt("exists", lambda: source.write.parquet("."))
# Of one partition: Spark 3.5 gives the Python exception itself where a later partition is the first to fail.
attempt("udf", lambda: source.coalesce(1).select(broken("id").alias("b")).write.parquet("udf"))
attempt("analysis", lambda: spark.sql("INSERT INTO src SELECT nope FROM src"))
if hasattr(functions, "arrow_udtf"):
    import pyarrow

    @functions.arrow_udtf(returnType="x INT")
    class Made:
        def eval(self, _value):
            yield pyarrow.table({"x": pyarrow.array([1], pyarrow.int32())})

    # Spark refuses the function in a LATERAL join, but only in the write inside the statement.
    spark.udtf.register("made", Made)
    inside = "CREATE TABLE inside USING parquet AS SELECT s.id, q.x FROM src s, LATERAL made(s.id) q"
    attempt("inside", lambda: spark.sql(inside))
source.write.parquet("good")
# Behind the listener, since Spark puts the stack of whoever asks for a failed plan into the exception itself.
time.sleep(2)
print("frames", sum(name.startswith("openlineage") for problem in problems for name in frames(problem)))
print("end")
