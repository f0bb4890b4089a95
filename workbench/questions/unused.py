"""`unused`: columns and tables that no recorded job reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

import attrs
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.model.graph import column_id, node_id
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.short_names import without_classes
from openlineage_pyspark.workbench.model.times import known_time
from openlineage_pyspark.workbench.pictures.plain import first_of
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.arguments import Ever, time_or_now
from openlineage_pyspark.workbench.questions.oddities import bounded, dropped_diagnostics
from openlineage_pyspark.workbench.questions.reach.reach import Limits, has_gaps
from openlineage_pyspark.workbench.questions.registry import Help, answered, question
from openlineage_pyspark.workbench.questions.row_text import row_writers, shown_time, time_column
from openlineage_pyspark.workbench.questions.run_details import gaps_of
from openlineage_pyspark.workbench.questions.unstated_columns import unstated_readers
from openlineage_pyspark.workbench.store.current import EDGES, Current
from openlineage_pyspark.workbench.store.names import DatasetName, QueriedTables, datasets
from openlineage_pyspark.workbench.store.tables.checked_sql import checked_sql

_TABLES = ("delta", "iceberg", "hudi", "paimon", "hive")

Use: TypeAlias = Literal["unused", "exported"]

_FILES = ("file", "hdfs", "s3", "gs", "wasb", "wasbs", "abfs", "abfss", "dbfs", "adl", "oss", "cosn", "viewfs")


@attrs.frozen
class UnusedRow:
    """
    A table or a column that no recorded job reads, or that jobs read only to export it.

    Args:
        dataset: the dataset's name as people know it.
        column: the column; empty for the dataset.
        use: `unused`, or `exported`: it is in an external sink, or jobs read it only to write such sinks. A sink is
            external if no recorded job reads it and it is not a table of a lake: a database, a topic, or files without
            a table's name. Who reads it there is not recorded.
        exported_to: the external sinks that are made from it.
        writers: the jobs that write it.
        since: when it was first written; None if no event states it.
        last_written: when it was last written; None if no event states it.
        namespace: the namespace of the dataset's own name.
        name: its own name.
    """

    dataset: str
    column: str
    use: Use
    exported_to: tuple[str, ...]
    writers: tuple[str, ...]
    since: datetime | None
    last_written: datetime | None
    namespace: str
    name: str


def _table(answer: Answer[Rows[UnusedRow]]) -> TextTable:
    """Return the answer as a table, with one row for the columns of a table about which all else is the same."""
    jobs = without_classes(job for each in answer.result for job in each.writers)
    columns_of: dict[tuple[str, ...], list[str]] = {}
    for each in answer.result:
        use = f"exported to {', '.join(each.exported_to)}" if each.exported_to else each.use
        writers = ", ".join(jobs[job] for job in each.writers)
        same = (each.dataset, use, shown_time(each.since), shown_time(each.last_written), writers)
        columns_of.setdefault(same, []).append(each.column)
    rows = [(dataset, ", ".join(filter(None, names)), *rest) for (dataset, *rest), names in columns_of.items()]
    columns = (
        *(TableColumn("table", 20, cut_start=True), TableColumn("columns", 12, wrap=True), TableColumn("use", 8)),
        *(time_column("since"), time_column("last written")),
        TableColumn("written by", 12, wrap=True),
    )
    part = answer.arguments.get("containing")
    empty = f"nothing with {part!r} in a name is unused" if part else "all that is recorded is read by a recorded job"
    return TextTable(columns, rows, empty)


@question(row_writers(_table))
def unused(
    tables: QueriedTables,
    containing: Annotated[str, Help("only datasets with this text in a name", "TEXT")] = "",
    *,
    by: Annotated[Literal["table", "column"], Help("the unit of the answer; default: column")] = "column",
    since: Annotated[str, Help("ignore reads before, such as 90d", "TIME")] = "",
    ever: Ever = False,
) -> Answer[Rows[UnusedRow]]:
    """
    List columns and tables that no recorded job reads, who writes them, and since when.

    Data that only go to external sinks, such as databases, topics and files that no recorded job reads, are marked as
    exported. A job that reads a table only to write that table again does not count as a reader.
    """
    recorded = _Recorded(tables, time_or_now(since) if since else 0, ever=ever)
    rows, unknown = _by_table(recorded) if by == "table" else _by_column(recorded)
    wanted = [row for row in rows if containing.lower() in f"{row.dataset}\n{row.namespace}/{row.name}".lower()]
    found = sorted(wanted, key=lambda row: (row.dataset, row.namespace, row.name, row.column))
    dropped = dropped_diagnostics(tables.dropped()) if ever else ()
    return answered(Rows("unused", tuple(found)), (*unknown, *recorded.gaps(), *dropped))


class _Recorded:
    """
    What jobs currently read and write.

    Args:
        tables: the store.
        since: ignore reads before this time, microseconds since 1970.
        ever: whether what jobs no longer do counts too.

    Attributes:
        readers: dataset -> the jobs that read it, without those that only write it again.
        writers: dataset -> the jobs that write it.
        made: job -> the datasets that it writes.
        edges: dataset -> its columns that are read, each with the datasets that are made of it.
        silent: dataset -> the jobs whose events do not state which of its columns they read.
        columns: dataset -> the columns of its latest schema, with the time of the first event that states each.
        written: dataset -> when it was written first and last.
        named: the datasets, without those that were dropped unless `ever` is set.
    """

    def __init__(self, tables: QueriedTables, since: int, *, ever: bool) -> None:
        self._tables = tables
        self._time = bounded(tables, Limits()).time
        self._current = None if ever else Current(tables, self._time)
        reads, writes = (self._flows(table) for table in ("stated_read", "stated_write"))
        self.writers: dict[int, set[int]] = defaultdict(set)
        self.written: dict[int, tuple[int, int]] = {}
        made: dict[int, set[int]] = defaultdict(set)
        for _, dataset, first, last in writes:
            before = self.written.get(dataset, (first, last))
            self.written[dataset] = min(first, before[0]), max(last, before[1])
        for job, dataset in self._holding({(job, dataset) for job, dataset, _, _ in writes}):
            self.writers[dataset].add(job)
            made[job].add(dataset)
        self.made: Mapping[int, set[int]] = made
        self.readers: dict[int, set[int]] = defaultdict(set)
        now = None if self._current is None else self._current.reads({job for job, *_ in reads})
        for job, dataset, _, last in reads:
            if last >= since and (now is None or dataset in now[job]) and made[job] != {dataset}:
                self.readers[dataset].add(job)
        self.edges: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        stating = self._learn_edges(since)
        unstated = unstated_readers(tables, self.readers, bounded(tables, Limits()))
        self.silent = {
            dataset: (jobs - stating) | (jobs & unstated.get(dataset, set())) for dataset, jobs in self.readers.items()
        }
        self.columns = self._columns()
        every = {dataset for (dataset,) in tables.query("SELECT DISTINCT dataset_id FROM dataset_identity")}
        self.named = datasets(tables, every if ever else every - self._gone())
        self.jobs = _job_names(tables)
        self._tables_of_lakes = self._with_versions()

    def is_outside(self, dataset: int) -> bool:
        """Return whether a dataset is written, is not a table of a lake, and no recorded job reads it."""
        if self.readers.get(dataset) or dataset not in self.written:
            return False
        named = self.named[dataset]
        scheme = named.namespace.partition(":")[0].lower()
        if scheme in _FILES:
            return not named.others and dataset not in self._tables_of_lakes
        return "://" in named.namespace and scheme not in _TABLES

    def gaps(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics about what the runs did not understand: each may hide that something is read."""
        if not has_gaps(self._tables):
            return ()
        runs = {run for (run,) in self._tables.query("SELECT DISTINCT run_id FROM stated_version")}
        return gaps_of(self._tables, runs if self._current is None else self._current.runs([*self.jobs]), self._time)

    def row(self, dataset: int, column: str, use: Use, exported_to: Iterable[int]) -> UnusedRow:
        """Return the row of a dataset or of a column."""
        named = self.named[dataset]
        first, last = self.written.get(dataset, (None, None))
        since = max(first, self.columns[dataset][column]) if column and first is not None else first
        return UnusedRow(
            named.label,
            column,
            use,
            tuple(sorted(self.named[each].label for each in exported_to)),
            tuple(sorted(self.jobs[job] for job in self.writers.get(dataset, ()))),
            known_time(since),
            known_time(last),
            named.namespace,
            named.name,
        )

    def _gone(self) -> set[int]:
        """Return the datasets that were dropped and that no job has written since."""
        rows = self._tables.query(
            "SELECT DISTINCT i.dataset_id FROM sink_snapshot_lineage w JOIN dataset_identity i "
            "ON i.name_id = w.name_id WHERE w.change = 'DROP' AND w.time <= ?",
            (self._time,),
        )
        return {dataset for (dataset,) in rows if not self.writers.get(dataset)}

    def _flows(self, table: str) -> list[tuple[int, int, int, int]]:
        return [
            (job, dataset, first, last)
            for job, dataset, first, last in self._tables.query(
                checked_sql(
                    "SELECT l.job_id, i.dataset_id, l.first_time, l.last_time "
                    "FROM {table} l JOIN dataset_identity i ON i.name_id = l.name_id "
                    "WHERE l.job_id IS NOT NULL AND l.first_time <= ?",
                    table=table,
                ),
                (self._time,),
            )
        ]

    def _holding(self, outputs: set[tuple[int, int]]) -> set[tuple[int, int]]:
        """Return, of some jobs and datasets, the pairs in which the job currently writes the dataset."""
        if self._current is None:
            return outputs
        self._current.learn(outputs)
        return {(job, dataset) for job, dataset in outputs if self._current.holds(job, dataset)}

    def _learn_edges(self, since: int) -> set[int]:
        """Load the edges, and return the jobs whose events state any."""
        rows = self._tables.query(
            checked_sql(
                "SELECT s.dataset_id, c.input_column, t.dataset_id, c.job_id, c.last_time, c.description "
                "FROM {edges} WHERE c.job_id IS NOT NULL AND c.first_time <= ?",
                edges=EDGES,
            ),
            (self._time,),
        )
        outputs = {(job, target) for _, _, target, job, _, _ in rows}
        self._holding(outputs)
        current = self._current
        held = None if current is None else {each: current.descriptions(*each) for each in outputs}
        stating: set[int] = set()
        for source, column, target, job, last, description in rows:
            if held is not None and description not in held[job, target]:
                continue
            stating.add(job)
            if last >= since and source != target:
                self.edges[source][column].add(target)
                self.readers[source].add(job)
        return stating

    def _with_versions(self) -> set[int]:
        """Return the datasets that are stored as tables: by their format, or because they have versions."""
        formats = self._tables.query(
            "SELECT i.dataset_id, lower(d.format) FROM dataset d JOIN dataset_identity i ON i.name_id = d.name_id "
            "WHERE d.format IS NOT NULL"
        )
        versions = self._tables.query(
            "SELECT DISTINCT i.dataset_id FROM sink_snapshot_lineage w JOIN dataset_identity i "
            "ON i.name_id = w.name_id WHERE w.snapshot <> ''"
        )
        return {dataset for dataset, format_ in formats if format_ in _TABLES} | {each for (each,) in versions}

    def _columns(self) -> dict[int, dict[str, int]]:
        """Return the columns of each dataset by its latest schema, with the time at which each was stated first."""
        rows: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
        for dataset, column, first, last in self._tables.query(
            "SELECT i.dataset_id, c.column_name, min(c.first_time), max(c.last_time) FROM stated_column c "
            "JOIN dataset_identity i ON i.name_id = c.name_id GROUP BY i.dataset_id, c.column_name"
        ):
            rows[dataset].append((column, first, last))
        found: dict[int, dict[str, int]] = {}
        for dataset, each in rows.items():
            latest = max(last for _, _, last in each)
            found[dataset] = {column: first for column, first, last in each if last == latest}
        return found


def _by_table(recorded: _Recorded) -> tuple[list[UnusedRow], list[Diagnostic]]:
    rows = []
    for dataset in recorded.named:
        readers = recorded.readers.get(dataset, set())
        if not readers:
            rows.append(recorded.row(dataset, "", "exported" if recorded.is_outside(dataset) else "unused", ()))
            continue
        made = {target for job in readers for target in recorded.made.get(job, ())} - {dataset}
        if made and all(map(recorded.is_outside, made)):
            rows.append(recorded.row(dataset, "", "exported", made))
    return rows, []


def _by_column(recorded: _Recorded) -> tuple[list[UnusedRow], list[Diagnostic]]:
    rows, unknown = [], []
    shapeless = []
    for dataset in recorded.named:
        columns = recorded.columns.get(dataset, {})
        if not columns and not recorded.readers.get(dataset):
            rows.append(recorded.row(dataset, "", "exported" if recorded.is_outside(dataset) else "unused", ()))
            continue
        if not columns:
            shapeless.append(recorded.named[dataset].label)
            continue
        silent = recorded.silent.get(dataset)
        read = recorded.edges.get(dataset, {})
        free = [column for column in columns if not any(_is_part(column, each) for each in read)]
        if silent and free:
            unknown.append(_unknown(recorded, dataset, silent))
            continue
        is_outside = recorded.is_outside(dataset)
        rows += [
            recorded.row(dataset, column, "exported" if is_outside else "unused", ()) for column in _tops(free, columns)
        ]
        rows += _exported(recorded, dataset, [column for column in columns if column not in free], read)
    if shapeless:
        message = f"no event states the columns of {first_of(sorted(shapeless))}: none of them is listed"
        unknown.append(Diagnostic("unknown-columns", message, missing=True))
    return rows, unknown


def _exported(
    recorded: _Recorded, dataset: int, columns: Iterable[str], read: Mapping[str, set[int]]
) -> Iterator[UnusedRow]:
    """Yield the columns from which only external sinks are made."""
    for column in columns:
        made = {target for each, targets in read.items() if _is_part(column, each) for target in targets}
        if all(map(recorded.is_outside, made)):
            yield recorded.row(dataset, column, "exported", made)


def _tops(free: Iterable[str], columns: Mapping[str, int]) -> Iterator[str]:
    """Yield the columns that are not fields of others among them: a struct represents its fields."""
    among = set(free)
    for column in columns:
        above = column
        while "." in above and (above := above.rpartition(".")[0]) not in among:
            pass
        if column in among and (above == column or above not in among):
            yield column


def _is_part(column: str, read: str) -> bool:
    """Return whether reading one column also reads another one: the same, its struct, its field, or all rows."""
    return not read or column == read or column.startswith(f"{read}.") or read.startswith(f"{column}.")


def _unknown(recorded: _Recorded, dataset: int, jobs: Iterable[int]) -> Diagnostic:
    named: DatasetName = recorded.named[dataset]
    listed = ", ".join(sorted(recorded.jobs[job] for job in jobs))
    message = f"no event states which columns of {named.label} are read by {listed}: none of its columns is listed"
    id_ = column_id(node_id("dataset", named.namespace, named.name), "")
    return Diagnostic("unknown-columns", message, missing=True, node=id_)


def _job_names(tables: QueriedTables) -> dict[int, str]:
    """Return the name of each job; with its namespace if several have the name."""
    rows = tables.query("SELECT job_id, namespace, name FROM job")
    spaces: dict[str, set[str]] = defaultdict(set)
    for _, namespace, name in rows:
        spaces[name].add(namespace)
    return {job: f"{namespace}/{name}" if len(spaces[name]) > 1 else name for job, namespace, name in rows}
