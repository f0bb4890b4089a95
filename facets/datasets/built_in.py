"""All sources of this package: importing their modules registers them in `SOURCES`."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import jdbc, kafka, local, rdd, socket, tables, v2
from openlineage_pyspark.facets.datasets.source import SOURCES, relation_of

__all__ = ["BUILT_IN", "SOURCES", "relation_of"]

BUILT_IN = (tables, v2, jdbc, kafka, socket, rdd, local)
"""The modules whose import registers their sources."""
