"""
The terms of plans: of their rows, and of each column of their output.

If the rows of two plans have the same term, the plans have the same rows in all columns with the same terms. A column
that an operator is not known to pass on unchanged depends on all columns below the operator.
"""

from __future__ import annotations

import json
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import attrs
from openlineage_pyspark.workbench.predict.acts import TEMPORARY
from openlineage_pyspark.workbench.rebuild.expressions import Expressions, Scope, is_inexact
from openlineage_pyspark.workbench.rebuild.places import key_of_name
from openlineage_pyspark.workbench.rebuild.shape import IncomparableError, Node, text_of
from openlineage_pyspark.workbench.rebuild.terms import Part, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.rebuild.shape import PlanColumn
    from openlineage_pyspark.workbench.rebuild.states import TableStates
    from openlineage_pyspark.workbench.rebuild.terms import Terms

# Operators that decide only in which order, and in how many parts, the rows of their child come.
_LAYOUTS = frozenset("Sort ResolvedHint UnresolvedHint Repartition RepartitionByExpression RebalancePartitions".split())
_LIMITS = frozenset({"GlobalLimit", "LocalLimit", "LimitAll", "Offset"})
_CUTTING = _LIMITS | {"Tail", "Sample"}
_SAME = frozenset({"SubqueryAlias", "View", "SQLFunctionNode"})
_TABLES = frozenset({"DataSourceV2Relation", "StreamingRelationV2", "DataSourceV2ScanRelation"})
_VALUES = frozenset({"LocalRelation", "OneRowRelation", "Range", "EmptyRelation"})
_BOTH_SIDES = frozenset({"Inner", "Cross", "LeftOuter", "RightOuter", "FullOuter"})
_LEFT_SIDE = frozenset({"LeftSemi", "LeftAnti"})
_ONE = ["v", "java.lang.Integer", "1"]

Keys: TypeAlias = frozenset[frozenset[Term]]
"""Sets of columns, as the terms of their values: no two rows have the same values of all columns of a set."""


@attrs.frozen
class RelationTerms:
    """
    The rows of a plan.

    Args:
        rows: the term of its rows.
        columns: the number of a column -> the term of its values.
        output: the columns, in order.
        layout: the term of what decides only about the order of the rows; None if nothing does.
        keys: the columns that identify a row.
        sorted_by: the values by which all rows are sorted.
    """

    rows: Term
    columns: Mapping[int, Term]
    output: tuple[PlanColumn, ...] = ()
    layout: Term | None = None
    keys: Keys = frozenset()
    sorted_by: frozenset[Term] = frozenset()

    @property
    def values(self) -> tuple[Term, ...]:
        """Return the terms of its columns, in order."""
        return tuple(self.columns[each.id] for each in self.output)


class Relations:
    """
    Makes the terms of a plan.

    Args:
        terms: all terms.
        nodes: the nodes of the plan.
        tables: the tables that it reads.
        within: the current catalog and database.
        is_seeded: whether the seed of a sample decides about it; in files of SQL, its text does.
    """

    def __init__(
        self, terms: Terms, nodes: Sequence[Node], tables: TableStates, within: str = "", *, is_seeded: bool = False
    ) -> None:
        self._without_seeds = () if is_seeded else ("seed",)
        self._terms = terms
        self._nodes = nodes
        self._tables = tables
        self._ctes: dict[str, int] = {}
        self._one_row = terms.of("one row")
        self.expressions = Expressions(terms, nodes, self._of_subquery, within)
        self._rules: dict[str, Callable[[Node, Scope], RelationTerms]] = {
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
            "Filter": self._filter,
            **dict.fromkeys(_LAYOUTS, self._laid_out),
            **dict.fromkeys(_CUTTING, self._cutting),
            **dict.fromkeys(_SAME, self._same),
            **dict.fromkeys(_TABLES, self._table),
            **dict.fromkeys(_VALUES, self._given),
        }

    def of(self, at: int, scope: Scope | None = None) -> RelationTerms:
        """
        Return the terms of an operator. What decides about the order of the rows is a part of its rows.

        Args:
            at: its index.
            scope: the names that are known around it.

        Raises:
            IncomparableError: a part of it can't be compared.
        """
        found = self.with_layout(at, scope)
        return attrs.evolve(found, rows=self._in_order(found), layout=None)

    def with_layout(self, at: int, scope: Scope | None = None) -> RelationTerms:
        """
        Return the terms of an operator, in which what decides about the order of the rows is separate from the rows.

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
        found = self._rules.get(node.name, self._other)(node, around)
        ids = [each.id for each in node.output]
        missing = [each for each in ids if each not in found.columns]
        if missing:
            raise IncomparableError(f"{node.name} has columns without a source")
        return attrs.evolve(found, columns={each: found.columns[each] for each in ids}, output=node.output)

    def _in_order(self, found: RelationTerms) -> Term:
        """Return the term of rows whose order matters."""
        return found.rows if found.layout is None else self._terms.of("ordered", found.rows, found.layout)

    def _layout_of(self, *children: RelationTerms) -> Term | None:
        """Return what decides about the order of the rows of several operators."""
        layouts = [each.layout for each in children]
        if not any(layouts):
            return None
        return self._terms.of("layouts", *("" if each is None else each for each in layouts))

    def _of_subquery(self, at: int, scope: Scope) -> tuple[Term, dict[int, Term], tuple[Term, ...]]:
        found = self.of(at, scope)
        return found.rows, dict(found.columns), found.values

    def _child(self, node: Node, scope: Scope) -> tuple[RelationTerms, Scope]:
        found = self.with_layout(node.node("child"), scope)
        return found, attrs.evolve(scope.with_columns(found.columns), rows=found.rows)

    def _others(self, node: Node, scope: Scope, *besides: str) -> list[Term]:
        return [self.expressions.of(each, scope) for name, each in node.arguments.items() if name not in besides]

    def _filter(self, node: Node, scope: Scope) -> RelationTerms:
        child, within = self._child(node, scope)
        rows = self._terms.of(node.name, child.rows, *self._others(node, within, "child"))
        return attrs.evolve(child, rows=rows, keys=child.keys | self._keys_of_first_rows(node, child))

    def _keys_of_first_rows(self, node: Node, child: RelationTerms) -> Keys:
        """Return the partitions of which only the first row is left: `row_number() OVER (PARTITION BY ...) = 1`."""
        found = set()
        for column, value in self.expressions.equalities(node.arguments.get("condition")):
            number = child.columns.get(column[1]) if column[0] == "a" else None
            is_one = value[0] == "r" and self._nodes[value[1]].arguments.get("value") == _ONE
            if number is not None and is_one and number.kind == "over" and _is_part(child.rows, number.parts[0]):
                found.add(_partition_of_number(number.parts[1]))
        return frozenset(each for each in found if each is not None)

    def _laid_out(self, node: Node, scope: Scope) -> RelationTerms:
        """Return the same rows in another order."""
        child, within = self._child(node, scope)
        layout = self._terms.of(node.name, child.layout or "", *self._others(node, within, "child"))
        sorted_by: list[Term] = []
        if node.name == "Sort" and node.arguments.get("global") is True:
            orders = [self._nodes[each[1]] for each in node.items("order")]
            sorted_by = [
                self.expressions.inner(self.expressions.part(each.arguments.get("child"), within)) for each in orders
            ]
        return attrs.evolve(child, layout=layout, sorted_by=frozenset(sorted_by))

    def _cutting(self, node: Node, scope: Scope) -> RelationTerms:
        """Return some of the rows: always the same ones, if different rows can't have the same place in the order."""
        child, within = self._child(node, scope)
        others = self._others(node, within, "child", *self._without_seeds)
        keys = set(child.keys)
        if not any(is_inexact(each.type) for each in child.output):
            # Rows that are equal in all their values are the same ones; but 0.0 and -0.0 have one place in an order.
            keys.add(frozenset(child.values))
        is_certain = node.name in _LIMITS and any(each <= child.sorted_by for each in keys)
        rows = self._terms.of(node.name, self._in_order(child), *others, is_unstable=not is_certain)
        return attrs.evolve(child, rows=rows, keys=child.keys if node.name in _LIMITS else frozenset())

    def _same(self, node: Node, scope: Scope) -> RelationTerms:
        child, _ = self._child(node, scope)
        if node.name == "View":
            name = text_of(node.arguments.get("desc"))
            is_temporary = node.arguments.get("isTempView") is True
            self._tables.note_view(f"{TEMPORARY}{name.lower()}" if is_temporary else key_of_name(name))
        return attrs.evolve(child, columns=self._by_place(node, child))

    def _by_place(self, node: Node, child: RelationTerms) -> Mapping[int, Term]:
        output = node.output or ()
        if len(output) != len(child.output):
            raise IncomparableError(f"the columns of {node.name} are not those of its child")
        return {own.id: child.columns[below.id] for own, below in zip(output, child.output, strict=True)}

    def _project(self, node: Node, scope: Scope) -> RelationTerms:
        child, within = self._child(node, scope)
        columns = dict(self.expressions.named(each, within) for each in node.items("projectList"))
        return attrs.evolve(child, columns=columns)

    def _aggregate(self, node: Node, scope: Scope) -> RelationTerms:
        child, within = self._child(node, scope)
        columns = dict(self.expressions.named(each, within) for each in node.items("aggregateExpressions"))
        by = node.items("groupingExpressions")
        if not by:
            # There is always exactly one row, even if no row is read.
            columns = {id_: self._terms.of("of all", child.rows, term) for id_, term in columns.items()}
            return RelationTerms(self._one_row, columns, layout=child.layout, keys=frozenset({frozenset()}))
        keys = frozenset(self.expressions.inner(self.expressions.part(each, within)) for each in by)
        rows = self._groups(child, keys)
        return RelationTerms(rows, columns, layout=child.layout, keys=_stable_keys(keys))

    def _groups(self, child: RelationTerms, keys: Iterable[Term]) -> Term:
        """Return the term of one row for each group of equal keys: neither their order nor a repeated key matters."""
        return self._terms.of("groups", child.rows, *_each_once(keys))

    def _distinct(self, node: Node, scope: Scope) -> RelationTerms:
        child, _ = self._child(node, scope)
        rows = self._groups(child, child.values)
        keys = child.keys | _stable_keys(frozenset(child.values))
        return RelationTerms(rows, child.columns, layout=child.layout, keys=keys)

    def _deduplicate(self, node: Node, scope: Scope) -> RelationTerms:
        """Return rows of which one is kept for each key: its other columns depend on the order of the rows."""
        child, within = self._child(node, scope)
        rows = self._groups(child, self.expressions.each(node.items("keys"), within))
        by = {each[1] for each in node.items("keys") if each[0] == "a"}
        columns = {
            id_: term if id_ in by else self._terms.of("one of", rows, *child.values, term, is_unstable=True)
            for id_, term in child.columns.items()
        }
        keys = _stable_keys(frozenset(child.columns[each] for each in by if each in child.columns))
        return RelationTerms(
            rows, columns, layout=child.layout, keys=keys if by <= child.columns.keys() else frozenset()
        )

    def _join(self, node: Node, scope: Scope) -> RelationTerms:
        left, right = (self.with_layout(node.node(each), scope) for each in ("left", "right"))
        kind = node.arguments.get("joinType")
        name = kind[1] if isinstance(kind, list) and kind[0] == "p" and len(kind) == 2 else ""
        if name not in _BOTH_SIDES | _LEFT_SIDE or set(left.columns) & set(right.columns):
            return self._other(node, scope)
        layout = self._layout_of(left, right)
        columns = {id_: self._terms.of("left", term) for id_, term in left.columns.items()}
        of_right = {id_: self._terms.of("right", term) for id_, term in right.columns.items()}
        within = scope.with_columns({**columns, **of_right})
        condition = self.expressions.of(node.arguments.get("condition"), within)
        is_single = not condition.is_unstable and self._is_single(node, right)
        is_one = right.rows is self._one_row and node.arguments.get("condition") == ["o"]
        if (name == "LeftOuter" and is_single) or (name in ("Inner", "Cross") and is_one):
            # Each row of the left side stays, once: the right side is looked up.
            found = {id_: self._terms.of("lookup", right.rows, condition, term) for id_, term in right.columns.items()}
            return RelationTerms(left.rows, {**left.columns, **found}, layout=layout, keys=left.keys)
        rows = self._terms.of(f"Join {name}", left.rows, right.rows, condition)
        keys = frozenset(frozenset(self._terms.of("left", term) for term in each) for each in left.keys)
        if name in _LEFT_SIDE:
            return RelationTerms(rows, columns, layout=layout, keys=keys)
        keys = keys if is_single and name in ("Inner", "Cross") else frozenset()
        return RelationTerms(rows, {**columns, **of_right}, layout=layout, keys=keys)

    def _is_single(self, node: Node, right: RelationTerms) -> bool:
        """Return whether a row of the left side meets at most one row of the right side."""
        known = set()
        for column, value in self.expressions.equalities(node.arguments.get("condition")):
            used = self.expressions.columns_in(value)
            is_of_left = used is not None and used.isdisjoint(right.columns)
            if column[0] == "a" and column[1] in right.columns and is_of_left:
                known.add(right.columns[column[1]])
        return any(each <= known for each in right.keys)

    def _union(self, node: Node, scope: Scope) -> RelationTerms:
        children = [self.with_layout(each[1], scope) for each in node.items("children")]
        others = self._others(node, scope, "children")
        output = node.output or ()
        if any(len(each.output) != len(output) for each in children):
            raise IncomparableError("the branches of a UNION have different columns")
        rows = self._terms.of("Union", *(each.rows for each in children), *others)
        values = zip(*(each.values for each in children), strict=True)
        columns = {own.id: self._terms.of("Union", *each) for own, each in zip(output, values, strict=True)}
        return RelationTerms(rows, columns, layout=self._layout_of(*children))

    def _set_operation(self, node: Node, scope: Scope) -> RelationTerms:
        left, right = (self.with_layout(node.node(each), scope) for each in ("left", "right"))
        if len(left.values) != len(right.values):
            raise IncomparableError(f"the sides of {node.name} have different columns")
        # Rows are compared by their values in pairs, in whatever order.
        pairs = _each_once(self._terms.of("pair", *each) for each in zip(left.values, right.values, strict=True))
        rows = self._terms.of(node.name, str(node.arguments.get("isAll")), left.rows, right.rows, *pairs)
        return RelationTerms(rows, self._by_place(node, left), layout=self._layout_of(left, right))

    def _window(self, node: Node, scope: Scope) -> RelationTerms:
        child, within = self._child(node, scope)
        columns = dict(child.columns)
        for each in node.items("windowExpressions"):
            id_, term = self.expressions.named(each, within)
            columns[id_] = self._terms.of("over", child.rows, term)
        return RelationTerms(child.rows, columns, layout=child.layout, keys=child.keys)

    def _generate(self, node: Node, scope: Scope) -> RelationTerms:
        child, within = self._child(node, scope)
        made = [each[1] for each in node.items("generatorOutput") if each[0] == "a"]
        generator = self.expressions.of(node.arguments.get("generator"), within)
        rows = self._terms.of("Generate", child.rows, generator, str(node.arguments.get("outer")))
        columns = {**child.columns, **{id_: self._terms.of("made", rows, str(at)) for at, id_ in enumerate(made)}}
        return RelationTerms(rows, columns, layout=child.layout)

    def _expand(self, node: Node, scope: Scope) -> RelationTerms:
        child, within = self._child(node, scope)
        lists = [self.expressions.each(each[1:], within) for each in node.items("projections")]
        rows = self._terms.of("Expand", child.rows, str(len(lists)))
        output = node.output or ()
        if any(len(each) != len(output) for each in lists):
            raise IncomparableError("an Expand has unexpected columns")
        values = zip(*lists, strict=True)
        columns = {own.id: self._terms.of("Expand", *each) for own, each in zip(output, values, strict=True)}
        return RelationTerms(rows, columns, layout=child.layout)

    def define(self, node: Node) -> None:
        """Make the CTEs of an operator known."""
        for each in node.items("cteDefs"):
            definition = self._nodes[each[1]]
            self._ctes[definition.text("id")] = definition.node("child")

    def _with_cte(self, node: Node, scope: Scope) -> RelationTerms:
        self.define(node)
        return self.with_layout(node.node("plan"), scope)

    def _cte(self, node: Node, scope: Scope) -> RelationTerms:
        id_ = node.text("cteId")
        if id_ not in self._ctes or node.arguments.get("recursive") is True:
            raise IncomparableError("it has a recursive CTE")
        found = self.with_layout(self._ctes[id_], scope)
        return attrs.evolve(found, columns=self._by_place(node, found))

    def _table(self, node: Node, _scope: Scope) -> RelationTerms:
        output = node.output or ()
        reading = _reading_of(node)
        if reading is not None:
            return self._loaded(reading, output)
        key = key_of_read(node)
        rows, columns = self._tables.read(key, output)
        options = node.arguments.get("options")
        travel = node.arguments.get("timeTravelSpec", ["o"])
        if options not in (None, ["m", "{}"]) or travel != ["o"]:
            raise IncomparableError("it reads a table with options")
        by_name = {own.name.lower(): term for own, term in zip(output, columns, strict=True)}
        keys = (names for names in self._tables.keys_of(key) if names <= by_name.keys() and len(by_name) == len(output))
        return RelationTerms(
            rows,
            {own.id: term for own, term in zip(output, columns, strict=True)},
            keys=frozenset(frozenset(by_name[name] for name in names) for names in keys),
        )

    def _loaded(self, reading: Reading, output: Sequence[PlanColumn]) -> RelationTerms:
        """Return the rows that a script loads: they follow from what is at each place, and from how it is read."""
        every = [self._tables.read(key, output) for key in reading.keys]
        how = self._terms.of("reading", reading.how)
        rows = self._terms.of("loaded", how, *(each for each, _ in every))
        columns = {
            own.id: self._terms.of("loaded", how, *(each[at] for _, each in every)) for at, own in enumerate(output)
        }
        return RelationTerms(rows, columns)

    def _given(self, node: Node, scope: Scope) -> RelationTerms:
        """Return the rows that the statement itself contains."""
        rows = self._terms.of(node.name, *self._others(node, scope, "output"))
        columns = {own.id: self._terms.of("given", rows, str(at)) for at, own in enumerate(node.output or ())}
        return RelationTerms(rows, columns)

    def _other(self, node: Node, scope: Scope) -> RelationTerms:
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
        return RelationTerms(rows, {id_: self._terms.of("of other", rows, str(at)) for at, id_ in enumerate(own)})


@attrs.frozen
class Reading:
    """
    What a script loads in its dry run.

    Args:
        keys: the keys of the datasets.
        how: the format, the paths and the options.
    """

    keys: tuple[str, ...]
    how: str


def _reading_of(node: Node) -> Reading | None:
    """
    Return what a script loads; None for an operator that reads a table.

    Raises:
        IncomparableError: an option of the reader can't be compared.
    """
    text = text_of(node.arguments.get("table"))
    if not text.startswith("{"):
        return None
    document = json.loads(text)
    if not document["manner"]:
        raise IncomparableError("how it reads can't be compared")
    return Reading(tuple(map(key_of_name, document["tables"])), f"{document['place']} {document['manner']}")


def key_of_read(node: Node) -> str:
    """
    Return the key of a table: its name, after that of its catalog unless this is Spark's own.

    Raises:
        IncomparableError: it has no name.
    """
    return key_of_name(text_of(node.arguments.get("table")))


def _stable_keys(columns: frozenset[Term]) -> Keys:
    """Return columns as a key, unless a repetition may have other values."""
    return frozenset() if any(each.is_unstable for each in columns) else frozenset({columns})


def _each_once(terms: Iterable[Term]) -> list[Term]:
    """Return terms whose order does not matter, each once."""
    return sorted(set(terms), key=attrgetter("number"))


def _is_part(rows: Term, whole: Part) -> bool:
    """Return whether rows are some of the rows of a whole, each at most once."""
    while rows is not whole and rows.kind == "Filter" and isinstance(rows.parts[0], Term):
        rows = rows.parts[0]
    return rows is whole


def _partition_of_number(window: Part) -> frozenset[Term] | None:
    """Return the values that make the partitions of a row number; None of another window."""
    if isinstance(window, str) or window.kind != "WindowExpression":
        return None
    function, specification = window.parts[:2]
    if isinstance(function, str) or isinstance(specification, str) or function.kind != "RowNumber":
        return None
    partition = specification.parts[0]
    parts = () if isinstance(partition, str) else partition.parts
    values = frozenset(each for each in parts if isinstance(each, Term) and not each.is_unstable)
    return values if isinstance(partition, Term) and len(values) == len(set(parts)) else None
