"""All paths of statements that Spark has analyzed: the texts of the edges, in terms of the columns of sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark import lineage
from support.flat_edges import flat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES: dict[str, tuple[str, dict[str | None, list[str]]]] = {
    "union": (
        "SELECT id + 1 AS x FROM emp UNION ALL SELECT id * 2 FROM emp",
        {"x": ["(emp.id + 1)", "(emp.id * 2)"]},
    ),
    "insert": (
        "INSERT INTO report (id, name) SELECT id + 1, name FROM emp UNION ALL SELECT id * 2, upper(name) FROM emp",
        {"id": ["(emp.id + 1)", "(emp.id * 2)"], "name": ["upper(emp.name)"]},
    ),
    "union of union": (
        "SELECT id + 1 AS x FROM emp UNION (SELECT id * 2 FROM emp UNION ALL SELECT id - 3 FROM emp)",
        {"x": ["(emp.id + 1)", "(emp.id * 2)", "(emp.id - 3)"]},
    ),
    "cases": (
        "SELECT CASE WHEN id > 1 THEN p ELSE q END AS x FROM (SELECT id, id + 1 AS p, id * 2 AS q FROM emp)",
        {"x": ["CASE WHEN (emp.id > 1) THEN (emp.id + 1) ELSE (emp.id * 2) END"]},
    ),
    "a CTE twice": (
        "WITH c AS (TABLE emp) SELECT abs(x) AS y FROM (SELECT id + 1 AS x FROM c UNION ALL SELECT id * 2 FROM c)",
        {"y": ["abs((emp.id + 1))", "abs((emp.id * 2))"]},
    ),
    "masked in the second branch": (
        "SELECT name AS x FROM emp UNION ALL SELECT sha2(name, 256) FROM emp",
        {"x": ["sha2(CAST(emp.name AS BINARY), 256)"]},
    ),
    "two filters": (
        "SELECT name FROM (SELECT * FROM emp WHERE id > 1) WHERE id < 100",
        {None: ["(emp.id > 1)", "(emp.id < 100)"]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_path_has_its_text(session: SparkSession, name: str) -> None:
    sql, expected = CASES[name]
    found: dict[str | None, set[str]] = {}
    for edge in flat(lineage(session, sql)):
        if edge.expression and (edge.type == "DIRECT" or edge.subtype == "FILTER"):
            found.setdefault(edge.column, set()).add(" ".join(edge.expression.split()))
    assert {column: sorted(texts) for column, texts in found.items()} == {
        column: sorted(texts) for column, texts in expected.items()
    }


def test_a_recursive_cte_is_entered_once(session: SparkSession) -> None:
    if session.version < "4.1":
        pytest.skip(f"Spark {session.version} has no recursive CTEs")
    sql = "WITH RECURSIVE r(n) AS (SELECT id FROM emp UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT n * 2 x FROM r"
    found = [edge for edge in flat(lineage(session, sql)) if edge.column == "x"]
    assert sorted(edge.expression for edge in found) == ["((n + 1) * 2)", "(emp.id * 2)"]
    assert [sum("UnionLoopRef" in each for each in edge.operators) for edge in found] in ([0, 1], [1, 0])
