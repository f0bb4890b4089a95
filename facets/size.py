"""Events within a limit of bytes: what is over it is cut, step by step, and the event says so.

The steps and their order stand in `cuts`. What was cut stands in the run's `extractionError`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openlineage.client.facet_v2 import extraction_error_run
from openlineage_pyspark.facets.cuts import STEPS, apply, saving, without_empty_lineage
from openlineage_pyspark.facets.producer import PRODUCER
from openlineage_pyspark.facets.serialise import serialise

if TYPE_CHECKING:
    from openlineage_pyspark.facets.cuts import Step
    from openlineage_pyspark.facets.options import DescribeOptions

KEY = "event.maxBytes"
"""The key of the limit, which the remarks name."""

_FACET = "extractionError"
# The commas, and the digits by which the facet's counts may grow.
_JOINTS = 24


def serialise_within(event: object, options: DescribeOptions) -> bytes:
    """Give an event as the bytes that are sent, cut where it would have more of them than the limit.

    An event that can't be made small enough keeps its run with the parent and a short error message, its job,
    and what was cut. It is over the limit only where the limit is smaller than that, and then says so.

    Args:
        event: a RunEvent of openlineage-python's classes.
        options: which hold the limit, and whether `extractionError` is wanted.

    Raises:
        ValueError: as `serialise`.
        TypeError: as `serialise`.
        RecursionError: as `serialise`.
    """
    body = serialise(event)
    if len(body) <= options.max_bytes:
        return body
    oversized = _Oversized(json.loads(body), len(body), options)
    for step in STEPS:
        if oversized.fits():
            break
        oversized.cut(step)
    return oversized.body()


class _Oversized:
    """An event on its way below the limit: its parts are measured as they go, the whole only once."""

    def __init__(self, event: dict[str, Any], size: int, options: DescribeOptions) -> None:
        self._event = event
        self._facets: dict[str, Any] = event["run"]["facets"]
        self._size = self._whole = size
        self._limit = options.max_bytes
        self._silent = _FACET in options.disabled
        self._remarks: list[extraction_error_run.Error] = []
        # What the remarks will take.
        self._room = 0 if self._silent else _JOINTS
        if not self._silent and _FACET not in self._facets:
            self._room += len(serialise({_FACET: self._remarked({})}))
        self._say(KEY, f"the event had {size} bytes, over the limit of {self._limit}: what follows was cut")

    def fits(self) -> bool:
        return self._size + self._room <= self._limit

    def cut(self, step: Step) -> None:
        """Take a step as a whole, or as much of it as is needed where it is gradual."""
        cut = saved = 0
        reserve = 0 if self._silent else len(serialise(_remark(step.what, _counted(self._whole, self._whole)))) + 1
        self._room += reserve
        for edit in step.edits(self._event):
            less = saving(edit)
            apply(edit)
            cut, saved, self._size = cut + 1, saved + less, self._size - less
            if step.gradual and self.fits():
                break
        self._room -= reserve
        if cut:
            self._say(step.what, _counted(cut, saved))

    def body(self) -> bytes:
        without_empty_lineage(self._event)
        if not self.fits():
            self._say(KEY, "the event is over the limit even so")
        if not self._silent:
            self._facets[_FACET] = self._remarked(self._facets.get(_FACET, {}))
        return serialise(self._event)

    def _say(self, task: str, message: str) -> None:
        if not self._silent:
            self._remarks.append(_remark(task, message))
            self._room += len(serialise(self._remarks[-1])) + 1

    def _remarked(self, facet: dict[str, Any]) -> dict[str, Any]:
        """Give the facet that stands there, or a new one, with the remarks at its end."""
        made = extraction_error_run.ExtractionErrorRunFacet(
            totalTasks=facet.get("totalTasks", 0), failedTasks=0, errors=[], producer=PRODUCER
        )
        new: dict[str, Any] = json.loads(serialise(made)) | facet
        new["failedTasks"] += len(self._remarks)
        new["totalTasks"] = max(new["totalTasks"], new["failedTasks"])
        new["errors"] = [*new["errors"], *json.loads(serialise(self._remarks))]
        return new


def _remark(task: str, message: str) -> extraction_error_run.Error:
    return extraction_error_run.Error(errorMessage=message, task=task)


def _counted(cut: int, saved: int) -> str:
    return f"{cut} cut, {saved} bytes"
