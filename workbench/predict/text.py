"""
What the text of a statement alone tells of its lineage, for a statement that Spark can't analyze.

sqlglot parses the text. It knows no schema, so only those columns are told that can come from one table alone, and each
edge has the certainty `unknown`. A view that Spark knows is followed to its tables. Without sqlglot, or if it can't
parse what Spark can, the tables are still told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.datasets.naming import is_absolute, location
from openlineage_pyspark.facets.datasets.sql_tables import named_tables
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Symlink
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    OutputColumn,
    Transformation,
    Way,
)
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens
from openlineage_pyspark.workbench.report import Lineage

if TYPE_CHECKING:
    from openlineage_pyspark.facets.datasets.foreign_sql import SourceColumns

TEXT = "the statement's text"
"""What a gap is about if the lineage was taken from the text."""

_DIALECT = "spark"
_WAY = Way(certainty=Certainty.UNKNOWN)
_CATALOG = "spark_catalog"
_NO_QUOTES = re.compile(r"\w+")
# Before the word TABLE: what a query follows, and what the table follows that is filled.
_BEFORE_QUERY = frozenset({"", "(", ")", "AS", "UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS"})
_BEFORE_TARGET = frozenset({"INTO", "OVERWRITE", ",", "("})
# How a statement that writes begins -> the words after which its target is named.
_WRITING = {
    "CREATE": frozenset({"TABLE", "VIEW"}),
    "REPLACE": frozenset({"TABLE"}),
    "INSERT": frozenset({"INTO", "OVERWRITE"}),
    "MERGE": frozenset({"INTO"}),
}
_BEFORE_NAME = frozenset("EXISTS EXTERNAL GLOBAL IF NOT OR REPLACE TABLE TEMP TEMPORARY".split())
_NO_TARGET = frozenset({"DIRECTORY", "LOCAL"})
_ALTERED_VIEW = re.compile(r"^(\s*)ALTER(\s+VIEW\s+(?:`[^`]*`|[\w.])+\s+AS\b)", re.IGNORECASE)
_OF_PIPELINES = re.compile(
    r"\s*CREATE\s+(?:OR\s+REFRESH\s+)?(?:FLOW|MATERIALIZED\s+VIEW|STREAMING\s+TABLE)\b", re.IGNORECASE
)
_IDENTITY, _TRANSFORMATION = "IDENTITY", "TRANSFORMATION"
_Assignments = tuple["list[list[str]] | None", Any]


@attrs.frozen
class TextLineage:
    """
    What a text tells.

    Args:
        target: the name of the table that is written, as it is spelled; empty for a query.
        tables: the names of the tables that are read, as they are spelled, each once.
        columns: each column of the result with its source columns; None where the text does not tell them.
        whole: whether these are all of the columns, in their order.
        by_position: whether they become those of the target by their places, whatever they are called.
        given: the columns of the target that get constants from a PARTITION clause, in lower case.
    """

    target: str
    tables: tuple[str, ...]
    columns: tuple[tuple[str, SourceColumns | None], ...] = ()
    whole: bool = False
    by_position: bool = False
    given: frozenset[str] = frozenset()


def lineage_of_text(
    statement: str,
    why: str,
    known: Callable[[str], Lineage | None],
    unknown: Callable[[str], Dataset],
    *,
    is_sql: bool = False,
) -> Lineage | None:
    """
    Return the lineage that the text of a statement tells.

    Args:
        statement: the text.
        why: why Spark can't analyze it.
        known: gives the lineage of all columns of a table or a view, by its name as it is spelled; None if Spark does
            not know it.
        unknown: gives the dataset for the name of a table that Spark does not know.
        is_sql: whether Spark can parse the text.

    Returns:
        Edges of the certainty `unknown`, with a gap that says why; None if the text is no SQL, or names no table.
    """
    missing = ""
    try:
        told = read_statement(statement)
    except ImportError:
        told = TextLineage("", named_tables(statement, _DIALECT))
        missing = ", and sqlglot, which reads columns there, is not installed"
    if told is None and is_sql:
        told = TextLineage(_target_in(statement), named_tables(_for_sqlglot(statement), _DIALECT))
    if told is None or not (told.tables or told.target):
        return None
    names = _Named({name: known(name) for name in (*told.tables, told.target) if name}, unknown)
    target = names.dataset(told.target) if told.target else None
    places = _placed(told, target)
    columns = [
        (name, None if sources is None else names.edges(sources))
        for name, sources in (told.columns if places is None else places)
    ]
    gaps = [f"Spark can't analyze the statement ({why}): its lineage is taken from its text{missing}"]
    untold = [name for name, edges in columns if edges is None]
    if untold:
        gaps.append(f"it does not state where these columns come from: {', '.join(untold)}")
    if places is None and told.columns:
        gaps.append(f"it does not state which columns of {told.target} these become: their names are the query's")
    if not told.whole and not missing:
        gaps.append("there may be more columns than are listed")
    made = tuple(OutputColumn(name, edges) for name, edges in columns if edges is not None)
    output = ColumnLineage(made, names.influences(told.tables))
    return Lineage(names.reads(told.tables), ((target, output),), tuple(Gap(TEXT, each) for each in gaps))


def read_statement(statement: str) -> TextLineage | None:
    """
    Return what a statement reads and writes, by its text.

    Returns:
        Of other kinds than queries and the commands that write one, and of a text that is too long to be parsed, the
        tables alone; None if sqlglot can't parse it.

    Raises:
        ImportError: sqlglot is not installed.
    """
    from openlineage_pyspark.facets.datasets.foreign_sql import MOST_CHARACTERS
    from openlineage_pyspark.facets.sql_parser import UnparsableError, parsed
    from sqlglot.errors import SqlglotError

    if len(statement) > MOST_CHARACTERS:
        return TextLineage("", named_tables(statement, _DIALECT))
    text = _for_sqlglot(statement)
    try:
        trees = parsed(text, _DIALECT)
    except UnparsableError:
        return None
    try:
        return (
            _read(trees[0]) or TextLineage(_target_in(text), named_tables(text, _DIALECT)) if len(trees) == 1 else None
        )
    except (SqlglotError, RecursionError):
        return None


def unknown_table(name: str, catalog: str = _CATALOG, database: str = "default") -> Dataset:
    """
    Return a table of which only the name is known.

    Args:
        name: its name, as it is spelled.
        catalog: the current catalog.
        database: the current database in it.
    """
    parts = dotted(name) or (name,)
    if is_format_and_path(parts):
        return Dataset(location(parts[1]), file_format=parts[0].lower())
    if len(parts) < 3:
        parts = (*(catalog, *dotted(database))[: 3 - len(parts)], *parts)
    # Spark's own catalog keeps names in lower case.
    return named_table(tuple(part.lower() for part in parts) if parts[0].lower() == _CATALOG else parts)


def is_format_and_path(parts: tuple[str, ...]) -> bool:
    """Return whether the parts of a name are a format and a path, as in ``parquet.`/lake/orders` ``."""
    return len(parts) == 2 and is_absolute(parts[1])


def named_table(parts: tuple[str, ...]) -> Dataset:
    """
    Return the dataset of a table whose place is not known.

    Args:
        parts: its catalog, its database and its name.
    """
    name = ".".join(parts[1:])
    label = name if parts[0] == _CATALOG else ".".join(parts)
    return Dataset(Identifier(parts[0], name), symlinks=(Symlink(parts[0], label),), type="TABLE")


def _for_sqlglot(statement: str) -> str:
    """
    Return a statement as sqlglot knows it.

    A query `TABLE t` becomes `SELECT * FROM t`, ALTER VIEW with a query CREATE VIEW, and a flow of a pipeline the
    INSERT that it is; the word STREAM before a table of a pipeline is left out.
    """
    parts: list[str] = []
    first = before = ""
    streams = _OF_PIPELINES.match(statement) is not None
    for token in tokens(_ALTERED_VIEW.sub(r"\1CREATE\2", statement)):
        word = token.text.upper()
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            parts.append(token.text)
            continue
        if streams and word == "STREAM" and before in ("FROM", "JOIN", ","):
            continue
        if streams and word == "INSERT" and before == "AS":
            parts, first = [], ""
        begins = before in _BEFORE_QUERY and not (before == "(" and first == "CREATE")
        is_query = word == "TABLE" and (begins or (first == "INSERT" and before not in _BEFORE_TARGET))
        parts.append("SELECT * FROM" if is_query else token.text)
        first, before = first or word, word
    return "".join(parts)


def _target_in(statement: str) -> str:
    """Return the name of the table or the view that a statement writes, as it is spelled; empty if it names none."""
    at, first, is_named_next = 0, "", False
    for token in tokens(statement):
        begin, at = at, at + len(token.text)
        if token.kind in (TokenKind.SPACE, TokenKind.COMMENT):
            continue
        word = token.text.upper() if token.kind is TokenKind.WORD else ""
        if not first:
            first = word
            if first not in _WRITING:
                return ""
        elif word in _WRITING[first]:
            is_named_next = True
        elif word not in _BEFORE_NAME:
            is_name = is_named_next and word not in _NO_TARGET
            return ".".join(map(_quoted, dotted(statement, begin))) if is_name else ""
    return ""


class _Named:
    """
    What the names in a text stand for.

    Args:
        known: the lineage of all columns of what a name stands for; None for what Spark does not know.
        unknown: gives the dataset for such a name.
    """

    def __init__(self, known: Mapping[str, Lineage | None], unknown: Callable[[str], Dataset]) -> None:
        self._unknown = unknown
        tables = {name: _table_in(found) if found is not None else unknown(name) for name, found in known.items()}
        self._tables = {name: table for name, table in tables.items() if table is not None}
        self._views = {name: found for name, found in known.items() if found is not None and name not in self._tables}

    def dataset(self, name: str) -> Dataset:
        """Return the dataset of a name."""
        return self._tables[name] if name in self._tables else self._unknown(name)

    def reads(self, names: tuple[str, ...]) -> tuple[Dataset, ...]:
        """Return the datasets behind some names, each once."""
        found = (self._views[name].inputs if name in self._views else (self._tables[name],) for name in names)
        return tuple({each.identifier: each for datasets in found for each in datasets}.values())

    def influences(self, names: tuple[str, ...]) -> tuple[InputField, ...]:
        """Return what decides about all rows of the views among some names."""
        views = (columns for name in names if name in self._views for _, columns in self._views[name].outputs)
        edges = (edge for columns in views for edge in columns.dataset)
        return _merged((edge.dataset, edge.field, each) for edge in edges for each in edge.transformations)

    def edges(self, sources: SourceColumns) -> tuple[InputField, ...] | None:
        """Return the edges from some sources; None if one is not there."""
        found: list[tuple[Identifier, str, Transformation]] = []
        for (table, column), same in sources.items():
            if table in self._views:
                edges = _column_of(self._views[table], column)
                if edges is None:
                    return None
                told = ((edge.dataset, edge.field, each) for edge in edges for each in edge.transformations)
                found += ((dataset, field, _after(each, same=same)) for dataset, field, each in told)
            elif table in self._tables:
                dataset = self._tables[table]
                if dataset.fields and column.lower() not in {field.name.lower() for field in dataset.fields}:
                    return None
                kind = _IDENTITY if same else _TRANSFORMATION
                found.append((dataset.identifier, column, Transformation("DIRECT", kind)))
        return _merged(found)


def _merged(found: Iterable[tuple[Identifier, str, Transformation]]) -> tuple[InputField, ...]:
    """Return edges, one for each source column, all of the certainty `unknown`."""
    told: dict[tuple[Identifier, str], dict[Transformation, None]] = {}
    for dataset, field, transformation in found:
        told.setdefault((dataset, field), {})[attrs.evolve(transformation, way=_WAY)] = None
    return tuple(sorted(InputField(dataset, field, tuple(sorted(each))) for (dataset, field), each in told.items()))


def _after(transformation: Transformation, *, same: bool) -> Transformation:
    """Return how a source arrives behind a view's column; `same` if the column's value is passed on as it is."""
    if same:
        return transformation
    subtype = _TRANSFORMATION if transformation.subtype == _IDENTITY else transformation.subtype
    return attrs.evolve(transformation, subtype=subtype, description="")


def _table_in(found: Lineage) -> Dataset | None:
    """Return the table whose own columns these are; None for a view."""
    outputs = [columns for _, columns in found.outputs]
    if len(found.inputs) != 1 or len(outputs) != 1 or outputs[0].dataset or found.gaps:
        return None
    table = found.inputs[0]
    for column in outputs[0].columns:
        edges = [(edge.dataset, edge.field, [t.subtype for t in edge.transformations]) for edge in column.edges]
        if edges != [(table.identifier, column.name, [_IDENTITY])]:
            return None
    return table


def _column_of(view: Lineage, name: str) -> tuple[InputField, ...] | None:
    """Return the edges of a view's column; None if it has no such column."""
    columns = (column for _, lineage in view.outputs for column in lineage.columns)
    return next((column.edges for column in columns if column.name.lower() == name.lower()), None)


def _placed(told: TextLineage, target: Dataset | None) -> tuple[tuple[str, SourceColumns | None], ...] | None:
    """Return the columns under the names that they have in the target; None if these are not known."""
    if not told.by_position or target is None:
        return told.columns
    names = [field.name for field in target.fields if field.name.lower() not in told.given]
    if not told.whole or len(names) != len(told.columns):
        return None
    return tuple((name, sources) for name, (_, sources) in zip(names, told.columns, strict=True))


def _read(tree: Any) -> TextLineage | None:
    """Return what a parsed statement reads and writes; None for a kind that is not read."""
    from openlineage_pyspark.facets.datasets.foreign_sql import UnreadableError, read_parsed
    from sqlglot import exp

    if isinstance(tree, (exp.Merge, exp.Update, exp.Delete)):
        return _changed(tree)
    target, names, given = None, (), frozenset[str]()
    query = tree
    if isinstance(tree, (exp.Insert, exp.Create)):
        target, query = tree.this, tree.args.get("expression")
        if isinstance(target, exp.Schema):
            names = tuple(each.name for each in target.expressions)
            target = target.this
        if not isinstance(target, exp.Table) or query is None:
            return None
        given = frozenset(_given(tree.args.get("partition") or target.args.get("partition")))
        _take_ctes(query, tree)
    written = _name(target) if target is not None else ""
    try:
        found = read_parsed(query, _DIALECT)
    except UnreadableError:
        return TextLineage(written, tuple(dict.fromkeys(_tables(query)))) if target is not None else None
    # An expression without a name has the one that older versions of Spark gave it.
    items = [(at, item) for at, item in enumerate(found.items) if item.name is not None]
    spelled = _spellings(query)
    plain = [(item.name or f"_c{at}", _spelled(item.sources, spelled)) for at, item in items]
    whole = found.whole and len(plain) == len(found.items)
    by_position = isinstance(tree, exp.Insert) and not names and not tree.args.get("by_name")
    if names and whole and len(names) == len(plain):
        plain = [(name, sources) for name, (_, sources) in zip(names, plain, strict=True)]
    tables = tuple(spelled.get(name, name) for name in found.tables)
    return TextLineage(written, tables, tuple(plain), whole, by_position, given)


def _changed(tree: Any) -> TextLineage | None:
    """Return what a MERGE, an UPDATE or a DELETE reads and writes; None if it names no table to change."""
    from openlineage_pyspark.facets.datasets.foreign_sql import UnreadableError, read_parsed
    from sqlglot import exp

    if not isinstance(tree.this, exp.Table):
        return None
    target = _name(tree.this)
    columns: dict[str, tuple[str, SourceColumns | None]] = {}
    whole = True
    for paths, query in _assignments(tree):
        try:
            found = read_parsed(query, _DIALECT)
        except UnreadableError:
            whole = False
            continue
        spelled = _spellings(query)
        # Without paths, the columns have the names that the query gives them: none stands for all columns of a table.
        places = paths if paths is not None else [[] if item.name is None else [item.name] for item in found.items]
        whole = whole and found.whole and all(places)
        for path, item in zip(places, found.items, strict=True):
            if not path:
                continue
            name, *fields = path
            made = _spelled(item.sources, spelled)
            if made and fields:
                made = dict.fromkeys(made, False)
            if made == {(target, name): True}:
                # It keeps its value.
                continue
            _, before = columns.get(name.lower(), (name, {}))
            columns[name.lower()] = (name, None if made is None or before is None else _together(before, made))
    if _leaves_rows(tree):
        for key, (name, told) in columns.items():
            columns[key] = (name, None if told is None else {(target, name): True, **told})
    return TextLineage(target, tuple(dict.fromkeys(_tables(tree))), tuple(columns.values()), whole)


def _leaves_rows(tree: Any) -> bool:
    """Return whether rows may stay as they are in which a MERGE would set columns: it does more than insert."""
    from sqlglot import exp

    if not isinstance(tree, exp.Merge):
        return False
    return any(when.args.get("matched") or when.args.get("source") for when in _whens(tree))


def _whens(merge: Any) -> list[Any]:
    """Return the actions of a MERGE; older versions of sqlglot have them in another place."""
    whens = merge.args.get("whens")
    found: list[Any] = merge.expressions if whens is None else whens.expressions
    return found


def _together(first: SourceColumns, second: SourceColumns) -> SourceColumns:
    """Return the sources of a column that is set in two ways; as it is, only if both take it as it is."""
    return {source: first.get(source, True) and second.get(source, True) for source in (*first, *second)}


def _assignments(tree: Any) -> Iterator[_Assignments]:
    """
    Yield what a MERGE or an UPDATE sets.

    Yields:
        The names of columns, each with the names of fields in it, and a query of their values; None, and a query of
        which all columns are set; None twice for what the text does not tell.
    """
    from sqlglot import exp

    target, source = tree.this, tree.args.get("using")
    if isinstance(tree, exp.Update):
        yield from _set_to(tree.expressions, (target,), tree)
    for when in _whens(tree) if isinstance(tree, exp.Merge) else ():
        then = when.args["then"]
        if isinstance(then, exp.Update):
            # A row of the target without a match has none of the source.
            rows = (target,) if when.args.get("source") else (target, source)
            yield from _set_to(then.expressions, rows, tree)
        elif isinstance(then, exp.Insert) and not isinstance(then.this, exp.Star):
            columns, values = (getattr(part, "expressions", []) for part in (then.this, then.expression))
            if columns and len(columns) == len(values):
                yield [_path(column, target) for column in columns], _selected(values, (source,), tree)
            else:
                yield None, None
        elif isinstance(then, exp.Insert) or then.name.endswith("*"):
            # Older versions of sqlglot have no tree of UPDATE SET * and INSERT *.
            yield None, _selected([exp.Star()], (source,), tree)


def _set_to(assigned: list[Any], rows: tuple[Any, ...], tree: Any) -> Iterator[_Assignments]:
    """Yield what some assignments set, as `_assignments`, from the rows of some tables."""
    from sqlglot import exp

    told = [each for each in assigned if isinstance(each, exp.EQ) and isinstance(each.this, exp.Column)]
    if told:
        values = [each.expression for each in told]
        yield [_path(each.this, tree.this) for each in told], _selected(values, rows, tree)
    if len(told) < len(assigned):
        stars = all(isinstance(each, exp.Star) for each in assigned)
        yield None, _selected(assigned, rows[-1:], tree) if stars else None


def _selected(values: list[Any], rows: tuple[Any, ...], tree: Any) -> Any:
    """Return a query of values, from the rows of tables, with the CTEs of the statement."""
    from sqlglot import exp

    # Names that the user does not give: a value may read what the other columns are called.
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
    """Let a query that was cut out of a statement see the CTEs before the statement."""
    clause = statement.args.get("with") or statement.args.get("with_")
    if clause is not None:
        query.set(clause.arg_key or "with", clause.copy())


def _path(column: Any, target: Any) -> list[str]:
    """Return the name of a column of a table, with the names of the fields in it: without that of the table."""
    parts = [part.name for part in column.parts]
    table = [target.alias] if target.alias else [part.name for part in target.parts]
    for begin in range(len(table)):
        own = [part.lower() for part in table[begin:]]
        if len(parts) > len(own) and [part.lower() for part in parts[: len(own)]] == own:
            return parts[len(own) :]
    return parts


def _spellings(query: Any) -> dict[str, str]:
    """Return the names of the tables in a query as they are read, and as they are spelled."""
    from sqlglot import exp

    return {".".join(part.name for part in table.parts): _name(table) for table in query.find_all(exp.Table)}


def _spelled(sources: SourceColumns | None, names: Mapping[str, str]) -> SourceColumns | None:
    """Return sources with the names of tables as they are spelled."""
    return sources and {(names.get(table, table), column): same for (table, column), same in sources.items()}


def _given(partition: Any) -> Iterator[str]:
    """Yield the columns that a PARTITION clause gives constants."""
    from sqlglot import exp

    for each in getattr(partition, "expressions", ()):
        if isinstance(each, exp.EQ):
            yield each.this.name.lower()


def _tables(tree: Any) -> Iterator[str]:
    """Yield the names of all tables in a tree, except those of its CTEs."""
    from sqlglot import exp

    own = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name and _name(table).lower() not in own:
            yield _name(table)


def _name(table: Any) -> str:
    """Return the name of a table as it is spelled: a part that needs backticks stands in them."""
    parts = [part.name for part in table.parts] if hasattr(table, "parts") else [str(table.name)]
    return ".".join(map(_quoted, parts))


def _quoted(part: str) -> str:
    return part if _NO_QUOTES.fullmatch(part) else f"`{part.replace('`', '``')}`"
