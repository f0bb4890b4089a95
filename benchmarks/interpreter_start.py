"""
Measure what the wheel's hook costs each start of an interpreter: two bare environments, one with the `.pth` file.

Spark starts a Python process for its tasks on each executor, and every other Python program of the environment is
affected too. The processes of a round are started in random order, and each is compared with the one without the hook
in the same round, so that a drift of the machine cancels out. A second environment without the hook shows how much the
figures differ when there is no difference.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import shutil
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

_HOOK = Path(__file__).resolve().parents[1] / "openlineage_pyspark.pth"
# Spark sets it for the Python processes that it starts for tasks.
_AS_WORKER = {"PYTHON_WORKER_FACTORY_SECRET": "x"}
_WITHOUT = "without the hook"


class Start(NamedTuple):
    """
    A kind of process to start.

    Args:
        interpreter: the path of its interpreter.
        statement: the Python statement that it runs.
        variables: environment variables in addition to this process's.
    """

    interpreter: str
    statement: str
    variables: Mapping[str, str]


class Cost(NamedTuple):
    """
    The cost of one process, from its start to its end.

    Args:
        wall: elapsed milliseconds.
        processor: milliseconds of processor time, user and system.
    """

    wall: float
    processor: float


def start(kind: Start) -> Cost:
    """
    Start a process, and wait for its end.

    Args:
        kind: the kind of process.

    Raises:
        RuntimeError: it failed.
    """
    arguments = [kind.interpreter, "-c", kind.statement]
    begin = time.perf_counter()
    process = os.posix_spawn(kind.interpreter, arguments, {**os.environ, **kind.variables})
    _, status, used = os.wait4(process, 0)
    wall = time.perf_counter() - begin
    if status != 0:
        raise RuntimeError(f"{' '.join(arguments)} failed")
    return Cost(1000 * wall, 1000 * (used.ru_utime + used.ru_stime))


def measure(kinds: Mapping[str, Start], rounds: int) -> dict[str, list[Cost]]:
    """
    Start each kind once per round.

    Args:
        kinds: the kinds by name.
        rounds: the number of rounds.

    Returns:
        The costs by kind, in the order of the rounds.
    """
    order = list(kinds)
    found: dict[str, list[Cost]] = {name: [] for name in kinds}
    for _ in range(rounds):
        random.shuffle(order)
        for name in order:
            found[name].append(start(kinds[name]))
    return found


def rows(measured: Mapping[str, Sequence[Cost]]) -> Iterator[str]:
    """
    Yield the rows of a Markdown table.

    Args:
        measured: the result of `measure`.
    """
    reference = [cost.wall for cost in measured[_WITHOUT]]
    for name, costs in measured.items():
        walls = [cost.wall for cost in costs]
        apart = [wall - without for wall, without in zip(walls, reference, strict=True)]
        difference = " | ".join((f"{median(apart):+.2f}", _half(apart))) if name != _WITHOUT else " | "
        processor = median(cost.processor for cost in costs)
        yield f"| {name} | {median(walls):.2f} | {_half(walls)} | {difference} | {processor:.2f} |"


def _half(values: Sequence[float]) -> str:
    first, _, third = quantiles(values, n=4)
    return f"{first:.2f} to {third:.2f}"


def _environment(folder: Path) -> Path:
    """Create a virtual environment without packages; return the folder where its packages would be."""
    venv.create(folder, with_pip=False, symlinks=True)
    return next(folder.glob("lib/python3.*/site-packages"))


def _pyspark() -> str:
    """Return the folder that PySpark is installed in; on PYTHONPATH, its `.pth` files are not read."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        sys.exit("interpreter_start.py: PySpark is not installed in this environment")
    return str(Path(found.origin).parents[1])


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("--rounds", type=int, default=500, help="starts of each bare interpreter (default 500)")
    parser.add_argument("--worker-rounds", type=int, default=100, help="starts of each Python worker (default 100)")
    options = parser.parse_args()
    if min(options.rounds, options.worker_rounds) < 2:
        parser.error("two rounds are the least")
    folder = Path(tempfile.mkdtemp(prefix="interpreter-start-"))
    head = "| middle half, ms | longer by, ms | middle half, ms | CPU, ms |\n|---|---:|---:|---:|---:|---:|"
    print(f"Python {sys.version.split()[0]}, load {os.getloadavg()[0]:.1f}")
    try:
        for name in ("plain", "again"):
            _environment(folder / name)
        shutil.copy(_HOOK, _environment(folder / "hooks"))
        plain, again, hooks = (str(folder / name / "bin" / "python") for name in ("plain", "again", "hooks"))
        for title, rounds, statement, variables in (
            ("a bare interpreter", options.rounds, "pass", {}),
            ("a bare interpreter for tasks of Spark", options.rounds, "pass", _AS_WORKER),
            (
                "the process that Spark forks its Python workers from",
                options.worker_rounds,
                "import pyspark.daemon",
                {**_AS_WORKER, "PYTHONPATH": _pyspark()},
            ),
        ):
            kinds = {
                _WITHOUT: Start(plain, statement, variables),
                "without it, another environment": Start(again, statement, variables),
                "with it": Start(hooks, statement, variables),
            }
            measure(kinds, 2)  # the first ones read the files from the disk
            print(f"\n| {title}, {rounds} starts | start to end, ms {head}", flush=True)
            print("\n".join(rows(measure(kinds, rounds))), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
