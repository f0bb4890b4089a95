"""The rebuild plan of a change: which tables must be rebuilt, and which are proven unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs
from openlineage_pyspark.workbench.model.document import document_of_fields
from openlineage_pyspark.workbench.predict.acts import TEMPORARY
from openlineage_pyspark.workbench.rebuild.places import key_of_name
from openlineage_pyspark.workbench.rebuild.states import IN_FOLDER, Version
from openlineage_pyspark.workbench.rebuild.tables import Replay
from openlineage_pyspark.workbench.rebuild.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openlineage_pyspark.workbench.rebuild.statements import FileStep

Action: TypeAlias = Literal["make", "columns", "define", "drop", "keep"]
"""
What a table needs: to be rebuilt; to have some columns rebuilt; to have its definition changed; to be dropped; nothing.
"""


@attrs.frozen
class TablePlan:
    """
    What must be done to a table after a change.

    Args:
        table: its name.
        action: what it needs.
        reason: why, in words.
        rows: whether its rows may change, and with them each of its columns.
        columns: the columns whose values may change; all columns if the rows may change.
        places: the statements that make it, as `FILE:LINE`, in their order.
        is_view: whether it is a view, which has no rows of its own.
        is_downstream: whether a changed statement makes it, or a table upstream of it.
    """

    table: str
    action: Action
    reason: str
    rows: bool = False
    columns: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    is_view: bool = False
    is_downstream: bool = True


@attrs.frozen
class RebuildPlan:
    """
    What must be done after a change of files.

    Args:
        tables: the tables, in the order in which the files make them.
        elsewhere: the names of the tables that other jobs make from the changed columns.
    """

    tables: tuple[TablePlan, ...]
    elsewhere: tuple[str, ...] = ()

    @property
    def made(self) -> tuple[TablePlan, ...]:
        """Return the tables that need something, in the order in which it must be done."""
        return tuple(each for each in self.tables if each.action != "keep")

    @property
    def kept(self) -> tuple[TablePlan, ...]:
        """Return the tables that are downstream of the change but need nothing."""
        return tuple(each for each in self.tables if each.action == "keep" and each.is_downstream)

    @property
    def apart(self) -> int:
        """Return how many tables need nothing because they are not downstream of the change."""
        return sum(each.action == "keep" and not each.is_downstream for each in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values."""
        return {
            **document_of_fields(self),
            "made": len(self.made),
            "kept": len(self.kept),
            "apart": self.apart,
        }


def _is_in_folders(version: Version, column: str) -> bool:
    """Return whether the names of folders hold the values of a column."""
    return version.columns[column][0].kind == IN_FOLDER


def rebuild_plan(before: Sequence[FileStep], after: Sequence[FileStep]) -> RebuildPlan:
    """
    Return which tables must be rebuilt after a change of files: all that are not proven unchanged.

    Args:
        before: the statements of the earlier state, in the order in which they run.
        after: those of the later one.
    """
    terms = Terms()
    return _Comparison(before, after, terms).plan()


class _Comparison:
    """Compares the results of two sequences of statements."""

    def __init__(self, before: Sequence[FileStep], after: Sequence[FileStep], terms: Terms) -> None:
        self._steps = after
        self._earlier_steps = before
        made_by: dict[int, Version] = {}
        self._old, self._new = Replay(terms, made_by).follow(before), Replay(terms, made_by).follow(after)
        self._downstream = self._tables_downstream()

    def plan(self) -> RebuildPlan:
        """Return the plan."""
        shown = (key for key in self._new.tables if not _is_temporary(key))
        order = sorted(shown, key=lambda key: (self._new.tables[key].steps or (0,))[-1])
        plans = [self._of_table(key) for key in order]
        gone = sorted(key for key in self._old.tables.keys() - self._new.tables.keys() if not _is_temporary(key))
        for key in gone:
            is_view = self._old.tables[key].kind == "view"
            plans.append(TablePlan(key, "drop", "no statement writes it any more", rows=True, is_view=is_view))
        return RebuildPlan(tuple(plans))

    def _of_table(self, key: str) -> TablePlan:
        new, old = self._new.tables[key], self._old.tables.get(key)
        places = dict.fromkeys(place for at in new.steps for place in _places(self._steps[at], key))
        plan = TablePlan(
            key,
            "make",
            "it is new",
            rows=True,
            columns=tuple(new.columns),
            places=tuple(places),
            is_view=new.kind == "view",
            is_downstream=key in self._downstream,
        )
        if old is None:
            return plan
        if new.kind == "view" or old.kind == "view":
            return self._of_view(plan, old, new)
        if new.whole is old.whole:
            return attrs.evolve(plan, action="keep", reason=self._why_kept(key, new), rows=False, columns=())
        if new.rows is not old.rows:
            return attrs.evolve(plan, reason=self._why_made(key, new))
        return self._of_same_rows(plan, old, new)

    @staticmethod
    def _of_same_rows(plan: TablePlan, old: Version, new: Version) -> TablePlan:
        """Return what a table needs if its rows do not change."""
        changed = tuple(name for name, each in new.columns.items() if old.columns.get(name) != each)
        names = [list(each.columns) for each in (old, new)]
        if names[0] != names[1]:
            gone = [name for name in names[0] if name not in names[1]]
            what = f"{', '.join(gone)} was removed" if gone else "its columns or their order changed"
            return attrs.evolve(plan, rows=False, columns=changed, reason=what)
        if not changed:
            reason = "its definition or the order of its rows changed, but not its rows"
            return attrs.evolve(plan, action="define", reason=reason, rows=False, columns=())
        moved = [name for name in changed if _is_in_folders(old, name) != _is_in_folders(new, name)]
        if moved:
            reason = f"{', '.join(moved)}: the name of a partition's folder may not keep an empty text or a time zone"
            return attrs.evolve(plan, rows=False, columns=changed, reason=reason)
        reason = "its rows and its other columns do not change"
        return attrs.evolve(plan, action="columns", rows=False, columns=changed, reason=reason)

    def _of_view(self, plan: TablePlan, old: Version, new: Version) -> TablePlan:
        """Return what a view needs. Its rows follow from what it reads: only its text and its columns are its own."""
        if old.kind != new.kind:
            return attrs.evolve(plan, reason="a view has become a table, or a table a view")
        schemas = [[(name, type_) for name, (_, type_) in each.columns.items()] for each in (old, new)]
        if not self._is_written_differently(plan.table) and schemas[0] == schemas[1]:
            reason = "it is a view: it changes with what it reads"
        elif new.whole is old.whole:
            reason = "its query is written differently, but gives the same result"
        else:
            changed = tuple(name for name, each in new.columns.items() if old.columns.get(name) != each)
            is_other = new.rows is not old.rows
            return attrs.evolve(plan, action="define", reason="its query has changed", rows=is_other, columns=changed)
        return attrs.evolve(plan, action="keep", rows=False, columns=(), reason=reason)

    def _why_kept(self, key: str, new: Version) -> str:
        if key not in self._downstream:
            return "nothing that it reads has changed"
        changed = sorted(each for each in new.reads if self._is_changed(each))
        if changed:
            return f"it reads only unchanged columns of {', '.join(changed)}"
        if self._is_written_differently(key):
            if any(self._steps[at].script for at in new.steps):
                return "its script has changed, but not what it writes there"
            return "its query is written differently, but gives the same result"
        return "what it reads does not change"

    def _why_made(self, key: str, new: Version) -> str:
        unread = [self._new.unread[at] for at in new.steps if at in self._new.unread]
        if unread:
            return f"it can't be proven unchanged: {unread[0]}"
        changed = sorted(each for each in new.reads if self._is_changed(each))
        is_act = any(self._steps[at].script for at in new.steps)
        if self._is_written_differently(key) and not (is_act and changed):
            return "its rows or their number may have changed"
        if changed:
            return f"the rows of {', '.join(changed)} may change"
        return "a setting, a function or a variable of the session has changed"

    def _is_changed(self, key: str) -> bool:
        old, new = self._old.tables.get(key), self._new.tables.get(key)
        return (None if old is None else old.whole) is not (None if new is None else new.whole)

    def _is_written_differently(self, key: str) -> bool:
        old, new = self._old.tables.get(key), self._new.tables.get(key)
        texts = [
            [] if version is None else [(steps[at].key, steps[at].behind) for at in version.steps]
            for version, steps in ((old, self._earlier_steps), (new, self._steps))
        ]
        return texts[0] != texts[1]

    def _tables_downstream(self) -> frozenset[str]:
        """Return the tables that changed statements make, and all tables downstream of these, whatever the columns."""
        keys = {*self._new.tables, *self._old.tables}
        found = {key for key in keys if self._is_written_differently(key)}
        found |= self._old.dropped ^ self._new.dropped
        while True:
            more = {
                key
                for final in (self._old, self._new)
                for key, version in final.tables.items()
                if key not in found and not found.isdisjoint(version.reads)
            }
            if not more:
                return frozenset(found)
            found |= more


def _places(step: FileStep, key: str) -> list[str]:
    """Return the lines of a statement, or of a script, that make a table."""
    own = [each.place for each in step.writes if key_of_name(each.name) == key]
    return own or [f"{step.file}:{step.line}"]


def _is_temporary(key: str) -> bool:
    return key.startswith(TEMPORARY)
