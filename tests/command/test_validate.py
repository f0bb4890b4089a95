"""`validate`: each rule finds the fault that it is there for, and says where."""

from __future__ import annotations

import copy
import gzip
import json
from importlib import metadata
from pathlib import Path

import pytest
from openlineage_pyspark.command import classes
from openlineage_pyspark.command.credentials import KINDS, credentials_in

SCHEMAS = Path(__file__).parents[3] / "shared" / "spec"
needs_schemas = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason="the specification's JSON Schemas are not there: ../shared/spec beside the repository"
)
APPLICATION = "0190a000-0000-7000-8000-000000000001"
RUN = "0190a000-0000-7000-8000-000000000002"
JOB = "nightly.insert_into_hadoop_fs_relation_command.data_totals"
OF_RUN = f" [{JOB}, run {RUN}]"


def findings(shown):
    """Return the lines about the run, without those about all of it."""
    return [line for line in shown.splitlines() if OF_RUN in line]


@pytest.fixture
def job(events):
    """Give an application's events with those of its query between them."""
    begin, end = ({**copy.deepcopy(event), "inputs": [], "outputs": []} for event in events)
    for event in (begin, end):
        event["run"] = {"runId": APPLICATION, "facets": {}}
        event["job"] = {"namespace": "shop", "name": "nightly"}
    return [begin, *events, end]


def test_a_sound_file_has_no_findings_and_what_was_checked_is_said(job, written, run):
    version = metadata.version("openlineage-python")

    assert run("validate", written(*job)) == (
        0,
        (
            "no findings in 4 events of 2 runs\n"
            f"  specification: checked by the classes of openlineage-python {version}: what must be there, kinds of "
            "values, run ids and times; its JSON Schemas say more (--spec)\n"
            "  order, completeness, names, column lineage, transformations: checked\n"
            "  credentials: checked by what they look like; a password that is a plain word can't be seen\n"
            "  checked as any facet is, since the specification has none of these: pyspark_event (2), "
            "spark_applicationDetails (2), spark_properties (2)\n"
        ),
        "",
    )


@needs_schemas
def test_with_the_specifications_folder_its_schemas_are_used(job, written, run):
    code, shown, _ = run("validate", "--spec", str(SCHEMAS), written(*job))

    assert code == 0
    count = 1 + len([*SCHEMAS.glob("facets/*.json"), *SCHEMAS.glob("registry/*/facets/*.json")])
    assert shown.splitlines()[1] == f"  specification: checked by {count} JSON Schemas of {SCHEMAS}"


@needs_schemas
def test_the_schemas_find_what_the_classes_let_pass(events, written, run):
    events[1]["inputs"][0]["facets"]["dataSource"]["uri"] = "file"
    file = written(*events)

    assert run("validate", file)[0] == 0
    code, shown, _ = run("validate", "--spec", str(SCHEMAS), file)
    assert code == 1
    assert findings(shown) == [
        f"{file}:2: specification: inputs s3://shop warehouse/orders: dataSource: $.uri: 'file' is not a 'uri'{OF_RUN}"
    ]


def test_a_folder_without_schemas_is_an_error_of_the_command_line(tmp_path, events, written, run):
    code, shown, errors = run("validate", "--spec", str(tmp_path), written(*events))

    assert (code, shown) == (2, "")
    assert errors.startswith(f"openlineage-pyspark: {tmp_path} holds no OpenLineage schemas (FileNotFoundError")
    assert errors.endswith("name the folder that has OpenLineage.json and facets/\n")


def of(kind, event):
    return {**copy.deepcopy(event), "eventType": kind}


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (["START"], ["1: completeness: 0 terminal events"]),
        (["COMPLETE"], ["1: completeness: 0 START events"]),
        (["START", "START", "FAIL"], ["2: order: 2 START events"]),
        (["RUNNING", "START", "FAIL"], ["1: order: begins with RUNNING"]),
        (["START", "FAIL", "COMPLETE"], ["3: order: 2 terminal events", "3: order: COMPLETE after FAIL"]),
        (["START", "COMPLETE", "RUNNING"], ["3: order: RUNNING after COMPLETE"]),
        (["START", "OTHER", "RUNNING", "ABORT"], []),
    ],
)
def test_a_run_out_of_order_is_found_at_the_line_that_shows_it(events, written, run, kinds, found):
    file = written(*(of(kind, events[0]) for kind in kinds))

    code, shown, _ = run("validate", file)

    assert findings(shown) == [f"{file}:{each}{OF_RUN}" for each in found]
    assert code == bool(found)


def test_a_child_that_begins_before_its_parent_is_found(job, written, run):
    begin, *child, end = job
    file = written(child[0], begin, child[1], end)

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:1: order: begins before the START of its parent {APPLICATION}{OF_RUN}"]
    assert shown.splitlines()[1] == "1 finding in 4 events of 2 runs"


def test_a_parent_that_is_not_in_the_file_is_none_of_its_business(events, written, run):
    """Such as a task of a scheduler, which sends its own events elsewhere."""
    assert run("validate", written(*events))[0] == 0


def test_a_run_that_changes_its_job_is_found(events, written, run):
    events[1]["job"]["name"] = "another"
    file = written(*events)

    names = sorted([("shop", JOB), ("shop", "another")])
    shown = run("validate", file)[1]
    assert shown.splitlines()[0] == f"{file}:2: completeness: is of several jobs: {names} [another, run {RUN}]"


def lineage(event):
    return event["outputs"][0]["facets"]["columnLineage"]


def drop_an_input(event):
    del event["inputs"][1]


def invent_a_subtype(event):
    lineage(event)["dataset"][0]["transformations"][0]["subtype"] = "GUESS"


def put_direct_in_the_dataset_list(event):
    lineage(event)["dataset"][0]["transformations"][0].update(type="DIRECT", subtype="IDENTITY")


def drop_a_source_field(event):
    del event["inputs"][1]["facets"]["schema"]["fields"][1]


def spoil_a_namespace(event):
    event["job"]["namespace"] = "a b"


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (
            drop_an_input,
            (
                "column lineage: columnLineage of /data/totals: column 'total': dataset ('file', '/data/rates') is "
                "not in inputs"
            ),
        ),
        (
            drop_a_source_field,
            (
                "column lineage: columnLineage of /data/totals: column 'total': field 'rate' is not in the schema of "
                "('file', '/data/rates')"
            ),
        ),
        (
            invent_a_subtype,
            "transformations: columnLineage of /data/totals: dataset list: INDIRECT GUESS is no transformation",
        ),
        (
            put_direct_in_the_dataset_list,
            "transformations: columnLineage of /data/totals: dataset list: 'buyer.name' is DIRECT",
        ),
        (spoil_a_namespace, "names: job: namespace 'a b' has characters that Marquez refuses"),
    ],
)
def test_a_fault_of_one_event_is_found_at_its_line(events, written, run, fault, found):
    for event in events:
        fault(event)
    file = written(*events)

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:{line}: {found}{OF_RUN}" for line in (1, 2)]


def test_lines_that_are_no_event_are_findings_and_the_rest_is_checked(events, written, run):
    file = written(*events)
    lines = Path(file).read_text().splitlines()
    double = lines[0].replace('"eventType": "START"', '"eventType": "START", "eventType": "FAIL"')
    Path(file).write_text("\n".join([lines[0], "[1]", double, "", lines[1], '{"a": NaN}']))

    code, shown, _ = run("validate", file)

    assert code == 1
    assert shown.splitlines()[:4] == [
        f"{file}:2: specification: the line is JSON, but no object",
        f"{file}:3: specification: the line is no JSON: the key 'eventType' stands twice in an object",
        f"{file}:6: specification: the line is no JSON: NaN is no number in JSON",
        "3 findings in 2 events of 1 runs",
    ]


def test_an_event_of_the_wrong_shape_is_found_and_keeps_its_place_in_the_run(events, written, run):
    del events[0]["outputs"][0]["name"]
    events[0]["inputs"][0]["facets"] = []
    file = written(*events)

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [
        f"{file}:1: specification: inputs[0].facets: is not an object{OF_RUN}",
        f"{file}:1: specification: outputs[0]: 'name' is missing{OF_RUN}",
    ]
    assert "  not checked: names and lineage of 1 events that break the specification" in shown.splitlines()


def test_events_of_datasets_and_jobs_alone_are_counted_and_not_judged(events, written, run):
    file = written(*events, {"dataset": {}, "eventTime": "x"})

    code, shown, _ = run("validate", file)

    assert code == 0
    assert "  not checked: 1 events of a job or a dataset alone" in shown.splitlines()


def test_a_file_without_events_is_not_called_sound(written, run):
    code, shown, _ = run("validate", written())

    assert code == 1
    assert shown.splitlines()[0] == "no findings in 0 events of 0 runs"


def test_a_gzip_file_that_was_cut_off_is_found_and_what_is_there_is_checked(tmp_path, events, run):
    """As a process that was killed leaves it."""
    path = tmp_path / "events.gz"
    packed = gzip.compress("".join(json.dumps(event) + "\n" for event in events).encode())
    path.write_bytes(packed[:-4])

    code, shown, _ = run("validate", str(path))

    assert code == 1
    assert shown.splitlines()[0].startswith(f"{path}:3: specification: the line the gzip data is damaged or cut off")
    assert shown.splitlines()[1] == "1 finding in 2 events of 1 runs"


def test_files_are_checked_as_one_stream_and_findings_stand_in_their_order(events, written, run):
    """What was rotated first comes first."""
    second, first = written(events[1], events[0], name="a.ndjson"), written(events[0], name="b.ndjson")

    code, shown, _ = run("validate", first, second)

    assert code == 1
    assert findings(shown) == [
        f"{second}:2: order: 2 START events{OF_RUN}",
        f"{second}:2: order: START after FAIL{OF_RUN}",
    ]


def test_the_installed_command_checks_standard_input(events, installed):
    code, shown, errors = installed("validate", "-", given=json.dumps(events[0]))

    assert (code, errors) == (1, "")
    assert shown.splitlines()[0] == f"-:1: completeness: 0 terminal events{OF_RUN}"


CANARY = "hunter2butlonger"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"jdbc:postgresql://shop:{CANARY}@db/orders", "a password in a URL"),
        (f"jdbc:mysql://db/orders?user=shop&password={CANARY}", "a credential in a URL or connection string"),
        (f"jdbc:sqlserver://db;user=shop;password={CANARY};", "a credential in a URL or connection string"),
        (f"https://x.blob.core.windows.net/c?sv=1&sig={CANARY}%3D", "a credential in a URL or connection string"),
        (f"CREATE TABLE t USING jdbc OPTIONS (url 'x', password '{CANARY}')", "a credential among options"),
        (f'OPTIONS ("secret_key" = "{CANARY}")', "a credential among options"),
        (f"fs.s3a.secret.key => '{CANARY}'", "a credential among options"),
        (f"Authorization: Bearer {CANARY}9f8e7d", "an Authorization header"),
        ("the key AKIAIOSFODNN7EXAMPLE is refused", "an AWS access key"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", "a JSON Web Token"),
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
    ],
)
def test_what_looks_like_a_credential_is_found_and_not_repeated(events, written, run, text, kind):
    assert kind in KINDS
    events[1]["job"]["facets"]["sql"]["query"] = text
    file = written(*events)

    code, shown, errors = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:2: credentials: job.facets.sql.query holds what looks like {kind}{OF_RUN}"]
    assert CANARY not in shown + errors


@pytest.mark.parametrize(
    "text",
    [
        "SELECT password, token FROM users WHERE users.token = logins.token",
        "jdbc:postgresql://db:5432/orders?sslmode=require",
        "OPTIONS (password '?', secret '***')",
        "jdbc:sqlserver://db;password=xxxx;user=shop",
        "https://shop:***@example.com/",
        "a basic understanding of internationalization",
        "s3a://bucket/key=1/day=2026-01-01",
    ],
)
def test_what_only_names_a_credential_is_not_taken_for_one(text):
    assert [*credentials_in({"query": text})] == []


def test_the_value_of_a_property_is_judged_by_its_name_too():
    properties = {"spark.hadoop.fs.s3a.secret.key": "abc", "api_key": "***", "password": "", "name": "password"}

    assert [*credentials_in({"properties": properties})] == [
        "properties.spark.hadoop.fs.s3a.secret.key holds what looks like the value of a credential, by its name"
    ]


def test_looking_for_credentials_in_a_long_text_is_quick_enough_to_end():
    """A pattern that goes back at each letter would need hours for a megabyte."""
    for text in ("a" * 2_000_000, "://" * 300_000, "eyJ" * 600_000, "bearer " * 200_000, "&sig" * 400_000):
        assert [*credentials_in({"text": text})] == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda event: event.pop("producer"), "the event: 'producer' is missing"),
        (lambda event: event["run"].update(runId="7"), "run.runId: '7' is not what runId must be"),
        (lambda event: event.update(eventTime="now"), "eventTime: 'now' is not what eventTime must be"),
        (
            lambda event: event.update(eventType="BEGIN"),
            "eventType: is none of START, RUNNING, COMPLETE, ABORT, FAIL, OTHER",
        ),
        (lambda event: event.update(inputs=None), "inputs: is not a list"),
        (lambda event: event["job"].update(name=3), "job.name: is not text"),
        (
            lambda event: event["run"]["facets"]["processing_engine"].pop("version"),
            "run: processing_engine: 'version' is missing",
        ),
        (
            lambda event: event["outputs"][0]["outputFacets"]["outputStatistics"].update(rowCount="4"),
            "outputs file /data/totals: outputStatistics.rowCount: is not a whole number",
        ),
        (
            lambda event: event["outputs"][0]["facets"].update(event["outputs"][0]["outputFacets"]),
            (
                "outputs file /data/totals: outputStatistics: is a facet of OutputDatasetFacet, and stands among "
                "those of DatasetFacet"
            ),
        ),
        (
            lambda event: lineage(event)["fields"]["total"]["inputFields"][0].pop("field"),
            "outputs file /data/totals: columnLineage.fields.total.inputFields[0]: 'field' is missing",
        ),
    ],
)
def test_the_classes_find_what_is_missing_or_of_the_wrong_kind(events, change, problem):
    assert classes.class_problems(events[1]) == []
    change(events[1])

    assert classes.class_problems(events[1]) == [problem]


@needs_schemas
def test_the_classes_know_each_facet_of_the_specification():
    """A facet whose class is not found would be taken for one of the user's own."""
    from openlineage_pyspark.command.schemas import Schemas

    unknown = {key for key in Schemas(SCHEMAS).by_facet if classes.class_of(key) is None}

    assert unknown == {("InputDatasetFacet", "icebergScanReport"), ("OutputDatasetFacet", "icebergCommitReport")}
