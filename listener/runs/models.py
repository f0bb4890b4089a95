"""
Models of Spark ML: a model is one dataset, its folder, however many files and folders Spark creates in it.

Spark writes each stage of a pipeline separately, as `stages/0_Tokenizer_.../metadata`, with the stage's data beside it.
The output of a model's `transform` comes from the model, if this application has loaded it. A plan does not name its
models: it contains their code, whose class is that of the model or a superclass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.listener.latest import Latest

_WITHIN = re.compile(r"/(?:stages/\d+_[^/]+|bestModel|subModels|estimator|evaluator|model_\d+)(?:/|$)")
"""The folders of the models inside a model."""

_MOST_LOADED = 1_000
_MOST_NAMED = 5
_ONE_OF = "several models of this class were loaded, and it is unknown which of them made the rows: {}"
_GAP = Gap("model", "the columns that the model was trained on are unknown: Spark does not report them")


def saved_model(part: PlanLineage) -> PlanLineage:
    """Return the lineage of a write that is a part of saving a model: the model, which has no columns."""
    if not part.outputs:
        return part
    outputs = tuple(_as_model(output) for output in part.outputs)
    return attrs.evolve(part, outputs=outputs, gaps=(*part.gaps, _GAP))


class LoadedModels:
    """The models that an application has loaded."""

    def __init__(self) -> None:
        """Start with no models."""
        # Folder -> the classes of the models in it, and their superclasses.
        self._classes: Latest[Identifier, frozenset[str]] = Latest(_MOST_LOADED)

    def load(self, part: PlanLineage, classes: Iterable[str]) -> PlanLineage:
        """
        Remember a model that is loaded.

        Args:
            part: the lineage of a read that is a part of loading it.
            classes: the class of the model, and its superclasses.

        Returns:
            The lineage of the read: its input is the model.
        """
        folders = tuple(dict.fromkeys(_folder_of(each.identifier) for each in part.inputs))
        for folder in folders:
            self._classes.put(folder, self._classes.get(folder, frozenset()).union(classes))
        return attrs.evolve(part, inputs=tuple(map(_model, folders)))

    def applied(self, part: PlanLineage) -> PlanLineage:
        """
        Return the lineage of a plan with the loaded models whose code it calls among its inputs.

        A model of a class that was not loaded was fitted in this application, and its file, if any, is unknown.
        """
        found: dict[Identifier, None] = {}
        gaps = []
        for called in sorted(part.models):
            folders = [folder for folder, classes in self._classes.items() if called in classes]
            found.update(dict.fromkeys(folders))
            if len(folders) > 1:
                gaps.append(Gap(called, _ONE_OF.format(", ".join(folder.name for folder in folders[:_MOST_NAMED]))))
        read = {dataset.identifier for dataset in part.inputs}
        more = tuple(_model(folder) for folder in found if folder not in read)
        return attrs.evolve(part, inputs=(*part.inputs, *more), gaps=(*part.gaps, *gaps)) if found else part


def _model(folder: Identifier) -> Dataset:
    return Dataset(folder, type="FILE")


def _folder_of(part: Identifier) -> Identifier:
    return Identifier(part.namespace, model_folder(part.name))


def _as_model(output: WrittenDataset) -> WrittenDataset:
    folder = _folder_of(output.write.dataset.identifier)
    write = attrs.evolve(output.write, dataset=_model(folder), label=folder.path_label)
    return WrittenDataset(write, None)


def model_folder(path: str) -> str:
    """Return the folder of a model, by the path of a part of it."""
    within = _WITHIN.search(path)
    return path[: within.start()] if within is not None else naming.parent(path)
