"""The targets of commands as frozen values, the functions that make them, and the lookup of a command's rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import attrs
from openlineage_pyspark.facets.class_rules import ClassRules
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.placed import for_writing
from openlineage_pyspark.facets.datasets.source import Session, relation_of
from openlineage_pyspark.facets.datasets.tables import at_location, catalog_table, table_name
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, fields_of
from openlineage_pyspark.facets.model.lineage import UseKind
from openlineage_pyspark.facets.model.plan import (
    PROJECT,
    SUBQUERY_ALIAS,
    UNION,
    WITH_CTE,
    AttributeRef,
    Described,
    FrozenMap,
    Operator,
    Plan,
    Value,
)
from openlineage_pyspark.facets.model.run import Lifecycle, Replaced


@attrs.frozen
class Scoped:
    """
    An expression of a command.

    Args:
        value: the expression, or an attribute.
        scope: the indices of the operators whose output it reads.
        kind: how it influences the output.
    """

    value: Value
    scope: tuple[int, ...]
    kind: UseKind = UseKind.IDENTITY


@attrs.frozen
class Assigned:
    """
    An output column and the expressions of its value.

    Args:
        name: the name of the column.
        values: the expressions, including the conditions that choose between them.
    """

    name: str
    values: tuple[Scoped, ...]


@attrs.frozen
class Write:
    """
    The write of one command to one dataset.

    Args:
        dataset: the target, with its schema if the command has it.
        reads: the indices of the operators whose rows are written or influence the output; empty for a command without
            data.
        columns: the output's columns with the expressions of their values; empty for a command without data.
        influences: filters and join conditions of the command itself, in addition to those inside `reads`.
        lifecycle: OpenLineage's lifecycleStateChange.
        renamed_from: the identity before a rename.
        label: the output's part of the job's name.
        sources: the datasets that are read but are not part of the plan.
        changes: the index of the operator of the table whose existing rows it changes; None if it changes none. Columns
            that keep their values are then not in `columns`.
        keeps_rows: whether rows may stay unchanged; then each column in `columns` is also an IDENTITY source of itself.
        may_skip: whether it writes nothing if the target exists; the row counts of the run show that, or for a command
            without data, the end of its execution.
        gap: what is unknown about the dataset; None if nothing is missing.
        if_dropped: `database.table` if the command has an effect only when Spark reports that this table was dropped.
        further: more datasets that the command treats the same way.
        replaced: the part that it replaces; None if it replaces nothing, or if that is unknown.
        copied: the columns that it copies from the one dataset in `sources`, under the same names; empty if it copies
            none, or if they are unknown.
    """

    dataset: Dataset
    reads: tuple[int, ...] = ()
    columns: tuple[Assigned, ...] = ()
    influences: tuple[Scoped, ...] = ()
    lifecycle: Lifecycle | None = None
    renamed_from: Identifier | None = None
    label: str = ""
    sources: tuple[Dataset, ...] = ()
    changes: int | None = None
    keeps_rows: bool = False
    may_skip: bool = False
    gap: str | None = None
    if_dropped: str | None = None
    further: tuple[Dataset, ...] = ()
    replaced: Replaced | None = None
    copied: tuple[str, ...] = ()

    @property
    def each(self) -> tuple[Write, ...]:
        """The write to each of its datasets."""
        return (self, *(attrs.evolve(self, dataset=dataset, further=()) for dataset in self.further))


@attrs.frozen
class UnnamedTarget:
    """
    The target of a command whose dataset has no known name.

    Args:
        reads: as in `Write`.
        target: a description of the target; None if nothing is kept.
    """

    reads: tuple[int, ...] = ()
    target: str | None = None


NO_TARGET = UnnamedTarget()
"""The target of a command that affects no dataset, such as a temporary view or a table that does not exist."""

Target = Write | UnnamedTarget

CommandRule = Callable[[Plan, Operator, Session], Target]

WRITES: ClassRules[CommandRule] = ClassRules()
"""Command -> what it writes."""

QUIET: ClassRules[CommandRule] = ClassRules()
"""Commands that write no dataset, and so make no event."""

command = WRITES.rule
reads = WRITES.reads

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
DATASOURCES = "org.apache.spark.sql.execution.datasources"
COMMAND = "org.apache.spark.sql.execution.command"


def by_position(plan: Plan, query: int | None, names: tuple[str, ...] = ()) -> tuple[Assigned, ...]:
    """Return the query's columns, assigned by position to the columns of the output."""
    if query is None:
        return ()
    output = plan.operators[query].output
    return tuple(
        Assigned(names[at] if at < len(names) else column.name, (Scoped(AttributeRef(column.id), (query,)),))
        for at, column in enumerate(output)
    )


def spelt_as(names: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
    """Return `given` in the table's spelling (case-insensitive); names that the table lacks are unchanged."""
    known = {name.casefold(): name for name in names}
    return tuple(known.get(name.casefold(), name) for name in given)


def text_values(values: tuple[Value, ...]) -> tuple[str, ...]:
    """Return the texts in a sequence."""
    return tuple(value for value in values if isinstance(value, str))


def named_fields(plan: Plan, query: int | None, names: tuple[str, ...]) -> tuple[Field, ...]:
    """Return the query's schema with the names of the output's columns."""
    if query is None:
        return ()
    fields = fields_of(plan, plan.operators[query])
    return tuple([_named(f, names[at]) if at < len(names) else f for at, f in enumerate(fields)])


def _named(field: Field, name: str) -> Field:
    return field if field.name == name else Field(name, field.type, field.description, field.fields)


def table_label(dataset: Dataset, name: str | None) -> str:
    """Return a table's part of a job's name, as in the Java integration."""
    return (name or dataset.identifier.name).replace(".", "_")


def trimmed(target: Target, session: Session) -> Target:
    """Return a target with trimmed names, and with a label that is derived from them."""
    if not isinstance(target, Write):
        return target
    trimming = session.trimming
    dataset, was = trimming.dataset(target.dataset), target.renamed_from
    if dataset is target.dataset and not target.sources and not target.further and was is None:
        return target
    return attrs.evolve(
        named_by_its_whole(target, dataset),
        sources=tuple(map(trimming.dataset, target.sources)),
        further=tuple(map(trimming.dataset, target.further)),
        renamed_from=None if was is None else trimming.trimmed(was),
        label=dataset.identifier.path_label if target.label == target.dataset.identifier.path_label else target.label,
    )


def named_by_its_whole(write: Write, whole: Dataset) -> Write:
    """
    Return a write to a folder as one to the dataset that it is a part of.

    What replaces the folder of a day, a partition or a micro-batch leaves the other folders of the dataset as they are,
    and the first files of a folder may be far from the first ones of the dataset.

    Args:
        write: the write.
        whole: its dataset under a shorter name, or the same dataset.
    """
    lifecycle, replaced = write.lifecycle, write.replaced
    if whole.identifier.name != write.dataset.identifier.name:
        if lifecycle == "OVERWRITE":
            replaced = "partitions"
        if lifecycle == "OVERWRITE" or (lifecycle == "CREATE" and whole.type == "FILE"):
            lifecycle = None
    return attrs.evolve(write, dataset=whole, lifecycle=lifecycle, replaced=replaced)


def label_of(dataset: Dataset) -> str:
    """Return the output's part of a job's name: the table's name if it has one, else the end of its path."""
    return table_label(dataset, dataset.symlinks[0].name) if dataset.symlinks else path_or_name(dataset)


def path_or_name(dataset: Dataset) -> str:
    """Return the part of a job's name for a dataset without symlinks, from its path or name."""
    name = name_without_options(dataset)
    return dataset.identifier.path_label if "/" in name else table_label(dataset, name)


_PLAIN = re.compile(r"[\w.-]+")


def name_without_options(dataset: Dataset) -> str:
    """
    Return the name of a dataset for the names of jobs.

    A source that is in no catalog may put its options into its name, as in `Rates(perSecond=1, cores=8)`. The name of
    such a dataset is the class of its table.
    """
    if dataset.guessed:
        return dataset.identifier.name.partition("(")[0]
    namespace, _, table = dataset.identifier.namespace.partition(":")
    has_options = namespace == "datasource" and not _PLAIN.fullmatch(dataset.identifier.name)
    return table if has_options else dataset.identifier.name


def reads_of(query: int | None) -> tuple[int, ...]:
    """Return the value of `Write.reads` for a query; empty without one."""
    return () if query is None else (query,)


def options_of(argument: str) -> dict[str, str]:
    """Return the readings of a table that a command creates; `argument` is the argument that holds the table."""
    return {"url": f"{argument}.storage.properties[url]", "dbtable": f"{argument}.storage.properties[dbtable]"}


def to_be_created(operator: Operator, argument: str) -> Described | None:
    """Return the table that a command with the readings of `options_of` creates."""
    table = operator.described(argument)
    if table is None:
        return None
    given = {key: operator.text(key) for key in ("url", "dbtable")}
    return attrs.evolve(table, values={**table.values, **given})


def write_to_table(
    plan: Plan,
    table: Described,
    query: int | None,
    names: tuple[str, ...],
    session: Session,
    lifecycle: Lifecycle | None,
) -> Target:
    """
    Return a write to a table of the session catalog.

    Args:
        plan: the plan.
        table: the described CatalogTable.
        query: the index of the operator whose rows are written.
        names: the names of the output's columns, in the query's order; empty to use the query's own names.
        session: the session's settings.
        lifecycle: OpenLineage's lifecycleStateChange.

    Returns:
        An UnnamedTarget if the table has no name.
    """
    fields = named_fields(plan, query, names)
    dataset = catalog_table(table, session, fields)
    if dataset is None:
        return UnnamedTarget(reads_of(query), "a table without a name")
    label = table_label(dataset, table_name(table.values.get("identifier"), case_sensitive=session.case_sensitive))
    return Write(dataset, reads_of(query), by_position(plan, query, names), (), lifecycle, label=label)


def write_to_path(
    plan: Plan,
    path: str | None,
    query: int | None,
    names: tuple[str, ...],
    format_: str | None,
    lifecycle: Lifecycle | None,
) -> Target:
    """
    Return a write to a path; an UnnamedTarget if the path is empty.

    Args:
        plan: the plan.
        path: the path of a file or a directory.
        query: the index of the operator whose rows are written.
        names: the names of the output's columns, in the query's order; empty to use the query's own names.
        format_: for example `parquet`.
        lifecycle: OpenLineage's lifecycleStateChange.
    """
    if not path:
        return UnnamedTarget(reads_of(query), "an unknown path")
    dataset = at_location(path, named_fields(plan, query, names), format_)
    return Write(
        dataset,
        reads_of(query),
        by_position(plan, query, names),
        (),
        lifecycle,
        label=dataset.identifier.path_label,
    )


def mode_lifecycle(operator: Operator) -> Lifecycle | None:
    """Return the lifecycle of a save mode: Overwrite -> OVERWRITE, ErrorIfExists -> CREATE, any other -> None."""
    modes: dict[str, Lifecycle] = {"Overwrite": "OVERWRITE", "ErrorIfExists": "CREATE"}
    return modes.get(operator.text("mode") or "")


_OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


def modes_of(options: str) -> dict[str, str]:
    """Return the readings for `is_dynamic`; `options` is the command's argument that holds the write's options."""
    return {"overwriteMode": f"{options}[partitionOverwriteMode]", "sessionMode": f"#conf:{_OVERWRITE_MODE}"}


def is_dynamic(operator: Operator) -> bool:
    """Return whether its option or the session lets an overwrite replace only the partitions that it writes."""
    mode = operator.text("overwriteMode") or operator.text("sessionMode") or ""
    return mode.lower() == "dynamic"


def replacing(target: Target, part: Replaced | None) -> Target:
    """Return a write that replaces all of its target or, without being an OVERWRITE, a part; for None, the same one."""
    if part is None or not isinstance(target, Write):
        return target
    lifecycle = None if part != "all" and target.lifecycle == "OVERWRITE" else target.lifecycle
    return attrs.evolve(target, lifecycle=lifecycle, replaced=part)


_KEEPS_NOTHING = frozenset(
    """
    NoopTable ConsoleTable MemorySink ForeachWriterTable ForeachBatchSink NoopStreamingWrite ConsoleWrite
    MemoryStreamingWrite ContinuousMemorySink
    """.split()
)


def keeps_nothing(target: Described | None) -> bool:
    """Return whether a target is one of Spark's noop, console, memory and foreach sinks."""
    return (
        target is not None
        and target.simple_name in _KEEPS_NOTHING
        and target.class_name.startswith("org.apache.spark.sql.execution.")
    )


def unnamed(target: Described | None, query: int | None) -> UnnamedTarget:
    """
    Return a write to a target without a known name.

    Args:
        target: the table or sink; None if it is unknown.
        query: the index of the operator whose rows are written.
    """
    if target is None:
        return UnnamedTarget(reads_of(query), "an unknown target")
    return UnnamedTarget(reads_of(query), None if keeps_nothing(target) else target.class_name)


def write_to_relation(
    plan: Plan,
    target: int | None,
    query: int | None,
    session: Session,
    lifecycle: Lifecycle | None,
    *,
    by_name: bool = False,
) -> Target:
    """
    Return a write to a relation of the plan; an UnnamedTarget if it keeps nothing or has no known name.

    Args:
        plan: the plan.
        target: the index of the relation.
        query: the index of the operator whose rows are written.
        session: the session's settings.
        lifecycle: OpenLineage's lifecycleStateChange.
        by_name: whether columns are matched by name, and new names add columns; else they are matched by position.
    """
    # Hudi leaves its own columns out by a Project.
    while target is not None and plan.operators[target].class_name in (SUBQUERY_ALIAS, PROJECT):
        target = next(iter(plan.operators[target].children), None)
    if target is None:
        return unnamed(None, query)
    operator = plan.operators[target]
    table = operator.described("table")
    if "where" in operator.arguments:
        arguments = {**operator.arguments, "where": for_writing(operator.arguments["where"])}
        operator = operator._replace(arguments=FrozenMap(arguments))
    found = relation_of(plan, operator, session)
    if found is None or not found.datasets or keeps_nothing(table):
        return unnamed(table or Described(operator.class_name, {}), query)
    # The version at which the table is read is not one that is written.
    dataset = attrs.evolve(found.datasets[0], versions=None)
    names = tuple(column.name for column in operator.output)
    if by_name and query is not None:
        names = spelt_as(names, (column.name for column in plan.operators[query].output))
    dataset = _with_new_columns(dataset, named_fields(plan, query, names))
    return Write(dataset, reads_of(query), by_position(plan, query, names), (), lifecycle, label=label_of(dataset))


def _with_new_columns(dataset: Dataset, written: Iterable[Field]) -> Dataset:
    """Return a table with the columns that a write adds: its schema in the plan is that from before the write."""
    known = {field.name.casefold() for field in dataset.fields}
    new = [field for field in written if field.name.casefold() not in known] if known else []
    return attrs.evolve(dataset, fields=(*dataset.fields, *new)) if new else dataset


_SAME_JOB = {
    "SaveAsV1TableCommand": "CreateDataSourceTableAsSelectCommand",
    "AlterColumns": "AlterColumn",
    "AlterTableChangeColumnCommentsCommand": "AlterTableChangeColumnCommand",
}
"""Command -> its name in another Spark version, so that an upgrade does not rename the job."""


def sinks_of(plan: Plan) -> tuple[int, ...]:
    """Return the indices of the commands at the top of a plan: one, or several for a multi-insert."""
    found: list[int] = []
    stack = [plan.root]
    while stack:
        at = stack.pop()
        operator = plan.operators[at]
        if is_command(operator):
            found.append(at)
        elif operator.class_name in (UNION, WITH_CTE):
            children = operator.children
            stack.extend(reversed(children if operator.class_name == UNION else children[:1]))
    return tuple(found)


def is_known(operator: Operator) -> bool:
    """Return whether an operator is a command that has a rule."""
    return operator.class_name in WRITES or operator.class_name in QUIET


@reads({f"{LOGICAL}.Command": {"isCommand": "nodeName"}})
def is_command(operator: Operator) -> bool:
    """Return whether an operator is a command: a known one, or any other `Command` of Spark or of a connector."""
    return is_known(operator) or "isCommand" in operator.arguments


def namesake(operator: Operator) -> str | None:
    """Return the full name of a known command with the same simple name in another package, if there is one."""
    return None if is_known(operator) else WRITES.namesake(operator.class_name) or QUIET.namesake(operator.class_name)


def write_of(plan: Plan, operator: Operator, session: Session) -> Target:
    """
    Return the target of a command.

    Returns:
        The result of its rule; without a rule, an UnnamedTarget that reads the command's children.
    """
    rule = WRITES.get(operator.class_name) or QUIET.get(operator.class_name)
    if rule is not None:
        return rule(plan, operator, session)
    known = namesake(operator)
    same = f"a command with the same simple name as {known}, but of another class"
    why = same if known else "a command without a rule"
    return UnnamedTarget(operator.children, why)


def job_word(operator: Operator) -> str:
    """Return the command's part of a job's name, as in the Java integration, from the analyzed command."""
    procedure = operator.described("procedure")
    if procedure is not None:
        return f"call_{naming.snake_case(procedure.simple_name.removesuffix('Procedure'))}"
    word = naming.snake_case(_SAME_JOB.get(operator.name, operator.name))
    return f"execute_{word}" if word.endswith("_command") else word
