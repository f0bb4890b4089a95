"""The JSON Schema of the result of each question, made from the types of its values: it changes if they do."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Mapping
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin

import attrs
from openlineage_pyspark.workbench.answer import Rows
from openlineage_pyspark.workbench.model.document import camel_case, is_record, types_of_fields
from openlineage_pyspark.workbench.model.graph import DatasetNode, Graph, Path
from openlineage_pyspark.workbench.model.reach import Reach
from openlineage_pyspark.workbench.questions.registry import question_called, questions

Schema: TypeAlias = dict[str, Any]

_WRITTEN_BY_HAND: dict[type, str] = {DatasetNode: "dataset", Graph: "graph", Path: "path", Reach: "reach"}
"""The values that `lineage-answer.schema.json` describes, with the names that they have there."""
_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {},
}
_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def result_schemas() -> tuple[list[Schema], dict[str, Schema]]:
    """Return what the schema of an answer adds for each question, and the definitions of the values in the results."""
    definitions: dict[str, Schema] = {}
    conditions = [
        {
            "if": {"properties": {"question": {"const": name}}},
            "then": {"properties": {"result": _of_result(question_called(name).result, definitions)}},
        }
        for name in questions()
    ]
    return conditions, definitions


def _of_result(type_: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a result."""
    class_ = get_origin(type_) or type_
    if not issubclass(class_, Rows):
        return _of_type(class_, definitions)
    [row] = get_args(type_) or get_args(class_.__orig_bases__[0])
    # The rows of the user's own query have the columns of that.
    items = {"type": "object"} if get_origin(row) is tuple else _of_type(row, definitions)
    further = {field.name for field in attrs.fields(class_)} - {"of", "rows"}
    types = {name: type_ for name, type_ in types_of_fields(class_).items() if name in further}
    return _object(
        {
            "type": {"const": "rows"},
            "of": {"type": "string"},
            **{camel_case(name): _of_type(each, definitions) for name, each in types.items()},
            "rows": {"type": "array", "items": items},
        }
    )


def _of_type(type_: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of the values of a type, as `document_of` writes them."""
    origin, inner = get_origin(type_), get_args(type_)
    if type_ in _PLAIN:
        return _PLAIN[type_]
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, UnionType):
        return {"anyOf": [_of_type(each, definitions) for each in inner]}
    if origin is tuple and inner[-1] is Ellipsis:
        return {"type": "array", "items": _of_type(inner[0], definitions)}
    if origin is tuple:
        items = [_of_type(each, definitions) for each in inner]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _of_type(inner[1], definitions)}
    if issubclass(type_, enum.Enum):
        return {"enum": [each.value for each in type_]}
    return {"$ref": f"#/$defs/{_defined(type_, definitions)}"}


def _defined(class_: type, definitions: dict[str, Schema]) -> str:
    """Define a frozen value, unless it is defined already; return its name among the definitions."""
    name = _WRITTEN_BY_HAND.get(class_, class_.__name__)
    if class_ in _WRITTEN_BY_HAND or name in definitions:
        return name
    if not is_record(class_):
        raise TypeError(f"{class_} has no JSON Schema")
    definitions[name] = {}
    left_out = {field.name for field in attrs.fields(class_) if not field.eq} if attrs.has(class_) else set()
    meanings = _meanings(class_)
    types = {field: type_ for field, type_ in types_of_fields(class_).items() if field not in left_out}
    properties = {
        camel_case(field): {**_of_type(type_, definitions), **_described(meanings.get(field, ""))}
        for field, type_ in types.items()
    }
    definitions[name] = _object({**getattr(class_, "BESIDE_ITS_FIELDS", {}), **properties})
    return name


def _object(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _meanings(class_: type) -> dict[str, str]:
    """Return the meanings of the fields of a class, from its docstring and those of the classes above it."""
    found: dict[str, str] = {}
    for each in reversed(class_.__mro__):
        _, _, arguments = (inspect.getdoc(each) or "").partition("Args:\n")
        found |= {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(arguments)}
    return found


def _described(text: str) -> Schema:
    return {"description": f"{text[0].upper()}{text[1:]}"} if text else {}
