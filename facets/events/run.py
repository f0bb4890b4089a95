"""The facets of a run and of its job. The JSON Schemas of our own facets are in the folder `schemas`."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import attrs
from openlineage.client.facet_v2 import (
    RunFacet,
    documentation_job,
    error_message_run,
    extraction_error_run,
    job_type_job,
    ownership_job,
    parent_run,
    processing_engine_run,
    source_code_location_job,
    sql_job,
    tags_job,
    tags_run,
)
from openlineage_pyspark.facets.events.dataset import accepted_job_namespace, accepted_namespace, location_uri
from openlineage_pyspark.facets.events.encode import PACKAGE_VERSION, PRODUCER, own_schema
from openlineage_pyspark.facets.model.run import Gap

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import JobFacet
    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.model.dataset import Identifier
    from openlineage_pyspark.facets.model.micro_batch import BatchSink, BatchSource, MicroBatch, StreamingQuery
    from openlineage_pyspark.facets.model.run import CallSite, Job, Parent, RunState, Submission
    from openlineage_pyspark.facets.model.session import StatementSession

LONGEST_LOCATION = 255
"""The characters of `sourceCodeLocation.url` that Marquez stores; it rejects an event with a longer one."""
PySparkMicroBatches = attrs.make_class(
    "PySparkMicroBatches",
    {
        "queryId": attrs.field(kw_only=True),
        "queryRunId": attrs.field(kw_only=True),
        "queryName": attrs.field(kw_only=True),
        "checkpoint": attrs.field(kw_only=True),
        "continues": attrs.field(kw_only=True),
        "batches": attrs.field(kw_only=True),
    },
    bases=(RunFacet,),
)


def too_long(job: Job) -> tuple[Gap, ...]:
    """
    Return a gap if the location of the job's source code is left out because it is too long.

    Args:
        job: the job; its location may be unknown.

    Returns:
        One gap, or none.
    """
    if job.source_location is None or len(location_uri(job.source_location)) <= LONGEST_LOCATION:
        return ()
    length = len(location_uri(job.source_location))
    return (
        Gap(
            task="sourceCodeLocation",
            message=f"sourceCodeLocation left out: its url is {length} characters, over {LONGEST_LOCATION}",
        ),
    )


def job_facets(job: Job, options: EventOptions) -> dict[str, JobFacet]:
    """
    Return the facets of a job by name.

    Args:
        job: the job.
        options: hold the owners, tags and documentation that the user has configured.
    """
    facets: dict[str, JobFacet] = {
        "jobType": job_type_job.JobTypeJobFacet(
            processingType=job.processing_type, integration="SPARK", jobType=job.type, producer=PRODUCER
        )
    }
    if job.sql:
        facets["sql"] = sql_job.SQLJobFacet(query=job.sql, dialect="spark", producer=PRODUCER)
    if job.source_location is not None and not too_long(job):
        facets["sourceCodeLocation"] = source_code_location_job.SourceCodeLocationJobFacet(
            type="file", url=location_uri(job.source_location), producer=PRODUCER
        )
    if options.owners:
        owners = [ownership_job.Owner(name=owner.name, type=owner.type) for owner in options.owners]
        facets["ownership"] = ownership_job.OwnershipJobFacet(owners=owners, producer=PRODUCER)
    if options.job_tags:
        facets["tags"] = tags_job.TagsJobFacet(
            tags=[
                tags_job.TagsJobFacetFields(key=tag.key, value=tag.value, source=tag.source) for tag in options.job_tags
            ],
            producer=PRODUCER,
        )
    if options.job_documentation:
        facets["documentation"] = documentation_job.DocumentationJobFacet(
            description=options.job_documentation, producer=PRODUCER
        )
    return facets


PySparkSubmission = attrs.make_class(
    "PySparkSubmission",
    {name: attrs.field(kw_only=True) for name in ("command", "workingDirectory", "deployMode", "redacted")},
    bases=(RunFacet,),
)


def submission_facet(submission: Submission) -> RunFacet:
    """Return the facet about how an application was started."""
    facet = PySparkSubmission(
        command=list(submission.command),
        workingDirectory=submission.folder,
        deployMode=submission.deploy_mode,
        redacted=submission.redacted,
        producer=PRODUCER,
    )
    facet._schemaURL = own_schema("PySparkSubmissionRunFacet")
    return facet


PySparkCallSite = attrs.make_class(
    "PySparkCallSite", {name: attrs.field(kw_only=True) for name in ("file", "line", "function")}, bases=(RunFacet,)
)


def call_site_facet(site: CallSite) -> RunFacet:
    """Return the facet about the line of code that ran a statement."""
    facet = PySparkCallSite(file=site.file, line=site.line, function=site.function, producer=PRODUCER)
    facet._schemaURL = own_schema("PySparkCallSiteRunFacet")
    return facet


PySparkSession = attrs.make_class(
    "PySparkSession",
    {"settings": attrs.field(kw_only=True)}
    | {name: attrs.field(default=None, kw_only=True) for name in ("currentCatalog", "currentSchema")},
    bases=(RunFacet,),
)


def session_facet(session: StatementSession) -> RunFacet:
    """Return the facet of the settings under which a statement was run."""
    facet = PySparkSession(
        settings=dict(session.settings),
        currentCatalog=session.catalog or None,
        currentSchema=session.schema or None,
        producer=PRODUCER,
    )
    facet._schemaURL = own_schema("PySparkSessionRunFacet")
    return facet


# These have no schema of their own, and keep the `_schemaURL` of RunFacet. The names and fields of the first two are
# the Java integration's; the third lets a receiver drop a repeated event; the fourth serves to monitor applications.
# They are created without class statements, because a type checker that skips openlineage-python would complain about
# an untyped base class.
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


def run_facets(state: RunState, options: EventOptions, gaps: tuple[Gap, ...], identity: str) -> dict[str, RunFacet]:
    """
    Return the facets of a run by name.

    Args:
        state: the state of the run.
        options: hold the tags of the run.
        gaps: the gaps that `extractionError` reports.
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
    if gaps:
        facets["extractionError"] = _extraction_error(gaps, state.operators)
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
    if state.session is not None:
        facets["pyspark_session"] = session_facet(state.session)
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


def _extraction_error(gaps: tuple[Gap, ...], operators: int) -> extraction_error_run.ExtractionErrorRunFacet:
    return extraction_error_run.ExtractionErrorRunFacet(
        # There may be more gaps than operators, since not every gap is about an operator.
        totalTasks=max(operators, len(gaps)),
        failedTasks=len(gaps),
        errors=[extraction_error_run.Error(errorMessage=gap.message, task=gap.task) for gap in gaps],
        producer=PRODUCER,
    )


# The facet with the micro-batches of a streaming query; its JSON Schema is in the folder `schemas`.


def micro_batches_facet(stream: StreamingQuery) -> RunFacet:
    """Return the facet of a streaming query and its micro-batches since the previous event."""
    facet = PySparkMicroBatches(
        queryId=stream.id,
        queryRunId=stream.run,
        queryName=stream.name,
        checkpoint=stream.checkpoint,
        continues=stream.continues,
        batches=[_batch(batch) for batch in stream.batches],
        producer=PRODUCER,
    )
    facet._schemaURL = own_schema("PySparkMicroBatchesRunFacet")
    return facet


def _batch(batch: MicroBatch) -> dict[str, object]:
    return _without_none(
        batchId=batch.id,
        time=_instant(batch.time),
        durationMs=batch.duration,
        rows=batch.rows,
        watermark=None if batch.watermark is None else _instant(batch.watermark),
        sources=[_source(source) for source in batch.sources],
        sinks=[_sink(sink) for sink in batch.sinks],
    )


def _source(source: BatchSource) -> dict[str, object]:
    offsets = {"from": source.start, "to": source.end}
    return {
        **_dataset(source.dataset),
        "description": source.description,
        **offsets,
        **_without_none(version=source.version, rows=source.rows),
    }


def _sink(sink: BatchSink) -> dict[str, object]:
    return {
        **_dataset(sink.dataset),
        **_without_none(
            description=sink.description,
            version=sink.version,
            parent=sink.parent,
            rows=sink.rows,
            change=sink.change,
        ),
    }


def _dataset(identifier: Identifier | None) -> dict[str, object]:
    if identifier is None:
        return {}
    return {"namespace": accepted_namespace(identifier.namespace), "name": identifier.name}


def _without_none(**members: object) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}


def _instant(time: dt.datetime) -> str:
    return time.astimezone(dt.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
