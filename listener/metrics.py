"""The counters of one application's listener: `Handle.metrics` returns them, the terminal event contains them."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from openlineage_pyspark.transport.delivery.counts import ReceiverMetrics


@attrs.frozen(kw_only=True)
class Metrics:
    """
    The counters of one application's listener so far.

    Args:
        events: events made, including those of the application's own run.
        runs: runs inside the application that have ended.
        edges: edges of `columnLineage` in the terminal events of these runs.
        edges_in_doubt: how many of the edges are not exact, or belong to a run with a diagnostic.
        remarks: diagnostics in `extractionError` of these terminal events.
        opaque_code: kind of code that can't be read -> how often the plans of these runs contain it.
        faults: exceptions that the listener caught.
        lost_records: records that the probe dropped because the listener did not take them in time; 0 before the end.
        dropped_by_spark: events that Spark dropped because the listener's queue was full.
        receivers: the outcomes of the events at each receiver.
    """

    events: int = 0
    runs: int = 0
    edges: int = 0
    edges_in_doubt: int = 0
    remarks: int = 0
    opaque_code: Mapping[str, int] = attrs.Factory(dict)
    faults: int = 0
    lost_records: int = 0
    dropped_by_spark: int = 0
    receivers: tuple[ReceiverMetrics, ...] = ()

    def members(self) -> tuple[tuple[str, object], ...]:
        """Return the names and values of the facet `pyspark_metrics`."""
        found = attrs.asdict(self)
        found["receivers"] = [{_camel(name): value for name, value in each.items()} for each in found["receivers"]]
        return tuple((_camel(name), value) for name, value in found.items())


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
