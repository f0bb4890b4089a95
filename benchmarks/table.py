"""The runs of the workloads as a table: medians, ratios, and how much a figure varies when nothing differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

Measurements = Sequence[Mapping[str, Any]]

_ROWS = (
    ("user's statements, s", "statement seconds"),
    ("CPU of the JVM, s", "jvm cpu"),
    ("CPU of Python, s", "python cpu"),
    ("CPU in all, s", "cpu"),
    ("peak memory of the JVM, MiB", "jvm peak"),
    ("peak memory of Python, MiB", "python peak"),
    ("getOrCreate, s", "session seconds"),
    ("spark.stop(), s", "stop seconds"),
    ("end of the interpreter, s", "exit seconds"),
    ("the whole command, s", "whole seconds"),
)

_LEAST = 0.05


def ratio(runs: Measurements, figure: str) -> float:
    """
    Return the listener's factor: the median, over the pairs, of the figure with it divided by the figure without it.

    Args:
        runs: the runs of one workload, in order; two neighbours are a pair.
        figure: the figure's name.
    """
    found: list[float] = []
    for first, second in zip(runs[::2], runs[1::2], strict=True):
        on, off = (first, second) if first["listening"] else (second, first)
        found.append(on[figure] / off[figure])
    return median(found)


def noise(runs: Measurements, figure: str) -> float | None:
    """
    Return how far two neighbours of the same kind are apart, in the median, as a fraction of the figure.

    Args:
        runs: the runs of one workload, in order.
        figure: the figure's name.

    Returns:
        The fraction; None if no two neighbours are of the same kind.
    """
    apart: list[float] = [abs(b[figure] / a[figure] - 1) for a, b in pairwise(runs) if a["listening"] == b["listening"]]
    return median(apart) if apart else None


def table(measured: Mapping[str, Measurements]) -> str:
    """
    Return all workloads as a Markdown table.

    Args:
        measured: workload -> its runs.
    """
    lines = ["| workload | figure | without | with | ratio | noise |", "|---|---|---:|---:|---:|---:|"]
    for workload, runs in measured.items():
        for title, figure in _ROWS:
            without, listening = (
                median(run[figure] for run in runs if run["listening"] == kind) for kind in (False, True)
            )
            spread = noise(runs, figure)
            # The factor of a tiny figure is meaningless.
            factor = f"{ratio(runs, figure):.3f}" if without >= _LEAST else ""
            shown = f"±{spread:.1%}" if factor and spread is not None else ""
            lines.append(f"| {workload} | {title} | {_number(without)} | {_number(listening)} | {factor} | {shown} |")
        heard = [run for run in runs if run["listening"]]
        size, count = (median(run[figure] for run in heard) for figure in ("event bytes", "events"))
        lines.append(f"| {workload} | bytes of events ({count:.0f} events) | 0 | {size:,.0f} | | |")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}" if value >= _LEAST else f"{value:.4f}"
