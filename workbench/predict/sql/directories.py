"""Rewrite an INSERT into a directory, which only Spark and Hive have, into the creation of a table at the path."""

from __future__ import annotations

import re

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens, unquoted

_HEAD = re.compile(r"INSERT\s+OVERWRITE\s+(?:LOCAL\s+)?DIRECTORY\s+(?=['\"])", re.IGNORECASE)
# An insert into several places begins with FROM.
_BEFORE = re.compile(r"(?:--[^\n]*|/\*.*?\*/|\s)*(?:WITH\b|$)", re.IGNORECASE | re.DOTALL)
_FORMAT = re.compile(r"\b(?:USING|STORED\s+AS)\s+(\w+)", re.IGNORECASE)
_QUERY = frozenset({"SELECT", "FROM", "VALUES", "TABLE", "WITH"})
_NO_QUERY = "SERDEPROPERTIES"


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
    provider = named[1].lower() if named is not None else "textfile"
    return f"CREATE TABLE {provider}.`{path}` AS {text[: found.start()]}{text[query:]}"
