"""Runs statements and snippets, and ends with an exception that repeats its surroundings, caused by all that failed.

Arguments: a JSON file with the steps, then whatever the test wants on the command line.
"""

import itertools
import json
import logging
import os
import runpy
import sys
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession, functions

log = logging.FileHandler("listener.log")
logging.getLogger("openlineage_pyspark").addHandler(log)
logging.getLogger("openlineage_pyspark").setLevel(logging.DEBUG)

steps = json.loads(Path(sys.argv[1]).read_text("utf-8"))
snippets = Path(sys.argv[1]).parent
spark = SparkSession.builder.appName("canaries").getOrCreate()
rows = spark.range(3)
rows.write.csv("numbers")
rows.write.saveAsTable("numbers_table")


def jdbc(url):
    rows.write.format("jdbc").options(url=url, dbtable="orders").save()


def derby(name, tail, **options):
    options |= {"url": f"jdbc:derby:memory:{name};create=true{tail}", "dbtable": "ORDERS"}
    rows.withColumnRenamed("id", "ID").write.format("jdbc").options(**options).save()
    spark.read.format("jdbc").options(**options).load().write.parquet(name)


def read_derby(name, query):
    return spark.read.jdbc(f"jdbc:derby:memory:{name}", query)


def raising(text):
    def fail(_value):
        raise ValueError(text)

    return functions.udf(fail, "long")


@functions.udf("string")
def quoting(value):
    try:
        return int(value)
    except ValueError as problem:
        raise LookupError(f"no row\nlike {value}") from problem


def people(value, name):
    spark.createDataFrame([(value,)], "ssn STRING").write.parquet(f"people_{name}")
    return spark.read.parquet(f"people_{name}")


def people_stream(name):
    return spark.readStream.schema("ssn STRING").parquet(f"people_{name}")


def started(writer, name):
    writer.option("checkpointLocation", f"checkpoint_{name}").trigger(once=True).start().awaitTermination()


def repeated(action):
    try:
        action()
    except PySparkException as problem:
        raise RuntimeError(f"no load: {problem}") from None


def connect(user, phrase):
    raise PermissionError(f"{user} said {len(phrase)} letters, and they are not known")


def stream(source, sink, out, value="id"):
    read = spark.readStream.schema("id BIGINT").options(**source).csv("numbers")
    query = (
        read.select(value)
        .writeStream.format("parquet")
        .options(**sink)
        .option("checkpointLocation", f"checkpoint_{out}")
    )
    query.option("path", out).trigger(once=True).start().awaitTermination()


scope = {
    "spark": spark, "F": functions, "rows": rows, "jdbc": jdbc, "derby": derby, "read_derby": read_derby,
    "raising": raising, "connect": connect, "stream": stream, "quoting": quoting, "people": people,
    "people_stream": people_stream, "started": started, "repeated": repeated,
}  # fmt: skip
problems, outcomes = [], {}


def attempt(number, step):
    try:
        if "sql" in step:
            spark.sql(step["sql"])
        else:
            snippet = snippets / f"snippet_{number}.py"
            snippet.write_text(step["python"], "utf-8")
            runpy.run_path(str(snippet), scope)
    except (PySparkException, Py4JError, RuntimeError, OSError, TypeError) as problem:
        problems.append(problem)
        return f"{type(problem).__name__}: {problem}"


for number, step in enumerate(steps):
    outcomes[step["place"]] = attempt(number, step)
surroundings = {
    "configuration": dict(spark.sparkContext.getConf().getAll()),
    "environment": dict(os.environ),
    "arguments": sys.argv[1:],
}
outcomes["surroundings"] = str(surroundings)
Path("outcomes.json").write_text(json.dumps(outcomes), "utf-8")
for before, after in itertools.pairwise(problems):
    after.__cause__ = before
raise RuntimeError(f"nothing is right: {surroundings}") from problems[-1]
