"""One event of a run before it is written in OpenLineage's words: plain frozen values."""

from __future__ import annotations

import datetime
from typing import NewType

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Statistics
from openlineage_pyspark.facets.model.lineage import ColumnLineage


@attrs.frozen
class Failure:
    """Why a run failed (ErrorMessageRunFacet).

    Args:
        message: what the user saw.
        language: JAVA or PYTHON, of the code that raised.
        stack_trace: the trace in that language, where there is one.
    """

    message: str
    language: str
    stack_trace: str | None = None


@attrs.frozen
class Outcome:
    """
    How the script ended.

    Args:
        event_type: COMPLETE, FAIL or ABORT.
        message: why, where it is not COMPLETE.
        stack_trace: of the exception.
    """

    event_type: str
    message: str = ""
    stack_trace: str | None = None


@attrs.frozen
class RunInput:
    """A dataset that was read, and how much of it by this run."""

    dataset: Dataset
    statistics: Statistics | None = None


@attrs.frozen
class RunOutput:
    """A dataset that was written, and how.

    Args:
        dataset: what was written; its schema is the one after the write.
        lifecycle: ALTER, CREATE, DROP, OVERWRITE, RENAME or TRUNCATE; None for an append.
        renamed_from: the identity before a RENAME.
        statistics: what this run wrote.
        lineage: where its columns come from; None for a command that carries no data.
    """

    dataset: Dataset
    lifecycle: str | None = None
    renamed_from: Identifier | None = None
    statistics: Statistics | None = None
    lineage: ColumnLineage | None = None


@attrs.frozen
class Job:
    """The job that a run is of.

    Args:
        namespace: of the job.
        name: the same in each of its runs.
        type: APPLICATION, SQL_JOB or RDD_JOB (JobTypeJobFacet.jobType).
        processing_type: BATCH, STREAMING, or NONE for the application.
        sql: text of the statement, where there was one.
        source_location: URI of the user's script, where it is known.
    """

    namespace: str
    name: str
    type: str
    processing_type: str = "BATCH"
    sql: str | None = None
    source_location: str | None = None


@attrs.frozen
class RunReference:
    """Another run, as ParentRunFacet names it."""

    run_id: str
    namespace: str
    name: str


@attrs.frozen
class Parent:
    """The run that this one belongs to, and the one at the top (ParentRunFacet 1-2-0)."""

    run: RunReference
    root: RunReference | None = None


@attrs.frozen
class Gap:
    """Something in a plan that the lineage has no rule for: its class or kind, and what was done about it."""

    task: str
    message: str


@attrs.frozen
class Engine:
    """What runs the job: for `processing_engine`, `spark_applicationDetails` and `spark_properties`.

    Args:
        version: of Spark.
        application: name and value of each detail, in the Java integration's spelling (`appName`, `driverHost`).
        properties: the captured Spark properties.
    """

    version: str
    application: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class RunState:
    """One state of one run, with all that is known then.

    Args:
        event_type: START, RUNNING, COMPLETE, FAIL or ABORT.
        event_time: aware, in UTC.
        run_id: a UUID.
        job: what runs.
        engine: what it runs on.
        parent: the run above it.
        inputs: each dataset once.
        outputs: each dataset once.
        failure: for FAIL and ABORT.
        gaps: for `extractionError`; empty where everything was.
        operators: how many operators the plan had (`extractionError.totalTasks`).
    """

    event_type: str
    event_time: datetime.datetime
    run_id: str
    job: Job
    engine: Engine
    parent: Parent | None = None
    inputs: tuple[RunInput, ...] = ()
    outputs: tuple[RunOutput, ...] = ()
    failure: Failure | None = None
    gaps: tuple[Gap, ...] = ()
    operators: int = 0


RedactedState = NewType("RedactedState", RunState)
"""A state whose texts may be shown; only `facets.redaction` makes one, and only such a one is written as an event."""
