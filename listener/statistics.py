"""The inputs and outputs of a run with what was counted for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.dataset import Dataset, Identifier, Statistics
from openlineage_pyspark.facets.lineage import Understanding
from openlineage_pyspark.facets.run import Input, Output


def inputs_of(parts: list[Understanding], metrics: list[Mapping[str, Any]]) -> tuple[Input, ...]:
    """
    The datasets that a run reads, each with what was read of it.

    Args:
        parts: what the run's plans say.
        metrics: of the scans and writes of its physical plans, as the probe sends them.
    """
    datasets: dict[Identifier, Dataset] = {}
    owner: dict[int, Identifier] = {}
    for part in parts:
        owner.update(part.scanned)
        for dataset in part.inputs:
            datasets.setdefault(dataset.identifier, dataset)
    read: dict[Identifier, list[int | None]] = {}
    for entry in metrics:
        if entry["w"] or "numOutputRows" not in entry["m"]:
            continue
        found = next((owner[i] for i in entry["ids"] if i in owner), None)
        if found is None and not entry["ids"] and len(datasets) == 1:
            found = next(iter(datasets))
        if found is not None:
            _add(read.setdefault(found, [None, None, None]), entry["m"], ("numOutputRows", "filesSize", "numFiles"))
    return tuple(
        Input(dataset, Statistics(*read[identifier]) if identifier in read else None)
        for identifier, dataset in datasets.items()
    )


def outputs_of(parts: list[Understanding], metrics: list[Mapping[str, Any]], written: list[int]) -> tuple[Output, ...]:
    """
    The datasets that a run writes, with what was written where there is only one.

    Args:
        parts: what the run's plans say.
        metrics: of the scans and writes of its physical plans, as the probe sends them.
        written: records and bytes that its tasks wrote, for sources whose writes count nothing themselves.
    """
    found: dict[Identifier, Output] = {}
    for part in parts:
        for output in part.outputs:
            write = output.write
            made = Output(write.dataset, write.lifecycle, write.renamed_from, None, output.lineage)
            found.setdefault(write.dataset.identifier, made)
    if len(found) == 1 and (metrics or written != [0, 0]):
        ((identifier, only),) = found.items()
        # Rows of an RDD have no columns, and so no lineage.
        if only.lineage is not None or written != [0, 0]:
            found[identifier] = attrs.evolve(only, statistics=_written(metrics, written))
    return tuple(found.values())


def _written(metrics: list[Mapping[str, Any]], written: list[int]) -> Statistics | None:
    """What the write commands counted; else what the tasks did."""
    sums: list[int | None] = [None, None, None]
    for entry in metrics:
        if entry["w"]:
            counted = dict(entry["m"])
            counted.setdefault("numOutputRows", counted.get("committedRows"))
            _add(sums, counted, ("numOutputRows", "numOutputBytes", "numFiles"))
    if sums[0] is None and written != [0, 0]:
        return Statistics(written[0], written[1] or None)
    return Statistics(*sums) if sums != [None, None, None] else None


def _add(sums: list[int | None], counted: Mapping[str, Any], names: tuple[str, ...]) -> None:
    for at, name in enumerate(names):
        if counted.get(name) is not None:
            sums[at] = (sums[at] or 0) + int(counted[name])
