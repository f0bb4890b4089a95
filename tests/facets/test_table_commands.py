"""Commands on whole tables that have no query: Iceberg's procedures, and those of Delta Lake."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from openlineage_pyspark.facets.datasets.source import Session
from openlineage_pyspark.facets.model.dataset import Catalog, Dataset, Field, Identifier, Symlink
from openlineage_pyspark.facets.model.lineage import InputField, Transformation
from openlineage_pyspark.facets.model.plan import Described, Expression, ExpressionRef, Operator, OperatorRef, Plan
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage

LOGICAL = "org.apache.spark.sql.catalyst.plans.logical."
DELTA = "org.apache.spark.sql.delta.commands."
PROCEDURES = "org.apache.iceberg.spark.procedures."
KNOWN = Dataset(
    Identifier("file", "/lake/db/t"),
    symlinks=(Symlink("ice", "db.t"),),
    catalog=Catalog("iceberg", "hadoop", "ice", None),
)
SESSION = Session("file:/warehouse", tables={"ice.db.t": KNOWN})
CATALOG = Described("SparkCatalog", {"name": "ice"})
USERS: dict[str, Any] = {
    "identifier": Described("TableIdentifier", {"table": "users", "database": "shop"}),
    "locationUri": "file:/w/users",
}


def call(
    procedure: str,
    *parameters: str,
    called: str | None = None,
    catalog: Described = CATALOG,
    session: Session = SESSION,
    **given: str,
) -> PlanLineage:
    """Return the lineage of a CALL with texts for its parameters."""
    names = tuple(Described("ParameterImpl", {"name": name}) for name in parameters)
    literals = tuple(
        Expression("Literal", {}, sql=f"'{given[name]}'" if name in given else "NULL") for name in parameters
    )
    described = Described(
        f"{PROCEDURES}{procedure}Procedure",
        {"catalog": catalog, "parameters": names},
    )
    metadata = Described("org.apache.iceberg.TableMetadata", {"location": called}) if called else None
    arguments: dict[str, Any] = {"procedure": described, "called": metadata, "isCommand": "Call"}
    arguments["args"] = tuple(ExpressionRef(at) for at in range(len(literals)))
    return lineage_of_plan(Plan((Operator("Call", f"{LOGICAL}Call", arguments),), literals, {}), session)


def delta(name: str, arguments: dict[str, Any], *below: Operator) -> PlanLineage:
    package = "io.delta.tables.execution." if name == "VacuumTableCommand" else DELTA
    return lineage_of_plan(Plan((Operator(name, f"{package}{name}", arguments), *below), (), {}), SESSION)


def told(found: PlanLineage) -> tuple[list[str], list[str], str | None, list[str]]:
    """Return what is read and written, as namespace, name, version and lifecycle; the job's word; the remarks."""
    read = [f"{d.identifier.namespace} {d.identifier.name}{_version(d)}" for d in found.inputs]
    written = [f"{w.dataset.identifier.namespace} {w.dataset.identifier.name} {w.lifecycle}" for w in _writes(found)]
    return read, written, found.command, [gap.message for gap in found.gaps]


def _version(dataset: Dataset) -> str:
    return f"@{dataset.versions.ids[0]}" if dataset.versions is not None else ""


def _writes(found: PlanLineage):
    return [output.write for output in found.outputs]


@pytest.mark.parametrize("name", ["db.t", "ice.db.t", "`db`.`t`", "DB.T"])
@pytest.mark.parametrize(
    ("procedure", "word"),
    [
        ("RollbackToSnapshot", "call_rollback_to_snapshot"),
        ("CherrypickSnapshot", "call_cherrypick_snapshot"),
        ("FastForwardBranch", "call_fast_forward_branch"),
        ("RewriteDataFiles", "call_rewrite_data_files"),
        ("ExpireSnapshots", "call_expire_snapshots"),
    ],
)
def test_a_procedure_changes_the_table_that_it_names_and_each_has_a_job_of_its_own(procedure, word, name) -> None:
    found = call(procedure, "table", "snapshot_id", table=name)
    assert told(found) == (["file /lake/db/t"], ["file /lake/db/t None"], word, [])
    assert _writes(found)[0].label == "db_t"


def test_a_table_that_was_not_used_is_named_by_the_place_that_its_catalog_has_in_memory() -> None:
    found = call("ExpireSnapshots", "table", table="db.new", called="file:/lake/db/new")
    assert told(found)[1] == ["file /lake/db/new None"]
    assert (_writes(found)[0].label, _writes(found)[0].dataset.symlinks[-1]) == ("db_new", Symlink("ice", "db.new"))
    assert told(call("ExpireSnapshots", "table", table="db.new"))[1] == ["ice db.new None"]


def test_files_that_a_procedure_adds_are_read() -> None:
    files = call("AddFiles", "table", "source_table", table="db.t", source_table="`parquet`.`/raw/sales`")
    assert told(files)[:2] == (["file /raw/sales"], ["file /lake/db/t None"])
    table = call("SnapshotTable", "source_table", "table", source_table="ice.db.t", table="db.copy")
    assert told(table)[:2] == (["file /lake/db/t"], ["ice db.copy CREATE"])


@pytest.mark.parametrize(
    ("procedure", "source", "target", "expected"),
    [
        ("AddFiles", "`parquet`.`/raw/sales`", "db.t", [("id", "/raw/sales"), ("place", "/raw/sales")]),
        ("SnapshotTable", "ice.db.t", "db.copy", [("id", "/lake/db/t"), ("place", "/lake/db/t")]),
        ("SnapshotTable", "ice.db.unused", "db.copy", None),
        ("MigrateTable", None, "db.t", None),
    ],
)
def test_a_table_that_gets_files_of_another_copies_its_columns_if_they_are_known(
    procedure: str, source: str | None, target: str, expected: list[tuple[str, str]] | None
) -> None:
    known = attrs.evolve(KNOWN, fields=(Field("id", "int"), Field("place", "string")))
    given: dict[str, Any] = {"table": target} | ({} if source is None else {"source_table": source})
    found = call(
        procedure, "source_table", "table", session=Session("file:/warehouse", tables={"ice.db.t": known}), **given
    )
    lineage = found.outputs[0].lineage
    edges = None if lineage is None else [(c.name, edge.dataset.name) for c in lineage.columns for edge in c.edges]
    assert edges == expected


@pytest.mark.parametrize(
    ("catalog", "location", "expected"),
    [
        ({"name": "ice", "type": "hadoop", "warehouse": "/ice"}, None, ("file", "/ice/db/copy")),
        ({"name": "ice", "type": "hadoop", "warehouse": "/ice"}, "/other/copy", ("file", "/other/copy")),
        ({"name": "ice", "type": "rest"}, None, ("ice", "db.copy")),
        ({"name": "ice", "type": "rest"}, "/other/copy", ("file", "/other/copy")),
        ({"name": "spark_catalog", "type": "hive"}, None, ("file:///warehouse", "db.copy")),
    ],
)
def test_a_table_that_a_snapshot_makes_has_the_name_that_a_create_table_would_give_it(
    catalog: dict[str, Any], location: str | None, expected: tuple[str, str]
) -> None:
    place: dict[str, Any] = {} if location is None else {"location": location}
    described = Described("org.apache.iceberg.spark.SparkCatalog", catalog)
    names = ("source_table", "table", "location")
    found = call("SnapshotTable", *names, catalog=described, source_table="ice.db.t", table="db.copy", **place)
    made = _writes(found)[0].dataset
    assert (made.identifier.namespace, made.identifier.name) == expected


def test_a_procedure_that_changes_nothing_makes_no_run_and_an_unknown_one_says_so() -> None:
    assert (told(call("AncestorsOf", "table", table="db.t"))[1], call("AncestorsOf", "table", table="db.t").quiet) == (
        [],
        True,
    )
    (remark,) = told(call("Shuffle", "table", table="db.t"))[3]
    assert remark == "the procedure Shuffle: what it does is unknown"


@pytest.mark.parametrize("name", ["AddPartitionField", "CreateOrReplaceBranch", "SetWriteDistributionAndOrdering"])
def test_icebergs_own_forms_of_alter_name_the_table(name) -> None:
    for parts in (("ice", "db", "t"), ("db", "t")):
        plan = Plan((Operator(name, f"{LOGICAL}{name}", {"table": parts}),), (), {})
        assert told(lineage_of_plan(plan, SESSION))[1] == ["file /lake/db/t ALTER"]
    plan = Plan((Operator(name, f"{LOGICAL}{name}", {"table": ("other",)}),), (), {})
    found = lineage_of_plan(plan, SESSION)
    assert (found.outputs, found.unnamed) == ((), True)


def test_a_restored_table_reads_an_older_version_of_itself() -> None:
    found = delta("RestoreTableCommand", {"table": Described("CatalogTable", USERS), "version": 3})
    assert told(found) == (["file /w/users@3"], ["file /w/users OVERWRITE"], "execute_restore_table_command", [])
    by_path = delta("RestoreTableCommand", {"path": "file:/w/by/path", "version": 1})
    assert told(by_path)[:2] == (["file /w/by/path@1"], ["file /w/by/path OVERWRITE"])


@pytest.mark.parametrize(
    ("identifier", "operation", "written"),
    [
        ({"table": "copy", "database": "shop"}, "Create", "file /w/copy CREATE"),
        ({"table": "copy", "database": "shop"}, "CreateOrReplace", "file /w/copy OVERWRITE"),
        ({"table": "/w/there", "database": "delta"}, "Create", "file /w/there CREATE"),
    ],
)
def test_a_clone_reads_the_version_of_the_table_that_it_copies(identifier, operation, written) -> None:
    table = Described(
        "CatalogTable", {"identifier": Described("TableIdentifier", identifier), "locationUri": "file:/w/copy"}
    )
    mode = Described(f"{DELTA}TableCreationModes${operation}$", {})
    source: dict[str, Any] = {"sourceMetadata": Described("CatalogTable", USERS), "sourceVersion": 7}
    clone = Operator("CloneTableCommand", f"{DELTA}CloneTableCommand", source)
    found = delta("CreateDeltaTableCommand", {"table": table, "operation": mode, "query": OperatorRef(1)}, clone)
    assert told(found)[:2] == (["file /w/users@7"], [written])


@pytest.mark.parametrize(
    ("identifier", "written"),
    [({"table": "copy", "database": "shop"}, "/w/copy"), ({"table": "/w/there", "database": "delta"}, "/w/there")],
)
def test_a_clone_copies_each_column_of_its_table(identifier: dict[str, Any], written: str) -> None:
    columns = '{"type":"struct","fields":[{"name":"Id","type":"integer"},{"name":"place","type":"string"}]}'
    table = Described("TableIdentifier", identifier)
    values: dict[str, Any] = {"identifier": table, "locationUri": "file:/w/copy", "schema": columns}
    mode = Described(f"{DELTA}TableCreationModes$Create$", {})
    source: dict[str, Any] = {"sourceMetadata": Described("CatalogTable", USERS), "sourceVersion": 7}
    clone = Operator("CloneTableCommand", f"{DELTA}CloneTableCommand", source)
    given = {"table": Described("CatalogTable", values), "operation": mode, "query": OperatorRef(1)}
    found = delta("CreateDeltaTableCommand", given, clone)
    ((output,), (read,)) = found.outputs, found.inputs
    assert [[field.name for field in each.fields] for each in (output.write.dataset, read)] == [["Id", "place"]] * 2
    assert output.write.dataset.identifier.name == written
    assert output.lineage is not None
    kept = (Transformation("DIRECT", "IDENTITY", "", masking=False),)
    assert [(column.name, column.edges) for column in output.lineage.columns] == [
        (name, (InputField(read.identifier, name, kept),)) for name in ("Id", "place")
    ]
    assert output.lineage.dataset == ()


def test_a_converted_table_and_one_whose_files_are_tidied_keep_their_rows() -> None:
    converted = delta(
        "ConvertToDeltaCommand",
        {"tableIdentifier": USERS["identifier"], "tableMetadata": Described("CatalogTable", USERS)},
    )
    assert told(converted)[:2] == (["file /w/users"], ["file /w/users ALTER"])
    by_path = {"tableIdentifier": Described("TableIdentifier", {"table": "/raw/x", "database": "parquet"})}
    assert told(delta("ConvertToDeltaCommand", by_path))[:2] == (["file /raw/x"], ["file /raw/x ALTER"])
    resolved = Operator(
        "ResolvedTable",
        "org.apache.spark.sql.catalyst.analysis.ResolvedTable",
        {"table": Described("DeltaTableV2", {"location": "file:/w/users", "provider": "delta", "name": "users"})},
    )
    for name in ("OptimizeTableCommand", "VacuumTableCommand"):
        found = delta(name, {"child": OperatorRef(1)}, resolved)
        assert told(found)[:2] == (["file /w/users"], ["file /w/users None"])
    assert told(delta("VacuumTableCommand", {"child": OperatorRef(1), "dryRun": True}, resolved))[1] == []
