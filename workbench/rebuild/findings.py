"""The findings for the reviewer of a change, each with the line that causes it; unmasked values come first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import attrs
from openlineage_pyspark.workbench.predict.compare import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from openlineage_pyspark.workbench.predict.scripts import StatementLineage
    from openlineage_pyspark.workbench.questions.changes import ChangeRow
    from openlineage_pyspark.workbench.rebuild.masks import ColumnPlace
    from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan, TablePlan

Finding: TypeAlias = Literal["masked-to-unmasked", "dropped-column-in-use", "type-changed", "rebuild"]
"""
The effects of a change: a value that was masked is no longer masked; a column that is still read was removed; the type
of a column changed; a table must be rebuilt.
"""
Level: TypeAlias = Literal["error", "warning", "note"]
CHANGE_GATES: tuple[Finding, ...] = get_args(Finding)
"""The gates that can decide about the exit code for a change."""
_LEVELS: Mapping[Finding, Level] = {
    "masked-to-unmasked": "error",
    "dropped-column-in-use": "error",
    "type-changed": "warning",
    "rebuild": "note",
}


@attrs.frozen
class ChangeFinding:
    """
    A finding for the reviewer of a change.

    Args:
        finding: its kind.
        message: the finding in words.
        file: the file that causes it; empty if no file makes the table any more.
        line: the line, from 1.
        is_edge: whether the change of an edge or a column shows it; False if several statements lie between.
    """

    finding: Finding
    message: str
    file: str = ""
    line: int = 1
    is_edge: bool = True

    @property
    def level(self) -> Level:
        """Return how severe it is."""
        return _LEVELS[self.finding]

    def __str__(self) -> str:
        """Return it in the format of compilers."""
        return f"{self.file}:{self.line}: {self.message}" if self.file else self.message


def findings_of(
    changes: Iterable[ChangeRow],
    found: Sequence[StatementLineage],
    readers: Callable[[str], Collection[str]],
    plan: RebuildPlan | None,
    unmasked: Sequence[tuple[ColumnPlace, ColumnPlace]] = (),
) -> tuple[ChangeFinding, ...]:
    """
    Return the findings for a reviewer, the most severe first.

    Args:
        changes: the differences.
        found: the statements of the later state.
        readers: returns the readers that still use a column, by its name.
        plan: which tables must be rebuilt; None if that was not requested.
        unmasked: the result of `unmasked_values`; values that the change of an edge already shows are left out.
    """
    places = _places(found)
    rows = tuple(changes)
    every = [each for row in rows for each in _of_row(row, places, readers)]
    shown = {row.name for row in rows if row.unmasked}
    for source, target in unmasked:
        ends = [".".join(each) for each in (source, target)]
        if " -> ".join(ends) not in shown:
            message = f"{' -> '.join(ends)}: the value is no longer masked; it was masked in {target[0]} before"
            every.append(ChangeFinding("masked-to-unmasked", message, *_place_of(ends[1], places), is_edge=False))
    for table in () if plan is None else plan.made:
        if table.action == "drop":
            continue
        file, _, line = table.places[-1].rpartition(":") if table.places else ("", "", "1")
        every.append(ChangeFinding("rebuild", _of_table(table), file, int(line)))
    return tuple(sorted(every, key=lambda each: (CHANGE_GATES.index(each.finding), each.file, each.line)))


def _of_table(table: TablePlan) -> str:
    """Return what must be done to a table, and why."""
    if table.action == "define":
        return f"{table.table} must be redefined: {table.reason}"
    columns = f", or updated in {', '.join(table.columns)}" if table.action == "columns" else ""
    return f"{table.table} must be rebuilt{columns}: {table.reason}"


def _of_row(
    row: ChangeRow, places: Mapping[str, tuple[str, int]], readers: Callable[[str], Collection[str]]
) -> Iterable[ChangeFinding]:
    target = row.name.rpartition(" -> ")[2]
    place = _place_of(target, places)
    if row.unmasked:
        message = f"{row.name}: the value is no longer masked: {row.before} => {row.after}"
        yield ChangeFinding("masked-to-unmasked", message, *place)
    if row.what == "column" and row.sign == "removed":
        using = sorted(readers(row.name))
        if using:
            message = f"{row.name} was removed, but is still read by {', '.join(using)}"
            yield ChangeFinding("dropped-column-in-use", message, *place)
    if row.what == "column" and row.sign == "changed":
        message = f"the type of {row.name} changed from {row.before} to {row.after}"
        yield ChangeFinding("type-changed", message, *place)


def _places(found: Iterable[StatementLineage]) -> dict[str, tuple[str, int]]:
    """Return the place of the last statement that makes each table."""
    places = {}
    for each in found:
        for dataset, _ in () if each.lineage is None else each.lineage.outputs:
            if dataset is not None:
                places[name_of(dataset)] = (each.statement.file, each.statement.line)
    return places


def _place_of(column: str, places: Mapping[str, tuple[str, int]]) -> tuple[str, int]:
    """Return the place of the statement that makes a column; an empty file if none does."""
    tables = [table for table in places if column == table or column.startswith(f"{table}.")]
    return places[max(tables, key=len)] if tables else ("", 1)
