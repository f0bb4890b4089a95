"""
Assemble runs from executions: which executions are runs, when each run begins and ends, and its state at each event.

A root execution is one run, however many nested executions Spark splits it into; a streaming query is one run that
spans all its micro-batches. Pure: the probe's records and the analyses of their plans go in, states of runs come out.

The records of nested executions are kept until the plan of their root execution is known. A nested execution is part
of its root's run, a write of its root's micro-batch, or a run of its own; only the root's plan shows which. Spark
forgets a query as soon as it has ended, so if the listener lags behind, the plan comes only with the root's end, after
the nested executions have ended.
"""

from __future__ import annotations

import datetime
import re

import attrs
from openlineage_pyspark.facets.commands.target import named_by_its_whole
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Identifier, schema_fields
from openlineage_pyspark.facets.model.plan import simple_name
from openlineage_pyspark.facets.model.run import CallSite, Failure, RunState
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.probe.records import (
    BatchExecution,
    Commit,
    ExecutionEnded,
    ExecutionMetrics,
    ExecutionStarted,
    QueryExecution,
    RddJobEnded,
    RddJobStarted,
    StreamProgressed,
    StreamStarted,
    StreamTerminated,
    TableDropped,
)
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.runs.commits import Commits, ConcurrentExecution
from openlineage_pyspark.listener.runs.executions import (
    Execution,
    ExecutionAnalyzed,
    Executions,
    RecordStep,
    SplitStatements,
)
from openlineage_pyspark.listener.runs.open_run import Jobs, OpenRun, OpenRuns, end_type, output_label
from openlineage_pyspark.listener.runs.rdd_jobs import rdd_job
from openlineage_pyspark.listener.runs.stream_runs import StreamRuns

# Prefixes of the class names of parsed statements that write.
_UNRESOLVED_WRITES = tuple(
    "InsertInto CreateTableAsSelect ReplaceTableAsSelect AppendData Overwrite MergeInto UpdateTable DeleteFrom "
    "CreateDataSourceTable CreateTable CreateView SaveInto".split()
)
_NUMBERED = re.compile(r"(?i)(?:(?:batch|epoch)(?:[_\-. ]?id)?[_\-. =]?)?0*([0-9]{1,18})(?:\.[a-z][a-z0-9]{0,9}){0,2}")


class Runs:
    """The runs of one application."""

    def __init__(self, application: Application) -> None:
        """Start with no runs."""
        self._application = application
        self._jobs = Jobs(application)
        self._executions = Executions()
        self._runs = OpenRuns(application)
        self._streams = StreamRuns(application, self._jobs, self._runs)
        self._statements = SplitStatements()
        self._commits = Commits()

    def wants_plan(self, step: RecordStep) -> bool:
        """
        Return whether the plan in a step can change a run.

        Call this before each `feed`. Spark wraps most writes in several executions, each with the whole plan; only one
        of them is worth decoding and tracing.
        """
        if not isinstance(step, (ExecutionStarted, ExecutionAnalyzed)) or not step.query.has_plan:
            return False
        execution = self._executions.of(step)
        if (execution.settled and step.query.plan is None) or self._executions.repeats(execution, step.query.stream):
            return False
        owner = self._owner(execution)
        wanted = owner is None or not owner.plan_lineage.outputs or owner.awaits_location
        return str(execution.id) not in self._runs and wanted

    def feed(self, step: RecordStep, plan_lineage: PlanLineage | None = None) -> list[RunState]:
        """
        Process one step, and return the run states that it produces, in order.

        Args:
            step: the next step, in the order of `NestedRecordBuffer`.
            plan_lineage: the lineage of its plan, if the plan is wanted.
        """
        match step:
            case ExecutionStarted() | ExecutionAnalyzed():
                execution = self._executions[step.id] = self._executions.of(step)
                return self._settle(execution, step.query, plan_lineage)
            case ExecutionEnded():
                return [*self._release(step), *self._end(step)]
            case TableDropped():
                for begun in self._executions.values():
                    begun.dropped.add(step.name)
                return []
            case StreamStarted():
                self._streams.start(step)
                return []
            case StreamProgressed():
                return self._streams.progress(step)
            case StreamTerminated():
                return self._streams.end(step)
            case RddJobStarted():
                return self._start_rdd_job(step)
            case RddJobEnded():
                return self._end_rdd_job(step)
        return []

    def due(self, now: datetime.datetime) -> list[RunState]:
        """
        Return the RUNNING states of the streaming queries whose micro-batches are to be reported by now.

        Args:
            now: the time (timezone-aware).
        """
        interval = self._application.batch_interval
        runs = [run for run in self._runs.values() if run.started and run.batches is not None]
        return [
            self._runs.state(run, "RUNNING", now) for run in runs if run.batches and run.batches.is_due(now, interval)
        ]

    def abandon(self, time: datetime.datetime, dropped: int = 0, lost: int = 0) -> list[RunState]:
        """
        End the runs that are still open when the application ends, since no further record will end them.

        Args:
            time: when the application ended (timezone-aware).
            dropped: how many events Spark dropped; the ends of these runs may be among them.
            lost: how many records the probe dropped; likewise.
        """
        open_runs = list(self._runs.values())
        self._runs.clear()
        causes = [f"Spark dropped {dropped} events from the listener's queue"] if dropped else []
        causes += [f"the probe dropped {lost} records that the listener did not read in time"] if lost else []
        message = "the application ended before this run did"
        if causes:
            message = f"the end of this run was not reported: {' and '.join(causes)}"
        failure = Failure(message, "JAVA")
        return [self._runs.state(run, "ABORT", time, failure) for run in open_runs if run.started]

    def _settle(self, execution: Execution, query: QueryExecution, plan_lineage: PlanLineage | None) -> list[RunState]:
        """Decide, once its plan is known, whether an execution is a run, part of one, or neither."""
        if execution.settled and query.plan is None:
            return []
        execution.unresolved = query.unresolved or execution.unresolved
        execution.sql = query.statement_text or execution.sql
        execution.stream = query.stream or execution.stream
        execution.batch = query.batch or execution.batch
        execution.settled = execution.settled or query.is_read or query.has_plan
        if plan_lineage is None:
            return []
        if any(output.write.if_dropped is not None for output in plan_lineage.outputs):
            execution.held = (query, plan_lineage)
            return []
        return self._place(execution, query, plan_lineage)

    def _release(self, record: ExecutionEnded) -> list[RunState]:
        """Place an execution that was held back, if Spark has dropped the table as planned, or if it has failed."""
        execution = self._executions.get(record.id)
        if execution is None or execution.held is None:
            return []
        (query, plan_lineage), execution.held = execution.held, None
        awaited = {output.write.if_dropped for output in plan_lineage.outputs}
        if record.failure is None and not awaited & execution.dropped:
            return []
        return self._place(execution, query, plan_lineage)

    def _place(self, execution: Execution, query: QueryExecution, plan_lineage: PlanLineage) -> list[RunState]:
        """Begin a run for an execution, or add it to the run that it belongs to."""
        execution.plan_lineage = plan_lineage
        if execution.stream is not None:
            return self._streams.batch(execution, execution.stream, plan_lineage)
        around = self._executions.get(execution.root)
        nested = execution.id != execution.root
        if nested and around is not None and around.stream is not None:
            batch = self._executions.batch_of(execution)
            if batch is not None:
                execution.plan_lineage = plan_lineage = of_all_batches(plan_lineage, batch.id)
            return self._streams.nested(around.stream, plan_lineage, execution)
        owner = self._owner(execution)
        if owner is not None:
            if plan_lineage.outputs and not (owner.awaits_location and owner.locate(plan_lineage)):
                owner.grow(plan_lineage)
            return []
        if not nested:
            execution.statement = execution.statement or self._statements.of(query)
        if not self._is_run(plan_lineage, simple_name(query.plan_class or ""), nested=nested):
            return []
        return self._begin_own(execution, plan_lineage)

    def _begin_own(self, execution: Execution, plan_lineage: PlanLineage) -> list[RunState]:
        """Begin a run for an execution, unless an earlier execution of the same statement has begun it."""
        begun = self._runs.get(execution.key) if execution.statement is not None else None
        if begun is not None:
            begun.grow(plan_lineage)
            return []
        run = self._open(execution, plan_lineage)
        if execution.statement is not None:
            execution.statement.run, run.is_split = run.key, True
        run.started = True
        return [self._runs.state(run, "START", execution.time)]

    def _is_run(self, plan_lineage: PlanLineage, top: str, *, nested: bool) -> bool:
        if plan_lineage.outputs:
            return True
        if plan_lineage.quiet or top == "CommandResult":
            return False
        if plan_lineage.unnamed or (plan_lineage.command is None and plan_lineage.columns is None):
            return True  # a command without a rule, or a plan that could not be read
        return self._application.reads and not nested

    def _open(self, execution: Execution, plan_lineage: PlanLineage) -> OpenRun:
        word = plan_lineage.command or ("query" if plan_lineage.columns is not None else "command")
        key = str(execution.id)
        job = self._jobs.job(word, output_label(plan_lineage, self._application.trimming), "SQL_JOB", sql=execution.sql)
        site = self._call_site(execution)
        identity = self._jobs.run_id(f"execution {key}")
        run = self._runs[key] = OpenRun(
            key, identity, self._jobs.at(job, site), plan_lineage, call_site=site, session=execution.session
        )
        return run

    def _call_site(self, execution: Execution) -> CallSite | None:
        """Return the line of Python that runs an execution, or the one around it, as events name it."""
        return self._jobs.call_site(self._executions.get(execution.root, execution).call_site)

    def _owner(self, execution: Execution) -> OpenRun | None:
        if execution.root == execution.id:
            return None
        around = self._executions.get(execution.root)
        key = str(execution.root) if around is None or around.stream is not None else around.key
        return self._runs.get(key)

    def _run_around(self, execution: Execution) -> OpenRun | None:
        """Return the run that an execution belongs to: its own, its stream's, its root's, or its root's stream's."""
        if execution.stream is not None:
            return self._runs.get(execution.stream)
        around = self._executions.get(execution.root, execution)
        return self._runs.get(str(execution.id)) or self._runs.get(around.key)

    def _end(self, record: ExecutionEnded) -> list[RunState]:
        execution = self._executions.pop(record.id)
        run = self._run_around(execution)
        if run is not None:
            self._count(run, execution, record)
            self._commit(run, execution, record)
            run.describe(schema_fields(record.schema))
            if record.failure is None and run.key == execution.key:
                run.settle(made=record.made)
        oldest = min((each.time for each in self._executions.values()), default=None)
        self._commits.end(self._writer(execution, record.time), oldest)
        statement = execution.statement
        if statement is not None and not self._statements.end(statement, failed=record.failure is not None):
            return []
        if run is None or run.key != execution.key or execution.stream is not None:
            # A statement fails with any execution inside it; a stream goes on if `foreachBatch` catches the failure.
            is_reported = run is not None and run.batches is None
            return [] if is_reported else self._analysis_error(execution, record)
        del self._runs[run.key]
        return [self._runs.state(run, end_type(record.failure), record.time, record.failure)]

    def _count(self, run: OpenRun, execution: Execution, record: ExecutionEnded) -> None:
        """Add the counts of an execution to its run; in a stream, only the micro-batch counts source rows."""
        own = [] if execution.plan_lineage is None else [execution.plan_lineage]
        around = self._executions.get(execution.root)
        if execution.stream is not None:
            parts = own
        elif around is not None and around.stream is not None:
            parts = [*run.nested, *own]
        else:
            parts = [*run.parts, *own]
        metrics, outputs = record.metrics, self._executions.outputs_of(execution)
        if self._executions.repeats(execution, execution.stream):
            metrics = ExecutionMetrics(tasks=metrics.tasks)
        run.count(metrics, parts, outputs)
        batch = self._executions.batch_of(execution)
        if run.batches is not None and batch is not None and record.failure is None:
            run.batches.count(batch.id, metrics, parts, outputs)
            around_it = self._outputs_around(execution)
            for part in own:
                for each in part.outputs:
                    output = each.write.dataset.identifier
                    run.batches.wrote(batch.id, output, None if output in around_it else each.write.lifecycle)

    def _outputs_around(self, execution: Execution) -> frozenset[Identifier]:
        """
        Return what the statements around an execution write.

        Spark runs a first `saveAsTable` that appends as a statement with an overwriting write inside it.
        """
        around = [each for each in self._executions.values() if each.root == execution.root and each.id < execution.id]
        plans = [each.plan_lineage for each in around if each.plan_lineage is not None and each.stream is None]
        return frozenset(output.write.dataset.identifier for plan in plans for output in plan.outputs)

    def _commit(self, run: OpenRun, execution: Execution, record: ExecutionEnded) -> None:
        """Add the commits that an execution of the run has made to the run's outputs."""
        running = [self._writer(each) for each in self._executions.values()]
        by_output: dict[Identifier, list[Commit]] = {}
        batch = self._executions.batch_of(execution)
        for commit in record.commits:
            output = self._committed(run, commit, batch)
            if output is not None:
                by_output.setdefault(output, []).append(commit)
                if commit.generated:
                    run.generated[output] = commit.generated
        for output, commits in by_output.items():
            own = self._commits.own(output, commits, record.metrics, execution.time, running, execution.root)
            run.commit(output, own)
            if run.batches is not None and batch is not None:
                run.batches.commit(batch.id, output, own)

    def _committed(self, run: OpenRun, commit: Commit, batch: BatchExecution | None) -> Identifier | None:
        """Return the output of a run to which a commit was made; None if there is none."""
        place, trimming = naming.location(commit.location), self._application.trimming
        known = run.output_at(trimming.trimmed(place), commit.table)
        if known is not None:
            return known
        # In a path, a day or a batch number in the name of the folder is left out too.
        place = trimming.trimmed(place, is_path=True)
        return run.output_at(place if batch is None else around_batch(place, batch.id), None)

    def _writer(self, execution: Execution, ended: datetime.datetime | None = None) -> ConcurrentExecution:
        run = self._run_around(execution)
        outputs = frozenset[Identifier]() if run is None else run.outputs
        known = run is not None or execution.settled
        return ConcurrentExecution(execution.root, outputs if known else None, ended)

    def _analysis_error(self, execution: Execution, record: ExecutionEnded) -> list[RunState]:
        """Return START and FAIL, without datasets, of a statement whose analysis failed; only Spark 4 reports it."""
        if execution.unresolved is None or record.failure is None:
            return []
        name = execution.unresolved.rsplit(".", 1)[-1]
        if not self._application.reads and not name.startswith(_UNRESOLVED_WRITES):
            return []
        job = self._jobs.job(naming.snake_case(name), "", "SQL_JOB", sql=execution.sql)
        site = self._call_site(execution)
        identity = self._jobs.run_id(f"execution {execution.id}")
        run = OpenRun(str(execution.id), identity, self._jobs.at(job, site), PlanLineage(), call_site=site)
        return [
            self._runs.state(run, "START", execution.time),
            self._runs.state(run, "FAIL", record.time, record.failure),
        ]

    def _start_rdd_job(self, record: RddJobStarted) -> list[RunState]:
        plan_lineage = rdd_job(record, self._application.trimming)
        if not self._application.rdds or not (record.writes or plan_lineage.inputs):
            return []
        key = f"job {record.job}"
        label = output_label(plan_lineage, self._application.trimming)
        job = self._jobs.job(plan_lineage.command or "rdd", label, "RDD_JOB")
        run = self._runs[key] = OpenRun(key, self._jobs.run_id(key), job, plan_lineage)
        run.started = True
        return [self._runs.state(run, "START", record.time)]

    def _end_rdd_job(self, record: RddJobEnded) -> list[RunState]:
        run = self._runs.pop(f"job {record.job}", None)
        if run is None:
            return []
        if record.failure is None:
            run.count(record.metrics, run.parts)
        return [self._runs.state(run, end_type(record.failure), record.time, record.failure)]


# The folders that `foreachBatch` writes, one for each micro-batch.
# The names of such folders contain the number of the batch (`out/7`, `out/batch_7`). They are one dataset, the folder
# around them: otherwise the event of a stream would grow with each batch, and each restart would be a different job.


def around_batch(place: Identifier, batch: int) -> Identifier:
    """Return the folder around the folder of a micro-batch; return any other place unchanged."""
    folder, _, last = place.name.rpartition("/")
    found = _NUMBERED.fullmatch(last)
    return Identifier(place.namespace, folder) if folder and found and int(found[1]) == batch else place


def of_all_batches(plan_lineage: PlanLineage, batch: int) -> PlanLineage:
    """Return the lineage of a write inside a micro-batch, with the output of all batches as its output."""
    outputs = tuple(_of_all(output, batch) for output in plan_lineage.outputs)
    return plan_lineage if outputs == plan_lineage.outputs else attrs.evolve(plan_lineage, outputs=outputs)


def _of_all(output: WrittenDataset, batch: int) -> WrittenDataset:
    write, dataset = output.write, output.write.dataset
    place = around_batch(dataset.identifier, batch) if dataset.type == "FILE" else dataset.identifier
    if place == dataset.identifier and not dataset.locations:
        return output
    label = place.path_label if write.label == dataset.identifier.path_label else write.label
    # Later batches write other parts.
    whole = attrs.evolve(dataset, identifier=place, locations=())
    return attrs.evolve(output, write=attrs.evolve(named_by_its_whole(write, whole), label=label))
