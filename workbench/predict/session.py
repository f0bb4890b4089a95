"""
The throw-away Spark session that analyzes the statements of scripts: local, without a network and without rows.

Nothing is run. The tables are declared in catalogs that only hold names and schemas (`DeclaredTables.java`), so no
connector, metastore or file is needed; what a statement would create is declared after it. Views, settings, variables
and SQL functions are in the session itself.

The author of the scripts is not trusted: in a pull request they may come from anybody, and the result goes into a
comment. So no statement computes a value (Spark's `java_method` calls any method of Java), opens a file or a
connection, loads a class that it names, or starts Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import ProbeError
from openlineage_pyspark.listener.analyze import EncodedQuery, encoded_query
from openlineage_pyspark.listener.probe.client import (
    NOT_SUPPORTED,
    Refusal,
    StatementRefusedError,
    analysis_errors,
    as_probe_error,
    refusal_of,
    spark_errors,
)
from openlineage_pyspark.workbench.predict.acts import TEMPORARY
from openlineage_pyspark.workbench.predict.sql.databricks import (
    as_spark,
    captures_changes,
    has_no_lineage,
    keeps_places,
    makes_function,
    reads_files,
    without_conditions_on,
)
from openlineage_pyspark.workbench.predict.sql.headers import plainly_created
from openlineage_pyspark.workbench.predict.sql.loop_rows import with_loop_rows
from openlineage_pyspark.workbench.predict.sql.quoted_names import with_parts_of_names
from openlineage_pyspark.workbench.predict.sql.variables import (
    UnknownVariableError,
    default_of_widget,
    placeheld,
    substituted,
)
from openlineage_pyspark.workbench.predict.sql.versions import with_versions
from openlineage_pyspark.workbench.predict.tables.consequence import Consequence, Consequences
from openlineage_pyspark.workbench.predict.tables.declared import (
    SPARK_CATALOG,
    DeclaredTable,
    DeclaredTables,
    Parts,
    in_backticks,
)
from openlineage_pyspark.workbench.predict.tables.declaring import DeclaringSpark
from openlineage_pyspark.workbench.predict.tables.following import ALTERED_VIEW, CACHES, FILLS, VIEWS, Following
from openlineage_pyspark.workbench.predict.tables.knowledge import (
    UNKNOWN_FUNCTIONS,
    UNKNOWN_TABLE,
    Knowledge,
    without_catalog,
)
from openlineage_pyspark.workbench.predict.tables.parsed import text_items
from openlineage_pyspark.workbench.predict.tables.words import first_word, names_after, names_in, without_refresh

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from openlineage_pyspark.workbench.predict.sql.statements import Loop

UNKNOWN_COLUMN = "UNRESOLVED_COLUMN"
"""The beginning of the class of Spark's error about a column that does not exist."""
UNOPENED = "unopened"
"""The parameter of a refusal that names the provider of a view whose columns are unknown."""
_TEMPORARY_VIEW = "CreateViewCommand"
# Each file, and each script, may declare its own variables, under names that others use too.
_DECLARES = re.compile(r"DECLARE\s+(?:OR\s+REPLACE\s+)?", re.IGNORECASE)
# In SQL Server, these declare a variable and set one; none has a value before.
_LOCAL = re.compile(r"DECLARE\s+@|SET\s+@+\w+\s*[-+*/%&|^]?=", re.IGNORECASE)
# Kinds of statements -> the method of their parsed plan that returns the table that they change.
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
# Kinds that begin with these words have no column lineage, except those with a query.
_WITHOUT_LINEAGE = tuple(
    "Add Alter Analyze Cache Clear Comment Create Describe Drop Explain List Noop Recover Refresh Rename Repair "
    "Replace Reset Set Show Truncate Uncache Unset".split()
)


@attrs.frozen
class Analyzed:
    """
    The session's result for a statement.

    Args:
        kind: the class of its parsed plan; empty if it can't be parsed.
        query: its analyzed plan; None if it has no column lineage, or if Spark refuses it.
        refusal: why Spark refuses it; None if it does not.
        missed: Spark's refusal, if a part of the statement had to be replaced because it can't be read; else None.
        catalog: the current catalog.
        database: the current database in it.
        tables: for a refused statement, each table and view in its text that Spark knows: its name as the text writes
            it -> the analyzed plan of all its columns.
        from_text: the tables that were declared from the text of a refused statement: the name of each -> the place of
            that statement.
        text: for a refused statement, the text that was read instead: with the values of variables, and without
            features of other engines; empty if that is the statement itself.
        shape: the shape of its analyzed plan, as `PlanShape.java` writes it; empty if shapes were not requested.
        targets: the full names of the tables that it creates, drops or changes; empty if shapes were not requested. The
            name of a temporary view follows the words `temporary view`.
        computed: the tables that it can see and that compute columns with each write: the name of each -> these
            columns, each with its expression.
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
    computed: Mapping[Parts, tuple[tuple[str, str], ...]] = attrs.field(factory=dict)


@attrs.frozen
class FoundTable:
    """
    A table or a view that Spark knows.

    Args:
        query: the analyzed plan of all its columns.
        types: its columns in lower case -> their types in DDL.
    """

    query: EncodedQuery
    types: Mapping[str, str]


@attrs.define
class _ReadStatement:
    """
    A statement while Spark reads it.

    Args:
        text: its text, which is replaced by what Spark can read.
        kind: the class of its parsed plan; empty until it is parsed.
        query: its analyzed plan; None until it is analyzed, or if it has no column lineage.
    """

    text: str
    kind: str = ""
    query: EncodedQuery | None = None


class ScriptSession:
    """
    Analyzes statements one after the other, as if each had run.

    Args:
        spark: a separate session, which `throw_away_session` creates.
        tables: the known tables. Those that statements create are added.
        is_first: whether no other session of the same Spark shares the tables.
        shapes: whether the shapes of plans are requested, for a comparison.
    """

    def __init__(self, spark: Any, tables: DeclaredTables, *, is_first: bool = True, shapes: bool = False) -> None:
        self._shapes = shapes
        self._consequences = Consequences()
        self._spark = DeclaringSpark(spark, self._consequences, is_first=is_first)
        self._knowledge = Knowledge(self._spark, tables, self._consequences)
        self._following = Following(self._spark, self._knowledge, self._consequences)
        self._loops: tuple[Loop, ...] = ()
        self._shape = ""
        self._named: tuple[str, ...] = ()
        self._is_rewritten = False
        self._unset: Refusal | None = None
        # The parameters of notebooks that have their defaults.
        self._widgets: set[str] = set()

    def use_from_this_thread(self) -> None:
        """Make Spark find the catalogs: it loads them by their names, with the class loader of the calling thread."""
        self._spark.use_from_this_thread()

    def analyze(
        self,
        text: str,
        *,
        in_script: bool = False,
        loops: tuple[Loop, ...] = (),
        reach: Collection[str] | None = None,
    ) -> Analyzed:
        """
        Return the reads and writes of a statement, and declare the tables that it would create.

        Args:
            text: the statement.
            in_script: whether it is in an SQL script, where SET may set a variable of the script.
            loops: the FOR loops around it.
            reach: the last parts of all names that it can see, in lower case; None if these are unknown.
        """
        from_text, computed = self._knowledge.see(reach), self._knowledge.computed()
        self._enter(loops)
        catalog, database = self._spark.current()
        refusal = None
        given, plain = text, self._substituted(text)
        self._following.written = plain
        read = _ReadStatement(with_loop_rows(plain, loops))
        self._shape, self._named, self._is_rewritten = "", (), read.text != plain
        self._knowledge.begin(read.text)
        try:
            with as_probe_error():
                self._analyze_with_spark(read)
        except spark_errors() as problem:
            other, left_out = self._instead_of(read.text, refusal_of(problem))
            if other is not None:
                return _missing(self._again(other, given, in_script=in_script, loops=loops, reach=reach), left_out)
            refusal = self._refusal_of(problem, read, in_script=in_script)
        except ValueError as problem:
            if not has_no_lineage(read.text):
                refusal = _unsupported(problem)
        except ProbeError as problem:
            refusal = Refusal("INTERNAL_ERROR", str(problem))
        finally:
            self._knowledge.end()
        # Spark takes it for a property.
        kind, plain = ("", given) if _LOCAL.match(given) else (read.kind, read.text)
        refusal = self._without_value_of(kind, plain) or refusal
        missed, shown = (None if refusal is not None else self._knowledge.missed), (self._shape, self._named)
        instead = read.text if refusal is not None and read.text != given else ""
        found = Analyzed(read.kind, read.query, refusal, missed, catalog, database, {}, from_text, instead, *shown)
        return attrs.evolve(found, computed=computed) if computed else found

    def _analyze_with_spark(self, read: _ReadStatement) -> None:
        """Analyze a statement, and remember its effects."""
        read.text, parsed = self._without_values(*self._parsed(read.text))
        self._knowledge.begin(read.text)
        read.kind = str(parsed.nodeName())
        self._named = self._targets(read.kind, parsed)
        if read.kind == "CreateVariable":
            read.text = self._replacing(read.text)
        plan = self._analyzed(read.text, read.kind, parsed) if self._unset is None else None
        plan = None if plan is None else self._following.with_values(plan)
        # The script decides about the names of tables, whatever the machine's configuration does to paths.
        read.query = EncodedQuery(encoded_query(self._spark.session, plan).plan) if plan is not None else None
        self._shape = self._spark.shape_of(plan) if plan is not None and self._shapes else ""
        if self._unset is None:
            self._following.follow(read.text, read.kind, parsed, plan)

    def _refusal_of(self, problem: Exception, read: _ReadStatement, *, in_script: bool) -> Refusal | None:
        """Return why Spark refuses a statement; None if the statement has no lineage anyway."""
        if not read.kind and makes_function(read.text):
            names = names_after(read.text, "EXISTS") or names_after(read.text, "FUNCTION")
            self._knowledge.know_function(".".join(names))
            return None
        if not read.kind and (widget := default_of_widget(read.text)) is not None:
            self._take_default(*widget)
            return None
        # In an SQL script, SET may set a variable of the script, or several in parentheses.
        if (in_script and first_word(read.text) == "SET") or (not read.kind and has_no_lineage(read.text)):
            return None
        return self._knowledge.missed or self._explained(self._placed(refusal_of(problem)))

    def _take_default(self, name: str, value: str) -> None:
        """Give a parameter of a notebook its default, unless --conf or a SET has given it another value."""
        if self._variable(name) is None or name in self._widgets:
            self._widgets.add(name)
            self._spark.session.conf.set(name, value)
            self._consequences.add("setting")

    def table(self, name: str) -> FoundTable | None:
        """Return a table or a view by its name as a statement writes it; None if it is unknown."""
        try:
            with as_probe_error():
                plan = self._knowledge.retried(lambda: self._spark.plan(f"TABLE {name}"))
                types = {column.lower(): type_ for column, type_ in self._spark.columns(plan.schema())}
                return FoundTable(EncodedQuery(encoded_query(self._spark.session, plan).plan), types)
        except analysis_errors():
            return None
        except (ValueError, ProbeError):
            return None

    def columns(self, ddl: str) -> tuple[tuple[str, str], ...]:
        """Return the columns in a text such as `a INT, b STRING`; none if Spark can't read it."""
        try:
            return self._spark.columns(self._spark.parser.parseTableSchema(ddl)) if ddl else ()
        except spark_errors():
            return ()

    def declare(self, table: DeclaredTable, from_text: str = "") -> None:
        """Declare a table to statements, as `Knowledge.declare` does."""
        self._knowledge.declare(table, from_text)

    def forget(self, parts: Parts) -> None:
        """Remove a table."""
        self._knowledge.forget(parts)

    def know_function(self, name: str) -> None:
        """Declare a function, as `Knowledge.know_function` does."""
        self._knowledge.know_function(name)

    def known(self, parts: Parts) -> DeclaredTable | None:
        """Return a declared table by its full name; None if there is none."""
        return self._knowledge.known(parts)

    def whole(self, names: Parts) -> Parts:
        """Return a name with its catalog and its database, as Spark completes it."""
        return self._spark.whole(names)

    @property
    def read(self) -> str:
        """The text that Spark last read instead of a statement."""
        return self._knowledge.text

    def effects(self) -> tuple[Consequence, ...]:
        """Return the changes for later statements since the last call."""
        return self._consequences.take()

    def restore(self, effects: Iterable[Consequence]) -> None:
        """Repeat the changes that a statement has made in another session, except those that only Spark holds."""
        self._knowledge.restore(effects)

    def name_places(self, places: Mapping[str, str]) -> None:
        """Name the places of statements, as `Knowledge.name_places` does."""
        self._knowledge.name_places(places)

    def made(self) -> tuple[DeclaredTable, ...]:
        """Return the tables that were declared since the last call."""
        return self._knowledge.made()

    def with_values(self, plan: Any) -> Any:
        """
        Return an analyzed plan in which variables are replaced by the sources of their values.

        Args:
            plan: the plan, in the JVM.
        """
        return self._following.with_values(plan)

    def shape_of(self, plan: Any) -> str:
        """
        Return the shape of an analyzed plan; empty if shapes are not requested.

        Args:
            plan: the plan, in the JVM.
        """
        return self._spark.shape_of(self._following.with_values(plan)) if self._shapes else ""

    def current(self) -> tuple[str, str]:
        """Return the current catalog and database."""
        return self._spark.current()

    def with_known(self, action: Callable[[], Any], text: str = "") -> Any:
        """
        Run an action in Spark with all known definitions, and return its result.

        Args:
            action: the action, which is repeated until Spark misses no known definition.
            text: the statement that it analyzes, from whose use of columns unknown types are guessed; empty for none.

        Raises:
            AnalysisException: Spark refuses it even with all known definitions.
        """
        self.use_from_this_thread()
        self._knowledge.begin(text)
        try:
            return self._knowledge.retried(action)
        finally:
            self._knowledge.end()

    def with_plain_function(self, text: str, refusal: Refusal) -> str | None:
        """
        Return a statement with the dotted name of an unknown function as one part, by which it may be declared.

        Args:
            text: the statement.
            refusal: why Spark refuses it.

        Returns:
            None if Spark refuses it for another reason.
        """
        if not refusal.code.startswith(UNKNOWN_FUNCTIONS):
            return None
        names = names_in(refusal.parameters.get("routineName", ""))
        pattern = r"\s*\.\s*".join(rf"`?{re.escape(each)}`?" for each in without_catalog(names))
        plain = re.sub(rf"(?<![\w`.]){pattern}(?=\s*\()", f"`{'.'.join(without_catalog(names))}`", text)
        return plain if len(without_catalog(names)) > 1 and plain != text else None

    def _targets(self, kind: str, parsed: Any) -> tuple[str, ...]:
        """Return the full names of the tables that a statement creates, drops or changes, if it names them."""
        if not self._shapes:
            return ()
        if kind == _TEMPORARY_VIEW:
            return (f"{TEMPORARY}{parsed.name().table()}",)
        if kind == CACHES:
            return (f"{TEMPORARY}{parsed.tempViewName()}",)
        getter = _NAMED_BY.get(kind)
        if getter is None:
            return ()
        try:
            with as_probe_error():
                name = self._spark.name_of(getattr(parsed, getter)())
        except ProbeError:
            # A table may be given by an expression or a query.
            return ()
        new = text_items(parsed.newName()) if kind == "RenameTable" else ()
        renamed = ((*name[:-1], *new) if len(new) == 1 else self._spark.whole(new),) if new else ()
        return tuple(".".join(each) for each in (name, *renamed))

    def _instead_of(self, text: str, refusal: Refusal) -> tuple[str | None, Refusal | None]:
        """Return what to analyze instead of a refused statement, if anything; and the refusal of what it leaves out."""
        plain = self.with_plain_function(text, refusal)
        return (plain, None) if plain is not None else (_unexpected(text, refusal), refusal)

    def _again(
        self, text: str, given: str, *, in_script: bool, loops: tuple[Loop, ...], reach: Collection[str] | None
    ) -> Analyzed:
        """Analyze a statement instead of another one."""
        self._knowledge.end()
        found = self.analyze(text, in_script=in_script, loops=loops, reach=reach)

        def unplaced(refusal: Refusal | None) -> Refusal | None:
            return None if refusal is None else attrs.evolve(refusal, line=None, column=None)

        read = found.text or text if found.refusal is not None and text != given else found.text
        return attrs.evolve(found, refusal=unplaced(found.refusal), missed=unplaced(found.missed), text=read)

    def _substituted(self, text: str) -> str:
        """Return a statement with the values of its variables; remember the refusal if one has no value."""
        self._unset = None
        try:
            return substituted(text, self._variable)
        except UnknownVariableError as problem:
            self._unset = Refusal("NO_VALUE", str(problem), line=problem.line, column=problem.column)
            return placeheld(substituted(text, self._variable, keeps=True))

    def _without_value_of(self, kind: str, text: str) -> Refusal | None:
        """Return a refusal because a variable has no value, unless the statement has no lineage anyway."""
        manages = kind.startswith(_WITHOUT_LINEAGE) and not kind.startswith(
            ("Create", "Replace", "Set", "Cache", "Alter")
        )
        return None if manages or (not kind and has_no_lineage(text)) else self._unset

    def _parsed(self, text: str) -> tuple[str, Any]:
        """Return a statement that Spark can parse, and its parsed plan; features of other engines are rewritten."""
        text = self._in_parts(without_refresh(text))
        if reads_files(text) or captures_changes(text):
            text, self._is_rewritten = as_spark(text, self._following.views), True
        try:
            return text, self._spark.parsed(text)
        except StatementRefusedError:
            helped = as_spark(text, self._following.views)
            if helped == text:
                raise
        parsed = self._spark.parsed(helped)
        self._is_rewritten = not keeps_places(text, helped)
        return helped, parsed

    def _without_values(self, text: str, parsed: Any) -> tuple[str, Any]:
        """Return a statement, and its parsed plan, in which VALUES with variables are queries."""
        made = self._following.without_values(text)
        if made is None:
            return text, parsed
        self._is_rewritten = True
        return made, self._spark.parsed(made)

    def _in_parts(self, text: str) -> str:
        """Return a statement in which names of tables in one pair of backticks have their parts, without versions."""
        made = with_parts_of_names(with_versions(text), self._following.views)
        self._is_rewritten = self._is_rewritten or len(made) != len(text)
        return made

    def _replacing(self, text: str) -> str:
        """Return a DECLARE that replaces a variable with the same name."""
        made = _DECLARES.sub("DECLARE OR REPLACE ", text, count=1)
        self._is_rewritten = self._is_rewritten or made != text
        return made

    def _variable(self, name: str) -> str | None:
        """Return the value of a variable of scripts; None if it has none."""
        value = self._spark.session.conf.get(name, None)
        return None if value is None else str(value)

    def _placed(self, refusal: Refusal) -> Refusal:
        """Return a refusal without its position, if Spark analyzed a rewritten statement."""
        return attrs.evolve(refusal, line=None, column=None) if self._is_rewritten else refusal

    def _explained(self, refusal: Refusal) -> Refusal:
        """Return a refusal that explains that a view is not opened, or that types are unknown."""
        names = names_in(refusal.parameters.get("relationName", ""))
        provider = self._following.unopened.get(names[-1].lower()) if names and refusal.code == UNKNOWN_TABLE else None
        if provider is not None:
            return attrs.evolve(refusal, parameters={**refusal.parameters, UNOPENED: provider})
        return self._knowledge.explained(refusal)

    def _enter(self, loops: tuple[Loop, ...]) -> None:
        """Declare the variables of the FOR loops around a statement, and drop all others."""
        if loops == self._loops:
            return
        for name in self._following.of_loops:
            self._spark.session.sql(f"DROP TEMPORARY VARIABLE IF EXISTS {in_backticks(name)}")
        self._loops = loops
        self._following.of_loops.clear()
        for loop in loops:
            self._declare_row(loop)

    def _declare_row(self, loop: Loop) -> None:
        """Declare the row of a FOR loop as variables: statements may name its columns with its name or without."""
        try:
            with as_probe_error():
                query = substituted(loop.query, self._variable)
                plan = self._knowledge.retried(lambda: self._spark.plan(query))
                columns = self._spark.columns(plan.schema())
                struct = ", ".join(f"{in_backticks(name)}: {type_}" for name, type_ in columns)
                for name, type_ in (*columns, (loop.variable, f"STRUCT<{struct}>")):
                    if name and name.lower() not in self._following.variables:
                        self._spark.session.sql(f"DECLARE OR REPLACE VARIABLE {in_backticks(name)} {type_}")
                        self._following.of_loops.add(name.lower())
        except analysis_errors():
            # The analysis of the query as a separate statement reports the reason.
            return
        except (ValueError, ProbeError):
            return

    def _analyzed(self, text: str, kind: str, parsed: Any) -> Any:
        """Return the analyzed plan of a statement; None if it has no column lineage."""
        if kind in FILLS:
            self._spark.ensure(self._spark.name_of(parsed.name()))
            text = plainly_created(text)
        elif (replacement := self._following.replacement_of(text, kind, parsed)) is not None:
            text, self._is_rewritten = replacement, True
        elif kind.startswith(_WITHOUT_LINEAGE) and kind not in (*VIEWS, ALTERED_VIEW):
            return None
        return self._knowledge.retried(lambda: self._spark.plan(text))


def _unexpected(text: str, refusal: Refusal) -> str | None:
    """Return a statement without the expectations that name a column which its query does not return."""
    if not refusal.code.startswith(UNKNOWN_COLUMN):
        return None
    names = names_in(refusal.parameters.get("objectName", ""))
    return without_conditions_on(text, names[-1]) if names else None


def _missing(found: Analyzed, refusal: Refusal | None) -> Analyzed:
    """Return the result for a statement, with the refusal of the part that was left out, if there is one."""
    if refusal is None or found.refusal is not None or found.missed is not None:
        return found
    return attrs.evolve(found, missed=attrs.evolve(refusal, line=None, column=None))


def _unsupported(problem: ValueError) -> Refusal:
    """Return the refusal of a statement that would run while it is analyzed."""
    reason = str(problem).removeprefix(NOT_SUPPORTED)
    return Refusal("UNSUPPORTED_STATEMENT", f"the lineage of files does not support {reason}")
