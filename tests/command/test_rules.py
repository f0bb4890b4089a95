"""Each rule finds the fault that it is there for, and `validate` says where."""

from __future__ import annotations

import copy

import pytest
from openlineage_pyspark.workbench.events.rules import CREDENTIAL_KINDS, credentials_in

APPLICATION = "0190a000-0000-7000-8000-000000000001"
RUN = "0190a000-0000-7000-8000-000000000002"
JOB = "nightly.insert_into_hadoop_fs_relation_command.data_totals"


def of(kind, event, event_id):
    made = {**copy.deepcopy(event), "eventType": kind}
    made["run"]["facets"]["pyspark_event"]["id"] = event_id
    return made


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        (["START"], ["1: completeness: no terminal event"]),
        (["COMPLETE"], ["1: completeness: no START event"]),
        (["START", "START", "FAIL"], ["2: order: 2 START events"]),
        (["RUNNING", "START", "FAIL"], ["1: order: begins with RUNNING"]),
        (["START", "FAIL", "COMPLETE"], ["3: order: 2 terminal events", "3: order: COMPLETE after FAIL"]),
        (["START", "COMPLETE", "RUNNING"], ["3: order: RUNNING after COMPLETE"]),
        (["START", "OTHER", "RUNNING", "ABORT"], []),
    ],
)
def test_a_run_out_of_order_is_found_at_the_line_that_shows_it(events, written, run, kinds, found, findings):
    file = written(*(of(kind, events[0], str(number)) for number, kind in enumerate(kinds)))

    code, shown, _ = run("validate", file)

    assert findings(shown) == [f"{file}:{each}" for each in found]
    assert code == bool(found)


def test_a_child_that_begins_before_its_parent_is_found(job, written, run, findings):
    begin, *child, end = job
    file = written(child[0], begin, child[1], end)

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:1: order: begins before the START of its parent {APPLICATION}"]
    assert shown.splitlines()[1] == "1 finding in 4 events of 2 runs"


def test_a_parent_that_is_not_in_the_file_is_none_of_its_business(events, written, run):
    """The parent may be a scheduler's task, which sends its own events elsewhere."""
    assert run("validate", written(*events))[0] == 0


def test_a_run_that_changes_its_job_is_found(events, written, run):
    events[1]["job"]["name"] = "another"
    file = written(*events)

    names = sorted([("shop", JOB), ("shop", "another")])
    shown = run("validate", file)[1]
    assert shown.splitlines()[0] == f"{file}:2: completeness: belongs to several jobs: {names} [another, run {RUN}]"


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
            (
                "transformations: columnLineage of /data/totals: dataset list: INDIRECT GUESS is not a transformation "
                "of the specification"
            ),
        ),
        (
            put_direct_in_the_dataset_list,
            (
                "transformations: columnLineage of /data/totals: dataset list: 'buyer.name' is DIRECT, but a source of "
                "all rows must be INDIRECT"
            ),
        ),
        (spoil_a_namespace, "names: job: namespace 'a b' has characters that Marquez refuses"),
    ],
)
def test_a_fault_of_one_event_is_found_at_its_line(events, written, run, fault, found, findings):
    for event in events:
        fault(event)
    file = written(*events)

    code, shown, _ = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:{line}: {found}" for line in (1, 2)]


def test_the_masked_transformation_of_the_facets_first_version_is_none_to_find(events, written, run):
    for event in events:
        inputs = lineage(event)["fields"]["total"]["inputFields"]
        for each in inputs:
            del each["transformations"]
        lineage(event)["fields"]["total"] |= {"transformationType": "MASKED", "transformationDescription": "sha"}
    assert run("validate", written(*events))[0] == 0


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
def test_what_looks_like_a_credential_is_found_and_not_repeated(events, written, run, text, kind, findings):
    assert kind in CREDENTIAL_KINDS
    events[1]["job"]["facets"]["sql"]["query"] = text
    file = written(*events)

    code, shown, errors = run("validate", file)

    assert code == 1
    assert findings(shown) == [f"{file}:2: credentials: job.facets.sql.query holds what looks like {kind}"]
    assert CANARY not in shown + errors


@pytest.mark.parametrize(
    "text",
    [
        "SELECT password, token FROM users WHERE users.token = logins.token",
        "jdbc:postgresql://db:5432/orders?sslmode=require",
        "OPTIONS (password '?', secret '***')",
        "jdbc:sqlserver://db;password=xxxx;user=shop",
        "https://shop:***@example.com/",
        "a basic plan_lineage of internationalization",
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
    """A pattern that backtracks at each letter would take hours here."""
    for text in ("a" * 400_000, "://" * 60_000, "eyJ" * 120_000, "bearer " * 40_000, "&sig" * 80_000):
        assert [*credentials_in({"text": text})] == []


@pytest.mark.parametrize(
    "document",
    [
        {"assertions": [{"assertion": "not_null", "success": True, "column": "id"}]},
        {"sql": "named_struct('a_key', concat_ws('***', page, context.referral))"},
        {"sql": "map('api_key', concat('***', x), 'b', 'c')"},
    ],
)
def test_what_only_stands_beside_the_name_of_a_credential_is_none(document):
    assert [*credentials_in(document)] == []


def test_the_value_of_a_quoted_name_is_found():
    assert len([*credentials_in({"sql": "OPTIONS ('password' 'x1')"})]) == 1
    assert len([*credentials_in({"sql": "OPTIONS (password 'x1')"})]) == 1
    assert len([*credentials_in({"text": "{'password': 'x1'}"})]) == 1
    assert len([*credentials_in({"assertion": "PHNhbWw+"})]) == 1
