"""Rewrite statements that write rows into files into the creation of a table at the path: INSERT, UNLOAD, COPY, ...."""

from __future__ import annotations

import re

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens, unquoted
from openlineage_pyspark.workbench.predict.sql.parts import closing

_HEAD = re.compile(r"INSERT\s+OVERWRITE\s+(?:LOCAL\s+)?DIRECTORY\s+(?=['\"])", re.IGNORECASE)
# An insert into several places begins with FROM.
_BEFORE = re.compile(r"(?:--[^\n]*|/\*.*?\*/|\s)*(?:WITH\b|$)", re.IGNORECASE | re.DOTALL)
_FORMAT = re.compile(r"\b(?:USING|STORED\s+AS)\s+(\w+)", re.IGNORECASE)
_QUERY = frozenset({"SELECT", "FROM", "VALUES", "TABLE", "WITH"})
_NO_QUERY = "SERDEPROPERTIES"
_UNLOAD = re.compile(r"\s*UNLOAD\s*\(\s*", re.IGNORECASE)
_TO = re.compile(r"\s*\)\s*TO\s+(?=')", re.IGNORECASE)
_FORMAT_OF_UNLOAD = re.compile(r"\bFORMAT(?:\s+AS|\s*=)?\s*'?(\w+)", re.IGNORECASE)
# EXPORT DATA of BigQuery, COPY of PostgreSQL and DuckDB, COPY INTO of Snowflake, INTO OUTFILE of MySQL and ClickHouse.
_EXPORT = re.compile(r"\s*EXPORT\s+DATA\s+(?:WITH\s+CONNECTION\s+\S+\s+)?OPTIONS\s*\(", re.IGNORECASE)
_URI = re.compile(r"\buri\s*=\s*(?:'([^']*)'|\"([^\"]*)\")", re.IGNORECASE)
_AS = re.compile(r"\s*\)\s*AS\s+", re.IGNORECASE)
_NAME = r"(?:`[^`]+`|\"[^\"]+\"|\w+)(?:\s*\.\s*(?:`[^`]+`|\"[^\"]+\"|\w+))*"
_COPY_FROM = re.compile(rf"\s*COPY\s+(?:(?P<table>{_NAME})\s*(?P<columns>\([^()]*\))?\s*(?=TO\b)|\()", re.IGNORECASE)
_COPY_INTO = re.compile(rf"\s*COPY\s+INTO\s+'(?P<path>[^']*)'\s+FROM\s*(?:(?P<table>{_NAME})|\()", re.IGNORECASE)
_TO_FILE = re.compile(r"\s*\)?\s*TO\s+'(?P<path>[^']*)'", re.IGNORECASE)
_FORMAT_OF_COPY = re.compile(r"\b(?:FORMAT|TYPE)\s*(?:AS\b|=)?\s*'?(\w+)", re.IGNORECASE)
_ENDS = r"(?:\s+(?:STARTING|TERMINATED|(?:OPTIONALLY\s+)?ENCLOSED|ESCAPED)\s+BY\s+'(?:[^'\\]|\\.)*')+"
_OUTFILE = re.compile(
    r"\bINTO\s+(?:OUTFILE|DUMPFILE)\s+'(?P<path>[^']*)'(?:\s+CHARACTER\s+SET\s+\w+)?"
    rf"(?:\s+(?:FIELDS|COLUMNS){_ENDS})?(?:\s+LINES{_ENDS})?(?:\s+FORMAT\s+(?P<format>\w+))?",
    re.IGNORECASE,
)
# The folder of any other path is that of a client, or wherever the database runs.
_ABSOLUTE = re.compile(r"/|[A-Za-z][\w+.-]*:/")
_SELECT = re.compile(r"\s*(?:SELECT|WITH)\b", re.IGNORECASE)


def into_paths(text: str) -> str:
    """
    Return a statement that creates ``csv.`/path` `` instead of a directory; return any other text unchanged.

    Args:
        text: a statement.
    """
    found = _HEAD.search(text)
    if found is None or _BEFORE.match(text[: found.start()]) is None:
        return text
    at, depth, path, query = found.end(), 0, "", None
    for token in tokens(text, found.end()):
        word = token.text.upper() if token.kind is TokenKind.WORD and not depth else ""
        if not path:
            path = unquoted(token)
        elif query is not None and word == _NO_QUERY:
            query = None
        elif query is None and word in _QUERY:
            query = at
        elif query is not None and token.kind not in (TokenKind.SPACE, TokenKind.COMMENT):
            break
        depth += (token.text == "(") - (token.text == ")")
        at += len(token.text)
    if query is None:
        return text
    named = _FORMAT.search(text, found.end(), query)
    return _made(named, path, f"{text[: found.start()]}{text[query:]}")


def unloaded(text: str) -> str:
    """
    Return a statement that writes rows into files for other programs as `into_paths` does.

    Args:
        text: a statement. Any other one is returned unchanged. If UNLOAD names no path, its query is returned.
    """
    for each in (_exported, _copied, _in_outfile):
        made = each(text)
        if made is not None:
            return made
    found = _UNLOAD.match(text)
    if found is None:
        return text
    first = next(tokens(text, found.end()), None)
    if first is not None and first.kind is TokenKind.STRING:
        given, query = first.text, unquoted(first)
    else:
        given = query = text[found.end() : closing(text, found.end())]
    end = found.end() + len(given)
    target = _TO.match(text, end)
    path = next(tokens(text, target.end()), None) if target is not None else None
    return query if path is None else _made(_FORMAT_OF_UNLOAD.search(text, end), unquoted(path), query)


def _made(named: re.Match[str] | None, path: str, query: str) -> str:
    """Return the statement that creates a table of a named format at a path."""
    provider = named[1].lower() if named is not None else "textfile"
    return f"CREATE TABLE {provider}.`{path}` AS {query}"


def _exported(text: str) -> str | None:
    """Return an EXPORT DATA of BigQuery as the creation of a table; None for any other statement."""
    found = _EXPORT.match(text)
    if found is None:
        return None
    end = closing(text, found.end())
    path, query = _URI.search(text, found.end(), end), _AS.match(text, end)
    if path is None or query is None:
        return None
    return _made(_FORMAT_OF_UNLOAD.search(text, found.end(), end), path[1] or path[2], text[query.end() :])


def _copied(text: str) -> str | None:
    """Return a COPY of a table or a query to a file as the creation of a table; None for any other statement."""
    into = _COPY_INTO.match(text)
    found = into or _COPY_FROM.match(text)
    if found is None:
        return None
    table = found["table"]
    end = found.end() if table else closing(text, found.end())
    target = into or _TO_FILE.match(text, end)
    if target is None:
        return None
    columns = (found.groupdict().get("columns") or "(*)").strip()[1:-1]
    query = f"SELECT {columns} FROM {table}" if table else text[found.end() : end]  # noqa: S608 (it is not run)
    named = _FORMAT_OF_COPY.search(text, max(end, target.end()))
    return _made(named, target["path"], query) if _ABSOLUTE.match(target["path"]) else query


def _in_outfile(text: str) -> str | None:
    """Return a query into a file of MySQL or ClickHouse as the creation of a table; None for any other statement."""
    found = _OUTFILE.search(text) if _SELECT.match(text) is not None else None
    if found is None:
        return None
    named = found["format"] or "textfile"
    query = f"{text[: found.start()]}{text[found.end() :]}"
    if _ABSOLUTE.match(found["path"]) is None:
        return query
    return f"CREATE TABLE {named.lower()}.`{found['path']}` AS {query}"
