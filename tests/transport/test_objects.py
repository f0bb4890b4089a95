"""Objects of a file system that is not local: when each is there, and what becomes of events when one is not taken."""

from __future__ import annotations

import gzip
import logging
import re
import threading
import time
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.file.filesystem import offered
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool

LOCATION = "lake://bucket/lineage"


@attrs.define(eq=False)
class Store:
    """
    A file system in a directory, which may refuse.

    Args:
        root: of what is below `lake://bucket`.
        keeps: whether what is written shows at once; else an object is there from its closing on.
        refusals: how many of the next calls fail, by name: create, write, close.
    """

    root: Path
    keeps: bool
    refusals: dict[str, int] = attrs.field(factory=dict)
    closed: bool = False

    def label(self) -> str:
        return "app-1"

    def create(self, path: str) -> Object:
        self.maybe_refuse("create")
        return Object(self, self.root / path.removeprefix("lake://bucket/"))

    def close(self) -> None:
        self.closed = True

    def maybe_refuse(self, call: str) -> None:
        if self.refusals.get(call, 0):
            self.refusals[call] -= 1
            raise OSError(f"{call} refused")

    def objects(self) -> list[bytes]:
        return [file.read_bytes() for file in sorted((self.root / "lineage").glob("*"))]

    def names(self) -> list[str]:
        return [file.name for file in sorted((self.root / "lineage").glob("*"))]


class Object:
    def __init__(self, store: Store, path: Path) -> None:
        self.keeps = store.keeps
        self._store, self._path, self._data = store, path, b""
        path.parent.mkdir(exist_ok=True)

    def write(self, data: bytes) -> None:
        self._data += data
        self._store.maybe_refuse("write")
        if self.keeps:
            self._path.write_bytes(self._data)

    def close(self) -> None:
        self._store.maybe_refuse("close")
        self._path.write_bytes(self._data)


@pytest.fixture(params=[False, True], ids=["whole", "keeps"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(tmp_path, request.param)


@pytest.fixture
def whole(tmp_path: Path) -> Store:
    return Store(tmp_path, keeps=False)


@pytest.fixture
def keeping(tmp_path: Path) -> Store:
    return Store(tmp_path, keeps=True)


def opened(store: Store, **rotate: object):
    with offered(lambda _location: store):
        return open_transport("file", {"location": LOCATION, "rotate": rotate})


def send(transport, *bodies: bytes) -> None:
    for body in bodies:
        transport.send(Event("r", "START", body))


def refused(transport, body: bytes) -> str:
    with pytest.raises(TransportError) as caught:
        send(transport, body)
    assert caught.value.retryable
    return str(caught.value)


def wait_for(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen within a minute"
        time.sleep(0.01)


def test_all_events_are_in_one_object_at_the_end(store: Store) -> None:
    transport = opened(store)
    send(transport, b"1", b"2", b"3")
    transport.close(10)
    assert store.objects() == [b"1\n2\n3\n"]
    assert store.closed


def test_objects_are_named_after_the_application_the_process_and_their_number(store: Store) -> None:
    first, second = opened(store, maxBytes=2), opened(store)
    send(first, b"1", b"2")
    send(second, b"3")
    first.close(10)
    second.close(10)
    names = [re.fullmatch(r"app-1-([0-9a-f]{8})-(\d{5})\.ndjson", name) for name in store.names()]
    assert all(names)
    assert sorted(name[2] for name in names if name) == ["00001", "00001", "00002"]
    assert len({name[1] for name in names if name}) == 2


def test_where_the_file_system_keeps_what_is_written_an_event_is_there_when_it_is_sent(keeping: Store) -> None:
    transport = opened(keeping)
    send(transport, b"1")
    assert keeping.objects() == [b"1\n"]
    send(transport, b"2")
    assert keeping.objects() == [b"1\n2\n"]


def test_elsewhere_events_are_held_until_their_object_ends(whole: Store) -> None:
    transport = opened(whole)
    send(transport, b"1", b"2")
    assert whole.objects() == []
    transport.close(10)
    assert whole.objects() == [b"1\n2\n"]


def test_an_object_ends_before_the_event_that_would_go_beyond_its_size(store: Store) -> None:
    transport = opened(store, maxBytes=4)
    send(transport, b"1", b"2", b"3", b"too long", b"4")
    transport.close(10)
    assert store.objects() == [b"1\n2\n", b"3\n", b"too long\n", b"4\n"]


def test_an_object_ends_by_its_age_though_no_event_follows(whole: Store) -> None:
    transport = opened(whole, maxSeconds="0.05")
    send(transport, b"1")
    wait_for(lambda: whole.objects() == [b"1\n"])
    send(transport, b"2")
    wait_for(lambda: whole.objects() == [b"1\n", b"2\n"])


def test_an_age_of_0_gives_each_event_an_object_before_the_sending_returns(store: Store) -> None:
    transport = opened(store, maxSeconds=0)
    send(transport, b"1")
    assert store.objects() == [b"1\n"]
    send(transport, b"2")
    assert store.objects() == [b"1\n", b"2\n"]


def test_compressed_objects_are_whole_also_where_the_file_system_keeps_what_is_written(store: Store) -> None:
    transport = opened(store, compress="true")
    send(transport, b"1", b"2")
    assert store.objects() == []
    transport.close(10)
    assert [gzip.decompress(data) for data in store.objects()] == [b"1\n2\n"]
    assert store.names()[0].endswith("-00001.ndjson.gz")


def test_without_an_event_there_is_no_object(store: Store) -> None:
    opened(store).close(10)
    assert list(store.root.iterdir()) == []


def test_a_large_event_is_written_whole(store: Store) -> None:
    body = bytes(range(32, 127)) * 40_000
    transport = opened(store)
    send(transport, body)
    transport.close(10)
    assert store.objects() == [body + b"\n"]


@pytest.mark.parametrize("call", ["create", "write"])
def test_an_event_that_is_not_taken_is_refused_and_goes_when_it_comes_again(keeping: Store, call: str) -> None:
    keeping.refusals[call] = 1
    transport = opened(keeping)
    assert refused(transport, b"1") == f"lake://bucket/lineage can't be written ({call} refused)"
    send(transport, b"1", b"2")
    transport.close(10)
    assert keeping.objects() == [b"1\n2\n"]


def test_what_was_kept_before_a_failure_stays_and_the_rest_goes_to_the_next_object(keeping: Store) -> None:
    transport = opened(keeping)
    send(transport, b"1")
    keeping.refusals["write"] = 1
    refused(transport, b"2")
    send(transport, b"2")
    assert keeping.objects() == [b"1\n", b"2\n"]


@pytest.mark.parametrize("call", ["write", "close"])
def test_held_events_stay_held_until_an_object_is_taken_and_refuse_what_has_no_room(whole: Store, call: str) -> None:
    transport = opened(whole, maxBytes=4)
    send(transport, b"1", b"2")
    whole.refusals[call] = 2
    for _ in range(2):
        assert refused(transport, b"3") == f"lake://bucket/lineage can't be written ({call} refused)"
    send(transport, b"3")
    transport.close(10)
    assert whole.objects() == [b"1\n2\n", b"3\n"]


@pytest.mark.parametrize("call", ["create", "write", "close"])
def test_with_an_object_an_event_a_failure_leaves_nothing_behind(whole: Store, call: str) -> None:
    """The sender keeps the event, and sends it again."""
    transport = opened(whole, maxSeconds=0)
    whole.refusals[call] = 1
    refused(transport, b"1")
    send(transport, b"1")
    transport.close(10)
    assert whole.objects() == [b"1\n"]


def test_a_failure_at_the_age_is_told_once_and_repeated(whole: Store, caplog: pytest.LogCaptureFixture) -> None:
    transport = opened(whole, maxSeconds="0.05")
    whole.refusals["close"] = 3
    send(transport, b"1")
    wait_for(lambda: whole.objects() == [b"1\n"])
    assert whole.refusals == {"close": 0}
    assert [record.getMessage() for record in caplog.records] == [
        (
            "lake://bucket/lineage can't be written (close refused); it will be tried again, and further failures are"
            " not logged"
        )
    ]


def test_a_kept_object_that_is_not_closed_costs_a_warning_and_no_event(
    keeping: Store, caplog: pytest.LogCaptureFixture
) -> None:
    transport = opened(keeping)
    send(transport, b"1")
    keeping.refusals["close"] = 1
    transport.close(10)
    assert keeping.objects() == [b"1\n"]
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.WARNING, "lake://bucket/lineage: an object was written, but not closed (close refused)")
    ]


def test_events_that_the_last_object_does_not_take_are_counted(whole: Store) -> None:
    transport = opened(whole)
    send(transport, b"1", b"2")
    whole.refusals["close"] = 1
    with pytest.raises(TransportError) as caught:
        transport.close(10)
    assert str(caught.value) == "2 events were not written: lake://bucket/lineage can't be written (close refused)"
    assert whole.closed


def test_a_store_that_hangs_holds_the_closing_for_its_time_alone(tmp_path: Path) -> None:
    hanging, release = threading.Event(), threading.Event()

    class Hanging(Store):
        def maybe_refuse(self, call: str) -> None:
            if call == "close":
                hanging.set()
                release.wait(60)

    store = Hanging(tmp_path, keeps=False)
    transport = opened(store, maxSeconds="0.01")
    send(transport, b"1")
    assert hanging.wait(60)
    with pytest.raises(TransportError, match="lake://bucket/lineage does not answer"):
        transport.close(0.05)
    release.set()
    wait_for(lambda: store.objects() == [b"1\n"])


def test_the_destination_shows_no_password_and_events_are_spooled_for_it(whole: Store, tmp_path: Path) -> None:
    with offered(lambda _location: whole):
        transport = open_transport("file", {"location": "lake://me:sec/ret@bucket/lineage/?sig=secret"})
    assert transport.destination == "file lake://bucket/lineage"
    assert transport.SPOOLED
    local = open_transport("file", {"location": str(tmp_path / "events")})
    assert local.destination == f"file {tmp_path}/events"
    assert not local.SPOOLED


def test_a_container_in_front_of_the_host_is_no_password(whole: Store) -> None:
    with offered(lambda _location: whole):
        transport = open_transport("file", {"location": "abfss://lineage@account.dfs.core.windows.net/spark"})
    assert transport.destination == "file abfss://lineage@account.dfs.core.windows.net/spark"


def test_a_file_system_is_offered_within_its_context_alone(whole: Store) -> None:
    opened(whole)
    with pytest.raises(TransportConfigError, match="needs the Hadoop client of a Spark driver, and there is none here"):
        open_transport("file", {"location": LOCATION})


def test_local_locations_ask_for_no_file_system(tmp_path: Path) -> None:
    def never(location: str) -> Store:
        raise AssertionError(location)

    with offered(never):
        for location in (str(tmp_path / "a"), (tmp_path / "b").as_uri(), f"file:{tmp_path}/c"):
            send(open_transport("file", {"location": location}), b"1")
    assert [(tmp_path / name).read_bytes() for name in "abc"] == [b"1\n"] * 3


def test_held_events_stay_in_the_spool_until_their_object_has_ended(whole: Store, tmp_path: Path) -> None:
    transport = opened(whole, maxBytes=4)
    spool = Spool.create(tmp_path / "spool", transport.destination)
    delivery = Delivery(transport, spool=spool)
    for body in (b"1", b"2", b"3"):
        delivery.submit(Event("r", "RUNNING", body))
    wait_for(lambda: delivery.counts().sent == 3)
    wait_for(lambda: content(spool.directory).waiting == 1)
    assert whole.objects() == [b"1\n2\n"]

    assert delivery.close(60) == 0
    assert whole.objects() == [b"1\n2\n", b"3\n"]
    assert list((tmp_path / "spool").glob("*/*.db")) == []


def test_what_the_last_object_did_not_take_goes_into_the_next_applications(whole: Store, tmp_path: Path) -> None:
    transport = opened(whole)
    delivery = Delivery(transport, spool=Spool.create(tmp_path / "spool", transport.destination))
    delivery.submit(Event("r", "START", b"1"))
    delivery.submit(Event("r", "COMPLETE", b"2"))
    wait_for(lambda: delivery.counts().sent == 2)
    whole.refusals["close"] = 1
    delivery.close(10)
    assert whole.objects() == []

    after = Delivery(opened(whole), recovery=RecoveryScope(tmp_path / "spool"))
    after.start()
    assert after.close(60) == 0
    assert whole.objects() == [b"1\n2\n"]


def wait_for_sent(delivery: Delivery, count: int) -> None:
    wait_for(lambda: delivery.counts().sent == count)


def failover(receiver: Any, store: Store) -> Transport:
    """Return a transport that writes objects while the receiver is away."""
    first, second = {"type": "http", "url": receiver.url}, {"type": "file", "location": LOCATION}
    with offered(lambda _location: store):
        return open_transport("composite", {"transports": [first, second], "continueOnSuccess": False})


def test_what_objects_hold_for_a_receiver_that_is_away_stays_in_the_spool(
    receiver: Any, answer: Any, whole: Store, tmp_path: Path
) -> None:
    receiver.answers.extend([answer(), *[answer(status=503)] * 2])
    transport = failover(receiver, whole)
    spool = Spool.create(tmp_path / "spool", transport.destination)
    delivery = Delivery(transport, spool=spool)
    # What the receiver takes after the oldest event that is held stays in the spool for so long too.
    for number, body in enumerate((b"1", b"2", b"3", b"4"), start=1):
        delivery.submit(Event("r", "RUNNING", body))
        wait_for_sent(delivery, number)
    assert [got.body for got in receiver.received] == [b"1", b"2", b"3", b"4"]
    assert (transport.held, content(spool.directory).waiting) == (3, 3)

    assert delivery.close(60) == 0
    assert whole.objects() == [b"2\n3\n"]
    assert transport.held == 0
    assert list((tmp_path / "spool").glob("*/*.db")) == []


def test_what_an_application_held_that_was_killed_goes_into_the_next_ones(
    receiver: Any, answer: Any, whole: Store, tmp_path: Path
) -> None:
    receiver.answers.extend([answer(status=503)] * 2)
    transport = failover(receiver, whole)
    delivery = Delivery(transport, spool=Spool.create(tmp_path / "spool", transport.destination))
    for body in (b"1", b"2"):
        delivery.submit(Event("r", "RUNNING", body))
    wait_for_sent(delivery, 2)
    # As if it were killed: what it held is never written.
    whole.refusals["close"] = 1
    delivery.close(10)
    assert whole.objects() == []

    after = Delivery(failover(receiver, whole), recovery=RecoveryScope(tmp_path / "spool"))
    after.start()
    assert after.close(60) == 0
    assert [got.body for got in receiver.received[2:]] == [b"1", b"2"]


class Refusing(Store):
    """A file system that Hadoop can't make, for the reason that it gives."""

    reason = ""

    def create(self, path: str) -> Object:
        assert path.startswith(("s3", "abfss", "gs", "lake"))
        raise OSError(self.reason)


MISSING = "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.x.Y not found"
UNKNOWN = 'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "s3"'
AMAZONS = "org.apache.hadoop:hadoop-aws:VERSION"
GOOGLES = "com.google.cloud.bigdataoss:gcs-connector:hadoop3-VERSION"
HADOOP = "where VERSION is that of Spark's own jar hadoop-client-api"


@pytest.mark.parametrize(
    ("location", "reason", "remedy"),
    [
        ("s3a://b/l", MISSING, f"start Spark with --packages {AMAZONS}, {HADOOP}"),
        ("abfss://c@h/l", MISSING, f"start Spark with --packages org.apache.hadoop:hadoop-azure:VERSION, {HADOOP}"),
        ("gs://b/l", MISSING, f"start Spark with --packages {GOOGLES}, where VERSION is a release of it"),
        ("s3://b/l", UNKNOWN, f"write s3a: in place of s3:, and start Spark with --packages {AMAZONS}, {HADOOP}"),
        ("lake://b/l", UNKNOWN, "Spark has no file system for lake:, so start it with the jar that has one"),
    ],
)
def test_a_file_system_whose_jar_is_missing_is_named_with_the_package_and_asked_slowly(
    tmp_path: Path, location: str, reason: str, remedy: str
) -> None:
    store = Refusing(tmp_path, keeps=False)
    store.reason = reason
    with offered(lambda _location: store):
        transport = open_transport("file", {"location": location})
    with pytest.raises(TransportError) as caught:
        send(transport, b"1")
    assert str(caught.value) == f"{location} can't be written ({reason}): {remedy}"
    assert (caught.value.retryable, caught.value.lasting) == (True, True)


@pytest.mark.parametrize(
    ("reason", "lasting"),
    [
        ("java.nio.file.AccessDeniedException: s3a://b: Status Code: 403", True),
        ("org.apache.hadoop.security.AccessControlException: Permission denied: user=bo", True),
        ("java.net.ConnectException: Connection refused", False),
    ],
)
def test_a_refused_login_of_a_file_system_is_asked_slowly(tmp_path: Path, reason: str, *, lasting: bool) -> None:
    store = Refusing(tmp_path, keeps=False)
    store.reason = reason
    with pytest.raises(TransportError) as caught:
        send(opened(store), b"1")
    assert caught.value.lasting is lasting


def test_what_waits_for_a_jar_is_kept_for_the_next_application(tmp_path: Path, whole: Store) -> None:
    store = Refusing(tmp_path, keeps=False)
    store.reason = MISSING
    root = tmp_path / "spool"
    without = opened(store)
    delivery = Delivery(without, spool=Spool.create(root, without.destination))
    delivery.submit(Event("r", "START", b"1"))
    assert delivery.close(30) == 1
    after = Delivery(opened(whole), recovery=RecoveryScope(root))
    after.start()
    assert after.close(60) == 0
    assert whole.objects() == [b"1\n"]
