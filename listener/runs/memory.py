"""What the plan in a record says, with what earlier plans of the application left behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import Dataset
from openlineage_pyspark.facets.model.lineage import ColumnLineage
from openlineage_pyspark.facets.model.plan import Plan
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage import Memory, PlanLineage, lineage_of_plan
from openlineage_pyspark.facets.trace.solve import ROWS
from openlineage_pyspark.listener.guard import Caught, Guard
from openlineage_pyspark.listener.probe.decode import decode_plan

_REMEMBERED = 50_000


def session_of(plan: Plan, metastore: str | None) -> Session:
    """
    What the session of a plan says about names.

    Args:
        plan: as the probe encoded it, with its session.
        metastore: `hive.metastore.uris`, which counts where the session's catalog is Hive's.
    """
    catalog = plan.session.get("catalog") or "in-memory"
    return Session(plan.session.get("warehouse"), metastore if catalog == "hive" else None, catalog)


class PlanReader:
    """Reads the plans of one application in their order."""

    def __init__(self, metastore: str | None, guard: Guard) -> None:
        """
        Begin without any memory.

        Args:
            metastore: `hive.metastore.uris`, for the sessions whose catalog is Hive's.
            guard: what a fault in the reading of one plan is caught by.
        """
        self._metastore = metastore
        self._guard = guard
        self._datasets: dict[int, tuple[Dataset, ...]] = {}
        self._sources: dict[int, Any] = {}
        self._rows: dict[int, Any] = {}

    def read(self, record: Mapping[str, Any]) -> PlanLineage:
        """What the plan in a record says; of one that could not be read, that it could not."""
        why = record.get("fault", "see the log")
        if "plan" in record:
            found = self._guard.attempt("reading a plan", self._lineage_of, record)
            if not isinstance(found, Caught):
                return found
            why = f"{found.name}, see the log"
        remark = Gap(record.get("class", "plan"), f"its lineage is not known: it could not be read ({why})")
        columns = None if record.get("command") else ColumnLineage((), ())
        return PlanLineage(columns=columns, gaps=(remark,), operators=1)

    def remember(self, plan_lineage: PlanLineage) -> None:
        """Keep what a plan's output comes from, where its rows go on without it: checkpoints and micro-batches."""
        rows = plan_lineage.results.get(ROWS, {})
        for id_, sources in plan_lineage.results.items():
            self._datasets[id_] = plan_lineage.inputs
            self._sources[id_] = sources
            self._rows[id_] = rows
        for table in (self._datasets, self._sources, self._rows):
            while len(table) > _REMEMBERED:
                del table[next(iter(table))]

    def _lineage_of(self, record: Mapping[str, Any]) -> PlanLineage:
        plan = decode_plan(record["plan"])
        memory = Memory(self._datasets, self._sources, self._rows)
        return lineage_of_plan(plan, session_of(plan, self._metastore), memory, is_command=record.get("command", False))
