"""
Compute the lineage of a plan: inputs, outputs and the edges between their columns.

`lineage_of_plan` is the only entry point of the pure core, both for the listener and for `lineage()`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs
from openlineage_pyspark.facets.commands import inserts
from openlineage_pyspark.facets.commands.registry import is_command, job_word, sinks_of, write_of
from openlineage_pyspark.facets.commands.target import Scoped, Target, UnnamedTarget, Write, trimmed
from openlineage_pyspark.facets.datasets import plugins
from openlineage_pyspark.facets.datasets.built_in import SOURCES, relation_of
from openlineage_pyspark.facets.datasets.source import NO_DATASETS, Column, Relation, Session
from openlineage_pyspark.facets.datasets.tables import infers_schema, permanent_view
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, inner_fields
from openlineage_pyspark.facets.model.dataset import field as field_of_type
from openlineage_pyspark.facets.model.lineage import (
    MOST_PATHS,
    Certainty,
    ColumnLineage,
    InputField,
    OperatorStep,
    OutputColumn,
    Transformation,
    UseKind,
    Way,
    Wording,
    compose,
    different,
    transformation,
)
from openlineage_pyspark.facets.model.plan import (
    EXTERNAL_RDD,
    LOGICAL_RDD,
    AttributeRef,
    Expression,
    Operator,
    Plan,
    Value,
)
from openlineage_pyspark.facets.model.run import PATHS, Gap
from openlineage_pyspark.facets.model.variables import VariableName, VariableWrite, variable_of, variable_writes
from openlineage_pyspark.facets.sql_names import field_name, quoted_name
from openlineage_pyspark.facets.trace.composed import ColumnTexts, Composer, uncast
from openlineage_pyspark.facets.trace.expressions import FieldPath, OpaqueCode, called_codes, called_models, known_type
from openlineage_pyspark.facets.trace.operators import RULES
from openlineage_pyspark.facets.trace.solve import ROWS, Origin, Paths, Sources, Trace
from openlineage_pyspark.facets.trace.texts import readable_names, whole_text

SourceField = tuple[Identifier, str]
"""A dataset and one of its columns."""

SourceKinds = dict[SourceField, dict[UseKind, list[Way]]]
"""Source column -> kind of its influence -> its paths, no two of them equal, at most `MOST_PATHS`."""

RememberedKinds = Mapping[SourceField, Mapping[UseKind, Sequence[Way]]]
"""The same of an earlier plan."""

_MOST_NAMES = 5


@attrs.frozen
class WrittenDataset:
    """
    One dataset that a plan writes.

    Args:
        write: the write to it.
        lineage: the lineage of its columns; None for a command without data.
    """

    write: Write
    lineage: ColumnLineage | None


@attrs.frozen
class VariableValue:
    """
    The value of a variable of SQL.

    Args:
        datasets: the datasets that its value was computed from.
        sources: the source columns of its value, with those that decided which row it is from.
        wording: the texts of the expressions that compute it.
    """

    datasets: tuple[Dataset, ...] = ()
    sources: RememberedKinds = attrs.Factory(dict)
    wording: Wording = attrs.Factory(Wording)


@attrs.frozen
class PlanLineage:
    """
    The inputs and outputs of a plan, and the lineage between them.

    Args:
        inputs: the datasets that it reads, each once, in the order of the plan.
        outputs: the datasets that it writes.
        scanned: exprId of a leaf's attribute -> its dataset; the row counts of scans are assigned with it.
        results: exprId of the plan's own output -> its source columns, and ROWS -> the influences on all rows; later
            plans may read rows under these ids.
        texts: exprId of the plan's own output -> its composed text; empty if texts are not composed. They are composed
            on demand, since few plans have rows that later plans read.
        wording: the texts of its expressions.
        columns: the lineage of the plan's own output; None unless it is a query.
        gaps: operators, commands and relations without a rule, and parts that were cut.
        operators: the number of operators in the plan.
        command: the command's part of the job's name; None for a query.
        unnamed: whether it is a command whose target is unknown.
        quiet: whether the plan is a command that writes no dataset, or reads files only to infer their schema.
        code: kind of code that can't be read (`trace.expressions.Code`) -> how often the plan has it.
        streamed: the datasets of each leaf that is a stream, in the order of the plan; none for a source that holds or
            generates its rows, or has no new data in this micro-batch.
        variables: the variables of SQL that it sets, declares or drops, with their new values.
        fields: whether fields of stored structs are sources of their own.
        models: the classes of the models of Spark ML whose code it calls.
    """

    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[WrittenDataset, ...] = ()
    scanned: Mapping[int, Identifier] = attrs.Factory(dict)
    results: Mapping[int, RememberedKinds] = attrs.Factory(dict)
    texts: Mapping[int, str] = attrs.Factory(dict)
    wording: Wording = attrs.Factory(Wording)
    columns: ColumnLineage | None = None
    gaps: tuple[Gap, ...] = ()
    operators: int = 0
    command: str | None = None
    unnamed: bool = False
    quiet: bool = False
    code: Mapping[str, int] = attrs.Factory(dict)
    streamed: tuple[tuple[Identifier, ...], ...] = ()
    variables: Mapping[VariableName, VariableValue] = attrs.Factory(dict)
    fields: bool = False
    models: frozenset[str] = frozenset()


@attrs.frozen
class EarlierPlans:
    """
    The results of earlier plans whose exprIds later plans read, such as checkpoints and micro-batches.

    Args:
        datasets: exprId -> the datasets that its plan read.
        sources: exprId -> its source columns.
        rows: exprId -> the influences on all rows of its plan.
        texts: exprId -> its composed text.
        wordings: exprId -> the texts of the expressions of its plan.
        variables: variable of SQL -> the value that an earlier statement has set.
        columns: the exprIds that are a column as it is: a field of them is that field of the column.
    """

    datasets: Mapping[int, tuple[Dataset, ...]] = attrs.Factory(dict)
    sources: Mapping[int, RememberedKinds] = attrs.Factory(dict)
    rows: Mapping[int, RememberedKinds] = attrs.Factory(dict)
    texts: Mapping[int, str] = attrs.Factory(dict)
    wordings: Mapping[int, Wording] = attrs.Factory(dict)
    variables: Mapping[VariableName, VariableValue] = attrs.Factory(dict)
    columns: frozenset[int] = frozenset()


def lineage_of_plan(
    plan: Plan,
    session: Session,
    memory: EarlierPlans | None = None,
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
        memory: the results of earlier plans of the application.
        is_command: whether Spark reports the plan's top as a command; it may be one without a rule.
        paths: whether each influence has the operators on its path (`Way.operators`), and not only those that are not
            certain.
        composed: whether descriptions are in terms of the columns of sources, and not of the last step.
        fields: whether a field of a stored struct is a source of its own, as `address.city`, and not its column.

    Returns:
        The lineage; `gaps` names everything without a rule, and the assumption made instead.
    """
    analysis = _Analysis(plan, session, memory or EarlierPlans(), paths=paths, composed=composed, fields=fields)
    return analysis.plan_lineage(is_command=is_command)


class _Leaves:
    """The leaves of a plan: their relations and datasets, and the columns that earlier plans computed."""

    def __init__(self, plan: Plan, session: Session, memory: EarlierPlans) -> None:
        self._plan = plan
        self._session = session
        self._memory = memory
        self.datasets: dict[Identifier, Dataset] = {}
        self.gaps: dict[Gap, None] = {}
        self.relations: dict[int, Relation] = {}
        self.unread: set[int] = set()
        self.remembered: dict[int, RememberedKinds] = {}
        self.remembered_rows: dict[int, RememberedKinds] = {}
        self.remembered_wording = Wording()
        self._remembered_texts: dict[int, str] = {}
        self._as_columns: set[int] = set()
        self._names_of_columns: dict[int, frozenset[str]] = {}
        rdds = ((_rdd_id(o), [column.id for column in o.output]) for o in plan.operators if o.class_name == LOGICAL_RDD)
        self._by_rdd: dict[Value, list[int]] = {
            rdd: ids for rdd, ids in rdds if rdd is not None and self._are_remembered(ids)
        }

    def relation(self, at: int) -> Relation:
        """Return the relation of the leaf at an index."""
        known = self.relations.get(at)
        if known is not None:
            return known
        operator = self._plan.operators[at]
        found = self._from_memory(operator)
        if found is None:
            found = relation_of(self._plan, operator, self._session)
            found = None if found is None else found.trimmed(self._session.trimming)
        if found is None:
            if operator.output:
                self.unread.add(at)
                what = _namesake("a source", SOURCES.namesake(operator.class_name)) or "a source without a resolver"
                self.add_gap(operator, f"{what}: what it reads is not known")
                for name, error in plugins.BROKEN.items():
                    why = f"an entry point of {plugins.SOURCES_GROUP} that could not be loaded ({error}, see the log)"
                    self.gaps[Gap(name, f"{why}: what its sources read is not known")] = None
            found = NO_DATASETS
        if found.opaque:
            self.unread.add(at)
            self.add_gap(operator, found.opaque)
        self.relations[at] = found
        rows: dict[SourceField, dict[UseKind, list[Way]]] = {}
        for column in found.rows:
            rows.setdefault((column.dataset, column.name), {})[column.kind] = [Way(certainty=found.certainty)]
        if rows:
            self.remembered_rows[at] = rows
        return found

    def field(self, column: Column, origin: Origin) -> tuple[str, UseKind]:
        """
        Return the name of a source, and how it is taken from what a leaf reads there.

        A field is distinguished from its column only if its name can't be that of another column of the table.

        Args:
            column: the column of a dataset that a leaf's attribute is read from.
            origin: the attribute, or a field of it.
        """
        if not origin.path:
            return column.name, column.kind
        name = field_name(column.name, origin.path)
        if column.kind is UseKind.IDENTITY and name.casefold() not in self._column_names(origin.operator):
            return name, column.kind
        return column.name, compose(UseKind.TRANSFORMATION, column.kind)

    def remembered_field(self, field: SourceField, origin: Origin) -> tuple[SourceField, UseKind]:
        """Return the source that an earlier plan had for an attribute, or for a field of it, and how it is taken."""
        if not origin.path:
            return field, UseKind.IDENTITY
        if origin.id not in self._as_columns:
            return field, UseKind.TRANSFORMATION
        name, kind = self.field(Column(*field), origin)
        return (field[0], name), kind

    def _column_names(self, at: int) -> frozenset[str]:
        """Return the names of the columns of all datasets that a leaf reads, in lower case."""
        known = self._names_of_columns.get(at)
        if known is None:
            names = (field.name.casefold() for each in self.relation(at).datasets for field in each.fields)
            known = self._names_of_columns[at] = frozenset(names)
        return known

    def add(self, dataset: Dataset) -> None:
        """Add a dataset that the plan reads, or what else is known of one."""
        known = self.datasets.get(dataset.identifier)
        if known is None:
            self.datasets[dataset.identifier] = dataset
        elif len(known.fields) < len(dataset.fields):
            self.datasets[dataset.identifier] = dataset.joined(known)
        elif known.fields != dataset.fields:
            names = {f.name for f in known.fields}
            more = tuple(f for f in dataset.fields if f.name not in names)
            self.datasets[dataset.identifier] = attrs.evolve(known.joined(dataset), fields=(*known.fields, *more))
        else:
            self.datasets[dataset.identifier] = known.joined(dataset)

    def add_gap(self, operator: Operator, message: str) -> None:
        """Add a diagnostic about an operator to the event."""
        self.gaps[Gap(operator.class_name, message)] = None

    def source_name(self, origin: Origin) -> str:
        """Return the text for a column of a leaf: the name of its table and its own name."""
        relation = self.relation(origin.operator)
        made = self._remembered_texts.get(origin.id) or relation.texts.get(origin.id)
        if made:
            return made
        columns = relation.columns.get(origin.id, ())
        if len(columns) != 1 or columns[0].kind is not UseKind.IDENTITY:
            known = self._plan.attributes.get(origin.id)
            return quoted_name(known.name) if known is not None else "?"
        dataset, name = columns[0].dataset, quoted_name(columns[0].name)
        return f"{self._names[dataset]}.{name}" if dataset in self._names else name

    @functools.cached_property
    def _names(self) -> dict[Identifier, str]:
        """The readable names of all datasets that the plan reads; used only after all are known."""
        return readable_names(self.datasets.values())

    def _from_memory(self, operator: Operator) -> Relation | None:
        """Return the relation of a leaf whose rows an earlier plan computed; None for any other leaf."""
        variable = variable_of(self._plan, operator)
        if variable is not None:
            return self._of_variable(operator, variable)
        ids = self._remembered_ids(operator)
        if not ids:
            return None
        datasets = {d.identifier: d for i in ids for d in self._memory.datasets[i]}
        for output, id_ in zip(operator.output, ids, strict=True):
            self.remembered[output.id] = self._memory.sources.get(id_, {})
            if id_ in self._memory.columns:
                self._as_columns.add(output.id)
            if id_ in self._memory.texts:
                self._remembered_texts[output.id] = self._memory.texts[id_]
            rows = self._memory.rows.get(id_, {})
            # All columns of an earlier plan have the same influences on their rows.
            self.remembered_rows[-1 - id(rows)] = rows
        for wording in {id(found): found for i in ids if (found := self._memory.wordings.get(i))}.values():
            self.remembered_wording = self.remembered_wording.joined(wording)
        return Relation(tuple(datasets.values()))

    def _of_variable(self, operator: Operator, variable: VariableName) -> Relation:
        """Return the relation of the use of a variable: the sources of the statement that has set it."""
        value = self._memory.variables.get(variable)
        if value is None:
            what = f"the variable {'.'.join(variable.parts)}: the sources of its value are unknown"
            self.add_gap(operator, what)
            return NO_DATASETS
        for output in operator.output:
            self.remembered[output.id] = value.sources
        self.remembered_wording = self.remembered_wording.joined(value.wording)
        return Relation(value.datasets)

    def _remembered_ids(self, operator: Operator) -> list[int]:
        """Return the exprIds under which an earlier plan computed an operator's output, in order; none if none did."""
        if operator.class_name != LOGICAL_RDD:
            return []
        own = [column.id for column in operator.output]
        # If the RDD is joined with itself, Spark gives the second occurrence new exprIds.
        return own if self._are_remembered(own) else self._by_rdd.get(_rdd_id(operator), [])

    def _are_remembered(self, ids: list[int]) -> bool:
        return bool(ids) and all(i in self._memory.datasets for i in ids)


class _Analysis:
    def __init__(
        self, plan: Plan, session: Session, memory: EarlierPlans, *, paths: bool, composed: bool, fields: bool
    ) -> None:
        self.plan = plan
        self.paths = paths
        self.session = session
        self.trace = Trace(plan, fields=fields)
        self._has_fields = fields
        self.leaves = _Leaves(plan, session, memory)
        # Nothing that it calls refers to it: in a cycle, the plan would wait for a full collection of the garbage.
        self._composer = Composer(self.trace, self.leaves.source_name)
        self._is_composed = composed
        # The columns with omitted paths.
        self._left_out: dict[SourceField, None] = {}

    def plan_lineage(self, *, is_command: bool) -> PlanLineage:
        plan = self.plan
        sinks = sinks_of(plan) or ((plan.root,) if is_command else ())
        found = [trimmed(write_of(plan, plan.operators[at], self.session), self.session) for at in sinks]
        written = [
            (at, each)
            for at, write in zip(sinks, found, strict=True)
            if isinstance(write, Write)
            for each in write.each
        ]
        writes = tuple(write for _, write in written)
        unknown = self._add_unknown_targets(sinks, found)
        query = None if sinks else plan.root
        streamed = inserts.streamed_query(plan)
        if streamed is not None:
            tops = {streamed}
        else:
            tops = {plan.root} if query is not None else {read for target in found for read in target.reads}
        tops |= self._held(sinks, writes) if writes else set()
        variables = variable_writes(plan)
        holding = {each.query for each in variables if each.query is not None}
        holding.update(self.trace.scopes.subqueries_in(each.value for each in variables))
        reached = sorted({at for top in (*tops, *holding) for at in self.trace.scopes.reachable(top)})
        self._read(reached)
        outputs = tuple(self._written(write, at) for at, write in written)
        self._add_missing()
        results = self._results(query if streamed is None else streamed)
        texts = self._texts(query if streamed is None else streamed)
        columns = self._query_lineage(query, results) if query is not None else None
        self._add_left_out()
        return PlanLineage(
            inputs=tuple(self.leaves.datasets.values()),
            outputs=outputs,
            scanned=self._scanned(reached),
            results=results,
            texts=texts,
            wording=self._wording,
            columns=columns,
            gaps=tuple(self.leaves.gaps),
            operators=len(plan.operators),
            command=job_word(plan.operators[sinks[0]]) if sinks else None,
            unnamed=unknown and not writes,
            quiet=(bool(sinks) and not tops and not writes and not unknown)
            or any(infers_schema(plan.operators[at]) for at in reached if not sinks),
            code=self._code(reached),
            streamed=self._streamed(streamed) if streamed is not None else (),
            variables={each.name: self._variable(each) for each in variables},
            fields=self._has_fields,
            models=called_models(plan),
        )

    def _add_unknown_targets(self, sinks: Sequence[int], found: Sequence[Target]) -> bool:
        """Add the gaps about the targets of commands, and return whether one of them has no name."""
        unknown = False
        for at, target in zip(sinks, found, strict=True):
            if isinstance(target, UnnamedTarget) and target.target is not None:
                unknown = True
                self.leaves.add_gap(self.plan.operators[at], f"{target.target}: what it writes is not known")
            elif isinstance(target, Write) and target.gap is not None:
                self.leaves.add_gap(self.plan.operators[at], target.gap)
        return unknown

    def _held(self, sinks: Sequence[int], writes: Sequence[Write]) -> set[int]:
        """Return the tops of the queries that commands hold in their own expressions."""
        tops = {top for at in sinks for top in self.trace.scopes.subqueries(at)}
        # The values of an UPDATE that Spark has rewritten may be anywhere in the query.
        parts = [part for write in writes for column in write.columns for part in column.values]
        tops.update(at for part in parts for at in part.scope)
        tops.update(self.trace.scopes.subqueries_in(part.value for part in parts))
        return tops

    def _add_missing(self) -> None:
        """Add a diagnostic if a part of the plan was cut, and for each that could not be read."""
        if self.plan.cut:
            self.leaves.gaps[Gap("plan", "the plan was larger than its bounds and was cut")] = None
        for broken in self.plan.broken:
            name, _, problem = broken.partition(": ")
            message = f"could not be read ({problem}): what passes through it is unknown"
            self.leaves.gaps[Gap(name, message)] = None

    def _variable(self, write: VariableWrite) -> VariableValue:
        """Return the value of a variable after a statement: a column of one row, or the result of an expression."""
        found: SourceKinds = {}
        if write.query is not None:
            found = self._found(Origin(write.query, write.id))
            for field, kinds in self._rows((write.query,)).items():
                for kind, ways in kinds.items():
                    self._add(found, field, kind, ways)
        elif write.value is not None:
            self._join(found, self.trace.expression((self.plan.root,), write.value, UseKind.IDENTITY, self.plan.root))
        return VariableValue(tuple(self.leaves.datasets.values()), found, self._wording)

    def _code(self, reached: list[int]) -> dict[str, int]:
        """Return how often the plan has each kind of code that can't be read, as metrics name the kinds."""
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
            return WrittenDataset(write, None)
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
                others = _without_copies(made, own)
                keeps_value = keeps_value or others is not made
                self._join(found, others)
            if keeps_value and not found:
                continue
            # A column that the MERGE itself adds to the table has no value to keep.
            if write.keeps_rows and column.name.casefold() in changed:
                origin = next(iter(before), None)
                kept = Way(self.trace.scopes.path(origin, None) if self.paths and origin is not None else ())
                self._add(found, (write.dataset.identifier, column.name), UseKind.IDENTITY, (kept,))
            columns.append(OutputColumn(column.name, _edges(found)))
            sources.append(found)
        rows = self._rows(write.reads)
        _leave_out_generated(rows, sources)
        for part in write.influences:
            self._join(rows, self.trace.expression(part.scope, part.value, part.kind, command))
        taken = {column.name.casefold() for column in write.columns}
        nested = (each for column in write.columns for each in self._nested(column.name, column.values, command))
        # A column may have the dotted name of a field.
        columns += [each for each in nested if each.name.casefold() not in taken]
        return WrittenDataset(write, ColumnLineage(tuple(columns), _edges(rows), self._wording))

    def _changed(self, write: Write) -> dict[str, dict[Origin, None]]:
        """
        Return the columns of the rows that a write changes -> where they come from; none if it changes no such rows.

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

    def _rows(self, queries: tuple[int, ...]) -> SourceKinds:
        """Return the influences on all rows of queries, including the rows that come from earlier plans."""
        rows: SourceKinds = {}
        for query in queries:
            self._join(rows, self.trace.rows(query))
        for earlier in self.leaves.remembered_rows.values():
            for field, kinds in earlier.items():
                for kind, ways in kinds.items():
                    self._add(rows, field, kind, ways)
        return rows

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
        if not self._has_fields and _is_stored(found_in(path), parts):
            return
        for each, part in zip(fields, parts, strict=True):
            yield OutputColumn(field_name(column.name, (*path, each.name)), _edges(part))
            yield from self._fields(column, found_in, (*path, each.name), each)

    def _found_in(self, part: Scoped, command: int, path: FieldPath) -> SourceKinds:
        """Return the sources of a field of the value that a command assigns to a column."""
        if isinstance(part.value, AttributeRef):
            return self._found(Origin(part.scope[0], part.value.id), path)
        found: SourceKinds = {}
        self._join(found, self.trace.expression(part.scope, part.value, part.kind, command, path))
        return found

    def _found(self, column: Origin, path: FieldPath = ()) -> SourceKinds:
        found: SourceKinds = {}
        self._join(found, self.trace.column(column.operator, column.id, path))
        return found

    def _query_lineage(self, query: int, results: Mapping[int, SourceKinds]) -> ColumnLineage:
        output = self.plan.operators[query].output
        columns = tuple(OutputColumn(column.name, _edges(results[column.id])) for column in output)
        # Later plans may have other columns: the remembered column stays whole.
        rows = {field: {kind: list(ways) for kind, ways in kinds.items()} for field, kinds in results[ROWS].items()}
        _leave_out_generated(rows, [results[column.id] for column in output])
        return ColumnLineage(columns, _edges(rows), self._wording)

    def _results(self, query: int | None) -> dict[int, SourceKinds]:
        found: dict[int, SourceKinds] = {}
        if query is not None:
            for output in self.plan.operators[query].output:
                found[output.id] = self._found(Origin(query, output.id))
            found[ROWS] = self._rows((query,))
        return found

    def _text(self, kind: UseKind, last: OperatorStep | None, origin: Origin) -> str | None:
        """Return the composed text of a way; empty for a plain copy, and None if texts are not composed."""
        if not self._is_composed:
            return None
        return "" if kind is UseKind.IDENTITY else self._composer.step(last, origin)

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
                what = _namesake("an operator", known) or "an operator without a rule"
                self.leaves.add_gap(operator, f"{what}: each output column is assumed to contain every input column")
            view = permanent_view(self.plan, operator, self.session) if self.session.views else None
            if view is not None:
                # Its columns have no edges: those of the tables behind it are the whole truth already.
                self.leaves.add(view)
            if not here.passes_through and not here.computes:
                found = self.leaves.relation(at)
                for dataset in found.datasets:
                    self.leaves.add(dataset)

    def _join(self, found: SourceKinds, sources: Sources) -> None:
        """Add sources, replacing the leaves' attributes by columns of datasets."""
        leaves = self.leaves
        for origin, kinds in sources.items():
            relation = leaves.relation(origin.operator)
            columns = relation.columns.get(origin.id, ())
            remembered = leaves.remembered.get(origin.id, {})
            for kind, paths in kinds.items():
                ways = self._ways(kind, paths, origin, relation)
                for column in columns:
                    name, inner = leaves.field(column, origin) if origin.path else (column.name, column.kind)
                    self._add(found, (column.dataset, name), compose(kind, inner), ways)
                for field, earlier in remembered.items():
                    source, taken = leaves.remembered_field(field, origin)
                    for inner, before in earlier.items():
                        both = (first.then(way) for first in before for way in ways)
                        self._add(found, source, compose(compose(kind, taken), inner), both)
                if len(paths) > MOST_PATHS and (self.paths or kind is not UseKind.IDENTITY):
                    self._left_out |= dict.fromkeys((column.dataset, column.name) for column in columns)
                    self._left_out |= dict.fromkeys(remembered)

    def _ways(self, kind: UseKind, paths: Paths, origin: Origin, relation: Relation) -> list[Way]:
        """Return the paths from a column of a relation, as far as they are kept."""
        found = []
        least = min(relation.certainty, Certainty.OPAQUE) if relation.opaque else relation.certainty
        for last in paths[:MOST_PATHS]:
            certainty = min(last.least, least) if last is not None else least
            wanted = self.paths or certainty is not Certainty.EXACT
            text = self._text(kind, last, origin)
            if text == "":
                text = relation.texts.get(origin.id, "")
            operators = self.trace.scopes.path(origin, last) if wanted else ()
            found.append(Way(operators, last, certainty, text))
        return found

    def _add(self, found: SourceKinds, field: SourceField, kind: UseKind, ways: Iterable[Way]) -> None:
        """Add the paths of a source in one kind: each that differs in what is shown of it, as many as are kept."""
        there = found.setdefault(field, {}).setdefault(kind, [])
        for way in ways:
            if there and any(_is_shown_alike(way, each) for each in there):
                continue
            if len(there) == MOST_PATHS:
                self._left_out[field] = None
                break
            there.append(way)

    def _add_left_out(self) -> None:
        """Add a diagnostic for each dataset with columns whose paths are left out."""
        columns: dict[Identifier, list[str]] = {}
        for dataset, name in self._left_out:
            columns.setdefault(dataset, []).append(name)
        for dataset, names in columns.items():
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            shown = f"{', '.join(sorted(names)[:_MOST_NAMES])}{more} of {dataset.name}"
            message = (
                f"more than {MOST_PATHS} paths of one kind lead from {shown} to one target: the others are left out"
            )
            self.leaves.gaps[Gap(PATHS, message)] = None

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


def _namesake(what: str, known: str | None) -> str | None:
    """Return the message about an operator that shares its simple name with a known class; None if it does not."""
    return f"{what} with the name of {known}, which is another class" if known else None


def _rdd_id(operator: Operator) -> Value:
    rdd = operator.described("rdd")
    return None if rdd is None else rdd.values.get("id")


def _is_stored(whole: SourceKinds, fields: Sequence[SourceKinds]) -> bool:
    """Return whether a source stores a struct as it is: each field has the whole as its source, never as IDENTITY."""
    return all(each.keys() == whole.keys() and not any(UseKind.IDENTITY in k for k in each.values()) for each in fields)


def _without_copies(sources: Sources, own: set[int]) -> Sources:
    """Return sources without the values that are copies of the attributes with some exprIds."""
    copied = {origin for origin, kinds in sources.items() if origin.id in own and not origin.path}
    copied = {origin for origin in copied if UseKind.IDENTITY in sources[origin]}
    if not copied:
        return sources
    return {
        origin: {kind: paths for kind, paths in kinds.items() if kind is not UseKind.IDENTITY or origin not in copied}
        for origin, kinds in sources.items()
    }


def _leave_out_generated(rows: SourceKinds, columns: list[SourceKinds]) -> None:
    """Leave out a generator's influences on the number of rows, if each column is made by that generator."""
    for field, kinds in list(rows.items()):
        if UseKind.GENERATE not in kinds or not columns:
            continue
        made = [column.get(field, {}) for column in columns]
        left = [w for w in kinds[UseKind.GENERATE] if not all(_is_made_by(w.last, column) for column in made)]
        if left:
            kinds[UseKind.GENERATE] = left
        else:
            del kinds[UseKind.GENERATE]
            if not kinds:
                del rows[field]


def _is_made_by(generator: OperatorStep | None, kinds: Mapping[UseKind, Sequence[Way]]) -> bool:
    return generator is not None and any(
        kind.direct and any(step.operator == generator.operator for way in ways for step in way.steps)
        for kind, ways in kinds.items()
    )


def _is_shown_alike(one: Way, other: Way) -> bool:
    """Return whether two paths look the same in the event. The steps of a path without operators are not shown."""
    if one.operators or other.operators:
        return one == other
    texts = [way.shown if way.composed is None else way.composed for way in (one, other)]
    return texts[0] == texts[1] and one[2] == other[2]


def _edges(found: SourceKinds) -> tuple[InputField, ...]:
    return tuple(
        InputField(dataset, name, tuple(sorted(_transformations(kinds))))
        for (dataset, name), kinds in sorted(found.items(), key=lambda item: _order(*item[0]))
    )


def _order(dataset: Identifier, name: str) -> tuple[str, str, str]:
    return dataset.namespace, dataset.name, name


def _transformations(kinds: Mapping[UseKind, Sequence[Way]]) -> tuple[Transformation, ...]:
    """Return the transformations of one source, each once."""
    return different([transformation(kind, way) for kind, ways in kinds.items() for way in ways])
