"""`replay`: ships what earlier applications left in the spool."""

from __future__ import annotations

import argparse
import math
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.configured import add_options, needs_driver, open_without_driver, read
from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.spool import add_spool_option, contents, root_for
from openlineage_pyspark.listener.start.delivery import named_sender, sender
from openlineage_pyspark.transport import Delivery, TransportConfigError
from openlineage_pyspark.transport.attempt import attempt
from openlineage_pyspark.transport.delivery.fan_out import FanOut, independent_parts
from openlineage_pyspark.transport.spool.place import SpoolError, holds
from openlineage_pyspark.transport.spool.recovery import RecoveryScope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport import DeliveryCounts, Transport

_DESCRIPTION = """\
Ships the events that applications which run no longer have left in the spool, to the receiver that is configured: those
of one run in their order, a parent's START before its children's. Events that were meant for another receiver stay,
unless --to is given. Exit code 1 where something stays behind."""
_BY_DRIVER = "written by the Hadoop client of a Spark driver: the next application ships what waits for it, or --to URL"
_OVER_HTTP = frozenset({"http", "async_http"})
_FILE = "file:"
# A receiver's address without a scheme; an address with a login in it does not match, and is never repeated.
_SERVER = re.compile(r"(?:localhost|[\w.-]+(?=:\d))(?::\d{1,5})?(?:/[\w./-]*)?")
_PATIENCE = 60.0
_TICK_SECONDS = 0.1
_LAST_SECONDS = 5.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("replay", help="ship what was left in the spool", description=_DESCRIPTION)
    add_spool_option(parser)
    parser.add_argument(
        "--to",
        type=_address,
        metavar="URL",
        help="ship everything to this receiver, http: or https:, or into this file:. "
        "The configured login and headers are sent along only where it is on the configured server",
    )
    parser.add_argument("--dead", action="store_true", help="try the refused events again too")
    parser.add_argument(
        "--patience",
        type=_seconds,
        default=_PATIENCE,
        metavar="SECONDS",
        help="give up after so long without a single event delivered (default: %(default)g)",
    )
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Ship what was left in the spool.

    Args:
        options: `spool`, `to`, `dead`, `patience` and the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if something stays behind, 2 if there is no usable receiver or spool.
    """
    settings = read(options, os.environ).settings
    transport_options = _options(settings, options.to)
    if "type" not in transport_options:
        for warning in settings.warnings:
            complain(warning)
        complain("no transport is configured: name the receiver with --to URL")
        return 2
    try:
        root = root_for(settings, options.spool)
        parts = independent_parts(open_without_driver(transport_options))
    except (SpoolError, TransportConfigError) as problem:
        complain(str(problem))
        return 2
    here = [part for part in parts if not needs_driver(part)]
    for part in parts:
        if part not in here:
            complain(f"{part.destination} is {_BY_DRIVER}")
            _close(part)
    return _replay(root, here, options, settings) if here else 2


def _replay(root: Path, parts: Sequence[Transport], options: argparse.Namespace, settings: Settings) -> int:
    """Ship what is in a spool, and print what became of it."""
    screen = Screen()
    destinations = {part.destination for part in parts}
    receiver = " and ".join(sorted(destinations))
    found = contents(root)
    ours = {(part.destination, sender(settings, part)) for part in parts}
    meant = [
        each for each in found if not each.in_use and (options.to or any(each.is_meant_for(*part) for part in ours))
    ]
    total = sum(each.waiting + (each.dead if options.dead else 0) for each in meant)
    if not total:
        for part in parts:
            _close(part)
        screen.line(f"nothing in {root} waits for {receiver}")
        return int(_is_left(screen, root, set()))
    named = named_sender(settings)
    scope = RecoveryScope(root, any_destination=bool(options.to), dead_letters=options.dead, sender=named)
    deliveries = FanOut([Delivery(part, recovery=scope) for part in parts])
    counts = _ship(deliveries, total, options.patience, screen)
    screen.line(f"{counts.sent:,} of {total:,} events are at {receiver}")
    if counts.failed:
        screen.line(f"{counts.failed:,} were refused for good: openlineage-pyspark spool ls --dead")
    if counts.dropped:
        screen.line(f"{counts.dropped:,} can't be read any more")
    is_left = _is_left(screen, root, {each.directory for each in meant})
    if not counts.recovering and counts.recovered < total and not is_left:
        screen.line(f"{total - counts.recovered:,} were taken over by another application meanwhile")
    return int(is_left or bool(counts.failed or counts.dropped))


def _is_left(screen: Screen, root: Path, meant: set[Path]) -> bool:
    """
    Return whether something stays behind that no other application has taken over, and print what.

    Args:
        screen: where to print it.
        root: the spool's root directory.
        meant: what was to be shipped; if the transport hangs, this process may still hold it.
    """
    left = [each for each in contents(root) if not each.in_use or (each.directory in meant and holds(each.directory))]
    waiting = sum(each.waiting for each in left)
    unreadable = [each for each in left if each.problem]
    for each in unreadable:
        screen.line(f"{each.directory} can't be read ({each.problem})")
    if waiting:
        screen.line(f"{waiting:,} wait in {root}: openlineage-pyspark spool ls")
    return bool(waiting or unreadable)


def _close(transport: Transport) -> None:
    attempt(lambda: transport.close(_LAST_SECONDS))


def _options(settings: Settings, to: str | None) -> Mapping[str, Any]:
    """Return the options of the transport to ship through."""
    if to is None:
        return settings.transport
    if to.lower().startswith(_FILE):
        path = to[len(_FILE) :]
        return {"type": "file", "location": to if path.startswith("/") else path}
    from openlineage_pyspark.transport.http.client import same_server

    configured = settings.transport
    # Credentials for one server must not be sent to another.
    if str(configured.get("type")) in _OVER_HTTP and same_server(str(configured.get("url")), to):
        return {**configured, "url": to}
    return {"type": "http", "url": to}


def _address(text: str) -> str:
    if text.lower().startswith(("http:", "https:", _FILE)):
        return text
    example = "such as http://localhost:5000"
    if _SERVER.fullmatch(text):
        example = f"did you mean http://{text}?"
    elif text.startswith(("/", ".", "~")):
        example = f"did you mean {_FILE}{text}?"
    raise argparse.ArgumentTypeError(f"must begin with http:, https: or {_FILE}; {example}")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise argparse.ArgumentTypeError("must be a number of seconds, such as 60")
    return seconds


def _ship(delivery: FanOut, total: int, patience: float, screen: Screen) -> DeliveryCounts:
    """Ship the recovered events until each has been answered, or no more get through."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("shipping"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    # With older versions of rich, a progress bar that is only disabled leaves an empty line behind.
    console = screen.console if screen.console.is_terminal else Console(quiet=True)
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("events", total=total)
        answered, since = 0, time.monotonic()
        delivery.start()
        try:
            while time.monotonic() - since < patience:
                counts = delivery.counts()
                if not (counts.recovering or counts.pending):
                    break
                if counts.sent + counts.failed + counts.dropped > answered:
                    answered, since = counts.sent + counts.failed + counts.dropped, time.monotonic()
                    progress.update(bar, completed=answered)
                time.sleep(_TICK_SECONDS)
        finally:
            delivery.close(_LAST_SECONDS)
    return delivery.counts()
