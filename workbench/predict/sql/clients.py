"""
Blank the parts of a file that Spark's SQL does not have: comments that begin with `#`, and lines for clients.

`#` begins a comment in BigQuery and MySQL, so an apostrophe after it begins no string. A line such as that of psql
with a backslash, or `.read` of DuckDB, is a command for the client alone, and no `;` ends it.
"""

from __future__ import annotations

import re

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.blank import blanked

_CANDIDATE = re.compile(r"^[ \t]*(?:#|\\|\.[a-z])|[,;(][ \t]*#", re.MULTILINE)
_LINE = re.compile(r"[^\r\n]*")
_COMMAND = re.compile(r"\\[a-zA-Z!?]|\.[a-z]+\b")
# A table of SQL Server may have a name such as `#temp`, and PostgreSQL has operators such as `#>`.
_AFTER_SIGN = re.compile(r"#(?:\s|#|$)")


def for_parsers(text: str) -> str:
    """
    Return the SQL of a file, with blanks for lines and comments that Spark does not have.

    Args:
        text: the content of a file.
    """
    if _CANDIDATE.search(text) is None:
        return text
    parts: list[str] = []
    at, last, is_new_line = 0, ";", True
    while at < len(text):
        begin = at
        for token in tokens(text, at):
            rest = text[at : at + 20]
            is_comment = token.text == "#" and (
                last == ";" or ((is_new_line or last in (",", "(")) and _AFTER_SIGN.match(rest) is not None)
            )
            if is_comment or (last == ";" and is_new_line and _COMMAND.match(rest) is not None):
                break
            at += len(token.text)
            if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
                is_new_line = is_new_line or "\n" in token.text
            else:
                last, is_new_line = token.text, False
        else:
            parts.append(text[begin:])
            break
        end = _end_of_line(text, at)
        parts += [text[begin:at], blanked(text[at:end])]
        at = end
    return "".join(parts)


def _end_of_line(text: str, at: int) -> int:
    found = _LINE.match(text, at)
    return len(text) if found is None else found.end()
