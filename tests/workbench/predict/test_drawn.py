"""The lineage of files of SQL as a picture."""

from __future__ import annotations

import json
import re

import attrs
import pytest
from openlineage_pyspark.command.lineage import _drawn, _drawn_diff
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.workbench.predict.query import lineage_of_query
from openlineage_pyspark.workbench.predict.scripts import StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from support import recorded_plans


def told(case: str, line: int) -> StatementLineage:
    plan = json.dumps(recorded_plans.read("4.3", "graph")[case])
    return StatementLineage(ScriptStatement("SELECT", "a.sql", line, 1), lineage_of_query(EncodedQuery(plan)))


@pytest.mark.parametrize(
    ("format_", "begin"),
    [("mermaid", "flowchart LR\n"), ("dot", "digraph lineage {\n"), ("html", "<!doctype"), ("svg", "<svg")],
)
def test_statements_are_drawn_as_jobs_and_those_without_lineage_are_left_out(format_: str, begin: str) -> None:
    nothing = StatementLineage(ScriptStatement("USE x", "a.sql", 9, 1))
    text = _drawn([told("cte-grouped", 1), told("cte-grouped-function", 5), nothing], format_)

    assert text.startswith(begin)
    assert all(f"(query) a.sql:{line}" in text for line in (1, 5))
    assert "a.sql:9" not in text


def test_statements_on_one_line_are_told_apart() -> None:
    second = attrs.evolve(told("cte-grouped-function", 1), statement=ScriptStatement("SELECT", "a.sql", 1, 30))
    text = _drawn([told("cte-grouped", 1), second, told("cte-grouped", 2)], "mermaid")
    assert re.findall(r"\(query\) (a[^\"]*)", text) == ["a.sql:1:1", "a.sql:1:30", "a.sql:2"]


def test_what_changed_is_drawn_though_its_line_moved() -> None:
    earlier, now = [told("cte-grouped", 1)], [told("cte-grouped-function", 7)]

    signs = re.findall(r"([-+~]) ([A-Z_]+)", _drawn_diff(earlier, now, "mermaid"))
    assert signs == [("~", "AGGREGATION")]
    assert _drawn_diff(earlier, earlier, "mermaid") == "flowchart LR\n"
    assert ' id="before">{"schema"' in _drawn_diff(earlier, now, "html")


def test_each_statement_has_its_own_ctes_and_a_job_makes_what_comes_out_of_them() -> None:
    statements = [told("cte-grouped", 1), told("cte-grouped-function", 5)]
    told_by_mermaid = _drawn(statements, "mermaid", unfold=True)
    picture = _drawn(statements, "svg", unfold=True)

    assert told_by_mermaid.count('["CTE x"]') == 2
    assert re.findall('"((?:AGGREGATION|TRANSFORMATION) [^"]*)"', told_by_mermaid) == [
        *("AGGREGATION sum(x.amount)", "TRANSFORMATION CAST(orders.ts AS BIGINT)", "AGGREGATION max(x.ts_u64)"),
        *("AGGREGATION sum(x.amount)", "TRANSFORMATION (opaque) toUInt64(orders.ts)", "AGGREGATION max(x.ts_u64)"),
    ]
    labels = re.findall(r'role="group" aria-label="([^"]*)"', picture)
    assert labels[0] == "Lineage graph: 3 tables, 2 CTEs, views and subqueries, 2 jobs, 14 edges"
    assert labels.count("CTE x") == 2
    assert re.findall(">(a.sql:[0-9])<", picture) == ["a.sql:1", "a.sql:5"]
    assert "ods.orders.ts → CTE x.ts_u64: TRANSFORMATION toUInt64(orders.ts)" in picture
