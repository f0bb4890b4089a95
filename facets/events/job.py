"""The facets of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage.client.facet_v2 import (
    documentation_job,
    job_type_job,
    ownership_job,
    source_code_location_job,
    sql_job,
    tags_job,
)
from openlineage_pyspark.facets.events.ids import PRODUCER
from openlineage_pyspark.facets.events.marquez import location_uri
from openlineage_pyspark.facets.model.run import Gap

if TYPE_CHECKING:
    from openlineage.client.facet_v2 import JobFacet
    from openlineage_pyspark.facets.events.options import EventOptions
    from openlineage_pyspark.facets.model.run import Job

LONGEST_LOCATION = 255
"""The characters of `sourceCodeLocation.url` that Marquez stores; it rejects an event with a longer one."""


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
