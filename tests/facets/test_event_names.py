"""Namespaces, URIs and run ids are such that every receiver takes them, and the same each time."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from openlineage_pyspark.facets.events.dataset import (
    accepted_column,
    accepted_job_namespace,
    accepted_namespace,
    data_source_uri,
    location_uri,
)
from openlineage_pyspark.listener.runs.open_run import run_id

URI = Draft202012Validator({"format": "uri"}, format_checker=Draft202012Validator.FORMAT_CHECKER)
START = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=dt.timezone.utc)


@pytest.mark.parametrize(
    ("namespace", "accepted"),
    [
        ("s3a://bucket", "s3a://bucket"),
        ("sqlserver://host:1433;database=x", "sqlserver://host:1433;database=x"),
        ("kafka://a:9092,b:9092", "kafka://a:9092_b:9092"),
        ("postgres://[::1]:5432", "postgres://_::1_:5432"),
        ("my space\0", "my_space_"),
        ("", "default"),
    ],
)
def test_a_namespace_keeps_the_characters_that_marquez_takes(namespace, accepted):
    assert accepted_namespace(namespace) == accepted


@pytest.mark.slow
@given(st.text(max_size=2000))
def test_every_accepted_namespace_is_one_that_marquez_takes_and_stays_as_it_is(namespace):
    accepted = accepted_namespace(namespace)
    assert re.fullmatch(r"[a-zA-Z:;=/0-9_\-.@+]{1,1024}", accepted)
    assert accepted_namespace(accepted) == accepted


def test_the_namespace_of_a_job_is_written_as_marquez_stores_it():
    assert accepted_job_namespace("team=a;stage://b:1, c") == "team_a_stage://b:1__c"


@pytest.mark.parametrize("name", ["id", "with space.and dot", "größe 数量 🚀", "c" * 255])
def test_a_column_keeps_its_name(name):
    assert accepted_column(name) == name


def test_a_column_name_over_255_characters_is_cut_and_ends_in_a_hash_of_the_whole():
    accepted = accepted_column("c" * 256)
    assert re.fullmatch("c{248}_[0-9a-f]{6}", accepted)
    assert accepted_column("c" * 257) != accepted
    assert accepted_column(accepted) == accepted
    assert len(accepted_column("\ud800" * 300)) == 255


@pytest.mark.parametrize(
    ("namespace", "uri"),
    [
        ("file", "file:///"),
        ("bigquery", "bigquery:///"),
        ("hive://metastore:9083", "hive://metastore:9083"),
        ("abfss://c@account.dfs.core.windows.net", "abfss://c@account.dfs.core.windows.net"),
        ("arn:aws:glue:eu-west-1:123", "arn:aws:glue:eu-west-1:123"),
        ("sqlserver://host:1433;database=x", "urn:openlineage:sqlserver://host:1433;database=x"),
        ("my_lake", "urn:openlineage:my_lake"),
    ],
)
def test_a_data_source_has_a_uri_that_shows_its_namespace(namespace, uri):
    assert data_source_uri(namespace) == uri


@given(st.text(alphabet="aZ:;=/09_-.@+ ,[%", max_size=40))
def test_the_uri_of_every_data_source_is_valid(namespace):
    assert list(URI.iter_errors(data_source_uri(accepted_namespace(namespace)))) == []


@pytest.mark.parametrize(
    ("location", "uri"),
    [
        ("file:///jobs/nightly.py", "file:///jobs/nightly.py"),
        ("file:/jobs/nightly.py", "file:/jobs/nightly.py"),
        ("s3a://jobs/a%20b.py", "s3a://jobs/a%20b.py"),
        ("/jobs/größe 1.py", "file:///jobs/gr%C3%B6%C3%9Fe%201.py"),
        ("nightly.py", "file:nightly.py"),
        ("file:///jobs/nightly.py#L12", "file:///jobs/nightly.py#L12"),
        ("file:///jobs/nightly.py#top", "file:///jobs/nightly.py%23top"),
        ("hdfs://n:x/100%.py", "file:hdfs%3A//n%3Ax/100%25.py"),
    ],
)
def test_a_script_has_a_uri(location, uri):
    assert location_uri(location) == uri


@given(st.text(alphabet=st.characters(), min_size=1, max_size=40))
def test_the_uri_of_every_script_is_valid(location):
    assert list(URI.iter_errors(location_uri(location))) == []


@pytest.mark.slow
def test_a_run_has_the_same_id_in_every_process():
    program = (
        "import datetime as dt; from openlineage_pyspark.listener.runs.open_run import run_id; "
        f"print(run_id(dt.datetime.fromisoformat({START.isoformat()!r}), 'local-1', '7'))"
    )
    other = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert other.stdout.strip() == run_id(START, "local-1", "7")


def test_a_run_id_is_a_uuid_of_version_7_with_the_time_of_the_application():
    parsed = uuid.UUID(run_id(START, "local-1", "7"))
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    assert parsed.int >> 80 == int(START.timestamp() * 1000)


def test_the_zone_in_which_the_time_is_given_does_not_matter():
    there = START.astimezone(dt.timezone(dt.timedelta(hours=-8)))
    assert run_id(there, "local-1", "7") == run_id(START, "local-1", "7")


def test_runs_of_one_application_and_applications_of_one_moment_have_ids_of_their_own():
    later = START + dt.timedelta(seconds=1)
    ids = {
        run_id(start, application, key)
        for start in (START, later)
        for application in ("local-1", "local-11")
        for key in ("1", "11", "application")
    }
    assert len(ids) == 12


def test_a_start_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="application_start 2026-01-02T00:00:00 has no time zone"):
        run_id(dt.datetime(2026, 1, 2), "local-1", "7")
