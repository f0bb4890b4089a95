"""`send`, to a real receiver."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

ADDRESS = "/api/v1/lineage"


def test_the_events_of_files_are_sent_in_their_order(job, written, receiver, run):
    first, second = written(*job[:3], name="a.ndjson"), written(job[3], name="b.ndjson")
    Path(second).write_bytes(gzip.compress(Path(second).read_bytes()))

    assert run("send", first, second, "--to", receiver.url) == (
        0, f"4 events sent to {receiver.url}{ADDRESS}\n", "",
    )  # fmt: skip
    assert receiver.events == job


def test_an_event_keeps_its_id_and_one_of_a_job_alone_is_sent_too(job, written, receiver, run):
    alone = {"eventTime": "2026-01-01T00:00:00Z", "job": {"namespace": "a", "name": "b"}, "note": "é\u2028\ud800"}

    assert run("send", written(job[1], alone), "--to", receiver.url)[0] == 0
    assert receiver.events == [job[1], alone]
    [key, _] = [headers["Idempotency-Key"] for _, _, headers, _ in receiver.received]
    assert key == job[1]["run"]["facets"]["pyspark_event"]["id"]


def test_without_an_address_the_configured_receiver_gets_them_with_its_login(job, written, receiver, run, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_URL", receiver.url)
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "key-of-the-shop")

    assert run("send", written(*job))[0] == 0
    assert run("send", written(*job), "--to", f"{receiver.url}/")[0] == 0
    assert {headers["Authorization"] for _, _, headers, _ in receiver.received} == {"Bearer key-of-the-shop"}
    assert receiver.events == [*job, *job]


def test_a_login_for_another_server_stays_at_home(job, written, receiver, second_receiver, run, monkeypatch):
    monkeypatch.setenv("OPENLINEAGE_URL", second_receiver.url)
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "key-of-the-shop")

    assert run("send", written(*job), "--to", receiver.url)[0] == 0
    assert [headers.get("Authorization") for _, _, headers, _ in receiver.received] == [None] * len(job)
    assert second_receiver.received == []


def test_a_login_that_is_configured_for_no_server_goes_to_the_one_that_is_named(job, written, receiver, run):
    keys = {"auth.type": "api_key", "auth.apiKey": "key-of-the-shop"}
    conf = [part for key, value in keys.items() for part in ("-c", f"spark.openlineage.transport.{key}={value}")]

    assert run("send", written(*job), "--to", receiver.url, *conf)[0] == 0
    assert {headers["Authorization"] for _, _, headers, _ in receiver.received} == {"Bearer key-of-the-shop"}


def test_what_is_no_event_is_named_and_the_rest_is_sent(job, written, receiver, run):
    file = written(job[0], {"hello": "world"}, *job[1:])
    with Path(file).open("a") as opened:
        opened.write("{torn")

    code, shown, errors = run("send", file, "--to", receiver.url)

    assert (code, shown) == (1, f"4 events sent to {receiver.url}{ADDRESS}\n")
    assert errors.splitlines()[0] == f"openlineage-pyspark: {file}:2: not an OpenLineage event, skipped"
    assert errors.splitlines()[1].startswith(f"openlineage-pyspark: {file}:6: not JSON: ")
    assert receiver.events == job


def test_of_many_lines_that_are_no_events_ten_are_named(tmp_path, receiver, run):
    file = tmp_path / "other.txt"
    file.write_text("{}\n" * 14)

    code, shown, errors = run("send", str(file), "--to", receiver.url)

    lines = [f"openlineage-pyspark: {file}:{n}: not an OpenLineage event, skipped" for n in range(1, 11)]
    assert (code, shown) == (1, f"0 events sent to {receiver.url}{ADDRESS}\n")
    assert errors.splitlines() == [*lines, "openlineage-pyspark: 4 more lines are skipped"]


def test_what_the_receiver_refuses_for_good_is_named_and_the_rest_is_sent(job, written, receiver, run):
    file = written(*job)
    receiver.status = 400

    code, shown, errors = run("send", file, "--to", receiver.url)

    assert (code, shown) == (1, f"0 events sent to {receiver.url}{ADDRESS}\n")
    assert errors.splitlines() == [f"openlineage-pyspark: {file}:{n}: refused for good, skipped" for n in (1, 2, 3, 4)]
    assert len(receiver.received) == 4


@pytest.mark.slow
def test_a_receiver_that_stays_away_ends_it_with_the_next_event(job, written, nobody, run):
    file = written(*job)

    code, shown, _ = run("send", file, "--to", nobody, "--patience", "0")

    assert (code, shown) == (
        1,
        (
            f"0 events sent to {nobody}{ADDRESS}\n"
            f"the receiver was unavailable at {file}:1: this event and those after it were not sent\n"
        ),
    )


def test_a_file_can_be_the_receiver(job, written, run, machine):
    code, shown, errors = run("send", written(*job), "--to", "file:out.ndjson")

    assert (code, shown, errors) == (0, f"4 events sent to file {machine}/out.ndjson\n", "")
    assert [json.loads(line) for line in (machine / "out.ndjson").read_text().splitlines()] == job


def test_without_a_receiver_or_a_file_it_is_said(job, written, run, receiver, tmp_path):
    code, shown, errors = run("send", written(*job))
    assert (code, shown) == (2, "")
    assert errors == "openlineage-pyspark: no transport is configured: name the receiver with --to URL\n"
    code, _, errors = run("send", str(tmp_path / "absent"), "--to", receiver.url)
    assert (code, errors) == (
        2, f"openlineage-pyspark: {tmp_path}/absent can't be read: No such file or directory\n",
    )  # fmt: skip


def test_a_properties_file_that_is_not_there_is_named(job, written, run, tmp_path):
    code, shown, errors = run("send", written(*job), "--properties-file", str(tmp_path / "absent.conf"))

    assert (code, shown) == (2, "")
    assert errors.splitlines() == [
        f"openlineage-pyspark: {tmp_path}/absent.conf does not exist: its settings are not used",
        "openlineage-pyspark: no transport is configured: name the receiver with --to URL",
    ]


def test_a_receiver_that_only_a_driver_reaches_is_not_left_to_the_next_application(job, written, run):
    conf = ("-c", "spark.openlineage.transport.type=file", "-c", "spark.openlineage.transport.location=s3a://b/lineage")
    reason = "is written by a Spark driver's Hadoop client: name another receiver with --to URL"

    assert run("send", written(*job), *conf) == (2, "", f"openlineage-pyspark: file s3a://b/lineage {reason}\n")
