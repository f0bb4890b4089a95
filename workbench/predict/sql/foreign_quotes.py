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
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.clients import ClientText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
# The following are searched in a text without what comments, strings and templates contain, and with one character
# for white space. A string in double quotes is a letter or a question mark there.
_MARKS_OF_SQL_SERVER = (
    r"\bDECLARE\s+@|\bSET\s+NOCOUNT\b|\b(?:ALTER|CREATE)\s+PROC\b|\bBEGIN\s+TRAN\b|"
    r"\bPROC(?:EDURE)?\s+[\w.`]+\s*\(?\s*@|\bBEGIN\s+(?:TRY|CATCH)\b|"
    r"@@(?:ERROR|FETCH_STATUS|ROWCOUNT|TRANCOUNT)\b(?!\.)|\.\[[^\W\d][^\]\n:]*\]"
)
# In Spark, a column may have the name `view` and an index, but none of these words before it. Legacy SQL of BigQuery
# has names such as [project:dataset.table].
_OF_SQL_SERVER = re.compile(
    rf"{_MARKS_OF_SQL_SERVER}|(?:(?<![(,.])(?<![(,.]\s)\b(?:FROM|INTO|JOIN)\s|\b(?:ALTER|CREATE|DROP|TRUNCATE)\s"
    r"(?:TABLE|VIEW)\s)\[[^\W\d][^\]\n:]*\]|\bUPDATE\s\[[^\W\d][^\]\n]*\]\s(?:SET|WITH)\b",
    re.IGNORECASE,
)
# What may be one of these in the text as it is.
_MAYBE_OF_SQL_SERVER = re.compile(
    rf"{_MARKS_OF_SQL_SERVER}|\b(?:FROM|INTO|JOIN|TABLE|UPDATE|VIEW)\s+\[|^[ \t]*GO\b", re.IGNORECASE | re.MULTILINE
)
# A text without any of these needs no slower search.
_IN_SQL_SERVER = ("@", "[", "begin", "nocount", "proc")
_BATCH = re.compile(r"^[ \t]*go\b", re.IGNORECASE | re.MULTILINE)
# Where Spark can have no string. An option of a table may have the name `table`, and a function of BigQuery may be
# after a string and a dot.
_NAMED = re.compile(
    r"\"[x?]\"\s?\.(?!\s?\w+\s?\()|\.\s?\"[x?]\"|(?<![(,.])(?<![(,.]\s)\b(?:INTO|JOIN|TABLE|UPDATE|VIEW)\s\"[x?]\"",
    re.IGNORECASE,
)
# FROM comes before a string in some functions and commands.
_READ = re.compile(r"(?<!DISTINCT\s)(?<![(,.])(?<![(,.]\s)\bFROM\s\"x\"\s?(?:[,;]|\Z|[^\W\d])", re.IGNORECASE)
_COPIED = re.compile(r"\b(?:COPY\s+INTO|IMPORT)\b[^;]*", re.IGNORECASE)
# A template may be in a string of another one.
_OF_TEMPLATE = r"'(?:[^'\\]|\\(?s:.)){0,2000}'|\"(?:[^\"\\]|\\(?s:.)){0,2000}\""
_TEMPLATES = {
    "}}": rf"\{{\{{(?:{_OF_TEMPLATE}|[^'\"}}]|\}}(?!\}})){{0,2000}}\}}\}}|\{{\{{(?s:.*?)\}}\}}",
    "%}": r"\{%(?s:.*?)%\}",
    "#}": r"\{#(?s:.*?)#\}",
}
# In Spark, the quotes inside these strings of BigQuery would be their ends.
_IN_THREE_QUOTES = re.compile(
    r"(?:\bAS\s*|\b[rb]{1,2})(?P<quotes>\"{3}|'{3})(?s:.{0,20000}?)(?P=quotes)|=\s*\"{3}(?!\")(?s:.{0,20000}?)\"{3}",
    re.IGNORECASE,
)
_MAYBE_NAMED = re.compile(r"\"\s*\.|\.\s*\"|\b(?:FROM|INTO|JOIN|TABLE|UPDATE|VIEW)\s+\"", re.IGNORECASE)
# In Spark, an alias is no string. In MySQL it may be one, but no group or order follows from one.
_ALIASED = re.compile(r"\bAS\s+\"([^\"\n]+)\"", re.IGNORECASE)
_BY_ALIAS = re.compile(r"\b(?:GROUP|ORDER|PARTITION)\s+BY\s+\"([^\"\n]+)\"", re.IGNORECASE)
_COMPARED = re.compile(r"(?:[=<>]|\bLIKE\b|\bIN\s*\()\s*\"", re.IGNORECASE)
_PLAIN = re.compile(r'"[^\W\d][\w $#-]*"')
_UNQUOTING = re.compile(r"\bSET\s+(?:\w+\s*,\s*)*QUOTED_IDENTIFIER\s+OFF\b", re.IGNORECASE)
# After these words, every engine that has them has a string.
_STRING_NEXT = re.compile(r"\b(?:COMMENT|LOCATION)\s*\Z", re.IGNORECASE)
_NEAR = 40
_COMMENT = r"--[^\n]*|/\*(?s:.*?)(?:\*/|\Z)"
_PLAIN_STRING = r"'[^']*(?:''[^']*)*(?:'|\Z)"
_ESCAPING_STRING = r"'[^'\\]*(?:(?:''|\\(?s:.)|\\\Z)[^'\\]*)*(?:'|\Z)"
_DOUBLE = r'"(?P<double>[^"\n]+(?:""[^"\n]*)*)"'
_SQUARE = r"\[(?P<square>[^\]\n]+(?:\]\][^\]\n]*)*)\]"
# A string of Oracle, in which quotes are no end of it: q'[it's]', q'!it's!'.
_ORACLES_STRING = (
    r"(?<![\w'])(?P<prefix>[nN]?[qQ])'(?P<content>\[(?s:.{0,20000}?)\]|\{(?s:.{0,20000}?)\}|\((?s:.{0,20000}?)\)|"
    r"<(?s:.{0,20000}?)>|(?P<mark>[^\w\s'\[{(<])(?s:.{0,20000}?)(?P=mark))'"
)
_MAYBE_ORACLES_STRING = re.compile(_ORACLES_STRING)
_STRINGS = re.compile(rf'{_COMMENT}|{_ORACLES_STRING}|{_PLAIN_STRING}|"[^"\n]*"')
_BODY = r"(?P<tag>\$\w{0,64}\$)(?P<body>(?s:.*?))(?P=tag)"


def with_plain_strings(text: str) -> str:
    """Return a text in which Oracle's strings `q'[...]'` are in quotes alone, with a space for each quote inside."""
    return _STRINGS.sub(_as_plain_string, text) if _MAYBE_ORACLES_STRING.search(text) is not None else text


def _as_plain_string(found: re.Match[str]) -> str:
    """Return a string of Oracle as an ordinary one of the same length, and anything else as it is."""
    if found["content"] is None:
        return found[0]
    content = found["content"].replace("'", " ")
    return f"{blanked(found['prefix'])}'{content}'"


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
    if dialect == _UNKNOWN and "`" in text:
        return _of_mixed_engines(text)
    return _rewritten(text, dialect) if dialect in NAMES_IN_DOUBLE_QUOTES or dialect == _UNKNOWN else text


def _of_mixed_engines(text: str) -> str:
    """Return a text whose statements may be of several engines: each that has backquotes, or no marks, stays."""
    statements, has_backquotes = [""], [False]
    for token in tokens(text):
        statements[-1] += token.text
        has_backquotes[-1] |= token.kind is TokenKind.NAME and token.text.startswith("`")
        if token.text == ";":
            statements.append("")
            has_backquotes.append(False)
    if not any(has_backquotes):
        return _rewritten(text, _UNKNOWN)
    pairs = zip(statements, has_backquotes, strict=True)
    marked = ((each, not backquoted and recognized(each)) for each, backquoted in pairs)
    return "".join(_rewritten(each, _UNKNOWN) if is_named else each for each, is_named in marked)


def recognized(text: str) -> str:
    """Return the dialect of a text: `tsql`, another one that has names in double quotes, or empty for any other."""
    lower = text.lower()
    is_maybe = any(each in lower for each in _IN_SQL_SERVER) or _BATCH.search(text) is not None
    is_by_alias = '"' in text and _is_by_alias(text)
    is_maybe_named = is_by_alias or ('"' in text and _MAYBE_NAMED.search(text))
    if not is_maybe_named and not (is_maybe and _MAYBE_OF_SQL_SERVER.search(text)):
        return ""
    templates = "|".join(_templates(text))
    given = re.sub(templates, _without_template, text) if templates else text
    given = _IN_THREE_QUOTES.sub("''", given) if '"""' in text or "'''" in text else given
    parsed = ClientText(given, has_set=True)
    plain = "".join(_without_content(tokens(parsed.sql)))
    if parsed.has_batches or _OF_SQL_SERVER.search(plain) is not None:
        return "tsql"
    is_named = is_by_alias or _NAMED.search(plain) is not None or _READ.search(_COPIED.sub(" ", plain)) is not None
    return _UNKNOWN if is_named else ""


def _is_by_alias(text: str) -> bool:
    """Return whether a text groups or orders by an alias in double quotes, which are around no string there."""
    return not set(_ALIASED.findall(text)).isdisjoint(_BY_ALIAS.findall(text)) and _COMPARED.search(text) is None


def _without_template(found: re.Match[str]) -> str:
    """Return a word for the value of a template, and white space for its other parts, which keep their lines."""
    return "_" if found[0].startswith("{{") else f" {blanked(found[0])} "


def _templates(text: str) -> list[str]:
    """Return the patterns of the templates that a text may have: without an end, each search would be in vain."""
    return [pattern for end, pattern in _TEMPLATES.items() if end in text]


def _without_content(given: Iterable[Token]) -> Iterator[str]:
    """Yield tokens without what strings contain; one character stands for white space and comments together."""
    is_after_space = False
    for token in given:
        is_space = token.kind in (TokenKind.SPACE, TokenKind.COMMENT)
        if not is_space:
            yield _plain_token(token)
        elif not is_after_space:
            yield " "
        is_after_space = is_space


def _plain_token(token: Token) -> str:
    """Return a token without what a string contains; a string in double quotes stays one."""
    if token.kind is TokenKind.NUMBER:
        return "0"
    if token.kind is not TokenKind.STRING:
        return token.text
    if not token.text.startswith('"'):
        return "''"
    return '"x"' if _PLAIN.fullmatch(token.text) is not None else '"?"'


def _rewritten(text: str, dialect: str) -> str:
    escapes = dialect in _ESCAPING or dialect == _UNKNOWN
    doubles = dialect not in SQL_SERVER or _UNQUOTING.search(text) is None
    parts = [_COMMENT, *_templates(text), f"(?P<string>{_ESCAPING_STRING if escapes else _PLAIN_STRING})", _BODY]
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
