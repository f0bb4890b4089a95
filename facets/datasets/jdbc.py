"""
Tables of other databases, through JDBC, and the queries that a JDBC source was given instead of a table.

A query is parsed with sqlglot, which is large and therefore imported only for a query. Its tables are the inputs. A
result column gets the columns that sqlglot traces it to; it gets none if sqlglot can't trace it, or is not installed.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Column, Relation, Session, reads, source
from openlineage_pyspark.facets.datasets.tables import in_session_catalog
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan
from openlineage_pyspark.facets.model.schema import fields_of

if TYPE_CHECKING:
    from sqlglot import exp

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
}
_INSTALL = "sqlglot (pip install sqlglot)"


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
    reads={"url": "jdbcOptions.url", "table": "jdbcOptions.tableOrQuery"},
)
def relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """Resolve a table, or the tables of a query in the SQL of the other database."""
    found, table = in_session_catalog(plan, operator, session), operator.described("relation")
    if found is not None or table is None or not table.text("url"):
        return found
    return jdbc_relation(table, operator, fields_of(plan, operator))


@reads({f"{_V2}.JDBCTable": {"url": "jdbcOptions.url", "table": "jdbcOptions.tableOrQuery"}})
def v2_jdbc_table(table: Described, fields: tuple[Field, ...]) -> Dataset | None:
    """Return the dataset of a described JDBCTable; None for any other Table."""
    url = table.text("url")
    return jdbc_dataset(url, table.text("table") or table.text("name") or "", fields) if url else None


@reads({f"{_V2}.JDBCTableCatalog": {"url": "options.url"}})
def v2_table_to_be(catalog: object, name: str, fields: tuple[Field, ...]) -> Dataset | None:
    """Return the dataset of a table that a JDBCTableCatalog will create; None for any other catalog."""
    url = catalog.text("url") if isinstance(catalog, Described) else None
    return jdbc_dataset(url, name, fields) if url else None


_reading = threading.local()


def _of_others(_record: logging.LogRecord) -> bool:
    return not getattr(_reading, "active", False)


@contextmanager
def _unheard() -> Iterator[None]:
    """Suppress sqlglot's warnings on this thread, because they quote the query, which may contain secrets."""
    # Adding the same filter again changes nothing.
    logging.getLogger("sqlglot").addFilter(_of_others)
    _reading.active = True
    try:
        yield
    finally:
        _reading.active = False


@_unheard()
def jdbc_relation(described: Described, operator: Operator, fields: tuple[Field, ...]) -> Relation:
    """
    Return what a JDBC relation reads.

    Args:
        described: the described JDBCRelation, with the URL, and the table or the query in parentheses.
        operator: the leaf operator.
        fields: the operator's schema.

    Returns:
        One table with its columns; or the tables of the query, with the columns that can be traced.
    """
    url, text = str(described.text("url")), described.text("table") or ""
    query = _query(text)
    if query is None:
        dataset = jdbc_dataset(url, text, fields)
        return Relation((dataset,), {o.id: (Column(dataset.identifier, o.name),) for o in operator.output})
    try:
        parsed = _parse(query, url)
    except ImportError:
        return Relation(_named(url, query), opaque=f"the SQL text of the JDBC source needs {_INSTALL} to be read")
    if parsed is None:
        return Relation(_named(url, query), opaque="the SQL text of the JDBC source could not be parsed")
    return _Query(url, parsed, operator, fields).relation()


@_unheard()
def jdbc_tables(url: str, text: str) -> tuple[Dataset, ...]:
    """
    Return the tables that a JDBC source reads.

    Args:
        url: the JDBC URL.
        text: the table, or the query in parentheses.
    """
    query = _query(text)
    if query is None:
        return (jdbc_dataset(url, text),)
    try:
        parsed = _parse(query, url)
    except ImportError:
        return _named(url, query)
    if parsed is None:
        return _named(url, query)
    return tuple({d.identifier: d for d in (jdbc_dataset(url, _name(t)) for t in _tables(parsed))}.values())


def _named(url: str, query: str) -> tuple[Dataset, ...]:
    """Return the tables after FROM and JOIN in a query that can't be parsed, each once."""
    names = re.findall(r"(?i)\b(?:from|join)\s+([\w.\"`\[\]]+)", query)
    return tuple({d.identifier: d for d in (jdbc_dataset(url, name) for name in names)}.values())


def _query(text: str) -> str | None:
    """Return the query in `(SELECT ...) alias`; None for the name of a table."""
    found = re.match(r"\s*\((.*)\)[^)]*$", text, re.DOTALL)
    return found.group(1) if found else None


def _parse(query: str, url: str) -> exp.Expr | None:
    """
    Return the parsed query; None if it is not a single SQL statement.

    Raises:
        ImportError: sqlglot is not installed.
    """
    import sqlglot
    from sqlglot.errors import SqlglotError

    dialect = _DIALECTS.get(url.removeprefix("jdbc:").partition(":")[0])
    try:
        statements = sqlglot.parse(query, dialect=dialect)
    except SqlglotError:
        return None
    return statements[0] if len(statements) == 1 else None


def _tables(parsed: exp.Expr) -> list[exp.Table]:
    """Return the tables of a query, without its common table expressions."""
    from sqlglot import exp

    names = {cte.alias_or_name.lower() for cte in parsed.find_all(exp.CTE)}
    return [t for t in parsed.find_all(exp.Table) if t.name.lower() not in names]


def _name(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)


@attrs.frozen
class _Query:
    url: str
    parsed: exp.Expr
    operator: Operator
    fields: tuple[Field, ...]

    def relation(self) -> Relation:
        tables = _tables(self.parsed)
        datasets = {d.identifier: d for d in (jdbc_dataset(self.url, _name(t)) for t in tables)}
        told = {o.id: self._columns(o.name, list(datasets), tables) for o in self.operator.output}
        columns = {id_: found or () for id_, found in told.items()}
        typed = tuple(self._with_fields(dataset, columns) for dataset in datasets.values())
        unknown = sorted(o.name for o in self.operator.output if told[o.id] is None)
        opaque = (
            f"the SQL text of the JDBC source doesn't tell the columns of {', '.join(unknown)}" if unknown else None
        )
        return Relation(typed, {k: v for k, v in columns.items() if v}, opaque)

    def _columns(self, name: str, datasets: list[Identifier], tables: list[exp.Table]) -> tuple[Column, ...] | None:
        """Return the source columns of a result column, none for a constant; None if the query does not show them."""
        from sqlglot import exp
        from sqlglot.errors import SqlglotError
        from sqlglot.lineage import lineage

        star = isinstance(self.parsed, exp.Select) and any(isinstance(e, exp.Star) for e in self.parsed.expressions)
        if len(tables) == 1 and star:
            return (Column(datasets[0], name),)
        try:
            node = lineage(name, self.parsed.copy(), schema={})
        except (SqlglotError, ValueError):
            return None
        found: dict[Column, None] = {}
        for leaf in node.walk():
            table = leaf.source if isinstance(leaf.source, exp.Table) else leaf.expression
            if leaf.downstream or not isinstance(table, exp.Table):
                continue
            identity = isinstance(getattr(node.expression, "this", node.expression), exp.Column)
            column = leaf.name.rpartition(".")[2].strip('"`[]')
            # Older versions of sqlglot return this for a column that may belong to any of several tables.
            if column == "*":
                return None
            found[Column(jdbc_dataset(self.url, _name(table)).identifier, column, identity)] = None
        constant = not any(node.expression.find_all(exp.Column, exp.Star))
        return tuple(found) if found or constant else None

    def _with_fields(self, dataset: Dataset, columns: dict[int, tuple[Column, ...]]) -> Dataset:
        """Return a dataset with the columns that are read from it; only unchanged columns have a known type."""
        types = {f.name: f for f in self.fields}
        known: dict[str, Field] = {}
        for output in self.operator.output:
            for column in columns[output.id]:
                if column.dataset == dataset.identifier and column.name not in known:
                    same = types.get(output.name) if column.identity else None
                    known[column.name] = attrs.evolve(same, name=column.name) if same else Field(column.name, "unknown")
        return attrs.evolve(dataset, fields=tuple(known.values()))
