"""Write the values of parameters into the text of an SQL statement."""

from __future__ import annotations

import datetime
import decimal
import re
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPERATORS = frozenset("<>=!+-*/%&|^~") | {"=>"}
_IN_BRACES = re.compile(r"\$\{(?:getArgument\([\"'])?(\w+)(?:[\"']\))?\}")
_OPERATOR_WORDS = frozenset({"and", "or", "not", "in"})


def with_values(text: str, given: Any) -> str:
    """
    Return a statement with the values of its parameters.

    Args:
        text: the statement, with parameters such as `:day` or `?`.
        given: the values: a dict by the names of the parameters, or a list; None for no values.
    """
    if not given:
        return text
    parts: list[str] = []
    places = iter(given if isinstance(given, (list, tuple)) else ())
    every = [token.text for token in tokens(text)]
    kinds = [token.kind for token in tokens(text)]
    at = 0
    while at < len(every):
        name = every[at + 1] if at + 1 < len(every) else ""
        if every[at] == ":" and isinstance(given, dict) and name in given and kinds[at + 1] is TokenKind.WORD:
            parts.append(literal_of(given[name]))
            at += 2
            continue
        parts.append(literal_of(next(places, None)) if every[at] == "?" and not isinstance(given, dict) else every[at])
        at += 1
    return "".join(parts)


def with_parameters(text: str, values: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """
    Return the parameters that a notebook's statement names by `:name`, and the statement with the values of the others.

    Args:
        text: the statement; `${name}` in it is replaced by the value of a parameter.
        values: the parameters with their values.
    """
    text = _IN_BRACES.sub(lambda found: values.get(found[1], found[0]), text)
    every = list(tokens(text))
    after = (each.text for at, each in enumerate(every) if at and every[at - 1].text == ":")
    return {name: values[name] for name in after if name in values}, text


def with_quoted_operators(text: str) -> str:
    """
    Return the SQL of a column with its operators in a form that Spark's parser accepts.

    Spark 4 writes an operator as a function, such as `<(price, 0)`; in backquotes, the operator is a function's name.
    """
    parts: list[str] = []
    every = [token.text for token in tokens(text)]
    begins = True
    at = 0
    while at < len(every):
        end = at
        while end < len(every) and every[end] in _OPERATORS:
            end += 1
        is_word = every[at].lower() in _OPERATOR_WORDS
        end = at + 1 if is_word else end
        if begins and end > at and every[end : end + 1] == ["("]:
            parts.append(f"`{''.join(every[at:end])}`")
            at, begins = end, False
            continue
        parts.append(every[at])
        begins = every[at] in ("(", ",") or (begins and every[at].isspace())
        at += 1
    return "".join(parts)


def texts_in(given: Any) -> list[str]:
    """Return those values of parameters that are texts."""
    values = given.values() if isinstance(given, dict) else given or ()
    return [each for each in values if isinstance(each, str)]


def literal_of(value: Any) -> str:
    """Return a value as an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float, decimal.Decimal)):
        return str(value)
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
