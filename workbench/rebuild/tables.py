"""The tables that a sequence of statements leaves behind, as terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from openlineage_pyspark.workbench.predict.acts import FRAME, SETTINGS
from openlineage_pyspark.workbench.rebuild.contents import ScriptContents
from openlineage_pyspark.workbench.rebuild.expressions import Scope
from openlineage_pyspark.workbench.rebuild.places import (
    TableDefinition,
    is_pattern,
    may_be_made_of,
    may_be_one,
    may_share,
    name_words,
    shared_path_of,
)
from openlineage_pyspark.workbench.rebuild.relations import Relations, RelationTerms, key_of_name, key_of_read
from openlineage_pyspark.workbench.rebuild.shape import IncomparableError, Node, nodes_of, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.rebuild.shape import PlanColumn
    from openlineage_pyspark.workbench.rebuild.statements import FileStep
    from openlineage_pyspark.workbench.rebuild.terms import Term, Terms

Kind: TypeAlias = Literal["table", "view"]

# Statements that only manage or inspect: no later statement depends on them.
_HARMLESS = ("Analyze", "Cache", "Comment", "Describe", "Explain", "List", "Refresh", "Show", "Uncache", "Use",
             "SetCatalog", "SetNamespace", "CreateNamespace", "SetCatalogAndNamespace", "Noop")  # fmt: skip
_DROPS = frozenset({"DropTable", "DropView", "DropTempViewCommand"})
_CREATES = frozenset({"CreateTable", "ReplaceTable"})
_ALTERS = ("Alter", "Add", "Drop", "Rename", "Replace", "Set", "Unset")
_MERGE_ACTIONS = frozenset({"UpdateAction", "InsertAction", "DeleteAction"})
_NO_OPTIONS = (None, False, ["set"], ["l"], ["m", "{}"])
_EMPTY = "empty"
_RENAME = "RenameTable"
_VIEWS = frozenset({"CreateView", "AlterViewAs"})


@attrs.frozen
class Version:
    """
    A table after a statement.

    Args:
        rows: the term of its rows.
        columns: its columns, in order -> the terms of their values, and their types.
        definition: the term of its definition, apart from its columns.
        whole: the term of the whole table: if it is equal on both sides, the table need not be rebuilt.
        kind: whether it holds rows, or is computed when it is read.
        steps: the indices, in the sequence, of the statements that made its current state.
        reads: the tables that these statements have read.
        keys: sets of columns: no two rows have the same values of all columns of a set.
    """

    rows: Term
    columns: Mapping[str, tuple[Term, str]]
    definition: Term
    whole: Term
    kind: Kind = "table"
    steps: tuple[int, ...] = ()
    reads: frozenset[str] = frozenset()
    keys: frozenset[frozenset[str]] = frozenset()


@attrs.frozen
class Final:
    """
    The result of a sequence of statements.

    Args:
        tables: the key of a table -> the table at the end.
        dropped: the tables that were dropped.
        unread: the indices of the steps that are compared by their text -> the reason.
    """

    tables: Mapping[str, Version]
    dropped: frozenset[str]
    unread: Mapping[int, str]


class Replay:
    """
    Follows statements, and keeps the state of each table after each statement.

    Args:
        terms: all terms, of both sides.
        made_by: what acts of scripts have made, of both sides.
    """

    def __init__(self, terms: Terms, made_by: dict[int, Version] | None = None) -> None:
        self._terms = terms
        self._made_by = {} if made_by is None else made_by
        self._tables: dict[str, Version] = {}
        self._dropped: set[str] = set()
        self._settings = terms.of("as it begins")
        self._random = terms.of("nothing random")
        self._declared = terms.of("nothing declared")
        self._initial_settings = self._settings
        self._definitions: dict[str, TableDefinition] = {}
        self._late: set[str] = set()
        self._places: dict[str, tuple[str, Term]] = {}
        self._unread: dict[int, str] = {}
        self._columns_written: dict[str, str] = {}
        self._leaves: dict[str, None] = {}
        self._views: dict[str, None] = {}
        self._changes = terms.of("changes of any table")
        self._changed_at = 0
        self._known_changes: dict[str, Term] = {}
        self._unsure: list[tuple[frozenset[str], Term]] = []
        self._at = 0
        self._of_script = ScriptContents(terms, self._whole)

    def follow(self, steps: Iterable[FileStep]) -> Final:
        """
        Follow statements.

        Args:
            steps: the statements, in the order in which they run.
        """
        for self._at, step in enumerate(steps):
            self._leaves, self._views = {}, {}
            if step.is_declaration and step.kind.startswith(("Create", "Replace")):
                # It only declares an existing table: its columns are in the plans of the statements that read it.
                self._declared = self._terms.of("declared", self._declared, step.key)
                for key in map(key_of_name, step.targets):
                    self._definitions[key] = TableDefinition(step.words)
                continue
            if step.is_random:
                self._random = self._terms.of("random", self._random, step.key)
            self._of_script.begin(step)
            self._take(step)
            self._of_script.end(step)
        return Final(dict(self._all_tables()), frozenset(self._dropped), dict(self._unread))

    def _take(self, step: FileStep) -> None:
        if step.kind == FRAME and step.code and step.shape:
            self._compared(step, self._of_frame)
        elif step.kind == FRAME:
            self._by_text(step, "its plan does not show how its rows are written")
        elif step.kind == _RENAME:
            # Its plan represents a copy of the table.
            self._without_plan(step)
        elif step.shape and step.is_known and not step.has_more_than_its_plan:
            self._compared(step, self._of_plan)
        elif step.kind == "script" or not step.is_known or step.has_more_than_its_plan or step.shape:
            self._by_text(step, _why_by_text(step))
        else:
            self._without_plan(step)

    def _compared(self, step: FileStep, of_plan: Callable[[FileStep], None]) -> None:
        """Follow a statement by its plan, or by its text if a part of the plan can't be compared."""
        keys = [key_of_name(each) for each in step.targets] if step.script else []
        done = self._done(step) if len(keys) == 1 else None
        try:
            of_plan(step)
            if done is not None:
                self._as_in_other_state(keys[0], done)
        except IncomparableError as problem:
            self._by_text(step, str(problem))
        except RecursionError:
            self._by_text(step, "its plan is too deep")
        except (LookupError, TypeError, ValueError):
            # Another version of Spark may give an operator different arguments.
            self._by_text(step, "its plan has an unknown form")

    def _as_in_other_state(self, key: str, done: Term) -> None:
        """
        Keep what an act has made in the other state, if all of its script's code and all that it reads are the same.

        Two runs of the same code may have different plans: a literal is the time of the run, or a set has no order.
        """
        made = self._tables.get(key)
        if made is None:
            return
        same = self._made_by.setdefault(done.number, made)
        self._note_place(key, same.whole)
        self._keep(key, attrs.evolve(same, steps=made.steps, reads=made.reads))

    # The tables as they are now.

    def _keep(self, key: str, version: Version) -> None:
        self._tables[key] = version
        self._known_changes[key] = self._changes

    def _table(self, key: str) -> Version | None:
        """Return the state of a table, with what statements may have done to it that do not name it."""
        version = self._tables.get(key)
        known = self._known_changes.get(key)
        if version is None or version.kind == "view" or known is None or known is self._changes:
            return version
        changed = self._changed(version, self._terms.of("since", known, self._changes), self._changed_at)
        self._keep(key, changed)
        return changed

    def _all_tables(self) -> list[tuple[str, Version]]:
        return [(key, self._table(key) or version) for key, version in list(self._tables.items())]

    def _change_others(self, step: FileStep, done: Term) -> None:
        """Follow a statement of which no target is known."""
        if step.may_change_any and step.names_its_table:
            self._change_named(frozenset(name_words(step.text)), done)
        elif step.may_change_any:
            self._changes = self._terms.of("then", self._changes, done)
            self._changed_at = self._at

    def _change_named(self, words: frozenset[str], done: Term) -> None:
        """Follow what may change each table whose name may be made of some words."""
        self._unsure.append((words, done))
        for key, version in self._all_tables():
            if version.kind == "table" and may_be_made_of(key, words):
                self._keep(key, self._changed(version, done, self._at))

    def _changed(self, version: Version, done: Term, at: int) -> Version:
        """Return a table after a statement that may have changed its rows in any way."""
        rows, whole = (self._terms.of("changed", each, done) for each in (version.rows, version.whole))
        steps = version.steps if version.steps[-1:] == (at,) else (*version.steps, at)
        return attrs.evolve(version, rows=rows, whole=whole, steps=steps, keys=frozenset())

    # Reading.

    def read(self, key: str, columns: Sequence[PlanColumn]) -> tuple[Term, Sequence[Term]]:
        """
        Return the terms of a table's rows, and of some of its columns.

        Args:
            key: its name.
            columns: the columns, as the plan knows them.
        """
        self._leaves[key] = None
        version = self._table(key)
        rows = self._source(key) if version is None else self._with_shared_places(key, version.rows)
        earlier = self._of_script.of_any_time(key)
        if earlier:
            rows = self._terms.of("at some time", rows, *earlier)
        found = []
        for each in columns:
            name = each.name.lower()
            known = None if version is None else version.columns.get(name)
            if known is not None:
                term = known[0]
            elif version is not None and version.columns:
                # Metadata of a table's files, such as their names, changes whenever the table is rebuilt.
                term = self._terms.of("of files", version.whole, name)
            else:
                term = self._terms.of("column", key, name, each.type)
            if earlier:
                term = self._terms.of("at some time", term, *earlier)
            # A plan knows the type of a column from the statement that declares the table.
            is_typed = term.kind == "typed" and term.parts[-1] == each.type
            found.append(term if is_typed else self._terms.of("typed", term, each.type))
        return rows, found

    def keys_of(self, key: str) -> frozenset[frozenset[str]]:
        """
        Return the names of the columns that identify a row of a table.

        Args:
            key: its name.
        """
        version = self._table(key)
        is_alone = version is not None and self._with_shared_places(key, version.rows) is version.rows
        is_alone = is_alone and not self._of_script.earlier(key)
        return version.keys if version is not None and is_alone else frozenset()

    def note_view(self, key: str) -> None:
        """
        Note a view through which a plan reads.

        Args:
            key: its name.
        """
        # It has no rows of its own: the plan contains its query, and reads the tables below it.
        self._views[key] = None

    def _source(self, key: str) -> Term:
        kind = "dropped" if key in self._dropped else "source"
        definition = self._definitions.get(key)
        words = definition.words if definition is not None and definition.may_decide_rows else ()
        done = [each for of_names, each in self._unsure if may_be_made_of(key, of_names)]
        return self._with_shared_places(key, self._terms.of(kind, key, *words, *done))

    def _with_shared_places(self, key: str, term: Term) -> Term:
        """Return a term that includes what was written, under other names, to places that the table may share."""
        if key in self._late:
            return self._terms.of("late", term, self._everything())
        definition = self._definitions.get(key)
        path = shared_path_of(key) or ("" if definition is None else definition.location)
        anywhere = definition is not None and definition.is_foreign
        there = [
            self._terms.of("place", other, written)
            for other, (place, written) in sorted(self._places.items())
            if other != key and (anywhere or (path and may_share(path, place)) or may_be_one(place, key))
        ]
        return self._terms.of("with", term, *there) if there else term

    def _whole(self, key: str) -> Term:
        version = self._table(key)
        return self._source(key) if version is None else self._with_shared_places(key, version.whole)

    def _everything(self) -> Term:
        """Return the term of the state of all tables, for a statement that may read any of them."""
        parts: list[Term | str] = [self._settings, self._random, self._declared]
        for key, version in sorted(self._all_tables()):
            parts += [key, version.whole]
        return self._terms.of("everything", *parts, *sorted(self._dropped))

    def _schemas(self) -> Term:
        """Return the term of the existing tables and their columns, which a script may query."""
        parts: list[Term | str] = [self._declared]
        for key, version in sorted(self._all_tables()):
            named: list[Term | str] = [text for name, (_, type_) in version.columns.items() for text in (name, type_)]
            written = self._columns_written.get(key)
            # A table that a script makes has no plan; if its columns are unknown, all of the script may decide them.
            parts += [key, *(named or [version.whole if written is None else written])]
        return self._terms.of("schemas", *parts, *sorted(self._dropped))

    # Statements with a plan.

    def _of_plan(self, step: FileStep) -> None:
        nodes = nodes_of(step.shape)
        plan = _Plan(nodes, Relations(self._terms, nodes, self, step.within, is_seeded=bool(step.script)))
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

    def _of_frame(self, step: FileStep) -> None:
        """Follow a write of a DataFrame."""
        nodes = nodes_of(step.shape)
        if any(each.name == "LocalRelation" and each.arguments.get("data") == ["l"] for each in nodes):
            # In a dry run, the answer of a statement such as SHOW has no rows.
            raise IncomparableError("its plan has rows that only a real run knows")
        found = Relations(self._terms, nodes, self, step.within, is_seeded=True).with_layout(0)
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
            self._definitions.pop(key, None)
            self._put(key, found.rows, columns, how, layout=found.layout)
            return
        before = self._table(key) or Version(self._source(key), {}, self._definition(key), self._source(key))
        if before.kind == "view":
            raise IncomparableError("it writes to a view")
        rows, bound = self._stable(key, found.rows, columns, found.layout)
        every = {name: (self._terms.of("both", how, self._column_before(key, before, name)), before.columns[name][1])
                 for name in before.columns}  # fmt: skip
        for name, (term, type_) in bound.items():
            every[name] = (self._terms.of("both", how, self._column_before(key, before, name), term), type_)
        rows = self._terms.of("both", how, before.rows, rows)
        self._put(key, rows, every, before.definition, before, layout=found.layout)

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
            existing = self._table(key)
            if existing is not None and existing.kind == "table" and " IF NOT EXISTS " in f" {step.header} ":
                raise IncomparableError("it does nothing if the table exists")
            values = zip(names, found.values, found.output, strict=True)
            columns = {name.lower(): (term, each.type) for name, term, each in values}
            if len(columns) != len(names):
                raise IncomparableError("its columns differ only in case")
            if kind == "table":
                self._definitions[key] = TableDefinition(tuple(step.header.split(" ")))
            definition = self._terms.of("definition", step.header)
            keys = self._keys_by_name(key, columns, found) if kind == "table" else frozenset()
            self._put(key, found.rows, columns, definition, kind=kind, keys=keys, layout=found.layout)
            if kind == "table" and step.kind in _VIEWS:
                # A view in another catalog has the plan of a table, but is computed when it is read.
                self._late.add(key)
            else:
                self._late.discard(key)

    def _written(self, plan: _Plan) -> None:
        table, query = plan.nodes[plan.root.node("table")], plan.relations.with_layout(plan.root.node("query"))
        target = plan.table_of(table)
        output = table.output or ()
        if plan.root.arguments.get("isByName") is True:
            places = {each.name.lower(): term for each, term in zip(query.output, query.values, strict=True)}
            values = [places.get(each.name.lower()) for each in output]
        else:
            values = list(query.values)
        if len(values) != len(output) or None in values or len({each.name.lower() for each in output}) != len(output):
            raise IncomparableError("the columns that it writes are not those of the table")
        options = _options(plan.root, table)
        if options:
            # They may name a branch of the table, or say what becomes of other columns.
            scope = Scope({}, query.rows)
            given = [plan.relations.expressions.of(each, scope) for each in options]
            query = attrs.evolve(query, rows=self._terms.of("with options", query.rows, *given))
        columns = {own.name.lower(): (term, own.type) for own, term in zip(output, values, strict=True) if term}
        if plan.root.name == "OverwriteByExpression" and _is_true(plan, plan.root.arguments.get("deleteExpr")):
            keys = self._keys_by_name(target, columns, query, is_whole=True)
            self._put(target, query.rows, columns, self._definition(target), keys=keys, layout=query.layout)
            return
        rows, bound = self._stable(target, query.rows, columns, query.layout)
        before = self._before(target, output)
        if plan.root.name == "AppendData":
            if before.rows.kind == _EMPTY:
                keys = self._keys_by_name(target, columns, query)
                self._put(target, rows, bound, before.definition, before, keys=keys, layout=query.layout)
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
        self._put(target, rows, joined, before.definition, before, layout=query.layout)

    def _keys_by_name(
        self, key: str, columns: Mapping[str, tuple[Term, str]], query: RelationTerms, *, is_whole: bool = False
    ) -> frozenset[frozenset[str]]:
        """Return the names of the columns that identify a row, if the table returns their values as they were."""
        definition = self._definitions.get(key)
        if definition is None or not definition.is_faithful or not (is_whole or definition.keeps_no_existing):
            return frozenset()
        names = {term: name for name, (term, _) in columns.items()}
        return frozenset(frozenset(names[term] for term in each) for each in query.keys if each <= names.keys())

    def _updated(self, plan: _Plan) -> None:
        found = plan.relations.of(plan.root.node("table"))
        target = plan.table_below(plan.root.node("table"))
        scope = Scope(found.columns, found.rows)
        before = self._before(target, found.output)
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
        self._put(target, before.rows, columns, before.definition, before, keys=keys)

    def _deleted(self, plan: _Plan) -> None:
        found = plan.relations.of(plan.root.node("table"))
        target = plan.table_below(plan.root.node("table"))
        before = self._before(target, found.output)
        condition = plan.relations.expressions.of(
            plan.root.arguments.get("condition"), Scope(found.columns, found.rows)
        )
        rows = self._terms.of("delete", before.rows, condition)
        self._put(target, rows, before.columns, before.definition, before, keys=before.keys)

    def _merged(self, plan: _Plan) -> None:
        root, expressions = plan.root, plan.relations.expressions
        own = plan.relations.of(root.node("targetTable"))
        source = plan.relations.of(root.node("sourceTable"))
        target = plan.table_below(root.node("targetTable"))
        if set(own.columns) & set(source.columns) or root.arguments.get("withSchemaEvolution") not in (False, None):
            raise IncomparableError("its MERGE can't be compared")
        before = self._before(target, own.output)
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
        self._put(target, rows, columns, before.definition, before, keys=keys)

    def _note_place(self, key: str, whole: Term) -> None:
        """Note the content of a path, because another name may mean the same place."""
        definition = self._definitions.get(key)
        path = shared_path_of(key) or ("" if definition is None else definition.location)
        if path or is_pattern(key) or (definition is not None and definition.is_foreign):
            self._places[key] = (path or key, whole)

    def _definition(self, key: str) -> Term:
        version = self._table(key)
        return self._terms.of("definition of", key) if version is None else version.definition

    def _before(self, key: str, output: Sequence[PlanColumn]) -> Version:
        """Return the state of a table before a statement, with the columns that the statement knows."""
        rows, terms = self.read(key, output)
        columns = {each.name.lower(): (term, each.type) for each, term in zip(output, terms, strict=True)}
        version = self._table(key)
        if version is None:
            return Version(rows, columns, self._definition(key), self._source(key))
        if version.kind == "view":
            raise IncomparableError("it writes to a view")
        return attrs.evolve(version, columns=columns)

    def _stable(
        self, key: str, rows: Term, columns: Mapping[str, tuple[Term, str]], layout: Term | None
    ) -> tuple[Term, Mapping[str, tuple[Term, str]]]:
        """Return the terms; terms of values that may vary are bound to this statement and everything that it reads."""
        if not rows.is_unstable and not any(term.is_unstable for term, _ in columns.values()):
            return rows, columns
        whole = self._whole_of(key, rows, columns, self._terms.of("written", layout or ""))
        if rows.is_unstable:
            made = {name: (self._terms.of("made by", whole, name), type_) for name, (_, type_) in columns.items()}
            return self._terms.of("made by", whole), made
        return rows, {
            name: (self._terms.of("made by", whole, name) if term.is_unstable else term, type_)
            for name, (term, type_) in columns.items()
        }

    def _whole_of(self, key: str, rows: Term, columns: Mapping[str, tuple[Term, str]], definition: Term) -> Term:
        parts: list[Term | str] = [key, rows, definition]
        for name, (term, type_) in columns.items():
            parts += [name, type_, term]
        if rows.is_unstable or any(term.is_unstable for term, _ in columns.values()):
            # The value of an unstable term may vary: everything that it was made from must be identical.
            parts += [self._terms.of("read", each, self._whole(each)) for each in sorted(self._leaves)]
            parts += [self._random]
        found = self._terms.of("whole", *parts)
        return self._fixed(found)

    def _fixed(self, term: Term) -> Term:
        """Return a term that represents what was computed once."""
        return self._terms.of("once", str(term.number)) if term.is_unstable else term

    def _put(
        self,
        key: str,
        rows: Term,
        columns: Mapping[str, tuple[Term, str]],
        definition: Term,
        before: Version | None = None,
        *,
        kind: Kind = "table",
        keys: frozenset[frozenset[str]] = frozenset(),
        layout: Term | None = None,
    ) -> None:
        if self._settings is not self._initial_settings:
            rows = self._terms.of("under", self._settings, rows)
        if self._of_script.settings:
            rows = self._terms.of("in a script", self._of_script.settings, rows)
        if kind == "table":
            rows, columns = self._stable(key, rows, columns, layout)
        if layout is not None:
            definition = self._terms.of("laid out", definition, layout)
        whole = self._whole_of(key, rows, columns, definition)
        self._dropped.discard(key)
        self._note_place(key, whole)
        self._keep(key, Version(rows, columns, definition, whole, kind, *self._history(key, before), keys))

    def _history(self, key: str, before: Version | None) -> tuple[tuple[int, ...], frozenset[str]]:
        """Return the statements that have made a table, this one last, and the tables that they have read."""
        steps, reads = ((), frozenset[str]()) if before is None else (before.steps, before.reads)
        return (*steps, self._at), reads | ((self._leaves.keys() | self._views.keys()) - {key})

    # Statements without a plan.

    def _without_plan(self, step: FileStep) -> None:
        keys = [key_of_name(each) for each in step.targets]
        if (step.kind.startswith(_HARMLESS) and not step.kind.startswith("CreateNamespaceAs")) or step.is_inert:
            return
        if step.kind in _DROPS and keys:
            for key in keys:
                self._tables.pop(key, None)
                self._dropped.add(key)
        elif step.kind in _CREATES and keys:
            for key in keys:
                self._created(step, key)
        elif step.kind == "TruncateTable" and keys:
            for key in keys:
                self._emptied(key)
        elif keys and (step.kind.startswith(_ALTERS) or not step.kind.startswith(SETTINGS)):
            self._altered(step, keys)
        else:
            self._of_no_table(step)

    def _of_no_table(self, step: FileStep) -> None:
        """Follow a statement that names no table: it changes the session, or may change any table."""
        is_setting = step.kind.startswith(SETTINGS)
        if is_setting and "SELECT" not in step.key.split():
            self._settings = self._terms.of("then", self._settings, step.key)
            return
        self._settings = self._terms.of("then", self._settings, step.key, self._everything())
        if not is_setting:
            self._change_others(step, self._settings)

    def _created(self, step: FileStep, key: str) -> None:
        known = self._table(key)
        definition = self._terms.of("definition", step.key)
        is_kept = " IF NOT EXISTS " in f" {step.key} "
        if is_kept and known is not None and known.kind == "table":
            if known.definition is not definition:
                self._opaque(key, self._terms.of("created again", step.key, known.whole))
            return
        # A table that may exist keeps its rows, and a table with a location may have any rows.
        self._definitions[key] = TableDefinition(step.words)
        is_there = (is_kept and key not in self._dropped) or self._definitions[key].may_decide_rows
        rows = self._source(key) if is_there else self._terms.of(_EMPTY)
        self._dropped.discard(key)
        whole = self._whole_of(key, rows, {}, definition)
        self._keep(key, Version(rows, {}, definition, whole, steps=(self._at,)))

    def _emptied(self, key: str) -> None:
        known = self._table(key)
        definition = self._definition(key)
        columns = {} if known is None else {
            name: (self._terms.of(_EMPTY), type_) for name, (_, type_) in known.columns.items()
        }  # fmt: skip
        self._put(key, self._terms.of(_EMPTY), columns, definition, known)

    def _altered(self, step: FileStep, keys: Sequence[str]) -> None:
        version = self._table(keys[0])
        if step.kind == _RENAME and len(keys) == 2 and version is not None:
            old, new = keys
            del self._tables[old]
            self._dropped.add(old)
            self._dropped.discard(new)
            self._keep(new, attrs.evolve(version, steps=(*version.steps, self._at)))
            return
        done = self._terms.of("altered", step.key, self._settings, *map(self._whole, keys))
        for key in keys:
            self._opaque(key, done)

    # Statements that are compared by their text.

    def _by_text(self, step: FileStep, why: str) -> None:
        """Follow a statement that has the same result if its text and everything that it may read are the same."""
        self._unread[self._at] = why
        done = self._done(step)
        for key in map(key_of_name, step.targets):
            self._opaque(key, self._terms.of("done", done, self._whole(key)))
            for other, version in self._all_tables() if is_pattern(key) else ():
                if other != key and version.kind == "table" and may_be_one(key, other):
                    self._keep(other, self._changed(version, done, self._at))
        if step.words_of_names is not None:
            self._unread[self._at] = "what a script may write is not fully known"
            self._change_named(step.words_of_names, done)
        self._columns_written |= {key_of_name(each.name): each.columns for each in step.writes if each.columns}
        if not step.targets and step.kind != "script":
            self._settings = self._terms.of("then", self._settings, done)
            self._change_others(step, done)

    def _done(self, step: FileStep) -> Term:
        """Return the term of a statement by its text, and by everything that it may read."""
        if step.reads is None:
            given = self._everything()
        else:
            keys = [key_of_name(each) for each in step.reads]
            self._leaves.update(dict.fromkeys(keys))
            read = [self._terms.of("read", key, self._whole(key)) for key in sorted(keys)]
            given = self._terms.of("read", *read, self._schemas())
        code = (step.kind, step.key, step.behind, step.within)
        return self._terms.of("done", *code, given, self._settings, self._random, *self._of_script.every())

    def _opaque(self, key: str, done: Term) -> None:
        before = self._table(key)
        rows = self._terms.of("rows of", done, key)
        self._dropped.discard(key)
        self._columns_written.pop(key, None)
        definition, whole = self._terms.of("definition of", done), self._terms.of("whole", done, key)
        self._note_place(key, whole)
        # Its columns follow from its rows: if the rows are the same, so is each column.
        self._keep(key, Version(rows, {}, definition, whole, "table", *self._history(key, before)))


def _keys_without(version: Version, names: Iterable[str]) -> frozenset[frozenset[str]]:
    """Return the keys of a table that have none of some columns."""
    return frozenset(each for each in version.keys if each.isdisjoint(names))


def _why_by_text(step: FileStep) -> str:
    """Return why a statement is compared by its text."""
    if step.kind == "script":
        return "a script is compared by its code and everything that it reads"
    if step.has_more_than_its_plan:
        return "its plan does not show which version of a table it reads, or which rows of each key it keeps"
    return "Spark can't analyze it, or something else decides whether it runs"


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
