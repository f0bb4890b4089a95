"""Rotation of a local file: no line is lost or torn, whoever else writes, and whatever dies in the middle."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport

WRITER = """
import sys
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
options = {"location": sys.argv[1]}
if sys.argv[3] != "0":
    options["rotate"] = {"maxBytes": sys.argv[3], "compress": sys.argv[4]}
transport = open_transport("file", options)
sys.stdin.readline()
for n in range(150):
    size = (7, 3_000)[n % 2]
    transport.send(Event("r", "START", b'{"by":%s,"n":%d,"x":"%s"}' % (sys.argv[2].encode(), n, b"x" * size)))
transport.close(60)
"""
LINUX = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see what another thread has open")
ROTATED = re.compile(r"events\.\d{8}T\d{6}\.\d{6}Z\.ndjson(\.gz)?")


def opened(path: Path, max_bytes: object, **more: object):
    return open_transport("file", {"location": str(path), "rotate": {"maxBytes": max_bytes, **more}})


def send(transport, *bodies: bytes) -> None:
    for body in bodies:
        transport.send(Event("r", "START", body))


def rotated(path: Path) -> list[Path]:
    """Return the rotated files, oldest first."""
    return sorted(file for file in path.parent.iterdir() if ROTATED.fullmatch(file.name))


def content(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


def everything(path: Path) -> bytes:
    return b"".join(content(file) for file in [*rotated(path), path])


def opened_here(path: Path) -> int:
    """Return how many descriptors of a file this process has."""
    found = 0
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += link.readlink() == path
    return found


def wait_for(condition) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen within a minute"
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize("compress", ["false", "true"])
def test_of_several_processes_that_rotate_one_file_no_line_is_lost_or_torn(tmp_path: Path, compress: str) -> None:
    """One of the processes does not rotate."""
    path = tmp_path / "events.ndjson"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [
        subprocess.Popen([*command, str(by), ("20k", "0")[by == 3], compress], stdin=subprocess.PIPE, text=True)
        for by in range(4)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    assert [writer.wait(120) for writer in writers] == [0, 0, 0, 0]

    found = [json.loads(line) for line in everything(path).splitlines()]
    for by in range(4):
        assert [line["n"] for line in found if line["by"] == by] == list(range(150))
    assert len(found) == 600
    files = rotated(path)
    # 0.9 MB in files of 20 KB, which the writer without a limit may make larger.
    assert len(files) > 20
    assert {file.suffix for file in files} == {".gz" if compress == "true" else ".ndjson"}
    assert sorted(tmp_path.iterdir()) == sorted([*files, path])


def test_a_file_ends_before_the_line_that_would_go_beyond_its_size(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    transport = opened(path, 10)
    send(transport, b"1234", b"5678")
    assert rotated(path) == []
    send(transport, b"9")
    assert [content(file) for file in [*rotated(path), path]] == [b"1234\n5678\n", b"9\n"]


def test_a_line_longer_than_the_size_has_a_file_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    send(opened(path, 4), b"123456", b"7", b"123456")
    assert [content(file) for file in [*rotated(path), path]] == [b"123456\n", b"7\n", b"123456\n"]


def test_without_a_size_nothing_is_rotated(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "events.ndjson"
    transport = open_transport("file", {"location": str(path), "rotate": {"compress": "true", "maxSeconds": "1"}})
    send(transport, *[b"x" * 1000] * 100)
    assert list(tmp_path.iterdir()) == [path]
    assert [record.getMessage() for record in caplog.records] == [
        "spark.openlineage.transport.rotate.maxSeconds has no effect on a local file",
        "spark.openlineage.transport.rotate.compress has no effect without rotate.maxBytes on a local file",
    ]


def test_a_broken_last_line_stays_in_the_file_that_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_bytes(b'{"half')
    send(opened(path, 8), b'{"n":1}')
    assert [content(file) for file in [*rotated(path), path]] == [b'{"half', b'{"n":1}\n']


def test_the_next_file_may_be_written_by_whom_the_last_one_could(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    transport = opened(path, 5, compress="true")
    path.chmod(0o662)
    send(transport, b"1", b"12345")
    transport.close(60)
    assert [stat.S_IMODE(file.stat().st_mode) for file in [*rotated(path), path]] == [0o662, 0o662]


def test_a_link_stays_and_what_it_leads_to_is_rotated(tmp_path: Path) -> None:
    link, path = tmp_path / "here.ndjson", tmp_path / "store" / "events.ndjson"
    path.parent.mkdir()
    link.symlink_to(path)
    send(opened(link, 4), b"123", b"456")
    assert link.is_symlink()
    assert [content(file) for file in [*rotated(path), link]] == [b"123\n", b"456\n"]


def test_what_a_killed_process_left_is_compressed_by_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    first, second = (tmp_path / f"events.20260101T00000{n}.000000Z.ndjson" for n in (1, 2))
    first.write_bytes(b"1\n")
    second.write_bytes(b"2\n")
    # Killed while it compressed the first, and between the last two steps of the second.
    Path(f"{first}.gz.part").write_bytes(b"half of it")
    Path(f"{second}.gz").write_bytes(gzip.compress(b"2\n"))
    other = tmp_path / "other.20260101T000003.000000Z.ndjson"
    other.write_bytes(b"not of this file\n")

    opened(path, 2, compress="true").close(60)

    assert [file.suffix for file in rotated(path)] == [".gz", ".gz"]
    assert [content(file) for file in rotated(path)] == [b"1\n", b"2\n"]
    assert sorted(tmp_path.iterdir()) == sorted([*rotated(path), path, other])


@LINUX
@pytest.mark.parametrize("dies", [False, True])
def test_what_another_process_is_compressing_is_left_to_it_unless_it_dies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, dies: bool
) -> None:
    path = tmp_path / "events.ndjson"
    plain = tmp_path / "events.20260101T000001.000000Z.ndjson"
    plain.write_bytes(b"1\n")
    part, packed = Path(f"{plain}.gz.0123abcd.part"), Path(f"{plain}.gz")
    theirs = gzip.compress(b"1\n", mtime=7)
    with plain.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        part.write_bytes(theirs[:9] if dies else theirs)
        transport = opened(path, 100, compress="true")
        wait_for(lambda: opened_here(plain) == 2)
        if not dies:
            part.rename(packed)
            plain.unlink()
    transport.close(60)
    assert (packed.read_bytes() == theirs) is not dies
    assert content(packed) == b"1\n"
    assert sorted(tmp_path.iterdir()) == sorted([path, packed])
    assert caplog.records == []


@LINUX
def test_who_waited_while_the_file_was_rotated_writes_into_the_next_one(tmp_path: Path) -> None:
    path, moved = tmp_path / "events.ndjson", tmp_path / "moved"
    transport = open_transport("file", {"location": str(path)})
    with path.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        sender = threading.Thread(target=send, args=(transport, b"1"))
        sender.start()
        wait_for(lambda: opened_here(path) == 2)
        path.rename(moved)
    sender.join(60)
    assert (moved.read_bytes(), path.read_bytes()) == (b"", b"1\n")


def test_a_writer_killed_in_the_middle_costs_at_most_its_last_line(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    command = [sys.executable, "-c", WRITER.replace("range(150)", "range(10**9)"), str(path), "0", "4k", "true"]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
    assert writer.stdin is not None
    writer.stdin.write("go\n")
    writer.stdin.flush()
    wait_for(lambda: len(rotated(path)) > 5)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait(60)
    writer.stdin.close()

    transport = opened(path, "4k", compress="true")
    send(transport, b'{"n":-1}')
    transport.close(60)
    lines = [json.loads(line)["n"] for line in everything(path).splitlines()]
    assert lines == [*range(len(lines) - 1), -1]


def test_a_file_that_cannot_be_renamed_goes_on_growing_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The name of the rotated file would be longer than names may be."""
    path = tmp_path / f"{'e' * 240}.ndjson"
    send(opened(path, 2), b"1", b"2", b"3")
    assert path.read_bytes() == b"1\n2\n3\n"
    assert [record.getMessage() for record in caplog.records] == [
        f"{path} keeps growing, because it can't be rotated: File name too long"
    ]


@pytest.mark.parametrize("size", ["0", "-1", "10x", "1.5g"])
def test_a_size_that_is_none_is_refused(tmp_path: Path, size: str) -> None:
    with pytest.raises(TransportConfigError) as caught:
        opened(tmp_path / "events.ndjson", size)
    assert str(caught.value) == (
        f"spark.openlineage.transport.rotate.maxBytes is {size!r}."
        " Set it to a number of bytes, such as 1048576, 512k or 32m."
    )


PLAIN = "events.20260101T000001.000000Z.ndjson"
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to give files to other users")
STRANGER = 12345


def others(path: Path, mode: int = 0o644) -> Path:
    """Make a file another user's."""
    os.lchown(path, STRANGER, STRANGER)
    if not path.is_symlink():
        path.chmod(mode)
    return path


@pytest.mark.parametrize("name", [f"{PLAIN}.gz.part", f"{PLAIN}.gz", f"{PLAIN}.gz.0123abcd.part"])
def test_compression_writes_through_no_link_that_somebody_planted(tmp_path: Path, name: str) -> None:
    shared, precious = tmp_path / "shared", tmp_path / "precious"
    shared.mkdir()
    precious.write_bytes(b"precious")
    precious.chmod(0o600)
    (shared / PLAIN).write_bytes(b"1\n")
    (shared / name).symlink_to(precious)
    opened(shared / "events.ndjson", 100, compress="true").close(60)
    assert (precious.read_bytes(), stat.S_IMODE(precious.stat().st_mode)) == (b"precious", 0o600)
    packed = shared / f"{PLAIN}.gz"
    assert not packed.is_symlink()
    assert content(packed) == b"1\n"
    assert sorted(shared.iterdir()) == sorted([shared / "events.ndjson", packed])


def test_compression_reads_through_no_link_that_somebody_planted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shared, precious = tmp_path / "shared", tmp_path / "precious"
    shared.mkdir()
    precious.write_bytes(b"precious")
    link, pipe = shared / PLAIN, shared / PLAIN.replace("01.0", "02.0")
    link.symlink_to(precious)
    os.mkfifo(pipe)
    opened(shared / "events.ndjson", 100, compress="true").close(60)
    assert sorted(shared.iterdir()) == sorted([shared / "events.ndjson", link, pipe])
    assert caplog.records == []


@ROOT
def test_a_rotated_file_of_another_user_is_left_to_that_user(tmp_path: Path) -> None:
    plain = tmp_path / PLAIN
    plain.write_bytes(b"1\n")
    others(plain, 0o666)
    opened(tmp_path / "events.ndjson", 100, compress="true").close(60)
    assert sorted(tmp_path.iterdir()) == sorted([plain, tmp_path / "events.ndjson"])


@ROOT
def test_a_file_that_another_user_made_does_not_open_the_next_one_to_everybody(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"")
    others(path, 0o6777)
    send(opened(path, 4), b"123", b"456")
    state = path.stat()
    assert (stat.S_IMODE(state.st_mode), state.st_uid) == (0o664, os.geteuid())


@ROOT
def test_a_link_that_another_user_planted_is_not_followed(tmp_path: Path) -> None:
    link, precious = tmp_path / "events.ndjson", tmp_path / "precious"
    precious.write_bytes(b"precious")
    link.symlink_to(precious)
    others(link)
    with pytest.raises(TransportConfigError, match="a link that another user made leads to it"):
        opened(link, 100)
    inner = tmp_path / "inner.ndjson"
    inner.symlink_to(link)
    with pytest.raises(TransportConfigError, match="a link that another user made leads to it"):
        opened(inner, 100)
    assert precious.read_bytes() == b"precious"


@ROOT
def test_a_link_of_whoever_owns_its_directory_is_followed(tmp_path: Path) -> None:
    shared, target = tmp_path / "shared", tmp_path / "target.ndjson"
    shared.mkdir()
    others(shared, 0o755)
    link = shared / "events.ndjson"
    link.symlink_to(target)
    others(link)
    send(opened(link, 100), b"1")
    assert target.read_bytes() == b"1\n"


HOLDER = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.slow
def test_a_lock_that_somebody_holds_stops_no_event_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "events.ndjson"
    transport = opened(path, 10)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        send(transport, *[b"%d" % number for number in range(200)])
        assert rotated(path) == []
        holder.stdin.close()
        holder.wait(60)
    send(transport, b"last")
    assert everything(path).splitlines() == [*(b"%d" % number for number in range(200)), b"last"]
    assert path.read_bytes() == b"last\n"
    [record] = caplog.records
    assert record.getMessage() == (
        f"{path}: another process has held its lock for 2 s, so OpenLineage events are written without it, and the file"
        " is not rotated in the meantime"
    )
