"""
The rows that events make in each table. This is the only module that reads events.

It takes any valid OpenLineage event, whoever made it: of a run, a job or a dataset
(https://openlineage.io/spec/2-0-2/OpenLineage.json). Facets that it does not know stay in the event's JSON. A known
facet that has another shape than its schema says is left out; the rest of its event is taken.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import json
import marshal
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias, TypeGuard

import attrs
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.store.events.files import why_no_object

Row: TypeAlias = "tuple[str | int | None, ...]"
Rows: TypeAlias = "dict[str, list[Row]]"

NO_BATCH = -1
"""The micro-batch of a run that has none."""

_ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})
_TYPES = frozenset({"START", "RUNNING", "OTHER"}) | _ENDS
_DONE = frozenset({"COMPLETE", "RUNNING"})
_LAST_WORD = 1 << 60
_LONGEST_TEXT = 10_000
_SURROGATE = re.compile(r"\\u[dD]")
# The facets of a dataset that are new in each run.
_OF_VERSIONS = ("pyspark_snapshot", "version")
_DIGITS = 32
_DIGEST_BYTES = 16
# The version of the format in which a value has the same bytes wherever it comes from.
_PLAIN_MARSHAL = 2


class InvalidEventError(ValueError):
    """The text is no valid OpenLineage event. The message says why."""


@attrs.frozen
class TimeSpan:
    """
    When something was said first and last.

    Args:
        first_time: the time of the first event, microseconds since 1970.
        first_run: its run; empty without one.
        last_time: the time of the last event.
        last_run: its run.
    """

    first_time: int
    first_run: str
    last_time: int
    last_run: str

    def __or__(self, other: TimeSpan) -> TimeSpan:
        """Return the span of both."""
        first = min((self.first_time, self.first_run), (other.first_time, other.first_run))
        return TimeSpan(*first, *max((self.last_time, self.last_run), (other.last_time, other.last_run)))


class Role(enum.Enum):
    """What a dataset is in an event."""

    INPUT = enum.auto()
    OUTPUT = enum.auto()
    ALONE = enum.auto()


@attrs.frozen
class Lines:
    """
    The rows of a mention without their times.

    Args:
        name_id: the dataset.
        names: of `dataset`: the id, the namespace and the name, `same_as`, and the format.
        columns: of `dataset_column`: up to the position.
        read: the ids of the datasets that the job reads.
        written: the ids of those that it writes.
        edges: of `column_lineage`: up to the expression.
    """

    name_id: int
    names: tuple[tuple[int, str, str, int | None, str | None], ...]
    columns: tuple[tuple[int, str, str, int], ...]
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    edges: tuple[Row, ...] = ()


@attrs.frozen(cache_hash=True)
class DatasetMention:
    """
    What an event says of a dataset apart from its counts and its versions: the same in each run of an unchanged job.

    Args:
        role: what the dataset is to the job.
        job_id: the job; None in the event of a dataset.
        digest: a digest of its rows.
        lines: its rows.
    """

    role: Role
    job_id: int | None
    digest: bytes
    lines: Lines = attrs.field(eq=False, repr=False)


@attrs.frozen
class JobMention:
    """
    What an event says of its job: the same in each run of an unchanged job.

    Args:
        job_id: the job.
        namespace: its namespace.
        name: its name.
        facts: its LATEST columns.
    """

    job_id: int
    namespace: str
    name: str
    facts: tuple[str | None, ...]


Mentions: TypeAlias = "Mapping[JobMention | DatasetMention, TimeSpan]"


@attrs.frozen
class EventRows:
    """
    What was read from one event.

    Args:
        text: the event as it arrived.
        digest: a digest of that.
        type: its type.
        producer: who made it.
        rows: the rows that are this event's own, by table; but not that of the event.
        mentions: the job and the datasets that it names. Their rows are made of many events at once.
        span: the event's own time and run.
    """

    text: str
    digest: bytes
    type: str
    producer: str
    rows: Rows
    mentions: tuple[JobMention | DatasetMention, ...]
    span: TimeSpan

    @property
    def row(self) -> Row:
        """Return the row of `event`."""
        return self.digest.hex(), self.span.first_run, self.type, self.span.first_time, self.producer, self.text


@attrs.frozen
class SideOfEvent:
    """
    What an event says of its inputs, of its outputs, or of the dataset that it is about.

    Args:
        role: what they are to the job.
        mentions: what does not belong to a version.
        versions: the versions that were read or made, if the event is one of what happened: for each one the table, the
            dataset's name, the snapshot, and what follows the time in the row.
    """

    role: Role
    mentions: tuple[DatasetMention, ...] = ()
    versions: tuple[tuple[str, int, str, Row], ...] = ()


@attrs.frozen
class _EventHead:
    """
    Who says something, and when.

    Args:
        time: the event's time, microseconds since 1970.
        job_id: the job; None in the event of a dataset.
        run_id: the run; empty without one.
        type: the event's type.
    """

    time: int
    job_id: int | None
    run_id: str
    type: str


def identity(*names: str) -> int:
    """Return the id of what has these names: 63 bits of a hash, the same on each machine."""
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


_identity = functools.lru_cache(maxsize=100_000)(identity)


class Memory(Protocol):
    """What remembers what events said: the next ones say most of it again."""

    def side(self, event: Mapping[str, Any], job_id: int | None, where: str, read: Callable[[], SideOfEvent], /) -> SideOfEvent:
        """Return what an event says of its datasets, as `read` does."""

    def mention(self, key: tuple[object, ...], read: Callable[[], DatasetMention], /) -> DatasetMention:
        """Return what an event says of a dataset, as `read` does. What it says follows from the key."""


class NoMemory:
    """Remembers nothing."""

    def side(self, _event: Mapping[str, Any], _job_id: int | None, _where: str, read: Callable[[], SideOfEvent], /) -> SideOfEvent:
        """Read it."""
        return read()

    def mention(self, _key: tuple[object, ...], read: Callable[[], DatasetMention], /) -> DatasetMention:
        """Read it."""
        return read()


def parse_event(text: str) -> dict[str, Any]:
    """
    Return an event.

    Args:
        text: its JSON.

    Raises:
        InvalidEventError: it is not the JSON of an object.
    """
    try:
        event = json.loads(text)
        if has_escaped_surrogate(text):
            # Half a surrogate pair, which no database takes as text, becomes a question mark.
            event = json.loads(json.dumps(event, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError) as problem:
        raise InvalidEventError(why_no_object(text, problem)) from None
    if not isinstance(event, dict):
        raise InvalidEventError(why_no_object(text))
    return event


def has_escaped_surrogate(text: str) -> bool:
    """Return whether a text may have half of a surrogate pair."""
    # To look for one character costs a fraction of what looking for several does.
    return "\\" in text and _SURROGATE.search(text) is not None


def rejected(text: str, reason: str, source: str) -> Rows:
    """
    Return the rows of a text that is no event.

    Args:
        text: the text.
        reason: why it is none.
        source: where it came from, for people.
    """
    # Whether a line ends with a line break depends on who reads the file.
    text = text.strip()
    return {"rejected": [(_digest(text), reason, source, text[:_LONGEST_TEXT])]}


def read_event(text: str, event: Mapping[str, Any], memory: Memory = NoMemory()) -> EventRows:  # noqa: B008 (it has no state)
    """
    Return what an event says.

    Args:
        text: the event's JSON, without spaces around it.
        event: the same as parsed JSON.
        memory: what remembers what other events said.

    Raises:
        InvalidEventError: something is missing that the specification requires of each event.
    """
    time, producer = _time(event), event.get("producer")
    if not isinstance(producer, str):
        raise InvalidEventError("`producer` is missing or no text")
    rows: Rows = {}
    said, job = _said(event, time, rows)
    if job is None:
        sides = {"dataset": _side_said(Role.ALONE, None, [event.get("dataset")], "dataset", memory)}
    else:
        sides = {
            where: memory.side(
                event,
                said.job_id,
                where,
                functools.partial(_side_said, role, said.job_id, _list(event, where), where, memory),
            )
            for role, where in ((Role.INPUT, "inputs"), (Role.OUTPUT, "outputs"))
        }
    mentions: list[JobMention | DatasetMention] = [] if job is None else [job]
    has_batches = _micro_batches(event, said, sides.get("inputs"), rows)
    for side in sides.values():
        mentions += side.mentions
        if not has_batches and (side.role is Role.ALONE or said.type in _DONE):
            for table, name_id, snapshot, rest in side.versions:
                _add(rows, table, (said.run_id, NO_BATCH, name_id, snapshot, said.job_id, time, *rest))
    digest = hashlib.sha256(text.encode(errors="replace")).digest()[:_DIGEST_BYTES]
    span = TimeSpan(time, said.run_id, time, said.run_id)
    return EventRows(text, digest, said.type, producer, rows, tuple(mentions), span)


def remarks_of(event: dict[str, Any]) -> list[tuple[str, str]]:
    """
    Return what an event says that its producer did not understand, as pairs of an operator and a message.

    Args:
        event: the event as parsed JSON.
    """
    run = event.get("run")
    facet = _facets(run).get("extractionError") if isinstance(run, dict) else None
    errors = _list(facet, "errors") if isinstance(facet, dict) else []
    named = [(_text(each, "task") or "", _text(each, "errorMessage")) for each in errors if isinstance(each, dict)]
    return [(operator, message) for operator, message in named if message]


def named_rows(mentions: Mentions) -> Rows:
    """
    Return the rows of the jobs and datasets that events name, and of which jobs read and write which datasets.

    Args:
        mentions: what was said -> when.

    Returns:
        The rows as they are stored, in the order of `StoredTable.stored`. Two of them may have one key.
    """
    jobs: list[Row] = []
    read: list[Row] = []
    written: list[Row] = []
    # Several datasets name one source.
    datasets: dict[Row, None] = {}
    for mention, span in mentions.items():
        when = (span.first_time, span.last_time)
        if isinstance(mention, JobMention):
            facts = _latest(mention.facts, span.last_time)
            jobs.append((mention.job_id, mention.namespace, mention.name, *facts, *when))
            continue
        lines = mention.lines
        for name in lines.names:
            datasets[_dataset_row(name, span)] = None
        read += [(mention.job_id, name_id, *when) for name_id in lines.read]
        written += [(mention.job_id, name_id, *when) for name_id in lines.written]
    return {"job": jobs, "dataset": list(datasets), "source_job_lineage": read, "sink_job_lineage": written}


def described_rows(mentions: Mentions) -> Rows:
    """
    Return the rows of what events say of the columns of datasets.

    Args:
        mentions: what was said -> when.

    Returns:
        The rows as they are stored. Two of them may have one key.
    """
    columns: list[Row] = []
    edges: list[Row] = []
    for mention, span in mentions.items():
        if isinstance(mention, DatasetMention):
            columns += [(*row, span.first_time, span.last_time) for row in mention.lines.columns]
            whole = (span.first_time, span.first_run, span.last_time, span.last_run)
            edges += [(*row, *whole) for row in mention.lines.edges]
    return {"dataset_column": columns, "column_lineage": edges}


def _side_said(role: Role, job_id: int | None, datasets: list[Any], where: str, memory: Memory) -> SideOfEvent:
    """
    Return what an event says of datasets.

    Raises:
        InvalidEventError: one of them has no name.
    """
    named = [_named(dataset, where) for dataset in datasets]
    return SideOfEvent(
        role,
        tuple(_mention(role, job_id, each, memory) for each in named),
        tuple(version for each in named for version in _versions_said(role, each)),
    )


def _mention(role: Role, job_id: int | None, dataset: dict[str, Any], memory: Memory) -> DatasetMention:
    facets = {key: value for key, value in _facets(dataset).items() if key not in _OF_VERSIONS}
    namespace, name = dataset["namespace"], dataset["name"]

    def read() -> DatasetMention:
        lines = _lines(role, job_id, namespace, name, facets)
        whole = repr((role.value, job_id, namespace, name, attrs.astuple(lines, recurse=False)))
        return DatasetMention(role, job_id, _digest_of(whole), lines)

    # The same values in another order are read again, and then say the same.
    return memory.mention((role, job_id, namespace, name, marshal.dumps(facets, _PLAIN_MARSHAL)), read)


def version_digest(said: EventRows) -> bytes:
    """Return the digest of what an event says of its job and its datasets, apart from counts and versions."""
    parts = [repr(attrs.astuple(each)) if isinstance(each, JobMention) else each.digest.hex() for each in said.mentions]
    return _digest_of(repr((said.producer, sorted(set(parts)))))


def _versions_said(role: Role, dataset: dict[str, Any]) -> Iterator[tuple[str, int, str, Row]]:
    """Yield the versions that were read or made, as `_DatasetOfEvent` has them."""
    name_id, version = _identity("dataset", dataset["namespace"], dataset["name"]), _version(dataset)
    if role is Role.ALONE and version:
        yield "sink_snapshot_lineage", name_id, version, (None, "", None, None)
    elif role is Role.INPUT:
        counts = _counts(dataset, "inputFacets", "inputStatistics")
        for each in _versions(dataset) or [version]:
            yield "source_snapshot_lineage", name_id, each, (None, None, *counts)
    elif role is Role.OUTPUT:
        facets = _facets(dataset)
        lifecycle = _mapping(facets.get("lifecycleStateChange"))
        change = _text(lifecycle, "lifecycleStateChange") or ""
        counts = _counts(dataset, "outputFacets", "outputStatistics")
        parent = _text(_mapping(facets.get("pyspark_snapshot")), "parent")
        before = lifecycle.get("previousIdentifier")
        if _is_named(before) and (before["namespace"], before["name"]) != (dataset["namespace"], dataset["name"]):
            # The new name goes on with what the old one held.
            old = _identity("dataset", before["namespace"], before["name"])
            yield "source_snapshot_lineage", old, "", (None, None, None, None)
        for each in _versions(dataset) or [version]:
            yield "sink_snapshot_lineage", name_id, each, (parent, change, *counts)
            parent = each


def _versions(dataset: dict[str, Any]) -> list[str]:
    """Return all versions that a statement read or committed, in order, if the event lists them."""
    listed = _list(_mapping(_facets(dataset).get("pyspark_snapshot")), "versions")
    return [each for each in listed if isinstance(each, str) and each]


def _micro_batches(event: Mapping[str, Any], said: _EventHead, inputs: SideOfEvent | None, rows: Rows) -> bool:
    """
    Add what each micro-batch read and made.

    Returns:
        Whether the event tells its versions by micro-batch: what it says of its datasets then sums many of them up.
    """
    run = event.get("run")
    facet = _facets(run).get("pyspark_micro_batches") if isinstance(run, dict) else None
    if not isinstance(facet, dict):
        return False
    beside = _beside_sources(inputs, facet)
    for batch in _list(facet, "batches"):
        number = _number(batch, "batchId") if isinstance(batch, dict) else None
        if number is None:
            continue
        time = _batch_time(batch, said.time)
        for source in filter(_is_named, _list(batch, "sources")):
            at = (said.run_id, number, _identity("dataset", source["namespace"], source["name"]))
            place = (_text(source, "from"), _text(source, "to"), _number(source, "rows"), None)
            _add(rows, "source_snapshot_lineage", (*at, _text(source, "version") or "", said.job_id, time, *place))
        for name_id, version in beside.items():
            what = (said.run_id, number, name_id, version, said.job_id, time)
            _add(rows, "source_snapshot_lineage", (*what, None, None, None, None))
        for sink in filter(_is_named, _list(batch, "sinks")):
            at = (said.run_id, number, _identity("dataset", sink["namespace"], sink["name"]))
            made = (_text(sink, "parent"), _text(sink, "change") or "", _number(sink, "rows"), None)
            _add(rows, "sink_snapshot_lineage", (*at, _text(sink, "version") or "", said.job_id, time, *made))
    return True


def _beside_sources(inputs: SideOfEvent | None, facet: dict[str, Any]) -> dict[int, str]:
    """
    Return what a streaming query reads beside its sources, such as a table that it joins, with its version.

    Each micro-batch reads it. Where the run has read several versions, it is not known which batch read which: then, as
    where the event tells none, it is that which was current at the time of the batch.
    """
    read: dict[int, list[str]] = {}
    for _, name_id, version, _ in inputs.versions if inputs is not None else ():
        read.setdefault(name_id, []).append(version)
    for batch in _list(facet, "batches"):
        for source in filter(_is_named, _list(batch, "sources") if isinstance(batch, dict) else ()):
            read.pop(_identity("dataset", source["namespace"], source["name"]), None)
    return {name_id: versions[0] if len(versions) == 1 else "" for name_id, versions in read.items()}


def _batch_time(batch: dict[str, Any], otherwise: int) -> int:
    try:
        return microseconds(_text(batch, "time") or "")
    except (ValueError, OverflowError):
        return otherwise


def _counts(dataset: dict[str, Any], facets: str, facet: str) -> tuple[int | None, int | None]:
    counts = _mapping(_mapping(dataset.get(facets)).get(facet))
    return _number(counts, "rowCount"), _number(counts, "size")


def _add(rows: Rows, table: str, row: Row) -> None:
    rows.setdefault(table, []).append(row)


def _said(event: Mapping[str, Any], time: int, rows: Rows) -> tuple[_EventHead, JobMention | None]:
    """Return who says something, and what it says of its job."""
    if "run" not in event and "job" not in event:
        if "dataset" not in event:
            raise InvalidEventError("neither `run`, `job` nor `dataset`")
        return _EventHead(time, None, "", "DATASET"), None
    job = _job(_named(event.get("job"), "job"))
    if "run" not in event:
        return _EventHead(time, job.job_id, "", "JOB"), job
    type_ = event.get("eventType", "OTHER")
    if not isinstance(type_, str) or type_ not in _TYPES:
        raise InvalidEventError(f"`eventType` is {json.dumps(type_)}")
    run = _mapping(event["run"])
    run_id = run.get("runId")
    if not isinstance(run_id, str) or not run_id:
        raise InvalidEventError("`run.runId` is missing or no text")
    said = _EventHead(time, job.job_id, run_id, type_)
    _run(run_id, job.job_id, _facets(run), said, rows)
    return said, job


def _time(event: Mapping[str, Any]) -> int:
    text = event.get("eventTime")
    if not isinstance(text, str):
        raise InvalidEventError("`eventTime` is missing or no text")
    try:
        return microseconds(text)
    except (ValueError, OverflowError):
        raise InvalidEventError(f"`eventTime` is {json.dumps(text)}") from None


def _job(job: dict[str, Any]) -> JobMention:
    namespace, name, facets = job["namespace"], job["name"], _facets(job)
    type_ = _mapping(facets.get("jobType"))
    facts = (
        _text(type_, "processingType"),
        _text(type_, "integration"),
        _text(type_, "jobType"),
        _text(_mapping(facets.get("sql")), "query"),
        _text(_mapping(facets.get("documentation")), "description"),
    )
    return JobMention(_identity("job", namespace, name), namespace, name, facts)


def _run(run_id: str, job_id: int, facets: dict[str, Any], said: _EventHead, rows: Rows) -> None:
    parent = _mapping(facets.get("parent"))
    facts = (
        _text(_mapping(parent.get("run")), "runId"),
        _text(_mapping(_mapping(parent.get("root")).get("run")), "runId"),
        _text(_mapping(facets.get("errorMessage")), "message"),
        _text(_mapping(facets.get("pyspark_micro_batches")), "queryId"),
        _text(_mapping(facets.get("pyspark_micro_batches")), "checkpoint"),
    )
    is_end = said.type in _ENDS
    state = (said.type, said.time + (_LAST_WORD if is_end else 0))
    started = said.time if said.type == "START" else None
    ended = said.time if is_end else None
    row = (run_id, job_id, *state, started, ended, *_latest(facts, said.time), said.time, said.time)
    _add(rows, "run", row)


def _dataset_row(name: tuple[int, str, str, int | None, str | None], span: TimeSpan) -> Row:
    name_id, namespace, title, same_as, storage = name
    last = span.last_time
    if same_as is None and storage is None:
        return (name_id, namespace, title, None, None, None, None, span.first_time, last)
    facts = (same_as, None if same_as is None else last, storage, None if storage is None else last)
    return (name_id, namespace, title, *facts, span.first_time, last)


def _lines(role: Role, job_id: int | None, namespace: str, name: str, facets: dict[str, Any]) -> Lines:
    """Return the rows of a mention without their times, of its facets."""
    name_id = _identity("dataset", namespace, name)
    names = _MentionNames()
    names.add(namespace, name, storage=_format(facets))
    for other in _list(_mapping(facets.get("symlinks")), "identifiers"):
        if _is_named(other) and (other["namespace"], other["name"]) != (namespace, name):
            names.add(other["namespace"], other["name"], same_as=name_id)
    columns = tuple((name_id, path, type_, position) for position, (path, type_) in enumerate(_schema(facets)))
    if role is Role.OUTPUT:
        edges = _Edges(job_id, name_id, names)
        read = tuple(_sink(facets, edges))
        return Lines(name_id, names.found(), columns, read, (name_id,), edges.found())
    return Lines(name_id, names.found(), columns, (name_id,) if role is Role.INPUT else ())


class _MentionNames:
    """The names that a mention tells, each one once, as `Lines` has them."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str, str, int | None, str | None], None] = {}

    def add(self, namespace: str, name: str, *, same_as: int | None = None, storage: str | None = None) -> int:
        """Add a name, and return its id."""
        name_id = _identity("dataset", namespace, name)
        self._found[name_id, namespace, name, same_as, storage] = None
        return name_id

    def found(self) -> tuple[tuple[int, str, str, int | None, str | None], ...]:
        """Return all names."""
        return tuple(self._found)


def _sink(facets: dict[str, Any], edges: _Edges) -> Iterator[int]:
    """Add where the columns of an output come from. Yield the ids of what the job reads because of it."""
    lineage = _mapping(facets.get("columnLineage"))
    for column, field in _mapping(lineage.get("fields")).items():
        if not column:
            # It would stand for all rows.
            continue
        whole = _mapping(field)
        older = (_text(whole, "transformationType") or "", _text(whole, "transformationDescription") or "")
        for source in _list(whole, "inputFields"):
            edges.add_from(source, column, older)
    for source in _list(lineage, "dataset"):
        edges.add_from(source, "", ("", ""))
    before = _mapping(facets.get("lifecycleStateChange")).get("previousIdentifier")
    if not _is_named(before):
        return
    # A new name: each column continues the one that had its name under the old name.
    old = edges.source(before["namespace"], before["name"])
    if old != edges.name_id:
        yield old
        for column, _ in _schema(facets):
            edges.add(column, (old, column), ("DIRECT", "IDENTITY", 0, ""))


class _Edges:
    """
    The edges into one dataset, as `Lines` has them.

    Args:
        job_id: the job that says so.
        name_id: the dataset.
        names: where the names of the sources are added.
    """

    def __init__(self, job_id: int | None, name_id: int, names: _MentionNames) -> None:
        self.name_id = name_id
        self._names = names
        self._edges: list[Row] = []
        self._job_id = job_id
        self._sources: dict[tuple[str, str], int] = {}

    def found(self) -> tuple[Row, ...]:
        """Return all edges."""
        return tuple(self._edges)

    def source(self, namespace: str, name: str) -> int:
        """Return the id of a name, which is added once."""
        found = self._sources.get((namespace, name))
        if found is None:
            found = self._sources[namespace, name] = self._names.add(namespace, name)
        return found

    def add_from(self, source: object, column: str, older: tuple[str, str]) -> None:
        """
        Add the edges from one input field.

        Args:
            source: the input field.
            column: the column of the output.
            older: the kind and the text of the output field, as facets before version 1-1-0 have them.
        """
        if not _is_named(source) or not isinstance(source.get("field"), str) or not source["field"]:
            return
        place = (self.source(source["namespace"], source["name"]), source["field"])
        has_any = False
        for each in _list(source, "transformations"):
            if isinstance(each, dict):
                has_any = True
                kind = (_text(each, "type") or "", _text(each, "subtype") or "", int(each.get("masking") is True))
                self.add(column, place, (*kind, _text(each, "description") or ""))
        if not has_any:
            subtype, text = older
            masking = int(subtype == "MASKED")
            self.add(column, place, ("DIRECT" if subtype else "", subtype, masking, text))

    def add(self, column: str, place: tuple[int, str], kind: tuple[str, str, int, str]) -> None:
        """Add one edge: from a column, of a kind with its text."""
        self._edges.append((self.name_id, column, *place, self._job_id, *kind))


def _schema(facets: dict[str, Any]) -> list[tuple[str, str]]:
    return _columns(_list(_mapping(facets.get("schema")), "fields"))


def _columns(fields: list[Any], above: str = "") -> list[tuple[str, str]]:
    """
    Return the path and the type of each field of a schema, in order, those of structs below them.

    A field without a name is left out, and so are those whose path is too long: with the names of all structs in it,
    the paths of a small event may be endless.
    """
    found: list[tuple[str, str]] = []
    for field in fields:
        name = field.get("name") if isinstance(field, dict) else None
        if isinstance(name, str) and name and (not above or len(above) + len(name) <= _LONGEST_TEXT):
            path = f"{above}{name}"
            found += [(path, _text(field, "type") or ""), *_columns(_list(field, "fields"), f"{path}.")]
    return found


def _version(dataset: dict[str, Any]) -> str:
    return _text(_mapping(_facets(dataset).get("version")), "datasetVersion") or ""


def _format(facets: dict[str, Any]) -> str | None:
    storage = _mapping(facets.get("storage"))
    return _text(storage, "fileFormat") or _text(storage, "storageLayer")


def _latest(values: tuple[str | int | None, ...], time: int) -> list[str | int | None]:
    """Return LATEST columns with their companions."""
    return [each for value in values for each in (value, None if value is None else time)]


def _named(value: object, where: str) -> dict[str, Any]:
    if not _is_named(value):
        raise InvalidEventError(f"`{where}` has no namespace or no name")
    return value


def _is_named(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and isinstance(value.get("namespace"), str) and isinstance(value.get("name"), str)


def _facets(value: dict[str, Any]) -> dict[str, Any]:
    return _mapping(value.get("facets"))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _text(value: dict[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) else None


def _number(value: dict[str, Any], key: str) -> int | None:
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    # NaN is in no range.
    return int(found) if -(1 << 63) <= found < 1 << 63 else None


def _digest_of(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
