"""A run between its START and its end: what is known of it, whatever executions that comes from."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.lineage import Understanding
from openlineage_pyspark.facets.run import Engine, Failure, Job, NotUnderstood, Parent, RunState
from openlineage_pyspark.listener.statistics import Counted, inputs_of, outputs_of

MOST_PARTS = 1000
"""The nested writes of one run that are told, where they differ in what they read and write."""
_BEYOND = NotUnderstood(
    "nested writes", f"only the first {MOST_PARTS} of this run's different writes are told: there are more"
)


@attrs.define
class OpenRun:
    """
    A run that has begun, and grows with each execution that belongs to it.

    Args:
        key: what it is found by: the id of its execution, of its stream's run, or of its job.
        id: of the run.
        job: what it is a run of.
        understanding: what the plan says that it began with.
        started: whether its START is told.
        nested: what the plans of further writes say.
        counted: what its scans and writes did.
        beyond: whether there were more nested writes than are kept.
    """

    key: str
    id: str
    job: Job
    understanding: Understanding
    started: bool = False
    nested: list[Understanding] = attrs.Factory(list)
    counted: Counted = attrs.Factory(Counted)
    beyond: bool = False
    _known: set[frozenset[Any]] = attrs.Factory(set)

    @property
    def parts(self) -> list[Understanding]:
        """What all of its plans say."""
        return [self.understanding, *self.nested]

    def grow(self, understanding: Understanding) -> None:
        """Add what a nested execution writes, unless another has done the very same."""
        written = (output.write.dataset.identifier for output in understanding.outputs)
        said = frozenset(("out", i) for i in written) | {("in", d.identifier) for d in understanding.inputs}
        if said in self._known:
            return
        if len(self.nested) >= MOST_PARTS:
            self.beyond = True
            return
        self._known.add(said)
        self.nested.append(understanding)

    def count(self, record: Mapping[str, Any], own: Understanding | None = None) -> None:
        """
        Count what an execution or job of it did.

        Args:
            record: of the end, as the probe sends it.
            own: what the execution's own plan says, which need not be a part of the run.
        """
        self.counted.add(record, self.parts if own is None else [*self.parts, own])

    def state(
        self, event_type: str, time: datetime.datetime, engine: Engine, parent: Parent, failure: Failure | None = None
    ) -> RunState:
        """
        What is to be told of it.

        Args:
            event_type: START, COMPLETE, FAIL or ABORT.
            time: aware.
            engine: what it runs on.
            parent: of the run.
            failure: why it failed, if it did; what was written then is not told.
        """
        counted = Counted() if event_type == "START" else self.counted
        remarks = dict.fromkeys(n for part in self.parts for n in part.not_understood)
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
            not_understood=(*remarks, *([_BEYOND] if self.beyond else [])),
            operators=sum(part.operators for part in self.parts),
        )
