"""The public cases of lineage beside the repository, which several ways to find lineage are held against."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.dataset import Dataset
    from openlineage_pyspark.facets.model.lineage import InputField
    from openlineage_pyspark.workbench.predict.scripts import StatementLineage

SHARED = Path(__file__).parents[3] / "shared" / "conformance"
FOLDER = "/data/case"
"""The folder that cases call `{tmp}`."""
SCORED = ("inputs", "output", "direct", "indirect", "indirect_exact")
"""What of a case is compared."""


def needed() -> None:
    """Skip the test that calls this if there are no public cases."""
    if not SHARED.is_dir():
        pytest.skip("there are no public cases: ../shared/conformance beside the repository")


def every_case() -> list[dict[str, Any]]:
    """Return all cases, in the order of their files."""
    return [
        case for file in sorted((SHARED / "cases").glob("*.yaml")) for case in yaml.safe_load(file.read_text("utf-8"))
    ]


def scorer() -> Any:
    """Return the module that scores cases."""
    spec = importlib.util.spec_from_file_location("score_of_cases", SHARED / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def as_event(found: StatementLineage) -> dict[str, Any]:
    """Return a lineage in the form of an event."""

    def edges(given: tuple[InputField, ...]) -> list[dict[str, Any]]:
        return [
            {
                "namespace": edge.dataset.namespace,
                "name": edge.dataset.name,
                "field": edge.field,
                "transformations": [{"type": t.type, "subtype": t.subtype} for t in edge.transformations],
            }
            for edge in given
        ]

    def named(dataset: Dataset) -> dict[str, Any]:
        links = [{"namespace": each.namespace, "name": each.name} for each in dataset.symlinks]
        identifier = dataset.identifier
        return {
            "namespace": identifier.namespace,
            "name": identifier.name,
            "facets": {"symlinks": {"identifiers": links}},
        }

    lineage = found.lineage
    assert lineage is not None
    outputs = []
    for dataset, columns in lineage.outputs:
        if dataset is not None:
            output = named(dataset)
            fields = {column.name: {"inputFields": edges(column.edges)} for column in columns.columns}
            output["facets"]["columnLineage"] = {"fields": fields, "dataset": edges(columns.dataset)}
            outputs.append(output)
    run = {"runId": f"{found.statement.file}:{found.statement.line}"}
    # The cases count the tables behind views, and not the views themselves.
    inputs = [named(dataset) for dataset in lineage.inputs if dataset.type != "VIEW"]
    return {"eventType": "COMPLETE", "run": run, "job": {}, "inputs": inputs, "outputs": outputs}
