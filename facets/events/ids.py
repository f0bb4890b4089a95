"""The producer of events, and repeatable ids: the same run or event always gets the same id."""

from __future__ import annotations

import uuid
from importlib import metadata
from typing import TYPE_CHECKING
from urllib.parse import quote

from openlineage.client.uuid import generate_static_uuid

if TYPE_CHECKING:
    import datetime as dt


def _version() -> str:
    try:
        return metadata.version("openlineage-pyspark")
    except metadata.PackageNotFoundError:  # a zip in --py-files has no metadata
        return "unknown"


PACKAGE_VERSION = _version()
"""The version of this package; `unknown` if it is not installed but only on the path."""

PRODUCER = "pkg:pypi/openlineage-pyspark" + (
    f"@{quote(PACKAGE_VERSION, safe='')}" if PACKAGE_VERSION != "unknown" else ""
)
"""
Package URL (purl) of this package at its version (BaseEvent.producer, BaseFacet._producer).

The specification asks for a URI. This one names the package alone: it needs no web page and no organisation, and stays
the same wherever the source is hosted.
"""


def own_schema(name: str, version: str = "1-0-0") -> str:
    """
    Return the URI of the JSON Schema of a facet of our own, which is in the package, in the folder `schemas`.

    As with the producer, it names the package and no web page.

    Args:
        name: the name of its definition and of its file, such as `PySparkSnapshotDatasetFacet`.
        version: its version.
    """
    return f"pkg:pypi/openlineage-pyspark/schemas/{version}/{name}.json#/$defs/{name}"


def run_id(application_start: dt.datetime, application_id: str, key: str) -> str:
    """
    Return the id of one run of an application, always the same for the same arguments (a UUID, version 7).

    Args:
        application_start: timezone-aware; the time in the UUID.
        application_id: Spark's id of the application, for example `local-1700000000000`.
        key: identifies the run within the application, for example the id of the root execution.

    Raises:
        ValueError: the time has no zone, so it would be another instant on another machine.
    """
    if application_start.tzinfo is None:
        raise ValueError(f"application_start {application_start.isoformat()} has no time zone: give it one")
    # Neither part can contain a zero byte, so different pairs never give the same text.
    return str(generate_static_uuid(application_start, f"{application_id}\0{key}".encode()))


def event_id(run: str, event_type: str, event_time: dt.datetime) -> str:
    """
    Return the id of one event, however often it is made and sent (a UUID, version 5).

    Args:
        run: the id of its run.
        event_type: START, RUNNING, COMPLETE, FAIL, ABORT or OTHER.
        event_time: timezone-aware; distinguishes the RUNNING events of a run.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"openlineage:{run}/{event_type}/{event_time.timestamp():.6f}"))
