"""A table has one name and one storage layer, however a statement spells it and whether it is read or written."""

from __future__ import annotations

from typing import Any

import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.datasets.tables import at_location, catalog_table, storage_of
from openlineage_pyspark.facets.datasets.v2 import v2_table
from openlineage_pyspark.facets.model.dataset import Dataset
from openlineage_pyspark.facets.model.plan import Described
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan


def in_catalog(name: str, session: Session, kind: str = "MANAGED", provider: str = "parquet") -> Dataset | None:
    identifier = Described("org.apache.spark.sql.catalyst.TableIdentifier", {"database": "Shop", "table": name})
    values: dict[str, Any] = {"identifier": identifier, "kind": kind, "locationUri": "file:/w/t", "provider": provider}
    return catalog_table(Described("org.apache.spark.sql.catalyst.catalog.CatalogTable", values), session)


def of_v2(name: str, catalog: str, session: Session) -> Dataset | None:
    identifier = Described("org.apache.spark.sql.connector.catalog.IdentifierImpl", {"name": name, "namespace": ("s",)})
    table = Described("org.example.Table", {"name": name, "location": "file:/w/t", "provider": "delta"})
    return v2_table(table, Described("org.example.Catalog", {"name": catalog}), identifier, session)


def links(dataset: Dataset | None) -> set[str]:
    assert dataset is not None
    return {link.name for link in dataset.symlinks}


def test_the_session_catalogs_names_are_in_lower_case_unless_it_keeps_their_case() -> None:
    session, sensitive = Session("file:/w"), Session("file:/w", case_sensitive=True)

    assert links(in_catalog("Orders", session)) == {"shop.orders"}
    assert links(in_catalog("Orders", sensitive)) == {"Shop.Orders"}
    assert links(of_v2("Orders", "spark_catalog", session)) == {"s.orders"}
    assert links(of_v2("Orders", "spark_catalog", sensitive)) == {"s.Orders"}
    assert links(of_v2("Orders", "ice", session)) == {"s.Orders"}


def test_a_view_is_one_dataset_in_any_spelling() -> None:
    views = [in_catalog(name, Session("file:/w"), "VIEW") for name in ("Orders", "ORDERS")]

    assert [view.identifier.name for view in views if view is not None] == ["shop.orders"] * 2


def test_the_probe_tells_whether_the_session_keeps_the_case_of_names() -> None:
    encoded = {"classes": [], "types": [], "attributes": [], "cut": False, "nodes": []}
    plans = [decode_plan({**encoded, "session": said}) for said in ({}, {"caseSensitive": True})]

    assert [session_settings_of(plan, None) for plan in plans] == [Session(), Session(case_sensitive=True)]


@pytest.mark.parametrize(
    ("provider", "storage"),
    [
        ("delta", ("delta", "parquet")),
        ("DeltaParquetFileFormat", ("delta", "parquet")),
        ("iceberg", ("iceberg", None)),
        ("org.apache.spark.sql.hudi.HoodieParquet", ("default", "parquet")),
        ("hudi", ("hudi", None)),
        ("parquet", ("default", "parquet")),
        (None, ("default", None)),
    ],
)
def test_the_storage_layer_is_that_of_the_format_of_the_table(provider: str | None, storage: tuple[str, str]) -> None:
    assert storage_of(provider) == storage


def test_a_table_of_delta_lake_is_stored_by_delta_read_and_written_by_name_and_by_path() -> None:
    session = Session("file:/w")
    datasets = [
        in_catalog("orders", session, provider="delta"),
        of_v2("orders", "spark_catalog", session),
        at_location("file:/w/t", (), "deltaparquet"),
        at_location("file:/w/t", (), "delta"),
    ]

    assert {(d.identifier.name, d.storage_layer, d.file_format) for d in datasets if d is not None} == {
        ("/w/t", "delta", "parquet")
    }
