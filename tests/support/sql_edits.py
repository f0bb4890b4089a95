"""Files of SQL whose statements see each other, and random edits of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_NAMES = ("a", "b", "c", "d", "v", "w", "db1.a", "db1.v", "lake.db1.a", "lake.b", "`odd name`", "A")
_COLUMNS = ("id", "amount", "status", "a", "tags", "nothing")
_FUNCTIONS = ("f", "g", "db1.f")
_TYPES = ("INT", "STRING", "ARRAY<STRING>", "STRUCT<x: INT>", "DOUBLE")
_DATABASES = ("db1", "default", "lake")
_SETTINGS = (
    *("spark.sql.ansi.enabled=true", "spark.sql.ansi.enabled=false", "spark.sql.ansi.enabled=odd", "day=2026-01-01"),
    *("src=a", "src=db1.v", "spark.sql.caseSensitive=true", "spark.sql.caseSensitive=false", "col=${src}", "hive.x=1"),
    "spark.sql.shuffle.partitions=${nothing}",
)


def statement(chance: Random) -> str:
    """Return a statement that makes, changes, drops or reads something of few names."""
    some = chance.choice
    name, other, third, column = some(_NAMES), some(_NAMES), some(_NAMES), some(_COLUMNS)
    function, type_ = some(_FUNCTIONS), some(_TYPES)
    replace = some(("", "OR REPLACE "))
    queries = (
        f"SELECT * FROM {other}",
        f"SELECT id, {column} FROM {other}",
        f"SELECT x.id, y.{column} AS amount FROM {other} x JOIN {third} y ON x.id = y.id",
        f"SELECT {function}(id) AS id, status FROM {other}",
        f"SELECT id, amount * 2 AS amount, status, explode(tags) AS tags FROM {other}",
        f"SELECT id, {column} FROM ${{src}} WHERE {column} > 1",
        f"WITH {third.rpartition('.')[2]} AS (SELECT 1 AS id, 2 AS amount) SELECT id, amount FROM {other}",
        f"SELECT id, top AS amount FROM {other}",
        f"SELECT CASE WHEN {column} THEN id END AS id, {column} FROM {other}",
        f"SELECT id FROM IDENTIFIER('{other}')",
    )
    query = some(queries)
    return some(
        (
            f"CREATE {replace}TABLE {name} (id INT, amount DOUBLE, status STRING, tags ARRAY<STRING>, a {type_})",
            f"CREATE {replace}TABLE {name} (id INT, {column} {type_}) USING parquet",
            f"CREATE {replace}TABLE {name} AS {query}",
            f"CREATE {replace}TABLE {name} AS {query}",
            f"CREATE {replace}VIEW {name} AS {query}",
            f"CREATE {replace}TEMPORARY VIEW {name.rpartition('.')[2]} AS {query}",
            f"CREATE {replace}TEMPORARY VIEW {name.rpartition('.')[2]} AS {query}",
            f"CREATE TEMPORARY VIEW v (id INT, {column} {type_}) USING csv OPTIONS (path '/lake/{column}')",
            f"SELECT * FROM csv.`/lake/{column}`",
            f"CACHE TABLE {name.rpartition('.')[2]} AS {query}",
            f"CREATE TABLE {name} LIKE {other}",
            f"DROP TABLE IF EXISTS {name}",
            f"DROP VIEW IF EXISTS {name}",
            f"ALTER TABLE {name} RENAME TO {other}",
            f"ALTER VIEW {name} AS {query}",
            f"ALTER TABLE {name} ADD COLUMNS (extra {type_})",
            f"ALTER TABLE {name} DROP COLUMN {column}",
            f"ALTER TABLE {name} RENAME COLUMN {column} TO renamed",
            f"CREATE {replace}TEMPORARY FUNCTION f(x {type_}) RETURNS INT RETURN (SELECT max(id) FROM {other})",
            f"CREATE {replace}FUNCTION {function} AS 'any.Class'",
            f"DECLARE {replace}VARIABLE top INT DEFAULT 1",
            f"DECLARE {replace}VARIABLE top {type_}",
            f"SET VAR top = (SELECT max(id) FROM {other})",
            f"SET {some(_SETTINGS)}",
            f"USE {some(_DATABASES)}",
            "RESET",
            f"INSERT INTO {name} {query}",
            f"MERGE INTO {name} t USING {other} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.amount = s.{column}",
            f"UPDATE {name} SET amount = {column} WHERE id > 1",
            f"BEGIN DECLARE top INT; SET top = 2; INSERT INTO {name} {query}; END",
            f"CREATE DATABASE IF NOT EXISTS {some(_DATABASES)}",
            f"CREATE OR REFRESH MATERIALIZED VIEW {name} AS {query}",
            f"APPLY CHANGES INTO {name} FROM {other} KEYS (id) SEQUENCE BY {column}",
            f"SELECT id FROM nowhere WHERE {column} = 1",
            f"SELEC {column} FROM {name}",
            *queries,
        )
    )


def folder(chance: Random, files: int = 6, statements: int = 5) -> dict[str, list[str]]:
    """Return files with their statements."""
    made = {f"f{number}.sql": [statement(chance) for _ in range(statements)] for number in range(files)}
    made["f0.sql"][:0] = [
        "CREATE TABLE a (id INT, amount DOUBLE, status STRING, tags ARRAY<STRING>)",
        "CREATE TABLE db1.a (id INT, amount DOUBLE, status STRING)",
        "CREATE TABLE b AS SELECT id, amount, status FROM a",
        "CREATE VIEW v AS SELECT id, amount FROM b",
    ]
    return made


def edit(files: dict[str, list[str]], chance: Random) -> None:
    """Change, add, remove or move a statement, or remove or add a file."""
    name = chance.choice(sorted(files))
    found = files[name]
    at = chance.randrange(len(found) + 1)
    how = chance.randrange(7)
    if how == 0 and found:
        del found[at % len(found)]
    elif how <= 2:
        found.insert(at, statement(chance))
    elif how <= 4 and found:
        found[at % len(found)] = statement(chance)
    elif how == 5 and found:
        other = files[chance.choice(sorted(files))]
        other.insert(chance.randrange(len(other) + 1), found.pop(at % len(found)))
    elif len(files) > 2 and chance.random() < 0.5:
        del files[name]
    else:
        files[f"f{chance.randrange(9)}.sql"] = [statement(chance) for _ in range(3)]


def text_of(statements: list[str], chance: Random) -> str:
    """Return the text of a file; comments move its lines."""
    return "".join(f"{'-- a remark' + chr(10) if chance.random() < 0.1 else ''}{each};\n" for each in statements)
