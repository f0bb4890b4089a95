"""`show`, on event files written by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

DIRECT = {"type": "DIRECT", "masking": False}
INDIRECT = {"type": "INDIRECT", "masking": False}


def edge(name, field, **transformation):
    """An input field of the columnLineage facet."""
    return {"namespace": "file", "name": name, "field": field, "transformations": [transformation]}


def event(kind, second, run_id, job, **more):
    """A run event with the parts that the command reads."""
    return {
        "eventType": kind,
        "eventTime": f"2026-01-01T00:00:{second:02d}Z",
        "run": {"runId": run_id, "facets": more.pop("run_facets", {})},
        "job": {"namespace": "demo", "name": job},
        "inputs": [{"namespace": "file", "name": "/d/landing/flights"}],
        "outputs": [],
        **more,
    }


def daily(rows, **lineage):
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


FLIGHTS = "/d/landing/flights"
LINEAGE = {
    "fields": {
        "flights": {"inputFields": [edge(FLIGHTS, "id", **DIRECT, subtype="AGGREGATION", description="count(id)")]},
        "day": {"inputFields": [edge(FLIGHTS, "day", **DIRECT, subtype="IDENTITY", description="day")]},
    },
    "dataset": [edge(FLIGHTS, "day", **INDIRECT, subtype="GROUP_BY")],
}
JOB = (
    event("START", 0, "a", "app"),
    event("START", 1, "b", "app.ctas.daily"),
    event("COMPLETE", 3, "b", "app.ctas.daily", outputs=[daily(1095, **LINEAGE)]),
    event("COMPLETE", 9, "a", "app"),
)
SHOWN = """\
COLUMN LINEAGE
paths are below /d in file

default.daily = warehouse/daily: 1,095 rows, COMPLETE
  column       from                 how
  day          landing/flights.day  IDENTITY
  flights      landing/flights.id   AGGREGATION  count(id)
  source       -                    no source column
  (every row)  landing/flights.day  GROUP_BY

RUNS
  state      rows  seconds  job
  COMPLETE      -      9.0  app
  COMPLETE  1,095      2.0  app.ctas.daily
"""


def test_each_output_is_shown_with_its_columns_in_schema_order_then_the_runs(written, run):
    """Identity shows no expression; a column without a source says so; what decides about all rows comes last."""
    assert run("show", written(*JOB)) == (0, SHOWN, "")


def test_a_gzipped_file_is_shown_alike_whatever_its_name(tmp_path, run):
    path = tmp_path / "events"
    path.write_bytes(gzip.compress("".join(json.dumps(each) + "\n" for each in JOB).encode()))

    assert run("show", str(path)) == (0, SHOWN, "")


def test_several_files_are_shown_as_one(written, run):
    """A run may begin in a file and end in the next one, when files are rotated."""
    first, second = written(*JOB[:2], name="1.ndjson"), written(*JOB[2:], name="2.ndjson")

    assert run("show", first, second) == (0, SHOWN, "")


def test_the_installed_command_reads_standard_input(installed):
    """As people call it, at the end of a pipe."""
    lines = "".join(json.dumps(each) + "\n" for each in JOB)

    assert installed("show", "-", given=lines) == (0, SHOWN, "")


def test_a_failed_run_is_shown_with_its_error_and_leaves_the_output_to_the_run_that_completed(written, run):
    """A refused second write does not hide how the data came about."""
    error = {"errorMessage": {"message": "path exists\n  at line 1", "programmingLanguage": "JAVA"}}
    file = written(
        event("COMPLETE", 1, "a", "first", outputs=[daily(5, **LINEAGE)]),
        event("FAIL", 2, "b", "second", outputs=[daily(0, **LINEAGE)], run_facets=error),
    )

    lines = run("show", file)[1].splitlines()

    assert [line for line in lines if "warehouse/daily" in line] == [
        "default.daily = warehouse/daily: 5 rows, COMPLETE"
    ]
    assert lines[lines.index("RUNS") + 1 :] == [
        "  state     rows  seconds  job",
        "  COMPLETE     5      0.0  first",
        "  FAIL         0      0.0  second",
        "                             path exists at line 1",
    ]


def other(name):
    """An output without further names and with one column."""
    lineage = {"fields": {"total": {"inputFields": [edge("/d/warehouse/daily", "flights", **DIRECT)]}}}
    return {"namespace": "file", "name": name, "facets": {"columnLineage": lineage}}


def test_the_output_filter_takes_a_table_a_path_or_the_last_part_of_either_and_leaves_the_other_runs_out(written, run):
    file = written(*JOB, event("COMPLETE", 4, "c", "app.total", outputs=[other("/d/out/total")]))

    for name in ("default.daily", "daily", "warehouse/daily", "/d/warehouse/daily", "file//d/warehouse/daily", "*ily"):
        code, shown, errors = run("show", file, "--output", name)
        assert (code, errors) == (0, "")
        assert shown.split("\n\n")[1:] == [
            SHOWN.split("\n\n")[1],
            "RUNS\n  state      rows  seconds  job\n  COMPLETE  1,095      2.0  app.ctas.daily\n",
        ]


def test_the_column_filter_shows_that_column_of_the_outputs_that_have_it(written, run):
    file = written(*JOB, event("COMPLETE", 4, "c", "app.total", outputs=[other("/d/out/total")]))

    code, shown, _ = run("show", file, "--column", "flights")

    assert code == 0
    assert shown.split("\n\n")[1:-1] == [
        (
            "default.daily = warehouse/daily: 1,095 rows, COMPLETE\n"
            "  column   from                how\n"
            "  flights  landing/flights.id  AGGREGATION  count(id)"
        )
    ]


def test_a_filter_that_fits_nothing_names_what_there_is(written, run):
    file = written(*JOB)

    for arguments in (("--output", "dialy"), ("--column", "dya"), ("--output", "daily", "--column", "x")):
        assert run("show", file, *arguments) == (
            1,
            "",
            (
                "openlineage-pyspark: no output of this name has such a column; "
                "outputs with column lineage: default.daily = warehouse/daily\n"
            ),
        )


def test_in_a_narrow_output_a_row_is_one_line_and_loses_its_middle_or_its_end(written, run, monkeypatch):
    """Both ends of a name tell most."""
    long = {"a" * 80: {"inputFields": [edge("/d/" + "b" * 90, "c" * 90, **DIRECT, subtype="TRANSFORMATION",
                                            description="d + " * 90)]}}  # fmt: skip
    file = written(event("COMPLETE", 1, "a", "j" * 200, outputs=[daily(5, fields=long)]))
    monkeypatch.setenv("COLUMNS", "120")

    lines = run("show", file)[1].splitlines()

    assert max(map(len, lines)) <= 120
    assert [line for line in lines if "aaa...aaa" in line and "bbb...ccc" in line and line.endswith("…")]
    assert [line for line in lines if line.startswith("  COMPLETE") and line.endswith("jjj...jjj" + "j" * 28)]


def test_elsewhere_nothing_is_cut(written, run):
    long = {"a" * 80: {"inputFields": [edge("/d/x", "c" * 90, **DIRECT, subtype="TRANSFORMATION",
                                            description="d + " * 900)]}}  # fmt: skip
    shown = run("show", written(event("COMPLETE", 1, "a", "j" * 2000, outputs=[daily(5, fields=long)])))[1]

    assert "d + " * 899 + "d +\n" in shown
    assert "j" * 2000 in shown


def test_what_a_terminal_would_act_on_is_written_as_an_escape(written, run):
    """A job's name is whatever somebody has chosen."""
    shown = run("show", written(event("COMPLETE", 1, "a", "clear\x1b[2J\nscreen é 表")))[1]

    assert shown.splitlines()[-1].endswith(r"clear\x1b[2J\nscreen é 表")


def test_a_missing_file_and_an_empty_one_are_named(tmp_path, written, run):
    """The first thing that goes wrong is a job without the settings."""
    absent = str(tmp_path / "absent.ndjson")

    assert run("show", absent) == (
        1, "", f"openlineage-pyspark: {absent} can't be read (No such file or directory)\n",
    )  # fmt: skip
    empty = written()
    assert run("show", empty) == (
        1,
        "",
        f"openlineage-pyspark: no run events in {empty}: was the job started with a transport of type file?\n",
    )


def test_a_line_that_is_no_event_is_named_and_the_others_are_shown(written, run):
    """A torn line must not pass for the whole file, nor hide the rest of it."""
    file = written(*JOB, {"eventType": "COMPLETE", "run": {"runId": "c"}}, {"hello": "world"}, {"job": {}})
    with Path(file).open("a") as opened:
        opened.write('{"torn')

    code, shown, errors = run("show", file)

    assert (code, shown) == (1, SHOWN)
    assert errors.splitlines()[:2] == [
        f"openlineage-pyspark: {file}:5 has no 'job' where one must be; it is left out",
        f"openlineage-pyspark: {file}:6 is not an OpenLineage event; it is left out",
    ]
    assert errors.splitlines()[2].startswith(f"openlineage-pyspark: {file}:8 is not JSON: ")
    assert len(errors.splitlines()) == 3
