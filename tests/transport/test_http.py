"""The http transport against a real server: what it sends, how it fails, and what it never shows."""

from __future__ import annotations

import datetime as dt
import json
import logging
import socket
import threading
import time
from email.utils import format_datetime
from http.client import HTTPConnection
from typing import Any

import pytest
import requests
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.http.answer import seconds_to_wait
from openlineage_pyspark.transport.registry import open_transport

EVENT = Event("r", "START", '{"name":"größe"}'.encode())
PREFIX = "spark.openlineage.transport"


def failure(options: dict[str, object]) -> TransportError:
    with pytest.raises(TransportError) as caught:
        open_transport("http", options).send(EVENT)
    return caught.value


def config_error(**options: object) -> str:
    with pytest.raises(TransportConfigError) as caught:
        open_transport("http", {"url": "http://localhost:5000", **options})
    return str(caught.value)


def test_an_event_goes_to_marquez_as_json(receiver: Any) -> None:
    open_transport("http", {"url": receiver.url}).send(EVENT)
    (got,) = receiver.received
    assert (got.path, got.body) == ("/api/v1/lineage", EVENT.body)
    assert got.headers["Content-Type"] == "application/json; charset=UTF-8"
    assert "Authorization" not in got.headers
    assert "Content-Encoding" not in got.headers


@pytest.mark.parametrize(("key", "sent"), [("Bearer s3cret", "s3cret"), ("bearer  s3", "s3"), ("bearers", "bearers")])
def test_a_key_that_is_given_as_a_header_is_sent_as_one(receiver: Any, key: str, sent: str) -> None:
    open_transport("http", {"url": receiver.url, "auth": {"type": "api_key", "apiKey": key}}).send(EVENT)
    assert receiver.received[0].headers["Authorization"] == f"Bearer {sent}"


@pytest.mark.parametrize("spelling", ["apiKey", "apikey", "api_key"])
@pytest.mark.parametrize("headers", ["headers", "custom_headers"])
def test_key_headers_parameters_and_gzip_are_sent(receiver: Any, spelling: str, headers: str) -> None:
    options: dict[str, object] = {
        "url": receiver.url,
        "auth": {"type": "api_key", spelling: " s3cret\n"},
        headers: {"X-Team": "a b", "x": {"dotted": "1"}},
        "urlParams": {"env": "a&b", "n": 2},
        "compression": "gzip",
    }
    open_transport("http", options).send(EVENT)
    (got,) = receiver.received
    assert got.path == "/api/v1/lineage?env=a%26b&n=2"
    assert got.body == EVENT.body
    wanted = {"Authorization": "Bearer s3cret", "X-Team": "a b", "x.dotted": "1", "Content-Encoding": "gzip"}
    assert wanted.items() <= got.headers.items()


@pytest.mark.parametrize(
    ("path", "endpoint", "target"),
    [
        ("/", None, "/api/v1/lineage"),
        ("/base/", "/v2/events", "/base/v2/events"),
        ("/base", "api/v1/lineage", "/base/api/v1/lineage"),
        ("/base/api/v1/lineage", None, "/base/api/v1/lineage"),
        ("/base", "", "/base"),
        ("/base?x=1", "v2", "/base/v2?x=1"),
    ],
)
def test_the_base_path_is_kept(
    receiver: Any, path: str, endpoint: str | None, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    open_transport("http", {"url": receiver.url + path, "endpoint": endpoint}).send(EVENT)
    assert [got.path for got in receiver.received] == [target]
    assert caplog.records == []


def test_a_path_without_endpoint_gets_the_default_below_it_and_a_warning(
    receiver: Any, caplog: pytest.LogCaptureFixture
) -> None:
    open_transport("http", {"url": receiver.url + "/base"}).send(EVENT)
    assert receiver.received[0].path == "/base/api/v1/lineage"
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{PREFIX}.url has the path /base and no endpoint is set: events go to api/v1/lineage below it."
        f" To stop this warning, set {PREFIX}.endpoint to that, or to nothing if the url is the whole address"
    )


def test_the_connection_is_kept_and_made_again_after_the_server_closed_it(receiver: Any, answer: Any) -> None:
    receiver.answers.extend([answer(), answer(text="created"), answer(status=500, text="no"), answer()])
    transport = open_transport("http", {"url": receiver.url})
    transport.send(EVENT)
    transport.send(EVENT)
    with pytest.raises(TransportError):
        transport.send(EVENT)
    transport.send(EVENT)
    assert len({got.connection for got in receiver.received}) == 1
    receiver.answers.append(answer(headers={"Connection": "close"}, announced_bytes=1))
    transport.send(EVENT)
    transport.send(EVENT)
    assert len({got.connection for got in receiver.received}) == 2


@pytest.mark.parametrize(
    ("status", "text", "retryable"),
    [
        (400, "bad facet", False),
        (408, "", True),
        (413, "", False),
        (422, "", False),
        (425, "", True),
        (429, "", True),
        (500, "boom", True),
        (500, '{"code":500,"message":"boom"}', True),
        (500, '{"code":400,"message":"Unable to process JSON"}', False),
        (503, "[1]", True),
        (409, "", False),
    ],
)
def test_an_answer_tells_whether_a_retry_could_help(
    receiver: Any,
    answer: Any,
    status: int,
    text: str,
    *,
    retryable: bool,
) -> None:
    receiver.answers.append(answer(status=status, text=text))
    error = failure({"url": receiver.url})
    assert (error.status, error.answer, error.retryable) == (status, text, retryable)
    assert str(error).startswith(f"{receiver.url}/api/v1/lineage answered {status}")


def test_a_long_answer_is_shortened_to_one_line(receiver: Any, answer: Any) -> None:
    receiver.answers.append(answer(status=400, text="line\n" * 100_000))
    error = failure({"url": receiver.url})
    assert error.answer == "line " * 59 + "li..."


def test_no_answer_is_retryable_and_says_why(receiver: Any, answer: Any) -> None:
    receiver.answers.append(answer(close=True))
    error = failure({"url": receiver.url})
    assert (str(error), error.retryable) == (
        f"{receiver.url}/api/v1/lineage can't be reached (RemoteDisconnected)", True,
    )  # fmt: skip
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        error = failure({"url": url})
    assert (str(error), error.retryable) == (
        f"{url}/api/v1/lineage can't be reached (Connection refused)",
        True,
    )
    error = failure({"url": "http://no-such-host.invalid"})
    assert (error.status, error.retryable) == (None, True)


@pytest.mark.parametrize("timeout", [{"timeoutInMillis": "200"}, {"timeout": 0.2}])
def test_a_hanging_server_costs_the_timeout(receiver: Any, answer: Any, timeout: dict[str, object]) -> None:
    receiver.answers.append(answer(hang=True))
    begin = time.monotonic()
    error = failure({"url": receiver.url, **timeout})
    assert time.monotonic() - begin >= 0.2
    assert str(error) == f"{receiver.url}/api/v1/lineage can't be reached (no answer within 0.2 s)"
    assert error.retryable is True


def test_half_an_answer_counts_by_its_status(receiver: Any, answer: Any) -> None:
    receiver.answers.extend([answer(text="cre", announced_bytes=99), answer(status=400, text="ba", announced_bytes=99)])
    open_transport("http", {"url": receiver.url}).send(EVENT)
    assert failure({"url": receiver.url}).status == 400


def test_an_answer_without_end_is_not_read_to_its_end(receiver: Any, answer: Any) -> None:
    receiver.answers.append(answer(status=400, text="x" * 100_000, announced_bytes=10**12, hang=True))
    begin = time.monotonic()
    error = failure({"url": receiver.url, "timeout": 300})
    assert time.monotonic() - begin < 60
    assert error.answer == "x" * 297 + "..."


@pytest.mark.slow
def test_an_answer_that_never_ends_is_cut_off_at_the_timeout(receiver: Any, answer: Any) -> None:
    """A byte now and then does not restart the timeout, neither in the headers nor in the body."""
    receiver.answers.append(answer(status=400, text="x" * 600, drips="text"))
    # Its first line must come in that time.
    error = failure({"url": receiver.url, "timeout": 1})
    assert (error.status, error.retryable) == (400, False)
    assert receiver.cut_off.wait(60)
    receiver.cut_off.clear()
    receiver.answers.append(answer(drips="headers"))
    error = failure({"url": receiver.url, "timeout": 0.3})
    assert str(error) == f"{receiver.url}/api/v1/lineage can't be reached (no answer within 0.3 s)"
    assert error.retryable is True
    assert receiver.cut_off.wait(60)


def test_a_redirect_keeps_the_event_or_is_an_error(receiver: Any, answer: Any) -> None:
    receiver.answers.append(answer(status=308, headers={"Location": "/moved"}))
    open_transport("http", {"url": receiver.url}).send(EVENT)
    assert [(got.path, got.body) for got in receiver.received] == [
        ("/api/v1/lineage", EVENT.body), ("/moved", EVENT.body),
    ]  # fmt: skip
    receiver.answers.append(answer(status=307, headers={"Location": "http://u:p@other.invalid/x?key=1"}))
    error = failure({"url": receiver.url})
    assert str(error).endswith("answered 307 (moved to http://other.invalid/x)")
    receiver.answers.append(answer(status=302, headers={"Location": "/login"}))
    failure({"url": receiver.url})
    assert len(receiver.received) == 4


def test_a_redirect_is_followed_to_the_same_server_alone_and_not_for_ever(
    receiver: Any, second_receiver: Any, answer: Any
) -> None:
    secret = {"url": receiver.url, "auth": {"apiKey": "key-canary"}, "headers": {"X-Key": "key-canary"}}
    receiver.answers.append(answer(status=307, headers={"Location": f"{second_receiver.url}/x"}))
    assert str(failure(secret)).endswith(f"answered 307 (moved to {second_receiver.url}/x)")
    assert second_receiver.received == []
    for turn in range(20):
        receiver.answers.append(answer(status=308, headers={"Location": f"/{turn}"}))
    receiver.received.clear()
    assert failure(secret).status == 308
    assert [got.path for got in receiver.received] == ["/api/v1/lineage", "/0", "/1", "/2", "/3", "/4"]
    assert {got.headers["Authorization"] for got in receiver.received} == {"Bearer key-canary"}


def test_netrc_does_not_replace_the_key(receiver: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password wrong\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    open_transport("http", {"url": receiver.url, "headers": {"Authorization": "Token mine"}}).send(EVENT)
    open_transport("http", {"url": receiver.url}).send(EVENT)
    assert [got.headers.get("Authorization") for got in receiver.received] == ["Token mine", None]


def test_each_post_names_the_event_so_that_a_repeat_can_be_dropped(receiver: Any) -> None:
    other = Event("r", "COMPLETE", b"{}")
    transport = open_transport("http", {"url": receiver.url})
    for event in (EVENT, EVENT, other):
        transport.send(event)
    assert [got.headers["Idempotency-Key"] for got in receiver.received] == [EVENT.id, EVENT.id, other.id]
    open_transport("http", {"url": receiver.url, "headers": {"idempotency-key": "mine"}}).send(EVENT)
    sent = [value for name, value in receiver.received[-1].headers.items() if name.lower() == "idempotency-key"]
    assert sent == ["mine"]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3600"}, 3600.0),
        ({"Retry-After": " 0 "}, 0.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:30 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:27:00 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "9" * 400}, None),
    ],
)
def test_the_receiver_may_say_when_to_try_again(
    receiver: Any, answer: Any, headers: dict[str, str], seconds: float | None
) -> None:
    receiver.answers.append(answer(status=429, headers=headers))
    assert failure({"url": receiver.url}).retry_after == seconds


def test_a_date_to_try_again_is_compared_with_the_clock_here_where_the_answer_has_none() -> None:
    until = dt.datetime.now(dt.timezone.utc) + dt.timedelta(hours=1)
    seconds = seconds_to_wait({"Retry-After": format_datetime(until, usegmt=True)})
    assert seconds is not None
    assert 3000 < seconds <= 3600


def test_several_threads_post_at_once_each_over_a_connection_of_its_own(receiver: Any) -> None:
    transport = open_transport("http", {"url": receiver.url})
    assert (transport.CONNECTIONS, transport.SPOOLED) == (4, True)
    together = threading.Barrier(4)

    def post(run: str) -> None:
        together.wait(60)
        for number in range(25):
            transport.send(Event(run, "RUNNING", f'{{"run":"{run}","number":{number}}}'.encode()))

    threads = [threading.Thread(target=post, args=(run,)) for run in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    bodies = [json.loads(got.body) for got in receiver.received]
    for run in "abcd":
        assert [body["number"] for body in bodies if body["run"] == run] == list(range(25))
    assert len({got.connection for got in receiver.received}) <= 4
    transport.close(1.0)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 401, 402, 403, 404, 405, 407, 410, 421, 451])
def test_an_answer_about_the_login_or_the_address_may_pass_once_that_is_repaired(
    receiver: Any, answer: Any, status: int
) -> None:
    receiver.answers.append(answer(status=status))
    error = failure({"url": receiver.url})
    assert (error.status, error.retryable, error.lasting) == (status, True, True)


@pytest.mark.parametrize("status", [400, 413, 422, 429, 500, 503])
def test_an_answer_about_the_event_or_the_receivers_state_does_not_last(
    receiver: Any, answer: Any, status: int
) -> None:
    receiver.answers.append(answer(status=status))
    assert not failure({"url": receiver.url}).lasting


def test_the_destination_has_no_credential() -> None:
    transport = open_transport("http", {"url": "https://h/base?token=canary", "endpoint": "e", "urlParams": {"k": "v"}})
    assert transport.destination == "https://h/base/e"


def test_statuses_of_the_users_own_are_retryable_too_and_the_rest_of_retry_is_told_to_be_idle(
    receiver: Any, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.answers.extend([answer(status=412), answer(status=409)])
    options = {"url": receiver.url, "retry": {"status_forcelist": [409, 503]}}
    assert [failure(options).retryable, failure(options).retryable] == [False, True]
    assert caplog.records == []
    open_transport("http", {"url": receiver.url, "retry": {"total": 5, "backoff_factor": 0.3}})
    assert [record.getMessage() for record in caplog.records] == [
        f"{PREFIX}.retry: only status_forcelist has an effect, because failed events are always sent again"
    ]
    assert config_error(retry={"status_forcelist": "503,many"}) == (
        f"{PREFIX}.retry.status_forcelist is not a list of statuses. Write it such as [429;503]."
    )


def test_what_a_program_logs_at_its_finest_shows_no_key(
    receiver: Any, answer: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    receiver.answers.extend([answer(), answer(status=503)])
    before = HTTPConnection.debuglevel
    HTTPConnection.debuglevel = 1
    try:
        transport = open_transport(
            "http",
            {
                "url": f"{receiver.url}/?q=query-canary",
                "auth": {"apiKey": "api-key-canary"},
                "headers": {"X-Token": "header-canary"},
                "urlParams": {"code": "param-canary"},
            },
        )
        transport.send(EVENT)
        with pytest.raises(TransportError):
            transport.send(EVENT)
        requests.get(receiver.url, timeout=30)
    finally:
        HTTPConnection.debuglevel = before
    seen = caplog.text + "".join(capfd.readouterr())
    assert "canary" not in seen
    # What the program asked to see of its own requests, it sees.
    assert "GET / HTTP/1.1" in caplog.text
    assert "send: b'GET / HTTP/1.1" in seen


def test_no_failure_shows_a_key(receiver: Any, answer: Any) -> None:
    secrets = {"api-key-canary", "header-canary", "param-canary", "query-canary"}
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{unused.getsockname()[1]}"
        for url in (receiver.url, dead):
            echo = " ".join(sorted(secrets))
            receiver.answers.append(answer(status=401, text=f"refused: {echo}"))
            error = failure(
                {
                    "url": f"{url}/?q=query-canary",
                    "auth": {"type": "api_key", "apiKey": "api-key-canary"},
                    "headers": {"X-Token": "header-canary"},
                    "urlParams": {"code": "param-canary"},
                }
            )
            shown = f"{error!r} {error} {error.__dict__} {error.__cause__!r}"
            assert [secret for secret in secrets if secret in shown] == []
    for wrong in (
        "htp://user:api-key-canary@h",
        "http://user:api-key-canary@h",
        "h?code=api-key-canary",
        "api-key-canary",
        "http://u:api#key-canary@h",
        "http://u:api?key-canary@h",
        "http://u:api/key-canary@h",
        "http://u:key//canary@h",
        "http://h:api-key-canary",
    ):
        assert "canary" not in config_error(url=wrong)
        assert "canary" not in config_error(auth={"type": "jwt", "apiKey": "k", "tokenEndpoint": wrong})
    assert "canary" not in config_error(auth={"type": "api_key", "apiKey": "api-key-canary\nX: y"})
    assert "canary" not in config_error(auth="api-key-canary")


def test_wrong_options_say_what_where_and_what_to_do() -> None:
    assert config_error(url=None) == (
        f"{PREFIX}.url is not set. Set it to the receiver, such as http://localhost:5000."
    )
    assert config_error(url="localhost:5000") == (
        f"{PREFIX}.url does not begin with http:// or https://. Write it in full, such as http://localhost:5000."
    )
    for wrong in ("http://", "http://h:99999", "http://[::1", "http://h:0", "http://a b", "http://.x", "http://h:x"):
        assert config_error(url=wrong) == (
            f"{PREFIX}.url is not the address of a server. Write http://host:port, such as http://localhost:5000."
        )
    assert config_error(url="HTTP://u:pa#ss@h:5000/x?y=1") == (
        f"{PREFIX}.url (HTTP://h:5000/x) holds a user or password."
        f" Set {PREFIX}.auth.apiKey, or a header Authorization, instead."
    )
    assert config_error(timeoutInMillis="5s") == (
        f"{PREFIX}.timeoutInMillis is '5s'. Set it to a number of milliseconds above zero."
    )
    assert config_error(timeout=0) == f"{PREFIX}.timeout is '0'. Set it to a number of seconds above zero."
    assert config_error(timeout=1, timeoutInMillis=1) == (
        f"{PREFIX}.timeoutInMillis and {PREFIX}.timeout set the same option. Keep one of them."
    )
    assert config_error(compression="gizp") == (
        f"{PREFIX}.compression is 'gizp', unknown. Did you mean 'gzip'? Use gzip, or leave it out."
    )
    assert config_error(auth={"type": "kerberos", "apiKey": "k"}) == (
        f"{PREFIX}.auth.type is unknown. Use api_key, jwt or oauth2, or a header Authorization."
    )
    assert config_error(auth={"type": "api_key"}) == (
        f"{PREFIX}.auth.apiKey is not set, and auth.type is api_key. Set it, or leave auth.type out."
    )
    assert config_error(headers="X") == (
        f"{PREFIX}.headers must map names to values. Write {PREFIX}.headers.<name>=<value>."
    )
    assert config_error(headers={"X": ["a"]}) == (
        f"{PREFIX}.headers.X must be one text. Write {PREFIX}.headers.X=<text>."
    )
    assert config_error(headers={"Authorization: Bearer canary": "a"}) == (
        f"{PREFIX}.headers hold an invalid header name."
        f" Use letters, digits and dashes, such as {PREFIX}.headers.X-Team=sales."
    )


def test_a_value_that_may_be_a_secret_is_not_shown_whatever_option_it_was_written_into() -> None:
    key = "sk-canary-0123456789"
    bytes_ = "Set it to a number of bytes, such as 1048576, 512k or 32m."
    for name, options, message in (
        ("http", {"compression": key}, "compression is unknown. Use gzip, or leave it out."),
        ("http", {"timeout": key}, "timeout is not a valid number. Set it to a number of seconds above zero."),
        ("file", {"append": key}, "append is neither true nor false. Set it to true or false."),
        ("file", {"rotate": {"maxBytes": key}}, f"rotate.maxBytes is not a valid number. {bytes_}"),
    ):
        with pytest.raises(TransportConfigError) as caught:
            open_transport(name, {"url": "http://h", "location": "/dev/null", **options})
        assert str(caught.value) == f"{PREFIX}.{message}"


def test_a_misspelt_option_is_told_the_nearest_and_a_later_one_by_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    open_transport(
        "http",
        {
            "url": "http://h",
            "timeoutInMilis": 1,
            "auth": {"apiKy": "k"},
            "max_queue_size": 10,
            "headers": {"a": "b"},
        },
    )
    unknown = "is unknown to the http transport and has no effect"
    assert [record.getMessage() for record in caplog.records] == [
        f"{PREFIX}.timeoutInMilis {unknown}; did you mean {PREFIX}.timeoutInMillis?",
        f"{PREFIX}.auth.apiKy {unknown}; did you mean {PREFIX}.auth.apikey?",
        f"{PREFIX}.max_queue_size is an option of openlineage-python and has no effect here",
    ]


def test_a_timeout_below_the_floor_is_raised_and_told(caplog: pytest.LogCaptureFixture) -> None:
    open_transport("http", {"url": "http://h", "timeoutInMillis": 1})
    assert [record.getMessage() for record in caplog.records] == [
        f"{PREFIX}: the timeout of 0.001 s is too short: 0.1 s is used"
    ]


class Slow:
    """
    A receiver at the end of a slow line: it reads the first half at its own pace, or nothing at all.

    The second half is in the system's buffers by then, and the sender waits for the answer.
    """

    def __init__(self, pause: float | None) -> None:
        self.pause = pause
        self.read = 0
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen()
        self.ended = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def _serve(self) -> None:
        connection, _ = self.socket.accept()
        with connection:
            if self.pause is None:
                self.ended.wait(60)
                return
            head, _, body = connection.recv(4096).partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            self.read = len(body)
            while self.read < length:
                if self.read < length / 2:
                    self.ended.wait(self.pause)
                self.read += len(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")


LARGE = Event("r", "START", b'"' + b"x" * 10_000_000 + b'"')


@pytest.mark.slow
def test_a_large_event_gets_over_a_slow_line_whatever_the_limit_on_connecting() -> None:
    slow = Slow(0.03)
    open_transport("http", {"url": slow.url, "timeout": 2}).send(LARGE)
    assert slow.read == len(LARGE.body)


def test_a_receiver_that_stops_taking_an_event_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openlineage_pyspark.transport.http.client._LEAST_SENDING_SECONDS", 0.2)
    slow = Slow(None)
    with pytest.raises(TransportError) as caught:
        open_transport("http", {"url": slow.url, "timeout": 0.2}).send(LARGE)
    slow.ended.set()
    assert str(caught.value) == (f"{slow.url}/api/v1/lineage did not take the whole request (timed out while sending)")
    assert (caught.value.retryable, caught.value.status) == (True, None)


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ({"url": "http://h\0/"}, "url"),
        ({"url": "http://h/\udce4"}, "url"),
        ({"endpoint": "a\0"}, "endpoint"),
        ({"urlParams": {"a": "\ud800"}}, "urlParams.a"),
        ({"urlParams": {"\ud800": "a"}}, "urlParams"),
        ({"headers": {"X": "\0"}}, "headers.X"),
        ({"auth": {"type": "api_key", "apiKey": "key\udcff"}}, "auth.apiKey"),
        ({"auth": {"type": "jwt", "apiKey": "k", "tokenEndpoint": "http://h\0"}}, "auth.tokenEndpoint"),
        ({"sslContext": {"caCertPath": "/tmp/ca\0.pem"}}, "sslContext.caCertPath"),  # noqa: S108
        ({"sslContext": {"clientCertPath": "/tmp/\udce4.pem"}}, "sslContext.clientCertPath"),  # noqa: S108
        ({"sslContext": {"keyStorePath": "a\0", "keyStoreType": "PEM"}}, "sslContext.keyStorePath"),
        ({"sslContext": {"keyStorePath": "a", "keyStoreType": "P\0"}}, "sslContext.keyStoreType"),
        ({"verify": "/ca\0"}, "verify"),
        ({"compression": "gz\0ip"}, "compression"),
        ({"retry": {"status_forcelist": ["5\0"]}}, "retry.status_forcelist"),
    ],
)
def test_characters_that_no_system_takes_are_named_with_their_option(option: dict[str, object], named: str) -> None:
    message = config_error(**option)
    assert message.startswith(f"{PREFIX}.{named} holds ")
    assert message.encode()
    assert "\0" not in message
