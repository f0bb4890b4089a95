"""`show` names the views that a run reads, which no edge of its columns names."""

from __future__ import annotations

import json
from typing import Any


def view(name: str) -> dict[str, Any]:
    return {"namespace": "file:///d/warehouse", "name": name, "facets": {"datasetType": {"datasetType": "VIEW"}}}


def complete(*inputs: dict[str, Any]) -> dict[str, Any]:
    """Return a run that copies the column `id` of a table to another one."""
    table = {"namespace": "file", "name": "/d/warehouse/air.db/flights"}
    way = {"type": "DIRECT", "subtype": "IDENTITY"}
    lineage = {"fields": {"id": {"inputFields": [{**table, "field": "id", "transformations": [way]}]}}}
    report = {"namespace": "file", "name": "/d/warehouse/air.db/report", "facets": {"columnLineage": lineage}}
    return {
        "eventType": "COMPLETE",
        "eventTime": "2026-01-01T00:00:03Z",
        "producer": "https://example.org",
        "run": {"runId": "a", "facets": {}},
        "job": {"namespace": "demo", "name": "app.copy"},
        "inputs": [*inputs, table],
        "outputs": [report],
    }


def test_the_views_that_are_read_stand_above_the_columns(written: Any, run: Any) -> None:
    code, shown, _ = run("show", written(complete(view("air.late"), view("air.later"))))

    assert code == 0
    assert shown.splitlines()[1:7] == [
        "paths are relative to file:/d/warehouse/air.db",
        "",
        "report: rows unknown, COMPLETE",
        "  reads the views air.late, air.later",
        "  column  from        how",
        "  id      flights.id  IDENTITY",
    ]


def test_without_a_view_there_is_no_such_line(written: Any, run: Any) -> None:
    assert "reads" not in run("show", written(complete()))[1]


def test_a_program_gets_the_views_too(written: Any, run: Any) -> None:
    code, shown, _ = run("show", "--format", "json", written(complete(view("air.late"))))

    assert code == 0
    (output,) = json.loads(shown)["result"]["outputs"]
    assert output["views"] == [{"namespace": "file:///d/warehouse", "name": "air.late"}]
