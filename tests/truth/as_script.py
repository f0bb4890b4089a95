"""Random pipelines as PySpark scripts and notebooks, which write DataFrames where the pipelines have statements."""

from __future__ import annotations

import ast
import json
import re
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from truth.layers import Pipeline, Select, Statement

_JOINS = {"JOIN": "inner", "LEFT JOIN": "left", "RIGHT JOIN": "right", "FULL JOIN": "full",
          "LEFT SEMI JOIN": "left_semi", "LEFT ANTI JOIN": "left_anti"}  # fmt: skip
_OF_SQL = re.compile(r"""spark\.sql\(('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)""")
_HEAD = """\
import sys
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("pipeline").getOrCreate()


def save(frame, name):
    frame.write.mode("overwrite").format("parquet").saveAsTable(name)


def replaced(frame, name):
    frame.write.insertInto(name, overwrite=True)


"""


def script_of(pipeline: Pipeline) -> str:
    """Return a script that makes the same tables as a pipeline, each in a way that its name decides."""
    return _HEAD + "".join(_lines(each, zlib.crc32(each.table.encode())) for each in pipeline)


def notebook_of(pipeline: Pipeline) -> str:
    """Return a notebook of Jupyter that makes the same tables: its cells of SQL have the statements of the script."""
    cells = [{"cell_type": "code", "source": each, "outputs": []} for each in _cells(pipeline)]
    return json.dumps({"metadata": {"kernelspec": {"language": "python"}}, "cells": cells})


def source_of(pipeline: Pipeline) -> str:
    """Return such a notebook as Databricks exports it."""
    texts = (re.sub("^", "# MAGIC ", each, flags=re.MULTILINE) if each[0] == "%" else each for each in _cells(pipeline))
    return "# Databricks notebook source\n" + "\n# COMMAND ----------\n".join(texts)


def _cells(pipeline: Pipeline) -> Iterator[str]:
    yield _HEAD
    for statement in pipeline:
        for line in _lines(statement, zlib.crc32(statement.table.encode())).splitlines():
            of_sql = _OF_SQL.fullmatch(line)
            yield f"%sql\n{ast.literal_eval(of_sql[1])}" if of_sql else line


def _lines(statement: Statement, way: int) -> str:
    name = statement.table
    query = statement.query
    if query is None or way % 4 == 0 or statement.kind == "merge":
        return "".join(f"spark.sql({text!r})\n" for text in statement.statements())
    frame = _frame(query, way)
    *before, _ = statement.statements()
    made = "".join(f"spark.sql({text!r})\n" for text in before)
    if statement.kind == "table":
        return f"{made}save({frame}, {name!r})\n"
    if statement.kind == "temporary":
        return f"{made}{frame}.createOrReplaceTempView({name!r})\n"
    if statement.kind == "view":
        return "".join(f"spark.sql({text!r})\n" for text in statement.statements())
    if statement.kind == "overwrite":
        return f"{made}replaced({frame}, {name!r})\n"
    return f"{made}{frame}.write.insertInto({name!r})\n"


def _frame(query: Select, way: int) -> str:
    """Return an expression of Python for a query."""
    is_plain = not (query.having or query.lateral or query.union or query.order) and query.style == "plain"
    if not is_plain or way % 4 == 1:
        return f"spark.sql({query.text()!r})"
    text = f"spark.table({query.source!r}).alias('l')"
    if query.other:
        text += f".join(spark.table({query.other!r}).alias('r'), F.expr({query.on!r}), {_JOINS[query.join]!r})"
    text += "".join(f".where({each!r})" for each in query.where)
    columns = [f"F.expr({each.text!r}).alias({each.name!r})" for each in query.items]
    if query.keys < 0:
        text += f".select({', '.join(columns)})"
    elif query.keys < len(columns):
        grouped = f".groupBy({', '.join(columns[: query.keys])})" if query.keys else ""
        text += f"{grouped}.agg({', '.join(columns[query.keys :])})"
    else:
        text += f".select({', '.join(columns)}).distinct()"
    return f"{text}.distinct()" if query.is_distinct else text


FORMS: tuple[tuple[str, Callable[[Pipeline], str]], ...] = (
    ("job.py", script_of),
    ("job.ipynb", notebook_of),
    ("notebook.py", source_of),
)
"""The forms of a pipeline: the name of its file, and what returns its text."""
