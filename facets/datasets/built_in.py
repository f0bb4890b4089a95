"""The sources of this package: the import of their modules registers them, so that `SOURCES` has all of them here."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import jdbc, kafka, local, rdd, socket, tables, v2
from openlineage_pyspark.facets.datasets.source import SOURCES, relation_of

__all__ = ["BUILT_IN", "SOURCES", "relation_of"]

BUILT_IN = (tables, v2, jdbc, kafka, socket, rdd, local)
"""The modules whose import registers their sources."""
