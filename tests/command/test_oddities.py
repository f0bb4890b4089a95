"""What is odd in events costs nobody an answer, and is said beside it."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.questions.below_changes import downstream_of
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import company, dataset, run_event, symlink, taken
from support.reached import nodes_of, start_of

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]


def _timed(event: dict[str, Any], time: str) -> dict[str, Any]:
    return {**event, "eventTime": time}


def _copy(
    job: str, source: str, target: str, minute: float, *, type_: str = "COMPLETE", run: str = ""
) -> dict[str, Any]:
    return run_event(job, type_, minute, run=run, inputs=(dataset(source),), outputs=(dataset(target),))


_COMMANDS = (
    ("datasets",), ("jobs",), ("runs",), ("history", "b"), ("upstream", "b"), ("downstream", "a"),
    ("upstream", "b@latest"),
    ("between", "a", "b"), ("diff", "3000d", "now"), ("sql", "SELECT * FROM sink_snapshot_lineage"), ("runs", "--late"),
    ("recover", "b"), ("store", "expire", "--older-than", "1d", "--dry-run"), ("jobs", "--late"),
)  # fmt: skip


@pytest.mark.parametrize(
    "time",
    [
        *(
            "0001-01-01T00:00:00Z",
            "0001-01-01T00:00:00+14:00",
            "9999-12-31T23:59:59.999999Z",
            "9999-12-31T23:59:59-14:00",
        ),
        *("2099-01-01T00:00:00Z", "1969-12-31T23:59:59Z"),
    ],
)
def test_one_event_of_an_odd_time_makes_no_command_fail(tmp_path: Path, run: Run, time: str) -> None:
    store = tmp_path / "s.db"
    taken(store, [_copy("j", "a", "b", 1), _timed(_copy("k", "a", "b", 2, run="odd"), time)])
    for command in _COMMANDS:
        status, _, said = run(*command, "--store", str(store))
        assert (status in (0, 1), "Traceback" in said) == (True, False), (command, said)


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2099-01-01T00:00:00Z"])
def test_a_micro_batch_is_not_later_than_the_event_that_tells_it(tmp_path: Path, time: str) -> None:
    batch = {"batchId": 0, "time": time, "sources": [], "sinks": [{"namespace": "lake", "name": "b", "version": "1"}]}
    event = run_event(
        "j", "COMPLETE", 1, outputs=(dataset("b"),), pyspark_micro_batches={"batches": [batch], "queryId": "q"}
    )
    taken(tmp_path / "s.db", [event])
    with Store.open(tmp_path / "s.db") as store:
        [line] = store.history("b").result
        assert line.time == datetime(2026, 1, 1, 0, 1, tzinfo=timezone.utc)


def test_an_event_of_2099_is_not_what_its_job_does_now(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "s.db"
    taken(path, [_copy("j", "old", "b", 1), _timed(_copy("j", "other", "b", 2), "2099-01-01T00:00:00Z")])
    with Store.open(path) as store:
        assert [*nodes_of(store.upstream("b"))] == ["old"]
        assert [*nodes_of(store.upstream("b", as_of="2099-02-01"))] == ["other"]
        edges = {(edge.source, edge.target) for edge in store.graph().result.edges}
        assert ("dataset|lake|old", "job|jobs|j") in edges or ("dataset|lake|old", "dataset|lake|b") in edges
        assert not [edge for edge in edges if "dataset|lake|other" in edge]
        [said] = store.datasets().diagnostics
    message = "events dated in the future, up to 2099-01-01T00:00:00+00:00, do not count yet; their jobs: j"
    assert (said.code, said.message, said.missing) == ("odd-time", message, True)
    assert message in run("upstream", "b", "--store", str(path))[2]
    answer = json.loads(run("upstream", "b", "--format", "json", "--store", str(path))[1])
    assert (answer["complete"], [each["code"] for each in answer["diagnostics"]]) == (False, ["odd-time"])


def test_what_is_downstream_of_a_change_does_not_follow_an_event_of_2099(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    taken(path, [_copy("j", "old", "b", 1), _timed(_copy("j", "other", "b", 2), "2099-01-01T00:00:00Z")])
    with Store.open(path) as store:
        assert downstream_of(store.tables, {("old", ""): 1}) == ({("b", ""): 2}, ())
        assert downstream_of(store.tables, {("other", ""): 1}) == ({}, ())


def test_what_holds_until_a_time_that_lies_ahead_is_not_dropped_as_old(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "s.db"
    old = (_copy("j", "older", "b", 0, run="r-0"), _copy("j", "old", "b", 1, run="r-1"))
    taken(path, [*old, _timed(_copy("j", "other", "b", 2, run="r-2"), "2099-01-01T00:00:00Z")])
    assert run("store", "expire", "--older-than", "1d", "--yes", "--store", str(path))[0] == 0
    with Store.open(path) as store:
        assert {row.run_id for row in store.runs().result} == {"r-1", "r-2"}
        assert [*nodes_of(store.upstream("b"))] == ["old"]


@pytest.mark.parametrize("ever", [False, True])
def test_what_an_event_of_2099_reads_is_unused_until_then(tmp_path: Path, *, ever: bool) -> None:
    path = tmp_path / "s.db"
    taken(
        path,
        [_copy("j", "a", "b", 1), _copy("k", "c", "a", 1), _timed(_copy("l", "b", "e", 2), "2099-01-01T00:00:00Z")],
    )
    with Store.open(path) as store:
        found = {row.dataset: row.writers for row in store.unused(by="table", ever=ever).result}
    assert found["b"] == ("j",)
    assert "a" not in found


def test_a_clock_that_is_some_hours_ahead_counts(tmp_path: Path) -> None:
    soon = (datetime.now(timezone.utc) + timedelta(hours=14)).isoformat()
    taken(tmp_path / "s.db", [_copy("j", "old", "b", 1), _timed(_copy("j", "new", "b", 2), soon)])
    with Store.open(tmp_path / "s.db") as store:
        assert [*nodes_of(store.upstream("b"))] == ["new"]
        assert store.datasets().diagnostics == ()


def test_a_run_that_ends_before_it_begins_took_no_time_and_is_named(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "s.db"
    taken(path, [_copy("j", "a", "b", 190, type_="START", run="r-1"), _copy("j", "a", "b", 10, run="r-1")])
    status, shown, said = run("runs", "--store", str(path))
    assert (status, "-10,800" in shown, " s " in shown) == (0, False, False)
    assert "by the times of their events, these runs end before they begin: r-1" in said
    answer = json.loads(run("runs", "--format", "json", "--store", str(path))[1])
    assert [each["code"] for each in answer["diagnostics"]] == ["odd-time"]


def test_a_run_that_two_jobs_call_theirs_is_named(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "s.db"
    taken(path, [_copy("j", "a", "b", 1, run="r-1"), _copy("k", "a", "c", 2, run="r-1"), _copy("l", "a", "d", 3)])
    said = run("jobs", "--store", str(path))[2]
    assert "these runs occur in events of several jobs; each is counted for one of them: r-1" in said


def test_names_in_two_forms_of_unicode_are_named(tmp_path: Path) -> None:
    composed, parted = (unicodedata.normalize(form, "straße_café") for form in ("NFC", "NFD"))
    assert composed != parted
    taken(tmp_path / "s.db", [_copy("j", "a", composed, 1), _copy("k", "b", parted, 2), _copy("l", "c", "größe", 3)])
    with Store.open(tmp_path / "s.db") as store:
        [said] = store.datasets().diagnostics
    assert said.message == (
        f"several datasets have names that differ only in their Unicode form (NFC, NFD): {composed}"
    )


def test_names_of_one_dataset_are_not_remarked(tmp_path: Path) -> None:
    composed, parted = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    output = dataset(composed, symlinks=symlink(parted, namespace="lake"))
    taken(tmp_path / "s.db", [run_event("j", "COMPLETE", 1, outputs=(output,))])
    with Store.open(tmp_path / "s.db") as store:
        assert store.datasets().diagnostics == ()


def test_a_version_of_2099_is_not_the_newest_one(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    late = _timed(_copy("j", "a", "b", 3, run="late"), "2099-01-01T00:00:00Z")
    taken(path, [_copy("j", "a", "b", 1, run="first"), _copy("j", "a", "b", 2, run="second"), late])
    with Store.open(path) as store:
        assert start_of(store.upstream("b@latest")) == "b@second"
        assert store.recover("b").result.datasets[0].bad[0] == "second"


def test_a_store_whose_pages_do_not_hang_together_says_so(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "s.db"
    taken(path, company(1))
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA journal_mode = DELETE")
        size = made.execute("PRAGMA page_size").fetchone()[0]
        root = made.execute("SELECT rootpage FROM sqlite_master WHERE name = 'field'").fetchone()[0]
    content = bytearray(path.read_bytes())
    # The kind of a page of the columns, which this question does not need.
    content[(root - 1) * size] = 0
    path.write_bytes(content)
    status, _, said = run("jobs", "--store", str(path))
    assert (status, "the store is damaged: " in said) == (0, True)
    answer = json.loads(run("jobs", "--format", "json", "--store", str(path))[1])
    assert (answer["complete"], answer["diagnostics"][0]["code"]) == (False, "damaged")


def test_an_error_of_the_caller_is_not_taken_for_one_of_a_damaged_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    taken(path, company(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute("UPDATE dataset SET name_id = name_id + 1")
    with pytest.raises(KeyError, match="mine"), Store.open(path):
        raise KeyError("mine")


def test_a_command_that_fails_on_a_damaged_store_names_the_damage(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "s.db"
    taken(path, company(1))
    with closing(sqlite3.connect(path, isolation_level=None)) as made:
        made.execute("PRAGMA journal_mode = DELETE")
        made.execute("UPDATE dataset SET name_id = name_id + 1")
    status, _, said = run("view", str(path), "--format", "json", "-o", "-")
    assert status == 2
    assert (
        f"{path} can't be used: dataset_identity refers to a row that dataset does not have. It is damaged: move it "
        "away" in said
    )
