"""The explicit lineage facet in the store: what an event states holds, not the product of its inputs and outputs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event
from support.reached import nodes_of
from support.surfaces import SURFACES, Edge, Told, in_show

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

Fill = Callable[..., Store]
VALUE = {"type": "DIRECT", "subtype": "IDENTITY"}


def source(name: str, field: str = "", **more: Any) -> dict[str, Any]:
    """Return a dataset, or a column of it, as a source or a target of the facet."""
    return {"type": "DATASET", "namespace": "lake", "name": name, **({"field": field} if field else {}), **more}


def stating(*entries: dict[str, Any], outputs: tuple[str, ...] = ("c", "d"), minute: int = 1, **facets: Any) -> Any:
    """Return the event of a run that reads a and b, and whose job states what is made of them."""
    made = tuple(dataset(each, columns=("x", "y"), **facets) for each in outputs)
    read = tuple(dataset(each, columns=("k", "l")) for each in "ab")
    event = run_event("job", "COMPLETE", minute, run=f"run-{minute}", inputs=read, outputs=made)
    event["job"]["facets"]["lineage"] = {"entries": list(entries)}
    return event


def made_from(store: Store, name: str, question: str = "upstream") -> list[str]:
    """Return what a dataset or a column is made from."""
    return sorted(nodes_of(getattr(store, question)(name)))


def test_each_output_comes_from_what_is_stated_and_not_from_all_inputs(filled: Fill) -> None:
    store = filled(stating(source("c", inputs=[source("a")]), source("d", inputs=[source("b")])))
    assert {name: made_from(store, name) for name in "cd"} == {"c": ["a"], "d": ["b"]}
    assert {name: made_from(store, name, "downstream") for name in "ab"} == {"a": ["c"], "b": ["d"]}
    assert [*store.sql("SELECT source_table, target_table FROM table_lineage ORDER BY 1").result] == [
        ("a", "c"),
        ("b", "d"),
    ]


def test_an_output_that_is_not_described_comes_from_nothing(filled: Fill) -> None:
    store = filled(stating(source("c", inputs=[source("a"), source("b")])))
    assert {name: made_from(store, name) for name in "cd"} == {"c": ["a", "b"], "d": []}


def test_an_empty_array_states_that_nothing_is_read(filled: Fill) -> None:
    columns = lineage(x=[("a", "k", "IDENTITY")])
    store = filled(stating(source("c", inputs=[]), outputs=("c",), columnLineage=columns))
    assert (made_from(store, "c"), made_from(store, "c.x")) == ([], [])


def test_columns_come_from_the_fields_that_are_stated(filled: Fill) -> None:
    fields = {"x": {"inputs": [source("a", "k", transformations=[VALUE])]}, "y": {"inputs": [source("b")]}}
    every_row = source("a", "l", transformations=[{"type": "INDIRECT", "subtype": "FILTER"}])
    store = filled(stating(source("c", inputs=[every_row], fields=fields)))
    assert made_from(store, "c.x") == ["a.k", "a.l"]
    # Which column of b it is, nobody says.
    assert made_from(store, "c.y") == ["a.l", "b"]
    assert made_from(store, "b.k", "downstream") == ["c.y"]
    assert made_from(store, "c") == ["a", "b"]


def test_what_is_stated_decides_over_column_lineage(filled: Fill) -> None:
    columns = lineage(x=[("a", "k", "IDENTITY"), ("b", "k", "IDENTITY")])
    entry = source("c", fields={"x": {"inputs": [source("a", "k")]}})
    store = filled(stating(entry, outputs=("c",), columnLineage=columns))
    assert (made_from(store, "c.x"), made_from(store, "c")) == (["a.k"], ["a"])


def test_what_is_made_from_the_job_comes_from_what_the_job_comes_from(filled: Fill) -> None:
    into_job = {"type": "JOB", "inputs": [source("b")]}
    store = filled(stating(into_job, source("c", inputs=[{"type": "JOB"}]), source("d", inputs=[source("a")])))
    assert {name: made_from(store, name) for name in "cd"} == {"c": ["b"], "d": ["a"]}


def test_a_job_may_state_a_target_that_its_outputs_lack(filled: Fill) -> None:
    store = filled(stating(source("e", inputs=[source("f")]), outputs=("c",)))
    assert made_from(store, "e") == ["f"]
    assert [*store.history("e").result] == []


def test_the_event_of_a_job_states_lineage_too(filled: Fill) -> None:
    event = stating(source("c", inputs=[source("a")]), source("d", inputs=[source("b")]))
    del event["run"], event["eventType"]
    store = filled(event)
    assert {name: made_from(store, name) for name in "cd"} == {"c": ["a"], "d": ["b"]}


def test_an_output_may_state_its_own_lineage(filled: Fill) -> None:
    made = (dataset("c", lineage={"inputs": [source("a")]}), dataset("d"))
    event = run_event("job", "COMPLETE", 1, inputs=(dataset("a"), dataset("b")), outputs=made)
    store = filled(event)
    assert {name: made_from(store, name) for name in "cd"} == {"c": ["a"], "d": ["a", "b"]}


def test_a_version_comes_from_versions_of_what_is_stated(filled: Fill) -> None:
    """Each of two outputs of one micro-batch, say."""
    made = tuple(
        dataset(name, lineage={"inputs": [source(each) for each in read]}, version={"datasetVersion": "5"})
        for name, read in (("c", "a"), ("d", "ab"))
    )
    read = tuple(dataset(name, version={"datasetVersion": "1"}) for name in "ab")
    store = filled(run_event("job", "COMPLETE", 1, inputs=read, outputs=made))
    assert {name: made_from(store, f"{name}@5") for name in "cd"} == {"c": ["a@1"], "d": ["a@1", "b@1"]}
    assert {name: made_from(store, f"{name}@1", "downstream") for name in "ab"} == {"a": ["c@5", "d@5"], "b": ["d@5"]}


def test_the_last_run_that_states_lineage_holds(filled: Fill) -> None:
    first = stating(source("c", inputs=[source("a")]), source("d", inputs=[source("a")]), minute=1)
    store = filled(first, stating(source("c", inputs=[source("b")]), source("d", inputs=[source("a")]), minute=2))
    assert {name: made_from(store, name) for name in "cd"} == {"c": ["b"], "d": ["a"]}
    changed = [(each.sign, each.name) for each in store.diff("run:run-1", "run:run-2").result.changes]
    assert changed == [("removed", "a -> c"), ("added", "b -> c")]


def some_entries(seed: int) -> list[dict[str, Any]]:
    """Return what a job states of c and of d, between columns whose names are known."""
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    kinds: list[dict[str, Any]] = [VALUE, {"type": "DIRECT", "subtype": "AGGREGATION", "masking": True}]

    def inputs(of: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [
            source(chance.choice("ab"), chance.choice("kl"), transformations=[chance.choice(of)])
            for _ in range(chance.randint(0, 2))
        ]

    return [
        source(
            name,
            inputs=inputs([{"type": "INDIRECT", "subtype": "JOIN"}]),
            fields={column: {"inputs": inputs(kinds)} for column in chance.sample("xy", chance.randint(0, 2))},
        )
        for name in "cd"
        if chance.random() < 0.8
    ]


def without_kind(edges: set[Edge]) -> set[Any]:
    """Return edges without their kinds, which a notebook does not name, and without those of no column."""
    return {edge[:2] for edge in edges}


@pytest.mark.parametrize("surface", [each for each in SURFACES if each is not in_show])
@pytest.mark.parametrize("seed", range(6))
def test_all_surfaces_tell_the_edges_that_show_tells(
    surface: Callable[[Told], set[Edge]], seed: int, tmp_path: Path
) -> None:
    columns = lineage(x=[("a", "k", "IDENTITY"), ("b", "l", "IDENTITY")])
    told = Told([stating(*some_entries(seed), columnLineage=columns)], tmp_path)
    assert without_kind(surface(told)) == without_kind(in_show(told))
