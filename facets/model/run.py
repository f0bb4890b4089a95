"""The state of a run as frozen values: the content of one OpenLineage event, before it is encoded."""

from __future__ import annotations

import datetime
import posixpath
import urllib.parse
from typing import Literal, NewType, TypeAlias

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, Statistics
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.facets.model.micro_batch import StreamingQuery
from openlineage_pyspark.facets.model.session import StatementSession

_LONGEST = 200


@attrs.frozen
class CallSite:
    """
    A line of the user's Python.

    Args:
        file: the file, as Python names it; a cell of a notebook is `cell [3]`.
        line: the number of the line in it.
        function: the method of Spark that is called there, such as `saveAsTable`; empty if it is unknown.
    """

    file: str
    line: int
    function: str = ""

    def relative(self, script: str | None) -> CallSite:
        """
        Return the line without the folder of the file: the names of folders reveal people and machines.

        Args:
            script: the URI of the user's script. A file in its folder, or below, is named from there; any other file
                keeps its name alone.
        """
        path, folder = posixpath.normpath(self.file.replace("\\", "/")), _folder(script)
        below = path.removeprefix(folder)
        short = below if folder and below != path else posixpath.basename(path)
        return attrs.evolve(self, file=short if len(short) <= _LONGEST else f"...{short[3 - _LONGEST :]}")

    def location(self, script: str | None) -> str | None:
        """
        Return the URI of the line.

        Args:
            script: the URI of the user's script.

        Returns:
            The script's URI with this line, if the file (as `relative` names it) is the script, or is in its folder
            or below; None for any other.
        """
        folder = _folder(script)
        if script is None or not folder or self.file.startswith(("...", "cell [", "<")):
            return None
        name = posixpath.basename(urllib.parse.unquote(urllib.parse.urlsplit(script).path))
        if "/" not in self.file and self.file != name:
            return None
        return f"{posixpath.dirname(script)}/{urllib.parse.quote(self.file)}#L{self.line}"

    def __str__(self) -> str:
        """Return it as one word: `etl/load.py:12`."""
        return f"{self.file}:{self.line}"


def _folder(script: str | None) -> str:
    """Return the folder of a script with a slash at its end; empty if it is unknown."""
    parts = urllib.parse.urlsplit(script) if script is not None else None
    if parts is None or parts.scheme != "file" or "/" not in parts.path:
        return ""
    return posixpath.dirname(urllib.parse.unquote(parts.path)).rstrip("/") + "/"


EventType: TypeAlias = Literal["START", "RUNNING", "COMPLETE", "FAIL", "ABORT"]
"""The type of an event, which is the state of its run."""
Ending: TypeAlias = Literal["COMPLETE", "FAIL", "ABORT"]
"""How an application ends."""
JobType: TypeAlias = Literal["APPLICATION", "SQL_JOB", "RDD_JOB"]
"""What a job is (JobTypeJobFacet.jobType)."""
ProcessingType: TypeAlias = Literal["BATCH", "STREAMING", "NONE"]
"""How a job handles its data."""
Lifecycle: TypeAlias = Literal["ALTER", "CREATE", "DROP", "OVERWRITE", "RENAME", "TRUNCATE"]
"""What a run does to a dataset, other than adding rows."""
Replaced: TypeAlias = Literal["all", "partitions", "rows"]
"""What a run replaces of a dataset: all of it, partitions, or the rows that fulfil a condition."""


@attrs.frozen
class Raised:
    """
    One exception of a failure.

    Args:
        class_name: its class, as a stack trace spells it.
        message: its text.
        frames: the lines of the stack trace that belong to it: below its message in Java, above it in Python.
        of_rows: whether it was raised where rows are handled, so that its message can quote their values.
        condition: the name of Spark's condition, such as CAST_INVALID_INPUT.
        template: the text of the condition, with `<name>` instead of each parameter; empty if it is unknown.
        state: the SQLSTATE.
        parameters: the names and values of the condition's parameters.
    """

    class_name: str
    message: str
    frames: str = ""
    of_rows: bool = False
    condition: str | None = None
    template: str = ""
    state: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Failure:
    """
    Why a run failed (ErrorMessageRunFacet).

    Args:
        message: the message that the user saw.
        language: the language of the code that raised.
        stack_trace: the trace in that language, if there is one.
        raised: the exceptions, in the order of the stack trace; empty if only their text is known.
        has_rows_removed: whether everything that may quote values of rows has been removed.
    """

    message: str
    language: Literal["JAVA", "PYTHON"]
    stack_trace: str | None = None
    raised: tuple[Raised, ...] = ()
    has_rows_removed: bool = attrs.field(default=False, eq=False)


@attrs.frozen
class Outcome:
    """
    How the script ended.

    Args:
        event_type: how the application's run ends.
        message: the reason, unless it is COMPLETE.
        stack_trace: the trace of the exception, if there was one.
        raised: the exception and its causes, in the order of the trace.
    """

    event_type: Ending
    message: str = ""
    stack_trace: str | None = None
    raised: tuple[Raised, ...] = ()


@attrs.frozen
class RunInput:
    """A dataset that a run reads, and how much it has read from it."""

    dataset: Dataset
    statistics: Statistics | None = None


@attrs.frozen
class RunOutput:
    """
    A dataset that a run writes, and how.

    Args:
        dataset: the dataset, with its schema after the write.
        lifecycle: the change of the dataset as a whole; None for an append.
        renamed_from: the identity before a RENAME.
        statistics: how much the run has written.
        lineage: the sources of its columns; None for a command that moves no data.
        replaced: the part that it replaces; None if it replaces nothing, or if that is unknown.
        sources: the inputs that it is made from; None for all that the run reads.
    """

    dataset: Dataset
    lifecycle: Lifecycle | None = None
    renamed_from: Identifier | None = None
    statistics: Statistics | None = None
    lineage: ColumnLineage | None = None
    replaced: Replaced | None = None
    sources: tuple[Identifier, ...] | None = None


@attrs.frozen
class Job:
    """
    The job of a run.

    Args:
        namespace: the namespace of the job.
        name: the name of the job, the same in all its runs.
        type: the type (JobTypeJobFacet.jobType).
        processing_type: how it handles its data; NONE for the application.
        sql: the text of the statement, if there was one.
        source_location: the URI of the user's script, if it is known.
    """

    namespace: str
    name: str
    type: JobType
    processing_type: ProcessingType = "BATCH"
    sql: str | None = None
    source_location: str | None = None


@attrs.frozen
class RunReference:
    """A reference to another run, as in ParentRunFacet."""

    run_id: str
    namespace: str
    name: str


@attrs.frozen
class Parent:
    """The parent of a run, and the root of its hierarchy (ParentRunFacet 1-2-0)."""

    run: RunReference
    root: RunReference | None = None


PATHS = "paths"
"""The task of the gap for more paths than are kept."""


@attrs.frozen
class Gap:
    """
    A part that an event leaves out or that no rule covers (an error of ExtractionErrorRunFacet).

    Args:
        task: the class of the operator, or the kind of content.
        message: the missing part, and what was done instead.
    """

    task: str
    message: str


@attrs.frozen
class Engine:
    """
    The Spark application of a run: for `processing_engine`, `spark_applicationDetails` and `spark_properties`.

    Args:
        version: the version of Spark.
        application: the name and value of each detail, in the Java integration's spelling (`appName`, `driverHost`).
        properties: the name and value of each captured Spark property.
    """

    version: str
    application: tuple[tuple[str, str], ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class Submission:
    """
    How an application was started.

    Args:
        command: the words of the command; none if they are unknown.
        folder: the driver's working directory; empty if it was removed.
        deploy_mode: `client` or `cluster`.
        redacted: whether parts of the command were replaced.
    """

    command: tuple[str, ...]
    folder: str
    deploy_mode: str
    redacted: bool = False


@attrs.frozen
class RunState:
    """
    The state of a run at one time, with everything that is known then.

    Args:
        event_type: the type of the event.
        event_time: timezone-aware, in UTC.
        run_id: a UUID.
        job: the job.
        engine: the Spark application.
        parent: the parent run, if there is one.
        inputs: the datasets that it reads, each once.
        outputs: the datasets that it writes, each once.
        failure: the reason of FAIL and ABORT.
        gaps: for `extractionError`; empty if nothing is missing.
        operators: the number of operators in the plan (`extractionError.totalTasks`).
        call_site: the line of the user's Python that ran the statement; None if it is unknown.
        session: the settings of the session of its statement; None if they are unknown.
        code: kind of code that can't be read -> how often the plans of the run have it.
        metrics: the listener's counters, by name; only in the application's terminal state.
        submission: how the application was started; only in the application's START.
        stream: the streaming query, with its micro-batches since the previous event; None for any other run.
    """

    event_type: EventType
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
    call_site: CallSite | None = None
    session: StatementSession | None = None
    code: tuple[tuple[str, int], ...] = ()
    metrics: tuple[tuple[str, object], ...] = ()
    submission: Submission | None = None
    stream: StreamingQuery | None = None


RedactedState = NewType("RedactedState", RunState)
"""A state with redacted texts; only `facets.redaction` makes one, and `build_event` accepts nothing else."""
