"""A pipeline without its end: from the probe's records to states of runs."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

from openlineage_pyspark.facets.events.options import EventOptions
from openlineage_pyspark.facets.model.run import Engine, RunReference, RunState
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.pipeline import Pipeline
from openlineage_pyspark.listener.probe.records import parse
from openlineage_pyspark.listener.runs.application import Application
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.memory import MemoryTransport

RUN = RunReference("01941f29-7c00-7000-8000-000000000001", "team", "app")
NOW = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)


class Assembled:
    """From the probe's records to states of runs: a pipeline without its end."""

    def __init__(self, guard: Guard | None = None, **more: Any) -> None:
        application = Application("app-1", NOW, "team", "app", RUN, RUN, Engine("4.0.0"), **more)
        delivery = Delivery(MemoryTransport())
        self.pipeline = Pipeline(application, EventOptions(), (), delivery, guard or Guard())

    def feed(self, record: dict[str, Any]) -> list[RunState]:
        """Return the states that a record makes known."""
        return self.pipeline.states(parse(json.dumps(record)))

    def abandon(self, lost: int = 0) -> list[RunState]:
        """Return the states that the end of the application makes known."""
        return self.pipeline.abandon(NOW, lost)
