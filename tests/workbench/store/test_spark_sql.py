"""The statements of a store in Spark's tables, and the rows that executors make."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.store.spark.rows import coded_rows, write_package
from openlineage_pyspark.workbench.store.spark.session import python_of_workers
from openlineage_pyspark.workbench.store.spark.sql import Format, append, create_table, literal, merge_into, translated
from openlineage_pyspark.workbench.store.spark.tables import is_schema_name
from openlineage_pyspark.workbench.store.tables import schema
from support.lineage_events import run_event, text_of_events


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("lake.lineage", True),
        ("spark_catalog.lineage", True),
        ("lineage.db", False),
        ("lineage.sqlite", False),
        ("events.ndjson", False),
        ("events.json", False),
        ("events.gz", False),
        ("folder/lake.lineage", False),
        ("/lake.lineage", False),
        ("lineage", False),
        ("a.b.c", False),
    ],
)
def test_a_schema_is_told_from_a_file(name: str, *, is_one: bool) -> None:
    assert is_schema_name(name) is is_one


def test_a_question_is_translated_with_named_parameters_and_whole_names() -> None:
    sql = "WITH run AS (SELECT 1) SELECT '?' FROM job j JOIN run ON instr(lower(j.name), lower(?)) > 0 OR ? = ''"
    assert translated(sql, "lake.lineage") == (
        "WITH run AS (SELECT 1) SELECT '?' FROM `lake`.`lineage`.job AS j "
        "JOIN run ON LOCATE(LOWER(:p0), LOWER(j.name)) > 0 OR :p1 = ''"
    )


def test_a_merge_follows_from_the_schema() -> None:
    assert merge_into("lake.lineage", schema.SINK_JOB_LINEAGE, "SELECT 1") == (
        "MERGE INTO `lake`.`lineage`.`sink_job_lineage` AS t USING (SELECT 1) AS s "
        "ON t.`job_id` = s.`job_id` AND t.`name_id` = s.`name_id` "
        "WHEN MATCHED AND (NOT (t.`first_time` <=> (least(t.`first_time`, s.`first_time`))) "
        "OR NOT (t.`last_time` <=> (greatest(t.`last_time`, s.`last_time`)))) "
        "THEN UPDATE SET t.`first_time` = least(t.`first_time`, s.`first_time`), "
        "t.`last_time` = greatest(t.`last_time`, s.`last_time`) "
        "WHEN NOT MATCHED THEN INSERT (`job_id`, `name_id`, `first_time`, `last_time`) "
        "VALUES (s.`job_id`, s.`name_id`, s.`first_time`, s.`last_time`)"
    )


@pytest.mark.parametrize("table", [schema.VERSION_DESCRIPTION, schema.DESCRIBED_EDGE, schema.EVENT])
def test_rows_that_follow_from_their_keys_are_only_added(table: schema.StoredTable) -> None:
    names = [column.name for column in table.stored]
    day = ["day"] if table is schema.EVENT else []
    key = [*table.key, *day]
    on = " AND ".join(f"t.`{name}` = s.`{name}`" for name in key)
    listed, values = (", ".join(f"{alias}`{name}`" for name in (*names, *day)) for alias in ("", "s."))
    assert merge_into("lake.lineage", table, "SELECT 1") == (
        f"MERGE INTO `lake`.`lineage`.`{table.name}` AS t USING (SELECT 1) AS s ON {on} "
        f"WHEN NOT MATCHED THEN INSERT ({listed}) VALUES ({values})"
    )
    assert append("lineage", table, "SELECT 1", "rows").endswith(
        f" LEFT JOIN `lineage`.`{table.name}` AS t ON {on} WHERE t.`{key[0]}` IS NULL"
    )


def test_the_table_of_events_is_partitioned_by_their_day() -> None:
    assert "`day` DATE) USING iceberg PARTITIONED BY (day)" in create_table(
        "lake.lineage", schema.EVENT, Format.ICEBERG, "event"
    )


def test_a_text_stays_one_literal() -> None:
    assert literal("it's \\ 'all'") == "'it\\'s \\\\ \\'all\\''"


def test_executors_make_rows_with_nothing_but_the_package_that_is_shipped(tmp_path: Path) -> None:
    write_package(tmp_path / "package.zip")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from openlineage_pyspark.workbench.store.spark.rows import coded_rows; "
        "print([row[0] for row in coded_rows([(sys.argv[2], 'here'), ('nothing', 'there'), (None, '')])])"
    )
    event = text_of_events([run_event("load", "COMPLETE", 1)])
    command = [sys.executable, "-I", "-S", "-c", code, str(tmp_path / "package.zip"), event]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['run', 'event', 'rejected', 'job', 'run_version']\n", "")


def test_the_numbers_and_the_texts_of_rows_stand_in_the_order_of_their_columns() -> None:
    (found,) = [each for each in coded_rows([("nothing", "there"), ("7", "here")]) if each[0] == "rejected"]
    _, count, texts, numbers = found
    assert (count, numbers) == (2, [])
    assert texts[1:] == [
        ("not JSON: Expecting value at column 1", "not a JSON object"),
        ("there", "here"),
        ("nothing", "7"),
    ]


def test_many_rows_of_a_table_come_by_a_few_hundred() -> None:
    lines = [(f"nothing {number}", "there") for number in range(450)]
    found = list(coded_rows(lines))
    assert [(table, count) for table, count, _, _ in found] == [("rejected", 200), ("rejected", 200), ("rejected", 50)]
    assert [text for _, _, texts, _ in found for text in texts[3]] == [text for text, _ in lines]


def test_the_search_for_cycles_is_on_again_once_all_rows_are_made() -> None:
    made = coded_rows([("nothing", "there")])
    next(made)
    during = gc.isenabled()
    assert list(made) == []
    assert (during, gc.isenabled()) == (False, True)


@pytest.mark.parametrize(
    ("master", "configured", "variable", "found"),
    [
        ("local[*]", "", "", sys.executable),
        ("local-cluster[1,1,1024]", "", "", sys.executable),
        ("yarn", "", "", "python3"),
        ("local[*]", "", "/opt/python", "/opt/python"),
        ("yarn", "/conf/python", "/opt/python", "/conf/python"),
    ],
)
def test_workers_of_a_local_session_run_this_interpreter_unless_another_one_is_chosen(
    master: str, configured: str, variable: str, found: str
) -> None:
    assert python_of_workers(master, configured, variable, "python3") == found
