"""Names of jobs are such that a receiver finds each job once, below its parent."""

from __future__ import annotations

import re

import pytest
from openlineage_pyspark.facets.commands.target import label_of
from openlineage_pyspark.facets.datasets.jdbc import jdbc_dataset
from openlineage_pyspark.facets.datasets.kafka import topic_dataset
from openlineage_pyspark.facets.datasets.tables import at_location
from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Identifier, Symlink, Trimming
from openlineage_pyspark.listener.runs.open_run import application_name, job_name, unique_label


def test_a_job_is_named_after_the_application_the_command_and_its_target() -> None:
    assert job_name(["shop", "create_view", "default_v"], replace_dots=False) == "shop.create_view.default_v"
    assert job_name(["shop", "create_view", ""], replace_dots=False) == "shop.create_view"
    assert job_name(["shop", "create_view", "a.b"], replace_dots=True) == "shop_create_view_a_b"


def test_an_application_is_named_after_what_started_it() -> None:
    """Marquez names a child so, whatever it is told, and takes another name for another job."""
    assert application_name("shop", None) == "shop"
    assert application_name("shop", "nightly.load") == "nightly.load.shop"


@pytest.mark.parametrize(("length", "longest"), [(30, 250), (149, 250), (150, 250), (300, 250)])
def test_what_is_too_long_ends_in_a_hash_and_leaves_room_below_it(length: int, longest: int) -> None:
    application = application_name("a" * length, None)
    assert len(application) == min(length, 149)
    name, other = (job_name([application, "write", end * 300], replace_dots=False) for end in "xy")
    assert len(name) == longest
    assert re.fullmatch(rf"{application}\.write\.x+_[0-9a-f]{{6}}", name)
    assert name[-6:] != other[-6:]


def test_the_name_of_a_parent_is_never_cut() -> None:
    """Half a name could be that of another job."""
    application = application_name("a" * 300, "p" * 300)
    assert application.startswith("p" * 300 + ".")
    assert len(application) == 300 + 1 + 149
    name = job_name([application, "write", "x" * 300], replace_dots=False)
    assert name.startswith(application + ".write.x")
    assert len(name) == len(application) + 1 + 100


def of_catalog(catalog: str, name: str, place: str = "/lake/t") -> Dataset:
    links = (Symlink("file:///wh", name), Symlink(catalog, name))
    return Dataset(Identifier("file", place), symlinks=links, catalog=Catalog("spark", "x", catalog), type="TABLE")


def label(dataset: Dataset) -> str:
    return unique_label(label_of(dataset), dataset, Trimming())


@pytest.mark.parametrize(
    ("name", "of_job"), [("default.orders", "default_orders"), ("sales.order_lines", "sales_order_lines")]
)
def test_a_table_of_sparks_own_catalog_has_its_plain_name_in_its_job(name: str, of_job: str) -> None:
    assert label(of_catalog("spark_catalog", name)) == of_job
    view = Dataset(Identifier("file:///wh", name), catalog=Catalog("spark", "x", "spark_catalog"), type="VIEW")
    assert label(view) == of_job


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (of_catalog("i1", "db.t"), of_catalog("i2", "db.t")),
        (of_catalog("i1", "db.t"), of_catalog("spark_catalog", "db.t")),
        (of_catalog("spark_catalog", "a_b.c"), of_catalog("spark_catalog", "a.b_c")),
        (of_catalog("spark_catalog", "a.b.c"), of_catalog("spark_catalog", "a.b_c")),
        (jdbc_dataset("jdbc:derby:memory:a", "o"), jdbc_dataset("jdbc:sqlite:/b", "o")),
        (jdbc_dataset("jdbc:mysql://h/shop", "o"), jdbc_dataset("jdbc:mysql://g/shop", "o")),
        (topic_dataset("a:9092", "clicks"), topic_dataset("b:9092", "clicks")),
        (at_location("/a_b/c"), at_location("/a/b_c")),
        (at_location("/x/a/b"), at_location("/y/a/b")),
    ],
)
def test_outputs_whose_short_names_agree_have_two_jobs(one: Dataset, other: Dataset) -> None:
    assert label(one) != label(other)


def test_a_table_has_one_job_before_and_after_its_location_is_known() -> None:
    first = Dataset(Identifier("i1", "db.t"), catalog=Catalog("iceberg", "hive", "i1"), type="TABLE")
    assert label(first) == label(of_catalog("i1", "db.t")) == label(of_catalog("i1", "db.t", "/elsewhere"))
    assert re.fullmatch(r"db_t_[0-9a-f]{6}", label(first))
