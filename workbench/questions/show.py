"""`show`: the outputs of runs with where their columns come from, and the runs."""

from __future__ import annotations

from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import attrs
from openlineage_pyspark.errors import NameNotFoundError
from openlineage_pyspark.facets.model.dataset import Identifier
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.events.facts import StatedGap
from openlineage_pyspark.workbench.events.read import ENDS, facts
from openlineage_pyspark.workbench.model.document import document_of, from_document
from openlineage_pyspark.workbench.model.graph import Path, node_id, sorted_paths
from openlineage_pyspark.workbench.model.times import BEFORE_ALL, FOREVER, known_time, micros_of_time, time_of_micros
from openlineage_pyspark.workbench.questions.arguments import Ever
from openlineage_pyspark.workbench.questions.oddities import bounded, text_only
from openlineage_pyspark.workbench.questions.reach.reach import Limits
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.run_details import RunDetails, details_stated_by, diagnostics_of
from openlineage_pyspark.workbench.report import EVERY_ROW, VIEW_TYPE, ShortNames
from openlineage_pyspark.workbench.store.current import Current
from openlineage_pyspark.workbench.store.events.rows import identity, parse_event
from openlineage_pyspark.workbench.store.names import QueriedTables, datasets, datasets_by_name
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql, marked_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.events.facts import StatedEdge
    from openlineage_pyspark.workbench.events.read import DatasetOfEvent, EventFacts
    from openlineage_pyspark.workbench.model.kinds import Diagnostic

NO_END = "no end"
"""The state of a run whose last event is not its end."""

_TABLE = "TABLE"
_FAILED = ("FAIL", "ABORT")
_WRITTEN_ROWS = (
    "SELECT run_id, name_id, batch_id, max(row_count) FROM sink_snapshot_lineage WHERE row_count IS NOT NULL "
    "GROUP BY run_id, name_id, batch_id"
)
_RUNS = (
    "SELECT r.run_id, j.name, r.state, r.first_time, r.ended, r.error FROM run r "
    "LEFT JOIN job j ON j.job_id = r.job_id ORDER BY r.first_time, r.run_id"
)
_EMPTIED = (
    "SELECT i.dataset_id, max(w.time) FROM sink_snapshot_lineage w JOIN dataset_identity i ON i.name_id = w.name_id "
    "JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE' WHERE w.change IN ('CREATE', 'TRUNCATE') "
    "GROUP BY i.dataset_id"
)
_EVER_WRITTEN = (
    "SELECT DISTINCT w.run_id, i.dataset_id FROM sink_snapshot_lineage w "
    "JOIN dataset_identity i ON i.name_id = w.name_id JOIN run r ON r.run_id = w.run_id AND r.state = 'COMPLETE'"
)
_FIRST_WRITTEN = (
    "SELECT i.dataset_id, min(w.first_time) FROM sink_job_lineage w JOIN dataset_identity i ON i.name_id = w.name_id "
    "GROUP BY i.dataset_id"
)
_DATASET = "only this output: its table, its path, or the last part of either; * matches any text"


@attrs.frozen
class ShownSource:
    """
    A column that flows into another column.

    Args:
        namespace: the namespace of the dataset that it is read from.
        name: the name of that dataset.
        field: its own name; empty for the dataset as a whole.
        paths: the paths, the preferred first.
    """

    namespace: str
    name: str
    field: str
    paths: tuple[Path, ...]

    @property
    def dataset(self) -> Identifier:
        """Return the dataset."""
        return Identifier(self.namespace, self.name)


@attrs.frozen
class ShownColumn:
    """
    A column of an output.

    Args:
        column: its name; None for all rows.
        sources: what it comes from.
        expression: the SQL text of its value, if it comes from no column; empty if the event does not state it.
    """

    column: str | None
    sources: tuple[ShownSource, ...]
    expression: str = ""


@attrs.frozen
class ShownOutput:
    """
    A dataset, and how a run made it.

    Args:
        namespace: its namespace.
        name: its name.
        table: the name of the table that is stored there; None if the event names none.
        run: the id of the run.
        state: how the run ended; `no end` without an end.
        rows: how many rows it wrote; None if the event does not state it.
        views: the views that it read, from which no edge leads.
        reads: the other datasets that it read without an edge.
        columns: the columns in the order of the schema, all rows last.
    """

    namespace: str
    name: str
    table: str | None
    run: str
    state: str
    rows: int | None
    views: tuple[Identifier, ...]
    reads: tuple[Identifier, ...]
    columns: tuple[ShownColumn, ...]

    @property
    def dataset(self) -> Identifier:
        """Return the dataset."""
        return Identifier(self.namespace, self.name)


@attrs.frozen
class ShownRun:
    """
    A run.

    Args:
        run: its id.
        job: the name of its job.
        state: how it ended; `no end` without an end.
        started: the time of its first event.
        ended: the time of its end; None without an end.
        seconds: the seconds from the one to the other; None without an end.
        rows: how many rows it wrote to all outputs; None if no event states it.
        error: the error message, on one line; empty if there is none.
        not_understood: what it did not understand.
    """

    run: str
    job: str
    state: str
    started: datetime
    ended: datetime | None
    seconds: float | None
    rows: int | None
    error: str
    not_understood: tuple[StatedGap, ...]


@attrs.frozen
class Shown:
    """
    Outputs and runs.

    Args:
        outputs: the outputs; those of one dataset are together.
        runs: the runs, in the order in which they began.
        names: the names of the datasets for people.
    """

    BESIDE_ITS_FIELDS: ClassVar[dict[str, Any]] = {"type": {"const": "events"}}

    outputs: tuple[ShownOutput, ...]
    runs: tuple[ShownRun, ...]
    names: ShortNames = attrs.field(factory=lambda: ShortNames({}), eq=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return them as plain values."""
        return {"type": "events", "outputs": document_of(self.outputs), "runs": document_of(self.runs)}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Shown:
        """Return what `to_dict` wrote, without the names for people."""
        return from_document(cls, document)


class _RunOutput(NamedTuple):
    """An output of a run, the names of its symlinks, and its dataset in the store."""

    shown: ShownOutput
    names: tuple[str, ...]
    dataset: int


@question({}, name="show")
def shown_outputs(
    tables: QueriedTables,
    *,
    dataset: Annotated[str | None, Help(_DATASET, "NAME")] = None,
    column: Annotated[str | None, Help("only this column; * matches any text", "NAME")] = None,
    ever: Ever = False,
) -> Answer[Shown]:
    """
    Show where each column of each output comes from, and the runs.

    A dataset is shown as it is made now: once for each run that makes it differently. With `ever`, it is also shown as
    jobs made it earlier, because some of its rows may come from then.
    """
    counts = _written_rows(tables)
    runs = _runs(tables, counts)
    holding = _holding(tables, ever=ever)
    failed = {run for run, each in runs.items() if each.state in _FAILED}
    read = {run: facts(parse_event(text)) for run, text in _last_events(tables, sorted({*holding, *failed}))}
    runs |= {run: _counted(runs[run], read[run]) for run in failed & read.keys()}
    names = _names(tables, read.values())
    emptied = {} if ever else dict(tables.query(_EMPTIED))
    found = _distinct_outputs(tables, _run_outputs(tables, runs, read, holding, counts), runs, emptied)
    if dataset is not None or column is not None:
        named = (each for each in found if _is_named(each, names, dataset))
        wanted = [each for each in named if column is None or _with_column(each.shown, column).columns]
        if not wanted:
            raise NameNotFoundError(_nothing_found(found, names, dataset, column))
        writers = {each.shown.run for each in wanted}
        found, runs = wanted, {run: each for run, each in runs.items() if run in writers}
    outputs = [_with_column(each.shown, column) for each in found]
    return answered(Shown(tuple(outputs), tuple(runs.values()), names), _diagnostics(runs, outputs, names))


def _written_rows(tables: QueriedTables) -> dict[str, dict[int, int]]:
    """Return how many rows each run wrote to which name, where events state it."""
    found: dict[str, dict[int, int]] = {}
    # Engines can't add numbers whose sum has more than 64 bits.
    for run, name, _, count in tables.query(_WRITTEN_ROWS):
        names = found.setdefault(run, {})
        names[name] = names.get(name, 0) + count
    return found


def _runs(tables: QueriedTables, counts: Mapping[str, Mapping[int, int]]) -> dict[str, ShownRun]:
    """Return all runs by their ids, in the order in which they began."""
    rows = tables.query(_RUNS)
    details = details_stated_by(tables, [row[0] for row in rows], FOREVER)
    found = {}
    for run, job, state, first, end_time, error in rows:
        count = sum(counts[run].values()) if run in counts else None
        began, end = time_of_micros(first), state if state in ENDS else NO_END
        ended = known_time(end_time) if state in ENDS else None
        seconds = None if ended is None else (ended - began).total_seconds()
        gaps = dict.fromkeys(gap for key in details.of_run.get(run, ()) for gap in details.versions[key].gaps)
        message = " ".join((error or "").split())
        found[run] = ShownRun(run, job or "", end, began, ended, seconds, count, message, tuple(gaps))
    return found


def _counted(run: ShownRun, event: EventFacts) -> ShownRun:
    """Return a failed run with the number of its rows, which are not in a version of a dataset."""
    counts = [each.counts.rows for each in event.outputs if each.counts.rows is not None]
    return attrs.evolve(run, rows=sum(counts) if counts else None)


def _holding(tables: QueriedTables, *, ever: bool) -> dict[str, set[int]]:
    """Return the runs that state how datasets are made -> these datasets: as they are now, or as they ever were."""
    current = Current(tables, bounded(tables, Limits()).time)
    outputs = current.outputs(job for (job,) in tables.query("SELECT job_id FROM job"))
    current.learn(outputs)
    found: dict[str, set[int]] = {}
    pairs = [(run, dataset) for job, dataset in outputs for run in current.makers(job, dataset)]
    for run, dataset in (*pairs, *(tables.query(_EVER_WRITTEN) if ever else ())):
        found.setdefault(run, set()).add(dataset)
    return found


def _last_events(tables: QueriedTables, runs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the last event of each of some runs: that of its end, if it has one."""
    for marks, part in marked_lists(runs):
        rows = tables.query(
            checked_sql(
                "SELECT e.run_id, e.type, e.json FROM event e JOIN run r ON r.run_id = e.run_id "
                "WHERE e.run_id IN ({marks}) AND e.time = coalesce(r.ended, r.last_time) ORDER BY e.event_id",
                marks=marks,
            ),
            part,
        )
        yield from {run: text for run, _, text in sorted(rows, key=lambda row: row[1] in ENDS)}.items()


def _run_outputs(
    tables: QueriedTables,
    runs: Mapping[str, ShownRun],
    read: Mapping[str, EventFacts],
    holding: Mapping[str, set[int]],
    counts: Mapping[str, Mapping[int, int]],
) -> Iterator[_RunOutput]:
    """Yield the current outputs whose events state where columns come from, in the order of the runs."""
    ids = datasets_by_name(tables, {_name_id(each) for event in read.values() for each in event.outputs})
    for run in runs.values():
        event = read.get(run.run)
        if event is None or run.run not in holding:
            continue
        stated = {each.target[:2] for each in event.stated}
        for dataset in event.outputs:
            has_lineage = dataset.has_column_lineage or (dataset.namespace, dataset.name) in stated
            name = _name_id(dataset)
            if has_lineage and ids[name] in holding[run.run]:
                shown = _output(dataset, event, run, counts.get(run.run, {}).get(name, dataset.counts.rows))
                yield _RunOutput(shown, tuple(link.name for link in dataset.symlinks), ids[name])


def _distinct_outputs(
    tables: QueriedTables, outputs: Iterable[_RunOutput], runs: Mapping[str, ShownRun], emptied: Mapping[int, int]
) -> list[_RunOutput]:
    """
    Return the outputs that show how datasets are made, those of one dataset together.

    Of several runs with the same columns and edges, the last one stays; of several that all failed, the last one.

    Args:
        tables: the store.
        outputs: the outputs of the runs, in their order.
        runs: all runs.
        emptied: a dataset that was created or emptied -> when, microseconds since 1970. Earlier outputs do not count.
    """
    of_dataset: dict[int, list[_RunOutput]] = {}
    for each in outputs:
        of_dataset.setdefault(each.dataset, []).append(each)
    found: list[_RunOutput] = []
    first = dict(tables.query(_FIRST_WRITTEN))
    for dataset, every in sorted(of_dataset.items(), key=lambda each: first.get(each[0], BEFORE_ALL)):
        done = [each for each in every if each.shown.state == "COMPLETE"]
        since = [each for each in every if _end_of(runs[each.shown.run]) >= emptied.get(dataset, BEFORE_ALL)]
        kept: dict[object, _RunOutput] = {}
        for each in (since or every) if done else every[-1:]:
            if each.shown.state == "COMPLETE" or each.shown.columns not in kept:
                kept.pop(each.shown.columns, None)
                kept[each.shown.columns] = each
        found += kept.values()
    return found


def _end_of(run: ShownRun) -> int:
    """Return when a run ended, microseconds since 1970; FOREVER for one without an end."""
    return FOREVER if run.ended is None else micros_of_time(run.ended)


def _name_id(dataset: DatasetOfEvent) -> int:
    return identity("dataset", dataset.namespace, dataset.name)


def _table(dataset: DatasetOfEvent) -> str | None:
    """Return the name of the view that a dataset is, or of the table that is stored there; None without one."""
    if dataset.type == VIEW_TYPE:
        return dataset.name
    return next((link.name for link in dataset.symlinks if link.type == _TABLE), None)


def _output(dataset: DatasetOfEvent, event: EventFacts, run: ShownRun, rows: int | None) -> ShownOutput:
    used = {edge.source[:2] for edge in event.edges} | {(dataset.namespace, dataset.name)}
    views = [each for each in event.inputs if each.type == VIEW_TYPE]
    reads = [each for each in event.inputs if each.type != VIEW_TYPE and (each.namespace, each.name) not in used]
    return ShownOutput(
        *(dataset.namespace, dataset.name, _table(dataset), run.run, run.state, rows),
        views=tuple(Identifier(each.namespace, each.name) for each in views),
        reads=tuple(Identifier(each.namespace, each.name) for each in reads),
        columns=tuple(_columns(dataset, event)),
    )


def _columns(dataset: DatasetOfEvent, event: EventFacts) -> Iterator[ShownColumn]:
    edges: dict[str, list[StatedEdge]] = {}
    for edge in event.edges:
        # A table shows where columns come from; a job has none.
        if edge.target[:2] == (dataset.namespace, dataset.name) and not (edge.source.is_job or edge.target.is_job):
            edges.setdefault(edge.target.column, []).append(edge)
    every = edges.pop("", [])
    schema = (field.path for field in dataset.fields if field.above < 0)
    for column in dict.fromkeys([*schema, *dataset.lineage_columns, *edges]):
        sources = tuple(map(_source, edges.get(column, ())))
        yield ShownColumn(column, sources, "" if sources else dataset.lineage_expressions.get(column, ""))
    if every:
        yield ShownColumn(None, tuple(map(_source, every)))


def _source(edge: StatedEdge) -> ShownSource:
    return ShownSource(*edge.source[:3], sorted_paths(path.path for path in edge.paths))


def _names(tables: QueriedTables, events: Iterable[EventFacts]) -> ShortNames:
    """Return the names of all datasets for people: those in the events of the shown runs, else those of the store."""
    known = datasets(tables, (id_ for (id_,) in tables.query("SELECT DISTINCT dataset_id FROM dataset_identity")))
    names = {Identifier(e.namespace, e.name): e.others[0][1] if e.others else None for e in known.values()}
    for event in events:
        for each in (*event.inputs, *event.outputs):
            dataset = Identifier(each.namespace, each.name)
            names[dataset] = _table(each) or names.get(dataset)
        for edge in event.edges:
            names.setdefault(Identifier(*edge.source[:2]), None)
    return ShortNames(names)


def _is_named(written: _RunOutput, names: ShortNames, wanted: str | None) -> bool:
    if wanted is None:
        return True
    output = written.shown
    own = (output.name, *written.names)
    short = (names.of(output.dataset), f"{output.namespace}/{output.name}")
    last = (name.rsplit("/", 1)[-1].rsplit(".", 1)[-1] for name in own)
    return output.name.endswith(f"/{wanted}") or any(fnmatchcase(name, wanted) for name in (*own, *short, *last))


def _with_column(output: ShownOutput, wanted: str | None) -> ShownOutput:
    """Return an output with only the columns of a name."""
    if wanted is None:
        return output
    return attrs.evolve(output, columns=tuple(e for e in output.columns if fnmatchcase(e.column or EVERY_ROW, wanted)))


def _nothing_found(found: Iterable[_RunOutput], names: ShortNames, dataset: str | None, column: str | None) -> str:
    every = list(found)
    named = [each.shown for each in every if _is_named(each, names, dataset)]
    if named and column is not None:
        columns = dict.fromkeys(each.column for output in named for each in output.columns if each.column is not None)
        return f"no column {column}; columns: {', '.join(columns) or 'none'}"
    known = ", ".join(names.of(each.shown.dataset) for each in every) or "none"
    return f"no output {dataset}; outputs with column lineage: {known}"


def _diagnostics(
    runs: Mapping[str, ShownRun], outputs: Iterable[ShownOutput], names: ShortNames
) -> Iterator[Diagnostic]:
    """Yield what the runs of outputs did not understand, and which outputs were made by statements as text."""
    every = [*outputs]
    needed = {each.run for each in every}
    gaps = {run: RunDetails(runs[run].not_understood) for run in needed}
    yield from diagnostics_of(gaps, {}, needed)
    yield from (
        text_only(names.of(output.dataset), node_id("dataset", output.namespace, output.name))
        for output in every
        if any(path.certainty == "text" for c in output.columns for source in c.sources for path in source.paths)
    )
