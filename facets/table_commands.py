"""The commands on a table as a whole: made, altered, renamed, emptied, dropped, loaded."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets import relations
from openlineage_pyspark.facets.dataset import Dataset, Field, Identifier
from openlineage_pyspark.facets.relations import Session
from openlineage_pyspark.facets.schema import field, fields_of, schema_fields
from openlineage_pyspark.facets.written import (
    Rule,
    Write,
    by_position,
    label_of,
    named_fields,
    table_label,
    texts,
    to_table,
)
from openlineage_pyspark.listener.plan import Described, Operator, Plan


def _create_table(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """CREATE TABLE without a query."""
    table = operator.described("table")
    return None if table is None else to_table(plan, table, None, (), session, "CREATE")


def _create_like(_: Plan, operator: Operator, session: Session) -> Write | None:
    """CREATE TABLE LIKE: the columns of another table, none of its rows."""
    return _existing(operator, session, "CREATE", "target", "source")


def _existing(
    operator: Operator, session: Session, lifecycle: str, reading: str = "table", schema_of: str = "table"
) -> Write | None:
    """A command on a table that is named only: what the catalog says of it, or else where it would lie."""
    table = operator.described(f"{reading}Metadata")
    identifier = operator.described(f"{reading}Identifier")
    other = operator.described(f"{schema_of}Metadata")
    fields = schema_fields(other.text("schema")) if other is not None else ()
    if table is None and identifier is not None:
        table = Described(
            "CatalogTable", {"identifier": identifier, "defaultPath": operator.arguments.get(f"{reading}Path")}
        )
    dataset = relations.catalog_table(table, session, fields) if table is not None else None
    if dataset is None:
        return None
    name = relations.table_name(table.values.get("identifier")) if table is not None else None
    return Write(dataset, lifecycle=lifecycle, label=table_label(dataset, name))


def _drop(_: Plan, operator: Operator, session: Session) -> Write | None:
    """DROP TABLE, DROP VIEW."""
    return _existing(operator, session, "DROP")


def _truncate(_: Plan, operator: Operator, session: Session) -> Write | None:
    """TRUNCATE TABLE."""
    return _existing(operator, session, "TRUNCATE")


def _alter(_: Plan, operator: Operator, session: Session) -> Write | None:
    """ALTER TABLE: with the columns that it adds."""
    found = _existing(operator, session, "ALTER")
    if found is None:
        return None
    known = {f.name.lower() for f in found.dataset.fields}
    added = tuple(
        field(str(column.text("name")), str(column.text("type")), column.text("comment"))
        for column in operator.sequence("colsToAdd")
        if isinstance(column, Described) and str(column.text("name")).lower() not in known
    )
    return attrs.evolve(found, dataset=attrs.evolve(found.dataset, fields=(*found.dataset.fields, *added)))


def _set_location(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """ALTER TABLE SET LOCATION: the table is what lies there from now on."""
    return _alter(plan, operator, session)


def _rename(_: Plan, operator: Operator, session: Session) -> Write | None:
    """ALTER TABLE RENAME: the new identity, with the old one beside it."""
    old = _existing(operator, session, "RENAME", "old")
    new = _existing(operator, session, "RENAME", "new", "old")
    if old is None or new is None:
        return new or old
    moved = attrs.evolve(new.dataset, fields=new.dataset.fields or old.dataset.fields)
    return attrs.evolve(new, dataset=moved, renamed_from=old.dataset.identifier)


def _load_data(_: Plan, operator: Operator, session: Session) -> Write | None:
    """LOAD DATA: files are moved into a table."""
    lifecycle = "OVERWRITE" if operator.arguments.get("isOverwrite") is True else None
    found = _existing(operator, session, "OVERWRITE")
    path = operator.text("path")
    sources = (relations.at_location(path),) if path else ()
    return None if found is None else attrs.evolve(found, lifecycle=lifecycle, sources=sources)


def _v2_create(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """CREATE or REPLACE TABLE, with or without a query, in a DataSource V2 catalog."""
    name = operator.operator("name")
    if name is None:
        return None
    resolved, query = plan.operators[name], operator.operator("query")
    fields = named_fields(plan, query, ()) or _column_definitions(operator)
    dataset = relations.v2_table(
        None, resolved.arguments.get("catalog"), resolved.arguments.get("identifier"), session, fields
    )
    if dataset is None:
        return None
    lifecycle = "OVERWRITE" if operator.name.startswith("Replace") else "CREATE"
    label = table_label(dataset, None)
    return Write(dataset, query, by_position(plan, query), (), lifecycle, label=label)


def _column_definitions(operator: Operator) -> tuple[Field, ...]:
    return tuple(
        field(str(column.text("name")), str(column.text("type")), column.text("comment"))
        for column in operator.sequence("columns")
        if isinstance(column, Described) and column.text("name") and column.text("type")
    )


def _v2_table_command(plan: Plan, operator: Operator, session: Session) -> Write | None:
    """DROP, TRUNCATE, ALTER, RENAME of a table in a DataSource V2 catalog."""
    below = operator.children
    if not below:
        return None
    resolved = plan.operators[below[0]]
    dataset = _resolved(plan, resolved, session)
    if dataset is None:
        return None
    lifecycle = {"DropTable": "DROP", "DropView": "DROP", "TruncateTable": "TRUNCATE", "RenameTable": "RENAME"}.get(
        operator.name, "ALTER"
    )
    label = label_of(dataset)
    if operator.name == "RenameTable":
        names = texts(operator.sequence("newName"))
        if names:
            old = dataset.identifier
            moved = Identifier(old.namespace, ".".join([*old.name.split(".")[:-1], names[-1]]))
            return Write(attrs.evolve(dataset, identifier=moved), None, (), (), lifecycle, old, label)
    return Write(dataset, lifecycle=lifecycle, label=label)


def _resolved(plan: Plan, operator: Operator, session: Session) -> Dataset | None:
    """The dataset of a ResolvedIdentifier or ResolvedTable; in the session catalog, as that knows it."""
    table, path = operator.described("tableMetadata"), operator.text("tablePath")
    if table is None and path is not None:
        table = Described("CatalogTable", {"identifier": _session_identifier(operator), "defaultPath": path})
    if table is not None:
        return relations.catalog_table(table, session)
    catalog, identifier = operator.arguments.get("catalog"), operator.arguments.get("identifier")
    fields = fields_of(plan, operator)
    return relations.v2_table(operator.described("table"), catalog, identifier, session, fields)


def _session_identifier(operator: Operator) -> Described:
    identifier = operator.described("identifier")
    values = identifier.values if identifier is not None else {}
    namespace = values.get("namespace")
    database = namespace[0] if isinstance(namespace, tuple) and namespace else None
    return Described("TableIdentifier", {"table": values.get("name"), "database": database})


TABLE_COMMANDS: dict[str, Rule] = {
    "CreateDataSourceTableCommand": _create_table,
    "CreateTableCommand": _create_table,
    "CreateTableLikeCommand": _create_like,
    "DropTableCommand": _drop,
    "TruncateTableCommand": _truncate,
    "AlterTableRenameCommand": _rename,
    "AlterTableAddColumnsCommand": _alter,
    "AlterTableChangeColumnCommand": _alter,
    "AlterTableChangeColumnCommentsCommand": _alter,
    "AlterTableSetLocationCommand": _set_location,
    "AlterTableSetPropertiesCommand": _alter,
    "AlterTableUnsetPropertiesCommand": _alter,
    "AlterTableAddPartitionCommand": _alter,
    "AlterTableDropPartitionCommand": _alter,
    "AlterTableRenamePartitionCommand": _alter,
    "LoadDataCommand": _load_data,
    "CreateTableAsSelect": _v2_create,
    "ReplaceTableAsSelect": _v2_create,
    "CreateTable": _v2_create,
    "ReplaceTable": _v2_create,
    "DropTable": _v2_table_command,
    "DropView": _v2_table_command,
    "TruncateTable": _v2_table_command,
    "RenameTable": _v2_table_command,
    "AddColumns": _v2_table_command,
    "ReplaceColumns": _v2_table_command,
    "DropColumns": _v2_table_command,
    "RenameColumn": _v2_table_command,
    "AlterColumn": _v2_table_command,
    "AlterColumns": _v2_table_command,
    "SetTableProperties": _v2_table_command,
    "UnsetTableProperties": _v2_table_command,
    "SetTableLocation": _v2_table_command,
    "CommentOnTable": _v2_table_command,
    "AddPartitions": _v2_table_command,
    "DropPartitions": _v2_table_command,
    "RenamePartitions": _v2_table_command,
    "TruncatePartition": _v2_table_command,
    "SetTableSerDeProperties": _v2_table_command,
}
"""Command -> what it writes."""
