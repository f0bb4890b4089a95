"""The commands on whole tables: CREATE, ALTER, RENAME, TRUNCATE, DROP and LOAD DATA."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import attrs
from openlineage_pyspark.facets.commands.target import (
    COMMAND,
    LOGICAL,
    NO_TARGET,
    Target,
    Write,
    by_position,
    command,
    is_dynamic,
    label_of,
    modes_of,
    named_fields,
    options_of,
    reads,
    reads_of,
    replacing,
    table_label,
    text_values,
    to_be_created,
    unnamed,
    write_to_table,
)
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import SOURCES, Session, relation_of
from openlineage_pyspark.facets.datasets.tables import (
    at_location,
    catalog_key,
    catalog_table,
    is_elsewhere,
    known_table,
    storage_of,
    table_key,
    table_name,
)
from openlineage_pyspark.facets.datasets.v2 import delta_path, v2_table
from openlineage_pyspark.facets.model.dataset import Dataset, Field, Identifier, field, fields_of, schema_fields
from openlineage_pyspark.facets.model.plan import Described, ExpressionRef, Operator, Plan, Value
from openlineage_pyspark.facets.model.run import Lifecycle, Replaced


def named_only(reading: str, argument: str) -> dict[str, str]:
    """
    Return the readings that look up a table in the session catalog, for a command that has only the table's name.

    Args:
        reading: the prefix of the readings' names.
        argument: the argument of the command that holds the table's identifier.
    """
    return {
        f"{reading}Metadata": f"#table:{argument}",
        f"{reading}Identifier": argument,
        f"{reading}Path": f"#path:{argument}",
    }


_HUDI = "org.apache.spark.sql.hudi.command"

_Change = Callable[[Field | None], Field | None]
"""The field before a command, None if it is new -> the field after it, None if it is dropped."""


def altered(plan: Plan, operator: Operator, fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """
    Return the columns of a table after a command.

    Args:
        plan: the plan of the command.
        operator: the command; only AddColumns, ReplaceColumns, DropColumns, RenameColumn, AlterColumn and
            AlterColumns change columns.
        fields: the columns before the command.
    """
    if operator.name == "ReplaceColumns":
        fields = ()
    for path, change in _changes(plan, operator):
        fields = _changed(fields, path, change)
    return fields


def _changes(plan: Plan, operator: Operator) -> Iterator[tuple[tuple[str, ...], _Change]]:
    """Yield the path of each changed field, with the change."""
    for value in operator.sequence("columnsToAdd"):
        column = _arguments(plan, value)
        name, type_ = column.get("colName"), column.get("dataType")
        if isinstance(name, str) and isinstance(type_, str):
            yield (*_path(plan, column.get("path")), name), _becoming(field(name, type_, _text(column.get("comment"))))
    for value in operator.sequence("columnsToDrop"):
        yield _path(plan, value), _becoming(None)
    if operator.name == "RenameColumn":
        yield _path(plan, operator.arguments.get("column")), _with_name(operator.text("newName"))
    if operator.name == "AlterColumn":
        given = operator.arguments
        yield _path(plan, given.get("column")), _retyped(given.get("dataType"), given.get("comment"))
    for spec in plan.expressions_of(operator.sequence("specs")):
        given = spec.arguments
        yield _path(plan, given.get("column")), _retyped(given.get("newDataType"), given.get("newComment"))


@reads(
    {
        f"{LOGICAL}.QualifiedColType": {
            "path": "path",
            "colName": "colName",
            "dataType": "dataType",
            "comment": "comment",
        }
    }
)
def _arguments(plan: Plan, value: Value) -> Mapping[str, Value]:
    """Return the arguments of an added column: an expression, or before Spark 4 a described value."""
    if isinstance(value, ExpressionRef):
        return plan.expressions[value.index].arguments
    return value.values if isinstance(value, Described) else {}


def _path(plan: Plan, name: Value) -> tuple[str, ...]:
    """Return the path of a ResolvedFieldName; empty for any other value."""
    resolved = _arguments(plan, name)
    around, found = resolved.get("path"), resolved.get("field")
    last = found.text("name") if isinstance(found, Described) else None
    return (*(part for part in around if isinstance(part, str)), last) if isinstance(around, tuple) and last else ()


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else None


def _becoming(new: Field | None) -> _Change:
    return lambda _: new


def _with_name(name: str | None) -> _Change:
    return lambda old: old if old is None or name is None else attrs.evolve(old, name=name)


def _retyped(type_: Value, comment: Value) -> _Change:
    def change(old: Field | None) -> Field | None:
        if old is None:
            return None
        new = comment if isinstance(comment, str) else old.description
        return field(old.name, type_, new) if isinstance(type_, str) else attrs.evolve(old, description=new)

    return change


def _changed(fields: tuple[Field, ...], path: tuple[str, ...], change: _Change) -> tuple[Field, ...]:
    """Return fields, of which the one at a path is changed; without a path, the same fields."""
    if not path:
        return fields
    # Spark's name for the elements of an array is `element`.
    wanted = {path[0].casefold(), f"_{path[0]}".casefold() if path[0] == "element" else ""}
    place = next((n for n, known in enumerate(fields) if known.name.casefold() in wanted), None)
    old = None if place is None else fields[place]
    if len(path) == 1:
        new = change(old)
    elif old is None:
        return fields
    else:
        new = attrs.evolve(old, fields=_changed(old.fields, path[1:], change))
    made = () if new is None else (new,)
    return (*fields, *made) if place is None else (*fields[:place], *made, *fields[place + 1 :])


@command(
    {COMMAND: "CreateTableCommand CreateDataSourceTableCommand"},
    reads={"existing": "#table:table.identifier", **options_of("table")},
)
def _create_table(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE TABLE without a query."""
    table = to_be_created(operator, "table")
    if table is None:
        return unnamed(None, None)
    if operator.arguments.get("ignoreIfExists") is not True:
        return _created(plan, table, session)
    made = table.values.get("created") or session.began
    return _created_unless_there(plan, table, operator.described("existing"), session, made)


def _created(plan: Plan, table: Described, session: Session) -> Target:
    """Return the write of a CREATE TABLE without a query."""
    return write_to_table(plan, table, None, (), session, None if _registers(table) else "CREATE")


def _created_unless_there(
    plan: Plan, table: Described, existing: Described | None, session: Session, made: object
) -> Target:
    """
    Return the write of a CREATE TABLE IF NOT EXISTS without a query.

    Args:
        plan: the plan.
        table: the described table to create.
        existing: the table of this name in the catalog, which may be the new one.
        session: the session's settings.
        made: when the new table is made at the earliest, in milliseconds since 1970; None if the plan is not run.
    """
    known = known_table(session, table.values.get("identifier"))
    if known is not None:
        return Write(known, label=label_of(known))
    if existing is not None and _is_older(existing, made):
        # It may lie elsewhere, and have other columns.
        return write_to_table(plan, existing, None, (), session, None)
    return _created(plan, table, session)


def _registers(table: Described) -> bool:
    """Return whether CREATE TABLE may only register existing data: at the user's location, or in another system."""
    return is_elsewhere(table) or table.text("kind") == "EXTERNAL"


def _is_older(existing: Described, made: object) -> bool:
    """
    Return whether a table is older than the command that creates it; a Hive metastore keeps only seconds.

    Args:
        existing: the described table.
        made: when the command began, in milliseconds since 1970; None if it is not run.
    """
    was = existing.values.get("created")
    return made is None or (
        isinstance(was, int) and isinstance(made, int) and was < made and was != made // 1000 * 1000
    )


@command(
    {COMMAND: "CreateTableLikeCommand"},
    reads={
        **named_only("target", "targetTable"),
        "sourceMetadata": "#table:sourceTable",
        "place": "#locationOf:fileFormat.locationUri:targetTable",
    },
)
def _create_like(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE TABLE LIKE: the columns of another table, without its rows."""
    source, storage = operator.described("sourceMetadata"), operator.described("fileFormat")
    place = operator.text("place")
    given = operator.text("provider") or (storage.text("serde") if storage is not None else None)
    table = {
        "identifier": operator.described("targetIdentifier"),
        "locationUri": place,
        "defaultPath": operator.text("targetPath"),
        "kind": "EXTERNAL" if place else "MANAGED",
        **{key: source.values.get(key) for key in ("schema", "provider", "serde") if source is not None},
        **({"provider": given} if given else {}),
    }
    new = Described("CatalogTable", table)
    if operator.arguments.get("ifNotExists") is not True:
        return _created(plan, new, session)
    return _created_unless_there(plan, new, operator.described("targetMetadata"), session, session.began)


def _existing(table: Described, session: Session, lifecycle: Lifecycle) -> Target:
    """Return the write of a command on a table that the catalog has."""
    dataset = catalog_table(table, session)
    if dataset is None:
        return unnamed(None, None)
    label = table_label(dataset, table_name(table.values.get("identifier"), case_sensitive=session.case_sensitive))
    return Write(dataset, lifecycle=lifecycle, label=label)


def _named(operator: Operator, session: Session, lifecycle: Lifecycle, *, view: bool = False) -> Target:
    """
    Return the write of a command on an existing table or view.

    The catalog is asked after the command has begun: it may no longer have the table, or have a newer one with the same
    name. `session.tables` has the tables as the application's earlier statements left them.
    """
    known, metadata = known_table(session, operator.described("tableIdentifier")), operator.described("tableMetadata")
    if metadata is None:
        return _gone(operator.described("tableIdentifier"), operator.text("tablePath"), session, lifecycle, view=view)
    found = _existing(metadata, session, lifecycle)
    if not isinstance(found, Write) or known is None or found.dataset.identifier == known.identifier:
        return found
    older = lifecycle in ("DROP", "TRUNCATE") or is_elsewhere(metadata)
    return _write(known, lifecycle) if older else found


def _write(dataset: Dataset, lifecycle: Lifecycle) -> Write:
    return Write(dataset, lifecycle=lifecycle, label=label_of(dataset))


def _gone(
    identifier: Described | None, path: str | None, session: Session, lifecycle: Lifecycle, *, view: bool = False
) -> Target:
    """Return the write of a command on a table that the catalog no longer has; `path` is the default location."""
    known = known_table(session, identifier)
    if known is not None:
        return _write(known, lifecycle)
    values = {"identifier": identifier, "defaultPath": path, "kind": "VIEW" if view else None}
    dataset = catalog_table(Described("CatalogTable", values), session)
    if dataset is None:
        return unnamed(None, None)
    if view:
        return _write(dataset, lifecycle)
    where = "assumed to be the default one" if path else "unknown"
    gap = f"the table was no longer in the catalog when it was looked up: its location is {where}"
    return attrs.evolve(_write(dataset, lifecycle), gap=gap)


@command({_HUDI: "DropHoodieTableCommand"}, reads=named_only("table", "tableIdentifier"))
@command({COMMAND: "DropTableCommand"}, reads=named_only("table", "tableName"))
def _drop(_: Plan, operator: Operator, session: Session) -> Target:
    """DROP TABLE, DROP VIEW: Spark reports whether it existed."""
    absent = operator.described("tableMetadata") is None and operator.arguments.get("ifExists") is True
    if absent and session.tables is None:
        return NO_TARGET
    found = _named(operator, session, "DROP", view=operator.arguments.get("isView") is True)
    return _if_dropped(found, operator.described("tableIdentifier"))


def _if_dropped(found: Target, identifier: Described | None) -> Target:
    name = table_name(identifier)
    return attrs.evolve(found, if_dropped=name.lower()) if isinstance(found, Write) and name else found


@command({COMMAND: "DropDatabaseCommand", LOGICAL: "DropNamespace"})
def _drop_database(plan: Plan, operator: Operator, session: Session) -> Target:
    """DROP DATABASE CASCADE: the tables in it that the application has used."""
    database = _database(plan, operator)
    if operator.arguments.get("cascade") is not True or database is None:
        return NO_TARGET
    datasets = [dataset for key, dataset in (session.tables or {}).items() if key.startswith(f"{database}.")]
    if not datasets:
        return NO_TARGET
    gap = "only those tables of the database are known that the application has used"
    return Write(
        datasets[0],
        lifecycle="DROP",
        label=database.partition(".")[2].replace(".", "_"),
        gap=gap,
        further=tuple(datasets[1:]),
    )


def _database(plan: Plan, operator: Operator) -> str | None:
    """Return the catalog and the database that a command names, as the keys of `Session.tables` begin."""
    name = operator.text("databaseName")
    if name is not None:
        return table_key("spark_catalog", name)
    resolved = next((plan.operators[below] for below in operator.children), None)
    catalog = resolved.described("catalog") if resolved is not None else None
    parts = (
        text_values(resolved.sequence("namespace") or resolved.sequence("nameParts")) if resolved is not None else ()
    )
    if catalog is None or catalog.text("name") is None or not parts:
        return None
    return table_key(str(catalog.text("name")), ".".join(parts))


@command(
    {_HUDI: "TruncateHoodieTableCommand"},
    reads=named_only("table", "tableIdentifier"),
)
@command({COMMAND: "TruncateTableCommand"}, reads=named_only("table", "tableName"))
def _truncate(_: Plan, operator: Operator, session: Session) -> Target:
    """TRUNCATE TABLE."""
    return _named(operator, session, "TRUNCATE")


@command({_HUDI: "AlterHoodieTableAddColumnsCommand"}, reads=named_only("table", "tableId"))
@command(
    {
        _HUDI: """
            AlterHoodieTableChangeColumnCommand AlterHoodieTableAddPartitionCommand
            AlterHoodieTableDropPartitionCommand"""
    },
    reads=named_only("table", "tableIdentifier"),
)
@command({_HUDI: "RepairHoodieTableCommand"}, reads=named_only("table", "tableName"))
@command({COMMAND: "AlterTableAddColumnsCommand"}, reads=named_only("table", "table"))
@command(
    {
        COMMAND: """
            AlterTableChangeColumnCommand AlterTableChangeColumnCommentsCommand AlterTableSetPropertiesCommand
            AlterTableUnsetPropertiesCommand AlterTableAddPartitionCommand AlterTableDropPartitionCommand
            AlterTableRenamePartitionCommand"""
    },
    reads=named_only("table", "tableName"),
)
@reads(
    {
        "org.apache.spark.sql.types.StructField": {
            "name": "name",
            "type": "dataType",
            "comment": "getComment",
        }
    }
)
def _alter(_: Plan, operator: Operator, session: Session) -> Target:
    """ALTER TABLE, with the columns that it adds."""
    found = _named(operator, session, "ALTER")
    if not isinstance(found, Write):
        return found
    known = {f.name.lower() for f in found.dataset.fields}
    added = tuple(
        field(str(column.text("name")), str(column.text("type")), column.text("comment"))
        for column in operator.sequence("colsToAdd")
        if isinstance(column, Described) and str(column.text("name")).lower() not in known
    )
    return attrs.evolve(found, dataset=attrs.evolve(found.dataset, fields=(*found.dataset.fields, *added)))


@command(
    {COMMAND: "AlterTableSetLocationCommand"},
    reads={**named_only("table", "tableName"), "place": "#locationOf:location:tableName"},
)
def _set_location(_: Plan, operator: Operator, session: Session) -> Target:
    """ALTER TABLE SET LOCATION: the table gets the new location, unless the location is that of a partition."""
    found, location = _named(operator, session, "ALTER"), operator.text("place")
    if not isinstance(found, Write) or not location or operator.arguments.get("partitionSpec") is not None:
        return found
    metadata = operator.described("tableMetadata")
    values = metadata.values if metadata is not None else {"identifier": operator.described("tableIdentifier")}
    moved = catalog_table(Described("CatalogTable", {**values, "locationUri": location}), session)
    return found if moved is None else attrs.evolve(found, dataset=moved, gap=None)


@command(
    {COMMAND: "AlterTableRenameCommand", _HUDI: "AlterHoodieTableRenameCommand"},
    reads={**named_only("old", "oldName"), **named_only("new", "newName")},
)
def _rename(_: Plan, operator: Operator, session: Session) -> Target:
    """ALTER TABLE RENAME: the table gets the new name, and the old one is its previous identifier."""
    before, after = operator.described("oldIdentifier"), operator.described("newIdentifier")
    if before is None or after is None:
        return unnamed(None, None)
    used = known_table(session, before)
    if used is not None and operator.described("oldMetadata") is None and operator.described("newMetadata") is None:
        return _renamed_since(used, before, after, operator)
    metadata, there = operator.described("oldMetadata"), operator.described("newMetadata")
    paths = [_place(metadata, operator.text("oldPath")), _place(there, operator.text("newPath"))]
    if after.text("database") is None:
        # The new table is in the database of the old one, but the readings are for the session's database.
        after = attrs.evolve(after, values={**after.values, "database": before.text("database")})
        there, paths[1] = None, f"{naming.parent(paths[0] or '')}/{(after.text('table') or '').lower()}"
    known = metadata or there or Described("CatalogTable", {})
    if known.text("kind") in ("EXTERNAL", "VIEW"):
        # Renaming moves only the files of managed tables.
        paths = [known.text("locationUri")] * 2
    old, new = (
        catalog_table(attrs.evolve(known, values={**known.values, "identifier": name, "locationUri": path}), session)
        for name, path in zip((before, after), paths, strict=True)
    )
    if old is None or new is None:
        return unnamed(None, None)
    link = next((Identifier(link.namespace, link.name) for link in old.symlinks), old.identifier)
    was = link if old.identifier == new.identifier else old.identifier
    return Write(
        new,
        lifecycle="RENAME",
        renamed_from=was,
        label=table_label(new, table_name(after, case_sensitive=session.case_sensitive)),
    )


def _renamed_since(known: Dataset, before: Described, after: Described, operator: Operator) -> Target:
    """Return the write of a rename if the catalog no longer knows either name."""
    database = after.text("database") or before.text("database") or "default"
    name = f"{database}.{after.text('table')}".lower()
    old, new = operator.text("oldPath"), operator.text("newPath")
    links = tuple(attrs.evolve(link, name=name) for link in known.symlinks)
    if old and new and naming.uri_location(old) == known.identifier:
        moved = attrs.evolve(known, identifier=naming.uri_location(new), symlinks=links)
        return Write(moved, lifecycle="RENAME", renamed_from=known.identifier, label=table_label(moved, name))
    if links:
        was = Identifier(known.symlinks[0].namespace, known.symlinks[0].name)
        moved = attrs.evolve(known, symlinks=links)
    else:
        was, moved = known.identifier, attrs.evolve(known, identifier=Identifier(known.identifier.namespace, name))
    return Write(moved, lifecycle="RENAME", renamed_from=was, label=table_label(moved, name))


def _place(metadata: Described | None, path: str | None) -> str | None:
    return (metadata.text("locationUri") if metadata is not None else None) or path


@command(
    {COMMAND: "LoadDataCommand"},
    reads={**named_only("table", "table"), "absolute": "#pathOf:path", "absoluteHere": "#localPathOf:path"},
)
def _load_data(_: Plan, operator: Operator, session: Session) -> Target:
    """LOAD DATA: files are moved into a table."""
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.arguments.get("isOverwrite") is True else None
    found = _named(operator, session, "OVERWRITE")
    is_local = operator.arguments.get("isLocal") is True
    path = operator.text("absoluteHere" if is_local else "absolute") or operator.text("path")
    sources = (at_location(naming.before_glob(path)),) if path else ()
    if not isinstance(found, Write):
        return found
    part: Replaced = "partitions" if operator.arguments.get("partition") else "all"
    replaced = part if lifecycle == "OVERWRITE" else None
    return attrs.evolve(found, lifecycle=lifecycle, sources=sources, replaced=replaced)


@reads({f"{LOGICAL}.ReplaceTableAsSelect": {"replaceWhere": "writeOptions[replaceWhere]", **modes_of("writeOptions")}})
@command({LOGICAL: "CreateTableAsSelect ReplaceTableAsSelect CreateTable ReplaceTable"})
def _v2_create(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE or REPLACE TABLE, with or without a query, in a DataSource V2 catalog."""
    name, query = operator.operator("name"), operator.operator("query")
    if name is None:
        return unnamed(None, query)
    fields = named_fields(plan, query, ()) or _columns(plan, operator)
    dataset = resolved_table(plan, plan.operators[name], session, fields, _spec(plan, operator, "location"))
    if dataset is None:
        return unnamed(None, query)
    if (dataset.storage_layer, dataset.file_format) == ("default", None):
        # The session catalog does not have the table yet.
        layer, format_ = storage_of(_spec(plan, operator, "provider"))
        dataset = attrs.evolve(dataset, storage_layer=layer, file_format=format_)
    lifecycle: Lifecycle | None = "OVERWRITE" if operator.name.startswith("Replace") else "CREATE"
    if operator.name == "CreateTable" and _spec(plan, operator, "location"):
        # It may only register data that already exist there.
        lifecycle = None
    made = Write(dataset, reads_of(query), by_position(plan, query), lifecycle=lifecycle, label=label_of(dataset))
    if operator.arguments.get("ignoreIfExists") is True:
        return attrs.evolve(made, may_skip=True) if query is not None else _unless_there(plan, name, made, session)
    return replacing(made, _replaced(operator, dataset) if lifecycle == "OVERWRITE" else None)


@command({LOGICAL: "CreateTableLike"}, reads={"location": "#pathOf:location"})
def _v2_create_like(plan: Plan, operator: Operator, session: Session) -> Target:
    """CREATE TABLE LIKE in a DataSource V2 catalog."""
    name, source = operator.operator("name"), operator.operator("source")
    like = resolved_table(plan, plan.operators[source], session) if source is not None else None
    if name is None:
        return unnamed(None, None)
    fields, location = (like.fields if like is not None else ()), operator.text("location")
    dataset = resolved_table(plan, plan.operators[name], session, fields, location)
    if dataset is None:
        return unnamed(None, None)
    made = Write(dataset, lifecycle=None if location else "CREATE", label=label_of(dataset))
    return _unless_there(plan, name, made, session) if operator.arguments.get("ifNotExists") is True else made


def _unless_there(plan: Plan, name: int, made: Write, session: Session) -> Write:
    """
    Return the write of a CREATE TABLE IF NOT EXISTS without a query in a DataSource V2 catalog.

    Args:
        plan: the plan.
        name: the index of the operator with the table's name.
        made: the write if there is no such table.
        session: the session's settings.
    """
    resolved = plan.operators[name]
    key, existing = catalog_key(made.dataset), resolved.described("tableMetadata")
    known = (session.tables or {}).get(key) if key is not None else None
    if known is not None:
        return Write(known, label=label_of(known))
    if existing is not None and _is_older(existing, session.began):
        return attrs.evolve(made, dataset=resolved_table(plan, resolved, session) or made.dataset, lifecycle=None)
    # The session catalog would have it.
    return attrs.evolve(made, may_skip=made.lifecycle is not None and resolved.text("tablePath") is None)


def _replaced(operator: Operator, dataset: Dataset) -> Replaced | None:
    """Return what a REPLACE TABLE replaces; with some options of `saveAsTable`, Delta Lake keeps a part."""
    if dataset.storage_layer == "iceberg":
        return "all"
    if operator.text("replaceWhere"):
        return "rows"
    if operator.text("overwriteMode"):
        return "partitions" if is_dynamic(operator) else "all"
    # saveAsTable follows the session's mode, a statement does not; here it is unknown which of them this is.
    return None if is_dynamic(operator) else "all"


def _columns(plan: Plan, operator: Operator) -> tuple[Field, ...]:
    """Return the columns that a CREATE TABLE lists: a schema before Spark 4, definitions since."""
    found = []
    for definition in plan.expressions_of(operator.sequence("columns")):
        name, type_, comment = (definition.arguments.get(key) for key in ("name", "dataType", "comment"))
        if isinstance(name, str) and isinstance(type_, str):
            found.append(field(name, type_, comment if isinstance(comment, str) else None))
    return tuple(found) or schema_fields(operator.text("tableSchema"))


@reads({f"{LOGICAL}.TableSpecBase": {"location": "#pathOf:location", "provider": "provider"}})
def _spec(plan: Plan, operator: Operator, name: str) -> str | None:
    """Return the value of a clause of CREATE TABLE, from a TableSpec or from an unresolved expression."""
    spec = operator.arguments.get("tableSpec")
    if isinstance(spec, ExpressionRef):
        value = plan.expressions[spec.index].arguments.get(name)
        return value if isinstance(value, str) else None
    return spec.text(name) if isinstance(spec, Described) else None


_V2_CHANGES: dict[str, Lifecycle] = {
    "DropTable": "DROP",
    "DropView": "DROP",
    "TruncateTable": "TRUNCATE",
    "RenameTable": "RENAME",
}


@reads({"org.apache.spark.sql.delta.catalog.DeltaTableV2": {"kind": "catalogTable.tableType.name"}})
@command(
    {
        LOGICAL: """
            DropTable DropView TruncateTable RenameTable AddColumns ReplaceColumns DropColumns RenameColumn AlterColumn
            AlterColumns SetTableProperties UnsetTableProperties SetTableLocation CommentOnTable AddPartitions
            DropPartitions RenamePartitions TruncatePartition SetTableSerDeProperties"""
    }
)
def _v2_table_command(plan: Plan, operator: Operator, session: Session) -> Target:
    """DROP, TRUNCATE, ALTER and RENAME of a table in a DataSource V2 catalog."""
    resolved = next((plan.operators[below] for below in operator.children), None)
    dataset = resolved_table(plan, resolved, session) if resolved is not None else None
    if resolved is None or dataset is None:
        return unnamed(None, None)
    lifecycle = _V2_CHANGES.get(operator.name, "ALTER")
    path = resolved.text("tablePath")
    if path is not None and (lifecycle == "DROP" or resolved.described("tableMetadata") is None):
        return _in_session_catalog(operator, resolved, dataset, session, lifecycle)
    if lifecycle == "DROP":
        return _v2_drop(dataset, session, certain=operator.arguments.get("ifExists") is not True)
    names, location = text_values(operator.sequence("newName")), operator.text("location")
    if operator.name == "RenameTable" and names:
        table = resolved.described("table")
        if table is not None and table.text("kind") == "MANAGED":
            return _moved(dataset, names[-1] if session.case_sensitive else names[-1].lower())
        return _renamed(dataset, names)
    if location and operator.arguments.get("partitionSpec") is None and dataset.symlinks:
        dataset = attrs.evolve(dataset, identifier=naming.location(location))
    dataset = attrs.evolve(dataset, fields=altered(plan, operator, dataset.fields))
    return Write(dataset, lifecycle=lifecycle, label=label_of(dataset))


# The classes of the session catalog that drop a table through Spark's own catalog, which reports it.
_REPORTS_DROPS = (
    "org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog",
    "org.apache.spark.sql.delta.catalog.DeltaCatalog",
)


def _in_session_catalog(
    operator: Operator, resolved: Operator, dataset: Dataset, session: Session, lifecycle: Lifecycle
) -> Target:
    """Return the write of a DROP, or of another command on a table that the session catalog no longer has."""
    identifier, catalog = _session_identifier(resolved), resolved.described("catalog")
    reports = lifecycle == "DROP" and catalog is not None and catalog.class_name in _REPORTS_DROPS
    gone = resolved.described("tableMetadata") is None
    if gone and operator.arguments.get("ifExists") is True and not (reports and session.tables is not None):
        return NO_TARGET
    known = known_table(session, identifier)
    if gone:
        view = operator.name == "DropView"
        found = _gone(identifier, resolved.text("tablePath"), session, lifecycle, view=view)
    else:
        found = _write(known or dataset, lifecycle)
    return _if_dropped(found, identifier) if reports else found


def _v2_drop(dataset: Dataset, session: Session, *, certain: bool) -> Target:
    """
    Return the write of a DROP in another catalog, which no longer knows where the table was.

    Args:
        dataset: the dropped dataset, named by its catalog.
        session: the session.
        certain: whether the statement would have failed without such a table. Only the session catalog reports that a
            table was dropped.
    """
    key = catalog_key(dataset)
    known = (session.tables or {}).get(key) if key is not None else None
    if known is not None or certain:
        return _write(known or dataset, "DROP")
    gap = "this catalog does not report whether the table existed"
    return attrs.evolve(_write(dataset, "DROP"), gap=gap)


def _renamed(dataset: Dataset, names: tuple[str, ...]) -> Write:
    """Return the write of a rename; if a table is named by its location, only its symlinks change."""
    label, old = label_of(dataset), dataset.identifier
    if dataset.symlinks:
        links = tuple(attrs.evolve(link, name=_last_part(link.name, names[-1])) for link in dataset.symlinks)
        was = Identifier(dataset.symlinks[0].namespace, dataset.symlinks[0].name)
        return Write(attrs.evolve(dataset, symlinks=links), lifecycle="RENAME", renamed_from=was, label=label)
    moved = attrs.evolve(dataset, identifier=Identifier(old.namespace, _last_part(old.name, names[-1])))
    return Write(moved, lifecycle="RENAME", renamed_from=old, label=label)


def _moved(dataset: Dataset, name: str) -> Write:
    """Return the write of a managed table's rename: the session catalog moves its files to a folder of its name."""
    old = dataset.identifier
    links = tuple(attrs.evolve(link, name=_last_part(link.name, name)) for link in dataset.symlinks)
    place = Identifier(old.namespace, f"{naming.parent(old.name)}/{name}")
    moved = attrs.evolve(dataset, identifier=place, symlinks=links)
    return Write(moved, lifecycle="RENAME", renamed_from=old, label=label_of(dataset))


def _last_part(name: str, new: str) -> str:
    return ".".join([*name.split(".")[:-1], new])


@reads(
    {
        "org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier": {
            "tableMetadata": "#sessionTable",
            "tablePath": "#sessionPath",
        }
    }
)
def resolved_table(
    plan: Plan, operator: Operator, session: Session, fields: tuple[Field, ...] = (), location: str | None = None
) -> Dataset | None:
    """
    Return the dataset of a ResolvedIdentifier or ResolvedTable, as the session catalog describes it if it is there.

    Args:
        plan: the plan.
        operator: the ResolvedIdentifier or ResolvedTable.
        session: the session's settings.
        fields: its schema; empty to use that of the operator.
        location: its future location, if the command states it.

    Returns:
        None if it has no name.
    """
    table, path = operator.described("tableMetadata"), operator.text("tablePath")
    if table is None and path is not None:
        uri = naming.uri_of(location) if location is not None else None
        known = {"identifier": _session_identifier(operator), "locationUri": uri, "defaultPath": path}
        table = Described("CatalogTable", known)
    if table is not None:
        return catalog_table(table, session, fields)
    catalog, identifier = operator.arguments.get("catalog"), operator.arguments.get("identifier")
    fields = fields or fields_of(plan, operator)
    given = operator.described("table")
    if given is not None and given.class_name in SOURCES:
        found = relation_of(plan, operator, session)
        return found.datasets[0] if found is not None and found.datasets else None
    if given is None and (path := delta_path(identifier)) is not None:
        return at_location(path, fields, "delta")
    if given is None and location is not None:
        given = Described("", {"location": location})
    return v2_table(given, catalog, identifier, session, fields)


def _session_identifier(operator: Operator) -> Described:
    identifier = operator.described("identifier")
    values = identifier.values if identifier is not None else {}
    namespace = values.get("namespace")
    database = namespace[0] if isinstance(namespace, tuple) and namespace else None
    return Described("TableIdentifier", {"table": values.get("name"), "database": database})
