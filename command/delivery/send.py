"""`send`: delivers the events in files to a receiver."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

from openlineage_pyspark.command.delivery.configured import add_options, read_settings
from openlineage_pyspark.command.delivery.receiver import LAST_SECONDS, add_patience, address, reachable_parts
from openlineage_pyspark.command.events.lines import read_lines
from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.errors import EventError
from openlineage_pyspark.transport.composite import FanOut
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.workbench.events.read import event_id_of
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from openlineage_pyspark.command.events.lines import EventJson
    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.delivery.counts import DeliveryCounts
    from openlineage_pyspark.workbench.events.files import EventPlace

_DESCRIPTION = """\
Sends the events in files to a receiver, one after the other, in the order of the files. Failed attempts are repeated as
in a job. An event that the receiver refuses for good is reported and skipped. If the receiver stays unavailable, the
command stops and names the first event that was not sent. The exit code is 1 if an event was not delivered."""
# How long one call waits for an answer; the call returns earlier if the receiver is unavailable.
_WAIT_SECONDS = 1.0
_PAUSE_SECONDS = 0.1
# At most this many lines that are not events are named: in a file of another kind, each line is one.
_MOST_PROBLEMS = 10


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("send", description=_DESCRIPTION)
    parser.add_argument("files", nargs="+", metavar="FILE", help="event files, also gzipped; - for standard input")
    parser.add_argument(
        "--to",
        type=address,
        metavar="URL",
        help="the receiver (http: or https:), or a file (file:); by default the configured one. "
        "A login and headers that are configured for another server are not used",
    )
    add_patience(parser)
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Send the events in some files.

    Args:
        options: `files`, `to`, `patience` and the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if an event was not delivered or a line is not an event, 2 if a file or a receiver is missing.
    """
    settings = read_settings(options, os.environ)
    parts = reachable_parts(options, settings, instead="name another receiver with --to URL")
    if not parts:
        return 2
    sending = Sending(parts, options.patience)
    skipped, unread = 0, False
    try:
        for line in read_lines(options.files):
            event = None if line.event is None else _event(line.event)
            if event is None:
                skipped += 1
                if skipped <= _MOST_PROBLEMS:
                    complain(f"{line.place}: {line.problem or 'not an OpenLineage event'}, skipped")
            elif not sending.send(line.place, event):
                break
    except EventError as problem:
        complain(str(problem))
        unread = True
    finally:
        counts = sending.close()
    receiver = " and ".join(sorted(part.destination for part in parts))
    if skipped > _MOST_PROBLEMS:
        more = skipped - _MOST_PROBLEMS
        complain(f"{counted(more, 'more line')} {'is' if more == 1 else 'are'} skipped")
    screen = Screen()
    screen.line(f"{counted(sending.sent, 'event')} sent to {receiver}")
    if sending.stopped_at is not None:
        screen.line(
            f"the receiver was unavailable at {sending.stopped_at}: this event and those after it were not sent"
        )
    if unread:
        return 2
    return int(bool(skipped or sending.stopped_at or counts.failed or counts.dropped or counts.pending))


class Sending:
    """
    Delivers events, each after the answer to the one before it.

    Args:
        parts: the transports, each of which gets every event.
        patience: how many seconds to wait for a receiver that is unavailable.

    Attributes:
        sent: how many events every receiver has taken.
        stopped_at: the event that was given up because the receiver stayed unavailable; None if there is none.
    """

    def __init__(self, parts: Sequence[Transport], patience: float) -> None:
        self._delivery = FanOut([Delivery(part) for part in parts])
        self._patience = patience
        self.sent = 0
        self.stopped_at: EventPlace | None = None

    def send(self, place: EventPlace, event: Event) -> bool:
        """Deliver an event, and report a refusal; return False if the receiver can't be reached."""
        before = self._delivery.counts()
        self._delivery.submit(event)
        end = time.monotonic() + self._patience
        while self._delivery.flush(_WAIT_SECONDS):
            if time.monotonic() > end:
                self.stopped_at = place
                return False
            time.sleep(_PAUSE_SECONDS)
        after = self._delivery.counts()
        if after.failed > before.failed or after.dropped > before.dropped:
            complain(f"{place}: refused for good, skipped")
        else:
            self.sent += 1
        return True

    def close(self) -> DeliveryCounts:
        """Close the transports; return the outcomes."""
        self._delivery.close(0.0 if self.stopped_at else LAST_SECONDS)
        return self._delivery.counts()


def _event(document: EventJson) -> Event | None:
    """Return an event as it is delivered; None if the document is not one."""
    if not {"run", "job", "dataset"} & document.keys():
        return None
    run = document.get("run")
    run_id = run.get("runId") if isinstance(run, dict) else None
    given = event_id_of(document)
    body = json.dumps(document, separators=(",", ":")).encode()
    # Job events and dataset events have no run.
    event = Event(str(run_id or ""), str(document.get("eventType") or "OTHER"), body)
    return event if given is None else Event(event.run_id, event.event_type, body, id=given)
