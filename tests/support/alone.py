"""
What jobs give without the listener, recorded: so the check runs each of them once, with it.

`--regold` records, and `--all` runs them anew and compares. On a Spark other than the recorded one they run anew, too,
and so do those that print a traceback on another Python.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from support.spark_jobs import SPARK_VERSION

if TYPE_CHECKING:
    from support.spark_jobs import Ended, Jobs

RECORDED = Path(__file__).parents[1] / "golden" / "alone"
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


@attrs.frozen
class Alone:
    """
    What a job gives without the listener.

    Args:
        code: the exit code.
        stdout: of the job.
        ran: the job itself, where it was run.
    """

    code: int
    stdout: str
    ran: Ended | None = None


@attrs.frozen
class Recordings:
    """
    The recorded results of jobs.

    Args:
        anew: whether the jobs run all the same.
        regold: whether what they give is recorded.
    """

    anew: bool
    regold: bool

    def of(self, jobs: Jobs, script: str, *arguments: str, **how: Any) -> Alone:
        """Return what a job gives without the listener; the arguments are those of `Jobs.run`."""
        file = RECORDED / (re.sub(r"[^\w.-]+", "-", " ".join([script.removesuffix(".py"), *arguments])) + ".json")
        folders = {"$SCRIPTS": str(jobs.scripts), "$ENVIRONMENT": sys.prefix}
        recorded = None if self.regold else _read(file, folders)
        if recorded is not None and not self.anew:
            return recorded
        ran = jobs.run(script, *arguments, **{**how, "lineage": False})
        if self.regold:
            stdout = ran.stdout
            for sign, folder in folders.items():
                stdout = stdout.replace(folder, sign)
            RECORDED.mkdir(parents=True, exist_ok=True)
            python = PYTHON if "Traceback" in stdout else "any"
            told = {"spark": SPARK_VERSION[:3], "python": python, "code": ran.code, "stdout": stdout}
            file.write_text(f"{json.dumps(told, indent=1)}\n", "utf-8")
        elif recorded is not None:
            assert ran.stdout == recorded.stdout, f"{file} is old: run pytest with --regold"
        return Alone(ran.code, ran.stdout, ran)


def _read(file: Path, folders: dict[str, str]) -> Alone | None:
    told = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    if told.get("spark") != SPARK_VERSION[:3] or told["python"] not in ("any", PYTHON):
        return None
    stdout = told["stdout"]
    for sign, folder in folders.items():
        stdout = stdout.replace(sign, folder)
    return Alone(told["code"], stdout)
