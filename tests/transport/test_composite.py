"""Several transports as one: who gets an event, who gets it again, and what becomes of a bad one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.composite import CompositePart, CompositeTransport
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENT = Event("r", "START", b"{}")
PREFIX = "spark.openlineage.transport"
AWAY = TransportError("connection refused", retryable=True)
REFUSED = TransportError("answered 400", retryable=False, status=400, answer="bad facet")


class Scripted(MemoryTransport):
    """Keeps what it takes, and fails as it is told before."""

    def __init__(self, *failures: Exception) -> None:
        super().__init__()
        self.failures = list(failures)
        self.calls = 0

    def send(self, event: Event) -> None:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        super().send(event)

    def close(self, timeout: float, /) -> None:
        super().close(timeout)
        if self.failures:
            raise self.failures.pop(0)


def composite(*transports: Scripted, **modes: bool) -> CompositeTransport:
    parts = [CompositePart(name, each) for name, each in zip("abc", transports, strict=False)]
    return CompositeTransport(parts, **modes)


def failure(transport: CompositeTransport, event: Event = EVENT) -> TransportError:
    with pytest.raises(TransportError) as caught:
        transport.send(event)
    return caught.value


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_every_part_gets_every_event() -> None:
    a, b = Scripted(), Scripted()
    transport = composite(a, b)
    transport.send(EVENT)
    transport.send(EVENT)
    assert a.events == b.events == [EVENT, EVENT]
    assert transport.independent is True


def test_an_event_is_sent_again_to_those_alone_that_do_not_have_it() -> None:
    a, b, c = Scripted(), Scripted(AWAY, AWAY), Scripted()
    transport = composite(a, b, c)
    for _ in range(2):
        error = failure(transport)
        assert (str(error), error.retryable, error.status) == ("b: connection refused", True, None)
    transport.send(EVENT)
    assert [each.calls for each in (a, b, c)] == [1, 3, 1]
    assert a.events == b.events == c.events == [EVENT]


def test_events_of_several_runs_are_told_apart() -> None:
    other = Event("s", "START", b"{}")
    a, b = Scripted(), Scripted(AWAY, AWAY)
    transport = composite(a, b)
    failure(transport)
    failure(transport, other)
    transport.send(other)
    transport.send(EVENT)
    assert (a.events, b.events) == ([EVENT, other], [other, EVENT])


def test_a_refusal_waits_for_those_that_could_still_take_the_event_and_is_the_outcome_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    a, b = Scripted(REFUSED), Scripted(TransportError("answered 503", retryable=True, status=503, retry_after=7.0))
    transport = composite(a, b)
    error = failure(transport)
    assert (str(error), error.retryable, error.status, error.retry_after) == ("b: answered 503", True, 503, 7.0)
    assert told(caplog) == ["the part a of the composite transport: answered 400: bad facet; this is logged once"]
    error = failure(transport)
    assert (str(error), error.retryable, error.status) == ("a: answered 400: bad facet", False, 400)
    assert ([each.calls for each in (a, b)], b.events) == ([1, 2], [EVENT])
    # Nothing is remembered of an event that has its outcome.
    transport.send(EVENT)
    assert a.events == [EVENT]


def test_failures_of_several_parts_are_told_together() -> None:
    slow = TransportError("answered 429", retryable=True, status=429, answer="later", retry_after=60.0)
    hasty = TransportError("answered 503", retryable=True, status=503, retry_after=5.0)
    error = failure(composite(Scripted(hasty), Scripted(), Scripted(slow)))
    assert str(error) == "a: answered 503; c: answered 429: later"
    assert (error.status, error.retry_after) == (503, 60.0)


def test_a_part_that_breaks_keeps_no_other_from_the_event(caplog: pytest.LogCaptureFixture) -> None:
    a, b = Scripted(KeyError("canary")), Scripted()
    error = failure(composite(a, b))
    assert str(error).startswith(f"a: the transport failed with KeyError at {__file__}:")
    assert error.retryable is True
    assert b.events == [EVENT]
    assert "canary" not in f"{error} {caplog.text}"


def test_the_first_failure_ends_the_way_where_that_is_set() -> None:
    a, b, c = Scripted(), Scripted(AWAY), Scripted()
    transport = composite(a, b, c, continue_on_failure=False)
    assert transport.independent is False
    assert str(failure(transport)) == "b: connection refused"
    assert [each.calls for each in (a, b, c)] == [1, 1, 0]
    transport.send(EVENT)
    assert [each.events for each in (a, b, c)] == [[EVENT]] * 3


def test_the_first_that_works_is_enough_where_that_is_set(caplog: pytest.LogCaptureFixture) -> None:
    a, b, c = Scripted(REFUSED), Scripted(), Scripted()
    transport = composite(a, b, c, continue_on_success=False)
    transport.send(EVENT)
    transport.send(EVENT)
    assert [each.events for each in (a, b, c)] == [[EVENT], [EVENT], []]
    assert told(caplog) == ["the part a of the composite transport: answered 400: bad facet; this is logged once"]


def test_where_none_works_the_event_can_be_tried_again_unless_all_refuse_it() -> None:
    a, b = Scripted(AWAY), Scripted(REFUSED)
    transport = composite(a, b, continue_on_success=False)
    error = failure(transport)
    assert (str(error), error.retryable) == ("a: connection refused", True)
    transport.send(EVENT)
    assert ([each.calls for each in (a, b)], a.events) == ([2, 1], [EVENT])
    error = failure(composite(Scripted(REFUSED), Scripted(REFUSED), continue_on_success=False))
    assert (str(error), error.retryable) == ("a: answered 400; b: answered 400: bad facet", False)


def test_a_first_one_that_is_away_does_not_cost_each_event_an_attempt() -> None:
    a, b = Scripted(*[AWAY] * 1000), Scripted()
    transport = composite(a, b, continue_on_success=False)
    events = [Event(f"r{number}", "START", b"{}") for number in range(200)]
    for event in events:
        transport.send(event)
    assert b.events == events
    # It is away after four; the fifth attempt comes half a second later at the earliest, drawn at random.
    assert 4 <= a.calls < 200


def test_a_first_one_that_fails_ends_the_way_without_a_second_where_both_are_set() -> None:
    a, b = Scripted(AWAY), Scripted()
    transport = composite(a, b, continue_on_failure=False, continue_on_success=False)
    assert str(failure(transport)) == "a: connection refused"
    transport.send(EVENT)
    assert ([each.events for each in (a, b)]) == [[EVENT], []]


@pytest.mark.slow
def test_what_is_remembered_is_bounded() -> None:
    a, b = Scripted(), Scripted(*[AWAY] * 10_002)
    transport = composite(a, b)
    for number in range(10_001):
        failure(transport, Event(f"r{number}", "START", b"{}"))
    newest, oldest = Event("r10000", "START", b"{}"), Event("r0", "START", b"{}")
    b.failures.clear()
    transport.send(newest)
    transport.send(oldest)
    # The oldest was forgotten, and costs a repeat.
    assert (a.events.count(newest), a.events.count(oldest)) == (1, 2)


def test_all_are_closed_though_one_breaks(caplog: pytest.LogCaptureFixture) -> None:
    a, b = Scripted(OSError("canary")), Scripted()
    composite(a, b).close(5.0)
    assert a.closed_within == pytest.approx(5.0, abs=1.0)
    assert b.closed_within is not None
    (message,) = told(caplog)
    assert message.startswith("the part a of the composite transport: the transport failed with OSError at ")
    assert "canary" not in message


def test_it_is_spooled_where_one_is_and_takes_as_many_threads_as_all_do(receiver: Any, tmp_path: Path) -> None:
    http = {"type": "http", "url": f"{receiver.url}/?key=canary"}
    file = {"type": "file", "location": str(tmp_path / "f")}
    both = open_transport("composite", {"transports": {"x": http, "y": file}})
    assert (both.SPOOLED, both.CONNECTIONS) == (True, 1)
    alone = open_transport("composite", {"transports": [http]})
    assert (alone.SPOOLED, alone.CONNECTIONS) == (True, 4)
    local = open_transport("composite", {"transports": [file, {"type": "console"}]})
    assert (local.SPOOLED, local.CONNECTIONS) == (False, 1)
    assert f"{receiver.url}/api/v1/lineage" in both.destination
    assert "canary" not in both.destination


def names(options: Mapping[str, object]) -> list[str]:
    transport = open_transport("composite", options)
    assert isinstance(transport, CompositeTransport)
    return [part.name for part in transport.parts]


def test_parts_are_configured_as_a_map_or_as_a_list(caplog: pytest.LogCaptureFixture) -> None:
    noop = {"type": "noop"}
    # A map in the order of its names, as in the Java client; a list in its own.
    assert names({"transports": {"b": noop, "a": noop}}) == ["a", "b"]
    assert names({"transports": [{**noop, "name": "z"}, noop, {**noop, "name": "a"}]}) == ["z", "1", "a"]
    ranked = {"a": noop, "b": {**noop, "priority": "2"}, "c": {**noop, "priority": -1}, "d": {**noop, "priority": 2}}
    assert names({"transports": ranked}) == ["b", "d", "a", "c"]
    assert names({"transports": ranked, "sort_transports": False}) == ["a", "b", "c", "d"]
    assert told(caplog) == []


def test_parts_can_not_be_made_to_wait_for_each_other(caplog: pytest.LogCaptureFixture) -> None:
    open_transport("composite", {"transports": [{"type": "noop"}], "withThreadPool": "false"})
    assert told(caplog) == [f"{PREFIX}.withThreadPool has no effect: each transport sends on its own"]


@pytest.mark.parametrize(
    ("options", "modes"),
    [
        ({}, (True, True)),
        ({"continueOnFailure": "true"}, (True, True)),
        ({"continueOnFailure": "false"}, (False, True)),
        ({"continue_on_failure": False, "continue_on_success": False}, (False, False)),
        ({"continueOnSuccess": "0"}, (True, False)),
    ],
)
def test_the_modes_are_read_in_every_spelling(options: dict[str, object], modes: tuple[bool, bool]) -> None:
    transport = open_transport("composite", {"transports": [{"type": "noop"}], **options})
    assert isinstance(transport, CompositeTransport)
    assert (transport.continue_on_failure, transport.continue_on_success) == modes


def test_a_part_with_wrong_options_is_left_out_and_told_with_its_full_key(caplog: pytest.LogCaptureFixture) -> None:
    parts: dict[str, object] = {
        "a": {"type": "http", "url": "h"},
        "b": {"type": "htpp"},
        "c": {"type": "noop", "colour": "red"},
        "d": {"url": "http://h"},
        "e": "http",
        "f": {"type": "composite", "transports": [{"type": "http", "url": "http://h:0"}]},
        "g": {"type": "http", "url": "http://h/base", "timeout": 0.01},
        "h": {"type": "noop", "priority": "high"},
        "i": {"type": "noop", "priority": 1.5},
    }
    assert names({"transports": parts}) == ["c", "g"]
    known = (
        "amazon_datazone_api, async_http, composite, console, datadog, file, gcplineage, http, kafka, memory, noop"
        ", store"
    )
    left_out = "The transport is left out"
    in_full = "Write it in full, such as http://localhost:5000."
    inner = f"{PREFIX}.transports.f.transports"
    address = "Write http://host:port, such as http://localhost:5000."
    below = (
        f"events go to api/v1/lineage below it. To stop this warning, set"
        f" {PREFIX}.transports.g.endpoint to that, or to nothing if the url is the whole address"
    )
    assert sorted(told(caplog)) == sorted(
        [
            f"{PREFIX}.transports.a.url does not begin with http:// or https://. {in_full} {left_out}",
            f"{PREFIX}.transports.b.type is 'htpp', unknown. Did you mean 'http'? Use one of: {known}. {left_out}",
            f"{PREFIX}.transports.c.colour is unknown to the noop transport and has no effect",
            f"{PREFIX}.transports.d.type is not set. Set it to the name of a transport, such as http. {left_out}",
            f"{PREFIX}.transports.e is left out: it must hold a type and the other options of a transport",
            f"{inner}[0].url is not the address of a server. {address} {left_out}",
            f"{inner} name no transport that can be used. Set {inner}.<name>.type and its options. {left_out}",
            f"{PREFIX}.transports.g: the timeout of 0.01 s is too short: 0.1 s is used",
            f"{PREFIX}.transports.g.url has the path /base and no endpoint is set: {below}",
            f"{PREFIX}.transports.h.priority is not a valid number. Set it to a whole number. {left_out}",
            f"{PREFIX}.transports.i.priority is '1.5'. Set it to a whole number. {left_out}",
        ]
    )


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (None, "are not set. Set {0}.<name>.type and the other options of each transport."),
        ("http", "hold no transports. Set {0}.<name>.type and the other options of each transport."),
        ([], "name no transport that can be used. Set {0}.<name>.type and its options."),
        ([{"type": "nope"}], "name no transport that can be used. Set {0}.<name>.type and its options."),
    ],
)
def test_without_any_part_it_can_not_be_made(given: object, problem: str) -> None:
    with pytest.raises(TransportConfigError) as caught:
        open_transport("composite", {"transports": given})
    assert str(caught.value) == f"{PREFIX}.transports {problem.format(f'{PREFIX}.transports')}"


def test_an_event_goes_to_a_server_and_into_a_file(receiver: Any, answer: Any, tmp_path: Path) -> None:
    path = tmp_path / "lineage.ndjson"
    transport = open_transport(
        "composite",
        {"transports": {"web": {"type": "http", "url": receiver.url}, "disk": {"type": "file", "location": str(path)}}},
    )
    receiver.answers.append(answer(status=503))
    with pytest.raises(TransportError, match=r"^web: .* answered 503$"):
        transport.send(EVENT)
    transport.send(EVENT)
    assert [got.body for got in receiver.received] == [EVENT.body] * 2
    assert path.read_bytes() == EVENT.body + b"\n"
