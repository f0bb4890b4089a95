"""
The public cases that are Python, as scripts without data: scored by what the cases expect.

By default each fifth case is asked; SAME_ANSWERS=all asks all of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.dryrun.run import ScriptRunner
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from support.public_cases import FOLDER, SCORED, as_event, every_case, needed, scorer

if TYPE_CHECKING:
    from pathlib import Path

EACH = 1 if os.environ.get("SAME_ANSWERS") == "all" else 5
BEGIN = [
    "from pyspark.sql import SparkSession, Window, functions as F, types as T",
    "spark = SparkSession.builder.getOrCreate()",
    f"tmp = {FOLDER!r}",
]


def python_cases() -> list[dict[str, Any]]:
    """Return the cases that are Python, and need no connector."""
    return [
        case
        for case in every_case()
        if isinstance(case["run"], dict)
        and "python" in case["run"]
        and not case.get("requires")
        and not case["expect"].get("fails")
        # What writes nothing makes no statement.
        and {"output", "outputs"} & case["expect"].keys()
        and case["expect"].get("output", "") is not None
    ]


def script_of(case: dict[str, Any]) -> tuple[str, int]:
    """Return a case as a script, and the last line of what it only prepares."""
    lines = list(BEGIN)
    for each in case.get("setup") or []:
        sql = [] if isinstance(each, dict) else [f"spark.sql({each.replace('{tmp}', FOLDER)!r})"]
        lines += each["python"].splitlines() if isinstance(each, dict) else sql
    return "\n".join([*lines, *case["run"]["python"].splitlines(), ""]), len(lines)


@pytest.mark.any_spark
@pytest.mark.long
def test_each_public_case_of_python_has_the_lineage_that_it_expects(real_spark: None, tmp_path: Path) -> None:
    needed()
    scoring = scorer()
    wrong = {}
    with ScriptRunner({}) as runner:
        for case in python_cases()[::EACH]:
            source, prepared = script_of(case)
            (script := tmp_path / "case.py").write_text(source, "utf-8")
            here = str(tmp_path)
            told = runner.run(ScriptRequest(case["id"], str(script), source, (), here, "", here))
            every = lineage_of_script(told, ())
            found = [each for each in every if each.statement.line > prepared]
            events = [as_event(each) for each in found if each.lineage is not None]
            scored, why = scoring.score(case, {"events": events, "tmp": FOLDER})
            # What is named is no wrong answer.
            if not all(scored.get(name, True) for name in SCORED) and not any(each.problem for each in every):
                wrong[case["id"]] = why
    assert wrong == {}
