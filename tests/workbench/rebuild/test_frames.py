"""The writes of a script as steps of a plan: which of them are proven to be the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from openlineage_pyspark.workbench.predict.acts import FRAME
from openlineage_pyspark.workbench.rebuild.plan import rebuild_plan
from openlineage_pyspark.workbench.rebuild.statements import FileStep

if TYPE_CHECKING:
    from collections.abc import Sequence

INT = '"integer"'
PLAIN = ["m", "{}"]


def table(name: str) -> dict[str, Any]:
    arguments = {"table": ["table", name], "options": PLAIN, "timeTravelSpec": ["o"]}
    return {"c": "DataSourceV2Relation", "a": arguments, "o": [[1, "a", INT], [2, "b", INT]]}


def loaded(manner: str, tables: Sequence[str] = ("file:/in",)) -> dict[str, Any]:
    return table(json.dumps({"tables": list(tables), "place": "p", "manner": manner}))


def filtered(below: dict[str, Any], value: int) -> list[dict[str, Any]]:
    """Return the shape of `WHERE a = value`."""
    condition = {"c": "EqualTo", "a": {"left": ["a", 1], "right": ["r", 3]}, "t": '"boolean"'}
    literal = {"c": "Literal", "a": {"value": ["v", "java.lang.Integer", str(value)], "dataType": ["t", INT]}, "t": INT}
    top = {"c": "Filter", "a": {"condition": ["r", 2], "child": ["r", 1]}, "o": below["o"]}
    return [top, below, condition, literal]


def write(target: str, shape: list[dict[str, Any]], **given: Any) -> FileStep:
    step = FileStep(
        "job.py", 3, "job.py", FRAME, json.dumps(shape), (target,), (), code="how", script="job.py", behind="code 1",
        settings="none", is_whole=True,
    )  # fmt: skip
    return attrs.evolve(step, **given)


def changed(step: FileStep, **given: Any) -> FileStep:
    """Return a step of the script with other code."""
    return attrs.evolve(step, **{"behind": "code 2", **given})


def actions(before: Sequence[FileStep], after: Sequence[FileStep]) -> dict[str, tuple[str, str]]:
    return {each.table: (each.action, each.reason) for each in rebuild_plan(before, after).tables}


SAME = ("keep", "its script has changed, but not what it writes there")


def test_a_write_with_the_same_plan_is_kept_though_its_script_has_changed() -> None:
    one = write("t", filtered(table("src"), 1))

    assert actions([one], [changed(one)]) == {"t": SAME}
    assert actions([one], [changed(one, shape=write("t", filtered(table("src"), 2)).shape)])["t"][0] == "make"


@pytest.mark.parametrize(
    ("what", "action"),
    [({"settings": "other"}, "make"), ({"is_whole": False}, "make"), ({"code": "other"}, "define")],
)
def test_settings_and_how_a_write_is_made_count(what: dict[str, Any], action: str) -> None:
    one = write("t", [table("src")])

    assert actions([one], [changed(one, **what)])["t"][0] == action


@pytest.mark.parametrize("shape", [[loaded("b")], [loaded("a", ("file:/in", "file:/more"))], [table("src")]])
def test_what_a_script_loads_and_how_counts(shape: list[dict[str, Any]]) -> None:
    one = write("t", [loaded("a")])

    assert actions([one], [changed(one)]) == {"t": SAME}
    assert actions([one], [changed(one, shape=json.dumps(shape))])["t"][0] == "make"


def test_rows_that_are_added_depend_on_those_that_are_there() -> None:
    first, second = write("t", [table("src")]), write("t", [table("more")], is_whole=False)

    assert actions([first, second], [changed(first), changed(second)]) == {"t": SAME}
    assert actions([first, second], [changed(first), changed(second, is_whole=True)])["t"][0] == "make"
    assert actions([first, second], [changed(second), changed(first)])["t"][0] == "make"


def test_a_frame_may_have_the_rows_of_any_time_of_its_script() -> None:
    begin = [write("t", [table("src")]), write("t", [table("src2")]), write("u", [table("t")])]
    other = [changed(write("t", [table("src3")])), *map(changed, begin[1:])]

    # The last write of `t` is the same; but `u` may be made of what the first one has written.
    assert actions(begin, other) == {"t": SAME, "u": ("make", "its rows or their number may have changed")}


def test_what_is_read_before_it_is_written_is_compared_by_the_code() -> None:
    steps = [write("t", [table("src")], held=("t",)), write("u", [table("t")])]

    assert actions(steps, steps)["u"][0] == "keep"
    assert actions(steps, list(map(changed, steps)))["u"][0] == "make"


@pytest.mark.parametrize(
    "shape",
    [
        [{"c": "LogicalRDD", "a": {"rdd": ["?", "RDD"]}, "o": [[1, "a", INT]]}],
        [{"c": "LocalRelation", "a": {"data": ["l"]}, "o": [[1, "a", INT]]}],
        [loaded("")],
    ],
)
def test_a_write_with_a_part_that_no_plan_shows_is_compared_by_the_code(shape: list[dict[str, Any]]) -> None:
    one = write("t", shape)

    assert actions([one], [one])["t"][0] == "keep"
    assert actions([one], [changed(one)])["t"][0] == "make"


def test_a_write_of_which_not_all_is_known_is_compared_by_the_code() -> None:
    one = write("t", [table("src")], code="")

    assert actions([one], [one])["t"][0] == "keep"
    assert actions([one], [changed(one)])["t"][0] == "make"


def test_the_same_code_over_the_same_tables_makes_the_same_though_its_plans_differ() -> None:
    now, later = (write("t", filtered(table("src"), value), reads=("src",)) for value in (1, 2))

    assert actions([now], [later])["t"][0] == "keep"
    read = write("src", [table("raw")], script="other.py")
    assert actions([read, now], [changed(read, shape=json.dumps([table("raw2")])), later])["t"][0] == "make"
