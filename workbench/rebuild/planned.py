"""The writes of statements and DataFrames with a plan, as terms of the tables that they leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.workbench.rebuild.expressions import Scope
from openlineage_pyspark.workbench.rebuild.places import TableDefinition, key_of_name
from openlineage_pyspark.workbench.rebuild.relations import Relations, RelationTerms, key_of_read
from openlineage_pyspark.workbench.rebuild.shape import IncomparableError, Node, nodes_of, text_of
from openlineage_pyspark.workbench.rebuild.states import EMPTY, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.rebuild.shape import PlanColumn
    from openlineage_pyspark.workbench.rebuild.statements import FileStep
    from openlineage_pyspark.workbench.rebuild.states import Kind, TableStates
    from openlineage_pyspark.workbench.rebuild.terms import Term, Terms

_MERGE_ACTIONS = frozenset({"UpdateAction", "InsertAction", "DeleteAction"})
_NO_OPTIONS = (None, False, ["set"], ["l"], ["m", "{}"])
_VIEWS = frozenset({"CreateView", "AlterViewAs"})


class PlannedWrites:
    """
    Follows statements by their plans.

    Args:
        terms: all terms, of both sides.
        states: the tables, which change with each statement.
    """

    def __init__(self, terms: Terms, states: TableStates) -> None:
        self._terms = terms
        self._states = states

    def of_statement(self, step: FileStep) -> None:
        """
        Follow a statement.

        Raises:
            IncomparableError: if a part of its plan can't be compared.
        """
        nodes = nodes_of(step.shape)
        plan = _Plan(nodes, Relations(self._terms, nodes, self._states, step.within, is_seeded=bool(step.script)))
        root = plan.root
        if root.name in ("CreateDataSourceTableAsSelectCommand", "CreateTableAsSelect", "ReplaceTableAsSelect"):
            self._made_of_query(step, plan, "table")
        elif root.name in ("CreateViewCommand", "CreateView", "AlterViewAsCommand"):
            self._made_of_query(step, plan, "view")
        elif root.name in ("AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"):
            self._written(plan)
        elif root.name == "UpdateTable":
            self._updated(plan)
        elif root.name == "DeleteFromTable":
            self._deleted(plan)
        elif root.name == "MergeIntoTable":
            self._merged(plan)
        elif root.output is None or root.output == () or root.name.endswith("Command"):
            raise IncomparableError(f"the command {root.name} is not supported")

    def of_frame(self, step: FileStep) -> None:
        """
        Follow a write of a DataFrame.

        Raises:
            IncomparableError: if a part of its plan can't be compared.
        """
        nodes = nodes_of(step.shape)
        if any(each.name == "LocalRelation" and each.arguments.get("data") == ["l"] for each in nodes):
            # In a dry run, the answer of a statement such as SHOW has no rows.
            raise IncomparableError("its plan has rows that only a real run knows")
        found = Relations(self._terms, nodes, self._states, step.within, is_seeded=True).with_layout(0)
        names = list(step.names or [each.name for each in found.output])
        columns = {
            name.lower(): (self._named(name, term), each.type)
            for name, term, each in zip(names, found.values, found.output, strict=False)
        }
        if len(step.targets) != 1 or not len(names) == len(columns) == len(found.output):
            raise IncomparableError("the columns that it writes are not those of the table")
        (key,) = map(key_of_name, step.targets)
        how = self._terms.of("written", step.code)
        if step.is_whole:
            self._states.definitions.pop(key, None)
            self._states.put(key, found.rows, columns, how, layout=found.layout)
            return
        before = self._states.now(key)
        if before is None:
            source = self._states.source(key)
            before = Version(source, {}, self._states.definition_of(key), source)
        if before.kind == "view":
            raise IncomparableError("it writes to a view")
        rows, bound = self._states.bound(key, found.rows, columns, found.layout)
        every = {name: (self._terms.of("both", how, self._column_before(key, before, name)), before.columns[name][1])
                 for name in before.columns}  # fmt: skip
        for name, (term, type_) in bound.items():
            every[name] = (self._terms.of("both", how, self._column_before(key, before, name), term), type_)
        rows = self._terms.of("both", how, before.rows, rows)
        self._states.put(key, rows, every, before.definition, before, layout=found.layout)

    def _named(self, name: str, term: Term) -> Term:
        """Return the values of a column; its name as it is written is a part of files such as those of JSON."""
        return term if name == name.lower() else self._terms.of("named", name, term)

    def _column_before(self, key: str, before: Version, name: str) -> Term:
        known = before.columns.get(name)
        return self._terms.of("column of", key, name, before.whole) if known is None else known[0]

    def _made_of_query(self, step: FileStep, plan: _Plan, kind: Kind) -> None:
        found = plan.relations.with_layout(plan.root.node("plan" if kind == "view" else "query"))
        names = _names(plan.root, found)
        if not step.targets:
            raise IncomparableError("its target has no name")
        for key in map(key_of_name, step.targets):
            existing = self._states.now(key)
            if existing is not None and existing.kind == "table" and " IF NOT EXISTS " in f" {step.header} ":
                raise IncomparableError("it does nothing if the table exists")
            values = zip(names, found.values, found.output, strict=True)
            columns = {name.lower(): (term, each.type) for name, term, each in values}
            if len(columns) != len(names):
                raise IncomparableError("its columns differ only in case")
            if kind == "table":
                self._states.definitions[key] = TableDefinition(tuple(step.header.split(" ")))
            definition = self._terms.of("definition", step.header)
            keys = self._keys_by_name(key, columns, found) if kind == "table" else frozenset()
            self._states.put(key, found.rows, columns, definition, kind=kind, keys=keys, layout=found.layout)
            if kind == "table" and step.kind in _VIEWS:
                # A view in another catalog has the plan of a table, but is computed when it is read.
                self._states.late.add(key)
            else:
                self._states.late.discard(key)

    def _written(self, plan: _Plan) -> None:
        table, query = plan.nodes[plan.root.node("table")], plan.relations.with_layout(plan.root.node("query"))
        target = plan.table_of(table)
        output = table.output or ()
        columns = _written_columns(plan, query, output)
        options = _options(plan.root, table)
        if options:
            # They may name a branch of the table, or say what becomes of other columns.
            scope = Scope({}, query.rows)
            given = [plan.relations.expressions.of(each, scope) for each in options]
            query = attrs.evolve(query, rows=self._terms.of("with options", query.rows, *given))
        if plan.root.name == "OverwriteByExpression" and _is_true(plan, plan.root.arguments.get("deleteExpr")):
            keys = self._keys_by_name(target, columns, query, is_whole=True)
            self._states.put(
                target, query.rows, columns, self._states.definition_of(target), keys=keys, layout=query.layout
            )
            return
        rows, bound = self._states.bound(target, query.rows, columns, query.layout)
        before = self._states.before(target, output)
        if plan.root.name == "AppendData":
            if before.rows.kind == EMPTY:
                keys = self._keys_by_name(target, columns, query)
                self._states.put(target, rows, bound, before.definition, before, keys=keys, layout=query.layout)
                return
            how = self._terms.of("append")
        else:
            old = {each.id: before.columns[each.name.lower()][0] for each in output}
            condition = plan.relations.expressions.of(plan.root.arguments.get("deleteExpr"), Scope(old, before.rows))
            partitions = [] if plan.root.name == "OverwriteByExpression" else [before.definition, *(
                term for term, _ in columns.values())]  # fmt: skip
            how = self._terms.of(plan.root.name, condition, *partitions)
        joined = {
            name: (self._terms.of("both", how, before.columns[name][0], term), type_)
            for name, (term, type_) in bound.items()
        }
        rows = self._terms.of("both", how, before.rows, rows)
        self._states.put(target, rows, joined, before.definition, before, layout=query.layout)

    def _keys_by_name(
        self, key: str, columns: Mapping[str, tuple[Term, str]], query: RelationTerms, *, is_whole: bool = False
    ) -> frozenset[frozenset[str]]:
        """Return the names of the columns that identify a row, if the table returns their values as they were."""
        definition = self._states.definitions.get(key)
        if definition is None or not definition.is_faithful or not (is_whole or definition.keeps_no_existing):
            return frozenset()
        names = {term: name for name, (term, _) in columns.items()}
        return frozenset(frozenset(names[term] for term in each) for each in query.keys if each <= names.keys())

    def _updated(self, plan: _Plan) -> None:
        found = plan.relations.of(plan.root.node("table"))
        target = plan.table_below(plan.root.node("table"))
        scope = Scope(found.columns, found.rows)
        before = self._states.before(target, found.output)
        expressions = plan.relations.expressions
        condition = expressions.of(plan.root.arguments.get("condition"), scope)
        columns = dict(before.columns)
        assigned = dict(plan.assignments(plan.root.items("assignments"), found))
        for name, value in assigned.items():
            old, type_ = columns[name]
            new = expressions.of(value, scope)
            # A column that is set to itself keeps its values, on whatever condition.
            if new is not self._terms.of("value", old):
                columns[name] = (self._terms.of("updated", old, condition, new), type_)
        keys = _keys_without(before, assigned)
        self._states.put(target, before.rows, columns, before.definition, before, keys=keys)

    def _deleted(self, plan: _Plan) -> None:
        found = plan.relations.of(plan.root.node("table"))
        target = plan.table_below(plan.root.node("table"))
        before = self._states.before(target, found.output)
        condition = plan.relations.expressions.of(
            plan.root.arguments.get("condition"), Scope(found.columns, found.rows)
        )
        rows = self._terms.of("delete", before.rows, condition)
        self._states.put(target, rows, before.columns, before.definition, before, keys=before.keys)

    def _merged(self, plan: _Plan) -> None:
        root, expressions = plan.root, plan.relations.expressions
        own = plan.relations.of(root.node("targetTable"))
        source = plan.relations.of(root.node("sourceTable"))
        target = plan.table_below(root.node("targetTable"))
        if set(own.columns) & set(source.columns) or root.arguments.get("withSchemaEvolution") not in (False, None):
            raise IncomparableError("its MERGE can't be compared")
        before = self._states.before(target, own.output)
        of_source = {id_: self._terms.of("merged", term) for id_, term in source.columns.items()}
        scope = Scope({**own.columns, **of_source}, self._terms.of("pairs", own.rows, source.rows))
        matched = [source.rows, expressions.of(root.arguments.get("mergeCondition"), scope)]
        deciding: list[Term] = []
        changed: dict[str, list[Term]] = {name: [] for name in before.columns}
        for list_ in ("matchedActions", "notMatchedActions", "notMatchedBySourceActions"):
            actions = [plan.nodes[each[1]] for each in root.items(list_)]
            others = [each.name for each in actions if each.name not in _MERGE_ACTIONS]
            if others:
                raise IncomparableError(f"the MERGE action {others[0]} is not supported")
            # The first action whose condition is true is taken: each condition decides about the later ones too.
            conditions = [
                self._terms.of(f"{list_} {each.name}", expressions.of(each.arguments.get("condition"), scope))
                for each in actions
            ]
            if any(each.name != "UpdateAction" for each in actions):
                deciding += conditions
            set_here: dict[str, list[Term]] = {}
            for at, action in enumerate(actions):
                given = plan.assignments(action.items("assignments"), own) if "assignments" in action.arguments else ()
                for name, expression in given:
                    value = self._terms.of(f"{list_} {at}", expressions.of(expression, scope))
                    set_here.setdefault(name, []).append(value)
            for name, values in set_here.items():
                changed[name] += [*matched, *conditions, *values]
        # Updates do not decide about rows, and a column that no action sets keeps its values.
        rows = self._terms.of("merge", before.rows, *matched, *deciding) if deciding else before.rows
        columns = {
            name: (self._terms.of("merge", old, *changed[name]) if changed[name] or deciding else old, type_)
            for name, (old, type_) in before.columns.items()
        }
        is_more = bool(root.items("notMatchedActions"))
        keys = frozenset() if is_more else _keys_without(before, (name for name, set_ in changed.items() if set_))
        self._states.put(target, rows, columns, before.definition, before, keys=keys)


def _keys_without(version: Version, names: Iterable[str]) -> frozenset[frozenset[str]]:
    """Return the keys of a table that have none of some columns."""
    return frozenset(each for each in version.keys if each.isdisjoint(names))


class _Plan:
    """The plan of a statement that writes."""

    def __init__(self, nodes: Sequence[Node], relations: Relations) -> None:
        self.nodes = nodes
        self.relations = relations
        self.root = nodes[0]
        if self.root.name == "WithCTE":
            relations.define(self.root)
            self.root = nodes[self.root.node("plan")]

    def table_of(self, node: Node) -> str:
        """Return the key of the table that an operator reads."""
        if "table" not in node.arguments:
            raise IncomparableError(f"{node.name} is not a table")
        return key_of_read(node)

    def table_below(self, at: int) -> str:
        """Return the key of the table that a statement changes."""
        node = self.nodes[at]
        while node.name == "SubqueryAlias":
            node = self.nodes[node.node("child")]
        return self.table_of(node)

    def assignments(self, values: Iterable[Any], table: RelationTerms) -> Iterable[tuple[str, Any]]:
        """Yield the columns of a table that assignments set, with their values."""
        names = {each.id: each.name.lower() for each in table.output}
        for value in values:
            assignment = self.nodes[value[1]]
            key = assignment.arguments.get("key")
            if not isinstance(key, list) or key[0] != "a" or key[1] not in names:
                raise IncomparableError("it assigns a part of a column")
            yield names[key[1]], assignment.arguments.get("value")


def _written_columns(plan: _Plan, query: RelationTerms, output: Sequence[PlanColumn]) -> dict[str, tuple[Term, str]]:
    """Return what an insert puts into each column of a table, by the columns' names or positions, and their types."""
    values: list[Term | None] = list(query.values)
    if plan.root.arguments.get("isByName") is True:
        places = {each.name.lower(): term for each, term in zip(query.output, query.values, strict=True)}
        values = [places.get(each.name.lower()) for each in output]
    if len(values) != len(output) or None in values or len({each.name.lower() for each in output}) != len(output):
        raise IncomparableError("the columns that it writes are not those of the table")
    return {own.name.lower(): (term, own.type) for own, term in zip(output, values, strict=True) if term}


def _options(root: Node, table: Node) -> list[Any]:
    """Return the options of a write, if there are any."""
    values = [
        root.arguments.get("writeOptions"),
        root.arguments.get("withSchemaEvolution"),
        table.arguments.get("options"),
    ]
    return values if any(each not in _NO_OPTIONS for each in values) else []


def _is_true(plan: _Plan, value: Any) -> bool:
    node = plan.nodes[value[1]] if isinstance(value, list) and value[0] == "r" else None
    return node is not None and node.name == "Literal" and node.arguments.get("value") is True


def _names(root: Node, found: RelationTerms) -> list[str]:
    """Return the names that the columns of a query have in the table or view that is created from it."""
    given = [text_of(each) for each in root.items("outputColumnNames")] if "outputColumnNames" in root.arguments else []
    if "userSpecifiedColumns" in root.arguments:
        given = [text_of(each[2]) for each in root.items("userSpecifiedColumns")]
    if given and len(given) != len(found.output):
        raise IncomparableError("the columns that it names are not those of its query")
    return given or [each.name for each in found.output]
