"""
An analyzed plan as frozen values: no JVM object, no recursion, nothing to call.

A plan is flat: operators and expressions are in two tables and refer to each other by index, so that comparing, hashing
and printing work for fifty thousand nodes too. An attribute is referred to by its exprId; its name and type are in
`Plan.attributes`, once per exprId.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar

import attrs

_CATALYST = "org.apache.spark.sql.catalyst."
_LOGICAL = f"{_CATALYST}plans.logical."

CTE_DEFINITION = f"{_LOGICAL}CTERelationDef"
EXTERNAL_RDD = "org.apache.spark.sql.execution.ExternalRDD"
LOCAL_RELATION = f"{_LOGICAL}LocalRelation"
LOGICAL_RDD = "org.apache.spark.sql.execution.LogicalRDD"
PROJECT = f"{_LOGICAL}Project"
SUBQUERY_ALIAS = f"{_LOGICAL}SubqueryAlias"
UNION = f"{_LOGICAL}Union"
UNION_LOOP = f"{_LOGICAL}UnionLoop"
VIEW = f"{_LOGICAL}View"
WITH_CTE = f"{_LOGICAL}WithCTE"

K = TypeVar("K")
V = TypeVar("V")


class FrozenMap(dict[K, V]):
    """An immutable mapping, which therefore has a hash. It is a dict because that makes lookups fast."""

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
    A value that is not a tree node: its JVM class, and the readings of the probe.

    Args:
        class_name: full JVM name of its class.
        values: name of a reading -> its value.
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


class CutText(str):
    """The beginning of a text that is too long to be sent; it ends in `...`."""

    __slots__ = ()


Reference = OperatorRef | ExpressionRef | AttributeRef
"""What refers to a tree node or to an attribute of the same plan."""

Value = None | bool | int | str | OperatorRef | ExpressionRef | AttributeRef | Described | Keys | tuple["Value", ...]
"""An argument of a tree node. Numbers are `int`; every Scala sequence is a tuple."""


class Mention(NamedTuple):
    """
    An attribute within the SQL of an expression.

    Args:
        id: its exprId.
        text: how Spark writes it there, with its qualifier: `o.amount`.
        path: the names of the fields that are taken from it, the outermost first; `[n]` for the value number n of a
            PIVOT.
    """

    id: int
    text: str
    path: tuple[str, ...] = ()


class SubqueryText(str):
    """The text of a subquery within the SQL of an expression, as the user wrote it, with the words before it."""

    __slots__ = ()


@attrs.frozen
class StructSql:
    """
    The SQL of an expression that builds a struct.

    Args:
        whole: the SQL of all of it.
        fields: the names of its fields, each with the SQL of the field; as many as there was room for.
    """

    whole: Sql
    fields: tuple[tuple[str, Sql], ...]


Sql = tuple["str | Mention | StructSql", ...]
"""The SQL of an expression in parts: texts, subqueries and attributes; or one struct alone."""


# A plan has hundreds of these and of `Output`: creating a tuple takes half the time.
class Attribute(NamedTuple):
    """The name, type and comment that belong to an exprId; a complex type is in JSON."""

    name: str
    type: str
    comment: str | None = None


class _ExpressionFields(NamedTuple):
    name: str
    arguments: Mapping[str, Value]
    id: int | None
    column: str | None
    type: str | None
    sql: str | Sql | None
    call_site: str
    references: tuple[Reference, ...]


# A plan has hundreds of these and of operators: creating them as tuples takes a fifth of the time.
class Expression(_ExpressionFields):
    """
    A Catalyst expression.

    Args:
        name: the simple name of a class of Catalyst; the full name of any other class, whose simple name may clash.
        arguments: parameter of the case class -> its value.
        id: the exprId of a named expression.
        column: the name that a named expression gives to its column.
        type: the data type of a named expression.
        sql: the SQL, if the expression is at the top of an operator's argument: in parts, or as a text in which
            attributes can't be distinguished from the rest.
        call_site: the line of Python that made it, as `etl.py:12`; empty if it is unknown.
        references: the references in its arguments, in order; found there unless they are given.
    """

    __slots__ = ()

    def __new__(  # noqa: D102
        cls,
        name: str,
        arguments: Mapping[str, Value],
        id: int | None = None,  # noqa: A002
        column: str | None = None,
        type: str | None = None,  # noqa: A002
        sql: str | Sql | None = None,
        call_site: str = "",
        references: tuple[Reference, ...] | None = None,
    ) -> Expression:
        held = tuple(_references(arguments)) if references is None else references
        return super().__new__(cls, name, _frozen(arguments), id, column, type, sql, call_site, held)

    def sequence(self, name: str) -> tuple[Value, ...]:
        """Return the sequence in that argument; empty if there is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, tuple) else ()


class Output(NamedTuple):
    """One attribute of an operator's output, with its name there."""

    id: int
    name: str


class _OperatorFields(NamedTuple):
    name: str
    class_name: str
    arguments: Mapping[str, Value]
    output: tuple[Output, ...]
    children: tuple[int, ...]
    references: tuple[Reference, ...]


class Operator(_OperatorFields):
    """
    A Catalyst logical operator.

    Args:
        name: simple class name.
        class_name: full JVM name.
        arguments: parameter of the case class -> its value, and the other readings of the probe by name.
        output: the attributes of its output, in order.
        children: the indices of the operators in its arguments, in order; found there unless they are given.
        references: the references in its arguments, in order; found there unless they are given.
    """

    __slots__ = ()

    def __new__(  # noqa: D102
        cls,
        name: str,
        class_name: str,
        arguments: Mapping[str, Value],
        output: tuple[Output, ...] = (),
        children: tuple[int, ...] | None = None,
        references: tuple[Reference, ...] | None = None,
    ) -> Operator:
        held = tuple(_references(arguments)) if references is None else references
        if children is None:
            children = tuple([reference.index for reference in held if isinstance(reference, OperatorRef)])
        return super().__new__(cls, name, class_name, _frozen(arguments), output, children, held)

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
        expressions: every expression once, in the order of discovery.
        attributes: exprId -> the attribute's name, type and comment.
        root: the index of the plan's top operator.
        session: settings of the session: `warehouse` and the class of its `catalog`.
        cut: whether the plan was larger than the bounds, so that a part of it is missing.
        broken: the class names of nodes that could not be read.
        common: id -> the definition that `With` expressions refer to.
        case_sensitive: whether names that differ only in case are different names.
        ctes: kind of operator and id -> the index of the operator that CTE references refer to.
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
    case_sensitive: bool = False

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
    """Return the name for rules and `Expression.name`: simple for a class of Catalyst, full for any other."""
    return simple_name(class_name) if class_name.startswith(_CATALYST) else class_name


_HOLDS_NOTHING = frozenset((type(None), str, CutText, bool, int, Keys))
"""The types of arguments without references."""


def references(values: Iterable[Value]) -> list[Reference]:
    """Return the references to tree nodes and attributes in some arguments, in order."""
    found: list[Reference] = []
    _collect(values, found)
    return found


def _references(arguments: Mapping[str, Value]) -> list[Reference]:
    return references(arguments.values())


def _collect(values: Iterable[Value], found: list[Reference]) -> None:
    for value in values:
        if type(value) in _HOLDS_NOTHING:
            continue
        if isinstance(value, (OperatorRef, ExpressionRef, AttributeRef)):
            found.append(value)
        elif isinstance(value, tuple):
            _collect(value, found)
        elif isinstance(value, Described):
            _collect(value.values.values(), found)


def common_id(expression: Expression) -> int:
    """Return the id that the definition and the uses of a common expression share; -1 if it has no id."""
    identity = expression.arguments.get("id")
    value = identity.values.get("id") if isinstance(identity, Described) else identity
    return value if isinstance(value, int) else -1
