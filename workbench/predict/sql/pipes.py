"""Rewrite the operators of a pipe (`FROM t |> SET a = 1`) that no dialect of sqlglot reads as a SELECT of the pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIPE = "|>"
# An operator -> what stands for it; it has the names of columns, or what columns are set to.
_REWRITTEN = {
    "DROP": "SELECT * EXCEPT ({})",
    "RENAME": "SELECT * RENAME ({})",
    "SET": "SELECT * REPLACE ({})",
    "WINDOW": "EXTEND {}",
}


def with_read_pipes(text: str) -> str:
    """
    Return a statement in which sqlglot can read the operators DROP, RENAME, SET and WINDOW of pipes.

    Args:
        text: the statement. One without pipes is returned unchanged.
    """
    if _PIPE not in text:
        return text
    parts, at = [], 0
    for begin, end, word in sorted(_operators(text)):
        if begin < at:
            # It is in another one.
            continue
        given = with_read_pipes(text[begin + len(word) : end].strip())
        if word == "SET":
            given = ", ".join(map(_set_to, parts_of(given)))
        parts += [text[at:begin], _REWRITTEN[word].format(given), " "]
        at = end
    return "".join([*parts, text[at:]])


def _set_to(assignment: str) -> str:
    """Return an assignment as an expression with a name."""
    name, *values = parts_of(assignment, "=")
    return f"{'='.join(values).strip()} AS {name.strip()}" if values else assignment


def _operators(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield each operator that is rewritten: where it begins and ends, and its word."""
    at = depth = 0
    before = ""
    # The operators that have begun, by the number of brackets around them.
    begun: dict[int, tuple[int, str]] = {}
    for token in tokens(text):
        is_pipe = token.text == ">" and text[max(0, at - 1) : at] == "|"
        closes = token.text == ")"
        if is_pipe or closes or token.text == ";":
            found = begun.pop(depth, None)
            if found is not None:
                yield found[0], at - is_pipe, found[1]
        depth += (token.text == "(") - closes
        if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT):
            word = token.text.upper()
            if before == _PIPE and word in _REWRITTEN:
                begun[depth] = at, word
            before = _PIPE if is_pipe else token.text
        at += len(token.text)
    for begin, word in begun.values():
        yield begin, len(text), word
