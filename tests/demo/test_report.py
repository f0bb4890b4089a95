"""The report that ends the demo, on event files written by hand."""

import json
import subprocess
import sys
from pathlib import Path

REPORT = Path(__file__).parents[2] / "demo" / "report.py"
DIRECT = {"type": "DIRECT", "masking": False}
INDIRECT = {"type": "INDIRECT", "masking": False}


def run_report(path: Path) -> subprocess.CompletedProcess[str]:
    """Run the report as the demo does."""
    command = [sys.executable, "-I", str(REPORT), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def edge(name: str, field: str, **transformation: object) -> dict[str, object]:
    """An input field of the columnLineage facet."""
    return {"namespace": "file", "name": name, "field": field, "transformations": [transformation]}


def event(kind: str, second: int, run: str, job: str, **more: object) -> dict[str, object]:
    """A run event with the parts that the report reads."""
    return {
        "eventType": kind,
        "eventTime": f"2026-01-01T00:00:{second:02d}Z",
        "run": {"runId": run, "facets": more.pop("run_facets", {})},
        "job": {"namespace": "demo", "name": job},
        "inputs": [{"namespace": "file", "name": "/d/landing/flights"}],
        "outputs": [],
        **more,
    }


def daily(rows: int, **lineage: object) -> dict[str, object]:
    """The output `daily` with its rows and its columnLineage facet."""
    return {
        "namespace": "file",
        "name": "/d/warehouse/daily",
        "facets": {
            "schema": {"fields": [{"name": "day"}, {"name": "flights"}, {"name": "source"}]},
            "symlinks": {"identifiers": [{"namespace": "x", "name": "default.daily", "type": "TABLE"}]},
            "columnLineage": lineage,
        },
        "outputFacets": {"outputStatistics": {"rowCount": rows}},
    }


LINEAGE = {
    "fields": {
        "flights": {
            "inputFields": [edge("/d/landing/flights", "id", **DIRECT, subtype="AGGREGATION", description="count(id)")]
        },
        "day": {"inputFields": [edge("/d/landing/flights", "day", **DIRECT, subtype="IDENTITY", description="day")]},
    },
    "dataset": [edge("/d/landing/flights", "day", **INDIRECT, subtype="GROUP_BY")],
}


def write(path: Path, *events: dict[str, object]) -> Path:
    """Write events as the file transport does."""
    path.write_text("".join(json.dumps(e) + "\n" for e in events))
    return path


def test_each_output_is_shown_with_its_columns_in_schema_order_then_the_runs(tmp_path: Path) -> None:
    """Identity shows no expression; a column without a source says so; row-wide sources come last."""
    output = daily(1095, **LINEAGE)
    path = write(
        tmp_path / "events.ndjson",
        event("START", 0, "a", "app"),
        event("START", 1, "b", "app.ctas.daily"),
        event("COMPLETE", 3, "b", "app.ctas.daily", outputs=[output]),
        event("COMPLETE", 9, "a", "app"),
    )

    shown = run_report(path)

    assert shown.stderr == ""
    assert shown.stdout.splitlines() == [
        "COLUMN LINEAGE",
        "paths are below /d in file",
        "",
        "default.daily = warehouse/daily: 1,095 rows, COMPLETE",
        "  column       from                 how",
        "  day          landing/flights.day  IDENTITY",
        "  flights      landing/flights.id   AGGREGATION  count(id)",
        "  source       -                    no source column",
        "  (every row)  landing/flights.day  GROUP_BY",
        "",
        "RUNS",
        "  job             state      rows  seconds",
        "  app             COMPLETE      -  9.0",
        "  app.ctas.daily  COMPLETE  1,095  2.0",
        "",
        f"4 events in {path}",
    ]


def test_a_failed_run_is_shown_with_its_error_and_leaves_the_output_to_the_run_that_completed(
    tmp_path: Path,
) -> None:
    """A refused second write does not hide how the data came about."""
    error = {"errorMessage": {"message": "path exists\n  at line 1", "programmingLanguage": "JAVA"}}
    path = write(
        tmp_path / "events.ndjson",
        event("COMPLETE", 1, "a", "first", outputs=[daily(5, **LINEAGE)]),
        event("FAIL", 2, "b", "second", outputs=[daily(0, **LINEAGE)], run_facets=error),
    )

    lines = run_report(path).stdout.splitlines()

    assert [line for line in lines if "warehouse/daily" in line] == [
        "default.daily = warehouse/daily: 5 rows, COMPLETE"
    ]
    runs = lines.index("RUNS")
    assert lines[runs + 1 : runs + 5] == [
        "  job     state     rows  seconds",
        "  first   COMPLETE     5  0.0",
        "  second  FAIL         0  0.0",
        "      path exists at line 1",
    ]


def test_no_line_is_wider_than_120_characters(tmp_path: Path) -> None:
    """Long names lose their middle, long expressions their end."""
    long = {"a" * 80: {"inputFields": [edge("/d/" + "b" * 90, "c" * 90, **DIRECT, subtype="TRANSFORMATION",
                                            description="d + " * 90)]}}  # fmt: skip
    path = write(
        tmp_path / "events.ndjson",
        event("COMPLETE", 1, "a", "j" * 200, outputs=[daily(5, fields=long)]),
    )

    lines = run_report(path).stdout.splitlines()

    assert max(map(len, lines[:-1])) == 120
    assert any("aaa...aaa" in line and line.endswith("...") for line in lines)


def test_a_missing_event_file_is_named_with_the_setting_that_makes_it(tmp_path: Path) -> None:
    """The first thing that goes wrong is a job without the settings."""
    shown = run_report(tmp_path / "absent.ndjson")

    assert shown.returncode == 1
    assert shown.stderr == (
        f"report.py: no events in {tmp_path}/absent.ndjson: "
        "was the job started with spark.openlineage.transport.type=file?\n"
    )


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    """A torn line must not pass for the whole file."""
    path = write(tmp_path / "events.ndjson", event("COMPLETE", 1, "a", "first"))
    path.write_text(path.read_text() + '{"torn')

    shown = run_report(path)

    assert shown.returncode == 1
    assert f"report.py: {path}, line 2 is no JSON: " in shown.stderr
