"""
Models that Spark ML saves: a model is one dataset, its folder, however many files and folders Spark makes in it.

Spark writes each stage of a pipeline on its own, as `stages/0_Tokenizer_.../metadata`, and each stage's data beside it.
"""

from __future__ import annotations

import re

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage import PlanLineage, WrittenDataset

_WITHIN = re.compile(r"/(?:stages/\d+_[^/]+|bestModel|subModels|estimator|evaluator|model_\d+)(?:/|$)")
"""The folders of the models that a model holds."""

_REMARK = Gap("model", "the columns that the model was trained on are not known: Spark does not report them")


def saved_model(part: PlanLineage) -> PlanLineage:
    """Return the lineage of a write that is a part of saving a model: the model, which has no columns."""
    if not part.outputs:
        return part
    outputs = tuple(_as_model(output) for output in part.outputs)
    return attrs.evolve(part, outputs=outputs, gaps=(*part.gaps, _REMARK))


def _as_model(output: WrittenDataset) -> WrittenDataset:
    written = output.write.dataset.identifier
    folder = Identifier(written.namespace, model_folder(written.name))
    write = attrs.evolve(output.write, dataset=Dataset(folder, type="FILE"), label=folder.path_label)
    return WrittenDataset(write, None)


def model_folder(path: str) -> str:
    """Return the folder of a model, by the path of a part of it."""
    within = _WITHIN.search(path)
    return path[: within.start()] if within is not None else naming.parent(path)
