"""The state of each table between the statements of a sequence, as terms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs
from openlineage_pyspark.workbench.rebuild.contents import ScriptContents
from openlineage_pyspark.workbench.rebuild.places import (
    TableDefinition,
    database_of,
    is_named_by,
    is_pattern,
    managed_path_of,
    managed_table_at,
    may_be_made_of,
    may_be_one,
    may_share,
    shared_path_of,
)
from openlineage_pyspark.workbench.rebuild.shape import IncomparableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.workbench.rebuild.shape import PlanColumn
    from openlineage_pyspark.workbench.rebuild.terms import Term, Terms

Kind: TypeAlias = Literal["table", "view"]
EMPTY = "empty"
"""The kind of the term of no rows."""


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


IN_FOLDER = "in a folder"
"""The kind of the term of a value in a column of partitions that the name of a folder may not give back."""
# A folder has the same name for NULL as for an empty text, and the local time of a timestamp, without its zone.
_UNFAITHFUL = re.compile('"(?:binary|char|string|varchar|timestamp(?!_ntz))', re.IGNORECASE)


class TableStates:
    """
    The tables as they are after the statements so far, and what else decides about what the next statement reads.

    Args:
        terms: all terms, of both sides.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self.at = 0
        """The index of the current statement in the sequence."""
        self.settings = terms.of("as it begins")
        self.random = terms.of("nothing random")
        self.declared = terms.of("nothing declared")
        self.dropped: set[str] = set()
        self.definitions: dict[str, TableDefinition] = {}
        self.columns_written: dict[str, str] = {}
        """The columns that scripts write, as they name them, of tables that have no plan."""
        self.late: set[str] = set()
        """Views that their catalog stores like tables."""
        self.leaves: dict[str, None] = {}
        """The tables that the current statement reads."""
        self._views: dict[str, None] = {}
        self._tables: dict[str, Version] = {}
        self._initial_settings = self.settings
        self._databases: dict[str, str] = {}
        self._places: dict[str, tuple[str, Term]] = {}
        self._changes = terms.of("changes of any table")
        self._changed_at = 0
        self._known_changes: dict[str, Term] = {}
        self._unsure: list[tuple[frozenset[str], Term]] = []
        self.of_script = ScriptContents(terms, self.whole)

    def begin(self, at: int) -> None:
        """
        Begin a statement, which has read nothing yet.

        Args:
            at: its index in the sequence.
        """
        self.at, self.leaves, self._views = at, {}, {}

    # What the tables are now.

    def keep(self, key: str, version: Version) -> None:
        """Keep the state of a table."""
        self._tables[key] = version
        self._known_changes[key] = self._changes

    def now(self, key: str) -> Version | None:
        """Return the state of a table, with what statements may have done to it that do not name it."""
        version = self._tables.get(key)
        known = self._known_changes.get(key)
        if version is None or version.kind == "view" or known is None or known is self._changes:
            return version
        changed = self.changed(version, self._terms.of("since", known, self._changes), self._changed_at)
        self.keep(key, changed)
        return changed

    def all_now(self) -> list[tuple[str, Version]]:
        """Return the keys of all tables that statements have made, with their states."""
        return [(key, self.now(key) or version) for key, version in list(self._tables.items())]

    def all_at_end(self) -> dict[str, Version]:
        """Return all tables at the end of the sequence, with what was written to their paths under other names."""
        return {key: self._at_its_path(key, version) for key, version in self.all_now()}

    def _at_its_path(self, key: str, version: Version) -> Version:
        definition = self.definitions.get(key)
        anywhere = definition is not None and definition.is_foreign
        if version.kind == "view" or "/" in key or anywhere or not self._path_of(key):
            return version
        rows, whole = (self._with_shared_places(key, each) for each in (version.rows, version.whole))
        return attrs.evolve(version, rows=rows, whole=whole)

    def drop(self, key: str) -> None:
        """Follow the drop of a table."""
        self._tables.pop(key, None)
        self.dropped.add(key)

    def rename(self, old: str, new: str, version: Version) -> None:
        """Follow a statement that gives a table another name."""
        self.drop(old)
        self.dropped.discard(new)
        self.keep(new, attrs.evolve(version, steps=(*version.steps, self.at)))

    def change_any(self, done: Term) -> None:
        """Follow what may change any table."""
        self._changes = self._terms.of("then", self._changes, done)
        self._changed_at = self.at

    def change_named(self, words: frozenset[str], done: Term) -> None:
        """Follow what may change each table whose name may be made of some words."""
        self._unsure.append((words, done))
        for key, version in self.all_now():
            if version.kind == "table" and may_be_made_of(key, words):
                self.keep(key, self.changed(version, done, self.at))

    def changed(self, version: Version, done: Term, at: int) -> Version:
        """Return a table after a statement that may have changed its rows in any way."""
        rows, whole = (self._terms.of("changed", each, done) for each in (version.rows, version.whole))
        steps = version.steps if version.steps[-1:] == (at,) else (*version.steps, at)
        return attrs.evolve(version, rows=rows, whole=whole, steps=steps, keys=frozenset())

    # What a statement reads.

    def read(self, key: str, columns: Sequence[PlanColumn]) -> tuple[Term, Sequence[Term]]:
        """
        Return the terms of a table's rows, and of some of its columns.

        Args:
            key: its name.
            columns: the columns, as the plan knows them.
        """
        self.leaves[key] = None
        version = self.now(key)
        rows = self.source(key) if version is None else self._with_shared_places(key, version.rows)
        earlier = self.of_script.of_any_time(key)
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
        """Return the names of the columns that identify a row of a table."""
        version = self.now(key)
        is_alone = version is not None and self._with_shared_places(key, version.rows) is version.rows
        is_alone = is_alone and not self.of_script.earlier(key)
        return version.keys if version is not None and is_alone else frozenset()

    def note_view(self, key: str) -> None:
        """Note a view through which a plan reads."""
        # It has no rows of its own: the plan contains its query, and reads the tables below it.
        self._views[key] = None

    def source(self, key: str) -> Term:
        """Return the term of the rows of a table that no statement has made."""
        kind = "dropped" if key in self.dropped else "source"
        definition = self.definitions.get(key)
        words = definition.words if definition is not None and definition.may_decide_rows else ()
        done = [each for of_names, each in self._unsure if may_be_made_of(key, of_names)]
        return self._with_shared_places(key, self._terms.of(kind, key, *words, *done))

    def note_database(self, words: Sequence[str]) -> None:
        """Note where the tables of a new database are."""
        name, path = database_of(words)
        if path:
            self._databases[name] = path

    def _path_of(self, key: str) -> str:
        """Return the path at which a table is known to be; empty if none is."""
        definition = self.definitions.get(key)
        path = shared_path_of(key) or ("" if definition is None else definition.location)
        database, _, table = key.rpartition(".")
        return path or (f"{self._databases[database]}/{table}" if database in self._databases else "")

    def _with_shared_places(self, key: str, term: Term) -> Term:
        """Return a term that includes what was written, under other names, to places that the table may share."""
        if key in self.late:
            return self._terms.of("late", term, self.everything())
        definition = self.definitions.get(key)
        known = self._path_of(key)
        path = known or managed_path_of(key)
        anywhere = definition is not None and definition.is_foreign
        there = [
            self._terms.of("place", other, written)
            for other, (place, written) in sorted(self._places.items())
            if other != key and (anywhere or (path and may_share(path, place)) or may_be_one(place, key))
        ]
        managed = managed_table_at(known)
        if managed != key and managed in self._tables:
            there.append(self._terms.of("place", managed, (self.now(managed) or self._tables[managed]).whole))
        return self._terms.of("with", term, *there) if there else term

    def whole(self, key: str) -> Term:
        """Return the term of a whole table as it is now."""
        version = self.now(key)
        return self.source(key) if version is None else self._with_shared_places(key, version.whole)

    def everything(self) -> Term:
        """Return the term of the state of all tables, for a statement that may read any of them."""
        parts: list[Term | str] = [self.settings, self.random, self.declared]
        for key, version in sorted(self.all_now()):
            parts += [key, version.whole]
        return self._terms.of("everything", *parts, *sorted(self.dropped))

    def named(self, names: frozenset[str]) -> Term:
        """Return the term of the state of all tables that a statement may read by some names."""
        found = {key for key in self._tables if is_named_by(key, names)}
        # Another name may mean the same place.
        found |= self._places.keys()
        waiting = list(found)
        while waiting:
            version = self.now(waiting.pop())
            # What has no columns here may be a view, or another name of a table, for its own engine.
            if version is not None and (version.kind == "view" or not version.columns):
                waiting += version.reads - found
                found |= version.reads
        self.leaves.update(dict.fromkeys(sorted(found)))
        parts = [part for key in sorted(found) for part in (key, self.whole(key))]
        gone = sorted(each for each in self.dropped if is_named_by(each, names))
        return self._terms.of("named", self.declared, *parts, *gone)

    def schemas(self) -> Term:
        """Return the term of the existing tables and their columns, which a script may query."""
        parts: list[Term | str] = [self.declared]
        for key, version in sorted(self.all_now()):
            named: list[Term | str] = [text for name, (_, type_) in version.columns.items() for text in (name, type_)]
            written = self.columns_written.get(key)
            # A table that a script makes has no plan; if its columns are unknown, all of the script may decide them.
            parts += [key, *(named or [version.whole if written is None else written])]
        return self._terms.of("schemas", *parts, *sorted(self.dropped))

    # What a statement writes.

    def note_place(self, key: str, whole: Term) -> None:
        """Note the content of a path, because another name may mean the same place."""
        definition, path = self.definitions.get(key), self._path_of(key)
        if path or is_pattern(key) or (definition is not None and definition.is_foreign):
            self._places[key] = (path or key, whole)

    def definition_of(self, key: str) -> Term:
        """Return the term of a table's definition."""
        version = self.now(key)
        return self._terms.of("definition of", key) if version is None else version.definition

    def before(self, key: str, output: Sequence[PlanColumn]) -> Version:
        """Return the state of a table before a statement, with the columns that the statement knows."""
        rows, terms = self.read(key, output)
        columns = {each.name.lower(): (term, each.type) for each, term in zip(output, terms, strict=True)}
        version = self.now(key)
        if version is None:
            return Version(rows, columns, self.definition_of(key), self.source(key))
        if version.kind == "view":
            raise IncomparableError("it writes to a view")
        return attrs.evolve(version, columns=columns)

    def bound(
        self, key: str, rows: Term, columns: Mapping[str, tuple[Term, str]], layout: Term | None
    ) -> tuple[Term, Mapping[str, tuple[Term, str]]]:
        """Return the terms; terms of values that may vary are bound to this statement and everything that it reads."""
        if not rows.is_unstable and not any(term.is_unstable for term, _ in columns.values()):
            return rows, columns
        whole = self.whole_of(key, rows, columns, self._terms.of("written", layout or ""))
        if rows.is_unstable:
            made = {name: (self._terms.of("made by", whole, name), type_) for name, (_, type_) in columns.items()}
            return self._terms.of("made by", whole), made
        return rows, {
            name: (self._terms.of("made by", whole, name) if term.is_unstable else term, type_)
            for name, (term, type_) in columns.items()
        }

    def whole_of(self, key: str, rows: Term, columns: Mapping[str, tuple[Term, str]], definition: Term) -> Term:
        """Return the term of a whole table that the current statement writes."""
        parts: list[Term | str] = [key, rows, definition]
        for name, (term, type_) in columns.items():
            parts += [name, type_, term]
        if rows.is_unstable or any(term.is_unstable for term, _ in columns.values()):
            # The value of an unstable term may vary: everything that it was made from must be identical.
            parts += [self._terms.of("read", each, self.whole(each)) for each in sorted(self.leaves)]
            parts += [self.random]
        found = self._terms.of("whole", *parts)
        # It was computed once.
        return self._terms.of("once", str(found.number)) if found.is_unstable else found

    def put(
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
        """Keep what the current statement makes of a table, under the settings of the session."""
        if kind == "table":
            rows, columns = self._as_returned(key, rows, columns, before)
        if self.settings is not self._initial_settings:
            rows = self._terms.of("under", self.settings, rows)
        if self.of_script.settings:
            rows = self._terms.of("in a script", self.of_script.settings, rows)
        if kind == "table":
            rows, columns = self.bound(key, rows, columns, layout)
        if layout is not None:
            definition = self._terms.of("laid out", definition, layout)
        whole = self.whole_of(key, rows, columns, definition)
        self.dropped.discard(key)
        self.note_place(key, whole)
        self.keep(key, Version(rows, columns, definition, whole, kind, *self._history(key, before), keys))

    def _as_returned(
        self, key: str, rows: Term, columns: Mapping[str, tuple[Term, str]], before: Version | None
    ) -> tuple[Term, Mapping[str, tuple[Term, str]]]:
        """Return the terms of what readers get from a table, of what the current statement has written."""
        definition = self.definitions.get(key)
        if definition is None or rows.kind == EMPTY:
            return rows, columns
        # What a statement leaves as it was has been written before.
        kept = {} if before is None else {name: term for name, (term, _) in before.columns.items()}
        new = {name: column for name, column in columns.items() if column[0] is not kept.get(name)}
        if definition.may_change_values:
            form = self._terms.of("format", *definition.words)
            rows = rows if before is not None and rows is before.rows else self._terms.of("written", form, rows)
            made = {name: (self._terms.of("written", form, term), type_) for name, (term, type_) in new.items()}
        else:
            changing = {name for name, (_, type_) in new.items() if _UNFAITHFUL.match(type_)}
            of_folders = {name for name in changing if name.lower() in definition.partitions}
            made = {name: (self._terms.of(IN_FOLDER, new[name][0]), new[name][1]) for name in of_folders}
        # The columns keep their order.
        return rows, {**columns, **made}

    def _history(self, key: str, before: Version | None) -> tuple[tuple[int, ...], frozenset[str]]:
        """Return the statements that have made a table, this one last, and the tables that they have read."""
        steps, reads = ((), frozenset[str]()) if before is None else (before.steps, before.reads)
        return (*steps, self.at), reads | ((self.leaves.keys() | self._views.keys()) - {key})

    def replace_unknown(self, key: str, done: Term) -> None:
        """Keep a table of which only the statement that made it is known."""
        before = self.now(key)
        rows = self._terms.of("rows of", done, key)
        self.dropped.discard(key)
        self.columns_written.pop(key, None)
        definition, whole = self._terms.of("definition of", done), self._terms.of("whole", done, key)
        self.note_place(key, whole)
        # Its columns follow from its rows: if the rows are the same, so is each column.
        self.keep(key, Version(rows, {}, definition, whole, "table", *self._history(key, before)))
