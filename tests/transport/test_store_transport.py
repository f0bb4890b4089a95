"""The transport `store`: a driver writes a lineage store itself."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.store.answers import Store
from openlineage_pyspark.transport import Event, TransportConfigError, TransportError, open_transport
from support.lineage_events import dataset, run_event, text_of


def event(**facets: Any) -> Event:
    made = run_event("load", "COMPLETE", 1, inputs=(dataset("a"),), outputs=(dataset("b"),), **facets)
    return Event(made["run"]["runId"], "COMPLETE", text_of([made]).strip().encode())


def test_what_is_sent_can_be_asked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "lineage.db"
    transport = open_transport("store", {"path": str(path)})
    transport.send(event())
    with Store.open(path) as store:
        assert [node.label for node in store.downstream("a").nodes] == ["b"]
    transport.close(1.0)


def test_two_transports_write_one_file(tmp_path: Path) -> None:
    options = {"path": str(tmp_path / "lineage.db")}
    first, second = open_transport("store", options), open_transport("store", options)
    for transport in (first, second, first):
        transport.send(event(nominalTime={"nominalStartTime": str(transport)}))
        assert transport.destination == f"store {tmp_path}/lineage.db"
    first.close(1.0)
    second.close(1.0)
    with sqlite3.connect(tmp_path / "lineage.db") as database:
        assert database.execute("SELECT count(*) FROM event").fetchall() == [(2,)]


def test_a_file_that_is_no_store_is_refused_when_the_driver_starts(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database " * 100)
    with pytest.raises(TransportConfigError, match=r"path is '.*text': .*file is not a database\. Name a file"):
        open_transport("store", {"path": str(tmp_path / "text")})
    with pytest.raises(TransportConfigError, match=r"transport\.path is not set\. Set it to the file of the store\."):
        open_transport("store", {})


def test_an_event_that_is_none_is_refused_for_good(tmp_path: Path) -> None:
    transport = open_transport("store", {"path": str(tmp_path / "lineage.db")})
    with pytest.raises(TransportError, match="no such event: the driver: `eventTime` is missing") as raised:
        transport.send(Event("r", "START", b"{}"))
    assert not raised.value.retryable
    transport.close(1.0)
