"""Names of jobs: the same in each of a job's runs, and another one for another target."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from openlineage_pyspark.facets import naming
from openlineage_pyspark.facets.dataset import Dataset
from openlineage_pyspark.facets.lineage import Understanding

_LONGEST = 250


def job_name(parts: list[str], *, replace_dots: bool) -> str:
    """
    The name of a job.

    Args:
        parts: the application's name, the command's word and the label of what it writes.
        replace_dots: whether they are joined by `_`.

    Returns:
        the parts with dots between them; a name that is too long for its readers ends in a hash of the whole.
    """
    name = ".".join(part for part in parts if part)
    if replace_dots:
        name = name.replace(".", "_")
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 7]}_{_digest(name)}"


def unique_label(label: str, dataset: Dataset) -> str:
    """Two paths that end alike are two jobs: what the label leaves out of a path is told apart by a hash."""
    parts = [part for part in dataset.identifier.name.split("/") if part]
    if dataset.type == "FILE" and (len(parts) > 2 or dataset.identifier.namespace != "file"):
        return f"{label}_{_digest(f'{dataset.identifier.namespace} {dataset.identifier.name}')}"
    return label


def inputs_label(understanding: Understanding) -> str:
    """The label of a query that writes nothing: what it reads."""
    names = [d.symlinks[0].name if d.symlinks else d.identifier.name for d in understanding.inputs]
    return "_".join(sorted(naming.snake_case(name.rpartition("/")[2]) for name in names)[:3])


def stream_label(started: Mapping[str, Any], understanding: Understanding) -> str:
    """The label of a streaming query: its name, else what it writes, else what it reads."""
    if started.get("name"):
        return naming.snake_case(str(started["name"]))
    if understanding.outputs:
        return unique_label(understanding.outputs[0].write.label, understanding.outputs[0].write.dataset)
    return inputs_label(understanding)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
