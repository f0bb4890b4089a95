"""Dates and partitions at the end of a path are no part of a dataset's name, as in the Java integration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import pytest
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import (
    DEFAULT_TRIMMING,
    TRIMMERS,
    Dataset,
    Identifier,
    Trimming,
    java_pattern,
)
from openlineage_pyspark.facets.model.plan import Attribute, Described, Operator, OperatorRef, Output, Plan, Value
from openlineage_pyspark.facets.model.run import RunInput
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted
from openlineage_pyspark.listener.runs.open_run import output_label

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.run import RunState

RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
WRITE = "org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand"
ATTRIBUTES = {1: Attribute("id", "int"), 2: Attribute("id", "int")}


def name_of(path: str, trimming: Trimming = DEFAULT_TRIMMING) -> str:
    return trimming.trimmed(Identifier("file", path)).name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/lake/20250721", "/lake"),
        ("lake/20250721", "lake"),
        ("/lake/2025-07-22", "/lake"),
        ("/lake/22.07.2025", "/lake"),
        ("/lake/20250722T0901Z", "/lake"),
        ("/lake/20250722T901Z", "/lake"),
        ("/lake/2025-07-22T09:01:00.000Z", "/lake"),
        ("/lake/2025-07-22 09:01", "/lake"),
        ("/lake/2025-13-22", "/lake/2025-13-22"),
        ("/lake/2025-25-01", "/lake/2025-25-01"),
        ("/lake/v20250722", "/lake/v20250722"),
        ("/lake/2025-07-22_orders", "/lake/2025-07-22_orders"),
        ("/lake/run 1795310068", "/lake/run 1795310068"),
    ],
)
def test_a_date_at_the_end_is_trimmed(path: str, name: str) -> None:
    assert name_of(path) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/lake/2025/07", "/lake"),
        ("/lake/2025/07/21", "/lake"),
        ("lake/2025/07/21", "lake"),
        ("/lake/2025/14", "/lake/2025/14"),
        ("/lake/2025/07/50", "/lake/2025/07/50"),
        ("/lake/202509", "/lake"),
        ("/lake/2025-09", "/lake"),
        ("/lake/202533", "/lake/202533"),
        ("/lake/2025", "/lake/2025"),
        ("/lake/20/2507", "/lake/20/2507"),
    ],
)
def test_a_month_or_a_date_in_directories_at_the_end_is_trimmed(path: str, name: str) -> None:
    assert name_of(path) == name


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/data/orders/day=1", "/data/orders"),
        ("/data/orders/day=2024-01-01/hour=3", "/data/orders"),
        ("orders/city=New%20York", "orders"),
        ("/data/orders/name=__HIVE_DEFAULT_PARTITION__", "/data/orders"),
        ("/data/orders/empty=", "/data/orders"),
        ("/data/a=b/orders", "/data/a=b/orders"),
        ("/data/a=b=c", "/data/a=b=c"),
        ("/data/2024-05-23/key=a", "/data"),
        ("/data/key=a/2024/05/2024-05-23T01Z", "/data"),
    ],
)
def test_partitions_at_the_end_are_trimmed_in_any_order(path: str, name: str) -> None:
    assert name_of(path) == name


@pytest.mark.parametrize(
    "path", ["/2025-07-22", "2025-07-22", "/2025/07", "/day=1", "day=1", "/", "", "shop.t20250722"]
)
def test_the_first_directory_and_the_name_of_a_table_stay(path: str) -> None:
    assert name_of(path) == path


def test_a_trimmer_can_be_switched_off() -> None:
    paths = ("/a/2025-07-22", "/a/day=1", "/a/2025/07/22", "/a/202507")
    for off, path in zip(TRIMMERS, paths, strict=True):
        some = Trimming(tuple(name for name in TRIMMERS if name != off))
        assert [name_of(p, some) for p in paths] == [p if p == path else "/a" for p in paths]


@pytest.mark.parametrize(
    ("pattern", "path", "name"),
    [
        ("(?<remove>/[0-9]{4}-[0-9]{2}-[0-9]{2})", "/out/daily/2013-01-01/flights", "/out/daily/flights"),
        (r"(.*)(?<remove>\_666)", "/lake/scan_source_666", "/lake/scan_source"),
        (r"(.*)(?<remove>\/.*\/.*)", "/data/x/y/z", "/data/x"),
        ("(?P<remove>_[0-9]+)$", "/out/rdd_1795310068", "/out/rdd"),
        ("(?<=out)(?<remove>_a)", "/out_a", "/out"),
        ("(?<remove>x*)", "/out", "/out"),
        ("(?<remove>.*)", "/out", "/out"),
    ],
)
def test_what_the_group_of_a_pattern_finds_first_is_cut(pattern: str, path: str, name: str) -> None:
    assert name_of(path, Trimming(pattern=java_pattern(pattern))) == name


def test_the_pattern_is_cut_from_what_the_trimmers_leave() -> None:
    trimming = Trimming(pattern=java_pattern("(?<remove>/y$)"))
    assert name_of("/x/y/2025-07-22", trimming) == "/x"
    assert trimming.dataset(Dataset(Identifier("file", "/x/y/2025-07-22"))).locations == ("/x/y/2025-07-22",)
    assert trimming.dataset(Dataset(Identifier("file", "/x/y"))) == Dataset(Identifier("file", "/x"))


@pytest.mark.parametrize("pattern", ["(?<other>x)", "x", "(?<remove>", r"(?<remove>\p{Alpha})"])
def test_a_pattern_that_has_no_such_group_or_can_not_be_read_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"no group named remove|not a regular expression"):
        java_pattern(pattern)


@pytest.mark.parametrize(
    ("path", "undated"),
    [
        ("/out/daily/2013-01-01/flights", "/out/daily/flights"),
        ("2013-01-01/flights", "flights"),
        ("/out/2013/01/02/flights/2013", "/out/flights/2013"),
        ("/out/day=1/flights", "/out/flights"),
        ("/out//flights", "/out//flights"),
        ("/2013-01-01", "/2013-01-01"),
        ("/out/flights", "/out/flights"),
    ],
)
def test_a_job_is_named_without_the_dates_anywhere_in_a_path(path: str, undated: str) -> None:
    assert Trimming().undated(path) == undated
    assert Trimming(()).undated(path) == path


def test_the_job_of_a_path_with_a_date_has_the_same_name_every_day() -> None:
    def label(path: str) -> str:
        dataset = Trimming().dataset(Dataset(Identifier("file", path), type="FILE"))
        write = Write(dataset, label="_".join([p for p in dataset.identifier.name.split("/") if p][-2:]))
        return output_label(PlanLineage(outputs=(WrittenDataset(write, None),)), Trimming())

    days = [f"/srv/out/daily/2013-01-{day}" for day in ("01", "02")]
    assert {label(f"{day}/flights") for day in days} == {label("/srv/out/daily/flights")}
    assert {label(day) for day in days} == {label("/srv/out/daily")}
    assert label("/srv/out/daily").startswith("out_daily_")
    assert label("/srv/out/daily") != label("/srv/other/out/daily")


def files(*paths: str, id_: int = 1) -> Operator:
    relation = Described("HadoopFsRelation", {"rootPaths": paths, "format": "ParquetFileFormat"})
    return Operator("LogicalRelation", RELATION, {"relation": relation}, (Output(id_, "id"),))


def copied(
    source: Operator, target: str, trimming: Trimming = DEFAULT_TRIMMING, mode: str = "Overwrite"
) -> PlanLineage:
    arguments: dict[str, Value] = {"outputPath": target, "query": OperatorRef(1), "mode": mode}
    plan = Plan((Operator("InsertIntoHadoopFsRelationCommand", WRITE, arguments), source), (), ATTRIBUTES)
    return lineage_of_plan(plan, Session("file:/warehouse", trimming=trimming))


def test_directories_of_several_days_are_one_input_with_its_parts() -> None:
    found = copied(files("file:/in/2025-07-21", "file:/in/2025-07-22"), "file:/out/2025-07-22")

    assert [(d.identifier.name, d.locations) for d in found.inputs] == [("/in", ("/in/2025-07-21", "/in/2025-07-22"))]
    (output,) = found.outputs
    assert (output.write.dataset.identifier.name, output.write.dataset.locations) == ("/out", ("/out/2025-07-22",))
    assert output.write.label == "out"
    assert output.lineage is not None
    assert [(e.dataset.name, e.field) for c in output.lineage.columns for e in c.edges] == [("/in", "id")]
    assert found.scanned == {1: Identifier("file", "/in")}


@pytest.mark.parametrize(
    ("target", "mode", "change"),
    [
        ("/out", "Overwrite", ("OVERWRITE", "all")),
        ("/out/2025-07-22", "Overwrite", (None, "partitions")),
        ("/out/day=1/hour=2", "Overwrite", (None, "partitions")),
        ("/out", "ErrorIfExists", ("CREATE", None)),
        ("/out/2025-07-22", "ErrorIfExists", (None, None)),
        ("/out/2025-07-22", "Append", (None, None)),
    ],
)
def test_what_replaces_or_makes_a_part_leaves_the_other_parts_as_they_are(
    target: str, mode: str, change: tuple[str | None, str | None]
) -> None:
    (output,) = copied(files("file:/in"), f"file:{target}", mode=mode).outputs
    assert (output.write.lifecycle, output.write.replaced) == change
    (output,) = copied(files("file:/in"), f"file:{target}", Trimming(()), "Overwrite").outputs
    assert (output.write.lifecycle, output.write.replaced) == ("OVERWRITE", "all")


def test_a_directory_beside_its_whole_is_the_whole() -> None:
    found = copied(files("file:/in/2025-07-21", "file:/in"), "file:/out")
    assert [(d.identifier.name, d.locations) for d in found.inputs] == [("/in", ())]


def test_without_trimmers_each_directory_is_a_dataset() -> None:
    found = copied(files("file:/in/2025-07-21", "file:/in/day=1"), "file:/out/2025-07-22", Trimming(()))
    assert [(d.identifier.name, d.locations) for d in found.inputs] == [("/in/2025-07-21", ()), ("/in/day=1", ())]
    assert [o.write.dataset.identifier.name for o in found.outputs] == ["/out/2025-07-22"]
    assert [o.write.label for o in found.outputs] == ["out_2025-07-22"]


def test_a_secret_in_a_part_of_a_dataset_is_hidden(full_run: tuple[RunState, RunState]) -> None:
    """The value of a partition holds a secret."""
    parts = ("/in/password=s3cr3t", "/in/k9-known-value/2026-01-01", "/in/day=1")
    dataset = Dataset(Identifier("file", "/in"), locations=parts)
    state = attrs.evolve(full_run[1], inputs=(RunInput(dataset),))

    (read,) = redacted(state, Redaction(known=("k9-known-value",))).inputs
    assert read.dataset.locations == ("/in/password=***", "/in/***/2026-01-01", "/in/day=1")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/in/2024-01-01.json", "/in"),
        ("/in/20240101.csv.gz", "/in"),
        ("/in/day=1/2024-01-01.json", "/in"),
        ("/out/loyalty_snapshot_2024-01-01", "/out/loyalty_snapshot"),
        ("/out/loyalty-20240101", "/out/loyalty"),
        ("/out/loyalty_2024_01_01", "/out/loyalty"),
        ("/in/sales_2024-01-01.csv", "/in/sales.csv"),
        ("/in/sales_2024-01-01T10-30.csv.gz", "/in/sales.csv.gz"),
        ("/in/sales.01.02.2024.csv", "/in/sales.csv"),
        ("/in/order20240101", "/in/order20240101"),
        ("/in/file_120240101", "/in/file_120240101"),
        ("/in/file_20241501", "/in/file_20241501"),
        ("/in/v_2024-01-01_final", "/in/v_2024-01-01_final"),
        ("/in/monday.csv", "/in/monday.csv"),
    ],
)
def test_files_and_folders_that_are_called_by_a_day_are_one_dataset(path: str, name: str) -> None:
    dataset = Dataset(Identifier("file", path), type="FILE")
    trimmed = Trimming().dataset(dataset)
    assert trimmed.identifier.name == name
    assert trimmed.locations == (() if name == path else (path,))
    assert Trimming(()).dataset(dataset) is dataset


def test_a_table_that_is_called_by_a_day_is_a_table_of_its_own() -> None:
    table = Dataset(Identifier("file", "/wh/orders_2024-01-01"), type="TABLE")
    assert Trimming().dataset(table) is table


def test_the_job_of_a_folder_with_a_day_in_its_name_has_the_same_name_every_day() -> None:
    assert Trimming().undated("/out/snapshot_2024-01-01/flights") == "/out/snapshot/flights"
    found = [copied(files(f"file:/in/2025-07-{day}.json"), f"file:/out/all_2025-07-{day}") for day in ("21", "22")]
    assert {each.inputs[0].identifier.name for each in found} == {"/in"}
    assert len({output_label(each, Trimming()) for each in found}) == 1
    (edge,) = found[0].outputs[0].lineage.columns[0].edges
    assert edge.dataset.name == "/in"
