"""The other branches of decisions on data: a script runs again for each, and the edges are united."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.dryrun.lineage import lineage_of_script
from openlineage_pyspark.workbench.dryrun.stage import decision_of
from openlineage_pyspark.workbench.predict.scripts import Problem, StatementLineage
from openlineage_pyspark.workbench.predict.statements import ScriptStatement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openlineage_pyspark.workbench.dryrun.request import ScriptRequest
    from openlineage_pyspark.workbench.dryrun.run import ScriptRecords, ScriptRunner
    from openlineage_pyspark.workbench.predict.declared import DeclaredTable

MOST_BRANCHES = 16
"""The maximum number of further runs of a script."""


def other_sides(
    runner: ScriptRunner, request: ScriptRequest, first: ScriptRecords, tables: Sequence[DeclaredTable]
) -> tuple[tuple[StatementLineage, ...], ScriptRecords]:
    """
    Return the writes that a script only makes on other branches of its decisions, with their diagnostics.

    Args:
        runner: runs scripts.
        request: the script.
        first: the records of the first run.
        tables: the tables that were known before.
    """
    known = {_key(each) for each in lineage_of_script(first, tables)}
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
            if each.lineage is not None and _key(each) not in known:
                known.add(_key(each))
                found += _marked(each, flipped)
        further = ((*flipped, each) for each in _decisions(records) if each not in flipped)
        for path in further:
            # The order in which two decisions are flipped makes no difference.
            if frozenset(path) not in seen:
                seen.add(frozenset(path))
                waiting.append(path)
    if waiting:
        found.append(_unfinished(request, len(waiting)))
    return tuple(found), tuple(every)


def _decisions(records: ScriptRecords) -> Iterator[str]:
    """Yield the decisions on data, each once."""
    yield from dict.fromkeys(
        decision_of(str(line["spot"]["file"]), int(line["spot"]["line"]))
        for line in records
        if line["k"] == "problem" and line["code"] == "DECISION"
    )


def _key(found: StatementLineage) -> tuple[object, ...]:
    return found.statement.file, found.statement.line, str(found.lineage)


def _marked(found: StatementLineage, flipped: Sequence[str]) -> Iterator[StatementLineage]:
    """Yield a statement after a note that names the decision that leads to it."""
    at = found.statement
    message = f"only written if the decision at {' and at '.join(flipped)} goes the other way"
    yield StatementLineage(at, problem=Problem(at.file, at.line, at.column, "BRANCH", message))
    yield found


def _unfinished(request: ScriptRequest, left: int) -> StatementLineage:
    message = f"{left} more outcomes of decisions were not tried: a script runs again at most {MOST_BRANCHES} times"
    return StatementLineage(
        ScriptStatement("", request.name, 1, 1), problem=Problem(request.name, 1, 1, "DECISION", message)
    )
