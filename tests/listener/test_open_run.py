"""What a run has counted, and how it ends."""

from __future__ import annotations

import datetime

import attrs
import pytest
from openlineage_pyspark import ProcessingType
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, Statistics
from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, OutputColumn, Transformation
from openlineage_pyspark.facets.model.run import Engine, Failure, Job, Parent, RunReference
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.probe.records import ExecutionMetrics, GeneratedColumn, ScanMetrics, TaskMetrics
from openlineage_pyspark.listener.runs.open_run import OpenRun, end_type
from openlineage_pyspark.listener.runs.statistics import RunStatistics, inputs_of, outputs_of

ORDERS = Dataset(Identifier("file", "/orders"))
RATES = Dataset(Identifier("file", "/rates"))
TOTALS = Dataset(Identifier("file", "/totals"))
PARENT = Parent(RunReference("id", "shop", "shop"))
NO_COLUMNS = ColumnLineage((), ())
JOIN = PlanLineage(inputs=(ORDERS, RATES), scanned={1: ORDERS.identifier, 2: RATES.identifier})
COPY = PlanLineage(inputs=(ORDERS,), scanned={1: ORDERS.identifier})


def scan(attributes: tuple[int, ...], rows: int | None, size: int | None = None) -> ScanMetrics:
    return ScanMetrics(attributes, Statistics(rows, size))


def read(part: PlanLineage, *metrics: ExecutionMetrics) -> list[tuple[str, Statistics | None]]:
    """Give what was read of each input, once all metrics are counted."""
    counted = RunStatistics()
    for each in metrics:
        counted.add(each, [part])
    return [(found.dataset.identifier.name, found.statistics) for found in inputs_of([part], counted)]


def test_a_scan_counts_for_the_dataset_that_owns_its_columns_and_scans_add_up() -> None:
    metrics = ExecutionMetrics(scans=(scan((7, 1), 4, 90), scan((2,), 3)))
    assert read(JOIN, metrics, metrics) == [("/orders", Statistics(8, 180)), ("/rates", Statistics(6))]


def test_a_scan_without_columns_counts_for_the_only_input() -> None:
    """`SELECT count(*)` makes such a scan."""
    metrics = ExecutionMetrics(scans=(scan((), 4),))
    assert read(COPY, metrics) == [("/orders", Statistics(4))]
    assert read(JOIN, metrics) == [("/orders", None), ("/rates", None)]


def test_a_scan_without_columns_counts_for_nothing_where_the_plan_scans_nothing() -> None:
    """A procedure that copies files scans something else inside, such as a table's metadata; what tasks read counts."""
    called = PlanLineage(inputs=(ORDERS,))
    assert read(called, ExecutionMetrics(scans=(scan((), 0),))) == [("/orders", None)]
    assert read(called, ExecutionMetrics(tasks=TaskMetrics(rows_read=5))) == [("/orders", Statistics(5))]


def test_a_view_beside_the_only_table_that_is_read_counts_nothing() -> None:
    view = Dataset(Identifier("file:///warehouse", "shop.recent"), type="VIEW")
    part = attrs.evolve(COPY, inputs=(view, ORDERS))
    assert read(part, ExecutionMetrics(tasks=TaskMetrics(rows_read=5)), ExecutionMetrics(scans=(scan((), 4),))) == [
        ("shop.recent", None),
        ("/orders", Statistics(9)),
    ]


def test_the_parts_of_a_dataset_that_several_plans_read_and_write_add_up() -> None:
    days = [attrs.evolve(ORDERS, locations=(f"/orders/2026-01-0{day}",)) for day in (2, 1)]
    parts = [PlanLineage(inputs=(day,), outputs=(WrittenDataset(Write(day), None),)) for day in days]

    def locations(parts: list[PlanLineage]) -> list[tuple[str, ...]]:
        inputs, outputs = inputs_of(parts, RunStatistics()), outputs_of(parts, RunStatistics(), completed=True)
        return [dataset.locations for dataset in (*(i.dataset for i in inputs), *(o.dataset for o in outputs))]

    assert locations(parts) == [("/orders/2026-01-01", "/orders/2026-01-02")] * 2
    assert locations([*parts, PlanLineage(inputs=(ORDERS,))])[0] == ()


@pytest.mark.parametrize(("processing", "locations"), [("BATCH", ("/orders/2026-01-01",)), ("STREAMING", ())])
def test_a_stream_does_not_say_which_parts_its_first_batch_read(
    processing: ProcessingType, locations: tuple[str, ...]
) -> None:
    part = PlanLineage(inputs=(attrs.evolve(ORDERS, locations=("/orders/2026-01-01",)),))
    run = OpenRun("1", "id", Job("shop", "shop.copy", "SQL_JOB", processing), part)
    state = run.state("START", datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), Engine("4.3"), PARENT)
    assert [each.dataset.locations for each in state.inputs] == [locations]


def test_nested_writes_to_other_parts_of_a_dataset_are_other_writes() -> None:
    days = [attrs.evolve(TOTALS, locations=(f"/totals/2026-01-0{day}",)) for day in (1, 1, 2)]
    run = OpenRun("1", "id", Job("shop", "shop.copy", "SQL_JOB"), PlanLineage())
    for day in days:
        run.grow(PlanLineage(outputs=(WrittenDataset(Write(day), None),)))
    assert len(run.nested) == 2


def copy_of(*columns: str, expression: str = "") -> WrittenDataset:
    """Give a write of the column `total`, which is computed from columns of the orders."""
    how = (Transformation("DIRECT", "TRANSFORMATION", expression),)
    edges = tuple(InputField(ORDERS.identifier, column, how) for column in columns)
    return WrittenDataset(Write(TOTALS), ColumnLineage((OutputColumn("total", edges),)))


def sources(run: OpenRun) -> list[list[str]]:
    """Give the source columns of each output of a run that has ended."""
    state = run.state("COMPLETE", datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), Engine("4.3"), PARENT)
    lineages = [each.lineage for each in state.outputs if each.lineage is not None]
    return [[edge.field for edge in lineage.edges] for lineage in lineages]


def test_the_writes_of_one_plan_to_one_dataset_have_the_edges_of_all() -> None:
    """On Spark 4, a multi-insert is one plan."""
    plan = PlanLineage(inputs=(ORDERS,), outputs=(copy_of("net"), copy_of("tax")))
    assert sources(OpenRun("1", "id", Job("shop", "shop.copy", "SQL_JOB"), plan)) == [["net", "tax"]]


@pytest.mark.parametrize(("is_split", "found"), [(True, ["net", "tax"]), (False, ["net"])])
def test_the_executions_of_a_split_statement_have_the_edges_of_all(*, is_split: bool, found: list[str]) -> None:
    """On Spark 3.5, a multi-insert is several executions; those inside another statement's repeat its write."""
    plans = [PlanLineage(inputs=(ORDERS,), outputs=(copy_of(column),)) for column in ("net", "tax")]
    run = OpenRun("1", "id", Job("shop", "shop.copy", "SQL_JOB"), plans[0], is_split=is_split)
    run.grow(plans[1])
    assert sources(run) == [found]


def test_the_writes_of_a_stream_to_one_dataset_have_the_edges_of_all_and_those_of_each_batch_count_once() -> None:
    """A batch's number in an expression does not make another write."""
    run = OpenRun("1", "id", Job("shop", "shop.copy", "SQL_JOB", "STREAMING"), PlanLineage(inputs=(ORDERS,)))
    for batch in range(3):
        for column in ("net", "tax"):
            made = copy_of(column, expression=f"(orders.{column} + {batch})")
            run.grow(PlanLineage(inputs=(ORDERS,), outputs=(made,)))
    assert len(run.nested) == 2
    assert sources(run) == [["net", "tax"]]


def test_columns_that_delta_lake_computes_have_the_sources_of_their_expressions() -> None:
    edges = tuple(
        InputField(ORDERS.identifier, c, (Transformation("DIRECT", "TRANSFORMATION"),)) for c in ("net", "tax")
    )
    total = OutputColumn("total", edges)
    day = OutputColumn("day", (InputField(ORDERS.identifier, "day", (Transformation("DIRECT", "IDENTITY"),)),))
    fields = (Field("Total", "int"), Field("day", "date"))
    write = WrittenDataset(Write(attrs.evolve(TOTALS, fields=fields)), ColumnLineage((total, day)))
    run = OpenRun("1", "id", Job("shop", "shop.copy", "SQL_JOB"), PlanLineage(inputs=(ORDERS,), outputs=(write,)))
    run.generated[TOTALS.identifier] = (
        GeneratedColumn("year", "int", "year(Day)"),
        GeneratedColumn("copy", "date", "day"),
        GeneratedColumn("TOTAL", "int", "day"),
        GeneratedColumn("both", "string", "concat(total, `day`)"),
        GeneratedColumn("other", "int", "missing + 1"),
    )
    (output,) = run.state(
        "COMPLETE", datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), Engine("4.3"), PARENT
    ).outputs
    assert output.lineage is not None
    found = {
        column.name: [(edge.field, *(t.subtype for t in edge.transformations)) for edge in column.edges]
        for column in output.lineage.columns
    }
    assert found == {
        "total": [("net", "TRANSFORMATION"), ("tax", "TRANSFORMATION")],
        "day": [("day", "IDENTITY")],
        "year": [("day", "TRANSFORMATION")],
        "copy": [("day", "IDENTITY")],
        "both": [("day", "TRANSFORMATION"), ("net", "TRANSFORMATION"), ("tax", "TRANSFORMATION")],
    }
    assert output.dataset.fields == (*fields, Field("year", "int"), Field("copy", "date"), Field("both", "string"))


def test_a_scan_of_unknown_columns_or_without_rows_counts_for_nothing() -> None:
    assert read(COPY, ExecutionMetrics(scans=(scan((9,), 4), scan((1,), None, 90)))) == [("/orders", None)]


def test_rows_that_tasks_read_count_for_the_only_input() -> None:
    metrics = ExecutionMetrics(tasks=TaskMetrics(rows_read=5))
    assert read(COPY, metrics) == [("/orders", Statistics(5))]
    assert read(JOIN, metrics) == [("/orders", None), ("/rates", None)]


def written(
    *metrics: ExecutionMetrics, lineage: ColumnLineage | None = NO_COLUMNS, dataset: Dataset = TOTALS
) -> Statistics | None:
    """Give what was written to the only output."""
    part, counted = PlanLineage(outputs=(WrittenDataset(Write(dataset, label="totals"), lineage),)), RunStatistics()
    for each in metrics:
        counted.add(each, [part])
    (output,) = outputs_of([part], counted, completed=True)
    return output.statistics


def test_what_writes_count_goes_before_what_tasks_count() -> None:
    tasks = TaskMetrics(rows_written=4, bytes_written=70)
    assert written(ExecutionMetrics(tasks=tasks)) == Statistics(4, 70)
    assert written(ExecutionMetrics(writes=(Statistics(2, 30, 1), Statistics(1, 10)), tasks=tasks)) == Statistics(
        3, 40, 1
    )
    assert written(ExecutionMetrics()) is None


def written_by(writes: tuple[Statistics, ...], *names: str) -> list[tuple[str, Statistics | None]]:
    """Give what one execution wrote to each of its outputs, which are named in the order of its writes."""
    targets = [Dataset(Identifier("file", name)) for name in names]
    part = PlanLineage(outputs=tuple(WrittenDataset(Write(target), NO_COLUMNS) for target in targets))
    metrics, counted = ExecutionMetrics((), writes, TaskMetrics(rows_written=9, bytes_written=90)), RunStatistics()
    counted.add(metrics, [part], tuple(target.identifier for target in targets))
    return [(o.dataset.identifier.name, o.statistics) for o in outputs_of([part], counted, completed=True)]


def test_each_output_of_a_plan_with_several_writes_has_its_own_counts() -> None:
    """On Spark 4, a multi-insert is one plan, whose tasks do not report for which write they work."""
    writes = (Statistics(2, 30, 1), Statistics(0, 0, 0), Statistics(4, None), Statistics(1, 10, 1))
    assert written_by(writes, "/a", "/b", "/c", "/a") == [
        ("/a", Statistics(3, 40, 2)),
        ("/b", Statistics(0, 0, 0)),
        ("/c", Statistics(4)),
    ]


def test_the_outputs_of_a_plan_have_no_counts_if_some_of_its_writes_do_not_count() -> None:
    assert written_by((Statistics(2, 30, 1),), "/a", "/b") == [("/a", None), ("/b", None)]
    assert written_by((Statistics(2, 30, 1),), "/a", "/a") == [("/a", Statistics(2, 30, 1))]
    assert written_by((), "/a", "/b") == [("/a", None), ("/b", None)]


def test_what_a_writer_of_hudi_did_not_count_is_not_nothing() -> None:
    hudi = attrs.evolve(TOTALS, storage_layer="hudi")
    assert written(ExecutionMetrics(writes=(Statistics(0, 0, 0),)), dataset=hudi) is None
    assert written(ExecutionMetrics(writes=(Statistics(2, 0, 0),)), dataset=hudi) == Statistics(2)
    assert written(ExecutionMetrics(writes=(Statistics(0, 0, 0),))) == Statistics(0, 0, 0)


def test_rows_of_an_rdd_are_counted_where_there_are_any() -> None:
    assert written(ExecutionMetrics(tasks=TaskMetrics(rows_written=4)), lineage=None) == Statistics(4)
    assert written(ExecutionMetrics(writes=(Statistics(4),)), lineage=None) is None


def test_a_write_that_spark_may_skip_and_that_wrote_nothing_has_no_lineage() -> None:
    part = PlanLineage(
        outputs=(WrittenDataset(Write(TOTALS, lifecycle="CREATE", label="totals", may_skip=True), NO_COLUMNS),)
    )
    counted = RunStatistics()
    (skipped,) = outputs_of([part], counted, completed=True)
    (begun,) = outputs_of([part], counted, completed=False)
    counted.add(ExecutionMetrics(writes=(Statistics(0, 0, 1),)), [part])
    (empty,) = outputs_of([part], counted, completed=True)

    assert (skipped.lifecycle, skipped.lineage) == (None, None)
    assert (begun.lifecycle, begun.lineage) == ("CREATE", NO_COLUMNS)
    assert (empty.lifecycle, empty.lineage) == ("CREATE", NO_COLUMNS)


@pytest.mark.parametrize(
    "stopped",
    [
        "Job 3 cancelled because SparkContext was shut down",
        "Task serialization failed: java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.",
        "SparkContext has been shutdown",
    ],
)
def test_what_ends_because_spark_is_stopped_is_aborted_and_has_not_failed(stopped: str) -> None:
    assert end_type(Failure(stopped, "JAVA")) == "ABORT"
    assert end_type(Failure("Job aborted.", "JAVA", f"x\nCaused by: org.apache.spark.Any: {stopped}")) == "ABORT"


def test_what_ends_for_another_reason_is_complete_or_has_failed() -> None:
    assert end_type(None) == "COMPLETE"
    assert end_type(Failure("Job 3 cancelled", "JAVA", None)) == "FAIL"
