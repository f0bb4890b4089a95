"""Declare what statements would create, so that later ones are analyzed as if the statements had run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.sql_lexer import tokens
from openlineage_pyspark.listener.probe.client import analysis_errors
from openlineage_pyspark.workbench.predict.from_text.text import is_format_and_path
from openlineage_pyspark.workbench.predict.sql.assigned import assigned
from openlineage_pyspark.workbench.predict.sql.computed_columns import computed_columns
from openlineage_pyspark.workbench.predict.sql.inline_tables import with_queries_of_values
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, DeclaredTable, Parts, in_backticks
from openlineage_pyspark.workbench.predict.tables.parsed import (
    column_before,
    is_literal,
    is_nested,
    items_of,
    text_items,
    typed_columns,
    with_changes,
    written_name,
)
from openlineage_pyspark.workbench.predict.tables.words import (
    before_default,
    declared_name,
    default_in,
    insert_of_flow,
    names_after,
    query_of_flow,
)

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.predict.tables.consequence import Consequences
    from openlineage_pyspark.workbench.predict.tables.declaring import DeclaringSpark
    from openlineage_pyspark.workbench.predict.tables.knowledge import Knowledge

# Providers whose tables keep the order of their columns.
_OWN_ORDER = frozenset({"iceberg", "delta", "hudi", "paimon"})
# Settings that would load classes or open files; Spark also reads Hadoop's settings from a session.
_KEPT_SETTINGS = ("spark.sql.catalog.", "spark.sql.runsqlonfiles", "spark.sql.variable.", "spark.openlineage.",
                  "spark.hadoop.", "spark.hive.",
                  "hadoop.", "fs.", "dfs.", "ipc.", "javax.", "hive.")  # fmt: skip

# The kinds of statements that create a table or a view, by the names of Spark's parsed plans.
_CREATES = frozenset({"CreateTable", "ReplaceTable", "CreateStreamingTable"})
FILLS = frozenset({"CreateTableAsSelect", "ReplaceTableAsSelect"})
VIEWS = frozenset({"CreateView", "CreateViewCommand"})
ALTERED_VIEW = "AlterViewAs"
CACHES = "CacheTableAsSelect"
_PROVIDED_VIEW = "CreateTempViewUsing"
_LIKE = frozenset({"CreateTableLike", "CreateTableLikeCommand"})
PIPELINE_TABLES = frozenset({"CreateMaterializedViewAsSelect", "CreateStreamingTableAsSelect"})
"""The statements that create the tables of declarative pipelines; a flow is an INSERT into such a table."""
_FLOW = "CreateFlowCommand"
_RENAMED = "RenameTable"
_SET_VARIABLE = "SetVariable"
# The words with which queries begin.
_QUERIES = frozenset({"FROM", "SELECT", "TABLE", "WITH"})
_DROPS = frozenset({"DropTable", "DropView"})
_ALTERS = frozenset(
    {_RENAMED, "AddColumns", "ReplaceColumns", "DropColumns", "RenameColumn", "AlterColumn", "AlterColumns"}
)
# These are carried out in the session: they need no rows, and access nothing outside.
_CARRIED_OUT = frozenset(
    {
        *("SetCatalogAndNamespace", "SetCatalogCommand", "SetNamespaceCommand", "ResetCommand"),
        "DropVariable",
    }
)
_SQL_FUNCTIONS = frozenset({"CreateSQLFunctionCommand", "CreateUserDefinedFunction"})
_FUNCTIONS = frozenset({"CreateFunction", "CreateFunctionCommand"})


class Following:
    """
    Follows the statements of scripts.

    Args:
        spark: the Spark that analyzes them.
        knowledge: the known tables and functions.
        consequences: collects the changes.
    """

    def __init__(self, spark: DeclaringSpark, knowledge: Knowledge, consequences: Consequences) -> None:
        self._spark = spark
        self._knowledge = knowledge
        self._consequences = consequences
        self.variables: set[str] = set()
        """The variables that statements have declared, in lower case."""
        self.of_loops: set[str] = set()
        """The variables that have the rows of loops, and their columns, in lower case."""
        self.unopened: dict[str, str] = {}
        """The views with unknown columns, in lower case -> their providers."""
        self.written = ""
        """The current statement, before anything in it was rewritten for Spark."""
        self.views: set[str] = set()
        """The temporary views that statements have made, in lower case."""
        # The sources of variables that were set to the result of a query.
        self._values: dict[str, Any] = {}

    def follow(self, text: str, kind: str, parsed: Any, plan: Any) -> None:
        """Apply what a statement changes for later ones: tables, views, variables, functions and settings."""
        if kind in _CREATES:
            self._create(
                parsed,
                self._spark.columns(parsed.tableSchema())
                if self._spark.is_old
                else typed_columns(items_of(parsed.columns())),
            )
        elif kind in FILLS:
            self._create(parsed, self._spark.columns(plan.query().schema()))
            self._knowledge.note_types(self._spark.name_of(parsed.name()))
        elif kind in (*PIPELINE_TABLES, _FLOW) or self._is_foreign_view(kind, parsed):
            self._define(text, kind, parsed, plan)
        elif kind in _LIKE:
            self._create_like(text)
        elif kind in (*VIEWS, CACHES, ALTERED_VIEW):
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

    def with_values(self, plan: Any) -> Any:
        """Return a plan in which variables are replaced by their sources."""
        return self._spark.with_values(plan, self._values)

    def without_values(self, text: str) -> str | None:
        """Return a statement without the VALUES that have variables, as `with_queries_of_values` does."""
        variables = self.variables | self.of_loops
        return with_queries_of_values(text, variables) if variables else None

    def replacement_of(self, text: str, kind: str, parsed: Any) -> str | None:
        """Return the statement that is analyzed instead of another one; None if that is analyzed unchanged."""
        if kind == CACHES:
            return str(parsed.originalText())
        if self._is_foreign_view(kind, parsed):
            return self._view_as_table(parsed)
        if kind in PIPELINE_TABLES:
            return self._filled_table(self._spark.name_of(parsed.name()), str(parsed.originalText()))
        if kind == _RENAMED and self._knowledge.known(self._spark.name_of(parsed.child())) is not None:
            old, new = self._renamed(parsed)
            return self._filled_table(new, f"TABLE {'.'.join(map(in_backticks, old))}")
        if kind != _FLOW:
            return None
        target = self._target_of_flow(text)
        return insert_of_flow(text) if self._is_known(target) else self._filled_table(target, query_of_flow(text))

    def _define(self, text: str, kind: str, parsed: Any, plan: Any) -> None:
        """Declare a table with the columns of the query that fills it; of several flows into it, the first counts."""
        if kind == _FLOW:
            target = self._target_of_flow(text)
            if self._is_known(target):
                return
        else:
            target = self._spark.name_of(parsed.name() if kind in PIPELINE_TABLES else parsed.child())
        self._knowledge.declare(DeclaredTable(target, self._spark.columns(plan.query().schema())))

    def _target_of_flow(self, text: str) -> Parts:
        return self._spark.whole(names_after(insert_of_flow(text), "INTO"))

    def _is_known(self, parts: Parts) -> bool:
        return self._knowledge.known(parts) is not None

    def _is_foreign_view(self, kind: str, parsed: Any) -> bool:
        """Return whether a statement creates a view in a catalog that is not Spark's, which becomes a table here."""
        return kind in ("CreateView", ALTERED_VIEW) and self._spark.name_of(parsed.child())[0].lower() != SPARK_CATALOG

    def _view_as_table(self, parsed: Any) -> str:
        """Return the statement that creates a table instead of a view."""
        is_new = str(parsed.nodeName()) == "CreateView"
        names = (
            ", ".join(in_backticks(str(each._1())) for each in items_of(parsed.userSpecifiedColumns()))
            if is_new
            else ""
        )
        query = str(parsed.originalText().get() if is_new else parsed.originalText())
        filled = f"SELECT * FROM ({query}) AS `view` ({names})" if names else query  # noqa: S608 (the user's own)
        return self._filled_table(self._spark.name_of(parsed.child()), filled)

    def _filled_table(self, parts: Parts, query: str) -> str:
        """Return the statement that creates a table from a query."""
        self._spark.ensure(parts)
        return f"CREATE TABLE {'.'.join(map(in_backticks, parts))} AS {query}"

    def _carry_out(self, text: str, kind: str, parsed: Any) -> None:
        """Carry out in the session what later statements of the script depend on."""
        if kind == _SET_VARIABLE:
            self._set_variables(text)
        elif kind == "CreateNamespace":
            self._spark.ensure(self._spark.whole((*written_name(parsed.name()), "")))
        elif kind == "CreateVariable":
            declared, value = self._without_value(text, parsed), self._value_of(default_in(text))
            self._knowledge.retried(lambda: self._spark.session.sql(declared))
            self.variables.add(declared_name(text))
            self._values.pop(declared_name(text), None)
            if value is not None:
                self._values[declared_name(text)] = value
            self._consequences.add("object", declared_name(text))
        elif kind in _FUNCTIONS:
            # The class that it names is not loaded.
            self._knowledge.know_function(".".join(names_after(text, "EXISTS") or names_after(text, "FUNCTION")))
        elif kind in _SQL_FUNCTIONS:
            self._create_function(text)
        elif kind in _CARRIED_OUT or (kind == "SetCommand" and not _is_kept(parsed)):
            if kind == "SetCatalogCommand":
                self._spark.register_catalog(names_after(text, "CATALOG")[:1])
            self._knowledge.retried(lambda: self._spark.session.sql(text))
            self._note_carried_out(text, kind)
            if kind == "ResetCommand":
                self._spark.put_in_front()

    def _set_variables(self, text: str) -> None:
        """Remember the sources of variables that are set to the result of a query: each use of a variable has them."""
        parts = assigned(text)
        made: dict[str, Any] = {}
        try:
            for name, value in parts:
                made[name] = self._value_of(value)
        finally:
            for name, _ in parts:
                self._consequences.add("object", name)
                self._values.pop(name, None)
        self._values.update({name: value for name, value in made.items() if value is not None})

    def _value_of(self, value: str) -> Any:
        """Return the expression of a value that has sources; None for any other."""
        if not any(token.text.upper() in _QUERIES or self._has_sources(token.text) for token in tokens(value)):
            return None
        return self._spark.value_in(self.with_values(self._plan_of_value(value)))

    def _has_sources(self, name: str) -> bool:
        """Return whether a variable with a name has the sources of a query."""
        return name.strip("`").lower() in self._values

    def _plan_of_value(self, value: str) -> Any:
        """Return the analyzed plan of a query that selects an expression."""
        return self._knowledge.retried(lambda: self._spark.plan(f"SELECT {value} AS `value`"))

    def _note_carried_out(self, text: str, kind: str) -> None:
        if kind == "DropVariable":
            names = names_after(text, "EXISTS") or names_after(text, "VARIABLE") or names_after(text, "VAR")
            self._values.pop("".join(names[-1:]).lower(), None)
            self._consequences.add("object", "".join(names[-1:]))
        else:
            self._consequences.add("setting")

    def _create_function(self, text: str) -> None:
        """Declare an SQL function; if Spark refuses its query, it can be called, but nothing is known about it."""
        names = names_after(text, "EXISTS") or names_after(text, "FUNCTION")
        try:
            self._knowledge.retried(lambda: self._spark.session.sql(text))
            self._consequences.add("object", "".join(names[-1:]))
        except analysis_errors():
            self._knowledge.know_function(".".join(names))

    def _without_value(self, text: str, parsed: Any) -> str:
        """Return a DECLARE that only gives the variable its type, unless its value is a literal."""
        if is_literal(parsed.defaultExpr().child()):
            return text
        declared = before_default(text)
        try:
            self._spark.parsed(declared)
        except analysis_errors():
            type_ = self._knowledge.retried(lambda: self._spark.plan(text)).defaultExpr().dataType().sql()
            return f"{declared} {type_}"
        return declared

    def _create_like(self, text: str) -> None:
        source = ".".join(map(in_backticks, names_after(text, "LIKE")))
        query = f"TABLE {source}"
        plan = self._knowledge.retried(lambda: self._spark.plan(query))
        target = self._spark.whole(names_after(text, "EXISTS") or names_after(text, "TABLE"))
        self._knowledge.declare(DeclaredTable(target, self._spark.columns(plan.schema())))

    def _create_view(self, text: str, kind: str, parsed: Any) -> None:
        if kind == CACHES:
            name = str(parsed.tempViewName())
            self.views.add(name.lower())
            self._consequences.add("object", name)
            text = f"CREATE OR REPLACE TEMPORARY VIEW {in_backticks(name)} AS {parsed.originalText()}"
        elif kind == "CreateViewCommand":
            self.views.add(str(parsed.name().table()).lower())
            self._consequences.add("object", str(parsed.name().table()))
        else:
            self._consequences.add("object", written_name(parsed.child())[-1])
        if kind == "CreateView":
            parts = self._spark.name_of(parsed.child())
            self._spark.ensure(parts)
            self._knowledge.forget(parts)
            self._spark.session.sql(f"DROP VIEW IF EXISTS {'.'.join(map(in_backticks, parts))}")
        self._spark.session.sql(text)

    def _create_provided_view(self, parsed: Any) -> None:
        """Declare a temporary view of files or of a connector by the columns that it names: neither is opened."""
        name = str(parsed.tableIdent().table())
        is_global = bool(getattr(parsed, "global")())
        self.views.add(name.lower())
        whole = f"global_temp.{in_backticks(name)}" if is_global else in_backticks(name)
        self._consequences.add("object", name)
        self._spark.session.sql(f"DROP VIEW IF EXISTS {whole}")
        self.unopened.pop(name.lower(), None)
        if not parsed.userSpecifiedSchema().isDefined():
            self.unopened[name.lower()] = str(parsed.provider())
            return
        options = {str(each._1()).lower(): str(each._2()) for each in items_of(parsed.options().toSeq())}
        path = (str(parsed.provider()), options.get("path", ""))
        parts = (SPARK_CATALOG, *path) if is_format_and_path(path) else self._spark.whole((name,))
        self._knowledge.declare(DeclaredTable(parts, self._spark.columns(parsed.userSpecifiedSchema().get())))
        kind = "GLOBAL TEMPORARY" if is_global else "TEMPORARY"
        self._spark.session.sql(
            f"CREATE OR REPLACE {kind} VIEW {in_backticks(name)} AS TABLE {'.'.join(map(in_backticks, parts))}"
        )

    def _create(self, parsed: Any, typed: tuple[tuple[str, str], ...]) -> None:
        """Declare a table that a statement creates, unless only its files show its columns: these are not read."""
        if not typed:
            return
        parts = self._spark.name_of(parsed.name())
        if (
            str(parsed.nodeName()) in ("CreateTable", "CreateTableAsSelect")
            and parsed.ignoreIfExists()
            and self._knowledge.known(parts) is not None
        ):
            return
        transforms = [str(each.toString()) for each in items_of(parsed.partitioning())]
        names = {name.lower(): name for name, _ in typed}
        by = [each.removeprefix("identity(").removesuffix(")").strip("`").lower() for each in transforms]
        partitions = tuple(names[each] for each in by if each in names)
        if parts[0] == SPARK_CATALOG and str(parsed.tableSpec().provider().toString()).lower()[5:-1] not in _OWN_ORDER:
            # Spark's own tables have their partition columns last.
            typed = (*(c for c in typed if c[0] not in partitions), *(c for c in typed if c[0] in partitions))
        computed = computed_columns(self.written)
        self._knowledge.declare(DeclaredTable(parts, typed, partitions, computed=computed))

    def _drop(self, kind: str, name: Any) -> None:
        """Forget a table, or drop a view."""
        parts = self._spark.name_of(name)
        if kind == "DropTable" or parts[0].lower() != SPARK_CATALOG:
            self._knowledge.forget(parts)
        else:
            self.views.discard(parts[-1].lower())
            self.unopened.pop(parts[-1].lower(), None)
            self._consequences.add("object", parts[-1])
            self._spark.session.sql(f"DROP VIEW IF EXISTS {'.'.join(map(in_backticks, written_name(name)))}")

    def _renamed(self, parsed: Any) -> tuple[Parts, Parts]:
        """Return the full names of a table before and after a rename, which may name only the new last part."""
        old, new = self._spark.name_of(parsed.child()), text_items(parsed.newName())
        return old, (*old[:-1], *new) if len(new) == 1 else self._spark.whole(new)

    def _rename(self, text: str, parsed: Any) -> None:
        old, new = self._renamed(parsed)
        table = self._knowledge.known(old)
        if table is not None:
            is_unsure = self._knowledge.is_unsure(old)
            self._knowledge.forget(old)
            self._knowledge.declare(attrs.evolve(table, parts=new, identifier=None))
            if is_unsure:
                self._knowledge.note_unsure(new)
        elif parsed.isView():
            self._consequences.add("object", old[-1])
            self._consequences.add("object", new[-1])
            self._spark.session.sql(text)

    def _alter(self, kind: str, parsed: Any) -> None:
        parts = self._spark.name_of(parsed.table())
        table = self._knowledge.known(parts)
        if table is None:
            return
        table = attrs.evolve(table, parts=parts)
        if kind == "DropColumns":
            dropped = [text_items(each.name()) for each in items_of(parsed.columnsToDrop())]
            table = table.without_columns(names[0] for names in dropped if len(names) == 1)
        elif kind == "RenameColumn":
            names = text_items(parsed.column().name())
            table = table.with_renamed_column(names[0], str(parsed.newName())) if len(names) == 1 else table
        elif kind in ("AlterColumn", "AlterColumns"):
            table = with_changes(table, parsed)
        else:
            added = [each for each in items_of(parsed.columnsToAdd()) if not is_nested(each)]
            table = attrs.evolve(table, columns=()) if kind == "ReplaceColumns" else table
            for each in added:
                column = str(each.colName()), str(each.dataType().sql())
                table = table.with_column(column, column_before(each.position()))
        self._knowledge.declare(table)


def _is_kept(parsed: Any) -> bool:
    """Return whether a SET would change a setting that the session must keep."""
    setting = parsed.kv()
    return bool(setting.isDefined()) and is_kept_setting(str(setting.get()._1()))


def is_kept_setting(key: str) -> bool:
    """Return whether a setting must not be changed in the session."""
    return key.lower().startswith(_KEPT_SETTINGS)
