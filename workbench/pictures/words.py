"""Sentences about lineage, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.model.graph import Step
    from openlineage_pyspark.workbench.model.kinds import Certainty

_REASONS: dict[Certainty, str] = {
    "opaque": "It passes code that can't be read",
    "guessed": "It passes an operator that is not understood",
    "text": "It was taken from the text of the statement, which was not analyzed",
}
_WITHOUT_STEPS: dict[Certainty, str] = {
    "exact": "It was read from the plan.",
    "guessed": "The run states it, but a part of its plan was not understood.",
    "unstated": "The run states it, but not how the value arrives.",
}
INFERRED = "No event names the version that was read: this one was current when the run began to read."


def reason_of(certainty: Certainty, steps: Iterable[Step] = ()) -> str:
    """
    Return why a path is as sure as it is.

    Args:
        certainty: how sure it is.
        steps: its steps; those of this certainty are named.
    """
    operators = ", ".join(
        dict.fromkeys(step.operator for step in steps if step.certainty == certainty and step.operator)
    )
    if certainty in _REASONS and (operators or certainty not in _WITHOUT_STEPS):
        return f"{_REASONS[certainty]}: {operators}." if operators else f"{_REASONS[certainty]}."
    return _WITHOUT_STEPS[certainty]
