"""How a source gets to a target, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.workbench.model.graph import Path
from openlineage_pyspark.workbench.pictures.words import hows
from support.lineage_paths import path

if TYPE_CHECKING:
    from collections.abc import Sequence

COPY, PLAIN, MASKED = path("IDENTITY"), path("TRANSFORMATION", "upper(a)"), path("TRANSFORMATION", "f(a)", masking=True)


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ((), []),
        ((path("", certainty="unstated"),), ["unstated"]),
        ((path(""),), ["-"]),
        ((path("IDENTITY", "a"),), ["IDENTITY"]),
        ((PLAIN, path("TRANSFORMATION", "a\n + 1")), ["TRANSFORMATION  upper(a); a + 1"]),
        ((PLAIN, path("CONDITIONAL", "upper(a)")), ["TRANSFORMATION, CONDITIONAL  upper(a)"]),
        ((PLAIN, path("CONDITIONAL", "a > 1")), ["TRANSFORMATION  upper(a)", "CONDITIONAL  a > 1"]),
        ((COPY, PLAIN, MASKED), ["IDENTITY, TRANSFORMATION  upper(a)", "TRANSFORMATION (masked)  f(a)"]),
        (
            (PLAIN, path("TRANSFORMATION", "upper(a)", "opaque")),
            ["TRANSFORMATION  upper(a)", "TRANSFORMATION, opaque  upper(a)"],
        ),
        ((COPY, path("AGGREGATION", "g(a)", "opaque")), ["IDENTITY", "AGGREGATION, opaque  g(a)"]),
        (
            (COPY, path("IDENTITY", certainty="opaque"), PLAIN),
            ["IDENTITY, opaque", "IDENTITY, TRANSFORMATION  upper(a)"],
        ),
        ((path("TRANSFORMATION"), path("AGGREGATION", "sum(a)")), ["TRANSFORMATION", "AGGREGATION  sum(a)"]),
    ],
)
def test_paths_are_together_if_their_kinds_and_certainty_are_the_same(paths: Sequence[Path], said: list[str]) -> None:
    assert hows(paths) == said
