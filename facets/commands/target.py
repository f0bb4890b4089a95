"""What a command writes, as values, and the ways in which they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs
from openlineage_pyspark.facets.datasets import resolve
from openlineage_pyspark.facets.datasets.resolve import Session
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.model.lineage import Kind
from openlineage_pyspark.facets.model.plan import AttributeRef, Described, Operator, Plan, Value
from openlineage_pyspark.facets.model.schema import fields_of


@attrs.frozen
class Scoped:
    """
    An expression of a command.

    Args:
        value: the expression, or an attribute.
        scope: indices of the operators over whose output it stands.
        kind: how it goes in.
    """

    value: Value
    scope: tuple[int, ...]
    kind: Kind = Kind.IDENTITY


@attrs.frozen
class Assigned:
    """
    An output column and the expressions that it is set to.

    Args:
        name: the column.
        values: what it is made of.
    """

    name: str
    values: tuple[Scoped, ...]


@attrs.frozen
class Write:
    """
    What one command does to one dataset.

    Args:
        dataset: which, with its schema where the command tells it.
        reads: indices of the operators whose rows go in, or decide; empty for a command that carries no data.
        columns: the output's columns with what they are set to; empty for a command that carries no data.
        rows: what decides besides what decides about the rows of `reads`.
        lifecycle: OpenLineage's lifecycleStateChange.
        renamed_from: the identity before a rename.
        label: the output's part of the job's name.
        sources: datasets that are read without being part of the plan.
        in_place: whether it changes rows that are there: a column that keeps its value is not written then.
        keeps_rows: whether the columns that it sets keep their values in rows that it leaves alone, which is told.
        may_skip: whether it writes nothing where its target is there already, which what was counted shows.
        remark: what is not known of the dataset.
    """

    dataset: Dataset
    reads: tuple[int, ...] = ()
    columns: tuple[Assigned, ...] = ()
    rows: tuple[Scoped, ...] = ()
    lifecycle: str | None = None
    renamed_from: Identifier | None = None
    label: str = ""
    sources: tuple[Dataset, ...] = ()
    in_place: bool = False
    keeps_rows: bool = False
    may_skip: bool = False
    remark: str | None = None


@attrs.frozen
class Unnamed:
    """
    A command without a dataset that could be named.

    Args:
        reads: as in `Write`.
        target: what it writes to, as far as that can be told; None where nothing is kept.
    """

    reads: tuple[int, ...] = ()
    target: str | None = None


NOTHING = Unnamed()
"""A command that has nothing to do with datasets after all: of a temporary view, of a table that isn't there."""

Found = Write | Unnamed
Rule = Callable[[Plan, Operator, Session], Found]


def by_position(plan: Plan, query: int | None, names: tuple[str, ...] = ()) -> tuple[Assigned, ...]:
    """The query's columns under the names that they get in the output."""
    if query is None:
        return ()
    output = plan.operators[query].output
    return tuple(
        Assigned(names[at] if at < len(names) else column.name, (Scoped(AttributeRef(column.id), (query,)),))
        for at, column in enumerate(output)
    )


def spelt_as(names: Iterable[str], given: Iterable[str]) -> tuple[str, ...]:
    """The given names as those of a table are spelt, whose case does not count; one that it has not, as it is."""
    known = {name.casefold(): name for name in names}
    return tuple(known.get(name.casefold(), name) for name in given)


def texts(values: tuple[Value, ...]) -> tuple[str, ...]:
    """The texts in a sequence."""
    return tuple(value for value in values if isinstance(value, str))


def named_fields(plan: Plan, query: int | None, names: tuple[str, ...]) -> tuple[Field, ...]:
    """The query's schema under the names that its columns get in the output."""
    if query is None:
        return ()
    fields = fields_of(plan, plan.operators[query])
    return tuple(attrs.evolve(f, name=names[at]) if at < len(names) else f for at, f in enumerate(fields))


def path_label(dataset: Dataset) -> str:
    """A path's part of a job's name: its last two parts, as the Java integration has it."""
    parts = [part for part in dataset.identifier.name.split("/") if part]
    return "_".join(parts[-2:]) or "root"


def table_label(dataset: Dataset, name: str | None) -> str:
    """A table's part of a job's name, as the Java integration has it."""
    return (name or dataset.identifier.name).replace(".", "_")


def label_of(dataset: Dataset) -> str:
    """The output's part of a job's name: the table's name where it has one, else its path's end."""
    return table_label(dataset, dataset.symlinks[0].name) if dataset.symlinks else path_or_name(dataset)


def path_or_name(dataset: Dataset) -> str:
    """The part of a job's name of a dataset that has no table's name beside its own."""
    return path_label(dataset) if "/" in dataset.identifier.name else table_label(dataset, None)


def reads_of(query: int | None) -> tuple[int, ...]:
    """What a command with this query reads."""
    return () if query is None else (query,)


def to_table(
    plan: Plan, table: Described, query: int | None, names: tuple[str, ...], session: Session, lifecycle: str | None
) -> Found:
    """
    A write to a table of the session catalog.

    Args:
        plan: the plan.
        table: the described CatalogTable.
        query: index of the operator whose rows go in.
        names: of the output's columns, in the query's order; the query's own where there are none.
        session: what the session's configuration says.
        lifecycle: OpenLineage's lifecycleStateChange.

    Returns:
        an Unnamed where it can't be told which dataset that is.
    """
    fields = named_fields(plan, query, names)
    dataset = resolve.catalog_table(table, session, fields)
    if dataset is None:
        return Unnamed(reads_of(query), "a table without a name")
    label = table_label(dataset, resolve.table_name(table.values.get("identifier")))
    return Write(dataset, reads_of(query), by_position(plan, query, names), (), lifecycle, label=label)


def to_path(
    plan: Plan, path: str | None, query: int | None, names: tuple[str, ...], format_: str | None, lifecycle: str | None
) -> Found:
    """A write to a path; the arguments as in `to_table`, an Unnamed where there is no path."""
    if not path:
        return Unnamed(reads_of(query), "a path that was not told")
    dataset = resolve.at_location(path, named_fields(plan, query, names), format_)
    return Write(dataset, reads_of(query), by_position(plan, query, names), (), lifecycle, label=path_label(dataset))


def mode_lifecycle(operator: Operator, name: str = "mode") -> str | None:
    """The lifecycle of a save mode: what may only be made new is made new."""
    return {"Overwrite": "OVERWRITE", "ErrorIfExists": "CREATE"}.get(operator.text(name) or "")


_KEEPS_NOTHING = frozenset(
    """
    NoopTable ConsoleTable MemorySink ForeachWriterTable ForeachBatchSink NoopStreamingWrite ConsoleWrite
    MemoryStreamingWrite ContinuousMemorySink
    """.split()
)


def into(target: Described | None, query: int | None) -> Unnamed:
    """A write into what is no relation of the plan: the noop, console and memory sinks keep nothing."""
    if target is None:
        return Unnamed(reads_of(query), "a target that was not told")
    return Unnamed(reads_of(query), None if target.simple_name in _KEEPS_NOTHING else target.class_name)


def into_relation(
    plan: Plan,
    target: int | None,
    query: int | None,
    session: Session,
    lifecycle: str | None,
    *,
    by_name: bool = False,
) -> Found:
    """
    A write into the relation at an index of the plan; an Unnamed where it keeps nothing or can't be named.

    Args:
        plan: the plan.
        target: index of the relation.
        query: index of the operator whose rows go in.
        session: what the session's configuration says.
        lifecycle: OpenLineage's lifecycleStateChange.
        by_name: whether a column goes into the one of its name, or else is a new one, rather than by its position.
    """
    while target is not None and plan.operators[target].name == "SubqueryAlias":
        target = next(iter(plan.operators[target].children), None)
    if target is None:
        return into(None, query)
    operator = plan.operators[target]
    table = operator.described("table")
    found = resolve.relation(plan, operator, session)
    if found is None or not found.datasets or (table is not None and table.simple_name in _KEEPS_NOTHING):
        return into(table or Described(operator.class_name, {}), query)
    dataset = found.datasets[0]
    names = tuple(column.name for column in operator.output)
    if by_name and query is not None:
        names = spelt_as(names, (column.name for column in plan.operators[query].output))
    return Write(dataset, reads_of(query), by_position(plan, query, names), (), lifecycle, label=label_of(dataset))
