"""Encode events as JSON, and define their producer and their ids, which are the same each time an event is made."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
import re
import uuid
from importlib import metadata
from typing import Any
from urllib.parse import quote

import attrs


def _version() -> str:
    try:
        return metadata.version("openlineage-pyspark")
    except metadata.PackageNotFoundError:  # a zip in --py-files has no metadata
        return "unknown"


PACKAGE_VERSION = _version()
"""The version of this package; `unknown` if it is not installed but only on the path."""

PRODUCER = "pkg:pypi/openlineage-pyspark" + (
    f"@{quote(PACKAGE_VERSION, safe='')}" if PACKAGE_VERSION != "unknown" else ""
)
"""
Package URL (purl) of this package at its version (BaseEvent.producer, BaseFacet._producer).

The specification asks for a URI. This one names the package alone: it needs no web page and no organisation, and stays
the same wherever the source is hosted.
"""


def own_schema(name: str, version: str = "1-0-0") -> str:
    """
    Return the URI of the JSON Schema of one of our own facets, which is in the folder `schemas` of the package.

    Like the producer, it names the package and no web page.

    Args:
        name: the name of its definition and of its file, such as `PySparkSnapshotDatasetFacet`.
        version: its version.
    """
    return f"pkg:pypi/openlineage-pyspark/schemas/{version}/{name}.json#/$defs/{name}"


def event_id(run: str, event_type: str, event_time: dt.datetime) -> str:
    """
    Return the id of an event, which is the same however often the event is made and sent (a UUID, version 5).

    Args:
        run: the id of its run.
        event_type: START, RUNNING, COMPLETE, FAIL, ABORT or OTHER.
        event_time: timezone-aware; distinguishes the RUNNING events of a run.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"openlineage:{run}/{event_type}/{event_time.timestamp():.6f}"))


_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def serialise(event: object) -> bytes:
    """
    Return an event, or any part of one, as compact JSON in UTF-8.

    Fields that are None are left out; the others keep their order. NUL and lone surrogates, which PostgreSQL does not
    store, become U+FFFD. openlineage-python's own Serde returns the same content, several times slower.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not allow.
        TypeError: a value is neither of a JSON type nor an attrs class, an enum, a date or a UUID.
        RecursionError: a value contains itself.
    """
    text = json.dumps(
        event,
        default=_plain,
        ensure_ascii=False,
        allow_nan=False,
        check_circular=False,  # saves a sixth of the time; the recursion limit catches cycles too
        separators=(",", ":"),
    )
    if "\\u0000" in text:
        text = _ESCAPED_NUL.sub("\\1\N{REPLACEMENT CHARACTER}", text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


@functools.cache
def _fields(kind: type) -> tuple[str, ...] | None:
    """Return the field names of an attrs class; None for any other class."""
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else None


def _plain(value: Any) -> object:
    """Return a JSON value for a value that is not one."""
    fields = _fields(value.__class__)
    if fields is not None:
        return {name: part for name in fields if (part := getattr(value, name)) is not None}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(
        f"a facet holds a {type(value).__module__}.{type(value).__qualname__}, which has no JSON form: "
        "use str, int, float, bool, list, dict, datetime, UUID, an enum or an attrs class"
    )
