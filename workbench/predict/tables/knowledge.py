"""Supply known tables and functions to Spark when an analysis misses them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.listener.probe.client import analysis_errors, refusal_of
from openlineage_pyspark.workbench.predict.tables.declared import (
    SPARK_CATALOG,
    DeclaredTable,
    DeclaredTables,
    Parts,
    in_backticks,
    name_key,
)
from openlineage_pyspark.workbench.predict.tables.uses import type_by_use
from openlineage_pyspark.workbench.predict.tables.words import first_word, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from openlineage_pyspark.listener.probe.client import Refusal
    from openlineage_pyspark.workbench.predict.tables.consequence import Consequence, Consequences
    from openlineage_pyspark.workbench.predict.tables.declaring import DeclaringSpark

# A field of VOID would have no source, although VOID becomes any other type.
TEXT_TYPE = "STRING"
"""The type of a column whose type is unknown."""
UNKNOWN_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_OTHER_TYPE = "INCOMPATIBLE_DATA_FOR_TABLE"
_NO_DATA = "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA"
_UNFIT_TYPE = "DATATYPE_MISMATCH"
_NO_CONDITION = "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"
_UNFIT_BASE = "INVALID_EXTRACT_BASE_FIELD_TYPE"
_UNFIT_TYPES = (_OTHER_TYPE, _UNFIT_TYPE, "INVALID_EXTRACT")
# A class of types that Spark requires -> a type of that class.
_FITTING = {"NUMERIC": "DOUBLE", "INTEGRAL": "BIGINT", "ARRAY": "ARRAY<STRING>", "MAP": "MAP<STRING, STRING>"} | {
    each: each for each in ("BIGINT", "BINARY", "BOOLEAN", "DATE", "DOUBLE", "INT", "TIMESTAMP")
}
UNKNOWN_FUNCTIONS = ("UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND")
_UNKNOWN_CATALOGS = frozenset({"REQUIRES_SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND"})
_UNKNOWN_DATABASE = "SCHEMA_NOT_FOUND"
_NO_PARTITION = "NON_PARTITION_COLUMN"
_QUOTED = re.compile(r'"(\w+)"')


class Knowledge:
    """
    The definitions that statements may use; each is declared to Spark when an analysis misses it.

    If only the name or the text of a definition is known, Spark gets a fitting guess, for one statement.

    Args:
        spark: the Spark to which definitions are declared.
        tables: the known tables. Those that statements create are added.
        consequences: collects the changes.
    """

    def __init__(self, spark: DeclaringSpark, tables: DeclaredTables, consequences: Consequences) -> None:
        self._spark = spark
        self._tables = tables
        self._consequences = consequences
        self._put: set[Parts] = set()
        # The partition columns that PARTITION clauses have named.
        self._partitions: dict[Parts, Parts] = {}
        self._declared_since: list[DeclaredTable] = []
        # The tables of refused statements -> the places of these; and the tables that are made from such tables.
        self._from_text: dict[Parts, str] = {}
        self._made: set[Parts] = set()
        self._declared: set[str] = set()
        # The current statement, what it can see, and the definitions that were supplied for it alone.
        self.text = ""
        self._reach: Collection[str] | None = None
        self._loosened = False
        self._guesses: dict[tuple[Parts, str], str] = {}
        self._filled_in_part: set[Parts] = set()
        self._stubs: list[str] = []
        self._of_type: set[str] = set()
        self.missed: Refusal | None = None

    def begin(self, text: str) -> None:
        """Begin to analyze a statement."""
        self.text, self.missed = text, None

    def see(self, reach: Collection[str] | None) -> Mapping[Parts, str]:
        """
        Limit what the next statement can see; return its tables that are known only from a text, each with its place.

        Args:
            reach: the last parts of all names that it can see, in lower case; None if these are unknown.
        """
        self._reach = reach
        return {parts: place for parts, place in self._from_text.items() if self._is_near(parts)}

    def computed(self) -> Mapping[Parts, tuple[tuple[str, str], ...]]:
        """Return the tables that the current statement can see and that compute columns, each with these."""
        return {each.parts: each.computed for each in self._tables if each.computed and self._is_near(each.parts)}

    def is_unsure(self, parts: Parts) -> bool:
        """Return whether the column types of a table are uncertain."""
        return name_key(parts) in self._made | self._from_text.keys()

    def note_unsure(self, parts: Parts) -> None:
        """Remember that the column types of a table are uncertain."""
        self._made.add(name_key(parts))
        self._consequences.add("unsure", parts[-1], parts)

    def declare(self, table: DeclaredTable, from_text: str = "") -> None:
        """
        Declare a table to statements.

        Args:
            table: the table.
            from_text: the place of the statement that creates it, if Spark refuses that, so that its types are unknown.
        """
        self._tables.put(table)
        self._declared_since.append(table)
        self._put.discard(table.key)
        self._from_text.pop(table.key, None)
        if from_text:
            self._from_text[table.key] = from_text
        self._consequences.add_table(table, from_text)
        self._know(table.parts)

    def forget(self, parts: Parts) -> None:
        """Remove a table."""
        known = self._tables.get(parts)
        if known is not None:
            self._tables.drop(known.parts)
        self._put.discard(name_key(parts))
        self._from_text.pop(name_key(parts), None)
        self._consequences.add("forgotten", parts[-1], parts)
        self._spark.drop_table(parts)

    def name_places(self, places: Mapping[str, str]) -> None:
        """Name the places of statements from whose texts tables are declared, which had other names until now."""
        self._from_text = {parts: places.get(place, place) for parts, place in self._from_text.items()}

    def restore(self, effects: Iterable[Consequence]) -> None:
        """Repeat the changes that a statement has made in another session, except those that only Spark holds."""
        for each in effects:
            if each.table is not None:
                self.declare(each.table, each.from_text)
            elif each.kind == "forgotten":
                self.forget(each.parts)
            elif each.kind == "unsure":
                self._made.add(name_key(each.parts))
            elif each.kind == "catalog":
                self._spark.register_catalog(each.parts or (each.name,))
        self._consequences.take()

    def made(self) -> tuple[DeclaredTable, ...]:
        """Return the tables that were declared since the last call."""
        found, self._declared_since = tuple(self._declared_since), []
        return found

    def known(self, parts: Parts) -> DeclaredTable | None:
        """Return a declared table by its full name; None if there is none."""
        return self._tables.get(parts)

    def know_function(self, name: str) -> None:
        """
        Declare a function whose name alone is known: edges through it are opaque.

        Args:
            name: its name, perhaps with a database before it.
        """
        self._spark.register_function(name)
        self._declared.add(name.lower())
        self._consequences.add("object", "".join(names_in(name)[-1:]))

    def note_types(self, parts: Parts) -> None:
        """Remember that the types of a table are uncertain, if those of a table that its statement can see are."""
        if any(map(self._is_near, (*self._from_text, *self._made))):
            self.note_unsure(parts)

    def retried(self, action: Callable[[], Any]) -> Any:
        """Run an action; whenever Spark misses a known definition, supply it and repeat the action."""
        while True:
            try:
                return action()
            except analysis_errors() as problem:  # noqa: PERF203 (each attempt supplies one definition)
                if not self._supply(refusal_of(problem)):
                    raise

    def end(self) -> None:
        """End a statement: drop the definitions that were supplied for it."""
        if self._loosened or self._guesses:
            self._loosened = False
            self._guesses.clear()
            self._put_from_text(of_any_type=False)
        for key in self._filled_in_part:
            if (table := self._tables.get(key)) is not None:
                partitions = self._partitions.get(key, table.partitions)
                self._spark.put_table(_whole(key, table), attrs.evolve(table, partitions=partitions))
        self._filled_in_part.clear()
        for name in self._of_type & self._declared:
            self._spark.register_function(name)
        self._of_type.clear()
        while self._stubs:
            self._spark.session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {in_backticks(self._stubs.pop())}")

    def explained(self, refusal: Refusal) -> Refusal:
        """Return a refusal that names the unknown types, if it is about such types."""
        why = ", and ".join(self._unknown_types(refusal)) if refusal.code.startswith(_UNFIT_TYPES) else ""
        return attrs.evolve(refusal, message=f"{why}; so Spark reports: {refusal.message}") if why else refusal

    def _unknown_types(self, refusal: Refusal) -> Iterator[str]:
        """Yield a sentence about each type in a refusal that is unknown here, and was guessed."""
        quoted = " ".join(re.findall(r'"([^"]*)"', refusal.message))
        named = {word.lower() for word in re.findall(r"\w+", quoted)}
        tables = {key: self._tables.get(key) for key in self._from_text if self._is_near(key)}
        guessed = {
            self._from_text[key]
            for key, table in tables.items()
            if table is not None and any(name.lower() in named and type_ == TEXT_TYPE for name, type_ in table.columns)
        }
        if guessed:
            where = ", ".join(sorted(guessed))
            yield f"the types of columns are unknown: Spark can't analyze what makes their table ({where})"
        yield from (f"the type of the function {name} is unknown" for name in sorted(self._declared & named))

    def _is_near(self, parts: Parts) -> bool:
        """Return whether the current statement can see a table."""
        return self._reach is None or parts[-1].lower() in self._reach

    def _supply(self, refusal: Refusal) -> bool:
        """Supply a definition that an analysis missed, and return whether there was one."""
        missed = refusal.parameters
        if refusal.code == UNKNOWN_TABLE:
            return self._know(self._spark.whole(names_in(missed.get("relationName", ""))))
        if refusal.code.startswith(UNKNOWN_FUNCTIONS):
            return self._stand_in(names_in(missed.get("routineName", "")), refusal)
        if refusal.code.startswith((_UNFIT_TYPE, _UNFIT_BASE)):
            return self._guess(refusal)
        if refusal.code == _NO_DATA and self._spark.is_old and first_word(self.text) == "INSERT":
            return self._fill_in_part(names_in(missed.get("tableName", "")))
        if refusal.code.startswith(_OTHER_TYPE) and self._from_text and not self._loosened:
            self._loosened = True
            self._put_from_text(of_any_type=True, besides=name_key(names_in(missed.get("tableName", ""))))
            return True
        if refusal.code == _NO_PARTITION:
            return self._partition(names_in(missed.get("columnName", ""))[-1:])
        if refusal.code in _UNKNOWN_CATALOGS:
            name = missed.get("identifier") or missed.get("namespace") or missed.get("catalogName", "")
            return self._spark.register_catalog(names_in(name)[:1])
        if refusal.code == _UNKNOWN_DATABASE:
            names = names_in(missed.get("schemaName", ""))
            names = names[1:] if names[:1] == (SPARK_CATALOG,) else names
            # Spark may treat the name of an unknown catalog as that of a database.
            return self._spark.register_catalog(names[:1]) if len(names) > 1 else self._spark.make_database(names)
        return False

    def _fill_in_part(self, name: Parts) -> bool:
        """
        Let an INSERT fill only some columns of a table, for one statement; return whether the table is known here.

        Spark 3.5 fills the others of its own tables with NULL or a default value, but not those of declared ones.
        """
        key = name_key(self._spark.whole(name))
        table = self._tables.get(key)
        if table is None or key in self._filled_in_part:
            return False
        self._filled_in_part.add(key)
        parted = attrs.evolve(table, partitions=self._partitions.get(key, table.partitions))
        self._spark.put_table(_whole(key, table), parted, filled_in_part=True)
        return True

    def _stand_in(self, names: Parts, refusal: Refusal) -> bool:
        """Declare an opaque function instead of an unknown one; return whether this was possible."""
        names = without_catalog(names)
        if len(names) != 1 or names[0] in self._stubs:
            return False
        self.missed = self.missed or refusal
        self._stubs.append(names[0])
        self._spark.register_function(names[0])
        return True

    def _partition(self, names: Parts) -> bool:
        """Partition the tables of which only columns are known by those of a PARTITION clause; return if any is."""
        found = False
        for key in self._put:
            table = self._tables.get(key)
            if table is None or not self._tables.is_given(table):
                continue
            partitions = self._partitions.get(key, table.partitions)
            spelt = {name.lower(): name for name, _ in table.columns}
            more = tuple(spelt[each.lower()] for each in names if each.lower() in spelt)
            if more and not set(more) <= set(partitions):
                self._partitions[key] = (*partitions, *more)
                self._spark.put_table(_whole(key, table), attrs.evolve(table, partitions=self._partitions[key]))
                found = True
        return found

    def _know(self, parts: Parts) -> bool:
        """Declare a table to Spark if it is known here and not yet declared; return whether this was so."""
        table = self._tables.get(parts)
        if table is None or name_key(parts) in self._put:
            return False
        self._spark.ensure(parts)
        self._spark.put_table(parts, table)
        self._put.add(name_key(parts))
        return True

    def _put_from_text(self, *, of_any_type: bool, besides: Parts = ()) -> None:
        """Declare tables with unknown types to Spark again, with types that fit everywhere or those of the text."""
        for key in self._of_unknown_types() - {besides}:
            table = self._tables.get(key)
            if table is not None:
                columns = tuple((name, self._guesses.get((key, name), type_)) for name, type_ in table.columns)
                table = attrs.evolve(table, columns=columns)
                is_loose = of_any_type and key in self._from_text
                self._spark.put_table(table.parts, _of_any_type(table) if is_loose else table)

    def _of_unknown_types(self) -> set[Parts]:
        """Return the tables with uncertain types: those known from a text, and those made from them."""
        return {each for each in self._put & (self._from_text.keys() | self._made) if self._is_near(each)}

    def _guess(self, refusal: Refusal) -> bool:
        """Give columns, or else a function, of an unknown type the required type; return whether there are any."""
        missed = refusal.parameters
        wanted = _QUOTED.findall(missed.get("requiredType") or missed.get("inputType", ""))
        type_ = next((_FITTING[each] for each in wanted if each in _FITTING), None)
        type_ = "BOOLEAN" if refusal.code == _NO_CONDITION else type_
        text = missed.get("inputSql") or missed.get("filter") or missed.get("base") or missed.get("sqlExpr", "")
        named = {each.lower() for each in re.findall(r"\w+", text)}
        found: dict[tuple[Parts, str], str] = {}
        for key in self._of_unknown_types():
            table = self._tables.get(key)
            for name, known in () if table is None else table.columns:
                if known == TEXT_TYPE and name.lower() in named and (key, name) not in self._guesses:
                    is_base = refusal.code.startswith(_UNFIT_BASE)
                    fitting = type_by_use(self.text, name) if is_base else type_
                    found |= {} if fitting is None else {(key, name): fitting}
        if not found and type_ is not None:
            return self._guess_function(named, type_)
        self._guesses.update(found)
        self._put_from_text(of_any_type=self._loosened)
        return bool(found)

    def _guess_function(self, named: set[str], type_: str) -> bool:
        """Give a function whose name alone is known the required type, for one statement; return whether it exists."""
        every = {each.lower(): each for each in (*self._declared, *self._stubs)}
        names = [every[each] for each in sorted(named & every.keys()) if each not in self._of_type]
        for name in names[:1]:
            self._of_type.add(name.lower())
            self._spark.register_function(name, type_)
        return bool(names)


def _whole(key: Parts, table: DeclaredTable) -> Parts:
    """Return the full name of a table, whose given name may lack the catalog."""
    return (*key[: -len(table.parts)], *table.parts)


def _of_any_type(table: DeclaredTable) -> DeclaredTable:
    """Return a table that can be written anywhere: its columns of unknown types are VOID."""
    return attrs.evolve(table, columns=tuple((n, "VOID" if t == TEXT_TYPE else t) for n, t in table.columns))


def without_catalog(names: Parts) -> Parts:
    """Return the name of a function without what Spark adds to a name that it does not find."""
    return (
        names[2:] if names[:2] == (SPARK_CATALOG, "default") else names[1:] if names[:1] == (SPARK_CATALOG,) else names
    )
