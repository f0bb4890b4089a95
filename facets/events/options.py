"""What a user can choose about the content of events, as frozen values."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.redaction.redact import Redaction


@attrs.frozen
class Owner:
    """An owner of the job (OwnershipJobFacet).

    Args:
        name: for example `team:data`.
        type: for example `MAINTAINER`.
    """

    name: str
    type: str | None = None


@attrs.frozen
class Tag:
    """A tag of the job or of its runs (TagsJobFacet, TagsRunFacet).

    Args:
        key: what the tag is about.
        value: its value; `true` for a bare label, as the Java integration has it.
        source: who set it; CONFIG for one from the configuration.
    """

    key: str
    value: str = "true"
    source: str = "CONFIG"


@attrs.frozen
class EventOptions:
    """How a run is described.

    Args:
        disabled: names of facets that are left out wherever they would stand (`facets.<name>.disabled`).
        dataset_lineage_enabled: FILTER, JOIN, GROUP_BY and SORT stand once, in the facet's `dataset` list;
            where False they are repeated on every column, as older readers expect.
        descriptions_enabled: transformations carry the SQL text of their expression.
        schema_size_limit: number of output columns above which a `columnLineage` is left out.
        owners: of the job.
        job_tags: of the job.
        run_tags: of every run.
        job_documentation: what the job is for.
        max_bytes: of an event; what is over it is cut.
        redaction: what is taken out of texts.
    """

    disabled: frozenset[str] = frozenset()
    dataset_lineage_enabled: bool = True
    descriptions_enabled: bool = True
    schema_size_limit: int = 1000
    owners: tuple[Owner, ...] = ()
    job_tags: tuple[Tag, ...] = ()
    run_tags: tuple[Tag, ...] = ()
    job_documentation: str | None = None
    max_bytes: int = 10 * 1024 * 1024
    redaction: Redaction = attrs.Factory(Redaction)
