"""The difference of two graphs: as values, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import attrs
from openlineage_pyspark.workbench.model.change import difference
from openlineage_pyspark.workbench.model.document import document_of, from_document
from openlineage_pyspark.workbench.model.graph import Edge, Graph
from openlineage_pyspark.workbench.pictures.diagrams import MARKS
from openlineage_pyspark.workbench.pictures.plain import plain
from openlineage_pyspark.workbench.pictures.table import code_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_UNMASKED = "no longer masked"


@attrs.frozen
class ChangeRow:
    """
    A change, with readable names.

    Args:
        what: `column`, `edge` between two columns, `table edge` between two datasets.
        sign: `added`, `removed` or `changed`.
        name: the column, or both ends of the edge.
        before: its type, or how the target was made; empty if it did not exist.
        after: the same, after the change.
        unmasked: whether a value that was masked is no longer masked.
    """

    what: Literal["column", "edge", "table edge"]
    sign: Literal["added", "removed", "changed"]
    name: str
    before: str
    after: str
    unmasked: bool = False


class BelowChange(NamedTuple):
    """The name of what is downstream of a change, and the number of jobs between."""

    name: str
    depth: int


def _below_changes(pairs: Iterable[tuple[str, int]]) -> tuple[BelowChange, ...]:
    return tuple(BelowChange(*each) for each in pairs)


@attrs.frozen
class Diff:
    """
    The differences between two states.

    Args:
        changes: the differences, by their names.
        downstream: what is downstream of the changes, nearest first.
        sides: the complete graphs that were compared, to draw them; None for two runs, and if they are not kept.
    """

    BESIDE_ITS_FIELDS: ClassVar[dict[str, Any]] = {"type": {"const": "diff"}}

    changes: tuple[ChangeRow, ...]
    downstream: tuple[BelowChange, ...] = attrs.field(converter=_below_changes)
    sides: tuple[Graph, Graph] | None = attrs.field(default=None, eq=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as plain values, for JSON."""
        below = [each._asdict() for each in self.downstream]
        return {"type": "diff", "changes": document_of(self.changes), "downstream": below}

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Diff:
        """Return the difference that `to_dict` wrote, without the graphs."""
        return from_document(cls, document)


@attrs.frozen
class PlacedGraph:
    """
    A graph without jobs, with a key for each node.

    Args:
        graph: the graph. An edge between two datasets has no paths.
        places: the id of a node -> the key of its dataset, and the column, which is empty for the dataset itself.
        whole: the same with its jobs, for the picture; None if it is not drawn.
    """

    graph: Graph
    places: Mapping[str, tuple[Any, str]]
    whole: Graph | None = None


@attrs.frozen
class Differences:
    """
    The difference of two graphs.

    Args:
        rows: the changes with names for people: columns that are no longer masked come first.
        columns: the columns that changed, or are made differently.
        datasets: the datasets that are made of other ones.
    """

    rows: tuple[ChangeRow, ...]
    columns: frozenset[tuple[Any, str]]
    datasets: frozenset[Any]


def differences(before: PlacedGraph, after: PlacedGraph, label: Callable[[Any], str]) -> Differences:
    """
    Return the difference of two graphs.

    Args:
        before: the earlier one.
        after: the later one.
        label: gives the name of a dataset, by its key.
    """
    places = {**before.places, **after.places}

    def name(id_: str) -> str:
        dataset, column = places[id_]
        return f"{label(dataset)}.{column}" if column else label(dataset)

    rows, columns, datasets_made = [], set(), set()
    for change in difference(before.graph, after.graph):
        one = change.one
        if not isinstance(one, Edge):
            text = name(one.id)
            columns.add(places[one.id])
        else:
            text = f"{name(one.source)} -> {name(one.target)}"
            dataset, column = places[one.target]
            if one.paths:
                columns.add((dataset, column))
            else:
                datasets_made.add(dataset)
        rows.append(ChangeRow(change.what, change.sign, text, *change.texts, change.is_unmasked))
    return Differences(tuple(sorted(rows, key=_order)), frozenset(columns), frozenset(datasets_made))


def _order(row: ChangeRow) -> tuple[bool, str, str, str]:
    return not row.unmasked, row.what, row.name, row.sign


def text_of_diff(diff: Diff) -> str:
    """Return a difference as lines for people."""
    lines = [
        f"{MARKS[each.sign]} {each.what} {each.name}{_how(each)}{f', {_UNMASKED}' if each.unmasked else ''}"
        for each in diff.changes
    ]
    if diff.downstream:
        lines += ["downstream of it:", *(f"  {depth}  {name}" for name, depth in diff.downstream)]
    return "".join(f"{plain(line)}\n" for line in lines or ["nothing changed"])


def markdown_of_diff(diff: Diff) -> str:
    """Return a difference as Markdown, for a pull request."""
    if not diff.changes:
        return "No lineage changed.\n"
    rows = []
    for each in diff.changes:
        mark = f"**{_UNMASKED}**" if each.unmasked else each.sign
        cells = (code_of(text) for text in (each.name, each.before, each.after))
        rows.append(f"| {mark} | {each.what} | {' | '.join(cells)} |")
    parts = ["| | what | name | before | after |\n|---|---|---|---|---|", *rows]
    text = "\n".join(parts) + "\n"
    if diff.downstream:
        listed = "".join(f"- {code_of(name)}\n" for name, _ in diff.downstream)
        text += f"\n**Downstream of it** ({len(diff.downstream)}):\n\n{listed}"
    return text


def _how(change: ChangeRow) -> str:
    if change.sign == "changed":
        return f": {change.before} => {change.after}"
    text = change.before or change.after
    return f": {text}" if text else ""
