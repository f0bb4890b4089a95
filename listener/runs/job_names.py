"""Job names: the same for every run of a job, and different for different targets."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import attrs
from openlineage_pyspark.facets.commands.target import name_without_options, path_label
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.trimming import Trimming
from openlineage_pyspark.facets.plan_lineage import PlanLineage

_LONGEST = 250
# The least number of characters left for a job's own part when the application's name is long.
_OWN = 100


def application_name(name: str, parent: str | None) -> str:
    """
    Return the name of an application's job.

    Args:
        name: the application's normalised name.
        parent: name of the job that started it, if any. It comes first, in full and followed by a dot, because that is
            how Marquez names child jobs: with any other name it would show the application twice.
    """
    own = _shortened(name, _LONGEST - _OWN - 1)
    return own if parent is None else f"{parent}.{own}"


def job_name(parts: list[str], *, replace_dots: bool) -> str:
    """
    Return the name of a job: its parts joined by dots.

    Args:
        parts: the application's name, the command's word, and the label of what it writes. The first is kept whole;
            the other two are cut if they are too long, and then end with a hash.
        replace_dots: whether `_` replaces each dot.
    """
    application, own = parts[0], ".".join(part for part in parts[1:] if part)
    name = f"{application}.{_shortened(own, max(_OWN, _LONGEST - len(application) - 1))}"
    return name.replace(".", "_") if replace_dots else name


def unique_label(label: str, dataset: Dataset, trimming: Trimming) -> str:
    """
    Return a label, with a hash of the whole path appended if the label leaves out part of that path.

    Without the hash, two paths with the same ending would give two jobs one name. Dates anywhere in the path are left
    out, so that a job that writes to another directory each day is one job.

    Args:
        label: the label of what the job writes.
        dataset: the dataset that it writes.
        trimming: what is left out of the names of datasets.
    """
    namespace, name = dataset.identifier.namespace, trimming.undated(dataset.identifier.name)
    if label == path_label(dataset):
        label = path_label(attrs.evolve(dataset, identifier=Identifier(namespace, name)))
    parts = [part for part in name.split("/") if part]
    if dataset.type == "FILE" and (len(parts) > 2 or namespace != "file"):
        return f"{label}_{_digest(f'{namespace} {name}')}"
    return label


def output_label(plan_lineage: PlanLineage, trimming: Trimming) -> str:
    """
    Return the part of a job's name that stands for what it writes or, if it writes nothing, what it reads.

    Args:
        plan_lineage: the lineage of its plan.
        trimming: what is left out of the names of datasets.
    """
    if plan_lineage.outputs:
        write = plan_lineage.outputs[0].write
        return unique_label(write.label, write.dataset, trimming)
    # The tables behind a view say enough.
    inputs = [d for d in plan_lineage.inputs if d.type != "VIEW"] or plan_lineage.inputs
    names = [d.symlinks[0].name if d.symlinks else name_without_options(d) for d in inputs]
    return "_".join(sorted(naming.snake_case(name.rpartition("/")[2]) for name in names)[:3])


def stream_label(name: str | None, parts: Sequence[PlanLineage], trimming: Trimming) -> str:
    """
    Return the label of a streaming query: its name, else what it writes first, else what it reads.

    Args:
        name: the name that the user gave the query, if any.
        parts: the lineage of its first micro-batch, and of the writes in that.
        trimming: what is left out of the names of datasets.
    """
    if name:
        return naming.snake_case(name)
    return output_label(next((part for part in parts if part.outputs), parts[0]), trimming)


def _shortened(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 7]}_{_digest(name)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]
