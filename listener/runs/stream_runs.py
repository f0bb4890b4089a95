"""
The runs of streaming queries: each spans all micro-batches of its query.

A micro-batch is an execution whose plan shows what the query reads and writes. `foreachBatch` writes in executions that
are nested in it. The query's progress says when a micro-batch is committed.
"""

from __future__ import annotations

from openlineage_pyspark.facets.model.run import Job, RunState
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
from openlineage_pyspark.listener.latest import Latest
from openlineage_pyspark.listener.probe.records import (
    BatchExecution,
    StreamProgressed,
    StreamStarted,
    StreamTerminated,
)
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.runs.executions import Execution
from openlineage_pyspark.listener.runs.micro_batches import MicroBatches
from openlineage_pyspark.listener.runs.open_run import Jobs, OpenRun, OpenRuns, end_type, stream_label
from openlineage_pyspark.listener.runs.stream_sources import SourceNames

# The maximum number of streaming queries that are remembered, so that a restarted one is recognized.
_MOST_QUERIES = 10_000
# Its sinks are those of files, whose writes are known, and `foreachBatch`.
_FOREACH_BATCH = "write_to_micro_batch_data_source_v1"


class StreamRuns:
    """
    Assemble the runs of streaming queries.

    Args:
        application: the application.
        jobs: names the jobs of its runs.
        runs: its open runs, of queries among them.
    """

    def __init__(self, application: Application, jobs: Jobs, runs: OpenRuns) -> None:
        self._application = application
        self._jobs = jobs
        self._runs = runs
        self._started: dict[str, StreamStarted] = {}
        self._queries: Latest[str, None] = Latest(_MOST_QUERIES)

    def start(self, record: StreamStarted) -> None:
        """Remember that a query has started: its run begins with its first micro-batch that shows what it writes."""
        self._started[record.run] = record

    def batch(self, execution: Execution, query: str, plan_lineage: PlanLineage) -> list[RunState]:
        """Add a micro-batch to its query's run; the first one shows the inputs and outputs of the query."""
        run = self._runs.get(query)
        if run is None:
            job = self._job(query, [plan_lineage], execution.sql)
            identity = self._jobs.run_id(f"stream {query}")
            run = self._runs[query] = OpenRun(query, identity, job, plan_lineage, session=execution.session)
            run.batches = self._micro_batches(query, execution.batch)
        elif len(plan_lineage.outputs) > len(run.plan_lineage.outputs):
            run.plan_lineage = plan_lineage
        elif run.reads_more(plan_lineage):
            # The earlier batches had no new data from one of the sources.
            run.grow(plan_lineage)
        if run.batches is not None:
            run.batches.begin(execution.batch, plan_lineage)
        return self._begin(run, execution)

    def nested(self, query: str, plan_lineage: PlanLineage, execution: Execution) -> list[RunState]:
        """Add what `foreachBatch` writes to the run of its stream."""
        run = self._runs.get(query)
        if run is None or not plan_lineage.outputs:
            return []
        run.grow(plan_lineage)
        return self._begin(run, execution)

    def progress(self, record: StreamProgressed) -> list[RunState]:
        """Collect a committed micro-batch, and report the collected ones if a report is due."""
        run = self._runs.get(record.run)
        if run is None or run.batches is None:
            return []
        batches, states = run.batches, list[RunState]()
        batch = batches.completed(record)
        if batch is None:
            return []
        if not batches.has_room(batch) and not run.started and self._application.reads:
            # The query may never write, and the batches can't wait until its end.
            run.started = True
            states.append(self._runs.state(run, "START", record.time))
        while not batches.has_room(batch):
            if run.started:
                states.append(self._runs.state(run, "RUNNING", record.time))
            else:
                batches.forget_oldest()
        batches.add(batch, record)
        if run.started and batches.is_due(record.time, self._application.batch_interval):
            states.append(self._runs.state(run, "RUNNING", record.time))
        return states

    def end(self, record: StreamTerminated) -> list[RunState]:
        """
        End the run of a query.

        One that never wrote is a run if reads are reported, or if it has failed before its sink is known: without a
        micro-batch, or in a function for each batch.
        """
        run, begun_at = self._runs.pop(record.run, None), record.time
        unseen = run is None and record.failure is not None
        if unseen:
            identity = self._jobs.run_id(f"stream {record.run}")
            run = OpenRun(record.run, identity, self._job(record.run, [PlanLineage()], None), PlanLineage())
            run.batches = self._micro_batches(record.run, None)
        started = self._started.pop(record.run, None)
        if run is None:
            return []
        fails = unseen or (record.failure is not None and run.plan_lineage.command == _FOREACH_BATCH)
        if not (run.started or self._application.reads or fails):
            return []
        if fails and started is not None:
            begun_at = started.time
        begun = [] if run.started else [self._runs.state(run, "START", begun_at)]
        return [*begun, self._runs.state(run, end_type(record.failure), record.time, record.failure)]

    def _micro_batches(self, run: str, batch: BatchExecution | None) -> MicroBatches:
        started = self._started.get(run)
        id_ = batch.query if batch is not None else started.query if started is not None else None
        batches = MicroBatches(run, SourceNames(self._application.trimming), id_)
        batches.name = started.name if started is not None else None
        batches.continues = (batch is not None and batch.id > 0) or id_ in self._queries
        if id_ is not None:
            self._queries.put(id_, None)
        return batches

    def _job(self, query: str, parts: list[PlanLineage], sql: str | None) -> Job:
        started = self._started.get(query)
        label = stream_label(started.name if started is not None else None, parts, self._application.trimming)
        return self._jobs.job("streaming_query", label, "SQL_JOB", "STREAMING", sql)

    def _begin(self, run: OpenRun, execution: Execution) -> list[RunState]:
        unknown = run.plan_lineage.unnamed or (run.plan_lineage.command is None and run.plan_lineage.columns is None)
        if run.started or not (run.plan_lineage.outputs or run.nested or unknown):
            return []
        run.started = True
        # At this point the writes of `foreachBatch` are known.
        run.job = self._job(run.key, run.parts, run.job.sql)
        started = self._started.get(run.key)
        return [self._runs.state(run, "START", execution.time if started is None else started.time)]
