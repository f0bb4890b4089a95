"""The transport that is configured: whether it can be made, and whether its receiver is there and lets us in."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from openlineage_pyspark.command.diagnosis import NOTE, OK, PROBLEM, WARNING, Diagnosis
from openlineage_pyspark.transport.attempt import attempt
from openlineage_pyspark.transport.base import Reached, Transport, TransportConfigError
from openlineage_pyspark.transport.composite import CompositeTransport
from openlineage_pyspark.transport.file import FileTransport
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.listener.settings import Settings

_CLOSE_SECONDS = 1.0
# Two letters at least, or the drive of a Windows path would be a scheme.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


@contextmanager
def configured_transport(settings: Settings) -> Iterator[tuple[Transport | None, list[Diagnosis]]]:
    """Give the configured transport, and what is to be said of its options; it is closed afterwards.

    Args:
        settings: which name it; without a type there is none.
    """
    if "type" not in settings.transport:
        yield None, []
        return
    found: list[Diagnosis] = []
    transport = None
    with _said() as warnings:
        try:
            transport = open_transport(str(settings.transport["type"]), settings.transport)
        except TransportConfigError as problem:
            found.append(_unusable(settings, problem))
    found += [Diagnosis(WARNING, "transport", warning) for warning in warnings]
    try:
        yield transport, found
    finally:
        if transport is not None:
            attempt(lambda: transport.close(_CLOSE_SECONDS))


def look_at_receiver(transport: Transport) -> Iterator[Diagnosis]:
    """Ask the receiver whether it is there, by what changes nothing there.

    Args:
        transport: which sends to it.
    """
    if isinstance(transport, CompositeTransport):
        for part in transport.parts:
            yield from look_at_receiver(part.transport)
        return
    answers: list[Reached | None] = []
    problem = attempt(lambda: answers.append(transport.reach()))
    if problem is not None:
        yield Diagnosis(PROBLEM, "receiver", str(problem), _remedy(problem.status))
    elif isinstance(transport, FileTransport):
        yield Diagnosis(OK, "receiver", f"{transport.destination} can be written")
    elif answers[0] is None:
        found = f"{transport.destination}: its options are usable; it can't be asked without sending an event"
        yield Diagnosis(NOTE, "receiver", found)
    elif answers[0].doubt:
        remedy = "See whether url and endpoint are those that the receiver's own documents name for events."
        yield Diagnosis(WARNING, "receiver", f"{answers[0].said}: {answers[0].doubt}", remedy)
    else:
        yield Diagnosis(OK, "receiver", f"{answers[0].said}, so that it is there and did not refuse the login")


def _remedy(status: int | None) -> str:
    if status in (401, 403):
        return "See transport.auth.type and the key or secret that goes with it."
    if status is None:
        return "See transport.url, the network and whether the receiver runs. With a spool, events wait until it does."
    return "See the receiver's own log. With a spool, events wait until it takes them."


def _unusable(settings: Settings, problem: TransportConfigError) -> Diagnosis:
    location = _SCHEME.match(str(settings.transport.get("location", "")))
    if settings.transport["type"] == "file" and location and location[1].lower() != "file":
        found = f"a location that begins with {location[1]}: is reached by the driver's own Hadoop client"
        return Diagnosis(NOTE, "receiver", f"{found}, and not from here")
    return Diagnosis(PROBLEM, "transport", str(problem))


class _Kept(logging.Handler):
    """Keeps the warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@contextmanager
def _said() -> Iterator[list[str]]:
    """Keep what the transports would log."""
    kept = _Kept()
    logger = logging.getLogger("openlineage_pyspark.transport")
    logger.addHandler(kept)
    try:
        yield kept.texts
    finally:
        logger.removeHandler(kept)
