"""The application's own run, and the state that all runs of a Spark application share."""

from __future__ import annotations

import datetime

import attrs
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Trimming
from openlineage_pyspark.facets.model.run import (
    Engine,
    EventType,
    Failure,
    Gap,
    Job,
    Outcome,
    Parent,
    RunReference,
    RunState,
    Submission,
)


@attrs.frozen
class Application:
    """
    What all runs of one application share.

    Args:
        id: Spark's application id.
        started: when it started (timezone-aware).
        namespace: the namespace of its jobs.
        name: its normalised name; every job's name begins with it.
        run: the application's own run, the parent of the others.
        root: the run at the top of the hierarchy.
        engine: the processing engine.
        parent: the parent of the application's own run; None if nothing else started it.
        metastore: `hive.metastore.uris`, for sessions whose catalog is Hive's.
        reads: whether executions without an output become runs.
        rdds: whether RDD-only jobs become runs.
        source_location: URI of the user's script.
        call_sites: where events report the lines of the user's Python: `facet`, `url` (also in a URL), or `none`.
        append_command: whether job names contain the command.
        append_dataset_name: whether job names end with the name of the dataset they write.
        replace_dots: whether `_` replaces the dots in job names.
        trimming: the rules that shorten the names of datasets.
        views: whether permanent views that are read count as inputs.
        submission: how it was started; None if that is unknown.
        batch_interval: the minimum number of seconds between two events that report micro-batches of a run; if it is
            negative, the run reports them only when there are as many as one event can list.
    """

    id: str
    started: datetime.datetime
    namespace: str
    name: str
    run: RunReference
    root: RunReference
    engine: Engine
    parent: Parent | None = None
    metastore: str | None = None
    reads: bool = False
    rdds: bool = True
    source_location: str | None = None
    call_sites: str = "facet"
    append_command: bool = True
    append_dataset_name: bool = True
    replace_dots: bool = False
    trimming: Trimming = DEFAULT_TRIMMING
    views: bool = True
    submission: Submission | None = None
    batch_interval: float = 60.0

    def started_state(self) -> RunState:
        """Return the START state of the application's own run."""
        return attrs.evolve(self._state("START", self.started), submission=self.submission)

    def ended_state(
        self,
        outcome: Outcome,
        time: datetime.datetime,
        gaps: tuple[Gap, ...],
        records: int,
        metrics: tuple[tuple[str, object], ...] = (),
    ) -> RunState:
        """
        Return the final state of the application's own run.

        Args:
            outcome: how the application ended.
            time: when it ended (timezone-aware).
            gaps: the faults of the listener, and what was lost.
            records: the total number of records.
            metrics: the listener's counters, by name.
        """
        failure = None
        if outcome.event_type != "COMPLETE":
            failure = Failure(outcome.message, "PYTHON", outcome.stack_trace, outcome.raised)
        state = self._state(outcome.event_type, time)
        return attrs.evolve(state, failure=failure, gaps=gaps, operators=records, metrics=metrics)

    def _state(self, event_type: EventType, time: datetime.datetime) -> RunState:
        job = Job(self.namespace, self.name, "APPLICATION", "NONE", None, self.source_location)
        return RunState(event_type, time, self.run.run_id, job, self.engine, self.parent)
