"""Streams of lines from a socket (`format("socket")`)."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets.source import Relation, Session, by_name, source
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier, fields_of
from openlineage_pyspark.facets.model.plan import Operator, Plan

_STREAMING = "org.apache.spark.sql.execution.streaming"


# Up to Spark 3.5, a stream's relation has its source and not its table.
@source(
    {
        f"{_STREAMING}.sources": "TextSocketTable TextSocketMicroBatchStream",
        f"{_STREAMING}.continuous": "TextSocketContinuousStream",
    },
    reads={"host": "@host", "port": "@port"},
)
def socket(plan: Plan, operator: Operator, _session: Session) -> Relation | None:
    """Resolve a stream of lines from a server, which is named by its host and port."""
    server = operator.described("table") or operator.described("stream")
    host, port = (server.text("host"), server.values.get("port")) if server is not None else (None, None)
    if host is None:
        return None
    return by_name(operator, Dataset(Identifier(f"socket://{host}:{port}", "lines"), fields_of(plan, operator)))
