"""A statement that is read from its text tells the same in each spelling."""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.from_text.reading import Known, TextLineage, read_statement
from support.sql_queries import TABLES, Queries

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.facets.foreign_sql.rows import SourceKinds

_COLUMNS = {table: [name for name, _ in columns] for table, columns in TABLES.items()}
_NAMES = {*_COLUMNS, "t3", *(name for names in _COLUMNS.values() for name in names)}
_MADE = re.compile(r"^(CREATE TABLE made AS )(.*)$")
# A space outside of strings.
_SPACE = re.compile(r" (?=(?:[^']*'[^']*')*[^']*$)")


def _in_case(text: str, change: Callable[[str], str]) -> str:
    return "".join(change(each.text) if each.kind is TokenKind.WORD else each.text for each in tokens(text))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "in capitals": lambda text: _in_case(text, str.upper),
    "in small letters": lambda text: _in_case(text, str.lower),
    "in both": lambda text: _in_case(text, lambda word: f"{word[:1].upper()}{word[1:].lower()}"),
    "with quoted names": lambda text: _in_case(text, lambda word: f"`{word}`" if word in _NAMES else word),
    "with comments": lambda text: _SPACE.sub("/* it's; -- */ ", text),
    "with comments at the ends of lines": lambda text: _SPACE.sub(" -- a 'quote; (\n ", text),
    "with the lines of Windows": lambda text: _SPACE.sub("\r\n\t", text),
    "within a subquery": lambda text: _MADE.sub(r"\1SELECT * FROM (\2) zz", text),
    "within a CTE": lambda text: _MADE.sub(r"\1WITH zz AS (\2) SELECT * FROM zz", text),
}


def _plain(sources: SourceKinds | None) -> dict[str, set[str]] | None:
    if sources is None:
        return None
    found: dict[str, set[str]] = {}
    for (table, column), kinds in sources.items():
        found.setdefault(f"{table}.{column}".lower().replace("`", ""), set()).update(each.name for each in kinds)
    return found


def _told(text: str, *, known: bool) -> list[object]:
    columns = {
        name: _COLUMNS[name.lower()]
        for name in re.findall(r"[\w.]+", text.replace("`", ""))
        if name.lower() in _COLUMNS
    }
    found = read_statement(text, Known(columns) if known else None)
    assert found is not None, text
    return [_comparable(each) for each in found]


def _comparable(found: TextLineage) -> object:
    columns = [(name.lower(), _plain(sources)) for name, sources in found.columns]
    tables = {each.lower() for each in found.tables}
    return found.target.lower(), tables, columns, found.whole, _plain(found.rows), found.rows_known


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_statement_tells_the_same_in_each_spelling(spelling: str, known: bool) -> None:  # noqa: FBT001 (pytest's)
    queries = Queries(Random(7))  # noqa: S311 (not for cryptography)
    for statement in [queries.statement() for _ in range(8)]:
        assert _told(SPELLINGS[spelling](statement), known=known) == _told(statement, known=known), statement


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("SELECT filter(t.tags, c -> C.x = c.Y AND c = s) AS x FROM t", {"x": {"t.tags", "t.s"}}),
        ("SELECT aggregate(t.n, 0, (acc, k) -> Acc + K) AS x, transform(t.z, v -> V) AS y FROM t",
         {"x": {"t.n"}, "y": {"t.z"}}),
    ],
)  # fmt: skip
def test_a_parameter_of_a_lambda_is_no_column_in_another_case(statement: str, columns: dict[str, set[str]]) -> None:
    (found,) = read_statement(statement) or ()
    assert {name: set(_plain(sources) or ()) for name, sources in found.columns} == columns


def test_a_changed_column_has_the_spelling_of_its_table() -> None:
    statement = "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND T.b > 1 THEN UPDATE SET T.B = t.B + s.x"
    (found,) = read_statement(statement, Known({"t": ["Id", "b"]})) or ()
    assert [(name, sorted(column for _, column in sources or ())) for name, sources in found.columns] == [
        ("b", ["b", "x"])
    ]
