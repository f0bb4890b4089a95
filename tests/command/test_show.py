"""`show`, on event files written by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from support.lineage_events import dataset, lineage, run_event
from support.valid_answers import valid_answer

DIRECT = {"type": "DIRECT", "masking": False}
INDIRECT = {"type": "INDIRECT", "masking": False}


def edge(name, field, **transformation):
    """Return an input field of the columnLineage facet."""
    return {"namespace": "file", "name": name, "field": field, "transformations": [transformation]}


def event(kind, second, run_id, job_name, **more):
    """Return a run event with the parts that the command reads."""
    return {
        "eventType": kind,
        "eventTime": f"2026-01-01T00:00:{second:02d}Z",
        "producer": "https://example.org",
        "run": {"runId": run_id, "facets": more.pop("run_facets", {})},
        "job": {"namespace": "demo", "name": job_name},
        "inputs": [{"namespace": "file", "name": "/d/landing/flights"}],
        "outputs": [],
        **more,
    }


def daily(rows, **lineage):
    """Return the output `daily` with its rows and its columnLineage facet."""
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
        "source": {"inputFields": [], "transformationDescription": "concat('***', 4)"},
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
paths are relative to file:/d/landing

default.daily: 1,095 rows, COMPLETE
  column       from         how
  day          flights.day  IDENTITY
  flights      flights.id   AGGREGATION  count(id)
  source       -            no source column  concat('***', 4)
  (every row)  flights.day  GROUP_BY

RUNS on 2026-01-01, times in UTC
  state     started   seconds   rows  run  job
  COMPLETE  00:00:00      9.0      -  a    app
  COMPLETE  00:00:01      2.0  1,095  b    app.ctas.daily
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


@pytest.mark.slow
def test_the_installed_command_reads_standard_input(installed):
    """People call it at the end of a pipe."""
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

    assert [line for line in lines if "default.daily" in line] == ["default.daily: 5 rows, COMPLETE"]
    assert lines[lines.index("RUNS on 2026-01-01, times in UTC") + 1 :] == [
        "  state     started   seconds  rows  run  job",
        "  COMPLETE  00:00:01      0.0     5  a    first",
        "  FAIL      00:00:02      0.0     0  b    second",
        "                                          path exists at line 1",
    ]


def changed(output, change):
    """Return an output whose dataset was changed in that way."""
    facets = {**output["facets"], "lifecycleStateChange": {"lifecycleStateChange": change}}
    return {**output, "facets": facets}


TRUNCATED = changed({"namespace": "file", "name": "/d/warehouse/daily", "facets": {}}, "TRUNCATE")
OTHER = {"fields": {"flights": {"inputFields": [edge("/d/landing/more", "n", **DIRECT, subtype="IDENTITY")]}}}


@pytest.mark.parametrize(
    ("outputs", "shown"),
    [
        # Two statements fill the table; the second one does so twice.
        (
            [changed(daily(5, **LINEAGE), "CREATE"), daily(3, **OTHER), daily(4, **OTHER)],
            ["5 rows, COMPLETE, run 0", "4 rows, COMPLETE, run 2"],
        ),
        # What was there before an overwrite is gone.
        ([daily(5, **LINEAGE), changed(daily(3, **OTHER), "OVERWRITE")], ["3 rows, COMPLETE"]),
        # A truncated table is shown as it was filled last, and what fills it then alone.
        ([daily(5, **LINEAGE), TRUNCATED], ["5 rows, COMPLETE"]),
        ([daily(5, **LINEAGE), TRUNCATED, daily(3, **OTHER)], ["3 rows, COMPLETE"]),
    ],
)
def test_a_table_is_shown_once_for_each_way_in_which_its_rows_came_since_it_was_replaced(written, run, outputs, shown):
    file = written(*(event("COMPLETE", at, str(at), f"job {at}", outputs=[each]) for at, each in enumerate(outputs)))

    lines = run("show", file)[1].splitlines()

    assert [line for line in lines if line.startswith("default.daily")] == [f"default.daily: {each}" for each in shown]


def test_a_run_without_an_end_is_called_so_and_an_end_that_is_sent_again_stays_one(written, run):
    """A run that was killed is not mistaken for one that has just begun."""
    ended = [event("START", 1, "0199-b", "ended"), event("COMPLETE", 2, "0199-b", "ended")]
    file = written(event("START", 0, "0199-a", "killed"), event("RUNNING", 5, "0199-a", "killed"), *ended, ended[0])

    assert run("show", file)[1].split("times in UTC\n")[1] == (
        "  state     started   seconds  rows  run  job\n"
        "  no end    00:00:00        -     -  a    killed\n"
        "  COMPLETE  00:00:01      1.0     -  b    ended\n"
    )


def test_runs_of_several_days_show_the_day(written, run):
    later = {**event("COMPLETE", 0, "b", "late"), "eventTime": "2026-02-03T04:05:06+01:00"}

    lines = run("show", written(event("COMPLETE", 0, "a", "early"), later))[1].splitlines()

    assert lines[-4:] == [
        "RUNS, times in UTC",
        "  state     started              seconds  rows  run  job",
        "  COMPLETE  2026-01-01 00:00:00      0.0     -  a    early",
        "  COMPLETE  2026-02-03 03:05:06      0.0     -  b    late",
    ]


def test_a_source_is_called_by_its_table_and_two_tables_of_one_name_by_their_paths(written, run):
    def table(path, name):
        links = {"identifiers": [{"namespace": "x", "name": name, "type": "TABLE"}]}
        return {"namespace": "file", "name": path, "facets": {"symlinks": links}}

    lineage = {"fields": {"c": {"inputFields": [edge(path, "c", **DIRECT) for path in ("/w/a", "/w/b", "/x/b")]}}}
    inputs = [table("/w/a", "db.a"), table("/w/b", "db.b"), table("/x/b", "db.b")]
    file = written(event("COMPLETE", 1, "r", "j", inputs=inputs, outputs=[daily(1, **lineage)]))

    lines = run("show", file)[1].splitlines()

    assert lines[1:9] == [
        "paths are relative to file:/",
        "",
        "default.daily: 1 row, COMPLETE",
        "  column   from                  how",
        "  day      -                     no source column",
        "  flights  -                     no source column",
        "  source   -                     no source column",
        "  c        db.a.c, w/b.c, x/b.c  DIRECT, unstated",
    ]


def other(name):
    """Return an output without further names and with one column."""
    lineage = {"fields": {"total": {"inputFields": [edge("/d/warehouse/daily", "flights", **DIRECT)]}}}
    return {"namespace": "file", "name": name, "facets": {"columnLineage": lineage}}


def test_the_output_filter_takes_a_table_a_path_or_the_last_part_of_either_and_leaves_the_other_runs_out(written, run):
    file = written(*JOB, event("COMPLETE", 4, "c", "app.total", outputs=[other("/d/out/total")]))

    # The other output makes the paths longer.
    shown_alone = run("show", file)[1].split("\n\n")[1]
    assert "flights      landing/flights.id   AGGREGATION" in shown_alone
    for name in ("default.daily", "daily", "warehouse/daily", "/d/warehouse/daily", "file//d/warehouse/daily", "*ily"):
        code, shown, errors = run("show", file, "--dataset", name)
        assert (code, errors) == (0, "")
        assert shown.split("\n\n")[1:] == [
            shown_alone,
            (
                "RUNS on 2026-01-01, times in UTC\n"
                "  state     started   seconds   rows  run  job\n"
                "  COMPLETE  00:00:01      2.0  1,095  b    app.ctas.daily\n"
            ),
        ]


def test_the_column_filter_shows_that_column_of_the_outputs_that_have_it(written, run):
    file = written(*JOB, event("COMPLETE", 4, "c", "app.total", outputs=[other("/d/out/total")]))

    code, shown, _ = run("show", file, "--column", "flights")

    assert code == 0
    assert shown.split("\n\n")[1:-1] == [
        (
            "default.daily: 1,095 rows, COMPLETE\n"
            "  column   from                how\n"
            "  flights  landing/flights.id  AGGREGATION  count(id)"
        )
    ]


def test_a_filter_that_fits_nothing_names_what_there_is(written, run):
    file = written(*JOB)

    for arguments, answer in (
        (("--dataset", "dialy"), "no output dialy; outputs with column lineage: default.daily"),
        (("--column", "dya"), "no column dya; columns: day, flights, source"),
        (("--dataset", "daily", "--column", "x"), "no column x; columns: day, flights, source"),
    ):
        assert run("show", file, *arguments) == (2, "", f"openlineage-pyspark: {answer}\n")


def test_in_a_narrow_output_a_long_text_goes_on_in_the_next_line_and_a_columns_name_loses_its_middle(
    written, run, monkeypatch
):
    long = {"a" * 80: {"inputFields": [edge("/d/" + "b" * 90, "c" * 90, **DIRECT, subtype="TRANSFORMATION",
                                            description="d + " * 90)]}}  # fmt: skip
    file = written(event("COMPLETE", 1, "a", "j" * 200, outputs=[daily(5, fields=long)]))
    monkeypatch.setenv("COLUMNS", "120")

    lines = run("show", file)[1].splitlines()

    assert max(map(len, lines)) <= 120
    assert [line for line in lines if "aaa…aaa" in line]
    text = "".join(lines)
    assert text.count("+") == 90
    assert sum(line.count("j") for line in lines if "COLUMN" not in line and "job" not in line) == 200


def test_at_80_columns_names_of_an_ordinary_length_are_whole(written, run, monkeypatch):
    source = edge("/d/landing/flights", "departure_delay", **DIRECT, subtype="AGGREGATION", description="avg(x) " * 9)
    lineage = {"fields": {"mean_departure_delay": {"inputFields": [source]}}}
    monkeypatch.setenv("COLUMNS", "80")

    lines = run("show", written(event("COMPLETE", 1, "a", "app", outputs=[daily(5, **lineage)])))[1].splitlines()

    assert max(map(len, lines)) <= 80
    assert [line for line in lines if "mean_departure_delay  flights.departure_delay  AGGREGATION" in line]
    assert "".join(lines).count("avg(x)") == 9


def test_elsewhere_nothing_is_cut_and_no_name_is_broken(written, run):
    long = {"a" * 80: {"inputFields": [edge("/d/x", "c" * 90, **DIRECT, subtype="TRANSFORMATION",
                                            description="d + " * 900)]}}  # fmt: skip
    shown = run("show", written(event("COMPLETE", 1, "a", "j" * 2000, outputs=[daily(5, fields=long)])))[1]

    assert "c" * 90 in shown
    assert "j" * 2000 in shown
    assert shown.count("+") == 900


def test_what_a_terminal_would_act_on_is_written_as_an_escape(written, run):
    """Anybody may choose a job's name."""
    shown = run("show", written(event("COMPLETE", 1, "a", "clear\x1b[2J\nscreen é 表")))[1]

    assert shown.splitlines()[-1].endswith(r"clear\x1b[2J\nscreen é 表")


def test_a_missing_file_and_an_empty_one_are_named(tmp_path, written, run):
    """The most common mistake is a job without the settings."""
    absent = str(tmp_path / "absent.ndjson")

    assert run("show", absent) == (
        2, "", f"openlineage-pyspark: {absent} can't be read: No such file or directory\n",
    )  # fmt: skip
    empty = written()
    assert run("show", empty) == (
        1,
        "",
        f"openlineage-pyspark: no run events in {empty}: name a file that a transport of type file has written\n",
    )


OF_JOB = {"eventTime": "2026-01-01", "producer": "p", "job": {"namespace": "n", "name": "j"}}


def test_a_line_that_is_no_event_is_named_and_the_others_are_shown(written, run):
    """A torn line must not pass for the whole file, nor hide the rest of it."""
    file = written(*JOB, {"eventType": "COMPLETE", "run": {"runId": "c"}}, {"hello": "world"}, OF_JOB)
    with Path(file).open("a") as opened:
        opened.write('{"torn')

    code, shown, errors = run("show", file)

    assert (code, shown) == (1, SHOWN)
    assert errors.splitlines()[:2] == [
        f"openlineage-pyspark: {file}:5 is not an event, and is not counted: `eventTime` is missing or not a string",
        f"openlineage-pyspark: {file}:6 is not an event, and is not counted: `eventTime` is missing or not a string",
    ]
    assert errors.splitlines()[2].startswith(
        f"openlineage-pyspark: {file}:8 is not an event, and is not counted: not JSON: "
    )
    assert len(errors.splitlines()) == 3


def test_a_file_of_something_else_costs_a_few_lines(tmp_path, run):
    path = tmp_path / "app.py"
    path.write_text("import pyspark\n" * 90)

    code, shown, errors = run("show", str(path))

    assert (code, shown) == (1, "")
    lines = errors.splitlines()
    assert lines[0].startswith(f"openlineage-pyspark: {path}:1 is not an event, and is not counted: not JSON: ")
    assert lines[1].startswith(f"openlineage-pyspark: no run events in {path}: ")
    assert len(lines) == 2


def test_of_many_texts_that_are_no_events_the_first_few_are_named(tmp_path, run):
    path = tmp_path / "e.ndjson"
    path.write_text('{"a": 1}\n' * 90)

    lines = run("show", str(path))[2].splitlines()

    assert len(lines) == 5
    assert lines[3] == "openlineage-pyspark: 87 more texts are not events: `validate` names them"


MALFORMED = {
    "run": {"run": []},
    "run id, list": {"run": {"runId": []}},
    "run id, object": {"run": {"runId": {}}},
    "job": {"job": "x"},
    "job name": {"job": {"namespace": "demo", "name": 7}},
    "event type": {"eventType": {}},
    "producer": {"producer": None},
    "input": {"inputs": [None]},
    "time, missing": {"eventTime": None},
    "time, number": {"eventTime": 5},
    "time, empty": {"eventTime": ""},
    "time, word": {"eventTime": "yesterday"},
    "time, before year 1": {"eventTime": "0001-01-01T00:00:00+23:59"},
    "time, after year 9999": {"eventTime": "9999-12-31T23:59:59-23:59"},
}


@pytest.mark.parametrize("more", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_event_is_named_and_the_others_are_shown(written, run, more):
    """It lacks something that the specification requires of each event."""
    file = written(*JOB, event("COMPLETE", 3, "z", "wrong", **more))

    code, shown, errors = run("show", file)

    assert (code, shown) == (1, SHOWN)
    assert errors.startswith(f"openlineage-pyspark: {file}:5 is not an event, and is not counted: ")
    assert len(errors.splitlines()) == 1


TABLE_WITHOUT_NAME = {"identifiers": [{"type": "TABLE", "name": 1}]}
ODD_PARTS = {
    "outputStatistics": {"outputs": [daily(float("inf"), **LINEAGE)]},
    "inputs": {"inputs": {"a": 1}},
    "facets": {"outputs": [{"namespace": "file", "name": "x", "facets": []}]},
    "symlinks": {"outputs": [{"namespace": "f", "name": "x", "facets": {"symlinks": TABLE_WITHOUT_NAME}}]},
    "schema": {"outputs": [daily(1, **LINEAGE) | {"facets": {"schema": {"fields": 1}, "columnLineage": LINEAGE}}]},
    "columnLineage, fields": {"outputs": [daily(1, fields=[])]},
    "columnLineage, field": {"outputs": [daily(1, fields={"day": []})]},
    "columnLineage, inputFields": {"outputs": [daily(1, fields={"day": {"inputFields": {}}})]},
    "columnLineage, source": {"outputs": [daily(1, fields={"day": {"inputFields": [{"namespace": 1, "name": 2}]}})]},
    "columnLineage, type": {"outputs": [daily(1, fields={"day": {"inputFields": [edge("x", "y", type=1)]}})]},
    "columnLineage, description": {
        "outputs": [daily(1, fields={"day": {"inputFields": [edge("x", "y", **DIRECT, description=[])]}})]
    },
    "columnLineage, dataset": {"outputs": [daily(1, fields={}, dataset=7)]},
    "errorMessage, whole": {"run_facets": {"errorMessage": "boom"}},
    "errorMessage, message": {"run_facets": {"errorMessage": {"message": 5}}},
}


@pytest.mark.parametrize(("facet", "more"), ODD_PARTS.items(), ids=ODD_PARTS)
def test_a_part_of_a_type_that_is_not_expected_costs_that_part_and_is_named(written, run, facet, more):
    wrong = json.dumps(event("COMPLETE", 12, "z", "odd", **more)).replace("Infinity", "1e999")
    file = written(*JOB)
    with Path(file).open("a") as opened:
        opened.write(f"{wrong}\n")

    code, shown, errors = run("show", file)

    assert (code, shown.splitlines()[-1].split()[-1]) == (0, "odd")
    assert errors.startswith(f"openlineage-pyspark: {file}:5: ")
    assert f": {facet.partition(',')[0]}: " in errors
    assert errors.endswith("; it is left out\n")


def test_the_sum_of_row_counts_may_have_more_than_64_bits(written, run):
    counts = [{**daily(9 * 10**18, **LINEAGE), "name": f"/d/warehouse/{name}"} for name in "ab"]

    code, shown, errors = run("show", written(event("COMPLETE", 1, "r", "j", outputs=counts)))

    assert (code, errors) == (0, "")
    assert shown.splitlines()[-1] == "  COMPLETE  00:00:01      0.0  18,000,000,000,000,000,000  r    j"


def test_an_event_of_the_future_does_not_count_and_is_named(written, run):
    ahead = {**event("COMPLETE", 2, "s", "j", outputs=[daily(7, **OTHER)]), "eventTime": "9999-12-31T23:59:59Z"}

    code, shown, errors = run("show", written(event("COMPLETE", 1, "r", "j", outputs=[daily(5, **LINEAGE)]), ahead))

    assert (code, [line for line in shown.splitlines() if "daily" in line]) == (0, ["default.daily: 5 rows, COMPLETE"])
    said = "events dated in the future, up to 9999-12-31T23:59:59+00:00, do not count yet; their jobs: j"
    assert errors == f"openlineage-pyspark: {said}\n"


def test_a_row_count_that_is_a_text_leaves_the_rest_of_the_event(written, run):
    made = event("COMPLETE", 3, "b", "app.ctas.daily", outputs=[daily("1095", **LINEAGE)])
    code, shown, errors = run("show", written(*JOB[:2], made))

    assert (code, shown.splitlines()[3:8]) == (0, ["default.daily: rows unknown, COMPLETE", *SHOWN.splitlines()[4:8]])
    assert "outputStatistics: rowCount is a text, not a number of 64 bits; it is left out" in errors


def test_programs_get_json(written, run):
    code, shown, errors = run("show", written(*JOB), "--format", "json", "--column", "flights")

    assert (code, errors) == (0, "")
    document = valid_answer(shown)
    assert (document["question"], document["complete"]) == ("show", True)
    assert document["result"] == {
        "type": "events",
        "outputs": [
            {
                "namespace": "file", "name": "/d/warehouse/daily", "table": "default.daily", "run": "b",
                "state": "COMPLETE", "rows": 1095, "views": [], "reads": [],
                "columns": [
                    {
                        "column": "flights",
                        "expression": "",
                        "sources": [
                            {
                                "namespace": "file", "name": "/d/landing/flights", "field": "id",
                                "paths": [
                                    {
                                        "type": "DIRECT", "subtype": "AGGREGATION", "masking": False,
                                        "certainty": "exact", "expression": "count(id)",
                                    }
                                ],
                            }
                        ],
                    }
                ],
            }
        ],
        "runs": [
            {
                "run": "b", "job": "app.ctas.daily", "state": "COMPLETE", "started": "2026-01-01T00:00:01+00:00",
                "ended": "2026-01-01T00:00:03+00:00", "seconds": 2.0, "rows": 1095, "error": "", "notUnderstood": [],
            }
        ],
    }  # fmt: skip


def told(field, certainty, *, subtype="TRANSFORMATION", kind="DIRECT", masking=False):
    """Return an edge of the facet that says how sure edges are."""
    known = {"namespace": "lake", "name": "s", "field": field, "type": kind, "subtype": subtype, "masking": masking}
    return {**known, "certainty": certainty, "operators": [], "steps": []}


def with_steps(columns, rows=(), **run_facets):
    """Return the event of a run that makes x of three columns, two of them in two ways, and filters by the third."""
    edges = lineage(
        x=[("s", "a", "TRANSFORMATION"), ("s", "b", "TRANSFORMATION"), ("s", "c", "IDENTITY")],
        _rows=[("s", "c", "FILTER")],
    )
    again = {"type": "DIRECT", "subtype": "AGGREGATION", "description": "sum(b)", "masking": True}
    edges["fields"]["x"]["inputFields"][1]["transformations"].append(again)
    steps = {"operators": [], "expressions": [], "columns": columns, "rows": list(rows)}
    made = dataset("t", columns=("x",), columnLineage=edges, pyspark_lineage_steps=steps)
    return run_event("load", "COMPLETE", 1, run="r", inputs=(dataset("s"),), outputs=(made,), **run_facets)


def test_an_edge_that_is_not_exact_says_so(written, run):
    rows = [told("c", "guessed", subtype="FILTER", kind="INDIRECT")]
    # Of the ways of b, the aggregate alone is in doubt.
    sum_of_b = told("b", "text", subtype="AGGREGATION", masking=True)
    columns = {"x": [told("a", "opaque"), told("b", "exact"), sum_of_b]}
    shown = run("show", written(with_steps(columns, rows)))[1].splitlines()

    assert shown[4:9] == [
        "  x            lake/s.a  TRANSFORMATION, opaque  TRANSFORMATION of a",
        "               lake/s.b  TRANSFORMATION  TRANSFORMATION of b",
        "               lake/s.b  AGGREGATION (masked), text  sum(b)",
        "               lake/s.c  IDENTITY",
        "  (every row)  lake/s.c  FILTER, guessed  FILTER of c",
    ]


def test_what_a_run_did_not_understand_makes_its_other_edges_doubtful(written, run):
    gap = {"errors": [{"task": "Their", "errorMessage": "no rule"}, {"errorMessage": "a limit was reached"}]}
    file = written(with_steps({"x": [told("a", "opaque")]}, extractionError=gap))
    shown = run("show", file)[1].splitlines()

    assert shown[3:10] == [
        "  not understood: Their: no rule",
        "  not understood: a limit was reached",
        "  column       from      how",
        "  x            lake/s.a  TRANSFORMATION, opaque  TRANSFORMATION of a",
        "               lake/s.b  TRANSFORMATION, guessed  TRANSFORMATION of b",
        "               lake/s.b  AGGREGATION (masked), guessed  sum(b)",
        "               lake/s.c  IDENTITY, guessed",
    ]
    document = json.loads(run("show", file, "--format", "json")[1])["result"]
    sources = document["outputs"][0]["columns"][0]["sources"]
    assert [[path["certainty"] for path in each["paths"]] for each in sources] == [
        *(["opaque"], ["guessed", "guessed"], ["guessed"]),
    ]
    assert document["runs"][0]["notUnderstood"] == [
        {"operator": "Their", "message": "no rule"},
        {"operator": "", "message": "a limit was reached"},
    ]


@pytest.mark.parametrize("strange", [7, {}, {"columns": {"x": [{**told("a", "opaque"), "certainty": 7}]}, "rows": []}])
def test_a_certainty_in_another_shape_is_left_out(written, run, strange):
    event_ = with_steps({})
    event_["outputs"][0]["facets"]["pyspark_lineage_steps"] = strange
    code, shown, errors = run("show", written(event_))

    assert code == 0
    assert "lake t: pyspark_lineage_steps: " in errors
    assert errors.endswith("; it is left out\n")
    assert len(errors.splitlines()) == 1
    assert "  x            lake/s.a  TRANSFORMATION  TRANSFORMATION of a" in shown.splitlines()


def test_a_certainty_that_is_not_known_is_the_least(written, run):
    shown = run("show", written(with_steps({"x": [told("a", "likely")]})))[1]

    assert "  x            lake/s.a  TRANSFORMATION, unstated  TRANSFORMATION of a" in shown.splitlines()


def test_an_edge_that_says_neither_type_nor_subtype_is_shown_as_unstated(written, run):
    event_ = with_steps({})
    way = event_["outputs"][0]["facets"]["columnLineage"]["fields"]["x"]["inputFields"][0]["transformations"][0]
    del way["type"]
    assert (
        "  x            lake/s.a  TRANSFORMATION  TRANSFORMATION of a" in run("show", written(event_))[1].splitlines()
    )

    del way["subtype"]
    code, shown, errors = run("show", written(event_))
    assert (code, errors) == (0, "")
    assert "  x            lake/s.a  unstated  TRANSFORMATION of a" in shown.splitlines()
