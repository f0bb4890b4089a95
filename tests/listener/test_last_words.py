"""What is entrusted to the JVM in case the driver is killed, and what the process says that it then starts."""

from __future__ import annotations

import ast
import datetime as dt
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import openlineage_pyspark
import pytest
from openlineage_pyspark.facets.events.ids import event_id
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.run import Engine, Outcome, RunReference
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.settings.keys import Settings
from openlineage_pyspark.listener.start import last_words
from openlineage_pyspark.transport import Delivery
from openlineage_pyspark.transport.memory import MemoryTransport
from support.sources import nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.listener.probe.client import PythonProcess

RUN = RunReference("01941f29-7c00-7000-8000-000000000001", "team", "app")
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
APPLICATION = Application("app-1", NOW, "team", "app", RUN, RUN, Engine("4.3.0"))
RDD_START = {
    "k": "rdd_start",
    "job": 5,
    "time": 1000,
    "write": True,
    "path": "file:/out",
    "format": "x.TextOutputFormat",
}
RDD_END = {"k": "rdd_end", "job": 5, "time": 2000, "written": [4, 80]}


class Jvm:
    """Keeps what is entrusted to it, as the probe does; or is gone."""

    def __init__(self, *, gone: bool = False) -> None:
        self.process: PythonProcess | None = None
        self.words: list[str] = []
        self.gone = gone

    def speak_for(self, process: PythonProcess) -> None:
        self.process = process

    def entrust(self, words: str) -> None:
        if self.gone:
            raise OSError("gone")
        self.words.append(words)

    def die(self, folder: Path) -> tuple[str, list[dict]]:
        """Start the process that the probe would start; give what it prints, and the events in the file."""
        assert self.process is not None
        done = subprocess.run(
            [self.process.executable, "-I", "-c", self.process.program, self.process.path],
            input=self.words[-1],
            env={},
            cwd=self.process.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        file = folder / "events.ndjson"
        return done.stdout + done.stderr, [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@attrs.frozen
class Driver:
    jvm: Jvm
    pipeline: Pipeline
    transport: MemoryTransport
    folder: Path

    def events(self) -> list[dict]:
        return [json.loads(event.body) for event in self.transport.events]

    def open(self) -> list[list[str]]:
        """Give the jobs of the runs that the words would have ended, each time that they were entrusted."""
        said = [json.loads(words)["ends"] if words else [] for words in self.jvm.words]
        return [[json.loads(start)["job"]["name"] for _, start in ends] for ends in said]


@pytest.fixture
def drivers(tmp_path: Path) -> Callable[..., Driver]:
    """Give what makes the listener's half of a driver."""

    def make(*, gone: bool = False, **settings: Any) -> Driver:
        jvm: Any = Jvm(gone=gone)
        transport = MemoryTransport()
        delivery = Delivery(transport)
        to_file = {"type": "file", "location": str(tmp_path / "events.ndjson")}
        entrust = last_words.entrusting(jvm, Settings(**{"transport": to_file, **settings}), "app")
        pipeline = Pipeline(APPLICATION, EventOptions(), (), delivery, Guard(), entrust)
        pipeline.ship(APPLICATION.started_state())
        pipeline.take(json.dumps(RDD_START))
        delivery.flush(10)
        return Driver(jvm, pipeline, transport, tmp_path)

    return make


def test_what_is_open_is_entrusted_and_an_end_is_taken_back_before_it_is_told(drivers: Callable[..., Driver]) -> None:
    driver = drivers()
    driver.pipeline.take(json.dumps(RDD_END))
    driver.pipeline.ship(APPLICATION.ended_state(Outcome("COMPLETE"), NOW, (), 2))

    job = "app.save_rdd.out"
    assert driver.open() == [["app"], [job, "app"], ["app"], []]


def test_an_orderly_end_takes_everything_back_and_entrusts_nothing_more(drivers: Callable[..., Driver]) -> None:
    driver = drivers()
    driver.pipeline.withdraw()
    driver.pipeline.take(json.dumps(RDD_END))

    assert driver.open()[2:] == [[]]


def test_the_other_process_ends_each_run_as_its_start_describes_it(
    drivers: Callable[..., Driver], specification: Any, violations: Callable[[list[dict]], list[str]]
) -> None:
    driver = drivers()
    said, ends = driver.jvm.die(driver.folder)

    application, query = driver.events()
    assert said == ""
    assert [(end["eventType"], end["run"]["runId"]) for end in ends] == [
        ("ABORT", query["run"]["runId"]),
        ("ABORT", application["run"]["runId"]),
    ]
    for start, end in zip((query, application), ends, strict=True):
        assert {key: end.get(key) for key in ("job", "inputs", "outputs", "producer", "schemaURL")} == {
            key: start.get(key) for key in ("job", "inputs", "outputs", "producer", "schemaURL")
        }
        told = end["run"]["facets"].pop("errorMessage")
        assert (told["message"], told["programmingLanguage"]) == (last_words.MESSAGE, "PYTHON")
        moment = dt.datetime.fromisoformat(end["eventTime"].replace("Z", "+00:00"))
        assert end["run"]["facets"].pop("pyspark_event")["id"] == event_id(end["run"]["runId"], "ABORT", moment)
        start["run"]["facets"].pop("pyspark_event")
        assert end["run"] == start["run"]
    assert violations([*driver.events(), *ends]) == []
    assert specification.violations(ends) == []


def test_the_application_of_a_shell_or_notebook_is_complete(
    drivers: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    driver = drivers()
    _, ends = driver.jvm.die(driver.folder)

    assert [end["eventType"] for end in ends] == ["ABORT", "COMPLETE"]
    assert "errorMessage" not in ends[1]["run"]["facets"]


def test_a_facet_that_is_switched_off_is_left_out(drivers: Callable[..., Driver]) -> None:
    driver = drivers(disabled_facets=frozenset({"errorMessage"}))
    _, ends = driver.jvm.die(driver.folder)

    assert [(end["eventType"], "errorMessage" in end["run"]["facets"]) for end in ends] == [("ABORT", False)] * 2


def test_runs_with_the_largest_starts_are_left_out(
    drivers: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the JVM keeps no noticeable part of the job's heap."""
    application, query = (len(event.body) for event in drivers().transport.events)
    assert application < query
    monkeypatch.setattr(last_words, "_MOST_BYTES", application)

    assert drivers().open() == [["app"], ["app"]]


def test_a_jvm_that_is_gone_is_no_fault(drivers: Callable[..., Driver]) -> None:
    assert [event["eventType"] for event in drivers(gone=True).events()] == ["START", "START"]


def test_nothing_is_entrusted_where_it_is_switched_off(drivers: Callable[..., Driver]) -> None:
    driver = drivers(last_words_enabled=False)

    assert (driver.jvm.process, driver.jvm.words) == (None, [])


def test_no_module_handles_a_signal() -> None:
    """A forked process would inherit the handler, and a call into C would delay it."""
    root = Path(openlineage_pyspark.__file__).parent
    # Most modules need not be parsed.
    names = re.compile(r"\b(signal|faulthandler)\b")
    named = {
        path.relative_to(root).as_posix(): alias.name
        for path in root.rglob("*.py")
        if names.search(path.read_text("utf-8"))
        for node in nodes_of(path)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if {"signal", "faulthandler"} & {alias.name, getattr(node, "module", "")}
    }
    assert named == {}
