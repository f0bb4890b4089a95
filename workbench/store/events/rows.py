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
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

import attrs
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.store.events.files import why_no_object
from openlineage_pyspark.workbench.store.events.parts import (
    RepeatedDataset,
    RepeatedDatasets,
    canonical,
    facets_text,
    name_text,
    owner_text,
)

Row: TypeAlias = "tuple[str | int | None, ...]"
Rows: TypeAlias = "dict[str, list[Row]]"

NO_BATCH = -1
"""The micro-batch of a run that has none."""

_ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})
_TYPES = frozenset({"START", "RUNNING", "OTHER"}) | _ENDS
_DONE = frozenset({"COMPLETE", "RUNNING"})
_LAST_WORD = 1 << 60
_LONGEST_TEXT = 10_000
# The facets of a dataset that are new in each run.
_OF_VERSIONS = ("pyspark_snapshot", "version")
_OWNERS = ("job", "run")
_DIGITS = 32
_DIGEST_BYTES = 16


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


class _MentionFacets:
    """The facets of a mention, which are large, until its rows are made of them."""

    __slots__ = ("_facets", "_lines")

    def __init__(self, facets: dict[str, Any]) -> None:
        self._facets: dict[str, Any] | None = facets
        self._lines: Lines | None = None

    def lines(self, mention: DatasetMention) -> Lines:
        """Return the rows of the mention that this belongs to."""
        if self._lines is None:
            self._lines, self._facets = _lines(mention, self._facets or {}), None
        return self._lines


@attrs.frozen(cache_hash=True)
class DatasetMention:
    """
    What an event says of a dataset apart from its counts and its versions: the same in each run of an unchanged job.

    Args:
        role: what the dataset is to the job.
        job_id: the job; None in the event of a dataset.
        namespace: the dataset's namespace.
        name: its name.
        digest: a digest of its facets' JSON.
        told: what its rows are made of.
    """

    role: Role
    job_id: int | None
    namespace: str
    name: str
    digest: bytes
    told: _MentionFacets = attrs.field(eq=False, repr=False)

    @property
    def lines(self) -> Lines:
        """Return its rows."""
        return self.told.lines(self)


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


@attrs.frozen(eq=False)
class Description:
    """
    What events say of the columns of a dataset.

    Args:
        job_id: the job that says so; None in the event of a dataset.
        name_id: the dataset.
        digest: a digest of its facets' JSON.
        columns: rows of `dataset_column`, up to the position.
        edges: rows of `column_lineage`, up to the expression.
        span: when it was said.
    """

    job_id: int | None
    name_id: int
    digest: bytes
    columns: tuple[tuple[int, str, str, int], ...]
    edges: tuple[Row, ...]
    span: TimeSpan


@attrs.frozen
class EventRows:
    """
    What was read from one event.

    Args:
        rows: the rows that are this event's own, by table.
        mentions: the job and the datasets that it names. Their rows are made of many events at once.
        span: the event's own time and run.
    """

    rows: Rows
    mentions: tuple[JobMention | DatasetMention, ...]
    span: TimeSpan


@attrs.frozen
class _DatasetOfEvent:
    """
    What an event says of a dataset.

    Args:
        text: its JSON, the same whatever the order of its keys.
        mention: what does not belong to a version.
        versions: the versions that were read or made, if the event is one of what happened: for each one the table, the
            dataset's name, the snapshot, and what follows the time in the row.
    """

    text: str
    mention: DatasetMention
    versions: tuple[tuple[str, int, str, Row], ...]


@attrs.frozen
class _SideOfEvent:
    """
    What an event says of its inputs, of its outputs, or of the dataset that it is about.

    Args:
        role: what they are to the job.
        job_id: the job; None in the event of a dataset.
        text: their JSON, separated by commas; empty without any.
        mentions: what does not belong to a version.
        versions: as in `_DatasetOfEvent`.
    """

    role: Role
    job_id: int | None
    text: str = ""
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
    except (ValueError, RecursionError) as problem:
        raise InvalidEventError(why_no_object(text, problem)) from None
    if not isinstance(event, dict):
        raise InvalidEventError(why_no_object(text))
    return event


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


def read_event(event: dict[str, Any]) -> EventRows:
    """
    Return what an event says.

    Args:
        event: the event as parsed JSON.

    Raises:
        InvalidEventError: something is missing that the specification requires of each event.
    """
    time, producer = _time(event), event.get("producer")
    if not isinstance(producer, str):
        raise InvalidEventError("`producer` is missing or no text")
    rows: Rows = {}
    said, job = _said(event, time, rows)
    if job is None:
        sides = {"dataset": _side_said(Role.ALONE, None, [event.get("dataset")], "dataset")}
    else:
        sides = {
            where: _side_said(role, said.job_id, _list(event, where), where)
            for role, where in ((Role.INPUT, "inputs"), (Role.OUTPUT, "outputs"))
        }
    mentions: list[JobMention | DatasetMention] = [] if job is None else [job]
    has_batches = _micro_batches(event, said, sides.get("inputs"), rows)
    for side in sides.values():
        mentions += side.mentions
        if not has_batches and (side.role is Role.ALONE or said.type in _DONE):
            for table, name_id, snapshot, rest in side.versions:
                _add(rows, table, (said.run_id, NO_BATCH, name_id, snapshot, said.job_id, time, *rest))
    whole = _whole(event, {where: side.text for where, side in sides.items() if side.text})
    try:
        digest = hashlib.sha256(whole.encode()).hexdigest()[:_DIGITS]
    except UnicodeEncodeError:
        # Half a surrogate pair, which no database takes as text, becomes a question mark.
        return read_event(json.loads(canonical(event).encode(errors="replace")))
    rows["event"] = [(digest, said.run_id, said.type, time, producer, whole)]
    return EventRows(rows, tuple(mentions), TimeSpan(time, said.run_id, time, said.run_id))


LEFT_OUT = frozenset(("paths",))
"""The tasks of remarks that put no edge in doubt: more was understood than the event has room for."""


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


def descriptions_of(mentions: Mentions) -> tuple[Description, ...]:
    """Return what events say of the columns of datasets."""
    return tuple(
        Description(mention.job_id, lines.name_id, mention.digest, lines.columns, lines.edges, span)
        for mention, span in mentions.items()
        if isinstance(mention, DatasetMention)
        for lines in (mention.lines,)
        if lines.columns or lines.edges
    )


def described_rows(
    descriptions: Iterable[Description],
    without_columns: Collection[Description] = (),
    without_edges: Collection[Description] = (),
) -> Rows:
    """
    Return the rows of what events say of the columns of datasets.

    Args:
        descriptions: what was said.
        without_columns: those of which no rows of `dataset_column` are wanted.
        without_edges: those of which no rows of `column_lineage` are wanted.

    Returns:
        The rows as they are stored. Two of them may have one key.
    """
    columns: list[Row] = []
    edges: list[Row] = []
    for each in descriptions:
        span = each.span
        if each.columns and each not in without_columns:
            columns += [(*row, span.first_time, span.last_time) for row in each.columns]
        if each.edges and each not in without_edges:
            whole = (span.first_time, span.first_run, span.last_time, span.last_run)
            edges += [(*row, *whole) for row in each.edges]
    return {"dataset_column": columns, "column_lineage": edges}


def _side_said(role: Role, job_id: int | None, datasets: list[Any], where: str) -> _SideOfEvent:
    """
    Return what an event says of datasets; what it said before in the same words is not read again.

    Raises:
        InvalidEventError: one of them has no name.
    """
    known = datasets.said if isinstance(datasets, RepeatedDatasets) else None
    if isinstance(known, _SideOfEvent) and (known.role, known.job_id) == (role, job_id):
        return known
    all_said = [_dataset_said(role, job_id, dataset, where) for dataset in datasets]
    found = _SideOfEvent(
        role,
        job_id,
        ",".join(said.text for said in all_said),
        tuple(said.mention for said in all_said),
        tuple(version for said in all_said for version in said.versions),
    )
    if isinstance(datasets, RepeatedDatasets):
        datasets.said = found
    return found


def _dataset_said(role: Role, job_id: int | None, dataset: object, where: str) -> _DatasetOfEvent:
    if isinstance(dataset, RepeatedDataset):
        known = dataset.said
        if isinstance(known, _DatasetOfEvent) and (known.mention.role, known.mention.job_id) == (role, job_id):
            return known
    named = _named(dataset.parsed if isinstance(dataset, RepeatedDataset) else dataset, where)
    text, mention = _mention(role, job_id, named)
    said = _DatasetOfEvent(text, mention, tuple(_versions_said(role, named)))
    if isinstance(dataset, RepeatedDataset):
        dataset.learn(said)
    return said


def _mention(role: Role, job_id: int | None, dataset: dict[str, Any]) -> tuple[str, DatasetMention]:
    """Return the JSON of a dataset, the same whatever the order of its keys, and what it says."""
    facets = _facets(dataset)
    text = facets_text({key: value for key, value in facets.items() if key not in _OF_VERSIONS})
    has_facets = isinstance(dataset.get("facets"), dict)
    whole = canonical({key: value for key, value in dataset.items() if key != "facets" or not has_facets})
    if has_facets:
        versions = ",".join(f'"{key}":{canonical(facets[key])}' for key in _OF_VERSIONS if key in facets)
        comma = "," if versions and text != "{}" else ""
        whole = f'{whole[:-1]},"facets":{text[:-1]}{comma}{versions}}}}}'
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
    return whole, DatasetMention(role, job_id, dataset["namespace"], dataset["name"], digest, _MentionFacets(facets))


def _whole(event: dict[str, Any], texts: Mapping[str, str]) -> str:
    """
    Return the JSON of an event, the same whatever the order of its keys.

    Args:
        event: the event.
        texts: the JSON of its datasets, by their keys.
    """
    rest = sorted((key, value) for key, value in event.items() if key not in texts)
    parts = [f"{name_text(key)}:{owner_text(value) if key in _OWNERS else canonical(value)}" for key, value in rest]
    parts += [f'"{key}":{text if key == "dataset" else f"[{text}]"}' for key, text in texts.items()]
    return f"{{{','.join(parts)}}}"


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


def _micro_batches(event: dict[str, Any], said: _EventHead, inputs: _SideOfEvent | None, rows: Rows) -> bool:
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


def _beside_sources(inputs: _SideOfEvent | None, facet: dict[str, Any]) -> dict[int, str]:
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


def _said(event: dict[str, Any], time: int, rows: Rows) -> tuple[_EventHead, JobMention | None]:
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


def _time(event: dict[str, Any]) -> int:
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


def _lines(mention: DatasetMention, facets: dict[str, Any]) -> Lines:
    """Return the rows of a mention without their times, of its facets."""
    name_id = _identity("dataset", mention.namespace, mention.name)
    names = _MentionNames()
    names.add(mention.namespace, mention.name, storage=_format(facets))
    for other in _list(_mapping(facets.get("symlinks")), "identifiers"):
        if _is_named(other) and (other["namespace"], other["name"]) != (mention.namespace, mention.name):
            names.add(other["namespace"], other["name"], same_as=name_id)
    columns = tuple((name_id, path, type_, position) for position, (path, type_) in enumerate(_schema(facets)))
    if mention.role is Role.OUTPUT:
        edges = _Edges(mention.job_id, name_id, names)
        read = tuple(_sink(facets, edges))
        return Lines(name_id, names.found(), columns, read, (name_id,), edges.found())
    return Lines(name_id, names.found(), columns, (name_id,) if mention.role is Role.INPUT else ())


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
        Add the edges from one input field: one for each kind, with the texts of all paths of that kind.

        Args:
            source: the input field.
            column: the column of the output.
            older: the kind and the text of the output field, as facets before version 1-1-0 have them.
        """
        if not _is_named(source) or not isinstance(source.get("field"), str) or not source["field"]:
            return
        place = (self.source(source["namespace"], source["name"]), source["field"])
        texts: dict[tuple[str, str, int], set[str]] = {}
        for each in _list(source, "transformations"):
            if isinstance(each, dict):
                kind = (_text(each, "type") or "", _text(each, "subtype") or "", int(each.get("masking") is True))
                texts.setdefault(kind, set()).add(_text(each, "description") or "")
        for kind, every in texts.items():
            self.add(column, place, (*kind, "; ".join(sorted(filter(None, every)))[:_LONGEST_TEXT]))
        if not texts:
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


def _list(value: dict[str, Any], key: str) -> list[Any]:
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


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
