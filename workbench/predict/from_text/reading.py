"""
Read the text of one statement: its target, and the sources of the target's columns.

sqlglot parses the text; the names in it are resolved without Spark. The columns of known tables decide to which table a
column name without a table belongs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.foreign_sql.rows import SAME, all_of
from openlineage_pyspark.facets.foreign_sql.tables import named_tables
from openlineage_pyspark.facets.model.lineage import UseKind, compose
from openlineage_pyspark.facets.sql_lexer import Token, TokenKind, dotted, tokens
from openlineage_pyspark.workbench.predict.from_text.external_queries import with_external_queries
from openlineage_pyspark.workbench.predict.from_text.targets import (
    cte_in,
    single_changes,
    single_deletes,
    single_fills,
    single_updates,
)
from openlineage_pyspark.workbench.predict.from_text.units import with_units_first
from openlineage_pyspark.workbench.predict.sql.blank import with_blank_comments
from openlineage_pyspark.workbench.predict.sql.databricks import as_spark, reads_changes
from openlineage_pyspark.workbench.predict.sql.directories import into_paths, unloaded
from openlineage_pyspark.workbench.predict.sql.foreign_quotes import in_quotes_of
from openlineage_pyspark.workbench.predict.sql.forgotten_ends import without_forgotten_ends
from openlineage_pyspark.workbench.predict.sql.inserts import single_inserts
from openlineage_pyspark.workbench.predict.sql.other_engines import (
    as_others_write,
    change_in,
    is_at_cursor,
    output_table,
)
from openlineage_pyspark.workbench.predict.sql.pipes import with_read_pipes
from openlineage_pyspark.workbench.predict.sql.quoted_names import with_parts_of_names
from openlineage_pyspark.workbench.predict.sql.variables import holds_template, loads_file

if TYPE_CHECKING:
    from typing import TypeAlias

    from openlineage_pyspark.facets.foreign_sql.reader import Query
    from openlineage_pyspark.facets.foreign_sql.rows import SourceKinds

    ReadStatement: TypeAlias = Callable[[str, "Known | None", str], "tuple[TextLineage, ...] | None"]
    """Returns what `read_statement` returns, for the same arguments."""

SPARK = "spark"
"""The dialect of the files, unless another is named."""
DIALECTS = ("databricks", "duckdb", "snowflake", "bigquery", "postgres", "redshift", "trino", "clickhouse", "tsql",
            "oracle", "mysql", "teradata")  # fmt: skip
"""The dialects that are tried, in this order, for a statement that Spark's grammar does not have."""
_LITERALS, _BETWEEN = {TokenKind.NUMBER, TokenKind.STRING}, {TokenKind.SPACE, TokenKind.COMMENT}
_LONG_LIST = 100
_OF_SPARK = frozenset({SPARK, "databricks"})
_MARKS = {
    "clickhouse": re.compile(
        r"\b(?:JSONExtract\w*|arrayJoin|array(?:Map|Filter|Concat|Exists|Element|Slice)|dictGet\w*|groupArray\w*|"
        r"groupUniqArray|(?:any|avg|count|max|min|quantile|sum|uniq)(?:If|Merge|State)|argM(?:ax|in)(?:If|Merge|State)?|"
        r"toLowCardinality|to(?:DateTime|String|StartOf\w+|UInt\d+|Int\d+|Float\d+|Nullable|IntervalDay|YYYYMM\w*)|"
        r"uniqExact\w*)\("
    ),
    "tsql": re.compile(
        r"\bWITH\s*\(\s*(?:NOLOCK|ROWLOCK|UPDLOCK|HOLDLOCK|READPAST|TABLOCKX?|XLOCK)\b|\b(?:CROSS|OUTER)\s+APPLY\b|"
        # Without double quotes and brackets, Spark and SQL Server mean the same by all else.
        r"\A(?=[^\"\[]*\Z)(?=.*\bdbo\s*\.)(?=.*(?:\bSELECT\s+(?:DISTINCT\s+|TOP\s+\d+\s+|TOP\s*\(\d+\)\s*)?|,\s*)"
        r"(?:\w+|`[^`]*`)\s*=)",
        re.IGNORECASE | re.DOTALL,
    ),
    "snowflake": re.compile(r"\A(?=.*\bFROM\s+@\w)(?=.*(?<![\w$])\$\d)", re.IGNORECASE | re.DOTALL),
    "oracle": re.compile(r"[\w\"]\s*\(\+\)|\bCONNECT\s+BY\b", re.IGNORECASE),
}
"""What only one dialect means by a text that Spark's grammar has, too -> it."""
# The results are cached, because each refused statement is read several times.
_MOST_TREES = 1024
_NO_QUOTES = re.compile(r"\w+")
# Before the word TABLE: words before a query, and words before the table that is filled.
_BEFORE_QUERY = frozenset({"", "(", ")", "AS", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS"})
# What an INSERT contains only behind the beginning of its query.
_IN_QUERY = frozenset({"FROM", "SELECT", "VALUES"})
# What may follow a column in a query; `TABLE (` is around a function.
_AFTER_COLUMN = frozenset(
    "AND AS ASC BETWEEN DESC ELSE END EXCEPT FROM GROUP HAVING IN INTERSECT IS LIKE LIMIT MINUS NOT OR ORDER QUALIFY "
    "THEN UNION WHEN WHERE , ; : . ( ) [ ] = < > ! + - * / % | & ^".split()
).union(("",))
_BEFORE_TARGET = frozenset({"INTO", "OVERWRITE", ",", "("})
# The first words of a statement that writes -> the words before the name of its target.
_WRITING = {
    "CREATE": frozenset({"TABLE", "VIEW"}),
    "COPY": frozenset({"INTO"}),
    "REPLACE": frozenset({"TABLE", "INTO"}),
    "INSERT": frozenset({"INTO", "OVERWRITE"}),
    "BULK": frozenset({"INSERT"}),
    "LOAD": frozenset({"TABLE"}),
    "MERGE": frozenset({"INTO"}),
}
_KEYS = frozenset({"FULLTEXT", "INDEX", "KEY", "SPATIAL"})
_BEFORE_NAME = frozenset("EXISTS EXTERNAL GLOBAL IF NOT OR REPLACE TABLE TEMP TEMPORARY".split())
_NO_TARGET = frozenset({"DIRECTORY", "LOCAL"})
_ALTERED_VIEW = re.compile(r"^(\s*)ALTER(\s+VIEW\s+(?:`[^`]*`|[\w.])+\s+AS\b)", re.IGNORECASE)
# DuckDB has a table after this word, where other engines have parentheses.
_PIVOTED = re.compile(r"\b(?:UN)?PIVOT\s+(?=[\w`.]+\s+ON\b)", re.IGNORECASE)
_UNLESS_FILLED = re.compile(r"(\bPARTITION\s*\([^()]*\))\s+IF\s+NOT\s+EXISTS\b", re.IGNORECASE)
_EVOLUTION = re.compile(r"^(\s*MERGE)\s+WITH\s+SCHEMA\s+EVOLUTION\s", re.IGNORECASE)
_OF_PIPELINES = re.compile(
    r"\s*CREATE\s+(?:OR\s+REFRESH\s+)?(?:FLOW|MATERIALIZED\s+VIEW|STREAMING\s+TABLE)\b", re.IGNORECASE
)
_REPLACING = re.compile(r"^(\s*)REPLACE(\s+INTO\b)", re.IGNORECASE)
# SQL Server fills a table with the rows that a procedure returns.
_EXECUTED = re.compile(
    r"\s*INSERT\s+(?:INTO\s+)?(?:`[^`]*`|[\w.#$])+\s*(?:\([^()]*\)\s*)?EXEC(?:UTE)?\s+[\w`@]", re.IGNORECASE
)
# The body of such an object is no query that fills it.
_ROUTINES = frozenset({"FUNCTION", "PROCEDURE", "TASK", "TRIGGER"})
# In Databricks, an expression in IDENTIFIER() may make the name of a table.
_MADE_NAME = "IDENTIFIER"
_MADE = frozenset((UseKind.TRANSFORMATION,))
# The columns of a change feed about a change: the table has none of them.
_OF_CHANGES = ("_change_type", "_commit_timestamp", "_commit_version")
# In these dialects, a PARTITION of an INSERT names a part of the table, and no column.
_NAMES_PARTITIONS = frozenset({"mysql", "oracle"})
# Of three tables, USING does not tell which one has a column.
_TWO = 2


@attrs.frozen
class TextLineage:
    """
    What the text of a statement shows about its lineage.

    Args:
        target: the name of the written table, as the text writes it; empty for a query.
        tables: the names of the tables that are read, as the text writes them, each once.
        columns: each column of the result with its source columns; None if the text does not show them.
        whole: whether these are all of the columns, in their order.
        by_position: whether they fill the target's columns by position, whatever their names are.
        given: the columns of the target that get constants from a PARTITION clause, in lower case.
        rows: the source columns that decide about all rows, and how.
        rows_known: whether these are all of them.
        proven: the columns that unknown tables must have for the statement to be valid.
        passed: the only table whose unknown columns are all passed on under their own names; empty if there is none.
    """

    target: str
    tables: tuple[str, ...]
    columns: tuple[tuple[str, SourceKinds | None], ...] = ()
    whole: bool = False
    by_position: bool = False
    given: frozenset[str] = frozenset()
    rows: SourceKinds = attrs.field(factory=dict)
    rows_known: bool = True
    proven: frozenset[tuple[str, str]] = frozenset()
    passed: str = ""


@attrs.frozen
class Known:
    """
    The known columns of the tables in a text, by the names that the text uses.

    Args:
        columns: tables and views -> all their columns.
        used: other tables -> some of their columns, which other statements use.
        variables: the variables and parameters that the text may name, in lower case: a name is one of these if no
            table is known to have such a column. After `*.`, a name is one after any table.
    """

    columns: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    used: Mapping[str, Collection[str]] = attrs.field(factory=dict)
    variables: Collection[str] = ()


def read_statement(statement: str, known: Known | None = None, dialect: str = "") -> tuple[TextLineage, ...] | None:
    """
    Return the reads and writes of a statement, from its text: one value for each table that it writes.

    Args:
        statement: the text.
        known: the known columns of its tables.
        dialect: its SQL dialect, by sqlglot's name; empty for Spark's, or else any dialect that can parse it.

    Returns:
        The reads and writes; only the tables, if the statement is neither a query nor a write of a supported kind, or
        if its text is too long to be parsed. None if sqlglot can't parse it.

    Raises:
        ImportError: sqlglot is not installed.
    """
    # For sqlglot, a comment between the words of GROUP BY makes them something else.
    statement = with_blank_comments(statement)
    apart = without_forgotten_ends(statement)
    if len(apart) > 1:
        read = [one for each in apart for one in read_statement(each, known, dialect) or tables_in(each, dialect)]
        filled = {each.target for each in read if each.tables}
        return tuple(each for each in read if each.tables or each.target not in filled)
    if loads_file(statement) or _EXECUTED.match(statement) is not None:
        return (TextLineage(target_in(statement), ()),)
    from openlineage_pyspark.facets.foreign_sql.reader import MOST_CHARACTERS

    if len(statement) > MOST_CHARACTERS:
        statement = _with_short_lists(statement)
    if len(statement) > MOST_CHARACTERS:
        return (_named(statement, dialect or SPARK),)
    before, change, behind = change_in(statement)
    if change:
        changed = read_statement(change, known, dialect)
        rows = read_statement(f"{before}{changed[0].target}{behind}", known, dialect) if changed else None
        return None if changed is None or rows is None else (*rows, *changed)
    lineages: list[TextLineage] = []
    known = known or Known()
    if reads_changes(statement):
        known = attrs.evolve(known, variables=(*known.variables, *_OF_CHANGES, *(f"*.{each}" for each in _OF_CHANGES)))
    for each in single_inserts(_for_sqlglot(statement)):
        found = _read_one(into_paths(each), known, dialect)
        if found is None:
            return None
        lineages += [attrs.evolve(one, rows_known=False) for one in found] if is_at_cursor(statement) else found
    stored = output_table(statement)
    return (*lineages, TextLineage(stored, lineages[0].tables)) if stored and lineages else tuple(lineages)


def _with_short_lists(text: str) -> str:
    """Return a statement without most of the literals in its long lists behind IN: they are no sources."""
    parts: list[str] = []
    words: list[str] = []
    for is_list, group in itertools.groupby(tokens(text), _is_listed):
        each = list(group)
        literals = [at for at, token in enumerate(each) if token.kind in _LITERALS]
        if is_list and len(literals) > _LONG_LIST and words[-2:] == ["IN", "("]:
            each = [*each[: literals[0] + 1], *each[literals[-1] + 1 :]]
        parts += [token.text for token in each]
        words = [*words, *(token.text.upper() for token in each if token.kind not in _BETWEEN)][-2:]
    return "".join(parts)


def _is_listed(token: Token) -> bool:
    return token.kind in _LITERALS | _BETWEEN or token.text in (",", "-")


def _read_one(text: str, known: Known, dialect: str) -> tuple[TextLineage, ...] | None:
    from sqlglot.errors import SqlglotError

    tree, dialect = _tree(text, dialect)
    if tree is None:
        return None
    try:
        found = [read for each in single_changes(tree) for read in _read_tree(each, known, dialect)]
        return tuple(found) or (_named(text, dialect),)
    except (SqlglotError, RecursionError):
        return None


def _read_tree(tree: Any, known: Known, dialect: str) -> Iterator[TextLineage]:
    """Yield the reads and writes of a parsed statement: one value for each table that it writes."""
    from sqlglot import exp

    if isinstance(tree, exp.Update):
        yield from _updated(tree, known, dialect)
        return
    trees: Iterable[Any] = (tree,)
    if isinstance(tree, exp.MultitableInserts):
        trees = single_fills(tree)
    elif isinstance(tree, exp.Delete):
        trees = single_deletes(tree)
    yield from (read for each in trees if (read := _read(each, known, dialect)) is not None)


def _named(text: str, dialect: str) -> TextLineage:
    """Return the tables that a text names."""
    pivoted = (".".join(map(_quoted, dotted(text, each.end()))) for each in _PIVOTED.finditer(text))
    return TextLineage(target_in(text), tuple(dict.fromkeys((*named_tables(text, dialect), *pivoted))))


def _updated(update: Any, known: Known, dialect: str) -> tuple[TextLineage, ...]:
    """Return the reads and writes of an UPDATE: one value for each table of which it sets columns."""
    from sqlglot import exp

    def has(row: Any, column: str) -> bool | None:
        if not isinstance(row, exp.Table):
            # No rows of a query can be set.
            return False
        name = _name(row)
        if name in known.columns:
            return column in map(str.lower, known.columns[name])
        return True if column in known.used.get(name, ()) else None

    found = ((_changed(each, known, dialect), is_whole) for each, is_whole in single_updates(update, has))
    return tuple(attrs.evolve(each, whole=each.whole and whole) for each, whole in found if each is not None)


@lru_cache(maxsize=_MOST_TREES)
def _tree(text: str, dialect: str) -> tuple[Any, str]:
    """Return the tree of one statement, with the dialect that can parse it; None if no dialect can."""
    from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed
    from sqlglot import exp

    own = dialect or next((name for name, marks in _MARKS.items() if marks.search(text) is not None), SPARK)
    unsupported = None
    for each, form in _forms(text, (dialect,) if dialect else tuple(dict.fromkeys((own, SPARK, *DIALECTS)))):
        try:
            trees = parsed(with_units_first(form) if each in _OF_SPARK else form, each)
        except UnparsableError:
            continue
        if len(trees) != 1:
            continue
        # sqlglot parses a statement that it does not support as a command, with the first word only.
        if not isinstance(trees[0], exp.Command):
            return with_external_queries(_with_open_templates(trees[0], text), text), each
        if each == own:
            unsupported = trees[0], each
            if trees[0].name.upper() != "CREATE":
                break
    return unsupported or (None, dialect or SPARK)


def _forms(text: str, dialects: Sequence[str]) -> Iterator[tuple[str, str]]:
    """
    Yield the dialects in which a statement is tried, each with the statement as it has it.

    Backquotes that are none of the dialect come last, except for the first one: they may be around the names of a
    dialect that is tried later, but not if it has strings in double quotes.
    """
    quoted = [(each, in_quotes_of(text, each)) for each in dialects]
    if len(dialects) == 1:
        yield from quoted
        return
    changed = [each for each in quoted if each[1] != text] if "`" in text and '"' not in text else []
    yield dialects[0], text
    yield from (each for each in changed if each[0] == dialects[0])
    yield from ((each, text) for each in dialects[1:])
    yield from (each for each in changed if each[0] != dialects[0])


def _with_open_templates(tree: Any, text: str) -> Any:
    """Return a tree in which a SELECT has any further columns where its text has only a template."""
    from sqlglot import exp

    if not holds_template(text):
        return tree
    for select in tree.find_all(exp.Select):
        for each in select.expressions:
            if isinstance(each, exp.Anonymous) and holds_template(f"{each.name}(*)"):
                each.replace(exp.Column(this=exp.Star(), table=exp.to_identifier(each.name)))
    return tree


def tables_in(statement: str, dialect: str = "") -> tuple[TextLineage, ...]:
    """Return the tables that a statement reads and writes, without parsing it: one value for each that it writes."""
    text = _for_sqlglot(statement)
    inserts, read = single_inserts(text), named_tables(text, dialect or SPARK)
    if len(inserts) > 1:
        return tuple(TextLineage(target_in(each), named_tables(each, dialect or SPARK) or read) for each in inserts)
    return (TextLineage(target_in(statement) or target_in(inserts[0]), read),)


def _for_sqlglot(statement: str) -> str:
    """
    Return a statement in a form that sqlglot can parse.

    A query `TABLE t` becomes `SELECT * FROM t`, ALTER VIEW with a query becomes CREATE VIEW, and a flow of a pipeline
    becomes an INSERT, as does one into a directory; the word STREAM before a table of a pipeline is left out.
    """
    statement = with_read_pipes(as_others_write(statement))
    statement = as_spark(statement) if statement[:1].isalpha() else with_parts_of_names(statement)
    statement = _REPLACING.sub(r"\1INSERT\2", into_paths(unloaded(_EVOLUTION.sub(r"\1 ", statement))))
    statement = _UNLESS_FILLED.sub(r"\1", statement)
    parts: list[str] = []
    first = before = ""
    streams = _OF_PIPELINES.match(statement) is not None
    in_query = False
    given = list(tokens(_ALTERED_VIEW.sub(r"\1CREATE\2", statement)))
    for at, token in enumerate(given):
        word = token.text.upper()
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            parts.append(token.text)
            continue
        if streams and word == "STREAM" and before in ("FROM", "JOIN", ","):
            continue
        if streams and word == "INSERT" and before == "AS":
            parts, first = [], ""
        begins = before in _BEFORE_QUERY and not (before == "(" and first == "CREATE")
        begins = begins or (first == "INSERT" and before not in _BEFORE_TARGET and not in_query)
        is_query = word == "TABLE" and begins and _is_name_next(given, at + 1)
        parts.append("SELECT * FROM" if is_query else token.text)
        in_query = in_query or word in _IN_QUERY
        first, before = first or word, word
    return "".join(parts)


def _is_name_next(given: Sequence[Token], at: int) -> bool:
    """Return whether a name may follow at a position: none does behind a column called `table`."""
    words = (each.text.upper() for each in given[at:] if each.kind not in (TokenKind.SPACE, TokenKind.COMMENT))
    following = next(words, "")
    return following not in _AFTER_COLUMN


def target_in(statement: str) -> str:
    """Return the name of the table or view that a statement writes, as the text writes it; empty if it names none."""
    at, depth, first, is_named_next = 0, 0, "", False
    for token in tokens(statement):
        begin, at = at, at + len(token.text)
        depth += (token.text == "(") - (token.text == ")")
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT) or (depth and first == "WITH"):
            continue
        word = token.text.upper() if token.kind is TokenKind.WORD else ""
        if first == "WITH" and word not in ("INSERT", "MERGE"):
            continue
        if not first or first == "WITH":
            first = word
            if first == "WITH":
                continue
            if first not in _WRITING:
                return ""
            # The word INTO may be left out.
            is_named_next = first == "MERGE"
        elif word in _WRITING[first]:
            is_named_next = True
        elif word not in _BEFORE_NAME and (is_named_next or first != "LOAD"):
            names = dotted(statement, begin)
            is_made = word == _MADE_NAME and statement[at:].lstrip().startswith("(")
            is_routine = is_made or (word in _ROUTINES and len(names) == 1 and bool(dotted(statement, at)))
            is_name = is_named_next and word not in _NO_TARGET and not is_routine
            return ".".join(map(_quoted, dotted(statement, begin))) if is_name else ""
    return ""


def _read(tree: Any, known: Known, dialect: str) -> TextLineage | None:
    """Return the reads and writes of a parsed statement; None for a kind that is not supported."""
    from openlineage_pyspark.facets.foreign_sql.reader import UnreadableError
    from sqlglot import exp

    if isinstance(tree, (exp.Merge, exp.Delete)):
        return _changed(tree, known, dialect)
    names, given = (), frozenset[str]()
    query = tree
    if isinstance(tree, exp.Copy) or _is_routine(tree):
        return _copied(tree)
    target = _into(tree)
    if isinstance(tree, (exp.Insert, exp.Create)):
        target, query = tree.this, _query_of(tree)
        if isinstance(target, exp.Schema):
            names = tuple(each.name for each in target.expressions)
            target = target.this
        if not isinstance(target, exp.Table) or _name(target).upper() == _MADE_NAME:
            return None
        if query is None:
            return _declared(tree)
        given = frozenset(_given(tree.args.get("partition") or target.args.get("partition")))
        _take_ctes(query, tree)
    written = _name(target) if target is not None else ""
    try:
        found, spelled = _resolved(query, known, dialect)
    except UnreadableError:
        return TextLineage(written, tuple(dict.fromkeys(_tables(query)))) if target is not None else None
    # An expression without a name gets the name that older versions of Spark gave it.
    items = [(at, item) for at, item in enumerate(found.items) if item.name is not None]
    plain = [(item.name or f"_c{at}", _spelled(item.kinds, spelled)) for at, item in items]
    # What an INSERT changes in rows that are there is not read.
    whole = found.whole and len(plain) == len(found.items) and not tree.args.get("conflict")
    by_position = isinstance(tree, exp.Insert) and not names and not tree.args.get("by_name")
    if names and found.whole and len(names) == len(plain) == len(found.items):
        plain = [(name, sources) for name, (_, sources) in zip(names, plain, strict=True)]
    if by_position and whole:
        partition = tree.args.get("partition") or target.args.get("partition")
        plain = plain if dialect in _NAMES_PARTITIONS else _with_partitions(plain, list(_filled(partition)))
    tables = tuple(spelled.get(name, name) for name in found.tables)
    rows = _spelled(found.rows, spelled) or {}
    proven = frozenset((spelled.get(table, table), column) for table, column in found.proven)
    opened = [item.table for item in found.items if item.name is None and item.table is not None]
    passed = spelled.get(opened[0], opened[0]) if found.whole and len(opened) == 1 and not names else ""
    return TextLineage(written, tables, tuple(plain), whole, by_position, given, rows, found.rows_known, proven, passed)


def _query_of(tree: Any) -> Any:
    """Return the query of an INSERT or a CREATE; for a clone, that of all rows of its table; None if there is none."""
    from sqlglot import exp

    clone = tree.args.get("clone")
    query = tree.args.get("expression") if clone is None else exp.select("*").from_(clone.this)
    return _selects(query) if isinstance(tree, exp.Insert) and isinstance(query, exp.Values) else query


def _selects(values: Any) -> Any:
    """Return VALUES as a query without tables; unchanged if a parameter is among them, whose value is unknown."""
    from sqlglot import exp

    rows = [each.expressions if isinstance(each, exp.Tuple) else [each] for each in values.expressions]
    if not rows or values.find(exp.Parameter, exp.SessionParameter, exp.Placeholder) is not None:
        return values
    # Rows of constants are alike, and there may be many.
    read = [row for row in rows if any(value.find(exp.Column, exp.Query) is not None for value in row)]
    if not read and not isinstance(values.parent.this, exp.Schema):
        return values
    # A value is no name, and may be a secret.
    selects: list[Any] = [
        exp.select(*(exp.alias_(value.copy(), f"_c{at}") for at, value in enumerate(row))) for row in (read or rows[:1])
    ]
    made, *others = selects
    for each in others:
        made = exp.union(made, each, distinct=False, copy=False)
    return made


def _is_routine(tree: Any) -> bool:
    """Return whether a statement creates a function, a procedure or the like."""
    from sqlglot import exp

    return isinstance(tree, exp.Create) and str(tree.args.get("kind")).upper() in _ROUTINES


def _into(query: Any) -> Any:
    """Return the table that a SELECT with INTO creates; None if it creates none."""
    from sqlglot import exp

    while isinstance(query, exp.SetOperation):
        query = query.this
    into = query.args.get("into") if isinstance(query, exp.Select) else None
    return into.this if into is not None and isinstance(into.this, exp.Table) else None


def _copied(tree: Any) -> TextLineage | None:
    """Return what a COPY reads and fills; None if it names no table, and for any other statement."""
    from sqlglot import exp

    if not isinstance(tree, exp.Copy):
        return None
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return None
    if not tree.args.get("kind"):
        return TextLineage("", (_name(table),))
    read = (name for each in tree.args.get("files") or () for name in _tables(each))
    return TextLineage(_name(table), tuple(dict.fromkeys(read)))


def _declared(create: Any) -> TextLineage | None:
    """Return the columns that a CREATE TABLE without a query declares; None if it declares none."""
    from sqlglot import exp

    schema = create.this
    if not isinstance(create, exp.Create) or not isinstance(schema, exp.Schema):
        return None
    items = (each for each in schema.expressions if isinstance(each, exp.ColumnDef))
    # Such as `KEY k (a)` of MySQL.
    names = [each.name for each in items if each.this.args.get("quoted") or each.name.upper() not in _KEYS]
    source = _source_of_dictionary(create)
    columns: tuple[tuple[str, SourceKinds | None], ...] = tuple(
        (name, {(source, name): SAME} if source else {}) for name in names
    )
    return TextLineage(_name(schema.this), (source,) if source else (), columns, whole=True) if columns else None


def _source_of_dictionary(create: Any) -> str:
    """Return the table from which ClickHouse fills a dictionary, by the names of columns; empty if there is none."""
    from sqlglot import exp

    for each in create.find_all(exp.DictProperty):
        if each.name.upper() == "SOURCE" and str(each.args.get("kind")).upper() == "CLICKHOUSE":
            given = {part.name.upper(): part.args["value"].name for part in each.args.get("settings") or ()}
            return (
                ".".join(_quoted(given[key]) for key in ("DB", "TABLE") if given.get(key)) if "TABLE" in given else ""
            )
    return ""


def _resolved(query: Any, known: Known, dialect: str) -> tuple[Query, dict[str, str]]:
    """Return the sources of a query, and the unquoted names of its tables -> their names as the text writes them."""
    from openlineage_pyspark.facets.foreign_sql.reader import read_parsed

    spelled = _spellings(query)
    columns = {name: known.columns[each] for name, each in spelled.items() if each in known.columns}
    used = {name: known.used[each] for name, each in spelled.items() if each in known.used}
    own = {name.lower() for names in (*columns.values(), *used.values()) for name in names}
    variables = {each for each in known.variables if each not in own}
    return read_parsed(_without_variables(query, variables) if variables else query, dialect, columns, used), spelled


def _without_variables(query: Any, variables: Collection[str]) -> Any:
    """Return a query with NULL for variables; a name that the query itself gives to a value is none."""
    from sqlglot import exp

    given = {each.alias.lower() for each in query.find_all(exp.Alias)}
    given |= {column.name.lower() for each in query.find_all(exp.TableAlias) for column in each.columns}
    names = set(variables) - given

    def plain(node: Any) -> Any:
        if not isinstance(node, exp.Column):
            return node
        called = ".".join(part.name for part in node.parts).lower()
        if called not in names and (called == node.name.lower() or f"*.{node.name.lower()}" not in names):
            return node
        is_item = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
        return exp.alias_(exp.Null(), node.name) if is_item else exp.Null()

    return query.transform(plain)


@attrs.frozen
class _Assigned:
    """
    The assignments of a MERGE or an UPDATE.

    Args:
        paths: the names of columns, each with the names of fields in it; None if they are the names of the query's
            columns.
        query: a query of their values; None for values that the text does not show.
        decides: a query of the condition under which they are set; None if there is no condition.
    """

    paths: list[list[str]] | None
    query: Any
    decides: Any = None


def _changed(tree: Any, known: Known, dialect: str) -> TextLineage | None:
    """Return the reads and writes of a MERGE, an UPDATE or a DELETE; None if it names no table to change."""
    from sqlglot import exp

    if not isinstance(tree.this, exp.Table):
        return None
    tree, tables, conditions = _with_own_target(tree)
    changes = _Changes(_name(tree.this), known, dialect)
    for each in _assignments(tree):
        changes.take(each)
    for query, kind in _row_conditions(tree):
        changes.decide(query, kind)
    for condition in conditions:
        changes.decide(condition, UseKind.JOIN)
    if cte_in(tree) is not None:
        changes.move(tree)
    if _leaves_rows(tree) or conditions:
        changes.keep()
    columns = tuple(changes.columns.values())
    return TextLineage(changes.target, tables, columns, changes.whole, rows=changes.rows, rows_known=changes.rows_known)


def _with_own_target(tree: Any) -> tuple[Any, tuple[str, ...], list[Any]]:
    """
    Return an UPDATE or a DELETE with the table that it changes as its target, and with its joins taken apart.

    SQL Server and MySQL may name the target by its alias in the FROM, as in `UPDATE a SET x = 1 FROM t AS a`.

    Returns:
        The statement, the names of its tables, and the conditions of its joins as queries; one is None if it is
        unknown.
    """
    from sqlglot import exp

    if isinstance(tree, exp.Merge):
        return tree, tuple(dict.fromkeys(_tables(tree))), []
    made = tree.copy()
    named = made.args.get("tables") or ([made.this] if isinstance(made, exp.Update) else [])
    # In MySQL, further tables come before the SET.
    rows = [*_with_joined(made.this)[isinstance(made, exp.Update) :], *_further(made)]
    joins = [join for row in [made.this, *rows] for join in row.args.get("joins") or ()]
    is_alias = len(named) == 1 and isinstance(named[0], exp.Table) and len(named[0].parts) == 1 and not named[0].alias
    made.set("tables", None)
    tables = tuple(dict.fromkeys(_tables(made)))
    own = [each for each in rows if is_alias and each.alias_or_name.lower() == named[0].name.lower()]
    if own and isinstance(own[0], exp.Table):
        made.set("this", own[0])
        tables = tables if isinstance(made, exp.Delete) else tuple(dict.fromkeys(_tables(made)))
        rows = [each for each in rows if each is not own[0]]
    elif isinstance(made, exp.Delete):
        rows = rows[1:]
    # What CROSS APPLY makes of each row stays unknown.
    applied = [None for each in (made.this, *rows) if each.args.get("laterals") or isinstance(each, exp.Lateral)]
    rows = [each for each in rows if not isinstance(each, exp.Lateral)]
    for each in (made.this, *rows):
        each.set("joins", None)
        each.set("laterals", None)
    made.set("from", None)
    made.set("from_", None)
    made.set("using", rows)
    every = (made.this, *rows)
    known = [_selected([join.args["on"]], every, made) for join in joins if join.args.get("on") is not None]
    shared = [
        _selected([_equal(join, every)], every, made) if len(every) == _TWO and join.args.get("using") else None
        for join in joins
        if join.args.get("using") or join.args.get("method") == "NATURAL"
    ]
    return made, tables, [*known, *shared, *applied]


def _equal(join: Any, rows: Sequence[Any]) -> Any:
    """Return the condition of a join of two tables by columns with the same names."""
    from sqlglot import exp

    names = [each.name for each in join.args["using"]]
    pairs = [[exp.column(name, table=row.alias_or_name) for row in rows] for name in names]
    return exp.and_(*(exp.EQ(this=left, expression=right) for left, right in pairs))


def _with_joined(row: Any) -> list[Any]:
    """Return what a FROM begins with, and what is joined with it."""
    return [row, *(join.this for join in row.args.get("joins") or ())]


class _Changes:
    """Collects the assignments of a statement to the columns of its target."""

    def __init__(self, target: str, known: Known, dialect: str) -> None:
        self.target = target
        self.columns: dict[str, tuple[str, SourceKinds | None]] = {}
        self.whole = True
        self.rows: dict[tuple[str, str], frozenset[UseKind]] = {}
        self.rows_known = True
        self.proven: set[tuple[str, str]] = set()
        self._known = known
        self._dialect = dialect

    def take(self, assigned: _Assigned) -> None:
        """Add the columns that some assignments set."""
        read = self._read(assigned.query)
        if read is None:
            self.whole = False
            return
        found, spelled = read
        self.rows_known = self.rows_known and found.rows_known
        places = assigned.paths
        if places is None:
            # None means all columns of a table.
            places = [[] if item.name is None else [item.name] for item in found.items]
        if len(places) != len(found.items):
            # A star among the values represents several of them.
            self.whole = False
            return
        self.whole = self.whole and found.whole and all(places)
        decides = self._used(assigned.decides, UseKind.CONDITIONAL)
        for path, item in zip(places, found.items, strict=True):
            if not path:
                continue
            name, *fields = path
            name = self._own(name)
            made = _spelled(item.kinds, spelled)
            if made is not None and fields:
                # The other fields keep their values.
                made = all_of(_composed(made, UseKind.TRANSFORMATION), {(self.target, name): _MADE})
            if made == {(self.target, name): SAME}:
                # The column keeps its value.
                continue
            _, before = self.columns.get(name.lower(), (name, {}))
            self.columns[name.lower()] = (name, all_of(before, made, decides))

    def decide(self, query: Any, kind: UseKind) -> None:
        """Add a condition on all rows, and what decides about the rows that the condition reads."""
        found, read = self._used(query, kind), self._read(query)
        if found is None or read is None or not read[0].rows_known:
            self.rows_known = False
        rows = {} if read is None else _spelled(read[0].rows, read[1]) or {}
        self.rows.update(all_of(self.rows, found or {}, rows) or {})

    def move(self, tree: Any) -> None:
        """Make the table behind a CTE the target, as in SQL Server, where a change of the CTE is one of the table."""
        from sqlglot import exp

        behind: set[str] = set(_tables(cte_in(tree).this))
        moved: dict[str, tuple[str, SourceKinds | None]] = {}
        for key, (name, sources) in self.columns.items():
            read = self._read(_selected([exp.column(name, table=tree.this.alias_or_name)], (tree.this,), tree))
            kinds = (_spelled(read[0].items[0].kinds, read[1]) if read is not None else None) or {}
            if len(kinds) != 1 or list(kinds.values()) != [SAME]:
                self.whole = False
                continue
            ((table, column),) = kinds
            behind = {table}
            moved[key] = (column, sources)
        self.columns = moved
        # Of several tables, it is unknown which one is changed.
        self.target = behind.pop() if len(behind) == 1 else ""

    def _own(self, name: str) -> str:
        """Return the name of a column of the target as the table spells it, or else as the statement first does."""
        named = (*self._known.columns.get(self.target, ()), *(each for each, _ in self.columns.values()))
        return next((each for each in named if each.lower() == name.lower()), name)

    def keep(self) -> None:
        """Make each changed column a source of itself, because it keeps its value in some rows."""
        for key, (name, sources) in self.columns.items():
            own = {(self.target, name): SAME}
            self.columns[key] = (name, all_of(own, sources))

    def _used(self, query: Any, kind: UseKind) -> SourceKinds | None:
        """Return the sources of a condition, with the kind by which they decide; None if they are unknown."""
        if query is None:
            return {}
        read = self._read(query)
        if read is None or not read[0].items:
            return None
        (item, *_), spelled = read[0].items, read[1]
        return None if item.kinds is None else _composed(_spelled(item.kinds, spelled) or {}, kind)

    def _read(self, query: Any) -> tuple[Query, dict[str, str]] | None:
        from openlineage_pyspark.facets.foreign_sql.reader import UnreadableError

        if query is None:
            return None
        try:
            found, spelled = _resolved(query, self._known, self._dialect)
        except UnreadableError:
            return None
        self.proven |= {(spelled.get(table, table), column) for table, column in found.proven}
        return found, spelled


def _composed(sources: SourceKinds, kind: UseKind) -> SourceKinds:
    """Return sources with the kinds that they have after a further step of a kind."""
    return {source: frozenset(compose(kind, each) for each in kinds) for source, kinds in sources.items()}


def _leaves_rows(tree: Any) -> bool:
    """Return whether some rows may keep their values: an UPDATE of some rows, or a MERGE that does not only insert."""
    from sqlglot import exp

    if isinstance(tree, exp.Update):
        return tree.args.get("where") is not None
    if not isinstance(tree, exp.Merge):
        return False
    return any(when.args.get("matched") or when.args.get("source") for when in _whens(tree))


def _row_conditions(tree: Any) -> Iterator[tuple[Any, UseKind]]:
    """Yield the conditions on all rows of a MERGE, an UPDATE or a DELETE, each as a query with its kind."""
    from sqlglot import exp

    target = tree.this
    if isinstance(tree, exp.Merge):
        both = (target, tree.args.get("using"))
        yield _selected([tree.args["on"]], both, tree), UseKind.JOIN
        for when in _whens(tree):
            condition = when.args.get("condition")
            if condition is not None and not isinstance(when.args["then"], (exp.Update, exp.Insert)):
                deletes = str(when.args["then"].name).upper() == "DELETE"
                if deletes:
                    yield _selected([condition], both, tree), UseKind.FILTER
    elif tree.args.get("where") is not None:
        yield _selected([tree.args["where"].this], (target, *_further(tree)), tree), UseKind.FILTER


def _further(tree: Any) -> list[Any]:
    """Return what an UPDATE or a DELETE of other databases reads beside its target: FROM, USING."""
    start = tree.args.get("from") or tree.args.get("from_")
    using = tree.args.get("using") or []
    found = [start.this] if start is not None else list(using) if isinstance(using, list) else [using]
    return [row for each in found for row in _with_joined(each)]


def _whens(merge: Any) -> list[Any]:
    """Return the actions of a MERGE; older versions of sqlglot keep them elsewhere."""
    whens = merge.args.get("whens")
    found: list[Any] = merge.expressions if whens is None else whens.expressions
    return found


def _assignments(tree: Any) -> Iterator[_Assigned]:
    """Yield the assignments of a MERGE or an UPDATE."""
    from sqlglot import exp

    target, source = tree.this, tree.args.get("using")
    if isinstance(tree, exp.Update):
        yield from _set_to(tree.expressions, (target, *_further(tree)), tree, None)
    for when in _whens(tree) if isinstance(tree, exp.Merge) else ():
        then = when.args["then"]
        # Oracle has a further condition after the assignments.
        parts = (when.args.get("condition"), getattr(then.args.get("where"), "this", None))
        conditions = [each for each in parts if each is not None]
        condition = exp.and_(*conditions) if conditions else None
        # A row of one table without a match has no row of the other one.
        rows = (target,) if when.args.get("source") else (source,) if isinstance(then, exp.Insert) else (target, source)
        decides = None if condition is None else _selected([condition], rows, tree)
        if isinstance(then, exp.Update):
            yield from _set_to(then.expressions, rows, tree, decides)
        elif isinstance(then, exp.Insert) and not isinstance(then.this, exp.Star):
            columns, values = (getattr(part, "expressions", []) for part in (then.this, then.expression))
            if columns and len(columns) == len(values):
                paths = [_path(column, target) for column in columns]
                yield _Assigned(paths, _selected(values, (source,), tree), decides)
            else:
                yield _Assigned(None, None)
        elif isinstance(then, exp.Insert) or then.name.endswith("*"):
            # Older versions of sqlglot do not parse UPDATE SET * and INSERT * into a tree.
            yield _Assigned(None, _selected([exp.Star()], (source,), tree), decides)


def _set_to(assigned: list[Any], rows: tuple[Any, ...], tree: Any, decides: Any) -> Iterator[_Assigned]:
    """Yield assignments, with queries of their values from the rows of some tables."""
    from sqlglot import exp

    assigned = [single for each in assigned for single in _singly(each)]
    assignments = [each for each in assigned if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column)]
    if assignments:
        values = [each.expression for each in assignments]
        yield _Assigned([_path(each.this, tree.this) for each in assignments], _selected(values, rows, tree), decides)
    if len(assignments) < len(assigned):
        stars = all(isinstance(each, exp.Star) for each in assigned)
        yield _Assigned(None, _selected(assigned, rows[-1:], tree) if stars else None, decides)


def _singly(assigned: Any) -> list[Any]:
    """Return an assignment to several columns, `(a, b) = (SELECT ...)`, as one for each; else the assignment alone."""
    from sqlglot import exp

    if not isinstance(assigned, exp.EQ) or not isinstance(assigned.this, (exp.Tuple, exp.Paren)):
        return [assigned]
    columns = assigned.this.expressions or [assigned.this.this]
    value = assigned.expression
    query = value.this if isinstance(value, (exp.Subquery, exp.Paren)) else value
    is_query = isinstance(query, exp.Select) and not query.is_star
    values = query.expressions if is_query or isinstance(value, exp.Tuple) else []
    if len(columns) != len(values):
        return [assigned]
    parts = values
    if is_query:
        parts = [exp.Subquery(this=query.copy()) for _ in values]
        for part, each in zip(parts, values, strict=True):
            part.this.set("expressions", [each.copy()])
    return [exp.EQ(this=column.copy(), expression=part.copy()) for column, part in zip(columns, parts, strict=True)]


def _selected(values: list[Any], rows: tuple[Any, ...], tree: Any) -> Any:
    """Return a query of values, from the rows of tables, with the CTEs of the statement."""
    from sqlglot import exp

    # Names that no user would choose, because a value may read the other columns under their own names.
    named = [
        value.copy() if isinstance(value, exp.Star) else exp.alias_(value.copy(), f"value number {at}", quoted=True)
        for at, value in enumerate(values)
    ]
    query: Any = exp.select(*named).from_(rows[0].copy())
    for more in rows[1:]:
        query = query.join(more.copy(), join_type="cross")
    _take_ctes(query, tree)
    return query


def _take_ctes(query: Any, statement: Any) -> None:
    """Give a query that was cut out of a statement the CTEs of the statement."""
    clause = statement.args.get("with") or statement.args.get("with_")
    if clause is not None:
        query.set(clause.arg_key or "with", clause.copy())


def _path(column: Any, target: Any) -> list[str]:
    """Return the name of a column, with the names of the fields in it, but without that of its table."""
    from sqlglot import exp

    if not isinstance(column, (exp.Column, exp.Identifier, exp.Dot)):
        return []
    parts = [part.name for part in column.parts] if hasattr(column, "parts") else [column.name]
    table = [target.alias] if target.alias else [part.name for part in target.parts]
    for begin in range(len(table)):
        own = [part.lower() for part in table[begin:]]
        if len(parts) > len(own) and [part.lower() for part in parts[: len(own)]] == own:
            return parts[len(own) :]
    return parts


def _spellings(query: Any) -> dict[str, str]:
    """Return the unquoted names of the tables in a query -> their names as the text writes them."""
    from sqlglot import exp

    return {".".join(part.name for part in table.parts): _name(table) for table in query.find_all(exp.Table)}


def _spelled(sources: SourceKinds | None, names: Mapping[str, str]) -> SourceKinds | None:
    """Return sources with the names of tables as the text writes them."""
    return sources and {(names.get(table, table), column): kinds for (table, column), kinds in sources.items()}


def _given(partition: Any) -> Iterator[str]:
    """Yield the columns that a PARTITION clause sets to constants."""
    from sqlglot import exp

    for each in getattr(partition, "expressions", ()):
        if isinstance(each, exp.EQ):
            yield each.this.name.lower()


def _filled(partition: Any) -> Iterator[str]:
    """Yield the columns of a PARTITION clause that get the last values of the query."""
    from sqlglot import exp

    for each in getattr(partition, "expressions", ()):
        if not isinstance(each, exp.EQ):
            yield each.name


def _with_partitions(
    columns: list[tuple[str, SourceKinds | None]], partitions: list[str]
) -> list[tuple[str, SourceKinds | None]]:
    """Return the columns of a query in which the last ones have the names of the partitions that they fill."""
    first = len(columns) - len(partitions)
    if first < 0:
        return columns
    filled = zip(partitions, columns[first:], strict=True)
    return [*columns[:first], *((name, sources) for name, (_, sources) in filled)]


def _tables(tree: Any) -> Iterator[str]:
    """Yield the names of all tables in a tree, except those of its CTEs."""
    from sqlglot import exp

    own = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name and not isinstance(table.this, exp.Var) and _name(table).lower() not in own:
            yield _name(table)


def _name(table: Any) -> str:
    """Return the name of a table as the text writes it: a part that needs backquotes has them."""
    parts = [part.name for part in table.parts] if hasattr(table, "parts") else [str(table.name)]
    return ".".join(map(_quoted, parts))


def _quoted(part: str) -> str:
    return part if _NO_QUOTES.fullmatch(part) else f"`{part.replace('`', '``')}`"
