"""
The lineage of a statement as plain values for the cache: to read them back, no plan is needed.

Values that many edges share, such as the steps on their paths, are written once, and referred to by their index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Field, Identifier, Symlink, TableVersions
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    Transformation,
    Way,
)
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.workbench.report import Lineage, WalkedPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_Document: TypeAlias = dict[str, Any]


def document_of_lineage(lineage: Lineage) -> _Document:
    """Return a lineage as plain values, without its plan."""
    writer = _Writer()
    outputs = [
        [
            None if dataset is None else attrs.asdict(dataset),
            [[column.name, writer.edges(column.edges), column.expression] for column in columns.columns],
            writer.edges(columns.dataset),
        ]
        for dataset, columns in lineage.outputs
    ]
    return {
        "inputs": [attrs.asdict(each) for each in lineage.inputs],
        "outputs": outputs,
        "gaps": [[each.task, each.message] for each in lineage.gaps],
        "identifiers": [[each.namespace, each.name] for each in writer.identifiers],
        "steps": writer.steps,
        "transformations": writer.transformations,
    }


def lineage_of_document(document: Mapping[str, Any], walked: WalkedPlan | None = None) -> Lineage:
    """
    Return the lineage that `document_of_lineage` has written.

    Args:
        document: the values.
        walked: its plan.

    Raises:
        ValueError, KeyError, TypeError, IndexError: the values do not have this form.
    """
    reader = _Reader(document)
    outputs = tuple(
        (
            None if dataset is None else _dataset(dataset),
            ColumnLineage(
                tuple(OutputColumn(name, reader.edges(edges), text) for name, edges, text in columns),
                reader.edges(rows),
            ),
        )
        for dataset, columns, rows in document["outputs"]
    )
    gaps = tuple(Gap(task, message) for task, message in document["gaps"])
    return Lineage(tuple(map(_dataset, document["inputs"])), outputs, gaps, walked)


class _Writer:
    """Writes edges, and collects their shared values."""

    def __init__(self) -> None:
        self.identifiers: dict[Identifier, int] = {}
        self.steps: list[list[Any]] = []
        self.transformations: list[list[Any]] = []
        self._places: dict[int, int] = {}
        self._kept: list[Any] = []

    def edges(self, edges: Iterable[InputField]) -> list[list[Any]]:
        """Return edges as lists: the indices of their datasets, their columns, the indices of their transformations."""
        return [
            [
                self.identifiers.setdefault(each.dataset, len(self.identifiers)),
                each.field,
                [self._transformation(one) for one in each.transformations],
            ]
            for each in edges
        ]

    def _transformation(self, each: Transformation) -> int:
        way = each.way
        last = None if way.last is None else self._step(way.last)
        written = [way.operators, last, int(way.certainty), way.composed]
        self.transformations.append([each.type, each.subtype, each.description, each.masking, written])
        return len(self.transformations) - 1

    def _step(self, last: OperatorStep) -> int:
        """Return the index of a step; those before it are written first, because there may be thousands."""
        before = None
        for step in reversed(tuple(last)):
            if id(step) not in self._places:
                own = [step.operator, step.expression, int(step.certainty), before, step.jumps, step.call_site]
                self._places[id(step)] = len(self.steps)
                self.steps.append(own)
                # An `id()` is unique only while the object exists.
                self._kept.append(step)
            before = self._places[id(step)]
        return self._places[id(last)]


class _Reader:
    """Reads edges with their shared values."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._identifiers = [Identifier(namespace, name) for namespace, name in document["identifiers"]]
        self._steps: list[OperatorStep] = []
        for operator, expression, certainty, before, jumps, call_site in document["steps"]:
            earlier = None if before is None else self._steps[before]
            jumped = tuple((begin, end) for begin, end in jumps)
            step = OperatorStep(operator, expression, Certainty(certainty), earlier, jumped, call_site=call_site)
            self._steps.append(step)
        self._transformations = [self._transformation(*each) for each in document["transformations"]]

    def _transformation(self, type_: Any, subtype: str, text: str, masking: Any, way: Sequence[Any]) -> Transformation:
        operators, last, certainty, composed = way
        step = None if last is None else self._steps[last]
        return Transformation(
            type_, subtype, text, masking, Way(tuple(operators), step, Certainty(certainty), composed)
        )

    def edges(self, edges: Iterable[Sequence[Any]]) -> tuple[InputField, ...]:
        """Return edges that are written as lists."""
        return tuple(
            InputField(self._identifiers[at], field, tuple(self._transformations[each] for each in transformations))
            for at, field, transformations in edges
        )


def _dataset(values: Mapping[str, Any]) -> Dataset:
    catalog, versions = values["catalog"], values["versions"]
    made = {
        "identifier": Identifier(**values["identifier"]),
        "fields": tuple(map(_field, values["fields"])),
        "symlinks": tuple(Symlink(**each) for each in values["symlinks"]),
        "catalog": None if catalog is None else Catalog(**catalog),
        "locations": tuple(values["locations"]),
        "versions": None if versions is None else TableVersions(**{**versions, "ids": tuple(versions["ids"])}),
    }
    return Dataset(**{**values, **made})


def _field(values: Mapping[str, Any]) -> Field:
    return Field(**{**values, "fields": tuple(map(_field, values["fields"]))})
