"""
The last words of a driver that is killed: the ends of the runs that it leaves open.

No signal handler tells them. Each forked process would inherit a handler in Python. It would run only when the main
thread leaves a call into C, and so keep processes alive that were told to end. Instead the JVM holds the STARTs of all
open runs (`LastWords.java`). It outlives the Python process of the driver by a moment, and then starts this module in
another Python process, with the words as its standard input.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from openlineage.client import facet_v2
from openlineage_pyspark.facets.events.encode import serialise
from openlineage_pyspark.facets.events.ids import event_id
from openlineage_pyspark.listener.guard import LOG
from openlineage_pyspark.listener.probe.client import Probe, PythonProcess
from openlineage_pyspark.listener.settings.keys import Settings
from openlineage_pyspark.listener.start.delivery import open_delivery
from openlineage_pyspark.listener.start.script_end import is_interactive
from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values
from openlineage_pyspark.transport import Event, TransportConfigError

MESSAGE = "the driver's Python process ended without a word: a signal killed it, or it called os._exit"
# More than this, and the JVM would keep a noticeable part of the job's heap: the runs with the largest STARTs are left
# out. They get no end.
_MOST_BYTES = 4 << 20
# The driver's own path stands behind that of the interpreter, and the working directory not at all: whoever may write
# there must not have his code run.
_PROGRAM = f"""\
import os, runpy, sys
sys.path.extend(each for each in sys.argv.pop().split(os.pathsep) if each not in sys.path)
runpy.run_module({__name__!r}, run_name="__main__")
"""
# Beyond the limit for the delivery: the start of the interpreter.
_START_SECONDS = 5
_OF_DELIVERY = (
    *("spool_path", "spool_max_bytes", "spool_max_total_bytes", "spool_max_age_days", "spool_sender"),
    *("flush_timeout", "app_name"),
)


def entrusting(probe: Probe, settings: Settings, name: str) -> Callable[[tuple[Event, ...]], None]:
    """
    Return the function that entrusts the STARTs of all open runs to the JVM; it does nothing if that is switched off.

    Args:
        probe: the probe in that JVM.
        settings: the settings of the application.
        name: the application's name.
    """
    if not settings.last_words_enabled or not sys.executable:
        return _keep_silent
    seconds = int(settings.flush_timeout) + _START_SECONDS
    path = os.pathsep.join(each for each in sys.path if each)
    try:
        probe.speak_for(PythonProcess(os.getpid(), sys.executable, _PROGRAM, str(Path.cwd()), path, seconds))
    except OSError:
        return _keep_silent
    receiver = {key: getattr(settings, key) for key in ("transport", *_OF_DELIVERY)}
    receiver["app_name"] = settings.app_name or name

    def entrust(starts: tuple[Event, ...]) -> None:
        # The JVM may be gone before the application has ended.
        with contextlib.suppress(OSError):
            probe.entrust(json.dumps({**receiver, **_words(starts, settings)}, default=str) if starts else "")

    return entrust


def _keep_silent(_starts: tuple[Event, ...]) -> None:
    """Entrust nothing."""


def _words(starts: tuple[Event, ...], settings: Settings) -> dict[str, Any]:
    """Return the STARTs of open runs that fit, the application's, which came first, last; and how each is to end."""
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


def main() -> None:
    """Read the last words of a driver from standard input, and deliver them as that driver would have done."""
    said = json.load(sys.stdin)
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    hide_in_logs(secret_values({}, os.environ, (), said["transport"]))
    settings = Settings(transport=said["transport"], **{key: said[key] for key in _OF_DELIVERY})
    try:
        delivery = open_delivery(settings)
    except TransportConfigError as problem:
        LOG.warning("openlineage: the end of the application could not be told: %s", problem)
        return
    now = datetime.datetime.now(datetime.timezone.utc)
    for kind, start in said["ends"]:
        delivery.submit(ended(start, kind, now, with_message=said["with_message"]))
    delivery.close(settings.flush_timeout)


if __name__ == "__main__":
    main()
