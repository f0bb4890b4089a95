"""The file transport: whole lines whatever happens, and messages that help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.errors import TransportConfigError, TransportError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport

WRITER = """
import sys
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
transport = open_transport("file", {"location": sys.argv[1]})
sys.stdin.readline()
for n in range(60):
    size = (7, 70_000)[n % 2]
    transport.send(Event("r", "START", b'{"by":%s,"n":%d,"x":"%s"}' % (sys.argv[2].encode(), n, b"x" * size)))
"""


def error_of(options: dict[str, object]) -> str:
    with pytest.raises(TransportConfigError) as caught:
        open_transport("file", options)
    return str(caught.value)


@pytest.mark.slow
def test_lines_of_several_processes_stay_whole_and_each_in_order(tmp_path: Path) -> None:
    path = tmp_path / "shared.ndjson"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(by)], stdin=subprocess.PIPE, text=True)
        for by in range(4)
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    found = [json.loads(line) for line in path.read_bytes().splitlines()]
    for by in range(4):
        assert [line["n"] for line in found if line["by"] == by] == list(range(60))
    assert len(found) == 240


def test_a_disk_that_takes_half_a_line_costs_that_event_alone(tmp_path: Path) -> None:
    """The limit on a file's size stands for the full disk: a write that crosses it is cut short, too."""
    path = tmp_path / "full.ndjson"
    program = """
import resource, sys
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
transport = open_transport("file", {"location": sys.argv[1]})
transport.send(Event("r", "START", b'{"n":1}'))
resource.setrlimit(resource.RLIMIT_FSIZE, (12, resource.RLIM_INFINITY))
try:
    transport.send(Event("r", "RUNNING", b'{"n":2}'))
except TransportError as exc:
    print(exc)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
transport.send(Event("r", "COMPLETE", b'{"n":3}'))
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path} can't be written (File too large)\n"
    assert path.read_bytes() == b'{"n":1}\n{"n"\n{"n":3}\n'


def test_a_file_that_is_moved_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    transport = open_transport("file", {"location": str(path)})
    transport.send(Event("r", "START", b"1"))
    path.rename(tmp_path / "rotated")
    transport.send(Event("r", "COMPLETE", b"2"))
    assert (tmp_path / "rotated").read_bytes() == b"1\n"
    assert path.read_bytes() == b"2\n"


def test_a_directory_that_goes_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "events.ndjson"
    transport = open_transport("file", {"location": str(path)})
    path.unlink()
    path.parent.rmdir()
    with pytest.raises(TransportError) as caught:
        transport.send(Event("r", "START", b"1"))
    assert str(caught.value) == f"{path} can't be written (No such file or directory)"
    assert caught.value.retryable is False


def test_a_pipe_gets_the_lines_too(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    open_transport("file", {"location": str(path)}).send(Event("r", "START", b"1"))
    assert os.read(reader, 100) == b"1\n"
    os.close(reader)


@pytest.mark.parametrize("option", ["location", "log_file_path"])
def test_the_location_may_be_a_file_url_and_spelled_as_in_either_client(option: str, tmp_path: Path) -> None:
    path = tmp_path / "with blank.ndjson"
    open_transport("file", {option: path.as_uri()}).send(Event("r", "START", b"1"))
    assert path.read_bytes() == b"1\n"


def test_a_relative_location_stays_where_it_was_when_the_job_changes_its_directory(tmp_path: Path) -> None:
    program = """
import os
from openlineage_pyspark.transport.event import Event
from openlineage_pyspark.transport.registry import open_transport
transport = open_transport("file", {"location": "events.ndjson"})
os.chdir("/")
transport.send(Event("r", "START", b"1"))
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert (tmp_path / "events.ndjson").read_bytes() == b"1\n"


def test_locations_that_cannot_be_are_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    below_file = tmp_path / "plain" / "events"
    key = "spark.openlineage.transport.location"
    assert error_of({}) == f"{key} is not set. Set it to the file that gets the events."
    assert error_of({"location": str(tmp_path)}) == (
        f"{key} is '{tmp_path}', which can't be written (Is a directory). Name a file that this user may write."
    )
    assert error_of({"location": str(below_file)}).startswith(f"{key} is '{below_file}', which can't be written (")
    assert error_of({"location": "s3a://bucket/events"}) == (
        f"{key} begins with s3a:, which needs the Hadoop client of a Spark driver, and there is none here."
        " Name a local path, or use the http transport."
    )
    assert error_of({"location": "/a", "log_file_path": "/b"}) == (
        f"{key} and spark.openlineage.transport.log_file_path set the same option. Keep one of them."
    )


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs /proc, which even root can't write to")
def test_an_unwritable_directory_is_told_at_once() -> None:
    assert error_of({"location": "/proc/events.ndjson"}).startswith(
        "spark.openlineage.transport.location is '/proc/events.ndjson', which can't be written ("
    )


def test_not_appending_is_told_to_be_unsupported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open_transport("file", {"location": str(tmp_path / "a"), "append": "false"})
    open_transport("file", {"location": str(tmp_path / "a"), "append": True})
    assert [record.getMessage() for record in caplog.records] == [
        "spark.openlineage.transport.append=false is not supported: events are always appended"
    ]


def test_a_location_with_a_character_that_no_system_takes_is_refused(tmp_path: Path) -> None:
    assert error_of({"location": f"{tmp_path}/a\0b"}).startswith(
        "spark.openlineage.transport.location holds a NUL character. "
    )


def test_a_file_may_have_a_name_that_is_not_unicode(tmp_path: Path) -> None:
    location = f"{tmp_path}/ev\udce4nts.ndjson"
    transport = open_transport("file", {"location": location})
    transport.send(Event("r", "START", b"1"))
    assert Path(location).read_bytes() == b"1\n"
    assert transport.destination.encode().endswith(b"/ev\\udce4nts.ndjson")


@pytest.mark.skipif(os.name != "posix", reason="is about other systems than Windows")
def test_a_path_of_windows_is_told_to_be_only_a_name_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    open_transport("file", {"location": r"C:\lineage\events.ndjson"})
    [record] = caplog.records
    assert record.getMessage() == (
        "spark.openlineage.transport.location is a path of Windows; here it names the file"
        r" 'C:\\lineage\\events.ndjson'"
    )
