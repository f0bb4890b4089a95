"""Read the words of statements that Spark's parsed plans do not contain."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.tables.declared import Parts

_DECLARING = frozenset({"DECLARE", "OR", "REPLACE", "VARIABLE", "VAR"})
_REFRESHED = re.compile(r"CREATE(\s+OR\s+REFRESH)\b", re.IGNORECASE)


def names_in(text: str) -> Parts:
    """Return the parts of a dotted name, each of which may be in backquotes."""
    return dotted(text)


def names_after(text: str, word: str) -> Parts:
    """Return the parts of the dotted name after the first occurrence of a keyword; none if there is no keyword."""
    at = 0
    for token in tokens(text):
        at += len(token.text)
        if token.kind is TokenKind.WORD and token.text.upper() == word:
            return dotted(text, at)
    return ()


def first_word(text: str) -> str:
    """Return the word with which a statement begins, in capitals."""
    return next((token.text.upper() for token in tokens(text)), "")


def declared_name(text: str) -> str:
    """Return the name of the variable that a DECLARE declares, in lower case."""
    at = 0
    for token in tokens(text):
        if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT) and token.text.upper() not in _DECLARING:
            break
        at += len(token.text)
    return "".join(dotted(text, at)[-1:]).lower()


def before_default(text: str) -> str:
    """Return a DECLARE up to its default value."""
    at = 0
    for token in tokens(text):
        if token.text == "=" or (token.kind is TokenKind.WORD and token.text.upper() == "DEFAULT"):
            return text[:at].rstrip()
        at += len(token.text)
    return text


def default_in(text: str) -> str:
    """Return the default value of a DECLARE; empty if it has none."""
    rest = text[len(before_default(text)) :].strip()
    return rest[1:] if rest.startswith("=") else rest[len("DEFAULT") :]


def insert_of_flow(text: str) -> str:
    """Return the INSERT that is equivalent to a flow of a pipeline."""
    at = 0
    for token in tokens(text):
        if token.kind is TokenKind.WORD and token.text.upper() == "INSERT":
            return text[at:]
        at += len(token.text)
    return text


def query_of_flow(text: str) -> str:
    """Return the query whose rows a flow of a pipeline adds to its table, by the names of their columns."""
    words, at = ["", ""], 0
    for token in tokens(text):
        at += len(token.text)
        if token.kind is TokenKind.WORD:
            words = [words[-1], token.text.upper()]
            if words == ["BY", "NAME"]:
                return text[at:].strip()
    return text


def without_refresh(text: str) -> str:
    """Return a statement with blanks for Databricks' OR REFRESH, which Spark's pipelines do not have."""
    found = _REFRESHED.match(text)
    if found is None:
        return text
    begin, end = found.span(1)
    return text[:begin] + re.sub(r"\S", " ", text[begin:end]) + text[end:]
