"""Says which runs are no longer kept that an answer about the past may lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.model.graph import node_id
from openlineage_pyspark.workbench.model.kinds import Diagnostic
from openlineage_pyspark.workbench.model.times import time_of_micros
from openlineage_pyspark.workbench.store.tables.ids import id_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openlineage_pyspark.workbench.store.names import DroppedRuns, QueriedTables

_SHOWN = 3


def dropped_of_datasets(tables: QueriedTables, datasets: Iterable[int]) -> Iterator[Diagnostic]:
    """
    Yield what says which runs are no longer kept that read or wrote some datasets.

    Args:
        tables: the store.
        datasets: the ids of the datasets.
    """
    dropped = tables.dropped()
    if not dropped:
        return
    names: set[int] = set()
    for listed in id_lists(datasets):
        sql = f"SELECT name_id FROM dataset_identity WHERE dataset_id IN ({listed})"  # noqa: S608 (numbers alone)
        names |= {name_id for (name_id,) in tables.query(sql)}
    yield from dropped_diagnostics(each for each in dropped if each.name_id in names)


def dropped_diagnostics(dropped: Iterable[DroppedRuns]) -> Iterator[Diagnostic]:
    """Yield what says that runs are no longer kept: of the first jobs each, and how many more there are."""
    jobs: dict[tuple[str, str], tuple[int, int]] = {}
    for each in dropped:
        # One run may have read and written several datasets.
        runs, last = jobs.get(each[:2], (0, 0))
        jobs[each[:2]] = max(runs, each.runs), max(last, each.last_time)
    for (namespace, name), (runs, last) in sorted(jobs.items())[:_SHOWN]:
        until = time_of_micros(last).strftime("%Y-%m-%d %H:%M:%S")
        are = "1 run is" if runs == 1 else f"{runs:,} runs are"
        message = f"{are} no longer kept of the job {name}, the last of {until}"
        yield Diagnostic("expired", message, missing=True, node=node_id("job", namespace, name))
    if len(jobs) > _SHOWN:
        message = f"runs of {len(jobs) - _SHOWN:,} more jobs are no longer kept"
        yield Diagnostic("expired", message, missing=True)
