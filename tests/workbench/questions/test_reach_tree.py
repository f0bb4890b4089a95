"""Answers as trees: what stands where, and that nothing is lost, whatever the graph and the names are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openlineage_pyspark.workbench.model.short_names import short_id, shortest, without_classes
from openlineage_pyspark.workbench.pictures.outline import Branch, Outline, Section
from openlineage_pyspark.workbench.pictures.plain import cell_len
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event

Fill = Callable[..., Store]


def made(target: str, *sources: str, job: str = "", **expressions: str) -> dict[str, Any]:
    """Return the event of a job that computes the column `x` of a table from those of others."""
    edges = lineage(x=[(source, "x", "TRANSFORMATION") for source in sources])
    for field in edges["fields"]["x"]["inputFields"]:
        field["transformations"][0]["description"] = expressions.get("text", "sum(x)")
    inputs = tuple(dataset(source) for source in sources)
    output = dataset(target, columns=("x",), columnLineage=edges)
    return run_event(job or f"make_{target}", "COMPLETE", 1, run=f"r-{target}", inputs=inputs, outputs=(output,))


def tree(answer: Any) -> list[str]:
    return [line.rstrip() for line in answer.to_text().splitlines()[:-1]]


def test_an_expression_stands_once_at_its_column_with_its_sources_below(filled: Fill) -> None:
    store = filled(made("c", "a", "b"), made("a", "root"), made("b", "root"))

    assert tree(store.upstream("c.x")) == [
        "c.x     sum(x)  [make_c]",
        "├─ a.x  sum(x)  [make_a]",
        "│  └─ root.x",
        "└─ b.x  sum(x)  [make_b]",
        "   └─ root.x: see there",
    ]


def test_a_cycle_ends_where_it_begins(filled: Fill) -> None:
    store = filled(made("a", "c"), made("b", "a"), made("c", "b"))

    assert tree(store.downstream("a.x")) == [
        "a.x",
        "└─ b.x     sum(x)  [make_b]",
        "   └─ c.x  sum(x)  [make_c]",
        "      └─ a.x: see there",
    ]


@pytest.mark.slow
def test_a_chain_of_a_thousand_tables_has_a_number_in_place_of_its_guides(filled: Fill) -> None:
    store = filled(*(made(f"t{place}", f"t{place - 1}") for place in range(1, 1000)))

    lines = tree(store.downstream("t0.x"))

    assert [lines[0], len(lines)] == ["t0.x", 1000]
    assert lines[-1].split() == ["…986", "└─", "t999.x", "sum(x)", "[make_t999]"]


@pytest.mark.parametrize("width", [40, 80, 200])
@given(
    names=st.lists(st.text(min_size=1, max_size=120), min_size=1, max_size=6),
    text=st.text(max_size=300),
)
def test_no_line_is_wider_than_its_place_unless_a_name_is_and_no_expression_is_cut(
    width: int, names: list[str], text: str
) -> None:
    branches = tuple(
        Branch(name, ((text, "text"), ("[job]", "job")), (False,) * place, has_more=place < len(names) - 1)
        for place, name in enumerate(names)
    )

    lines = ["".join(part for part, _ in line) for line in Outline((Section(branches),), "").lines(width)]

    widest = max(cell_len(branch.guide + branch.name) for branch in branches)
    assert max(map(cell_len, lines)) <= max(width, widest)
    shown = re.sub(r"\s", "", "".join(lines))
    for branch in branches:
        assert re.sub(r"\s", "", "".join(each for each in branch.name if each.isprintable())) in shown
    assert shown.count("[job]") >= len(names)


def test_a_terminal_gets_no_character_that_it_acts_on(filled: Fill) -> None:
    shown = filled(made("end\x1b[2J", "a\u202eb", text="x\x9b31m")).downstream("a\u202eb").to_text()

    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["shop", "shop.execute_insert_into_hive_table_command.gold_t"], ["shop", "shop.gold_t"]),
        (
            ["a.execute_create_table_command.t", "a.execute_insert_into_table_command.t"],
            ["a.t (create)", "a.t (insert)"],
        ),
        (["a.adaptive_spark_plan.t", "a.t"], ["a.t (adaptive)", "a.t"]),
        (["daily.load.t", "etl/daily.sql:5"], ["daily.load.t", "etl/daily.sql:5"]),
    ],
)
def test_a_jobs_name_is_shown_without_sparks_class_as_long_as_it_is_its_own(names: list[str], short: list[str]) -> None:
    assert [*without_classes(names).values()] == short


@given(st.lists(st.tuples(st.sampled_from("nm"), st.text("ab._:", max_size=12)), max_size=12, unique=True))
def test_no_two_jobs_are_called_alike(jobs: list[tuple[str, str]]) -> None:
    found = shortest(jobs)
    called = [found[job] for job in jobs if job[1]]
    assert len(set(called)) == len(called)


def test_an_id_is_cut_in_its_middle_as_the_store_takes_it() -> None:
    assert short_id("t@01a206b6-42e5-712b-9761-cea437118cd1?") == "t@01a206…118cd1?"
