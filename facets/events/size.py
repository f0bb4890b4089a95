"""
Keep events within their size limit: a larger one is cut step by step, and its `extractionError` lists the cuts.

`serialise_within` takes the `STEPS` in order, each only if the steps before it were not enough. A step yields edits of
the event's JSON document. The size of each edit is measured; the whole event is encoded again only at the end.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
from openlineage.client.event_v2 import RunEvent
from openlineage.client.facet_v2 import extraction_error_run
from openlineage_pyspark.facets.events.cutting import STEPS, CutStep, apply, saving, without_empty_lineage
from openlineage_pyspark.facets.events.encode import PRODUCER, serialise
from openlineage_pyspark.facets.model.run import Gap

if TYPE_CHECKING:
    from openlineage_pyspark.facets.events.options import EventOptions

MAX_BYTES_KEY = "event.maxBytes"
"""The configuration key of the limit; the diagnostics name it."""
_FACET = "extractionError"
# Bytes for commas, and for the digits by which the facet's counts may grow.
_JOINTS = 24


@attrs.frozen
class Encoded:
    """
    An event as it is sent.

    Args:
        body: the event as compact JSON.
        gaps: the gaps in its `extractionError`, including the cuts.
    """

    body: bytes
    gaps: tuple[Gap, ...] = ()


def serialise_within(event: RunEvent, options: EventOptions) -> Encoded:
    """
    Return an event as the bytes that are sent, cut to the limit.

    At the least, an event keeps its run with the parent and a short error message, its job, and the list of what was
    cut. It exceeds the limit only if the limit is smaller than that, and then reports it.

    Args:
        event: a RunEvent of openlineage-python.
        options: hold the limit (`max_bytes`), and whether `extractionError` is disabled.

    Raises:
        ValueError: see `serialise`.
        TypeError: see `serialise`.
        RecursionError: see `serialise`.
    """
    body = serialise(event)
    if len(body) <= options.max_bytes:
        facet = (event.run.facets or {}).get(_FACET)
        errors = facet.errors if isinstance(facet, extraction_error_run.ExtractionErrorRunFacet) else None
        return Encoded(body, tuple(Gap(error.task or "", error.errorMessage) for error in errors or ()))
    oversized = _Oversized(json.loads(body), len(body), options)
    for step in STEPS:
        if oversized.fits():
            break
        oversized.cut(step)
    return oversized.encoded()


class _Oversized:
    """An event that is being cut; its size is computed from the edits."""

    def __init__(self, event: dict[str, Any], size: int, options: EventOptions) -> None:
        self._event = event
        self._facets: dict[str, Any] = event["run"]["facets"]
        self._size = self._whole = size
        self._limit = options.max_bytes
        self._silent = _FACET in options.disabled
        self._gaps: list[extraction_error_run.Error] = []
        # The bytes that the diagnostics will take.
        self._room = 0 if self._silent else _JOINTS
        if not self._silent and _FACET not in self._facets:
            self._room += len(serialise({_FACET: self._with_gaps({})}))
        self._add_gap(
            MAX_BYTES_KEY, f"the event had {size} bytes, over the limit of {self._limit}: what follows was cut"
        )

    def fits(self) -> bool:
        return self._size + self._room <= self._limit

    def cut(self, step: CutStep) -> None:
        """Apply a step completely or, if it is gradual, only as far as needed."""
        cut = saved = 0
        reserve = 0 if self._silent else len(serialise(_error(step.what, _counted(self._whole, self._whole)))) + 1
        self._room += reserve
        for edit in step.edits(self._event):
            less = saving(edit)
            apply(edit)
            cut, saved, self._size = cut + 1, saved + less, self._size - less
            if step.gradual and self.fits():
                break
        self._room -= reserve
        if cut:
            self._add_gap(step.what, _counted(cut, saved))

    def encoded(self) -> Encoded:
        without_empty_lineage(self._event)
        if not self.fits():
            self._add_gap(MAX_BYTES_KEY, "the event is still over the limit")
        if not self._silent:
            self._facets[_FACET] = self._with_gaps(self._facets.get(_FACET, {}))
        errors = self._facets.get(_FACET, {}).get("errors", ())
        gaps = tuple(Gap(error.get("task") or "", error["errorMessage"]) for error in errors)
        return Encoded(serialise(self._event), gaps)

    def _add_gap(self, task: str, message: str) -> None:
        if not self._silent:
            self._gaps.append(_error(task, message))
            self._room += len(serialise(self._gaps[-1])) + 1

    def _with_gaps(self, facet: dict[str, Any]) -> dict[str, Any]:
        """Return the event's facet, or a new one if it is empty, with the diagnostics appended."""
        made = extraction_error_run.ExtractionErrorRunFacet(
            totalTasks=facet.get("totalTasks", 0), failedTasks=0, errors=[], producer=PRODUCER
        )
        new: dict[str, Any] = json.loads(serialise(made)) | facet
        new["failedTasks"] += len(self._gaps)
        new["totalTasks"] = max(new["totalTasks"], new["failedTasks"])
        new["errors"] = [*new["errors"], *json.loads(serialise(self._gaps))]
        return new


def _error(task: str, message: str) -> extraction_error_run.Error:
    return extraction_error_run.Error(errorMessage=message, task=task)


def _counted(cut: int, saved: int) -> str:
    return f"{cut} cut, {saved} bytes"
