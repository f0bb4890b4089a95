"""What all runs of one Spark application share, and the application's own run."""

from __future__ import annotations

import datetime

import attrs
from openlineage_pyspark.facets.model.run import Engine, Failure, Gap, Job, Outcome, Parent, RunReference, RunState


@attrs.frozen
class Application:
    """
    What all runs of one application share.

    Args:
        id: Spark's id of it.
        started: aware.
        namespace: of its jobs.
        name: normalised; every job's name begins with it.
        run: the application's own run, the parent of the others.
        root: the run at the very top.
        engine: what it runs on.
        parent: of the application's own run, where something else has started it.
        metastore: `hive.metastore.uris`, for the sessions whose catalog is Hive's.
        reads: whether executions without an output are runs.
        rdds: whether jobs of RDDs alone are runs.
        source_location: URI of the user's script.
        append_dataset_name: whether a job's name ends with what it writes.
        replace_dots: whether a job's name has `_` in place of its dots.
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
    append_dataset_name: bool = True
    replace_dots: bool = False

    def started_state(self) -> RunState:
        """Return the START of the application's own run."""
        return self._state("START", self.started)

    def ended_state(self, outcome: Outcome, time: datetime.datetime, gaps: tuple[Gap, ...], records: int) -> RunState:
        """
        Return the end of the application's own run.

        Args:
            outcome: how the application ended.
            time: aware.
            gaps: what was lost on the way.
            records: how many records there were in all.
        """
        failure = None
        if outcome.event_type != "COMPLETE":
            failure = Failure(outcome.message, "PYTHON", outcome.stack_trace)
        state = self._state(outcome.event_type, time)
        return attrs.evolve(state, failure=failure, gaps=gaps, operators=records)

    def _state(self, event_type: str, time: datetime.datetime) -> RunState:
        job = Job(self.namespace, self.name, "APPLICATION", "NONE", None, self.source_location)
        return RunState(event_type, time, self.run.run_id, job, self.engine, self.parent)
