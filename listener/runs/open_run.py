"""A run between its START and its end, with the lineage and the statistics of all its executions."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.model.call_site import CallSite
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Statistics
from openlineage_pyspark.facets.model.run import Engine, Failure, Gap, Job, Parent, RunInput, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.probe.records import Commit, ExecutionMetrics
from openlineage_pyspark.listener.runs.commits import versions_of

if TYPE_CHECKING:
    from openlineage_pyspark.listener.runs.micro_batches import MicroBatches

# Spark's messages for jobs that it cancels while stopping (DAGScheduler.cleanUpAfterSchedulerStop), and for calls made
# after it has stopped (SparkContext.assertNotStopped, SparkContext.runJob).
_STOPPED = (
    "because SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "SparkContext has been shutdown",
)


def end_type(failure: Failure | None) -> str:
    """
    Return the type of the event that ends a run: COMPLETE, FAIL, or ABORT if Spark was stopped while it ran.

    Args:
        failure: the run's failure, if any.
    """
    if failure is None:
        return "COMPLETE"
    text = f"{failure.message}\n{failure.stack_trace}"
    return "ABORT" if any(stopped in text for stopped in _STOPPED) else "FAIL"


@attrs.define
class Written:
    """
    What was written to one output so far.

    Args:
        by_writes: rows, bytes and files that the write commands report.
        by_tasks: rows and bytes that the tasks wrote, for sources whose write commands do not report them.
    """

    by_writes: list[int | None] = attrs.Factory(lambda: [None, None, None])
    by_tasks: list[int] = attrs.Factory(lambda: [0, 0])

    def add(self, metrics: ExecutionMetrics) -> None:
        """Add what one execution or job counted."""
        for written in metrics.writes:
            _add(self.by_writes, written)
        self.by_tasks[0] += metrics.tasks.rows_written
        self.by_tasks[1] += metrics.tasks.bytes_written

    def join(self, other: Written) -> None:
        """Add what was written to another output."""
        _add(self.by_writes, Statistics(*other.by_writes))
        self.by_tasks = [mine + more for mine, more in zip(self.by_tasks, other.by_tasks, strict=True)]

    @property
    def statistics(self) -> Statistics | None:
        """What the write commands counted; what they did not count, as the tasks counted it."""
        rows, size, files = self.by_writes
        if rows is None and any(self.by_tasks):
            return Statistics(self.by_tasks[0], self.by_tasks[1] or None)
        # Writes of DataSource V2 report rows alone.
        size = self.by_tasks[1] or None if size is None else size
        return None if rows is size is files is None else Statistics(rows, size, files)


@attrs.define
class Counted:
    """
    The statistics of a run so far. These are sums, because a streaming query keeps counting while it runs.

    Args:
        read: rows, bytes and files read, by dataset.
        versions: the versions that scans have read, by dataset.
        written: what was written, by output; under None, what can't be assigned to one of several outputs.
    """

    read: dict[Identifier, list[int | None]] = attrs.Factory(dict)
    versions: dict[Identifier, dict[str, None]] = attrs.Factory(dict)
    written: dict[Identifier | None, Written] = attrs.Factory(dict)

    def add(self, metrics: ExecutionMetrics, parts: Iterable[PlanLineage], output: Identifier | None = None) -> None:
        """
        Add what one execution or job counted.

        Args:
            metrics: its metrics.
            parts: the lineage of the plans that its scans may be of.
            output: the output that it writes to, if that is known.
        """
        owner: dict[int, Identifier] = {}
        datasets: dict[Identifier, None] = {}
        for part in parts:
            owner.update(part.scanned)
            # A view holds no rows.
            datasets.update((dataset.identifier, None) for dataset in part.inputs if dataset.type != "VIEW")
        only = next(iter(datasets)) if len(datasets) == 1 else None
        for scan in metrics.scans:
            found = next((owner[i] for i in scan.attributes if i in owner), None if scan.attributes else only)
            if found is not None and scan.version is not None:
                self.versions.setdefault(found, {})[scan.version] = None
            if found is not None and scan.read.rows is not None:
                _add(self.read.setdefault(found, [None, None, None]), scan.read)
        if metrics.tasks.rows_read and only is not None:
            _add(self.read.setdefault(only, [None, None, None]), Statistics(rows=metrics.tasks.rows_read))
        self.written.setdefault(output, Written()).add(metrics)

    @property
    def total(self) -> Written:
        """What was written to all outputs."""
        total = Written()
        for written in self.written.values():
            total.join(written)
        return total

    @property
    def nothing_written(self) -> bool:
        """Whether no row and no file was written; even a write of no rows makes a file or two."""
        total = self.total
        return not any(total.by_writes) and not any(total.by_tasks)


def inputs_of(parts: Iterable[PlanLineage], counted: Counted) -> tuple[RunInput, ...]:
    """
    Return the datasets that a run reads, each with the statistics of what was read.

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
    """Return a dataset with the versions that scans have read; the plan tells those that were not scanned."""
    planned = dataset.versions
    if planned is None or set(scanned) <= set(planned.ids):
        return dataset
    # Spark may have planned a later version than the one that it analyzed.
    kept = planned.ids if len(planned.ids) > len(scanned) else ()
    ids = tuple(dict.fromkeys((*kept, *scanned)))
    return attrs.evolve(dataset, versions=attrs.evolve(planned, ids=ids))


def outputs_of(parts: Iterable[PlanLineage], counted: Counted, *, completed: bool) -> tuple[RunOutput, ...]:
    """
    Return the datasets that a run writes, with the statistics of what was written.

    Args:
        parts: the lineage of the run's plans.
        counted: the run's statistics; empty ones to leave them out.
        completed: whether the run ended successfully. If a write that Spark may skip (CREATE TABLE IF NOT EXISTS,
            `mode("ignore")`) has counted nothing by then, it was skipped and has no lineage.
    """
    found: dict[Identifier, RunOutput] = {}
    for part in parts:
        for output in part.outputs:
            write = output.write
            if completed and write.may_skip and counted.nothing_written:
                made = RunOutput(write.dataset)
            else:
                made = RunOutput(write.dataset, write.lifecycle, write.renamed_from, None, output.lineage)
            known = found.setdefault(write.dataset.identifier, made)
            if known is not made:
                whole = known.dataset.joined(write.dataset)
                found[write.dataset.identifier] = attrs.evolve(known, dataset=whole)
    for identifier, made in list(found.items()):
        written = counted.total if len(found) == 1 else counted.written.get(identifier, Written())
        # The rows of an RDD have no columns, and so no column lineage.
        if made.lineage is not None or any(written.by_tasks):
            found[identifier] = attrs.evolve(made, statistics=written.statistics)
    return tuple(found.values())


def _located(output: WrittenDataset, known: Mapping[tuple[str, str], Dataset]) -> WrittenDataset:
    """Return an output with its table's location; `known`: the catalog and the name of a table -> the table."""
    own = output.write.dataset
    there = known.get((own.identifier.namespace, own.identifier.name)) if own.is_named_by_catalog else None
    if there is None:
        return output
    dataset = attrs.evolve(there, fields=own.fields or there.fields)
    return attrs.evolve(output, write=attrs.evolve(output.write, dataset=dataset))


def _writes(plan_lineage: PlanLineage) -> Iterable[Write]:
    return (output.write for output in plan_lineage.outputs)


def _add(sums: list[int | None], more: Statistics) -> None:
    for at, amount in enumerate((more.rows, more.bytes, more.files)):
        if amount is not None:
            sums[at] = (sums[at] or 0) + amount


MOST_PARTS = 1000
"""The most nested writes that are reported for one run; writes with the same inputs and outputs count once."""
_BEYOND = Gap("nested writes", f"only the first {MOST_PARTS} of this run's different writes are reported")


@attrs.define
class OpenRun:
    """
    A run that has begun; it grows with each execution that belongs to it.

    Args:
        key: its lookup key: the id of its execution, of its stream's run, or of its job.
        id: the run id.
        job: the job that it is a run of.
        plan_lineage: the lineage of the plan that it began with.
        started: whether its START was sent.
        nested: the lineage of the plans of nested writes.
        counted: what its scans and writes counted.
        beyond: whether there were more nested writes than are kept.
        batches: the micro-batches that no event has told yet; None unless it is the run of a streaming query.
        call_site: the line of Python that runs it, as events name it; None if it is not known.
        committed: the commits that it has made so far, by output; of a stream only the last one.
    """

    key: str
    id: str
    job: Job
    plan_lineage: PlanLineage
    started: bool = False
    nested: list[PlanLineage] = attrs.Factory(list)
    counted: Counted = attrs.Factory(Counted)
    beyond: bool = False
    batches: MicroBatches | None = None
    call_site: CallSite | None = None
    committed: dict[Identifier, list[Commit]] = attrs.Factory(dict)
    _known: set[frozenset[Any]] = attrs.Factory(set)

    @property
    def parts(self) -> list[PlanLineage]:
        """The lineage of each of its plans."""
        return [self.plan_lineage, *self.nested]

    @property
    def outputs(self) -> frozenset[Identifier]:
        """The datasets that it writes."""
        return frozenset(write.dataset.identifier for part in self.parts for write in _writes(part))

    def output_at(self, place: Identifier, table: str | None) -> Identifier | None:
        """
        Return the output at a location, or of that name if its location is not known; None if there is none.

        Args:
            place: the identity that its location gives.
            table: the name of the table, with its catalog.
        """
        outputs = self.outputs
        if place in outputs:
            return place
        return next((each for each in outputs if f"{each.namespace}.{each.name}" == table), None)

    def commit(self, output: Identifier, commits: Iterable[Commit]) -> None:
        """Add commits to one of its outputs."""
        made = self.committed.setdefault(output, [])
        made += commits
        del made[: -1 if self.job.processing_type == "STREAMING" else -MOST_PARTS]

    @property
    def awaits_location(self) -> bool:
        """Whether it writes a table whose location its plan did not know, because it creates the table."""
        writes = (output.write for output in self.plan_lineage.outputs)
        return any(write.reads and write.dataset.is_named_by_catalog for write in writes)

    def locate(self, plan_lineage: PlanLineage) -> bool:
        """
        Name what it creates as the nested write does, which knows the location.

        Returns:
            Whether the nested write is the one that fills what this run creates.
        """
        known = {
            (w.dataset.catalog.name, link.name): w.dataset
            for w in _writes(plan_lineage)
            if w.dataset.catalog is not None
            for link in w.dataset.symlinks
        }
        outputs = tuple(_located(output, known) for output in self.plan_lineage.outputs)
        found = outputs != self.plan_lineage.outputs
        self.plan_lineage = attrs.evolve(self.plan_lineage, outputs=outputs)
        return found

    def grow(self, plan_lineage: PlanLineage) -> None:
        """Add the lineage of a nested write, unless an identical one is there already."""
        written = (output.write.dataset for output in plan_lineage.outputs)
        said = frozenset(("out", d.identifier, d.locations) for d in written) | {
            ("in", d.identifier, d.locations) for d in plan_lineage.inputs
        }
        if said in self._known:
            return
        if len(self.nested) >= MOST_PARTS:
            self.beyond = True
            return
        self._known.add(said)
        self.nested.append(plan_lineage)

    def count(self, metrics: ExecutionMetrics, parts: Iterable[PlanLineage], output: Identifier | None = None) -> None:
        """
        Add what one of its executions or jobs counted.

        Args:
            metrics: the metrics of the execution or job.
            parts: the lineage of the plans that its scans may be of.
            output: the output that it writes to, if that is known.
        """
        known = any(output == each.write.dataset.identifier for part in self.parts for each in part.outputs)
        self.counted.add(metrics, parts, output if known else None)

    def state(
        self, event_type: str, time: datetime.datetime, engine: Engine, parent: Parent, failure: Failure | None = None
    ) -> RunState:
        """
        Return the run's current state.

        Args:
            event_type: START, RUNNING, COMPLETE, FAIL or ABORT.
            time: the event's time (timezone-aware).
            engine: the processing engine.
            parent: the run's parent.
            failure: the failure, if any; output statistics are then left out.
        """
        counted = Counted() if event_type == "START" else self.counted
        remarks = dict.fromkeys(n for part in self.parts for n in part.gaps)
        inputs = inputs_of(self.parts, counted)
        if self.job.processing_type == "STREAMING":
            # Later batches may read other parts than those that the first one read.
            inputs = tuple(
                attrs.evolve(r, dataset=attrs.evolve(r.dataset, locations=(), versions=None)) for r in inputs
            )
        completed = event_type == "COMPLETE"
        outputs = outputs_of(self.parts, counted if failure is None else Counted(), completed=completed)
        if completed:
            outputs = tuple(self._with_versions(output) for output in outputs)
        return RunState(
            event_type=event_type,
            event_time=time,
            run_id=self.id,
            job=self.job,
            engine=engine,
            parent=parent,
            inputs=inputs,
            outputs=outputs,
            failure=failure,
            gaps=(*remarks, *([_BEYOND] if self.beyond else [])),
            operators=sum(part.operators for part in self.parts),
            call_site=self.call_site,
            code=tuple(sum((Counter(part.code) for part in self.parts), Counter()).items()),
        )

    def _with_versions(self, output: RunOutput) -> RunOutput:
        versions = versions_of(self.committed.get(output.dataset.identifier, ()))
        return attrs.evolve(output, dataset=attrs.evolve(output.dataset, versions=versions))
