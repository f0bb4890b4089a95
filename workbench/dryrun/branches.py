"""
The outcomes of decisions on data.

A script that fails after a decision runs again with the other outcome. On request, a script runs again for each of its
decisions, and its edges are united.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.dryrun.script.stage import decision_of
from openlineage_pyspark.workbench.predict.outcome import DECISION, OTHER_OUTCOME
from openlineage_pyspark.workbench.predict.scripts import Problem, StatementLineage
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.workbench.dryrun.run import ScriptRecords, ScriptRunner
    from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
    from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTable

MOST_BRANCHES = 16
"""The maximum number of further runs of a script for the other outcomes of its decisions."""
_MOST_FAILURES = 4
_FAILURES = frozenset({"SCRIPT_FAILED", "SCRIPT_ENDED"})


def records_past_failures(runner: ScriptRunner, request: ScriptRequest) -> ScriptRecords:
    """
    Return the records of a script.

    A script that fails after a decision on data may succeed with other data. So it runs again with the other outcome of
    its last decision, as long as it gets further.
    """
    records = runner.run(request)
    for _ in range(_MOST_FAILURES):
        untried = [each for each in _decisions(records) if each not in request.flipped]
        if not untried or not _fails(records):
            break
        tried = attrs.evolve(request, flipped=(*request.flipped, untried[-1]))
        further = runner.run(tried)
        if _fails(further) and _progress(further) <= _progress(records):
            break
        request, records = tried, further
    return records


def _fails(records: ScriptRecords) -> bool:
    return any(each["k"] == "problem" and each["code"] in _FAILURES for each in records)


def _progress(records: ScriptRecords) -> int:
    """Return how much a script has read, written and decided before its end."""
    return sum(each["k"] != "problem" or each["code"] == DECISION for each in records)


def lineage_of_branches(
    runner: ScriptRunner, request: ScriptRequest, first: ScriptRecords, tables: Sequence[DeclaredTable]
) -> tuple[tuple[StatementLineage, ...], ScriptRecords]:
    """
    Return the lineage of a script with both outcomes of its decisions, and the records of the further runs.

    Args:
        runner: runs scripts.
        request: the script.
        first: the records of the run with the assumed outcomes.
        tables: the tables that were known before.

    Returns:
        The statements of the first run, without the decisions if both outcomes of all were tried; then the problems and
        the statements that only another outcome has, each statement after a note that names the decision.
    """
    assumed = lineage_of_script(first, tables)
    known = set(map(_key, assumed))
    found: list[StatementLineage] = []
    every: list[dict[str, object]] = []
    waiting: deque[tuple[str, ...]] = deque((each,) for each in _decisions(first))
    seen = {frozenset(each) for each in waiting}
    runs = 0
    while waiting and runs < MOST_BRANCHES:
        flipped = waiting.popleft()
        runs += 1
        records = runner.run(attrs.evolve(request, flipped=flipped))
        every += records
        for each in lineage_of_script(records, tables):
            if _key(each) not in known and not _is_decision(each):
                known.add(_key(each))
                found += _marked(each, flipped) if each.lineage is not None else (each,)
        further = ((*flipped, each) for each in _decisions(records) if each not in flipped)
        for path in further:
            # The order in which decisions are flipped makes no difference.
            if frozenset(path) not in seen:
                seen.add(frozenset(path))
                waiting.append(path)
    if waiting:
        return (*assumed, *found, _unfinished(request, len(waiting))), tuple(every)
    return (*(each for each in assumed if not _is_decision(each)), *found), tuple(every)


def _is_decision(found: StatementLineage) -> bool:
    return found.problem is not None and found.problem.code == DECISION


def _decisions(records: ScriptRecords) -> Iterator[str]:
    """Yield the decisions on data, each once."""
    yield from dict.fromkeys(
        decision_of(str(line["spot"]["file"]), int(line["spot"]["line"]))
        for line in records
        if line["k"] == "problem" and line["code"] == DECISION
    )


def _key(found: StatementLineage) -> tuple[object, ...]:
    return found.statement.file, found.statement.line, str(found.lineage), found.problem and found.problem.message


def _marked(found: StatementLineage, flipped: Sequence[str]) -> Iterator[StatementLineage]:
    """Yield a statement after a note that names the decision that leads to it."""
    at = found.statement
    message = f"only written if the decision at {' and at '.join(flipped)} goes the other way"
    yield StatementLineage(at, problem=Problem(at.file, at.line, at.column, OTHER_OUTCOME, message))
    yield found


def _unfinished(request: ScriptRequest, left: int) -> StatementLineage:
    untried = "outcome of decisions was" if left == 1 else "outcomes of decisions were"
    message = f"{left} more {untried} not tried: a script runs again at most {MOST_BRANCHES} times"
    return StatementLineage(
        ScriptStatement("", request.name, 1, 1), problem=Problem(request.name, 1, 1, DECISION, message)
    )
