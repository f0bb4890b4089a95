"""
SQL variables: the values that a statement assigns to them, and where a plan reads them.

A plan reads a variable as if it were a subquery of one value: `with_variables` adds a leaf for each use. The sources of
that leaf are known from the statement that set the variable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import attrs
from openlineage_pyspark.facets.model.plan import (
    Attribute,
    Described,
    Expression,
    Operator,
    OperatorRef,
    Output,
    Plan,
    Value,
)

VARIABLE_USE = "VariableReference"
"""The expression class of a use of a variable."""
VARIABLE_CLASS = f"org.apache.spark.sql.catalyst.expressions.{VARIABLE_USE}"
"""The full name of that class; the leaves that `with_variables` adds have it too."""

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
VARIABLE_COMMANDS = frozenset(
    f"{_LOGICAL}{name}" for name in ("SetVariable", "FetchCursor", "CreateVariable", "DropVariable")
)
"""The commands that change variables: SET, FETCH, DECLARE and DROP."""
VARIABLE_READINGS = {
    VARIABLE_CLASS: {"scope": "#variables"},
    f"{_LOGICAL}CreateVariable": {"scope": "#variables"},
    f"{_LOGICAL}DropVariable": {"scope": "#variables"},
}
"""Class -> what the probe reads from it: the session to which the variables belong."""


class VariableName(NamedTuple):
    """
    A variable.

    Args:
        scope: which session has it.
        parts: its namespace and its name, such as `session.q`; a script's block has its own namespace.
    """

    scope: int
    parts: tuple[str, ...]


class VariableWrite(NamedTuple):
    """
    The change of one variable by a statement.

    Args:
        name: the variable.
        query: the index of the operator whose column it is set to; None if it is set to an expression.
        id: the exprId of that column.
        value: the expression; None for a variable that has no default, or is dropped.
        is_unknown: whether the plan does not show from where the value comes, as with the row of a cursor.
    """

    name: VariableName
    query: int | None = None
    id: int = 0
    value: Value = None
    is_unknown: bool = False


def variable_name(plan: Plan, described: Value, scope: Value) -> VariableName | None:
    """Return the name of a variable by its described Identifier; None if that is unknown."""
    last = described.text("name") if isinstance(described, Described) else None
    if not isinstance(described, Described) or last is None:
        return None
    namespace = described.values.get("namespace")
    parts = [str(part) for part in (*(namespace if isinstance(namespace, tuple) else ()), last)]
    known = parts if plan.case_sensitive else [part.casefold() for part in parts]
    return VariableName(scope if isinstance(scope, int) else 0, tuple(known))


def variable_of(plan: Plan, operator: Operator) -> VariableName | None:
    """Return the variable of a leaf that `with_variables` has added; None if its name is unknown."""
    return variable_name(plan, operator.arguments.get("identifier"), operator.arguments.get("scope"))


def variable_writes(plan: Plan) -> tuple[VariableWrite, ...]:
    """Return the changes of variables by a plan whose root is one of `VARIABLE_COMMANDS`."""
    top = plan.top
    if top.name == "SetVariable":
        return _set(plan, top)
    if top.name == "FetchCursor":
        # The cursor has only the text of its query.
        return tuple(VariableWrite(name, is_unknown=True) for name in _targets(plan, top) if name is not None)
    default = next(plan.expressions_of((top.arguments.get("defaultExpr"),)), None)
    value = default.arguments.get("child") if default is not None else None
    named = (plan.operators[below].arguments.get("identifier") for below in top.children)
    names = (variable_name(plan, identifier, top.arguments.get("scope")) for identifier in named)
    return tuple(VariableWrite(name, value=value) for name in names if name is not None)


def _set(plan: Plan, top: Operator) -> tuple[VariableWrite, ...]:
    query = top.operator("sourceQuery")
    if query is None:
        return ()
    columns = zip(_targets(plan, top), plan.operators[query].output, strict=False)
    return tuple(VariableWrite(name, query, column.id) for name, column in columns if name is not None)


def _targets(plan: Plan, top: Operator) -> Iterator[VariableName | None]:
    """Yield the variables that a SET or a FETCH changes, in order; None for one whose name is unknown."""
    for target in plan.expressions_of(top.sequence("targetVariables")):
        yield variable_name(plan, target.arguments.get("identifier"), target.arguments.get("scope"))


def with_variables(plan: Plan) -> Plan:
    """Return a plan in which each use of a variable is a subquery, which is a leaf with the variable's name."""
    operators, expressions = list(plan.operators), list(plan.expressions)
    attributes = dict(plan.attributes)
    for at, expression in enumerate(expressions):
        if expression.name != VARIABLE_USE:
            continue
        # Spark's exprIds are never negative, and -1 has another meaning.
        id_, name = -2 - at, _shown(expression.arguments)
        attributes[id_] = Attribute(name, "")
        leaf = Operator("Variable", VARIABLE_CLASS, expression.arguments, (Output(id_, name),), ())
        arguments = {**expression.arguments, "plan": OperatorRef(len(operators))}
        expressions[at] = Expression(VARIABLE_USE, arguments, call_site=expression.call_site)
        operators.append(leaf)
    return attrs.evolve(plan, operators=tuple(operators), expressions=tuple(expressions), attributes=attributes)


def _shown(arguments: Mapping[str, Value]) -> str:
    identifier = arguments.get("identifier")
    return (identifier.text("name") if isinstance(identifier, Described) else None) or "?"
