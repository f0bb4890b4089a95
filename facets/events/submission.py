"""The facet with the command that started an application; its JSON Schema is in the folder `schemas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage.client.facet_v2 import RunFacet
from openlineage_pyspark.facets.events.ids import PRODUCER, own_schema

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.run import Submission


PySparkSubmission = attrs.make_class(
    "PySparkSubmission",
    {name: attrs.field(kw_only=True) for name in ("command", "workingDirectory", "deployMode", "redacted")},
    bases=(RunFacet,),
)


def submission_facet(submission: Submission) -> RunFacet:
    """Return the facet of how an application was started."""
    facet = PySparkSubmission(
        command=list(submission.command),
        workingDirectory=submission.folder,
        deployMode=submission.deploy_mode,
        redacted=submission.redacted,
        producer=PRODUCER,
    )
    facet._schemaURL = own_schema("PySparkSubmissionRunFacet")
    return facet
