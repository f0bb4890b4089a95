"""Values in the texts of statements that a dry run does not know."""

from __future__ import annotations

import pytest
from openlineage_pyspark.workbench.dryrun.script.values import fills_variables, with_assumed_values


@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        ("SELECT a FROM t WHERE b > {least} AND c = {day}", "SELECT a FROM t WHERE b > '{least}' AND c = '{day}'"),
        ("SELECT a FROM t WHERE (b >= {row.x})", "SELECT a FROM t WHERE (b >= '{row.x}')"),
        ("SELECT a FROM t WHERE b like {x}\nGROUP BY a", "SELECT a FROM t WHERE b like '{x}'\nGROUP BY a"),
        ("SELECT a FROM t WHERE b BETWEEN {x} AND {y}", "SELECT a FROM t WHERE b BETWEEN '{x}' AND '{y}'"),
        ("SELECT a FROM t WHERE b = '> {x}'", "SELECT a FROM t WHERE b = '> {x}'"),
        ("SELECT a FROM t WHERE b = {x}.c", "SELECT a FROM t WHERE b = {x}.c"),
        ("SELECT a FROM t WHERE b = {x} + 1", "SELECT a FROM t WHERE b = {x} + 1"),
        ("SELECT {columns} FROM {table} WHERE {condition}", "SELECT {columns} FROM {table} WHERE {condition}"),
    ],
)
def test_a_stand_in_that_is_compared_with_something_is_taken_for_a_value(text: str, assumed: str) -> None:
    assert with_assumed_values(text) == assumed


@pytest.mark.parametrize(
    ("text", "fills"),
    [
        ("EXECUTE IMMEDIATE 'SELECT max(a) FROM t' INTO b", True),
        ("execute immediate 'INSERT INTO t SELECT 1'", False),
        ("INSERT INTO t SELECT 1", False),
    ],
)
def test_a_statement_that_executes_a_text_may_set_variables(text: str, *, fills: bool) -> None:
    assert fills_variables(text) is fills
