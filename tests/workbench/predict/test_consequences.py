"""The changes that a statement makes for later ones, also when they are repeated in another session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from openlineage_pyspark.workbench.predict.tables.consequence import Consequences
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.tables.declaring import DeclaringSpark
from openlineage_pyspark.workbench.predict.tables.following import Following
from openlineage_pyspark.workbench.predict.tables.knowledge import Knowledge


class Names(list[str]):
    """A sequence of Scala."""

    def size(self) -> int:
        """Return its length."""
        return len(self)

    def apply(self, at: int) -> str:
        """Return an item."""
        return self[at]


def sparks_with(settings: dict[str, str], consequences: Consequences) -> Any:
    """Return a Spark that remembers which catalogs it has."""
    spark: Any = object.__new__(DeclaringSpark)
    spark._catalogs, spark._consequences = {"spark_catalog": "spark_catalog"}, consequences
    spark.session = SimpleNamespace(conf=SimpleNamespace(set=settings.__setitem__))
    return spark


def test_a_restored_catalog_is_spelt_as_the_statement_spells_it() -> None:
    first: dict[str, str] = {}
    made = Consequences()
    sparks_with(first, made).register_catalog(("Lake",))

    again: dict[str, str] = {}
    spark = sparks_with(again, Consequences())
    Knowledge(spark, DeclaredTables(), Consequences()).restore(made.take())

    assert list(first) == list(again) == ["spark.sql.catalog.Lake"]
    assert spark.register_catalog(("LAKE",)) is False
    again.clear()
    spark.put_in_front()
    assert list(again) == ["spark.sql.catalog.spark_catalog", "spark.sql.catalog.Lake"]


def test_a_dropped_view_is_no_longer_one_that_is_not_opened() -> None:
    statements: list[str] = []
    spark = SimpleNamespace(
        name_of=lambda _: ("spark_catalog", "default", "W"), session=SimpleNamespace(sql=statements.append)
    )
    following = Following(spark, SimpleNamespace(), Consequences())  # type: ignore[arg-type]
    following.unopened["w"] = "csv"
    name = SimpleNamespace(nodeName=lambda: "UnresolvedIdentifier", nameParts=lambda: Names(["W"]))

    following.follow("DROP VIEW W", "DropView", SimpleNamespace(child=lambda: name), None)

    assert (following.unopened, statements) == ({}, ["DROP VIEW IF EXISTS `W`"])
