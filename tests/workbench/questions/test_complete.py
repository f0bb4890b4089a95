"""An answer is complete, or says what is missing and why: each cause is brought about here."""

from __future__ import annotations

import copy
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from openlineage_pyspark.errors import NameNotFoundError, StoreError
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.model.times import microseconds
from openlineage_pyspark.workbench.store.events.ingest import EventLine, take
from openlineage_pyspark.workbench.store.expiry import expire
from openlineage_pyspark.workbench.store.sqlite.database import Database
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, company, dataset, lineage, run_event, taken, text_of_events
from support.valid_answers import valid_answer

pytestmark = pytest.mark.slow

Fill = Callable[..., Store]
DAY = 24 * 60


def copied(source: str, target: str, minute: float, run: str = "", **facets: Any) -> dict[str, Any]:
    """Return the event of a run that copies the column of one table into another."""
    made = dataset(target, columns=("a",), columnLineage=lineage(a=[(source, "a", "IDENTITY")]))
    inputs = (dataset(source, columns=("a",)),)
    return run_event(
        f"to {target}", "COMPLETE", minute, run=run or f"{target}-{minute}", inputs=inputs, outputs=(made,), **facets
    )


CHAIN = (copied("a", "b", 1), copied("b", "c", 2), copied("c", "d", 3))
TASK = {"task": "MapInPandas", "taskNumber": 0, "errorMessage": "no rule"}
GAP: dict[str, Any] = {"extractionError": {"totalTasks": 1, "failedTasks": 1, "errors": [TASK]}}
Ask = Callable[[Store], Answer[Any]]


def lacks(answer: Answer[Any]) -> list[tuple[str, str]]:
    """Return what an answer says that it lacks; its JSON says the same, as its schema describes."""
    document = valid_answer(answer.to_text("json"))
    assert Answer.from_dict(document) == answer
    for format_ in answer.formats:
        assert answer.to_text(format_).endswith("\n"), format_
    found = [(each.code, each.message) for each in answer.diagnostics if each.missing]
    assert document["complete"] == answer.complete == (not found)
    assert [(each["code"], each["message"]) for each in document["diagnostics"] if each.get("missing")] == found
    return [(code, message) for code, message in found]


EVERY: dict[str, Ask] = {
    "upstream": lambda store: store.upstream("d"),
    "upstream of a column": lambda store: store.upstream("d.a"),
    "upstream by version": lambda store: store.upstream("d@latest"),
    "downstream": lambda store: store.downstream("a"),
    "downstream by job": lambda store: store.downstream("a", by="job"),
    "downstream of a job": lambda store: store.downstream("job:to b"),
    "downstream of a run": lambda store: store.downstream("run:b-1"),
    "between": lambda store: store.between("a", "d"),
    "graph": lambda store: store.graph(),
    "graph around": lambda store: store.graph("c"),
    "datasets": lambda store: store.datasets(),
    "jobs": lambda store: store.jobs(),
    "runs": lambda store: store.runs(),
    "history": lambda store: store.history("d"),
    "unused": lambda store: store.unused(),
    "blame": lambda store: store.blame("d"),
    "diff": lambda store: store.diff(at(0), "now"),
    "sql": lambda store: store.sql("SELECT 1"),
    "recover": lambda store: store.recover("d"),
}


@pytest.mark.parametrize("name", EVERY)
def test_an_answer_from_which_nothing_is_left_out_is_complete(filled: Fill, name: str) -> None:
    assert lacks(EVERY[name](filled(*CHAIN))) == []


UP, DOWN = (f"there is more {way}: the answer stops at depth {{}}" for way in ("upstream", "downstream"))
LIMITED: dict[str, tuple[Ask, str]] = {
    "downstream": (
        lambda store: store.downstream("a", depth=2),
        DOWN.format(2),
    ),
    "column": (lambda store: store.downstream("a.a", depth=1), DOWN.format(1)),
    "upstream": (lambda store: store.upstream("d", depth=1), UP.format(1)),
    "version": (
        lambda store: store.upstream("d@latest", depth=2),
        UP.format(2),
    ),
    "run": (lambda store: store.downstream("run:b-1", depth=1), DOWN.format(1)),
    "job": (
        lambda store: store.downstream("job:to b", depth=2),
        DOWN.format(2),
    ),
    "graph": (lambda store: store.graph("d", depth=1), UP.format(1)),
    "runs": (lambda store: store.runs(limit=2), "there are more runs than 2: a higher limit shows them"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_an_answer_that_a_limit_ends_says_so(filled: Fill, name: str) -> None:
    ask, message = LIMITED[name]
    assert lacks(ask(filled(*CHAIN))) == [("limit", message)]


WIDE: dict[str, Ask] = {
    "downstream": lambda store: store.downstream("a", depth=3),
    "column": lambda store: store.downstream("a.a", depth=3),
    "version": lambda store: store.upstream("d@latest", depth=3),
    "run": lambda store: store.downstream("run:b-1", depth=3),
    "job": lambda store: store.downstream("job:to b", depth=3),
    "graph": lambda store: store.graph("d", depth=3),
    "runs": lambda store: store.runs(limit=3),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_limit_that_leaves_nothing_out_is_none(filled: Fill, name: str) -> None:
    assert lacks(WIDE[name](filled(*CHAIN))) == []


LINEAGE = [name for name in EVERY if name.split()[0] in ("upstream", "downstream", "between", "graph", "diff")]


@pytest.mark.parametrize("name", LINEAGE)
def test_a_part_that_a_run_on_the_way_did_not_understand_may_be_missing(filled: Fill, name: str) -> None:
    store = filled(CHAIN[0], copied("b", "c", 2, **GAP), CHAIN[2])

    answer = EVERY[name](store)
    assert lacks(answer) == [("unknown-operator", "no rule")]
    assert [(each.run, each.operator) for each in answer.diagnostics] == [("run|c-2", "MapInPandas")]


def test_what_a_run_off_the_way_or_before_did_not_understand_is_not_missing(filled: Fill) -> None:
    store = filled(copied("b", "c", 0, run="old", **GAP), *CHAIN, copied("x", "y", 4, **GAP))

    answer = store.upstream("d")
    assert lacks(answer) == []
    assert [(each.run, each.missing) for each in answer.diagnostics] == [("run|old", False)]


TABLE, OTHER = (dataset(name, columns=("a", "b")) for name in ("t", "o"))
MADE = run_event("w", "COMPLETE", 1, run="w", outputs=(TABLE,))
HALF = dataset("o", columns=("a", "b"), columnLineage=lineage(a=[("t", "a", "IDENTITY")]))
UNSTATED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "an edge": (
        run_event("r", "COMPLETE", 2, run="r", inputs=(TABLE,), outputs=(HALF,), **GAP),
        ("up o.b", "down t.b", "between t.b o.b", "around t.b", "up o@latest", "down t@latest", "down job:w"),
    ),
    "all inputs": (
        run_event("r", "COMPLETE", 2, run="r", outputs=(OTHER,), **GAP),
        ("up o", "up o.a", "up o@latest", "up run:r", "between t o", "between t.a o.a", "around o"),
    ),
    "all outputs": (
        run_event("r", "COMPLETE", 2, run="r", inputs=(TABLE,), **GAP),
        ("down t", "down t.a", "down t@latest", "down run:w", "between t t", "around t"),
    ),
}


def asked(store: Store, question: str) -> Answer[Any]:
    word, *refs = question.split()
    asks: dict[str, Callable[..., Answer[Any]]] = {
        "up": store.upstream,
        "down": store.downstream,
        "between": store.between,
        "around": store.graph,
    }
    return asks[word](*refs)


@pytest.mark.parametrize(
    ("hidden", "question"), [(hidden, each) for hidden in UNSTATED for each in UNSTATED[hidden][1]]
)
def test_a_gap_counts_although_its_run_states_nothing_about_what_is_asked(
    filled: Fill, hidden: str, question: str
) -> None:
    store = filled(MADE, UNSTATED[hidden][0], run_event("x", "COMPLETE", 3, outputs=(dataset("far"),), **GAP))

    answer = asked(store, question)
    assert lacks(answer) == [("unknown-operator", "no rule")]
    assert [each.run for each in answer.diagnostics if each.missing] == ["run|r"]


@pytest.mark.parametrize("hidden", ["an edge", "all outputs"])
def test_a_run_that_read_a_wrong_version_may_have_written_what_its_events_do_not_state(
    filled: Fill, hidden: str
) -> None:
    store = filled(MADE, UNSTATED[hidden][0], run_event("w", "COMPLETE", 3, run="later", outputs=(TABLE,), **GAP))

    assert lacks(store.recover("t", run="w")) == [("unknown-operator", "no rule")]
    assert lacks(store.recover("t", run="later")) == []


def test_a_gap_beyond_the_depth_or_in_the_other_direction_does_not_count(filled: Fill) -> None:
    store = filled(CHAIN[0], copied("b", "c", 2, **GAP), CHAIN[2])

    assert lacks(store.downstream("a", depth=1)) == [("limit", DOWN.format(1))]
    assert lacks(store.downstream("c.a")) == lacks(store.upstream("b")) == lacks(store.between("a", "b")) == []


def test_the_gap_of_a_run_that_made_another_table_of_the_job_does_not_count(filled: Fill) -> None:
    def loaded(target: str, minute: int, **facets: Any) -> dict[str, Any]:
        made = dataset(target, columns=("a",), columnLineage=lineage(a=[("a", "a", "IDENTITY")]))
        return run_event("load", "COMPLETE", minute, run=target, inputs=(TABLE,), outputs=(made,), **facets)

    store = filled(loaded("b", 1, **GAP), *(loaded(f"c{minute}", minute) for minute in range(2, 9)))

    assert lacks(store.upstream("b")) == [("unknown-operator", "no rule")]
    assert lacks(store.upstream("c7")) == []


BY_COLUMN = ("up o.a", "down t.b", "between t.a o", "between t.a o.b", "around o.a", "around t.a")
COARSE = run_event("r", "COMPLETE", 2, run="r", inputs=(TABLE,), outputs=(OTHER,))


@pytest.mark.parametrize("question", BY_COLUMN)
def test_a_job_that_states_no_columns_may_hide_any_of_them(filled: Fill, question: str) -> None:
    store = filled(MADE, COARSE)

    answer = asked(store, question)
    message = "no event states from which columns of t the job r makes o"
    assert lacks(answer) == [("unknown-columns", message)]
    assert [each.node for each in answer.diagnostics] == ["dataset|lake|o"]


def test_a_job_that_states_no_columns_hides_no_table(filled: Fill) -> None:
    store = filled(MADE, COARSE)

    for question in ("up o", "down t", "between t o", "around o", "up o@latest", "up t.a", "down o.a"):
        assert lacks(asked(store, question)) == [], question


@pytest.mark.parametrize("question", BY_COLUMN)
def test_an_event_may_state_that_columns_come_from_nowhere(filled: Fill, question: str) -> None:
    made = dataset("o", columns=("a", "b"), columnLineage={"fields": {"a": {"inputFields": []}}})
    start = run_event("r", "START", 1.5, run="r", inputs=(TABLE,), outputs=(OTHER,))
    store = filled(MADE, start, run_event("r", "COMPLETE", 2, run="r", inputs=(TABLE,), outputs=(made,)))

    assert lacks(asked(store, question)) == []


def test_a_column_of_a_table_that_is_made_from_no_table_lacks_nothing(filled: Fill) -> None:
    again = run_event("merge", "COMPLETE", 2, inputs=(TABLE,), outputs=(TABLE,))

    assert lacks(asked(filled(MADE, again), "up t.a")) == lacks(asked(filled(MADE), "down t.a")) == []


def test_only_what_is_between_hides_a_path(filled: Fill) -> None:
    store = filled(*CHAIN, run_event("r", "COMPLETE", 4, run="r", inputs=(dataset("x"),), outputs=(dataset("d"),)))

    assert lacks(store.between("a.a", "d.a")) == []
    assert [code for code, _ in lacks(store.upstream("d.a"))] == ["unknown-columns"]
    assert lacks(store.upstream("d.a", since=at(5))) == lacks(store.upstream("c.a")) == []


def test_many_jobs_that_state_no_columns_are_counted(filled: Fill) -> None:
    jobs = [run_event(f"j{n}", "COMPLETE", n, inputs=(dataset(f"s{n}"),), outputs=(TABLE,)) for n in range(5)]

    found = [message for _, message in lacks(filled(*jobs).upstream("t.a"))]
    assert found == [
        *(f"no event states from which columns of s{n} the job j{n} makes t" for n in range(3)),
        "no event states from which columns 2 more outputs of jobs are made",
    ]


def without(events: list[dict[str, Any]], job: str, hidden: str) -> list[dict[str, Any]]:
    """Return events in which those of a job lack something, with a gap, or lack all of their columns."""
    made = copy.deepcopy(events)
    for event in made:
        if event["job"]["name"] != job:
            continue
        facets = event["outputs"][0]["facets"]
        event["run"]["facets"] |= {} if hidden == "columns" else GAP
        if hidden == "columns":
            facets.pop("columnLineage", None)
        elif hidden == "edges":
            facets["columnLineage"]["fields"] |= {column: {"inputFields": []} for column in "ab"}
        elif hidden == "output":
            event["outputs"] = []
        else:
            gone = event["inputs"].pop(0)["name"]
            for sources in (facets["columnLineage"]["fields"][column]["inputFields"] for column in "abcd"):
                sources[:] = [each for each in sources if each["name"] != gone]
            rows = facets["columnLineage"]["dataset"]
            rows[:] = [each for each in rows if each["name"] != gone]
    return made


HIDDEN = {
    "columns": ("up", "down", "between"),
    "edges": ("up", "down", "between"),
    # Whoever reads or writes what no event states may be anywhere: this is no run on the way.
    "input": ("up", "between"),
    "output": ("down", "between"),
}


@pytest.mark.parametrize("seed", [0, 2])
@pytest.mark.parametrize("hidden", HIDDEN)
def test_an_answer_that_lacks_an_edge_of_the_whole_events_is_not_complete(
    tmp_path: Path, hidden: str, seed: int
) -> None:
    chance = random.Random(f"{hidden} {seed}")  # noqa: S311 (tests)
    events = company(seed, tables=10, jobs=14)
    taken(tmp_path / "whole.db", events)
    taken(tmp_path / "part.db", without(events, f"job{chance.randrange(14)}", hidden))
    places = [f"t{table}{column}" for table in range(10) for column in ("", ".a", ".c")]
    questions = [f"{word} {place}" for word in ("up", "down") for place in places]
    questions += [f"between {chance.choice(places)} {chance.choice(places[::3])}" for _ in range(20)]
    short = 0
    with Store.open(tmp_path / "whole.db") as whole, Store.open(tmp_path / "part.db") as part:
        for question in (each for each in questions if each.split()[0] in HIDDEN[hidden]):
            try:
                answers = asked(whole, question), asked(part, question)
            except NameNotFoundError:
                continue
            edges, left = ({(each.source, each.target) for each in found.result.graph.edges} for found in answers)
            short += not edges <= left
            assert edges <= left or not answers[1].complete, question
    assert short


@pytest.mark.parametrize("name", EVERY)
def test_a_text_that_was_no_event_may_be_missing_from_every_answer(tmp_path: Path, name: str) -> None:
    with Database(tmp_path / "s.db") as database:
        events = [EventLine("f", line) for line in text_of_events([*CHAIN]).splitlines()]
        take(database, [*events, EventLine("f:9", "{}")])
    with Store.open(tmp_path / "s.db") as store:
        answer = EVERY[name](store)

    assert lacks(answer) == [
        ("rejected", "f:9 is not an event, and is not counted: `eventTime` is missing or not a string")
    ]
    assert answer.diagnostics[-1].place == "f:9"


def test_many_texts_that_were_no_events_are_counted(tmp_path: Path) -> None:
    with Database(tmp_path / "s.db") as database:
        take(database, [EventLine(f"f:{number}", f'{{"a": {number}}}') for number in range(9)])
    with Store.open(tmp_path / "s.db") as store:
        found = lacks(store.jobs())

    assert len(found) == 4
    assert found[-1] == ("rejected", "6 more texts are not events: the table `rejected` has all of them")


LOST = "2 runs of the job to c are no longer kept, the last of 2026-01-02 00:00:00"
PAST: dict[str, Ask] = {
    "as of": lambda store: store.upstream("c", as_of=at(2 * DAY)),
    "ever": lambda store: store.upstream("c", ever=True),
    "versions": lambda store: store.downstream("c@latest"),
    "a run": lambda store: store.upstream("run:new"),
    "graph": lambda store: store.graph(ever=True),
    "history": lambda store: store.history("c"),
    "blame": lambda store: store.blame("c"),
    "runs": lambda store: store.runs("to c"),
    "unused": lambda store: store.unused(ever=True),
    "diff": lambda store: store.diff(at(2 * DAY), "now"),
}


@pytest.fixture
def shortened(tmp_path: Path) -> Store:
    """Give a store from which two of three runs of a job were dropped."""
    taken(tmp_path / "s.db", [copied("b", "c", day * DAY, run=run) for day, run in ((0, "r0"), (1, "r1"), (9, "new"))])
    taken(tmp_path / "s.db", [copied("x", "y", 9 * DAY)])
    with Database(tmp_path / "s.db") as database:
        expire(database, microseconds(at(8 * DAY)))
    return Store.open(tmp_path / "s.db")


@pytest.mark.parametrize("name", PAST)
def test_runs_that_are_no_longer_kept_may_be_missing_from_an_answer_about_the_past(shortened: Store, name: str) -> None:
    with shortened as store:
        answer = PAST[name](store)

    assert ("expired", LOST) in lacks(answer)
    assert {each.node for each in answer.diagnostics if each.code == "expired"} == {"job|jobs|to c"}


def test_what_holds_now_and_what_they_did_not_touch_lacks_nothing(shortened: Store) -> None:
    with shortened as store:
        answers = (store.upstream("c"), store.downstream("b.a"), store.history("y"), store.runs("to y"), store.unused())
        for answer in answers:
            assert lacks(answer) == [], answer.question


def test_dropped_runs_are_known_after_the_tables_are_made_again_and_add_up(shortened: Store, tmp_path: Path) -> None:
    shortened.close()
    taken(tmp_path / "s.db", [copied("b", "c", 20 * DAY, run="newest")])
    with Database(tmp_path / "s.db") as database:
        database.rebuild()
        expire(database, microseconds(at(19 * DAY)))
    with Store.open(tmp_path / "s.db") as store:
        found = [message for code, message in lacks(store.history("c")) if code == "expired"]

    assert found == ["3 runs of the job to c are no longer kept, the last of 2026-01-10 00:00:00"]


def test_a_version_that_no_known_run_made_is_named(filled: Fill) -> None:
    read = dataset("a", version={"datasetVersion": "7"})
    store = filled(run_event("load", "COMPLETE", 1, run="r", inputs=(read,), outputs=(dataset("b"),)))

    missing = [("unknown-writer", "no run is known that made a@7")]
    assert lacks(store.upstream("b@latest")) == missing
    assert lacks(store.history("a")) == missing
    assert lacks(store.downstream("a@7")) == []


def test_a_store_with_a_damaged_page_answers_with_a_sentence_and_not_with_less(tmp_path: Path) -> None:
    """Whatever page is damaged: an answer is the right one, or there is none."""
    path = tmp_path / "s.db"
    taken(path, [*CHAIN])
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [size] = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    whole = path.read_bytes()
    names = ("upstream", "downstream of a run", "history", "graph")
    with Store.open(path) as store:
        right = {name: EVERY[name](store) for name in names}
    reasons = []
    for begin in range(size, len(whole), size):
        damaged = tmp_path / "damaged.db"
        damaged.write_bytes(whole[:begin] + b"\xff" * 100 + whole[begin + 100 :])
        try:
            with Store.open(damaged) as store:
                found = {name: EVERY[name](store) for name in names}
        except StoreError as problem:
            reasons.append(str(problem))
            continue
        for name, answer in found.items():
            others = tuple(each for each in answer.diagnostics if each.code != "damaged")
            assert attrs.evolve(answer, diagnostics=others) == right[name]

    assert len(reasons) > 5
    told = ("can't be opened as a store: database disk image is malformed", "It is damaged: move it away")
    assert [reason for reason in reasons if "\n" in reason or not any(text in reason for text in told)] == []
