"""What is gone can be forgotten: `store forget` says what goes, asks, and drops it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, run_event, taken

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    events = [
        run_event("load", "START", 1, run="l", inputs=(dataset("raw"),), outputs=(dataset("a"),)),
        run_event("load", "COMPLETE", 2, run="l", inputs=(dataset("raw"),), outputs=(dataset("a"),)),
        run_event("copy", "COMPLETE", 3, run="c", inputs=(dataset("a"),), outputs=(dataset("b"),)),
        run_event("other", "COMPLETE", 4, run="o", inputs=(dataset("x"),), outputs=(dataset("y"),)),
        run_event("late", "START", 5, run="s", inputs=(dataset("a"),)),
    ]
    alone = {key: events[0][key] for key in ("eventTime", "producer", "schemaURL")}
    taken(tmp_path / "s.db", [*events, {**alone, "dataset": dataset("a")}, {**alone, "job": events[0]["job"]}])
    return tmp_path / "s.db"


def _names(path: Path) -> tuple[list[str], list[str]]:
    with Store.open(path) as opened:
        return [each.label for each in opened.datasets().result], [each.name for each in opened.jobs().result]


def test_a_dataset_is_forgotten_with_the_runs_that_name_it(store: Path, run: Run) -> None:
    status, said, _ = run("store", "forget", "a", "--yes", "--store", str(store))
    assert (status, said.splitlines()) == (
        0,
        [
            f"a: 5 events of 3 runs in {store}",
            "  jobs that lose runs: copy, late, load",
            "  other datasets in the events of these runs: b, raw",
            f"5 events dropped from {store}",
        ],
    )
    assert _names(store) == (["x", "y"], ["load", "other"])


def test_a_job_is_forgotten_with_its_runs_and_what_others_say_stays(store: Path, run: Run) -> None:
    assert run("store", "forget", "job:load", "--yes", "--store", str(store))[0] == 0
    assert _names(store) == (["a", "b", "x", "y"], ["copy", "late", "other"])


def test_what_others_lack_by_a_dataset_that_is_forgotten_is_said(store: Path, run: Run) -> None:
    assert run("store", "forget", "b", "--yes", "--store", str(store))[0] == 0
    with Store.open(store) as opened:
        lacking = opened.upstream("a", ever=True).diagnostics
        assert opened.upstream("y", ever=True).diagnostics == ()
    assert [(each.code, each.message) for each in lacking] == [
        ("expired", "1 run of the job copy is no longer kept, the last of 2026-01-01 00:03:00")
    ]
    assert run("store", "forget", "job:other", "--yes", "--store", str(store))[0] == 0
    with Store.open(store) as opened:
        assert {each.name for each in opened.tables.dropped()} == {"copy"}


class Terminal(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "status"), [("", 1), ("n\n", 1), ("y\n", 0)])
def test_nothing_is_forgotten_without_a_yes(
    store: Path, run: Run, monkeypatch: pytest.MonkeyPatch, answer: str, status: int
) -> None:
    before = _names(store)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    found, _, errors = run("store", "forget", "job:other", "--store", str(store))
    assert (found, errors.startswith("Forget job:other? [y/N] ")) == (status, True)
    assert ("nothing was done" in errors, _names(store) == before) == (bool(status), bool(status))


@pytest.mark.parametrize("piped", [None, io.StringIO("y\n")])
def test_without_a_terminal_nobody_is_asked_and_nothing_is_forgotten(
    store: Path, run: Run, monkeypatch: pytest.MonkeyPatch, piped: io.StringIO | None
) -> None:
    before = _names(store)
    monkeypatch.setattr(sys, "stdin", piped)
    found, said, errors = run("store", "forget", "job:other", "--store", str(store))
    assert (found, "There is no terminal on which to ask: add --yes" in errors, _names(store)) == (1, True, before)
    assert run("store", "forget", "job:other", "--dry-run", "--store", str(store)) == (0, said, "")
    assert _names(store) == before


@pytest.mark.parametrize(
    ("ref", "said"), [("nothing", "nothing is called 'nothing'"), ("run:l", "is neither a dataset nor a job")]
)
def test_what_can_not_be_forgotten_is_said(store: Path, run: Run, ref: str, said: str) -> None:
    status, _, errors = run("store", "forget", ref, "--yes", "--store", str(store))
    assert (status, said in errors) == (2, True)
    missing = run("store", "forget", "a", "--yes", "--store", f"{store}.none")
    assert (missing[0], "there is no store at" in missing[2], Path(f"{store}.none").exists()) == (2, True, False)
