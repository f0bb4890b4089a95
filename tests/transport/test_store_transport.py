"""The transport `store`: a driver writes a lineage store itself."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.attempt import RetryPolicy
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.sqlite.transport import StoreTransport
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, run_event, text_of_events
from support.reached import nodes_of

pytestmark = pytest.mark.slow


def event(**facets: Any) -> Event:
    made = run_event("load", "COMPLETE", 1, inputs=(dataset("a"),), outputs=(dataset("b"),), **facets)
    return Event(made["run"]["runId"], "COMPLETE", text_of_events([made]).strip().encode())


def test_what_is_sent_can_be_asked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lineage.db"
    transport = open_transport("store", {"path": str(path)})
    transport.send(event())
    with Store.open(path) as store:
        assert [*nodes_of(store.downstream("a"))] == ["b"]
    transport.close(1.0)


def test_two_transports_write_one_file(tmp_path: Path) -> None:
    options = {"path": str(tmp_path / "lineage.db")}
    first, second = open_transport("store", options), open_transport("store", options)
    for transport in (first, second, first):
        transport.send(event(nominalTime={"nominalStartTime": str(transport)}))
        assert transport.destination == f"store {tmp_path}/lineage.db"
    first.close(1.0)
    second.close(1.0)
    with closing(sqlite3.connect(tmp_path / "lineage.db")) as database:
        assert database.execute("SELECT count(*) FROM event").fetchall() == [(2,)]


def test_a_file_that_is_no_store_is_refused_when_the_driver_starts(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database " * 100)
    with pytest.raises(TransportConfigError, match=r"path is '.*text': .* it is another kind of file; name a store"):
        open_transport("store", {"path": str(tmp_path / "text")})
    with pytest.raises(TransportConfigError, match=r"transport\.path is not set\. Set it to the file of the store\."):
        open_transport("store", {})


def test_an_event_that_is_none_is_refused_for_good(tmp_path: Path) -> None:
    transport = open_transport("store", {"path": str(tmp_path / "lineage.db")})
    with pytest.raises(TransportError, match="the store rejected the event: the driver: `eventTime` is ") as raised:
        transport.send(Event("r", "START", b"{}"))
    assert not raised.value.retryable
    transport.close(1.0)


_IMPATIENT = RetryPolicy(first_seconds=0.01, longest_seconds=0.01, longest_pause_seconds=0.01)
_OTHERS: list[sqlite3.Connection] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _OTHERS:
        _OTHERS.pop().close()


def _locked(path: Path, transport: StoreTransport) -> None:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    transport._database.query("PRAGMA busy_timeout = 1")
    _OTHERS.append(other)


def _full(_: Path, transport: StoreTransport) -> None:
    (pages,) = transport._database.query("PRAGMA page_count")[0]
    transport._database.query(f"PRAGMA max_page_count = {pages}")


def _read_only(_: Path, transport: StoreTransport) -> None:
    transport._database.query("PRAGMA query_only = 1")


def _damaged(path: Path, transport: StoreTransport) -> None:
    (page,) = transport._database.query("SELECT rootpage FROM sqlite_master WHERE name = 'stored_event'")[0]
    transport.close(1.0)
    text = bytearray(path.read_bytes())
    text[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    path.write_bytes(text)
    transport._database = Database(path)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (_locked, "database is locked"),
        (_full, "database or disk is full"),
        (_read_only, "attempt to write a readonly database"),
        (_damaged, "database disk image is malformed"),
    ],
)
def test_a_store_that_can_not_be_written_costs_the_job_nothing_and_is_counted_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: Callable[[Path, StoreTransport], None], reason: str
) -> None:
    path = tmp_path / "lineage.db"
    transport = open_transport("store", {"path": str(path)})
    assert isinstance(transport, StoreTransport)
    transport.send(event())
    fault(path, transport)
    delivery = Delivery(transport, policy=_IMPATIENT)
    # What a store can't make smaller.
    body = event(big={"text": random.Random(1).randbytes(50_000).hex()}).body  # noqa: S311 (a test's choice)
    for number in range(20):
        delivery.submit(Event(f"r{number}", "START", body))
    assert delivery.flush(60) == 20
    assert (delivery.counts().pending, delivery.counts().sent) == (20, 0)
    told = [record.getMessage() for record in caplog.records]
    assert len([line for line in told if reason in line]) == 1
    delivery.close(0)


def test_a_store_that_can_be_written_again_gets_what_waits(tmp_path: Path) -> None:
    path = tmp_path / "lineage.db"
    transport = open_transport("store", {"path": str(path)})
    assert isinstance(transport, StoreTransport)
    _locked(path, transport)
    delivery = Delivery(transport, policy=_IMPATIENT)
    delivery.submit(event())
    assert delivery.flush(60) == 1
    _OTHERS[-1].execute("COMMIT")
    assert delivery.close(60) == 0
    assert delivery.counts().sent == 1
