"""
The lineage of the statements of scripts, as if they ran one after the other, file after file.

Spark's session (`session.py`) analyzes each statement once. Its results are values that need no Spark
(`StatementAnswer`), so they can also come from a cache; the lineage is made from them here.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.model.dataset import Catalog, Identifier, Symlink
from openlineage_pyspark.facets.model.lineage import ColumnLineage, UseKind
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.sql_lexer import tokens
from openlineage_pyspark.listener.guard import CaughtException, Guard
from openlineage_pyspark.listener.probe.client import Refusal
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.predict.computed import computed_in, with_computed
from openlineage_pyspark.workbench.predict.from_text.function_tables import called, tables_of_functions
from openlineage_pyspark.workbench.predict.from_text.reading import Known, TextLineage, read_statement
from openlineage_pyspark.workbench.predict.from_text.refused_views import behind_views
from openlineage_pyspark.workbench.predict.from_text.text import (
    TEXT,
    gap_of_types,
    is_format_and_path,
    lineage_of_text,
    unknown_table,
)
from openlineage_pyspark.workbench.predict.query import lineage_of_query
from openlineage_pyspark.workbench.predict.session import UNOPENED, Analyzed, FoundTable, ScriptSession
from openlineage_pyspark.workbench.predict.sql.computed_columns import computed_columns
from openlineage_pyspark.workbench.predict.sql.databricks import columns_beside_query
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement, statements_of
from openlineage_pyspark.workbench.predict.sql.variables import holds_template
from openlineage_pyspark.workbench.predict.tables.declared import (
    SPARK_CATALOG,
    DeclaredTable,
    DeclaredTables,
    in_backticks,
)
from openlineage_pyspark.workbench.predict.tables.following import PIPELINE_TABLES
from openlineage_pyspark.workbench.predict.tables.knowledge import TEXT_TYPE
from openlineage_pyspark.workbench.predict.tables.words import names_in
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from openlineage_pyspark.facets.foreign_sql.rows import SourceKinds
    from openlineage_pyspark.facets.model.dataset import Dataset
    from openlineage_pyspark.facets.model.lineage import InputField
    from openlineage_pyspark.listener.analyze import EncodedQuery
    from openlineage_pyspark.workbench.predict.acts import ExecutedFile, ScriptAct
    from openlineage_pyspark.workbench.predict.computed import Computed
    from openlineage_pyspark.workbench.predict.from_text.reading import ReadStatement
    from openlineage_pyspark.workbench.predict.project_code import ProjectCode
    from openlineage_pyspark.workbench.predict.tables.declared import Parts
    from openlineage_pyspark.workbench.report import Lineage

UNREADABLE = "UNREADABLE_FILE"
"""The code of the problem of a file that can't be read."""
_UNKNOWN_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_NO_VALUE = "NO_VALUE"
_OF_VARIABLE = "the variable "
_MADE_OF_QUERY = PIPELINE_TABLES | {"CreateTableAsSelect", "ReplaceTableAsSelect", "CreateView", "CreateViewCommand"}
_VIEWS = frozenset({"CreateView", "CreateViewCommand"})
# What one statement shows helps to read a second one, which helps to read a third one.
_MOST_ROUNDS = 4
_TEMPORARY = "CreateViewCommand"
_QUERY = re.compile(r"(?:FROM|SELECT|VALUES|WITH)\b|\(", re.IGNORECASE)


@attrs.frozen
class Script:
    """
    A file of statements.

    Args:
        name: its name, for people.
        text: its content.
        is_ddl: whether it only declares tables: its lineage is not reported.
        head: the text that is put before its first statement, which is a query, to make a table from it.
        model: the table that dbt makes of what the function `model` of a script returns; empty if it is no such model.
        unreadable: why its content is unknown; empty if it was read.
        project: what else decides about a model of a dbt project; None if it is none, or if nobody asks.
    """

    name: str
    text: str
    is_ddl: bool = False
    head: str = ""
    model: str = ""
    unreadable: str = ""
    project: ProjectCode | None = None


@attrs.frozen
class StatementAnswer:
    """
    Spark's result for a statement.

    Args:
        statement: the statement.
        analyzed: Spark's result.
        is_ddl: whether it is in a file that only declares tables.
        lineage: the lineage of its analyzed plan, as `lineage_with_computed` returns it, if it was cached.
        document: the JSON of what `Lineage.to_dict` returns for it, if it was cached; else empty.
    """

    statement: ScriptStatement
    analyzed: Analyzed
    is_ddl: bool = False
    lineage: Lineage | None = None
    document: str = ""


@attrs.frozen
class Problem:
    """
    The problem of a statement: why Spark can't analyze it, or what a dry run assumes or leaves out there.

    Args:
        file: the file.
        line: the line in it, from 1.
        column: the position on the line, from 1.
        code: the class of Spark's error, such as `TABLE_OR_VIEW_NOT_FOUND`, the code of a note, or `UNREADABLE`;
            empty if none.
        message: what happened, and what to do.
    """

    file: str
    line: int
    column: int
    code: str
    message: str

    def __str__(self) -> str:
        """Return the problem in the format of compilers."""
        place = "" if self.code == UNREADABLE else f":{self.line}:{self.column}"
        return f"{self.file}{place}: {self.message}"


@attrs.frozen
class StatementLineage:
    """
    The lineage of a statement.

    Args:
        statement: the statement.
        lineage: its lineage; None if it has none, or if nothing is known.
        problem: why Spark can't analyze it, or a note of a dry run; None if there is neither. If Spark can't analyze
            it, the lineage is taken from the text, or an opaque function replaces one that is unknown.
        from_text: whether the lineage was taken from the text; also that of a temporary view, which is only reported
            with the statements that read the view.
        script: the name of the script that runs it, even if its line is in another file; empty for an SQL file.
        is_of_rows: whether a script gets a value from rows here, such as their number, which may influence anything.
        opened: the file that a script reads here, relative to the folder in which it runs; empty if it reads none.
        listed: the names of the files that a script finds here in a folder or by a pattern; empty if it looks for none.
        is_data: whether Spark reads the opened file, so that its content is in no plan.
        act: what the script does to tables here, if a comparison needs it.
        hidden: what decides about the rows that the script writes, but is in no plan; empty if there is nothing.
        executed: a file of which the script has executed lines, if a comparison needs it.
        document: the JSON of what `Lineage.to_dict` returns for the lineage, if it was cached; else empty.
    """

    statement: ScriptStatement
    lineage: Lineage | None = None
    problem: Problem | None = None
    from_text: bool = False
    script: str = ""
    is_of_rows: bool = False
    opened: str = ""
    listed: str = ""
    is_data: bool = False
    act: ScriptAct | None = None
    hidden: str = ""
    executed: ExecutedFile | None = None
    document: str = attrs.field(default="", eq=False, repr=False)

    @property
    def has_result(self) -> bool:
        """Return whether it has a lineage or a problem; all else about a statement matters only to a comparison."""
        return self.lineage is not None or self.problem is not None


@attrs.frozen
class Given:
    """
    The knowledge before the first statement.

    Args:
        tables: the tables.
        functions: the names of functions.
        conf: Spark properties, and the values of variables.
        dialect: the SQL dialect of statements that Spark can't analyze, as for `read_statement`.
        shapes: whether the shapes of plans are requested, for a comparison.
    """

    tables: tuple[DeclaredTable, ...] = ()
    functions: tuple[str, ...] = ()
    conf: Mapping[str, str] = attrs.field(factory=dict)
    dialect: str = ""
    shapes: bool = False


def statements_in(scripts: Iterable[Script], dialect: str = "") -> list[tuple[ScriptStatement, bool]]:
    """
    Return the statements of scripts, each with whether it is in a file that only declares tables.

    Args:
        scripts: the scripts.
        dialect: their SQL dialect, as for `statements_of`.
    """
    return [(each, script.is_ddl) for script in scripts for each in _statements(script, dialect)]


def problems_of_files(scripts: Iterable[Script]) -> tuple[StatementLineage, ...]:
    """Return the problem of each file that can't be read, as that of a statement at its beginning."""
    return tuple(
        StatementLineage(
            ScriptStatement("", each.name, 1, 1), problem=Problem(each.name, 1, 1, UNREADABLE, each.unreadable)
        )
        for each in scripts
        if each.unreadable
    )


@contextmanager
def session_of(given: Given, *, classes: Path | None = None) -> Iterator[ScriptSession]:
    """
    Yield a session with the given knowledge, in a separate Spark.

    Args:
        given: the knowledge before the first statement.
        classes: the folder with the archives of the classes that JVMs load; None to use none.

    Raises:
        LineageError: the session does not start.
        OSError: the archives can't be read, or no temporary folder can be written.
    """
    with throw_away_session(given.conf, classes=classes) as spark:
        yield session_in(spark, given)


def session_in(spark: Any, given: Given) -> ScriptSession:
    """
    Return a session with the given knowledge, and without effects.

    Args:
        spark: a Spark that no statements have changed before.
        given: the knowledge before the first statement.
    """
    session = ScriptSession(spark, DeclaredTables(given.tables), shapes=given.shapes)
    for name in given.functions:
        session.know_function(name)
    session.effects()
    return session


def _statements(script: Script, dialect: str) -> Iterator[ScriptStatement]:
    """Yield the statements of a script, the first query with the script's head; the first statement if none is one."""
    found = statements_of(script.text, script.name, dialect)
    headed = next((each for each in found if _QUERY.match(each.text)), *found[:1]) if script.head and found else None
    for each in found:
        yield attrs.evolve(each, text=script.head + each.text, head=len(script.head)) if each is headed else each


@attrs.frozen
class AnalysisOptions:
    """
    How a statement is analyzed.

    Args:
        dialect: the SQL dialect of statements that Spark can't analyze, as for `read_statement`.
        place: how later answers name its place; by default its file and line.
        reach: the last parts of all names that it can see, in lower case; None if these are unknown.
    """

    dialect: str = ""
    place: str = ""
    reach: Collection[str] | None = None


_DEFAULT_OPTIONS = AnalysisOptions()


def guarded_analysis(
    session: ScriptSession, statement: ScriptStatement, options: AnalysisOptions = _DEFAULT_OPTIONS
) -> Analyzed:
    """Analyze a statement, as `analyzed` does. A fault of this program affects only this statement."""
    found = guard_of_statements().attempt("the analysis of a statement", analyzed, session, statement, options)
    return Analyzed("", refusal=_fault(found)) if isinstance(found, CaughtException) else found


def guard_of_statements() -> Guard:
    """Return a guard for all exceptions, which are reported as the problem of a statement, and not logged."""
    guard = Guard()
    guard.expected = (Exception,)
    return guard


def _fault(caught: CaughtException) -> Refusal:
    return Refusal("INTERNAL_ERROR", f"the analysis failed with {caught.name}: please report this statement as a bug")


def lineage_of_answers(
    answers: Iterable[StatementAnswer],
    tables: Iterable[DeclaredTable],
    dialect: str = "",
    read: ReadStatement = read_statement,
) -> tuple[StatementLineage, ...]:
    """
    Return the lineage of each statement that has a lineage or a problem.

    Args:
        answers: Spark's results.
        tables: the tables that were known before.
        dialect: the SQL dialect of statements that Spark can't analyze, as for `read_statement`.
        read: reads the texts of these statements.
    """
    known = DeclaredTables(tables)
    views: dict[Identifier, Lineage] = {}
    every = tuple(answers)
    with without_cycle_collection():
        guard = guard_of_statements()
        used = guard.run("the columns that statements use", _used_columns, every, known, dialect, read) or {}
        functions = tables_of_functions((each.statement.text for each in every), dialect)
        reading = _Reading(known, views, {}, functions, used, dialect, read)
        found = (_guarded(answer, reading) for answer in every)
        return tuple(each for each in found if each.has_result)


def _used_columns(
    answers: Iterable[StatementAnswer], known: DeclaredTables, dialect: str, read: ReadStatement
) -> Mapping[Identifier, Collection[str]]:
    """
    Return the columns that undeclared tables must have for all statements to be valid.

    The columns that a table has in one statement decide which table a name means in another statement; so this repeats
    until no statement adds a column, up to `_MOST_ROUNDS` times.
    """
    pending = [_Refused(each, known, dialect, read) for each in answers if each.analyzed.refusal is not None]
    found: dict[Identifier, set[str]] = {}
    for _ in range(_MOST_ROUNDS):
        proven: dict[Identifier, set[str]] = {}
        for each in pending:
            for table, column in each.proven(found):
                if column.lower() not in found.get(table, ()):
                    proven.setdefault(table, set()).add(column.lower())
        for table, columns in proven.items():
            found.setdefault(table, set()).update(columns)
        pending = [each for each in pending if not proven.keys().isdisjoint(each.tables.values())]
    return found


class _Refused:
    """
    A statement that Spark refuses, with the known columns of its tables.

    Args:
        answer: Spark's result.
        known: the tables that were known before.
        dialect: as for `read_statement`.
        read: reads the text.

    Attributes:
        tables: the unknown tables in it, by their names as the statement writes them.
    """

    def __init__(self, answer: StatementAnswer, known: DeclaredTables, dialect: str, read: ReadStatement) -> None:
        self._text = answer.analyzed.text or answer.statement.text
        self._dialect = dialect
        self._read = read
        texts, analyzed = read_text(self._text, dialect, read=read), answer.analyzed
        names = dict.fromkeys(name for each in texts for name in each.tables if name not in analyzed.tables)
        self.tables = {name: _unknown(name, analyzed, known).identifier for name in names}
        columns = {name: _columns_of(query) for name, query in analyzed.tables.items()} if names else {}
        self._known = Known(columns, variables=answer.statement.variables)

    def proven(self, used: Mapping[Identifier, Collection[str]]) -> Iterator[tuple[Identifier, str]]:
        """
        Yield unknown tables with the columns that they must have.

        Args:
            used: the columns that were found so far.
        """
        if not self.tables:
            return
        known = attrs.evolve(self._known, used=_used_by_name(self.tables, used))
        for each in read_text(self._text, self._dialect, known, self._read):
            for name, column in each.proven:
                if name in self.tables:
                    yield self.tables[name], column


def _used_by_name(
    tables: Mapping[str, Identifier], used: Mapping[Identifier, Collection[str]]
) -> dict[str, Collection[str]]:
    """Return the columns that tables must have, by the names of the tables as the statement writes them."""
    return {name: used[table] for name, table in tables.items() if table in used}


def _columns_of(query: EncodedQuery) -> tuple[str, ...]:
    """Return the names of the columns of a query."""
    return tuple(column.name for _, columns in lineage_of_query(query).outputs for column in columns.columns)


def _unknown(name: str, analyzed: Analyzed, known: DeclaredTables) -> Dataset:
    """Return the dataset for the name of an unknown table."""
    return _known_as(unknown_table(name, analyzed.catalog, analyzed.database), known)


def analyzed(
    session: ScriptSession, statement: ScriptStatement, options: AnalysisOptions = _DEFAULT_OPTIONS
) -> Analyzed:
    """
    Analyze a statement. If Spark refuses it, later statements still find the table that it would create.

    Args:
        session: the session.
        statement: the statement.
        options: how it is analyzed.
    """
    place = options.place or f"{statement.file}:{statement.line}"
    found = session.analyze(statement.text, in_script=statement.in_script, loops=statement.loops, reach=options.reach)
    if found.refusal is None:
        return found
    text = found.text or statement.text
    texts = read_text(text, options.dialect)
    spelled = {name: session.table(name) for each in texts for name in (*each.tables, each.target) if name}
    known = {name: table for name, table in spelled.items() if table is not None}
    makes = found.kind in _MADE_OF_QUERY or (not found.kind and _creates(text))
    if makes and len(texts) == 1 and texts[0].target:
        name, columns = texts[0].target, session.columns(columns_beside_query(statement.text))
        if columns:
            session.declare(DeclaredTable(session.whole(names_in(name)), columns))
        else:
            columns_of_known = Known(_columns(known), variables=statement.variables)
            _declare_from_text(session, text, read_text(text, options.dialect, columns_of_known), place, known)
    return attrs.evolve(found, tables={name: table.query for name, table in known.items()})


def _columns(known: Mapping[str, FoundTable]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(table.types) for name, table in known.items()}


def _declare_from_text(
    session: ScriptSession, text: str, found: Sequence[TextLineage], place: str, known: Mapping[str, FoundTable]
) -> None:
    """Declare the table that a refused statement creates, if the statement's text names all of its columns."""
    for text_lineage in found:
        if text_lineage.columns and text_lineage.whole:
            columns = tuple((name, _type_of(sources, known)) for name, sources in text_lineage.columns)
            parts, computed = session.whole(names_in(text_lineage.target)), computed_columns(text)
            session.declare(DeclaredTable(parts, columns, computed=computed), place)


def read_text(
    text: str, dialect: str = "", known: Known | None = None, read: ReadStatement = read_statement
) -> tuple[TextLineage, ...]:
    """
    Return the reads and writes in a statement's text; nothing if it can't be parsed.

    Args:
        text: the statement.
        dialect: its SQL dialect, as for `read_statement`.
        known: the columns of the known tables.
        read: reads the text.
    """
    try:
        return read(text, known, dialect) or ()
    except ImportError:
        return ()


def _creates(text: str) -> bool:
    """Return whether a statement that Spark can't parse creates a table or a view, judging by its first word."""
    return next((token.text.upper() for token in tokens(text)), "") in ("CREATE", "REPLACE")


def _type_of(sources: SourceKinds | None, tables: Mapping[str, FoundTable]) -> str:
    """Return the type of a column according to the statement's text: that of the single column that it copies."""
    if sources is None or len(sources) != 1:
        return TEXT_TYPE
    (((table, column), kinds),) = sources.items()
    types = tables[table].types if kinds == {UseKind.IDENTITY} and table in tables else {}
    return types.get(column.lower(), TEXT_TYPE)


@attrs.frozen
class _Reading:
    """
    The knowledge with which statements are read.

    Args:
        known: the tables that were known before.
        views: the views of earlier statements that Spark refused.
        passed: such a view -> the table of which it passes all columns on.
        functions: the last parts of the names of functions in lower case -> the tables that their bodies read.
        used: the columns that undeclared tables must have.
        dialect: as for `read_statement`.
        read: reads the texts of statements.
    """

    known: DeclaredTables
    views: dict[Identifier, Lineage]
    passed: dict[Identifier, Identifier]
    functions: Mapping[str, tuple[str, ...]]
    used: Mapping[Identifier, Collection[str]]
    dialect: str
    read: ReadStatement


def _guarded(answer: StatementAnswer, reading: _Reading) -> StatementLineage:
    """Return the lineage of a statement. A fault of this program affects only this statement."""
    found = guard_of_statements().attempt("the lineage of a statement", _lineage_of, answer, reading)
    if not isinstance(found, CaughtException):
        return found
    return StatementLineage(answer.statement, problem=_problem(answer.statement, _fault(found)))


def _lineage_of(answer: StatementAnswer, reading: _Reading) -> StatementLineage:
    """Return the lineage of a statement."""
    refusal, filled = answer.analyzed.refusal, answer.statement.filled
    found = _of_accepted(answer, reading) if refusal is None else _of_refused(answer, refusal, reading)
    if not filled or found.lineage is None:
        return found
    gap = Gap(TEXT, f"a query before it sets {', '.join(filled)}: the sources of such a variable are unknown")
    return attrs.evolve(found, lineage=attrs.evolve(found.lineage, gaps=(*found.lineage.gaps, gap)), document="")


def _of_refused(answer: StatementAnswer, refusal: Refusal, reading: _Reading) -> StatementLineage:
    """Return the lineage in the text of a statement that Spark refuses; remember the view that it creates."""
    statement, reported = answer.statement, answer.analyzed
    problem = _problem(statement, refusal)

    def table(name: str) -> Lineage | None:
        if name not in reported.tables:
            return None
        return lineage_of_analyzed(reported.tables[name], reading.known)

    def unknown(name: str) -> Dataset:
        return _unknown(name, reported, reading.known)

    found = lineage_of_text(
        reported.text or statement.text,
        problem.message,
        table,
        unknown,
        is_sql=bool(reported.kind) or holds_template(reported.text),
        dialect=reading.dialect,
        used=lambda name: reading.used.get(unknown(name).identifier, ()),
        variables=statement.variables,
        read=reading.read,
        computed=lambda dataset: {name.lower() for name, _ in computed_in(dataset, reported.computed)},
    )
    found = None if found is None else with_computed(found, reported.computed)
    is_read = found is not None and not answer.is_ddl
    if found is not None:
        found = _with_functions(found, statement.text, reading.functions, unknown)
        found = behind_views(found, reading.views, reading.passed)
        if reported.kind in _VIEWS:
            texts = read_text(reported.text or statement.text, reading.dialect, read=reading.read)
            passed = texts[0].passed if texts else ""
            for identifier in (dataset.identifier for dataset, _ in found.outputs if dataset is not None):
                reading.passed.pop(identifier, None)
                reading.passed.update({identifier: unknown(passed).identifier} if passed else {})
            found = _with_view(found, reading.views, is_temporary=reported.kind == _TEMPORARY)
    return StatementLineage(statement, None if answer.is_ddl else found, problem, from_text=is_read)


def _with_functions(
    found: Lineage, text: str, functions: Mapping[str, tuple[str, ...]], unknown: Callable[[str], Dataset]
) -> Lineage:
    """Return the lineage of a statement with the tables that its functions read, and a gap about them."""
    names = list(called(text, functions))
    if not names:
        return found
    read = {each.identifier: each for each in found.inputs}
    for dataset in (unknown(table) for name in names for table in functions[name]):
        read.setdefault(dataset.identifier, dataset)
    gap = Gap(TEXT, f"what these functions return of the tables that they read is unknown: {', '.join(names)}")
    return attrs.evolve(found, inputs=tuple(read.values()), gaps=(*found.gaps, gap))


def _of_accepted(answer: StatementAnswer, reading: _Reading) -> StatementLineage:
    """Return the lineage in the plan of a statement; forget refused views that it replaces."""
    statement, reported = answer.statement, answer.analyzed
    missed = None if reported.missed is None else _problem(statement, reported.missed)
    if reported.query is None or answer.is_ddl:
        return StatementLineage(statement, problem=missed)
    lineage = answer.lineage
    if lineage is None:
        lineage = lineage_with_computed(reported.query, reading.known, reported.computed)
    gaps = tuple(_gaps_of_types(lineage, reported.from_text, reading.views))
    lineage = attrs.evolve(lineage, gaps=(*lineage.gaps, *gaps)) if gaps else lineage
    lineage = behind_views(lineage, reading.views, reading.passed)
    for dataset, _ in lineage.outputs:
        if dataset is not None:
            reading.views.pop(dataset.identifier, None)
    document = answer.document if lineage is answer.lineage and lineage.outputs else ""
    return StatementLineage(statement, lineage if lineage.outputs else None, missed, document=document)


def lineage_with_computed(query: EncodedQuery, known: DeclaredTables, computed: Computed) -> Lineage:
    """
    Return the lineage of a statement from its analyzed plan, with the columns that its tables compute.

    Args:
        query: the plan.
        known: the tables that were known before any statement.
        computed: the tables that compute columns, as in `Analyzed`.
    """
    return with_computed(lineage_of_analyzed(query, known), computed)


def lineage_of_analyzed(query: EncodedQuery, known: DeclaredTables) -> Lineage:
    """
    Return the lineage of an analyzed plan, with the names that scripts use for tables.

    Args:
        query: the plan.
        known: the tables that were known before any statement.
    """
    return with_names(lineage_of_query(query), lambda dataset: _known_as(dataset, known))


def _with_view(found: Lineage, views: dict[Identifier, Lineage], *, is_temporary: bool) -> Lineage | None:
    """Remember a view that Spark refused; return its own lineage, or None if the view is temporary."""
    ((dataset, columns),) = found.outputs
    if dataset is not None:
        views[dataset.identifier] = attrs.evolve(found, outputs=((None if is_temporary else dataset, columns),))
    return None if is_temporary else found


def _gaps_of_types(
    lineage: Lineage, from_text: Mapping[Parts, str], views: Mapping[Identifier, Lineage]
) -> Iterator[Gap]:
    """Yield gaps about the tables that a statement reads and that were declared from a text."""
    read = {(dataset.identifier.namespace, dataset.identifier.name) for dataset in lineage.inputs}
    for parts, place in from_text.items():
        name = ".".join(parts[1:])
        if (parts[0], name) in read and Identifier(parts[0], name) in views:
            message = f"the columns of the view {name} are taken from its text: Spark can't analyze it ({place})"
            yield Gap(TEXT, message)
        elif (parts[0], name) in read:
            yield gap_of_types(name, place)


def _problem(statement: ScriptStatement, refusal: Refusal) -> Problem:
    line, column = statement.place(refusal.line, refusal.column)
    message = refusal.message
    if refusal.code == _UNKNOWN_TABLE:
        names = names_in(refusal.parameters.get("relationName", ""))
        message = f"the table {'.'.join(names)} is unknown: no DDL, no earlier statement and no catalog declares it"
        if is_format_and_path(names):
            message = f"the path {names[1]} is not opened: declare its columns, as for a table"
        provider = refusal.parameters.get(UNOPENED)
        if provider is not None:
            given = f"CREATE TEMPORARY VIEW {names[-1]} (id INT, ...) USING {provider}"
            message = f"the view {names[-1]} is of {provider}, which is not opened: declare its columns, as in {given}"
    if refusal.code == _NO_VALUE:
        own = {*statement.variables, *(name.lstrip("@$") for name in statement.filled)}
        name = message.removeprefix(_OF_VARIABLE).partition(" ")[0]
        if name.lower() in own:
            message = f"{_OF_VARIABLE}{name} of a script or a routine has a value only when this runs"
    return Problem(statement.file, line, column, refusal.code, message)


def _known_as(dataset: Dataset, known: DeclaredTables) -> Dataset:
    """Return a table under the name that the script uses, without the session's own locations."""
    if dataset.catalog is None and not (dataset.symlinks and dataset.type == "TABLE"):
        return dataset
    name = dataset.symlinks[0].name if dataset.symlinks else dataset.identifier.name
    catalog = dataset.catalog.name if dataset.catalog is not None else dataset.identifier.namespace
    name = name.removeprefix(f"{catalog}.")
    provider, _, path = name.partition(".")
    if is_format_and_path((provider, path)):
        return attrs.evolve(unknown_table(f"{in_backticks(provider)}.{in_backticks(path)}"), fields=dataset.fields)
    declared = known.get((catalog, *name.split(".")))
    own = Identifier(catalog, name)
    identifier = own if declared is None or declared.identifier is None else declared.identifier
    label = name if catalog == SPARK_CATALOG else f"{catalog}.{name}"
    place = Catalog(dataset.catalog.framework, dataset.catalog.type, catalog) if dataset.catalog is not None else None
    if dataset.type == "VIEW":
        return attrs.evolve(dataset, identifier=own, symlinks=(), catalog=place)
    return attrs.evolve(dataset, identifier=identifier, symlinks=(Symlink(catalog, label),), catalog=place)


def with_names(lineage: Lineage, name: Callable[[Dataset], Dataset]) -> Lineage:
    """Return a lineage with other names for its datasets."""
    every = [*lineage.inputs, *(dataset for dataset, _ in lineage.outputs if dataset is not None)]
    ids = {dataset.identifier: name(dataset).identifier for dataset in every}

    def edges(found: Iterable[InputField]) -> tuple[InputField, ...]:
        return tuple(sorted(attrs.evolve(edge, dataset=ids.get(edge.dataset, edge.dataset)) for edge in found))

    def outputs() -> Iterator[tuple[Dataset | None, ColumnLineage]]:
        for dataset, found in lineage.outputs:
            columns = tuple(attrs.evolve(column, edges=edges(column.edges)) for column in found.columns)
            yield (None if dataset is None else name(dataset)), ColumnLineage(columns, edges(found.dataset))

    return attrs.evolve(lineage, inputs=tuple(map(name, lineage.inputs)), outputs=tuple(outputs()))
