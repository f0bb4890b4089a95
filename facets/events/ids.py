"""Ids of runs and events that a replay makes again."""

from __future__ import annotations

import uuid
from importlib import metadata
from typing import TYPE_CHECKING

from openlineage.client.uuid import generate_static_uuid

if TYPE_CHECKING:
    import datetime as dt


def _version() -> str:
    try:
        return metadata.version("openlineage-pyspark")
    except metadata.PackageNotFoundError:  # a bare zip under --py-files has no metadata
        return "unknown"


VERSION = _version()
"""This package's version, `unknown` where it was not installed but put on the path."""

PRODUCER = f"https://github.com/openlineage-pyspark/openlineage-pyspark/tree/{VERSION}"
"""URI of this package at its version (BaseEvent.producer, BaseFacet._producer)."""


def run_id(application_start: dt.datetime, application_id: str, key: str) -> str:
    """Give the id of one run of an application: the same for the same arguments, for ever.

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
    """Give the id of one event: the same however often the event is made and sent (a UUID, version 5).

    Args:
        run: the id of its run.
        event_type: START, RUNNING, COMPLETE, FAIL, ABORT or OTHER.
        event_time: aware; tells the RUNNING events of a run apart.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"openlineage:{run}/{event_type}/{event_time.timestamp():.6f}"))
