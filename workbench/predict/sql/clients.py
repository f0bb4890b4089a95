"""
Blank the parts of a file that Spark's SQL does not have: comments that begin with `#`, and lines for clients.

`#` begins a comment in BigQuery and MySQL, so an apostrophe after it begins no string. A line such as that of psql
with a backslash, `.read` of DuckDB, `PROMPT` of SQL*Plus, `!` and `dfs` of Hive, or `:x` of TPC-H's
templates, is a command for the client alone, and no `;` ends it. Some clients end a statement with a line of its own
(`GO`, `/`), or as a line above it says (`DELIMITER //`); these statements get a `;`. MySQL runs what is in a comment
such as `/*!50001 CREATE VIEW ... */`, as its dumps have it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.blank import blanked

_CANDIDATE = re.compile(
    r"^[ \t]*(?:[#!@\\]|\.[a-z]|:[a-z]|/[ \t]*$|"
    r"(?:go|delimiter|dfs|prompt|rem(?:ark)?|set|show|spool|whenever)\b)|[,;(][ \t]*#",
    re.MULTILINE | re.IGNORECASE,
)
# The parts of a view or a routine; settings, and the storage of a table, are no matter.
_RUN = re.compile(
    r"/\*!\d{5,6}\s*(?=(?:CREATE(?!\s+(?:DATABASE|TABLE))|DEFINER|EVENT|FUNCTION|PROCEDURE|TRIGGER|VIEW)\b)",
    re.IGNORECASE,
)
# Options of SQL*Plus with another value than ON and OFF.
_OPTIONS = "|".join(
    "arraysize colsep define editfile encoding escape feedback lin(?:esize)? long longchunksize newp(?:age)? null "
    "num(?:width)? numformat pages(?:ize)? serveroutput sqlformat sqlprompt sqlterminator und(?:erline)?".split()
)
_LINE = re.compile(r"[^\r\n]*")
_COMMAND = re.compile(
    rf"(?i:show[ \t]+err(?:ors?)?(?:[ \t]+[^\r\n;]*)?$|set[ \t]+(?:{_OPTIONS})[ \t]+[^\r\n=;]+$)|"
    r"(?:!|(?i:dfs)[ \t]+-)\w[^\r\n]*$|"
    r"\\[a-zA-Z!?]|\.[a-z]+\b|@@?[\w./&~-]+[ \t]*$|:(?:setvar|r|on|out|connect)\b|:(?:[beoqx]|n[ \t]+-?\d+)[ \t]*$|"
    r"(?i:(?:prompt|rem(?:ark)?|spool|whenever)(?=[ \t]|$)|set[ \t]+\w+[ \t]+(?:on|off)(?:[ \t]+[^\r\n;]*)?$)",
    re.MULTILINE,
)
_SET = re.compile(r"set\b", re.IGNORECASE)
_DELIMITER = re.compile(r"(?i:delimiter)[ \t]+(\S+)[ \t]*$", re.MULTILINE)
# A line that ends a statement: in SQL Server whatever follows, in SQL*Plus if a statement follows, since a formula may
# be divided on a line of its own.
_BATCH = re.compile(r"(?i:go)(?:[ \t]+\d+)?[ \t]*(?:--[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?$", re.MULTILINE)
_SLASH = re.compile(
    r"/[ \t]*(?=$\s*(?:\Z|/\s|--|/\*|@|(?i:alter|begin|comment|commit|create|declare|delete|drop|exec|execute|exit|"
    r"grant|insert|merge|prompt|rem(?:ark)?|select|set|show|spool|truncate|update|whenever|with)\b))",
    re.MULTILINE,
)
_NO_BATCH = re.compile(r"\s*(?:(?!--|/\*)[,.)=+*/<>-]|(?i:as|from|is|in|not|and|or|on|where|group|order|union|join)\b)")
# After one of these, GO is a name, such as that of a column.
_BEFORE_NAME = frozenset({",", "(", ".", "=", "AND", "BY", "DISTINCT", "IN", "NOT", "OR", "SELECT", "WHEN", "WHERE"})
# A table of SQL Server may have a name such as `#temp`, and PostgreSQL has operators such as `#>`.
_AFTER_SIGN = re.compile(r"#(?:\s|#|$)")


def for_parsers(text: str, *, has_set: bool = False) -> str:
    """
    Return the SQL of a file, with blanks for lines and comments that Spark does not have.

    Args:
        text: the content of a file.
        has_set: whether SET ... ON is a statement, which others may follow on its line, and no command of SQL*Plus.
    """
    return ClientText(_with_run_comments(text), has_set=has_set).sql


def _with_run_comments(text: str) -> str:
    """Return a text in which the comments that MySQL runs are none."""
    if _RUN.search(text) is None:
        return text
    parts = []
    for token in tokens(text):
        found = _RUN.match(token.text) if token.kind is TokenKind.COMMENT and token.whole else None
        inner = token.text
        if found is not None:
            inner = f"{blanked(found[0])}{token.text[found.end() : -len('*/')]}  "
        parts.append(inner)
    return "".join(parts)


class ClientText:
    """
    The text of a file that is written for a client.

    Args:
        text: as for `for_parsers`.
        has_set: as for `for_parsers`.

    Attributes:
        sql: its SQL, as `for_parsers` returns it.
        has_batches: whether it ends a batch as SQL Server does.
    """

    def __init__(self, text: str, *, has_set: bool) -> None:
        self.sql, self.has_batches = text, False
        if _CANDIDATE.search(text) is not None:
            blanking = _Blanking(text, has_set=has_set)
            self.sql = "".join(blanking.parts())
            self.has_batches = blanking.has_batches


class _Blank(NamedTuple):
    """A part of a text to blank: its end, and whether it ends a statement."""

    end: int
    ends_statement: bool


class _Blanking:
    """
    Blanks what is for clients in one text, token by token.

    Args:
        text: the text.
        has_set: as for `for_parsers`.

    Attributes:
        has_batches: as in `ClientText`.
    """

    def __init__(self, text: str, *, has_set: bool) -> None:
        self.has_batches = False
        self._text = text
        self._has_set = has_set
        self._at = 0
        self._last = ";"
        self._is_new_line = True
        # What ends a statement instead of a `;`.
        self._delimiter = ""

    def parts(self) -> list[str]:
        """Return the parts of the text that is left."""
        parts: list[str] = []
        while self._at < len(self._text):
            begin = self._at
            found = self._next()
            parts.append(self._text[begin : self._at])
            if found is None:
                break
            blank = blanked(self._text[self._at : found.end])
            if found.ends_statement and self._last != ";":
                blank, self._last = f";{blank[1:]}", ";"
            parts.append(blank)
            self._at = found.end
        return parts

    def _next(self) -> _Blank | None:
        """Go to the next part to blank, and return it; None if there is none."""
        for token in tokens(self._text, self._at):
            found = self._blank()
            if found is not None:
                return found
            self._at += len(token.text)
            if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
                self._is_new_line = self._is_new_line or "\n" in token.text
            else:
                self._last, self._is_new_line = token.text, False
        return None

    def _blank(self) -> _Blank | None:
        """Return what is to be blanked here; None if nothing is."""
        end = self._end_of_statement()
        if end is not None:
            return _Blank(end, ends_statement=True)
        end = self._end_of_command()
        return None if end is None else _Blank(end, ends_statement=False)

    def _end_of_command(self) -> int | None:
        """Return the end of a comment or a command for a client here; None if there is none."""
        text, at = self._text, self._at
        if text[at] == "#" and (
            self._last == ";"
            or ((self._is_new_line or self._last in (",", "(")) and _AFTER_SIGN.match(text, at) is not None)
        ):
            return self._end_of_line()
        if self._last != ";" or not self._is_new_line:
            return None
        changed = _DELIMITER.match(text, at)
        if changed is not None:
            self._delimiter = "" if changed[1] == ";" else changed[1]
            return changed.end()
        is_statement = self._has_set and _SET.match(text, at) is not None
        return None if is_statement or _COMMAND.match(text, at) is None else self._end_of_line()

    def _end_of_statement(self) -> int | None:
        """Return the end of what ends a statement here as a client reads it; None if nothing does."""
        text, at = self._text, self._at
        if self._delimiter and text.startswith(self._delimiter, at):
            return at + len(self._delimiter)
        if not self._is_new_line:
            return None
        found = _BATCH.match(text, at)
        if found is not None:
            if self._last.upper() in _BEFORE_NAME or _NO_BATCH.match(text, found.end()):
                return None
            self.has_batches = True
            return found.end()
        found = _SLASH.match(text, at)
        return None if found is None else found.end()

    def _end_of_line(self) -> int:
        found = _LINE.match(self._text, self._at)
        return len(self._text) if found is None else found.end()
