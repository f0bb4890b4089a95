"""
Count how many files and rooms one event passes through.

The START of a recorded `INSERT ... SELECT ... GROUP BY` goes through the real pipeline to a file: once to load what is
loaded at first use, and once more under a profiler. This counts the package's Python files in which functions are
called, and how often the next call is in another file, room (package) or hall (top package). Accessors of frozen values
and of names are called everywhere and tell nothing about the path: the second line leaves them out.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import openlineage_pyspark
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.run import Engine, RunReference
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

_PACKAGE = Path(openlineage_pyspark.__file__).parent
_RECORD = Path(__file__).resolve().parents[1] / "tests" / "listener" / "records" / "insert_aggregate.json"
_ACCESSORS = ("facets/model/", "facets/datasets/naming.py")


class Calls:
    """Records the files of the package's functions, in the order of their calls, per thread."""

    def __init__(self) -> None:
        """Start with no calls."""
        self.by_thread: dict[int, list[str]] = {}

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a call; for `sys.setprofile`."""
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(_PACKAGE):
            self.by_thread.setdefault(threading.get_ident(), []).append(file.relative_to(_PACKAGE).as_posix())


def drive(record: str, place: Path, calls: Calls | None) -> None:
    """
    Take one record through the whole pipeline.

    Args:
        record: as the probe sends it.
        place: the file that the event is written to.
        calls: where the calls are noted; None to note none.
    """
    run = RunReference("01941f29-7c00-7000-8000-000000000001", "team", "app")
    started = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    application = Application("app-1", started, "team", "app", run, run, Engine("4.3.0"))
    delivery = Delivery(open_transport("file", {"location": str(place)}))
    pipeline = Pipeline(application, EventOptions(), (), delivery, Guard())
    if calls is not None:
        threading.setprofile(calls.note)
        sys.setprofile(calls.note)
    try:
        pipeline.take(record)
    finally:
        sys.setprofile(None)
        left = delivery.close(10)
        threading.setprofile(None)
    if left or len(place.read_text("utf-8").splitlines()) != 1:
        raise RuntimeError("the record did not become one event")


def changes(places: Sequence[str]) -> int:
    """Return how often a place differs from the previous one."""
    return sum(place != before for before, place in itertools.pairwise(places))


def room(file: str) -> str:
    """Return the package of a file."""
    return file.rpartition("/")[0]


def hall(file: str) -> str:
    """Return the top package of a file."""
    return file.partition("/")[0]


def line(threads: Sequence[Sequence[str]]) -> str:
    """Return the figures of some calls; changes from thread to thread do not count."""
    files = {file for thread in threads for file in thread}
    figures = {
        "calls": sum(len(thread) for thread in threads),
        "files": len(files),
        "rooms": len({room(file) for file in files}),
        "changes of file": sum(changes(thread) for thread in threads),
        "of room": sum(changes([room(file) for file in thread]) for thread in threads),
        "of hall": sum(changes([hall(file) for file in thread]) for thread in threads),
    }
    return ", ".join(f"{figure} {name}" for name, figure in figures.items())


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, default=_RECORD, help="file with the record, one line of JSON")
    parser.add_argument("--files", action="store_true", help="list the files, in the order of their first call")
    options = parser.parse_args()
    record = options.record.read_text("utf-8").strip()
    calls = Calls()
    with tempfile.TemporaryDirectory() as folder:
        drive(record, Path(folder) / "first.ndjson", None)
        drive(record, Path(folder) / "second.ndjson", calls)
    threads = list(calls.by_thread.values())
    print("all:", line(threads))
    print("without accessors:", line([[f for f in thread if not f.startswith(_ACCESSORS)] for thread in threads]))
    if options.files:
        print("\n".join(dict.fromkeys(file for thread in threads for file in thread)))


if __name__ == "__main__":
    main()
