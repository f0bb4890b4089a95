"""
Which edges hold now, by all surfaces: what runs repeat, replace, drop and fail to do.

A run that failed changes nothing; what a job wrote stays until the job writes it in another way, or until somebody
replaces or drops it; a job that is called once for each table keeps them all.
"""

from __future__ import annotations

import itertools
import random
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from support.lineage_events import at, dataset, lineage, run_event
from support.surfaces import (
    SURFACES,
    Edge,
    Surface,
    Told,
    in_downstream,
    in_graph,
    in_notebook,
    in_upstream,
    paths_in_show,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

Run = tuple[str, str, str, str, str]
"""Its job, the type of its last event, the table that it writes, the source of that table's column, and the change."""
HISTORIES: dict[str, tuple[list[Run], set[str]]] = {
    "a run failed": ([("j", "COMPLETE", "t", "x", ""), ("j", "FAIL", "t", "y", "")], {"x>t"}),
    "an overwrite failed": (
        [("j", "COMPLETE", "t", "x", "OVERWRITE"), ("k", "FAIL", "t", "y", "OVERWRITE")],
        {"x>t"},
    ),
    "a loader is called for each table": (
        [("j", "COMPLETE", "t", "x", ""), ("j", "COMPLETE", "u", "y", "")],
        {"x>t", "y>u"},
    ),
    "another job replaces it": (
        [("j", "COMPLETE", "t", "x", "OVERWRITE"), ("k", "COMPLETE", "t", "y", "OVERWRITE")],
        {"y>t"},
    ),
    "another job appends to it": ([("j", "COMPLETE", "t", "x", ""), ("k", "COMPLETE", "t", "y", "")], {"x>t", "y>t"}),
    "it is dropped": ([("j", "COMPLETE", "t", "x", ""), ("k", "COMPLETE", "t", "", "DROP")], set()),
    "it is dropped, and made again": (
        [("j", "COMPLETE", "t", "x", ""), ("k", "COMPLETE", "t", "", "DROP"), ("l", "COMPLETE", "t", "y", "CREATE")],
        {"y>t"},
    ),
    "its job has another version": ([("j", "COMPLETE", "t", "x", ""), ("j", "COMPLETE", "t", "y", "")], {"y>t"}),
    "a failed run repeats what was given up": (
        [("j", "COMPLETE", "t", "x", ""), ("j", "COMPLETE", "t", "y", ""), ("j", "FAIL", "t", "x", "")],
        {"y>t"},
    ),
    "a failed run repeats it, and another goes on": (
        [
            *(("j", "COMPLETE", "t", each, "") for each in "xy"),
            ("j", "FAIL", "t", "x", ""),
            ("j", "START", "t", "z", ""),
        ],
        {"y>t", "z>t"},
    ),
    "a run fails on a table that was dropped": (
        [("j", "COMPLETE", "t", "x", ""), ("k", "COMPLETE", "t", "", "DROP"), ("j", "FAIL", "t", "x", "")],
        set(),
    ),
    "its first run has no end": ([("j", "START", "t", "x", "")], {"x>t"}),
}


def events_of(runs: list[Run]) -> list[dict[str, Any]]:
    """Return the events of runs, one after the other: each has a START, and its last event says the same."""
    events = []
    for number, (job, type_, table, source, change) in enumerate(runs):
        facets: dict[str, Any] = {"columnLineage": lineage(**({"a": [("s", source, "IDENTITY")]} if source else {}))}
        if change:
            facets["lifecycleStateChange"] = {"lifecycleStateChange": change}
        events += [
            run_event(
                job,
                each,
                10 * number + late,
                run=str(uuid.UUID(int=number + 1)),
                inputs=(dataset("s", columns=("x", "y")),),
                outputs=(dataset(table, columns=("a", "b"), **facets),),
            )
            for late, each in enumerate(dict.fromkeys(("START", type_)))
        ]
    return events


def short(edges: set[Edge]) -> set[str]:
    return {f"{source[1]}>{target[0].removeprefix('lake|')}" for source, target, *_ in edges}


# Each history on each third surface.
EACH = [
    pytest.param(history, surface, marks=[] if (number + place) % 3 == 0 else pytest.mark.long)
    for number, history in enumerate(HISTORIES)
    for place, surface in enumerate((*SURFACES, in_notebook))
]


@pytest.mark.parametrize(("history", "surface"), EACH)
def test_a_surface_tells_the_edges_that_hold_now(history: str, surface: Surface, tmp_path: Path) -> None:
    runs, expected = HISTORIES[history]
    assert short(surface(Told(events_of(runs), tmp_path))) == expected


@pytest.mark.parametrize(
    "history",
    [each if number % 3 == 0 else pytest.param(each, marks=pytest.mark.long) for number, each in enumerate(HISTORIES)],
)
def test_what_was_before_1970_holds_like_what_was_after(history: str, tmp_path: Path) -> None:
    runs, expected = HISTORIES[history]
    events = events_of(runs)
    for event in events:
        event["eventTime"] = event["eventTime"].replace("2026", "1960")
    told = Told(events, tmp_path)
    assert {surface.__name__: short(surface(told)) for surface in SURFACES} == {
        surface.__name__: expected for surface in SURFACES
    }


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ("a run failed", {"x>t"}),
        ("another job replaces it", {"x>t", "y>t"}),
        ("its job has another version", {"x>t", "y>t"}),
        ("a failed run repeats what was given up", {"x>t", "y>t"}),
        ("a failed run repeats it, and another goes on", {"x>t", "y>t", "z>t"}),
    ],
)
def test_with_ever_show_tells_how_rows_came_in_earlier_ways_too(
    history: str, expected: set[str], tmp_path: Path
) -> None:
    """What earlier runs have appended is still there, if their jobs append in another way now."""
    found = paths_in_show(Told(events_of(HISTORIES[history][0]), tmp_path), "--ever")

    assert {f"{source[1]}>{target[0].removeprefix('lake|')}" for source, target, _ in found} == expected


@pytest.mark.parametrize(
    ("name", "sql"),
    [
        ("app.overwrite_partitions_dynamic.t", ""),
        ("k", "INSERT OVERWRITE t PARTITION (day = 1) SELECT y FROM s"),
        ("k", "INSERT INTO t REPLACE WHERE day = 1 SELECT y FROM s"),
    ],
)
def test_what_another_job_overwrites_in_part_still_holds(name: str, sql: str, tmp_path: Path) -> None:
    events = events_of([("j", "COMPLETE", "t", "x", ""), (name, "COMPLETE", "t", "y", "OVERWRITE")])
    for event in events[2:]:
        event["job"]["facets"]["sql"] = {"query": sql}
    assert short(in_upstream(Told(events, tmp_path))) == {"x>t", "y>t"}


@pytest.mark.parametrize("surface", [in_graph, in_upstream, in_downstream])
def test_what_an_event_of_a_job_says_holds_though_a_run_has_failed_before(surface: Surface, tmp_path: Path) -> None:
    events = events_of([("j", "COMPLETE", "t", "x", ""), ("j", "FAIL", "t", "y", "")])
    told = {**events_of([("j", "OTHER", "t", "z", "")])[0], "eventTime": at(100)}
    told = {key: value for key, value in told.items() if key not in ("run", "eventType")}
    assert short(surface(Told([*events, told], tmp_path))) == {"x>t", "z>t"}


def random_history(seed: int) -> list[tuple[int, str, str, str, str, str, str]]:
    """Return runs one after the other: number, job, last event, table, change, the source of its column, its parent."""
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    return [
        (
            number,
            chance.choice("jkl"),
            chance.choice(("COMPLETE", "COMPLETE", "COMPLETE", "FAIL", "ABORT", "START")),
            chance.choice("tuv"),
            chance.choice(("", "", "", "", "DROP", "OVERWRITE")),
            # Runs repeat what others have given up.
            chance.choice("xyz"),
            chance.choice(("", "", f"app{number // 4}")),
        )
        for number in range(chance.randint(1, 14))
    ]


def holding(history: list[tuple[int, str, str, str, str, str, str]]) -> set[str]:
    """Return what holds after a history, by the rule as it is documented."""
    found: set[str] = set()
    for job, table in itertools.product("jkl", "tuv"):
        runs = [run for run in history if run[1] == job]
        mine = [run for run in runs if run[3] == table]
        last = max((run for run in runs if run[2] == "COMPLETE"), default=None)
        wrote = max((run for run in mine if run[2] == "COMPLETE"), default=None)
        told = [run for run in mine if run[2] == "START" and (last is None or run[0] > last[0])]
        for each in (last, wrote):
            if each is not None and each[6]:
                told += [run for run in mine if run[6] == each[6] and run[2] == "START"]
        if wrote is not None:
            told += [run for run in mine if run[2] == "COMPLETE" and run[6] == wrote[6] != ""] + [wrote]
        elif all(run[2] in ("FAIL", "ABORT") for run in runs) and not any(
            run[3] == table and run[2] == "COMPLETE" for run in history
        ):
            told = mine
        ended = [
            run[0]
            for run in history
            if run[3] == table
            and run[2] == "COMPLETE"
            and (run[4] == "DROP" or (run[4] == "OVERWRITE" and run[1] != job))
        ]
        over = max(ended, default=-1)
        found |= {f"{run[5]}>{table}" for run in told if run[0] > over and run[4] != "DROP"}
    return found


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(20, 400))])
def test_whatever_runs_do_the_store_tells_what_the_rule_says(seed: int, tmp_path: Path) -> None:
    history = random_history(seed)
    runs = [
        (job, type_, table, "" if change == "DROP" else source, change)
        for _, job, type_, table, change, source, _ in history
    ]
    events = events_of(runs)
    for event in events:
        number = int(event["run"]["runId"].replace("-", ""), 16) - 1
        if history[number][6]:
            above = {"run": {"runId": history[number][6]}, "job": {"namespace": "jobs", "name": "app"}}
            event["run"]["facets"]["parent"] = above
    told = Told(events, tmp_path)
    expected = holding(history)
    assert {surface.__name__: short(surface(told)) for surface in (in_graph, in_upstream, in_downstream)} == {
        "in_graph": expected,
        "in_upstream": expected,
        "in_downstream": expected,
    }
