"""Run scripts, each in a separate process, which another one forks, and all in one JVM; return their records."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import LineageError
from openlineage_pyspark.workbench.dryrun.sandbox.environment import PASSED_ON
from openlineage_pyspark.workbench.dryrun.script.records import Spot
from openlineage_pyspark.workbench.dryrun.script.request import AGAIN, KILL, Fork

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest

_PACKAGE = "openlineage_pyspark.workbench.dryrun"
_FOR_JAVA = ("JAVA_HOME", "JAVA_OPTS")
_SECONDS_TO_START = 120
_MOST_BYTES = 512 * 1024 * 1024
_KIND = "k"
_TIME_OVER = "TIME_OVER"
# A library that has threads of its own may hang in a forked process.
_NO_THREADS = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

ScriptRecords = tuple[dict[str, Any], ...]
"""The records of a script: lines in their order, each with its kind under `k`."""


class ScriptRunner:
    """
    Runs scripts without their data. The JVM starts with the first script, and ends with the runner: use `with`.

    Args:
        conf: properties of Spark.
        classes: the folder with the archives of the classes that JVMs load; None to use none.
    """

    def __init__(self, conf: Mapping[str, str], classes: Path | None = None) -> None:
        self._conf = dict(conf)
        self._classes = classes
        self._folder = Path(tempfile.mkdtemp(prefix="openlineage-pyspark-scripts-"))
        self._host: subprocess.Popen[bytes] | None = None
        self._forks: _Forks | None = None
        self._port, self._secret = 0, ""

    def __enter__(self) -> ScriptRunner:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._host is not None and self._host.stdin is not None and self._classes is not None:
            # The JVM needs time to write its archive.
            self._host.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._host.wait(_SECONDS_TO_START)
        self._end_host()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, request: ScriptRequest) -> ScriptRecords:
        """
        Run a script, and return its records up to its end.

        Args:
            request: the script; its scratch folder is made here, and removed at the end.

        Raises:
            LineageError: Spark does not start, or has ended.
        """
        if self._host is None or self._host.poll() is not None:
            self._start_host()
        with tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as scratch:
            complete = attrs.evolve(request, scratch=scratch, kept=str(self._folder / "kept"))
            status = self._run(complete)
            if status == AGAIN:
                status = self._run(complete)
            out = Path(scratch, "records.jsonl")
            found = tuple(_lines(out))
            if not found and status:
                why = _last_line(Path(scratch, "stderr"))
                raise LineageError(f"the process of {request.name} ended before it recorded anything: {why}")
            if not _is_complete(found):
                why = "it wrote too many records" if out.stat().st_size > _MOST_BYTES else _end_of(status)
                found = (*found, _cut_off(request.name, found, why))
        return found

    def _run(self, request: ScriptRequest) -> int | None:
        """Run a script in a process, and return the status of the process; None if it took too long."""
        files = [Path(request.scratch, name) for name in ("request.json", "records.jsonl", "stderr")]
        for file, text in zip(files, (request.to_text(), "", ""), strict=True):
            file.write_text(text, encoding="utf-8")
        if self._forks is None:
            raise AssertionError("_start_host() has set it")
        fork = Fork(str(files[0]), str(files[1]), str(files[2]), request.begins, self._port, self._secret)
        return self._forks.run(fork, request.seconds + _SECONDS_TO_START)

    def _start_host(self) -> None:
        self._end_host()
        conf = self._folder / "conf.json"
        classes = None if self._classes is None else str(self._classes.absolute())
        given = {"conf": {**self._conf, "spark.local.dir": str(self._folder)}, "classes": classes}
        conf.write_text(json.dumps(given), encoding="utf-8")
        read, write = os.pipe()
        self._forks = _Forks(self._folder)
        # It ends without removing its own files.
        beside = {"TMPDIR": str(self._folder)}
        with (self._folder / "stderr").open("wb") as errors:
            self._host = _started(
                "host", (str(conf), str(write)), (write,), beside, errors, str(self._folder), is_open=True
            )
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            ready, _, _ = select.select([pipe], [], [], _SECONDS_TO_START)
            line = pipe.readline() if ready else b""
        answer = json.loads(line) if line.strip() else {"failed": f"Spark did not start: {self._last_words()}"}
        if "failed" in answer:
            raise LineageError(str(answer["failed"]))
        self._port, self._secret = int(answer["port"]), str(answer["secret"])

    def _last_words(self) -> str:
        return _last_line(self._folder / "stderr")

    def _end_host(self) -> None:
        if self._forks is not None:
            self._forks.end()
        self._forks = None
        if self._host is not None:
            _end(self._host)
        self._host = None


class _Forks:
    """
    The process that forks those of scripts (`forks.py`).

    Args:
        folder: a folder for its standard error.
    """

    def __init__(self, folder: Path) -> None:
        self._errors = folder / "forks.stderr"
        self._read, write = os.pipe()
        with self._errors.open("wb") as errors:
            self._process = _started("forks", (str(write),), (write,), _NO_THREADS, errors, str(folder), is_open=True)
        os.close(write)
        self._rest = b""

    def run(self, fork: Fork, seconds: float) -> int | None:
        """
        Run a script in a new process, and return its exit status; None if it took too long.

        Args:
            fork: the script.
            seconds: how long it may take.

        Raises:
            LineageError: the process that forks has ended.
        """
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(attrs.asdict(fork)).encode() + b"\n")
                self._process.stdin.flush()
        number, status = self._number(_SECONDS_TO_START), None
        try:
            status = None if number is None else self._number(seconds)
        finally:
            if number is not None and status is None:
                # Its group ends with it, and the line about its status follows.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(number, KILL)
                self._number(_SECONDS_TO_START)
        return status

    def end(self) -> None:
        """End the process."""
        _end(self._process)
        os.close(self._read)

    def _number(self, seconds: float) -> int | None:
        """Return the number on the next line; None if there is none after some seconds."""
        last = time.monotonic() + seconds
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, last - time.monotonic()))
            if not ready:
                return None
            more = os.read(self._read, 4096)
            if not more:
                raise LineageError(f"the process that starts scripts has ended: {_last_line(self._errors)}")
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        return int(line)


def _last_line(errors: Path) -> str:
    """Return the last line that a process has printed."""
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def _is_complete(records: ScriptRecords) -> bool:
    """Return whether a script came to its end, or its process recorded why not."""
    codes = (each.get("code") for each in records if each[_KIND] == "problem")
    return any(each[_KIND] == "end" for each in records) or _TIME_OVER in codes


def _end_of(status: int | None) -> str:
    if status is None:
        return "it took too long"
    return f"signal {-status}" if status < 0 else f"exit status {status}"


def _cut_off(name: str, records: ScriptRecords, why: str) -> dict[str, Any]:
    """Return the problem of a script whose process ended early, at the last line that it recorded."""
    spots = [each["spot"] for each in records if isinstance(each.get("spot"), dict)]
    message = f"the process of the script ended here or later, before the script did ({why}): what follows is unknown"
    at = spots[-1] if spots else attrs.asdict(Spot(name, 1))
    return {_KIND: "problem", "spot": at, "code": "SCRIPT_ENDED", "message": message}


def _started(
    module: str,
    arguments: Sequence[str],
    passed: Sequence[int],
    variables: Mapping[str, str],
    errors: IO[bytes],
    folder: str,
    *,
    is_open: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a module of ours in its own process group, without the variables that may hold secrets."""
    given = {name: os.environ[name] for name in (*PASSED_ON, *_FOR_JAVA) if name in os.environ}
    return subprocess.Popen(  # noqa: S603 (our own module)
        [sys.executable, "-I", "-m", f"{_PACKAGE}.{module}", *arguments],
        stdin=subprocess.PIPE if is_open else subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        pass_fds=passed,
        env={**given, **variables},
        cwd=folder,
        start_new_session=True,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all processes that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, KILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines; a line that was cut off, or that is not an object, is left out."""
    found = []
    with path.open("rb") as file:
        for line in file.read(_MOST_BYTES).splitlines():
            with contextlib.suppress(ValueError):
                document = json.loads(line)
                if isinstance(document, dict) and isinstance(document.get(_KIND), str):
                    found.append(document)
    return found
