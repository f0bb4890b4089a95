"""
Make the rows of each table from events, as `workbench.events.read` reads them.

Facets that no table has are only in the event's JSON.
"""

from __future__ import annotations

import functools
import hashlib
import json
import marshal
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import attrs
from openlineage_pyspark.errors import InvalidEventError
from openlineage_pyspark.workbench.events.files import why_no_object
from openlineage_pyspark.workbench.events.read import ENDS, Role, Sides, dataset_facts, edges_into, facts, sides_of
from openlineage_pyspark.workbench.events.shapes import LONGEST_TEXT

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.events.facts import BatchOfRun, Stated, StatedEdge, StatedGap, StatedPath
    from openlineage_pyspark.workbench.events.read import DatasetOfEvent, EventFacts, JobOfEvent, RunOfEvent
    from openlineage_pyspark.workbench.events.shapes import EventJson
    from openlineage_pyspark.workbench.model.kinds import Diagnostic

Row: TypeAlias = "tuple[str | int | None, ...]"
Rows: TypeAlias = "dict[str, list[Row]]"


class DatasetNameRow(NamedTuple):
    """A row of the table `dataset`, as it is stored: a value is followed by the time that orders it."""

    name_id: int
    namespace: str
    name: str
    same_as: int | None
    same_as_order: int | None
    format: str | None
    format_order: int | None
    first_time: int
    last_time: int


NO_BATCH = -1
"""The micro-batch of a run that has none."""

_DONE = frozenset({"COMPLETE", "RUNNING"})
_LAST_WORD = 1 << 60
# The facets of a dataset that are new in each run.
_OF_VERSIONS = ("pyspark_snapshot", "version")
_DIGEST_BYTES = 16
# The version of the format in which a value has the same bytes wherever it comes from.
_PLAIN_MARSHAL = 2
_SURROGATE = re.compile(r"\\u[dD]")
_DIGITS = 32


@attrs.frozen
class TimeSpan:
    """
    The first and the last time of a mention.

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
        edges: of `column_lineage`: up to the certainty; and the steps as a text, None if the path is not stated.
        change: the change of the dataset as a whole, such as OVERWRITE; empty for an append.
        states_sources: whether the written columns come from `read` alone, and not from all that the job reads.
        owners: the owners of the dataset, with the types of ownership.
    """

    name_id: int
    names: tuple[tuple[int, str, str, int | None, str | None], ...]
    columns: tuple[tuple[int, str, str, int], ...]
    read: tuple[int, ...] = ()
    written: tuple[int, ...] = ()
    edges: tuple[Row, ...] = ()
    change: str = ""
    states_sources: bool = False
    owners: tuple[tuple[str, str], ...] = ()


@attrs.frozen(cache_hash=True)
class DatasetMention:
    """
    An event's mention of a dataset without counts and versions: the same in each run of an unchanged job.

    Args:
        role: the role of the dataset in the event.
        job_id: the job; None in the event of a dataset.
        digest: a digest of its rows.
        lines: its rows.
        odd: the diagnostics about the parts that were left out.
    """

    role: Role
    job_id: int | None
    digest: bytes
    lines: Lines = attrs.field(eq=False, repr=False)
    odd: tuple[Diagnostic, ...] = attrs.field(default=(), eq=False, repr=False)


@attrs.frozen
class JobMention:
    """
    An event's mention of its job: the same in each run of an unchanged job.

    Args:
        job_id: the job.
        namespace: its namespace.
        name: its name.
        facts: its LATEST columns.
        owners: its owners, with the types of ownership.
    """

    job_id: int
    namespace: str
    name: str
    facts: tuple[str | None, ...]
    owners: tuple[tuple[str, str], ...] = ()


Mentioned: TypeAlias = "tuple[JobMention | DatasetMention, ...]"
Mentions: TypeAlias = "Mapping[JobMention | DatasetMention, TimeSpan]"


@attrs.frozen
class EventRows:
    """
    The rows of one event.

    Args:
        text: the event as it arrived.
        digest: a digest of that.
        type: its type, such as `COMPLETE`.
        producer: its producer.
        rows: the event's own rows by table, except that of `event`.
        mentions: the job and the datasets that it names. Their rows are made of many events at once.
        span: the event's own time and run.
        gaps: the gaps that its producer reports.
        odd: the diagnostics about the parts that were left out.
    """

    text: str
    digest: bytes
    type: str
    producer: str
    rows: Rows
    mentions: Mentioned
    span: TimeSpan
    gaps: tuple[StatedGap, ...] = ()
    odd: tuple[Diagnostic, ...] = ()

    @property
    def row(self) -> Row:
        """Return the row of `event`."""
        return self.digest.hex(), self.span.first_run, self.type, self.span.first_time, self.producer, self.text


@attrs.frozen
class StatedByJob:
    """
    The explicit lineage facet of a job. It is complete: each output comes from the stated sources alone.

    Args:
        entries: the edges into each dataset.
        through: the datasets, by namespace and name, that the job itself comes from. Whatever the job makes also comes
            from these.
    """

    entries: tuple[Stated, ...]
    through: tuple[tuple[str, str], ...] = ()

    def of(self, namespace: str, name: str) -> StatedByJob:
        """Return the part of it that is about a dataset."""
        entries = tuple(each for each in self.entries if each.target[:2] == (namespace, name))
        is_through = any(edge.source.is_job for each in entries for edge in each.edges)
        return StatedByJob(entries, self.through if is_through else ())


@attrs.frozen
class SideOfEvent:
    """
    The mentions of an event's inputs, of its outputs, or of the dataset that it is about.

    Args:
        role: their role in the event.
        mentions: the mentions, which do not depend on versions.
        versions: the versions that were read or made: for each one the table, the dataset's name, the snapshot, and
            what follows the time in the row. They only count if the event reports what has happened, unlike a START.
        odd: the diagnostics about the parts of the datasets that were left out.
    """

    role: Role
    mentions: tuple[DatasetMention, ...] = ()
    versions: tuple[tuple[str, int, str, Row], ...] = ()
    odd: tuple[Diagnostic, ...] = ()


def identity(*names: str) -> int:
    """Return the id for some names: 63 bits of a hash, the same on each machine."""
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


_identity = functools.lru_cache(maxsize=100_000)(identity)


@attrs.frozen
class EventContent:
    """
    The mentions of an event's job and of all its datasets.

    Args:
        sides: its inputs and its outputs, or the dataset that it is about.
        mentions: the job and the mentions of the sides, as one value.
    """

    sides: tuple[SideOfEvent, ...]
    mentions: Mentioned


class Memory(Protocol):
    """Remembers the content of events, since the next events repeat most of it."""

    def content(self, key: tuple[object, ...], read: Callable[[], EventContent], /) -> EventContent:
        """Return what `read` returns: it follows from the key and the texts of the event's datasets."""

    def mention(self, key: tuple[object, ...], read: Callable[[], DatasetMention], /) -> DatasetMention:
        """Return what `read` returns: it follows from the key."""


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
            # Half a surrogate pair, which no database accepts as text, becomes a question mark.
            event = json.loads(json.dumps(event, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError) as problem:
        raise InvalidEventError(why_no_object(problem)) from None
    if not isinstance(event, dict):
        raise InvalidEventError(why_no_object())
    return event


def has_escaped_surrogate(text: str) -> bool:
    """Return whether a text may have half of a surrogate pair."""
    # Looking for one character costs a fraction of looking for several.
    return "\\" in text and _SURROGATE.search(text) is not None


def rejected(text: str, reason: str, source: str) -> Rows:
    """
    Return the rows of a text that is not an event.

    Args:
        text: the text; empty if it can't be read.
        reason: why it is not.
        source: where it came from, for people.
    """
    # Whether a line ends with a line break depends on who reads the file.
    text = text.strip()
    return {"rejected": [(_digest(text or source), reason, source, text[:LONGEST_TEXT])]}


def read_event(text: str, event: EventJson, memory: Memory) -> EventRows:
    """
    Return the rows of an event.

    Args:
        text: the event's JSON, without spaces around it.
        event: the same as parsed JSON.
        memory: remembers the content of other events.

    Raises:
        InvalidEventError: something is missing that the specification requires of each event.
    """
    # The datasets are read below, where those that repeat an earlier text are not read again.
    content = facts(event, Sides())
    job = None if content.job is None else _job(content.job)
    rows: Rows = {} if content.run is None or job is None else {"run": [_run(content, content.run, job.job_id)]}
    stated = None if job is None else _stated_by_job(content)
    found = memory.content((job, stated), functools.partial(_content_of, event, job, stated, memory))
    run_id, job_id = "" if content.run is None else content.run.id, None if job is None else job.job_id
    time = content.time
    has_batches = _micro_batches(content, job_id, found.sides[0], rows)
    for side in found.sides:
        if not has_batches and (side.role is Role.ALONE or content.type in _DONE):
            for table, name_id, snapshot, rest in side.versions:
                _add(rows, table, (run_id, NO_BATCH, name_id, snapshot, job_id, time, *rest))
    digest = hashlib.sha256(text.encode(errors="replace")).digest()[:_DIGEST_BYTES]
    span = TimeSpan(time, run_id, time, run_id)
    gaps = () if content.run is None else content.run.gaps
    odd = _odd_parts(event, content, found)
    return EventRows(text, digest, content.type, content.producer, rows, found.mentions, span, gaps, odd)


def _odd_parts(event: EventJson, content: EventFacts, found: EventContent) -> tuple[Diagnostic, ...]:
    """Return the diagnostics about the parts of an event that were left out."""
    odd = [] if content.run is None else [*content.run.odd]
    if content.job is not None:
        odd += content.job.diagnostics
        if not all(isinstance(event.get(key), (list, type(None))) for key in ("inputs", "outputs")):
            odd += sides_of(event).diagnostics
    return (*odd, *(each for side in found.sides for each in side.odd))


def named_rows(mentions: Mentions) -> Rows:
    """
    Return the rows of the jobs and datasets that events name, of their owners, and of the reads and writes of jobs.

    Args:
        mentions: each mention -> when.

    Returns:
        The rows as they are stored, in the order of `StoredTable.stored`. Two of them may have one key.
    """
    jobs: list[Row] = []
    read: list[Row] = []
    written: list[Row] = []
    # Several datasets name one source.
    datasets: dict[Row, None] = {}
    owners: list[Row] = []
    for mention, span in mentions.items():
        when = (span.first_time, span.last_time)
        if isinstance(mention, JobMention):
            facts = _latest(mention.facts, span.last_time)
            jobs.append((mention.job_id, mention.namespace, mention.name, *facts, *when))
            owners += [("job", mention.job_id, *owner, at, *when) for at, owner in enumerate(mention.owners)]
            continue
        lines = mention.lines
        owners += [("dataset", lines.name_id, *owner, at, *when) for at, owner in enumerate(lines.owners)]
        for name in lines.names:
            datasets[_dataset_row(name, span)] = None
        read += [(mention.job_id, name_id, *when) for name_id in lines.read]
        written += [(mention.job_id, name_id, *when) for name_id in lines.written]
    found = {"job": jobs, "dataset": list(datasets), "source_job_lineage": read, "sink_job_lineage": written}
    return found | ({"owner": owners} if owners else {})


def described_rows(mentions: Mentions) -> Rows:
    """
    Return the rows of the columns of datasets that events mention.

    Args:
        mentions: each mention -> when.

    Returns:
        The rows as they are stored. Two of them may have one key.
    """
    columns: list[Row] = []
    edges: list[Row] = []
    for mention, span in mentions.items():
        if isinstance(mention, DatasetMention):
            columns += [(*row, span.first_time, span.last_time) for row in mention.lines.columns]
            whole = (span.first_time, span.first_run, span.last_time, span.last_run)
            edges += [(*row[:-1], *whole) for row in mention.lines.edges]
    return {"dataset_column": columns, "column_lineage": edges}


def _stated_by_job(content: EventFacts) -> StatedByJob | None:
    """Return the edges of the explicit lineage facet of an event's job; None without one."""
    job = content.job
    if job is None or not job.stated:
        return None
    own = (job.namespace, job.name)
    into_job = (each for each in content.stated if each.target.is_job and each.target[:2] == own)
    through = (edge.source[:2] for each in into_job for edge in each.edges if not edge.source.is_job)
    return StatedByJob(tuple(each for each in content.stated if not each.target.is_job), tuple(dict.fromkeys(through)))


def _content_of(event: EventJson, job: JobMention | None, stated: StatedByJob | None, memory: Memory) -> EventContent:
    """
    Return the mentions of an event's job and its datasets.

    Raises:
        InvalidEventError: one of the datasets has no name.
    """
    if job is None:
        sides: tuple[SideOfEvent, ...] = (_side(Role.ALONE, None, [event.get("dataset")], memory),)
    else:
        inputs = _side(Role.INPUT, job.job_id, _list(event, "inputs"), memory)
        sides = (inputs, _side(Role.OUTPUT, job.job_id, _list(event, "outputs"), memory, stated))
    mentions = (each for side in sides for each in side.mentions)
    return EventContent(sides, (*(() if job is None else (job,)), *mentions))


def _side(
    role: Role, job_id: int | None, datasets: list[Any], memory: Memory, stated: StatedByJob | None = None
) -> SideOfEvent:
    """
    Return the mentions of an event's datasets.

    Raises:
        InvalidEventError: one of them has no name.
    """
    found = [dataset_facts(dataset, role) for dataset in datasets]
    named = {(each.namespace, each.name) for each in found}
    targets = dict.fromkeys(each.target[:2] for each in stated.entries) if stated is not None else ()
    beside = [dataset_facts({"namespace": each[0], "name": each[1]}, role) for each in targets if each not in named]
    mentions = tuple(_mention(job_id, each, memory, stated) for each in (*found, *beside))
    versions = tuple(version for each in found for version in _versions_of(each))
    odd = dict.fromkeys(each for mention in mentions for each in mention.odd)
    odd |= dict.fromkeys(each for dataset in found for each in dataset.odd_so_far)
    return SideOfEvent(role, mentions, versions, tuple(odd))


def _mention(
    job_id: int | None, dataset: DatasetOfEvent, memory: Memory, by_job: StatedByJob | None = None
) -> DatasetMention:
    stated = None if by_job is None else by_job.of(dataset.namespace, dataset.name)
    facets = {key: value for key, value in dataset.facets.items() if key not in _OF_VERSIONS}

    def read() -> DatasetMention:
        lines = _lines(dataset, job_id, stated)
        whole = repr((dataset.role.value, job_id, dataset.namespace, dataset.name, attrs.astuple(lines, recurse=False)))
        # Counts and versions are not part of the mention, and what is odd in them is read each time.
        odd = tuple(each for each in dataset.diagnostics if each.place.rpartition(": ")[2] in facets)
        return DatasetMention(dataset.role, job_id, digest_of(whole), lines, odd)

    # The same values in another order are read again, with the same result.
    whose = (dataset.role, job_id, dataset.namespace, dataset.name, stated)
    return memory.mention((*whose, marshal.dumps(facets, _PLAIN_MARSHAL)), read)


def version_digest(event: EventRows) -> bytes:
    """Return the digest of an event's mentions of its job and its datasets, without counts and versions."""
    parts = {
        repr(attrs.astuple(each)) if isinstance(each, JobMention) else each.digest.hex() for each in event.mentions
    }
    return digest_of(repr((event.producer, sorted(parts), tuple(map(tuple, event.gaps)))))


def _versions_of(dataset: DatasetOfEvent) -> Iterator[tuple[str, int, str, Row]]:
    """Yield the versions that were read or made, as `SideOfEvent` has them."""
    name_id = _identity("dataset", dataset.namespace, dataset.name)
    if dataset.role is Role.ALONE:
        if dataset.version:
            yield "sink_snapshot_lineage", name_id, dataset.version, (None, "", None, None)
    elif dataset.role is Role.INPUT:
        for each in dataset.versions or ("",):
            yield "source_snapshot_lineage", name_id, each, (None, None, *dataset.counts)
    else:
        parent = dataset.version_before
        if dataset.renamed_from is not None:
            # The dataset under the new name has the rows of the one under the old name.
            yield "source_snapshot_lineage", _identity("dataset", *dataset.renamed_from), "", (None, None, None, None)
        for each in dataset.versions or ("",):
            yield "sink_snapshot_lineage", name_id, each, (parent, dataset.change, *dataset.counts)
            parent = each


def _micro_batches(content: EventFacts, job_id: int | None, inputs: SideOfEvent, rows: Rows) -> bool:
    """
    Add the reads and writes of each micro-batch.

    Returns:
        Whether the event states its versions by micro-batch: its mentions of datasets then sum up several batches.
    """
    if content.run is None or content.run.batches is None:
        return False
    beside = _beside_sources(inputs, content.run.batches)
    for batch in content.run.batches:
        # The event that reports a micro-batch comes after the batch, whatever the event's own clock shows.
        time = content.time if batch.time is None else min(batch.time, content.time)
        for source in batch.sources:
            at = (content.run.id, batch.number, _identity("dataset", *source.dataset), source.version, job_id, time)
            _add(rows, "source_snapshot_lineage", (*at, source.start, source.end, source.rows, None))
        for name_id, version in beside.items():
            what = (content.run.id, batch.number, name_id, version, job_id, time)
            _add(rows, "source_snapshot_lineage", (*what, None, None, None, None))
        for sink in batch.sinks:
            at = (content.run.id, batch.number, _identity("dataset", *sink.dataset), sink.version, job_id, time)
            _add(rows, "sink_snapshot_lineage", (*at, sink.parent, sink.change, sink.rows, None))
    return True


def _beside_sources(inputs: SideOfEvent, batches: Iterable[BatchOfRun]) -> dict[int, str]:
    """
    Return the inputs of a streaming query besides its sources, such as a table that it joins, with their versions.

    Each micro-batch reads it. If the run has read several versions, it is unknown which batch read which. Then the
    version that was current at the time of the batch is assumed, as if the event stated none.
    """
    read: dict[int, list[str]] = {}
    for _, name_id, version, _ in inputs.versions:
        read.setdefault(name_id, []).append(version)
    for batch in batches:
        for source in batch.sources:
            read.pop(_identity("dataset", *source.dataset), None)
    return {name_id: versions[0] if len(versions) == 1 else "" for name_id, versions in read.items()}


def _add(rows: Rows, table: str, row: Row) -> None:
    rows.setdefault(table, []).append(row)


def _job(job: JobOfEvent) -> JobMention:
    stated = (job.processing, job.integration, job.type, job.sql, job.description)
    return JobMention(_identity("job", job.namespace, job.name), job.namespace, job.name, stated, job.owners)


def _run(content: EventFacts, run: RunOfEvent, job_id: int) -> Row:
    stated = (
        None if run.parent is None else run.parent.run,
        None if run.root is None else run.root.run,
        *(run.error, run.query_id, run.checkpoint),
    )
    is_end = content.type in ENDS
    state = (content.type, content.time + (_LAST_WORD if is_end else 0))
    started = content.time if content.type == "START" else None
    ended = content.time if is_end else None
    facts = (*_latest(stated, content.time), run.call_site or None)
    return (run.id, job_id, *state, started, ended, *facts, content.time, content.time)


def _dataset_row(name: tuple[int, str, str, int | None, str | None], span: TimeSpan) -> Row:
    name_id, namespace, title, same_as, storage = name
    last = span.last_time
    if same_as is None and storage is None:
        return (name_id, namespace, title, None, None, None, None, span.first_time, last)
    facts = (same_as, None if same_as is None else last, storage, None if storage is None else last)
    return (name_id, namespace, title, *facts, span.first_time, last)


def _lines(dataset: DatasetOfEvent, job_id: int | None, stated: StatedByJob | None = None) -> Lines:
    """Return the rows of a mention without their times, as the explicit lineage facet of its job states them."""
    name_id = _identity("dataset", dataset.namespace, dataset.name)
    names = _MentionNames()
    names.add(dataset.namespace, dataset.name, storage=dataset.file_format or dataset.storage_layer or None)
    for other in dataset.symlinks:
        if other[:2] != (dataset.namespace, dataset.name):
            names.add(other.namespace, other.name, same_as=name_id)
    columns = tuple((name_id, field.path, field.type, position) for position, field in enumerate(dataset.fields))
    if dataset.role is Role.OUTPUT:
        own = () if dataset.stated is None else (dataset.stated,)
        entries = (*own, *(stated.entries if stated is not None else ()))
        every = dataset.edges if stated is None and not own else edges_into(dataset, entries)
        edges = tuple(_edges(every, name_id, job_id, names))
        read = () if dataset.renamed_from is None else (names.add(*dataset.renamed_from),)
        if stated is not None or own:
            sources = [edge.source[:2] for edge in every if not edge.source.is_job]
            sources += stated.through if stated is not None else ()
            read = tuple(dict.fromkeys((*read, *(names.add(*each) for each in sources))))
        states = stated is not None or bool(own)
        found = names.found()
        return Lines(name_id, found, columns, read, (name_id,), edges, dataset.change, states, dataset.owners)
    read = (name_id,) if dataset.role is Role.INPUT else ()
    return Lines(name_id, names.found(), columns, read, owners=dataset.owners)


class _MentionNames:
    """The names that a mention states, each one once, as `Lines` has them."""

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


def _edges(stated: Iterable[StatedEdge], name_id: int, job_id: int | None, names: _MentionNames) -> Iterator[Row]:
    """Yield the edges between columns, a row for each path, and add the names of their sources."""
    sources: dict[tuple[str, str], int] = {}
    for source, target, paths in stated:
        if source.is_job or not (source.column or target.column):
            continue
        source_id = sources.get(source[:2])
        if source_id is None:
            source_id = sources[source[:2]] = names.add(source.namespace, source.name)
        ends = (name_id, target.column, source_id, source.column, job_id)
        if len(paths) == 1:
            yield (*ends, *_path(paths[0]))
        else:
            # Paths that differ only in what no table has are one path there.
            yield from ((*ends, *path) for path in dict.fromkeys(map(_path, paths)))


def _path(path: StatedPath) -> Row:
    """Return a path as the end of a row; its certainty and its steps are left out if the event does not state them."""
    kind, text, certainty, operators, steps, is_traced = path
    if not is_traced:
        return kind.type, kind.subtype, int(kind.masking), text, "", None
    done = [(step.operator, step.expression, step.certainty, step.call_site) for step in steps]
    passed = json.dumps((operators, done), ensure_ascii=False, separators=(",", ":"))
    return kind.type, kind.subtype, int(kind.masking), text, certainty, passed


def _latest(values: tuple[str | int | None, ...], time: int) -> list[str | int | None]:
    """Return LATEST columns with their companions."""
    return [each for value in values for each in (value, None if value is None else time)]


def _list(value: EventJson, key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def digest_of(text: str) -> bytes:
    """Return the digest of a text, 16 bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
