"""The facets that `facets.<name>.disabled` may name."""

from __future__ import annotations

from openlineage_pyspark.transport.values import nearest

FACETS = (
    "catalog",
    "columnLineage",
    "dataSource",
    "datasetType",
    "documentation",
    "errorMessage",
    "extractionError",
    "inputStatistics",
    "jobType",
    "lifecycleStateChange",
    "outputStatistics",
    "ownership",
    "parent",
    "processing_engine",
    "pyspark_call_site",
    "pyspark_event",
    "pyspark_lineage_steps",
    "pyspark_metrics",
    "pyspark_micro_batches",
    "pyspark_name",
    "pyspark_replaced",
    "pyspark_session",
    "pyspark_snapshot",
    "pyspark_submission",
    "schema",
    "sourceCodeLocation",
    "spark_applicationDetails",
    "spark_properties",
    "sql",
    "storage",
    "subset",
    "symlinks",
    "tags",
    "version",
)
"""The facets that events may contain."""

FACETS_NOT_YET = (
    "debug",
    "environment-properties",
    "gcp_dataproc",
    "gcp_lineage",
    "icebergCommitReport",
    "icebergScanReport",
    "spark.exception",
    "spark.logicalPlan",
    "spark_jobDetails",
    "spark_unknown",
)
"""Facets of the Java integration that these events never contain."""


def nearest_facet(name: str) -> str | None:
    """Return the facet with almost this name; None if none is that close, or the name itself is known."""
    if name in FACETS or name in FACETS_NOT_YET:
        return None
    return nearest(name, FACETS, cutoff=0.8)
