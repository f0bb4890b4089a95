"""A run between its START and its end, with the lineage and the statistics of all its executions."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.model.call_site import CallSite
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.run import Engine, EventType, Failure, Gap, Job, Parent, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.probe.records import Commit, ExecutionMetrics
from openlineage_pyspark.listener.runs.commits import versions_of
from openlineage_pyspark.listener.runs.figures import RunStatistics, inputs_of, outputs_of
from openlineage_pyspark.listener.runs.micro_batches import MicroBatches

# Spark's messages for jobs that it cancels while stopping (DAGScheduler.cleanUpAfterSchedulerStop), and for calls made
# after it has stopped (SparkContext.assertNotStopped, SparkContext.runJob).
_STOPPED = (
    "because SparkContext was shut down",
    "Cannot call methods on a stopped SparkContext",
    "SparkContext has been shutdown",
)


def end_type(failure: Failure | None) -> EventType:
    """
    Return the type of the event that ends a run: COMPLETE, FAIL, or ABORT if Spark was stopped while it ran.

    Args:
        failure: the run's failure, if any.
    """
    if failure is None:
        return "COMPLETE"
    text = f"{failure.message}\n{failure.stack_trace}"
    return "ABORT" if any(stopped in text for stopped in _STOPPED) else "FAIL"


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
    counted: RunStatistics = attrs.Factory(RunStatistics)
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
        self,
        event_type: EventType,
        time: datetime.datetime,
        engine: Engine,
        parent: Parent,
        failure: Failure | None = None,
    ) -> RunState:
        """
        Return the run's current state.

        Args:
            event_type: what the event says of the run.
            time: the event's time (timezone-aware).
            engine: the processing engine.
            parent: the run's parent.
            failure: the failure, if any; output statistics are then left out.
        """
        counted = RunStatistics() if event_type == "START" else self.counted
        remarks = dict.fromkeys(n for part in self.parts for n in part.gaps)
        inputs = inputs_of(self.parts, counted)
        if self.job.processing_type == "STREAMING":
            # Later batches may read other parts than those that the first one read.
            inputs = tuple(
                attrs.evolve(r, dataset=attrs.evolve(r.dataset, locations=(), versions=None)) for r in inputs
            )
        completed = event_type == "COMPLETE"
        outputs = outputs_of(self.parts, counted if failure is None else RunStatistics(), completed=completed)
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
