"""Files give the answers of a run: the public cases that are SQL, scored by what they expect.

By default each sixtieth case is asked; SAME_ANSWERS=all asks all of them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.workbench.predict.scripts import (
    StatementAnswer,
    StatementLineage,
    analyzed,
    lineage_of_answers,
)
from openlineage_pyspark.workbench.predict.session import ScriptSession
from openlineage_pyspark.workbench.predict.sql.statements import statements_of
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.predict.throw_away import throw_away_session
from support.public_cases import FOLDER, SCORED, as_event, every_case, needed, scorer

# The long run has the oldest Spark too.
pytestmark = pytest.mark.any_spark
EACH = 1 if os.environ.get("SAME_ANSWERS") == "all" else 60
WITHOUT_CONNECTOR = {
    "spline-merge-union-view": "that a MERGE keeps the columns that it does not set, only Delta Lake's command says",
    "datahub-merge-from-union": "what NOT MATCHED BY SOURCE asks of the target makes it an input, which the case omits",
}
"""The cases with other answers, and why: they are of Delta Lake, which is not there."""


def sql_cases() -> list[dict[str, Any]]:
    """Return the cases of which setup and run are SQL."""
    return [
        case
        for case in every_case()
        if isinstance(case["run"], dict)
        and "sql" in case["run"]
        and all(isinstance(each, str) for each in case.get("setup") or [])
        and not case["expect"].get("fails")
        # A file tells no statement that has no lineage of columns.
        and {"columns", "outputs"} & case["expect"].keys()
    ]


@pytest.fixture(scope="module")
def answers(process_jvm: Any) -> dict[str, tuple[dict[str, Any], list[StatementLineage]]]:
    """Give each case with the lineage of what it runs, all in one Spark."""
    needed()
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
    scoring = scorer()
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
