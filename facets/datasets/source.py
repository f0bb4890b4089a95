"""
What a source is: the values that a resolver gives, and how a resolver is registered.

A source has one file, which holds its resolver and what the probe reads for it. A resolver is registered under the
class of a leaf operator, or of a value that stands in one: the `BaseRelation` of a `LogicalRelation`, the `Table` of a
`DataSourceV2Relation`. Another distribution adds its own file with an entry point of the group
`openlineage_pyspark.sources` that names the module:

    from openlineage_pyspark.facets.datasets.source import Relation, Session, by_name, source
    from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
    from openlineage_pyspark.facets.model.plan import Operator, Plan
    from openlineage_pyspark.facets.model.schema import fields_of


    @source({"com.example.orders": "OrdersRelation"}, reads={"server": "options.server", "table": "tableName"})
    def orders(plan: Plan, operator: Operator, session: Session) -> Relation | None:
        '''Resolve a read of our orders server.'''
        relation = operator.described("relation")
        if relation is None or relation.text("server") is None:
            return None
        identifier = Identifier(f"orders://{relation.text('server')}", relation.text("table") or "")
        return by_name(operator, Dataset(identifier, fields_of(plan, operator), type="TABLE"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
from openlineage_pyspark.facets.class_rules import ClassRules
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.plan import Operator, Plan
from openlineage_pyspark.facets.model.schema import FILE_METADATA


@attrs.frozen
class Session:
    """
    What a session's configuration says about names.

    Args:
        warehouse: `spark.sql.warehouse.dir`, qualified.
        metastore: `hive.metastore.uris`, if the session catalog is Hive's.
        catalog: `spark.sql.catalogImplementation`.
    """

    warehouse: str | None = None
    metastore: str | None = None
    catalog: str = "in-memory"


@attrs.frozen
class Column:
    """
    A column of a dataset that an attribute is read from.

    Args:
        dataset: that it belongs to.
        name: of the column.
        identity: whether the attribute has the column's value, rather than one computed of it.
    """

    dataset: Identifier
    name: str
    identity: bool = True


@attrs.frozen
class Relation:
    """
    What a leaf operator reads.

    Args:
        datasets: the datasets under it.
        columns: exprId -> the columns that the attribute is read from; an attribute without any is left out.
        opaque: why the columns are not known; None if they are.
    """

    datasets: tuple[Dataset, ...] = ()
    columns: Mapping[int, tuple[Column, ...]] = attrs.Factory(dict)
    opaque: str | None = None


NO_DATASETS = Relation()
"""What a leaf reads that holds its rows itself."""

Resolver = Callable[[Plan, Operator, Session], "Relation | None"]
"""
Returns what a leaf operator reads; None if that is not known.

It is called with the plan, the leaf operator and the session. Of a plan that was cut, any argument may be missing.
"""

SOURCES: ClassRules[Resolver] = ClassRules()
"""Class of a leaf operator, or of a value in one -> its resolver."""

source = SOURCES.rule
reads = SOURCES.reads


def by_name(operator: Operator, *datasets: Dataset) -> Relation:
    """
    Return the relation whose attributes are the columns of the same name.

    Args:
        operator: the leaf operator.
        datasets: that it reads; each of them has all the columns.
    """
    columns = {
        output.id: tuple(Column(dataset.identifier, output.name) for dataset in datasets)
        for output in operator.output
        if output.name != FILE_METADATA
    }
    return Relation(tuple(datasets), columns)
