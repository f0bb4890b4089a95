"""
From executions to runs: which of them is a run, when it begins and ends, and what is known of it then.

One run stands for one root execution, however many nested ones Spark makes of it; a streaming query is one run over
all of its micro-batches. Pure: the probe's records go in, states of runs come out.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.events.ids import run_id
from openlineage_pyspark.facets.model.plan import simple_name
from openlineage_pyspark.facets.model.run import Engine, Failure, Job, Parent, RunReference, RunState
from openlineage_pyspark.facets.plan_lineage import PlanLineage
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.probe.records import end_with, failure_of, sql_of, time_of
from openlineage_pyspark.listener.runs.execution import Execution, Statements, Undecided
from openlineage_pyspark.listener.runs.job_names import job_name, label_of, stream_label
from openlineage_pyspark.listener.runs.memory import PlanReader
from openlineage_pyspark.listener.runs.open_run import OpenRun
from openlineage_pyspark.listener.runs.rdd_jobs import counted_by, rdd_job

_UNRESOLVED_WRITES = (
    "InsertInto CreateTableAsSelect ReplaceTableAsSelect AppendData Overwrite MergeInto UpdateTable DeleteFrom "
    "CreateDataSourceTable CreateTable CreateView SaveInto".split()
)


@attrs.frozen
class Application:
    """
    What every run of one application shares.

    Args:
        id: Spark's.
        started: aware.
        namespace: of its jobs.
        name: normalised; every job's name begins with it.
        run: the application's own run, the parent of the others.
        root: the run at the very top.
        engine: what it runs on.
        metastore: `hive.metastore.uris`, for the sessions whose catalog is Hive's.
        reads: whether executions without an output are runs.
        rdds: whether jobs of RDDs alone are runs.
        source_location: URI of the user's script.
        append_dataset_name: whether a job's name ends with what it writes.
        replace_dots: whether a job's name has `_` in place of its dots.
        redaction: what is taken out of the texts of its events.
    """

    id: str
    started: datetime.datetime
    namespace: str
    name: str
    run: RunReference
    root: RunReference
    engine: Engine
    metastore: str | None = None
    reads: bool = False
    rdds: bool = True
    source_location: str | None = None
    append_dataset_name: bool = True
    replace_dots: bool = False
    redaction: Redaction = attrs.Factory(Redaction)


class Runs:
    """The runs of one application, fed with the probe's records in their order."""

    def __init__(self, application: Application, guard: Guard | None = None) -> None:
        """
        Begin without any run.

        Args:
            application: what its runs belong to.
            guard: what a fault in the reading of one plan is caught by.
        """
        self._application = application
        self._reader = PlanReader(application.metastore, guard or Guard())
        self._executions: dict[int, Execution] = {}
        self._runs: dict[str, OpenRun] = {}
        self._streams: dict[str, Mapping[str, Any]] = {}
        self._undecided = Undecided()
        self._statements = Statements()

    def feed(self, record: Mapping[str, Any]) -> list[RunState]:
        """
        Take one record.

        Args:
            record: of the probe, parsed.

        Returns:
            the states of runs that it makes known, in order.
        """
        kind = record["k"]
        if kind in ("start", "end"):
            if self._undecided.keeps(record):
                return []
            return self._start(record) if kind == "start" else self._end(record)
        if kind == "stream":
            return self._stream(record)
        if kind == "rdd_start":
            return self._rdd_start(record)
        if kind == "rdd_end":
            return self._rdd_end(record)
        return []

    def abandon(self, time: datetime.datetime, dropped: int = 0) -> list[RunState]:
        """
        End the runs that are still open when the application ends: nobody will hear of them any more.

        Args:
            time: aware.
            dropped: events that Spark did not tell; the ends of these runs may be among them.
        """
        states = self._feed_all(self._undecided.release_all())
        open_runs = list(self._runs.values())
        self._runs.clear()
        message = "the application ended before this run did"
        if dropped:
            message = f"no end of this run was told: Spark dropped {dropped} events of the listener's queue"
        failure = Failure(message, "JAVA")
        return states + [self._state(run, "ABORT", time, failure) for run in open_runs if run.started]

    def _feed_all(self, records: Iterable[Mapping[str, Any]]) -> list[RunState]:
        return [state for record in records for state in self.feed(record)]

    def _start(self, record: Mapping[str, Any]) -> list[RunState]:
        execution = Execution(record["id"], record["root"], record["time"])
        self._executions[execution.id] = execution
        states = self._settle(execution, record)
        if not execution.settled and execution.id == execution.root:
            self._undecided.begin(execution.id)
        return states

    def _settle(self, execution: Execution, record: Mapping[str, Any]) -> list[RunState]:
        """Decide, as soon as its plan is known, what an execution is: a run, part of one, or nothing."""
        execution.unresolved = record.get("unresolved", execution.unresolved)
        execution.sql = sql_of(record) or execution.sql
        if "stream" in record:
            execution.stream = record["stream"]
        if "plan" not in record and "fault" not in record:
            execution.settled = execution.settled or record.get("read", False)
            return []
        execution.settled = True
        owner = self._owner(execution)
        if str(execution.id) in self._runs or (owner is not None and owner.plan_lineage.outputs):
            return []
        plan_lineage = self._reader.read(record)
        execution.plan_lineage = plan_lineage
        if execution.stream is not None:
            self._reader.remember(plan_lineage)
            return self._batch(execution, plan_lineage)
        around = self._executions.get(execution.root)
        if execution.root != execution.id and around is not None and around.stream is not None:
            return self._nested_in_stream(around.stream, plan_lineage, execution)
        if owner is not None:
            if plan_lineage.outputs:
                owner.grow(plan_lineage)
            return []
        top = simple_name(record.get("class", ""))
        nested = execution.id != execution.root
        if not nested:
            execution.statement = execution.statement or self._statements.of(record)
        if not self._is_run(plan_lineage, top, nested=nested):
            return []
        return self._begin_own(execution, plan_lineage)

    def _begin_own(self, execution: Execution, plan_lineage: PlanLineage) -> list[RunState]:
        """A run that is no part of one around it, unless an earlier execution of the same statement has begun it."""
        begun = self._runs.get(execution.key) if execution.statement is not None else None
        if begun is not None:
            begun.grow(plan_lineage)
            return []
        run = self._open(execution, plan_lineage)
        if execution.statement is not None:
            execution.statement.run = run.key
        run.started = True
        return [self._state(run, "START", time_of(execution.time))]

    def _is_run(self, plan_lineage: PlanLineage, top: str, *, nested: bool) -> bool:
        if plan_lineage.outputs:
            return True
        if plan_lineage.quiet or top == "CommandResult":
            return False
        if plan_lineage.command is None and plan_lineage.columns is None:
            return True  # a command without a rule
        return self._application.reads and not nested

    def _open(self, execution: Execution, plan_lineage: PlanLineage) -> OpenRun:
        word = plan_lineage.command or ("query" if plan_lineage.columns is not None else "command")
        key = str(execution.id)
        run = self._make(key, f"execution {key}", word, label_of(plan_lineage), plan_lineage, sql=execution.sql)
        self._runs[key] = run
        return run

    def _make(
        self,
        key: str,
        identity: str,
        word: str,
        label: str,
        plan_lineage: PlanLineage,
        *,
        type_: str = "SQL_JOB",
        processing: str = "BATCH",
        sql: str | None = None,
    ) -> OpenRun:
        app = self._application
        name = job_name([app.name, word, label if app.append_dataset_name else ""], replace_dots=app.replace_dots)
        job = Job(app.namespace, name, type_, processing, sql, app.source_location)
        return OpenRun(key, run_id(app.started, app.id, identity), job, plan_lineage)

    def _owner(self, execution: Execution) -> OpenRun | None:
        if execution.root == execution.id:
            return None
        around = self._executions.get(execution.root)
        key = str(execution.root) if around is None or around.stream is not None else around.key
        return self._runs.get(key)

    def _run_around(self, execution: Execution) -> OpenRun | None:
        """The run that an execution belongs to: its own, or that of its root, or of its root's stream."""
        around = self._executions.get(execution.root, execution)
        return self._runs.get(str(execution.id)) or self._runs.get(around.key)

    def _end(self, record: Mapping[str, Any]) -> list[RunState]:
        id_ = record["id"]
        execution = self._executions.setdefault(id_, Execution(id_, id_, record["time"]))
        states = self._settle(execution, record) if not execution.settled or "plan" in record else []
        if record.get("checkpoint") and execution.plan_lineage is not None:
            self._reader.remember(execution.plan_lineage)
        states += self._feed_all(self._undecided.release(id_))
        run = self._run_around(execution)
        del self._executions[id_]
        if run is not None:
            run.count(record, execution.plan_lineage)
        failure, statement = failure_of(record), execution.statement
        if statement is not None and not self._statements.end(statement, failed=failure is not None):
            return states
        if run is None or run.key != execution.key or execution.stream is not None:
            return states + self._analysis_error(execution, record)
        del self._runs[run.key]
        state = self._state(run, end_with(failure), time_of(record["time"]), failure)
        return [*states, state]

    def _analysis_error(self, execution: Execution, record: Mapping[str, Any]) -> list[RunState]:
        """A statement that could not be analysed (Spark 4 tells of them): a failed run without datasets."""
        unresolved, failure = execution.unresolved, failure_of(record)
        if unresolved is None or failure is None:
            return []
        name = unresolved.rsplit(".", 1)[-1]
        if not self._application.reads and not name.startswith(tuple(_UNRESOLVED_WRITES)):
            return []
        identity = f"execution {execution.id}"
        word = naming.snake_case(name)
        run = self._make(str(execution.id), identity, word, "", PlanLineage(), sql=execution.sql)
        return [
            self._state(run, "START", time_of(execution.time)),
            self._state(run, "FAIL", time_of(record["time"]), failure),
        ]

    def _stream(self, record: Mapping[str, Any]) -> list[RunState]:
        query = record["run"]
        if record["event"].startswith("QueryStarted"):
            self._streams[query] = record
            return []
        if not record["event"].startswith("QueryTerminated"):
            return []
        self._streams.pop(query, None)
        run = self._runs.pop(query, None)
        if run is None or not (run.started or self._application.reads):
            return []
        states = [] if run.started else [self._state(run, "START", time_of(record["time"]))]
        failure = failure_of(record)
        return [*states, self._state(run, end_with(failure), time_of(record["time"]), failure)]

    def _batch(self, execution: Execution, plan_lineage: PlanLineage) -> list[RunState]:
        """A micro-batch: the first one shows what its query reads and writes."""
        query = str(execution.stream)
        run = self._runs.get(query)
        if run is None:
            label = stream_label(self._streams.get(query, {}), plan_lineage)
            run = self._runs[query] = self._make(
                query,
                f"stream {query}",
                "streaming_query",
                label,
                plan_lineage,
                processing="STREAMING",
                sql=execution.sql,
            )
        elif len(plan_lineage.outputs) > len(run.plan_lineage.outputs):
            run.plan_lineage = plan_lineage
        return self._begin(run, execution)

    def _nested_in_stream(self, query: str, plan_lineage: PlanLineage, execution: Execution) -> list[RunState]:
        """What `foreachBatch` writes is the stream's own output."""
        run = self._runs.get(query)
        if run is None or not plan_lineage.outputs:
            return []
        run.grow(plan_lineage)
        return self._begin(run, execution)

    def _begin(self, run: OpenRun, execution: Execution) -> list[RunState]:
        unknown = run.plan_lineage.command is None and run.plan_lineage.columns is None
        if run.started or not (run.plan_lineage.outputs or run.nested or unknown):
            return []
        run.started = True
        started = self._streams.get(run.key, {}).get("time", execution.time)
        return [self._state(run, "START", time_of(started))]

    def _rdd_start(self, record: Mapping[str, Any]) -> list[RunState]:
        plan_lineage = rdd_job(record)
        if not self._application.rdds or not (record["write"] or plan_lineage.inputs):
            return []
        key = f"job {record['job']}"
        word, label = plan_lineage.command or "rdd", label_of(plan_lineage)
        run = self._runs[key] = self._make(key, key, word, label, plan_lineage, type_="RDD_JOB")
        run.started = True
        return [self._state(run, "START", time_of(record["time"]))]

    def _rdd_end(self, record: Mapping[str, Any]) -> list[RunState]:
        run = self._runs.pop(f"job {record['job']}", None)
        if run is None:
            return []
        failure = failure_of(record)
        if failure is None:
            run.count(counted_by(record))
        return [self._state(run, end_with(failure), time_of(record["time"]), failure)]

    def _state(
        self, run: OpenRun, event_type: str, time: datetime.datetime, failure: Failure | None = None
    ) -> RunState:
        app = self._application
        return run.state(event_type, time, app.engine, Parent(app.run, app.root), failure)
