"""The terms of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.predict.acts import CODE
from openlineage_pyspark.workbench.rebuild.shape import IncomparableError, Node, text_of
from openlineage_pyspark.workbench.rebuild.terms import Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.rebuild.terms import Part, Terms

# Expressions that depend on the time, the user or the place of a run, though Spark treats them as constants in a query.
_OF_RUN = frozenset(
    """CurrentBatchTimestamp CurrentCatalog CurrentDatabase CurrentDate CurrentTime CurrentTimeZone CurrentTimestamp
    CurrentTimestampLike CurrentUser InputFileBlockLength InputFileBlockStart InputFileName LocalTimestamp Now
    SessionUser SparkVersion""".split()
)
_OF_PLACE = frozenset({"CurrentCatalog", "CurrentDatabase"})
# Each analysis gives these a new seed.
_SEEDED = frozenset({"Rand", "Randn", "Uuid", "Shuffle", "RandStr", "Uniform"})
# Aggregates whose result does not depend on the order of the rows, if their type is exact.
_EXACT = frozenset({"RegrCount", "Sum", "TrySum", "EveryAgg"})
# Spark sums the values of an average as doubles, which round large numbers, unless they are of these types.
_AVERAGES = frozenset({"Average", "TryAverage"})
_SUMMED_EXACTLY = ("decimal", "interval")
_ALWAYS_EXACT = frozenset({"Count", "CountIf", "Max", "Min", "BitAndAgg", "BitOrAgg", "BitXorAgg", "BoolAnd", "BoolOr"})
# Window functions that give the same value to rows of the same rank.
_RANKS = frozenset({"Rank", "DenseRank", "PercentRank", "CumeDist"})
_SUBQUERIES = frozenset({"ScalarSubquery", "Exists", "ListQuery", "LateralSubquery"})
_OF_SQL = frozenset({"SQLScalarFunction", "SQLFunctionExpression"})
_EQUALS = frozenset({"EqualTo", "EqualNullSafe"})
_INEXACT_TYPES = ("float", "double")
_OTHER_CODE = frozenset({"ScalaUDF", "ScalaAggregator", "HiveSimpleUDF", "HiveGenericUDF"})


@attrs.frozen
class Scope:
    """
    What the names in an expression mean.

    Args:
        columns: the number of a column -> its term.
        rows: the rows from which the expression is computed.
        common: the number of a common expression -> its term.
    """

    columns: Mapping[int, Term]
    rows: Term
    common: Mapping[str, Term] = attrs.field(factory=dict)

    def with_columns(self, columns: Mapping[int, Term]) -> Scope:
        """
        Return a scope with further columns.

        Args:
            columns: the number of a column -> its term.
        """
        return attrs.evolve(self, columns={**self.columns, **columns})


class Expressions:
    """
    Makes the terms of the expressions of a plan.

    Args:
        terms: all terms.
        nodes: the nodes of the plan.
        plan: returns, within a scope, the terms of a plan in an expression: of its rows, of each column, of its output.
        within: the current catalog and database.
    """

    def __init__(
        self,
        terms: Terms,
        nodes: Sequence[Node],
        plan: Callable[[int, Scope], tuple[Term, dict[int, Term], tuple[Term, ...]]],
        within: str,
    ) -> None:
        self._terms = terms
        self._nodes = nodes
        self._plan = plan
        self._within = within
        self._rules: dict[str, Callable[[Node, Scope], Term]] = {
            "Alias": self._renamed,
            "OuterReference": self._renamed,
            "Cast": self._cast,
            "With": self._with,
            "CommonExpressionRef": self._common,
            "LambdaFunction": self._lambda,
            "NamedLambdaVariable": self._variable_of_lambda,
            "VariableReference": self._variable,
            **dict.fromkeys(_SUBQUERIES, self._subquery),
        }
        self._types = {each.id: each.type for node in nodes for each in node.output or ()}

    def of(self, value: Any, scope: Scope) -> Term:
        """
        Return the term of a value: an expression, a list of expressions, or a plain value.

        Args:
            value: the value in the form of the shape.
            scope: what the names in it mean.

        Raises:
            IncomparableError: a part of it can't be compared.
        """
        return self._terms.of("value", self.part(value, scope))

    def each(self, values: Iterable[Any], scope: Scope) -> list[Term]:
        """
        Return the terms of several values.

        Args:
            values: the values.
            scope: what the names in them mean.

        Raises:
            IncomparableError: a part of one can't be compared.
        """
        return [self.of(each, scope) for each in values]

    def named(self, value: Any, scope: Scope) -> tuple[int, Term]:
        """
        Return the number and the term of an expression with a name.

        Args:
            value: the expression.
            scope: what the names in it mean.

        Raises:
            IncomparableError: it has no name, or a part of it can't be compared.
        """
        if isinstance(value, list) and value[0] == "a":
            return int(value[1]), self._column(int(value[1]), scope)
        node = self._nodes[value[1]] if isinstance(value, list) and value[0] == "r" else None
        if node is None or node.id < 0:
            raise IncomparableError("an expression has no name")
        found = self.part(value, scope)
        return node.id, found if not isinstance(found, str) else self._terms.of("value", found)

    def equalities(self, condition: Any) -> list[tuple[list[Any], list[Any]]]:
        """
        Return the pairs of values that are equal where a condition is true, in both orders.

        Args:
            condition: the condition, in the form of the shape.
        """
        if not isinstance(condition, list) or len(condition) < 2 or condition[0] not in ("r", "o"):
            return []
        if condition[0] == "o":
            return self.equalities(condition[1])
        node = self._nodes[condition[1]]
        sides = [node.arguments.get(each) for each in ("left", "right")]
        if node.name == "And":
            return [pair for each in sides for pair in self.equalities(each)]
        values = [each for each in sides if isinstance(each, list)]
        if node.name not in _EQUALS or len(values) != 2:
            return []
        return [(values[0], values[1]), (values[1], values[0])]

    def columns_in(self, value: Any) -> frozenset[int] | None:
        """
        Return the numbers of the columns in an expression; None if it contains a query.

        Args:
            value: the expression, in the form of the shape.
        """
        if not isinstance(value, list):
            return frozenset()
        if value[0] == "a":
            return frozenset({int(value[1])})
        parts = value[1:]
        if value[0] == "r":
            node = self._nodes[value[1]]
            if node.output is not None:
                return None
            parts = list(node.arguments.values())
        found = [self.columns_in(each) for each in parts]
        return None if None in found else frozenset(id_ for each in found for id_ in each or ())

    def part(self, value: Any, scope: Scope) -> Part:
        """
        Return the term of a value, or the text of one that is plain.

        Args:
            value: the value in the form of the shape.
            scope: what the names in it mean.

        Raises:
            IncomparableError: a part of it can't be compared.
        """
        if value is None or isinstance(value, bool):
            return str(value)
        kind, *rest = value
        if kind == "a":
            return self._column(int(rest[0]), scope)
        if kind == "r":
            return self._node(int(rest[0]), scope)
        if kind == "e":
            return ""
        if kind == "?":
            raise IncomparableError(f"{rest[0]} can't be compared")
        if kind in ("l", "o", "set"):
            return self._terms.of(kind, *(self.part(each, scope) for each in rest))
        if kind == "p":
            return self._terms.of(f"p {rest[0]}", *(self.part(each, scope) for each in rest[1:]))
        return self._terms.of(kind, *(str(each) for each in rest))

    def _column(self, id_: int, scope: Scope) -> Term:
        found = scope.columns.get(id_)
        if found is None:
            raise IncomparableError(f"the column {id_} has no source")
        return found

    def _node(self, at: int, scope: Scope) -> Term:
        node = self._nodes[at]
        if node.output is not None:
            rows, _, columns = self._plan(at, scope)
            return self._terms.of("plan", rows, *columns)
        if node.name.startswith("Python") and (code := _fingerprint_of(node)):
            node = attrs.evolve(node, arguments={**node.arguments, "func": ["v", "code", code]})
        elif node.name in _OTHER_CODE or node.name.startswith("Python"):
            self._refuse_other_code(node)
        return self._rules.get(node.name, self._plain)(node, scope)

    def _renamed(self, node: Node, scope: Scope) -> Term:
        return self.inner(self.part(node.arguments.get("child", node.arguments.get("e")), scope))

    def _cast(self, node: Node, scope: Scope) -> Term:
        child = node.arguments.get("child")
        # A view casts each column to the type that it already has.
        is_same = self._type(child) == node.type
        return self.inner(self.part(child, scope)) if is_same else self._plain(node, scope)

    def _common(self, node: Node, scope: Scope) -> Term:
        return scope.common[self._common_id(node)]

    def _variable_of_lambda(self, node: Node, scope: Scope) -> Term:
        return self._column(node.id, scope)

    def _variable(self, node: Node, _scope: Scope) -> Term:
        return self._terms.of("variable", *(text_of(each) for each in node.items("originalNameParts")))

    def inner(self, part: Part) -> Term:
        """Return a part as a term."""
        return self._terms.of("value", part) if isinstance(part, str) else part

    def _plain(self, node: Node, scope: Scope) -> Term:
        arguments = node.arguments
        if node.name in _SEEDED and node.arguments.get("hideSeed", True) is not False:
            arguments = {}
        if node.name in _OF_SQL:
            # Its argument `function` contains the time of its creation. The body is its child.
            arguments = {name: each for name, each in arguments.items() if name != "function"}
        parts = [self.part(each, scope) for each in arguments.values()]
        if node.name in _OF_PLACE:
            parts.append(self._within)
        unstable = node.is_random and not any(isinstance(each, Term) and each.is_unstable for each in parts)
        unstable |= node.name in _OF_RUN or self._depends_on_order(node)
        return self._terms.of(node.name, *parts, node.type, is_unstable=unstable)

    def _refuse_other_code(self, node: Node) -> None:
        function = node.arguments.get("func", node.arguments.get("function"))
        if function is not None:
            raise IncomparableError(f"{node.name} is code that can't be compared")

    def _depends_on_order(self, node: Node) -> bool:
        """Return whether the result of an expression depends on the order in which the rows arrive."""
        if node.name == "AggregateExpression":
            return not self._is_exact(self._nodes[node.node("aggregateFunction")])
        if node.name == "WindowExpression":
            return not self._is_exact_window(node)
        return False

    def _is_exact(self, function: Node) -> bool:
        if function.name in _ALWAYS_EXACT:
            return True
        value = function.arguments.get("child")
        type_ = self._type(value)
        if type_ is None or is_inexact(type_):
            return False
        if function.name in _AVERAGES:
            return any(each in type_ for each in _SUMMED_EXACTLY)
        return function.name in _EXACT

    def _type(self, value: Any) -> str | None:
        """Return the type of an expression; None if it is unknown."""
        if isinstance(value, list) and value[0] == "r":
            return self._nodes[value[1]].type
        if isinstance(value, list) and value[0] == "a":
            return self._types.get(value[1])
        return None

    def _is_exact_window(self, node: Node) -> bool:
        function = self._nodes[node.node("windowFunction")]
        if function.name in _RANKS:
            return True
        if function.name != "AggregateExpression" or not self._is_exact(
            self._nodes[function.node("aggregateFunction")]
        ):
            return False
        frame = self._nodes[self._nodes[node.node("windowSpec")].node("frameSpecification")]
        kind = frame.arguments.get("frameType")
        if kind == ["p", "RangeFrame"]:
            return True
        ends = [frame.arguments.get(each) for each in ("lower", "upper")]
        names = [self._nodes[each[1]].name if isinstance(each, list) and each[0] == "r" else "" for each in ends]
        return names == ["UnboundedPreceding", "UnboundedFollowing"]

    def _subquery(self, node: Node, scope: Scope) -> Term:
        rows, columns, output = self._plan(node.node("plan"), scope)
        within = scope.with_columns(columns)
        others = [self.part(each, within) for name, each in node.arguments.items() if name != "plan"]
        return self._terms.of(node.name, rows, *output, *others)

    def _with(self, node: Node, scope: Scope) -> Term:
        common = dict(scope.common)
        for value in node.items("defs"):
            definition = self._nodes[value[1]]
            common[self._common_id(definition)] = self.inner(self.part(definition.arguments["child"], scope))
        return self.inner(self.part(node.arguments["child"], attrs.evolve(scope, common=common)))

    def _common_id(self, node: Node) -> str:
        identity = node.arguments["id"]
        return text_of(identity[2]) if isinstance(identity, list) and identity[0] == "p" else text_of(identity)

    def _lambda(self, node: Node, scope: Scope) -> Term:
        depth = str(sum(1 for each in scope.columns.values() if each.kind == "lambda"))
        variables = {}
        for at, value in enumerate(node.items("arguments")):
            variable = self._nodes[value[1]] if value[0] == "r" else None
            if variable is None or variable.name != "NamedLambdaVariable":
                raise IncomparableError("a lambda function has unexpected arguments")
            variables[variable.id] = self._terms.of("lambda", depth, str(at), variable.type)
        body = self.part(node.arguments["function"], scope.with_columns(variables))
        return self._terms.of("function", str(len(variables)), body)


def _fingerprint_of(node: Node) -> str:
    """Return the fingerprint of a Python function, which replaces its code in a dry run; empty if there is none."""
    function = node.arguments.get("func")
    if not isinstance(function, list) or function[0] != "p" or len(function) < 3 or not isinstance(function[2], list):
        return ""
    text = "".join(chr(int(text_of(each)) % 256) for each in function[2][1:])
    return text.removeprefix(CODE) if text.startswith(CODE) else ""


def is_inexact(type_: str) -> bool:
    """
    Return whether two values of a type may be equal, or almost equal, and yet different.

    Args:
        type_: the type, in JSON.
    """
    return any(each in type_ for each in _INEXACT_TYPES)
