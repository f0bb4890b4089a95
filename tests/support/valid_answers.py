"""The JSON of an answer, held to its published schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
from openlineage_pyspark.workbench.answer import schema


def valid_answer(text: str) -> dict[str, Any]:
    """Return an answer from its JSON, if that is as the schema describes it."""
    document: dict[str, Any] = json.loads(text)
    jsonschema.validate(document, schema(), cls=jsonschema.Draft202012Validator)
    return document
