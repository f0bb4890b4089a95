"""Read an analyzed plan with everything that decides what it computes, as `PlanShape.java` writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping


_COLLATION = "__COLLATIONS"


class IncomparableError(Exception):
    """Raised for a part of a plan that can't be compared: the whole statement must be compared by its text."""


@attrs.frozen
class PlanColumn:
    """
    A column of an operator's output.

    Args:
        id: its number in the plan.
        name: its name.
        type: its type, in JSON.
    """

    id: int
    name: str
    type: str


@attrs.frozen
class Node:
    """
    An operator or an expression.

    Args:
        name: its class; the simple name, if it is a class of Catalyst.
        arguments: the name of each argument -> its value, as JSON.
        output: the columns of an operator's output; None for an expression, or if they can't be known.
        type: the type of an expression, in JSON.
        id: the number of an expression that has a name.
        is_random: whether Spark considers it nondeterministic.
    """

    name: str
    arguments: Mapping[str, Any]
    output: tuple[PlanColumn, ...] | None = None
    type: str = ""
    id: int = -1
    is_random: bool = False

    def node(self, argument: str) -> int:
        """
        Return the index of the node in an argument.

        Raises:
            IncomparableError: there is no node.
        """
        value = self.arguments.get(argument)
        if isinstance(value, list) and value[0] == "r":
            return int(value[1])
        raise IncomparableError(f"{self.name} has no {argument}")

    def items(self, argument: str) -> list[Any]:
        """
        Return the values of a list in an argument.

        Raises:
            IncomparableError: there is no list.
        """
        value = self.arguments.get(argument)
        if isinstance(value, list) and value[0] in ("l", "o"):
            return value[1:]
        raise IncomparableError(f"{self.name} has no list {argument}")

    def text(self, argument: str) -> str:
        """
        Return the text of a plain value in an argument.

        Raises:
            IncomparableError: it is not a plain value.
        """
        return text_of(self.arguments.get(argument))


def text_of(value: Any) -> str:
    """
    Return the text of a plain value.

    Raises:
        IncomparableError: it is not plain.
    """
    if isinstance(value, list) and value[0] in ("v", "table", "catalog", "v1"):
        return str(value[-1])
    raise IncomparableError(f"{value} is not a plain value")


def nodes_of(shape: str) -> tuple[Node, ...]:
    """
    Return the nodes of a plan; the first one is its root.

    Args:
        shape: the plan, as `PlanShape.java` writes it.

    Raises:
        IncomparableError: a collation may treat different texts as equal.
    """
    if _COLLATION in shape:
        raise IncomparableError("a collation decides which texts are equal")
    return tuple(_node(each) for each in json.loads(shape))


def _node(document: Mapping[str, Any]) -> Node:
    output = document.get("o")
    return Node(
        document["c"].rsplit(".", 1)[-1],
        document["a"],
        None if output is None else tuple(PlanColumn(*each) for each in output),
        document.get("t", ""),
        document.get("id", -1),
        document.get("nd", False),
    )
