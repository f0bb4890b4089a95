"""A spool with broken bytes: it is set aside and said, and stops nothing else."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.errors import SpoolError
from openlineage_pyspark.transport.delivery.queue import DropReason
from openlineage_pyspark.transport.delivery.worker import Delivery
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.memory import MemoryTransport
from openlineage_pyspark.transport.spool.content import content, dead_letters
from openlineage_pyspark.transport.spool.place import DATABASE, directories
from openlineage_pyspark.transport.spool.recovery import Recovery, RecoveryScope
from openlineage_pyspark.transport.spool.store import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HERE = MemoryTransport().destination
EVENTS = [Event("r", kind, b'{"run":"%s"}' % kind.encode(), "app", kind) for kind in ("START", "RUNNING", "COMPLETE")]


def left_behind(root: Path, *, dead: bool = False) -> Path:
    """Make what an application left behind: three waiting events, or two and a dead letter."""
    spool = Spool.create(root, HERE)
    numbers = [spool.append(event) for event in EVENTS]
    if dead:
        spool.bury(numbers[1], "answered 422", "no such field", 10_000)
    spool.close()
    return spool.directory


def flipped(whole: bytes) -> Iterator[tuple[int, bytes]]:
    """Return copies with one changed byte: each one that is not empty, and each one of the headers of the pages."""
    size = int.from_bytes(whole[16:18], "big")
    for place, byte in enumerate(whole):
        if byte or place % size < 40 or place < 100:
            yield place, whole[:place] + bytes([byte ^ (0x01, 0xFF)[place % 2]]) + whole[place + 1 :]


def read(spool: Spool, number: int) -> Event | None:
    """Return an event of a spool; None if its row is damaged."""
    try:
        return spool.read(number)
    except SpoolError as problem:
        return None if problem.damaged else pytest.fail(f"{problem} may pass")


def outcome(directory: Path, scope: RecoveryScope) -> str:
    """Do with a directory what commands and an application do, and return what becomes of it."""
    seen = content(directory)
    if not seen.problem:
        letters = dead_letters(directory)
        assert all(letter.event in EVENTS or letter.reason.startswith("it is damaged") for letter in letters)
    assert isinstance(seen.waiting + seen.dead + seen.size, int)
    recovery = Recovery(scope, HERE)
    sent = []
    broken = False
    while (taken := recovery.next()) is not None:
        spool, events = taken
        for each in events:
            event = read(spool, each.number)
            if event is None:
                broken = True
            else:
                sent.append(event)
                spool.settle(each.number)
        spool.close()
    assert all(event in EVENTS for event in sent), "what was sent is what was stored"
    if directory.exists():
        # Its bytes now name another receiver, sender or time.
        return "left"
    aside = directory.with_name(f"{directory.name}.unreadable").exists()
    assert aside or not broken, "what can't be read is kept"
    return "set aside" if aside else f"sent {len(sent)}"


@pytest.mark.slow
def test_no_flipped_byte_raises_loses_an_event_unsaid_or_changes_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, is_all: bool
) -> None:
    """Each byte with --all, else each seventh."""
    origin = left_behind(tmp_path / "origin", dead=True)
    whole = (origin / DATABASE).read_bytes()
    root = tmp_path / "root"
    scope = RecoveryScope(root, dead_letters=True)
    outcomes = set()
    for place, broken in list(flipped(whole))[:: 1 if is_all else 7]:
        shutil.rmtree(root, ignore_errors=True)
        directory = root / origin.name
        directory.mkdir(parents=True, mode=0o700)
        (directory / DATABASE).write_bytes(broken)
        caplog.clear()
        result = outcome(directory, scope)
        outcomes.add(result)
        assert result in ("set aside", "sent 3", "left"), place
        if result == "set aside":
            assert [record for record in caplog.records if "unreadable" in record.getMessage()], place
    assert outcomes == {"set aside", "sent 3", "left"}


@pytest.mark.long
@pytest.mark.slow
def test_no_flipped_byte_of_the_log_of_a_killed_application_loses_an_event_unsaid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool = Spool.create(tmp_path / "origin", HERE)
    for event in EVENTS:
        spool.append(event)
    files = {name: (spool.directory / name).read_bytes() for name in (DATABASE, f"{DATABASE}-wal")}
    spool.close()
    log = files[f"{DATABASE}-wal"]
    frame = 24 + int.from_bytes(log[8:12], "big")
    places = [
        place for place, byte in enumerate(log) if place < 32 or (place - 32) % frame < 24 or (byte and place % 31 == 0)
    ]
    root = tmp_path / "root"
    outcomes = set()
    for place in [None, *places]:
        shutil.rmtree(root, ignore_errors=True)
        directory = root / spool.directory.name
        directory.mkdir(parents=True, mode=0o700)
        broken = bytearray(log)
        if place is not None:
            broken[place] ^= (0x01, 0xFF)[place % 2]
        (directory / DATABASE).write_bytes(files[DATABASE])
        (directory / f"{DATABASE}-wal").write_bytes(broken)
        caplog.clear()
        result = outcome(directory, RecoveryScope(root))
        assert result in (("sent 3",) if place is None else ("sent 3", "set aside")), place
        outcomes.add(result)
    assert outcomes == {"sent 3", "set aside"}


@pytest.mark.slow
def test_a_damaged_directory_does_not_keep_healthy_ones_from_being_sent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [left_behind(tmp_path).name for _ in range(3)]
    for number, name in enumerate(sorted(names)[:2]):
        path = tmp_path / name / DATABASE
        whole = path.read_bytes()
        at = whole.index(b"CREATE TABLE waiting")
        # Bytes that are no UTF-8 in sqlite's own table of tables, and another name for the table of events.
        broken = (b"\xff\xfe\xff", b"CREATE TABLE wbiting")[number]
        path.write_bytes(whole[:at] + broken + whole[at + len(broken) :])
    transport, raised = MemoryTransport(), threading.excepthook
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path))
    delivery.start()
    assert delivery.close(60) == 0
    assert threading.excepthook is raised
    assert transport.events == EVENTS
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.unreadable" for name in sorted(names)[:2]]
    assert len([record for record in caplog.records if "it is now called" in record.getMessage()]) == 2


def test_a_damaged_row_is_kept_aside_and_the_others_are_sent(tmp_path: Path) -> None:
    directory = left_behind(tmp_path)
    path = directory / DATABASE
    path.write_bytes(path.read_bytes().replace(b'{"run":"RUNNING"}', b'{"run":"RUNNINg"}'))
    transport = MemoryTransport()
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path))
    delivery.start()
    assert delivery.close(60) == 0
    assert transport.events == [EVENTS[0], EVENTS[2]]
    assert delivery.counts().drops == {DropReason.UNREADABLE: 1}
    [aside] = tmp_path.iterdir()
    assert aside.name == f"{directory.name}.unreadable"
    with sqlite3.connect(aside / DATABASE) as connection:
        assert connection.execute("SELECT id FROM waiting").fetchall() == [("RUNNING",)]
    connection.close()


def test_a_spool_of_an_older_version_is_read(tmp_path: Path) -> None:
    directory = left_behind(tmp_path, dead=True)
    with sqlite3.connect(directory / DATABASE) as connection:
        connection.execute("ALTER TABLE waiting DROP COLUMN checksum")
        connection.execute("ALTER TABLE dead DROP COLUMN checksum")
        connection.execute("DELETE FROM about WHERE name = 'sender'")
    connection.close()
    assert [letter.event for letter in dead_letters(directory)] == [EVENTS[1]]
    transport = MemoryTransport()
    delivery = Delivery(transport, recovery=RecoveryScope(tmp_path, dead_letters=True))
    delivery.start()
    assert delivery.close(60) == 0
    assert transport.events == EVENTS
    assert directories(tmp_path) == []


def test_a_damaged_dead_letter_is_listed_among_the_others(tmp_path: Path) -> None:
    spool = Spool.create(tmp_path, HERE)
    for event in EVENTS:
        spool.bury(spool.append(event), "answered 422", "", 10_000)
    spool.close()
    path = spool.directory / DATABASE
    path.write_bytes(path.read_bytes().replace(b'{"run":"RUNNING"}', b'{"run":"RUNNINg"}'))
    assert content(spool.directory).dead == 3
    assert [(letter.event.id, letter.reason) for letter in dead_letters(spool.directory) if letter.event.run_id] == [
        ("START", "answered 422"),
        ("COMPLETE", "answered 422"),
    ]
    assert [letter.reason for letter in dead_letters(spool.directory) if not letter.event.run_id] == [
        "it is damaged and can't be read"
    ]
