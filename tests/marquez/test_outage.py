"""A Marquez that goes away in the middle of a job and comes back: it has all in the end, and each thing once."""

from __future__ import annotations

import itertools
import re
import time
import uuid
from typing import Any

import pytest

# It is away for half a minute.
pytestmark = [pytest.mark.marquez, pytest.mark.long]

STEPS = [f"step{number}" for number in range(9)]
AWAY_SECONDS = 30


@pytest.fixture(scope="module")
def namespace() -> str:
    """Give a namespace that the server has not heard of, also where the job runs a second time."""
    return f"outage-{uuid.uuid4().hex[:8]}"


@pytest.fixture(scope="module")
def outage(sending: Any, marquez: Any, namespace: str) -> Any:
    """Give the job, which has ended; the server was away while it wrote steps 4 to 6."""

    def complete(step: str) -> bool:
        return any(f"_{step}_" in name and job["latestRun"]["state"] == "COMPLETED" for name, job in jobs().items())

    def jobs() -> dict[str, Any]:
        return marquez.jobs(namespace) if namespace in marquez.namespaces() else {}

    with sending.start("outage.py", namespace, copy=False) as job:
        job.wait_for("ready")
        marquez.wait_until(lambda: complete("step3"), "the run before it went away")
        marquez.stop()
        stopped = time.monotonic()
        (job.folder / "down").touch()
        job.wait_for("written")
        time.sleep(max(0.0, AWAY_SECONDS - (time.monotonic() - stopped)))
        marquez.start()
        (job.folder / "up").touch()
        marquez.wait_until(lambda: complete("step8"), "the last run")
        (job.folder / "go").touch()
        return job.end()


def test_the_job_ends_as_it_does_without_a_receiver(outage: Any) -> None:
    """It is told of the trouble in one line, which spark-submit puts into its standard output."""
    (said,) = outage.stdout.splitlines()

    assert outage.code == 0
    assert re.fullmatch(r"openlineage: an event was not delivered: .* It is tried again; .*", said)


def test_nothing_is_lost(outage: Any, marquez: Any, namespace: str) -> None:
    events = marquez.events(namespace)
    told = {(event["run"]["runId"], event["eventType"]) for event in events}
    runs = {run for run, _ in told}

    assert len(runs) == 1 + len(STEPS)
    assert told == {(run, kind) for run in runs for kind in ("START", "COMPLETE")}
    assert {event["outputs"][0]["name"] for event in events if event["outputs"]} == {
        f"{outage.folder}/{step}" for step in STEPS
    }


def test_nothing_is_doubled(outage: Any, marquez: Any, namespace: str) -> None:
    """An event that was on its way when the server went may have come twice; what it tells of is there once."""
    runs = [[run["state"] for run in marquez.runs(namespace, job)] for job in marquez.jobs(namespace)]
    versions = [len(marquez.versions(f"{outage.folder}/{step}")) for step in STEPS]

    assert runs == [["COMPLETED"]] * (1 + len(STEPS))
    assert versions == [1] * len(STEPS)


def test_the_graph_is_one_chain(outage: Any, marquez: Any) -> None:
    node = f"dataset:file:{outage.folder}/step8"

    def short(name: str) -> str:
        return re.sub(r"^job:.*_(step\d)_[0-9a-f]{6}$", r"to \1", name).rpartition("/")[2]

    graph = {(short(a), short(b)) for a, b in marquez.lineage(node)}
    columns = {(short(a), short(b)) for a, b in marquez.column_lineage(node)}

    links = set(itertools.pairwise(STEPS))
    assert graph == {(f"to {step}", step) for step in STEPS} | {(a, f"to {b}") for a, b in links}
    assert columns == {(f"{a} id", f"{b} id") for a, b in links}
