"""Which run wrote a row, on tables of Iceberg's format version 3 and of Delta Lake with row tracking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.lakes import LAKE_CONF, ROW_JARS
from support.spark_jobs import PATIENT, QUICK, Jobs

pytestmark = [pytest.mark.own_jvm, pytest.mark.long]

EXTENSIONS = {
    "iceberg": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "delta": "io.delta.sql.DeltaSparkSessionExtension",
}
# What is no condition on a row -> what the error says of it, and where.
REFUSED = {
    "1=1) UNION SELECT 1 --": "Syntax error at or near ')'",
    "1=1; DROP TABLE db.t": "Syntax error at or near ';'",
    "id = 1 ORDER BY id": "Syntax error at or near 'ORDER'",
    "DELETE FROM db.t": "Syntax error at or near 'FROM'",
    "id IN (SELECT id FROM db.t)": "has a subquery: a condition reads the columns of one row",
    "EXISTS (SELECT 1)": "has a subquery: a condition reads the columns of one row",
    "(SELECT true)": "has a subquery: a condition reads the columns of one row",
    "reflect('java.lang.System', 'exit', 1) = 1": "calls reflect, which runs any code",
    "java_method('java.lang.System', 'exit', 1) = 1": "calls java_method, which runs any code",
    "id": 'Filter expression "id" of type "INT" is not a boolean',
    "nope = 1": "`nope` cannot be resolved",
    "count(*) > 1": "contains invalid expressions: count(1)",
    "*": "is no condition: it has a *",
    "id = 1 AS x": "is no condition: it has a name",
    "": "a condition has from 1 to 10,000 characters, such as id = 1",
    "x" * 20_000: "a condition has from 1 to 10,000 characters, such as id = 1",
    "(" * 4000 + "true" + ")" * 4000: "has more than 200 opening parentheses",
}
Answered = dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=["iceberg", "delta"])
def answered(request: pytest.FixtureRequest, packaged: Any, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """Return the answers; all are asked in one application."""
    kind = request.param
    folder = tmp_path_factory.mktemp(kind)
    conf = {
        **QUICK,
        **PATIENT,
        **LAKE_CONF,
        # With both, Iceberg's rules refuse an UPDATE of a table of Delta Lake.
        "spark.sql.extensions": EXTENSIONS[kind],
        "spark.master": "local[1]",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.jars": packaged(ROW_JARS),
        "spark.openlineage.transport.type": "store",
        "spark.openlineage.transport.path": str(folder / "lineage.db"),
    }
    jobs = Jobs(Path(__file__).parent / "jobs", lambda _: folder)
    (folder / "conditions.json").write_text(json.dumps(list(REFUSED)))
    done = jobs.run("rows_of_tables.py", kind, str(folder), conf=conf, lineage=False)
    assert done.code == 0, done.stderr[-3000:]
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith('["'))


def rows_of(answer: dict[str, Any]) -> list[tuple[int, str]]:
    """Return the ids of the rows with what their runs did."""
    return [(values["id"], operation) for values, operation, _, _ in answer["rows"]]


def test_each_row_has_the_run_that_wrote_it_last(answered: Answered) -> None:
    answer = answered["all"]

    assert (answer["of"], answer["said"]) == ("row", [])
    assert dict(rows_of(answer)) == {
        1: "INSERT",
        2: answered["one"]["rows"][0][1],
        3: "INSERT",
    }
    # Iceberg calls it a MERGE in the plan that the event has.
    assert answered["one"]["rows"][0][1] in ("UPDATE", "MERGE")
    assert answered["one"]["rows"][0][0] == {"id": 2}
    assert all(run and version for _, _, run, version in answer["rows"])


def test_a_limit_is_said(answered: Answered) -> None:
    assert len(answered["cut"]["rows"]) == 1
    assert answered["cut"]["said"] == ["more rows than 1 meet the condition: a higher limit shows them"]


def test_a_table_that_keeps_no_versions_of_rows_has_its_own_versions_and_says_what_keeps_them(
    answered: Answered,
) -> None:
    answer = answered["untracked"]

    assert (answer["of"], [operation for _, operation, _, _ in answer["rows"]]) == ("blame", ["INSERT", "CREATE"])
    [said] = answer["said"]
    assert said.startswith("db.untracked has no versions of rows, so these are the versions of the whole table: ALTER")


def test_rows_keep_their_versions_when_files_are_rewritten(answered: Answered) -> None:
    assert answered["compacted"] == answered["all"]


def test_a_row_of_a_run_that_nobody_recorded_says_so(answered: Answered) -> None:
    answer = answered["unknown"]

    assert [(values["id"], run, version) for values, _, run, version in answer["rows"]] == [(4, False, True)]
    [said] = answer["said"]
    assert said.startswith("1 row without a run: no run is known that made db.t@")


def test_a_row_that_is_older_than_the_tracking_says_so(answered: Answered) -> None:
    [said] = answered["tracked later"]["said"]

    assert said.endswith(("kept no versions of rows yet", "only copied older rows (ROW TRACKING BACKFILL)"))
    assert [run for _, _, run, _ in answered["tracked later"]["rows"]] == [False]


def test_a_table_that_was_made_again_has_no_runs_of_the_one_before(answered: Answered) -> None:
    assert [run for _, _, run, _ in answered["another table of its name"]["rows"]] == [False]


@pytest.mark.parametrize(("place", "why"), [*enumerate(REFUSED.values())], ids=[each[:30] for each in REFUSED])
def test_what_is_no_condition_is_refused_with_what_and_where(answered: Answered, place: int, why: str) -> None:
    assert why in answered[f"condition {place}"]["error"]
