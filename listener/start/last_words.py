"""
Report the ends of the open runs when the driver is killed.

No signal handler reports them. Each forked process would inherit a handler in Python. The handler would run only when
the main thread leaves a call into C, and so would keep processes alive that should end. Instead the JVM holds the
STARTs of all open runs (`LastWords.java`). It outlives the Python process of the driver by a moment, and then starts
this module in another Python process, with the words as its standard input.

The transport's options, which may hold a login, are not passed with the STARTs: they would stay in the JVM's heap for
as long as the job runs. They are in a file in memory that the JVM keeps open but does not read. The other process finds
it there.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from openlineage.client import facet_v2
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.facets.events.encode import event_id, serialise
from openlineage_pyspark.listener.guard import LOG
from openlineage_pyspark.listener.probe.client import Probe, PythonProcess
from openlineage_pyspark.listener.settings.keys import Settings
from openlineage_pyspark.listener.start.delivery import open_delivery
from openlineage_pyspark.listener.start.script_end import is_interactive
from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values
from openlineage_pyspark.transport.event import Event

MESSAGE = "the driver's Python process ended without notice: a signal killed it, or it called os._exit"
# With more than this, the JVM would keep a noticeable part of the job's heap. Beyond it, the runs with the largest
# STARTs are left out: they get no end.
_MOST_BYTES = 4 << 20
# Isolated, the interpreter has no working directory in its path. The standard library comes first, so that none of its
# modules is taken from anywhere else; then the driver's own path, in its order, so that the same versions are imported.
_PROGRAM = f"""\
import json, runpy, sys, sysconfig
library = sysconfig.get_path("stdlib")
standard = [each for each in sys.path if each.startswith(library) and "-packages" not in each]
sys.path[:] = dict.fromkeys([*standard, *json.loads(sys.argv.pop()), *sys.path])
runpy.run_module({__name__!r}, run_name="__main__")
"""
# For the start of the interpreter, in addition to the limit for the delivery.
_START_SECONDS = 5
_OF_DELIVERY = (
    *("spool_path", "spool_max_bytes", "spool_max_total_bytes", "spool_max_age_days", "spool_sender"),
    *("flush_timeout", "app_name"),
)


def entrusting(probe: Probe, settings: Settings, name: str) -> Callable[[tuple[Event, ...]], None]:
    """Return the function that entrusts the STARTs of all open runs to the JVM; it does nothing if that is disabled."""
    if not settings.last_words_enabled or not sys.executable:
        return _keep_silent
    receiver = {key: getattr(settings, key) for key in ("transport", *_OF_DELIVERY)}
    receiver["app_name"] = settings.app_name or name
    file = f"openlineage-{uuid.uuid4()}"
    try:
        where = {"folder": str(Path.cwd()), "receiver": file}
        with _in_memory(file, json.dumps(receiver, default=str)) as kept:
            seconds = int(settings.flush_timeout) + _START_SECONDS
            probe.speak_for(PythonProcess(os.getpid(), _command(), kept, seconds))
    except OSError as problem:
        LOG.info("openlineage: the runs of this application stay open if its process is killed: %s", problem)
        return _keep_silent

    def entrust(starts: tuple[Event, ...]) -> None:
        # The JVM may be gone before the application has ended.
        with contextlib.suppress(OSError):
            probe.entrust(json.dumps({**where, **_words(starts, settings)}) if starts else "")

    return entrust


def _command() -> tuple[str, ...]:
    """Return the command line of the other process, with those flags of this interpreter that decide what it runs."""
    options = ["-I", "-X", f"utf8={sys.flags.utf8_mode}"]
    options += ["-S"] if sys.flags.no_site else []
    options += ["-B"] if sys.dont_write_bytecode else []
    options += ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    # Without empty entries: those are the working directory at the time of each import.
    path = [os.path.abspath(each) for each in sys.path if isinstance(each, str) and each]  # noqa: PTH100 - of a zip too
    return (sys.executable, *options, "-c", _PROGRAM, json.dumps(path))


@contextlib.contextmanager
def _in_memory(name: str, content: str) -> Iterator[str]:
    """
    Yield the path of a file that is only in memory, readable by this user's processes.

    Raises:
        OSError: this system has no such files.
    """
    if not hasattr(os, "memfd_create"):
        raise OSError("this system has no files in memory")
    with open(os.memfd_create(name), "w", encoding="utf-8") as file:  # noqa: PTH123 - it has no path
        file.write(content)
        file.flush()
        yield f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _kept_by_parent(name: str) -> dict[str, Any]:
    """
    Return the content of a file in memory that the parent of this process has open.

    Raises:
        OSError: it has no such file open, or has ended.
    """
    for descriptor in Path(f"/proc/{os.getppid()}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if str(descriptor.readlink()) == f"/memfd:{name} (deleted)":
                content: dict[str, Any] = json.loads(descriptor.read_text("utf-8"))
                return content
    raise OSError("the JVM did not open the file with the receiver")


def _keep_silent(_starts: tuple[Event, ...]) -> None:
    """Entrust nothing."""


def _words(starts: tuple[Event, ...], settings: Settings) -> dict[str, Any]:
    """Return the STARTs of the open runs that fit, with the application's at the end, and how each run ends."""
    kept: list[Event] = []
    room = _MOST_BYTES
    for start in sorted(starts, key=lambda start: len(start.body)):
        room -= len(start.body)
        if room < 0:
            break
        kept.append(start)
    # A notebook or shell is closed by a signal as often as in any other way.
    application = "COMPLETE" if is_interactive() else "ABORT"
    return {
        "ends": [
            ("ABORT" if start.parent_run_id else application, start.body.decode())
            for start in reversed(starts)
            if start in kept
        ],
        "with_message": "errorMessage" not in settings.disabled_facets,
    }


def ended(start: str, kind: str, time: datetime.datetime, *, with_message: bool = True) -> Event:
    """
    Return the terminal event of a run that was left open.

    Args:
        start: its START, as JSON.
        kind: the type of the terminal event.
        time: when the driver ended (timezone-aware).
        with_message: whether an ABORT has an `errorMessage`.
    """
    event = json.loads(start)
    run = event["run"]
    identity = event_id(run["runId"], kind, time)
    event |= {"eventType": kind, "eventTime": time.isoformat(timespec="microseconds").replace("+00:00", "Z")}
    if "pyspark_event" in run["facets"]:
        run["facets"]["pyspark_event"]["id"] = identity
    if with_message and kind != "COMPLETE":
        facet = facet_v2.error_message_run.ErrorMessageRunFacet(
            message=MESSAGE, programmingLanguage="PYTHON", producer=event["producer"]
        )
        run["facets"]["errorMessage"] = json.loads(serialise(facet))
    return Event(run["runId"], kind, serialise(event), None, identity)


def _return_to(folder: str) -> None:
    """Change to the driver's working directory, to which relative paths in its configuration refer."""
    try:
        os.chdir(folder)
    except OSError as problem:
        LOG.warning("openlineage: the working directory is gone, so relative paths begin at /: %s", problem)


def main() -> None:
    """Read the last words of a driver from standard input, and deliver them as that driver would have done."""
    given = json.load(sys.stdin)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    try:
        receiver = _kept_by_parent(given["receiver"])
        hide_in_logs(secret_values({}, os.environ, (), receiver["transport"]))
        settings = Settings(transport=receiver["transport"], **{key: receiver[key] for key in _OF_DELIVERY})
        _return_to(given["folder"])
        delivery = open_delivery(settings)
    except (OSError, TransportConfigError) as problem:
        LOG.warning("openlineage: the end of the application could not be reported: %s", problem)
        return
    now = datetime.datetime.now(datetime.timezone.utc)
    for kind, start in given["ends"]:
        delivery.submit(ended(start, kind, now, with_message=given["with_message"]))
    delivery.close(settings.flush_timeout)


if __name__ == "__main__":
    main()
