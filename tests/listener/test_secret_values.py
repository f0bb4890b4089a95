"""What the configuration itself says is secret is known, in the forms that it may have in a text."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from openlineage_pyspark.facets.redaction.redact import Redaction
from openlineage_pyspark.listener.guard import Guard
from openlineage_pyspark.listener.start.secrets import secret_values


def values(**given: Any) -> tuple[str, ...]:
    sources: dict[str, Any] = {"conf": {}, "environ": {}, "arguments": [], "transport": {}}
    return secret_values(**sources | given)


def test_the_name_of_a_property_or_variable_says_that_its_value_is_secret():
    conf = {
        "spark.hadoop.fs.s3a.secret.key": "s3cr3t-1",
        "spark.ssl.keyPassword": "s3cr3t-2",
        "spark.master": "local[2]",
    }
    environ = {"DB_PASSWORD": "s3cr3t-3", "HOME": "/home/alice", "PWD": "/work/dir"}

    assert set(values(conf=conf, environ=environ)) == {"s3cr3t-1", "s3cr3t-2", "s3cr3t-3"}


def test_passwords_in_urls_options_and_command_lines_are_secret():
    conf = {
        "spark.jars.repositories": "https://alice:s3cr3t-1@host/maven",
        "spark.driver.extraJavaOptions": "-ea -Djavax.net.ssl.keyStorePassword=s3cr3t-2",
    }

    assert set(values(conf=conf, arguments=["--date", "today", "--password", "s3cr3t-3"])) == {
        "s3cr3t-1", "s3cr3t-2", "s3cr3t-3",
    }  # fmt: skip


def test_headers_parameters_and_logins_of_the_transport_are_secret_and_its_address_is_not():
    transport = {
        "type": "http",
        "url": "http://receiver:5000",
        "auth": {"type": "api_key", "apiKey": "s3cr3t-1"},
        "headers": {"X-Team": "s3cr3t-2"},
        "urlParams": {"code": "s3cr3t-3"},
    }

    assert set(values(transport=transport)) == {"s3cr3t-1", "s3cr3t-2", "s3cr3t-3"}


def test_a_secret_is_known_in_the_form_that_it_has_in_a_url_the_longest_first():
    assert values(environ={"API_KEY": "s3/cr+3t x"}) == ("s3%2Fcr%2B3t%20x", "s3%2Fcr%2B3t+x", "s3/cr+3t x")


@pytest.mark.parametrize("value", ["short", "", "true", "1234567", "disabled", "org.example.auth.TokenProvider"])
def test_what_would_tear_texts_to_shreds_is_none(value):
    assert values(conf={"spark.shop.token": value}) == ()


def test_the_log_of_a_fault_shows_no_secret(caplog):
    guard = Guard()
    guard.redaction = Redaction(known=("k9-known-value",))
    caplog.set_level(logging.DEBUG, "openlineage_pyspark")

    def fail():
        raise ValueError("password=s3cr3t at https://alice:s3cr3t@host, nor k9-known-value")

    assert guard.run("trying", fail) is None
    assert [record.levelname for record in caplog.records] == ["WARNING", "DEBUG"]
    assert caplog.records[0].getMessage() == (
        "openlineage: trying failed, the job goes on: ValueError: password=*** at https://***@host, nor ***"
    )
    assert "Traceback" in caplog.text
    for secret in ("s3cr3t", "alice", "k9-known-value"):
        assert secret not in caplog.text


def test_a_fault_before_the_configuration_is_known_shows_none_either(caplog):
    Guard().report("starting", ValueError("password=s3cr3t"))

    assert caplog.messages == ["openlineage: starting failed, the job goes on: ValueError: password=***"]
