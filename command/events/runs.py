"""Summarize runs by their events: how each ended, what it wrote, and where the columns come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.transport.event import TERMINAL_TYPES
from openlineage_pyspark.workbench.model.graph import sorted_paths
from openlineage_pyspark.workbench.model.times import time_of_micros
from openlineage_pyspark.workbench.report import EVERY_ROW, VIEW_TYPE, ShortNames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from openlineage_pyspark.workbench.events.facts import StatedEdge
    from openlineage_pyspark.workbench.events.read import DatasetOfEvent, EventFacts, RunOfEvent
    from openlineage_pyspark.workbench.model.graph import Path

NO_END = "no end"
"""The state of a run whose last event is not its end."""

_TABLE = "TABLE"
# A CREATE with columns comes from a query, which has filled the table.
_REPLACING = frozenset(("CREATE", "DROP", "OVERWRITE", "TRUNCATE"))


@attrs.frozen
class ReportedColumn:
    """
    A column that flows into another column.

    Args:
        dataset: the dataset that it is read from.
        field: its name there; empty for the dataset as a whole.
        paths: the paths, the preferred first.
    """

    dataset: Identifier
    field: str
    paths: tuple[Path, ...]


@attrs.frozen
class ReportedDataset:
    """
    A dataset that a run read or wrote.

    Args:
        dataset: its identity.
        table: the name of the view, or of the table that is stored there; None if the event names none.
        is_view: whether it is a view.
        other_names: the names of all its symlinks.
        rows: how many rows were written; None if the event does not state it.
        change: for an output, what became of it, such as OVERWRITE; empty for an append.
        columns: for an output, each column with its sources, in the order of the schema, EVERY_ROW last; None if the
            event has no column lineage for it.
    """

    dataset: Identifier
    table: str | None = None
    is_view: bool = False
    other_names: tuple[str, ...] = ()
    rows: int | None = None
    change: str = ""
    columns: tuple[tuple[str, tuple[ReportedColumn, ...]], ...] | None = None


@attrs.frozen
class ReportedState:
    """
    The state of a run, as reported by one event.

    Args:
        run_id: the run's id.
        job: the name of its job.
        type: the event's type, for example COMPLETE.
        time: the event's time in UTC.
        inputs: the datasets that the run reads.
        outputs: the datasets that it writes.
        error: the error message, on one line; empty if there is none.
        remarks: the gaps, as pairs of an operator and a message.
    """

    run_id: str
    job: str
    type: str
    time: datetime
    inputs: tuple[ReportedDataset, ...]
    outputs: tuple[ReportedDataset, ...]
    error: str
    remarks: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class RunEvents:
    """One run: its first event, and its last one, which states how the run ended or how far it got."""

    first: ReportedState
    last: ReportedState

    @property
    def state(self) -> str:
        """How the run ended, according to its terminal event; NO_END if there is none."""
        return self.last.type if self.last.type in TERMINAL_TYPES else NO_END

    @property
    def rows(self) -> int | None:
        """The rows written to all outputs; None if no output states them."""
        known = [output.rows for output in self.last.outputs if output.rows is not None]
        return sum(known) if known else None

    @property
    def seconds(self) -> float | None:
        """The seconds from the first event to the end; None if there is no end."""
        return None if self.state == NO_END else (self.last.time - self.first.time).total_seconds()


def reported_state_of(event: EventFacts, run: RunOfEvent) -> ReportedState:
    """
    Return the state that a run event reports.

    Args:
        event: the event.
        run: its run.
    """
    return ReportedState(
        run_id=run.id,
        job="" if event.job is None else event.job.name,
        type=event.type,
        time=time_of_micros(event.time),
        inputs=tuple(_dataset(read) for read in event.inputs),
        outputs=tuple(_output(written, event) for written in event.outputs),
        error=" ".join((run.error or "").split()),
        remarks=run.gaps,
    )


def runs_of(states: Iterable[ReportedState]) -> list[RunEvents]:
    """Group states into runs, in the order in which the runs began."""
    runs: dict[str, RunEvents] = {}
    for state in states:
        before = runs.get(state.run_id)
        if before is None:
            runs[state.run_id] = RunEvents(state, state)
        # An event may be sent again: a run that has ended stays ended.
        elif before.state == NO_END or state.type in TERMINAL_TYPES:
            runs[state.run_id] = RunEvents(before.first, state)
    return list(runs.values())


def current_outputs(runs: Iterable[RunEvents]) -> list[tuple[RunEvents, ReportedDataset]]:
    """
    Return the outputs with column lineage that explain the current content of each dataset.

    These are the outputs of the completed runs that have written the dataset since it was last replaced; of several
    with the same columns and edges, the last one. For a dataset without completed runs, it is that of its last run.

    Args:
        runs: the runs, in the order in which they began.

    Returns:
        Each run with its output; those of one dataset are together, in the order of the datasets' first runs.
    """
    chosen: dict[Identifier, dict[object, tuple[RunEvents, ReportedDataset]]] = {}
    emptied: set[Identifier] = set()
    for run in runs:
        is_complete = run.last.type == "COMPLETE"
        for output in run.last.outputs:
            if output.columns is None:
                if is_complete and output.change in _REPLACING:
                    emptied.add(output.dataset)
                continue
            ways = chosen.setdefault(output.dataset, {})
            has_completed = any(before.last.type == "COMPLETE" for before, _ in ways.values())
            if has_completed and not is_complete:
                continue
            if not has_completed or output.dataset in emptied or output.change in _REPLACING:
                ways.clear()
                emptied.discard(output.dataset)
            ways.pop(output.columns, None)
            ways[output.columns] = run, output
    return [way for ways in chosen.values() for way in ways.values()]


def names_of(runs: Iterable[RunEvents]) -> ShortNames:
    """Return the names for the datasets of some runs."""
    tables: dict[Identifier, str | None] = {}
    for run in runs:
        for each in (*run.last.inputs, *run.last.outputs):
            tables[each.dataset] = each.table or tables.get(each.dataset)
            sources = (edge.dataset for _, edges in each.columns or () for edge in edges)
            for source in sources:
                tables.setdefault(source, None)
    return ShortNames(tables)


def _dataset(said: DatasetOfEvent) -> ReportedDataset:
    tables = [link.name for link in said.symlinks if link.type == _TABLE]
    is_view = said.type == VIEW_TYPE
    return ReportedDataset(
        dataset=Identifier(said.namespace, said.name),
        table=said.name if is_view else tables[0] if tables else None,
        is_view=is_view,
        other_names=tuple(link.name for link in said.symlinks),
    )


def _output(said: DatasetOfEvent, event: EventFacts) -> ReportedDataset:
    stated = {each.target[:2] for each in event.stated}
    has_lineage = said.has_column_lineage or (said.namespace, said.name) in stated
    return attrs.evolve(
        _dataset(said),
        rows=said.counts.rows,
        change=said.change,
        columns=tuple(_columns(said, event)) if has_lineage else None,
    )


def _columns(said: DatasetOfEvent, event: EventFacts) -> Iterator[tuple[str, tuple[ReportedColumn, ...]]]:
    edges: dict[str, list[StatedEdge]] = {}
    for edge in event.edges:
        # A table shows where columns come from; a job has none.
        if edge.target[:2] == (said.namespace, said.name) and not (edge.source.is_job or edge.target.is_job):
            edges.setdefault(edge.target.column, []).append(edge)
    every = edges.pop("", [])
    schema = (field.path for field in said.fields if field.above < 0)
    for column in dict.fromkeys([*schema, *said.lineage_columns, *edges]):
        yield column, tuple(_column(edge) for edge in edges.get(column, ()))
    if every:
        yield EVERY_ROW, tuple(_column(edge) for edge in every)


def _column(edge: StatedEdge) -> ReportedColumn:
    source = edge.source
    paths = sorted_paths(path.path for path in edge.paths)
    return ReportedColumn(Identifier(source.namespace, source.name), source.column, paths)
