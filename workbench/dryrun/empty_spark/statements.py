"""The SQL statements of a session of a script: queries have no rows, and what others would do is recorded."""

from __future__ import annotations

import contextlib
import functools
import re
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.datasets.naming import is_absolute
from openlineage_pyspark.listener.probe.client import analysis_errors, refusal_of, spark_errors
from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.script.answers import columns_of_answer
from openlineage_pyspark.workbench.dryrun.script.places import data_place
from openlineage_pyspark.workbench.dryrun.script.records import WriteRecord
from openlineage_pyspark.workbench.dryrun.script.request import document_of_table
from openlineage_pyspark.workbench.predict.acts import PLACES, SETTINGS
from openlineage_pyspark.workbench.predict.caching.cache import document_of_answer
from openlineage_pyspark.workbench.predict.from_text.text import is_format_and_path
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, analyzed, read_text
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.databricks import reads_changes, with_columns_of_changes
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement, statements_of
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG, DeclaredTable, in_backticks, name_key
from openlineage_pyspark.workbench.predict.tables.following import FILLS
from openlineage_pyspark.workbench.predict.tables.parsed import text_items
from openlineage_pyspark.workbench.predict.tables.words import names_after, names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openlineage_pyspark.workbench.dryrun.script.places import DataPlace

from openlineage_pyspark.workbench.dryrun.empty_spark.reads import (
    NAME_OF_UNKNOWN,
    STAND_IN,
    UNKNOWN_TABLE,
    Reads,
    identifier_at,
    is_of_data,
)
from openlineage_pyspark.workbench.dryrun.empty_spark.writes import Writes
from openlineage_pyspark.workbench.dryrun.script.values import with_assumed_values

_VIEW, _DIRECTORY = "CreateViewCommand", "InsertIntoDir"
"""What Spark's parser makes of a temporary view (of another view it makes `CreateView`), and of a write to a folder."""
_QUOTED_OR_STAND_IN = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\w*(?:\{[^{}]*\}\w*)+")
_PROVIDED_VIEW = "CreateTempViewUsing"
_TEMPORARY_VIEW, _DROPPED_VIEW, _CACHED = "CreateViewCommand", "DropView", "CacheTableAsSelect"
_INSERT = "InsertIntoStatement"
_DATABASE = "CreateNamespace"
_SCRIPT = "CompoundBody"
_BEFORE_DATABASE = ("EXISTS", "DATABASE", "SCHEMA", "NAMESPACE")
_PLACED = frozenset({"CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect", "SetTableLocation"})
_OF_TEXT = frozenset({"csv", "json", "text", "xml"})
"""The formats whose columns depend on options."""
_TABLE_FUNCTIONS = frozenset(
    {
        "MISSING_CATALOG_ABILITY.TABLE_VALUED_FUNCTIONS",
        "NOT_A_TABLE_FUNCTION",
        "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        "_LEGACY_ERROR_TEMP_1022",
        "_LEGACY_ERROR_TEMP_1184",
    }
)
"""The conditions of the errors about functions that return tables and are unknown here."""
_READS_NOTHING = ("Show", "Describe", "List")
_STATEMENTS = frozenset(
    {"Call", _SCRIPT, "InsertIntoStatement", "InsertIntoDir", "UpdateTable", "DeleteFromTable", "MergeIntoTable"}
)


class Statements:
    """
    The SQL statements of one session of a script.

    Args:
        reads: what the session reads.
        writes: what it would write.
    """

    def __init__(self, reads: Reads, writes: Writes) -> None:
        self._reads = reads
        self._writes = writes
        self._spark = reads.spark
        self._session = reads.session
        self._stage = reads.stage

    def is_query(self, text: str) -> bool:
        """Return whether an SQL text is a query, which has no effect by itself; False if it can't be parsed."""
        parsed = self._parsed_plan(text)
        if parsed is None:
            return False
        while str(parsed.nodeName()) == "UnresolvedWith":
            parsed = parsed.child()
        classes = (
            self._reads.jvm.java.lang.Class.forName(f"org.apache.spark.sql.catalyst.plans.logical.{name}")
            for name in ("Command", "ParsedStatement")
        )
        name = str(parsed.nodeName())
        is_multi = name == "Union" and str(parsed.children().apply(0).nodeName()) in _STATEMENTS
        return not (is_multi or name in _STATEMENTS or any(each.isInstance(parsed) for each in classes))

    def _read_by(self, text: str) -> tuple[str, Unknown]:
        """Return the target and the sources that the text of a statement names."""
        target, read = "", Unknown()
        for lineage in read_text(text):
            target = lineage.target or target
            for name in lineage.tables:
                read = read.joined(self._reads.unknown_of(name) or self._named(name))
        return target, read

    def _named(self, name: str) -> Unknown:
        """Return what is known about a table or a path that a text names."""
        names = names_in(name)
        if is_format_and_path(names):
            return Unknown(places=(self._reads.reader(streamed=False).format(names[0]).place(names[1:]).to_text(),))
        table = self._session.table(name)
        return Unknown((table.query.plan,)) if table is not None else Unknown(tables=(name.replace("`", ""),))

    def query(self, text: str, ask: Callable[[str], Any]) -> Any:
        """
        Return the result of a query.

        Args:
            text: the query.
            ask: makes Spark analyze a query, and returns the result.

        Returns:
            `Unknown` if the columns of a table in it are unknown.
        """
        while True:
            try:
                found = self._session.with_known(functools.partial(ask, text), text)
            except analysis_errors() as problem:
                refusal = refusal_of(problem)
                plain = self._session.with_plain_function(text, refusal)
                if plain is not None:
                    text = plain
                    continue
                if refusal.code != UNKNOWN_TABLE:
                    return self._of_unknown_columns(text, problem)
            else:
                self._reads.holding(found._jdf)
                return found
            names = names_in(refusal.parameters.get("relationName", ""))
            unknown = self._reads.unknown.of(names, self._session.whole(names)) if names else None
            if unknown is not None:
                return self._read_by(text)[1].joined(unknown)
            if self._reads.maker(".".join(names)):
                continue
            if not is_format_and_path(names):
                return self._reads.missing_table(".".join(names))
            place = self._reads.reader(streamed=False).format(names[0]).place(names[1:])
            if not self._reads.know_path(place):
                return self._reads.missing(place)

    def _of_unknown_columns(self, text: str, problem: Exception) -> Unknown:
        """
        Return what is known about a query that Spark refuses because columns come from data or an unknown function.

        Raises:
            AnalysisException: it refuses the query for another reason.
        """
        found, refusal = NAME_OF_UNKNOWN.search(str(problem)), refusal_of(problem)
        if found is None and refusal.code not in _TABLE_FUNCTIONS:
            raise problem
        message = (
            f"the columns that a table function returns are unknown: {refusal.message}"
            if found is None
            else f"this query depends on {found[0]}, which is unknown in a dry run: "
            "the columns of its result are unknown"
        )
        self._stage.problem("UNKNOWN_SCHEMA", message)
        return self._read_by(text)[1]

    def assumed(self, text: str) -> str:
        """
        Return a statement that Spark can read: known columns replace a function of Delta Lake, and values replace data.

        A statement with other parts that come from data stays the same.
        """
        if reads_changes(text):
            # Its plan has no versions.
            self._stage.hides("the versions whose changes a statement reads")
            text = with_columns_of_changes(text)
        if not is_of_data(text) or self._parsed_plan(text) is not None:
            return text
        assumed = with_assumed_values(text)
        if assumed == text or self._parsed_plan(assumed) is None:
            return text
        names = ", ".join(dict.fromkeys(STAND_IN.findall(text)))
        self._stage.problem("STAND_IN", f"{names} in this statement is assumed to be a value, and no column")
        return assumed

    def of_data(self, text: str) -> Unknown | None:
        """
        Return what is known about a statement that Spark can't read because parts of it come from data.

        Its tables are those that its text names; what it would write is recorded.

        Returns:
            None if Spark can read it.
        """
        if not is_of_data(text) or self._parsed_plan(text) is not None:
            return None
        quoted = _with_quoted_stand_ins(text)
        target, read = self._read_by(quoted)
        parsed = self._parsed_plan(quoted)
        if parsed is not None and self._of_known_query(parsed, target.replace("`", "")):
            return read
        names = ", ".join(dict.fromkeys(STAND_IN.findall(text)))
        message = f"{names} in this statement is unknown: only the tables and paths that its text names are known"
        self._stage.problem("UNKNOWN_STATEMENT", message)
        if parsed is not None and not self.is_query(quoted):
            self._record_of_data(parsed, quoted, target, read)
        return read

    def _of_known_query(self, parsed: Any, target: str) -> bool:
        """Record a write of a query that is known to a table whose name comes from data; return whether it is one."""
        kind = str(parsed.nodeName())
        if kind not in (_INSERT, *FILLS) or not is_of_data(target):
            return False
        try:
            found = self._session.with_known(
                lambda: self._reads.datasets.ofRows(self._spark._jsparkSession, parsed.query()), str(parsed.query())
            )
        except analysis_errors():
            return False
        frame = type(self._spark.range(0))(found, self._spark)
        columns = text_items(parsed.userSpecifiedCols()) if kind == _INSERT else ()
        if columns and len(columns) == len(frame.columns):
            frame = frame.toDF(*columns)
        self._reads.missing_table(target)
        self._writes.write_table(frame, target, "append" if kind == _INSERT else "create", ())
        return True

    def _record_of_data(self, parsed: Any, text: str, target: str, read: Unknown) -> None:
        """Record the write of a statement, of which only the datasets are known."""
        record, name = self._writes.record_of_unknown(read), str(parsed.nodeName())
        if name == _VIEW:
            self._reads.put_view(names_after(text, "VIEW")[-1], read)
        elif name == _DIRECTORY and parsed.storage().locationUri().isDefined():
            path = str(parsed.storage().locationUri().get().getPath())
            place = data_place(_text_of(parsed.provider()), {}, (path,), self._stage.request.folder)
            self._stage.record("write", **attrs.asdict(attrs.evolve(record, target=place.to_text())))
        elif target:
            parts = self._reads.whole(target.replace("`", ""))
            if self._session.known(parts) is None:
                self._reads.forget_columns(parts)
            self._stage.record("write", **attrs.asdict(attrs.evolve(record, table=parts)))

    def _parsed_plan(self, text: str) -> Any:
        """Return the plan that Spark's parser makes of a statement; None if it can't be parsed."""
        try:
            return self._spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
        except analysis_errors():
            return None

    def record(self, text: str, written: str = "", hidden: Sequence[str] = ()) -> Any:
        """
        Record a statement that is not a query, and return a DataFrame of the JVM with its answer.

        Args:
            text: the statement.
            written: the statement as the script writes it, with its parameters; by default the same.
            hidden: the values of its parameters, which are not shown, as in a real run.
        """
        spot = self._stage.spot()
        self._session.use_from_this_thread()
        parsed = self._parsed_plan(text)
        if parsed is not None and str(parsed.nodeName()) == _SCRIPT:
            return self._record_script(text, written or text, hidden)
        return self._record(ScriptStatement(text, spot.file, spot.line, 1), written, hidden)

    def _record_script(self, text: str, written: str, hidden: Sequence[str]) -> Any:
        """Record each statement of an SQL script, and return the answer of a query at its end."""
        # Which of them run, and how often, depends on values.
        self._stage.hides("a script in SQL")
        spot = self._stage.spot()
        parts, shown = statements_of(text, spot.file), statements_of(written, spot.file)
        for at, each in enumerate(parts):
            if not self.is_query(each.text):
                own = shown[at].text if len(shown) == len(parts) else ""
                self._record(attrs.evolve(each, line=spot.line, column=1), own, hidden)
            elif each is parts[-1]:
                with contextlib.suppress(*spark_errors()):
                    return self._session.with_known(lambda: self._spark._jsparkSession.sql(parts[-1].text))
        return self._spark._jsparkSession.emptyDataFrame()

    def _record(self, statement: ScriptStatement, written: str, hidden: Sequence[str]) -> Any:
        """Record a single statement, and return its answer."""
        text = statement.text
        if self._viewed(text):
            return self._spark._jsparkSession.emptyDataFrame()
        found = self._analyzed(statement)
        self._reads.record_tables()
        if found.kind in _PLACED:
            self._place_table(text)
        if found.kind == _DATABASE:
            self._place_database(text)
        if found.refusal is not None and found.refusal.code == UNKNOWN_TABLE and self._of_unknown(text, found):
            return self._spark._jsparkSession.emptyDataFrame()
        if found.refusal is None and found.kind == _TEMPORARY_VIEW:
            self._reads.drop_view(names_after(text, "VIEW")[-1])
        if found.refusal is None and found.kind == _DROPPED_VIEW:
            self._reads.drop_view((names_after(text, "EXISTS") or names_after(text, "VIEW"))[-1])
        if found.kind.startswith(SETTINGS) and not found.kind.startswith(PLACES):
            self._stage.settings[f"statement {len(self._stage.settings)}"] = text
        answer = StatementAnswer(attrs.evolve(statement, text=written or text), found)
        has_lineage = found.query is not None or found.refusal is not None or found.missed is not None
        if has_lineage or self._stage.request.shapes:
            act: dict[str, Any] = {}
            if self._stage.request.shapes:
                act = {"text": text, "settings": self._writes.settings(), "held": list(self._stage.held)}
            self._stage.record("sql", answer=document_of_answer(answer), hidden=list(hidden), act=act)
        return self._answer_of(text, found)

    def is_readable(self, text: str) -> bool:
        """Return whether Spark can analyze a statement, except that it may read unknown tables."""
        if self._parsed_plan(text) is None:
            return False
        refusal = self._analyzed(ScriptStatement(text, self._stage.spot().file, 1, 1)).refusal
        return refusal is None or refusal.code == UNKNOWN_TABLE

    def record_merge(self, text: str, source: Any) -> Any:
        """
        Record a MERGE that Spark can't analyze by its target and by what its source reads.

        Args:
            text: the statement.
            source: the DataFrame that it reads.
        """
        message = "an expression of this statement has no form in SQL, or is wrong: only its tables and paths are known"
        self._stage.problem("UNKNOWN_STATEMENT", message)
        self._record_unknown(names_after(text, "INTO"), Unknown.of(source) or Unknown((self._reads.plan(source),)))
        return type(self._spark.range(0))(self._answer_of(text, Analyzed("")), self._spark)

    def _record_unknown(self, names: tuple[str, ...], read: Unknown) -> None:
        """Record a write of unknown columns to the table or the path that a statement names."""
        record = self._writes.record_of_unknown(read)
        if is_format_and_path(names):
            place = self._reads.reader(streamed=False).format(names[0]).place(names[1:])
            record = attrs.evolve(record, target=place.to_text())
        else:
            record = attrs.evolve(record, table=self._session.whole(names))
        self._stage.record("write", **attrs.asdict(record))

    def _analyzed(self, statement: ScriptStatement) -> Analyzed:
        """Analyze a statement, with the columns of the paths in it that are known."""
        while True:
            found = analyzed(self._session, statement)
            refusal = found.refusal
            if refusal is None or refusal.code != UNKNOWN_TABLE:
                return found
            names = names_in(refusal.parameters.get("relationName", ""))
            if not is_format_and_path(names):
                return found
            if not self._reads.know_path(self._reads.reader(streamed=False).format(names[0]).place(names[1:])):
                return found

    def _of_unknown(self, text: str, found: Analyzed) -> bool:
        """Record a statement that Spark refuses because it reads unknown columns; return whether this is one."""
        names = names_in(found.refusal.parameters.get("relationName", "")) if found.refusal is not None else ()
        if not names:
            return False
        if self._reads.unknown.of(names, self._session.whole(names)) is None:
            # Spark names one table that it does not find, but a view in the same text is no table of a catalog either.
            read_too = (names_in(name) for lineage in read_text(text) for name in lineage.tables)
            if all(self._reads.unknown.view(each) is None for each in read_too):
                return False
        target, read = self._read_by(text)
        view = names_after(text, "VIEW" if found.kind == _TEMPORARY_VIEW else "TABLE")
        if found.kind in (_TEMPORARY_VIEW, _CACHED) and view:
            self._reads.put_view(view[-1], read)
            return True
        if not target:
            return False
        parts = self._session.whole(names_in(target))
        if self._session.known(parts) is None or found.kind in _PLACED:
            self._reads.forget_columns(parts)
        self._record_unknown(names_in(target), read)
        return True

    def _place_database(self, text: str) -> None:
        """Remember the location that a statement gives a database."""
        path = _text_of(self._parsed_plan(text).properties().get("location"))
        names = next(filter(None, (names_after(text, word) for word in _BEFORE_DATABASE)), ())
        if names and is_absolute(path):
            self._stage.databases[name_key(self._session.whole((*names, ""))[:-1])] = path

    def _place_table(self, text: str) -> None:
        """Remember the location that a statement gives a table; record a statement that moves the table as a write."""
        parsed = self._parsed_plan(text)
        if parsed is None:
            # A statement of another engine, such as CLONE, gives no location.
            return
        is_moved = str(parsed.nodeName()) == "SetTableLocation"
        if is_moved and parsed.partitionSpec().isDefined():
            return
        parts = self._session.whole(names_after(text, "EXISTS") or names_after(text, "TABLE"))
        path = str(parsed.location()) if is_moved else _location_of(parsed) or self._reads.path_of_new(parts)
        if not is_absolute(path):
            return
        provider = "" if is_moved else _text_of(parsed.tableSpec().provider())
        place = data_place(provider or self._reads.default_format, {}, (path,), self._stage.request.folder)
        table = self._session.known(parts) or self._table_at(parts, place)
        if table is None:
            # Only its files show its columns, and these are unknown; yet it is named by its path.
            unknown = DeclaredTable(parts, (), identifier=identifier_at(place))
            self._stage.record("located", **document_of_table(unknown))
            return
        for each in place.paths:
            self._stage.opens_data(each)
        self._stage.learn(place, table.columns, table.partitions)
        if table.computed:
            # Rows may be added by the path.
            self._session.declare(attrs.evolve(table, parts=(SPARK_CATALOG, place.short, place.paths[0])))
        self._session.declare(attrs.evolve(table, identifier=identifier_at(place)))
        self._reads.record_tables()
        if is_moved:
            record = WriteRecord(
                self._stage.spot(), (), table=table.parts, schema=str(self._reads.schema_of_ddl(table.ddl).json())
            )
            self._stage.record("write", **attrs.asdict(record))

    def _table_at(self, parts: tuple[str, ...], place: DataPlace) -> DeclaredTable | None:
        """Return a table with the columns of the files at its place; None if they are unknown."""
        if place.short in _OF_TEXT:
            return None
        table = self._session.known((SPARK_CATALOG, place.short, *place.paths))
        columns = self._stage.columns_of(place, header=False, inferred=False) or (table and table.columns)
        return DeclaredTable(parts, columns, () if table is None else table.partitions) if columns else None

    def _viewed(self, text: str) -> bool:
        """Create a temporary view of a place, if a statement does so without naming columns; return whether it does."""
        parsed = self._parsed_plan(text)
        if parsed is None or str(parsed.nodeName()) != _PROVIDED_VIEW or parsed.userSpecifiedSchema().isDefined():
            return False
        reader = self._reads.reader(streamed=False).format(str(parsed.provider()))
        options = parsed.options().iterator()
        while options.hasNext():
            pair = options.next()
            reader.option(str(pair._1()), str(pair._2()))
        found, name = reader.load(), str(parsed.tableIdent().table())
        self._reads.drop_view(name)
        if isinstance(found, Unknown):
            self._reads.put_view(name, found)
        elif getattr(parsed, "global")():
            found.createOrReplaceGlobalTempView(name)
        else:
            found.createOrReplaceTempView(name)
        return True

    def _answer_of(self, text: str, found: Analyzed) -> Any:
        """Return the answer of a statement, as a DataFrame of the JVM; without columns if they are unknown."""
        columns = columns_of_answer(text)
        if columns:
            return self._spark._jsparkSession.createDataFrame(
                self._reads.jvm.java.util.ArrayList(), self._reads.schema_of_ddl(columns)
            )
        if found.kind.startswith(_READS_NOTHING):
            try:
                return self._session.with_known(lambda: self._spark._jsparkSession.sql(text))
            except spark_errors():
                # Some ask for what only the files of a table show.
                pass
        return self._empty_answer(text)

    def _empty_answer(self, text: str) -> Any:
        """Return the answer of a statement without its rows; without columns if only its execution shows them."""
        own = self._spark._jsparkSession
        try:
            schema = own.sessionState().sqlParser().parsePlan(text).schema()
            return own.createDataFrame(self._reads.jvm.java.util.ArrayList(), schema)
        except spark_errors():
            return own.emptyDataFrame()


def _text_of(option: Any) -> str:
    """Return the text in an option of Scala; empty if it has none."""
    return str(option.get()) if option.isDefined() else ""


def _location_of(parsed: Any) -> str:
    """Return the location in a statement that creates a table; empty if it has none."""
    return _text_of(parsed.tableSpec().location())


def _with_quoted_stand_ins(text: str) -> str:
    """Return a statement whose stand-ins outside of quotes are names in backquotes, so that it may be parsed."""

    def quoted(found: re.Match[str]) -> str:
        return found[0] if found[0][0] in "`'\"" else in_backticks(found[0])

    return _QUOTED_OR_STAND_IN.sub(quoted, text)
