"""The rows, bytes, files and versions that a run has read and written so far."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Statistics
from openlineage_pyspark.facets.model.run import RunInput, RunOutput
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.listener.probe.records import ExecutionMetrics


@attrs.define
class OutputStatistics:
    """
    The writes to one output so far.

    Args:
        by_writes: rows, bytes and files that the write commands report.
        by_tasks: rows and bytes that the tasks wrote, for sources whose write commands do not report them.
    """

    by_writes: list[int | None] = attrs.Factory(lambda: [None, None, None])
    by_tasks: list[int] = attrs.Factory(lambda: [0, 0])

    def add(self, metrics: ExecutionMetrics) -> None:
        """Add the metrics of one execution or job."""
        for written in metrics.writes:
            _add(self.by_writes, written)
        self.by_tasks[0] += metrics.tasks.rows_written
        self.by_tasks[1] += metrics.tasks.bytes_written

    def join(self, other: OutputStatistics) -> None:
        """Add the writes to another output."""
        _add(self.by_writes, Statistics(*other.by_writes))
        self.by_tasks = [mine + more for mine, more in zip(self.by_tasks, other.by_tasks, strict=True)]

    @property
    def statistics(self) -> Statistics | None:
        """The counts of the write commands, or those of the tasks if the commands did not count."""
        rows, size, files = self.by_writes
        if rows is None and any(self.by_tasks):
            return Statistics(self.by_tasks[0], self.by_tasks[1] or None)
        # DataSource V2 writes report only rows.
        size = self.by_tasks[1] or None if size is None else size
        return None if rows is size is files is None else Statistics(rows, size, files)


@attrs.define
class RunStatistics:
    """
    The statistics of a run so far. These are sums, because a streaming query keeps counting while it runs.

    Args:
        read: rows, bytes and files read, by dataset.
        versions: the versions that scans have read, by dataset.
        written: the writes, by output; under None, those that can't be assigned to one of several outputs.
    """

    read: dict[Identifier, list[int | None]] = attrs.Factory(dict)
    versions: dict[Identifier, dict[str, None]] = attrs.Factory(dict)
    written: dict[Identifier | None, OutputStatistics] = attrs.Factory(dict)

    def add(
        self, metrics: ExecutionMetrics, parts: Iterable[PlanLineage], outputs: tuple[Identifier, ...] = ()
    ) -> None:
        """
        Add the metrics of one execution or job.

        Args:
            metrics: its metrics.
            parts: the lineage of the plans to which its scans may belong.
            outputs: the output of each of its writes, in their order, if these are known.
        """
        owner: dict[int, Identifier] = {}
        datasets: dict[Identifier, None] = {}
        for part in parts:
            owner.update(part.scanned)
            # A view holds no rows.
            datasets.update((dataset.identifier, None) for dataset in part.inputs if dataset.type != "VIEW")
        only = next(iter(datasets)) if len(datasets) == 1 else None
        # What a procedure reads is not scanned by its plan: a scan without columns is of something else, inside it.
        alone = only if only in owner.values() else None
        for scan in metrics.scans:
            found = next((owner[i] for i in scan.attributes if i in owner), None if scan.attributes else alone)
            if found is not None and scan.version is not None:
                self.versions.setdefault(found, {})[scan.version] = None
            if found is not None and scan.read.rows is not None:
                _add(self.read.setdefault(found, [None, None, None]), scan.read)
        if metrics.tasks.rows_read and only is not None:
            _add(self.read.setdefault(only, [None, None, None]), Statistics(rows=metrics.tasks.rows_read))
        for output, written in by_output(metrics, outputs).items():
            self.written.setdefault(output, OutputStatistics()).add(written)

    @property
    def total(self) -> OutputStatistics:
        """The sum over all outputs."""
        total = OutputStatistics()
        for written in self.written.values():
            total.join(written)
        return total

    @property
    def nothing_written(self) -> bool:
        """Whether no row and no file was written; even a write of no rows makes a file or two."""
        total = self.total
        return not any(total.by_writes) and not any(total.by_tasks)

    @property
    def wrote_uncounted_rows(self) -> bool:
        """Whether rows were written, but none was counted as read: a sink may compute the rows by itself."""
        total = self.total.statistics
        return total is not None and bool(total.rows) and not any(read[0] for read in self.read.values())


def by_output(metrics: ExecutionMetrics, outputs: tuple[Identifier, ...]) -> dict[Identifier | None, ExecutionMetrics]:
    """
    Divide the metrics of one execution among its outputs.

    Args:
        metrics: its metrics.
        outputs: the output of each of its writes, in their order. On Spark 4, a multi-insert is one execution, whose
            physical plan has the writes in the order of the statement.

    Returns:
        The metrics of each output; under None, those that can't be assigned to one of several outputs.
    """
    if len(set(outputs)) == 1:
        return {outputs[0]: metrics}
    # Tasks do not report for which write they work.
    divided: dict[Identifier | None, ExecutionMetrics] = {None: metrics}
    if len(metrics.writes) == len(outputs):
        divided[None] = attrs.evolve(metrics, writes=())
        for output, write in zip(outputs, metrics.writes, strict=True):
            known = divided.get(output, ExecutionMetrics())
            divided[output] = attrs.evolve(known, writes=(*known.writes, write))
    return divided


def inputs_of(parts: Iterable[PlanLineage], counted: RunStatistics) -> tuple[RunInput, ...]:
    """
    Return the datasets that a run reads, each with the statistics of its reads.

    Args:
        parts: the lineage of the run's plans.
        counted: the run's statistics; empty ones to leave them out.
    """
    datasets: dict[Identifier, Dataset] = {}
    for part in parts:
        for dataset in part.inputs:
            known = datasets.get(dataset.identifier)
            datasets[dataset.identifier] = dataset if known is None else known.joined(dataset)
    read = counted.read
    return tuple(
        RunInput(
            _as_scanned(dataset, tuple(counted.versions.get(identifier, ()))),
            Statistics(*read[identifier]) if identifier in read else None,
        )
        for identifier, dataset in datasets.items()
    )


def _as_scanned(dataset: Dataset, scanned: tuple[str, ...]) -> Dataset:
    """Return a dataset with the versions that scans have read, or else those in the plan."""
    planned = dataset.versions
    if planned is None or set(scanned) <= set(planned.ids):
        return dataset
    # Spark may have planned a later version than the one that it analyzed.
    kept = planned.ids if len(planned.ids) > len(scanned) else ()
    ids = tuple(dict.fromkeys((*kept, *scanned)))
    return attrs.evolve(dataset, versions=attrs.evolve(planned, ids=ids))


def outputs_of(
    parts: Iterable[PlanLineage], counted: RunStatistics, *, completed: bool, separate: bool = False
) -> tuple[RunOutput, ...]:
    """
    Return the datasets that a run writes, each with the statistics of its writes.

    Args:
        parts: the lineage of the run's plans.
        counted: the run's statistics; empty ones to leave them out.
        completed: whether the run ended successfully. If a write that Spark may skip (CREATE TABLE IF NOT EXISTS,
            `mode("ignore")`) has counted nothing by then, it was skipped and has no lineage.
        separate: whether the parts are separate writes, as those of micro-batches and of a multi-insert are: the edges
            of all that write one dataset count. Otherwise such parts report the same. The writes of one plan are
            always separate.
    """
    found: dict[Identifier, RunOutput] = {}
    for part in parts:
        in_this = set[Identifier]()
        for output in part.outputs:
            write = output.write
            if completed and write.may_skip and counted.nothing_written:
                made = RunOutput(attrs.evolve(write.dataset, fields=()))
            else:
                made = RunOutput(
                    write.dataset, write.lifecycle, write.renamed_from, None, output.lineage, write.replaced
                )
            known = found.setdefault(write.dataset.identifier, made)
            if known is not made:
                whole, lineage = known.dataset.joined(write.dataset), known.lineage
                is_separate = separate or write.dataset.identifier in in_this
                if is_separate and made.lineage is not None and made.lineage != lineage:
                    lineage = made.lineage if lineage is None else lineage.joined(made.lineage)
                found[write.dataset.identifier] = attrs.evolve(known, dataset=whole, lineage=lineage)
            in_this.add(write.dataset.identifier)
    for identifier, made in list(found.items()):
        written = counted.total if len(found) == 1 else counted.written.get(identifier, OutputStatistics())
        # The rows of an RDD have no columns, and so no column lineage.
        if made.lineage is not None or any(written.by_tasks):
            counts = written.statistics
            # Hudi's commands have Spark's counters of files, but write through Hudi's own client, which does not count.
            if counts is not None and made.dataset.storage_layer == "hudi":
                counts = _without_zeros(counts)
            found[identifier] = attrs.evolve(made, statistics=counts)
    return tuple(found.values())


def sources_of(parts: Iterable[PlanLineage]) -> dict[Identifier, tuple[Identifier, ...]]:
    """
    Return the inputs of each output of a run: those of the plans that write it, or that write nothing.

    Args:
        parts: the lineage of the run's plans.
    """
    every = tuple(parts)
    of_all = [dataset.identifier for part in every if not part.outputs for dataset in part.inputs]
    found: dict[Identifier, dict[Identifier, None]] = {}
    for part in every:
        for output in part.outputs:
            sources = found.setdefault(output.write.dataset.identifier, dict.fromkeys(of_all))
            sources.update(dict.fromkeys(dataset.identifier for dataset in part.inputs))
    return {output: tuple(sources) for output, sources in found.items()}


def _without_zeros(counts: Statistics) -> Statistics | None:
    """Return counts without those that are zero; None if all are."""
    left = Statistics(counts.rows or None, counts.bytes or None, counts.files or None)
    return None if left == Statistics() else left


def _add(sums: list[int | None], more: Statistics) -> None:
    for at, amount in enumerate((more.rows, more.bytes, more.files)):
        if amount is not None:
            sums[at] = (sums[at] or 0) + amount
