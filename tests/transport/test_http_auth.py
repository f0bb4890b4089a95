"""Logging in with a token that is fetched: from a real token endpoint, against a receiver that checks it."""

from __future__ import annotations

import base64
import json
import threading
import time
from typing import Any
from urllib.parse import parse_qs

import pytest
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.http.auth import TokenLogin, TokenRequest
from openlineage_pyspark.transport.http.client import HttpClient
from openlineage_pyspark.transport.http.tls import TlsSettings
from openlineage_pyspark.transport.registry import open_transport

EVENT = Event("r", "START", b"{}")
PREFIX = "spark.openlineage.transport"


def jwt(lifetime: float) -> str:
    """Make a token that says itself when it ends."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": time.time() + lifetime}).encode()).rstrip(b"=")
    return f"head.{claims.decode()}.signature"


def gives(answer: Any, fields: dict[str, object]) -> Any:
    return answer(status=200, text=json.dumps(fields))


def options(receiver: Any, endpoint: Any, **auth: object) -> dict[str, Any]:
    given = {"type": "jwt", "apiKey": "key-canary", "tokenEndpoint": f"{endpoint.url}/token?tenant=secret-tenant"}
    return {"url": receiver.url, "auth": {**given, **auth}}


def oauth(receiver: Any, endpoint: Any, **auth: object) -> dict[str, Any]:
    given = {"type": "oauth2", "clientId": "me&co", "clientSecret": "s:cret canary"}
    return {"url": receiver.url, "auth": {**given, "tokenEndpoint": f"{endpoint.url}/token", **auth}}


def sent_with(receiver: Any) -> list[str]:
    return [got.headers["Authorization"] for got in receiver.received]


def form(got: Any) -> dict[str, str]:
    return {name: value for name, (value,) in parse_qs(got.body.decode(), strict_parsing=True).items()}


def failure(given: dict[str, object]) -> TransportError:
    with pytest.raises(TransportError) as caught:
        open_transport("http", given).send(EVENT)
    return caught.value


def test_a_key_is_exchanged_for_a_token_as_the_other_clients_do(
    receiver: Any, second_receiver: Any, answer: Any
) -> None:
    second_receiver.answers.append(gives(answer, {"token": "t1", "expires_in": 3600}))
    transport = open_transport("http", options(receiver, second_receiver))
    assert second_receiver.received == []
    transport.send(EVENT)
    transport.send(EVENT)
    (got,) = second_receiver.received
    assert (got.path, form(got)) == (
        "/token?tenant=secret-tenant",
        {
            "apikey": "key-canary",
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "response_type": "token",
        },
    )
    assert got.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert "Authorization" not in got.headers
    assert sent_with(receiver) == ["Bearer t1", "Bearer t1"]


def test_what_the_exchange_sends_and_where_it_looks_can_be_set_in_both_spellings(
    receiver: Any, second_receiver: Any, answer: Any
) -> None:
    own = {"grantType": "urn:ibm:params:oauth:grant-type:apikey", "responseType": "cloud_iam"}
    names = {"tokenFields": ["id", "idToken"], "expiresInField": "lives", "tokenRefreshBuffer": 0}
    snake = {
        "grant_type": own["grantType"],
        "response_type": "cloud_iam",
        "token_fields": "[id;idToken]",
        "expires_in_field": "lives",
        "token_refresh_buffer": "0",
    }
    for given in ({**own, **names}, snake):
        second_receiver.answers.append(gives(answer, {"token": "wrong", "ID_TOKEN": "right", "lives": "7200"}))
        open_transport("http", options(receiver, second_receiver, **given)).send(EVENT)
    first, second = second_receiver.received
    assert form(first) == form(second)
    assert form(first) == {"apikey": "key-canary", "grant_type": own["grantType"], "response_type": "cloud_iam"}
    assert sent_with(receiver) == ["Bearer right", "Bearer right"]


@pytest.mark.parametrize("method", [None, "client_secret_basic", "client_secret_post"])
def test_client_credentials_go_in_a_header_or_in_the_form(
    receiver: Any, second_receiver: Any, answer: Any, method: str | None
) -> None:
    second_receiver.answers.append(gives(answer, {"access_token": "t1", "token": "none", "expires_in": 3600}))
    open_transport("http", oauth(receiver, second_receiver, clientAuthMethod=method, scope="a b")).send(EVENT)
    (got,) = second_receiver.received
    if method == "client_secret_post":
        credentials = {"client_id": "me&co", "client_secret": "s:cret canary"}
        assert "Authorization" not in got.headers
    else:
        credentials = {}
        encoded = base64.b64encode(b"me%26co:s%3Acret+canary").decode()
        assert got.headers["Authorization"] == f"Basic {encoded}"
    assert form(got) == {"grant_type": "client_credentials", "scope": "a b", **credentials}
    assert sent_with(receiver) == ["Bearer t1"]


def test_a_token_that_is_refused_is_fetched_again_and_the_event_sent_once_more(
    receiver: Any, second_receiver: Any, answer: Any
) -> None:
    second_receiver.answers.extend(
        [gives(answer, {"token": "old", "expires_in": 3600}), gives(answer, {"token": "new"})]
    )
    receiver.answers.extend([answer(), answer(status=401), answer()])
    transport = open_transport("http", options(receiver, second_receiver))
    transport.send(EVENT)
    transport.send(EVENT)
    assert sent_with(receiver) == ["Bearer old", "Bearer old", "Bearer new"]
    assert {got.headers["Idempotency-Key"] for got in receiver.received} == {EVENT.id}


def test_a_new_token_that_is_refused_too_ends_the_attempt(receiver: Any, second_receiver: Any, answer: Any) -> None:
    second_receiver.answers.extend([gives(answer, {"token": "one"}), gives(answer, {"token": "two"})])
    receiver.answers.extend([answer(status=401), answer(status=401, text="no one and two")])
    error = failure(options(receiver, second_receiver))
    assert (error.status, error.retryable, str(error)) == (
        401, True, f"{receiver.url}/api/v1/lineage answered 401: no one and two",
    )  # fmt: skip
    assert sent_with(receiver) == ["Bearer one", "Bearer two"]


def test_a_key_that_is_refused_is_not_sent_twice(receiver: Any, answer: Any) -> None:
    receiver.answers.append(answer(status=401))
    assert failure({"url": receiver.url, "auth": {"type": "bearer", "apiKey": "k3y"}}).status == 401
    assert sent_with(receiver) == ["Bearer k3y"]


@pytest.mark.parametrize(
    ("given", "buffer", "renewed_after"),
    [
        ({"token": "t", "expires_in": 3600}, 120.0, 3480.0),
        ({"token": "t", "expires_in": "3600"}, 0.0, 3600.0),
        # Half of the lifetime is the most that a token is renewed early, or each event would cost a token.
        ({"token": "t", "expires_in": 100}, 120.0, 50.0),
        # The token says itself when it ends.
        ({"token": jwt(86400)}, 120.0, 86280.0),
        ({"token": jwt(86400), "expires_in": 3600}, 120.0, 3480.0),
        # It is said nowhere.
        ({"token": "t"}, 120.0, None),
        ({"token": "t", "expires_in": "soon"}, 120.0, None),
        ({"token": "a.b.c"}, 120.0, None),
        ({"token": jwt(-3600)}, 120.0, None),
    ],
)
def test_a_token_is_fetched_again_some_time_before_it_ends(
    receiver: Any, answer: Any, given: dict[str, object], buffer: float, renewed_after: float | None
) -> None:
    def fetched_at(seconds: float) -> int:
        now[0] = 1000.0 + seconds
        assert login.header() == f"Bearer {given['token']}"
        return len(receiver.received)

    receiver.answers.extend(gives(answer, given) for _ in range(2))
    now = [1000.0]
    request = TokenRequest(url=receiver.url, form={}, refresh_buffer=buffer)
    login = TokenLogin(request, HttpClient(TlsSettings(), 30.0, 30.0), lambda: now[0])
    assert fetched_at(0) == 1
    if renewed_after is None:
        assert fetched_at(1e9) == 1
        return
    # The machine may have taken its time since a token was made that says when it ends.
    assert fetched_at(renewed_after - 3600 if "expires_in" not in given else renewed_after - 0.1) == 1
    assert fetched_at(renewed_after) == 2


def test_threads_share_one_token(receiver: Any, second_receiver: Any, answer: Any) -> None:
    second_receiver.answers.append(gives(answer, {"token": "t1", "expires_in": 3600}))
    transport = open_transport("http", options(receiver, second_receiver))
    together = threading.Barrier(4)

    def post() -> None:
        together.wait(60)
        transport.send(EVENT)

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(second_receiver.received) == 1
    assert sent_with(receiver) == ["Bearer t1"] * 4


@pytest.mark.parametrize(
    ("status", "text", "headers", "shown", "seconds"),
    [
        (400, '{"error":"invalid_client"}', {}, " (invalid_client)", None),
        (401, '{"error":"key-canary"}', {}, "", None),
        (403, "key-canary is wrong", {}, "", None),
        (302, "", {"Location": "/login"}, "", None),
        (429, "", {"Retry-After": "7"}, "", 7.0),
        (503, '{"code":400}', {}, "", None),
    ],
)
def test_an_endpoint_that_gives_no_token_is_a_receiver_that_is_away(
    receiver: Any,
    second_receiver: Any,
    answer: Any,
    status: int,
    text: str,
    headers: dict[str, str],
    shown: str,
    seconds: float | None,
) -> None:
    """The error has no status, because no receiver has judged the event."""
    second_receiver.answers.append(answer(status=status, text=text, headers=headers))
    error = failure(options(receiver, second_receiver))
    assert str(error) == f"the token endpoint {second_receiver.url}/token answered {status}{shown}"
    assert (error.status, error.retryable, error.retry_after) == (None, True, seconds)
    assert receiver.received == []


def test_a_wrong_login_costs_no_event(receiver: Any, second_receiver: Any, answer: Any) -> None:
    """It may be mended while the job runs, or before the next one: what waits is no dead letter."""
    second_receiver.answers.extend([answer(status=401)] * 3 + [gives(answer, {"token": "t1"})] * 4)
    delivery = Delivery(open_transport("http", options(receiver, second_receiver)))
    events = [Event(run, "START", run.encode()) for run in "abcdef"]
    for event in events:
        delivery.submit(event)
    assert delivery.close(60) == 0
    counts = delivery.counts()
    assert (counts.sent, counts.failed, counts.retries) == (6, 0, 3)
    assert sorted(got.body for got in receiver.received) == [event.body for event in events]


def test_an_endpoint_that_is_away_or_talks_nonsense_is_worth_another_try(
    receiver: Any, second_receiver: Any, answer: Any
) -> None:
    given = options(receiver, second_receiver)
    second_receiver.answers.append(answer(close=True))
    error = failure(given)
    assert (str(error), error.retryable) == (
        f"{second_receiver.url}/token can't be reached (RemoteDisconnected)", True,
    )  # fmt: skip
    for text in ("<html>", '{"tokens":"canary"}', '{"token":null}', '{"token":""}', '["canary"]', '{"token":"a\\nb"}'):
        second_receiver.answers.append(answer(status=200, text=text))
        error = failure(given)
        assert (str(error), error.retryable) == (
            f"the token endpoint {second_receiver.url}/token gave no token as token or access_token", True,
        )  # fmt: skip
    second_receiver.answers.append(gives(answer, {"token": "t1"}))
    open_transport("http", given).send(EVENT)
    assert sent_with(receiver) == ["Bearer t1"]


def test_no_failure_shows_a_token_or_what_it_is_fetched_with(
    receiver: Any, second_receiver: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    basic = base64.b64encode(b"me%26co:s%3Acret+canary").decode()
    echo = f"token-canary s:cret canary s%3Acret+canary {basic} key-canary"
    for given in (options(receiver, second_receiver), oauth(receiver, second_receiver)):
        second_receiver.answers.append(gives(answer, {"access_token": "token-canary"}))
        receiver.answers.append(answer(status=403, text=echo))
        error = failure(given)
        shown = f"{error!r} {error} {error.__dict__} {error.__cause__!r}"
        is_jwt = given["auth"]["type"] == "jwt"
        own = ["token-canary", "key-canary"] if is_jwt else ["token-canary", "cret", basic]
        assert [secret for secret in own if secret in shown] == []
    assert "canary" not in caplog.text
    assert "secret-tenant" not in caplog.text


def test_wrong_options_say_what_where_and_what_to_do() -> None:
    def message(**auth: object) -> str:
        with pytest.raises(TransportConfigError) as caught:
            open_transport("http", {"url": "http://h", "auth": auth})
        return str(caught.value)

    endpoint = {"tokenEndpoint": "https://h/token"}
    assert message(type="jwt", apiKey="k") == (
        f"{PREFIX}.auth.tokenEndpoint is not set. Set it to the address that issues tokens,"
        " such as https://login.example.com/token."
    )
    assert message(type="jwt", apiKey="k", tokenEndpoint="h/token?k=canary") == (
        f"{PREFIX}.auth.tokenEndpoint does not begin with http:// or https://."
        " Write it in full, such as http://localhost:5000."
    )
    assert message(type="jwt", **endpoint) == (
        f"{PREFIX}.auth.apiKey is not set. Set it to the key that is exchanged for a token."
    )
    assert message(type="oauth2", clientId="i", **endpoint) == (
        f"{PREFIX}.auth.clientSecret is not set. Set it to the value that the login server issued."
    )
    assert message(type="oauth2", clientId="i", clientSecret="s", clientAuthMethod="jwt", **endpoint) == (
        f"{PREFIX}.auth.clientAuthMethod is an unknown method. Use client_secret_basic or client_secret_post."
    )
    assert message(type="jwt", apiKey="k", tokenRefreshBuffer=-1, **endpoint) == (
        f"{PREFIX}.auth.tokenRefreshBuffer is '-1'. Set it to a number of seconds of at least 0."
    )
    assert message(type="jwt", apiKey="k", tokenFields=[{"a": 1}], **endpoint) == (
        f"{PREFIX}.auth.tokenFields must be a list of texts. Write {PREFIX}.auth.tokenFields=<text>,<text>."
    )
