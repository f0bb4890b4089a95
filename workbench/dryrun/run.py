"""Runs scripts, each in a process of its own, and returns what they have told."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import LineageError
from openlineage_pyspark.workbench.dryrun.environment import PASSED_ON

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.workbench.dryrun.request import ScriptRequest

_CHILD = "openlineage_pyspark.workbench.dryrun.child"
_FOR_JAVA = ("JAVA_HOME", "JAVA_OPTS")
_SECONDS_TO_START = 120
_MOST_BYTES = 512 * 1024 * 1024
_KIND = "k"

Told = tuple[dict[str, Any], ...]
"""What a script has told: lines in their order, with what kind each is under `k`."""


def run_script(request: ScriptRequest) -> Told:
    """
    Run a script without its data, and return what it has told until it ended.

    Args:
        request: the script; its scratch folder is made here, and removed at the end.

    Raises:
        LineageError: no Spark starts.
    """
    scratch = Path(tempfile.mkdtemp(prefix="openlineage-pyspark-script-"))
    try:
        asked = attrs.evolve(request, scratch=str(scratch))
        (scratch / "request.json").write_text(asked.to_text(), encoding="utf-8")
        out = scratch / "told.jsonl"
        with out.open("wb") as told, (scratch / "stderr").open("wb") as errors:
            status = _ended(asked, scratch / "request.json", told.fileno(), errors.fileno())
        found = tuple(_lines(out))
        last = next((line for line in found if line[_KIND] == "failed"), None)
        if last is not None:
            raise LineageError(str(last["message"]))
        if not found and status:
            said = (scratch / "stderr").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise LineageError(f"the process of {request.name} ends before the script begins: {' '.join(said[-1:])}")
        return found
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _ended(request: ScriptRequest, file: Path, out: int, errors: int) -> int:
    """Start the process, wait until it has ended, and end what it has left behind; return its status."""
    process = subprocess.Popen(  # noqa: S603 (our own module)
        [sys.executable, "-I", "-m", _CHILD, str(file), str(out)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=errors,
        pass_fds=(out,),
        env=_environment(os.environ),
        cwd=request.folder,
        start_new_session=True,
    )
    try:
        return process.wait(request.seconds + _SECONDS_TO_START)
    except subprocess.TimeoutExpired:
        return 0
    finally:
        # The JVM is in the same group.
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the process needs: those that may hold secrets are not passed on."""
    return {name: variables[name] for name in (*PASSED_ON, *_FOR_JAVA) if name in variables}


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines that are complete; one that was cut off, or is no object, is left out."""
    found = []
    with path.open("rb") as file:
        for line in file.read(_MOST_BYTES).splitlines():
            try:
                document = json.loads(line)
            except ValueError:
                continue
            if isinstance(document, dict) and isinstance(document.get(_KIND), str):
                found.append(document)
    return found
