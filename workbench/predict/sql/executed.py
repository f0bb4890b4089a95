"""
Read statements in strings: the body of a routine in single quotes, and texts that EXECUTE IMMEDIATE and the like run.

A parameter of such a text is a value that the statement around it gives, so it is put into its place.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

_BETWEEN = (TokenKind.SPACE, TokenKind.COMMENT)
_QUOTE = re.compile(r"''|\\'")
_MODE = re.compile(r"(?:IN(?:\s+OUT)?|OUT)\s+(?=[\w:@])", re.IGNORECASE)
_ALIAS = re.compile(r"(?P<value>.+?)\s+AS\s+(?P<name>\w+)\s*\Z", re.IGNORECASE | re.DOTALL)


@attrs.frozen
class Arguments:
    """
    The values for the parameters of a text.

    Args:
        values: the values, in their order.
        named: names of parameters in lower case -> their values.
    """

    values: tuple[str, ...] = ()
    named: dict[str, str] = attrs.field(factory=dict)


def body_in_quotes(text: str) -> str:
    """
    Return what is in a string in single quotes, as long as it was: each pair of quotes becomes one and a blank.

    Args:
        text: the string, without its first and its last quote.
    """
    is_open = False

    def single(_: re.Match[str]) -> str:
        nonlocal is_open
        is_open = not is_open
        return " '" if is_open else "' "

    return _QUOTE.sub(single, text)


def given_arguments(parts: Sequence[str]) -> Arguments:
    """
    Return the values that follow USING.

    Args:
        parts: their texts, perhaps with names (`1 AS a`) or modes (`IN a`).
    """
    values, named = [], {}
    for each in parts:
        given = _MODE.sub("", each.strip(), count=1)
        alias = _ALIAS.match(given)
        if alias is not None:
            named[alias["name"].lower()] = alias["value"]
        values.append(alias["value"] if alias is not None else given)
    return Arguments(tuple(values), named)


def with_arguments(text: str, arguments: Arguments) -> str:
    """
    Return a statement with values instead of its parameters: `?`, `:name` and `:1`, `@name`, or `$1`.

    Args:
        text: the statement.
        arguments: the values.
    """
    if not arguments.values:
        return text
    rest = list(arguments.values)
    positions: dict[str, str] = {}
    given = list(tokens(text))
    parts: list[str] = []
    at = 0
    while at < len(given):
        token = given[at]
        following = given[at + 1] if at + 1 < len(given) else None
        if token.text == "?" and token.kind is TokenKind.SYMBOL and rest:
            parts.append(f"({rest.pop(0)})")
        elif following is not None and token.kind is TokenKind.SYMBOL and _is_parameter(given, at):
            value = _value(token.text, following, arguments, positions, rest)
            parts.append(token.text if value is None else f"({value})")
            at += value is not None
        else:
            parts.append(token.text)
        at += 1
    return "".join(parts)


def _is_parameter(given: Sequence[Token], at: int) -> bool:
    """Return whether a sign begins a parameter, and is no part of a cast, an assignment or a path."""
    before = given[at - 1] if at else None
    is_apart = before is None or before.kind in _BETWEEN or before.text in ("(", ",", "=", "<", ">", "+", "-", "*", "|")
    is_named = given[at + 1].kind in (TokenKind.WORD, TokenKind.NUMBER)
    return is_apart and is_named and given[at].text in (":", "$", "@")


def _value(sign: str, name: Token, arguments: Arguments, positions: dict[str, str], rest: list[str]) -> str | None:
    """Return the value of a parameter; None if it has none."""
    key = name.text.lower()
    if arguments.named:
        return arguments.named.get(key)
    if sign == "@":
        return None
    if sign == "$":
        place = int(key) - 1 if key.isdigit() else -1
        return arguments.values[place] if 0 <= place < len(arguments.values) else None
    if key not in positions and rest:
        positions[key] = rest.pop(0)
    return positions.get(key)
