"""
Compute the lineage of a plan: inputs, outputs and the edges between their columns.

`lineage_of_plan` is the only entry point of the pure core, both for the listener and for `lineage()`.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.commands import inserts
from openlineage_pyspark.facets.commands.registry import is_command, job_word, sinks_of, write_of
from openlineage_pyspark.facets.commands.target import Scoped, Target, UnnamedTarget, Write, trimmed
from openlineage_pyspark.facets.datasets.source import NO_DATASETS, Session
from openlineage_pyspark.facets.datasets.tables import infers_schema, permanent_view
from openlineage_pyspark.facets.model.dataset import Field, Identifier, inner_fields
from openlineage_pyspark.facets.model.dataset import field as field_of_type
from openlineage_pyspark.facets.model.lineage import (
    ColumnLineage,
    OutputColumn,
    UseKind,
    Way,
    Wording,
)
from openlineage_pyspark.facets.model.plan import (
    EXTERNAL_RDD,
    LOGICAL_RDD,
    AttributeRef,
    Expression,
    ExpressionRef,
    Plan,
)
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.model.variables import VARIABLE_COMMANDS, VariableWrite, variable_writes
from openlineage_pyspark.facets.plan_lineage.edges import (
    SourceEdges,
    SourceKinds,
    copies,
    edges_of,
    is_stored,
    leave_out_generated,
    without_copies,
)
from openlineage_pyspark.facets.plan_lineage.leaves import Leaves, message_about_namesake
from openlineage_pyspark.facets.plan_lineage.results import (
    EarlierPlans,
    NamedColumn,
    PlanLineage,
    VariableValue,
    WrittenDataset,
)
from openlineage_pyspark.facets.sql_names import field_name
from openlineage_pyspark.facets.trace.composed import ColumnTexts, Composer, uncast
from openlineage_pyspark.facets.trace.expressions import FieldPath, OpaqueCode, called_codes, called_models, known_type
from openlineage_pyspark.facets.trace.operators import RULES
from openlineage_pyspark.facets.trace.solve import ROWS, Origin, Trace
from openlineage_pyspark.facets.trace.texts import whole_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


def lineage_of_plan(
    plan: Plan,
    session: Session,
    earlier: EarlierPlans | None = None,
    *,
    is_command: bool = False,
    paths: bool = False,
    composed: bool = True,
    fields: bool = False,
) -> PlanLineage:
    """
    Return the inputs and outputs of a plan, and the lineage between them.

    Args:
        plan: the analyzed plan.
        session: the session's settings.
        earlier: what the plan needs of the results of earlier plans.
        is_command: whether Spark reports the plan's top as a command; it may be one without a rule.
        paths: whether each path has its operators (`Way.operators`); else only those have them that are not certain.
        composed: whether descriptions are in terms of the columns of sources, instead of the last step.
        fields: whether a field of a stored struct is a source, such as `address.city`, instead of its column.

    Returns:
        The lineage; `gaps` names everything without a rule, and the assumption made instead.
    """
    analysis = _Analysis(plan, session, earlier or EarlierPlans(), paths=paths, composed=composed, fields=fields)
    return analysis.plan_lineage(is_command=is_command)


class _Analysis:
    def __init__(
        self, plan: Plan, session: Session, earlier: EarlierPlans, *, paths: bool, composed: bool, fields: bool
    ) -> None:
        self.plan = plan
        self.paths = paths
        self.session = session
        self.trace = Trace(plan, fields=fields)
        self._has_fields = fields
        self.leaves = Leaves(plan, session, earlier)
        # Nothing that the composer calls refers to it: a cycle would keep the plan until a full garbage collection.
        self._composer = Composer(self.trace, self.leaves.source_name)
        self._is_composed = composed
        self._edges = SourceEdges(self.trace, self.leaves, self._composer if composed else None, paths=paths)

    def plan_lineage(self, *, is_command: bool) -> PlanLineage:
        plan = self.plan
        sinks = sinks_of(plan) or ((plan.root,) if is_command else ())
        targets = [trimmed(write_of(plan, plan.operators[at], self.session), self.session) for at in sinks]
        written = [
            (at, each)
            for at, target in zip(sinks, targets, strict=True)
            if isinstance(target, Write)
            for each in target.each
        ]
        unknown = any(isinstance(target, UnnamedTarget) and target.target is not None for target in targets)
        streamed = inserts.streamed_query(plan)
        query = None if sinks else plan.root
        shown = query if streamed is None else streamed
        tops = {shown} if shown is not None else {read for target in targets for read in target.reads}
        tops |= self._held(sinks, [write for _, write in written]) if written else set()
        variables = variable_writes(plan) if plan.top.class_name in VARIABLE_COMMANDS else ()
        reached = self._reached(tops, variables)
        self._read(reached)
        outputs = tuple(self._written(write, at) for at, write in written)
        results = self._results(shown)
        columns = self._query_lineage(query, results) if query is not None else None
        return PlanLineage(
            inputs=tuple(self.leaves.datasets.values()),
            outputs=outputs,
            scanned=self._scanned(reached),
            results=results,
            texts=self._texts(shown),
            wording=self._wording,
            columns=columns,
            gaps=tuple(dict.fromkeys((*self._gaps_of_targets(sinks, targets), *self.leaves.gaps, *self._gaps()))),
            operators=len(plan.operators),
            command=job_word(plan.operators[sinks[0]]) if sinks else None,
            unnamed=unknown and not written,
            quiet=not (tops or written or unknown)
            or (not sinks and any(infers_schema(plan.operators[at]) for at in reached)),
            code=self._code(reached),
            streamed=self._streamed(streamed) if streamed is not None else (),
            variables={each.name: self._variable(each) for each in variables},
            fields=self._has_fields,
            models=called_models(plan),
            shown=self._shown(shown),
        )

    def _shown(self, query: int | None) -> tuple[NamedColumn, ...]:
        """Return the output columns of a query."""
        columns = self.plan.operators[query].output if query is not None else ()
        known = ((column.id, self.plan.attributes.get(column.id)) for column in columns)
        return tuple(
            NamedColumn(id_, "", "") if about is None else NamedColumn(id_, about.name, about.type)
            for id_, about in known
        )

    def _reached(self, tops: Iterable[int], variables: Sequence[VariableWrite]) -> list[int]:
        """Return the operators below some tops, and below the queries that compute values of variables."""
        holding = {each.query for each in variables if each.query is not None}
        holding.update(self.trace.scopes.subqueries_in(each.value for each in variables))
        return sorted({at for top in (*tops, *holding) for at in self.trace.scopes.reachable(top)})

    def _gaps_of_targets(self, sinks: Sequence[int], targets: Sequence[Target]) -> Iterator[Gap]:
        """Yield a gap for each target of a command about which something is unknown."""
        for at, target in zip(sinks, targets, strict=True):
            name = self.plan.operators[at].class_name
            if isinstance(target, UnnamedTarget) and target.target is not None:
                yield Gap(name, f"{target.target}: what it writes is unknown")
            elif isinstance(target, Write) and target.gap is not None:
                yield Gap(name, target.gap)

    def _held(self, sinks: Sequence[int], writes: Sequence[Write]) -> set[int]:
        """Return the tops of the queries that commands hold in their own expressions."""
        tops = {top for at in sinks for top in self.trace.scopes.subqueries(at)}
        # The values of an UPDATE that Spark has rewritten may be anywhere in the query.
        parts = [part for write in writes for column in write.columns for part in column.values]
        tops.update(at for part in parts for at in part.scope)
        tops.update(self.trace.scopes.subqueries_in(part.value for part in parts))
        return tops

    def _gaps(self) -> Iterator[Gap]:
        """Yield the parts of the plan that were cut, those that could not be read, and the paths that are left out."""
        if self.plan.cut:
            yield Gap("plan", "the plan was larger than its bounds and was cut")
        for broken in self.plan.broken:
            name, _, problem = broken.partition(": ")
            yield Gap(name, f"could not be read ({problem}): what passes through it is unknown")
        yield from self._edges.gaps()

    def _variable(self, write: VariableWrite) -> VariableValue | None:
        """Return the value of a variable after a statement: a column of one row, or the result of an expression."""
        if write.is_unknown:
            return None
        found: SourceKinds = {}
        if write.query is not None:
            found = self._edges.of_column(Origin(write.query, write.id))
            for field, kinds in self._edges.of_rows((write.query,)).items():
                for kind, ways in kinds.items():
                    self._edges.add(found, field, kind, ways)
        elif write.value is not None:
            root = self.plan.root
            self._edges.join(found, self.trace.expression((root,), write.value, UseKind.IDENTITY, root))
        return VariableValue(tuple(self.leaves.datasets.values()), found, self._wording)

    def _code(self, reached: list[int]) -> dict[str, int]:
        """Return how often the plan has each kind of unreadable code, by the names of the kinds in metrics."""
        found = called_codes(self.plan)
        for at in reached:
            kind = self.trace.scopes.lineages[at].code
            if kind is None and at in self.leaves.unread:
                kind = (
                    OpaqueCode.RDD
                    if self.plan.operators[at].class_name in (LOGICAL_RDD, EXTERNAL_RDD)
                    else OpaqueCode.SOURCE
                )
            if kind is not None:
                found[kind] += 1
        return {kind.value: found[kind] for kind in OpaqueCode if found[kind]}

    def _streamed(self, query: int) -> tuple[tuple[Identifier, ...], ...]:
        """Return the datasets of each leaf of a micro-batch's query that is a stream, in the order of the query."""
        leaves: dict[int, None] = {}
        pending, seen = [query], set[int]()
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            operator = self.plan.operators[at]
            pending += reversed(operator.children)
            is_stream = operator.arguments.get("isStreaming") is True or operator.name.startswith("Streaming")
            if is_stream and not operator.children:
                leaves[at] = None
        found = (self.leaves.relations.get(at, NO_DATASETS) for at in leaves)
        return tuple(tuple(dataset.identifier for dataset in relation.datasets) for relation in found)

    def _written(self, write: Write, command: int) -> WrittenDataset:
        for source in write.sources:
            self.leaves.datasets.setdefault(source.identifier, source)
        if not write.reads:
            return WrittenDataset(write, copies(write.sources, write.copied))
        columns: list[OutputColumn] = []
        sources: list[SourceKinds] = []
        changed = self._changed(write)
        for column in write.columns:
            found: SourceKinds = {}
            before = changed.get(column.name.casefold(), {})
            own = {origin.id for origin in before}
            keeps_value = False
            for part in column.values:
                made = self.trace.expression(part.scope, part.value, part.kind, command)
                others = without_copies(made, own)
                keeps_value = keeps_value or others is not made
                self._edges.join(found, others)
            if keeps_value and not found:
                continue
            # A column that the MERGE itself adds to the table has no value to keep.
            if write.keeps_rows and column.name.casefold() in changed:
                origin = next(iter(before), None)
                kept = Way(self.trace.scopes.path(origin, None) if self.paths and origin is not None else ())
                self._edges.add(found, (write.dataset.identifier, column.name), UseKind.IDENTITY, (kept,))
            columns.append(OutputColumn(column.name, edges_of(found), "" if found else self._text_of(column.values)))
            sources.append(found)
        rows = self._edges.of_rows(write.reads)
        leave_out_generated(rows, sources)
        for part in write.influences:
            self._edges.join(rows, self.trace.expression(part.scope, part.value, part.kind, command))
        taken = {column.name.casefold() for column in write.columns}
        nested = (each for column in write.columns for each in self._nested(column.name, column.values, command))
        # A column may have the dotted name of a field.
        columns += [each for each in nested if each.name.casefold() not in taken]
        return WrittenDataset(write, ColumnLineage(tuple(columns), edges_of(rows), self._wording))

    def _text_of(self, values: tuple[Scoped, ...]) -> str:
        """Return the text of a value that has no sources; empty if it is unknown, or if there are several values."""
        if len(values) != 1:
            return ""
        value, scope = values[0].value, values[0].scope
        if isinstance(value, AttributeRef):
            return self._composer.computed_column(scope[0], value.id) if len(scope) == 1 else ""
        return whole_text(self.plan.expressions[value.index].sql) if isinstance(value, ExpressionRef) else ""

    def _changed(self, write: Write) -> dict[str, dict[Origin, None]]:
        """
        Return the columns of the existing rows that a write changes -> their origins; none if it changes no such rows.

        The same column of the same table may also be a source, under another exprId: in a MERGE of a table with itself.
        The names are in lower case.
        """
        if write.changes is None:
            return {}
        found: dict[str, dict[Origin, None]] = {}
        for column in self.plan.operators[write.changes].output:
            origins = self.trace.column(write.changes, column.id)
            found.setdefault(column.name.casefold(), {}).update(dict.fromkeys(origins))
        return found

    def _nested(self, name: str, values: tuple[Scoped, ...], command: int) -> list[OutputColumn]:
        """Return an output column for each field of a struct: one that the plan builds, or any if all are known."""
        if len(values) != 1 or len(values[0].scope) != 1:
            return []
        type_ = known_type(self.plan, values[0].value)
        if not isinstance(type_, str) or not type_.startswith("{"):
            return []
        return list(self._fields(field_of_type(name, type_), functools.partial(self._found_in, values[0], command), ()))

    def _fields(
        self, column: Field, found_in: Callable[[FieldPath], SourceKinds], path: FieldPath, at: Field | None = None
    ) -> Iterator[OutputColumn]:
        """
        Yield an output column for each field of a struct.

        Args:
            column: the column.
            found_in: returns the sources behind a path in the column.
            path: the path of the struct.
            at: the struct, unless it is the column itself.
        """
        at = column if at is None else at
        # Without sources of fields, those of structs in an array are not distinguished either.
        fields = inner_fields(at) if self._has_fields or at.type == "struct" else ()
        parts = [found_in((*path, each.name)) for each in fields]
        if not self._has_fields and is_stored(found_in(path), parts):
            return
        for each, part in zip(fields, parts, strict=True):
            yield OutputColumn(field_name(column.name, (*path, each.name)), edges_of(part))
            yield from self._fields(column, found_in, (*path, each.name), each)

    def _found_in(self, part: Scoped, command: int, path: FieldPath) -> SourceKinds:
        """Return the sources of a field of the value that a command assigns to a column."""
        if isinstance(part.value, AttributeRef):
            return self._edges.of_column(Origin(part.scope[0], part.value.id), path)
        found: SourceKinds = {}
        self._edges.join(found, self.trace.expression(part.scope, part.value, part.kind, command, path))
        return found

    def _query_lineage(self, query: int, results: Mapping[int, SourceKinds]) -> ColumnLineage:
        output = self.plan.operators[query].output
        columns = tuple(
            OutputColumn(
                column.name, edges_of(found), "" if found else self._composer.computed_column(query, column.id)
            )
            for column in output
            for found in (results[column.id],)
        )
        # The results stay complete, because a later plan may have other columns.
        rows = {field: {kind: list(ways) for kind, ways in kinds.items()} for field, kinds in results[ROWS].items()}
        leave_out_generated(rows, [results[column.id] for column in output])
        return ColumnLineage(columns, edges_of(rows), self._wording)

    def _results(self, query: int | None) -> dict[int, SourceKinds]:
        found: dict[int, SourceKinds] = {}
        if query is not None:
            for output in self.plan.operators[query].output:
                found[output.id] = self._edges.of_column(Origin(query, output.id))
            found[ROWS] = self._edges.of_rows((query,))
        return found

    @functools.cached_property
    def _wording(self) -> Wording:
        """Return the texts of all expressions of the plan, once the earlier plans that it reads are known."""
        written = [each for each in self.plan.expressions if each.sql is not None or each.column is not None]
        written = [each for each in written if not self._is_copy(each)]
        names = [each.column for each in written if each.column is not None]
        for operator in self.plan.operators:
            made = operator.sequence("generatorOutput") if operator.name == "Generate" else ()
            ids = [each.id for each in made if isinstance(each, AttributeRef)]
            names += [self.plan.attributes[id_].name for id_ in ids if id_ in self.plan.attributes]
        texts = dict.fromkeys(whole_text(each.sql) for each in written if each.sql is not None)
        return Wording(frozenset(names), tuple(texts)).joined(self.leaves.remembered_wording)

    def _is_copy(self, expression: Expression) -> bool:
        """Return whether an expression is a column under its own name, as views have them."""
        child = expression.arguments.get("child") if expression.name == "Alias" else None
        copied = uncast(self.plan, child)
        known = self.plan.attributes.get(copied.id) if isinstance(copied, AttributeRef) else None
        return known is not None and known.name == expression.column

    def _texts(self, query: int | None) -> Mapping[int, str]:
        if query is None or not self._is_composed:
            return {}
        return ColumnTexts(self._composer, self.plan, query)

    def _read(self, reached: list[int]) -> None:
        broken = {name.partition(": ")[0] for name in self.plan.broken}
        for at in reached:
            operator = self.plan.operators[at]
            here = self.trace.scopes.lineages[at]
            if not here.known and operator.class_name not in broken and not is_command(operator):
                known = RULES.namesake(operator.class_name)
                what = message_about_namesake("an operator", known) or "an operator without a rule"
                self.leaves.add_gap(operator, f"{what}: each output column is assumed to contain every input column")
            view = permanent_view(self.plan, operator, self.session) if self.session.views else None
            if view is not None:
                # Its columns have no edges: the edges of the tables behind it are already complete.
                self.leaves.add(view)
            if not here.passes_through and not here.computes:
                found = self.leaves.relation(at)
                for dataset in found.datasets:
                    self.leaves.add(dataset)

    def _scanned(self, reached: list[int]) -> dict[int, Identifier]:
        found: dict[int, Identifier] = {}
        for at in reached:
            relation = self.leaves.relations.get(at, NO_DATASETS)
            if len(relation.datasets) == 1:
                found.update(dict.fromkeys(relation.columns, relation.datasets[0].identifier))
                continue
            for id_, columns in relation.columns.items():
                if len({column.dataset for column in columns}) == 1:
                    found[id_] = columns[0].dataset
        return found
