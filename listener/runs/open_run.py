"""A run between its START and its end, and what all of its executions have counted and said."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Statistics
from openlineage_pyspark.facets.model.run import Engine, Failure, Gap, Job, Parent, RunInput, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage import PlanLineage
from openlineage_pyspark.listener.probe.records import Metrics

# What Spark says of what it cancels when it is stopped (DAGScheduler.cleanUpAfterSchedulerStop), and of what asks
# for more once it is (SparkContext.assertNotStopped, SparkContext.runJob).
_STOPPED = (
    "because SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "SparkContext has been shutdown",
)


def end_type(failure: Failure | None) -> str:
    """
    Return the type of the event that ends a run: COMPLETE, FAIL, or ABORT where Spark was stopped while it ran.

    Args:
        failure: why it failed, if it did.
    """
    if failure is None:
        return "COMPLETE"
    text = f"{failure.message}\n{failure.stack_trace}"
    return "ABORT" if any(stopped in text for stopped in _STOPPED) else "FAIL"


@attrs.define
class Counted:
    """
    What a run has counted so far. These are sums, because a streaming query counts for as long as it runs.

    Args:
        read: rows, bytes and files by dataset.
        by_writes: rows, bytes and files, of the write commands.
        by_tasks: rows and bytes that tasks wrote, for sources whose writes count nothing themselves.
    """

    read: dict[Identifier, list[int | None]] = attrs.Factory(dict)
    by_writes: list[int | None] = attrs.Factory(lambda: [None, None, None])
    by_tasks: list[int] = attrs.Factory(lambda: [0, 0])

    def add(self, metrics: Metrics, parts: Iterable[PlanLineage]) -> None:
        """
        Count what one execution or job did.

        Args:
            metrics: of it.
            parts: what its plan and those around it say.
        """
        owner: dict[int, Identifier] = {}
        datasets: dict[Identifier, None] = {}
        for part in parts:
            owner.update(part.scanned)
            datasets.update((dataset.identifier, None) for dataset in part.inputs)
        only = next(iter(datasets)) if len(datasets) == 1 else None
        for scan in metrics.scans:
            found = next((owner[i] for i in scan.attributes if i in owner), None if scan.attributes else only)
            if found is not None and scan.read.rows is not None:
                _add(self.read.setdefault(found, [None, None, None]), scan.read)
        if metrics.tasks.rows_read and only is not None:
            _add(self.read.setdefault(only, [None, None, None]), Statistics(rows=metrics.tasks.rows_read))
        for written in metrics.writes:
            _add(self.by_writes, written)
        self.by_tasks[0] += metrics.tasks.rows_written
        self.by_tasks[1] += metrics.tasks.bytes_written

    @property
    def written(self) -> Statistics | None:
        """What the write commands counted, or else what the tasks did."""
        if self.by_writes[0] is None and self.by_tasks != [0, 0]:
            return Statistics(self.by_tasks[0], self.by_tasks[1] or None)
        return Statistics(*self.by_writes) if self.by_writes != [None, None, None] else None

    @property
    def nothing_written(self) -> bool:
        """Whether there is neither a row nor a file; a write of no rows still makes a file or two."""
        return not any(self.by_writes) and not any(self.by_tasks)


def inputs_of(parts: Iterable[PlanLineage], counted: Counted) -> tuple[RunInput, ...]:
    """
    Return the datasets that a run reads, each with what was read of it.

    Args:
        parts: what the run's plans say.
        counted: what it has counted, or nothing.
    """
    datasets: dict[Identifier, Dataset] = {}
    for part in parts:
        for dataset in part.inputs:
            datasets.setdefault(dataset.identifier, dataset)
    read = counted.read
    return tuple(
        RunInput(dataset, Statistics(*read[identifier]) if identifier in read else None)
        for identifier, dataset in datasets.items()
    )


def outputs_of(parts: Iterable[PlanLineage], counted: Counted, *, completed: bool) -> tuple[RunOutput, ...]:
    """
    Return the datasets that a run writes, with what was written where there is only one.

    Args:
        parts: what the run's plans say.
        counted: what it has counted, or nothing.
        completed: whether it has ended well. A write that Spark may skip (CREATE TABLE IF NOT EXISTS,
            `mode("ignore")`) and that has counted nothing by then was skipped: it has no lineage.
    """
    found: dict[Identifier, RunOutput] = {}
    for part in parts:
        for output in part.outputs:
            write = output.write
            if completed and write.may_skip and counted.nothing_written:
                made = RunOutput(write.dataset)
            else:
                made = RunOutput(write.dataset, write.lifecycle, write.renamed_from, None, output.lineage)
            found.setdefault(write.dataset.identifier, made)
    if len(found) == 1:
        ((identifier, only),) = found.items()
        # Rows of an RDD have no columns, and so no lineage.
        if only.lineage is not None or counted.by_tasks != [0, 0]:
            found[identifier] = attrs.evolve(only, statistics=counted.written)
    return tuple(found.values())


def _add(sums: list[int | None], more: Statistics) -> None:
    for at, amount in enumerate((more.rows, more.bytes, more.files)):
        if amount is not None:
            sums[at] = (sums[at] or 0) + amount


MOST_PARTS = 1000
"""How many nested writes of one run are reported, where they differ in what they read and write."""
_BEYOND = Gap("nested writes", f"only the first {MOST_PARTS} of this run's different writes are told: there are more")


@attrs.define
class OpenRun:
    """
    A run that has begun, and grows with each execution that belongs to it.

    Args:
        key: what it is found by: the id of its execution, of its stream's run, or of its job.
        id: of the run.
        job: what it is a run of.
        plan_lineage: what the plan says that it began with.
        started: whether its START was sent.
        nested: what the plans of further writes say.
        counted: what its scans and writes did.
        beyond: whether there were more nested writes than are kept.
    """

    key: str
    id: str
    job: Job
    plan_lineage: PlanLineage
    started: bool = False
    nested: list[PlanLineage] = attrs.Factory(list)
    counted: Counted = attrs.Factory(Counted)
    beyond: bool = False
    _known: set[frozenset[Any]] = attrs.Factory(set)

    @property
    def parts(self) -> list[PlanLineage]:
        """What each of its plans says."""
        return [self.plan_lineage, *self.nested]

    def grow(self, plan_lineage: PlanLineage) -> None:
        """Add what a nested execution writes, unless another has done the very same."""
        written = (output.write.dataset.identifier for output in plan_lineage.outputs)
        said = frozenset(("out", i) for i in written) | {("in", d.identifier) for d in plan_lineage.inputs}
        if said in self._known:
            return
        if len(self.nested) >= MOST_PARTS:
            self.beyond = True
            return
        self._known.add(said)
        self.nested.append(plan_lineage)

    def count(self, metrics: Metrics, own: PlanLineage | None = None) -> None:
        """
        Count what an execution or job of it did.

        Args:
            metrics: of the execution or job.
            own: what the execution's own plan says, which need not be a part of the run.
        """
        self.counted.add(metrics, self.parts if own is None else [*self.parts, own])

    def state(
        self, event_type: str, time: datetime.datetime, engine: Engine, parent: Parent, failure: Failure | None = None
    ) -> RunState:
        """
        Return what is known of it now.

        Args:
            event_type: START, COMPLETE, FAIL or ABORT.
            time: aware.
            engine: what it runs on.
            parent: of the run.
            failure: the failure, if any; output statistics are left out then.
        """
        counted = Counted() if event_type == "START" else self.counted
        remarks = dict.fromkeys(n for part in self.parts for n in part.gaps)
        return RunState(
            event_type=event_type,
            event_time=time,
            run_id=self.id,
            job=self.job,
            engine=engine,
            parent=parent,
            inputs=inputs_of(self.parts, counted),
            outputs=outputs_of(
                self.parts, counted if failure is None else Counted(), completed=event_type == "COMPLETE"
            ),
            failure=failure,
            gaps=(*remarks, *([_BEYOND] if self.beyond else [])),
            operators=sum(part.operators for part in self.parts),
        )
