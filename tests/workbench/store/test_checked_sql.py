"""SQL of the store is constants, and parts that are checked: no text from outside gets into a statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.store.events.rows import DatasetNameRow
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.tables import schema, stored
from openlineage_pyspark.workbench.store.tables.checked_sql import (
    checked_sql,
    id_list,
    id_lists,
    marked_lists,
    marks_for,
    quoted,
    sql_list,
)
from support.sources import nodes_of

ROOT = Path(__file__).parents[3]
ROOMS = ("workbench/store", "workbench/questions", "workbench/blame", "workbench/recovery")
# The schema itself is made there, and the text of numbers and of quoted names.
FREE = ("workbench/store/tables/stored.py", "workbench/store/tables/checked_sql.py")


def test_parts_are_names_of_the_store_numbers_aliases_and_sql_that_was_checked() -> None:
    ids = id_list([3, 1, 3])
    found = checked_sql(
        "SELECT {alias}.{column}, {there} FROM {table} {alias} WHERE {there} IN ({ids}) LIMIT {most}",
        alias="l",
        column="name_id",
        table="stated_read",
        there="l.job_id",
        ids=ids,
        most=7,
    )
    assert found == "SELECT l.name_id, l.job_id FROM stated_read l WHERE l.job_id IN (1, 3) LIMIT 7"
    assert checked_sql("{every} UNION {every}", every=found) == f"{found} UNION {found}"


@pytest.mark.parametrize(
    "part",
    [
        "1",
        "'x'",
        "job; DROP TABLE job",
        "job --",
        "nowhere",
        "l.nowhere",
        "ll.job_id",
        "l. job_id",
        "Job",
        "",
        " ",
        "?",
    ],
)
def test_any_other_text_is_refused(part: str) -> None:
    for made in (lambda: checked_sql("SELECT {part}", part=part), lambda: sql_list(["job", part])):
        with pytest.raises(ValueError, match="neither SQL of this package nor a name of the store"):
            made()


def test_what_is_computed_from_checked_sql_is_a_plain_text_again() -> None:
    made = checked_sql("{table}", table="job")
    for text in (made + " ", f"{made} ", made.upper(), "".join([made, made])):
        assert type(text) is str
    with pytest.raises(ValueError, match="neither SQL of this package"):
        checked_sql("SELECT {made}", made=made + "; x")


def test_ids_and_marks_are_lists_in_sql() -> None:
    assert [*id_lists([2, 1, 2])] == ["1, 2"]
    assert [*id_lists(())] == []
    assert [*marked_lists("aba")] == [("?, ?", ["a", "b"])]
    assert marks_for("abc") == "?, ?, ?"
    with pytest.raises(ValueError, match="neither SQL"):
        [*id_lists(["1) OR (1 = 1"])]  # type: ignore[list-item]


def test_any_name_is_one_identifier_if_it_is_quoted() -> None:
    assert quoted("table") == '"table"'
    assert quoted('a" OR "1') == '"a"" OR ""1"'


def test_the_names_that_are_accepted_are_those_of_the_tables(tmp_path: Path) -> None:
    with Database(tmp_path / "lineage.db") as database:
        columns = {
            row[1]
            for table in (*stored.OF_VERSIONS, *stored.OF_EVENTS, *(table.name for table in stored.MERGED))
            for row in database.query(f"SELECT * FROM pragma_table_info('{table}')")
        }
    assert stored.own_columns() <= columns
    for name in (*columns, *stored.own_names(), *(table.name for table in schema.TABLES)):
        assert checked_sql("{name}", name=name) == name


def test_a_row_of_datasets_is_named_as_its_table_is() -> None:
    assert DatasetNameRow._fields == tuple(column.name for column in schema.DATASET.stored)


def _texts_of_statements(path: Path) -> Iterator[str]:
    """Yield, as code, the texts that a module makes checked SQL of, unless they are constants of the module."""
    constants = set[str]()
    for node in nodes_of(path):
        if isinstance(node, ast.Assign) and _is_constant(node.value):
            constants.update(ast.unparse(target) for target in node.targets)
        elif isinstance(node, ast.ImportFrom):
            constants.update(name.name for name in node.names if name.name.isupper())
    for node in nodes_of(path):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PLACES_OF_TEXTS:
            text = node.args[PLACES_OF_TEXTS[ast.unparse(node.func)]]
            name = text.value if isinstance(text, ast.Subscript) else text
            if not isinstance(name, ast.Constant) and ast.unparse(name) not in constants:
                yield ast.unparse(text)


def _is_constant(node: ast.AST) -> bool:
    """Return whether an expression has no values but constants, such as a text or a table of texts."""
    inner = [each for each in ast.walk(node) if isinstance(each, (ast.Call, ast.JoinedStr, ast.Name))]
    return not any(isinstance(each, (ast.Call, ast.JoinedStr)) for each in inner) and all(
        each.id.isupper() or each.id == "Merge" for each in inner if isinstance(each, ast.Name)
    )


# These functions take the text from their callers, who are beside them and have it as a constant.
HANDED_ON = {"names.py": {"constant"}, "node_facts.py": {"sql"}, "file_tables.py": {"sql"}}
PLACES_OF_TEXTS = {"checked_sql": 0, "CheckedSql": 0, "rows_by_id": 1, "rows_by_text": 1}


@pytest.mark.parametrize("room", ROOMS)
def test_the_text_around_the_parts_is_a_constant_of_the_source(room: str) -> None:
    for path in sorted((ROOT / room).rglob("*.py")):
        if path.relative_to(ROOT).as_posix() not in FREE:
            assert set(_texts_of_statements(path)) == HANDED_ON.get(path.name, set()), path
