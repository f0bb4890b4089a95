"""What is entrusted to the JVM in case the driver is killed, and what the process says that it then starts."""

from __future__ import annotations

import ast
import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import attrs
import openlineage_pyspark
import pytest
from openlineage_pyspark.facets.events.encode import event_id
from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.run import Engine, Outcome, RunReference
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.listener.settings.keys import Settings
from openlineage_pyspark.listener.start import last_words
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.memory import MemoryTransport
from support.sources import nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        self.kept: IO[bytes] | None = None

    def speak_for(self, process: PythonProcess) -> None:
        self.process = process
        self.kept = Path(process.kept).open("rb")  # noqa: SIM115 - as long as the JVM lives

    def entrust(self, words: str) -> None:
        if self.gone:
            raise OSError("gone")
        self.words.append(words)

    def end(self) -> None:
        if self.kept is not None:
            self.kept.close()

    def die(self, folder: Path) -> tuple[str, list[dict]]:
        """Start the process that the probe would start; give what it prints, and the events in the file."""
        assert self.process is not None
        done = subprocess.run(
            self.process.command,
            input=self.words[-1],
            env={},
            cwd="/",
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
def drivers(tmp_path: Path) -> Iterator[Callable[..., Driver]]:
    """Give what makes the listener's half of a driver."""
    jvms: list[Any] = []

    def make(*, gone: bool = False, **settings: Any) -> Driver:
        jvm: Any = Jvm(gone=gone)
        jvms.append(jvm)
        transport = MemoryTransport()
        delivery = Delivery(transport)
        to_file = {"type": "file", "location": str(tmp_path / "events.ndjson")}
        entrust = last_words.entrusting(jvm, Settings(**{"transport": to_file, **settings}), "app")
        pipeline = Pipeline(APPLICATION, EventOptions(), (), delivery, Guard(), entrust)
        pipeline.ship(APPLICATION.started_state())
        pipeline.take(json.dumps(RDD_START))
        delivery.flush(10)
        return Driver(jvm, pipeline, transport, tmp_path)

    yield make
    for jvm in jvms:
        jvm.end()


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_application_of_a_shell_or_notebook_is_complete(
    drivers: Callable[..., Driver], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    driver = drivers()
    _, ends = driver.jvm.die(driver.folder)

    assert [end["eventType"] for end in ends] == ["ABORT", "COMPLETE"]
    assert "errorMessage" not in ends[1]["run"]["facets"]


@pytest.mark.slow
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


def test_no_login_is_entrusted_to_the_jvm(drivers: Callable[..., Driver]) -> None:
    """It would lie in the heap, and in each dump of it, for as long as the job runs."""
    http = {"type": "http", "url": "http://h?token=canary", "auth": {"type": "api_key", "apiKey": "canary"}}
    driver = drivers(transport={**http, "headers": {"X-Key": "canary"}}, spool_sender="canary")

    assert driver.jvm.process is not None
    assert "canary" not in json.dumps([*driver.jvm.words, *driver.jvm.process.command])
    assert driver.jvm.kept is not None
    assert b"canary" in driver.jvm.kept.read()


@pytest.mark.slow
def test_a_working_directory_that_is_gone_is_said_and_the_ends_are_told(
    drivers: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    driver = drivers()
    monkeypatch.chdir(tmp_path)
    here.rmdir()
    said, ends = driver.jvm.die(driver.folder)

    assert said.startswith("openlineage: the working directory is gone, so relative paths begin at /: ")
    assert [end["eventType"] for end in ends] == ["ABORT", "ABORT"]


@pytest.mark.slow
def test_relative_paths_of_the_configuration_begin_in_the_working_directory(
    drivers: Callable[..., Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    driver = drivers(transport={"type": "file", "location": "events.ndjson"})

    assert [end["eventType"] for end in driver.jvm.die(tmp_path)[1]] == ["ABORT", "ABORT"]


STAND_IN = """
import os, subprocess, sys
PATH
from openlineage_pyspark.listener.settings.keys import Settings
from openlineage_pyspark.listener.start import last_words
from openlineage_pyspark.transport.event import Event

class Probe:
    def speak_for(self, process):
        self.command, self.kept = process.command, open(process.kept, "rb")
    def entrust(self, words):
        self.words = words

probe = Probe()
entrust = last_words.entrusting(probe, Settings(transport={"type": "file", "location": EVENTS}), "app")
entrust((Event("r", "START", b'{"run": {"runId": "r", "facets": {}}, "producer": "p"}'),))
done = subprocess.run(probe.command, input=probe.words, cwd="/", env={}, text=True)
sys.exit(done.returncode)
"""
"""A driver, and the JVM that speaks for it, in one process."""

PLANTED = "open({!r}, 'w').close()"


@pytest.fixture
def copy_of_package(tmp_path: Path) -> Path:
    """Give a folder that holds a copy of the package, which says other last words."""
    root = Path(openlineage_pyspark.__file__).parent
    folder = tmp_path / "copy"
    for part in ("facets", "listener", "transport"):
        kept = shutil.ignore_patterns("__pycache__", "*.java")
        shutil.copytree(root / part, folder / "openlineage_pyspark" / part, ignore=kept)
    for file in root.glob("*.py"):
        shutil.copy(file, folder / "openlineage_pyspark")
    words = folder / "openlineage_pyspark" / "listener" / "start" / "last_words.py"
    words.write_text(words.read_text("utf-8").replace("ended without notice", "is a copy's"), "utf-8")
    return folder


@pytest.fixture
def told(tmp_path: Path) -> Callable[..., str]:
    """Give what runs a driver until it dies, and gives its last words; whatever is planted beside it does not run."""
    work, script = tmp_path / "work", tmp_path / "script" / "app.py"
    work.mkdir()
    script.parent.mkdir()
    planted = tmp_path / "planted"
    for name in ("json", "runpy", "sysconfig", "sitecustomize", "attrs", "attr", "requests", "openlineage"):
        (work / f"{name}.py").write_text(PLANTED.format(str(planted)))

    def run(*flags: str, path: str = "", python: str = sys.executable, **environ: str) -> str:
        events = tmp_path / "ends.ndjson"
        script.write_text(STAND_IN.replace("PATH", path).replace("EVENTS", repr(str(events))))
        subprocess.run([python, *flags, str(script)], env=environ, cwd=work, check=True, timeout=120)
        assert not planted.exists()
        (line,) = events.read_text("utf-8").splitlines()
        events.unlink()
        return str(json.loads(line)["run"]["facets"]["errorMessage"]["message"])

    return run


COPY = last_words.MESSAGE.replace("ended without notice", "is a copy's")
INSTALLED = os.pathsep.join(sys.path[1:])


def zipped(folder: Path) -> str:
    return shutil.make_archive(str(folder), "zip", folder)


@pytest.mark.long
@pytest.mark.slow
def test_the_package_is_the_one_that_the_driver_imported(
    told: Callable[..., str], copy_of_package: Path, tmp_path: Path
) -> None:
    """From PYTHONPATH, a zip or a relative entry of the path, although another one may be installed."""
    zipped(copy_of_package)
    first = "sys.path.insert(0, {!r})"

    assert told(PYTHONPATH=f"{copy_of_package}{os.pathsep}{INSTALLED}") == COPY
    assert told(PYTHONPATH=f"{copy_of_package}.zip{os.pathsep}{INSTALLED}") == COPY
    assert told(path=first.format("../copy"), PYTHONPATH=INSTALLED) == COPY
    assert told(path=first.format("../copy.zip"), PYTHONPATH=INSTALLED) == COPY
    odd = tmp_path / "a:b"
    copy_of_package.rename(odd)
    assert told(path=first.format(str(odd)), PYTHONPATH=INSTALLED) == COPY


@pytest.mark.slow
def test_a_driver_without_site_packages_keeps_to_its_own_path(told: Callable[..., str], copy_of_package: Path) -> None:
    assert told("-S", "-B", PYTHONPATH=f"{copy_of_package}{os.pathsep}{INSTALLED}") == COPY


@pytest.mark.slow
def test_an_isolated_driver_in_an_environment_of_its_own(
    told: Callable[..., str], copy_of_package: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", symlinks=True)
    (packages,) = (tmp_path / "venv" / "lib").glob("python3*/site-packages")
    (packages / "paths.pth").write_text("\n".join([str(copy_of_package), *sys.path[1:]]))

    assert told("-I", python=str(tmp_path / "venv" / "bin" / "python")) == COPY


# In an editable install, the package's folder is the clone, which has more in it.
ROOMS = ("command", "facets", "listener", "transport", "workbench")


def test_no_module_handles_a_signal() -> None:
    """A forked process would inherit the handler, and a call into C would delay it."""
    root = Path(openlineage_pyspark.__file__).parent
    # Most modules need not be parsed.
    names = re.compile(r"\b(signal|faulthandler)\b")
    named = {
        path.relative_to(root).as_posix(): alias.name
        for path in (*root.glob("*.py"), *(each for room in ROOMS for each in (root / room).rglob("*.py")))
        if path.name not in ("noxfile.py", "setup.py") and names.search(path.read_text("utf-8"))
        for node in nodes_of(path)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if {"signal", "faulthandler"} & {alias.name, getattr(node, "module", "")}
    }
    assert named == {}
