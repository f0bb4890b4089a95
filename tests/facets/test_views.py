"""A permanent view that is read is an input, besides the tables behind it."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import Catalog, Field
from openlineage_pyspark.facets.model.lineage import ColumnLineage, OutputColumn
from openlineage_pyspark.facets.model.plan import Attribute, Described, Operator, OperatorRef, Output, Plan, Value
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.workbench.report import lineage_of

VIEW = "org.apache.spark.sql.catalyst.plans.logical.View"
RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
COLUMNS = (Output(1, "id"),)


def described(name: str, kind: str) -> Described:
    identifier = Described("TableIdentifier", {"catalog": "spark_catalog", "database": "shop", "table": name})
    where = {} if kind == "VIEW" else {"locationUri": f"file:/warehouse/shop.db/{name}"}
    return Described("CatalogTable", {"identifier": identifier, "kind": kind, **where})


def view(name: str, below: int, *, temporary: Value = False, kind: str = "VIEW") -> Operator:
    arguments: dict[str, Value] = {"desc": described(name, kind), "isTempView": temporary, "child": OperatorRef(below)}
    return Operator("View", VIEW, arguments, COLUMNS)


def read(*views: Operator, views_count: bool = True) -> PlanLineage:
    table = Operator("LogicalRelation", RELATION, {"catalogTable": described("orders", "MANAGED")}, COLUMNS)
    plan = Plan((*views, table), (), {1: Attribute("id", "int")})
    return lineage_of_plan(plan, Session("file:/warehouse", views=views_count))


def names(found: PlanLineage) -> list[tuple[str, str]]:
    return [(d.identifier.namespace, d.identifier.name) for d in found.inputs]


TABLE = ("file", "/warehouse/shop.db/orders")


def test_a_view_and_the_table_behind_it_are_inputs() -> None:
    found = read(view("recent", 1))

    assert names(found) == [("file:///warehouse", "shop.recent"), TABLE]
    assert (found.inputs[0].type, found.inputs[0].fields) == ("VIEW", (Field("id", "int"),))
    assert found.inputs[0].catalog == Catalog("spark", "in-memory", "spark_catalog", warehouse_uri="file:///warehouse")
    assert found.gaps == ()


def test_a_view_over_a_view_and_both_are_inputs() -> None:
    assert names(read(view("top", 1), view("inner", 2))) == [
        ("file:///warehouse", "shop.top"),
        ("file:///warehouse", "shop.inner"),
        TABLE,
    ]


def test_the_columns_come_from_the_table_and_not_from_the_view() -> None:
    found = read(view("recent", 1))
    assert found.columns is not None
    assert [(e.dataset.name, e.field) for c in found.columns.columns for e in c.edges] == [(TABLE[1], "id")]
    assert [d.name for d in found.scanned.values()] == [TABLE[1]]


def test_a_temporary_view_is_no_dataset() -> None:
    assert names(read(view("temporary", 1, temporary=True))) == [TABLE]
    assert names(read(view("permanent", 1), view("temporary", 2, temporary=True))) == [
        ("file:///warehouse", "shop.permanent"),
        TABLE,
    ]


def test_what_is_not_known_to_be_a_permanent_view_is_none() -> None:
    """A metric view is not one, and neither is a view in a plan that was cut."""
    assert names(read(view("metrics", 1, kind="METRIC_VIEW"))) == [TABLE]
    assert names(read(view("cut", 1, temporary=None))) == [TABLE]


def test_the_table_of_a_query_names_the_views_that_it_reads() -> None:
    """No edge begins at the view."""
    one, two = (lineage_of(read(*views)) for views in ((view("recent", 1),), (view("top", 1), view("inner", 2))))

    assert str(one).splitlines() == [
        "(query)",
        "  reads the view shop.recent",
        "  column  from            how",
        "  id      shop.orders.id  IDENTITY",
    ]
    assert str(two).splitlines()[1] == "  reads the views shop.top, shop.inner"
    assert "<p>reads the views shop.top, shop.inner</p>" in two._repr_html_()


def test_the_table_of_a_query_names_the_tables_from_which_no_edge_leads() -> None:
    one = lineage_of(read(view("recent", 1)))
    counted = attrs.evolve(one, outputs=((None, ColumnLineage((OutputColumn("n", ()),))),))

    assert str(counted).splitlines() == [
        "(query)",
        "  reads the view shop.recent",
        "  reads shop.orders",
        "  column  from  how",
        "  n       -     no source column",
    ]
    assert "<p>reads shop.orders</p>" in counted._repr_html_()


def test_views_can_be_left_out() -> None:
    assert names(read(view("recent", 1), views_count=False)) == [TABLE]
