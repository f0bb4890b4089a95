"""Turns events into values: how each run ended, what it wrote, and where the written columns come from."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.facets.model.lineage import Certainty
from openlineage_pyspark.transport.event import TERMINAL_TYPES
from openlineage_pyspark.workbench.model.kinds import Kind
from openlineage_pyspark.workbench.questions.told import ways_of_output
from openlineage_pyspark.workbench.report import EVERY_ROW, VIEW_TYPE, ShortNames
from openlineage_pyspark.workbench.store.events.rows import remarks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.command.events.lines import EventJson

NO_END = "no end"
"""The state of a run whose last event is not its end."""

_TABLE = "TABLE"
_Way: TypeAlias = "tuple[str, str, str, str, str, str, bool]"
"""A column; namespace, name and field of its source; type, subtype and masking."""
_CERTAINTIES = {each.word: each for each in Certainty}
# A CREATE with columns is that of a query, which has made the table.
_REPLACING = frozenset(("CREATE", "DROP", "OVERWRITE", "TRUNCATE"))


@attrs.frozen
class ReportedColumn:
    """
    A column that flows into another column.

    Args:
        dataset: the dataset that it is read from.
        field: its name there.
        kinds: its transformations, such as `AGGREGATION`; empty if the event does not say.
        expression: the text of the first expression that is not a plain copy; empty if there is none.
        certainty: how sure the least sure of them is.
    """

    dataset: Identifier
    field: str
    kinds: tuple[str, ...]
    expression: str
    certainty: Certainty = Certainty.EXACT


@attrs.frozen
class ReportedDataset:
    """
    A dataset that a run read or wrote.

    Args:
        dataset: its identity.
        table: the name of the view that it is, or of the table that is stored there; None if the event names none.
        is_view: whether it is a view.
        other_names: the names of all its symlinks.
        rows: how many rows were written; None if the event does not say.
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
        time: the event's time in UTC; None if it can't be parsed.
        inputs: the datasets that the run reads.
        outputs: the datasets that it writes.
        error: the error message, on one line; empty if there is none.
        remarks: what was not understood, as pairs of an operator and a message.
    """

    run_id: str
    job: str
    type: str
    time: datetime | None
    inputs: tuple[ReportedDataset, ...]
    outputs: tuple[ReportedDataset, ...]
    error: str
    remarks: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class RunEvents:
    """One run: its first event, and its last one, which says how the run ended or how far it got."""

    first: ReportedState
    last: ReportedState

    @property
    def state(self) -> str:
        """How the run ended, as its terminal event says; NO_END if there is none."""
        return self.last.type if self.last.type in TERMINAL_TYPES else NO_END

    @property
    def rows(self) -> int | None:
        """The rows written to all outputs; None if no output says."""
        known = [output.rows for output in self.last.outputs if output.rows is not None]
        return sum(known) if known else None

    @property
    def seconds(self) -> float | None:
        """The seconds from the first event to the end; None if there is no end, or a time can't be parsed."""
        begin, end = self.first.time, self.last.time
        return None if begin is None or end is None or self.state == NO_END else (end - begin).total_seconds()


def reported_state_of(event: EventJson) -> ReportedState:
    """
    Return the state that a run event reports.

    Args:
        event: the parsed JSON.

    Raises:
        ValueError: it lacks something that the specification requires, or has a value of the wrong type; the message
            says what.
    """
    run, job = _group(event, "run"), _group(event, "job")
    remarks = tuple(dict.fromkeys(remarks_of(event)))
    certainty = Certainty.GUESSED if remarks else Certainty.EXACT
    message = _text(_group(_facets(run), "errorMessage", optional=True), "message", default="")
    return ReportedState(
        run_id=_text(run, "runId"),
        job=_text(job, "name"),
        type=_text(event, "eventType", default="OTHER"),
        time=_time(event.get("eventTime")),
        inputs=tuple(_dataset(read) for read in _groups(event, "inputs")),
        outputs=tuple(_output(written, certainty) for written in _groups(event, "outputs")),
        error=" ".join(message.split()),
        remarks=remarks,
    )


def runs_of(states: Iterable[ReportedState]) -> list[RunEvents]:
    """Group states into runs, in the order in which the runs began."""
    runs: dict[str, RunEvents] = {}
    for state in states:
        before = runs.get(state.run_id)
        if before is None:
            runs[state.run_id] = RunEvents(state, state)
        # An event may be sent again: what was an end stays one.
        elif before.state == NO_END or state.type in TERMINAL_TYPES:
            runs[state.run_id] = RunEvents(before.first, state)
    return list(runs.values())


def current_outputs(runs: Iterable[RunEvents]) -> list[tuple[RunEvents, ReportedDataset]]:
    """
    Return the outputs with column lineage that tell how each dataset came to be as it is.

    These are the completed runs that have written it since it was last replaced; of several with the same columns and
    edges, the last one. A dataset that no run has completed has its last run.

    Args:
        runs: the runs, in the order in which they began.

    Returns:
        Each run with its output; those of one dataset stand together, in the order of the datasets' first runs.
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


def _dataset(document: EventJson) -> ReportedDataset:
    links = _groups(_group(_facets(document), "symlinks", optional=True), "identifiers")
    tables = [_text(link, "name") for link in links if link.get("type") == _TABLE]
    kind = _group(_facets(document), "datasetType", optional=True)
    is_view = _text(kind, "datasetType", default="") == VIEW_TYPE
    name = _text(document, "name")
    return ReportedDataset(
        dataset=Identifier(_text(document, "namespace"), name),
        table=name if is_view else tables[0] if tables else None,
        is_view=is_view,
        other_names=tuple(_text(link, "name") for link in links),
    )


def _output(document: EventJson, certainty: Certainty) -> ReportedDataset:
    """Return an output. Its edges have the given certainty, unless the event tells that of an edge."""
    facets = _facets(document)
    statistics = _group(_group(document, "outputFacets", optional=True), "outputStatistics", optional=True)
    return attrs.evolve(
        _dataset(document),
        rows=_count(statistics, "rowCount"),
        change=_text(_group(facets, "lifecycleStateChange", optional=True), "lifecycleStateChange", default=""),
        columns=tuple(_columns(document, certainty)) if "columnLineage" in facets else None,
    )


def _columns(document: EventJson, certainty: Certainty) -> Iterator[tuple[str, tuple[ReportedColumn, ...]]]:
    facets = _facets(document)
    lineage = _group(facets, "columnLineage")
    told = {
        (target[2], *source, *how): _CERTAINTIES.get(way.certainty, Certainty.UNKNOWN)
        for source, target, how, way in ways_of_output(document)
        if way.certainty != Certainty.EXACT.word
    }
    fields = _group(lineage, "fields")
    schema = [_text(field, "name") for field in _groups(_group(facets, "schema", optional=True), "fields")]
    for column in dict.fromkeys([*schema, *fields]):
        edges = _groups(_group(fields, column), "inputFields") if column in fields else []
        yield column, tuple(_edge(each, column, told, certainty) for each in edges)
    every = _groups(lineage, "dataset")
    if every:
        yield EVERY_ROW, tuple(_edge(each, "", told, certainty) for each in every)


def _edge(document: EventJson, column: str, told: Mapping[_Way, Certainty], certainty: Certainty) -> ReportedColumn:
    """
    Return an edge.

    Args:
        document: an input field of the facet.
        column: the column that it flows into; empty for all rows.
        told: the certainties that the event tells.
        certainty: that of ways of which the event tells none.
    """
    dataset = Identifier(_text(document, "namespace"), _text(document, "name"))
    field = _text(document, "field")
    kinds: dict[str, None] = {}
    certainties: list[Certainty] = []
    expression = ""
    for step in _groups(document, "transformations"):
        subtype = _text(step, "subtype", default="")
        type_ = _text(step, "type", default="" if subtype else None)
        masking = step.get("masking") is True
        way = (column, dataset.namespace, dataset.name, field, type_, subtype, masking)
        certainties.append(told.get(way, certainty))
        kinds[str(Kind(type_, subtype, masking))] = None
        if subtype != "IDENTITY":
            expression = expression or _text(step, "description", default="")
    return ReportedColumn(dataset, field, tuple(kinds), expression, min(certainties, default=certainty))


def _facets(holder: EventJson) -> EventJson:
    return _group(holder, "facets", optional=True)


def _group(holder: EventJson, name: str, *, optional: bool = False) -> EventJson:
    """Return the object of this name; an empty one if it is optional and missing."""
    value = _member(holder, name, {} if optional else None)
    if not isinstance(value, dict):
        raise _wrong(name, value, "an object")
    return value


def _groups(holder: EventJson, name: str) -> list[EventJson]:
    """Return the objects in the array of this name; none if it is missing."""
    value = _member(holder, name, [])
    if not isinstance(value, list):
        raise _wrong(name, value, "an array")
    for item in value:
        if not isinstance(item, dict):
            raise _wrong(f"an item of {name}", item, "an object")
    return value


def _text(holder: EventJson, name: str, *, default: str | None = None) -> str:
    value = _member(holder, name, default)
    if not isinstance(value, str):
        raise _wrong(name, value, "a string")
    return value


def _count(holder: EventJson, name: str) -> int | None:
    value = holder.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _wrong(name, value, "a number")
    return int(value)


def _member(holder: EventJson, name: str, default: Any) -> Any:
    value = holder.get(name)
    if value is None and default is None:
        raise ValueError(f"the event has no {name}")
    return default if value is None else value


def _wrong(name: str, value: object, expected: str) -> ValueError:
    """Return the exception for a value of the wrong type; the value itself may be long, or a secret."""
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return ValueError(f"{name} is {kinds.get(type(value), 'a number')}, not {expected}")


def _time(text: object) -> datetime | None:
    try:
        # Python 3.10 can't parse the Z.
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        return (time if time.tzinfo else time.replace(tzinfo=timezone.utc)).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
