"""
Keep events within their size limit: a larger one is cut step by step, and its `extractionError` lists the cuts.

`cut_to_fit` takes the `STEPS` in order, each only if the steps before it were not enough. A step yields edits of
the event's JSON document. The size of each edit is measured; the whole event is encoded again only at the end.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
from openlineage.client.facet_v2 import extraction_error_run
from openlineage_pyspark.facets.events.encode import PRODUCER, serialise
from openlineage_pyspark.facets.model.run import Gap

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from openlineage_pyspark.facets.events.options import EventOptions

JsonObject = dict[str, Any]
_LONGEST_ERROR = 8_000
_LONGEST_MESSAGE = 500
_MOST_GAPS = 20
_SHORTEST_ERROR = 1_000
_GONE = object()
_CONFIGURATION = frozenset(
    {"spark_properties", "spark_applicationDetails", "pyspark_submission", "ownership", "tags", "sourceCodeLocation"}
)
_DETAILS = frozenset(
    {"dataSource", "catalog", "storage", "datasetType", "symlinks", "subset", "pyspark_lineage_steps", "pyspark_name"}
)
_BATCHES = "pyspark_micro_batches"
_ESSENTIAL = frozenset({"parent", "errorMessage", "extractionError", "jobType", "pyspark_event", _BATCHES})
OWN_FACETS = (
    _CONFIGURATION
    | _DETAILS
    | _ESSENTIAL
    | {"processing_engine", "sql", "documentation", "schema", "columnLineage"}
    | {"lifecycleStateChange", "inputStatistics", "outputStatistics", "version", "pyspark_snapshot", "pyspark_session"}
    | {"lineage", "pyspark_replaced"}
)
"""The names of this package's own facets; all others come from custom providers."""
MAX_BYTES_KEY = "event.maxBytes"
"""The configuration key of the limit; the diagnostics name it."""
FACET_OF_GAPS = "extractionError"
"""The facet that lists gaps and cuts."""
# Bytes for commas, and for the digits by which the facet's counts may grow.
_JOINTS = 24


@attrs.frozen(eq=False)
class Edit:
    """
    A change of one member of an object in the event.

    Args:
        holder: the object.
        key: the name of the member.
        value: its new value; by default the member is deleted.
    """

    holder: JsonObject
    key: str
    value: object = _GONE


@attrs.frozen(eq=False)
class CutStep:
    """
    One kind of content that is cut.

    Args:
        what: its name in the event's diagnostic.
        edits: yields the edits of an event; each must be applied before the next one is requested.
        gradual: whether to stop as soon as the event is small enough.
    """

    what: str
    edits: Callable[[JsonObject], Iterator[Edit]]
    gradual: bool = False


def saving(edit: Edit) -> int:
    """Return the number of bytes that an edit saves at least, before it is applied."""
    old = len(serialise(edit.holder[edit.key]))
    if edit.value is not _GONE:
        return old - len(serialise(edit.value))
    comma = int(len(edit.holder) > 1)
    return len(serialise(edit.key)) + 1 + old + comma


def apply(edit: Edit) -> None:
    """Apply an edit."""
    if edit.value is _GONE:
        del edit.holder[edit.key]
    else:
        edit.holder[edit.key] = edit.value


def _datasets(event: JsonObject) -> list[JsonObject]:
    return [*event["inputs"], *event["outputs"]]


def _facets(event: JsonObject) -> Iterator[JsonObject]:
    """Yield each object that holds facets by name."""
    yield event["run"]["facets"]
    yield event["job"]["facets"]
    for dataset in _datasets(event):
        for key in ("facets", "inputFacets", "outputFacets"):
            if key in dataset:
                yield dataset[key]


def _lineages(event: JsonObject) -> list[tuple[JsonObject, JsonObject]]:
    """Return each `columnLineage`, after the object that holds it."""
    return [
        (facets, facets["columnLineage"])
        for output in event["outputs"]
        if "columnLineage" in (facets := output.get("facets", {}))
    ]


def _edges(event: JsonObject) -> Iterator[JsonObject]:
    for _, lineage in _lineages(event):
        for column in lineage["fields"].values():
            yield from column["inputFields"]
        yield from lineage.get("dataset", ())


def without_empty_lineage(event: JsonObject) -> None:
    """Delete each `columnLineage` that has no edges left."""
    for facets, lineage in _lineages(event):
        if not lineage["fields"] and not lineage.get("dataset"):
            del facets["columnLineage"]


def _error_texts(event: JsonObject) -> Iterator[Edit]:
    yield from _shorter_errors(event, _LONGEST_ERROR)


def _shorter_errors(event: JsonObject, longest: int) -> Iterator[Edit]:
    error = event["run"]["facets"].get("errorMessage", {})
    for key in ("message", "stackTrace"):
        if len(error.get(key, "")) > longest:
            yield Edit(error, key, _shortened(error[key], longest))


def _shortened(text: str, longest: int) -> str:
    """Return a text without its middle: depending on the language, the cause of an error is at either end."""
    # Less than half, to leave room for the line between them.
    half = longest // 2 - 25
    return f"{text[:half]}\n... {len(text) - 2 * half} characters cut ...\n{text[-half:]}"


def _edge_descriptions(event: JsonObject) -> Iterator[Edit]:
    for edge in _edges(event):
        for transformation in edge.get("transformations", ()):
            if "description" in transformation:
                yield Edit(transformation, "description")
    for _, lineage in _lineages(event):
        for column in lineage["fields"].values():
            if "transformationDescription" in column:
                yield Edit(column, "transformationDescription")


def _sql(event: JsonObject) -> Iterator[Edit]:
    yield from _of_names(event["job"]["facets"], frozenset({"sql"}))


def _documentation(event: JsonObject) -> Iterator[Edit]:
    for facets in _facets(event):
        yield from _of_names(facets, frozenset({"documentation"}))
        pending = [*facets.get("schema", {}).get("fields", ())]
        while pending:
            field = pending.pop()
            pending += field.get("fields", ())
            if "description" in field:
                yield Edit(field, "description")


def _configuration(event: JsonObject) -> Iterator[Edit]:
    for part in ("run", "job"):
        yield from _of_names(event[part]["facets"], _CONFIGURATION)


def _of_custom_providers(event: JsonObject) -> Iterator[Edit]:
    for facets in _facets(event):
        yield from _of_names(facets, facets.keys() - OWN_FACETS)


def _cut_gaps(event: JsonObject) -> Iterator[Edit]:
    facet = event["run"]["facets"].get("extractionError", {})
    errors = facet.get("errors", [])
    for error in errors[:_MOST_GAPS]:
        if len(error["errorMessage"]) > _LONGEST_MESSAGE:
            yield Edit(error, "errorMessage", _shortened(error["errorMessage"], _LONGEST_MESSAGE))
    if len(errors) > _MOST_GAPS:
        yield Edit(facet, "errors", errors[:_MOST_GAPS])


def _dataset_details(event: JsonObject) -> Iterator[Edit]:
    for dataset in _datasets(event):
        for key in ("facets", "inputFacets", "outputFacets"):
            yield from _of_names(dataset.get(key, {}), _DETAILS)


def _unused_fields(event: JsonObject) -> Iterator[Edit]:
    """Cut from schemas the fields at which no edge begins or ends."""
    used: dict[tuple[str, str], set[str]] = {}
    for edge in _edges(event):
        # A path into a struct uses the column that it begins with; names may contain dots too.
        parts = edge["field"].split(".")
        paths = used.setdefault((edge["namespace"], edge["name"]), set())
        paths.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    for dataset in _datasets(event):
        facets = dataset.get("facets", {})
        fields = facets.get("schema", {}).get("fields", [])
        targets = facets.get("columnLineage", {}).get("fields", {})
        sources = used.get((dataset["namespace"], dataset["name"]), set())
        kept = [field for field in fields if field["name"] in targets or field["name"] in sources]
        if not kept and fields:
            yield Edit(facets, "schema")
        elif len(kept) < len(fields):
            yield Edit(facets["schema"], "fields", kept)


def _indirect_edges(event: JsonObject) -> Iterator[Edit]:
    for _, lineage in _lineages(event):
        if "dataset" in lineage:
            yield Edit(lineage, "dataset")
        for name, column in list(lineage["fields"].items()):
            direct = [edge for edge in map(_only_direct, column["inputFields"]) if edge is not None]
            if not direct and column["inputFields"]:
                # An entry without sources would declare the column a constant.
                yield Edit(lineage["fields"], name)
            elif direct != column["inputFields"]:
                yield Edit(column, "inputFields", direct)


def _only_direct(edge: JsonObject) -> JsonObject | None:
    direct = [each for each in edge.get("transformations", ()) if each["type"] == "DIRECT"]
    return {**edge, "transformations": direct} if direct else None


def _columns(event: JsonObject) -> Iterator[Edit]:
    entries = [
        (len(serialise(column)), lineage["fields"], name)
        for _, lineage in _lineages(event)
        for name, column in lineage["fields"].items()
    ]
    # Stable: columns of equal size keep their order.
    for _, fields, name in sorted(entries, key=lambda entry: -entry[0]):
        yield Edit(fields, name)


def _dataset_facets(event: JsonObject) -> Iterator[Edit]:
    for dataset in _datasets(event):
        yield from _of_names(dataset, frozenset({"facets", "inputFacets", "outputFacets"}))


def _inputs(event: JsonObject) -> Iterator[Edit]:
    if event["inputs"]:
        yield Edit(event, "inputs", [])


def _outputs(event: JsonObject) -> Iterator[Edit]:
    if event["outputs"]:
        yield Edit(event, "outputs", [])


def _rest(event: JsonObject) -> Iterator[Edit]:
    run = event["run"]["facets"]
    for facets in (run, event["job"]["facets"]):
        yield from _of_names(facets, facets.keys() - _ESSENTIAL)
    yield from _of_names(run.get("errorMessage", {}), frozenset({"stackTrace"}))
    yield from _shorter_errors(event, _SHORTEST_ERROR)
    if run.get("extractionError", {}).get("errors"):
        yield Edit(run["extractionError"], "errors", [])


def _offsets(event: JsonObject) -> Iterator[Edit]:
    for batch in _batches(event):
        for source in batch["sources"]:
            for key in ("from", "to"):
                if source[key] is not None:
                    yield Edit(source, key, None)


def _sources_and_sinks(event: JsonObject) -> Iterator[Edit]:
    for batch in _batches(event):
        for key in ("sources", "sinks"):
            if batch[key]:
                yield Edit(batch, key, [])


def _all_batches(event: JsonObject) -> Iterator[Edit]:
    if _batches(event):
        yield Edit(event["run"]["facets"][_BATCHES], "batches", [])


def _batches(event: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = event["run"]["facets"].get(_BATCHES, {}).get("batches", [])
    return found


def _of_names(holder: JsonObject, names: Collection[str]) -> Iterator[Edit]:
    for name in [name for name in holder if name in names]:
        yield Edit(holder, name)


STEPS = (
    CutStep(f"error texts beyond {_LONGEST_ERROR} characters", _error_texts),
    CutStep("descriptions of edges", _edge_descriptions),
    CutStep("the job's sql", _sql),
    CutStep("documentation and comments", _documentation),
    CutStep("properties, owners, tags and the source's location", _configuration),
    CutStep("facets of custom providers", _of_custom_providers),
    CutStep(f"diagnostics beyond the first {_MOST_GAPS}", _cut_gaps),
    CutStep("details of datasets: " + ", ".join(sorted(_DETAILS)), _dataset_details),
    CutStep("schema fields without an edge", _unused_fields),
    CutStep("INDIRECT edges", _indirect_edges),
    CutStep("columns of columnLineage, the largest first", _columns, gradual=True),
    CutStep("all facets of datasets", _dataset_facets),
    CutStep("inputs", _inputs),
    CutStep("outputs", _outputs),
    CutStep("offsets of micro-batches, those of the first ones first", _offsets, gradual=True),
    CutStep("sources and sinks of micro-batches, those of the first ones first", _sources_and_sinks, gradual=True),
    CutStep("micro-batches", _all_batches),
    CutStep("all facets but " + ", ".join(sorted(_ESSENTIAL)), _rest),
)
"""The order in which content is cut; each step is taken only if those before it were not enough."""


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


def cut_to_fit(body: bytes, options: EventOptions) -> Encoded:
    """
    Return an event that is over the limit, cut to it.

    At the least, an event keeps its run with the parent and a short error message, its job, and the list of what was
    cut. It exceeds the limit only if the limit is smaller than that, and then reports it.

    Args:
        body: the event as `serialise` returns it.
        options: hold the limit (`max_bytes`), and whether `extractionError` is disabled.
    """
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
        self._silent = FACET_OF_GAPS in options.disabled
        self._gaps: list[extraction_error_run.Error] = []
        # The bytes that the diagnostics will take.
        self._room = 0 if self._silent else _JOINTS
        if not self._silent and FACET_OF_GAPS not in self._facets:
            self._room += len(serialise({FACET_OF_GAPS: self._with_gaps({})}))
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
            self._facets[FACET_OF_GAPS] = self._with_gaps(self._facets.get(FACET_OF_GAPS, {}))
        errors = self._facets.get(FACET_OF_GAPS, {}).get("errors", ())
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
