"""Versions of tables of Delta Lake in the names that statements have."""

from __future__ import annotations

import pytest
from openlineage_pyspark.workbench.predict.sql.versions import with_versions
from openlineage_pyspark.workbench.rebuild.statements import FileStep


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM d.t@v3 x", "SELECT * FROM d.t VERSION AS OF 3 x"),
        ("SELECT * FROM delta.`s3://b/p@v12`", "SELECT * FROM delta.`s3://b/p` VERSION AS OF 12"),
        (
            "SELECT * FROM t@20240131235959001",
            "SELECT * FROM t TIMESTAMP AS OF '2024-01-31 23:59:59.001'",
        ),
        (
            "MERGE INTO t USING d.`t`@v3 s ON s.i = t.i WHEN MATCHED THEN DELETE",
            "MERGE INTO t USING (SELECT * FROM d.`t` VERSION AS OF 3) s ON s.i = t.i WHEN MATCHED THEN DELETE",
        ),
        (
            "MERGE INTO t USING delta.`/p@v7` s ON s.i = t.i WHEN MATCHED THEN DELETE",
            "MERGE INTO t USING (SELECT * FROM delta.`/p` VERSION AS OF 7) s ON s.i = t.i WHEN MATCHED THEN DELETE",
        ),
    ],
)
def test_a_version_in_a_name_becomes_a_clause(text: str, expected: str) -> None:
    assert with_versions(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 'a@v3', `t@v3` FROM parquet.`/p@v3`",
        "SELECT * FROM t WHERE i = @v3",
        "SELECT t @v3",
        "SELECT * FROM t@venue, t@3",
        "-- t@v3\nSELECT 1",
    ],
)
def test_all_else_with_the_same_character_stays(text: str) -> None:
    assert with_versions(text) == text


@pytest.mark.parametrize("name", ["t@v3", "delta.`/p@v3`", "t VERSION AS OF 3"])
def test_a_plan_alone_does_not_show_the_version_in_a_name(name: str) -> None:
    assert FileStep("a.sql", 1, f"SELECT * FROM {name}", "Query").has_more_than_its_plan
    assert not FileStep("a.sql", 1, "SELECT * FROM t", "Query").has_more_than_its_plan
