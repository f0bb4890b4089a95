"""Rows that outlive their plan, such as those of a checkpoint, are those of the right plan."""

from __future__ import annotations

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.lineage import UseKind, Way
from openlineage_pyspark.facets.model.plan import LOGICAL_RDD, Attribute, Described, Operator, Output, Plan
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage.results import EarlierRows, NamedColumn, PlanLineage
from openlineage_pyspark.facets.trace.solve import ROWS
from openlineage_pyspark.listener.analyses import RememberedRows

TABLE = Identifier("file", "/lake/t")
NAMES = {1: "a", 2: "b", 3: "c"}


def found(*ids: int, where: str = "", table: Identifier = TABLE) -> PlanLineage:
    """Return the lineage of a plan that reads columns of a table, and filters its rows by another one."""
    results = {id_: {(table, NAMES[id_]): {UseKind.IDENTITY: (Way(),)}} for id_ in ids}
    rows = {(table, where): {UseKind.FILTER: (Way(),)}} if where else {}
    shown = tuple(NamedColumn(id_, NAMES[id_], "int") for id_ in ids)
    return PlanLineage((Dataset(table),), results={**results, ROWS: rows}, shown=shown)


def plan(*leaves: tuple[int | None, tuple[int, ...]]) -> Plan:
    """Return a plan whose leaves have the rows of RDDs: the number of each RDD, and its exprIds (those over 10 new)."""
    operators = []
    for rdd, ids in leaves:
        described = Described("org.apache.spark.rdd.RDD", {"id": rdd, "sources": ("?checkpoint",)})
        output = tuple(Output(id_, NAMES[id_ % 10]) for id_ in ids)
        operators.append(Operator("LogicalRDD", LOGICAL_RDD, {"rdd": described}, output))
    known = {id_ for _, each in leaves for id_ in each}
    return Plan(tuple(operators), (), {id_: Attribute(NAMES[id_ % 10], "int") for id_ in known})


def conditions(rows: EarlierRows) -> list[str]:
    """Return the columns that decide about rows."""
    return sorted(name for _, name in rows.rows)


def memory_of(*checkpoints: PlanLineage) -> RememberedRows:
    """Return a memory of lazy checkpoints."""
    memory = RememberedRows()
    for each in checkpoints:
        memory.remember_checkpoint(each, None)
    return memory


def test_a_column_that_passes_through_two_checkpoints_has_the_conditions_of_the_one_that_is_read() -> None:
    memory = memory_of(found(1, 2, where="x"))
    assert conditions(memory.read_by(plan((7, (1, 2))))[0]) == ["x"]
    memory.remember_checkpoint(found(1, 3, where="y"), None)

    read = memory.read_by(plan((7, (1, 2)), (8, (1, 3))))
    assert [conditions(read[at]) for at in (0, 1)] == [["x"], ["y"]]


def test_a_checkpoint_of_a_checkpoint_with_the_same_columns_is_told_from_it_by_its_rdd() -> None:
    memory = memory_of(found(1, 2, where="x"))
    # The second one is computed from the first.
    assert conditions(memory.read_by(plan((7, (1, 2))))[0]) == ["x"]
    memory.remember_checkpoint(found(1, 2, where="y"), None)

    assert conditions(memory.read_by(plan((8, (1, 2))))[0]) == ["y"]
    assert conditions(memory.read_by(plan((7, (1, 2))))[0]) == ["x"]


def test_two_filters_of_one_frame_that_are_lazy_checkpoints_have_the_conditions_of_both_and_a_gap() -> None:
    memory = memory_of(found(1, 2, where="x"), found(1, 2, where="y"))
    (rows,) = memory.read_by(plan((7, (1, 2)))).values()

    assert conditions(rows) == ["x", "y"]
    assert [each.sources for each in rows.columns] == [found(1, 2).results[1], found(1, 2).results[2]]
    assert rows.inputs == (Dataset(TABLE),)
    why = "the rows are those of one of 2 checkpoints with the same columns"
    assert rows.gaps == (Gap(LOGICAL_RDD, f"{why}: all conditions of these checkpoints are named"),)


@pytest.mark.parametrize("ids", [(1, 2), (11, 12)])
def test_two_filters_of_one_frame_that_are_eager_checkpoints_are_told_apart_by_their_rdds(ids: tuple[int, ...]) -> None:
    memory = RememberedRows()
    memory.remember_checkpoint(found(1, 2, where="x"), 7)
    memory.remember_checkpoint(found(1, 2, where="y"), 8)
    memory.remember_checkpoint(found(1, 2, where="z"), None)

    read = memory.read_by(plan((7, ids), (8, ids), (9, (1, 2))))
    assert [(conditions(read[at]), read[at].gaps) for at in (0, 1, 2)] == [(["x"], ()), (["y"], ()), (["z"], ())]


def test_two_equal_checkpoints_are_not_told_apart_and_need_not_be() -> None:
    memory = memory_of(found(1, 2, where="x"), found(1, 2, where="x"))
    read = memory.read_by(plan((7, (1, 2)), (8, (1, 2)), (9, (1, 2))))
    assert [(conditions(read[at]), read[at].gaps) for at in (0, 1, 2)] == [(["x"], ())] * 3


@pytest.mark.parametrize("order", [1, -1])
def test_a_checkpoint_that_is_joined_with_itself_is_found_by_its_rdd(order: int) -> None:
    other = found(1, 2, table=Identifier("file", "/lake/other"))
    memory = memory_of(found(1, 2, where="x"))
    memory.read_by(plan((7, (1, 2))))
    memory.remember_checkpoint(other, None)

    read = memory.read_by(plan(*((7, (1, 2)), (7, (11, 12)))[::order]))
    assert [conditions(read[at]) for at in (0, 1)] == [["x"], ["x"]]


def test_a_micro_batch_replaces_the_one_before() -> None:
    memory = RememberedRows()
    for condition in ("x", "y"):
        memory.remember_batch(found(1, 2, where=condition))
    (rows,) = memory.read_by(plan((7, (1, 2)))).values()
    assert (conditions(rows), rows.gaps) == (["y"], ())


@pytest.mark.parametrize("leaf", [(7, (1,)), (7, (2, 1)), (7, ()), (7, (3,))])
def test_other_columns_are_no_rows_of_an_earlier_plan(leaf: tuple[int, tuple[int, ...]]) -> None:
    memory = RememberedRows()
    memory.remember_batch(found(1, 2))
    assert memory.read_by(plan(leaf)) == {}


def test_a_leaf_with_a_column_too_many_is_not_the_rdd_that_an_earlier_plan_has_read() -> None:
    memory = memory_of(found(1, 2))
    assert list(memory.read_by(plan((7, (1, 2))))) == [0]
    assert memory.read_by(plan((7, (11, 12, 13)))) == {}


def test_a_column_without_a_known_type_finds_no_checkpoint_by_its_columns() -> None:
    known = found(1)
    memory = memory_of(attrs.evolve(known, shown=(NamedColumn(1, "a", ""),)))
    assert memory.read_by(plan((7, (11,)))) == {}
    assert list(memory.read_by(plan((7, (1,))))) == [0]


def test_the_oldest_of_very_many_checkpoints_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openlineage_pyspark.listener.analyses._MOST_REMEMBERED", 2)
    memory = memory_of(found(1), found(2), found(3))
    assert list(memory.read_by(plan((None, (1,)), (None, (2,)), (None, (3,))))) == [1, 2]
