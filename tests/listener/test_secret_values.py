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


@pytest.mark.parametrize("value", ["", "x", "ab", "true", "None", "no", "***", "?", "${DB_PASSWORD}"])
def test_what_is_too_short_or_only_stands_for_a_secret_is_none(value):
    assert values(conf={"spark.shop.token": value}) == ()


@pytest.mark.parametrize(
    "value",
    [
        "abc", "short", "123", "1234567", "20240101", "s3cr!", "required", "default", "correct.horse.battery.staple",
        "admin", "Correct.Horse.Battery9", "v4.local.AbCdEf123456", "org.example.Pa55word",
        "?Zq9", "<x>", "***x", "${x", "true-x",
    ],
)  # fmt: skip
def test_what_is_secret_by_its_name_is_hidden_whatever_it_looks_like(value):
    known = values(environ={"DB_PASSWORD": value})

    assert Redaction(known=known).message(f"no luck with {value}, it says '{value}'.") == (
        "no luck with ***, it says '***'."
    )


def test_a_short_secret_and_a_number_are_hidden_only_where_they_are_whole_words():
    redaction = Redaction(known=values(environ={"DB_PASSWORD": "abc", "PIN": "20240101"}))

    assert redaction.text("abcde, x_abc and abc; part-20240101a and 20240101") == (
        "abcde, x_abc and ***; part-20240101a and ***"
    )
    assert redaction.sql("SELECT id FROM t WHERE day = 20240101").text == "SELECT id FROM t WHERE day = ***"


@pytest.mark.parametrize("value", ["p\udce4ssword", "\udcff\udcfeabcdef", "\ud800half", "\udcff\udcff\udcff"])
def test_a_secret_that_is_no_text_is_known_and_costs_no_other(value):
    """Bytes that are no UTF-8 are surrogates in the environment and on the command line."""
    known = values(environ={"DB_PASSWORD": value, "API_KEY": "s3cr3t-1"}, arguments=["--token", value])

    assert {value, "s3cr3t-1"} <= set(known)


def test_a_password_of_latin_1_is_known_as_the_jvm_shows_it():
    assert "p\ufffdssword" in values(environ={"DB_PASSWORD": "p\udce4ssword"})


def test_a_secret_is_known_as_json_python_and_xml_write_it():
    known = values(environ={"DB_PASSWORD": 'a"b\nc<d'})

    assert Redaction(known=known).text(r'{"x": "a\"b\nc<d"} or a&lt;d') == '{"x": "***"} or a&lt;d'
    assert {'a"b\nc<d', 'a\\"b\\nc<d', 'a"b\\nc<d', 'a"b\nc&lt;d', "a%22b%0Ac%3Cd"} <= set(known)


def test_of_very_many_secrets_passwords_stay_before_tokens_and_every_value_before_its_other_forms(caplog):
    environ = {f"A{n}_TOKEN": f"tok-{n:04d}-{'x' * 40}/+=" for n in range(2500)}
    passwords = {f"A{n}_PASSWORD": f"pw{n:03d}" for n in range(100)}

    known = values(environ=environ | passwords)

    assert len(known) == 2000
    assert set(passwords.values()) <= set(known)
    assert sum(value.startswith("tok-") and value.endswith("/+=") for value in known) == 1900
    assert list(known) == sorted(known, key=lambda value: (-len(value), value))
    assert caplog.messages == [
        (
            "openlineage: the configuration has 2600 secrets, too many to look for everywhere: only the first 2000 "
            "forms of them are hidden wherever they occur"
        )
    ]


def test_what_the_desktop_and_the_working_directory_are_called_is_no_secret():
    environ = {"PWD": "/work/dir", "DESKTOP_SESSION": "gnome", "XDG_SESSION_CLASS": "user", "SSH_ASKPASS": "/bin/ask"}
    conf = {
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.authenticate.secretBitLength": "256",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.example.Provider",
    }

    assert values(environ=environ, conf=conf) == ()


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
