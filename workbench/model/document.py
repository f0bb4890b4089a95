"""Turn frozen values into JSON documents, whose names are in camel case, and back."""

from __future__ import annotations

import enum
import functools
from collections.abc import Collection, Mapping
from datetime import datetime
from types import MappingProxyType, NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

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

    If a value has a method `to_dict`, its result is used.
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
        always: the fields that are included even if they are empty; None for all.
    """
    return {
        camel_case(name): document_of(each)
        for name, each in values_by_field(value).items()
        if always is None or name in always or not (each in ("", (), None) or each is False)
    }


def from_document(class_: type[T], document: Mapping[str, Any]) -> T:
    """
    Return the frozen value that `document_of` turned into a document.

    Args:
        class_: its class.
        document: its fields, as plain values or already read. Fields that the class does not have are ignored, because
            a later version may have written them.

    Raises:
        TypeError: it is not an object, or lacks a field.
        ValueError: a value in it is not one of its type.
    """
    if not isinstance(document, Mapping):
        raise TypeError(f"{document!r} must be an object")
    types = types_of_fields(class_)
    names = {camel_case(name): name for name in types}
    given = {
        names[key]: value_from_document(types[names[key]], value) for key, value in document.items() if key in names
    }
    return class_(**given)


def types_of_fields(class_: Any) -> Mapping[str, Any]:
    """Return the types of the fields of a frozen value or of a named tuple, by their names in Python."""
    return _types_of_fields(class_)


@functools.cache
def _types_of_fields(class_: Any) -> Mapping[str, Any]:
    types = get_type_hints(class_)
    names = [field.name for field in attrs.fields(class_)] if attrs.has(class_) else class_._fields
    return {name: types[name] for name in names}


def value_from_document(type_: Any, document: Any) -> Any:
    """
    Return the value of a type that `document_of` turned into a document.

    Args:
        type_: the type, as an annotation.
        document: the document, or the value itself.

    Raises:
        TypeError, ValueError: it is not of this type.
    """
    origin, inner = get_origin(type_), get_args(type_)
    if origin in (Union, UnionType):
        return None if document is None else value_from_document(_fitting(inner, document), document)
    if origin is tuple:
        return _tuple_of(inner, document)
    if origin is Mapping:
        if not isinstance(document, Mapping):
            raise TypeError(f"{document!r} must be an object")
        return {key: value_from_document(inner[1], each) for key, each in document.items()}
    # A later version may have added words to a closed vocabulary, so they are not checked.
    if type_ is Any or not isinstance(type_, type) or isinstance(document, type_):
        return document
    if type_ is datetime:
        return datetime.fromisoformat(document)
    if issubclass(type_, enum.Enum):
        return type_(document)
    if hasattr(type_, "from_dict"):
        return type_.from_dict(document)
    return from_document(type_, document) if is_record(type_) else document


def is_record(type_: Any) -> bool:
    """Return whether a type is that of a frozen value, or of a named tuple."""
    return isinstance(type_, type) and (attrs.has(type_) or hasattr(type_, "_fields"))


def _tuple_of(types: tuple[Any, ...], document: Any) -> tuple[Any, ...]:
    if not isinstance(document, (list, tuple)):
        raise TypeError(f"{document!r} must be an array")
    every = types[:1] * len(document) if types[-1] is Ellipsis else types
    return tuple(value_from_document(type_, each) for type_, each in zip(every, document, strict=True))


def _fitting(types: tuple[Any, ...], document: Any) -> Any:
    """Return the type in a union that fits a document: the first one whose fields it all has."""
    plain = [each for each in types if not is_record(each) and each is not NoneType]
    records = [each for each in types if is_record(each)]
    if not isinstance(document, Mapping) or not records:
        return next(iter((*plain, *records)))
    fitting = (each for each in records if document.keys() >= {camel_case(name) for name in types_of_fields(each)})
    return next(fitting, records[-1])
