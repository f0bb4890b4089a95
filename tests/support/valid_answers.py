"""The JSON of an answer, held to its published schema."""

from __future__ import annotations

import functools
import json
from typing import Any

import jsonschema
from openlineage_pyspark.workbench.answer import schema

# They describe values of any shape.
_OPEN = ("rows", "values", "plain")


@functools.cache
def closed_schema() -> dict[str, Any]:
    """Return the schema of an answer, by which an object has the described properties alone."""
    found = schema()
    closed = {name: each if name in _OPEN else _closed(each) for name, each in found["$defs"].items()}
    envelope = _closed({key: value for key, value in found.items() if key not in ("$defs", "allOf")})
    conditions = [{**each, "then": _closed_result(each["then"])} for each in found["allOf"]]
    return {**envelope, "allOf": conditions, "$defs": closed}


def _closed_result(then: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"result": _closed(then["properties"]["result"])}}


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    made = {key: _closed(value) for key, value in part.items()}
    is_object = part.get("type") == "object" and "properties" in part
    return {"additionalProperties": False, **made} if is_object else made


def valid_answer(text: str) -> dict[str, Any]:
    """Return an answer from its JSON, if that is as the schema describes it, without anything else."""
    document: dict[str, Any] = json.loads(text)
    validate(document)
    return document


def validate(document: dict[str, Any]) -> None:
    """Validate the document of an answer, which has nothing that its schema does not describe."""
    _validator().validate(document)


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    # Made once: the schema itself is checked by each call of `jsonschema.validate`.
    jsonschema.Draft202012Validator.check_schema(closed_schema())
    return jsonschema.Draft202012Validator(closed_schema())
