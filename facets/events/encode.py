"""Encode events as JSON."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import json
import re
import uuid
from typing import Any

import attrs

_ESCAPED_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def serialise(event: object) -> bytes:
    """
    Return an event, or any part of one, as compact JSON in UTF-8.

    Fields that are None are left out; the others keep their order. NUL and lone surrogates, which PostgreSQL does not
    store, become U+FFFD. openlineage-python's own Serde returns the same content, several times slower.

    Args:
        event: an object of openlineage-python's classes.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not allow.
        TypeError: a value is neither of these classes nor a JSON type.
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
