"""
The rows of VALUES: the variables in them are known from its text alone.

While Spark analyzes a statement, it replaces VALUES by rows, and the variables in it by their values.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from openlineage_pyspark.facets.model.lineage import Certainty, UseKind, Way, Wording, compose
from openlineage_pyspark.facets.model.plan import LOCAL_RELATION, Operator
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.model.variables import VariableName
from openlineage_pyspark.facets.plan_lineage.results import EarlierColumn, EarlierRows, SourceField, VariableValue
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, tokens, unquoted

_OPEN, _CLOSE = "([{", ")]}"
_BRACKET = Token(TokenKind.SYMBOL, "(")
_BETWEEN = (TokenKind.SPACE, TokenKind.COMMENT)
_NAMES = (TokenKind.WORD, TokenKind.NAME)
_Variables = Mapping[VariableName, VariableValue | None]


def rows_of_variables(operator: Operator, variables: _Variables) -> EarlierRows | None:
    """
    Return the rows of a VALUES, whose columns have the sources of the variables in it; None if there are none.

    Args:
        operator: a leaf.
        variables: the variables that earlier statements have set, with their values.
    """
    text = operator.arguments.get("text") if operator.class_name == LOCAL_RELATION and variables else None
    if not isinstance(text, str):
        return None
    known = _variables_of(operator, variables)
    rows = list(rows_of_values(text))
    used = {use.name: use.value for row in rows for each in row for use in _uses(each, known)}
    if not any(value is None or value.sources or value.datasets for value in used.values()):
        return None
    gaps = [_gap(f"the variable {'.'.join(name.parts)}: the sources of its value are unknown")
            for name, value in used.items() if value is None]  # fmt: skip
    if any(len(row) != len(operator.output) for row in rows):
        names = ", ".join(".".join(name.parts) for name in used)
        gaps = [_gap(f"VALUES with the variables {names}: which columns have their values is unknown")]
        rows = []
    values = [value for value in used.values() if value is not None]
    return EarlierRows(
        tuple({dataset.identifier: dataset for value in values for dataset in value.datasets}.values()),
        tuple(_column((row[at] for row in rows), known) for at in range(len(operator.output))),
        wording=functools.reduce(Wording.joined, (value.wording for value in values), Wording()),
        gaps=tuple(gaps),
    )


def _gap(message: str) -> Gap:
    return Gap(LOCAL_RELATION, message)


def _variables_of(operator: Operator, variables: _Variables) -> _Variables:
    """Return the variables of the session of a leaf; all, if the session is unknown."""
    scope = operator.arguments.get("scope")
    if not isinstance(scope, int):
        return variables
    return {name: value for name, value in variables.items() if name.scope == scope}


def _column(expressions: Iterable[Sequence[Token]], variables: _Variables) -> EarlierColumn:
    """Return a column of VALUES, given its expression in each row."""
    found: dict[SourceField, dict[UseKind, tuple[Way, ...]]] = {}
    for expression in expressions:
        is_name = len(_chain(expression)) == len(expression)
        for _, value, is_field in _uses(expression, variables):
            is_copy = is_name and not is_field
            for field, kinds in (value.sources if value is not None else {}).items():
                there = found.setdefault(field, {})
                for inner, ways in kinds.items():
                    kind = inner if is_copy else compose(UseKind.TRANSFORMATION, inner)
                    unsure = (way._replace(certainty=Certainty.TEXT) for way in ways)
                    there[kind] = tuple(dict.fromkeys((*there.get(kind, ()), *unsure)))
    return EarlierColumn(found)


class _Use(NamedTuple):
    """
    A use of a variable.

    Args:
        name: the variable.
        value: its value; None if the sources of that are unknown.
        is_field: whether only a field of it is used.
    """

    name: VariableName
    value: VariableValue | None
    is_field: bool


def _uses(expression: Sequence[Token], variables: _Variables) -> Iterator[_Use]:
    """Yield the uses of variables in an expression."""
    at = 0
    while at < len(expression):
        chain = _chain(expression[at:])
        at += max(len(chain), 1)
        is_function = at < len(expression) and expression[at].text == "("
        if not chain or is_function:
            continue
        parts = tuple(_name(token) for token in chain[::2])
        # Behind the name of a variable may be that of a field of it, before it that of its script or session.
        for end in range(len(parts), 0, -1):
            named = [name for name in variables if _is_named(name, parts[:end])]
            if named:
                # A later variable of the same name hides an earlier one.
                yield _Use(named[-1], variables[named[-1]], end < len(parts))
                break


def _is_named(name: VariableName, parts: tuple[str, ...]) -> bool:
    folded = tuple(part.casefold() for part in name.parts)
    shorter = min(len(parts), len(folded))
    return parts[-shorter:] == folded[-shorter:]


def _name(token: Token) -> str:
    return (unquoted(token) if token.kind is TokenKind.NAME else token.text).casefold()


def _chain(tokens_: Sequence[Token]) -> Sequence[Token]:
    """Return the dotted name with which tokens begin; empty if they begin otherwise."""
    end = 0
    while end < len(tokens_) and tokens_[end].kind in _NAMES:
        end += 1
        if end + 1 >= len(tokens_) or tokens_[end].text != "." or tokens_[end + 1].kind not in _NAMES:
            return tokens_[:end]
        end += 1
    return ()


def rows_of_values(text: str) -> Iterator[Sequence[Sequence[Token]]]:
    """Yield the rows of a text that begins with VALUES: the tokens of each of their expressions, without spaces."""
    rest = [token for token in tokens(text) if token.kind not in _BETWEEN][1:]
    while rest:
        row = rest[: _outside(rest, ",")]
        rest = rest[len(row) + 1 :]
        # The bracket that closes the first one.
        end = _outside(row, ")") + 1
        # Behind a row may be the alias of the table. Other brackets belong to the only expression of a row.
        is_row = row[:1] == [_BRACKET] and (end >= len(row) or row[end].kind in _NAMES)
        yield list(_parts(row[1 : end - 1])) if is_row else [row[: _outside(row, "as")]]


def _parts(row: Sequence[Token]) -> Iterator[Sequence[Token]]:
    rest = row
    while rest:
        part = rest[: _outside(rest, ",")]
        rest = rest[len(part) + 1 :]
        yield part


def _outside(row: Sequence[Token], text: str) -> int:
    """Return the place of the first token with a text, in lower case, that is not in brackets; else the length."""
    depth = 0
    for at, token in enumerate(row):
        depth += (token.text in _OPEN) - (token.text in _CLOSE)
        if depth == 0 and token.text.casefold() == text:
            return at
    return len(row)
