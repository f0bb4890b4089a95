"""`spool ls` and `spool rm`: list the events in the spool, and delete them."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.consent import add_consent, is_agreed
from openlineage_pyspark.command.delivery.configured import add_options, read_settings
from openlineage_pyspark.command.delivery.senders import configured_senders, is_of_another_sender, of_another_sender
from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.start.delivery import named_root
from openlineage_pyspark.transport.spool.content import Content, content, dead_letters
from openlineage_pyspark.transport.spool.place import UNREADABLE, default_root, directories, hold, release, remove
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.pictures.table import TableColumn
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport.spool.content import DeadLetter

_DESCRIPTION = "Lists and deletes the contents of the spool, where events wait until the receiver has them."
_LS = """\
Lists the applications that have events in the spool: how many events wait to be sent, how many the receiver refused for
good, their size, the age of the oldest, whether the application is running, and where the events go."""
_RM = """\
Deletes the events of ended applications, which are then never sent. It first lists them, and asks for confirmation. The
events of a running application are kept."""
_RUNNING = "{} is kept: the application is running"
_SIZES = ("kB", "MB", "GB", "TB")
_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("spool", description=_DESCRIPTION)
    below = parser.add_subparsers(metavar="COMMAND", required=True)
    ls = below.add_parser("ls", help="list the applications with events", description=_LS)
    add_spool_option(ls)
    ls.add_argument("--dead", action="store_true", help="list the refused events too, with the receiver's answers")
    ls.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    add_options(ls)
    ls.set_defaults(run=run)
    rm = below.add_parser("rm", help="delete the events of applications", description=_RM)
    rm.add_argument("ids", nargs="+", metavar="ID", help="the id of an application, as `spool ls` prints it")
    add_consent(rm)
    add_spool_option(rm)
    add_options(rm)
    rm.set_defaults(run=run_removal)


def add_spool_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for the spool's directory."""
    parser.add_argument(
        "--spool", type=_directory, metavar="DIR", help="the spool's directory; by default the configured one"
    )


def run(options: argparse.Namespace) -> int:
    """
    List the events in the spool, by application.

    Args:
        options: `spool`, `dead`, `format` and the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if something in it can't be read, 2 if there can be no spool.
    """
    screen = Screen()
    settings = read_settings(options, os.environ)
    try:
        root = root_for(settings, options.spool)
    except SpoolError as problem:
        complain(str(problem))
        return 2
    held = contents(root)
    damaged = unreadable(root)
    ours = configured_senders(settings) if held else frozenset()
    strangers = [each for each in held if is_of_another_sender(each, ours)]
    try:
        letters = {each.directory: dead_letters(each.directory) for each in held if options.dead and each.dead}
    except SpoolError as problem:
        complain(str(problem))
        return 1
    if options.format == "json":
        applications = [{**_document(each, letters), "otherSender": each in strangers} for each in held]
        values = {"spool": str(root), "applications": applications, "damaged": damaged}
        screen.json(Answer("spool", {"dead": True} if options.dead else {}, Values("spool", values)).to_dict())
    elif held:
        _list(screen, root, held)
        for line in of_another_sender(strangers):
            screen.line()
            screen.line(line)
    else:
        screen.line(f"no events in {root}")
    if options.format != "json":
        for directory, dead in letters.items():
            _list_dead(screen, directory, dead)
    for name in damaged:
        complain(
            f"{root / name} was damaged and set aside; its events are not sent any more. "
            f"`openlineage-pyspark spool rm {name}` deletes it"
        )
    return int(bool(damaged) or any(each.problem for each in held))


def run_removal(options: argparse.Namespace) -> int:
    """
    Delete the events of some applications.

    Args:
        options: `ids`, `dry_run`, `yes`, `spool` and the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if something was not deleted, 2 if there can be no spool.
    """
    screen = Screen()
    try:
        root = root_for(read_settings(options, os.environ), options.spool)
    except SpoolError as problem:
        complain(str(problem))
        return 2
    held = {each.directory.name: each for each in contents(root)}
    damaged = unreadable(root)
    meant = []
    for name in dict.fromkeys(options.ids):
        if name not in damaged and name not in held:
            complain(f"{root} holds no application {name}: {listing(options.spool)} lists the ids")
        elif name in held and held[name].in_use:
            complain(_RUNNING.format(name))
        else:
            meant.append(name)
            screen.line(f"{_content_of(held.get(name))} of {name}")
    if not meant or not is_agreed("Delete them?", options):
        return int(not (meant and options.dry_run) or len(meant) < len(set(options.ids)))
    for name in meant:
        if name in damaged:
            remove(root / name)
        elif not _delete(held[name].directory):
            complain(_RUNNING.format(name))
            meant = [each for each in meant if each != name]
            continue
        screen.line(f"deleted {name}")
    return int(len(meant) < len(set(options.ids)))


def _content_of(held: Content | None) -> str:
    """Return the content of an application's spool; None means that its database was damaged."""
    if held is None or held.problem:
        return "the unreadable events"
    return f"{counted(held.waiting, 'waiting event')} and {counted(held.dead, 'refused event')}"


def root_for(settings: Settings, named: Path | None) -> Path:
    """
    Return the spool's root for a command; if the spool is switched off, the one that may hold older events.

    Args:
        settings: the settings, which may name one.
        named: the root named on the command line, which takes precedence.

    Raises:
        SpoolError: the default root has no home directory, or the root can't be read.
    """
    root = named or named_root(settings) or default_root()
    if problem := _problem_with(root):
        raise SpoolError(f"{root} can't be read: {problem}")
    return root


def listing(named: Path | None, *, dead: bool = False) -> str:
    """
    Return the command that lists a spool, as a part of a sentence.

    Args:
        named: the root named on the command line.
        dead: whether it lists what the receiver refused.
    """
    place = [] if named is None else ["--spool", str(named)]
    return f"`openlineage-pyspark {shlex.join(['spool', 'ls', *(['--dead'] if dead else []), *place])}`"


def contents(root: Path) -> list[Content]:
    """Return the content of a spool by application, oldest first."""
    return [content(directory) for directory in directories(root)]


def unreadable(root: Path) -> list[str]:
    """Return the names of the directories that were set aside because their database was damaged."""
    return sorted(path.name for path in root.glob(f"*{UNREADABLE}"))


def age(seconds: float) -> str:
    """Format a time span in its largest unit, such as `3 h`."""
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= size), (1, "s"))
    return f"{max(0, int(seconds // size))} {unit}"


def _age_of(time_of_epoch: float) -> str:
    return age(time.time() - time_of_epoch)


def _size(count: int) -> str:
    """Format a number of bytes in its largest unit, such as `4.1 kB`."""
    if count < 1000:
        return "1 byte" if count == 1 else f"{count} bytes"
    power = min(len(_SIZES), (len(str(count)) - 1) // 3)
    return f"{count / 1000**power:,.1f} {_SIZES[power - 1]}"


def _delete(directory: Path) -> bool:
    """Delete an application's directory; return False if another process holds it."""
    try:
        if not hold(directory):
            return False
    except OSError:
        return False
    remove(directory)
    release(directory)
    return not directory.exists()


def _directory(text: str) -> Path:
    path = Path(text)
    # A configured directory is created when it is needed; if the one named here does not exist, the name is wrong.
    problem = _problem_with(path) or ("" if path.exists() else "No such file or directory")
    if problem:
        raise argparse.ArgumentTypeError(f"{text} can't be read: {problem}")
    return path


def _problem_with(directory: Path) -> str:
    """Return why a directory can't be read; empty if it can, or does not exist."""
    try:
        next(directory.iterdir(), None)
    except FileNotFoundError:
        return ""
    except OSError as problem:
        return str(problem.strerror)
    return ""


def _list(screen: Screen, root: Path, held: Sequence[Content]) -> None:
    """Print a table for each receiver: an address of any length has a line of its own."""
    screen.heading(str(root))
    for destination in dict.fromkeys(each.destination for each in held if not each.problem):
        rows = []
        for each in held:
            if each.problem or each.destination != destination:
                continue
            oldest = "-" if each.oldest is None else _age_of(each.oldest)
            owner = "running" if each.in_use else "ended"
            numbers = (f"{each.waiting:,}", f"{each.dead:,}", _size(each.size), oldest, owner)
            name = _shown_name(each)
            rows.append((*numbers, name or each.directory.name))
            if name:
                rows.append(("", "", "", "", "", each.directory.name))
        screen.line()
        screen.line(f"to {destination}")
        titles = ("waiting", "refused", "size", "oldest")
        columns = [
            *(TableColumn(title, right=True) for title in titles),
            TableColumn("state"),
            TableColumn("application, id", 31),
        ]
        screen.table(columns, rows)
    for each in held:
        if each.problem:
            screen.line()
            screen.line(f"{each.directory.name} can't be read: {each.problem}")


def _list_dead(screen: Screen, directory: Path, letters: Sequence[DeadLetter]) -> None:
    screen.line()
    screen.heading(f"refused, of {directory.name}")
    rows = []
    for letter in letters:
        event = letter.event
        rows.append((event.event_type, _age_of(letter.since), event.run_id, letter.reason))
        if letter.answer:
            rows.append(("", "", "", f"-> {letter.answer}"))
    columns = (
        TableColumn("event"),
        TableColumn("since", right=True),
        TableColumn("run", 12),
        TableColumn("why", 30, wrap=True),
    )
    screen.table(columns, rows)


def _shown_name(each: Content) -> str:
    return Redaction().text(each.application)


def _document(each: Content, letters: dict[Path, list[DeadLetter]]) -> dict[str, Any]:
    """Return the properties of one application, for programs."""
    found: dict[str, Any] = {
        "id": each.directory.name,
        "application": _shown_name(each),
        "to": each.destination,
        "running": each.in_use,
        "waiting": each.waiting,
        "refused": each.dead,
        "bytes": each.size,
        "oldest": each.oldest,
        "problem": each.problem,
    }
    if each.directory in letters:
        found["refusedEvents"] = [
            {
                "run": letter.event.run_id,
                "event": letter.event.event_type,
                "since": letter.since,
                "reason": letter.reason,
                "answer": letter.answer,
            }
            for letter in letters[each.directory]
        ]
    return found
