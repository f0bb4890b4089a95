"""Frozen values as documents of JSON, whose names are in camel case, and back."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, TypeVar

import attrs

T = TypeVar("T")


def frozen_mapping(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a copy of a mapping that can't be changed."""
    # It is not generic, because mypy can't read generic converters of attrs.
    return MappingProxyType(dict(values))


def camel_case(name: str) -> str:
    """Return a name such as `run_id` as it is in JSON, `runId`."""
    first, *others = name.split("_")
    return first + "".join(each.capitalize() for each in others)


def values_by_field(value: Any) -> dict[str, Any]:
    """Return the fields of a frozen value by their names in Python."""
    return {field.name: getattr(value, field.name) for field in attrs.fields(type(value))}


def document_of(value: Any) -> Any:
    """
    Return a value as JSON has it: fields in camel case, times as texts. The keys of a mapping stay as they are.

    A value that has a `to_dict` is what that returns.
    """
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if attrs.has(type(value)):
        return document_of_fields(value)
    if isinstance(value, Mapping):
        return {key: document_of(each) for key, each in value.items()}
    return [document_of(each) for each in value] if isinstance(value, (list, tuple)) else value


def document_of_fields(value: Any, always: Collection[str] | None = None) -> dict[str, Any]:
    """
    Return the fields of a frozen value as JSON has them.

    Args:
        value: the value.
        always: the fields that are there also if they are empty; None for all.
    """
    return {
        camel_case(name): document_of(each)
        for name, each in values_by_field(value).items()
        if always is None or name in always or not (each in ("", (), None) or each is False)
    }


def from_document(class_: type[T], document: Mapping[str, Any]) -> T:
    """
    Return the frozen value that `document_of` turned into a document, whose own fields are plain or already values.

    Args:
        class_: its class.
        document: its fields; lists become tuples. What the class does not have, a later version may have written: it is
            left out.

    Raises:
        TypeError: it is no object, or lacks a field.
    """
    if not isinstance(document, Mapping):
        raise TypeError(f"{document!r} must be an object")
    names = {camel_case(field.name): field.name for field in attrs.fields(class_)}  # type: ignore[arg-type]
    given = ((names[key], value) for key, value in document.items() if key in names)
    return class_(**{name: tuple(value) if isinstance(value, list) else value for name, value in given})
