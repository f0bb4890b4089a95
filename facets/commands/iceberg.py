"""Iceberg's procedures, which CALL runs, and its own forms of ALTER TABLE."""

from __future__ import annotations

import re

import attrs
from openlineage_pyspark.facets.commands.target import (
    LOGICAL,
    NO_TARGET,
    Target,
    UnnamedTarget,
    Write,
    command,
    label_of,
    reads,
    text_values,
)
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.datasets.tables import at_location, known_table, table_key
from openlineage_pyspark.facets.datasets.v2 import v2_table
from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Identifier, Symlink
from openlineage_pyspark.facets.model.plan import Described, ExpressionRef, Operator, Plan, Sql, Value
from openlineage_pyspark.facets.model.run import Lifecycle
from openlineage_pyspark.facets.sql_names import name_parts

_PROCEDURES = "org.apache.iceberg.spark.procedures."
_CHANGING = frozenset(
    """
    RollbackToSnapshot RollbackToTimestamp SetCurrentSnapshot CherrypickSnapshot PublishChanges FastForwardBranch
    RewriteDataFiles RewriteManifests RewritePositionDeleteFiles ExpireSnapshots RemoveOrphanFiles ComputeTableStats
    ComputePartitionStats
    """.split()
)
"""The procedures that change a table, its history or its files, and read nothing else."""
_COPYING = {"AddFiles": "source_table", "SnapshotTable": "source_table", "MigrateTable": "table"}
"""Procedure -> the parameter with the table whose files the changed table gets."""
_READING = frozenset(("CreateChangelogView", "AncestorsOf"))


@command({LOGICAL: "Call"}, reads={"called": "#calledTable"})
@reads(
    {
        f"{_PROCEDURES}BaseProcedure": {"catalog": "@tableCatalog"},
        "org.apache.spark.sql.connector.iceberg.catalog.Procedure": {"parameters": "parameters"},
        "org.apache.spark.sql.connector.iceberg.catalog.ProcedureParameter": {"name": "name"},
        "org.apache.iceberg.TableMetadata": {"location": "@location"},
    }
)
def _call(plan: Plan, operator: Operator, session: Session) -> Target:
    """CALL of an Iceberg procedure: the table that it changes, and the table or files that are copied into it."""
    procedure = operator.described("procedure")
    if procedure is None or not procedure.class_name.startswith(_PROCEDURES):
        return UnnamedTarget((), "an unknown procedure")
    name, given = procedure.simple_name.removesuffix("Procedure"), _arguments(plan, operator, procedure)
    if name in _READING:
        return NO_TARGET
    catalog = procedure.values.get("catalog")
    own = (catalog.text("name") if isinstance(catalog, Described) else None) or "spark_catalog"
    wanted = given.get("table")
    if wanted is None:
        return UnnamedTarget((), f"the procedure {name}")
    metadata = operator.described("called")
    table = _table(wanted, own, session, metadata.text("location") if metadata is not None else given.get("location"))
    if name == "SnapshotTable" and table.is_named_by_catalog:
        table = _to_be(table, catalog, session)
    found = Write(table, label=label_of(table))
    if name in _COPYING:
        source = given.get(_COPYING[name])
        copied = _copied(source, own, session) if source is not None else table
        fields = copied.fields or (table.fields if name == "AddFiles" else ())
        # A migrated table has the files that it has had.
        columns = () if name == "MigrateTable" else tuple(field.name for field in fields)
        lifecycle: Lifecycle | None = None if name == "AddFiles" else "CREATE"
        return attrs.evolve(found, sources=(copied,), lifecycle=lifecycle, copied=columns)
    if name == "RegisterTable":
        folder = (given.get("metadata_file") or "").rpartition("/metadata/")[0]
        return attrs.evolve(found, sources=(at_location(folder),) if folder else (), lifecycle="CREATE")
    if name not in _CHANGING:
        return attrs.evolve(found, sources=(table,), gap=f"the procedure {name}: what it does is unknown")
    return attrs.evolve(found, sources=(table,))


def _arguments(plan: Plan, operator: Operator, procedure: Described) -> dict[str, str]:
    """Return the arguments of a procedure that are texts, by the names of its parameters."""
    parameters = procedure.values.get("parameters")
    names = (
        [each.text("name") for each in parameters if isinstance(each, Described)]
        if isinstance(parameters, tuple)
        else []
    )
    found: dict[str, str] = {}
    for name, value in zip(names, operator.sequence("args"), strict=False):
        sql = plan.expressions[value.index].sql if isinstance(value, ExpressionRef) else None
        text = _text(sql)
        if name is not None and text is not None:
            found[name] = text
    return found


def _text(sql: str | Sql | None) -> str | None:
    """Return the value of a string literal in SQL; None for any other literal."""
    parts = (sql,) if isinstance(sql, str) else sql or ()
    whole = "".join(part for part in parts if isinstance(part, str))
    if len(whole) < 2 or not (whole.startswith("'") and whole.endswith("'")):
        return None
    return re.sub(r"\\(.)", r"\1", whole[1:-1])


def _table(name: str, catalog: str, session: Session, location: str | None = None) -> Dataset:
    """
    Return the table with a name, as the application has last used it.

    Args:
        name: its name, perhaps with that of its catalog.
        catalog: the catalog in which it is, unless its name has another.
        session: the session's settings.
        location: its location, if that is known.
    """
    parts = name_parts(name)
    if len(parts) > 1 and parts[0].casefold() == catalog.casefold():
        parts = parts[1:]
    return _known(catalog, ".".join(parts), session, location)


def _known(catalog: str, name: str, session: Session, location: str | None = None) -> Dataset:
    known = (session.tables or {}).get(table_key(catalog, name))
    if known is not None and not (location and known.is_named_by_catalog):
        return attrs.evolve(known, versions=None)
    facet = Catalog("iceberg", "unknown", catalog, None)
    if location is None:
        return Dataset(Identifier(catalog, name), catalog=facet, type="TABLE")
    links = tuple(Symlink(each, name) for each in (naming.warehouse_namespace(session.warehouse or "file:/"), catalog))
    table = at_location(location, file_format="iceberg")
    return attrs.evolve(table, symlinks=links, catalog=facet, type="TABLE")


def _to_be(table: Dataset, catalog: Value, session: Session) -> Dataset:
    """Return a table that is only named by its catalog as CREATE TABLE names it: perhaps the place is known."""
    *namespace, name = name_parts(table.identifier.name)
    identifier = Described("Identifier", {"name": name, "namespace": tuple(namespace)})
    return v2_table(None, catalog, identifier, session) or table


def _copied(name: str, catalog: str, session: Session) -> Dataset:
    """Return the table or files that a procedure copies: `parquet`.`/path`, or the name of a table."""
    parts = name_parts(name)
    if len(parts) == 2 and naming.is_absolute(parts[1]):
        return at_location(parts[1], file_format=parts[0])
    if parts and parts[0].casefold() in (catalog.casefold(), "spark_catalog"):
        catalog, parts = parts[0], parts[1:]
    identifier = Described("TableIdentifier", {"table": parts[-1], "database": ".".join(parts[:-1]) or None})
    return known_table(session, identifier) or _known(catalog, ".".join(parts), session)


@command(
    {
        LOGICAL: """
            AddPartitionField DropPartitionField ReplacePartitionField SetWriteDistributionAndOrdering
            SetIdentifierFields DropIdentifierFields CreateOrReplaceBranch CreateOrReplaceTag DropBranch DropTag"""
    }
)
def _alter(_: Plan, operator: Operator, session: Session) -> Target:
    """ALTER TABLE in Iceberg's own forms: for partitions, sort order, identifiers, branches and tags."""
    parts = text_values(operator.sequence("table"))
    name = ".".join(parts)
    used = [table for key, table in (session.tables or {}).items() if f".{key}".endswith(f".{name}".lower())]
    if len(parts) > 2 or len(used) == 1:
        table = used[0] if len(used) == 1 else _known(parts[0], ".".join(parts[1:]), session)
        return Write(attrs.evolve(table, versions=None), lifecycle="ALTER", label=label_of(table))
    return UnnamedTarget((), f"{name or 'a table'} in the current catalog")
