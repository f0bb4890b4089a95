"""
The folders that `foreachBatch` writes, one for each micro-batch.

The names of such folders contain the number of the batch (`out/7`, `out/batch_7`). They are one dataset, the folder
around them: otherwise the event of a stream would grow with each batch, and each restart would be a different job.
"""

from __future__ import annotations

import re

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset

_NUMBERED = re.compile(r"(?i)(?:(?:batch|epoch)(?:[_\-. ]?id)?[_\-. =]?)?0*([0-9]{1,18})(?:\.[a-z][a-z0-9]{0,9}){0,2}")


def around_batch(place: Identifier, batch: int) -> Identifier:
    """Return the folder around the folder of a micro-batch; return any other place unchanged."""
    folder, _, last = place.name.rpartition("/")
    found = _NUMBERED.fullmatch(last)
    return Identifier(place.namespace, folder) if folder and found and int(found[1]) == batch else place


def of_all_batches(plan_lineage: PlanLineage, batch: int) -> PlanLineage:
    """Return the lineage of a write inside a micro-batch, with the output of all batches as its output."""
    outputs = tuple(_of_all(output, batch) for output in plan_lineage.outputs)
    return plan_lineage if outputs == plan_lineage.outputs else attrs.evolve(plan_lineage, outputs=outputs)


def _of_all(output: WrittenDataset, batch: int) -> WrittenDataset:
    write, dataset = output.write, output.write.dataset
    place = around_batch(dataset.identifier, batch) if dataset.type == "FILE" else dataset.identifier
    if place == dataset.identifier and not dataset.locations:
        return output
    label = place.path_label if write.label == dataset.identifier.path_label else write.label
    # Later batches write other parts.
    whole = attrs.evolve(dataset, identifier=place, locations=())
    return attrs.evolve(output, write=attrs.evolve(write, dataset=whole, label=label))
