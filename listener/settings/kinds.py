"""The kinds of configuration values: how text, YAML and JSON are converted to them, and how they are written."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import attrs
from openlineage_pyspark.facets.events.options import Tag
from openlineage_pyspark.facets.model.dataset import TRIMMERS, java_pattern, java_regex
from openlineage_pyspark.facets.model.name_rules import SourceRule
from openlineage_pyspark.facets.model.run import RunReference
from openlineage_pyspark.transport import values

# Covariant: a key with text values may have None as its default.
T_co = TypeVar("T_co", covariant=True)

# The largest Java int: plan limits are passed to the JVM.
_LARGEST = 2**31 - 1
# More than any disk has.
_LARGEST_ON_DISK = 2**60


def as_property(value: object) -> str:
    """Return a value as it is written in a properties file; empty if there is none."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) else str(value)


@attrs.frozen
class ValueKind(Generic[T_co]):
    """
    The values that a key may have.

    Args:
        name: a description of the expected values, for messages.
        convert: converts the given value; raises ValueError or TypeError if it can't.
        written: returns the text of a value, in a form that `convert` accepts.
    """

    name: str
    convert: Callable[[object], T_co]
    written: Callable[[Any], str] = as_property


@attrs.frozen
class ParentContext:
    """
    The value of `spark.openlineage.context`: the run that started the application, and the run at the top.

    Args:
        parent: the run that started the application.
        root: the run at the top of the hierarchy; None if it is not named.
        has_facets: whether the context contains facets.
    """

    parent: RunReference
    root: RunReference | None
    has_facets: bool


def one_of(*words: str) -> ValueKind[str]:
    """Return the kind of values that are one of these words."""

    def convert(value: object) -> str:
        text = _to_text(value).lower()
        if text not in words:
            raise ValueError("none of these")
        return text

    return ValueKind(f"one of {', '.join(words)}", convert)


def whole_number_kind(least: int) -> ValueKind[int]:
    """Return the kind of whole numbers from `least` to the largest Java int."""

    def convert(value: object) -> int:
        text = _to_text(value)
        if not re.fullmatch("-?[0-9]+", text):
            raise ValueError("no whole number")
        return _within(int(text), least)

    return ValueKind(f"a whole number from {least} to {_LARGEST}", convert)


def parse_tag(text: str) -> tuple[Tag | None, bool]:
    r"""
    Parse `key`, `key:value` or `key:value:source`, where `\:` and `\;` are the characters themselves.

    Args:
        text: one tag, without the semicolons around it.

    Returns:
        The tag, or None if a part is empty; and whether the whole text was used. A fourth part is left out, as in the
        Java client.
    """
    # Trailing empty parts are dropped, as in Java's String.split.
    whole = re.sub(r"(?<!\\):[:\s]*$", "", text)
    parts = [re.sub(r"\\([:;])", r"\1", part).strip() for part in re.split(r"(?<!\\):", whole)]
    if not all(parts[:3]):
        return None, False
    return Tag(*parts[:3]), len(parts) <= 3


def _to_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("no text")
    text = str(value).strip()
    if not text:
        raise ValueError("empty")
    return text


def _to_size(value: object) -> int:
    return _within(values.byte_count(_to_text(value)), 1)


def _to_disk_size(value: object) -> int:
    number = values.byte_count(_to_text(value))
    if not 1 <= number <= _LARGEST_ON_DISK:
        raise ValueError("out of range")
    return number


def _within(number: int, least: int) -> int:
    if not least <= number <= _LARGEST:
        raise ValueError("out of range")
    return number


def _to_list(value: object) -> tuple[str, ...]:
    return tuple(_to_text(item) for item in value) if isinstance(value, list | tuple) else values.items(_to_text(value))


def _to_tags(value: object) -> tuple[str, ...]:
    return _to_list(value) if isinstance(value, list | tuple) else values.items(_to_text(value), r"(?<!\\);")


def _to_trimmers(value: object) -> tuple[str, ...]:
    """Return the names of trimmers, which may have the package of openlineage-java or openlineage-python."""
    names = tuple(name.rpartition(".")[2] for name in _to_list(value))
    if not TRIMMERS.keys() >= set(names):
        raise ValueError("no trimmer")
    return names


def _to_rule(value: object) -> SourceRule:
    namespace, arrow, name = (part.strip() for part in _to_text(value).partition("->"))
    if not arrow or not namespace or not name:
        raise ValueError("no rule")
    return SourceRule("", name, namespace)


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


BOOLEAN: ValueKind[bool] = ValueKind("true or false", lambda value: values.boolean(str(value)))
TEXT: ValueKind[str] = ValueKind("text", _to_text)
UUID: ValueKind[str] = ValueKind("a UUID", _to_uuid)
_MILLIS = whole_number_kind(0)
MILLISECONDS: ValueKind[float] = ValueKind(
    _MILLIS.name, lambda value: _MILLIS.convert(value) / 1000, lambda seconds: str(round(seconds * 1000))
)
"""Durations: values in seconds, written as whole milliseconds."""
SIZE: ValueKind[int] = ValueKind("a number of bytes from 1 to 2147483647, such as 1048576, 512k or 32m", _to_size)
DISK_SIZE: ValueKind[int] = ValueKind("a number of bytes, such as 512m or 20g", _to_disk_size)
PATTERN: ValueKind[re.Pattern[str]] = ValueKind(
    "a regular expression with a group `(?<remove>...)`",
    lambda value: java_pattern(_to_text(value)),
    lambda pattern: pattern.pattern,
)
REGEX: ValueKind[re.Pattern[str]] = ValueKind(
    "a regular expression", lambda value: java_regex(_to_text(value)), lambda pattern: pattern.pattern
)
RULE: ValueKind[SourceRule] = ValueKind("namespace -> name, as `acme://{endpoint} -> {table}`", _to_rule)
TRIMMER_NAMES: ValueKind[tuple[str, ...]] = ValueKind(f"a list of {', '.join(TRIMMERS)}", _to_trimmers)
LIST: ValueKind[tuple[str, ...]] = ValueKind("a list, as a,b or [a;b]", _to_list)
TAGS: ValueKind[tuple[str, ...]] = ValueKind("tags, as key:value:source;key:value;label", _to_tags)
CONTEXT: ValueKind[ParentContext] = ValueKind(
    'JSON, as {"parent": {"run": {"runId": ...}, "job": {"namespace": ..., "name": ...},'
    ' "root": {"run": ..., "job": ...}}}',
    _to_context,
)
