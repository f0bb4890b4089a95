"""
Make a recovery plan from the facts about versions and runs. Pure.

`decisions` decides the steps; the modules of steps, such as `run_steps`, put them into statements and words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.times import time_of_micros
from openlineage_pyspark.workbench.recovery.model.facts import HistoryPlace
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryPlan, TouchedDataset
from openlineage_pyspark.workbench.recovery.planning.correction_step import correcting_steps
from openlineage_pyspark.workbench.recovery.planning.decisions import decide
from openlineage_pyspark.workbench.recovery.planning.groups import circles
from openlineage_pyspark.workbench.recovery.planning.run_steps import repeating_step
from openlineage_pyspark.workbench.recovery.planning.stream_steps import checkpoint_steps, stopping_steps
from openlineage_pyspark.workbench.recovery.planning.table_steps import copying_steps, preparing_steps, switching_steps

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import Facts
    from openlineage_pyspark.workbench.recovery.model.plan import RecoveryRequest, RecoveryStep
    from openlineage_pyspark.workbench.recovery.planning.decisions import Decisions


_REPLACED = re.compile(r"\s*(?:CREATE|REPLACE)\b", re.IGNORECASE)
_SHOWN_RUNS = 3


def plan(facts: Facts, request: RecoveryRequest) -> RecoveryPlan:
    """Return the plan for a bad version."""
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


# The parts of a plan besides its steps: the affected datasets, cycles, and uncertainties.


def touched_datasets(decided: Decisions) -> Iterator[TouchedDataset]:
    """Yield the datasets that hold or held bad data, in the order in which they got them."""
    flow, because = decided.flow, decided.spread.because
    by_dataset: dict[int, list[HistoryPlace]] = {}
    for key in because:
        by_dataset.setdefault(key.dataset, []).append(key)
    for dataset, keys in by_dataset.items():
        keys.sort()
        first = flow.made(keys[0])
        earlier = flow.before.get(keys[0])
        before = flow.made(earlier).version if earlier and not flow.made(earlier).empties else ""
        reason = next((why for key in keys if (why := because[key]) and why[0] != dataset), None)
        every = map(flow.made, keys)
        written = [made.version for made in every if not made.nothing or made.restored is not None]
        yield TouchedDataset(
            decided.facts.label(dataset),
            tuple(written or [first.version]),
            first.parent or before,
            flow.name(reason) if reason else "",
            is_clean=not decided.is_bad(dataset) and not any(key in decided.again.versions for key in keys),
        )


def circles_of_datasets(decided: Decisions) -> Iterator[tuple[str, ...]]:
    """Yield the datasets that are made from each other, or from themselves."""
    edges: dict[int, set[int]] = {}
    for key in decided.again.versions:
        for placed in decided.flow.read_by([decided.flow.made(key).unit]):
            if placed.read.dataset in decided.again.bases:
                edges.setdefault(placed.read.dataset, set()).add(key.dataset)
    for circle in circles(edges):
        yield tuple(sorted(map(decided.facts.label, circle)))


def uncertainties_of_plan(decided: Decisions) -> Iterator[str]:
    """Yield the uncertainties about a plan as a whole."""
    facts, bad = decided.facts, decided.spread.datasets
    for dataset in bad:
        for run_id in facts.unfinished.get(dataset, ())[:_SHOWN_RUNS]:
            job = facts.run(run_id).shown_job
            yield f"{facts.label(dataset)}: the run {run_id} of {job} never reported an end. It may have written there."
    yield from _uncertainties_of_overwrites(decided)
    yield from _uncertainties_of_restores(decided)
    for dataset, run_id, target in facts.open_readers:
        run = facts.run(run_id)
        if dataset not in bad or target in bad:
            continue
        if run.started >= decided.flow.made(HistoryPlace(dataset, decided.spread.first(dataset))).time:
            yield (
                f"{facts.label(target)}: the run {run_id} of {run.job} began to read {facts.label(dataset)} and "
                "never reported an end. It may have written there."
            )
    if decided.bad.branch:
        yield (
            f"The version was written to the branch {decided.bad.branch}. This plan is about the main branch, which "
            "contains the version only if the branch was published."
        )
    if not decided.bad.run_id:
        label = facts.label(decided.root)
        yield f"No run that wrote {label} is recorded: everything that has read it since counts as bad."


def _uncertainties_of_overwrites(decided: Decisions) -> Iterator[str]:
    """Yield the overwrites that ended bad data, if they may have replaced only some partitions."""
    facts, flow, because = decided.facts, decided.flow, decided.spread.because
    for dataset in decided.spread.datasets:
        if facts.datasets[dataset].format == "iceberg":
            # Its operator states which partitions it replaces.
            continue
        for key in flow.line(dataset):
            made = flow.made(key)
            is_end = key not in because and flow.before.get(key) in because
            is_guessed = not made.is_stated and not _REPLACED.match(facts.run(made.run_id).sql)
            if is_end and made.change == "OVERWRITE" and is_guessed:
                yield (
                    f"{facts.label(dataset)}: {made.version} overwrote the bad data. With "
                    "spark.sql.sources.partitionOverwriteMode=dynamic, and in a Hive table with partitions, it only "
                    "overwrote the partitions that it wrote."
                )


def _uncertainties_of_restores(decided: Decisions) -> Iterator[str]:
    """Yield the RESTOREs that ended bad data, if no run in the store made the version that they brought back."""
    flow, because = decided.flow, decided.spread.because
    for dataset in decided.spread.datasets:
        for key in flow.line(dataset):
            made = flow.made(key)
            if made.restored and key not in because and flow.facts.unknown_parent(made):
                yield (
                    f"{decided.facts.label(dataset)}: {made.version} restored version {made.restored}, which no run "
                    "in the store made: check that it does not contain the bad data."
                )
