"""The user's options about the content of events, as frozen values."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.redaction.redact import Redaction


@attrs.frozen
class Owner:
    """
    An owner of the job (OwnershipJobFacet).

    Args:
        name: for example `team:data`.
        type: for example `MAINTAINER`.
    """

    name: str
    type: str | None = None


@attrs.frozen
class Tag:
    """
    A tag of the job or of its runs (TagsJobFacet, TagsRunFacet).

    Args:
        key: the name of the tag.
        value: its value; `true` for a bare label, as in the Java integration.
        source: who set it; CONFIG if the configuration did.
    """

    key: str
    value: str = "true"
    source: str = "CONFIG"


@attrs.frozen
class EventOptions:
    """
    The content of events.

    Args:
        disabled: the names of facets that are left out everywhere (`facets.<name>.disabled`).
        dataset_lineage_enabled: whether FILTER, JOIN, GROUP_BY and SORT are listed once, in the facet's `dataset`; if
            not, they are repeated in every column, as older readers expect.
        descriptions_enabled: whether transformations carry the SQL text of their expression.
        descriptions: whether that text is `composed`, in terms of the columns of sources, or that of the `last` step.
        struct_fields: whether a field of a stored struct is a source, instead of its column.
        steps: which edges get their operators and steps (`pyspark_lineage_steps`): `all`, `unsure` or `none`.
        schema_size_limit: the number of output columns above which `columnLineage` is left out.
        owners: the owners of the job.
        job_tags: the tags of the job.
        run_tags: the tags of every run.
        job_documentation: the description of the job.
        max_bytes: the limit on the size of an event, in bytes; a larger event is cut.
        redaction: how texts are redacted.
    """

    disabled: frozenset[str] = frozenset()
    dataset_lineage_enabled: bool = True
    descriptions_enabled: bool = True
    descriptions: str = "composed"
    struct_fields: bool = False
    steps: str = "unsure"
    schema_size_limit: int = 1000
    owners: tuple[Owner, ...] = ()
    job_tags: tuple[Tag, ...] = ()
    run_tags: tuple[Tag, ...] = ()
    job_documentation: str | None = None
    max_bytes: int = 10 * 1024 * 1024
    redaction: Redaction = attrs.Factory(Redaction)
