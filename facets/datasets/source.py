"""
Sources: the values that a resolver returns, and the registration of resolvers.

Each source has one file, with its resolver and the readings of the probe that this needs. A resolver is registered
under the class of a leaf operator, or of a value in one: the `BaseRelation` of a `LogicalRelation`, the `Table` of a
`DataSourceV2Relation`.
Another distribution adds its own file by naming the module in an entry point of the group
`openlineage_pyspark.sources`; docs/extending.md has an example.

A plan may pin the version of a table: a snapshot of Iceberg, or a version of Delta Lake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import attrs
from openlineage_pyspark.facets.class_rules import ClassRules
from openlineage_pyspark.facets.model.dataset import (
    DEFAULT_TRIMMING,
    FILE_METADATA,
    Dataset,
    Identifier,
    TableVersions,
    Trimming,
)
from openlineage_pyspark.facets.model.lineage import Certainty, UseKind
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan


@attrs.frozen
class Session:
    """
    The settings of a session on which the names of datasets depend.

    Args:
        warehouse: the value of `spark.sql.warehouse.dir`, as a qualified path.
        metastore: the value of `hive.metastore.uris`, if the session catalog is Hive's.
        catalog: the value of `spark.sql.catalogImplementation`.
        tables: `table_key` -> a catalog's table that the application has used so far; None if the plan is not run.
        began: when the plan's execution began, in milliseconds since 1970; None if the plan is not run.
        case_sensitive: the value of `spark.sql.caseSensitive`; without it, names are in lower case.
        trimming: the rules that shorten the names of datasets; resolvers need not apply them.
        views: whether permanent views that are read count as inputs.
    """

    warehouse: str | None = None
    metastore: str | None = None
    catalog: str = "in-memory"
    tables: Mapping[str, Dataset] | None = attrs.field(default=None, eq=False, repr=False)
    began: int | None = attrs.field(default=None, eq=False)
    case_sensitive: bool = False
    trimming: Trimming = DEFAULT_TRIMMING
    views: bool = True


class Column(NamedTuple):
    """
    A column of a dataset from which an attribute is read.

    Args:
        dataset: the dataset of the column.
        name: the name of the column.
        kind: how the attribute follows from it; IDENTITY if it has the column's own value.
    """

    dataset: Identifier
    name: str
    kind: UseKind = UseKind.IDENTITY


@attrs.frozen
class Relation:
    """
    The relation of a leaf operator.

    Args:
        datasets: the datasets that it reads.
        columns: exprId -> the columns from which the attribute is read; attributes without columns are left out.
        opaque: why the columns are unknown; None if they are known.
        rows: the columns that influence its rows, each with the kind of the influence.
        texts: exprId -> the expression by which another system computes the attribute, in terms of the columns.
        certainty: how sure the columns are.
    """

    datasets: tuple[Dataset, ...] = ()
    columns: Mapping[int, tuple[Column, ...]] = attrs.Factory(dict)
    opaque: str | None = None
    rows: tuple[Column, ...] = ()
    texts: Mapping[int, str] = attrs.Factory(dict)
    certainty: Certainty = Certainty.EXACT

    def trimmed(self, trimming: Trimming) -> Relation:
        """Return the relation with trimmed names; datasets that have the same name then become one."""
        datasets: dict[Identifier, Dataset] = {}
        trimmed = [trimming.dataset(dataset) for dataset in self.datasets]
        for dataset in trimmed:
            known = datasets.get(dataset.identifier)
            datasets[dataset.identifier] = dataset if known is None else known.joined(dataset)
        if all(one is other for one, other in zip(trimmed, self.datasets, strict=True)):
            return self
        pairs = zip(self.datasets, trimmed, strict=True)
        names = {dataset.identifier: other.identifier for dataset, other in pairs}
        columns = {
            id_: tuple(dict.fromkeys(c._replace(dataset=names.get(c.dataset, c.dataset)) for c in columns))
            for id_, columns in self.columns.items()
        }
        rows = tuple(dict.fromkeys(c._replace(dataset=names.get(c.dataset, c.dataset)) for c in self.rows))
        return attrs.evolve(self, datasets=tuple(datasets.values()), columns=columns, rows=rows)


NO_DATASETS = Relation()
"""The relation of a leaf that holds its rows itself."""

Resolver = Callable[[Plan, Operator, Session], "Relation | None"]
"""
Returns what a leaf operator reads; None if that is unknown.

It is called with the plan, the leaf operator and the session. If the plan was cut, any argument may be missing.
"""

SOURCES: ClassRules[Resolver] = ClassRules()
"""Class of a leaf operator, or of a value in one -> its resolver."""

source = SOURCES.rule
reads = SOURCES.reads


def by_name(operator: Operator, *datasets: Dataset) -> Relation:
    """
    Return a relation whose attributes are read from the columns of the same name.

    Args:
        operator: the leaf operator.
        datasets: the datasets that it reads; each of them has all columns.
    """
    names = {id_: name for id_, name in operator.output if name != FILE_METADATA}
    return Relation(datasets, _NamedColumns(names, tuple(dataset.identifier for dataset in datasets)))


class _NamedColumns(Mapping[int, tuple[Column, ...]]):
    """The columns of the same name in some datasets, created on demand because a plan needs few of them."""

    def __init__(self, names: Mapping[int, str], datasets: tuple[Identifier, ...]) -> None:
        self._names = names
        self._datasets = datasets
        self._made: dict[int, tuple[Column, ...]] = {}

    def __getitem__(self, id_: int) -> tuple[Column, ...]:
        if id_ not in self._made:
            name = self._names[id_]
            self._made[id_] = tuple([Column(dataset, name) for dataset in self._datasets])
        return self._made[id_]

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


# With these options, another snapshot than the table's is read; some of them are resolved only by the scan.
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
    # A table that does not exist yet has a negative version.
    return TableVersions("delta", (str(version),)) if isinstance(version, int) and version >= 0 else None


def relation_of(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """
    Return the relation of a leaf operator.

    Args:
        plan: the plan of the operator.
        operator: the leaf; the resolver of a value in it takes precedence over the resolver of its own class.
        session: the session's settings.

    Returns:
        NO_DATASETS if the plan itself holds the rows; None for an operator without a resolver.
    """
    held = (value.class_name for value in operator.arguments.values() if isinstance(value, Described))
    names = (*held, operator.class_name)
    resolver = next((found for found in map(SOURCES.get, names) if found is not None), None)
    return None if resolver is None else resolver(plan, operator, session)
