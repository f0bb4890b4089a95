"""
Measure what a broken receiver adds to the user's statements and to spark.stop(): one job against each kind in turn.

The kinds: none (no listener), well, dead (nothing listens on the port), hanging (accepts, but never answers), 503.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).resolve().parent
_KINDS = ("none", "well", "dead", "hanging", "503")
_CONF = {"spark.master": "local[2]", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"}


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    status = 201

    def do_POST(self) -> None:
        """Read the event, and answer with the status of this class."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the output clean."""


class _Unwilling(_Answers):
    status = 503


@contextlib.contextmanager
def backend(kind: str) -> Iterator[str]:
    """Yield the URL of a receiver of this kind."""
    if kind in ("well", "503"):
        server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers if kind == "well" else _Unwilling)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        return
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        if kind == "hanging":
            taken.listen(1000)
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def run_once(kind: str, flush_seconds: float) -> dict[str, Any]:
    """
    Run the job of small writes once.

    Args:
        kind: the kind of receiver.
        flush_seconds: the time limit for the end of the application.
    """
    folder = Path(tempfile.mkdtemp(prefix="backends-"))
    try:
        with backend(kind) as url:
            conf = _CONF | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
            if kind != "none":
                conf |= {
                    "spark.openlineage.transport.type": "http",
                    "spark.openlineage.transport.url": url,
                    "spark.openlineage.spool.path": str(folder / "spool"),
                    "spark.openlineage.flush.timeoutInMillis": str(int(flush_seconds * 1000)),
                }
            begin = time.monotonic()
            done = subprocess.run(
                [
                    str(Path(sys.executable).with_name("spark-submit")),
                    *("--driver-java-options", f"-Dlog4j2.configurationFile=file:{_HERE / 'log4j2.properties'}"),
                    *(part for key, value in conf.items() for part in ("--conf", f"{key}={value}")),
                    str(_HERE / "driver.py"),
                    *("small-writes", str(folder), "", "all", str(folder / "report.json")),
                ],
                cwd=folder,
                env={**os.environ, "PYSPARK_PYTHON": sys.executable},
                capture_output=True,
                text=True,
                check=False,
            )
            whole = time.monotonic() - begin
        if done.returncode != 0:
            raise RuntimeError(f"{kind}: the job failed:\n{done.stderr[-3000:]}")
        found: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
        if found["listened"] != (kind != "none"):
            raise RuntimeError(f"{kind}: the listener was {'' if found['listened'] else 'not '}there")
        return {
            "kind": kind,
            "statements": sum(found["statements"].values()),
            "stop": found["stop seconds"],
            "exit": found["exit seconds"],
            "whole": whole,
        }
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Run all kinds in turn, and print the medians as a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each kind")
    parser.add_argument("--flush", type=float, default=10.0, help="seconds that the end may wait")
    parser.add_argument("--output", type=Path, help="a file for the figures, as JSON")
    options = parser.parse_args()
    runs = []
    for number in range(options.rounds):
        for kind in _KINDS if number % 2 == 0 else _KINDS[::-1]:
            runs.append(run_once(kind, options.flush))
            print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(runs, indent=1), "utf-8")
    print(f"{WORKLOADS['small-writes'].about}, flush limit {options.flush:g} s, median of {options.rounds}\n")
    print("| receiver | statements, s | spark.stop(), s | end of the interpreter, s |\n|---|---:|---:|---:|")
    for kind in _KINDS:
        of_kind = [run for run in runs if run["kind"] == kind]
        figures = (median(run[name] for run in of_kind) for name in ("statements", "stop", "exit"))
        print(f"| {kind} | " + " | ".join(f"{figure:.2f}" for figure in figures) + " |")


if __name__ == "__main__":
    main()
