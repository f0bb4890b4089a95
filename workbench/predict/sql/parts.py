"""Find the brackets of a text, and split it at a separator, except in strings and comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

_BRACKETS = ("([{", ")]}")


def parts_of(text: str, separator: str = ",", brackets: tuple[str, str] = _BRACKETS) -> Iterator[str]:
    """
    Yield the parts of a text between separators.

    Args:
        text: the text.
        separator: one token.
        brackets: the signs that open brackets, and those that close them.
    """
    opening, closing = brackets
    at = begin = depth = 0
    for token in tokens(text):
        if token.text == separator and not depth:
            yield text[begin:at]
            begin = at + len(separator)
        depth += (token.text in opening) - (token.text in closing)
        at += len(token.text)
    yield text[begin:]


def closing(text: str, inside: int) -> int:
    """
    Return the position of the parenthesis that closes the one around a position; the text's end if there is none.

    Args:
        text: a text.
        inside: a position, of which it is known that an open parenthesis is before it.
    """
    at, depth = inside, 1
    for token in tokens(text, inside):
        depth += (token.text == "(") - (token.text == ")")
        if not depth:
            return at
        at += len(token.text)
    return len(text)
