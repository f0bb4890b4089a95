"""How the application was started: the command that would start it again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from openlineage_pyspark.facets.model.run import Submission

_LAUNCHER = "org.apache.spark.deploy.SparkSubmit"
# Set for the driver by spark-submit, which starts Python (org.apache.spark.deploy.PythonRunner).
_STARTED_BY_SUBMIT = "PYSPARK_GATEWAY_PORT"


def submission(conf: Mapping[str, str], environ: Mapping[str, str]) -> Submission | None:
    """Return how this process was started; None in a shell or a notebook, which no command repeats."""
    if not isinstance(getattr(sys.modules.get("__main__"), "__file__", None), str):
        return None
    parent = _words_of(os.getppid()) if _STARTED_BY_SUBMIT in environ else None
    words = started_by(parent, [sys.executable, *sys.orig_argv[1:]], environ)
    try:
        folder = str(Path.cwd())
    except OSError:
        # It was removed.
        folder = ""
    return Submission(words, folder, conf.get("spark.submit.deployMode", "client"))


def started_by(parent: Sequence[str] | None, own: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
    """
    Return the words of the command that started the driver; none if they are unknown.

    Args:
        parent: the command line of the JVM that started this Python; None if it was started by itself, empty if its
            command line can't be read.
        own: the command line of this Python.
        environ: the environment, for SPARK_HOME.
    """
    if parent is None:
        return tuple(own)
    if _LAUNCHER not in parent:
        # A cluster manager started the driver, or the command line can't be read.
        return ()
    home = environ.get("SPARK_HOME", "").strip()
    program = str(Path(home) / "bin" / "spark-submit") if home else "spark-submit"
    return (program, *parent[list(parent).index(_LAUNCHER) + 1 :])


def _words_of(process: int) -> list[str]:
    """Return the command line of a process; empty where there is no /proc."""
    try:
        text = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return []
    return text.rstrip("\0").split("\0")
