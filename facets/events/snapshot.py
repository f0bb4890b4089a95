"""The facets about the versions of a dataset; the JSON Schema of `pyspark_snapshot` is in the folder `schemas`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage.client.facet_v2 import DatasetFacet, dataset_version_dataset
from openlineage_pyspark.facets.events.ids import PRODUCER, own_schema

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.dataset import TableVersions


# Made without a class statement, as the facets of runs are.
PySparkSnapshot = attrs.make_class(
    "PySparkSnapshot",
    {
        "format": attrs.field(kw_only=True),
        "versions": attrs.field(kw_only=True),
        "parent": attrs.field(kw_only=True),
        "operation": attrs.field(kw_only=True),
        "branch": attrs.field(kw_only=True),
    },
    bases=(DatasetFacet,),
)


def version_facets(versions: TableVersions | None, *, written: bool) -> dict[str, DatasetFacet]:
    """
    Return `version` with the newest version, and `pyspark_snapshot` if there is more to say.

    Args:
        versions: the versions that a run reads, or has committed.
        written: whether it has committed them.
    """
    if versions is None or not versions.ids:
        return {}
    facet = dataset_version_dataset.DatasetVersionDatasetFacet
    facets: dict[str, DatasetFacet] = {"version": facet(datasetVersion=versions.ids[-1], producer=PRODUCER)}
    if written or len(versions.ids) > 1 or versions.branch is not None:
        more = PySparkSnapshot(
            format=versions.format,
            versions=list(versions.ids),
            parent=versions.parent,
            operation=versions.operation,
            branch=versions.branch,
            producer=PRODUCER,
        )
        more._schemaURL = own_schema("PySparkSnapshotDatasetFacet")
        facets["pyspark_snapshot"] = more
    return facets
