"""Turns events into values: how each run ended, what it wrote, and where the written columns come from."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.command.event_file import EventJson

EVERY_ROW = "(every row)"
"""The entry that stands in for a column, for sources that influence all rows."""


@attrs.frozen
class DatasetName:
    """The identity of a dataset: its namespace, and its name within that."""

    namespace: str
    name: str


@attrs.frozen
class SourceColumn:
    """
    A column that flows into another column.

    Args:
        dataset: the dataset that it is read from.
        field: its name there.
        kinds: its transformations, such as `AGGREGATION`; `-` if the event does not say.
        expression: the text of the first expression that is not a plain copy; empty if there is none.
    """

    dataset: DatasetName
    field: str
    kinds: str
    expression: str


@attrs.frozen
class ReportedOutput:
    """
    A dataset that a run wrote.

    Args:
        dataset: its identity.
        tables: its other names, such as that of the table stored there.
        rows: how many rows were written; None if the event does not say.
        columns: each column with its sources, in the order of the schema, EVERY_ROW last; None if the event has no
            column lineage for it.
    """

    dataset: DatasetName
    tables: tuple[str, ...]
    rows: int | None
    columns: tuple[tuple[str, tuple[SourceColumn, ...]], ...] | None


@attrs.frozen
class State:
    """
    The state of a run, as reported by one event.

    Args:
        run_id: the run's id.
        job: the name of its job.
        type: the event's type, for example COMPLETE.
        time: the event's time; None if it can't be parsed.
        inputs: the datasets that the run reads.
        outputs: the datasets that it writes.
        error: the error message, on one line; empty if there is none.
    """

    run_id: str
    job: str
    type: str
    time: datetime | None
    inputs: tuple[DatasetName, ...]
    outputs: tuple[ReportedOutput, ...]
    error: str


@attrs.frozen
class Run:
    """One run: its first event, and its last one, which says how the run ended or how far it got."""

    first: State
    last: State

    @property
    def rows(self) -> int | None:
        """The rows written to all outputs; None if no output says."""
        known = [output.rows for output in self.last.outputs if output.rows is not None]
        return sum(known) if known else None

    @property
    def seconds(self) -> float | None:
        """The seconds from the first event to the last; None if an event's time can't be parsed."""
        begin, end = self.first.time, self.last.time
        return None if begin is None or end is None else (end - begin).total_seconds()


def state_of(event: EventJson) -> State:
    """
    Return the state that a run event reports.

    Args:
        event: the parsed JSON.

    Raises:
        ValueError: it lacks something that the specification requires; the message says what.
    """
    try:
        return State(
            run_id=event["run"]["runId"],
            job=event["job"]["name"],
            type=event.get("eventType", "OTHER"),
            time=_time(event.get("eventTime")),
            inputs=tuple(_dataset(read) for read in event.get("inputs", ())),
            outputs=tuple(_output(written) for written in event.get("outputs", ())),
            error=" ".join(_facets(event["run"]).get("errorMessage", {}).get("message", "").split()),
        )
    except KeyError as problem:
        raise ValueError(f"has no {problem} where one must be") from problem
    except (AttributeError, TypeError) as problem:
        raise ValueError(f"has a value of the wrong kind ({problem})") from problem


def runs_of(states: Iterable[State]) -> list[Run]:
    """Group states into runs, in the order in which the runs began."""
    runs: dict[str, Run] = {}
    for state in states:
        first = runs[state.run_id].first if state.run_id in runs else state
        runs[state.run_id] = Run(first, state)
    return list(runs.values())


def latest_outputs(runs: Iterable[Run]) -> list[tuple[Run, ReportedOutput]]:
    """Return each dataset with column lineage once, from its last run that completed or, if none did, its last run."""
    chosen: dict[DatasetName, tuple[Run, ReportedOutput]] = {}
    for run in runs:
        for output in run.last.outputs:
            before = chosen.get(output.dataset)
            better = before is None or run.last.type == "COMPLETE" or before[0].last.type != "COMPLETE"
            if output.columns is not None and better:
                chosen[output.dataset] = run, output
    return list(chosen.values())


class Names:
    """
    Short names for datasets: a path is relative to the deepest directory that contains all paths of its namespace.

    Args:
        runs: the runs whose datasets are named.
    """

    def __init__(self, runs: Iterable[Run]) -> None:
        directories: dict[str, set[str]] = {}
        for run in runs:
            for dataset in (*run.last.inputs, *(output.dataset for output in run.last.outputs)):
                if dataset.name.startswith("/"):
                    directories.setdefault(dataset.namespace, set()).add(str(PurePosixPath(dataset.name).parent))
        self.bases = {namespace: os.path.commonpath(found) for namespace, found in directories.items()}

    def of(self, dataset: DatasetName) -> str:
        """Return the short name of a dataset."""
        if dataset.name.startswith("/") and dataset.namespace in self.bases:
            return os.path.relpath(dataset.name, self.bases[dataset.namespace])
        return f"{dataset.namespace}/{dataset.name}"


def _facets(holder: EventJson) -> dict[str, Any]:
    facets: dict[str, Any] = holder.get("facets", {})
    return facets


def _dataset(document: EventJson) -> DatasetName:
    return DatasetName(str(document["namespace"]), str(document["name"]))


def _output(document: EventJson) -> ReportedOutput:
    links = _facets(document).get("symlinks", {}).get("identifiers", ())
    rows = document.get("outputFacets", {}).get("outputStatistics", {}).get("rowCount")
    return ReportedOutput(
        dataset=_dataset(document),
        tables=tuple(link["name"] for link in links),
        rows=None if rows is None else int(rows),
        columns=tuple(_columns(_facets(document))) if "columnLineage" in _facets(document) else None,
    )


def _columns(facets: EventJson) -> Iterator[tuple[str, tuple[SourceColumn, ...]]]:
    lineage = facets["columnLineage"]
    fields = lineage["fields"]
    schema = [field["name"] for field in facets.get("schema", {}).get("fields", ())]
    for column in dict.fromkeys([*schema, *fields]):
        edges = fields[column]["inputFields"] if column in fields else ()
        yield column, tuple(_edge(edge) for edge in edges)
    if lineage.get("dataset"):
        yield EVERY_ROW, tuple(_edge(edge) for edge in lineage["dataset"])


def _edge(document: EventJson) -> SourceColumn:
    kinds: dict[str, None] = {}
    expression = ""
    for step in document.get("transformations", ()):
        kind = step.get("subtype") or step["type"]
        kinds[f"{kind} (masked)" if step.get("masking") else kind] = None
        if kind != "IDENTITY":
            expression = expression or " ".join((step.get("description") or "").split())
    return SourceColumn(_dataset(document), document["field"], ", ".join(kinds) or "-", expression)


def _time(text: object) -> datetime | None:
    try:
        # Python 3.10 can't parse the Z.
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
