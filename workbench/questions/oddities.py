"""Diagnostics about a store: damage, future times, names that look alike, and dropped runs."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Literal

import attrs
from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, node_id
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import FOREVER, time_of_micros
from openlineage_pyspark.workbench.pictures.plain import first_of
from openlineage_pyspark.workbench.store.current import latest_present, time_of_now
from openlineage_pyspark.workbench.store.names import names_of_datasets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.model.graph import Graph
    from openlineage_pyspark.workbench.model.kinds import NodeId
    from openlineage_pyspark.workbench.questions.reach.reach import Limits
    from openlineage_pyspark.workbench.store.names import DroppedRuns, QueriedTables

_SHOWN = 3


def bounded(tables: QueriedTables, limits: Limits) -> Limits:
    """
    Return limits under which events that are dated in the future do not count.

    Otherwise one event of 2099, by a clock that is wrong, would state what its job does until 2099.

    Args:
        tables: the store.
        limits: the limits. With a time, they are returned unchanged.
    """
    if limits.as_of is not None or limits.now != FOREVER:
        return limits
    return attrs.evolve(limits, now=time_of_now(tables))


def oddities(tables: QueriedTables) -> tuple[Diagnostic, ...]:
    """Return the diagnostics for every answer of a store: damage, and times in the future."""
    return (*_damage(tables), *_ahead(tables))


_NAMES = {
    "dataset": (
        "SELECT i.dataset_id, d.namespace, d.name FROM dataset d JOIN dataset_identity i ON i.name_id = d.name_id"
    ),
    "job": "SELECT job_id, namespace, name FROM job",
}


def shared_runs(tables: QueriedTables) -> tuple[Diagnostic, ...]:
    """Return the diagnostic about runs that events give to several jobs: each counts for one job, so others lack it."""
    rows = tables.query(
        "SELECT run_id FROM (SELECT run_id, job_id FROM sink_snapshot_lineage "
        "UNION SELECT run_id, job_id FROM source_snapshot_lineage) u WHERE job_id IS NOT NULL AND run_id <> '' "
        "GROUP BY run_id HAVING count(*) > 1 ORDER BY run_id"
    )
    if not rows:
        return ()
    runs = first_of([run for (run,) in rows])
    message = f"these runs occur in events of several jobs; each is counted for one of them: {runs}"
    return (Diagnostic("ambiguous", message, missing=True),)


def text_only_edges(graph: Graph) -> Iterator[Diagnostic]:
    """Yield the diagnostics about the datasets of a graph some of whose edges come from the text of a statement."""
    unsure = {edge.target for edge in graph.edges if edge.paths and edge.least_certainty == "text"}
    owners = {node.dataset for node in graph.nodes if isinstance(node, ColumnNode) and node.id in unsure}
    for node in graph.nodes:
        if isinstance(node, DatasetNode) and node.id in unsure | owners:
            yield text_only(node.label, node.id)


def text_only(label: str, node: NodeId) -> Diagnostic:
    """
    Return the diagnostic about a dataset whose edges come from the text of a statement, and so are less certain.

    Args:
        label: its name for people.
        node: the id of its node.
    """
    message = f"where the columns of {label} come from was taken from the text of a statement, which was not analyzed"
    return Diagnostic("text-only", message, node=node)


def _damage(tables: QueriedTables) -> Iterable[Diagnostic]:
    if tables.damage:
        yield Diagnostic("damaged", f"the store is damaged: {tables.damage}", "stop", missing=True)


def _ahead(tables: QueriedTables) -> Iterable[Diagnostic]:
    sql = "SELECT name, last_time FROM job WHERE last_time > ? ORDER BY last_time DESC, name"
    rows = tables.query(sql, (latest_present(),))
    if rows:
        message = (
            f"events dated in the future, up to {time_of_micros(rows[0][1]).isoformat()}, do not count yet; "
            "their jobs: "
            f"{first_of([name for name, _ in rows])}"
        )
        yield Diagnostic("odd-time", message, missing=True)


def names_alike(tables: QueriedTables, table: Literal["dataset", "job"]) -> tuple[Diagnostic, ...]:
    """Return the diagnostic about names that look the same but have different characters."""
    spelled: dict[tuple[str, str], set[int]] = {}
    for id_, namespace, name in tables.query(_NAMES[table]):
        # A name in ASCII has only one form.
        if not (namespace.isascii() and name.isascii()):
            same = unicodedata.normalize("NFC", namespace), unicodedata.normalize("NFC", name)
            spelled.setdefault(same, set()).add(id_)
    odd = sorted(name for (_, name), every in spelled.items() if len(every) > 1)
    if not odd:
        return ()
    message = f"several {table}s have names that differ only in their Unicode form (NFC, NFD): {first_of(odd)}"
    return (Diagnostic("ambiguous", message),)


def dropped_of_datasets(tables: QueriedTables, datasets: Iterable[int]) -> Iterator[Diagnostic]:
    """
    Yield the diagnostics that name the dropped runs that read or wrote some datasets.

    Args:
        tables: the store.
        datasets: the ids of the datasets.
    """
    dropped = tables.dropped()
    if not dropped:
        return
    names = names_of_datasets(tables, datasets)
    yield from dropped_diagnostics(each for each in dropped if each.name_id in names)


def dropped_diagnostics(dropped: Iterable[DroppedRuns]) -> Iterator[Diagnostic]:
    """Yield the diagnostics about dropped runs: one for each of the first jobs, and the number of the others."""
    jobs: dict[tuple[str, str], tuple[int, int]] = {}
    for each in dropped:
        # One run may have read and written several datasets.
        runs, last = jobs.get(each[:2], (0, each.last_time))
        jobs[each[:2]] = max(runs, each.runs), max(last, each.last_time)
    for (namespace, name), (runs, last) in sorted(jobs.items())[:_SHOWN]:
        until = time_of_micros(last).strftime("%Y-%m-%d %H:%M:%S")
        count, are = ("1 run", "is") if runs == 1 else (f"{runs:,} runs", "are")
        message = f"{count} of the job {name} {are} no longer kept, the last of {until}"
        yield Diagnostic("expired", message, missing=True, node=node_id("job", namespace, name))
    if len(jobs) > _SHOWN:
        message = f"runs of {len(jobs) - _SHOWN:,} more jobs are no longer kept"
        yield Diagnostic("expired", message, missing=True)
