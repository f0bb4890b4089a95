"""What the value of a configuration key may be, and how text, YAML and JSON become it."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import attrs
from openlineage_pyspark.facets.model.run import RunReference

T = TypeVar("T")

# What a Java int holds: plan limits cross to the JVM.
_LARGEST = 2**31 - 1
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


@attrs.frozen
class Kind(Generic[T]):
    """The values that a key may have.

    Args:
        name: what is expected, as people say it.
        convert: makes the value of what was given; raises ValueError or TypeError where that can't be done.
    """

    name: str
    convert: Callable[[object], T]


@attrs.frozen
class Tag:
    """One tag of a job or a run (TagsJobFacet, TagsRunFacet).

    Args:
        key: what the tag is about.
        value: `true` for a mere label.
        source: who set it: CONFIG, or USER for the `tags` section of openlineage-python.
    """

    key: str
    value: str
    source: str


@attrs.frozen
class ParentContext:
    """What `spark.openlineage.context` says: the run that started the application, and the one at the top.

    Args:
        parent: the run above the application.
        root: the run at the top, None where it is not named.
        has_facets: whether facets came with them.
    """

    parent: RunReference
    root: RunReference | None
    has_facets: bool


def whole_number(least: int) -> Kind[int]:
    """Return the kind of whole numbers from `least` to the largest Java int."""

    def convert(value: object) -> int:
        text = _to_text(value)
        if not re.fullmatch("[0-9]+", text):
            raise ValueError("no whole number")
        return _within(int(text), least)

    return Kind(f"a whole number from {least} to {_LARGEST}", convert)


def parse_tag(text: str) -> tuple[Tag | None, bool]:
    r"""Read `key`, `key:value` or `key:value:source`, where `\:` and `\;` stand for the sign itself.

    Args:
        text: one tag, without the semicolon around it.

    Returns:
        The tag, None where a part is empty; and whether the whole text was understood. A fourth part is
        left out, as in the Java client.
    """
    # Empty parts at the end are none, as in Java's String.split.
    whole = re.sub(r"(?<!\\):[:\s]*$", "", text)
    parts = [re.sub(r"\\([:;])", r"\1", part).strip() for part in re.split(r"(?<!\\):", whole)]
    key, value, source = (*parts[:3], *("true", "CONFIG")[len(parts) - 1 :])[:3]
    if not (key and value and source):
        return None, False
    return Tag(key, value, source), len(parts) <= 3


def _to_boolean(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in {"true", "1", "false", "0"}:
        raise ValueError("neither true nor false")
    return word in {"true", "1"}


def _to_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("no text")
    text = str(value).strip()
    if not text:
        raise ValueError("empty")
    return text


def _to_size(value: object) -> int:
    match = re.fullmatch("([0-9]+)([kmg]?)b?", _to_text(value).lower())
    if not match:
        raise ValueError("no size")
    return _within(int(match[1]) << _UNITS[match[2]], 1)


def _within(number: int, least: int) -> int:
    if not least <= number <= _LARGEST:
        raise ValueError("out of range")
    return number


def _to_list(value: object) -> tuple[str, ...]:
    return _items(value, "[;,]")


def _to_tags(value: object) -> tuple[str, ...]:
    return _items(value, r"(?<!\\);")


def _items(value: object, separator: str) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        return tuple(_to_text(item) for item in value)
    text = _to_text(value)
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return tuple(item.strip() for item in re.split(separator, text) if item.strip())


def _to_uuid(value: object) -> str:
    return str(uuid.UUID(_to_text(value)))


def _to_context(value: object) -> ParentContext:
    try:
        given = value if isinstance(value, Mapping) else json.loads(_to_text(value))
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    parent = _group(given, "parent")
    root = _group(parent, "root") if parent.get("root") is not None else None
    facets = [_group(run, part).get("facets") for run in (parent, root) if run for part in ("run", "job")]
    return ParentContext(_reference(parent), _reference(root) if root is not None else None, any(facets))


def _reference(given: Mapping[str, object]) -> RunReference:
    run, job = _group(given, "run"), _group(given, "job")
    return RunReference(_to_uuid(run.get("runId")), _to_text(job.get("namespace")), _to_text(job.get("name")))


def _group(given: object, name: str) -> Mapping[str, object]:
    inner = given.get(name) if isinstance(given, Mapping) else None
    if not isinstance(inner, Mapping):
        raise TypeError("no such group")
    return inner


def _or_none(kind: Kind[T]) -> Kind[T | None]:
    return Kind(kind.name, lambda value: None if value is None else kind.convert(value))


BOOLEAN: Kind[bool] = Kind("true or false", _to_boolean)
TEXT: Kind[str] = Kind("text", _to_text)
OPTIONAL_TEXT: Kind[str | None] = _or_none(TEXT)
OPTIONAL_UUID: Kind[str | None] = _or_none(Kind("a UUID", _to_uuid))
SIZE: Kind[int] = Kind("a number of bytes from 1 to 2147483647, such as 1048576, 512k or 32m", _to_size)
LIST: Kind[tuple[str, ...]] = Kind("a list, as a,b or [a;b]", _to_list)
TAGS: Kind[tuple[str, ...]] = Kind("tags, as key:value:source;key:value;label", _to_tags)
CONTEXT: Kind[ParentContext | None] = _or_none(
    Kind(
        'JSON, as {"parent": {"run": {"runId": ...}, "job": {"namespace": ..., "name": ...},'
        ' "root": {"run": ..., "job": ...}}}',
        _to_context,
    )
)
