"""Notebooks that are executed in a real kernel, and made into HTML."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from support.spark_jobs import QUICK, without_foreign

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

_SECONDS = 300


def execute(folder: Path, cells: Mapping[str, str], *, conf: Mapping[str, str], failing: Collection[str] = ()) -> None:
    """
    Execute a notebook, and write it as `done.ipynb` and `done.html`.

    Args:
        folder: where it is written, and its kernel's working directory.
        cells: the source of each cell, by its name.
        conf: Spark properties.
        failing: the names of cells that are to fail.
    """
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    found = [_cell(name, source, failing=name in failing) for name, source in cells.items()]
    notebook = {"cells": found, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "notebook.ipynb").write_text(json.dumps(notebook), "utf-8")
    arguments = " ".join(f'--conf "{key}={value}"' for key, value in {**QUICK, **conf}.items())
    environment = without_foreign() | {
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{arguments} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    for options in (
        ["--execute", "--to", "notebook", "--output=done", "notebook.ipynb"],
        # A page would load these from the network.
        ["--to", "html", "--HTMLExporter.require_js_url=", "--HTMLExporter.mathjax_url=", "done.ipynb"],
    ):
        command = [sys.executable, "-m", "nbconvert", *options]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr


def texts(folder: Path) -> list[str]:
    """Return what each cell of an executed notebook has said, without its value."""
    cells = json.loads((folder / "done.ipynb").read_text("utf-8"))["cells"]
    return ["".join(map(_said, cell["outputs"])) for cell in cells]


def _cell(name: str, source: str, *, failing: bool) -> dict[str, Any]:
    return {
        "id": name.replace(" ", "-"),
        "cell_type": "code",
        "execution_count": None,
        "metadata": {"tags": ["raises-exception"]} if failing else {},
        "outputs": [],
        "source": source.strip(),
    }


def _said(output: dict[str, Any]) -> str:
    return "".join(output.get("text", "")) + "".join(output.get("traceback", ()))
