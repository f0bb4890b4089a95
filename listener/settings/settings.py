"""The configuration of one application, read once and frozen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.listener.settings import keys
from openlineage_pyspark.listener.settings.catalog import means_transport
from openlineage_pyspark.listener.settings.reading import Reading
from openlineage_pyspark.listener.settings.sources import read_sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.facets.model.run import RunReference
    from openlineage_pyspark.listener.settings.kinds import Tag


@attrs.frozen
class Settings:
    """What is configured, complete with defaults; `docs/configuration.md` says what each key means.

    Args:
        disabled: whether lineage is switched off.
        transport: the options below `transport`, nested and unchecked, `type` among them; empty where none
            is set.
        namespace: of every job.
        app_name: in place of Spark's.
        application_run_id: of the application's run, in place of one of our own.
        parent: the run that started the application.
        root: the run at the top; the parent where none is named.
        reads_enabled: whether queries that write nothing make a run.
        rdd_events_disabled: whether jobs of RDDs alone make no run.
        captured_properties: the Spark properties to show.
        disabled_facets: the facets to leave out.
        dataset_lineage_enabled: whether indirect edges stand once per dataset.
        descriptions_enabled: whether edges carry SQL text.
        schema_size_limit: columns above which an output has no column lineage.
        job_owners: type and name of each owner.
        job_tags: the tags of every job.
        run_tags: the tags of every run.
        append_dataset_name: whether a query's job name ends with what it writes.
        replace_dot_with_underscore: whether job names have no dots.
        job_documentation: what the application does.
        flush_timeout: seconds that the end of the application may wait.
        plan_max_nodes: nodes past which a plan is cut.
        plan_max_bytes: bytes past which an encoded plan is cut.
        event_max_bytes: bytes past which an event is cut.
        mask_literals: whether literals are replaced in every text.
        spool_path: the directory of the spool; None for the transport's default, `none` for no spool.
        spool_max_bytes: bytes of waiting events past which finished runs are dropped.
        strict: whether a lineage fault makes the process fail at its end.
        class_cache_enabled: whether the compiled probe is kept for the next application.
        sources: each key that was set, dotted and without prefix, and where its value comes from.
        warnings: one sentence for each thing that has no effect, without its full stop and without values.
    """

    disabled: bool
    transport: Mapping[str, Any] = attrs.field(repr=False)
    namespace: str
    app_name: str | None
    application_run_id: str | None
    parent: RunReference | None
    root: RunReference | None
    reads_enabled: bool
    rdd_events_disabled: bool
    captured_properties: tuple[str, ...]
    disabled_facets: frozenset[str]
    dataset_lineage_enabled: bool
    descriptions_enabled: bool
    schema_size_limit: int
    job_owners: tuple[tuple[str, str], ...]
    job_tags: tuple[Tag, ...]
    run_tags: tuple[Tag, ...]
    append_dataset_name: bool
    replace_dot_with_underscore: bool
    job_documentation: str | None
    flush_timeout: float
    plan_max_nodes: int
    plan_max_bytes: int
    event_max_bytes: int
    mask_literals: bool
    spool_path: str | None
    spool_max_bytes: int
    strict: bool
    class_cache_enabled: bool
    sources: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]

    def facet_enabled(self, name: str) -> bool:
        """Tell whether a facet belongs into the events, by its key in them."""
        return name not in self.disabled_facets


def default_search() -> tuple[Path, ...]:
    """Return the files that every OpenLineage client looks for: in the working directory, then at home."""
    here = Path("openlineage.yml")
    try:
        return here.absolute(), Path.home() / ".openlineage" / "openlineage.yml"
    # A working directory that was removed; a user without a home.
    except (OSError, RuntimeError):
        return (here,)


def is_configured(spark_conf: Mapping[str, str], environ: Mapping[str, str], search: Sequence[Path]) -> bool:
    """Tell whether lineage is asked for and not switched off.

    It is where a transport option is set; and where something was meant to be one and is not, such as a
    misspelt key or a file that can't be read, because then `load` has a warning that must be seen.

    Args:
        spark_conf: the whole Spark configuration.
        environ: the environment.
        search: the YAML files to look for after `OPENLINEAGE_CONFIG`, see `default_search`.
    """
    layers = read_sources(spark_conf, environ, search)
    reading = Reading(layers)
    if reading.value(keys.DISABLED):
        return False
    return any(layer.problems for layer in layers) or any(means_transport(name) for name in reading.given)


def load(spark_conf: Mapping[str, str], environ: Mapping[str, str], search: Sequence[Path]) -> Settings:
    """Read the configuration: environment, then YAML file, then Spark configuration, the last of which wins.

    Nothing raises: what can't be used becomes a warning, and the default holds.

    Args:
        spark_conf: the whole Spark configuration; keys other than `spark.openlineage.*` are not read.
        environ: the environment; `OPENLINEAGE__A__B` is the key `a.b`.
        search: the YAML files to look for after `OPENLINEAGE_CONFIG`, see `default_search`.
    """
    reading = Reading(read_sources(spark_conf, environ, search))
    reading.warn_of_names()
    parent, root = reading.parents()
    return Settings(
        disabled=reading.value(keys.DISABLED),
        transport=reading.transport(),
        namespace=reading.value(keys.NAMESPACE),
        app_name=reading.value(keys.APP_NAME),
        application_run_id=reading.value(keys.APPLICATION_RUN_ID),
        parent=parent,
        root=root,
        reads_enabled=reading.value(keys.READS_ENABLED),
        rdd_events_disabled=reading.value(keys.RDD_EVENTS_DISABLED),
        captured_properties=reading.value(keys.CAPTURED_PROPERTIES),
        disabled_facets=reading.disabled_facets(),
        dataset_lineage_enabled=reading.value(keys.DATASET_LINEAGE_ENABLED),
        descriptions_enabled=reading.value(keys.DESCRIPTIONS_ENABLED),
        schema_size_limit=reading.value(keys.SCHEMA_SIZE_LIMIT),
        job_owners=tuple((type_, name) for type_, name in reading.named(keys.JOB_OWNER) if name),
        job_tags=reading.tags(keys.JOB_TAGS, keys.USER_JOB_TAG),
        run_tags=reading.tags(keys.RUN_TAGS, keys.USER_RUN_TAG),
        append_dataset_name=reading.value(keys.APPEND_DATASET_NAME),
        replace_dot_with_underscore=reading.value(keys.REPLACE_DOT_WITH_UNDERSCORE),
        job_documentation=reading.value(keys.JOB_DOCUMENTATION),
        flush_timeout=reading.value(keys.FLUSH_TIMEOUT) / 1000,
        plan_max_nodes=reading.value(keys.PLAN_MAX_NODES),
        plan_max_bytes=reading.value(keys.PLAN_MAX_BYTES),
        event_max_bytes=reading.value(keys.EVENT_MAX_BYTES),
        mask_literals=reading.value(keys.MASK_LITERALS),
        spool_path=reading.value(keys.SPOOL_PATH),
        spool_max_bytes=reading.value(keys.SPOOL_MAX_BYTES),
        strict=reading.value(keys.STRICT),
        class_cache_enabled=reading.value(keys.CLASS_CACHE_ENABLED),
        sources=tuple(sorted((name, given[-1].origin) for name, given in reading.given.items())),
        warnings=tuple(dict.fromkeys(reading.warnings)),
    )
