"""
Remember the rows of plans that outlive their plan, and find the leaves of later plans that read them.

After a checkpoint and in a micro-batch, later plans have a leaf with the rows of an RDD in place of the plan that
computed them. Usually the leaf has the exprIds of that plan's output.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from openlineage_pyspark.facets.datasets.rdd import is_checkpoint, rdd_id
from openlineage_pyspark.facets.model.lineage import Wording
from openlineage_pyspark.facets.model.plan import LOGICAL_RDD, Operator, Plan
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage.results import (
    EarlierColumn,
    EarlierRows,
    PlanLineage,
    joined_kinds,
)
from openlineage_pyspark.facets.trace.solve import ROWS
from openlineage_pyspark.listener.latest import Latest

_MOST_REMEMBERED = 2_000
_MOST_ALIKE = 16
_Ids = tuple[int, ...]
_Shape = tuple[tuple[str, str], ...]


class RememberedRows:
    """The rows of earlier plans of one application."""

    def __init__(self) -> None:
        """Start with nothing remembered."""
        self._last: Latest[_Ids, EarlierRows] = Latest(_MOST_REMEMBERED)
        # The checkpoints whose RDDs are unknown.
        self._unread: Latest[_Ids, tuple[EarlierRows, ...]] = Latest(_MOST_REMEMBERED)
        self._by_rdd: Latest[int, EarlierRows] = Latest(_MOST_REMEMBERED)
        # None if several checkpoints with different lineages have such columns.
        self._by_shape: Latest[_Shape, EarlierRows | None] = Latest(_MOST_REMEMBERED)

    def remember_batch(self, found: PlanLineage) -> None:
        """Remember the rows of a micro-batch; the next one of its query replaces them."""
        self._last.put(_ids_of(found), _rows_of(found))

    def remember_checkpoint(self, found: PlanLineage, rdd: int | None) -> None:
        """
        Remember the rows of a checkpoint.

        Args:
            found: the lineage of its plan.
            rdd: the number of the RDD with its rows; None if it is unknown, because they are not computed yet.
        """
        ids, rows = _ids_of(found), _rows_of(found)
        self._last.put(ids, rows)
        if rdd is None:
            self._unread.put(ids, (*self._unread.get(ids, ()), rows)[-_MOST_ALIKE:])
        else:
            self._by_rdd.put(rdd, rows)
        shape = tuple((column.name, column.type) for column in found.shown)
        if all(name and type_ for name, type_ in shape):
            self._by_shape.put(shape, rows if self._by_shape.get(shape, rows) == rows else None)

    def read_by(self, plan: Plan) -> dict[int, EarlierRows]:
        """
        Return the index of each leaf of a plan that reads remembered rows, with these rows.

        The rows are recognized by their RDD, if it is known, and else by their exprIds. Spark gives a leaf new exprIds
        if it is joined with itself, or with the plan from which it was computed. If its RDD is unknown then, it has the
        rows of another leaf with the same RDD, or of the only checkpoint whose columns have the same names and types.
        """
        leaves = {at: each for at, each in enumerate(plan.operators) if each.class_name == LOGICAL_RDD and each.output}
        found = {at: rows for at, leaf in leaves.items() if (rows := self._with_same_ids(leaf)) is not None}
        by_rdd = {rdd: rows for at, rows in found.items() if (rdd := rdd_id(leaves[at])) is not None}
        for at, leaf in leaves.items():
            if at not in found:
                rdd = rdd_id(leaf)
                rows = by_rdd.get(rdd) if rdd is not None else None
                rows = self._with_same_columns(plan, leaf) if rows is None else rows
                if rows is not None and len(rows.columns) == len(leaf.output):
                    found[at] = rows
        return found

    def _with_same_ids(self, leaf: Operator) -> EarlierRows | None:
        """
        Return the rows of a leaf's RDD, or those with its exprIds.

        Lazy checkpoints of two filters of one DataFrame have the same exprIds, and their RDDs are unknown until a plan
        reads them. A leaf with a new RDD has the rows of one that no other RDD is known to have.
        """
        ids, rdd = tuple(column.id for column in leaf.output), rdd_id(leaf)
        known = None if rdd is None else self._by_rdd.get(rdd)
        if known is not None:
            return known if len(known.columns) == len(ids) else None
        unread = self._unread.get(ids, ())
        if not unread or rdd is None:
            return self._last.get(ids)
        if any(each != unread[0] for each in unread):
            return _one_of(unread)
        self._by_rdd.put(rdd, unread[0])
        self._unread[ids] = unread[1:]
        return unread[0]

    def _with_same_columns(self, plan: Plan, leaf: Operator) -> EarlierRows | None:
        """Return the rows of the only checkpoint that has a leaf's names and types; None if none has, or several."""
        if not is_checkpoint(leaf):
            return None
        known = (plan.attributes.get(column.id) for column in leaf.output)
        return self._by_shape.get(tuple((each.name, each.type) for each in known if each is not None))


def _ids_of(found: PlanLineage) -> _Ids:
    return tuple(column.id for column in found.shown)


def _rows_of(found: PlanLineage) -> EarlierRows:
    columns = (EarlierColumn(found.results.get(each.id, {}), found.texts.get(each.id, "")) for each in found.shown)
    return EarlierRows(found.inputs, tuple(columns), found.results.get(ROWS, {}), found.wording, found.gaps)


def _one_of(alike: Sequence[EarlierRows]) -> EarlierRows:
    """Return what holds for rows that are those of one of several checkpoints, with a gap that says so."""
    alike = [each for at, each in enumerate(alike) if each not in alike[:at]]
    columns = []
    for each in zip(*(rows.columns for rows in alike), strict=True):
        texts = {column.text for column in each}
        columns.append(
            EarlierColumn(joined_kinds(column.sources for column in each), texts.pop() if len(texts) == 1 else "")
        )
    gap = Gap(
        LOGICAL_RDD,
        f"the rows are those of one of {len(alike)} checkpoints with the same columns: all conditions of these"
        " checkpoints are named",
    )
    return EarlierRows(
        tuple({dataset.identifier: dataset for rows in alike for dataset in rows.inputs}.values()),
        tuple(columns),
        joined_kinds(rows.rows for rows in alike),
        functools.reduce(Wording.joined, (rows.wording for rows in alike)),
        tuple(dict.fromkeys((gap, *(gap for rows in alike for gap in rows.gaps)))),
    )
