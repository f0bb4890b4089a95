"""Tables of other databases, through JDBC."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Relation, Session, reads, source
from openlineage_pyspark.facets.datasets.tables import in_session_catalog
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan
from openlineage_pyspark.facets.model.schema import fields_of

_V2 = "org.apache.spark.sql.execution.datasources.v2.jdbc"


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
    # Imported here, because sqlglot is large and few jobs need it.
    from openlineage_pyspark.facets.datasets.jdbc_query import jdbc_relation

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
