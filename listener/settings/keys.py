"""
The settings of an application, each with the configuration key that sets it.

To add a key, add a field to `Settings`: how it is read, its default, its warnings, the reference in
docs/configuration.md and the samples in conf/ all follow from it. Transport options are declared by the transports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
from openlineage_pyspark.facets.events.options import EventOptions, Tag
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, TRIMMERS, Trimming
from openlineage_pyspark.facets.model.name_rules import NamespaceResolver
from openlineage_pyspark.facets.model.run import RunReference
from openlineage_pyspark.listener.probe.limits import ProbeLimits
from openlineage_pyspark.listener.settings.facet_names import FACETS_NOT_YET, nearest_facet
from openlineage_pyspark.listener.settings.kinds import (
    BOOLEAN,
    CONTEXT,
    DISK_SIZE,
    LIST,
    MILLISECONDS,
    PATTERN,
    REGEX,
    RULE,
    SIZE,
    TAGS,
    TEXT,
    TRIMMER_NAMES,
    UUID,
    one_of,
    parse_tag,
    whole_number_kind,
)
from openlineage_pyspark.listener.settings.reading import Key, LayerReading, derived, key, readers
from openlineage_pyspark.transport.options import OURS, PYTHON
from openlineage_pyspark.transport.spool.retention import DAY_SECONDS, Retention

# Their defaults apply to keys that are not set.
_EVENT = EventOptions()
_PROBE = ProbeLimits()
_RETENTION = Retention()

_PARENT = (
    Key(
        "parentRunId",
        UUID,
        default=None,
        example="01941f29-7c00-7000-8000-000000000002",
        text="The run id of the job that starts the application; needs the job's namespace and name too.",
    ),
    Key(
        "parentJobNamespace",
        TEXT,
        default=None,
        example="airflow",
        text="The namespace of the job that starts the application.",
    ),
    Key(
        "parentJobName",
        TEXT,
        default=None,
        example="sales.load",
        text="The name of the job that starts the application.",
    ),
)
_ROOT = (
    Key(
        "rootParentRunId",
        UUID,
        default=None,
        example="01941f29-7c00-7000-8000-000000000003",
        text="The run id of the job at the top of the hierarchy; by default the job that starts the application.",
    ),
    Key(
        "rootParentJobNamespace",
        TEXT,
        default=None,
        example="airflow",
        text="The namespace of the job at the top of the hierarchy.",
    ),
    Key(
        "rootParentJobName",
        TEXT,
        default=None,
        example="sales",
        text="The name of the job at the top of the hierarchy.",
    ),
)
PARENT_CONTEXT = Key(
    "context",
    CONTEXT,
    default=None,
    example='{"parent": {"run": {"runId": "01941f29-7c00-7000-8000-000000000002"},'
    ' "job": {"namespace": "airflow", "name": "sales.load"}}}',
    text="Parent and root in one, as JSON; it overrides the six `parent*` and `rootParent*` keys.",
)


def _parent(reading: LayerReading, *parts: Key[str | None]) -> RunReference | None:
    context = reading.value(PARENT_CONTEXT)
    if context is None:
        return _run(reading, parts)
    if context.has_facets:
        label = reading.given[PARENT_CONTEXT.name][-1].label
        reading.warnings.append(f"{label} contains facets, which are not supported there yet and have no effect")
    return context.parent


def _root(reading: LayerReading, *_keys: Key[Any]) -> RunReference | None:
    context = reading.value(PARENT_CONTEXT)
    root = _run(reading, _ROOT) if context is None else context.root
    return root or _parent(reading, *_PARENT)


def _run(reading: LayerReading, parts: tuple[Key[str | None], ...]) -> RunReference | None:
    run_id, namespace, name = (reading.value(part) for part in parts)
    if run_id and namespace and name:
        return RunReference(run_id, namespace, name)
    given = [reading.given[part.name][-1].label for part in parts if part.name in reading.given]
    # If all are given, one can't be used, and there is a warning about that already.
    if given and len(given) < len(parts):
        needed = ", ".join(part.name for part in parts)
        reading.warnings.append(f"{', '.join(given)}: no effect, because {needed} are needed together")
    return None


def _disabled_facets(reading: LayerReading, pattern: Key[bool]) -> frozenset[str]:
    disabled = set()
    for name, off, given in reading.named(pattern):
        if off:
            disabled.add(name)
        elif name in FACETS_NOT_YET:
            reading.warnings.append(f"{given.label} asks for the facet {name}, which is not supported yet")
        # Only if the name is close to one of our facets: plug-ins may add facets with any other name.
        if near := nearest_facet(name):
            reading.warnings.append(f"{given.label} names no facet that is known; did you mean {near}?")
    return frozenset(disabled)


def _owners(reading: LayerReading, pattern: Key[str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((kind, name) for kind, name, _ in reading.named(pattern) if name)


def _tags(reading: LayerReading, listed: Key[tuple[str, ...]], single: Key[str | None]) -> tuple[Tag, ...]:
    """Return the tags of one kind; for the same tag key, `listed` takes precedence over `single`."""
    tags = {name: Tag(name, value, "USER") for name, value, _ in reading.named(single) if value}
    # From all layers, not only the strongest: the Java integration merges tags by their key.
    for given in reading.given.get(listed.name, ()):
        texts: tuple[str, ...] = reading.converted(listed, given)
        for position, text in enumerate(texts, start=1):
            tag, whole = parse_tag(text)
            if tag:
                tags[tag.key] = tag
            if not whole:
                what = "is cut after its third part" if tag else "is left out"
                problem = f"tag {position} is not written as key, key:value or key:value:source"
                reading.warnings.append(f"{given.label}: {problem}, and {what}")
    return tuple(tags.values())


def _trimming(
    reading: LayerReading,
    off: Key[tuple[str, ...]],
    also_off: Key[tuple[str, ...]],
    pattern: Key[re.Pattern[str] | None],
    *resolvers_and_rules: Key[Any],
) -> Trimming:
    *of_resolvers, rule = resolvers_and_rules
    disabled = {*reading.value(off), *reading.value(also_off)}
    return Trimming(
        tuple(name for name in TRIMMERS if name not in disabled),
        reading.value(pattern),
        tuple(_resolvers(reading, *of_resolvers)),
        tuple(attrs.evolve(found, source=name) for name, found, _ in reading.named(rule) if found is not None),
    )


def _by_name(reading: LayerReading, key: Key[Any]) -> dict[str, Any]:
    return {name: value for name, value, _ in reading.named(key) if value}


def _resolvers(
    reading: LayerReading,
    kind: Key[str | None],
    hosts: Key[tuple[str, ...]],
    regex: Key[re.Pattern[str] | None],
    group: Key[str | None],
    schema: Key[str | None],
) -> Iterator[NamespaceResolver]:
    """Yield the resolvers of namespaces, each with what its type needs."""
    listed, patterns = _by_name(reading, hosts), _by_name(reading, regex)
    groups, schemas = _by_name(reading, group), _by_name(reading, schema)
    for name, type_, given in reading.named(kind):
        scheme = schemas.get(name)
        if type_ == "hostlist" and name in listed:
            any_host = re.compile("|".join(map(re.escape, listed[name])), re.IGNORECASE)
            yield NamespaceResolver(any_host, name, None, scheme)
        elif type_ == "pattern" and name in patterns:
            yield NamespaceResolver(patterns[name], name, None, scheme)
        elif type_ == "patterngroup" and name in patterns and groups.get(name) in patterns[name].groupindex:
            yield NamespaceResolver(patterns[name], None, groups[name], scheme)
        elif type_ is not None:
            needed = {"hostlist": "hosts", "pattern": "regex"}.get(type_, "regex with the group of its matchingGroup")
            reading.warnings.append(f"{given.label} has no effect, because its {needed} is missing")


@attrs.frozen(kw_only=True)
class Settings:
    """
    The complete settings, including defaults.

    Args:
        transport: the options below `transport`, nested and unchecked, including `type`; empty if none is set.
        sources: each key that is set, dotted and without prefix, and where its value comes from.
        warnings: one sentence for each setting that has no effect, without a full stop and without values.
    """

    transport: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    disabled: bool = key("disabled", BOOLEAN, default=False, text="Switches lineage off.")
    namespace: str = key("namespace", TEXT, default="default", text="The namespace of all jobs.")
    app_name: str | None = key(
        "appName",
        TEXT,
        default=None,
        example="daily_sales",
        text="The name of the application in events, instead of `spark.app.name`.",
    )
    application_run_id: str | None = key(
        "applicationRunId",
        UUID,
        default=None,
        example="01941f29-7c00-7000-8000-000000000001",
        text="The run id of the application; set it if the submitter must know it in advance.",
    )
    # `derived` declares a field, as `attrs.field` does.
    parent: RunReference | None = derived(*_PARENT, by=_parent, default=None)  # noqa: RUF009
    root: RunReference | None = derived(*_ROOT, PARENT_CONTEXT, by=_root, default=None)  # noqa: RUF009
    reads_enabled: bool = key(
        "reads.enabled",
        BOOLEAN,
        default=False,
        source=OURS,
        text="Also sends events for queries that write nothing, such as `collect` and `show`.",
    )
    rdd_events_disabled: bool = key(
        "filter.rddEventsDisabled",
        BOOLEAN,
        default=False,
        text="Sends no events for jobs that only use RDDs, such as `saveAsTextFile`.",
    )
    captured_properties: tuple[str, ...] = key(
        "capturedProperties",
        LIST,
        default=("spark.master", "spark.app.name"),
        text="The Spark properties that the `spark_properties` facet shows; `[]` for none.",
    )
    disabled_facets: frozenset[str] = derived(
        Key(
            "facets.<name>.disabled",
            BOOLEAN,
            default=False,
            example_name="spark_properties",
            text="Omits a facet from events.",
        ),
        by=_disabled_facets,
        default=frozenset(),
    )
    dataset_lineage_enabled: bool = key(
        "columnLineage.datasetLineageEnabled",
        BOOLEAN,
        default=_EVENT.dataset_lineage_enabled,
        text="Lists the columns that influence whole rows (filters, joins, grouping, sorting) once per dataset;"
        " `false` repeats them on every output column.",
    )
    descriptions_enabled: bool = key(
        "columnLineage.descriptionsEnabled",
        BOOLEAN,
        default=_EVENT.descriptions_enabled,
        text="Adds the SQL text of the expression to each column lineage edge (`false` in the Java integration).",
    )
    descriptions: str = key(
        "columnLineage.descriptions",
        one_of("composed", "last"),
        default=_EVENT.descriptions,
        text="Which text that is: `composed` of all steps, in terms of source columns, or the text of the `last` step.",
    )
    struct_fields: bool = key(
        "columnLineage.structFields",
        BOOLEAN,
        default=_EVENT.struct_fields,
        text="Reports the fields of structs that are read, such as `address.city`, and the sources of each field of a"
        " written struct; by default a field that is read counts as its column, as in the Java integration.",
        source=OURS,
    )
    steps: str = key(
        "columnLineage.steps",
        one_of("unsure", "all", "none"),
        default=_EVENT.steps,
        text="Adds the operators on the path of an edge, with their expressions, as the facet `pyspark_lineage_steps`:"
        " to `all` edges, to `none`, or to those that are `unsure`.",
    )
    call_sites: str = key(
        "callSites",
        one_of("facet", "url", "none"),
        default="facet",
        text="Reports the lines of your Python that run statements (facet `pyspark_call_site`) and make columns"
        " (`pyspark_lineage_steps`). `url` also adds the line to the URL of `sourceCodeLocation`; a receiver may then"
        " see a new version of the job whenever a line moves.",
    )
    schema_size_limit: int = key(
        "columnLineage.schemaSizeLimit",
        whole_number_kind(0),
        default=_EVENT.schema_size_limit,
        text="Omits column lineage for outputs with more columns than this.",
    )
    job_owners: tuple[tuple[str, str], ...] = derived(
        Key(
            "job.owners.<type>",
            TEXT,
            default=None,
            example="Some Team",
            example_name="team",
            text="An owner of the jobs; the last part of the key is the type of ownership.",
        ),
        by=_owners,
        default=(),
    )
    job_tags: tuple[Tag, ...] = derived(
        Key(
            "job.tags",
            TAGS,
            default=(),
            example="env:prod;pii",
            text="Tags of the jobs, each `key[:value[:source]]`; the value defaults to `true`, the source to `CONFIG`.",
        ),
        Key(
            "tags.job.<key>",
            TEXT,
            default=None,
            source=PYTHON,
            example="prod",
            example_name="env",
            text="One tag of the jobs, with the source `USER`.",
        ),
        by=_tags,
        default=(),
    )
    run_tags: tuple[Tag, ...] = derived(
        Key(
            "run.tags",
            TAGS,
            default=(),
            example="trigger:manual",
            text="Tags of the runs, written like `job.tags`.",
        ),
        Key(
            "tags.run.<key>",
            TEXT,
            default=None,
            source=PYTHON,
            example="manual",
            example_name="trigger",
            text="One tag of the runs, with the source `USER`.",
        ),
        by=_tags,
        default=(),
    )
    trimming: Trimming = derived(  # noqa: RUF009
        Key(
            "dataset.disabledTrimmers",
            TRIMMER_NAMES,
            default=(),
            example="DateTrimmer;YearMonthTrimmer",
            text="The trimmers of dates and partitions that are not applied to the names of datasets, with or without"
            " their package in Java.",
        ),
        Key(
            "dataset.disabled_trimmers",
            TRIMMER_NAMES,
            default=(),
            source=PYTHON,
            example="DateTrimmer;YearMonthTrimmer",
            text="The same in openlineage-python.",
        ),
        Key(
            "dataset.removePath.pattern",
            PATTERN,
            default=None,
            example="(?<remove>/[0-9]{4}-[0-9]{2}-[0-9]{2})",
            text="A regular expression; the first match of its group `remove` is cut from the names of datasets.",
        ),
        Key(
            "dataset.namespaceResolvers.<name>.type",
            one_of("hostlist", "pattern", "patterngroup"),
            default=None,
            example="hostList",
            example_name="kafka-prod",
            text="How the hosts in namespaces of datasets are found: by a `hostList` or a `pattern`, whose matches"
            " become the name in the key, or by a `patternGroup`, whose matches become a group of its pattern.",
        ),
        Key(
            "dataset.namespaceResolvers.<name>.hosts",
            LIST,
            default=(),
            example="[kafka-prod13.company.com;kafka-prod15.company.com]",
            example_name="kafka-prod",
            text="The hosts of a `hostList`, in any case.",
        ),
        Key(
            "dataset.namespaceResolvers.<name>.regex",
            REGEX,
            default=None,
            example="kafka-prod[0-9]+[.]company[.]com",
            example_name="kafka-prod",
            text="The regular expression of a `pattern` or a `patternGroup`.",
        ),
        Key(
            "dataset.namespaceResolvers.<name>.matchingGroup",
            TEXT,
            default=None,
            example="cluster",
            example_name="kafka-prod",
            text="The name of the group of a `patternGroup`.",
        ),
        Key(
            "dataset.namespaceResolvers.<name>.schema",
            TEXT,
            default=None,
            example="kafka",
            example_name="kafka-prod",
            text="The only scheme of namespaces to which the resolver applies; by default any.",
        ),
        Key(
            "datasets.rules.<source>",
            RULE,
            default=None,
            source=OURS,
            example="acme://{endpoint} -> {database|db}.{table}",
            example_name="acme",
            text="Namespace and name of the datasets of a source without a resolver, made from its options; the source"
            " is the short name of its format, or a part of the name of its class.",
        ),
        by=_trimming,
        default=DEFAULT_TRIMMING,
    )
    views_enabled: bool = key(
        "views.enabled",
        BOOLEAN,
        default=True,
        source=OURS,
        text="Reports permanent views that are read as inputs, in addition to the tables behind them; `false` reports"
        " only the tables, as in the Java integration.",
    )
    streaming_interval: int = key(
        "streaming.intervalInSeconds",
        whole_number_kind(-1),
        default=60,
        source=OURS,
        text="The minimum number of seconds between two RUNNING events of a streaming query, which list its"
        " micro-batches; 0: one event for each; -1: none until there are 1,000 micro-batches or 256 KB of them.",
    )
    append_command: bool = key(
        "jobName.appendCommand",
        BOOLEAN,
        default=True,
        source=OURS,
        text="Includes the command in the name of a job; `false` gives `<application>.<output>`, so that all commands"
        " that write to an output are one job.",
    )
    append_dataset_name: bool = key(
        "jobName.appendDatasetName",
        BOOLEAN,
        default=True,
        text="Appends the name of the dataset that a query writes to the name of its job.",
    )
    replace_dot_with_underscore: bool = key(
        "jobName.replaceDotWithUnderscore",
        BOOLEAN,
        default=False,
        text="Replaces dots in job names by underscores.",
    )
    job_documentation: str | None = key(
        "job.documentation",
        TEXT,
        default=None,
        source=OURS,
        example="Loads the sales of a day.",
        text="What the application does, for the `documentation` facet of its job.",
    )
    start_timeout: float = key(
        "start.timeoutInMillis",
        MILLISECONDS,
        default=10.0,
        source=OURS,
        text="The longest time in milliseconds that the start of the application waits for the listener.",
    )
    flush_timeout: float = key(
        "flush.timeoutInMillis",
        MILLISECONDS,
        default=10.0,
        source=OURS,
        text="The longest time in milliseconds that the end of the application waits in total until events are sent.",
    )
    plan_max_nodes: int = key(
        "plan.maxNodes",
        whole_number_kind(1),
        default=_PROBE.max_nodes,
        source=OURS,
        text="The maximum number of nodes of a plan; the rest is cut, and the event reports it.",
    )
    plan_max_bytes: int = key(
        "plan.maxBytes",
        SIZE,
        default=_PROBE.max_bytes,
        source=OURS,
        text="The maximum size of an encoded plan; the rest is cut, and the event reports it.",
    )
    event_max_bytes: int = key(
        "event.maxBytes",
        SIZE,
        default=_EVENT.max_bytes,
        source=OURS,
        text="The maximum size of an event; facets of a larger one are cut, the least important first.",
    )
    mask_literals: bool = key(
        "maskLiterals",
        BOOLEAN,
        default=False,
        source=OURS,
        text="Replaces every literal in SQL text, expressions and error messages by `?`.",
    )
    row_values_in_errors: bool = key(
        "errors.rowValues",
        BOOLEAN,
        default=False,
        source=OURS,
        text="Sends error messages unchanged, even if they may quote values of rows.",
    )
    spool_path: str | None = key(
        "spool.path",
        TEXT,
        default=None,
        source=OURS,
        example="/var/spool/lineage",
        text="The local directory that keeps events until they are delivered; `none` keeps them in memory only."
        " By default `~/.local/state/openlineage-pyspark/spool` for receivers over a network, and `none` for others.",
    )
    spool_max_bytes: int = key(
        "spool.maxBytes",
        SIZE,
        default=512 * 1024 * 1024,
        source=OURS,
        text="The largest size of an application's waiting events; beyond it the oldest finished runs are dropped.",
    )
    spool_max_total_bytes: int = key(
        "spool.maxTotalBytes",
        DISK_SIZE,
        default=_RETENTION.max_bytes,
        source=OURS,
        text="The largest size of the spool's directory; beyond it, what ended applications left is deleted: first dead"
        " letters, then waiting events, the oldest first.",
    )
    spool_max_age_days: int = key(
        "spool.maxAgeInDays",
        whole_number_kind(1),
        default=int(_RETENTION.max_age_seconds // DAY_SECONDS),
        source=OURS,
        text="Days after which events that an ended application left in the spool are deleted, if they still can't be"
        " sent.",
    )
    spool_sender: str | None = key(
        "spool.sender",
        TEXT,
        default=None,
        source=OURS,
        example="sales",
        text="A name for the sender. What an application leaves in the spool is sent by the next one"
        " with the same receiver and the same name. By default the key, the headers and the URL parameters must be the"
        " same.",
    )
    strict: bool = key(
        "strict",
        BOOLEAN,
        default=False,
        source=OURS,
        text="Makes the process fail at its end if lineage was lost, and lists the faults; meant for CI.",
    )
    last_words_enabled: bool = key(
        "lastWords.enabled",
        BOOLEAN,
        default=True,
        source=OURS,
        text="Ends the application's runs as ABORT if the driver's Python process is killed: the JVM, which outlives it"
        " by a moment, starts another Python process for that.",
    )
    class_cache_enabled: bool = key(
        "classCache.enabled",
        BOOLEAN,
        default=True,
        source=OURS,
        text="Keeps the compiled probe in `~/.cache/openlineage-pyspark/probe` for the next application.",
    )
    sources: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()


WORKING: tuple[Key[Any], ...] = tuple(each for reader in readers(Settings).values() for each in reader.keys)
"""The keys that have an effect, in the order in which the documentation lists them."""
