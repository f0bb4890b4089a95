"""From the state of a run to its OpenLineage event."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, TypeVar

from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent
from openlineage.client.event_v2 import RunState as EventType
from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, OutputDatasetFacet
from openlineage_pyspark.facets.events.column_lineage import column_lineage_facet, too_wide
from openlineage_pyspark.facets.events.dataset import (
    dataset_facets,
    input_facets,
    lifecycle_facet,
    output_facets,
)
from openlineage_pyspark.facets.events.ids import PRODUCER, event_id
from openlineage_pyspark.facets.events.job import job_facets, too_long
from openlineage_pyspark.facets.events.marquez import accepted_job_namespace, accepted_namespace
from openlineage_pyspark.facets.events.run import run_facets
from openlineage_pyspark.facets.model.run import Gap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.events.providers import Contribution
    from openlineage_pyspark.facets.model.run import RedactedState, RunInput, RunOutput, RunState

_Facet = TypeVar("_Facet")


def build_event(
    state: RedactedState,
    options: EventOptions,
    contributions: tuple[Contribution, ...] = (),
    identity: str | None = None,
) -> RunEvent:
    """Give the event of one state of a run (OpenLineage 2-0-2, RunEvent).

    Nothing outside is asked and no code of the user runs: what custom providers add was fetched before. Nothing is
    redacted here either.

    Args:
        state: of the run, with all that is known, and redacted before.
        options: about the content of events.
        contributions: of custom facet providers, those that failed among them.
        identity: the event's id, if it is known already.

    Raises:
        ValueError: for an event type, lifecycle change or run id that the specification does not have, and
            for an event time without a zone.
    """
    if state.event_time.tzinfo is None:
        raise ValueError(f"event_time {state.event_time.isoformat()} has no time zone: give it one")
    custom = [contribution.facets for contribution in contributions]
    identity = identity or event_id(state.run_id, state.event_type, state.event_time)
    of_run = run_facets(state, options, _remarks(state, options, contributions), identity)
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


def _remarks(state: RunState, options: EventOptions, contributions: tuple[Contribution, ...]) -> tuple[Gap, ...]:
    """Give all that the event has to admit: what was not understood, and what was left out."""
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
    about = dataset_facets(read.dataset)
    of_input = input_facets(read.statistics)
    for contribution in contributions:
        for name, facet in contribution.facets.inputs.get(identifier, {}).items():
            if isinstance(facet, InputDatasetFacet):
                of_input[name] = facet
            elif isinstance(facet, DatasetFacet):
                about[name] = facet
    return InputDataset(
        namespace=accepted_namespace(identifier.namespace),
        name=identifier.name,
        facets=_enabled(about, options),
        inputFacets=_enabled(of_input, options) or None,
    )


def _output(written: RunOutput, options: EventOptions, contributions: tuple[Contribution, ...]) -> OutputDataset:
    identifier = written.dataset.identifier
    about = dataset_facets(written.dataset)
    if written.lifecycle is not None:
        about["lifecycleStateChange"] = lifecycle_facet(written.lifecycle, written.renamed_from)
    if written.lineage is not None and "columnLineage" not in options.disabled:
        lineage = column_lineage_facet(written.lineage, options)
        if lineage is not None:
            about["columnLineage"] = lineage
    of_output = output_facets(written.statistics)
    for contribution in contributions:
        for name, facet in contribution.facets.outputs.get(identifier, {}).items():
            if isinstance(facet, OutputDatasetFacet):
                of_output[name] = facet
            elif isinstance(facet, DatasetFacet):
                about[name] = facet
    return OutputDataset(
        namespace=accepted_namespace(identifier.namespace),
        name=identifier.name,
        facets=_enabled(about, options),
        outputFacets=_enabled(of_output, options) or None,
    )


def _enabled(facets: Mapping[str, _Facet], options: EventOptions) -> dict[str, _Facet]:
    return {name: facet for name, facet in facets.items() if name not in options.disabled}
