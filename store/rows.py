"""
The rows that one event makes in each table. This is the only module that reads events.

It takes any valid OpenLineage event, whoever made it: of a run, a job or a dataset
(https://openlineage.io/spec/2-0-2/OpenLineage.json). Facets that it does not know stay in the event's JSON. A known
facet that has another shape than its schema says is left out; the rest of its event is taken.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias, TypeGuard

import attrs
from openlineage_pyspark.store import schema

Row: TypeAlias = "tuple[str | int | None, ...]"
Rows: TypeAlias = "dict[str, list[Row]]"

NO_BATCH = -1
"""The micro-batch of a run that has none."""

_ENDS = frozenset({"COMPLETE", "FAIL", "ABORT"})
_TYPES = frozenset({"START", "RUNNING", "OTHER"}) | _ENDS
_DONE = frozenset({"COMPLETE", "RUNNING"})
_LAST_WORD = 1 << 60
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FRACTION = re.compile(r"(\.\d{6})\d+")
_LONGEST_TEXT = 10_000
_DIGITS = 32


class InvalidEventError(ValueError):
    """The text is no valid OpenLineage event. The message says why."""


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


def microseconds(text: str) -> int:
    """
    Return a point in time as microseconds since 1970.

    Args:
        text: as ISO 8601 writes it; without a zone, in UTC.

    Raises:
        ValueError: it is no such text.
    """
    # Python 3.10 knows neither Z nor more than six digits.
    plain = _FRACTION.sub(r"\1", text.strip()).replace("Z", "+00:00").replace("z", "+00:00")
    time = datetime.fromisoformat(_padded(plain))
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    return (time - _EPOCH) // timedelta(microseconds=1)


def parse(text: str) -> dict[str, Any]:
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
        raise InvalidEventError(f"no JSON: {problem}") from None
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
    return {"rejected": [(_digest(text), reason, source, text[:_LONGEST_TEXT])]}


def rows_of(event: dict[str, Any]) -> Rows:
    """
    Return the rows of an event, by table.

    Args:
        event: the event as parsed JSON.

    Returns:
        The rows as they are stored: their values stand in the order of `Table.stored`. Two of them may have one key.

    Raises:
        InvalidEventError: something is missing that the specification requires of each event.
    """
    event, text = _storable(event)
    time, producer = _time(event), event.get("producer")
    if not isinstance(producer, str):
        raise InvalidEventError("`producer` is missing or no text")
    rows: Rows = {table.name: [] for table in schema.TABLES}
    said = _said(event, time, rows)
    rows["event"].append((_digest(text), said.run_id, said.type, time, producer, text))
    if said.job_id is None:
        dataset = _named(event.get("dataset"), "dataset")
        _dataset(dataset, said, rows)
        if version := _version(dataset):
            name_id = _identity("dataset", dataset["namespace"], dataset["name"])
            rows["sink_snapshot_lineage"].append(("", NO_BATCH, name_id, version, None, time, "", None, None))
        return rows
    inputs = [_named(each, "inputs") for each in _list(event, "inputs")]
    outputs = [_named(each, "outputs") for each in _list(event, "outputs")]
    for each in inputs:
        _dataset(each, said, rows)
        _source(each, said, rows)
    for each in outputs:
        _dataset(each, said, rows)
        _sink(each, said, rows)
    return rows


def _said(event: dict[str, Any], time: int, rows: Rows) -> _Said:
    if "run" not in event and "job" not in event:
        if "dataset" not in event:
            raise InvalidEventError("neither `run`, `job` nor `dataset`")
        return _Said(time, None, "", "DATASET")
    job = _named(event.get("job"), "job")
    job_id = _job(job, time, rows)
    if "run" not in event:
        return _Said(time, job_id, "", "JOB")
    type_ = event.get("eventType", "OTHER")
    if not isinstance(type_, str) or type_ not in _TYPES:
        raise InvalidEventError(f"`eventType` is {json.dumps(type_)}")
    run = _mapping(event["run"])
    run_id = run.get("runId")
    if not isinstance(run_id, str) or not run_id:
        raise InvalidEventError("`run.runId` is missing or no text")
    _run(run_id, job_id, _facets(run), _Said(time, job_id, run_id, type_), rows)
    return _Said(time, job_id, run_id, type_)


def _time(event: dict[str, Any]) -> int:
    text = event.get("eventTime")
    if not isinstance(text, str):
        raise InvalidEventError("`eventTime` is missing or no text")
    try:
        return microseconds(text)
    except (ValueError, OverflowError):
        raise InvalidEventError(f"`eventTime` is {json.dumps(text)}") from None


def _job(job: dict[str, Any], time: int, rows: Rows) -> int:
    namespace, name, facets = job["namespace"], job["name"], _facets(job)
    job_id = _identity("job", namespace, name)
    type_ = _mapping(facets.get("jobType"))
    facts = (
        _text(type_, "processingType"),
        _text(type_, "integration"),
        _text(type_, "jobType"),
        _text(_mapping(facets.get("sql")), "query"),
        _text(_mapping(facets.get("documentation")), "description"),
    )
    rows["job"].append((job_id, namespace, name, *_latest(facts, time), time, time))
    return job_id


def _run(run_id: str, job_id: int, facets: dict[str, Any], said: _Said, rows: Rows) -> None:
    parent = _mapping(facets.get("parent"))
    facts = (
        _text(_mapping(parent.get("run")), "runId"),
        _text(_mapping(_mapping(parent.get("root")).get("run")), "runId"),
        _text(_mapping(facets.get("errorMessage")), "message"),
    )
    is_end = said.type in _ENDS
    state = (said.type, said.time + (_LAST_WORD if is_end else 0))
    started = said.time if said.type == "START" else None
    ended = said.time if is_end else None
    rows["run"].append((run_id, job_id, *state, started, ended, *_latest(facts, said.time), said.time, said.time))


def _dataset(dataset: dict[str, Any], said: _Said, rows: Rows) -> None:
    facets = _facets(dataset)
    name_id = _name(dataset["namespace"], dataset["name"], said.time, rows, storage=_format(facets))
    for other in _list(_mapping(facets.get("symlinks")), "identifiers"):
        if _is_named(other) and (other["namespace"], other["name"]) != (dataset["namespace"], dataset["name"]):
            _name(other["namespace"], other["name"], said.time, rows, same_as=name_id)
    for position, (path, type_) in enumerate(_columns(_list(_mapping(facets.get("schema")), "fields"))):
        rows["dataset_column"].append((name_id, path, type_, position, said.time, said.time))


def _name(
    namespace: str, name: str, time: int, rows: Rows, *, same_as: int | None = None, storage: str | None = None
) -> int:
    name_id = _identity("dataset", namespace, name)
    rows["dataset"].append((name_id, namespace, name, *_latest((same_as, storage), time), time, time))
    return name_id


def _source(dataset: dict[str, Any], said: _Said, rows: Rows) -> None:
    name_id = _identity("dataset", dataset["namespace"], dataset["name"])
    rows["source_job_lineage"].append((said.job_id, name_id, said.time, said.time))
    if said.type in _DONE:
        counts = _mapping(_mapping(dataset.get("inputFacets")).get("inputStatistics"))
        rows["source_snapshot_lineage"].append(
            (
                *(said.run_id, NO_BATCH, name_id, _version(dataset)),
                *(said.job_id, said.time, _number(counts, "rowCount"), _number(counts, "size")),
            )
        )


def _sink(dataset: dict[str, Any], said: _Said, rows: Rows) -> None:
    name_id = _identity("dataset", dataset["namespace"], dataset["name"])
    rows["sink_job_lineage"].append((said.job_id, name_id, said.time, said.time))
    facets = _facets(dataset)
    change = _mapping(facets.get("lifecycleStateChange"))
    if said.type in _DONE:
        counts = _mapping(_mapping(dataset.get("outputFacets")).get("outputStatistics"))
        rows["sink_snapshot_lineage"].append(
            (
                *(said.run_id, NO_BATCH, name_id, _version(dataset)),
                *(said.job_id, said.time, _text(change, "lifecycleStateChange") or ""),
                *(_number(counts, "rowCount"), _number(counts, "size")),
            )
        )
    _edges(name_id, _mapping(facets.get("columnLineage")), said, rows)
    before = change.get("previousIdentifier")
    if _is_named(before):
        _renamed(
            before, name_id, [path for path, _ in _columns(_list(_mapping(facets.get("schema")), "fields"))], said, rows
        )


def _renamed(before: dict[str, Any], name_id: int, columns: list[str], said: _Said, rows: Rows) -> None:
    """Add what a new name means: each column continues the one that had its name under the old name."""
    old = _name(before["namespace"], before["name"], said.time, rows)
    if old == name_id:
        return
    rows["source_job_lineage"].append((said.job_id, old, said.time, said.time))
    for column in columns:
        _edge((name_id, column), (old, column), ("DIRECT", "IDENTITY", 0, ""), said, rows)


def _edges(output: int, lineage: dict[str, Any], said: _Said, rows: Rows) -> None:
    for column, field in _mapping(lineage.get("fields")).items():
        whole = _mapping(field)
        older = (_text(whole, "transformationType") or "", _text(whole, "transformationDescription") or "")
        for source in _list(whole, "inputFields"):
            _edges_from(source, (output, column), older, said, rows)
    for source in _list(lineage, "dataset"):
        _edges_from(source, (output, ""), ("", ""), said, rows)


def _edges_from(source: object, output: tuple[int, str], older: tuple[str, str], said: _Said, rows: Rows) -> None:
    """
    Add the edges from one input field.

    Args:
        source: the input field.
        output: the output's id and its column.
        older: the kind and the text of the output field, as facets before version 1-1-0 have them.
        said: who says so.
        rows: where they are added.
    """
    if not _is_named(source) or not isinstance(source.get("field"), str):
        return
    place = (_name(source["namespace"], source["name"], said.time, rows), source["field"])
    transformations = [each for each in _list(source, "transformations") if isinstance(each, dict)]
    for each in transformations:
        said_kind = (_text(each, "type") or "", _text(each, "subtype") or "", int(each.get("masking") is True))
        _edge(output, place, (*said_kind, _text(each, "description") or ""), said, rows)
    if not transformations:
        kind = older[0]
        _edge(output, place, ("DIRECT" if kind else "", kind, int(kind == "MASKED"), older[1]), said, rows)


def _edge(
    output: tuple[int, str], place: tuple[int, str], kind: tuple[str, str, int, str], said: _Said, rows: Rows
) -> None:
    at = (said.time, said.run_id, said.time, said.run_id)
    rows["column_lineage"].append((*output, *place, said.job_id, *kind, *at))


def _columns(fields: list[Any], above: str = "") -> list[tuple[str, str]]:
    """Return the path and the type of each field of a schema, in order, those of structs below them."""
    found: list[tuple[str, str]] = []
    for field in fields:
        if isinstance(field, dict) and isinstance(field.get("name"), str):
            path = f"{above}{field['name']}"
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


def _storable(event: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """
    Return an event and its JSON, which is the same for each copy of it, whatever the order of its keys.

    Half a surrogate pair, which no database takes as text, becomes a question mark in both.
    """
    text = json.dumps(event, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode(errors="replace").decode()
        return json.loads(text), text
    return event, text


def _padded(text: str) -> str:
    """Return a time whose fraction has three or six digits, which is all that Python 3.10 takes."""
    return re.sub(r"\.(\d{1,6})(?!\d)", lambda found: "." + found[1].ljust(6, "0"), text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
