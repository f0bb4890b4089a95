"""
The probe's records as frozen values: one class per kind of record, and `parse`, the only reader of their JSON.

The classes have Spark's names for their subjects. `parse` raises `InvalidRecordError` for a record that is not
JSON, has an unknown kind or lacks a member.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn, TypeAlias, TypeVar

import attrs
from openlineage_pyspark.facets.model.dataset import Statistics
from openlineage_pyspark.facets.model.plan import Plan
from openlineage_pyspark.facets.model.run import CallSite, Failure, Raised
from openlineage_pyspark.facets.model.session import StatementSession
from openlineage_pyspark.listener.probe.decode import cut_text, decode_plan

T = TypeVar("T")

_IN_FILE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9})")
_IN_CELL = re.compile(r"line (?P<line>\d{1,9}) in cell \[(?P<cell>\d{1,9})\]")


class InvalidRecordError(ValueError):
    """A record of the probe does not follow the protocol."""


@attrs.frozen(eq=False)
class EncodedPlan:
    """An analyzed plan as the probe encoded it; most are never decoded."""

    _encoded: Mapping[str, Any] = attrs.field(repr=False)

    def decode(self, place: Callable[[str], str] = lambda _site: "") -> Plan:
        """
        Return the plan.

        Args:
            place: shortens the line of Python that made an expression; by default it is left out.

        Raises:
            LookupError: the encoding refers to something that it does not contain.
            TypeError: the encoding has the wrong form.
            ValueError: the encoding has the wrong form.
        """
        return decode_plan(self._encoded, place)


@attrs.frozen
class ParsedStatement:
    """
    The SQL statement of an execution, as Spark's parser saw it.

    Args:
        class_name: simple name of the class of the parsed plan's root.
        writes: whether it writes, as INSERT, MERGE or CREATE TABLE AS SELECT do.
        inserts: how many INSERTs it has; `FROM t INSERT INTO a ... INSERT INTO b ...` has two.
    """

    class_name: str
    writes: bool
    inserts: int


@attrs.frozen
class BatchExecution:
    """
    Which micro-batch an execution is.

    Args:
        id: number of the micro-batch.
        query: id of the streaming query, which stays the same when the query restarts from its checkpoint.
        checkpoint: the URI of the checkpoint; None if it is unknown.
    """

    id: int
    query: str
    checkpoint: str | None = None


@attrs.frozen
class QueryExecution:
    """
    The probe's view of an execution's `QueryExecution`; everything is empty if there was none.

    Args:
        plan: the analyzed plan.
        plan_class: full name of the Java class of that plan's root.
        is_command: whether the root is a command.
        is_read: whether the plan was left out because it only reads.
        stream: id of the streaming query's run, if this is one of its micro-batches.
        batch: which of its micro-batches this is.
        sql: text of the statement.
        query_sql: text of the query inside the statement, if the statement's own node has lost its text.
        text_identity: identity of the text object in the JVM, shared by all executions of a statement.
        statement: what Spark's parser made of the text.
        fault: why the plan could not be encoded.
        unresolved: full name of the Java class of the parsed plan's root, if the analysis failed.
    """

    plan: EncodedPlan | None = None
    plan_class: str | None = None
    is_command: bool = False
    is_read: bool = False
    stream: str | None = None
    batch: BatchExecution | None = None
    sql: str | None = None
    query_sql: str | None = None
    text_identity: int | None = None
    statement: ParsedStatement | None = None
    fault: str | None = None
    unresolved: str | None = None

    @property
    def has_plan(self) -> bool:
        """Whether the plan is known, or why it could not be encoded."""
        return self.plan is not None or self.fault is not None

    @property
    def statement_text(self) -> str | None:
        """The text of the statement; the text of a query counts only if its statement writes."""
        if self.sql is not None:
            return self.sql
        return self.query_sql if self.statement is not None and self.statement.writes else None


@attrs.frozen
class ScanMetrics:
    """
    What one scan of the physical plan read.

    Args:
        attributes: exprIds of its output columns.
        read: the statistics of the read; without a row count, no event reports them.
        version: the version of its table, if the table has versions and the scan is not part of a stream.
    """

    attributes: tuple[int, ...]
    read: Statistics
    version: str | None = None


@attrs.frozen
class TaskMetrics:
    """The rows and bytes that tasks read and wrote, summed over all stages."""

    rows_read: int = 0
    rows_written: int = 0
    bytes_written: int = 0


@attrs.frozen
class ExecutionMetrics:
    """
    The metrics of one execution, or of one RDD-only job.

    Args:
        scans: what each scan read.
        writes: what each write command wrote.
        tasks: the statistics of the tasks.
    """

    scans: tuple[ScanMetrics, ...] = ()
    writes: tuple[Statistics, ...] = ()
    tasks: TaskMetrics = TaskMetrics()


@attrs.frozen
class GeneratedColumn:
    """
    A column that Delta Lake computes from others with each write.

    Args:
        name: its name.
        type: its type, as the plan of a query describes one.
        expression: the SQL text that computes it.
    """

    name: str
    type: str
    expression: str


@attrs.frozen
class Commit:
    """
    A commit to a table of Iceberg or Delta Lake that an execution may have made.

    This application made it while the execution ran, to a table that the execution writes (Iceberg) or to any table
    (Delta Lake). `listener.runs.commits` decides which execution made it.

    Args:
        format: `iceberg` or `delta`.
        location: the location of the table, as the format spells it.
        version: the id of the snapshot, or the number of the version.
        time: when it was made, by the clock of its committer (timezone-aware); None if that is unknown.
        parent: the version before it; None if there is none, or it is unknown.
        table: the name of the table; None if it is unknown.
        operation: the operation of the commit in the format's words, such as `append`; None if it is unknown.
        branch: the branch that was written; None for the main one.
        query: the id of the streaming query that made it, if the commit names one.
        rows: the rows that it added; None if that is unknown.
        bytes: the size of the files that it added; None if that is unknown.
        table_id: the id of the table, which no other table of its name has; None if it is unknown.
        generated: the columns that Delta Lake computes.
    """

    format: str
    location: str
    version: str
    time: datetime.datetime | None = None
    parent: str | None = None
    table: str | None = None
    operation: str | None = None
    branch: str | None = None
    query: str | None = None
    rows: int | None = None
    bytes: int | None = None
    table_id: str | None = None
    generated: tuple[GeneratedColumn, ...] = ()


@attrs.frozen
class ExecutionStarted:
    """
    SparkListenerSQLExecutionStart.

    Args:
        id: the execution's id.
        root: id of the outermost execution around it; its own id if there is none.
        time: when it started (timezone-aware).
        query: what is known about its query by then.
        call_site: the line of Python that runs it; None if it is unknown.
        model: whether it is a part of saving a model of Spark ML.
        loads: if it is a part of loading one, the class of the model and its superclasses.
        session: the settings of its session; None if they are unknown.
    """

    id: int
    root: int
    time: datetime.datetime
    query: QueryExecution = QueryExecution()
    call_site: CallSite | None = None
    model: bool = False
    loads: tuple[str, ...] = ()
    session: StatementSession | None = None


@attrs.frozen
class ExecutionEnded:
    """
    SparkListenerSQLExecutionEnd.

    Args:
        id: the execution's id.
        time: when it ended (timezone-aware).
        query: what is known about its query now, if the start did not have it or the plan has changed.
        failure: why it failed; None if it did not.
        is_checkpoint: whether later plans use its rows under this plan's exprIds, without containing this plan.
        metrics: its metrics.
        commits: the commits that it may have made, oldest first by table; empty if it failed.
        schema: the columns that Spark has found for a CREATE TABLE that lists none, as a type in JSON; else None.
        made: whether a CREATE TABLE IF NOT EXISTS made its table; None if it is none, or if that is unknown.
        session: the settings of its session, if the start did not have them; else None.
        rdd: the number of the RDD with the rows of a checkpoint; None if they are not computed yet, or it is none.
    """

    id: int
    time: datetime.datetime
    query: QueryExecution = QueryExecution()
    failure: Failure | None = None
    is_checkpoint: bool = False
    metrics: ExecutionMetrics = ExecutionMetrics()
    commits: tuple[Commit, ...] = ()
    schema: str | None = None
    made: bool | None = None
    session: StatementSession | None = None
    rdd: int | None = None


@attrs.frozen
class StreamStarted:
    """
    StreamingQueryListener.QueryStartedEvent.

    Args:
        run: id of the query's run.
        time: when it started (timezone-aware).
        name: the query's name, if the user gave it one.
        query: id of the query, which stays the same when it restarts from its checkpoint.
    """

    run: str
    time: datetime.datetime
    name: str | None = None
    query: str | None = None


@attrs.frozen
class SourceProgress:
    """
    The progress of one source in a trigger.

    Args:
        description: Spark's description of the source.
        start: the offset before the batch, as JSON; None if there is none yet, or it was cut.
        end: the offset after it, likewise.
        rows: the rows that were read from it.
        cut: whether an offset was so long that the probe has left it out.
    """

    description: str
    start: str | None = None
    end: str | None = None
    rows: int | None = None
    cut: bool = False


@attrs.frozen
class StreamProgressed:
    """
    StreamingQueryListener.QueryProgressEvent: a trigger of a streaming query has ended.

    Args:
        run: id of the query's run.
        time: when the probe received it (timezone-aware).
        query: id of the query.
        batch: number of the micro-batch.
        began: when the trigger began (timezone-aware).
        name: the query's name, if the user gave it one.
        duration: how long the trigger took, in milliseconds.
        rows: the rows that were read from all sources.
        executed: whether the micro-batch was run; otherwise there was nothing to do.
        watermark: the watermark (timezone-aware); None if the query has none, or none yet.
        sources: its sources, in the order of the plan.
        sink: Spark's description of the sink.
        cut: whether there were more sources than are listed.
    """

    run: str
    time: datetime.datetime
    query: str
    batch: int
    began: datetime.datetime
    name: str | None = None
    duration: int | None = None
    rows: int | None = None
    executed: bool = True
    watermark: datetime.datetime | None = None
    sources: tuple[SourceProgress, ...] = ()
    sink: str | None = None
    cut: bool = False


@attrs.frozen
class StreamTerminated:
    """
    StreamingQueryListener.QueryTerminatedEvent.

    Args:
        run: id of the query's run.
        time: when it ended (timezone-aware).
        failure: why it failed; None if it did not.
    """

    run: str
    time: datetime.datetime
    failure: Failure | None = None


RddSource: TypeAlias = "str | tuple[str, ...]"
"""
A path; a pair of a JDBC URL and a table, or of Kafka's servers and a topic; `?` with the class of an RDD that reveals
neither; `?...` for what was cut.
"""


@attrs.frozen
class RddJobStarted:
    """
    SparkListenerJobStart of a job that no SQL execution owns.

    Args:
        job: id of the job.
        time: when it started (timezone-aware).
        writes: whether it writes through Spark's Hadoop writer.
        path: directory that it writes to; None if it is unknown.
        format: full name of the Java class of the Hadoop output format; None if it is unknown.
        sources: where its rows come from.
        model: whether it is a part of saving a model of Spark ML.
    """

    job: int
    time: datetime.datetime
    writes: bool
    path: str | None = None
    format: str | None = None
    sources: tuple[RddSource, ...] = ()
    model: bool = False


@attrs.frozen
class RddJobEnded:
    """
    SparkListenerJobEnd of a job that no SQL execution owns.

    Args:
        job: id of the job.
        time: when it ended (timezone-aware).
        failure: why it failed; None if it did not.
        metrics: its metrics.
    """

    job: int
    time: datetime.datetime
    failure: Failure | None = None
    metrics: ExecutionMetrics = ExecutionMetrics()


@attrs.frozen
class TableDropped:
    """
    DropTableEvent: a table or a view of the session catalog existed and was dropped.

    Args:
        name: `database.table`, in lower case.
    """

    name: str


@attrs.frozen
class ApplicationEnded:
    """SparkListenerApplicationEnd: the SparkContext is being stopped, by the job or by the end of the JVM."""

    time: datetime.datetime


@attrs.frozen
class EventsDropped:
    """The number of events that Spark has dropped so far because the listener's queue was full."""

    count: int


@attrs.frozen
class ProbeFault:
    """
    A fault in the probe itself.

    Args:
        where: the probe's method.
        message: class and message of the exception.
    """

    where: str
    message: str


Record: TypeAlias = (
    ExecutionStarted
    | ExecutionEnded
    | StreamStarted
    | StreamProgressed
    | StreamTerminated
    | RddJobStarted
    | RddJobEnded
    | TableDropped
    | ApplicationEnded
    | EventsDropped
    | ProbeFault
)


def parse(text: str) -> Record:
    """
    Parse one record of the probe.

    Args:
        text: one JSON object, as `Probe.take` returns it.

    Raises:
        InvalidRecordError: it is not a JSON object, its kind is unknown, or a member is missing or has a wrong type.
            The message names the member and never quotes a value.
    """
    try:
        raw = json.loads(text)
    except ValueError as problem:
        raise InvalidRecordError(f"a record is not JSON: {problem}") from None
    kind = _Members(raw, "a record").text("k")
    make = _KINDS.get(kind)
    if make is None:
        raise InvalidRecordError(f"no record is of the kind {kind[:40]!r}")
    return make(_Members(raw, f"the record {kind!r}"))


class _Members:
    """Gives access to the members of one JSON object, and checks their types; null counts as absent."""

    def __init__(self, raw: Any, what: str) -> None:
        if not isinstance(raw, dict):
            raise InvalidRecordError(f"{what} is not a JSON object but of type {type(raw).__name__}")
        self._raw: dict[str, Any] = raw
        self._what = what

    def __contains__(self, name: str) -> bool:
        return self._raw.get(name) is not None

    def text(self, name: str) -> str:
        return self._required(name, self.optional_text(name))

    def optional_text(self, name: str) -> str | None:
        found = self._raw.get(name)
        return found if found is None or isinstance(found, str) else self._refuse(name, "text")

    def number(self, name: str) -> int:
        return self._required(name, self.optional_number(name))

    def optional_number(self, name: str) -> int | None:
        found = self._raw.get(name)
        is_number = found is None or (isinstance(found, int) and not isinstance(found, bool))
        return found if is_number else self._refuse(name, "a whole number")

    def flag(self, name: str) -> bool:
        found = self._raw.get(name, False)
        return found if isinstance(found, bool) else self._refuse(name, "true or false")

    def optional_flag(self, name: str) -> bool | None:
        return self.flag(name) if name in self._raw else None

    def time(self) -> datetime.datetime:
        """Return the member `time`, which Spark counts in milliseconds since the epoch."""
        return self._moment(self.number("time"))

    def optional_time(self) -> datetime.datetime | None:
        milliseconds = self.optional_number("time")
        return None if milliseconds is None else self._moment(milliseconds)

    def _moment(self, milliseconds: int) -> datetime.datetime:
        try:
            return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.timezone.utc)
        except (OverflowError, ValueError, OSError) as problem:
            raise InvalidRecordError(f"{self._what}: 'time' is out of range") from problem

    def optional_instant(self, name: str) -> datetime.datetime | None:
        """Return a point in time that is written in ISO 8601, with a zone or in UTC."""
        found = self.optional_text(name)
        if found is None:
            return None
        try:
            instant = datetime.datetime.fromisoformat(found.replace("Z", "+00:00"))
        except ValueError:
            return self._refuse(name, "a time")
        return instant if instant.tzinfo is not None else instant.replace(tzinfo=datetime.timezone.utc)

    def instant(self, name: str) -> datetime.datetime:
        return self._required(name, self.optional_instant(name))

    def sequence(self, name: str) -> list[Any]:
        found = self._raw.get(name)
        return [] if found is None else found if isinstance(found, list) else self._refuse(name, "a list")

    def numbers(self, name: str) -> list[int]:
        found = self.sequence(name)
        return found if all(type(item) is int for item in found) else self._refuse(name, "a list of whole numbers")

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.sequence(name)
        return tuple(found) if all(isinstance(item, str) for item in found) else self._refuse(name, "a list of texts")

    def inner(self, name: str) -> _Members:
        return _Members(self._raw.get(name), f"{self._what}: {name!r}")

    def members(self, name: str) -> Mapping[str, Any]:
        found = self._raw.get(name)
        return {} if found is None else found if isinstance(found, dict) else self._refuse(name, "an object")

    def all_inner(self, name: str) -> list[_Members]:
        return [_Members(item, f"{self._what}: an item of {name!r}") for item in self.sequence(name)]

    def make(self, class_: type[T], **given: object) -> T:
        """
        Return a record, or a part of one.

        Args:
            class_: its class.
            given: the values of some fields. Any other field is the member of its name, and of its type.
        """
        for name, reader in _readers_of(class_):  # type: ignore[arg-type] # classes are hashable
            if name not in given:
                given[name] = reader(self, name)
        return class_(**given)

    def plan(self) -> EncodedPlan | None:
        found = self._raw.get("plan")
        return None if found is None else EncodedPlan(found)

    def _required(self, name: str, found: T | None) -> T:
        if found is None:
            raise InvalidRecordError(f"{self._what} has no {name!r}")
        return found

    def _refuse(self, name: str, wanted: str) -> NoReturn:
        found = type(self._raw[name]).__name__
        raise InvalidRecordError(f"{self._what}: {name!r} should be {wanted} and is of type {found}")


def call_site(text: str) -> CallSite | None:
    """
    Return the line that PySpark names.

    Args:
        text: a stack, of which only the first line counts: `/home/me/etl.py:12`, `line 5 in cell [3]`, or, of an
            action, `collect at /home/me/etl.py:12`.

    Returns:
        None if it has another form.
    """
    first = text.partition("\n")[0]
    cell = _IN_CELL.fullmatch(first)
    if cell is not None:
        return CallSite(f"cell [{cell['cell']}]", int(cell["line"]))
    function, at, place = first.partition(" at ")
    is_action = bool(at) and function.isidentifier()
    found = _IN_FILE.fullmatch(place if is_action else first)
    return None if found is None else CallSite(found["file"], int(found["line"]), function if is_action else "")


_READERS: Mapping[str, Callable[[_Members, str], object]] = {
    "int": _Members.number,
    "int | None": _Members.optional_number,
    "str": _Members.text,
    "str | None": _Members.optional_text,
    "bool": _Members.flag,
    "bool | None": _Members.optional_flag,
    "tuple[str, ...]": _Members.texts,
    "datetime.datetime": lambda members, _: members.time(),
}
"""The type of a field -> what reads the member of its name."""


@functools.cache
def _readers_of(class_: Any) -> tuple[tuple[str, Callable[[_Members, str], object]], ...]:
    return tuple((each.name, _READERS[each.type]) for each in attrs.fields(class_) if each.type in _READERS)


def _execution_started(raw: _Members) -> ExecutionStarted:
    site = call_site(raw.optional_text("site") or "")
    return raw.make(ExecutionStarted, query=_query(raw), call_site=site, session=_session(raw))


def _session(raw: _Members) -> StatementSession | None:
    found = raw.members("session")
    if not found:
        return None
    settings = tuple((key, str(value)) for key, value in found.items() if key not in ("catalog", "schema"))
    return StatementSession(settings, str(found.get("catalog", "")), str(found.get("schema", "")))


def _execution_ended(raw: _Members) -> ExecutionEnded:
    scans, writes = [], []
    for entry in raw.all_inner("metrics"):
        counted = entry.inner("m")
        rows, files = counted.optional_number("numOutputRows"), counted.optional_number("numFiles")
        if not entry.flag("w"):
            read = Statistics(rows, counted.optional_number("filesSize"), files)
            scans.append(ScanMetrics(tuple(entry.numbers("ids")), read, entry.optional_text("version")))
            continue
        # DataSource V2 writes report the rows that were committed.
        rows = counted.optional_number("committedRows") if rows is None else rows
        writes.append(Statistics(rows, counted.optional_number("numOutputBytes"), files))
    metrics = ExecutionMetrics(tuple(scans), tuple(writes), _task_metrics(raw))
    return raw.make(
        ExecutionEnded,
        query=_query(raw),
        failure=_failure(raw),
        is_checkpoint=raw.flag("checkpoint"),
        metrics=metrics,
        commits=tuple(_commit(commit) for commit in raw.all_inner("commits")),
        session=_session(raw),
    )


def _commit(raw: _Members) -> Commit:
    generated = tuple(column.make(GeneratedColumn) for column in raw.all_inner("generated"))
    return raw.make(Commit, time=raw.optional_time(), table_id=raw.optional_text("id"), generated=generated)


def _stream(raw: _Members) -> StreamStarted | StreamTerminated:
    if raw.text("event").startswith("QueryStarted"):
        return raw.make(StreamStarted)
    return raw.make(StreamTerminated, failure=_failure(raw))


def _stream_progressed(raw: _Members) -> StreamProgressed:
    watermark = raw.optional_instant("watermark")
    return raw.make(
        StreamProgressed,
        began=raw.instant("began"),
        # Spark reports 1970 until it has seen an event.
        watermark=watermark if watermark is not None and watermark.timestamp() > 0 else None,
        sources=tuple(_source_progress(each) for each in raw.all_inner("sources")),
    )


def _source_progress(raw: _Members) -> SourceProgress:
    return raw.make(SourceProgress, start=raw.optional_text("from"), end=raw.optional_text("to"))


def _rdd_job_started(raw: _Members) -> RddJobStarted:
    sources: list[RddSource] = []
    for source in raw.sequence("sources"):
        if isinstance(source, list):
            sources.append(tuple(_text(part) for part in source))
        else:
            sources.append("?..." if source is None else _text(source))
    return raw.make(RddJobStarted, writes=raw.flag("write"), sources=tuple(sources))


def _text(raw: Any) -> str:
    return cut_text(raw) if isinstance(raw, dict) else str(raw)


def _rdd_job_ended(raw: _Members) -> RddJobEnded:
    tasks = _task_metrics(raw, rows_read=raw.optional_number("read") or 0)
    return raw.make(RddJobEnded, failure=_failure(raw), metrics=ExecutionMetrics(tasks=tasks))


def _table_dropped(raw: _Members) -> TableDropped:
    return TableDropped(f"{raw.text('database')}.{raw.text('table')}".lower())


_KINDS: Mapping[str, Callable[[_Members], Record]] = {
    "start": _execution_started,
    "end": _execution_ended,
    "stream": _stream,
    "progress": _stream_progressed,
    "rdd_start": _rdd_job_started,
    "rdd_end": _rdd_job_ended,
    "table_dropped": _table_dropped,
    "application_end": lambda raw: raw.make(ApplicationEnded),
    "dropped": lambda raw: raw.make(EventsDropped),
    "fault": lambda raw: raw.make(ProbeFault),
}


def _query(raw: _Members) -> QueryExecution:
    return raw.make(
        QueryExecution,
        plan=raw.plan(),
        plan_class=raw.optional_text("class"),
        is_command=raw.flag("command"),
        is_read=raw.flag("read"),
        batch=_batch_execution(raw),
        query_sql=raw.optional_text("querySql"),
        text_identity=raw.optional_number("text"),
        statement=_statement(raw),
    )


def _batch_execution(raw: _Members) -> BatchExecution | None:
    return raw.inner("batch").make(BatchExecution) if "batch" in raw else None


def _failure(raw: _Members) -> Failure | None:
    if "error" not in raw:
        return None
    error = raw.inner("error")
    language: Literal["JAVA", "PYTHON"] = "PYTHON" if error.text("class").endswith(".PythonException") else "JAVA"
    raised = tuple(_raised(one) for one in error.all_inner("raised"))
    if not error.text("class"):
        # Spark gives only the text, which may quote rows.
        raised = (Raised("", error.text("message"), of_rows=True),)
    return Failure(error.text("message"), language, error.text("stack") or None, raised)


def _raised(raw: _Members) -> Raised:
    parameters = tuple((name, str(value)) for name, value in raw.members("parameters").items())
    return Raised(
        raw.text("class"),
        raw.text("message"),
        raw.text("frames"),
        raw.flag("ofRows"),
        raw.optional_text("condition"),
        raw.optional_text("template") or "",
        raw.optional_text("state"),
        parameters,
    )


def _task_metrics(raw: _Members, rows_read: int = 0) -> TaskMetrics:
    rows, size = (*raw.numbers("written"), 0, 0)[:2]
    return TaskMetrics(rows_read, rows, size)


def _statement(raw: _Members) -> ParsedStatement | None:
    if "statement" not in raw:
        return None
    statement = raw.inner("statement")
    return ParsedStatement(statement.text("class"), statement.flag("writes"), statement.number("inserts"))
