"""Paths of edges, and edges as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import Path, Step
from openlineage_pyspark.workbench.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import Edge
    from openlineage_pyspark.workbench.model.kinds import Certainty

_VALUES = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")


def path(
    subtype: str,
    expression: str = "",
    certainty: Certainty = "exact",
    steps: Iterable[Step | str] = (),
    *,
    masking: bool = False,
) -> Path:
    """Return a path of a kind, whose type follows from its subtype; a text among the steps is an operator alone."""
    type_ = "" if not subtype else "DIRECT" if subtype in _VALUES else "INDIRECT"
    every = tuple(Step(each) if isinstance(each, str) else each for each in steps)
    return Path(Kind(type_, subtype, masking), expression, certainty, every)


def hows(edge: Edge) -> list[str]:
    """Return the kinds of an edge; `READ` or `WRITE` of one between a dataset and a job."""
    if edge.is_flow:
        return ["READ" if edge.target.startswith("job|") else "WRITE"]
    return [str(each.kind) for each in edge.paths]
