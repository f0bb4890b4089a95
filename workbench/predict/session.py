"""
The throw-away Spark session that analyzes the statements of scripts: local, without a network and without rows.

Nothing is run. The tables are declared in catalogs that hold names and schemas alone (`DeclaredTables.java`), so no
connector, metastore or file is needed; what a statement would make is declared after it. Views, settings, variables and
SQL functions live in the session itself.

Whoever wrote the scripts need not be trusted: in a pull request they come from anybody, and what is found goes into a
comment. So no statement computes a value (Spark's `java_method` calls any method of Java), opens a file or a
connection, loads a class that it names, or starts Python.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import ProbeError
from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens
from openlineage_pyspark.listener.analyze import EncodedQuery, attempted_plan, encoded_query
from openlineage_pyspark.listener.probe.client import (
    Refusal,
    StatementRefusedError,
    analysis_errors,
    as_probe_error,
    refusal_in,
    refusal_of,
    spark_errors,
)
from openlineage_pyspark.workbench.predict.assigned import assigned
from openlineage_pyspark.workbench.predict.databricks import as_spark, has_no_lineage, makes_function, reads_files
from openlineage_pyspark.workbench.predict.declared import (
    SPARK_CATALOG,
    DeclaredTable,
    DeclaredTables,
    Parts,
    in_backticks,
    name_key,
)
from openlineage_pyspark.workbench.predict.headers import plainly_created
from openlineage_pyspark.workbench.predict.text import is_format_and_path
from openlineage_pyspark.workbench.predict.uses import type_by_use
from openlineage_pyspark.workbench.predict.variables import UnknownVariableError, placeheld, substituted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from openlineage_pyspark.workbench.predict.statements import Loop

_JAVA = "DeclaredTables.java"
_SHAPE_JAVA = "PlanShape.java"
_SHAPE_CLASS = "openlineage.pyspark.PlanShape"
_CLASS = "openlineage.pyspark.DeclaredTables"
_JAVA_VERSION = 8
# Providers whose tables keep the order of their columns.
_OWN_ORDER = frozenset({"iceberg", "delta", "hudi", "paimon"})

# Of VOID, which becomes any other type, a field would have no source.
TEXT_TYPE = "STRING"
"""The type of a column of which no type is known."""
UNOPENED = "unopened"
"""The parameter of a refusal that has the provider of a view whose columns are not known."""
_UNKNOWN_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_OTHER_TYPE = "INCOMPATIBLE_DATA_FOR_TABLE"
_UNFIT_TYPE = "DATATYPE_MISMATCH"
_NO_CONDITION = "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"
_UNFIT_BASE = "INVALID_EXTRACT_BASE_FIELD_TYPE"
_UNFIT_TYPES = (_OTHER_TYPE, _UNFIT_TYPE, "INVALID_EXTRACT")
# A kind of types that Spark misses -> a type of that kind.
_FITTING = {"NUMERIC": "DOUBLE", "INTEGRAL": "BIGINT", "ARRAY": "ARRAY<STRING>", "MAP": "MAP<STRING, STRING>"} | {
    each: each for each in ("BIGINT", "BINARY", "BOOLEAN", "DATE", "DOUBLE", "INT", "TIMESTAMP")
}
_UNKNOWN_FUNCTIONS = ("UNRESOLVED_ROUTINE", "ROUTINE_NOT_FOUND", "MISSING_CATALOG_ABILITY.FUNCTIONS")
_UNKNOWN_CATALOGS = frozenset({"REQUIRES_SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND"})
_UNKNOWN_DATABASE = "SCHEMA_NOT_FOUND"
# Settings that would load classes, or open files; Spark takes those of Hadoop from a session, too.
_KEPT_SETTINGS = ("spark.sql.catalog.", "spark.sql.runsqlonfiles", "spark.sql.variable.", "spark.openlineage.",
                  "spark.hadoop.", "spark.hive.",
                  "hadoop.", "fs.", "dfs.", "ipc.", "javax.", "hive.")  # fmt: skip

# The kinds of statements that make a table or a view; their names are those of Spark's parsed plans.
_CREATES = frozenset({"CreateTable", "ReplaceTable"})
_FILLS = frozenset({"CreateTableAsSelect", "ReplaceTableAsSelect"})
_VIEWS = frozenset({"CreateView", "CreateViewCommand"})
_ALTERED_VIEW = "AlterViewAs"
_CACHES = "CacheTableAsSelect"
_PROVIDED_VIEW = "CreateTempViewUsing"
_DECLARING = frozenset({"DECLARE", "OR", "REPLACE", "VARIABLE", "VAR"})
_LIKE = frozenset({"CreateTableLike", "CreateTableLikeCommand"})
PIPELINE_TABLES = frozenset({"CreateMaterializedViewAsSelect", "CreateStreamingTableAsSelect"})
"""The statements that make the tables of declarative pipelines; a flow is an INSERT into one."""
_FLOW = "CreateFlowCommand"
_TEMPORARY_VIEW = "CreateViewCommand"
# Kinds of statements -> what gives the table that they are about.
_NAMED_BY = {
    **dict.fromkeys(("CreateTable", "ReplaceTable", "CreateTableAsSelect", "ReplaceTableAsSelect"), "name"),
    **dict.fromkeys(("CreateView", "AlterViewAs", "DropTable", "DropView", "RenameTable"), "child"),
    **dict.fromkeys(("CreateMaterializedViewAsSelect", "CreateStreamingTableAsSelect"), "name"),
    **dict.fromkeys(
        """TruncateTable TruncatePartition AddColumns ReplaceColumns DropColumns RenameColumn AlterColumn AlterColumns
        AddPartitions DropPartitions RenamePartitions SetTableProperties UnsetTableProperties SetTableLocation
        InsertIntoStatement UpdateTable DeleteFromTable""".split(),
        "table",
    ),
}
_RENAMED = "RenameTable"
_SET_VARIABLE = "SetVariable"
# The words with which queries begin.
_QUERIES = frozenset({"FROM", "SELECT", "TABLE", "WITH"})
_DROPS = frozenset({"DropTable", "DropView"})
_ALTERS = frozenset(
    {_RENAMED, "AddColumns", "ReplaceColumns", "DropColumns", "RenameColumn", "AlterColumn", "AlterColumns"}
)
# They are carried out in the session: they hold no rows, and reach for nothing outside.
_CARRIED_OUT = frozenset(
    {
        *("SetCatalogAndNamespace", "SetCatalogCommand", "SetNamespaceCommand", "ResetCommand"),
        "DropVariable",
    }
)
_SQL_FUNCTIONS = frozenset({"CreateSQLFunctionCommand", "CreateUserDefinedFunction"})
# Kinds that begin with these words have no lineage of columns, except those above that take it from a query.
_FUNCTIONS = frozenset({"CreateFunction", "CreateFunctionCommand"})
_ESCAPED = re.compile(r"\\[b0]")
_CHARACTERS = {r"\b": "\\", r"\0": "\0"}
_QUOTED = re.compile(r'"(\w+)"')
_REFRESHED = re.compile(r"CREATE(\s+OR\s+REFRESH)\b", re.IGNORECASE)
_WITHOUT_LINEAGE = tuple(
    "Add Alter Analyze Cache Clear Comment Create Describe Drop Explain List Noop Recover Refresh Rename Repair "
    "Replace Reset Set Show Truncate Uncache Unset".split()
)


@attrs.frozen
class Analyzed:
    """
    What the session tells of a statement.

    Args:
        kind: the class of its parsed plan; empty if it can't be parsed.
        query: its analyzed plan; None if it has no lineage of columns, or if Spark refuses it.
        refusal: why Spark refuses it; None if it does not.
        missed: what Spark refused until something that can't be read stood in its place; None if nothing does.
        catalog: the catalog that was current.
        database: the database that was current in it.
        tables: of a statement that Spark refuses, each table and view in its text that Spark knows: its name as it is
            spelled there -> the analyzed plan of all its columns.
        from_text: the tables that were declared as the text of a statement tells that Spark refuses: the name of each
            -> the place of that statement.
        text: of a statement that Spark refuses, what was read in its place: with the values of variables, and without
            what only other engines have; empty if that is the statement itself.
        shape: all of its analyzed plan that decides what it computes, as `PlanShape.java` writes it; empty if it was
            not asked for.
        targets: the whole names of the tables that it makes, drops or changes; likewise. Of a temporary view, its name
            behind the word `temporary view`.
    """

    kind: str
    query: EncodedQuery | None = None
    refusal: Refusal | None = None
    missed: Refusal | None = None
    catalog: str = SPARK_CATALOG
    database: str = "default"
    tables: Mapping[str, EncodedQuery] = attrs.field(factory=dict)
    from_text: Mapping[Parts, str] = attrs.field(factory=dict)
    text: str = ""
    shape: str = ""
    targets: tuple[str, ...] = ()


@attrs.frozen
class Consequence:
    """
    What a statement changes for later ones.

    Args:
        kind: `table` if a table is made known, `forgotten` if one is forgotten, `unsure` if the types of one may be
            others, `catalog` if a name is taken for that of a catalog; `object` if a view, a function or a variable is
            made or dropped, and `setting` if a value of the session is set: these two are in Spark alone.
        name: the last part of the name of what is changed, in lower case.
        parts: the whole name of a table.
        table: the table that is made known.
        from_text: as for `ScriptSession.declare`.
    """

    kind: str
    name: str
    parts: Parts = ()
    table: DeclaredTable | None = None
    from_text: str = ""

    @property
    def is_in_spark(self) -> bool:
        """Return whether only the statement itself can make it again."""
        return self.kind in ("object", "setting")


@attrs.frozen
class FoundTable:
    """
    A table or a view that Spark knows.

    Args:
        query: the analyzed plan of all its columns.
        types: its columns in lower case -> their types, as DDL has them.
    """

    query: EncodedQuery
    types: Mapping[str, str]


class ScriptSession:
    """
    Analyzes statements one after the other, as if each had run.

    Args:
        spark: a session of its own, which `throw_away_session` makes.
        tables: the tables that are known. Those that statements make are added.
        is_first: whether no other session of the same Spark shares the tables.
        shapes: whether all that plans compute is wanted, to be compared.
    """

    def __init__(self, spark: Any, tables: DeclaredTables, *, is_first: bool = True, shapes: bool = False) -> None:
        self._spark = spark
        self._shapes = shapes
        self._shape = ""
        self._named: tuple[str, ...] = ()
        self._tables = tables
        self._jvm = spark._jvm
        self._gateway = spark.sparkContext._gateway
        self._old = str(spark.version).startswith("3.")
        self._loader = _loader(self._gateway)
        self.use_from_this_thread()
        self._methods = {each.getName(): each for each in self._loader.loadClass(_CLASS).getMethods()}
        if is_first:
            # The class outlives the session before in this process, such as that of the other side of a comparison.
            self._call("clear")
        self._catalogs = {SPARK_CATALOG}
        self._put_in_front()
        self._databases = {"default"}
        self._put: set[Parts] = set()
        self._declared_since: list[DeclaredTable] = []
        self._effects: list[Consequence] = []
        self._reach: Collection[str] | None = None
        self._from_text: dict[Parts, str] = {}
        self._made: set[Parts] = set()
        self._loops: tuple[Loop, ...] = ()
        self._variables: set[str] = set()
        # What variables are made of that were set to what a query gives.
        self._values: dict[str, Any] = {}
        self._of_loops: set[str] = set()
        self._unopened: dict[str, str] = {}
        self._loosened = False
        self._guesses: dict[tuple[Parts, str], str] = {}
        self._is_rewritten = False
        self._missed: Refusal | None = None
        self._unset: Refusal | None = None
        self._text = ""
        self._stubs: list[str] = []
        self._declared: set[str] = set()
        self._of_type: set[str] = set()

    def use_from_this_thread(self) -> None:
        """Have Spark find the catalogs: it loads them by their names, with the loader of the thread that asks."""
        self._jvm.java.lang.Thread.currentThread().setContextClassLoader(self._loader)

    def analyze(
        self,
        text: str,
        *,
        in_script: bool = False,
        loops: tuple[Loop, ...] = (),
        reach: Collection[str] | None = None,
    ) -> Analyzed:
        """
        Return what a statement would read and write, and make known what it would make.

        Args:
            text: the statement.
            in_script: whether it stands in a script, where DECLARE declares something of the script's own.
            loops: the FOR loops around it.
            reach: the last parts of all names that it can see, in lower case; None if these are not known.
        """
        self._reach = reach
        self._enter(loops)
        from_text = {parts: place for parts, place in self._from_text.items() if self._is_near(parts)}
        catalog, database = self._current()
        kind, query, refusal = "", None, None
        given, text = text, self._substituted(text)
        self._text, self._shape, self._named, self._is_rewritten, self._missed = text, "", (), False, None
        try:
            with as_probe_error():
                text, parsed = self._parsed(text)
                self._text = text
                kind = str(parsed.nodeName())
                self._named = self._targets(kind, parsed)
                if in_script and kind == "CreateVariable":
                    text = f"DECLARE OR REPLACE{text[len('DECLARE') :]}"
                plan = self._analyzed(text, kind, parsed) if self._unset is None else None
                if plan is not None and self._values:
                    plan = self._with_values(plan)
                # The names of tables are those of the script, whatever the machine's configuration makes of paths.
                query = EncodedQuery(encoded_query(self._spark, plan).plan) if plan is not None else None
                self._shape = self._shape_of(plan)
                if self._unset is None:
                    self._follow(text, kind, parsed, plan)
        except spark_errors() as problem:
            plain = self._with_plain_function(text, refusal_of(problem))
            if plain is not None:
                self._clean()
                return self._again(plain, given, in_script=in_script, loops=loops)
            # In a script, SET may be before a variable of its own, or before several in parentheses.
            if not kind and makes_function(text):
                self.know_function(".".join(names_after(text, "EXISTS") or names_after(text, "FUNCTION")))
            elif not (in_script and _first_word(text) == "SET") and (kind or not has_no_lineage(text)):
                refusal = self._missed or self._explained(self._placed(refusal_of(problem)))
        except ValueError as problem:
            refusal = Refusal("UNSUPPORTED_STATEMENT", str(problem))
        except ProbeError as problem:
            refusal = Refusal("INTERNAL_ERROR", str(problem))
        finally:
            self._clean()
        refusal = self._without_value_of(kind, text) or refusal
        missed, shown = (None if refusal is not None else self._missed), (self._shape, self._named)
        read = text if refusal is not None and text != given else ""
        return Analyzed(kind, query, refusal, missed, catalog, database, {}, from_text, read, *shown)

    def _shape_of(self, plan: Any) -> str:
        """Return all of a plan that decides what it computes; empty if it is not wanted."""
        if plan is None or not self._shapes:
            return ""
        source = resources.files(__package__).joinpath(_SHAPE_JAVA).read_text(encoding="utf-8")
        class_ = compiled_classes(self._gateway, _SHAPE_CLASS, source)
        method = next(each for each in class_.getMethods() if each.getName() == "of")
        return str(method.invoke(None, self._filled(self._jvm.java.lang.Object, [plan])))

    def _targets(self, kind: str, parsed: Any) -> tuple[str, ...]:
        """Return the whole names of the tables that a statement makes, drops or changes, as far as it names them."""
        if not self._shapes:
            return ()
        if kind == _TEMPORARY_VIEW:
            return (f"temporary view {parsed.name().table()}",)
        if kind == _CACHES:
            return (f"temporary view {parsed.tempViewName()}",)
        getter = _NAMED_BY.get(kind)
        if getter is None:
            return ()
        try:
            with as_probe_error():
                name = self._name_of(getattr(parsed, getter)())
        except ProbeError:
            # A table may be named by an expression, or a query stand in its place.
            return ()
        new = _texts(parsed.newName()) if kind == "RenameTable" else ()
        renamed = ((*name[:-1], *new) if len(new) == 1 else self.whole(new),) if new else ()
        return tuple(".".join(each) for each in (name, *renamed))

    def _with_plain_function(self, text: str, refusal: Refusal) -> str | None:
        """Return a statement that calls a function of a database by one name, if Spark does not know the function."""
        if not refusal.code.startswith(_UNKNOWN_FUNCTIONS):
            return None
        names = names_in(refusal.parameters.get("routineName", ""))
        pattern = r"\s*\.\s*".join(rf"`?{re.escape(each)}`?" for each in _without_catalog(names))
        plain = re.sub(rf"(?<![\w`.]){pattern}(?=\s*\()", f"`{'.'.join(_without_catalog(names))}`", text)
        return plain if len(_without_catalog(names)) > 1 and plain != text else None

    def _again(self, text: str, given: str, *, in_script: bool, loops: tuple[Loop, ...]) -> Analyzed:
        """Analyze a statement in the place of another one."""
        found = self.analyze(text, in_script=in_script, loops=loops, reach=self._reach)

        def unplaced(refusal: Refusal | None) -> Refusal | None:
            return None if refusal is None else attrs.evolve(refusal, line=None, column=None)

        read = found.text or text if found.refusal is not None and text != given else found.text
        return attrs.evolve(found, refusal=unplaced(found.refusal), missed=unplaced(found.missed), text=read)

    def _substituted(self, text: str) -> str:
        """Return a statement with the values of its variables; note which one has none."""
        self._unset = None
        try:
            return substituted(text, self._variable)
        except UnknownVariableError as problem:
            self._unset = Refusal("NO_VALUE", str(problem), line=problem.line, column=problem.column)
            return placeheld(substituted(text, self._variable, keeps=True))

    def _without_value_of(self, kind: str, text: str) -> Refusal | None:
        """Return that a variable has no value, unless the statement has no lineage whatever it is."""
        manages = kind.startswith(_WITHOUT_LINEAGE) and not kind.startswith(
            ("Create", "Replace", "Set", "Cache", "Alter")
        )
        return None if manages or (not kind and has_no_lineage(text)) else self._unset

    def _parsed(self, text: str) -> tuple[str, Any]:
        """Return a statement that Spark can parse, and its parsed plan: what other engines have is rewritten."""
        parser = self._spark._jsparkSession.sessionState().sqlParser()
        text = _without_refresh(text)
        if reads_files(text):
            text, self._is_rewritten = as_spark(text), True
        try:
            return text, self._told(self._call("parsed", parser, text))
        except StatementRefusedError:
            helped = as_spark(text)
            if helped == text:
                raise
        parsed = self._told(self._call("parsed", parser, helped))
        self._is_rewritten = len(helped) != len(text)
        return helped, parsed

    def _clean(self) -> None:
        """Forget what was supplied for one statement."""
        if self._loosened or self._guesses:
            self._loosened = False
            self._guesses.clear()
            self._put_from_text(of_any_type=False)
        for name in self._of_type & self._declared:
            self._register_function(name)
        self._of_type.clear()
        while self._stubs:
            self._spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {in_backticks(self._stubs.pop())}")

    def _variable(self, name: str) -> str | None:
        """Return the value of a variable of scripts; None if it has none."""
        value = self._spark.conf.get(name, None)
        return None if value is None else str(value)

    def table(self, name: str) -> FoundTable | None:
        """Return a table or a view by its name as it is spelled; None if it is not known."""
        try:
            with as_probe_error():
                plan = self._retried(lambda: self._plan(f"TABLE {name}"))
                types = {column.lower(): type_ for column, type_ in self._columns(plan.schema())}
                return FoundTable(EncodedQuery(encoded_query(self._spark, plan).plan), types)
        except analysis_errors():
            return None
        except (ValueError, ProbeError):
            return None

    def declare(self, table: DeclaredTable, from_text: str = "") -> None:
        """
        Make a table known to statements.

        Args:
            table: the table.
            from_text: the place of the statement that makes it, if Spark refuses that, so that its types are not known.
        """
        self._tables.put(table)
        self._declared_since.append(table)
        self._put.discard(table.key)
        self._from_text.pop(table.key, None)
        if from_text:
            self._from_text[table.key] = from_text
        self._effects.append(Consequence("table", table.key[-1], table.parts, table, from_text))
        self._know(table.parts)

    @property
    def read(self) -> str:
        """What Spark read last in the place of a statement."""
        return self._text

    def effects(self) -> tuple[Consequence, ...]:
        """Return what was changed for later statements since this was last asked."""
        found, self._effects = tuple(self._effects), []
        return found

    def restore(self, effects: Iterable[Consequence]) -> None:
        """Consequence once more what a statement has changed in another session, but for what is in Spark alone."""
        for each in effects:
            if each.table is not None:
                self.declare(each.table, each.from_text)
            elif each.kind == "forgotten":
                self.forget(each.parts)
            elif each.kind == "unsure":
                self._made.add(name_key(each.parts))
            elif each.kind == "catalog":
                self._register((each.name,))
        self._effects.clear()

    def _is_near(self, parts: Parts) -> bool:
        """Return whether the statement that is analyzed can see a table."""
        return self._reach is None or parts[-1].lower() in self._reach

    def _note(self, kind: str, name: str = "", parts: Parts = ()) -> None:
        self._effects.append(Consequence(kind, name.lower(), parts))

    def made(self) -> tuple[DeclaredTable, ...]:
        """Return the tables that were made known since this was last asked."""
        found, self._declared_since = tuple(self._declared_since), []
        return found

    def known(self, parts: Parts) -> DeclaredTable | None:
        """Return a declared table by its whole name; None if there is none."""
        return self._tables.get(parts)

    def with_known(self, action: Callable[[], Any]) -> Any:
        """
        Do something in Spark with all that is known here, and return what it gives.

        Args:
            action: asks Spark to analyze something, perhaps several times: until it misses nothing that is known.

        Raises:
            AnalysisException: Spark refuses it with all that is known, too.
        """
        self.use_from_this_thread()
        return self._retried(action)

    def _placed(self, refusal: Refusal) -> Refusal:
        """Return a refusal without the place of the error if that is not one in the statement as it stands."""
        return attrs.evolve(refusal, line=None, column=None) if self._is_rewritten else refusal

    def _explained(self, refusal: Refusal) -> Refusal:
        """Return a refusal that tells of a view of something that is not opened, or of types that are not known."""
        names = names_in(refusal.parameters.get("relationName", ""))
        provider = self._unopened.get(names[-1].lower()) if names and refusal.code == _UNKNOWN_TABLE else None
        if provider is not None:
            return attrs.evolve(refusal, parameters={**refusal.parameters, UNOPENED: provider})
        why = ", and ".join(self._unknown_types(refusal)) if refusal.code.startswith(_UNFIT_TYPES) else ""
        return attrs.evolve(refusal, message=f"{why}; so Spark says: {refusal.message}") if why else refusal

    def _unknown_types(self, refusal: Refusal) -> Iterator[str]:
        """Yield which types that a refusal is about are not known here, but taken to be some."""
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

    def _enter(self, loops: tuple[Loop, ...]) -> None:
        """Have the rows of the FOR loops around a statement as variables, and those of no other loop."""
        if loops == self._loops:
            return
        for name in self._of_loops:
            self._spark.sql(f"DROP TEMPORARY VARIABLE IF EXISTS {in_backticks(name)}")
        self._loops, self._of_loops = loops, set()
        for loop in loops:
            self._declare_row(loop)

    def _declare_row(self, loop: Loop) -> None:
        """Declare the row of a FOR loop: its columns are called with its name or without."""
        try:
            with as_probe_error():
                query = substituted(loop.query, self._variable)
                plan = self._retried(lambda: self._plan(query))
                columns = self._columns(plan.schema())
                struct = ", ".join(f"{in_backticks(name)}: {type_}" for name, type_ in columns)
                for name, type_ in (*columns, (loop.variable, f"STRUCT<{struct}>")):
                    if name and name.lower() not in self._variables:
                        self._spark.sql(f"DECLARE OR REPLACE VARIABLE {in_backticks(name)} {type_}")
                        self._of_loops.add(name.lower())
        except analysis_errors():
            # The statement that the query is by itself tells why.
            return
        except (ValueError, ProbeError):
            return

    def _current(self) -> tuple[str, str]:
        catalog, database = _parts_in(self._call("current", self._spark._jsparkSession))
        return catalog, database

    def _analyzed(self, text: str, kind: str, parsed: Any) -> Any:
        """Return the analyzed plan of a statement; None if it has no lineage of columns."""
        if kind in _FILLS:
            self._ensure(self._name_of(parsed.name()))
            text = plainly_created(text)
        elif (standing := self._standing_for(text, kind, parsed)) is not None:
            text, self._is_rewritten = standing, True
        elif kind.startswith(_WITHOUT_LINEAGE) and kind not in (*_VIEWS, _ALTERED_VIEW):
            return None
        return self._retried(lambda: self._plan(text))

    def _standing_for(self, text: str, kind: str, parsed: Any) -> str | None:
        """Return the statement that is analyzed in the place of another one; None if that is analyzed as it is."""
        if kind == _CACHES:
            return str(parsed.originalText())
        if self._is_foreign_view(kind, parsed):
            return self._view_as_table(parsed)
        if kind in PIPELINE_TABLES:
            return self._filled_table(self._name_of(parsed.name()), str(parsed.originalText()))
        if kind == _RENAMED and self._tables.get(self._name_of(parsed.child())) is not None:
            old, new = self._renamed(parsed)
            return self._filled_table(new, f"TABLE {'.'.join(map(in_backticks, old))}")
        return _insert_of_flow(text) if kind == _FLOW else None

    def _retried(self, action: Callable[[], Any]) -> Any:
        """Do something; each time that Spark misses what is known here, make it known and do it again."""
        while True:
            try:
                return action()
            except analysis_errors() as problem:  # noqa: PERF203 (each attempt supplies one thing)
                if not self._supply(refusal_of(problem)):
                    raise

    def _supply(self, refusal: Refusal) -> bool:
        """Make known what an analysis missed, and return whether there was anything to make known."""
        missed = refusal.parameters
        if refusal.code == _UNKNOWN_TABLE:
            return self._know(self.whole(names_in(missed.get("relationName", ""))))
        if refusal.code.startswith(_UNKNOWN_FUNCTIONS):
            return self._stand_in(names_in(missed.get("routineName", "")), refusal)
        if refusal.code.startswith((_UNFIT_TYPE, _UNFIT_BASE)):
            return self._guess(refusal)
        if refusal.code.startswith(_OTHER_TYPE) and self._from_text and not self._loosened:
            self._loosened = True
            self._put_from_text(of_any_type=True, besides=name_key(names_in(missed.get("tableName", ""))))
            return True
        if refusal.code in _UNKNOWN_CATALOGS:
            name = missed.get("identifier") or missed.get("namespace") or missed.get("catalogName", "")
            return self._register(names_in(name)[:1])
        if refusal.code == _UNKNOWN_DATABASE:
            names = names_in(missed.get("schemaName", ""))
            names = names[1:] if names[:1] == (SPARK_CATALOG,) else names
            # What Spark takes for a database in one may be a catalog that it does not know.
            return self._register(names[:1]) if len(names) > 1 else self._make_database(names)
        return False

    def _stand_in(self, names: Parts, refusal: Refusal) -> bool:
        """Have a function that can't be read in the place of one that is not known."""
        names = _without_catalog(names)
        if len(names) != 1 or names[0] in self._stubs:
            return False
        self._missed = self._missed or refusal
        self._stubs.append(names[0])
        self._register_function(names[0])
        return True

    def _register_function(self, name: str, type_: str = "VOID") -> None:
        """Make a function known to Spark of which only the name is known; VOID becomes most other types."""
        of_type = self._spark._jsparkSession.sessionState().sqlParser().parseDataType(type_)
        given = self._filled(self._jvm.java.lang.Object, [name, of_type])
        function = self._methods["function"].invoke(None, given)
        registry = self._spark._jsparkSession.sessionState().functionRegistry()
        registry.createOrReplaceTempFunction(name, function, "java_udf")

    def _know(self, parts: Parts) -> bool:
        """Declare a table to Spark, if it is known here and not yet there."""
        table = self._tables.get(parts)
        if table is None or name_key(parts) in self._put:
            return False
        self._ensure(parts)
        self._put_table(parts, table)
        self._put.add(name_key(parts))
        return True

    def _put_table(self, parts: Parts, table: DeclaredTable) -> None:
        schema = self._spark._jsparkSession.sessionState().sqlParser().parseTableSchema(table.ddl)
        self._call("put", parts[0], self._array(parts[1:-1]), parts[-1], schema, self._array(table.partitions))

    def _put_from_text(self, *, of_any_type: bool, besides: Parts = ()) -> None:
        """Declare the tables whose types are not known to Spark once more, so that they fit everywhere or as told."""
        for key in self._of_unknown_types() - {besides}:
            table = self._tables.get(key)
            if table is not None:
                columns = tuple((name, self._guesses.get((key, name), type_)) for name, type_ in table.columns)
                table = attrs.evolve(table, columns=columns)
                is_loose = of_any_type and key in self._from_text
                self._put_table(table.parts, _of_any_type(table) if is_loose else table)

    def _of_unknown_types(self) -> set[Parts]:
        """Return the tables whose columns may have other types: those of a text, and those made of such ones."""
        return {each for each in self._put & (self._from_text.keys() | self._made) if self._is_near(each)}

    def _guess(self, refusal: Refusal) -> bool:
        """Give columns whose types are not known the type that Spark misses, and return whether there are any."""
        missed = refusal.parameters
        wanted = _QUOTED.findall(missed.get("requiredType") or missed.get("inputType", ""))
        type_ = next((_FITTING[each] for each in wanted if each in _FITTING), None)
        type_ = "BOOLEAN" if refusal.code == _NO_CONDITION else type_
        said = missed.get("inputSql") or missed.get("filter") or missed.get("base") or missed.get("sqlExpr", "")
        named = {each.lower() for each in re.findall(r"\w+", said)}
        found: dict[tuple[Parts, str], str] = {}
        for key in self._of_unknown_types():
            table = self._tables.get(key)
            for name, known in () if table is None else table.columns:
                if known == TEXT_TYPE and name.lower() in named and (key, name) not in self._guesses:
                    is_base = refusal.code.startswith(_UNFIT_BASE)
                    fitting = type_by_use(self._text, name) if is_base else type_
                    found |= {} if fitting is None else {(key, name): fitting}
        if not found and type_ is not None:
            return self._guess_function(named, type_)
        self._guesses.update(found)
        self._put_from_text(of_any_type=self._loosened)
        return bool(found)

    def _guess_function(self, named: set[str], type_: str) -> bool:
        """Give a function of which only the name is known the type that Spark misses, for one statement."""
        every = {each.lower(): each for each in (*self._declared, *self._stubs)}
        names = [every[each] for each in sorted(named & every.keys()) if each not in self._of_type]
        for name in names[:1]:
            self._of_type.add(name.lower())
            self._register_function(name, type_)
        return bool(names)

    def forget(self, parts: Parts) -> None:
        """Have a table be known no more."""
        known = self._tables.get(parts)
        if known is not None:
            self._tables.drop(known.parts)
        self._put.discard(name_key(parts))
        self._from_text.pop(name_key(parts), None)
        self._note("forgotten", parts[-1], parts)
        self._call("drop", parts[0], self._array(parts[1:-1]), parts[-1])

    def _ensure(self, parts: Parts) -> None:
        """Have the catalog and the database of a table: scripts seldom make them."""
        if parts[0].lower() != SPARK_CATALOG:
            self._register(parts[:1])
        else:
            self._make_database(parts[1:2])

    def _register(self, catalog: Parts) -> bool:
        if not catalog or not catalog[0] or catalog[0].lower() in self._catalogs:
            return False
        self._catalogs.add(catalog[0].lower())
        self._note("catalog", catalog[0])
        self._spark.conf.set(f"spark.sql.catalog.{catalog[0]}", f"{_CLASS}$Named")
        return True

    def _make_database(self, name: Parts) -> bool:
        if not name or not name[0] or name[0].lower() in self._databases:
            return False
        self._databases.add(name[0].lower())
        try:
            self._spark.sql(f"CREATE DATABASE IF NOT EXISTS {SPARK_CATALOG}.{in_backticks(name[0])}")
        except analysis_errors():
            # Its name is none that Spark takes, such as that of a parameter; its tables are found all the same.
            return False
        return True

    def whole(self, names: Parts) -> Parts:
        """Return a name with its catalog and its database, as Spark completes it."""
        catalog, database = self._current()
        if len(names) == 1:
            return (catalog, *names_in(database), *names)
        if len(names) == 2 and names[0].lower() not in self._catalogs:
            return (catalog, *names)
        return names

    def _name_of(self, parsed: Any) -> Parts:
        """Return the whole name that a parsed plan holds: an unresolved identifier, table or view."""
        return self.whole(_written(parsed))

    def _follow(self, text: str, kind: str, parsed: Any, plan: Any) -> None:
        """Make known what a statement would make."""
        if kind in _CREATES:
            self._create(parsed, self._columns(parsed.tableSchema()) if self._old else _typed(_each(parsed.columns())))
        elif kind in _FILLS:
            self._create(parsed, self._columns(plan.query().schema()))
            self._note_types(self._name_of(parsed.name()))
        elif kind in PIPELINE_TABLES or self._is_foreign_view(kind, parsed):
            name = parsed.name() if kind in PIPELINE_TABLES else parsed.child()
            self.declare(DeclaredTable(self._name_of(name), self._columns(plan.query().schema())))
        elif kind in _LIKE:
            self._create_like(text)
        elif kind in (*_VIEWS, _CACHES, _ALTERED_VIEW):
            self._create_view(text, kind, parsed)
        elif kind == _PROVIDED_VIEW:
            self._create_provided_view(parsed)
        elif kind in _DROPS:
            self._drop(kind, parsed.child())
        elif kind == _RENAMED:
            self._rename(text, parsed)
        elif kind in _ALTERS:
            self._alter(kind, parsed)
        else:
            self._carry_out(text, kind, parsed)

    def _note_types(self, parts: Parts) -> None:
        """Note that the types of a table may be others if those of a table may be that its statement can see."""
        if any(map(self._is_near, (*self._from_text, *self._made))):
            self._made.add(name_key(parts))
            self._note("unsure", parts[-1], parts)

    def _carry_out(self, text: str, kind: str, parsed: Any) -> None:
        """Do in the session what later statements of the script depend on."""
        if kind == _SET_VARIABLE:
            self._set_variables(text)
        elif kind == "CreateNamespace":
            self._ensure(self.whole((*_written(parsed.name()), "")))
        elif kind == "CreateVariable":
            declared = self._without_value(text, parsed)
            self._retried(lambda: self._spark.sql(declared))
            self._variables.add(_declared_name(text))
            self._values.pop(_declared_name(text), None)
            self._note("object", _declared_name(text))
        elif kind in _FUNCTIONS:
            # The class that it names is not loaded.
            self.know_function(".".join(names_after(text, "EXISTS") or names_after(text, "FUNCTION")))
        elif kind in _SQL_FUNCTIONS:
            self._create_function(text)
        elif kind in _CARRIED_OUT or (kind == "SetCommand" and not _is_kept(parsed)):
            if kind == "SetCatalogCommand":
                self._register(names_after(text, "CATALOG")[:1])
            self._retried(lambda: self._spark.sql(text))
            self._note_carried_out(text, kind)
            if kind == "ResetCommand":
                self._put_in_front()

    def _set_variables(self, text: str) -> None:
        """Note of what variables are made that are set to what a query gives: what uses them has its sources."""
        for name, value in assigned(text):
            self._note("object", name)
            self._values.pop(name, None)
            if not any(token.text.upper() in _QUERIES for token in tokens(value)):
                continue
            made = self._call("value", self._with_values(self._plan_of_value(value)))
            if made is not None:
                self._values[name] = made

    def _plan_of_value(self, value: str) -> Any:
        """Return the analyzed plan of a query of an expression."""
        return self._retried(lambda: self._plan(f"SELECT {value} AS `value`"))

    def _with_values(self, plan: Any) -> Any:
        """Return a plan in which variables are what they were made of."""
        objects = self._filled(self._jvm.java.lang.Object, list(self._values.values()))
        return self._call("withValues", plan, self._array(self._values), objects) if self._values else plan

    def _note_carried_out(self, text: str, kind: str) -> None:
        if kind == "DropVariable":
            names = names_after(text, "EXISTS") or names_after(text, "VARIABLE") or names_after(text, "VAR")
            self._values.pop("".join(names[-1:]).lower(), None)
            self._note("object", "".join(names[-1:]))
        else:
            self._note("setting")

    def _create_function(self, text: str) -> None:
        """Make a function of SQL known; one whose query Spark refuses can be called, and nothing is known of it."""
        names = names_after(text, "EXISTS") or names_after(text, "FUNCTION")
        try:
            self._retried(lambda: self._spark.sql(text))
            self._note("object", "".join(names[-1:]))
        except analysis_errors():
            self.know_function(".".join(names))

    def know_function(self, name: str) -> None:
        """
        Make a function known of which only the name is known: edges through it are opaque.

        Args:
            name: its name, perhaps with a database before it.
        """
        self._register_function(name)
        self._declared.add(name.lower())
        self._note("object", "".join(names_in(name)[-1:]))

    def _without_value(self, text: str, parsed: Any) -> str:
        """Return a DECLARE that gives the variable its type alone, unless its value is a literal."""
        if _is_literal(parsed.defaultExpr().child()):
            return text
        declared = before_default(text)
        try:
            self._told(self._call("parsed", self._spark._jsparkSession.sessionState().sqlParser(), declared))
        except analysis_errors():
            type_ = self._retried(lambda: self._plan(text)).defaultExpr().dataType().sql()
            return f"{declared} {type_}"
        return declared

    def _put_in_front(self) -> None:
        """Have Spark use the catalogs that hold what is declared here, whatever a script has reset."""
        for name in self._catalogs:
            of_catalog = "InFront" if name == SPARK_CATALOG else "Named"
            self._spark.conf.set(f"spark.sql.catalog.{name}", f"{_CLASS}${of_catalog}")

    def _is_foreign_view(self, kind: str, parsed: Any) -> bool:
        """Return whether a statement makes a view in a catalog that is not Spark's: it becomes a table here."""
        return kind in ("CreateView", _ALTERED_VIEW) and self._name_of(parsed.child())[0].lower() != SPARK_CATALOG

    def _view_as_table(self, parsed: Any) -> str:
        """Return the statement that makes a table in the place of a view."""
        is_new = str(parsed.nodeName()) == "CreateView"
        names = (
            ", ".join(in_backticks(str(each._1())) for each in _each(parsed.userSpecifiedColumns())) if is_new else ""
        )
        query = str(parsed.originalText().get() if is_new else parsed.originalText())
        filled = f"SELECT * FROM ({query}) AS `view` ({names})" if names else query  # noqa: S608 (the user's own)
        return self._filled_table(self._name_of(parsed.child()), filled)

    def _filled_table(self, parts: Parts, query: str) -> str:
        """Return the statement that makes a table of a query."""
        self._ensure(parts)
        return f"CREATE TABLE {'.'.join(map(in_backticks, parts))} AS {query}"

    def _create_like(self, text: str) -> None:
        source = ".".join(map(in_backticks, names_after(text, "LIKE")))
        query = f"TABLE {source}"
        plan = self._retried(lambda: self._plan(query))
        target = self.whole(names_after(text, "EXISTS") or names_after(text, "TABLE"))
        self.declare(DeclaredTable(target, self._columns(plan.schema())))

    def _create_view(self, text: str, kind: str, parsed: Any) -> None:
        if kind == _CACHES:
            name = str(parsed.tempViewName())
            self._note("object", name)
            text = f"CREATE OR REPLACE TEMPORARY VIEW {in_backticks(name)} AS {parsed.originalText()}"
        elif kind == "CreateViewCommand":
            self._note("object", str(parsed.name().table()))
        else:
            self._note("object", _written(parsed.child())[-1])
        if kind == "CreateView":
            parts = self._name_of(parsed.child())
            self._ensure(parts)
            self.forget(parts)
            self._spark.sql(f"DROP VIEW IF EXISTS {'.'.join(map(in_backticks, parts))}")
        self._spark.sql(text)

    def _create_provided_view(self, parsed: Any) -> None:
        """Make known a temporary view of files or of a connector by the columns that it names: neither is opened."""
        name = str(parsed.tableIdent().table())
        is_global = bool(getattr(parsed, "global")())
        whole = f"global_temp.{in_backticks(name)}" if is_global else in_backticks(name)
        self._note("object", name)
        self._spark.sql(f"DROP VIEW IF EXISTS {whole}")
        self._unopened.pop(name.lower(), None)
        if not parsed.userSpecifiedSchema().isDefined():
            self._unopened[name.lower()] = str(parsed.provider())
            return
        options = {str(each._1()).lower(): str(each._2()) for each in _each(parsed.options().toSeq())}
        path = (str(parsed.provider()), options.get("path", ""))
        parts = (SPARK_CATALOG, *path) if is_format_and_path(path) else self.whole((name,))
        self.declare(DeclaredTable(parts, self._columns(parsed.userSpecifiedSchema().get())))
        kind = "GLOBAL TEMPORARY" if is_global else "TEMPORARY"
        self._spark.sql(
            f"CREATE OR REPLACE {kind} VIEW {in_backticks(name)} AS TABLE {'.'.join(map(in_backticks, parts))}"
        )

    def _create(self, parsed: Any, typed: tuple[tuple[str, str], ...]) -> None:
        """Declare a table that a statement creates. Without columns, they are in files that nobody reads here."""
        if not typed:
            return
        parts = self._name_of(parsed.name())
        if (
            str(parsed.nodeName()).startswith("Create")
            and parsed.ignoreIfExists()
            and self._tables.get(parts) is not None
        ):
            return
        transforms = [str(each.toString()) for each in _each(parsed.partitioning())]
        names = {name.lower(): name for name, _ in typed}
        by = [each.removeprefix("identity(").removesuffix(")").strip("`").lower() for each in transforms]
        partitions = tuple(names[each] for each in by if each in names)
        if parts[0] == SPARK_CATALOG and str(parsed.tableSpec().provider().toString()).lower()[5:-1] not in _OWN_ORDER:
            # Spark's own tables have the columns by which they are partitioned at their end.
            typed = (*(c for c in typed if c[0] not in partitions), *(c for c in typed if c[0] in partitions))
        self.declare(DeclaredTable(parts, typed, partitions))

    def _drop(self, kind: str, name: Any) -> None:
        """Forget a table, or drop a view."""
        parts = self._name_of(name)
        if kind == "DropTable" or parts[0].lower() != SPARK_CATALOG:
            self.forget(parts)
        else:
            self._note("object", parts[-1])
            self._spark.sql(f"DROP VIEW IF EXISTS {'.'.join(map(in_backticks, _written(name)))}")

    def _renamed(self, parsed: Any) -> tuple[Parts, Parts]:
        """Return the whole names of a table before and after it is renamed; the new one may be its last part alone."""
        old, new = self._name_of(parsed.child()), _texts(parsed.newName())
        return old, (*old[:-1], *new) if len(new) == 1 else self.whole(new)

    def _rename(self, text: str, parsed: Any) -> None:
        old, new = self._renamed(parsed)
        table = self._tables.get(old)
        if table is not None:
            is_unsure = name_key(old) in self._made | self._from_text.keys()
            self.forget(old)
            self.declare(attrs.evolve(table, parts=new, identifier=None))
            if is_unsure:
                self._made.add(name_key(new))
                self._note("unsure", new[-1], new)
        elif parsed.isView():
            self._note("object", old[-1])
            self._note("object", new[-1])
            self._spark.sql(text)

    def _alter(self, kind: str, parsed: Any) -> None:
        parts = self._name_of(parsed.table())
        table = self._tables.get(parts)
        if table is None:
            return
        table = attrs.evolve(table, parts=parts)
        if kind == "DropColumns":
            dropped = [_texts(each.name()) for each in _each(parsed.columnsToDrop())]
            table = table.without_columns(names[0] for names in dropped if len(names) == 1)
        elif kind == "RenameColumn":
            names = _texts(parsed.column().name())
            table = table.with_renamed_column(names[0], str(parsed.newName())) if len(names) == 1 else table
        elif kind in ("AlterColumn", "AlterColumns"):
            table = _with_changes(table, parsed)
        else:
            added = [each for each in _each(parsed.columnsToAdd()) if not _is_nested(each)]
            table = attrs.evolve(table, columns=()) if kind == "ReplaceColumns" else table
            for each in added:
                column = str(each.colName()), str(each.dataType().sql())
                table = table.with_column(column, _place(each.position()))
        self.declare(table)

    def _array(self, texts: Iterable[str]) -> Any:
        return self._filled(self._jvm.java.lang.String, list(texts))

    def _call(self, method: str, *arguments: Any) -> Any:
        return self._methods[method].invoke(None, self._filled(self._jvm.java.lang.Object, list(arguments)))

    def _plan(self, text: str) -> Any:
        """Return the analyzed plan of a statement."""

        def attempt(*asked: Any) -> Any:
            return self._call("attempt", *asked)

        return self._told(attempted_plan(self._spark, text, attempt))

    def _told(self, found: Any) -> Any:
        """Return a plan; raise what Spark says against it if there is none."""
        if isinstance(found, str):
            raise StatementRefusedError(refusal_in(_parts_in(found)[1:]))
        return found

    def _columns(self, schema: Any) -> tuple[tuple[str, str], ...]:
        """Return the columns of a schema, each with its type."""
        parts = _parts_in(self._call("columns", schema))
        return tuple(zip(parts[::2], parts[1::2], strict=True))

    def _filled(self, type_: Any, values: list[Any]) -> Any:
        found = self._gateway.new_array(type_, len(values))
        for at, value in enumerate(values):
            found[at] = value
        return found


_LOADERS: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()


def _loader(gateway: Any) -> Any:
    """Return what loads the catalogs."""
    text = resources.files(__package__).joinpath(_JAVA).read_text(encoding="utf-8")
    return compiled_classes(gateway, _CLASS, text).getClassLoader()


def compiled_classes(gateway: Any, name: str, text: str) -> Any:
    """
    Return a class of Java, compiled once per JVM by the Janino that Spark brings.

    Args:
        gateway: py4j's gateway.
        name: the full name of the class.
        text: its source.
    """
    known = _LOADERS.setdefault(gateway, {})
    if name not in known:
        jvm = gateway.jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setSourceVersion(_JAVA_VERSION)
        compiler.setTargetVersion(_JAVA_VERSION)
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(text)
        known[name] = compiler.getClassLoader().loadClass(name)
    return known[name]


def names_in(text: str) -> Parts:
    """Return the parts of a dotted name, in which each may stand in backticks."""
    return dotted(text)


def names_after(text: str, word: str) -> Parts:
    """Return the parts of the dotted name after the first occurrence of a keyword; none without one."""
    at = 0
    for token in tokens(text):
        at += len(token.text)
        if token.kind is TokenKind.WORD and token.text.upper() == word:
            return dotted(text, at)
    return ()


def _written(parsed: Any) -> Parts:
    """Return the name that a parsed plan holds as it is written: an unresolved identifier, table, view or namespace."""
    is_new = str(parsed.nodeName()) == "UnresolvedIdentifier"
    return _texts(parsed.nameParts() if is_new else parsed.multipartIdentifier())


def _parts_in(text: str) -> list[str]:
    """Return the parts of a text that the JVM gives."""
    return [_ESCAPED.sub(lambda found: _CHARACTERS[found[0]], each) for each in text.split("\0")[:-1]]


def _texts(sequence: Any) -> Parts:
    return tuple(str(each) for each in _each(sequence))


def _each(sequence: Any) -> list[Any]:
    """Return the items of a Scala sequence."""
    return [sequence.apply(at) for at in range(sequence.size())]


def _typed(columns: Iterable[Any]) -> tuple[tuple[str, str], ...]:
    return tuple((str(column.name()), str(column.dataType().sql())) for column in columns)


def _with_changes(table: DeclaredTable, parsed: Any) -> DeclaredTable:
    """Return a table with the types and the places that ALTER COLUMN gives its columns."""
    is_one = str(parsed.nodeName()) == "AlterColumn"
    for each in [parsed] if is_one else _each(parsed.specs()):
        names = _texts(each.column().name())
        known = next((column for column in table.columns if (column[0].lower(),) == name_key(names)), None)
        if known is None:
            continue
        type_ = each.dataType() if is_one else each.newDataType()
        place = _place(each.position() if is_one else each.newPosition())
        if type_.isDefined():
            changed = tuple((n, str(type_.get().sql()) if n == known[0] else t) for n, t in table.columns)
            table = attrs.evolve(table, columns=changed)
        if place is not None:
            column = next(column for column in table.columns if column[0] == known[0])
            table = table.without_columns([known[0]]).with_column(column, place)
    return table


def _place(position: Any) -> str | None:
    """Return the column after which one is placed: empty for the first place, None if none is named."""
    if not position.isDefined():
        return None
    place = position.get().position()
    return "" if str(place.toString()) == "FIRST" else str(place.column())


def _is_nested(column: Any) -> bool:
    return bool(column.path().isDefined())


def _of_any_type(table: DeclaredTable) -> DeclaredTable:
    """Return a table that fits wherever it is written: its columns whose types are not known are of VOID."""
    return attrs.evolve(table, columns=tuple((n, "VOID" if t == TEXT_TYPE else t) for n, t in table.columns))


def _insert_of_flow(text: str) -> str:
    """Return the INSERT that a flow of a pipeline is."""
    at = 0
    for token in tokens(text):
        if token.kind is TokenKind.WORD and token.text.upper() == "INSERT":
            return text[at:]
        at += len(token.text)
    return text


def _without_catalog(names: Parts) -> Parts:
    """Return the name of a function as a statement has it: Spark completes one that it does not find."""
    return (
        names[2:] if names[:2] == (SPARK_CATALOG, "default") else names[1:] if names[:1] == (SPARK_CATALOG,) else names
    )


def _first_word(text: str) -> str:
    """Return the word with which a statement begins, in capitals."""
    return next((token.text.upper() for token in tokens(text)), "")


def _without_refresh(text: str) -> str:
    """Return a statement without the OR REFRESH of Databricks, which Spark's pipelines do not have, at its places."""
    found = _REFRESHED.match(text)
    if found is None:
        return text
    begin, end = found.span(1)
    return text[:begin] + re.sub(r"\S", " ", text[begin:end]) + text[end:]


def _declared_name(text: str) -> str:
    """Return the name of the variable that a DECLARE declares, in lower case."""
    at = 0
    for token in tokens(text):
        if token.kind not in (TokenKind.SPACE, TokenKind.COMMENT) and token.text.upper() not in _DECLARING:
            break
        at += len(token.text)
    return "".join(dotted(text, at)[-1:]).lower()


def before_default(text: str) -> str:
    """Return a DECLARE up to its default value."""
    at = 0
    for token in tokens(text):
        if token.text == "=" or (token.kind is TokenKind.WORD and token.text.upper() == "DEFAULT"):
            return text[:at].rstrip()
        at += len(token.text)
    return text


def _is_literal(expression: Any) -> bool:
    """Return whether an expression is a literal, perhaps with a sign or a cast around it."""
    while str(expression.nodeName()) in ("Cast", "UnaryMinus", "UnaryPositive"):
        expression = expression.children().apply(0)
    return str(expression.nodeName()) == "Literal"


def _is_kept(parsed: Any) -> bool:
    """Return whether a SET would change what the session must keep."""
    setting = parsed.kv()
    return bool(setting.isDefined()) and is_kept_setting(str(setting.get()._1()))


def is_kept_setting(key: str) -> bool:
    """Return whether a setting is one that the session must keep as it is."""
    return key.lower().startswith(_KEPT_SETTINGS)
