"""
Rewrite what no dialect of sqlglot reads, or not each of them: MERGE of Oracle, windows of Flink, IDENTIFIER of strings.

These texts are only parsed for their lineage, so what a part means for the sources of columns is what counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.parts import closing, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MERGE = re.compile(r"\s*(?:WITH\b|MERGE\b)", re.IGNORECASE)
_DELETING = re.compile(r"\bDELETE\s+WHERE\b", re.IGNORECASE)
_NAME = r"(?:`[^`]+`|\"[^\"]+\"|[\w$]+)(?:\s*\.\s*(?:`[^`]+`|\"[^\"]+\"|[\w$]+))*"
# The rows of a table with the times at which a window of each of them begins and ends.
_WINDOW = re.compile(
    rf"\b(?P<wrapped>TABLE\s*\(\s*)?(?:TUMBLE|HOP|CUMULATE|SESSION)\s*\(\s*(?:DATA\s*=>\s*)?TABLE\s+(?P<table>{_NAME})"
    rf"(?:\s+PARTITION\s+BY\s+[^,()]+(?:,\s*{_NAME}\s*)*?)?\s*,\s*(?:TIMECOL\s*=>\s*)?"
    rf"DESCRIPTOR\s*\(\s*(?P<time>{_NAME})\s*\)",
    re.IGNORECASE,
)
_OF_WINDOWS = re.compile(r"\bDESCRIPTOR\s*\(", re.IGNORECASE)
_IDENTIFIER = re.compile(
    r"\bIDENTIFIER\s*\((?P<given>\s*'[^'\\]*'(?:\s*\|\|\s*'[^'\\]*')*)\s*\)(?=\s*(?:[(),;.]|\w|\Z))", re.IGNORECASE
)
_OUTPUT = re.compile(r"\bOUTPUT\s+(?:(?:inserted|deleted)\s*\.|\$action\b)", re.IGNORECASE)
_WITH_OUTPUT = frozenset({"DELETE", "INSERT", "MERGE", "UPDATE", "WITH"})
_TOP = re.compile(r"\s*(?:DELETE|INSERT|MERGE|UPDATE)\s+(TOP\s*\([^()]*\)(?:\s*PERCENT\b)?)", re.IGNORECASE)
# What may follow OUTPUT in a statement.
_AFTER_OUTPUT = frozenset({"EXEC", "FROM", "OPTION", "SELECT", "VALUES", "WHERE", "WITH"})
_STORED = re.compile(rf"\bINTO\s+({_NAME})(?=[\s(]|\Z)", re.IGNORECASE)
_CHANGED_ROWS = re.compile(r"\b(?:FINAL|NEW|OLD)\s+TABLE\s*\(\s*(?=(?:DELETE|INSERT|MERGE|UPDATE)\b)", re.IGNORECASE)
_OF_CURSOR = re.compile(r"\bWHERE\s+CURRENT\s+OF\s+[@\w$.]+\s*;?\s*\Z", re.IGNORECASE)
# In a CREATE TABLE of Flink: when rows are late, which is no column, and columns that are metadata of a message.
_WATERMARK = re.compile(r",\s*WATERMARK\s+FOR\b", re.IGNORECASE)
_METADATA = re.compile(
    r"(?<=[\w)>`])\s+METADATA(?:\s+FROM\s+'[^']*')?(?:\s+VIRTUAL)?(?=\s*(?:[,)]|COMMENT\b|--|/\*))", re.IGNORECASE
)
_CREATED = re.compile(rf"\s*CREATE\s+(?:\w+\s+){{0,3}}?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}\s*\(", re.IGNORECASE)
_STRING = re.compile(r"'([^']*)'")
_PLAIN = re.compile(r"[A-Za-z_]\w*|`[^`]+`")


def as_others_write(text: str) -> str:
    """
    Return a statement in the form in which other engines write the same.

    Args:
        text: the statement.
    """
    if _MERGE.match(text) is not None and _DELETING.search(text) is not None:
        text = _with_deletions(text)
    if _OF_WINDOWS.search(text) is not None:
        text = _without_windows(text)
    created = _CREATED.match(text)
    if created is not None:
        text = _with_plain_columns(text, created.end())
    text = _OF_CURSOR.sub("WHERE TRUE", text)
    top = _TOP.match(text)
    for begin, end in (_output_in(text), (0, 0) if top is None else top.span(1)):
        text = f"{text[:begin]}{blanked(text[begin:end])}{text[end:]}"
    return _IDENTIFIER.sub(_named, text)


def is_at_cursor(text: str) -> bool:
    """Return whether a statement changes the row at which a cursor stands, so that another statement chooses rows."""
    return _OF_CURSOR.search(text) is not None


def _with_deletions(text: str) -> str:
    """Return a MERGE of Oracle in which what it deletes of the updated rows is a clause of its own."""
    words = list(_words(text))
    parts: list[str] = []
    begin = at = 0
    while at < len(words):
        place, word = words[at]
        following = words[at + 1] if at + 1 < len(words) else (0, "")
        if word == "DELETE" and following[1] == "WHERE":
            end = next((each for each, found in words[at + 2 :] if found == "WHEN"), len(text))
            condition = text[following[0] + len("WHERE") : end].strip().rstrip(";")
            parts.append(f"{text[begin:place]}WHEN MATCHED AND ({condition}) THEN DELETE ")
            begin = end
        at += 1
    return "".join([*parts, text[begin:]])


def _words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words of a text outside of parentheses and of CASE, in capitals, each with its position."""
    at = depth = 0
    for token in tokens(text):
        word = token.text.upper() if token.kind is TokenKind.WORD else ""
        depth += (token.text == "(") + (word == "CASE")
        if word and not depth:
            yield at, word
        depth -= (token.text == ")") + (word == "END" and depth > 0)
        at += len(token.text)


def output_table(text: str) -> str:
    """Return the table in which a statement of SQL Server also stores the rows that it changes; empty if in none."""
    begin, end = _output_in(text)
    found = _STORED.search(text, begin, end)
    return "" if found is None else found[1]


def _output_in(text: str) -> tuple[int, int]:
    """Return where the OUTPUT of a statement of SQL Server, which returns or stores changed rows, begins and ends."""
    if _OUTPUT.search(text) is None:
        return 0, 0
    words = list(_words(text))
    places = [at for at, (place, word) in enumerate(words) if word == "OUTPUT" and _OUTPUT.match(text, place)]
    if not places or words[0][1] not in _WITH_OUTPUT:
        return 0, 0
    end = next((place for place, word in words[places[0] :] if word in _AFTER_OUTPUT), len(text))
    return words[places[0]][0], end


def change_in(text: str) -> tuple[str, str, str]:
    """
    Return a query of Db2 of the rows that a statement changes, in three parts.

    Args:
        text: the query.

    Returns:
        What is before FINAL TABLE (...), the statement in it, and what is behind it; the statement is empty for any
        other text.
    """
    found = _CHANGED_ROWS.search(text)
    if found is None:
        return text, "", ""
    end = closing(text, found.end())
    return text[: found.start()], text[found.end() : end], text[end + 1 :]


def _without_windows(text: str) -> str:
    """Return a query of Flink that reads the rows of its windows from subqueries."""
    found = _WINDOW.search(text)
    while found is not None:
        end = found.end()
        for _ in range(1 + (found["wrapped"] is not None)):
            end = min(len(text), closing(text, end) + 1)
        time = found["time"]
        rows = (
            f"(SELECT *, {time} AS window_start, {time} AS window_end, {time} AS window_time "  # noqa: S608 (not run)
            f"FROM {found['table']})"
        )
        text = f"{text[: found.start()]}{rows}{text[end:]}"
        found = _WINDOW.search(text, found.start() + len(rows))
    return text


def _with_plain_columns(text: str, begin: int) -> str:
    """Return a CREATE TABLE, whose columns begin at a position, without what only Flink says of columns."""
    end = closing(text, begin)
    columns = text[begin:end]
    for found in _WATERMARK.finditer(columns):
        time = next(parts_of(columns[found.end() :]))
        columns = f"{columns[: found.start()]}{' ' * len(found[0])}{blanked(time)}{columns[found.end() + len(time) :]}"
    return f"{text[:begin]}{_METADATA.sub(lambda found: blanked(found[0]), columns)}{text[end:]}"


def _named(found: re.Match[str]) -> str:
    """Return the name that strings make; what is no name stays."""
    parts = "".join(_STRING.findall(found["given"])).split(".")
    return ".".join(parts) if all(map(_PLAIN.fullmatch, parts)) else found[0]
