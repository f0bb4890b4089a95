"""
Derive the lineage of each encoded plan, using what earlier plans of the application left behind.

This is the stage of the pipeline between the probe and the runs. It guards each plan, so that a fault in decoding or
tracing costs only that plan's lineage, and it remembers what later plans need. Because both happen here, the assembly
of runs is pure.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Sequence

import attrs
from openlineage_pyspark.facets.datasets.rdd import is_checkpoint, rdd_id
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.datasets.tables import catalog_key
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Dataset, Identifier, Trimming
from openlineage_pyspark.facets.model.lineage import ColumnLineage, Wording
from openlineage_pyspark.facets.model.plan import LOGICAL_RDD, Operator, Plan
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.model.variables import VariableName
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import (
    EarlierColumn,
    EarlierPlans,
    EarlierRows,
    PlanLineage,
    VariableValue,
    joined_kinds,
)
from openlineage_pyspark.facets.trace.solve import ROWS
from openlineage_pyspark.listener.guard import CaughtException, Guard
from openlineage_pyspark.listener.latest import Latest
from openlineage_pyspark.listener.probe.records import EncodedPlan, ExecutionEnded, ExecutionStarted, QueryExecution
from openlineage_pyspark.listener.runs.executions import ExecutionAnalyzed, RecordStep
from openlineage_pyspark.listener.runs.models import LoadedModels, saved_model

_MOST_TABLES = 2_000
_MOST_VARIABLES = 2_000
_MOST_REMEMBERED = 2_000
_MOST_ALIKE = 16
_Ids = tuple[int, ...]
_Shape = tuple[tuple[str, str], ...]

# Remember the rows of plans that outlive their plan, and find the leaves of later plans that read them.
# After a checkpoint and in a micro-batch, later plans have a leaf with the rows of an RDD in place of the plan that
# computed them. Usually the leaf has the exprIds of that plan's output.


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


def session_settings_of(
    plan: Plan, metastore: str | None, trimming: Trimming = DEFAULT_TRIMMING, *, views: bool = True
) -> Session:
    """
    Return the session settings that dataset names depend on.

    Args:
        plan: the decoded plan, which includes its session.
        metastore: `hive.metastore.uris`; used only if the session's catalog is Hive's.
        trimming: the rules that shorten the names of datasets.
        views: whether permanent views that are read count as inputs.
    """
    catalog = plan.session.get("catalog") or "in-memory"
    return Session(
        plan.session.get("warehouse"),
        metastore if catalog == "hive" else None,
        catalog,
        case_sensitive=plan.case_sensitive,
        trimming=trimming,
        views=views,
    )


@attrs.frozen
class _Begun:
    """
    What the start of an execution states about all of its plans.

    Args:
        time: when it began; None if nothing states it.
        saves_model: whether it is a part of saving a model.
        loads: as for `ExecutionStarted`.
    """

    time: datetime.datetime | None = None
    saves_model: bool = False
    loads: tuple[str, ...] = ()


class Analyses:
    """Analyzes the plans of one application, in order."""

    def __init__(
        self,
        metastore: str | None,
        guard: Guard,
        trimming: Trimming = DEFAULT_TRIMMING,
        *,
        views: bool = True,
        paths: bool = False,
        place: Callable[[str], str] = lambda _site: "",
        composed: bool = True,
        fields: bool = False,
    ) -> None:
        """
        Start with nothing remembered.

        Args:
            metastore: `hive.metastore.uris`, for sessions whose catalog is Hive's.
            guard: catches faults in the analysis of a plan.
            trimming: the rules that shorten the names of datasets.
            views: whether permanent views that are read count as inputs.
            paths: whether to record the operators that each influence passes.
            place: shortens the line of Python that made an expression; by default it is left out.
            composed: whether descriptions are in terms of the columns of sources.
            fields: whether the fields of stored structs are separate sources.
        """
        self._fields = fields
        self._place = place
        self._metastore = metastore
        self._paths = paths
        self._composed = composed
        self._trimming = trimming
        self._views = views
        self._guard = guard
        # The lineage of the executions that have not ended.
        self._open: dict[int, PlanLineage] = {}
        self._begun: dict[int, _Begun] = {}
        self._loaded = LoadedModels()
        self._rows = RememberedRows()
        self._tables: Latest[str, Dataset] = Latest(_MOST_TABLES)
        self._variables: Latest[VariableName, VariableValue | None] = Latest(_MOST_VARIABLES)

    def of(self, step: RecordStep, *, wanted: bool) -> PlanLineage | None:
        """
        Return the lineage of the plan in a step, and remember it if its rows outlive the plan.

        Rows outlive their plan after a checkpoint and in a micro-batch: later plans refer to their exprIds, but no
        longer contain the plan that produced them.

        Args:
            step: the next step; call this for every step, in order.
            wanted: whether a run needs the plan. Most nested plans repeat the plan around them and are not worth
                decoding.

        Returns:
            The lineage; None if the plan is not wanted. For a plan that could not be read, it holds only a gap.
        """
        if isinstance(step, ExecutionEnded):
            done = self._open.pop(step.id, None)
            self._begun.pop(step.id, None)
            if done is not None and step.failure is None:
                self._learn(done)
        if not isinstance(step, (ExecutionStarted, ExecutionAnalyzed)):
            return None
        if isinstance(step, ExecutionStarted):
            self._begun[step.id] = _Begun(step.time, step.model, step.loads)
        found = None
        if wanted:
            begun = self._begun.get(step.id, _Begun())
            found = self._open[step.id] = self._with_models(begun, self._analysis(step.query, begun.time))
        if step.id in self._open:
            if isinstance(step, ExecutionAnalyzed) and step.is_checkpoint:
                self._rows.remember_checkpoint(self._open[step.id], step.rdd)
            elif found is not None and step.query.stream is not None:
                self._rows.remember_batch(found)
        return found

    def _with_models(self, begun: _Begun, found: PlanLineage) -> PlanLineage:
        """Return the lineage of an execution, with the models that it saves, loads or applies as datasets."""
        if begun.loads:
            return self._loaded.load(found, begun.loads)
        if begun.saves_model:
            return saved_model(found)
        return self._loaded.applied(found) if found.models else found

    def _analysis(self, query: QueryExecution, began: datetime.datetime | None) -> PlanLineage:
        why = query.fault or "see the log"
        if query.plan is not None:
            found = self._guard.attempt("reading a plan", self._lineage, query.plan, began, is_command=query.is_command)
            if not isinstance(found, CaughtException):
                return found if query.sql is not None else _without_values(found)
            why = f"{found.name}, see the log"
        gap = Gap(query.plan_class or "plan", f"its lineage is unknown: it could not be read ({why})")
        columns = None if query.is_command else ColumnLineage((), ())
        return PlanLineage(columns=columns, gaps=(gap,), operators=1)

    def _lineage(self, encoded: EncodedPlan, began: datetime.datetime | None, *, is_command: bool) -> PlanLineage:
        plan = encoded.decode(self._place)
        earlier = EarlierPlans(self._rows.read_by(plan), self._variables)
        session = session_settings_of(plan, self._metastore, self._trimming, views=self._views)
        milliseconds = None if began is None else int(began.timestamp() * 1000)
        session = attrs.evolve(session, tables=self._tables, began=milliseconds)
        return lineage_of_plan(
            plan,
            session,
            earlier,
            is_command=is_command,
            paths=self._paths,
            composed=self._composed,
            fields=self._fields,
        )

    def _learn(self, plan_lineage: PlanLineage) -> None:
        """
        Remember the effects of a statement that later ones need.

        These are the tables that it used, since a catalog may have forgotten them by the next statement, and the
        variables that it set.
        """
        for name, value in plan_lineage.variables.items():
            self._variables.put(name, value)
        for dataset in plan_lineage.inputs:
            self._put(dataset)
        for output in plan_lineage.outputs:
            write = output.write
            key = catalog_key(write.dataset)
            if write.renamed_from is not None:
                self._forget(write.renamed_from)
            if write.lifecycle == "DROP":
                self._tables.pop(key or "", None)
            elif not (write.may_skip and key in self._tables):
                self._put(write.dataset)

    def _put(self, dataset: Dataset) -> None:
        key = catalog_key(dataset)
        if key is None:
            return
        known = self._tables.get(key)
        if known is not None and dataset.is_named_by_catalog:
            # A statement that creates a table knows its location only afterwards.
            dataset = known
        # A read or a write may have only some of the columns.
        same = known is not None and known.identifier == dataset.identifier
        fields = dataset.fields or known.fields if known is not None and same else dataset.fields
        self._tables.put(key, attrs.evolve(dataset, fields=fields, versions=None))

    def _forget(self, identifier: Identifier) -> None:
        """Forget a table by the identity that it had before it was renamed."""
        for key, dataset in list(self._tables.items()):
            links = [Identifier(link.namespace, link.name) for link in dataset.symlinks]
            if identifier in (dataset.identifier, *links):
                del self._tables[key]


def _without_values(found: PlanLineage) -> PlanLineage:
    """
    Return the lineage of a statement without text, in which no variable has a known value.

    Spark sets the variables of a FOR loop with such statements, to the values of a row.
    """
    return attrs.evolve(found, variables=dict.fromkeys(found.variables)) if found.variables else found
