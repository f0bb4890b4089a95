"""Types of Spark for schemas of Avro."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.predict.tables.declared import in_backticks

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = {
    "null": "VOID", "boolean": "BOOLEAN", "int": "INT", "long": "BIGINT", "float": "FLOAT", "double": "DOUBLE",
    "bytes": "BINARY", "fixed": "BINARY", "string": "STRING", "enum": "STRING",
}  # fmt: skip
_LOGICAL = {
    "date": "DATE", "timestamp-millis": "TIMESTAMP", "timestamp-micros": "TIMESTAMP",
    "local-timestamp-millis": "TIMESTAMP_NTZ", "local-timestamp-micros": "TIMESTAMP_NTZ",
}  # fmt: skip
_WIDER = (({"int", "long"}, "BIGINT"), ({"float", "double"}, "DOUBLE"))


def type_of_avro(schema: Any, named: Mapping[str, str]) -> str:
    """
    Return the type, in DDL, of values of an Avro schema.

    Args:
        schema: the schema, as `json.loads` returns it.
        named: the types that are named outside of it.

    Raises:
        LookupError, TypeError: it is not a schema.
    """
    if isinstance(schema, list):
        return _type_of_union(schema, named)
    if isinstance(schema, str):
        return _PLAIN.get(schema) or named[schema.rpartition(".")[2]]
    kind, logical = schema["type"], schema.get("logicalType")
    if logical == "decimal":
        return f"DECIMAL({schema['precision']}, {schema.get('scale', 0)})"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    if kind == "array":
        return f"ARRAY<{type_of_avro(schema['items'], named)}>"
    if kind == "map":
        return f"MAP<STRING, {type_of_avro(schema['values'], named)}>"
    return _type_of_record(schema, named) if kind == "record" else type_of_avro(kind, named)


def _type_of_union(schemas: list[Any], named: Mapping[str, str]) -> str:
    """Return the type of a value that is one of several; each but null is a member of a struct."""
    others = [each for each in schemas if each != "null"]
    if len(others) == 1:
        return type_of_avro(others[0], named)
    for kinds, type_ in _WIDER:
        if all(isinstance(each, str) for each in others) and set(others) == kinds:
            return type_
    members = ", ".join(f"member{at}: {type_of_avro(each, named)}" for at, each in enumerate(others))
    return f"STRUCT<{members}>"


def _type_of_record(schema: Any, named: Mapping[str, str]) -> str:
    """Return the type of a record, whose fields may name the types of earlier ones."""
    known, fields = dict(named), list[str]()
    for each in schema["fields"]:
        type_ = type_of_avro(each["type"], known)
        for inner in each["type"] if isinstance(each["type"], list) else [each["type"]]:
            if isinstance(inner, dict) and "name" in inner:
                known[inner["name"]] = type_of_avro(inner, known)
        fields.append(f"{in_backticks(each['name'])}: {type_}")
    return f"STRUCT<{', '.join(fields)}>"
