"""The sources of what a trigger writes: the columns of the table that it belongs to."""

from __future__ import annotations

import pytest
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.from_text.reading import read_statement
from openlineage_pyspark.workbench.predict.sql.loop_rows import with_loop_rows
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.predict.sql.trigger_rows import table_of_trigger

_MYSQL = """\
DELIMITER //
CREATE TRIGGER g AFTER UPDATE ON s.t FOR EACH ROW BEGIN
  IF NEW.v <> OLD.v THEN INSERT INTO log (id, v) VALUES (OLD.id, NEW.v); END IF;
END//
CREATE TRIGGER h AFTER INSERT ON u FOR EACH ROW UPDATE log SET v = NEW.w//
CREATE PROCEDURE p(a INT) BEGIN INSERT INTO x (id) VALUES (NEW.id); END//"""
_ORACLE = """\
CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW DECLARE v NUMBER; BEGIN
  SELECT q.NEXTVAL INTO :NEW.id FROM dual; INSERT INTO log (id, v) VALUES (:NEW.id, :OLD.v);
END;"""
_SQL_SERVER = """\
CREATE TRIGGER g ON dbo.t AFTER INSERT, UPDATE AS
INSERT INTO dbo.log (id, v) SELECT i.id, d.v FROM inserted i LEFT JOIN deleted d ON d.id = i.id
;WITH c AS (SELECT id FROM deleted) INSERT INTO dbo.x (id) SELECT id FROM c
GO
INSERT INTO dbo.y (id) SELECT id FROM inserted
GO"""


def _written(text: str, dialect: str) -> dict[str, dict[str, list[str] | None]]:
    """Return the columns that the statements of a file write, with their sources."""
    found: dict[str, dict[str, list[str] | None]] = {}
    for statement in statements_of(text, "f.sql", dialect):
        for read in read_statement(with_loop_rows(statement.text, statement.loops), None, dialect) or ():
            if read.target:
                found[read.target] = {
                    name: None if sources is None else sorted(".".join(each).lower() for each in sources)
                    for name, sources in read.columns
                }
    return found


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("mysql", _MYSQL, {"log": {"v": ["u.w"]}, "x": {"id": None}}),
        ("mysql", _MYSQL.partition("CREATE TRIGGER h")[0], {"log": {"id": ["s.t.id"], "v": ["s.t.v"]}}),
        ("oracle", _ORACLE, {"log": {"id": ["t.id"], "v": ["t.v"]}}),
        (
            "tsql",
            _SQL_SERVER,
            {
                "dbo.log": {"id": ["dbo.t.id"], "v": ["dbo.t.v"]},
                "dbo.x": {"id": ["dbo.t.id"]},
                "dbo.y": {"id": ["inserted.id"]},
            },
        ),
    ],
)
def test_the_rows_of_a_trigger_have_the_columns_of_its_table(
    dialect: str, text: str, expected: dict[str, dict[str, list[str] | None]]
) -> None:
    assert _written(text, dialect) == expected


def test_a_place_in_a_statement_of_a_trigger_is_that_in_the_file() -> None:
    found = next(each for each in statements_of(_SQL_SERVER, "f.sql", "tsql") if "dbo.log" in each.text)
    assert found.text[found.head :].startswith("INSERT INTO dbo.log")
    assert found.place(1, found.head) == (2, 1)


def test_a_header_without_a_table_is_none_of_a_trigger() -> None:
    assert _table("CREATE ON TRIGGER g") == ""
    assert _table("CREATE TRIGGER g AFTER INSERT ON s.t FOR EACH ROW") == "s.t"
    assert _table("CREATE PROCEDURE p(a INT) AS") == ""


def _table(header: str) -> str:
    kept = [each for each in tokens(header) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
    return table_of_trigger(kept)
