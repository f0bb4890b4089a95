"""Files give the answers of a run: the public cases that are SQL, scored by what they expect.

By default each fifteenth case is asked; SAME_ANSWERS=all asks all of them.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from openlineage_pyspark.workbench.predict.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.scripts import (
    StatementAnswer,
    StatementLineage,
    analyzed,
    lineage_of_answers,
)
from openlineage_pyspark.workbench.predict.session import ScriptSession, throw_away_session
from openlineage_pyspark.workbench.predict.statements import statements_of

if TYPE_CHECKING:
    from openlineage_pyspark.facets.model.dataset import Dataset
    from openlineage_pyspark.facets.model.lineage import InputField

SHARED = Path(__file__).parents[4] / "shared" / "conformance"
EACH = 1 if os.environ.get("SAME_ANSWERS") == "all" else 15
FOLDER = "/data/case"
WITHOUT_CONNECTOR = {
    "spline-merge-union-view": "that a MERGE keeps the columns that it does not set, only Delta Lake's command says",
    "datahub-merge-from-union": "what NOT MATCHED BY SOURCE asks of the target makes it an input, which the case omits",
}
"""The cases with other answers, and why: they are of Delta Lake, which is not there."""
SCORED = ("inputs", "output", "direct", "indirect", "indirect_exact")


def sql_cases() -> list[dict[str, Any]]:
    """Return the cases of which setup and run are SQL."""
    every = [
        case for file in sorted((SHARED / "cases").glob("*.yaml")) for case in yaml.safe_load(file.read_text("utf-8"))
    ]
    return [
        case
        for case in every
        if isinstance(case["run"], dict)
        and "sql" in case["run"]
        and all(isinstance(each, str) for each in case.get("setup") or [])
        and not case["expect"].get("fails")
        # A file tells no statement that has no lineage of columns.
        and {"columns", "outputs"} & case["expect"].keys()
    ]


def score() -> Any:
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


@pytest.fixture(scope="module")
def answers(process_jvm: Any) -> dict[str, tuple[dict[str, Any], list[StatementLineage]]]:
    """Give each case with the lineage of what it runs, all in one Spark."""
    if not SHARED.is_dir():
        pytest.skip("there are no public cases: ../shared/conformance beside the repository")
    found = {}
    with throw_away_session({}) as spark:
        for number, case in enumerate(sql_cases()[::EACH]):
            if case.get("min_spark") and numbers(spark.version) < numbers(str(case["min_spark"])):
                continue
            session = ScriptSession(spark.newSession(), DeclaredTables())
            session.analyze(f"USE case_{number}")
            run = case["run"]["sql"]
            texts = [*(case.get("setup") or []), *(run if isinstance(run, list) else [run])]
            asked = len(texts) - (len(run) if isinstance(run, list) else 1)
            lineages: list[StatementLineage] = []
            for place, text in enumerate(texts):
                statements = statements_of(text.replace("{tmp}", FOLDER), case["id"])
                told = lineage_of_answers([StatementAnswer(each, analyzed(session, each)) for each in statements], ())
                lineages += told if place >= asked else [each for each in told if each.problem is not None]
            found[case["id"]] = (case, lineages)
    return found


def numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(part) for part in version.split(".")[:2])


def test_each_public_case_has_the_lineage_that_it_expects(
    answers: dict[str, tuple[dict[str, Any], list[StatementLineage]]],
) -> None:
    scoring = score()
    wrong = {}
    for id_, (case, found) in answers.items():
        problems = [str(each.problem) for each in found if each.problem is not None]
        events = [as_event(each) for each in found if each.lineage is not None and each.problem is None]
        scored, why = scoring.score(case, {"events": events, "tmp": FOLDER})
        if problems or not all(scored.get(name, True) for name in SCORED):
            wrong[id_] = problems or why
    report = os.environ.get("SAME_ANSWERS_REPORT")
    if report:
        Path(report).write_text("".join(f"{id_}: {why}\n" for id_, why in wrong.items()), "utf-8")
    assert wrong.keys() <= WITHOUT_CONNECTOR.keys(), wrong
