"""The events of a made-up shop: tables, jobs, runs of every ending, and what was not understood."""

from __future__ import annotations

from typing import Any

from support.lineage_events import dataset, lineage, run_event, symlink

WIDE = tuple(f"measure_{number:03}" for number in range(200))
_GAP = {"message": "no rule", "task": "MapInPandas", "errorMessage": "no rule for this operator"}


def orders() -> dict[str, Any]:
    """Return the table that everything comes from. It has a path and a name."""
    columns = ("id", "amount", "customer", "day")
    return dataset("/lake/orders", namespace="file", columns=columns, symlinks=symlink("shop.orders"))


def clean(*columns: str) -> dict[str, Any]:
    """Return the table made from it."""
    found = dataset("clean", columns=columns or ("amount", "day"))
    edges = {each: [("/lake/orders", each, "IDENTITY")] for each in columns or ("amount", "day")}
    found["facets"]["columnLineage"] = lineage(**edges)
    for field in found["facets"]["columnLineage"]["fields"].values():
        field["inputFields"][0]["namespace"] = "file"
    return found


def daily() -> dict[str, Any]:
    """Return a table of sums, of which a column decides about rows."""
    edges = lineage(
        total=[("clean", "amount", "AGGREGATION")],
        day=[("clean", "day", "IDENTITY")],
        _rows=[("clean", "day", "GROUP_BY")],
    )
    return dataset("daily", columns=("total", "day"), columnLineage=edges)


def guessed() -> dict[str, Any]:
    """Return a table that an operator makes which is not understood."""
    edges = lineage(score=[("daily", "total", "TRANSFORMATION")])
    return dataset("guessed", columns=("score",), columnLineage=edges)


def wide() -> dict[str, Any]:
    """Return a table of 200 columns."""
    edges = lineage(**{each: [("clean", "amount", "TRANSFORMATION")] for each in WIDE})
    return dataset("wide", columns=WIDE, columnLineage=edges)


def shop() -> list[dict[str, Any]]:
    """Return the events."""
    made = [dataset("clean", columns=("amount", "day")), dataset("daily", columns=("total", "day"))]
    gap = {"totalTasks": 1, "failedTasks": 1, "errors": [_GAP]}
    failed = {"errorMessage": {"message": "the disk is full", "programmingLanguage": "PYTHON"}}
    return [
        run_event("shop.clean", "START", 1, run="r1", inputs=(orders(),)),
        run_event("shop.clean", "COMPLETE", 2, run="r1", inputs=(orders(),), outputs=(clean(),)),
        run_event("shop.daily", "START", 3, run="r2", inputs=(made[0],)),
        run_event("shop.daily", "COMPLETE", 4, run="r2", inputs=(made[0],), outputs=(daily(),)),
        run_event("shop.guess", "COMPLETE", 5, run="r3", inputs=(made[1],), outputs=(guessed(),), extractionError=gap),
        run_event("shop.wide", "COMPLETE", 6, run="r4", inputs=(made[0],), outputs=(wide(),)),
        run_event("shop.report", "START", 7, run="r5", inputs=(made[1],), outputs=(dataset("report"),)),
        run_event("shop.report", "FAIL", 8, run="r5", inputs=(made[1],), outputs=(dataset("report"),), **failed),
        run_event("shop.late", "START", 9, run="r6", inputs=(made[1],), outputs=(dataset("slow"),)),
    ]


def later() -> list[dict[str, Any]]:
    """Return the events of the next day: `clean` has another column and lacks one, a job is new."""
    edges = lineage(total=[("clean", "amount", "AGGREGATION")])
    edges["fields"]["total"]["inputFields"][0]["transformations"][0]["description"] = "sum(net)"
    sums = dataset("daily", columns=("total",), columnLineage=edges)
    new = dataset("new", columns=("n",), columnLineage=lineage(n=[("daily", "total", "IDENTITY")]))
    kept = dataset("clean", columns=("amount", "customer"))
    return [
        run_event("shop.clean", "COMPLETE", 1500, run="r7", inputs=(orders(),), outputs=(clean("amount", "customer"),)),
        run_event("shop.daily", "COMPLETE", 1501, run="r8", inputs=(kept,), outputs=(sums,)),
        run_event("shop.new", "COMPLETE", 1502, run="r9", inputs=(dataset("daily"),), outputs=(new,)),
    ]
