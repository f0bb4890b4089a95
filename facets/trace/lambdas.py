"""The variables of lambda functions, each of which stands for an element of an array."""

from __future__ import annotations

from typing import NamedTuple

from openlineage_pyspark.facets.model.lineage import Certainty, Kind
from openlineage_pyspark.facets.model.plan import Expression, Plan, Value
from openlineage_pyspark.facets.trace.struct_fields import Path

LAMBDA = "LambdaFunction"
"""The expression class of a lambda function."""

VARIABLE = "NamedLambdaVariable"
"""The expression class of a variable of a lambda function."""

_ELEMENTS = {
    **dict.fromkeys(("ArrayExists", "ArrayFilter", "ArrayForAll", "ArrayTransform"), ("function", ("argument",))),
    "ArrayAggregate": ("merge", ("", "argument")),
    "ArraySort": ("function", ("argument", "argument")),
    "ZipWith": ("function", ("left", "right")),
}
"""Expression class -> its lambda function, and the array that each variable of it is an element of, if it is one."""

BINDING = frozenset(_ELEMENTS)
"""The expression classes whose lambda functions have variables for the elements of arrays."""

_PASSING = frozenset(("ArrayFilter", "ArraySort"))
"""Expressions whose value has the elements themselves, and not only what the function makes of them."""


class Binding(NamedTuple):
    """
    A variable of a lambda function.

    Args:
        id: its exprId.
        argument: the name of the argument with the array.
        array: the array that it is an element of.
    """

    id: int | None
    argument: str
    array: Value


def bindings(plan: Plan, expression: Expression) -> tuple[Binding, ...]:
    """Return the variables of an expression's lambda function that are elements of its arrays."""
    if expression.name not in _ELEMENTS:
        return ()
    name, arrays = _ELEMENTS[expression.name]
    function = next(plan.expressions_of((expression.arguments.get(name),)), None)
    if function is None or function.name != LAMBDA:
        return ()
    variables = plan.expressions_of(function.sequence("arguments"))
    return tuple(
        Binding(variable.id, argument, expression.arguments.get(argument))
        for variable, argument in zip(variables, arrays, strict=False)
        if argument and variable.name == VARIABLE
    )


class Elements:
    """The arrays that the variables of lambda functions are elements of, on a walk over one value."""

    def __init__(self) -> None:
        self._arrays: dict[int | None, Value] = {}
        self._read: set[int | None] = set()
        self._called: list[tuple[tuple[Binding, ...], Kind, Certainty]] = []

    def bind(self, plan: Plan, expression: Expression, kind: Kind, path: Path, certainty: Certainty) -> None:
        """
        Note the arrays of the variables of an expression's lambda function.

        Args:
            plan: the plan.
            expression: any expression.
            kind: how it uses its arguments.
            path: the names of struct fields, if only that field of its value is wanted.
            certainty: that of its arguments.
        """
        if expression.name not in BINDING:
            return
        passing = expression.name in _PASSING
        # The whole elements are read then, and so is all that the function reads of them.
        if passing and not path:
            return
        variables = bindings(plan, expression)
        self._arrays.update((variable.id, variable.array) for variable in variables)
        if not passing:
            self._called.append((variables, kind, certainty))

    def array_of(self, variable: Expression) -> Value:
        """Return the array that a variable is an element of, which is now read; None if it is not known."""
        self._read.add(variable.id)
        return self._arrays.get(variable.id)

    def unread(self) -> list[tuple[Value, Kind, Path, Certainty]]:
        """Return the arrays of functions that have read no element: they decide how often these are called."""
        if not self._called:
            return []
        called, self._called = self._called, []
        return [
            (variable.array, kind, (), certainty)
            for variables, kind, certainty in called
            if self._read.isdisjoint(each.id for each in variables)
            for variable in variables
        ]
