"""`replay`: sends what earlier applications left in the spool."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from openlineage_pyspark.command.delivery.configured import add_options, read_settings
from openlineage_pyspark.command.delivery.receiver import LAST_SECONDS, add_patience, address, close, reachable_parts
from openlineage_pyspark.command.delivery.senders import is_of_another_sender, of_another_sender, senders
from openlineage_pyspark.command.delivery.spool import add_spool_option, contents, listing, root_for
from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.listener.start.delivery import named_sender
from openlineage_pyspark.transport.composite import FanOut
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.spool.place import holds
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport.base import Transport
    from openlineage_pyspark.transport.delivery.counts import DeliveryCounts

_DESCRIPTION = """\
Sends the events that ended applications left in the spool to the configured receiver: the events of a run in order, and
the START of a parent before the events of its children. Events for another receiver stay in the spool, unless --to is
given. The exit code is 1 if any event stays behind or is refused."""
_TICK_SECONDS = 0.1


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("replay", description=_DESCRIPTION)
    add_spool_option(parser)
    parser.add_argument(
        "--to",
        type=address,
        metavar="URL",
        help="send everything to this receiver (http: or https:), or write it to this file (file:). "
        "The configured login and headers are used only if the receiver is on the configured server; for a composite "
        "transport, those of the part on that server",
    )
    parser.add_argument("--dead", action="store_true", help="try the refused events again too")
    add_patience(parser)
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Send the events that were left in the spool.

    Args:
        options: `spool`, `to`, `dead`, `patience` and the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if an event stays behind, is refused or can't be read; 2 if there is no usable receiver or
        spool.
    """
    settings = read_settings(options, os.environ)
    try:
        root = root_for(settings, options.spool)
    except SpoolError as problem:
        complain(str(problem))
        return 2
    here = reachable_parts(options, settings)
    return _replay(root, here, options, settings) if here else 2


def _replay(root: Path, parts: Sequence[Transport], options: argparse.Namespace, settings: Settings) -> int:
    """Send the events in a spool, and print the result."""
    screen = Screen()
    destinations = {part.destination for part in parts}
    receiver = " and ".join(sorted(destinations))
    found = contents(root)
    ours = senders(parts, settings)
    meant = [
        each for each in found if not each.in_use and (options.to or any(each.is_meant_for(*part) for part in ours))
    ]
    strangers = set() if options.to else {each.directory for each in found if is_of_another_sender(each, ours)}
    total = sum(each.waiting + (each.dead if options.dead else 0) for each in meant)
    if not total:
        for part in parts:
            close(part)
        screen.line(f"no events in {root} wait for {receiver}")
        return int(_is_left(screen, root, options.spool, set(), strangers))
    named = named_sender(settings)
    scope = RecoveryScope(root, any_destination=bool(options.to), dead_letters=options.dead, sender=named)
    deliveries = FanOut([Delivery(part, recovery=scope) for part in parts])
    counts = _send(deliveries, total, options.patience, screen)
    screen.line(f"{counts.sent:,} of {counted(total, 'event')} sent to {receiver}")
    if counts.failed:
        screen.line(f"{counts.failed:,} refused for good: {listing(options.spool, dead=True)} shows why")
    if counts.dropped:
        screen.line(f"{counts.dropped:,} can't be read any more")
    is_left = _is_left(screen, root, options.spool, {each.directory for each in meant}, strangers)
    if not counts.recovering and counts.recovered < total and not is_left:
        screen.line(f"{total - counts.recovered:,} taken over by another application meanwhile")
    return int(is_left or bool(counts.failed or counts.dropped))


def _is_left(screen: Screen, root: Path, named: Path | None, meant: set[Path], strangers: set[Path]) -> bool:
    """
    Print what stays behind and was not taken over by another application; return whether anything does.

    Args:
        screen: where to print it.
        root: the spool's root directory.
        named: the one named on the command line.
        meant: the directories of the events to send; if the transport hangs, this process may still hold them.
        strangers: the directories of the events that another sender left for the same receiver.
    """
    left = [each for each in contents(root) if not each.in_use or (each.directory in meant and holds(each.directory))]
    waiting = sum(each.waiting for each in left)
    unreadable = [each for each in left if each.problem]
    for each in unreadable:
        screen.line(f"{each.directory} can't be read: {each.problem}")
    if waiting:
        screen.line(f"{waiting:,} still waiting in {root}: {listing(named)} lists them")
    for line in of_another_sender([each for each in left if each.directory in strangers]):
        screen.line(line)
    return bool(waiting or unreadable)


def _send(delivery: FanOut, total: int, patience: float, screen: Screen) -> DeliveryCounts:
    """Send the recovered events until each has been answered, or no more get through."""
    with _bar(total, screen) as show:
        answered, since = 0, time.monotonic()
        delivery.start()
        try:
            while time.monotonic() - since < patience:
                counts = delivery.counts()
                if not (counts.recovering or counts.pending):
                    break
                if counts.sent + counts.failed + counts.dropped > answered:
                    answered, since = counts.sent + counts.failed + counts.dropped, time.monotonic()
                    show(answered)
                time.sleep(_TICK_SECONDS)
        finally:
            delivery.close(LAST_SECONDS)
    return delivery.counts()


@contextmanager
def _bar(total: int, screen: Screen) -> Iterator[Callable[[int], object]]:
    """Show a bar in a terminal, if rich is installed; yield the function that updates it."""
    if not screen.is_terminal or find_spec("rich") is None:
        yield lambda _answered: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("sending"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True) as progress:
        task = progress.add_task("events", total=total)
        yield lambda answered: progress.update(task, completed=answered)
