"""Credentials over plain http: to which machines that is warned of, how often, and how it is switched off."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "spark.openlineage.transport"
KEY = {"type": "api_key", "apiKey": "canary"}


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    """Give what opens an http transport, and gives what was logged."""

    def open_it(**options: Any) -> list[str]:
        caplog.clear()
        open_transport("http", options).close(1)
        return caplog.messages

    return open_it


def warning(address: str, credential: str, option: str = "url") -> str:
    return (
        f"{PREFIX}.{option} is {address}: {credential} would cross the network unencrypted. "
        f"Use https, or set {PREFIX}.allowPlainHttp=true if that is meant"
    )


def test_a_key_over_plain_http_to_another_machine_is_warned_of_once(said: Callable[..., list[str]]):
    assert said(url="http://once.example.com", auth=KEY) == [
        warning("http://once.example.com/api/v1/lineage", "the API key")
    ]
    assert said(url="http://once.example.com", auth=KEY) == []


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "LocalHost.", "app.localhost", "127.0.0.1", "127.9.9.9", "[::1]", "[::1%25lo]",
        socket.gethostname(),
    ],
)  # fmt: skip
def test_this_machine_may_get_it(said: Callable[..., list[str]], host: str):
    assert said(url=f"http://{host}:5000", auth=KEY) == []


@pytest.mark.parametrize("host", ["10.0.0.1", "[fe80::1]", "localhost.example.com", "127.0.0.1.example.com"])
def test_every_other_machine_counts(said: Callable[..., list[str]], host: str):
    url = f"http://{host}:5000"
    assert said(url=url, auth=KEY) == [warning(f"{url}/api/v1/lineage", "the API key")]


def test_https_and_plain_http_without_a_credential_are_not_warned_of(said: Callable[..., list[str]]):
    assert said(url="https://safe.example.com", auth=KEY) == []
    assert said(url="http://keyless.example.com", headers={"X-Team": "a"}, urlParams={"team": "a"}) == []
    assert said(url="http://keyless.example.com", auth={"type": "none", "apiKey": "canary"}) == []


def test_who_means_it_says_so(said: Callable[..., list[str]]):
    assert said(url="http://meant.example.com", auth=KEY, allowPlainHttp="true") == []


@pytest.mark.parametrize(
    ("options", "credential"),
    [
        ({"headers": {"X-Team": "a", "Authorization": "Basic canary"}}, "the header Authorization"),
        ({"headers": {"x-api-key": "canary"}}, "the header x-api-key"),
        ({"urlParams": {"team": "a", "token": "canary"}}, "the parameter token"),
        ({"auth": {"type": "jwt", "apiKey": "canary", "tokenEndpoint": "https://login"}}, "the token"),
    ],
)
def test_each_kind_of_credential_counts_and_none_is_shown(
    said: Callable[..., list[str]], options: dict[str, Any], credential: str
):
    assert said(url="http://kinds.example.com", **options) == [
        warning("http://kinds.example.com/api/v1/lineage", credential)
    ]


def test_the_token_endpoint_counts_too(said: Callable[..., list[str]]):
    auth = {"type": "oauth2", "clientId": "i", "clientSecret": "canary", "tokenEndpoint": "http://login.example.com/t"}
    assert said(url="https://safe.example.com", auth=auth) == [
        warning("http://login.example.com/t", "the login", "auth.tokenEndpoint")
    ]


def test_a_part_of_a_composite_transport_is_named(caplog: pytest.LogCaptureFixture):
    part = {"type": "http", "url": "http://part.example.com", "auth": KEY}
    open_transport("composite", {"transports": {"marquez": part}}).close(1)

    (said,) = caplog.messages
    assert said.startswith(f"{PREFIX}.transports.marquez.url is http://part.example.com/api/v1/lineage: the API key")
    assert f"set {PREFIX}.transports.marquez.allowPlainHttp=true" in said
