"""Events on disk: they outlast the process, belong to one owner, and are given on."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from openlineage_pyspark.errors import SpoolError, TransportError
from openlineage_pyspark.transport.delivery.counts import DeliveryCounts
from openlineage_pyspark.transport.delivery.queue import MEMORY_BYTES, Backlog, DropReason
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.spool import place
from openlineage_pyspark.transport.spool.content import content, dead_letters
from openlineage_pyspark.transport.spool.place import DATABASE, LOCK, default_root, directories, hold, release
from openlineage_pyspark.transport.spool.recovery import RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool, SpooledEvent

START = Event("r", "START", '{"größe":1}'.encode(), "app", "id-1")
COMPLETE = Event("r", "COMPLETE", b"{}", "app", "id-2", frozenset({"in", "also"}), frozenset({"out"}))
HERE = MemoryTransport().destination
DESCRIPTORS = Path("/dev/fd")


class Away(MemoryTransport):
    """Has the destination of a transport in memory, and takes nothing."""

    def send(self, _event: Event) -> None:
        raise TransportError("away", retryable=True)


def test_events_come_back_as_they_were_in_their_order(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "there")
    numbers = [spool.append(START), spool.append(COMPLETE)]
    assert [spool.read(number) for number in numbers] == [START, COMPLETE]
    assert spool.waiting() == [
        SpooledEvent(numbers[0], "r", "app", "START", len(START.body)),
        SpooledEvent(numbers[1], "r", "app", "COMPLETE", 2, frozenset({"in", "also"}), frozenset({"out"})),
    ]
    assert content(spool.directory).destination == "there"
    spool.settle(numbers[0])
    assert [kept.number for kept in spool.waiting()] == numbers[1:]
    with pytest.raises(SpoolError, match=f"no longer holds event {numbers[0]}"):
        spool.read(numbers[0])
    spool.close()


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    root = tmp_path / "spool"
    before = os.umask(0)
    try:
        spool = Spool.create(root, "there")
        spool.append(START)
    finally:
        os.umask(before)
    assert [(path.stat().st_mode & 0o777) for path in (root, spool.directory)] == [0o700, 0o700]
    files = sorted(spool.directory.iterdir())
    assert [path.name for path in files] == [DATABASE, f"{DATABASE}-shm", f"{DATABASE}-wal", "lock"]
    assert [path.stat().st_mode & 0o777 for path in files] == [0o600] * 4
    spool.close()


def test_a_directory_with_nothing_left_in_it_is_removed(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "there")
    spool.settle(spool.append(START))
    spool.close()
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_dead_letters_stay_with_the_answer_and_can_be_revived_at_their_old_place(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "there")
    first, second = spool.append(START), spool.append(COMPLETE)
    spool.bury(first, "answered 422", "no such field", 1000)
    assert [kept.number for kept in spool.waiting()] == [second]
    [letter] = dead_letters(spool.directory)
    assert (letter.event, letter.reason, letter.answer) == (START, "answered 422", "no such field")
    assert letter.since == pytest.approx(time.time(), abs=60)
    spool.close()
    found = content(spool.directory)
    assert (found.waiting, found.dead, found.size, found.in_use, found.destination) == (
        1, 1, len(START.body) + 2, False, "there",
    )  # fmt: skip
    again = Spool.take_over(spool.directory)
    assert again is not None
    assert again.revive() == 1
    assert [kept.number for kept in again.waiting()] == [first, second]
    assert dead_letters(spool.directory) == []
    again.close()


def test_the_oldest_dead_letters_make_room(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "there")
    for n in range(30):
        spool.bury(spool.append(Event(f"r{n}", "START", b"x" * 10)), "answered 422", "", 100)
    kept = [letter.event.run_id for letter in dead_letters(spool.directory)]
    assert kept == [f"r{n}" for n in range(30)][-len(kept) :]
    assert 9 <= len(kept) <= 10
    spool.close()


def test_dead_letters_for_any_receiver_go_after_thirty_days(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "elsewhere")
    spool.bury(spool.append(START), "answered 422", "", 1000)
    spool.close()
    for age, left in ((29, 1), (31, 0)):
        with sqlite3.connect(spool.directory / DATABASE) as connection:
            connection.execute("UPDATE dead SET since = ?", (time.time() - age * 86_400,))
        connection.close()
        delivery = Delivery(MemoryTransport(), recovery=RecoveryScope(tmp_path))
        delivery.start()
        assert delivery.close(60) == 0
        assert len(directories(tmp_path)) == left


@pytest.mark.slow
def test_a_new_directory_is_held_before_anybody_looks_at_it(tmp_path: Path) -> None:
    """Twenty applications that start together look for what others left while each makes its own."""
    program = f"""
from pathlib import Path
from openlineage_pyspark.transport.spool.recovery import Recovery, RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool
root = Path({str(tmp_path)!r})
for n in range(100):
    spool = Spool.create(root, "there")
    assert Recovery(RecoveryScope(root), "there").next() is None
    spool.close()
"""
    processes = [subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE, text=True) for _ in "abcd"]
    assert [(process.communicate(timeout=120)[1], process.returncode) for process in processes] == [("", 0)] * 4
    assert list(tmp_path.iterdir()) == []


def test_nobody_takes_a_directory_whose_owner_lives_not_even_in_the_same_process(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "there")
    spool.append(START)
    assert content(spool.directory).in_use
    assert Spool.take_over(spool.directory) is None
    program = f"""
from pathlib import Path
from openlineage_pyspark.transport.spool.store import Spool
from openlineage_pyspark.transport.spool.content import content
directory = Path({str(spool.directory)!r})
print(Spool.take_over(directory), content(directory).in_use, content(directory).waiting)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "None True 1\n"
    spool.close()
    taken = Spool.take_over(spool.directory)
    assert taken is not None
    taken.close()


def test_a_directory_that_is_gone_is_nobodys(tmp_path: Path) -> None:
    assert Spool.take_over(tmp_path / "gone") is None


KILLED = """
import os, sys
from pathlib import Path
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.spool import place
from openlineage_pyspark.transport.spool.store import Spool
class Away(MemoryTransport):
    destination = "MemoryTransport"
    def send(self, event):
        raise TransportError("away", retryable=True)
delivery = Delivery(Away(), spool=Spool.create(Path(sys.argv[1]), "MemoryTransport"))
delivery.submit(Event("app", "START", b"0"))
for n in range(100):
    delivery.submit(Event(f"r{n}", "START", b"%d" % n, "app"))
    delivery.submit(Event(f"r{n}", "COMPLETE", b"%d" % n, "app"))
print("ready", flush=True)
if sys.argv[2] == "exit":
    os._exit(0)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["kill", "exit"])
def test_the_next_application_ships_first_what_one_that_was_killed_left(tmp_path: Path, end: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path), end],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if end == "kill":
            process.send_signal(signal.SIGKILL)
        process.wait(60)
    transport = MemoryTransport()
    delivery = Delivery(transport, spool=Spool.create(tmp_path, HERE), recovery=RecoveryScope(tmp_path))
    delivery.submit(Event("new", "START", b"new"))
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(sent=202, recovered=201)
    bodies = [b"0", *(b"%d" % n for n in range(100) for _ in "ab"), b"new"]
    assert [event.body for event in transport.events] == bodies
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_many_directories_are_taken_over_one_after_the_other(tmp_path: Path) -> None:
    """A driver has few file descriptors, and its job needs them."""
    for n in range(50):
        spool = Spool.create(tmp_path, HERE)
        spool.append(Event(f"r{n}", "START", b"%d" % n))
        spool.close()

    class Counting(MemoryTransport):
        destination = HERE
        most = 0

        def send(self, event: Event) -> None:
            self.most = max(self.most, len(list(DESCRIPTORS.iterdir())))
            super().send(event)

    transport = Counting()
    before = len(list(DESCRIPTORS.iterdir()))
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path))
    delivery.start()
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(sent=50, recovered=50)
    assert sorted(event.run_id for event in transport.events) == sorted(f"r{n}" for n in range(50))
    assert transport.most - before <= 8
    assert list(tmp_path.iterdir()) == []


def test_nobody_waits_at_the_end_for_what_another_application_left(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    for kind in ("START", "COMPLETE"):
        spool.append(Event("old", kind, kind.encode()))
    spool.close()

    class Stuck(MemoryTransport):
        destination = HERE

        def send(self, event: Event) -> None:
            if event.run_id == "old":
                raise TransportError("answered 503", retryable=True, status=503)
            super().send(event)

    delivery = Delivery(Stuck(), spool=Spool.create(tmp_path, HERE), recovery=RecoveryScope(tmp_path))
    delivery.submit(Event("new", "START", b"new"))
    begin = time.monotonic()
    assert delivery.close(300) == 0
    assert time.monotonic() - begin < 60
    counts = delivery.counts()
    assert (counts.sent, counts.pending, counts.recovered_pending) == (1, 2, 2)
    [left] = directories(tmp_path)
    assert content(left).waiting == 2


def test_what_was_meant_for_another_receiver_is_left_unless_that_is_asked_for(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, "elsewhere")
    spool.append(START)
    spool.close()
    transport = MemoryTransport()
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path))
    delivery.start()
    assert delivery.close(60) == 0
    assert transport.events == []
    assert content(spool.directory).waiting == 1
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path, any_destination=True))
    delivery.start()
    assert delivery.close(60) == 0
    assert transport.events == [START]
    assert directories(tmp_path) == []


class Refusing(MemoryTransport):
    destination = HERE

    def send(self, _event: Event) -> None:
        raise TransportError("answered 422", retryable=False, status=422, answer="no\n such  field")


def test_what_was_refused_for_good_is_kept_and_sent_again_only_when_that_is_asked_for(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    delivery = Delivery(Refusing(), spool=spool)
    delivery.submit(START)
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(failed=1)
    [letter] = dead_letters(spool.directory)
    assert (letter.event, letter.reason, letter.answer) == (START, "answered 422", "no such field")
    for wanted, sent in ((False, []), (True, [START])):
        transport = MemoryTransport()
        delivery = Delivery(transport, recovery=RecoveryScope(tmp_path, dead_letters=wanted))
        delivery.start()
        assert delivery.close(60) == 0
        assert transport.events == sent
    assert directories(tmp_path) == []


def test_a_damaged_database_is_set_aside_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool.create(tmp_path, HERE)
    spool.append(START)
    spool.close()
    (spool.directory / DATABASE).write_bytes(b"no database" * 1000)
    transport = MemoryTransport()
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path))
    delivery.submit(COMPLETE)
    assert delivery.close(60) == 0
    assert transport.events == [COMPLETE]
    [record] = caplog.records
    name = spool.directory.name
    assert record.getMessage() == (
        "OpenLineage events that an earlier application left behind are not sent:"
        f" {spool.directory} can't be read (file is not a database); it is now called {name}.unreadable"
    )
    assert [path.name for path in tmp_path.iterdir()] == [f"{name}.unreadable"]
    assert directories(tmp_path) == []


def test_events_that_can_no_longer_be_read_are_counted_as_lost(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    spool.append(START)
    spool.close()
    with sqlite3.connect(spool.directory / DATABASE) as connection:
        connection.execute("UPDATE waiting SET body = x'0A'")
    connection.close()
    delivery = Delivery(MemoryTransport(), recovery=RecoveryScope(tmp_path))
    delivery.start()
    assert delivery.close(60) == 0
    assert delivery.counts() == DeliveryCounts(dropped=1, drops={DropReason.UNREADABLE: 1}, recovered=1)


def test_while_the_database_is_locked_memory_holds_the_events(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    spool = Spool.create(tmp_path, HERE)
    blocker = sqlite3.connect(spool.directory / DATABASE, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    transport = MemoryTransport()
    delivery = Delivery(transport, spool=spool)
    delivery.submit(START)
    delivery.submit(COMPLETE)
    assert delivery.flush(60) == 0
    blocker.execute("ROLLBACK")
    blocker.close()
    assert delivery.close(60) == 0
    assert transport.events == [START, COMPLETE]
    [record] = caplog.records
    assert record.getMessage() == (
        "the spool can't keep OpenLineage events, so memory holds them until it can:"
        f" {spool.directory}: database is locked"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_memory_held_while_the_disk_failed_is_written_though_nothing_comes_then(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    blocker = sqlite3.connect(spool.directory / DATABASE, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    delivery = Delivery(Away(), spool=spool)
    delivery.submit(START)
    blocker.execute("ROLLBACK")
    blocker.close()
    deadline = time.monotonic() + 60
    while content(spool.directory).waiting == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert content(spool.directory).waiting == 1
    assert delivery.close(0) == 1


@pytest.mark.slow
def test_what_memory_held_while_the_disk_failed_is_written_at_the_end(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    blocker = sqlite3.connect(spool.directory / DATABASE, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    delivery = Delivery(Away(), spool=spool)
    delivery.submit(START)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert delivery.close(5) == 1
    assert content(spool.directory).waiting == 1


def test_a_directory_is_held_though_somebody_looks_at_it_in_that_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = f"""
import fcntl, sys
with open({str(tmp_path / LOCK)!r}, "w") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    print("looks", flush=True)
    sys.stdin.readline()
"""
    with subprocess.Popen([sys.executable, "-c", looking], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        assert not hold(tmp_path, new=True)
        # Not of all modules: other threads of this process sleep too.
        monkeypatch.setattr(place, "time", SimpleNamespace(sleep=lambda _seconds: other.communicate()))
        assert hold(tmp_path, new=True)
    release(tmp_path)


@pytest.mark.slow
def test_what_memory_held_while_the_disk_failed_is_written_before_what_comes_then(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    blocker = sqlite3.connect(spool.directory / DATABASE, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    backlog = Backlog(spool, 10**9)
    backlog.put(START)
    blocker.execute("ROLLBACK")
    blocker.close()
    deadline = time.monotonic() + 60
    while content(spool.directory).waiting == 0 and time.monotonic() < deadline:
        time.sleep(0.5)
        backlog.put(COMPLETE)
    kept = [(each.run_id, each.event_type) for each in spool.waiting()]
    assert kept[0] == ("r", "START")
    assert kept[1:] == [("r", "COMPLETE")] * (len(backlog) - 1)
    backlog.close()


@pytest.mark.slow
def test_memory_holds_but_so_much_while_the_disk_fails(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    blocker = sqlite3.connect(spool.directory / DATABASE, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    backlog = Backlog(spool, 10 * MEMORY_BYTES)
    body = b"x" * (MEMORY_BYTES // 4)
    dropped = [backlog.put(Event(f"r{n}", "START", body)) for n in range(6)]
    assert [sum(drops.values()) for drops in dropped] == [0, 0, 0, 0, 1, 1]
    assert len(backlog) == 4
    blocker.execute("ROLLBACK")
    blocker.close()
    backlog.close()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SpoolError, match=r"file/spool can't be made or written \(Not a directory\)"):
        Spool.create(tmp_path / "file" / "spool", "there")


def test_the_default_place_is_below_the_users_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_root() == tmp_path / "openlineage-pyspark" / "spool"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert str(default_root()) == "/home/someone/.local/state/openlineage-pyspark/spool"


FORK = """
import os, sys
from pathlib import Path
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.spool import place
from openlineage_pyspark.transport.spool.store import Spool
transport = MemoryTransport()
delivery = Delivery(transport, spool=Spool.create(Path(sys.argv[1]), transport.destination))
for n in range(50):
    delivery.submit(Event("r", "RUNNING", b"%d" % n))
    if n % 10 == 0:
        child = os.fork()
        if child == 0:
            delivery.submit(Event("r", "RUNNING", b"-1"))
            delivery.close(10)
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
left = delivery.close(60)
print(left, [int(event.body) for event in transport.events] == list(range(50)))
"""


@pytest.mark.slow
def test_a_forked_child_that_ends_normally_leaves_the_database_as_it_is(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path)],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == "0 True\n"
    assert list(tmp_path.iterdir()) == []
