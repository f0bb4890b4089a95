"""
Make the OpenLineage event of a run's state.

`event_of` makes every event: it redacts the state, describes it by facets, and cuts the event to the limit.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, TypeVar

import attrs
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent
from openlineage.client.event_v2 import RunState as EventType
from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, OutputDatasetFacet, extraction_error_run
from openlineage_pyspark.facets.events.cutting import FACET_OF_GAPS, Encoded, cut_to_fit
from openlineage_pyspark.facets.events.dataset import (
    accepted_job_namespace,
    accepted_namespace,
    column_lineage_facet,
    dataset_facets,
    input_facets,
    lifecycle_facet,
    lineage_facet,
    output_facets,
    replaced_facet,
    steps_facets,
    too_wide,
    version_facets,
)
from openlineage_pyspark.facets.events.encode import PRODUCER, event_id, serialise
from openlineage_pyspark.facets.events.run import job_facets, run_facets, too_long
from openlineage_pyspark.facets.model.run import Gap, RedactedState
from openlineage_pyspark.facets.redaction.redact import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.events.providers import Contribution
    from openlineage_pyspark.facets.model.run import RunInput, RunOutput, RunState

_Facet = TypeVar("_Facet")
_SideFacet = TypeVar("_SideFacet", InputDatasetFacet, OutputDatasetFacet)


@attrs.frozen
class MadeEvent:
    """
    The event of one state of a run.

    Args:
        state: the state behind the event, without secrets.
        identity: the event's id.
        body: the event as compact JSON.
        gaps: the gaps in its `extractionError`, including the cuts.
    """

    state: RedactedState
    identity: str
    body: bytes
    gaps: tuple[Gap, ...] = ()


def event_of(
    state: RunState,
    options: EventOptions,
    earlier: Mapping[str, str] | None = None,
    providers: Iterable[Callable[[RedactedState], Contribution]] = (),
) -> MadeEvent:
    """
    Return the event of one state of a run, as it is sent. No other code sees the state before it is redacted.

    Args:
        state: the state as it was assembled.
        options: the content of events, and how texts are redacted.
        earlier: messages of earlier exceptions, and the text shown instead of each (`rows.shown_messages`).
        providers: functions that each call a custom facet provider, and catch what it raises.

    Raises:
        ValueError: see `build_event`.
        TypeError: see `serialise`.
    """
    shown = redacted(state, options.redaction, earlier)
    identity = event_id(shown.run_id, shown.event_type, shown.event_time)
    contributions = tuple(provider(shown) for provider in providers)
    encoded = serialise_within(build_event(shown, options, contributions, identity), options)
    return MadeEvent(shown, identity, encoded.body, encoded.gaps)


def serialise_within(event: RunEvent, options: EventOptions) -> Encoded:
    """
    Return an event as the bytes that are sent: within the limit, unless the least that it keeps is over it.

    Args:
        event: a RunEvent of openlineage-python.
        options: hold the limit (`max_bytes`), and whether `extractionError` is disabled.

    Raises:
        ValueError: see `serialise`.
        TypeError: see `serialise`.
        RecursionError: see `serialise`.
    """
    body = serialise(event)
    if len(body) > options.max_bytes:
        return cut_to_fit(body, options)
    facet = (event.run.facets or {}).get(FACET_OF_GAPS)
    errors = facet.errors if isinstance(facet, extraction_error_run.ExtractionErrorRunFacet) else None
    return Encoded(body, tuple(Gap(error.task or "", error.errorMessage) for error in errors or ()))


def build_event(
    state: RedactedState,
    options: EventOptions,
    contributions: tuple[Contribution, ...] = (),
    identity: str | None = None,
) -> RunEvent:
    """
    Return the event of one state of a run (OpenLineage 2-0-2, RunEvent).

    This is pure: no code of the user runs, the facets of custom providers were fetched before, and nothing is redacted.

    Args:
        state: the redacted state of the run.
        options: the content of events.
        contributions: of the custom facet providers, including those that failed.
        identity: the event's id; computed if it is None.

    Raises:
        ValueError: the specification does not allow the event type, lifecycle change or run id, or the event time has
            no zone.
    """
    if state.event_time.tzinfo is None:
        raise ValueError(f"event_time {state.event_time.isoformat()} has no time zone: give it one")
    custom = [contribution.facets for contribution in contributions]
    identity = identity or event_id(state.run_id, state.event_type, state.event_time)
    of_run = run_facets(state, options, _gaps(state, options, contributions), identity)
    of_job = job_facets(state.job, options)
    for facets in custom:
        of_run.update(facets.run)
        of_job.update(facets.job)
    return RunEvent(
        eventTime=_instant(state.event_time),
        eventType=EventType(state.event_type),
        run=Run(runId=state.run_id, facets=_enabled(of_run, options)),
        job=Job(
            namespace=accepted_job_namespace(state.job.namespace),
            name=state.job.name,
            facets=_enabled(of_job, options),
        ),
        inputs=[_input(read, options, contributions) for read in state.inputs],
        outputs=[_output(written, options, contributions) for written in state.outputs],
        producer=PRODUCER,
    )


def _instant(time: dt.datetime) -> str:
    utc = time.astimezone(dt.timezone.utc)
    return utc.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _gaps(state: RunState, options: EventOptions, contributions: tuple[Contribution, ...]) -> tuple[Gap, ...]:
    """Return all gaps of the event: those of the lineage, and the cuts."""
    wide = () if "columnLineage" in options.disabled else too_wide(state.outputs, options)
    long = () if "sourceCodeLocation" in options.disabled else too_long(state.job)
    failures = tuple(
        Gap(f"facet provider {c.provider}", f"its facets are missing: {options.redaction.message(c.failure)}")
        for c in contributions
        if c.failure is not None
    )
    return state.gaps + wide + long + failures


def _input(read: RunInput, options: EventOptions, contributions: tuple[Contribution, ...]) -> InputDataset:
    identifier = read.dataset.identifier
    about = {**dataset_facets(read.dataset), **version_facets(read.dataset.versions, written=False)}
    of_input = input_facets(read.statistics, read.dataset.locations)
    custom = [c.facets.inputs.get(identifier, {}) for c in contributions]
    about, of_input = _with_custom(about, of_input, custom, InputDatasetFacet)
    return InputDataset(
        namespace=accepted_namespace(identifier.namespace),
        name=identifier.name,
        facets=_enabled(about, options),
        inputFacets=_enabled(of_input, options) or None,
    )


def _output(written: RunOutput, options: EventOptions, contributions: tuple[Contribution, ...]) -> OutputDataset:
    identifier = written.dataset.identifier
    about = {**dataset_facets(written.dataset), **version_facets(written.dataset.versions, written=True)}
    if written.lifecycle is not None:
        about["lifecycleStateChange"] = lifecycle_facet(written.lifecycle, written.renamed_from)
    if written.replaced is not None:
        about["pyspark_replaced"] = replaced_facet(written.replaced)
    if written.sources is not None:
        about["lineage"] = lineage_facet(written.sources)
    if written.lineage is not None and "columnLineage" not in options.disabled:
        lineage = column_lineage_facet(written.lineage, options)
        if lineage is not None:
            about["columnLineage"] = lineage
            about |= steps_facets(written.lineage, options)
    of_output = output_facets(written.statistics, written.dataset.locations)
    custom = [c.facets.outputs.get(identifier, {}) for c in contributions]
    about, of_output = _with_custom(about, of_output, custom, OutputDatasetFacet)
    return OutputDataset(
        namespace=accepted_namespace(identifier.namespace),
        name=identifier.name,
        facets=_enabled(about, options),
        outputFacets=_enabled(of_output, options) or None,
    )


def _with_custom(
    about: Mapping[str, DatasetFacet],
    of_side: Mapping[str, _SideFacet],
    custom: Iterable[Mapping[str, object]],
    side: type[_SideFacet],
) -> tuple[dict[str, DatasetFacet], dict[str, _SideFacet]]:
    """
    Return the facets of a dataset, and its facets as an input or output, both with the custom ones.

    Custom facets take precedence.

    Args:
        about: facets of the dataset itself, by name.
        of_side: its facets as an input or output, by name.
        custom: what each provider adds, by name.
        side: the class of the facets in `of_side`.
    """
    about, of_side = dict(about), dict(of_side)
    for facets in custom:
        for name, facet in facets.items():
            if isinstance(facet, side):
                of_side[name] = facet
            elif isinstance(facet, DatasetFacet):
                about[name] = facet
    return about, of_side


def _enabled(facets: Mapping[str, _Facet], options: EventOptions) -> dict[str, _Facet]:
    return {name: facet for name, facet in facets.items() if name not in options.disabled}
