"""The configuration keys that have an effect: name, kind of value, default and meaning of each."""

from __future__ import annotations

import re
from typing import Any, Generic, TypeVar

import attrs
from openlineage_pyspark.listener.settings.kinds import (
    BOOLEAN,
    CONTEXT,
    LIST,
    OPTIONAL_TEXT,
    OPTIONAL_UUID,
    SIZE,
    TAGS,
    TEXT,
    Kind,
    whole_number,
)

T = TypeVar("T")

DONE = "done"
KNOWN = "known"

JAVA = "openlineage-spark"
PYTHON = "openlineage-python"
OURS = "openlineage-pyspark"


@attrs.frozen
class Key(Generic[T]):
    """One configuration key.

    Args:
        name: without its prefix; a part in angle brackets stands for any name.
        kind: what its value may be.
        default: the value where it is not set, or where what is set can't be used.
        description: one sentence.
        status: DONE, or KNOWN where it has no effect yet.
        source: the project whose key it is, with that project's meaning.
        example: a value to show where the default is none.
        example_name: a name to show in place of the part in angle brackets.
        also: other spellings that are read too.
    """

    name: str
    kind: Kind[T]
    default: T = attrs.field(kw_only=True)
    description: str = attrs.field(kw_only=True)
    status: str = attrs.field(kw_only=True, default=DONE)
    source: str = attrs.field(kw_only=True, default=JAVA)
    example: str = attrs.field(kw_only=True, default="")
    example_name: str = attrs.field(kw_only=True, default="")
    also: tuple[str, ...] = attrs.field(kw_only=True, default=())

    def matched(self, name: str) -> str | None:
        """Return what stands for the part in angle brackets, empty if it has none; None for another key."""
        if name == self.name:
            return ""
        before, bracket, rest = self.name.partition("<")
        after = rest.partition(">")[2]
        found = re.fullmatch(f"{re.escape(before)}(.+){re.escape(after)}", name) if bracket else None
        return found[1] if found else None


DISABLED = Key("disabled", BOOLEAN, default=False, description="Switches the lineage off.")
NAMESPACE = Key("namespace", TEXT, default="default", description="The namespace of every job.")
APP_NAME = Key(
    "appName",
    OPTIONAL_TEXT,
    default=None,
    example="daily_sales",
    description="The application's name in the events, in place of `spark.app.name`.",
)
APPLICATION_RUN_ID = Key(
    "applicationRunId",
    OPTIONAL_UUID,
    default=None,
    example="01941f29-7c00-7000-8000-000000000001",
    description="The run id of the application, where whoever submits it wants to know it beforehand.",
)
PARENT_JOB_NAMESPACE = Key(
    "parentJobNamespace",
    OPTIONAL_TEXT,
    default=None,
    example="airflow",
    description="The namespace of the job that starts the application; all three parts are needed.",
)
PARENT_JOB_NAME = Key(
    "parentJobName",
    OPTIONAL_TEXT,
    default=None,
    example="sales.load",
    description="The name of the job that starts the application.",
)
PARENT_RUN_ID = Key(
    "parentRunId",
    OPTIONAL_UUID,
    default=None,
    example="01941f29-7c00-7000-8000-000000000002",
    description="The run id of the job that starts the application.",
)
ROOT_PARENT_JOB_NAMESPACE = Key(
    "rootParentJobNamespace",
    OPTIONAL_TEXT,
    default=None,
    example="airflow",
    description="The namespace of the job at the top of the hierarchy; the parent job where it is not set.",
)
ROOT_PARENT_JOB_NAME = Key(
    "rootParentJobName",
    OPTIONAL_TEXT,
    default=None,
    example="sales",
    description="The name of the job at the top of the hierarchy.",
)
ROOT_PARENT_RUN_ID = Key(
    "rootParentRunId",
    OPTIONAL_UUID,
    default=None,
    example="01941f29-7c00-7000-8000-000000000003",
    description="The run id of the job at the top of the hierarchy.",
)
PARENT_CONTEXT = Key(
    "context",
    CONTEXT,
    default=None,
    example='{"parent": {"run": {"runId": "01941f29-7c00-7000-8000-000000000002"},'
    ' "job": {"namespace": "airflow", "name": "sales.load"}}}',
    description="Parent and root in one, as JSON; it wins over the six `parent*` and `rootParent*` keys.",
)
READS_ENABLED = Key(
    "reads.enabled",
    BOOLEAN,
    default=False,
    source=OURS,
    description="Makes a run of queries that write nothing, such as `collect` and `show`.",
)
RDD_EVENTS_DISABLED = Key(
    "filter.rddEventsDisabled",
    BOOLEAN,
    default=False,
    description="Makes no runs of jobs of RDDs alone, such as `saveAsTextFile`.",
)
CAPTURED_PROPERTIES = Key(
    "capturedProperties",
    LIST,
    default=("spark.master", "spark.app.name"),
    description="The Spark properties that the `spark_properties` facet shows; `[]` for none.",
)
FACET_DISABLED = Key(
    "facets.<name>.disabled",
    BOOLEAN,
    default=False,
    example_name="spark_properties",
    description="Leaves a facet out of the events.",
)
DATASET_LINEAGE_ENABLED = Key(
    "columnLineage.datasetLineageEnabled",
    BOOLEAN,
    default=True,
    description="Names the columns that decide about rows once per dataset, not on every column.",
)
DESCRIPTIONS_ENABLED = Key(
    "columnLineage.descriptionsEnabled",
    BOOLEAN,
    default=True,
    description="Adds the SQL text of the expression to each edge (`false` in the Java integration).",
)
SCHEMA_SIZE_LIMIT = Key(
    "columnLineage.schemaSizeLimit",
    whole_number(0),
    default=1000,
    description="Leaves the column lineage out of outputs with more columns than this.",
)
JOB_OWNER = Key(
    "job.owners.<type>",
    OPTIONAL_TEXT,
    default=None,
    example="Some Team",
    example_name="team",
    description="An owner of the jobs, by type of ownership.",
)
JOB_TAGS = Key(
    "job.tags",
    TAGS,
    default=(),
    example="env:prod;pii",
    description="Tags of the jobs; a value that is left out is `true`, a source CONFIG.",
)
RUN_TAGS = Key("run.tags", TAGS, default=(), example="trigger:manual", description="Tags of the runs, written alike.")
USER_JOB_TAG = Key(
    "tags.job.<key>",
    OPTIONAL_TEXT,
    default=None,
    source=PYTHON,
    example="prod",
    example_name="env",
    description="One tag of the jobs, with the source USER.",
)
USER_RUN_TAG = Key(
    "tags.run.<key>",
    OPTIONAL_TEXT,
    default=None,
    source=PYTHON,
    example="manual",
    example_name="trigger",
    description="One tag of the runs, with the source USER.",
)
APPEND_DATASET_NAME = Key(
    "jobName.appendDatasetName",
    BOOLEAN,
    default=True,
    description="Ends the name of a query's job with the name of what it writes.",
)
REPLACE_DOT_WITH_UNDERSCORE = Key(
    "jobName.replaceDotWithUnderscore",
    BOOLEAN,
    default=False,
    description="Writes underscores in place of dots in job names.",
)
JOB_DOCUMENTATION = Key(
    "job.documentation",
    OPTIONAL_TEXT,
    default=None,
    source=OURS,
    example="Loads the sales of a day.",
    description="What the application does, for the `documentation` facet of its job.",
)
FLUSH_TIMEOUT = Key(
    "flush.timeoutInMillis",
    whole_number(0),
    default=10_000,
    source=OURS,
    description="How many milliseconds the end of the application may wait, in all, for events to be sent.",
)
PLAN_MAX_NODES = Key(
    "plan.maxNodes",
    whole_number(1),
    default=100_000,
    source=OURS,
    description="The nodes of a plan past which the rest is cut and marked as cut.",
)
PLAN_MAX_BYTES = Key(
    "plan.maxBytes",
    SIZE,
    default=32 * 1024 * 1024,
    source=OURS,
    description="The bytes of an encoded plan past which the rest is cut and marked as cut.",
)

EVENT_MAX_BYTES = Key(
    "event.maxBytes",
    SIZE,
    default=10 * 1024 * 1024,
    source=OURS,
    description="The bytes of an event past which its facets are cut, the least needed first.",
)
MASK_LITERALS = Key(
    "maskLiterals",
    BOOLEAN,
    default=False,
    source=OURS,
    description="Writes `?` for every literal in SQL text, expressions and error messages.",
)
SPOOL_PATH = Key(
    "spool.path",
    OPTIONAL_TEXT,
    default=None,
    source=OURS,
    example="/var/spool/lineage",
    description="The local directory that keeps events until they are delivered; `none` keeps them in memory alone."
    " By default `~/.local/state/openlineage-pyspark/spool` for receivers over a network, and `none` for the others.",
)
SPOOL_MAX_BYTES = Key(
    "spool.maxBytes",
    SIZE,
    default=512 * 1024 * 1024,
    source=OURS,
    description="The bytes of an application's waiting events past which its oldest finished runs are dropped.",
)
STRICT = Key(
    "strict",
    BOOLEAN,
    default=False,
    source=OURS,
    description="Lists every lineage fault at the end of the process and makes it fail, for CI.",
)
CLASS_CACHE_ENABLED = Key(
    "classCache.enabled",
    BOOLEAN,
    default=True,
    source=OURS,
    description="Keeps the compiled probe in `~/.cache/openlineage-pyspark` for the next application.",
)

WORKING: tuple[Key[Any], ...] = (
    DISABLED,
    NAMESPACE,
    APP_NAME,
    APPLICATION_RUN_ID,
    PARENT_JOB_NAMESPACE,
    PARENT_JOB_NAME,
    PARENT_RUN_ID,
    ROOT_PARENT_JOB_NAMESPACE,
    ROOT_PARENT_JOB_NAME,
    ROOT_PARENT_RUN_ID,
    PARENT_CONTEXT,
    READS_ENABLED,
    RDD_EVENTS_DISABLED,
    CAPTURED_PROPERTIES,
    FACET_DISABLED,
    DATASET_LINEAGE_ENABLED,
    DESCRIPTIONS_ENABLED,
    SCHEMA_SIZE_LIMIT,
    JOB_OWNER,
    JOB_TAGS,
    RUN_TAGS,
    USER_JOB_TAG,
    USER_RUN_TAG,
    APPEND_DATASET_NAME,
    REPLACE_DOT_WITH_UNDERSCORE,
    JOB_DOCUMENTATION,
    FLUSH_TIMEOUT,
    PLAN_MAX_NODES,
    PLAN_MAX_BYTES,
    EVENT_MAX_BYTES,
    MASK_LITERALS,
    SPOOL_PATH,
    SPOOL_MAX_BYTES,
    STRICT,
    CLASS_CACHE_ENABLED,
)
"""The keys that `Settings` holds, in the order of the documents."""


def as_text(value: object) -> str:
    """Return a default as it is written in a properties file, empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
