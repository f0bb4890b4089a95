"""
Tables of other databases that are read through JDBC, and queries that a JDBC source has instead of a table.

The tables in a query are the inputs. If sqlglot is installed, it parses the query (`foreign_sql`), and the result
columns have sources; sqlglot is large, so it is imported only for a query. Without it, and for a query that it can't
parse, only the tables are found (`facets.foreign_sql.tables`). A result column has no sources if they are unknown; the
relation then has a gap.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Column, Relation, Session, by_name, reads, source
from openlineage_pyspark.facets.datasets.tables import catalog_table, in_session_catalog
from openlineage_pyspark.facets.foreign_sql.tables import is_name, named_tables
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, fields_of
from openlineage_pyspark.facets.model.lineage import Certainty, UseKind
from openlineage_pyspark.facets.model.plan import CutText, Described, Operator, Plan
from openlineage_pyspark.facets.urls import jdbc_parts

if TYPE_CHECKING:
    from openlineage_pyspark.facets.foreign_sql.reader import Query
    from openlineage_pyspark.facets.foreign_sql.rows import SourceKinds

_V2 = "org.apache.spark.sql.execution.datasources.v2.jdbc"
_DIALECTS = {
    "postgresql": "postgres",
    "redshift": "redshift",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlserver": "tsql",
    "oracle": "oracle",
    "snowflake": "snowflake",
    "sqlite": "sqlite",
    "clickhouse": "clickhouse",
    "trino": "trino",
    "teradata": "teradata",
    "bigquery": "bigquery",
    "athena": "athena",
    # sqlglot has no dialects for these, but it is known how they spell names.
    "derby": "derby",
    "h2": "h2",
    "hsqldb": "hsqldb",
    "db2": "db2",
}
_MOST_LISTED = 20
_INSTALL = "pip install sqlglot"


def jdbc_dataset(url: str, table: str, fields: tuple[Field, ...] = ()) -> Dataset:
    """
    Return the dataset of a table in a JDBC database.

    Args:
        url: the JDBC URL.
        table: the name of the table as the user wrote it.
        fields: the schema.
    """
    return Dataset(Identifier(naming.jdbc_namespace(url), naming.jdbc_table(url, table)), fields, type="TABLE")


@source(
    {"org.apache.spark.sql.execution.datasources.jdbc": "JDBCRelation"},
    reads={
        "url": "jdbcOptions.url",
        "table": "#long:jdbcOptions.tableOrQuery",
        "prepare": "#long:jdbcOptions.prepareQuery",
    },
)
def loaded_by_jdbc(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """Resolve a table, or the tables of a query in the SQL of the other database."""
    table, entry = operator.described("relation"), operator.described("catalogTable")
    if table is None or not table.text("url"):
        return in_session_catalog(plan, operator, session)
    name = table.text("table") or ""
    if entry is None or not is_name(name):
        return jdbc_relation(table, operator, fields_of(plan, operator))
    values = {**entry.values, "url": table.text("url"), "dbtable": name}
    dataset = catalog_table(attrs.evolve(entry, values=values), session, fields_of(plan, operator))
    return None if dataset is None else by_name(operator, dataset)


@reads({f"{_V2}.JDBCTable": {"url": "jdbcOptions.url", "table": "jdbcOptions.tableOrQuery"}})
def v2_jdbc_table(table: Described, fields: tuple[Field, ...]) -> Dataset | None:
    """Return the dataset of a described JDBCTable; None for any other Table."""
    url = table.text("url")
    return jdbc_dataset(url, table.text("table") or table.text("name") or "", fields) if url else None


@reads({f"{_V2}.JDBCTableCatalog": {"url": "options.url"}})
def v2_table_to_be(catalog: object, name: str, fields: tuple[Field, ...]) -> Dataset | None:
    """Return the dataset of a table that a JDBCTableCatalog will create; None for any other catalog."""
    url = catalog.text("url") if isinstance(catalog, Described) else None
    # Spark quotes each part.
    quoted = ".".join(f'"{part}"' for part in name.split("."))
    return jdbc_dataset(url, quoted, fields) if url else None


def jdbc_relation(described: Described, operator: Operator, fields: tuple[Field, ...]) -> Relation:
    """
    Return the relation of a JDBC source.

    Args:
        described: the described JDBCRelation, with the URL, and the table or the query in parentheses.
        operator: the leaf operator.
        fields: the operator's schema.

    Returns:
        One table with its columns; or the tables of the query, with the columns that can be traced.
    """
    url, text = str(described.text("url")), described.text("table") or ""
    if is_name(text) and not isinstance(text, CutText):
        dataset = jdbc_dataset(url, text, fields)
        return Relation((dataset,), {o.id: (Column(dataset.identifier, o.name),) for o in operator.output})
    query = _read(url, text, described.text("prepare") or "")
    if isinstance(query, _Opaque):
        return Relation(_datasets(url, query.tables), opaque=query.why)
    return _relation(url, query, operator, fields)


def jdbc_tables(url: str, text: str) -> tuple[Dataset, ...]:
    """Return the tables that a JDBC source reads."""
    whole = is_name(text) and not isinstance(text, CutText)
    return _datasets(url, (text,) if whole else _read(url, text).tables)


@attrs.frozen
class QueryColumn:
    """
    A column of the result of a query, or all columns of a table.

    Args:
        name: its name; None for all columns of the table.
        table: the table whose column it is, unchanged; None if it is computed.
        column: the name of the column in the table; None for all columns.
    """

    name: str | None
    table: Identifier | None = None
    column: str | None = None


def jdbc_columns(url: str, text: str, prepare: str = "") -> tuple[QueryColumn, ...] | None:
    """
    Return the columns of the query that a JDBC source reads, in order; None if the text does not name all of them.

    Args:
        url: the JDBC URL.
        text: the query in parentheses, with its alias.
        prepare: what Spark puts before the query, such as CTEs.
    """
    query = _read(url, text, prepare)
    if isinstance(query, _Opaque) or not query.whole:
        return None
    found: list[QueryColumn] = []
    for item in query.items:
        if item.table is not None:
            found.append(QueryColumn(None, jdbc_dataset(url, item.table).identifier))
        elif not item.name:
            # The database itself names it.
            return None
        else:
            sources = [(source, kinds) for source, kinds in (item.kinds or {}).items() if UseKind.IDENTITY in kinds]
            same = sources[0][0] if len(sources) == 1 else None
            of = (None, None) if same is None else (jdbc_dataset(url, same[0]).identifier, same[1])
            found.append(QueryColumn(item.name, *of))
    return tuple(found)


def _datasets(url: str, tables: tuple[str, ...]) -> tuple[Dataset, ...]:
    return tuple({d.identifier: d for d in (jdbc_dataset(url, table) for table in tables)}.values())


@attrs.frozen
class _Opaque:
    """The names of the tables in a query whose columns can't be traced, and why they can't."""

    tables: tuple[str, ...]
    why: str


def _read(url: str, text: str, prepare: str = "") -> Query | _Opaque:
    """
    Return what a JDBC source reads that is not a plain name of a table.

    Args:
        url: the JDBC URL.
        text: what Spark puts after FROM.
        prepare: what Spark puts before the query, such as CTEs.
    """
    dialect = _DIALECTS.get(jdbc_parts(url).kind)
    if isinstance(text, CutText):
        begun = " ".join([prepare, "SELECT * FROM", text.removesuffix("...")])
        tables = named_tables(begun, dialect, cut=True)
        return _Opaque(tables, "the SQL text of the JDBC source is too long: only its beginning was read")
    statement = " ".join([prepare, "SELECT * FROM", text])
    try:
        return _parsed(statement, dialect)
    except ImportError:
        return _Opaque(
            named_tables(statement, dialect), f"the columns of the SQL text of the JDBC source need sqlglot: {_INSTALL}"
        )


@functools.lru_cache(maxsize=16)
def _parsed(statement: str, dialect: str | None) -> Query | _Opaque:
    """
    Return the inputs of a query, cached: several executions have the same one, and parsing takes time.

    Raises:
        ImportError: sqlglot is not installed.
    """
    from openlineage_pyspark.facets.foreign_sql.effort import TooLargeError
    from openlineage_pyspark.facets.foreign_sql.reader import UnreadableError, read_query

    try:
        return read_query(statement, dialect)
    except TooLargeError:
        return _Opaque(named_tables(statement, dialect), "the SQL text of the JDBC source is too large to be read")
    except UnreadableError:
        return _Opaque(named_tables(statement, dialect), "the SQL text of the JDBC source could not be parsed")


def _relation(url: str, query: Query, operator: Operator, fields: tuple[Field, ...]) -> Relation:
    """Return the relation of a query that was parsed."""
    found = query.sources(tuple(output.name for output in operator.output))
    columns = {output.id: _columns(url, sources or {}) for output, sources in zip(operator.output, found, strict=True)}
    typed = tuple(_with_fields(dataset, columns, operator, fields) for dataset in _datasets(url, query.tables))
    unknown = sorted(output.name for output, sources in zip(operator.output, found, strict=True) if sources is None)
    opaque = f"the SQL text of the JDBC source does not name the columns of {_listed(unknown)}" if unknown else None
    if opaque is None and not query.rows_known:
        opaque = "the SQL text of the JDBC source does not name all columns that decide about its rows"
    texts = zip(operator.output, query.texts(tuple(output.name for output in operator.output)), strict=True)
    return Relation(
        typed,
        {id_: found for id_, found in columns.items() if found},
        opaque,
        _columns(url, query.rows),
        {output.id: text for output, text in texts if text},
        # The text alone decides what its names mean.
        Certainty.TEXT,
    )


def _columns(url: str, sources: SourceKinds) -> tuple[Column, ...]:
    """Return source columns, once for each kind of their influence."""
    return tuple(
        Column(jdbc_dataset(url, table).identifier, name, kind)
        for (table, name), kinds in sources.items()
        for kind in sorted(kinds)
    )


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {more} others" if more > 0 else "")


def _with_fields(
    dataset: Dataset, columns: Mapping[int, tuple[Column, ...]], operator: Operator, fields: tuple[Field, ...]
) -> Dataset:
    """Return a dataset with the columns that are read from it; only unchanged columns have a known type."""
    types = {f.name: f for f in fields}
    known: dict[str, Field] = {}
    for output in operator.output:
        for column in columns[output.id]:
            if column.dataset == dataset.identifier and column.name not in known:
                same = types.get(output.name) if column.kind is UseKind.IDENTITY else None
                known[column.name] = attrs.evolve(same, name=column.name) if same else Field(column.name, "unknown")
    return attrs.evolve(dataset, fields=tuple(known.values()))
