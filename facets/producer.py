"""Who writes the events: the `producer` of each event and `_producer` of each facet."""

from __future__ import annotations

from importlib import metadata


def _version() -> str:
    try:
        return metadata.version("openlineage-pyspark")
    except metadata.PackageNotFoundError:  # a bare zip under --py-files has no metadata
        return "unknown"


VERSION = _version()
"""This package's version, `unknown` where it was not installed but put on the path."""

PRODUCER = f"https://github.com/openlineage-pyspark/openlineage-pyspark/tree/{VERSION}"
"""URI of this package at its version (BaseEvent.producer, BaseFacet._producer)."""
