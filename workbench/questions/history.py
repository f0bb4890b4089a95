"""`history`: the versions of a dataset, as a list and as a graph with the runs and what these read."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

import attrs
from openlineage_pyspark.workbench.answer import Answer, Rows
from openlineage_pyspark.workbench.model.document import from_document
from openlineage_pyspark.workbench.model.graph import DatasetNode, Edge, Graph, JobNode, RunNode, VersionNode, node_id
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.short_names import short_id, without_classes
from openlineage_pyspark.workbench.model.times import time_of_micros
from openlineage_pyspark.workbench.page.formats import text_of_graph
from openlineage_pyspark.workbench.pictures.figure import ShownGraph, figure
from openlineage_pyspark.workbench.pictures.table import TableColumn, TextTable
from openlineage_pyspark.workbench.questions.arguments import DatasetRef
from openlineage_pyspark.workbench.questions.oddities import dropped_of_datasets
from openlineage_pyspark.workbench.questions.registry import answered, question
from openlineage_pyspark.workbench.questions.row_text import row_writers, shown_time, time_column
from openlineage_pyspark.workbench.questions.versions.stored_versions import StoredVersions
from openlineage_pyspark.workbench.questions.versions.versions import RunPart, VersionKind
from openlineage_pyspark.workbench.store.events.rows import NO_BATCH
from openlineage_pyspark.workbench.store.names import (
    DatasetName,
    QueriedTables,
    datasets,
    find_dataset,
    rows_by_id,
    rows_by_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.model.graph import Node
    from openlineage_pyspark.workbench.model.kinds import Certainty
    from openlineage_pyspark.workbench.questions.versions.versions import DatasetVersion


_KINDS: dict[VersionKind, Literal["storage", "run", "unknown"]] = {
    VersionKind.STORAGE: "storage",
    VersionKind.RUN: "run",
    VersionKind.UNKNOWN: "unknown",
}
# Each column and type of a dataset, and from when to when events state it.
_COLUMNS = (
    "SELECT c.column_name, c.type, min(c.first_time), max(c.last_time) FROM dataset_identity i "
    "JOIN stated_column c ON c.name_id = i.name_id WHERE i.dataset_id = ? "
    "GROUP BY c.name_id, c.column_name, c.type ORDER BY 3"
)


@attrs.frozen
class InputVersion:
    """
    A version that a run read.

    Args:
        namespace: the namespace of the dataset.
        name: its name.
        dataset: its label.
        version: the version; empty if none is known.
        inferred: whether no event names it, so that the one that was current when the run began is assumed.
    """

    namespace: str
    name: str
    dataset: str
    version: str
    inferred: bool

    @property
    def label(self) -> str:
        """Return the dataset with the version, and a question mark if that is inferred."""
        return f"{self.dataset}@{self.version}{'?' if self.inferred else ''}" if self.version else self.dataset


@attrs.frozen
class VersionRow:
    """
    A version of a dataset.

    Args:
        version: the snapshot, if the format has some; else the run, and with a micro-batch, a slash and its number.
        kind: `storage` or `run`: which of the two; `unknown` if no event states it.
        time: when it was made; for a version that was only read, when it was first read.
        run_id: the run that made it; empty if no event states it.
        batch: the micro-batch of that run; None if there is none.
        job_namespace: the namespace of its job.
        job: the name of its job.
        state: the state of the run, such as COMPLETE; empty if it is unknown.
        parent: the version before; empty if none is known.
        change: such as OVERWRITE or DROP; empty for an append.
        rows: how many rows were written; None if it is unknown.
        columns_added: columns that the previous version did not have; empty for the first version.
        columns_removed: columns that only the previous version had.
        columns_changed: columns whose types changed since the previous version, with both types.
        inputs: the inputs of the run.
    """

    version: str
    kind: Literal["storage", "run", "unknown"]
    time: datetime
    run_id: str
    batch: int | None
    job_namespace: str
    job: str
    state: str
    parent: str
    change: str
    rows: int | None
    columns_added: tuple[str, ...]
    columns_removed: tuple[str, ...]
    columns_changed: tuple[tuple[str, str, str], ...]
    inputs: tuple[InputVersion, ...]


@attrs.frozen
class History(Rows[VersionRow]):
    """
    The versions of a dataset, newest first.

    Args:
        dataset: the dataset.
    """

    dataset: DatasetNode = attrs.field(kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the versions as plain values, with the dataset."""
        return {**super().to_dict(), "dataset": self.dataset.to_dict()}

    @classmethod
    def from_dict(cls, document: dict[str, Any], row: Any = VersionRow) -> History:
        """
        Return the result that `to_dict` wrote.

        Args:
            document: the result.
            row: the type of its rows.
        """
        versions = Rows.from_dict(document, row)
        return cls(versions.of, versions.rows, dataset=from_document(DatasetNode, document["dataset"]))

    def _repr_html_(self) -> str:
        """Return the graph of the versions, for a notebook."""
        return figure(self.graph(), around=self.dataset.id)

    def graph(self) -> Graph:
        """
        Return the versions as a graph, the latest first: each with its run, and with the versions that this run read.

        Each edge has its run, and an edge begins at each run: so a picture leads the edges through the runs.
        """
        made = self.dataset
        nodes: dict[str, Node] = {made.id: made}
        edges: dict[Edge, None] = {}
        for version in self:
            target = VersionNode(made.id, version.version, _made(version))
            nodes[target.id] = target
            if not version.run_id:
                continue
            job = JobNode(version.job_namespace, version.job)
            run = RunNode(version.run_id, job.id, version.state)
            nodes |= {job.id: job, run.id: run}
            edges[Edge(run.id, target.id, job=job.id, run=run.id)] = None
            for read in version.inputs:
                dataset = DatasetNode(read.namespace, read.name, read.dataset)
                source = VersionNode(dataset.id, read.version) if read.version else dataset
                nodes.setdefault(dataset.id, dataset)
                nodes.setdefault(source.id, source)
                certainty: Certainty = "guessed" if read.inferred else "exact"
                edges[Edge(source.id, target.id, job=job.id, run=run.id, certainty=certainty)] = None
        return ShownGraph(tuple(nodes.values()), tuple(edges))


def _table(answer: Answer[History]) -> TextTable:
    rows = []
    names = without_classes(each.job for each in answer.result)
    for each in answer.result:
        schema = [*(f"+{name}" for name in each.columns_added), *(f"-{name}" for name in each.columns_removed)]
        schema += [f"{name}:{old}->{new}" for name, old, new in each.columns_changed]
        inputs = ", ".join(short_id(read.label) for read in each.inputs)
        job = f"{names[each.job]} <- {inputs}" if inputs else names[each.job]
        count = "" if each.rows is None else f"{each.rows:,}"
        rows.append((shown_time(each.time), each.version, each.change, count, " ".join(schema), job))
    columns = (
        *(time_column("time"), TableColumn("version", 9), TableColumn("change")),
        *(TableColumn("rows", right=True), TableColumn("columns")),
        TableColumn("job, and what it read", 30, wrap=True),
    )
    return TextTable(columns, rows)


_WRITERS = {
    **row_writers(_table),
    "mermaid": lambda answer: text_of_graph(answer.result.graph(), "mermaid"),
    "dot": lambda answer: text_of_graph(answer.result.graph(), "dot"),
    "html": lambda answer: text_of_graph(answer.result.graph(), "html"),
    "svg": lambda answer: text_of_graph(answer.result.graph(), "svg"),
}


@question(_WRITERS)
def history(tables: QueriedTables, dataset: DatasetRef) -> Answer[History]:
    """List the versions of a dataset with the runs that wrote them, newest first."""
    named, found = history_of(tables, find_dataset(tables, dataset))
    node = DatasetNode(named.namespace, named.name, named.label)
    return answered(History("version", tuple(found), dataset=node), lacking_versions(tables, named, found))


def lacking_versions(
    tables: QueriedTables, dataset: DatasetName, versions: Iterable[VersionRow]
) -> Iterator[Diagnostic]:
    """Yield the diagnostics about versions without a known run, and about runs that expiry dropped."""
    for each in versions:
        if not each.run_id:
            node = VersionNode(node_id("dataset", dataset.namespace, dataset.name), each.version).id
            message = f"no run is known that made {dataset.label}@{each.version}"
            yield Diagnostic("unknown-writer", message, missing=True, node=node)
    yield from dropped_of_datasets(tables, [dataset.id])


def history_of(tables: QueriedTables, dataset: DatasetName) -> tuple[DatasetName, list[VersionRow]]:
    """Return a dataset, with a label that no other dataset has that its runs read, and its versions, newest first."""
    versions = StoredVersions(tables)
    every = versions.of(dataset.id)
    reads = versions.read_by(version.parts[0] for version in every if version.parts)
    named = datasets(tables, {dataset.id, *(read.version.dataset for found in reads.values() for read in found)})
    jobs_of, states = _jobs_of(tables, every), _states_of(tables, every)
    columns = tables.query(_COLUMNS, (dataset.id,))
    found: list[VersionRow] = []
    before: dict[str, str] = {}
    for version in every:
        now = {column: type_ for column, type_, first, last in columns if first <= version.time <= last}
        both = sorted(now.keys() & before.keys())
        job_namespace, job = jobs_of.get(version.job_id, ("", ""))
        inputs = {
            InputVersion(source.namespace, source.name, source.label, read.version.version, read.inferred)
            for read in reads.get(RunPart(version.run_id, version.batch_id), ())
            for source in [named[read.version.dataset]]
        }
        found.append(
            VersionRow(
                version=version.id,
                kind=_KINDS[version.kind],
                time=time_of_micros(version.time),
                run_id=version.run_id,
                batch=None if version.batch_id == NO_BATCH else version.batch_id,
                job_namespace=job_namespace,
                job=job,
                state=states.get(version.run_id) or "",
                parent=version.parent,
                change=version.change,
                rows=version.rows,
                columns_added=tuple(sorted(now.keys() - before.keys())) if before else (),
                columns_removed=tuple(sorted(before.keys() - now.keys())) if now else (),
                columns_changed=tuple((each, before[each], now[each]) for each in both if before[each] != now[each]),
                inputs=tuple(sorted(inputs, key=lambda each: (each.dataset, each.version, attrs.astuple(each)))),
            )
        )
        before = now or before
    return named[dataset.id], found[::-1]


def _jobs_of(tables: QueriedTables, versions: Iterable[DatasetVersion]) -> dict[int | None, tuple[str, str]]:
    """Return the namespaces and names of the jobs that made versions, by their ids."""
    of_jobs = "SELECT job_id, namespace, name FROM job WHERE job_id IN ({ids})"
    ids = (version.job_id for version in versions if version.job_id is not None)
    return {id_: (namespace, name) for id_, namespace, name in rows_by_id(tables, of_jobs, ids)}


def _states_of(tables: QueriedTables, versions: Iterable[DatasetVersion]) -> dict[str, str]:
    """Return the states of the runs that made versions, by their ids."""
    of_runs = "SELECT run_id, state FROM run WHERE run_id IN ({marks})"
    return dict(rows_by_text(tables, of_runs, {version.run_id for version in versions if version.run_id}))


def _made(version: VersionRow) -> str:
    """Return by which run, when and how a version was made."""
    rows = "" if version.rows is None else f"{version.rows:,} rows"
    run = f"run {version.run_id}" if version.run_id else ""
    return ", ".join(filter(None, (run, version.time.strftime("%Y-%m-%d %H:%M:%S"), version.change, rows)))
