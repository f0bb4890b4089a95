"""Find the type that a column must have, because a statement uses fields, elements or values in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens, unquoted
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks

if TYPE_CHECKING:
    from openlineage_pyspark.facets.sql_lexer import Token

_DEEPEST = 8
_NUMBER = re.compile(r"-?\d+")


@attrs.define
class _Use:
    """The parts of a value that are used: fields of a struct, elements of an array, or values of a map."""

    fields: dict[str, _Use] = attrs.Factory(dict)
    elements: _Use | None = None
    values: _Use | None = None

    def type(self) -> str:
        if self.fields:
            fields = ", ".join(f"{in_backticks(name)}: {use.type()}" for name, use in self.fields.items())
            return f"STRUCT<{fields}>"
        if self.values is not None:
            return f"MAP<STRING, {self.values.type()}>"
        return f"ARRAY<{self.elements.type()}>" if self.elements is not None else "STRING"


def type_by_use(statement: str, column: str) -> str | None:
    """
    Return the type of a column from the parts that a statement uses; None if it uses none.

    Parts whose own parts are not used are strings.
    """
    found = [each for each in tokens(statement) if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT)]
    use = _Use()
    for at, token in enumerate(found):
        if _name(token).lower() == column.lower():
            _follow(found, at + 1, use)
    return use.type() if use != _Use() else None


def _follow(found: list[Token], at: int, use: _Use) -> None:
    """Add the parts of a value that are used after its name."""
    for _ in range(_DEEPEST):
        if _text(found, at) == "." and at + 1 < len(found) and _name(found[at + 1]):
            use = use.fields.setdefault(_name(found[at + 1]), _Use())
            at += 2
        elif _text(found, at) == "[" and _text(found, at + 2) == "]":
            # A number is an index of an array; anything else may be a key.
            if _NUMBER.fullmatch(_text(found, at + 1)):
                use.elements = use.elements or _Use()
                use = use.elements
            else:
                use.values = use.values or _Use()
                use = use.values
            at += 3
        else:
            return


def _text(found: list[Token], at: int) -> str:
    return found[at].text if at < len(found) else ""


def _name(token: Token) -> str:
    if token.kind is TokenKind.NAME:
        return unquoted(token)
    return token.text if token.kind is TokenKind.WORD else ""
