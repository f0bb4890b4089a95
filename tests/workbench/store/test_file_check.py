"""A store is never made over somebody else's file, and what is beside a file is somebody's too."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from openlineage_pyspark.command.main import main
from openlineage_pyspark.errors import StoreError, TransportConfigError
from openlineage_pyspark.workbench.store.sqlite import file_check
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store.sqlite.transport import StoreTransport
from openlineage_pyspark.workbench.store.tables import schema
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import run_event, taken, text_of_events


def _everything(folder: Path) -> dict[str, str]:
    """Return what stands in each file of a folder, apart from SQLite's shared memory, which holds no data."""
    return {
        each.name: hashlib.sha256(each.read_bytes()).hexdigest()
        for each in sorted(folder.iterdir())
        if each.is_file() and not each.name.endswith("-shm") and (each.stat().st_size or not each.name.endswith("-wal"))
    }


def _shop(path: Path, version: int = 1) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.executescript(
            f"PRAGMA user_version = {version}; CREATE TABLE customer (name TEXT); INSERT INTO customer VALUES ('Ada');"
        )


def _in_log(path: Path) -> None:
    """Make a database all of whose rows are in its log, as after its program was killed."""
    with closing(sqlite3.connect(path.with_name("live.db"))) as other:
        other.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA user_version = 1; CREATE TABLE customer (name TEXT);"
            "INSERT INTO customer VALUES ('Ada');"
        )
        for sign in ("", "-wal"):
            shutil.copy(path.with_name(f"live.db{sign}"), path.with_name(f"{path.name}{sign}"))
    path.with_name("live.db").unlink()


def _lost_log(path: Path) -> None:
    _in_log(path)
    path.unlink()


def _emptied(path: Path) -> None:
    _in_log(path)
    path.write_bytes(b"")


def _lost_journal(path: Path) -> None:
    path.with_name(f"{path.name}-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"x" * 600)


def _emptied_with_journal(path: Path) -> None:
    """Leave the journal of a transaction that would be rolled back, without the database that it belongs to."""
    _shop(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO customer VALUES ('Eve')")
        shutil.copy(path.with_name(f"{path.name}-journal"), path.with_name("kept"))
    path.with_name("kept").rename(path.with_name(f"{path.name}-journal"))
    path.write_bytes(b"")


def _emptied_with_a_journal_out_of_use(path: Path) -> None:
    _shop(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = PERSIST")
        other.execute("INSERT INTO customer VALUES ('Eve')")
        other.commit()
    path.write_bytes(b"")


def _text_with_journal(path: Path) -> None:
    path.write_text("notes of somebody\n" * 100)
    _lost_journal(path)


def _marked_without_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA application_id = 1196444487")


def _with_tables_of_our_names(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        columns = ", ".join(each.name for each in schema.EVENT.stored)
        other.executescript(
            f"PRAGMA user_version = 1; CREATE TABLE event ({columns}); CREATE TABLE job (title, wage); "
            "INSERT INTO job VALUES ('clerk', 1);"
        )


def _damaged(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def _newer(path: Path) -> None:
    taken(path, [run_event("job", "COMPLETE", 0)])
    with closing(sqlite3.connect(path)) as ours:
        ours.execute(f"PRAGMA user_version = {schema.VERSION + 1}")


_FOREIGN: tuple[tuple[Callable[[Path], None], str], ...] = (
    (_shop, "a database of another program"),
    (_in_log, "a database of another program"),
    (_marked_without_tables, "a database of another program"),
    (_with_tables_of_our_names, "a database of another program"),
    (_lost_log, "is not there, but .*f.db-wal is: it holds data of another database"),
    (_emptied, "is empty, but .*f.db-wal is: it holds data of another database"),
    (_lost_journal, "is not there, but .*f.db-journal is: it holds data of another database"),
    (_emptied_with_journal, "is empty, but .*f.db-journal is: it holds data of another database"),
    (_emptied_with_a_journal_out_of_use, "is empty, but .*f.db-journal is: it holds data of another database"),
    (_text_with_journal, "can't be opened as a store: it is another kind of file"),
    (_damaged, "a database of another program"),
    (_newer, "upgrade the package"),
    (os.mkfifo, "can't be opened as a store: it is another kind of file"),
)


@pytest.mark.parametrize(("make", "reason"), _FOREIGN, ids=lambda each: getattr(each, "__name__", ""))
def test_nothing_that_is_not_ours_is_changed_by_what_writes_a_store(
    tmp_path: Path,
    make: Callable[[Path], None],
    reason: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_check, "_MOST_SECONDS", 0.1)
    path = tmp_path / "f.db"
    make(path)
    before = _everything(tmp_path)
    with pytest.raises(StoreError, match=reason):
        Database(path, patience=0.1)
    with pytest.raises(StoreError, match=reason if path.exists() else "there is no store"):
        Database(path, migrate=False, create=False, patience=0.1)
    with pytest.raises(StoreError):
        Store.open(path)
    with pytest.raises(TransportConfigError):
        StoreTransport.from_options({"path": str(path)})
    assert main(["store", "rebuild", "--store", str(path)]) == 2
    assert main(["store", "expire", "--older-than", "1d", "--store", str(path)]) == 2
    events = tmp_path.parent / f"{tmp_path.name}.ndjson"
    events.write_text(text_of_events([run_event("job", "COMPLETE", 0)]))
    assert main(["ingest", str(events), "--store", str(path)]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert _everything(tmp_path) == before


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "f.db").touch()
    with Database(tmp_path / "f.db") as database:
        assert database.query("SELECT count(*) FROM event") == [(0,)]


_KILLED = """
import os, sqlite3, sys
making = sqlite3.connect(sys.argv[1], isolation_level=None)
making.execute("BEGIN")
making.execute("CREATE TABLE event (a)")
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("begin", [bytes(8), b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"], ids=["incomplete", "complete"])
def test_a_store_whose_first_process_was_killed_while_it_made_the_file_is_made_again(
    tmp_path: Path, begin: bytes
) -> None:
    path, journal = tmp_path / "f.db", tmp_path / "f.db-journal"
    subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert path.read_bytes() == b""
    assert journal.read_bytes()[:8] == bytes(8)
    journal.write_bytes(begin + journal.read_bytes()[8:])

    with Database(path, patience=0.1) as database:
        assert database.query("SELECT count(*) FROM event") == [(0,)]


def test_a_journal_that_goes_away_between_two_looks_at_it_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.db"
    path.touch()
    monkeypatch.setattr(file_check, "_size", lambda beside: int(beside.name.endswith("-journal")))
    file_check.refuse_others(path, 0.1)
    assert path.read_bytes() == b""


def test_a_store_whose_mark_is_still_in_its_log_is_ours(tmp_path: Path) -> None:
    with Database(tmp_path / "live.db"):
        for sign in ("", "-wal"):
            shutil.copy(tmp_path / f"live.db{sign}", tmp_path / f"f.db{sign}")
    with Database(tmp_path / "f.db", read_only=True) as database:
        assert database.query("SELECT count(*) FROM event") == [(0,)]


def test_a_store_that_another_process_makes_meanwhile_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks into an empty database, it may become a store."""
    path = tmp_path / "lineage.db"
    is_marked = file_check.is_marked

    with closing(sqlite3.connect(path)) as first:
        first.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (a); DROP TABLE t;")

        def slowly(connection: sqlite3.Connection) -> bool:
            found = is_marked(connection)
            first.executescript(
                f"BEGIN; CREATE TABLE event (a); PRAGMA application_id = {file_check.APPLICATION_ID}; COMMIT;"
            )
            return found

        monkeypatch.setattr(file_check, "is_marked", slowly)
        file_check.refuse_others(path, 1)

    assert int.from_bytes(path.read_bytes()[68:72], "big") == file_check.APPLICATION_ID


@pytest.mark.parametrize("name", [".", "/", ".."])
def test_a_folder_without_a_name_of_its_own_is_a_folder(name: str) -> None:
    with pytest.raises(StoreError, match="it is a folder"):
        Database(Path(name), read_only=True)


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="File name too long"):
        Database(tmp_path / ("x" * 300), read_only=True)
