"""A run that has ended, as its user sees it: how it ended, and its lineage as a graph with tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.errors import RegistrationError
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.listener.start.register import handle_of
from openlineage_pyspark.workbench.model.graph import DatasetNode, Edge, JobNode, RunNode, node_id
from openlineage_pyspark.workbench.pictures.figure import ShownGraph
from openlineage_pyspark.workbench.report import Lineage, html_of

if TYPE_CHECKING:
    import datetime

    from openlineage_pyspark.facets.model.dataset import Dataset
    from openlineage_pyspark.facets.model.run import EventType, RunState
    from openlineage_pyspark.workbench.model.graph import Graph
    from pyspark.sql import SparkSession

_WORDS = {"COMPLETE": "completed", "FAIL": "failed", "ABORT": "was aborted"}


@attrs.frozen(repr=False)
class FinishedRun:
    """
    A run of this application that has ended.

    Args:
        job: the name of its job.
        job_namespace: the namespace of its job.
        run_id: its id in the events.
        state: how it ended.
        ended: when it ended (timezone-aware, in UTC).
        error: why it failed; None if it did not.
        lineage: what it read and wrote, with secrets removed, as its events say.
    """

    job: str
    job_namespace: str
    run_id: str
    state: EventType
    ended: datetime.datetime
    error: str | None
    lineage: Lineage

    def graph(self) -> Graph:
        """Return its lineage as a graph, with its job between what it read and what it wrote."""
        of_lineage = self.lineage.graph()
        job = JobNode(self.job_namespace, self.job)
        run = RunNode(self.run_id, job.id, self.state, ended=self._time, error=self.error or "")
        edges = [attrs.evolve(edge, job=job.id, run=run.id) for edge in of_lineage.edges]
        written = {_id(dataset) for dataset, _ in self.lineage.outputs if dataset is not None}
        read = {_id(dataset) for dataset in self.lineage.inputs}
        for node in of_lineage.nodes:
            if isinstance(node, DatasetNode):
                if node.id in read or node.id not in written:
                    edges.append(Edge(node.id, job.id, job=job.id, run=run.id))
                if node.id in written:
                    edges.append(Edge(job.id, node.id, job=job.id, run=run.id))
        diagnostics = tuple(attrs.evolve(each, node=job.id, run=run.id) for each in of_lineage.diagnostics)
        return ShownGraph((*of_lineage.nodes, job, run), tuple(edges), diagnostics)

    @property
    def _time(self) -> str:
        return self.ended.isoformat().replace("+00:00", "Z")

    @property
    def _title(self) -> str:
        why = f": {self.error}" if self.error else ""
        return f"{self.job} {_WORDS.get(self.state, self.state)} at {self._time}{why}"

    def __str__(self) -> str:
        return f"{self._title}\n{self.lineage}"

    def __repr__(self) -> str:
        """Return the same text: a shell shows this."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how it ended, its graph, and a table for each output."""
        return html_of(self.lineage, self.graph(), title=self._title)


def _id(dataset: Dataset) -> str:
    return node_id("dataset", dataset.identifier.namespace, dataset.identifier.name)


def finished_run(state: RunState) -> FinishedRun:
    """
    Return a run that has ended.

    Args:
        state: its last state, after redaction.
    """
    outputs = tuple((output.dataset, output.lineage or ColumnLineage(())) for output in state.outputs)
    return FinishedRun(
        state.job.name,
        state.job.namespace,
        state.run_id,
        state.event_type,
        state.event_time,
        state.failure.message if state.failure is not None else None,
        Lineage(tuple(each.dataset for each in state.inputs), outputs, state.gaps),
    )


def last_run(spark: SparkSession, timeout_seconds: float = 10.0) -> FinishedRun | None:
    """
    Return the last finished run of a session's application, with its lineage; a notebook shows it as a graph.

    Args:
        spark: a session to whose application the listener is attached.
        timeout_seconds: the longest time to wait for events that Spark has not reported yet.

    Returns:
        The run; None if none has ended, and in a forked process.

    Raises:
        RegistrationError: no listener is attached to the application.
    """
    handle = handle_of(getattr(spark, "_sc", None))
    if handle is None:
        raise RegistrationError("no listener is attached to this session: register() attaches one")
    state = handle.last_run(timeout_seconds)
    return None if state is None else finished_run(state)
