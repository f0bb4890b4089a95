"""
Make a recovery plan from the facts about versions and runs. Pure.

`decisions` decides the steps; the modules of steps, such as `run_steps`, put them into statements and words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.times import time_of_micros
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan
from openlineage_pyspark.workbench.recovery.planning.correction_step import correcting_steps
from openlineage_pyspark.workbench.recovery.planning.decisions import decide
from openlineage_pyspark.workbench.recovery.planning.impact import (
    circles_of_datasets,
    touched_datasets,
    uncertainties_of_plan,
)
from openlineage_pyspark.workbench.recovery.planning.run_steps import repeating_step
from openlineage_pyspark.workbench.recovery.planning.stream_steps import checkpoint_steps, stopping_steps
from openlineage_pyspark.workbench.recovery.planning.table_steps import copying_steps, preparing_steps, switching_steps

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import Facts
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryRequest, RecoveryStep
    from openlineage_pyspark.workbench.recovery.planning.decisions import Decisions


def plan(facts: Facts, request: RecoveryRequest) -> RecoveryPlan:
    """
    Return the plan for a bad version.

    Args:
        facts: the facts.
        request: the request.
    """
    decided = decide(facts, request)
    bad = decided.bad
    return RecoveryPlan(
        request.mode,
        decided.facts.label(decided.root),
        bad.version or "?",
        tuple(touched_datasets(decided)),
        tuple(_steps(decided)),
        tuple(circles_of_datasets(decided)),
        tuple(uncertainties_of_plan(decided)),
        since=time_of_micros(bad.time).isoformat(timespec="seconds") if bad.time else "",
    )


def _steps(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the steps of a plan, in order."""
    yield from stopping_steps(decided)
    yield from copying_steps(decided) if decided.is_side_by_side else preparing_steps(decided)
    for group in decided.groups:
        if not group.is_correction:
            yield repeating_step(decided, group)
            continue
        yield from correcting_steps(decided)
        if not decided.is_side_by_side:
            yield from checkpoint_steps(decided)
    if decided.is_side_by_side:
        yield from switching_steps(decided)
