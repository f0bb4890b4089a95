"""Values that were masked in a table and arrive as they are, by whatever way."""

from __future__ import annotations

from openlineage_pyspark.workbench.model.graph import ColumnNode, DatasetNode, Edge, Graph, Path, column_id
from openlineage_pyspark.workbench.model.kinds import Kind
from openlineage_pyspark.workbench.questions.changes import PlacedGraph
from openlineage_pyspark.workbench.rebuild.findings import findings_of
from openlineage_pyspark.workbench.rebuild.masks import unmasked_values

MASKED = Kind("DIRECT", "TRANSFORMATION", masking=True)
SAME = Kind("DIRECT", "IDENTITY")
JOINED = Kind("INDIRECT", "JOIN")


def state(*edges: tuple[str, str, Kind]) -> PlacedGraph:
    """Return a state of edges between columns, `table.column` each."""
    places = {_place(end) for edge in edges for end in edge[:2]}
    nodes = {table: DatasetNode("", table, table) for table, _ in places}
    ids = {place: column_id(nodes[place[0]].id, place[1]) for place in places}
    columns = [ColumnNode(nodes[table].id, column, "") for table, column in places]
    made = [Edge(ids[_place(source)], ids[_place(target)], (Path(kind),)) for source, target, kind in edges]
    return PlacedGraph(Graph((*nodes.values(), *columns), tuple(made)), {id_: place for place, id_ in ids.items()})


def _place(end: str) -> tuple[str, str]:
    table, _, column = end.partition(".")
    return table, column


SILVER = ("raw.mail", "silver.who", MASKED)
GOLD = ("silver.who", "gold.who", SAME)


def test_a_value_that_comes_under_another_name_is_found() -> None:
    assert unmasked_values(state(SILVER), state(("raw.mail", "silver.mail", SAME))) == (
        (("raw", "mail"), ("silver", "mail")),
    )


def test_a_value_that_comes_by_another_way_is_found() -> None:
    after = state(SILVER, ("raw.mail", "gold.who", SAME))

    assert unmasked_values(state(SILVER, GOLD), after) == ((("raw", "mail"), ("gold", "who")),)


def test_a_mask_that_moves_and_a_value_that_was_open_before_are_no_finding() -> None:
    moved = state(("raw.mail", "silver.mail", SAME), ("silver.mail", "gold.who", MASKED))

    assert unmasked_values(state(SILVER, GOLD), moved) == ((("raw", "mail"), ("silver", "mail")),)
    opened = (SILVER, ("raw.mail", "silver.mail", SAME))
    assert unmasked_values(state(*opened), state(*opened, GOLD)) == ()
    assert unmasked_values(state(SILVER), state(SILVER, ("raw.mail", "other.mail", SAME))) == ()
    assert unmasked_values(state(SILVER), state(("raw.mail", "silver.who", JOINED))) == ()


def test_it_is_a_finding_that_says_which_value_arrives_where() -> None:
    found = findings_of((), (), lambda _column: set(), None, [(("raw", "mail"), ("gold", "who"))])

    assert [(each.finding, each.message) for each in found] == [
        ("masked-to-unmasked", "raw.mail -> gold.who: the value is no longer masked; it was masked in gold before")
    ]
