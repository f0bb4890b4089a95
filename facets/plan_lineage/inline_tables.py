"""
The rows of VALUES: only its text has the variables in it.

While Spark analyzes a statement, it replaces VALUES by rows, and the variables in it by their values. The probe parses
the text again, and sends the names in it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from openlineage_pyspark.facets.model.lineage import Certainty, UseKind, Wording, compose
from openlineage_pyspark.facets.model.plan import LOCAL_RELATION, Operator, Value
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.model.variables import VariableName
from openlineage_pyspark.facets.plan_lineage.results import (
    EarlierColumn,
    EarlierRows,
    RememberedKinds,
    VariableValue,
    joined_kinds,
)
from openlineage_pyspark.facets.sql_lexer import dotted

_Variables = Mapping[VariableName, VariableValue | None]
_CONSTANTS = frozenset(
    "current_date current_time current_timestamp current_user default grouping__id localtimestamp session_user "
    "user".split()
)
"""Words that Spark's parser takes for names, although they are no variables."""


def rows_of_variables(operator: Operator, variables: _Variables) -> EarlierRows | None:
    """
    Return the rows of a VALUES, whose columns have the sources of the variables in it; None if there are none.

    Args:
        operator: a leaf.
        variables: the variables that earlier statements have set, with their values.
    """
    names = operator.arguments.get("names") if operator.class_name == LOCAL_RELATION else None
    rows = [row for row in names if isinstance(row, tuple)] if isinstance(names, tuple) else []
    known = _variables_of(operator, variables) if rows else {}
    used = {use.name: use.value for row in rows for column in row for use in _uses(column, known)}
    if not any(value is None or value.sources or value.datasets for value in used.values()):
        return None
    gaps = [_gap(message_about_unknown(name)) for name, value in used.items() if value is None]
    if any(len(row) != len(operator.output) for row in rows):
        shown = ", ".join(".".join(name.parts) for name in used)
        gaps = [_gap(f"which columns of VALUES have the values of the variables {shown} is unknown")]
        rows = []
    values = [value for value in used.values() if value is not None]
    return EarlierRows(
        tuple({dataset.identifier: dataset for value in values for dataset in value.datasets}.values()),
        tuple(_column((row[at] for row in rows), known) for at in range(len(operator.output))),
        wording=functools.reduce(Wording.joined, (value.wording for value in values), Wording()),
        gaps=tuple(gaps),
    )


def message_about_unknown(variable: VariableName) -> str:
    """Return the message about a variable whose value has unknown sources."""
    return f"the sources of the variable {'.'.join(variable.parts)} are unknown"


def _gap(message: str) -> Gap:
    return Gap(LOCAL_RELATION, message)


def _variables_of(operator: Operator, variables: _Variables) -> _Variables:
    """Return the variables of the session of a leaf; all, if the session is unknown."""
    scope = operator.arguments.get("scope")
    if not isinstance(scope, int):
        return variables
    return {name: value for name, value in variables.items() if name.scope == scope}


def _column(expressions: Iterable[Value], variables: _Variables) -> EarlierColumn:
    """Return a column of VALUES, given what its expression in each row names."""
    uses = (use for expression in expressions for use in _uses(expression, variables))
    return EarlierColumn(joined_kinds(source for use in uses for source in _sources(use)))


def _sources(use: _Use) -> Iterator[RememberedKinds]:
    """Yield the sources of a use of a variable, each with one kind."""
    for field, kinds in (use.value.sources if use.value is not None else {}).items():
        for inner, ways in kinds.items():
            kind = inner if use.is_copy else compose(UseKind.TRANSFORMATION, inner)
            yield {field: {kind: tuple(way._replace(certainty=Certainty.TEXT) for way in ways)}}


class _Use(NamedTuple):
    """
    A use of a variable.

    Args:
        name: the variable.
        value: its value; None if the sources of that are unknown.
        is_copy: whether the expression is the variable itself, and not only a field of it.
    """

    name: VariableName
    value: VariableValue | None
    is_copy: bool


def _uses(expression: Value, variables: _Variables) -> Iterator[_Use]:
    """Yield the uses of variables in an expression; the value of one that is not among the known ones is unknown."""
    if not isinstance(expression, tuple):
        return
    for text in expression[1:]:
        parts = tuple(part.casefold() for part in dotted(text)) if isinstance(text, str) else ()
        # Behind the name of a variable may be that of a field of it, before it that of its script or session.
        for end in range(len(parts), 0, -1):
            named = [name for name in variables if _is_named(name, parts[:end])]
            if named:
                # A later variable of the same name hides an earlier one.
                yield _Use(named[-1], variables[named[-1]], expression[0] is True and end == len(parts))
                break
        else:
            # Only variables have names in VALUES: this one was set where nobody has seen it.
            if parts and (len(parts) > 1 or parts[0] not in _CONSTANTS):
                yield _Use(VariableName(0, parts), None, is_copy=False)


def _is_named(name: VariableName, parts: tuple[str, ...]) -> bool:
    folded = tuple(part.casefold() for part in name.parts)
    shorter = min(len(parts), len(folded))
    return parts[-shorter:] == folded[-shorter:]
