"""
Write names as Spark does: other engines write them in double quotes, SQL Server also in brackets.

In double quotes, Spark, Hive, BigQuery and MySQL have a string. So a name would silently become a constant. Names get
backquotes before anything else reads the text, and every position stays, except after a name that contains a backquote.
The dialect is given, or recognized from what no file of Spark has.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES_IN_DOUBLE_QUOTES = frozenset(
    "athena clickhouse dremio druid duckdb dune exasol fabric materialize oracle postgres presto redshift risingwave "
    "snowflake sqlite teradata trino tsql".split()
)
"""The dialects in which double quotes are around a name, by sqlglot's names."""
NAMES_IN_BACKQUOTES = frozenset(
    "athena bigquery clickhouse databricks doris drill hive mysql prql singlestore solr spark spark2 sqlite "
    "starrocks".split()
)
"""The dialects in which backquotes are around a name."""
SQL_SERVER = frozenset({"fabric", "tsql"})
"""The dialects of SQL Server."""
_NAMES_IN_BRACKETS = SQL_SERVER | {"sqlite"}
# In the strings of these dialects, a backslash escapes a quote.
_ESCAPING = frozenset({"athena", "clickhouse", "redshift", "snowflake"})
# What has the names of an unknown engine in double quotes, and its strings are like those of Spark.
_UNKNOWN = "unknown"
_MARKS_OF_SQL_SERVER = re.compile(r"\bDECLARE\s+@|\bNOCOUNT\b|^[ \t]*GO[ \t]*$", re.IGNORECASE | re.MULTILINE)
_UNQUOTING = re.compile(r"\bSET\s+(?:\w+\s*,\s*)*QUOTED_IDENTIFIER\s+OFF\b", re.IGNORECASE)
# Before these, no string of Spark can be; FROM comes before a string in some functions and commands.
_BEFORE_TABLE = frozenset({"INTO", "JOIN", "TABLE", "UPDATE", "VIEW"})
_PLAIN = re.compile(r'"[^\W\d][\w $#-]*"')
_AFTER_TABLE = frozenset({"", ",", ";", "."})
# After these words, every engine that has them has a string.
_STRING_NEXT = re.compile(r"\b(?:COMMENT|LOCATION)\s*\Z", re.IGNORECASE)
_NEAR = 40
_SKIPPED = r"--[^\n]*|/\*(?s:.*?)(?:\*/|\Z)|\{\{(?s:.*?)\}\}|\{[%#](?s:.*?)[%#]\}"
_PLAIN_STRING = r"'[^']*(?:''[^']*)*(?:'|\Z)"
_ESCAPING_STRING = r"'[^'\\]*(?:(?:''|\\(?s:.)|\\\Z)[^'\\]*)*(?:'|\Z)"
_DOUBLE = r'"(?P<double>[^"\n]+(?:""[^"\n]*)*)"'
_SQUARE = r"\[(?P<square>[^\]\n]+(?:\]\][^\]\n]*)*)\]"
_BODY = r"(?P<tag>\$\w{0,64}\$)(?P<body>(?s:.*?))(?P=tag)"


def with_backquotes(text: str, dialect: str = "") -> str:
    """
    Return the text of a file with backquotes around the names to which its engine gives other quotes.

    Args:
        text: the text.
        dialect: its SQL dialect, by sqlglot's name; empty if it is unknown.
    """
    if '"' not in text and "[" not in text:
        return text
    dialect = dialect or recognized(text)
    return _rewritten(text, dialect) if dialect in NAMES_IN_DOUBLE_QUOTES or dialect == _UNKNOWN else text


def recognized(text: str) -> str:
    """Return the dialect of a text: `tsql`, another one that has names in double quotes, or empty for any other."""
    is_candidate = _MARKS_OF_SQL_SERVER.search(text) is not None
    if not is_candidate and '"' not in text and "[" not in text:
        return ""
    found: list[Token] = []
    line_begins = True
    for token in tokens(text):
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            line_begins = line_begins or "\n" in token.text
            if found and "\n" in token.text and _is_batch(found):
                return "tsql"
            continue
        if line_begins:
            found.append(_LINE)
        line_begins = False
        found.append(token)
        if is_candidate and _is_of_sql_server(found):
            return "tsql"
    if is_candidate and found and _is_batch(found):
        return "tsql"
    plain = [each for each in found if each is not _LINE]
    if any(_is_in_bracket(plain, at) for at in range(len(plain))):
        return "tsql"
    return _UNKNOWN if any(_is_name(plain, at) for at in range(len(plain))) else ""


_LINE = Token(TokenKind.SPACE, "\n")


def _is_batch(found: Sequence[Token]) -> bool:
    """Return whether the last line is the word GO."""
    return found[-1].text.upper() == "GO" and found[-1].kind is TokenKind.WORD and found[-2:-1] == [_LINE]


def _is_of_sql_server(found: Sequence[Token]) -> bool:
    """Return whether the last tokens are those that only SQL Server has."""
    last = found[-1].text.upper()
    before = next((each.text.upper() for each in found[-2:-4:-1] if each is not _LINE), "")
    return (before, last) in (("DECLARE", "@"), ("SET", "NOCOUNT"))


def _is_in_bracket(found: Sequence[Token], at: int) -> bool:
    """Return whether a bracket is around a name, because Spark can have none there."""
    before = found[at - 1].text.upper() if at else ""
    is_bracket = found[at].text == "[" and before in (*_BEFORE_TABLE, "FROM", ".")
    return is_bracket and at + 1 < len(found) and found[at + 1].kind is TokenKind.WORD


def _is_name(found: Sequence[Token], at: int) -> bool:
    """Return whether a token in double quotes is a name, because Spark can have no string there."""
    token = found[at]
    if token.kind is not TokenKind.STRING or not token.text.startswith('"') or not token.whole:
        return False
    before = found[at - 1].text.upper() if at else ""
    after = found[at + 1] if at + 1 < len(found) else None
    text = after.text if after is not None else ""
    if "." in (before, text):
        return True
    if before == "FROM" and _PLAIN.fullmatch(token.text) is not None:
        is_operator = at > 1 and found[at - 2].text.upper() == "DISTINCT"
        return not is_operator and (text in _AFTER_TABLE or (after is not None and after.kind is TokenKind.WORD))
    return before in _BEFORE_TABLE


def _rewritten(text: str, dialect: str) -> str:
    escapes = dialect in _ESCAPING or dialect == _UNKNOWN
    doubles = dialect not in SQL_SERVER or _UNQUOTING.search(text) is None
    parts = [_SKIPPED, f"(?P<string>{_ESCAPING_STRING if escapes else _PLAIN_STRING})", _BODY]
    parts += [_DOUBLE] * doubles + [_SQUARE] * (dialect in _NAMES_IN_BRACKETS)
    pattern = re.compile("|".join(parts))

    def shown(found: re.Match[str]) -> str:
        given = found.groupdict()
        if given["body"] is not None:
            return f"{found['tag']}{pattern.sub(shown, given['body'])}{found['tag']}"
        if given["string"] is not None and not escapes:
            # For Spark, the backslash would escape the quote. It has no meaning for the lineage.
            return found[0].replace("\\'", "/'")
        double, square = given.get("double"), given.get("square")
        if (
            double is not None
            and _STRING_NEXT.search(found.string[max(0, found.start() - _NEAR) : found.start()]) is None
        ):
            return _in_backquotes(double.replace('""', '"'), found[0])
        return found[0] if square is None else _in_backquotes(square.replace("]]", "]"), found[0])

    return pattern.sub(shown, text)


def _in_backquotes(name: str, given: str) -> str:
    """Return a name in backquotes, as long as it was given."""
    made = "`" + name.replace("`", "``") + "`"
    return made.ljust(len(given))


def in_quotes_of(text: str, dialect: str) -> str:
    """
    Return a statement with the quotes of a dialect around the names that have backquotes.

    Args:
        text: the statement.
        dialect: the dialect, by sqlglot's name.
    """
    if "`" not in text or dialect in NAMES_IN_BACKQUOTES:
        return text
    begin, end = ("[", "]") if dialect in SQL_SERVER else ('"', '"')
    parts = []
    for token in tokens(text):
        is_name = token.kind is TokenKind.NAME and token.whole
        name = token.text[1:-1].replace("``", "`").replace(end, end * 2) if is_name else ""
        parts.append(f"{begin}{name}{end}" if is_name else token.text)
    return "".join(parts)
