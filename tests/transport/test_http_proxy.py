"""Proxies of the environment: a real one, which forwards, tunnels, or refuses."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport

EVENT = Event("r", "START", b"{}")
# A name that nobody can look up: what arrives has come through the proxy.
HOST = "marquez.invalid"


@pytest.fixture(autouse=True)
def _no_proxy_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def proxy(second_receiver: Any) -> Any:
    return second_receiver


def test_the_environments_proxy_is_used_with_its_password(proxy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("://", "://user:proxy-canary@"))
    monkeypatch.setenv("http_proxy", proxy.url.replace("://", "://user:proxy-canary@"))
    transport = open_transport("http", {"url": f"http://{HOST}", "auth": {"apiKey": "k3y"}})
    transport.send(EVENT)
    transport.send(EVENT)
    first, second = proxy.received
    assert (first.path, first.body, first.headers["Host"]) == (
        f"http://{HOST}/api/v1/lineage", EVENT.body, HOST,
    )  # fmt: skip
    assert first.headers["Proxy-Authorization"] == "Basic dXNlcjpwcm94eS1jYW5hcnk="
    assert first.headers["Authorization"] == "Bearer k3y"
    assert first.connection == second.connection


def test_hosts_that_need_no_proxy_are_reached_without(
    proxy: Any, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    open_transport("http", {"url": receiver.url}).send(EVENT)
    assert (len(receiver.received), proxy.received) == (1, [])


@pytest.mark.slow
def test_https_goes_through_a_tunnel_with_the_clients_certificate(
    proxy: Any, strict_receiver: Any, certificates: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy.url)
    proxy.tunnel_end = strict_receiver.server_address
    tls = {"caCertPath": str(certificates.authority), "clientCertPath": str(certificates.client)}
    options = {"url": f"https://{HOST}", "sslContext": tls, "auth": {"apiKey": "k3y"}}
    open_transport("http", options).send(EVENT)
    (tunnel,) = proxy.received
    assert (tunnel.path, tunnel.body) == (f"{HOST}:443", b"CONNECT")
    assert "Authorization" not in tunnel.headers
    (got,) = strict_receiver.received
    assert (got.path, got.body, got.client) == ("/api/v1/lineage", EVENT.body, "the client")


def test_a_proxy_that_is_away_or_refuses_is_told_without_its_password(
    proxy: Any, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        away = f"http://user:proxy-canary@127.0.0.1:{unused.getsockname()[1]}"
        monkeypatch.setenv("http_proxy", away)
        with pytest.raises(TransportError) as caught:
            open_transport("http", {"url": f"http://{HOST}"}).send(EVENT)
    assert (str(caught.value), caught.value.retryable) == (
        f"http://{HOST}/api/v1/lineage can't be reached (Connection refused)", True,
    )  # fmt: skip
    monkeypatch.setenv("https_proxy", proxy.url.replace("://", "://user:proxy-canary@"))
    proxy.answers.append(answer(status=407))
    with pytest.raises(TransportError) as caught:
        open_transport("http", {"url": f"https://{HOST}"}).send(EVENT)
    assert (str(caught.value), caught.value.retryable) == (
        f"https://{HOST}/api/v1/lineage can't be reached (the proxy answered 407)", True,
    )  # fmt: skip
