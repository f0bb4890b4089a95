"""Statements of SQL that are mutated: words are left out, doubled, exchanged and replaced by what breaks parsers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

DDL = """\
CREATE TABLE orders (id INT, customer INT, amount DECIMAL(10,2), status STRING, day DATE, tags ARRAY<STRING>);
CREATE TABLE customers (id INT, name STRING, country STRING, home STRUCT<street: STRING, zip: INT>);
CREATE TABLE target (id INT, total DOUBLE, name STRING);
"""
_STATEMENTS = (
    "SELECT o.id, c.name FROM orders o JOIN customers c ON o.customer = c.id WHERE o.amount > 1",
    "INSERT INTO target SELECT o.id, sum(o.amount), max(c.name) FROM orders o, customers c GROUP BY o.id",
    "SELECT country, count(*) AS n FROM customers GROUP BY country HAVING count(*) > 3 ORDER BY n",
    "SELECT id, explode(tags) AS tag FROM orders",
    "SELECT c.home.zip AS zip, upper(c.name) AS n FROM customers c",
    "MERGE INTO target t USING orders o ON t.id = o.id WHEN MATCHED THEN UPDATE SET t.total = o.amount",
    "UPDATE target SET total = total * 2 WHERE id IN (SELECT id FROM orders WHERE status = 'x;y')",
    "DELETE FROM target WHERE name IS NULL",
    "SELECT id, row_number() OVER (PARTITION BY customer ORDER BY day DESC) AS rn FROM orders",
    "SELECT CASE WHEN amount > 1 THEN status ELSE 'none' END AS s FROM orders",
    "WITH x AS (SELECT id, amount FROM orders) SELECT x.id, y.amount FROM x JOIN x y ON x.id = y.id",
    "SELECT n.a, n.b FROM nowhere n WHERE n.c = 1",
    "SELECT frob(id) AS f, status FROM orders",
    "FROM orders INSERT INTO target SELECT id, amount, status INSERT INTO target SELECT customer, 1, status",
    "SELECT id FROM orders UNION ALL SELECT id FROM customers",
    "SELECT transform(tags, t -> concat(t, status)) AS t FROM orders",
    "SELECT `id` AS `odd name` FROM orders TABLESAMPLE (10 PERCENT)",
    "SELECT o.id FROM orders o LEFT SEMI JOIN customers c ON c.id = o.customer",
    "SELECT id, status FROM orders LATERAL VIEW explode(tags) e AS tag WHERE tag = 'a'",
    "SELECT * FROM (SELECT country, id FROM customers) PIVOT (count(id) FOR country IN ('a', 'b'))",
)
_ODD = (
    *("'", '"', "`", "(", ")", "))", "((", "/*", "*/", "--", "\\", "${x}", "{{ x }}", "{% if a %}", ":p", "@v", "$$"),
    *("\x00", "é", "\u2028", "NULL", "SELECT", "FROM", "AS", "WITH", "CASE", "END", "BEGIN", "1e999", "9" * 40, "||"),
    *("::", "->", "=>", "?", "#", ",,", "..", "*", "LATERAL", "STREAM", "MERGE", "VALUES", "TABLE", "PIVOT", "OVER"),
    *("[", "]", "struct(", "a" * 300, "(" * 60, "SET x = ${y}", "java_method('java.lang.System', 'exit', 1)"),
    "EXECUTE IMMEDIATE 'SELECT 1'",
)
_PIECES = re.compile(r"\s+|\w+|.", re.DOTALL)


def file_of(chance: Random, length: int = 50) -> list[str]:
    """Return the statements of a file."""
    # A number makes each of them another text.
    return [f"{chance.choice(_STATEMENTS)} /* {number} */" for number in range(length)]


def mutated(statement: str, chance: Random) -> str:
    """Return a statement with one or more mutations."""
    pieces = _PIECES.findall(statement)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(pieces))
        how = chance.randrange(6)
        if how == 0 and len(pieces) > 1:
            del pieces[at]
        elif how == 1:
            pieces.insert(at, pieces[at])
        elif how == 2:
            other = chance.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif how == 3:
            pieces[at] = chance.choice(_ODD)
        elif how == 4:
            pieces.insert(at, f" {chance.choice(_ODD)} ")
        else:
            pieces = pieces[: at + 1]
    return "".join(pieces)
