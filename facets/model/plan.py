"""
An analyzed plan as frozen values: no JVM object, no recursion, nothing to call.

A plan is flat: operators and expressions stand in two tables and name each other by index, so that a plan of fifty
thousand nodes compares, hashes and prints as well as a small one. Attributes are named by their exprId alone; what is
known of an exprId stands once in `Plan.attributes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import attrs

_CATALYST = "org.apache.spark.sql.catalyst."
_LOGICAL = f"{_CATALYST}plans.logical."

CTE_DEFINITION = f"{_LOGICAL}CTERelationDef"
LOGICAL_RDD = "org.apache.spark.sql.execution.LogicalRDD"
PROJECT = f"{_LOGICAL}Project"
SUBQUERY_ALIAS = f"{_LOGICAL}SubqueryAlias"
UNION = f"{_LOGICAL}Union"
UNION_LOOP = f"{_LOGICAL}UnionLoop"
WITH_CTE = f"{_LOGICAL}WithCTE"

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(dict[K, V]):
    """A mapping that can't be changed, and so has a hash. It is a dict, because lookups are most of what is done."""

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]
        """Return a hash that is the same for equal maps, whatever their order."""
        return hash(frozenset(self.items()))

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise TypeError("a frozen mapping can't be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def _frozen(mapping: Mapping[K, V]) -> FrozenMap[K, V]:
    return mapping if isinstance(mapping, FrozenMap) else FrozenMap(mapping)


def _map(**options: Any) -> Any:
    return attrs.field(converter=_frozen, **options)


@attrs.frozen
class OperatorRef:
    """A logical operator of the same plan, by its index in `Plan.operators`."""

    index: int


@attrs.frozen
class ExpressionRef:
    """An expression of the same plan, by its index in `Plan.expressions`."""

    index: int


@attrs.frozen
class AttributeRef:
    """An attribute, by its exprId."""

    id: int


@attrs.frozen
class Described:
    """
    A value that is no tree node: its JVM class and what the probe read of it.

    Args:
        class_name: full JVM name of its class.
        values: name of a reading -> value.
    """

    class_name: str
    values: Mapping[str, Value] = _map()

    @property
    def simple_name(self) -> str:
        """Return the class's name without its package."""
        return simple_name(self.class_name)

    def text(self, name: str) -> str | None:
        """Return the reading of that name if it is text."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None


@attrs.frozen
class Keys:
    """The keys of a map whose values were left in the JVM (they may be secret)."""

    names: tuple[str, ...]


Value = None | bool | int | str | OperatorRef | ExpressionRef | AttributeRef | Described | Keys | tuple["Value", ...]
"""An argument of a tree node. Numbers are `int`; anything that was a Scala sequence is a tuple."""


@attrs.frozen
class Attribute:
    """What is known of an exprId: its name, its type (JSON for a complex one) and its comment."""

    name: str
    type: str
    comment: str | None = None


@attrs.frozen
class Expression:
    """
    A Catalyst expression.

    Args:
        name: simple name of a class of Catalyst; full name of any other class, which may be called the same.
        arguments: by the name of the case class's parameter.
        id: exprId of a named expression.
        column: the name that a named expression gives.
        type: data type of a named expression.
        sql: its SQL text, if it stands at the top of an operator's argument.
    """

    name: str
    arguments: Mapping[str, Value] = _map()
    id: int | None = None
    column: str | None = None
    type: str | None = None
    sql: str | None = None

    def sequence(self, name: str) -> tuple[Value, ...]:
        """Return the sequence in that argument; empty if there is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, tuple) else ()


@attrs.frozen
class Output:
    """One attribute that an operator puts out, under the name it has there."""

    id: int
    name: str


@attrs.frozen
class Operator:
    """
    A Catalyst logical operator.

    Args:
        name: simple class name.
        class_name: full JVM name.
        arguments: by the name of the case class's parameter, and what else the probe read.
        output: what it puts out, in order.
        children: indices of the operators that stand in its arguments, in order.
    """

    name: str
    class_name: str
    arguments: Mapping[str, Value] = _map()
    output: tuple[Output, ...] = ()
    children: tuple[int, ...] = attrs.field()

    @children.default
    def _children(self) -> tuple[int, ...]:
        found = (reference for value in self.arguments.values() for reference in references(value))
        return tuple(reference.index for reference in found if isinstance(reference, OperatorRef))

    def operator(self, name: str) -> int | None:
        """Return the index of the operator in that argument."""
        value = self.arguments.get(name)
        return value.index if isinstance(value, OperatorRef) else None

    def described(self, name: str) -> Described | None:
        """Return the described value in that argument."""
        value = self.arguments.get(name)
        return value if isinstance(value, Described) else None

    def text(self, name: str) -> str | None:
        """Return the text in that argument."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else None

    def sequence(self, name: str) -> tuple[Value, ...]:
        """Return the sequence in that argument; empty if there is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, tuple) else ()


@attrs.frozen
class Plan:
    """
    One analyzed plan.

    Args:
        operators: every logical operator once, in the order of discovery.
        expressions: every expression once, likewise.
        attributes: what is known of each exprId.
        root: index of the plan's top operator.
        session: what the session says of itself: `warehouse` and the class of its `catalog`.
        cut: whether the plan was larger than the bounds and some of it is missing.
        broken: class names of nodes that could not be read.
        common: definitions that `With` expressions name, by their id.
        ctes: operators that CTE references name, by kind of operator and their id.
    """

    operators: tuple[Operator, ...]
    expressions: tuple[Expression, ...]
    attributes: Mapping[int, Attribute] = _map()
    root: int = 0
    session: Mapping[str, str | None] = _map(factory=dict)
    cut: bool = False
    broken: tuple[str, ...] = ()
    common: Mapping[int, Value] = _map(factory=dict)
    ctes: Mapping[tuple[str, int], int] = _map(factory=dict)

    @property
    def top(self) -> Operator:
        """Return the operator at the top."""
        return self.operators[self.root]

    def expressions_of(self, values: tuple[Value, ...]) -> Iterator[Expression]:
        """Return the expressions among the values of a sequence, in order."""
        return (self.expressions[value.index] for value in values if isinstance(value, ExpressionRef))


def simple_name(class_name: str) -> str:
    """Return a JVM class's name without its package and the classes around it; for a Scala object without its `$`."""
    return class_name.rsplit(".", 1)[-1].rstrip("$").rsplit("$", 1)[-1]


def expression_name(class_name: str) -> str:
    """Return the name that an expression is known by: simple for a class of Catalyst, full for any other."""
    return simple_name(class_name) if class_name.startswith(_CATALYST) else class_name


def references(value: Value) -> Iterator[OperatorRef | ExpressionRef | AttributeRef]:
    """Yield the tree nodes and attributes that stand in an argument, in order."""
    if isinstance(value, (OperatorRef, ExpressionRef, AttributeRef)):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from references(item)
    elif isinstance(value, Described):
        for item in value.values.values():
            yield from references(item)


def common_id(expression: Expression) -> int:
    """Return the id that a common expression's definition and its uses share; -1 if there is none."""
    identity = expression.arguments.get("id")
    value = identity.values.get("id") if isinstance(identity, Described) else identity
    return value if isinstance(value, int) else -1
