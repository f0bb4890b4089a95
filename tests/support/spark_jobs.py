"""Real jobs on a real Spark: each is a script of its own process, started as a user would."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from support import class_archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Event = dict[str, Any]

# The longest of the jobs, with seventy recoveries, takes five minutes on two idle cores.
SECONDS = 900
# For quick starts of small jobs, and for a console without Spark's own warnings.
QUICK = class_archive.CONF
# So that a loaded machine has the time to listen from the start, and to tell all at the end.
PATIENT = {"spark.openlineage.start.timeoutInMillis": "60000", "spark.openlineage.flush.timeoutInMillis": "60000"}
SPARK_VERSION = importlib.metadata.version("pyspark") if importlib.util.find_spec("pyspark") else "none"
_FOREIGN = ("OPENLINEAGE", "SPARK_", "PYSPARK_", "PYTHONPATH")


def short_name(event: Event) -> str:
    """Give the name of an event's job without the hash that tells its output from those of the same short name."""
    return re.sub(r"_[0-9a-f]{6}$", "", event["job"]["name"])


@attrs.frozen
class Ended:
    """
    A job that has ended.

    Args:
        code: the exit code; negative for a signal.
        stdout: of the job.
        stderr: of the job and of Spark.
        folder: which it ran in, and which holds what it wrote.
    """

    code: int
    stdout: str
    stderr: str
    folder: Path

    def events(self, name: str = "events.ndjson") -> list[Event]:
        """Give the events in one file, in the order in which they were sent."""
        file = self.folder / name
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []

    def application(self, name: str = "events.ndjson") -> list[Event]:
        """Give the events of the application's own run."""
        return [event for event in self.events(name) if event["job"]["facets"]["jobType"]["jobType"] == "APPLICATION"]

    def queries(self, name: str = "events.ndjson") -> list[Event]:
        """Give the other events."""
        return [event for event in self.events(name) if event["job"]["facets"]["jobType"]["jobType"] != "APPLICATION"]

    def said(self) -> list[str]:
        """Give the lines of the console that the listener has written, or that speak of it."""
        return [line for line in self.stderr.splitlines() if "openlineage" in line.lower()]


@attrs.frozen
class Started:
    """
    A job that runs.

    Args:
        process: the leader of its process group.
        folder: which it runs in.
    """

    process: subprocess.Popen[bytes]
    folder: Path

    def wait_until(self, reached: Callable[[], bool], what: str) -> None:
        """
        Wait for something that the job is to do.

        Args:
            reached: whether it is done.
            what: names it, where it never comes.

        Raises:
            TimeoutError: the job has ended without it, or it took too long.
        """
        end = time.monotonic() + SECONDS
        while not reached():
            if self.process.poll() is not None or time.monotonic() > end:
                raise TimeoutError(f"the job ended or hung before {what}: {self._ended()}")
            time.sleep(0.05)

    def wait_for(self, name: str) -> None:
        """Wait until the job has made a file of that name."""
        self.wait_until((self.folder / name).exists, f"it made {name}")

    def wait_for_jvm(self) -> None:
        """Wait for the end of the job, of its JVM, and of what that has started."""
        self.process.wait(SECONDS)
        end = time.monotonic() + SECONDS
        with suppress(ProcessLookupError):
            while time.monotonic() < end:
                os.killpg(self.process.pid, 0)
                time.sleep(0.05)

    def end(self) -> Ended:
        """Wait for the job's end."""
        self.process.wait(SECONDS)
        return self._ended()

    def _ended(self) -> Ended:
        code = self.process.poll()
        out, err = ((self.folder / name).read_text("utf-8") for name in ("stdout", "stderr"))
        return Ended(-1 if code is None else code, out, err, self.folder)


@attrs.frozen
class Jobs:
    """
    Starts jobs.

    Args:
        scripts: the folder that holds their scripts.
        folder: gives a new empty folder of a name.
    """

    scripts: Path
    folder: Callable[[str], Path]

    def run(self, script: str, *arguments: str, stop_by: int | None = None, **how: Any) -> Ended:
        """
        Run a script to its end, in a new folder.

        Args:
            script: its name.
            arguments: of the script.
            stop_by: a signal for the whole process group as soon as the script has made a file `ready`.
            how: as of `start`.
        """
        with self.start(script, *arguments, **how) as job:
            if stop_by is not None:
                job.wait_for("ready")
                os.killpg(job.process.pid, stop_by)
                job.wait_for_jvm()
            return job.end()

    @contextmanager
    def start(
        self,
        script: str,
        *arguments: str,
        conf: Mapping[str, str] | None = None,
        lineage: bool = True,
        submit: bool = True,
        environment: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
    ) -> Iterator[Started]:
        """
        Start a script in a new folder; it is killed should it outlive the block.

        Args:
            script: its name.
            arguments: of the script.
            conf: more Spark properties.
            lineage: whether the file transport is configured, by properties too.
            submit: whether by `spark-submit`; else by `python`.
            environment: more variables.
            files: text by name, to lay into the folder first.
        """
        folder = self.folder(script.removesuffix(".py"))
        for name, text in (files or {}).items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
        own = {"spark.sql.warehouse.dir": str(folder / "warehouse")}
        if lineage:
            own |= {
                "spark.openlineage.transport.type": "file",
                "spark.openlineage.transport.location": str(folder / "events.ndjson"),
                **PATIENT,
            }
        settings = [f"--conf={key}={value}" for key, value in {**QUICK, **own, **(conf or {})}.items()]
        env = clean_environment() | {"PYTHONWARNINGS": "ignore", **(environment or {})}
        if submit:
            command = [str(spark_submit()), *settings, str(self.scripts / script), *arguments]
        else:
            command = [sys.executable, str(self.scripts / script), *arguments]
            env["PYSPARK_SUBMIT_ARGS"] = " ".join(f'"{setting}"' for setting in settings) + " pyspark-shell"
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            process = subprocess.Popen(command, cwd=folder, env=env, stdout=out, stderr=err, start_new_session=True)
            try:
                yield Started(process, folder)
            finally:
                _end_group(process)


def quick_jvm() -> dict[str, str]:
    """Return the variable that gives options to each JVM of a Spark, whoever starts it; no event contains it."""
    return {"SPARK_SUBMIT_OPTS": class_archive.java_options()}


def without_foreign() -> dict[str, str]:
    """Give the variables of this process without those of another Spark or another listener."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)} | quick_jvm()


def clean_environment() -> dict[str, str]:
    """Give the variables for a process with a Spark of its own: those of another one do not reach it."""
    clean = without_foreign()
    path = f"{Path(sys.executable).parent}:{clean.get('PATH', '')}"
    return clean | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "PATH": path}


def pyspark_folder() -> Path:
    """Give the folder of the PySpark that is installed, without importing it."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ImportError("PySpark is not installed")
    return Path(found.origin).parent


def spark_submit() -> Path:
    """Give the launcher of the PySpark that is installed."""
    return pyspark_folder() / "bin" / "spark-submit"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Leave no JVM behind, should a job hang."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
