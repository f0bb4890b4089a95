"""
The terms of plans: of their rows, and of each column of their output.

If the rows of two plans have the same term, the plans have the same rows in all columns with the same terms. A column
that an operator is not known to pass on unchanged depends on all columns below the operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.workbench.rebuild.expressions import Expressions, Scope
from openlineage_pyspark.workbench.rebuild.shape import IncomparableError, Node, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openlineage_pyspark.workbench.rebuild.shape import PlanColumn
    from openlineage_pyspark.workbench.rebuild.terms import Term, Terms

# Operators that pass on the rows of their child, or some of them, with its columns.
_PASSING = frozenset(
    "Filter Sort ResolvedHint UnresolvedHint Repartition RepartitionByExpression RebalancePartitions".split()
)
_CUTTING = frozenset({"GlobalLimit", "LocalLimit", "LimitAll", "Offset", "Tail", "Sample"})
_SAME = frozenset({"SubqueryAlias", "View", "SQLFunctionNode"})
_TABLES = frozenset({"DataSourceV2Relation", "StreamingRelationV2", "DataSourceV2ScanRelation"})
_VALUES = frozenset({"LocalRelation", "OneRowRelation", "Range", "EmptyRelation"})
_BOTH_SIDES = frozenset({"Inner", "Cross", "LeftOuter", "RightOuter", "FullOuter"})
_LEFT_SIDE = frozenset({"LeftSemi", "LeftAnti"})


@attrs.frozen
class RelationTerms:
    """
    The rows of a plan.

    Args:
        rows: the term of its rows.
        columns: the number of a column -> the term of its values.
        output: the columns, in order.
    """

    rows: Term
    columns: Mapping[int, Term]
    output: tuple[PlanColumn, ...]

    @property
    def values(self) -> tuple[Term, ...]:
        """Return the terms of its columns, in order."""
        return tuple(self.columns[each.id] for each in self.output)


class Tables(Protocol):
    """The tables that a plan reads."""

    def read(self, key: str, columns: Sequence[PlanColumn]) -> tuple[Term, Sequence[Term]]:
        """
        Return the terms of a table's rows, and of some of its columns.

        Args:
            key: its name.
            columns: the columns, as the plan knows them.
        """

    def note_view(self, key: str) -> None:
        """
        Note a view through which a plan reads.

        Args:
            key: its name.
        """


class Relations:
    """
    Makes the terms of a plan.

    Args:
        terms: all terms.
        nodes: the nodes of the plan.
        tables: the tables that it reads.
    """

    def __init__(self, terms: Terms, nodes: Sequence[Node], tables: Tables) -> None:
        self._terms = terms
        self._nodes = nodes
        self._tables = tables
        self._ctes: dict[str, int] = {}
        self.expressions = Expressions(terms, nodes, self._of_subquery)
        self._rules: dict[str, Callable[[Node, Scope], tuple[Term, Mapping[int, Term]]]] = {
            "Project": self._project,
            "Aggregate": self._aggregate,
            "Distinct": self._distinct,
            "Deduplicate": self._deduplicate,
            "Join": self._join,
            "Union": self._union,
            "Except": self._set_operation,
            "Intersect": self._set_operation,
            "Window": self._window,
            "Generate": self._generate,
            "Expand": self._expand,
            "WithCTE": self._with_cte,
            "CTERelationRef": self._cte,
            **dict.fromkeys(_PASSING, self._passing),
            **dict.fromkeys(_CUTTING, self._cutting),
            **dict.fromkeys(_SAME, self._same),
            **dict.fromkeys(_TABLES, self._table),
            **dict.fromkeys(_VALUES, self._given),
        }

    def of(self, at: int, scope: Scope | None = None) -> RelationTerms:
        """
        Return the terms of an operator.

        Args:
            at: its index.
            scope: the names that are known around it.

        Raises:
            IncomparableError: a part of it can't be compared.
        """
        node = self._nodes[at]
        if node.output is None:
            raise IncomparableError(f"{node.name} has no known output")
        around = scope or Scope({}, self._terms.of("nothing"))
        rule = self._rules.get(node.name, self._other)
        rows, columns = rule(node, around)
        ids = [each.id for each in node.output]
        missing = [each for each in ids if each not in columns]
        if missing:
            raise IncomparableError(f"{node.name} has columns without a source")
        return RelationTerms(rows, {each: columns[each] for each in ids}, node.output)

    def _of_subquery(self, at: int, scope: Scope) -> tuple[Term, dict[int, Term], tuple[Term, ...]]:
        found = self.of(at, scope)
        return found.rows, dict(found.columns), found.values

    def _child(self, node: Node, scope: Scope, name: str = "child") -> tuple[RelationTerms, Scope]:
        found = self.of(node.node(name), scope)
        return found, attrs.evolve(scope.with_columns(found.columns), rows=found.rows)

    def _others(self, node: Node, scope: Scope, *besides: str) -> list[Term]:
        return [self.expressions.of(each, scope) for name, each in node.arguments.items() if name not in besides]

    def _passing(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, within = self._child(node, scope)
        return self._terms.of(node.name, child.rows, *self._others(node, within, "child")), child.columns

    def _cutting(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, within = self._child(node, scope)
        others = self._others(node, within, "child", "seed")
        return self._terms.of(node.name, child.rows, *others, is_unstable=True), child.columns

    def _same(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, _ = self._child(node, scope)
        if node.name == "View":
            name = text_of(node.arguments.get("desc"))
            is_temporary = node.arguments.get("isTempView") is True
            self._tables.note_view(f"temporary view {name.lower()}" if is_temporary else key_of_name(name))
        return child.rows, self._by_place(node, child)

    def _by_place(self, node: Node, child: RelationTerms) -> Mapping[int, Term]:
        output = node.output or ()
        if len(output) != len(child.output):
            raise IncomparableError(f"the columns of {node.name} are not those of its child")
        return {own.id: child.columns[below.id] for own, below in zip(output, child.output, strict=True)}

    def _project(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, within = self._child(node, scope)
        return child.rows, dict(self.expressions.named(each, within) for each in node.items("projectList"))

    def _aggregate(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, within = self._child(node, scope)
        keys = self.expressions.each(node.items("groupingExpressions"), within)
        rows = self._terms.of("Aggregate", child.rows, *keys)
        return rows, dict(self.expressions.named(each, within) for each in node.items("aggregateExpressions"))

    def _distinct(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, _ = self._child(node, scope)
        return self._terms.of("Distinct", child.rows, *child.values), child.columns

    def _deduplicate(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        """Return rows of which one is kept for each key: its other columns depend on the order of the rows."""
        child, within = self._child(node, scope)
        keys = self.expressions.each(node.items("keys"), within)
        rows = self._terms.of("Deduplicate", child.rows, *keys)
        by = {each[1] for each in node.items("keys") if each[0] == "a"}
        columns = {
            id_: term if id_ in by else self._terms.of("one of", rows, *child.values, term, is_unstable=True)
            for id_, term in child.columns.items()
        }
        return rows, columns

    def _join(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        left, right = (self.of(node.node(each), scope) for each in ("left", "right"))
        kind = node.arguments.get("joinType")
        name = kind[1] if isinstance(kind, list) and kind[0] == "p" and len(kind) == 2 else ""
        if name not in _BOTH_SIDES | _LEFT_SIDE or set(left.columns) & set(right.columns):
            return self._other(node, scope)
        columns = {id_: self._terms.of("left", term) for id_, term in left.columns.items()}
        of_right = {id_: self._terms.of("right", term) for id_, term in right.columns.items()}
        within = scope.with_columns({**columns, **of_right})
        condition = self.expressions.of(node.arguments.get("condition"), within)
        rows = self._terms.of(f"Join {name}", left.rows, right.rows, condition)
        return rows, {**columns, **of_right} if name in _BOTH_SIDES else columns

    def _union(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        children = [self.of(each[1], scope) for each in node.items("children")]
        others = self._others(node, scope, "children")
        output = node.output or ()
        if any(len(each.output) != len(output) for each in children):
            raise IncomparableError("the branches of a UNION have different columns")
        rows = self._terms.of("Union", *(each.rows for each in children), *others)
        values = zip(*(each.values for each in children), strict=True)
        return rows, {own.id: self._terms.of("Union", *each) for own, each in zip(output, values, strict=True)}

    def _set_operation(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        left, right = (self.of(node.node(each), scope) for each in ("left", "right"))
        sides = (left.rows, *left.values, right.rows, *right.values)
        rows = self._terms.of(node.name, str(node.arguments.get("isAll")), str(len(left.values)), *sides)
        return rows, self._by_place(node, left)

    def _window(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, within = self._child(node, scope)
        columns = dict(child.columns)
        for each in node.items("windowExpressions"):
            id_, term = self.expressions.named(each, within)
            columns[id_] = self._terms.of("over", child.rows, term)
        return child.rows, columns

    def _generate(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, within = self._child(node, scope)
        made = [each[1] for each in node.items("generatorOutput") if each[0] == "a"]
        generator = self.expressions.of(node.arguments.get("generator"), within)
        rows = self._terms.of("Generate", child.rows, generator, str(node.arguments.get("outer")))
        return rows, {**child.columns, **{id_: self._terms.of("made", rows, str(at)) for at, id_ in enumerate(made)}}

    def _expand(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        child, within = self._child(node, scope)
        lists = [self.expressions.each(each[1:], within) for each in node.items("projections")]
        rows = self._terms.of("Expand", child.rows, str(len(lists)))
        output = node.output or ()
        if any(len(each) != len(output) for each in lists):
            raise IncomparableError("an Expand has unexpected columns")
        values = zip(*lists, strict=True)
        return rows, {own.id: self._terms.of("Expand", *each) for own, each in zip(output, values, strict=True)}

    def define(self, node: Node) -> None:
        """
        Make the CTEs of an operator known.

        Args:
            node: the operator.
        """
        for each in node.items("cteDefs"):
            definition = self._nodes[each[1]]
            self._ctes[definition.text("id")] = definition.node("child")

    def _with_cte(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        self.define(node)
        found = self.of(node.node("plan"), scope)
        return found.rows, found.columns

    def _cte(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        id_ = node.text("cteId")
        if id_ not in self._ctes or node.arguments.get("recursive") is True:
            raise IncomparableError("it has a recursive CTE")
        found = self.of(self._ctes[id_], scope)
        return found.rows, self._by_place(node, found)

    def _table(self, node: Node, _scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        output = node.output or ()
        rows, columns = self._tables.read(key_of_read(node), output)
        options = node.arguments.get("options")
        travel = node.arguments.get("timeTravelSpec", ["o"])
        if options not in (None, ["m", "{}"]) or travel != ["o"]:
            raise IncomparableError("it reads a table with options")
        return rows, {own.id: term for own, term in zip(output, columns, strict=True)}

    def _given(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        """Return the rows that the statement itself contains."""
        rows = self._terms.of(node.name, *self._others(node, scope, "output"))
        return rows, {own.id: self._terms.of("given", rows, str(at)) for at, own in enumerate(node.output or ())}

    def _other(self, node: Node, scope: Scope) -> tuple[Term, Mapping[int, Term]]:
        """Return the output of an operator without a rule: it may depend on everything below it, and on its order."""
        below: dict[int, Term] = {}
        parts: list[Term] = []
        plain = []
        for name, value in node.arguments.items():
            if isinstance(value, list) and value[0] == "r" and self._nodes[value[1]].output is not None:
                child = self.of(value[1], scope)
                below.update(child.columns)
                parts += [child.rows, *child.values]
            else:
                plain.append((name, value))
        own = {each.id: self._terms.of("own", node.name, str(at)) for at, each in enumerate(node.output or ())}
        within = scope.with_columns({**own, **below})
        parts += [self.expressions.of(value, within) for _, value in plain]
        rows = self._terms.of(f"other {node.name}", *parts, is_unstable=True)
        return rows, {id_: self._terms.of("of other", rows, str(at)) for at, id_ in enumerate(own)}


def key_of_read(node: Node) -> str:
    """
    Return the key of a table: its name, after that of its catalog unless this is Spark's own.

    Args:
        node: the operator that reads it.

    Raises:
        IncomparableError: it has no name.
    """
    return key_of_name(text_of(node.arguments.get("table")))


def key_of_name(name: str) -> str:
    """
    Return the key of a full name: names that differ only in case mean the same table, unless they are paths.

    Args:
        name: the name, with its catalog.
    """
    table, slash, path = name.replace("`", "").partition("/")
    return f"{table.lower()}{slash}{path}".removeprefix("spark_catalog.")
