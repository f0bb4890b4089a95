"""Whose events are sent: only those meant for the same receiver, from the same sender; and what is deleted at last."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts
from openlineage_pyspark.transport.delivery.queue import DropReason
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.registry import open_transport
from openlineage_pyspark.transport.spool import content as content_module
from openlineage_pyspark.transport.spool import recovery as recovery_module
from openlineage_pyspark.transport.spool.content import content
from openlineage_pyspark.transport.spool.place import DATABASE, directories, hold, is_held
from openlineage_pyspark.transport.spool.recovery import Recovery, RecoveryScope
from openlineage_pyspark.transport.spool.retention import DAY_SECONDS, Retention
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from pathlib import Path

HERE = MemoryTransport().destination
URL = "http://saas.example/"
START = Event("r", "START", b"{}", "app", "id-1")

A: dict[str, object] = {"url": URL, "auth": {"type": "api_key", "apiKey": "key-of-a"}}
OAUTH = {"type": "oauth2", "clientId": "a", "clientSecret": "old", "tokenEndpoint": "https://login.example/token"}


def left_behind(root: Path, destination: str = HERE, sender: str = "", *, events: int = 1) -> Spool:
    spool = Spool.create(root, destination, sender)
    for number in range(events):
        spool.append(Event(f"r{number}", "START", b"{}"))
    spool.close()
    return spool


def aged(spool: Spool, days: float) -> None:
    with sqlite3.connect(spool.directory / DATABASE) as connection:
        for table in ("waiting", "dead"):
            connection.execute(f"UPDATE {table} SET since = ?", (time.time() - days * DAY_SECONDS,))
    connection.close()


def adopted(root: Path, options: dict[str, object]) -> int:
    """Return how many events an application with these options of the http transport takes over."""
    transport = open_transport("http", options)
    taken = Recovery(RecoveryScope(root), transport.destination, transport.sender).next()
    if taken is None:
        return 0
    taken[0].close()
    return len(taken[1])


@pytest.mark.parametrize(
    "other",
    [
        {"url": URL, "auth": {"type": "api_key", "apiKey": "key-of-b"}},
        {"url": URL},
        {**A, "headers": {"X-Tenant": "b"}},
        {**A, "urlParams": {"tenant": "b"}},
        {**A, "url": f"{URL}?tenant=b", "endpoint": ""},
        {"url": URL, "headers": {"Authorization": "Bearer key-of-b"}},
        {"url": URL, "auth": OAUTH},
        {"url": URL, "auth": {"type": "jwt", "apiKey": "key-of-b", "tokenEndpoint": "https://login.example/token"}},
    ],
    ids=["key", "no key", "header", "parameter", "query", "header of the key", "oauth2", "jwt"],
)
def test_what_another_tenant_left_is_not_sent_with_this_ones_key(tmp_path: Path, other: dict[str, object]) -> None:
    for left, later in ((A, other), (other, A)):
        root = tmp_path / str(left is A)
        transport = open_transport("http", left)
        spool = left_behind(root, transport.destination, transport.sender)
        if open_transport("http", later).destination == transport.destination:
            assert adopted(root, later) == 0
        assert content(spool.directory).waiting == 1
        assert adopted(root, left) == 1


def test_a_new_secret_of_the_same_login_is_the_same_sender(tmp_path: Path) -> None:
    transport = open_transport("http", {"url": URL, "auth": OAUTH})
    left_behind(tmp_path, transport.destination, transport.sender)
    assert adopted(tmp_path, {"url": URL, "auth": {**OAUTH, "clientSecret": "new"}}) == 1


def test_the_spool_holds_no_key_and_two_spools_of_one_sender_have_nothing_in_common(tmp_path: Path) -> None:
    transport = open_transport("http", A)
    stored = set()
    for _ in range(2):
        spool = left_behind(tmp_path, transport.destination, transport.sender)
        assert b"key-of-a" not in (spool.directory / DATABASE).read_bytes()
        stored.add(content(spool.directory).sender)
    assert len(stored) == 2


def test_a_spool_without_a_sender_of_an_older_version_is_taken_only_by_an_application_without_a_login(
    tmp_path: Path,
) -> None:
    spool = left_behind(tmp_path, open_transport("http", A).destination)
    with sqlite3.connect(spool.directory / DATABASE) as connection:
        connection.execute("DELETE FROM about WHERE name = 'sender'")
    connection.close()
    assert adopted(tmp_path, A) == 0
    assert adopted(tmp_path, {"url": URL}) == 1


def test_what_stays_because_of_its_sender_is_named_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spools = [left_behind(tmp_path, HERE, "another") for _ in range(2)]
    recovery = Recovery(RecoveryScope(tmp_path), HERE, "this")
    assert recovery.next() is None
    [record] = caplog.records
    assert record.getMessage() == (
        f"OpenLineage events for {HERE} that were left behind with another key, other headers or URL parameters are not"
        f" sent, because they may be another tenant's: {min(spool.directory for spool in spools)}. If only the key is"
        " new, run `openlineage-pyspark replay --to URL`; further ones are not logged"
    )


def test_a_named_sender_stays_the_same_whatever_its_key(tmp_path: Path) -> None:
    left_behind(tmp_path, HERE, "name sales")
    assert Recovery(RecoveryScope(tmp_path, sender="name other"), HERE, "new key").next() is None
    taken = Recovery(RecoveryScope(tmp_path, sender="name sales"), HERE, "new key").next()
    assert taken is not None
    taken[0].close()


@pytest.mark.parametrize(("destination", "sender"), [("elsewhere", ""), (HERE, "another")])
def test_what_could_not_be_read_at_first_is_sent_only_to_its_own_receiver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, destination: str, sender: str
) -> None:
    """Another process may lock the database at the first look, and no longer at the second."""
    spool = left_behind(tmp_path, destination, sender)
    monkeypatch.setattr(content_module, "_BUSY_SECONDS", 0.01)

    def locked_once(directory: Path) -> Any:
        blocker = sqlite3.connect(directory / DATABASE, isolation_level=None)
        blocker.execute("PRAGMA locking_mode = EXCLUSIVE")
        blocker.execute("BEGIN EXCLUSIVE")
        try:
            seen = content(directory)
        finally:
            blocker.execute("ROLLBACK")
            blocker.close()
        assert seen.problem == "database is locked"
        return seen

    monkeypatch.setattr(recovery_module, "content", locked_once)
    transport = MemoryTransport()
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path, retention=Retention()))
    delivery.start()
    assert delivery.close(60) == 0
    assert transport.events == []
    assert content(spool.directory).waiting == 1


def test_dead_letters_for_another_receiver_are_not_revived_for_this_one(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "elsewhere")
    spool.bury(spool.append(START), "answered 422", "", 1000)
    spool.append(START)
    spool.close()
    transport = MemoryTransport()
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path, dead_letters=True))
    delivery.start()
    assert delivery.close(60) == 0
    assert transport.events == []


def test_a_spool_that_this_process_holds_is_held_by_whatever_path_leads_to_it(tmp_path: Path) -> None:
    root, link = tmp_path / "root", tmp_path / "link"
    spool = Spool.create(root, HERE)
    spool.append(START)
    link.symlink_to(root)
    [alias] = directories(link)
    assert alias != spool.directory
    assert is_held(alias)
    assert not hold(alias)
    assert Recovery(RecoveryScope(link), HERE).next() is None
    # The lock is still there: another process finds it.
    child = os.fork()
    if child == 0:
        os._exit(0 if is_held_by_another(spool.directory) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    spool.close()


def is_held_by_another(directory: Path) -> bool:
    import fcntl

    with (directory / "lock").open("r+") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def sizes(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def test_a_spool_that_is_too_large_loses_the_oldest_of_ended_applications_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken, refused, old, new = (left_behind(tmp_path, "elsewhere", events=2) for _ in range(4))
    # They are made within the same second, and their names give the order.
    for number, spool in enumerate((old, new, refused, broken)):
        name = f"20260101T00000{number}Z-1-00"
        spool.directory = spool.directory.rename(tmp_path / name)
    taken = Spool.take_over(refused.directory)
    assert taken is not None
    for each in taken.waiting():
        taken.bury(each.number, "answered 422", "", 1000)
    taken.close()
    broken.directory = broken.directory.rename(tmp_path / f"{broken.directory.name}.unreadable")
    own = Spool.create(tmp_path, HERE)
    one = sizes(new.directory)
    expected = [
        [broken],
        [broken, refused],
        [broken, refused, old],
        [broken, refused, old, new],
    ]
    for gone in expected:
        scope = RecoveryScope(tmp_path, retention=Retention(max_bytes=sizes(tmp_path) - one // 2))
        delivery = Delivery(MemoryTransport(), spool=own if gone is expected[-1] else None, recovery=scope)
        delivery.submit(START)
        assert delivery.flush(60) == 0
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {spool.directory.name for spool in (broken, refused, old, new) if spool not in gone} | {
            own.directory.name
        }
        assert delivery.counts().deleted == (0 if gone == [broken] else 2)
        assert delivery.close(60) == 0
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 4
    assert said[1].startswith("OpenLineage events that an earlier application left behind for elsewhere were deleted,")
    assert said[1].endswith(f"(spool.maxTotalBytes): 0 waiting, 2 refused, in {refused.directory.name}")


def test_what_waits_too_long_for_another_receiver_is_deleted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    old, young = left_behind(tmp_path, "elsewhere", events=3), left_behind(tmp_path, "elsewhere")
    aged(old, 31)
    aged(young, 29)
    delivery = Delivery(MemoryTransport(), recovery=RecoveryScope(tmp_path, retention=Retention()))
    delivery.start()
    assert delivery.close(60) == 0
    assert directories(tmp_path) == [young.directory]
    assert delivery.counts() == DeliveryCounts(deleted=3)
    [record] = caplog.records
    assert record.getMessage().endswith(
        "because they are older than 30 days (spool.maxAgeInDays): 3 waiting, 0 refused, in " + old.directory.name
    )


def test_a_running_application_loses_nothing_whatever_its_age_and_size(tmp_path: Path) -> None:
    running = Spool.create(tmp_path, "elsewhere")
    running.append(START)
    aged(running, 400)
    delivery = Delivery(MemoryTransport(), recovery=RecoveryScope(tmp_path, retention=Retention(1, 1.0)))
    delivery.start()
    assert delivery.close(60) == 0
    assert [each.run_id for each in running.waiting()] == ["r"]
    running.close()


class Away(MemoryTransport):
    """The receiver that never comes back."""

    destination = HERE

    def __init__(self) -> None:
        super().__init__()
        self.tried = threading.Event()

    def send(self, _event: Event) -> None:
        self.tried.set()
        raise TransportError("no answer", retryable=True)


def test_what_waits_too_long_for_this_receiver_is_tried_once_more_and_then_dropped(tmp_path: Path) -> None:
    for _ in range(2):
        aged(left_behind(tmp_path, events=3), 31)
    taken, away = MemoryTransport(), Away()
    for transport, outcome in (
        (away, DeliveryCounts(recovered=6, dropped=6, drops={DropReason.EXPIRED: 6})),
        (taken, DeliveryCounts()),
    ):
        delivery = Delivery(transport, recovery=RecoveryScope(tmp_path, retention=Retention()))
        delivery.start()
        assert delivery.close(60) == 0
        assert delivery.counts() == outcome
    assert directories(tmp_path) == []
    aged(left_behind(tmp_path, events=3), 31)
    delivery = Delivery(taken, recovery=RecoveryScope(tmp_path, retention=Retention()))
    delivery.start()
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(sent=3, recovered=3)
