"""Rewrite statements that write a query into files into the creation of a table at the path: INSERT, UNLOAD."""

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
    Return an UNLOAD of Redshift or Athena as `into_paths` does; only its query, if it names no path.

    Args:
        text: a statement. Any other one is returned unchanged.
    """
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
