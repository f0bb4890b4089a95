"""Delta Lake's own commands: for MERGE, UPDATE and DELETE, which replace Spark's, and for whole tables."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from openlineage_pyspark.facets.commands.row_level import Action, Setting, changed, merged
from openlineage_pyspark.facets.commands.tables import named_only, resolved_table
from openlineage_pyspark.facets.commands.target import (
    NO_TARGET,
    Target,
    UnnamedTarget,
    Write,
    command,
    label_of,
    unnamed,
    write_to_path,
    write_to_relation,
    write_to_table,
)
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.datasets.tables import at_location, catalog_table
from openlineage_pyspark.facets.model.dataset import Dataset, TableVersions, schema_fields
from openlineage_pyspark.facets.model.plan import AttributeRef, Described, Expression, Operator, Plan, Value
from openlineage_pyspark.facets.model.run import Lifecycle

_DELTA = "org.apache.spark.sql.delta.commands"
_CLAUSES = ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses")


@command({_DELTA: "MergeIntoCommand"})
def _merge(plan: Plan, operator: Operator, session: Session) -> Target:
    """MERGE of Delta Lake: each clause's actions, one for each column of the table."""
    target, source = operator.operator("target"), operator.operator("source")
    # A MERGE into an unknown table still reads its source.
    found = write_to_relation(plan, target, source, session, None)
    if target is None or source is None or not isinstance(found, Write):
        return found
    kept = _columns(plan, target)
    actions = (
        Action(
            clause.arguments.get("condition"),
            tuple(_assigned(plan, clause, kept)),
            name,
            deletes=clause.name.endswith("DeleteClause"),
        )
        for name in _CLAUSES
        for clause in plan.expressions_of(operator.sequence(name))
    )
    made = merged(found, (target, source), operator.arguments.get("condition"), actions)
    # The table's schema afterwards, if the MERGE adds columns to it.
    fields = schema_fields(operator.text("migratedSchema"))
    return attrs.evolve(made, dataset=attrs.evolve(made.dataset, fields=fields)) if fields else made


def _assigned(plan: Plan, clause: Expression, kept: dict[int, str]) -> Iterator[Setting]:
    for action in plan.expressions_of(clause.sequence("actions")):
        parts, value = action.sequence("targetColNameParts"), action.arguments.get("expr")
        name = parts[0] if parts else None
        if isinstance(name, str) and not _keeps(kept, name, value):
            yield Setting(name, value)


@command({_DELTA: "UpdateCommand DeleteCommand"})
def _row_level(plan: Plan, operator: Operator, session: Session) -> Target:
    """DELETE and UPDATE of Delta Lake: an expression for each column of the table, and the condition."""
    target = operator.operator("target")
    found = write_to_relation(plan, target, None, session, None)
    if target is None or not isinstance(found, Write):
        return found
    kept = _columns(plan, target)
    names = (column.name for column in plan.operators[target].output)
    values = operator.sequence("updateExpressions")
    assigned = (
        Setting(name, value) for name, value in zip(names, values, strict=False) if not _keeps(kept, name, value)
    )
    return changed(plan, found, target, assigned, operator)


def _columns(plan: Plan, target: int) -> dict[int, str]:
    return {column.id: column.name for column in plan.operators[target].output}


def _keeps(kept: dict[int, str], name: str, value: Value) -> bool:
    """Return whether a column is set to itself, as Delta Lake does with each column that keeps its value."""
    return isinstance(value, AttributeRef) and kept.get(value.id, "").casefold() == name.casefold()


@command(
    {_DELTA: "RestoreTableCommand"},
    reads={
        "table": "sourceTable.catalogTable",
        "path": "sourceTable.path",
        "version": "sourceTable.timeTravelOpt.version",
    },
)
def _restore(_: Plan, operator: Operator, session: Session) -> Target:
    """RESTORE: the table gets the rows of an older version of itself."""
    dataset = _dataset(operator, "table", "path", session)
    if dataset is None:
        return unnamed(None, None)
    return Write(dataset, lifecycle="OVERWRITE", label=label_of(dataset), sources=(_at(dataset, operator, "version"),))


def _dataset(operator: Operator, table: str, path: str, session: Session) -> Dataset | None:
    """Return the table that the readings of a command describe: as a CatalogTable, or by its path."""
    described, where = operator.described(table), operator.text(path)
    if described is not None:
        return catalog_table(described, session)
    return at_location(where, file_format="delta") if where else None


def _at(dataset: Dataset, operator: Operator, reading: str) -> Dataset:
    """Return a dataset at the version in a reading of a command, if there is one."""
    version = operator.arguments.get(reading)
    known = TableVersions("delta", (str(version),)) if isinstance(version, int) else None
    return attrs.evolve(dataset, versions=known)


@command(
    {_DELTA: "CloneTableCommand"},
    reads={
        "sourceMetadata": "sourceTable.catalogTable",
        "sourcePath": "sourceTable.dataPath",
        "sourceVersion": "sourceTable.@sourceSnapshot.version",
    },
)
def _clone_alone(_: Plan, operator: Operator, session: Session) -> Target:
    """CLONE into a path that is not a table of the catalog."""
    path = operator.text("targetPath")
    if path is None:
        return unnamed(None, None)
    dataset = at_location(path, file_format="delta")
    return Write(dataset, lifecycle="CREATE", label=label_of(dataset), sources=_cloned(operator, session))


def _cloned(clone: Operator, session: Session) -> tuple[Dataset, ...]:
    """Return the table that a CLONE copies, at its version."""
    source = _dataset(clone, "sourceMetadata", "sourcePath", session)
    return () if source is None else (_at(source, clone, "sourceVersion"),)


@command({_DELTA: "CreateDeltaTableCommand"})
def _clone(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE TABLE with CLONE: the new table has the rows of another table."""
    query, table = operator.operator("query"), operator.described("table")
    clone = plan.operators[query] if query is not None else None
    if table is None or clone is None or clone.class_name != f"{_DELTA}.CloneTableCommand":
        return UnnamedTarget(operator.children, "a table of Delta Lake")
    mode = operator.described("operation")
    lifecycle: Lifecycle = "OVERWRITE" if mode is not None and "Replace" in mode.class_name else "CREATE"
    path = _path_in(table.values.get("identifier"))
    found = (
        write_to_path(plan, path, None, (), "delta", lifecycle)
        if path is not None
        else write_to_table(plan, table, None, (), session, lifecycle)
    )
    if not isinstance(found, Write):
        return found
    # Delta Lake gives the new table the columns of the table that it copies.
    columns = schema_fields(table.text("schema"))
    sources = _cloned(clone, session)
    return attrs.evolve(
        found,
        dataset=attrs.evolve(found.dataset, fields=found.dataset.fields or columns),
        sources=tuple(attrs.evolve(each, fields=each.fields or columns) for each in sources),
        copied=tuple(column.name for column in columns),
    )


def _path_in(identifier: Value) -> str | None:
    """Return the path in a name such as delta.`/path` or parquet.`/path`; None if a name has none."""
    table = identifier.text("table") if isinstance(identifier, Described) else None
    return table if table is not None and naming.is_absolute(table) else None


@command({_DELTA: "ConvertToDeltaCommand"}, reads=named_only("table", "tableIdentifier"))
def _convert(plan: Plan, operator: Operator, session: Session) -> Target:
    """CONVERT TO DELTA: the same files become a table of Delta Lake."""
    identifier, metadata = operator.described("tableIdentifier"), operator.described("tableMetadata")
    path = _path_in(identifier) or operator.text("deltaPath")
    found: Target = unnamed(None, None)
    if path is not None:
        found = write_to_path(plan, path, None, (), "delta", "ALTER")
    elif identifier is not None:
        known = metadata or Described(
            "CatalogTable", {"identifier": identifier, "defaultPath": operator.text("tablePath")}
        )
        found = write_to_table(plan, known, None, (), session, "ALTER")
    return attrs.evolve(found, sources=(found.dataset,)) if isinstance(found, Write) else found


@command({_DELTA: "OptimizeTableCommand DeltaReorgTableCommand", "io.delta.tables.execution": "VacuumTableCommand"})
def _tidy(plan: Plan, operator: Operator, session: Session) -> Target:
    """OPTIMIZE, REORG and VACUUM: a new version of the table has the same rows in other files."""
    resolved = next((plan.operators[below] for below in operator.children), None)
    if operator.arguments.get("dryRun") is True:
        return NO_TARGET
    dataset = resolved_table(plan, resolved, session) if resolved is not None else None
    if dataset is None:
        return unnamed(None, None)
    return Write(dataset, label=label_of(dataset), sources=(dataset,))
