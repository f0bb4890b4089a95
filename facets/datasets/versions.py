"""The versions of tables that a plan pins: snapshots of Iceberg, versions of Delta Lake."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.datasets.source import Relation, reads
from openlineage_pyspark.facets.model.dataset import TableVersions
from openlineage_pyspark.facets.model.plan import Described, Operator

# A read by these options is of another snapshot than the table's; some of them only the scan resolves.
_SNAPSHOT_OPTIONS = {
    "snapshotId": "options[snapshot-id]",
    "endSnapshotId": "options[end-snapshot-id]",
    "startSnapshotId": "options[start-snapshot-id]",
    "asOfTimestamp": "options[as-of-timestamp]",
    "optionBranch": "options[branch]",
    "optionTag": "options[tag]",
}


def versioned(relation: Relation, versions: TableVersions | None) -> Relation:
    """Return a relation whose datasets are read at these versions."""
    if versions is None:
        return relation
    return attrs.evolve(relation, datasets=tuple(attrs.evolve(d, versions=versions) for d in relation.datasets))


@reads(
    {
        "org.apache.iceberg.spark.source.SparkTable": {
            "snapshot": "#snapshot",
            "branch": "branch",
            "asOf": "@timeTravel.version",
        },
        "org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation": _SNAPSHOT_OPTIONS,
    }
)
def iceberg_versions(operator: Operator) -> TableVersions | None:
    """Return the snapshot of Iceberg that a batch reads; None for any other table, and for one without a snapshot."""
    table = operator.described("table")
    while table is not None and isinstance(target := table.values.get("target"), Described):
        table = target
    if table is None or "snapshot" not in table.values:
        return None
    given = {name: operator.text(name) for name in _SNAPSHOT_OPTIONS}
    if any(given.values()):
        id_ = given["snapshotId"] or given["endSnapshotId"]
        branch = given["optionBranch"] or given["optionTag"]
    else:
        named, id_ = table.text("asOf"), table.text("snapshot")
        branch = table.text("branch") or (named if named and not named.lstrip("-").isdigit() else None)
    return TableVersions("iceberg", (id_,) if id_ else (), None if branch == "main" else branch)


@reads({"org.apache.spark.sql.delta.files.TahoeFileIndex": {"version": "version"}})
def delta_versions(operator: Operator) -> TableVersions | None:
    """Return the version of Delta Lake that a batch reads; None for any other relation."""
    relation = operator.described("relation")
    index = relation.values.get("index") if relation is not None else None
    if not isinstance(index, Described) or operator.arguments.get("isStreaming") is True:
        return None
    version = index.values.get("version")
    # A table that does not exist yet has a version below all others.
    return TableVersions("delta", (str(version),)) if isinstance(version, int) and version >= 0 else None
