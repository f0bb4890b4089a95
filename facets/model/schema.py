"""Schemas: from Spark's descriptions of types to the fields of a dataset."""

from __future__ import annotations

import functools
import json
from typing import Any

from openlineage_pyspark.facets.model.dataset import Field
from openlineage_pyspark.facets.model.plan import Operator, Plan

FILE_METADATA = "_metadata"
"""The column that Spark adds to files on demand (FileSourceMetadataAttribute); it is not a column of the dataset."""


_SQL_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
"""Name of a type in JSON -> its name in SQL, if that is another one."""


def fields_of(plan: Plan, operator: Operator) -> tuple[Field, ...]:
    """Return the schema of an operator's output."""
    known = plan.attributes
    return tuple(
        [
            _atomic(column.name, attribute.type, attribute.comment)
            if attribute.type[:1] != "{"
            else field(column.name, attribute.type, attribute.comment)
            for column in operator.output
            if (attribute := known.get(column.id)) is not None and column.name != FILE_METADATA
        ]
    )


def field(name: str, type_: str, comment: str | None = None) -> Field:
    """
    Return a field of a schema, from Spark's description of its type.

    Args:
        name: the field's name.
        type_: `DataType.catalogString` of an atomic type, `DataType.json` of a complex one.
        comment: the column's comment.
    """
    return _field(name, json.loads(type_), comment) if type_.startswith("{") else _atomic(name, type_, comment)


def schema_fields(type_json: str | None) -> tuple[Field, ...]:
    """Return the fields of a struct type in JSON; none for any other text."""
    return field("", type_json).fields if type_json and type_json.startswith("{") else ()


def _field(name: str, type_: Any, comment: str | None = None) -> Field:
    if isinstance(type_, dict):
        kind = type_.get("type")
        if kind == "struct":
            inner = tuple(
                _field(f["name"], f["type"], (f.get("metadata") or {}).get("comment")) for f in type_["fields"]
            )
            return Field(name, "struct", comment, inner)
        if kind == "array":
            return Field(name, "array", comment, (_field("_element", type_["elementType"]),))
        if kind == "map":
            inner = (_field("key", type_["keyType"]), _field("value", type_["valueType"]))
            return Field(name, "map", comment, inner)
        if kind == "udt":
            return Field(name, str(type_.get("pyClass") or type_.get("class") or "udt"), comment)
    return _atomic(name, str(type_), comment)


# An application reads the same columns again and again.
@functools.lru_cache(maxsize=4096)
def _atomic(name: str, type_: str, comment: str | None) -> Field:
    return Field(name, _SQL_NAMES.get(type_, type_), comment)
