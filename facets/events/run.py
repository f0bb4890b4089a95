"""The facets of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage.client.facet_v2 import (
    RunFacet,
    error_message_run,
    extraction_error_run,
    parent_run,
    processing_engine_run,
    tags_run,
)
from openlineage_pyspark.facets.events.call_site import call_site_facet
from openlineage_pyspark.facets.events.ids import PACKAGE_VERSION, PRODUCER
from openlineage_pyspark.facets.events.marquez import accepted_job_namespace
from openlineage_pyspark.facets.events.micro_batches import micro_batches_facet
from openlineage_pyspark.facets.events.submission import submission_facet

if TYPE_CHECKING:
    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.model.run import Gap, Parent, RunState

# These have no schema of their own, and keep the `_schemaURL` of RunFacet. The names and fields of the first two are
# the Java integration's; the third lets a receiver drop a repeated event; the fourth is for watching many applications.
# They are made without class statements, because a type checker that skips openlineage-python would complain about an
# untyped base class.
SparkProperties = attrs.make_class("SparkProperties", {"properties": attrs.field(kw_only=True)}, bases=(RunFacet,))
SparkApplicationDetails = attrs.make_class(
    "SparkApplicationDetails",
    {
        name: attrs.field(default=None, kw_only=True)
        for name in (
            "master",
            "appName",
            "applicationId",
            "deployMode",
            "driverHost",
            "userName",
            "uiWebUrl",
            "proxyUrl",
            "historyUrl",
        )
    },
    bases=(RunFacet,),
)

PySparkEvent = attrs.make_class("PySparkEvent", {"id": attrs.field(kw_only=True)}, bases=(RunFacet,))
PySparkMetrics = attrs.make_class(
    "PySparkMetrics",
    {
        name: attrs.field(kw_only=True)
        for name in (
            "events",
            "runs",
            "edges",
            "edgesInDoubt",
            "remarks",
            "opaqueCode",
            "faults",
            "lostRecords",
            "droppedBySpark",
            "receivers",
        )
    },
    bases=(RunFacet,),
)


def run_facets(state: RunState, options: EventOptions, remarks: tuple[Gap, ...], identity: str) -> dict[str, RunFacet]:
    """
    Return the facets of a run by name.

    Args:
        state: the state of the run.
        options: hold the tags of the run.
        remarks: the gaps that `extractionError` reports.
        identity: the event's id.
    """
    engine = state.engine
    facets: dict[str, RunFacet] = {}
    if state.parent is not None:
        facets["parent"] = _parent(state.parent)
    facets["processing_engine"] = processing_engine_run.ProcessingEngineRunFacet(
        version=engine.version, name="spark", openlineageAdapterVersion=PACKAGE_VERSION, producer=PRODUCER
    )
    facets["pyspark_event"] = PySparkEvent(id=identity, producer=PRODUCER)
    facets.update(_own_facets(state))
    if engine.properties:
        facets["spark_properties"] = SparkProperties(properties=dict(engine.properties), producer=PRODUCER)
    if engine.application:
        facets["spark_applicationDetails"] = SparkApplicationDetails(**dict(engine.application), producer=PRODUCER)
    if state.failure is not None and state.event_type in {"FAIL", "ABORT"}:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(
            message=state.failure.message,
            programmingLanguage=state.failure.language,
            stackTrace=state.failure.stack_trace,
            producer=PRODUCER,
        )
    if remarks:
        facets["extractionError"] = _extraction_error(remarks, state.operators)
    if options.run_tags:
        facets["tags"] = tags_run.TagsRunFacet(
            tags=[
                tags_run.TagsRunFacetFields(key=tag.key, value=tag.value, source=tag.source) for tag in options.run_tags
            ],
            producer=PRODUCER,
        )
    return facets


def _own_facets(state: RunState) -> dict[str, RunFacet]:
    facets: dict[str, RunFacet] = {}
    if state.metrics:
        facets["pyspark_metrics"] = PySparkMetrics(**dict(state.metrics), producer=PRODUCER)
    if state.stream is not None:
        facets["pyspark_micro_batches"] = micro_batches_facet(state.stream)
    if state.call_site is not None:
        facets["pyspark_call_site"] = call_site_facet(state.call_site)
    if state.submission is not None:
        facets["pyspark_submission"] = submission_facet(state.submission)
    return facets


def _parent(parent: Parent) -> parent_run.ParentRunFacet:
    run, root = parent.run, None
    if parent.root is not None:
        root = parent_run.Root(
            run=parent_run.RootRun(runId=parent.root.run_id, facets=None),
            job=parent_run.RootJob(
                namespace=accepted_job_namespace(parent.root.namespace), name=parent.root.name, facets=None
            ),
        )
    return parent_run.ParentRunFacet(
        run=parent_run.Run(runId=run.run_id, facets=None),
        job=parent_run.Job(namespace=accepted_job_namespace(run.namespace), name=run.name, facets=None),
        root=root,
        producer=PRODUCER,
    )


def _extraction_error(remarks: tuple[Gap, ...], operators: int) -> extraction_error_run.ExtractionErrorRunFacet:
    return extraction_error_run.ExtractionErrorRunFacet(
        # There may be more gaps than operators, since a gap need not be about one.
        totalTasks=max(operators, len(remarks)),
        failedTasks=len(remarks),
        errors=[extraction_error_run.Error(errorMessage=remark.message, task=remark.task) for remark in remarks],
        producer=PRODUCER,
    )
