"""What changed between two states of scripts, and what lies downstream of it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Field
from openlineage_pyspark.facets.model.lineage import (
    Certainty,
    ColumnLineage,
    InputField,
    OutputColumn,
    Transformation,
    Way,
)
from openlineage_pyspark.workbench.predict.compare import compared, lineage_state_of
from openlineage_pyspark.workbench.predict.from_text.text import named_table
from openlineage_pyspark.workbench.predict.scripts import StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.questions.changes import ChangeRow
from openlineage_pyspark.workbench.report import Lineage
from openlineage_pyspark.workbench.store_api import Store
from support.lineage_events import dataset, lineage, run_event


def table(name: str, *columns: str) -> Dataset:
    made = named_table(("spark_catalog", *name.split(".")))
    return Dataset(made.identifier, tuple(Field(each, "int") for each in columns), made.symlinks, type="TABLE")


def statement(target: str, source: str, text: str = "", **columns: str) -> StatementLineage:
    """Return a statement that makes each column of a table from one column of another."""
    reads = table(source)
    kind = "TRANSFORMATION" if text else "IDENTITY"
    edges = tuple(
        OutputColumn(name, (InputField(reads.identifier, of, (Transformation("DIRECT", kind, text, way=Way()),)),))
        for name, of in columns.items()
    )
    written = (table(target, *columns), ColumnLineage(edges))
    return StatementLineage(ScriptStatement("", "f.sql", 1, 1), Lineage((reads,), (written,)))


def test_an_edge_that_changed_touches_what_later_statements_make_of_it() -> None:
    last = statement("d.c", "d.b", y="x")
    before = lineage_state_of([statement("d.b", "d.a", "a + 1", x="a"), last])
    after = lineage_state_of([statement("d.b", "d.a", "a + 2", x="a"), last])
    diff, doubts = compared(before, after, None)
    assert diff.changes == (
        ChangeRow("edge", "changed", "d.a.a -> d.b.x", "TRANSFORMATION a + 1", "TRANSFORMATION a + 2"),
    )
    assert diff.downstream == (("d.c.y", 1),)
    assert doubts == ()
    assert compared(before, before, None)[0].changes == ()


def test_an_edge_that_is_in_doubt_says_so() -> None:
    sure = statement("d.b", "d.a", x="a")
    assert sure.lineage is not None
    [(target, columns)] = sure.lineage.outputs
    edge = columns.columns[0].edges[0]
    taken = attrs.evolve(edge.transformations[0], way=Way(certainty=Certainty.TEXT))
    doubtful = ColumnLineage((OutputColumn("x", (attrs.evolve(edge, transformations=(taken,)),)),))
    unsure = attrs.evolve(sure, lineage=attrs.evolve(sure.lineage, outputs=((target, doubtful),)))
    diff, _ = compared(lineage_state_of([sure]), lineage_state_of([unsure]), None)
    assert diff.changes == (ChangeRow("edge", "changed", "d.a.a -> d.b.x", "IDENTITY", "IDENTITY, text"),)


def test_columns_and_tables_come_and_go() -> None:
    diff, _ = compared(
        lineage_state_of([statement("d.b", "d.a", x="a")]), lineage_state_of([statement("d.b", "d.z", w="a")]), None
    )
    assert [(each.what, each.sign, each.name) for each in diff.changes] == [
        ("column", "added", "d.b.w"),
        ("column", "removed", "d.b.x"),
        ("edge", "removed", "d.a.a -> d.b.x"),
        ("edge", "added", "d.z.a -> d.b.w"),
        ("table edge", "removed", "d.a -> d.b"),
        ("table edge", "added", "d.z -> d.b"),
    ]
    assert diff.downstream == ()


def test_the_store_tells_what_other_jobs_make_of_it(filled: Callable[..., Store]) -> None:
    use = run_event(
        "use",
        "COMPLETE",
        2,
        inputs=(dataset("d.b"),),
        outputs=(dataset("board", columns=("y",), columnLineage=lineage(y=[("d.b", "x", "IDENTITY")])),),
    )
    before, after = (
        lineage_state_of([statement("d.b", "d.a", "a", x="a")]),
        lineage_state_of([statement("d.b", "d.a", "b", x="a")]),
    )
    diff, doubts = compared(before, after, filled(use))
    assert diff.downstream == (("board.y", 1),)
    assert doubts == ()


def test_a_change_of_the_second_path_of_an_edge_is_found() -> None:
    def both(second: str, *, masking: bool = False) -> StatementLineage:
        made = statement("d.b", "d.a", "a + 1", x="a")
        assert made.lineage is not None
        [(target, columns)] = made.lineage.outputs
        edge = columns.columns[0].edges[0]
        paths = (*edge.transformations, Transformation("DIRECT", "TRANSFORMATION", second, masking))
        lineage = ColumnLineage((OutputColumn("x", (attrs.evolve(edge, transformations=paths),)),))
        return attrs.evolve(made, lineage=attrs.evolve(made.lineage, outputs=((target, lineage),)))

    before = lineage_state_of([both("a * 2")])
    for after, text in ((both("a * 3"), "TRANSFORMATION a * 3"), (both("a * 2", masking=True), None)):
        diff, _ = compared(before, lineage_state_of([after]), None)
        [change] = diff.changes
        assert (change.sign, change.before) == ("changed", "TRANSFORMATION a * 2; TRANSFORMATION a + 1")
        assert change.after == f"{text or 'TRANSFORMATION (masked) a * 2'}; TRANSFORMATION a + 1"
