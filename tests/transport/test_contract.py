"""What holds for every transport."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.composite import CompositeTransport
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.file.filesystem import offered
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.openlineage.adapter import ForeignTransport
from openlineage_pyspark.transport.registry import built_in_transports, open_transport
from openlineage_pyspark.workbench.store.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def event(event_type: str, number: int, **facets: object) -> Event:
    document: dict[str, Any] = {
        "eventTime": "2026-11-21T10:00:00.123Z",
        "producer": "https://example.com/p",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventType": event_type,
        "run": {"runId": f"0190a1b2-0000-7000-8000-{number:012}", "facets": facets},
        "job": {"namespace": "sales", "name": "Größe \u2028 表 😀"},
    }
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    return Event(document["run"]["runId"], event_type, body)


EVENTS = [event("START", 1), event("COMPLETE", 1), event("START", 2, long={"_producer": "p", "text": "x" * 300_000})]


@attrs.frozen
class Case:
    """A transport, and how to see what its receiver got.

    Args:
        name: of the transport.
        options: with which it is made.
        seen: what its receiver has; None if it keeps nothing.
        rewrites: whether the receiver gets the same document in other bytes.
        unreachable: why its receiver can't be reached here; empty if it can.
        takes_any_option: whether it takes options that it does not know.
    """

    name: str
    options: dict[str, Any] = attrs.field(factory=dict)
    seen: Callable[[Transport], list[bytes]] | None = None
    rewrites: bool = False
    unreachable: str = ""
    takes_any_option: bool = False


class Lake:
    """A file system in memory: an object is there once it is closed."""

    def __init__(self) -> None:
        self.objects: list[bytes] = []

    def label(self) -> str:
        return "app-1"

    def create(self, _path: str) -> Drop:
        return Drop(self)

    def close(self) -> None:
        """Let go of nothing."""


class Drop:
    keeps = False

    def __init__(self, lake: Lake) -> None:
        self._lake, self._data = lake, b""

    def write(self, data: bytes) -> None:
        self._data += data

    def close(self) -> None:
        self._lake.objects.append(self._data)


def kept(transport: Transport) -> list[bytes]:
    assert isinstance(transport, MemoryTransport)
    return [each.body for each in transport.events]


def kept_by_both(transport: Transport) -> list[bytes]:
    assert isinstance(transport, CompositeTransport)
    first, second = (kept(part.transport) for part in transport.parts)
    assert first == second
    return first


def console(request: pytest.FixtureRequest) -> Case:
    capfd: pytest.CaptureFixture[str] = request.getfixturevalue("capfd")
    return Case("console", seen=lambda _: capfd.readouterr().err.encode().split(b"\n")[:-1])


def file(request: pytest.FixtureRequest) -> Case:
    folder: Path = request.getfixturevalue("tmp_path") / "new"
    path = folder / "events.ndjson"
    return Case("file", {"location": str(path)}, lambda _: path.read_bytes().split(b"\n")[:-1])


def store(request: pytest.FixtureRequest) -> Case:
    path = request.getfixturevalue("tmp_path") / "lineage.db"

    def seen(_: Transport) -> list[bytes]:
        with Database(path, read_only=True) as database:
            return [text.encode() for (text,) in database.query("SELECT json FROM event ORDER BY rowid")]

    return Case("store", {"path": str(path)}, seen, rewrites=True)


def objects(request: pytest.FixtureRequest) -> Case:
    lake = Lake()
    request.getfixturevalue("offers")(lake)
    options = {"location": "lake://bucket/lineage", "rotate": {"maxSeconds": 0}}
    return Case("file", options, lambda _: [each.removesuffix(b"\n") for each in lake.objects])


def http(request: pytest.FixtureRequest) -> Case:
    receiver: Any = request.getfixturevalue("receiver")
    return Case("http", {"url": receiver.url}, lambda _: [got.body for got in receiver.received])


def memory(_request: pytest.FixtureRequest) -> Case:
    return Case("memory", seen=kept)


def noop(_request: pytest.FixtureRequest) -> Case:
    return Case("noop")


def composite(_request: pytest.FixtureRequest) -> Case:
    return Case("composite", {"transports": {"one": {"type": "memory"}, "two": {"type": "memory"}}}, kept_by_both)


def foreign(request: pytest.FixtureRequest) -> Case:
    """Give a transport that somebody has written for openlineage-python, in this process."""
    from openlineage.client.serde import Serde
    from openlineage.client.transport.transport import Transport as PythonTransport

    taken: list[bytes] = []

    class Mailbox(PythonTransport):
        kind = "mailbox"

        def __init__(self, _config: object) -> None:
            """Need nothing."""

        def emit(self, run_event: object) -> None:
            taken.append(Serde.to_json(run_event).encode())

    module = ModuleType("mailbox_for_contract")
    vars(module)["Mailbox"] = Mailbox
    request.getfixturevalue("monkeypatch").setitem(sys.modules, module.__name__, module)
    return Case("mailbox_for_contract.Mailbox", seen=lambda _: taken, rewrites=True, takes_any_option=True)


def kafka(_request: pytest.FixtureRequest) -> Case:
    pytest.importorskip("confluent_kafka", reason="the package confluent-kafka is not installed")
    options = {"topicName": "lineage", "properties": {"bootstrap.servers": "127.0.0.1:1"}}
    return Case("kafka", options, unreachable="there is no broker; test_kafka.py starts one and sends to it")


@pytest.fixture
def offers() -> Iterator[Callable[[Lake], None]]:
    """Give what offers a file system to the transports of a test."""
    lakes: list[Lake] = []
    with offered(lambda _location: lakes[0]):
        yield lakes.append


CASES = [console, file, store, objects, http, memory, noop, composite, foreign, kafka]


@pytest.fixture(params=CASES, ids=lambda made: made.__name__)
def case(request: pytest.FixtureRequest) -> Case:
    made: Case = request.param(request)
    return made


@pytest.fixture
def transport(case: Case) -> Iterator[Transport]:
    made = open_transport(case.name, case.options)
    yield made
    made.close(1.0)


def test_events_arrive_whole_and_in_order(case: Case, transport: Transport) -> None:
    if case.unreachable:
        pytest.skip(case.unreachable)
    for each in EVENTS:
        transport.send(each)
    if case.seen is not None:
        seen = case.seen(transport)
        assert [json.loads(each) for each in seen] == [json.loads(each.body) for each in EVENTS]
        assert case.rewrites or seen == [each.body for each in EVENTS]
    assert transport.held == 0


def test_close_may_come_twice_and_before_any_event(case: Case, transport: Transport) -> None:
    transport.close(1.0)
    transport.close(1.0)
    if case.seen is not None:
        assert case.seen(transport) == []


def test_an_unknown_option_is_named_and_changes_nothing(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    open_transport(case.name, {**case.options, "type": case.name, "colour": {"of": "red"}}).close(1.0)
    unknown = f"spark.openlineage.transport.colour.of is unknown to the {case.name} transport and has no effect"
    assert [record.getMessage() for record in caplog.records] == ([] if case.takes_any_option else [unknown])


def test_every_transport_of_this_package_is_held_to_the_contract() -> None:
    """Those of openlineage-python share what sends their events, which one case stands for."""
    own = {name for name, made in built_in_transports().items() if not issubclass(made, ForeignTransport)}
    assert own - {made.__name__ for made in CASES} == {"async_http"}
    assert built_in_transports()["async_http"] is built_in_transports()["http"]


def test_the_console_leaves_standard_output_alone(capfd: pytest.CaptureFixture[str]) -> None:
    open_transport("console", {}).send(EVENTS[1])
    assert capfd.readouterr() == ("", EVENTS[1].body.decode() + "\n")


def test_an_event_of_two_lines_is_refused() -> None:
    with pytest.raises(ValueError, match="holds a line break: serialise it as compact JSON on one line"):
        Event("r", "START", b"{\n}")


def test_transports_know_nothing_of_spark_and_load_requests_only_for_http() -> None:
    program = """
import sys, openlineage_pyspark.transport.registry as t
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


@pytest.mark.slow
def test_listing_the_options_of_all_transports_imports_no_client_library() -> None:
    """The settings do so for a suggestion, at the start of a driver."""
    program = """
import sys
from openlineage_pyspark.transport.registry import every_option
every_option()
clients = {"requests", "urllib3", "confluent_kafka", "openlineage", "boto3", "pyspark"}
print(sorted(clients & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
