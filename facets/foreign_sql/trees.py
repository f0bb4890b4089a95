"""
The trees of sqlglot in all of its versions: what is a query, what is a name, and which arguments a node has.

This module is imported only for a query, because sqlglot is large.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

NODE: Any = getattr(exp, "Expr", exp.Expression)
"""The base class of all nodes, which has another name in newer versions."""
SET_OPERATION: Any = getattr(exp, "SetOperation", exp.Union)
"""The base class of UNION, INTERSECT and EXCEPT, which older versions do not have."""
QUERIES: Any = (exp.Select, SET_OPERATION, exp.Subquery)
"""The classes of queries."""


def function_name(node: Any) -> str:
    """Return the name of a function in lower case, or of another node's class."""
    is_named = isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc))
    return str(node.this if is_named else type(node).__name__).lower()


def plain_name(node: Any) -> str:
    """Return the name of a function without underscores."""
    return function_name(node).replace("_", "")


def arguments_of(function: Any) -> list[Any]:
    """Return the arguments of a function, in their order."""
    first = [] if isinstance(function, exp.Anonymous) else [function.this]
    return [each for each in (*first, *function.expressions) if isinstance(each, NODE)]


def argument(node: Any, name: str) -> Any:
    """Return an argument whose name newer versions of sqlglot end with an underscore."""
    found = node.args.get(name)
    return node.args.get(f"{name}_") if found is None else found


def inner_query(node: Any) -> Any:
    """Return the query in the brackets of a subquery."""
    while isinstance(node, exp.Subquery):
        node = node.this
    return node


def holds_joins(inside: Any) -> bool:
    """Return whether the brackets after FROM contain more than a query: a table, or a join."""
    if not isinstance(inside, exp.Subquery):
        return not isinstance(inside, QUERIES)
    return bool(inside.args.get("joins")) or holds_joins(inside.this)


def name_in(given: list[Any]) -> str | None:
    """Return the name in the first of some arguments: a string, or a name without quotes; None if there is none."""
    first = given[0] if given else None
    if isinstance(first, exp.Literal) and first.is_string:
        return first.name
    if isinstance(first, exp.Column):
        return ".".join(part.name for part in first.parts)
    return None
