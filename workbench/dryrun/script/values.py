"""Read the text of an SQL statement with the values of its parameters, or give these the type that a script expects."""

from __future__ import annotations

import ast
import datetime
import decimal
import re
from typing import Any

from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.sql.statements import statements_of

_OPERATORS = frozenset("<>=!+-*/%&|^~") | {"=>"}
_COMPARED = re.compile(
    r"""(?P<quoted>`[^`]*`|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<before>(?:[<>=]|\b(?:BETWEEN|LIKE|RLIKE))\s*)(?P<name>\{[\w.]+\})
    (?=\s*(?:$|[;)]|(?:AND|OR|GROUP|HAVING|ORDER|LIMIT|UNION|EXCEPT|INTERSECT|QUALIFY|WINDOW)\b))""",
    re.IGNORECASE | re.VERBOSE,
)
_EXECUTES = re.compile(r"\s*EXECUTE\s+IMMEDIATE\b", re.IGNORECASE)
_PASSED = re.compile(r"\$(\w+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|(\S+))")
_JSON_WORDS = re.compile(r"(?<=[:\s])(?:true|false)(?=[\s,}])")
_OPERATOR_WORDS = frozenset({"and", "or", "not", "in"})
_UPPER_BOUND = re.compile(r"(\bBETWEEN\s+(?:'[^']*'|[\w.]+)\s+AND\s+)(\{[\w.]+\})", re.IGNORECASE)


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


def with_assumed_values(text: str) -> str:
    """
    Return a statement in which strings replace the stand-ins, such as `{day}`, that can hardly be anything but values.

    Such a stand-in is compared with something: it is behind an operator, as in `amount > {least} AND ...`.

    Args:
        text: the statement.
    """
    text = _COMPARED.sub(lambda found: found[0] if found["quoted"] else f"{found['before']}'{found['name']}'", text)
    return _UPPER_BOUND.sub(r"\1'\2'", text)


def executed_text(text: str) -> str:
    """
    Return the statement that a statement runs: the text that EXECUTE IMMEDIATE names, with its values.

    Args:
        text: any statement.

    Returns:
        The same statement if it is no such statement; an empty text if the text that it runs is in a variable.
    """
    if _EXECUTES.match(text) is None:
        return text
    found = [each.text for each in statements_of(text, "")]
    return found[0] if len(found) == 1 and _EXECUTES.match(found[0]) is None else ""


def passed_values(text: str) -> dict[str, str]:
    """
    Return the values that a notebook passes to one that it runs.

    Args:
        text: what follows `%run`: the name of the notebook, and `$name="value"` for each value, or all as JSON.
    """
    begin = text.find("{")
    if begin >= 0 and text.rstrip().endswith("}"):
        try:
            found = ast.literal_eval(_JSON_WORDS.sub(lambda word: word[0].capitalize(), text[begin:].strip()))
        except (SyntaxError, ValueError):
            return {}
        return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}
    return {each[1]: next(filter(None, each.groups()[1:]), "") for each in _PASSED.finditer(text)}


def fills_variables(text: str) -> bool:
    """Return whether a statement is an EXECUTE IMMEDIATE that writes its result into variables."""
    words = (each.text.upper() for each in tokens(text) if each.kind is TokenKind.WORD)
    return _EXECUTES.match(text) is not None and "INTO" in words


def value_like(text: str, default: Any) -> Any:
    """
    Return the value of a parameter of a notebook.

    Args:
        text: the value, as it is given.
        default: the notebook's own value.

    Returns:
        A value of the type of the default; the text if it is none of that type.
    """
    if isinstance(default, str) or default is None:
        return text
    try:
        found = ast.literal_eval(text.capitalize() if isinstance(default, bool) else text)
    except (SyntaxError, ValueError):
        return text
    return float(found) if isinstance(default, float) and type(found) is int else found


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
