"""What holds for every transport."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.transport import Event, Transport, open_transport
from openlineage_pyspark.transport.memory import MemoryTransport

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVENTS = [
    Event("r1", "START", json.dumps({"n": 1, "name": "Größe \u2028 表 😀"}, ensure_ascii=False).encode()),
    Event("r1", "COMPLETE", b'{"n":2}'),
    Event("r2", "START", b'{"n":3,"text":"' + b"x" * 300_000 + b'"}'),
]


@attrs.frozen
class Case:
    """A transport, and how to see what its receiver got (None: it keeps nothing)."""

    transport: Transport
    seen: Callable[[], list[bytes]] | None


@pytest.fixture(params=["console", "file", "http", "memory", "noop"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    name: str = request.param
    if name == "console":
        capfd: pytest.CaptureFixture[str] = request.getfixturevalue("capfd")
        return Case(open_transport(name, {}), lambda: capfd.readouterr().err.encode().split(b"\n")[:-1])
    if name == "file":
        path = tmp_path / "new" / "events.ndjson"
        transport = open_transport(name, {"location": str(path)})
        return Case(transport, lambda: path.read_bytes().split(b"\n")[:-1])
    if name == "http":
        receiver: Any = request.getfixturevalue("receiver")
        return Case(open_transport(name, {"url": receiver.url}), lambda: [got.body for got in receiver.received])
    transport = open_transport(name, {})
    if isinstance(transport, MemoryTransport):
        return Case(transport, lambda: [event.body for event in transport.events])
    return Case(transport, None)


def test_events_arrive_whole_and_in_order(case: Case) -> None:
    for event in EVENTS:
        case.transport.send(event)
    if case.seen is not None:
        assert case.seen() == [event.body for event in EVENTS]


def test_close_may_come_twice_and_before_any_event(case: Case) -> None:
    case.transport.close(1.0)
    case.transport.close(1.0)
    if case.seen is not None:
        assert case.seen() == []


def test_an_unknown_option_is_named_and_changes_nothing(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    name = type(case.transport).__name__.removesuffix("Transport").lower()
    options = {"file": {"location": "/dev/null"}, "http": {"url": "http://localhost"}}.get(name, {})
    open_transport(name, {**options, "type": name, "colour": {"of": "red"}})
    assert [record.getMessage() for record in caplog.records] == [
        f"spark.openlineage.transport.colour.of is unknown to the {name} transport and has no effect"
    ]


def test_the_console_leaves_standard_output_alone(capfd: pytest.CaptureFixture[str]) -> None:
    open_transport("console", {}).send(EVENTS[1])
    assert capfd.readouterr() == ("", '{"n":2}\n')


def test_an_event_of_two_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="holds a line break: serialise it as compact JSON on one line"):
        Event("r", "START", b"{\n}")


def test_transports_know_nothing_of_spark_and_load_requests_only_for_http() -> None:
    program = """
import sys, openlineage_pyspark.transport as t
ours = "openlineage_pyspark"
watched = {"pyspark", "py4j", "requests", ours + ".listener", ours + ".facets"}
def loaded():
    return sorted(watched & set(sys.modules))
for name, options in [("file", {"location": "/dev/null"}), ("console", {}), ("memory", {}), ("noop", {})]:
    t.open_transport(name, options)
print(loaded())
t.open_transport("http", {"url": "http://localhost:5000"})
print(loaded())
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n['requests']\n"
