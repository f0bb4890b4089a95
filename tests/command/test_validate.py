"""`validate`, on event files: what was checked, what was not, and where each finding stands."""

from __future__ import annotations

import copy
import gzip
import json
import sys
from pathlib import Path

import pytest
from support.valid_answers import valid_answer

RUN = "0190a000-0000-7000-8000-000000000002"
JOB = "nightly.insert_into_hadoop_fs_relation_command.data_totals"


def test_a_sound_file_has_no_findings_and_what_was_checked_is_said(job, written, run):
    assert run("validate", written(*job)) == (
        0,
        (
            "no findings in 4 events of 2 runs\n"
            "  specification: required fields and their types; for the full JSON Schemas use --spec DIR\n"
            "  order, completeness, names, column lineage, transformations: checked\n"
            "  credentials: checked by their form; a password that is a plain word can't be recognised\n"
        ),
        "",
    )


def test_with_the_specifications_folder_every_facet_is_checked(job, written, run, specification_folder):
    count = 1 + len([*specification_folder.rglob("facets/*.json")])

    assert run("validate", "--spec", str(specification_folder), written(*job)) == (
        0,
        (
            "no findings in 4 events of 2 runs\n"
            f"  specification: {count} JSON Schemas of {specification_folder}\n"
            "  order, completeness, names, column lineage, transformations: checked\n"
            "  credentials: checked by their form; a password that is a plain word can't be recognised\n"
            "  custom facets, checked for the common fields only: pyspark_event (2), "
            "pyspark_session (2), spark_applicationDetails (2), spark_properties (2)\n"
        ),
        "",
    )


def test_what_only_the_schema_of_a_facet_knows_is_found_with_the_folder_alone(
    events, written, run, findings, specification_folder
):
    events[1]["run"]["facets"]["processing_engine"]["version"] = 4
    file = written(*events)

    without, _, _ = run("validate", file)
    code, shown, _ = run("validate", "--spec", str(specification_folder), file)

    assert (without, code) == (0, 1)
    assert findings(shown) == [f"{file}:2: specification: run: processing_engine: $.version: 4 is not of type 'string'"]


def test_what_other_commands_leave_out_is_found(events, written, run, findings, specification_folder):
    events[1]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] = "4"
    file = written(*events)

    place = f"{file}:2: specification: "
    left_out = "outputStatistics: rowCount is a text, not a number of 64 bits; it is left out"
    assert findings(run("validate", file)[1]) == [f"{place}output file /data/totals: {left_out}"]
    assert findings(run("validate", "--spec", str(specification_folder), file)[1]) == [
        f"{place}outputs file /data/totals: outputStatistics: $.rowCount: '4' is not of type 'integer'"
    ]


def test_an_event_of_another_version_of_the_specification_is_no_finding(events, written, run, specification_folder):
    events[1]["schemaURL"] = events[1]["schemaURL"].replace("2-0-2", "2-1-0")
    engine = events[1]["run"]["facets"]["processing_engine"]
    engine["_schemaURL"] = engine["_schemaURL"].replace("1-1-1", "1-2-0")

    assert run("validate", "--spec", str(specification_folder), written(*events))[0] == 0


NO_JSONSCHEMA = (
    2,
    "",
    (
        "openlineage-pyspark: validate: the extra workbench is not installed (missing: jsonschema): "
        "pip install rich sqlglot jsonschema rfc3339-validator rfc3986-validator\n"
    ),
)


def test_without_the_package_that_reads_schemas_it_is_said_what_to_install(events, written, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)

    assert run("validate", written(*events)) == NO_JSONSCHEMA


def test_the_specifications_folder_needs_the_package_that_reads_schemas_too(
    events, written, run, monkeypatch, specification_folder
):
    monkeypatch.setitem(sys.modules, "jsonschema", None)

    assert run("validate", "--spec", str(specification_folder), written(*events)) == NO_JSONSCHEMA


def test_a_folder_without_schemas_is_an_error_of_the_command_line(tmp_path, events, written, run):
    code, shown, errors = run("validate", "--spec", str(tmp_path), written(*events))

    assert (code, shown) == (2, "")
    assert errors.startswith(f"openlineage-pyspark: {tmp_path} holds no OpenLineage schemas (there is no {tmp_path}/")
    assert errors.endswith("name the folder that has OpenLineage.json and facets/\n")


def test_lines_that_are_no_event_are_findings_and_the_rest_is_checked(events, written, run):
    file = written(*events)
    lines = Path(file).read_text().splitlines()
    double = lines[0].replace('"eventType": "START"', '"eventType": "START", "eventType": "FAIL"')
    Path(file).write_text("\n".join([lines[0], "7", double, "", lines[1], '{"a": NaN}']))

    code, shown, _ = run("validate", file)

    assert code == 1
    assert shown.splitlines()[:4] == [
        f"{file}:2: specification: not a JSON object",
        f"{file}:3: specification: not JSON: the key 'eventType' occurs twice in an object",
        f"{file}:6: specification: not JSON: NaN is not a number in JSON",
        "3 findings in 2 events of 1 run",
    ]


def test_an_event_of_the_wrong_shape_is_found_and_keeps_its_place_in_the_run(events, written, run, findings):
    del events[0]["outputs"][0]["name"]
    events[0]["inputs"][0]["facets"] = []
    file = written(*events)

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [
        f"{file}:1: specification: $.inputs[0].facets: [] is not of type 'object'",
        f"{file}:1: specification: $.outputs[0]: 'name' is a required property",
    ]
    assert "  not checked: names and lineage of events that break the specification: 1" in shown.splitlines()


def test_events_of_datasets_and_jobs_alone_are_counted_and_not_judged(events, written, run):
    file = written(*events, {"dataset": {}, "eventTime": "x"})

    code, shown, _ = run("validate", file)

    assert code == 0
    assert "  not checked: 1 event without a run, about a job or a dataset" in shown.splitlines()


def test_a_file_without_events_is_not_called_sound(written, run):
    file = written()
    code, shown, errors = run("validate", file)

    assert (code, errors) == (1, f"openlineage-pyspark: there is no event in {file}\n")
    assert shown.splitlines()[0] == "no findings in 0 events of 0 runs"


def test_events_that_were_sent_again_are_counted_and_not_judged(events, written, run):
    """Delivery is at least once: a replay or an object that was written again begins with what is there already."""
    first, second = written(*events, name="a.ndjson"), written(events[0], events[1], events[1], name="b.ndjson")

    code, shown, errors = run("validate", first, second)

    assert (code, errors) == (0, "")
    assert shown.splitlines()[0] == "no findings in 2 events of 1 run"
    assert "  not checked: 3 repeats, which are allowed: the same event with the same id" in shown.splitlines()


def test_an_event_that_has_the_id_of_another_and_is_another_is_judged(events, written, run, findings):
    again = {**events[0], "producer": "https://example.com/another"}
    file = written(events[0], again, events[1])

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:2: order: 2 START events"]


def test_an_event_that_is_there_twice_without_an_id_is_judged(events, written, run, findings):
    """Nothing says that the document was meant to be an event."""
    del events[0]["run"]["facets"]["pyspark_event"]
    file = written(events[0], *events)

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:2: order: 2 START events"]


def test_a_line_that_was_cut_off_before_it_was_sent_again_is_a_finding(events, written, run):
    """A full disk leaves such a file."""
    file = written(*events)
    start, end = Path(file).read_text().splitlines(keepends=True)
    Path(file).write_text(f"{start}{end[:50]}\n{end}")

    code, shown, _ = run("validate", file)

    assert code == 1
    assert shown.splitlines()[0].startswith(f"{file}:2: specification: not JSON: ")
    assert shown.splitlines()[1] == "1 finding in 2 events of 1 run"


def test_a_gzip_file_that_was_cut_off_is_found_and_what_is_there_is_checked(tmp_path, events, run):
    """A process that was killed leaves such a file."""
    path = tmp_path / "events.gz"
    packed = gzip.compress("".join(json.dumps(event) + "\n" for event in events).encode())
    path.write_bytes(packed[:-4])

    code, shown, _ = run("validate", str(path))

    assert code == 1
    assert shown.splitlines()[0].startswith(f"{path}:3: specification: the gzip data is damaged or cut off")
    assert shown.splitlines()[1] == "1 finding in 2 events of 1 run"


def test_files_are_checked_as_one_stream_and_findings_stand_in_their_order(events, written, run, findings):
    """The files are read in the order of their rotation."""
    other = copy.deepcopy(events[0])
    other["run"]["facets"]["pyspark_event"]["id"] = "another"
    second, first = written(events[1], other, name="a.ndjson"), written(events[0], name="b.ndjson")

    code, shown, _ = run("validate", first, second)

    assert code == 1
    assert findings(shown) == [
        f"{second}:2: order: 2 START events",
        f"{second}:2: order: START after FAIL",
    ]


@pytest.mark.slow
def test_the_installed_command_checks_standard_input(events, installed):
    code, shown, errors = installed("validate", "-", given=json.dumps(events[0]))

    assert (code, errors) == (1, "")
    assert shown.splitlines()[0] == f"-:1: completeness: no terminal event [{JOB}, run {RUN}]"


def test_programs_get_json(events, written, run):
    file = written(events[0])

    code, shown, errors = run("validate", file, "--format", "json")

    assert (code, errors) == (1, "")
    found = valid_answer(shown)["result"]
    assert found["findings"] == [
        {"file": file, "line": 1, "rule": "completeness", "problem": "no terminal event", "run": RUN, "job": JOB}
    ]
    assert (found["events"], found["runs"], found["repeats"]) == (1, 1, 0)
    assert found["remarks"][0].startswith("specification: ")


def test_in_a_terminal_lines_are_wrapped_between_words(events, written, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")

    lines = run("validate", written(*events))[1].splitlines()

    assert max(map(len, lines)) <= 60
    text = " ".join(line.strip() for line in lines)
    assert "credentials: checked by their form; a password that is a plain word can't be recognised" in text
