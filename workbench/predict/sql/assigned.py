"""Read the text of a SET VAR: the names of the variables, each with its expression."""

from __future__ import annotations

from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens
from openlineage_pyspark.workbench.predict.sql.parts import parts_of

_BEFORE_NAMES = frozenset({"SET", "VAR", "VARIABLE"})


def assigned(text: str) -> tuple[tuple[str, str], ...]:
    """
    Return the variables that a SET VAR sets, in lower case, each with the text of an expression for its value.

    Args:
        text: `SET VAR a = 1, b = (SELECT ...)`, or `SET VAR (a, b) = (SELECT ...)`.
    """
    parts = [_sides(each) for each in parts_of(_after_words(text), ",")]
    names = [_names(name) for name, _ in parts]
    if len(names) == 1 and len(names[0]) > 1:
        listed = ", ".join(f"`{name}`" for name in names[0])
        query = parts[0][1].strip()
        return tuple((name, f"(SELECT `{name}` FROM {query} AS `set` ({listed}))") for name in names[0])  # noqa: S608
    return tuple((each[0], value.strip()) for each, (_, value) in zip(names, parts, strict=True) if each[0])


def _after_words(text: str) -> str:
    """Return the text after SET VAR."""
    at = 0
    for token in tokens(text):
        if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT) and token.text.upper() not in _BEFORE_NAMES:
            return text[at:]
        at += len(token.text)
    return ""


def _sides(text: str) -> tuple[str, str]:
    """Return the text before the first equals sign, and the text after it."""
    name, *values = parts_of(text, "=")
    return name, "=".join(values)


def _names(text: str) -> tuple[str, ...]:
    """Return the last parts of the names in a list, perhaps in parentheses."""
    inside = text.strip().removeprefix("(").removesuffix(")")
    return tuple("".join(dotted(each.strip())[-1:]).lower() for each in parts_of(inside, ","))
