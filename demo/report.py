"""Prints what a file of OpenLineage events says: where each output column comes from, and how each run ended.

Usage: python report.py EVENTS.ndjson
"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WIDTH = 120
WIDEST_COLUMN, WIDEST_SOURCE, WIDEST_JOB = 26, 48, 84
EVERY_ROW = "(every row)"


class Run(NamedTuple):
    """The events of one run, oldest first."""

    events: list[dict[str, Any]]

    @property
    def last(self) -> dict[str, Any]:
        """The event that says how the run ended, or how far it has come."""
        return self.events[-1]

    @property
    def state(self) -> str:
        """The type of the last event, for example COMPLETE."""
        return str(self.last.get("eventType", "OTHER"))

    @property
    def rows(self) -> int | None:
        """The rows written to all outputs; None where no output tells."""
        counts = [row_count(output) for output in self.last.get("outputs", ())]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    @property
    def seconds(self) -> float:
        """The time from the first event to the last."""
        return (time_of(self.last) - time_of(self.events[0])).total_seconds()


def time_of(event: dict[str, Any]) -> datetime:
    """Return when an event was made."""
    # Python 3.10 does not read the Z.
    return datetime.fromisoformat(event["eventTime"].replace("Z", "+00:00"))


class Names:
    """Short names for datasets: files are named from the deepest directory that holds them all."""

    def __init__(self, datasets: Iterable[dict[str, Any]]) -> None:
        directories: dict[str, set[str]] = {}
        for dataset in datasets:
            if dataset["name"].startswith("/"):
                directories.setdefault(dataset["namespace"], set()).add(str(Path(dataset["name"]).parent))
        self.bases = {namespace: os.path.commonpath(found) for namespace, found in directories.items()}

    def of(self, dataset: dict[str, Any]) -> str:
        """Return the short name of a dataset, or of an input field's dataset."""
        namespace, name = dataset["namespace"], str(dataset["name"])
        if name.startswith("/") and namespace in self.bases:
            return os.path.relpath(name, self.bases[namespace])
        return f"{namespace}/{name}"


def read_events(path: Path) -> list[dict[str, Any]]:
    """Read the run events of a file, one JSON object per line.

    Args:
        path: the file.

    Raises:
        SystemExit: the file is absent or empty, or a line is no JSON object.
    """
    if not path.is_file() or not path.stat().st_size:
        wanted = "spark.openlineage.transport.type=file"
        sys.exit(f"report.py: no events in {path}: was the job started with {wanted}?")
    events = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            event = json.loads(line)
        except json.JSONDecodeError as error:
            sys.exit(f"report.py: {path}, line {number} is no JSON: {error}")
        if "run" in event:
            events.append(event)
    return events


def runs_of(events: Iterable[dict[str, Any]]) -> list[Run]:
    """Group events into runs, in the order in which the runs began."""
    grouped: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        grouped.setdefault(event["run"]["runId"], []).append(event)
    return [Run(found) for found in grouped.values()]


def row_count(output: dict[str, Any]) -> int | None:
    """Return the rows that were written to an output; None where it does not tell."""
    count = output.get("outputFacets", {}).get("outputStatistics", {}).get("rowCount")
    return None if count is None else int(count)


def outputs_of(runs: Iterable[Run]) -> list[tuple[Run, dict[str, Any]]]:
    """Return each dataset with column lineage once, from its last run that completed, else from its last."""
    chosen: dict[tuple[str, str], tuple[Run, dict[str, Any]]] = {}
    for run in runs:
        for output in run.last.get("outputs", ()):
            key = output["namespace"], output["name"]
            if "columnLineage" not in output.get("facets", {}):
                continue
            if key not in chosen or run.state == "COMPLETE" or chosen[key][0].state != "COMPLETE":
                chosen[key] = run, output
    return list(chosen.values())


def edges_of(output: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each column of an output with its input fields, in order; last what decides about all rows."""
    lineage = output["facets"]["columnLineage"]
    fields = lineage.get("fields", {})
    schema = [field["name"] for field in output["facets"].get("schema", {}).get("fields", ())]
    for column in dict.fromkeys([*schema, *fields]):
        yield column, fields.get(column, {}).get("inputFields", [])
    if lineage.get("dataset"):
        yield EVERY_ROW, lineage["dataset"]


def how(edge: dict[str, Any]) -> str:
    """Say how a source reaches its target: the kinds, and the expression where there is one to show."""
    kinds, texts = [], []
    for step in edge.get("transformations", ()):
        kind = step.get("subtype") or step["type"]
        kinds.append(f"{kind} (masked)" if step.get("masking") else kind)
        if kind != "IDENTITY" and step.get("description"):
            texts.append(" ".join(step["description"].split()))
    return "  ".join([", ".join(dict.fromkeys(kinds)) or "-", *texts[:1]])


def shorten(text: str, width: int) -> str:
    """Cut a text to a width in characters, with dots in the middle: both ends of a name tell most."""
    if len(text) <= width:
        return text
    tail = (width - 3) // 2
    return f"{text[: width - 3 - tail]}...{text[-tail:]}"


def cut(line: str) -> str:
    """Cut a line to WIDTH, with dots at the end."""
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..."


def table(rows: Sequence[Sequence[str]], widest: Sequence[int], right: Sequence[int] = ()) -> Iterator[str]:
    """Yield the lines of an aligned table that keeps within WIDTH.

    Args:
        rows: the header and the rows; the last cell of a row is cut at the end, the others in the middle.
        widest: for each cell but the last, its greatest width in characters.
        right: the places of the cells that are aligned to the right.
    """
    widths = [min(limit, max(len(row[place]) for row in rows)) for place, limit in enumerate(widest)]
    for row in rows:
        cells = [shorten(cell, width) for cell, width in zip(row, widths, strict=False)]
        aligned = (str.rjust if place in right else str.ljust for place in range(len(widths)))
        cells = [align(cell, width) for align, cell, width in zip(aligned, cells, widths, strict=True)]
        yield cut("  ".join(["", *cells, row[-1]]).rstrip())


def output_lines(run: Run, output: dict[str, Any], names: Names) -> Iterator[str]:
    """Yield the table of one output: its columns, where each comes from, and how."""
    rows = row_count(output)
    links = [link["name"] for link in output["facets"].get("symlinks", {}).get("identifiers", ())]
    title = " = ".join([*links[:1], names.of(output)])
    yield f"{title}: {'rows unknown' if rows is None else f'{rows:,} rows'}, {run.state}"
    cells = [("column", "from", "how")]
    for column, edges in edges_of(output):
        if not edges:
            cells.append((column, "-", "no source column"))
        for place, edge in enumerate(edges):
            cells.append(("" if place else column, f"{names.of(edge)}.{edge['field']}", how(edge)))
    yield from table(cells, (WIDEST_COLUMN, WIDEST_SOURCE))


def job_lines(runs: Iterable[Run]) -> Iterator[str]:
    """Yield the table of the runs: job, state, rows and seconds; the error under a run that failed."""
    cells = [("job", "state", "rows", "seconds")]
    errors = {}
    for run in runs:
        rows = "-" if run.rows is None else f"{run.rows:,}"
        cells.append((run.last["job"]["name"], run.state, rows, f"{run.seconds:.1f}"))
        error = run.last["run"].get("facets", {}).get("errorMessage", {}).get("message")
        if error:
            errors[len(cells) - 1] = cut("      " + " ".join(error.split()))
    for place, line in enumerate(table(cells, (WIDEST_JOB, 8, 12), right=(2,))):
        yield line
        if place in errors:
            yield errors[place]


def report(path: Path) -> Iterator[str]:
    """Yield the lines of the whole report on one event file."""
    runs = runs_of(read_events(path))
    names = Names(d for run in runs for key in ("inputs", "outputs") for d in run.last.get(key, ()))
    yield "COLUMN LINEAGE"
    for namespace, base in names.bases.items():
        yield f"paths are below {base} in {namespace}"
    for run, output in outputs_of(runs):
        yield ""
        yield from output_lines(run, output, names)
    yield ""
    yield "RUNS"
    yield from job_lines(runs)
    yield ""
    yield f"{sum(len(run.events) for run in runs)} events in {path}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("\n".join(report(Path(sys.argv[1]))))
