"""The classes of Delta Lake's API in Python, and Spark's builder of a MERGE: scripts may name every argument."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest
from openlineage_pyspark.workbench.dryrun.libraries.lakes import members_of_delta
from openlineage_pyspark.workbench.dryrun.libraries.merges import MergeIntoBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

# The public methods of `delta.tables` in Delta Lake 4.4, with their parameters: one that may be left out has a `?`.
DELTA = {
    "DeltaTable.addFeatureSupport": "featureName",
    "DeltaTable.alias": "aliasName",
    "DeltaTable.clone": "target isShallow? replace? properties?",
    "DeltaTable.cloneAtTimestamp": "timestamp target isShallow? replace? properties?",
    "DeltaTable.cloneAtVersion": "version target isShallow? replace? properties?",
    "DeltaTable.convertToDelta": "sparkSession identifier partitionSchema?",
    "DeltaTable.create": "sparkSession?",
    "DeltaTable.createIfNotExists": "sparkSession?",
    "DeltaTable.createOrReplace": "sparkSession?",
    "DeltaTable.delete": "condition?",
    "DeltaTable.detail": "",
    "DeltaTable.dropFeatureSupport": "featureName truncateHistory?",
    "DeltaTable.forName": "sparkSession tableOrViewName",
    "DeltaTable.forPath": "sparkSession path hadoopConf?",
    "DeltaTable.generate": "mode",
    "DeltaTable.history": "limit?",
    "DeltaTable.isDeltaTable": "sparkSession identifier",
    "DeltaTable.merge": "source condition",
    "DeltaTable.optimize": "",
    "DeltaTable.replace": "sparkSession?",
    "DeltaTable.restoreToTimestamp": "timestamp",
    "DeltaTable.restoreToVersion": "version",
    "DeltaTable.toDF": "",
    "DeltaTable.update": "condition? set?",
    "DeltaTable.upgradeTableProtocol": "readerVersion writerVersion",
    "DeltaTable.vacuum": "retentionHours?",
    "DeltaMergeBuilder.execute": "",
    "DeltaMergeBuilder.whenMatchedDelete": "condition?",
    "DeltaMergeBuilder.whenMatchedUpdate": "condition? set?",
    "DeltaMergeBuilder.whenMatchedUpdateAll": "condition?",
    "DeltaMergeBuilder.whenNotMatchedBySourceDelete": "condition?",
    "DeltaMergeBuilder.whenNotMatchedBySourceUpdate": "condition? set?",
    "DeltaMergeBuilder.whenNotMatchedInsert": "condition? values?",
    "DeltaMergeBuilder.whenNotMatchedInsertAll": "condition?",
    "DeltaMergeBuilder.withSchemaEvolution": "",
    "DeltaTableBuilder.addColumn": "colName dataType nullable? generatedAlwaysAs? generatedByDefaultAs? comment?",
    "DeltaTableBuilder.addColumns": "cols",
    "DeltaTableBuilder.clusterBy": "*cols",
    "DeltaTableBuilder.comment": "comment",
    "DeltaTableBuilder.execute": "",
    "DeltaTableBuilder.location": "location",
    "DeltaTableBuilder.partitionedBy": "*cols",
    "DeltaTableBuilder.property": "key value",
    "DeltaTableBuilder.tableName": "identifier",
    "DeltaOptimizeBuilder.executeCompaction": "",
    "DeltaOptimizeBuilder.executeZOrderBy": "*cols",
    "DeltaOptimizeBuilder.where": "partitionFilter",
    "IdentityGenerator": "start? step?",
    "configure_spark_with_delta_pip": "spark_session_builder extra_packages?",
}
# The same of Spark 4's own MERGE, whose three conditions have classes of their own there.
SPARK = {
    "merge": "",
    "whenMatched": "condition?",
    "whenNotMatched": "condition?",
    "whenNotMatchedBySource": "condition?",
    "withSchemaEvolution": "",
    "delete": "",
    "insert": "assignments",
    "insertAll": "",
    "update": "assignments",
    "updateAll": "",
}


def parameters_of(called: Callable[..., object]) -> str:
    """Return the parameters of a function, in the form of the table above."""
    every = [each for each in inspect.signature(called).parameters.values() if each.name != "self"]
    return " ".join(
        f"*{each.name}"
        if each.kind is each.VAR_POSITIONAL
        else f"{each.name}{'' if each.default is each.empty else '?'}"
        for each in every
    )


def test_each_method_of_delta_has_the_parameters_of_delta_lake() -> None:
    found = {}
    for name, each in members_of_delta().items():
        if name.startswith("Delta"):
            public = [method for method in vars(each) if not method.startswith("_") and method != "worlds"]
            found.update({f"{name}.{method}": parameters_of(getattr(each, method)) for method in public})
        else:
            found[name] = parameters_of(each)
    assert found == DELTA


def test_the_methods_of_delta_here_are_those_of_the_installed_delta_lake() -> None:
    tables = pytest.importorskip("delta.tables", reason="Delta Lake's package is not installed")
    public = [each for each in DELTA if hasattr(tables, each.partition(".")[0])]
    found = {}
    for name in public:
        owner, _, method = name.partition(".")
        made = getattr(tables, owner)
        found[name] = parameters_of(getattr(made, method) if method else made)
    assert found == {name: DELTA[name] for name in public}


def test_each_method_of_a_merge_has_the_parameters_of_spark() -> None:
    public = {name: each for name, each in vars(MergeIntoBuilder).items() if not name.startswith("_")}
    assert {name: parameters_of(each) for name, each in public.items()} == SPARK


def test_the_parameters_of_a_merge_are_those_of_the_installed_spark() -> None:
    real = pytest.importorskip("pyspark.sql.merge", reason="Spark 3.5 has no MERGE in Python").MergeIntoWriter
    owners = (real, real.WhenMatched, real.WhenNotMatched, real.WhenNotMatchedBySource)
    found = {
        name: parameters_of(each)
        for owner in owners
        for name, each in vars(owner).items()
        if not name.startswith(("_", "When"))
    }
    assert found == SPARK
