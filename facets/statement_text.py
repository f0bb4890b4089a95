"""
What the text of a statement alone tells of its lineage, for a statement that Spark can't analyze.

sqlglot parses the text. It knows no schema, so only those columns are told that can come from one table alone, and each
edge has the certainty `unknown`. Without sqlglot, or if it can't parse the text either, the tables are still told.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.datasets.sql_tables import named_tables
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Symlink
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    Edge,
    OutputColumn,
    Transformation,
    Way,
)
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.report import Lineage

if TYPE_CHECKING:
    from openlineage_pyspark.facets.datasets.foreign_sql import Sources

TEXT = "the statement's text"
"""What a gap is about if the lineage was taken from the text."""

_DIALECT = "spark"
_WAY = Way(certainty=Certainty.UNKNOWN)
_CATALOG = "spark_catalog"


@attrs.frozen
class TextLineage:
    """
    What a text tells.

    Args:
        target: the name of the table that is written, as it is spelled; empty for a query.
        tables: the names of the tables that are read, as they are spelled, each once.
        columns: each column of the result with its source columns; None where the text does not tell them.
        whole: whether these are all of the columns, in their order.
    """

    target: str
    tables: tuple[str, ...]
    columns: tuple[tuple[str, Sources | None], ...] = ()
    whole: bool = False


def lineage_of_text(statement: str, why: str, named: Callable[[str], Dataset]) -> Lineage | None:
    """
    Return the lineage that the text of a statement tells.

    Args:
        statement: the text.
        why: why Spark can't analyze it.
        named: gives the dataset of a table by its name as it is spelled.

    Returns:
        Edges of the certainty `unknown`, with a gap that says why; None if the text is no SQL, or names no table.
    """
    missing = ""
    try:
        told = read_statement(statement)
    except ImportError:
        told = TextLineage("", named_tables(statement))
        missing = ", and sqlglot, which reads columns there, is not installed"
    if told is None or not (told.tables or told.target):
        return None
    datasets = {name: named(name) for name in (*told.tables, told.target) if name}
    reads = tuple({datasets[name].identifier: datasets[name] for name in told.tables}.values())
    columns = ColumnLineage(tuple(_columns(told, datasets)))
    gaps = [Gap(TEXT, f"Spark can't analyze the statement ({why}): its lineage is taken from its text{missing}")]
    untold = [name for name, sources in told.columns if sources is None]
    if untold:
        gaps.append(Gap(TEXT, f"it does not tell where these columns come from: {', '.join(untold)}"))
    if not told.whole and not missing:
        gaps.append(Gap(TEXT, "there may be more columns than are listed"))
    target = datasets.get(told.target)
    return Lineage(reads, ((target, columns),), tuple(gaps))


def read_statement(statement: str) -> TextLineage | None:
    """
    Return what a statement reads and writes, by its text.

    Returns:
        Of other kinds than queries and the commands that write one, and of a text that is too long to be parsed, the
        tables alone; None if sqlglot can't parse it.

    Raises:
        ImportError: sqlglot is not installed.
    """
    import sqlglot
    from openlineage_pyspark.facets.datasets.foreign_sql import MOST_CHARACTERS
    from sqlglot.errors import SqlglotError

    if len(statement) > MOST_CHARACTERS:
        return TextLineage("", named_tables(statement))
    quiet = logging.getLogger("sqlglot")
    level, quiet.level = quiet.level, logging.CRITICAL
    try:
        parsed = [each for each in sqlglot.parse(statement, dialect=_DIALECT) if each is not None]
        return _read(parsed[0]) or TextLineage("", named_tables(statement)) if len(parsed) == 1 else None
    except (SqlglotError, RecursionError):
        return None
    finally:
        quiet.level = level


def unknown_table(name: str, catalog: str = _CATALOG, database: str = "default") -> Dataset:
    """
    Return a table of which only the name is known.

    Args:
        name: its name, as it is spelled.
        catalog: the current catalog.
        database: the current database in it.
    """
    parts = name.replace("`", "").split(".")
    if len(parts) < 3:
        parts = [*(catalog, *database.split("."))[: 3 - len(parts)], *parts]
    return named_table(tuple(part.lower() for part in parts))


def named_table(parts: tuple[str, ...]) -> Dataset:
    """
    Return the dataset of a table whose place is not known.

    Args:
        parts: its catalog, its database and its name.
    """
    name = ".".join(parts[1:])
    label = name if parts[0] == _CATALOG else ".".join(parts)
    return Dataset(Identifier(parts[0], name), symlinks=(Symlink(parts[0], label),), type="TABLE")


def _read(tree: Any) -> TextLineage | None:
    """Return what a parsed statement reads and writes; None for a kind that is not read."""
    from openlineage_pyspark.facets.datasets.foreign_sql import TooLargeError, UnreadableError, read_query
    from sqlglot import exp

    if isinstance(tree, (exp.Merge, exp.Update, exp.Delete)):
        target = tree.this
        reads = [name for name in _tables(tree) if name != _name(target)]
        return TextLineage(_name(target), tuple(dict.fromkeys(reads)))
    target, names = None, ()
    query = tree
    if isinstance(tree, (exp.Insert, exp.Create)):
        target, query = tree.this, tree.args.get("expression")
        if isinstance(target, exp.Schema):
            names = tuple(each.name for each in target.expressions)
            target = target.this
        if not isinstance(target, exp.Table) or query is None:
            return None
        clause = tree.args.get("with") or tree.args.get("with_")
        if clause is not None:
            query.set(clause.arg_key or "with", clause)
    written = _name(target) if target is not None else ""
    try:
        found = read_query(query.sql(dialect=_DIALECT), _DIALECT)
    except (TooLargeError, UnreadableError):
        return TextLineage(written, tuple(dict.fromkeys(_tables(query)))) if target is not None else None
    # An expression without a name has the one that older versions of Spark gave it.
    items = [(at, item) for at, item in enumerate(found.items) if item.name is not None]
    plain = [(item.name or f"_c{at}", item.sources) for at, item in items]
    whole = found.whole and len(plain) == len(found.items)
    if names and whole and len(names) == len(plain):
        plain = [(name, sources) for name, (_, sources) in zip(names, plain, strict=True)]
    return TextLineage(written, found.tables, tuple(plain), whole)


def _tables(tree: Any) -> Iterator[str]:
    """Yield the names of all tables in a tree, except those of its CTEs."""
    from sqlglot import exp

    own = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if table.name and _name(table).lower() not in own:
            yield _name(table)


def _name(table: Any) -> str:
    """Return the name of a table as it is spelled, without what quotes its parts."""
    return ".".join(part.name for part in table.parts) if hasattr(table, "parts") else str(table.name)


def _columns(told: TextLineage, datasets: dict[str, Dataset]) -> Iterator[OutputColumn]:
    """Yield the columns whose sources are told."""
    for name, sources in told.columns:
        if sources is None:
            continue
        edges = []
        for (table, column), same in sources.items():
            subtype = "IDENTITY" if same else "TRANSFORMATION"
            if table in datasets:
                edges.append(Edge(datasets[table].identifier, column, (Transformation("DIRECT", subtype, way=_WAY),)))
        yield OutputColumn(name, tuple(sorted(edges)))
