"""What is different between two states of lineage."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.model.change import difference
from openlineage_pyspark.workbench.questions.changes import ChangeRow, markdown_of_diff, text_of_diff
from openlineage_pyspark.workbench.questions.diff import diff_of_files
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import at, company, dataset, lineage, run_event, text_of_events

Fill = Callable[..., Store]


def load(minute: float, text: str, *columns: str, source: str = "a", run: str = "") -> dict[str, Any]:
    """Return a run that makes s.x from raw, in words of its own."""
    facet = lineage(x=[("raw", source, "TRANSFORMATION")])
    facet["fields"]["x"]["inputFields"][0]["transformations"][0]["description"] = text
    made = dataset("s", columns=columns, columnLineage=facet)
    return run_event("load", "COMPLETE", minute, run=run, inputs=(dataset("raw"),), outputs=(made,))


USE = run_event(
    "use",
    "COMPLETE",
    2,
    inputs=(dataset("s"),),
    outputs=(dataset("t", columns=("y",), columnLineage=lineage(y=[("s", "x", "IDENTITY")])),),
)


def test_two_times_differ_in_columns_edges_and_expressions(filled: Fill) -> None:
    store = filled(load(1, "a + 1", "x"), USE, load(3, "a + 2", "x"), load(5, "b", "x", "z", source="b"))
    changed = store.diff(at(2), at(3)).result
    assert changed.changes == (
        ChangeRow("edge", "changed", "raw.a -> s.x", "TRANSFORMATION a + 1", "TRANSFORMATION a + 2"),
    )
    assert changed.downstream == (("t.y", 1),)
    later = store.diff(at(3), "now").result
    assert [(each.what, each.sign, each.name) for each in later.changes] == [
        ("column", "added", "s.z"),
        ("edge", "removed", "raw.a -> s.x"),
        ("edge", "added", "raw.b -> s.x"),
    ]
    assert store.diff(at(3), at(4)).result.changes == ()
    assert {(each.what, each.sign) for each in store.diff(at(0), at(2)).result.changes} == {
        ("column", "added"),
        ("edge", "added"),
        ("table edge", "added"),
    }


def test_a_job_that_is_called_for_each_table_keeps_the_columns_of_all_of_them(filled: Fill) -> None:
    other = dataset("t", columns=("y",), columnLineage=lineage(y=[("raw", "a", "IDENTITY")]))
    store = filled(
        load(1, "a", "x", run="first"),
        run_event("load", "COMPLETE", 2, run="second", inputs=(dataset("raw"),), outputs=(other,)),
    )
    assert [(each.sign, each.name) for each in store.diff(at(1), at(2)).result.changes] == [
        ("added", "t.y"),
        ("added", "raw.a -> t.y"),
        ("added", "raw -> t"),
    ]


def test_a_run_that_goes_on_changes_columns_as_it_does_edges_and_one_that_failed_changes_neither(filled: Fill) -> None:
    begun = {**load(2, "a", "x", "z", run="second"), "eventType": "START"}
    store = filled(load(1, "a", "x", run="first"), begun)
    assert [(each.sign, each.name) for each in store.diff(at(1), at(2)).result.changes] == [("added", "s.z")]
    ended = {**load(3, "a", "x", "z", run="second"), "eventType": "FAIL"}
    failed = filled(load(1, "a", "x", run="first"), begun, ended)
    assert failed.diff(at(1), at(4)).result.changes == ()


def both(minute: float, second: str, *, masking: bool = False, decides: str = "(a > 2)") -> dict[str, Any]:
    """Return a run that makes s.x from raw.a on two paths, and decides about its rows by two filters."""
    made = load(minute, "a + 1", "x", run=f"r{minute}")
    facet = made["outputs"][0]["facets"]["columnLineage"]
    facet["fields"]["x"]["inputFields"][0]["transformations"].append(
        {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": second, "masking": masking}
    )
    filters = [
        {"type": "INDIRECT", "subtype": "FILTER", "description": text, "masking": False}
        for text in ("(a < 100)", decides)
    ]
    facet["dataset"] = [{"namespace": "lake", "name": "raw", "field": "a", "transformations": filters}]
    return made


@pytest.mark.parametrize(
    ("later", "change"),
    [
        (
            both(3, "a * 3"),
            ChangeRow(
                *("edge", "changed", "raw.a -> s.x"),
                "TRANSFORMATION a * 2; TRANSFORMATION a + 1",
                "TRANSFORMATION a * 3; TRANSFORMATION a + 1",
            ),
        ),
        (
            both(3, "a * 2", masking=True),
            ChangeRow(
                *("edge", "changed", "raw.a -> s.x"),
                "TRANSFORMATION a * 2; TRANSFORMATION a + 1",
                "TRANSFORMATION (masked) a * 2; TRANSFORMATION a + 1",
            ),
        ),
        (
            both(3, "a * 2", decides="(a > 3)"),
            ChangeRow(
                *("edge", "changed", "raw.a -> s"),
                "FILTER (a < 100); FILTER (a > 2)",
                "FILTER (a < 100); FILTER (a > 3)",
            ),
        ),
    ],
    ids=["text", "masking", "filter"],
)
def test_a_change_of_the_second_path_is_found(
    filled: Fill, tmp_path: Path, later: dict[str, Any], change: ChangeRow
) -> None:
    before = both(1, "a * 2")
    store = filled(before, later)
    assert store.diff(at(2), "now").result.changes == (change,)
    for name, event in (("before", before), ("after", later)):
        Path(tmp_path, name).write_text(text_of_events([event]), encoding="utf-8")
    assert diff_of_files(tmp_path / "before", tmp_path / "after").result.changes == (change,)


def unsure(minute: float, certainty: str, **run_facets: Any) -> dict[str, Any]:
    """Return a run that makes s.x from raw.a, and says how sure that is; nothing about it without a certainty."""
    known = {"namespace": "lake", "name": "raw", "field": "a", "type": "DIRECT", "subtype": "TRANSFORMATION"}
    way = {**known, "masking": False, "certainty": certainty, "operators": [], "steps": []}
    made = load(minute, "f(a)", "x", run=f"r{minute}")
    facets = made["outputs"][0]["facets"]
    if certainty:
        facets["pyspark_lineage_steps"] = {"operators": [], "expressions": [], "columns": {"x": [way]}, "rows": []}
    made["run"]["facets"] = run_facets
    return made


@pytest.mark.slow
def test_an_edge_that_is_no_longer_sure_has_changed(filled: Fill, tmp_path: Path) -> None:
    gap = {"errors": [{"task": "Their", "errorMessage": "no rule"}]}
    runs = (unsure(1, "exact"), unsure(2, "opaque"), unsure(3, "", extractionError=gap))
    store = filled(*runs)
    said = [f"TRANSFORMATION{doubt} f(a)" for doubt in ("", ", opaque", ", guessed")]
    for before, after in ((0, 1), (1, 2), (0, 2)):
        change = ChangeRow("edge", "changed", "raw.a -> s.x", said[before], said[after])
        assert store.diff(at(before + 1), at(after + 1)).result.changes == (change,)
        assert store.diff(f"run:r{before + 1}", f"run:r{after + 1}").result.changes == (change,)
        paths = [tmp_path / f"{each}.ndjson" for each in (before, after)]
        for path, run in zip(paths, (runs[before], runs[after]), strict=True):
            path.write_text(text_of_events([run]))
        assert diff_of_files(*paths).result.changes == (change,)


def test_a_type_that_changed_is_shown_with_both(filled: Fill) -> None:
    def made(minute: int, type_: str) -> dict[str, Any]:
        schema = {"fields": [{"name": "x", "type": type_}]}
        return run_event("load", "COMPLETE", minute, outputs=(dataset("s", schema=schema),))

    diff = filled(made(1, "int"), made(2, "bigint")).diff(at(1), at(2)).result
    assert diff.changes == (ChangeRow("column", "changed", "s.x", "int", "bigint"),)
    assert text_of_diff(diff) == "~ column s.x: int => bigint\n"


def test_two_runs_of_a_job_are_compared(filled: Fill) -> None:
    store = filled(load(1, "a + 1", "x", run="run-one"), load(2, "a + 2", "x", run="run-two"), USE)
    diff = store.diff("run:run-one", "run:run-t").result
    assert [(each.sign, each.before, each.after) for each in diff.changes] == [
        ("changed", "TRANSFORMATION a + 1", "TRANSFORMATION a + 2")
    ]
    assert diff.downstream == (("t.y", 1),)


@pytest.mark.slow
def test_files_are_compared_without_a_store(tmp_path: Path) -> None:
    old, new = tmp_path / "old.ndjson", tmp_path / "new.ndjson"
    old.write_text(text_of_events([load(1, "a", "x"), USE]))
    new.write_text(text_of_events([load(1, "a | `b`", "x"), USE]))
    assert diff_of_files(old, old).result.changes == ()
    diff = diff_of_files(old, new).result
    assert (
        markdown_of_diff(diff)
        == """\
| | what | name | before | after |
|---|---|---|---|---|
| changed | edge | `raw.a -> s.x` | `TRANSFORMATION a` | ``` TRANSFORMATION a \\| `b` ``` |

**Downstream of it** (1):

- `t.y`
"""
    )
    assert markdown_of_diff(diff_of_files(new, new).result) == "No lineage changed.\n"
    (tmp_path / "none.ndjson").write_text("{}\n")
    with pytest.raises(StoreError, match=r"none.ndjson:1: `eventTime` is missing"):
        diff_of_files(old, tmp_path / "none.ndjson")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_same_events_in_another_order_make_no_difference(tmp_path: Path, seed: int) -> None:
    events = company(seed)
    (tmp_path / "a.ndjson").write_text(text_of_events(events))
    (tmp_path / "b.ndjson").write_text(text_of_events(events[::-1]))
    assert diff_of_files(tmp_path / "a.ndjson", tmp_path / "b.ndjson").result.changes == ()


def test_a_value_that_is_no_longer_masked_is_named_first(tmp_path: Path) -> None:
    sides = []
    for name, masked in (("before", True), ("after", False)):
        edges = lineage(z=[("raw", "mail", "TRANSFORMATION")], a=[("raw", "n", "IDENTITY")] if not masked else [])
        edges["fields"]["z"]["inputFields"][0]["transformations"][0]["masking"] = masked
        made = dataset("s", columns=("a", "z"), columnLineage=edges)
        sides.append(tmp_path / f"{name}.ndjson")
        event = run_event("job", "COMPLETE", 1, inputs=(dataset("raw"),), outputs=(made,))
        sides[-1].write_text(text_of_events([event]))
    diff, back = (diff_of_files(*each).result for each in (sides, sides[::-1]))

    how = "TRANSFORMATION (masked) TRANSFORMATION of mail => TRANSFORMATION TRANSFORMATION of mail"
    assert text_of_diff(diff).splitlines() == [
        f"~ edge raw.mail -> s.z: {how}, no longer masked",
        "+ edge raw.n -> s.a: IDENTITY IDENTITY of n",
    ]
    assert markdown_of_diff(diff).splitlines()[2].startswith("| **no longer masked** | edge | `raw.mail -> s.z` |")
    assert [(row["name"], row["unmasked"]) for row in diff.to_dict()["changes"]] == [
        *(("raw.mail -> s.z", True), ("raw.n -> s.a", False)),
    ]
    assert [each.unmasked for each in back.changes] == [False, False]


@pytest.mark.parametrize("seed", range(3))
def test_a_comparison_of_graphs_finds_what_a_diff_of_the_same_times_finds(filled: Fill, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 (a test's choice)
    events = []
    for number in range(12):
        job, source = chance.randrange(3), chance.randrange(3)
        edges = lineage(a=[(f"t{source}", "x", chance.choice(("IDENTITY", "AGGREGATION", "FILTER")))])
        way = edges["fields"]["a"]["inputFields"][0]["transformations"][0]
        way |= {"description": chance.choice(("f(x)", "g(x)", "x + 1")), "masking": chance.random() < 0.3}
        output = dataset(f"o{job}", columns=("a",), columnLineage=edges)
        state = chance.choice(("COMPLETE", "COMPLETE", "FAIL"))
        inputs = (dataset(f"t{source}", columns=("x",)),)
        events.append(run_event(f"job{job}", state, number * 10, inputs=inputs, outputs=(output,)))
    store = filled(*events)
    for times in ((at(35), at(95)), (at(55), at(115)), (at(5), at(200))):
        changes = difference(*(store.graph(as_of=time).result for time in times))
        graphs = sorted((each.what, each.sign, *each.texts) for each in changes if each.what == "edge")
        found = store.diff(*times).result.changes
        assert graphs == sorted(
            (each.what, each.sign, each.before, each.after) for each in found if each.what == "edge"
        )
