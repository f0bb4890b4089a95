"""Ids of runs and events, the same in each replay, and the URI of the producer."""

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
    except metadata.PackageNotFoundError:  # a zip under --py-files has no metadata
        return "unknown"


VERSION = _version()
"""This package's version; `unknown` where it is on the path without being installed."""

PRODUCER = "pkg:pypi/openlineage-pyspark" + (f"@{quote(VERSION, safe='')}" if VERSION != "unknown" else "")
"""
Package URL (purl) of this package at its version (BaseEvent.producer, BaseFacet._producer).

The specification asks for a URI. This one names the package alone: it needs no web page and no organisation, and stays
the same wherever the source is hosted.
"""


def run_id(application_start: dt.datetime, application_id: str, key: str) -> str:
    """Return the id of one run of an application: the same for the same arguments, for ever.

    Args:
        application_start: aware; the UUIDv7's time.
        application_id: Spark's, for example `local-1700000000000`.
        key: what tells the runs of one application apart, for example the root execution's id.

    Raises:
        ValueError: for a time without a zone, which would name another instant on another machine.
    """
    if application_start.tzinfo is None:
        raise ValueError(f"application_start {application_start.isoformat()} has no time zone: give it one")
    # A zero byte can't be in either part, so no two pairs run together to one text.
    return str(generate_static_uuid(application_start, f"{application_id}\0{key}".encode()))


def event_id(run: str, event_type: str, event_time: dt.datetime) -> str:
    """Return the id of one event: the same however often the event is made and sent (a UUID, version 5).

    Args:
        run: the id of its run.
        event_type: START, RUNNING, COMPLETE, FAIL, ABORT or OTHER.
        event_time: aware; tells the RUNNING events of a run apart.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"openlineage:{run}/{event_type}/{event_time.timestamp():.6f}"))
