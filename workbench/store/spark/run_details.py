"""The paths and gaps that the events of runs state, from their JSON: Spark's tables have no versions of jobs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import InvalidEventError
from openlineage_pyspark.workbench.events.read import facts
from openlineage_pyspark.workbench.store.events.rows import identity, parse_event
from openlineage_pyspark.workbench.store.run_details import DetailsOfRuns, PathOfRun, VersionDetails
from openlineage_pyspark.workbench.store.tables.ids import marked_lists

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from openlineage_pyspark.workbench.events.read import EventFacts
    from openlineage_pyspark.workbench.store.names import QueriedTables

_EVENTS = (
    "SELECT run_id, event_id, json FROM event WHERE run_id IN ({}) AND time <= ? "
    "AND (json LIKE '%\"extractionError\"%' OR json LIKE '%\"pyspark_lineage_steps\"%' "
    "OR json LIKE '%\"pyspark_call_site\"%') ORDER BY time, event_id"
)


def details_by_events(tables: QueriedTables, runs: Iterable[str], time: int) -> DetailsOfRuns:
    """
    Return the facts that the events of runs state.

    Args:
        tables: the store.
        runs: the ids of the runs.
        time: until when, microseconds since 1970.
    """
    of_run: dict[str, tuple[Hashable, ...]] = {}
    versions: dict[Hashable, VersionDetails] = {}
    for run, event_id, event in _events(tables, runs, time):
        of_run[run] = (*of_run.get(run, ()), event_id)
        versions[event_id] = VersionDetails(event.run.gaps if event.run is not None else (), tuple(_paths(event)))
    return DetailsOfRuns(of_run, versions)


def call_sites_by_events(tables: QueriedTables, runs: Iterable[str], time: int) -> dict[str, str]:
    """Return the line of the user's Python that ran each run, if an event until a time states it."""
    sites = ((run, event.run.call_site) for run, _, event in _events(tables, runs, time) if event.run is not None)
    return {run: site for run, site in sites if site}


def _events(tables: QueriedTables, runs: Iterable[str], time: int) -> Iterator[tuple[str, str, EventFacts]]:
    for marks, part in marked_lists(sorted(set(runs))):
        for run, event_id, text in tables.query(_EVENTS.format(marks), (*part, time)):
            with suppress(InvalidEventError):
                yield run, event_id, facts(parse_event(text))


def _paths(event: EventFacts) -> Iterator[PathOfRun]:
    for output in event.outputs:
        for source, target, paths in output.edges:
            ends = (identity("dataset", *source[:2]), source.column, identity("dataset", *target[:2]), target.column)
            for path in paths:
                if path.is_traced:
                    yield PathOfRun(*ends, path.path)
