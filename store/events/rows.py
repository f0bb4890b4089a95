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
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeGuard

import attrs
from openlineage_pyspark.store.events.parts import RepeatedDataset, canonical, facets_text, name_text, owner_text
from openlineage_pyspark.store.times import microseconds

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


class InvalidEventError(ValueError):
    """The text is no valid OpenLineage event. The message says why."""


@attrs.frozen
class Span:
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

    def __or__(self, other: Span) -> Span:
        """Return the span of both."""
        first = min((self.first_time, self.first_run), (other.first_time, other.first_run))
        return Span(*first, *max((self.last_time, self.last_run), (other.last_time, other.last_run)))


class Role(enum.Enum):
    """What a dataset is in an event."""

    INPUT = enum.auto()
    OUTPUT = enum.auto()
    ALONE = enum.auto()


@attrs.frozen(cache_hash=True)
class Mention:
    """
    What an event says of a dataset apart from its counts and its versions: the same in each run of an unchanged job.

    Args:
        role: what the dataset is to the job.
        job_id: the job; None in the event of a dataset.
        namespace: the dataset's namespace.
        name: its name.
        text: its facets as JSON.
        facets: the same, parsed.
    """

    role: Role
    job_id: int | None
    namespace: str
    name: str
    text: str
    facets: dict[str, Any] = attrs.field(eq=False, repr=False)


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


@attrs.frozen
class Read:
    """
    What was read from one event.

    Args:
        rows: the rows that are this event's own, by table.
        mentions: the job and the datasets that it names. `mentioned_rows` makes their rows, of many events at once.
        span: the event's own time and run.
    """

    rows: Rows
    mentions: tuple[JobMention | Mention, ...]
    span: Span


@attrs.frozen
class _DatasetSaid:
    """
    What an event says of a dataset.

    Args:
        text: its JSON, the same whatever the order of its keys.
        mention: what does not belong to a version.
        versions: the versions that were read or made, if the event is one of what happened: for each one the table, the
            dataset's name, the snapshot, and what stands behind the time in the row.
    """

    text: str
    mention: Mention
    versions: tuple[tuple[str, int, str, Row], ...]


@attrs.frozen
class _Said:
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
        raise InvalidEventError(f"not JSON: {problem}") from None
    if not isinstance(event, dict):
        raise InvalidEventError("not a JSON object")
    return event


def rejected(text: str, reason: str, source: str) -> Rows:
    """
    Return the rows of a text that is no event.

    Args:
        text: the text.
        reason: why it is none.
        source: where it came from, for people.
    """
    # Whether a line ends with a sign of its own depends on who reads the file.
    text = text.strip()
    return {"rejected": [(_digest(text), reason, source, text[:_LONGEST_TEXT])]}


def read_event(event: dict[str, Any]) -> Read:
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
        found = [(Role.ALONE, "dataset", _named(event.get("dataset"), "dataset"))]
    else:
        found = [(Role.INPUT, "inputs", _named(each, "inputs")) for each in _list(event, "inputs")]
        found += [(Role.OUTPUT, "outputs", _named(each, "outputs")) for each in _list(event, "outputs")]
    texts: dict[str, list[str]] = {"inputs": [], "outputs": [], "dataset": []}
    mentions: list[JobMention | Mention] = [] if job is None else [job]
    has_batches = _micro_batches(event, said, rows)
    for role, where, dataset in found:
        of_dataset = _dataset_said(role, said.job_id, dataset)
        texts[where].append(of_dataset.text)
        mentions.append(of_dataset.mention)
        if not has_batches and (role is Role.ALONE or said.type in _DONE):
            for table, name_id, snapshot, rest in of_dataset.versions:
                _add(rows, table, (said.run_id, NO_BATCH, name_id, snapshot, said.job_id, said.time, *rest))
    whole = _whole(event, texts)
    if whole is None:
        # Half a surrogate pair, which no database takes as text, becomes a question mark.
        return read_event(json.loads(canonical(event).encode(errors="replace")))
    rows["event"] = [(_digest(whole), said.run_id, said.type, time, producer, whole)]
    return Read(rows, tuple(mentions), Span(time, said.run_id, time, said.run_id))


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


def mentioned_rows(mentions: Mapping[JobMention | Mention, Span]) -> Rows:
    """
    Return the rows of what events say of jobs and datasets, by table.

    Args:
        mentions: what was said -> when.

    Returns:
        The rows as they are stored: their values stand in the order of `Table.stored`. Two of them may have one key.
    """
    rows: Rows = {}
    for mention, span in mentions.items():
        if isinstance(mention, JobMention):
            facts = _latest(mention.facts, span.last_time)
            _add(
                rows, "job", (mention.job_id, mention.namespace, mention.name, *facts, span.first_time, span.last_time)
            )
            continue
        name_id = _dataset(mention, span, rows)
        link = (mention.job_id, name_id, span.first_time, span.last_time)
        if mention.role is Role.INPUT:
            _add(rows, "source_job_lineage", link)
        elif mention.role is Role.OUTPUT:
            _add(rows, "sink_job_lineage", link)
            _sink(mention, name_id, span, rows)
    # Several datasets name one source.
    if "dataset" in rows:
        rows["dataset"] = list(dict.fromkeys(rows["dataset"]))
    return rows


def _dataset_said(role: Role, job_id: int | None, dataset: dict[str, Any]) -> _DatasetSaid:
    """Return what an event says of a dataset; what it said before in the same words is not read again."""
    if not isinstance(dataset, RepeatedDataset):
        text, mention = _mention(role, job_id, dataset)
        return _DatasetSaid(text, mention, tuple(_versions_said(role, dataset)))
    known = dataset.said
    if not isinstance(known, _DatasetSaid) or (known.mention.role, known.mention.job_id) != (role, job_id):
        text, mention = _mention(role, job_id, dataset)
        dataset.said = known = _DatasetSaid(text, mention, tuple(_versions_said(role, dataset)))
    return known


def _mention(role: Role, job_id: int | None, dataset: dict[str, Any]) -> tuple[str, Mention]:
    """Return the JSON of a dataset, the same whatever the order of its keys, and what it says."""
    facets = _facets(dataset)
    text = facets_text({key: value for key, value in facets.items() if key not in _OF_VERSIONS})
    has_facets = isinstance(dataset.get("facets"), dict)
    whole = canonical({key: value for key, value in dataset.items() if key != "facets" or not has_facets})
    if has_facets:
        versions = ",".join(f'"{key}":{canonical(facets[key])}' for key in _OF_VERSIONS if key in facets)
        comma = "," if versions and text != "{}" else ""
        whole = f'{whole[:-1]},"facets":{text[:-1]}{comma}{versions}}}}}'
    return whole, Mention(role, job_id, dataset["namespace"], dataset["name"], text, facets)


def _whole(event: dict[str, Any], texts: Mapping[str, list[str]]) -> str | None:
    """Return the JSON of an event, the same whatever the order of its keys; None if it can't be stored as text."""
    rest = sorted(item for item in event.items() if not texts.get(item[0]))
    parts = [f"{name_text(key)}:{owner_text(value) if key in _OWNERS else canonical(value)}" for key, value in rest]
    parts += [
        f'"{key}":{found[0] if key == "dataset" else "[" + ",".join(found) + "]"}'
        for key, found in texts.items()
        if found
    ]
    text = f"{{{','.join(parts)}}}"
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text


def _versions_said(role: Role, dataset: dict[str, Any]) -> Iterator[tuple[str, int, str, Row]]:
    """Yield the versions that were read or made, as `_DatasetSaid` has them."""
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


def _micro_batches(event: dict[str, Any], said: _Said, rows: Rows) -> bool:
    """
    Add what each micro-batch read and made.

    Returns:
        Whether the event tells its versions by micro-batch: what it says of its datasets then sums many of them up.
    """
    run = event.get("run")
    facet = _facets(run).get("pyspark_micro_batches") if isinstance(run, dict) else None
    if not isinstance(facet, dict):
        return False
    for batch in _list(facet, "batches"):
        number = _number(batch, "batchId") if isinstance(batch, dict) else None
        if number is None:
            continue
        time = _batch_time(batch, said.time)
        for source in filter(_is_named, _list(batch, "sources")):
            at = (said.run_id, number, _identity("dataset", source["namespace"], source["name"]))
            place = (_text(source, "from"), _text(source, "to"), _number(source, "rows"), None)
            _add(rows, "source_snapshot_lineage", (*at, _text(source, "version") or "", said.job_id, time, *place))
        for sink in filter(_is_named, _list(batch, "sinks")):
            at = (said.run_id, number, _identity("dataset", sink["namespace"], sink["name"]))
            made = (_text(sink, "parent"), _text(sink, "change") or "", _number(sink, "rows"), None)
            _add(rows, "sink_snapshot_lineage", (*at, _text(sink, "version") or "", said.job_id, time, *made))
    return True


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


def _said(event: dict[str, Any], time: int, rows: Rows) -> tuple[_Said, JobMention | None]:
    """Return who says something, and what it says of its job."""
    if "run" not in event and "job" not in event:
        if "dataset" not in event:
            raise InvalidEventError("neither `run`, `job` nor `dataset`")
        return _Said(time, None, "", "DATASET"), None
    job = _job(_named(event.get("job"), "job"))
    if "run" not in event:
        return _Said(time, job.job_id, "", "JOB"), job
    type_ = event.get("eventType", "OTHER")
    if not isinstance(type_, str) or type_ not in _TYPES:
        raise InvalidEventError(f"`eventType` is {json.dumps(type_)}")
    run = _mapping(event["run"])
    run_id = run.get("runId")
    if not isinstance(run_id, str) or not run_id:
        raise InvalidEventError("`run.runId` is missing or no text")
    said = _Said(time, job.job_id, run_id, type_)
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


def _run(run_id: str, job_id: int, facets: dict[str, Any], said: _Said, rows: Rows) -> None:
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


def _dataset(mention: Mention, span: Span, rows: Rows) -> int:
    facets = mention.facets
    name_id = _name(mention.namespace, mention.name, span, rows, storage=_format(facets))
    for other in _list(_mapping(facets.get("symlinks")), "identifiers"):
        if _is_named(other) and (other["namespace"], other["name"]) != (mention.namespace, mention.name):
            _name(other["namespace"], other["name"], span, rows, same_as=name_id)
    for position, (path, type_) in enumerate(_schema(facets)):
        _add(rows, "dataset_column", (name_id, path, type_, position, span.first_time, span.last_time))
    return name_id


def _name(
    namespace: str, name: str, span: Span, rows: Rows, *, same_as: int | None = None, storage: str | None = None
) -> int:
    name_id, last = _identity("dataset", namespace, name), span.last_time
    facts = (same_as, None if same_as is None else last, storage, None if storage is None else last)
    _add(rows, "dataset", (name_id, namespace, name, *facts, span.first_time, last))
    return name_id


def _sink(mention: Mention, name_id: int, span: Span, rows: Rows) -> None:
    """Add where the columns of an output come from."""
    lineage = _mapping(mention.facets.get("columnLineage"))
    edges = _Edges(mention.job_id, name_id, span, rows)
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
    before = _mapping(mention.facets.get("lifecycleStateChange")).get("previousIdentifier")
    if _is_named(before):
        _renamed(before, mention, edges)


def _renamed(before: dict[str, Any], mention: Mention, edges: _Edges) -> None:
    """Add what a new name means: each column continues the one that had its name under the old name."""
    old, span = edges.source(before["namespace"], before["name"]), edges.span
    if old == edges.name_id:
        return
    _add(edges.rows, "source_job_lineage", (mention.job_id, old, span.first_time, span.last_time))
    for column, _ in _schema(mention.facets):
        edges.add(column, (old, column), ("DIRECT", "IDENTITY", 0, ""))


class _Edges:
    """
    The rows of edges into one dataset.

    Args:
        job_id: the job that says so.
        name_id: the dataset.
        span: when it was said.
        rows: where they are added, with the names of the sources.
    """

    def __init__(self, job_id: int | None, name_id: int, span: Span, rows: Rows) -> None:
        self.name_id = name_id
        self.span = span
        self.rows = rows
        self._edges = rows.setdefault("column_lineage", [])
        self._job_id = job_id
        self._when = (span.first_time, span.first_run, span.last_time, span.last_run)
        self._sources: dict[tuple[str, str], int] = {}

    def source(self, namespace: str, name: str) -> int:
        """Return the id of a name, whose row is added once."""
        found = self._sources.get((namespace, name))
        if found is None:
            found = self._sources[namespace, name] = _name(namespace, name, self.span, self.rows)
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
        transformations = [each for each in _list(source, "transformations") if isinstance(each, dict)]
        for each in transformations:
            kind = (_text(each, "type") or "", _text(each, "subtype") or "", int(each.get("masking") is True))
            self.add(column, place, (*kind, _text(each, "description") or ""))
        if not transformations:
            subtype, text = older
            masking = int(subtype == "MASKED")
            self.add(column, place, ("DIRECT" if subtype else "", subtype, masking, text))

    def add(self, column: str, place: tuple[int, str], kind: tuple[str, str, int, str]) -> None:
        """Add one edge: from a column, of a kind with its text."""
        self._edges.append((self.name_id, column, *place, self._job_id, *kind, *self._when))


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
