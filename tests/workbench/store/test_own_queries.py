"""A query of a person reads the store's tables, does nothing else, and ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.store import own_queries
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store.tables.views import VIEWS
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import company, taken

Fill: TypeAlias = "Callable[..., Store]"


@pytest.mark.parametrize("name", [*(table.name for table in schema.TABLES), *(view.name for view in VIEWS)])
def test_each_table_and_view_that_is_documented_can_be_read(filled: Fill, name: str) -> None:
    store = filled(*company(1, tables=5, jobs=5))
    assert len(store.sql(f"SELECT * FROM {name}").table()[0]) > 1
    assert len(store.sql(f"SELECT count(*) FROM {name}").table()[1]) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM mine",
        "SELECT count(*) FROM mine",
        "SELECT name FROM sqlite_master",
        "SELECT count(*) FROM sqlite_schema",
        "SELECT * FROM pragma_table_info('run')",
        "SELECT count(*) FROM pragma_database_list",
        "SELECT load_extension('x')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT writefile('x', 'y')",
        "SELECT * FROM temp.sqlite_master",
        "SELECT * FROM dbstat",
    ],
)
def test_nothing_but_the_stores_tables_is_read(tmp_path: Path, query: str) -> None:
    taken(tmp_path / "s.db", company(1, tables=5, jobs=5))
    with Database(tmp_path / "s.db") as database:
        database.query("CREATE TABLE mine AS SELECT 1 AS a")
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(StoreError, match="the query can't be answered: "):
            store.sql(query, dialect="sqlite")
        # What one query is refused, no later question lacks.
        assert len(store.datasets().result.rows) > 0


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE job", "DELETE FROM job", "PRAGMA user_version = 9", "ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'"],
)
def test_a_statement_that_is_no_query_is_refused_by_the_connection_too(tmp_path: Path, statement: str) -> None:
    taken(tmp_path / "s.db", company(1, tables=5, jobs=5))
    with Database(tmp_path / "s.db") as database:
        with pytest.raises(StoreError, match="the query can't be answered"):
            database.ask(statement)
        assert database.query("PRAGMA user_version") == [(schema.VERSION,)]
        assert database.query("SELECT count(*) > 0 FROM job") == [(1,)]
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith("x")] == []


def test_a_part_of_a_query_may_have_any_name(filled: Fill) -> None:
    store = filled(*company(1, tables=5, jobs=5))
    parts = "mine AS (SELECT name FROM dataset), other AS (SELECT 1 AS x FROM mine)"
    assert store.sql(f"WITH {parts} SELECT count(*) > 0 FROM other, mine").table()[1] == [(1,)]


def test_a_query_without_an_end_is_ended(filled: Fill) -> None:
    store = filled(*company(1, tables=5, jobs=5))
    endless = "WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(StoreError, match=r"^the query takes longer than 1 seconds"):
        store.sql(endless, timeout=1)
    assert len(store.datasets().result.rows) > 0


def test_an_answer_without_an_end_is_ended(filled: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_queries, "MOST_ROWS", 20_000)
    store = filled(*company(1, tables=5, jobs=5))
    with pytest.raises(StoreError, match=r"^the query finds more than 20,000 rows: end it with LIMIT$"):
        store.sql("WITH RECURSIVE n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n) SELECT a FROM n")


def test_a_table_that_is_not_there_lists_those_that_are(filled: Fill) -> None:
    with pytest.raises(
        StoreError, match=r"no such table: jobs; the store's tables are event, rejected, odd_facet, job"
    ):
        filled(*company(1, tables=5, jobs=5)).sql("SELECT * FROM jobs")
