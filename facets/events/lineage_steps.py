"""The facet with the operators and steps of edges; its JSON Schema is in the folder `schemas`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import attrs
from openlineage.client.facet_v2 import DatasetFacet
from openlineage_pyspark.facets.events.ids import PRODUCER, own_schema
from openlineage_pyspark.facets.events.marquez import accepted_column, accepted_namespace
from openlineage_pyspark.facets.model.lineage import Certainty

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.model.lineage import ColumnLineage, InputField, Step, Transformation

_T = TypeVar("_T")
_MOST = 50
"""The most operators, and the most steps, that are told of one edge: half of them at each end."""

PySparkLineageSteps = attrs.make_class(
    "PySparkLineageSteps",
    {name: attrs.field(kw_only=True) for name in ("operators", "expressions", "columns", "rows")},
    bases=(DatasetFacet,),
)


@attrs.define
class _Shared:
    """Texts that many edges have in common, each once: its place stands for it."""

    places: dict[str, int] = attrs.Factory(dict)

    def place(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


def steps_facets(lineage: ColumnLineage, options: EventOptions) -> dict[str, DatasetFacet]:
    """
    Return `pyspark_lineage_steps` of an output; nothing if it has no edge that is to be told.

    Args:
        lineage: the output's lineage; the ways of its edges name their operators where the steps are wanted.
        options: say of which edges (`steps`).
    """
    if options.steps == "none":
        return {}
    operators, expressions = _Shared(), _Shared()

    def told(edges: Iterable[InputField]) -> list[dict[str, object]]:
        return [
            _path(edge, each, operators, expressions, described=options.descriptions_enabled)
            for edge in edges
            for each in edge.transformations
            if each.way.operators and (options.steps == "all" or each.way.certainty is not Certainty.EXACT)
        ]

    columns = {accepted_column(column.name): found for column in lineage.columns if (found := told(column.edges))}
    rows = told(lineage.dataset)
    if not columns and not rows:
        return {}
    facet = PySparkLineageSteps(
        operators=list(operators.places),
        expressions=list(expressions.places),
        columns=columns,
        rows=rows,
        producer=PRODUCER,
    )
    facet._schemaURL = own_schema("PySparkLineageStepsDatasetFacet", "1-1-0")
    return {"pyspark_lineage_steps": facet}


def _path(
    edge: InputField, each: Transformation, operators: _Shared, expressions: _Shared, *, described: bool
) -> dict[str, object]:
    passed, left_out = _ends(each.way.operators)
    steps, _ = _ends(each.way.steps)
    found: dict[str, object] = {
        "namespace": accepted_namespace(edge.dataset.namespace),
        "name": edge.dataset.name,
        "field": accepted_column(edge.field),
        "type": each.type,
        "subtype": each.subtype,
        "masking": each.masking,
        "certainty": each.way.certainty.word,
        **({"description": expressions.place(each.description)} if described and each.description else {}),
        "operators": [operators.place(operator) for operator in passed],
        "steps": [_step(step, operators, expressions) for step in steps],
    }
    if left_out:
        found["operatorsLeftOut"] = left_out
    return found


def _step(step: Step, operators: _Shared, expressions: _Shared) -> dict[str, object]:
    told: dict[str, object] = {"operator": operators.place(step.operator)}
    if step.expression:
        told["expression"] = expressions.place(step.expression)
    if step.certainty is not Certainty.EXACT:
        told["certainty"] = step.certainty.word
    if step.call_site:
        told["callSite"] = step.call_site
    return told


def _ends(items: Sequence[_T]) -> tuple[Sequence[_T], int]:
    """Return the first and the last items of a long sequence, and how many are left out between them."""
    half = _MOST // 2
    return (items, 0) if len(items) <= _MOST else ((*items[:half], *items[-half:]), len(items) - 2 * half)
