"""Where literals are masked, none is left in what is shown of a plan: neither in a text nor in what it was made of."""

from __future__ import annotations

import datetime
import functools

import attrs
import pytest
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier
from openlineage_pyspark.facets.model.plan import Expression, Mention, Plan, StructSql
from openlineage_pyspark.facets.model.run import Engine, Job, RunInput, RunOutput, RunState
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.facets.redaction.redact import Redaction, redacted
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.probe.decode import decode_plan
from support import cases, recorded_plans

STRING, NUMBER = "c4nary", "48151623"


def with_canaries(plan: Plan) -> Plan:
    """Return a plan in which each literal of an expression's text is a string or a number that nothing else has."""

    def part(given: str | Mention | StructSql) -> str | Mention | StructSql:
        if isinstance(given, Mention):
            return given
        if isinstance(given, StructSql):
            fields = tuple((name, tuple(map(part, field))) for name, field in given.fields)
            return StructSql(tuple(map(part, given.whole)), fields)
        replaced = {TokenKind.STRING: f"'{STRING}'", TokenKind.NUMBER: NUMBER}
        return type(given)("".join(replaced.get(token.kind, token.text) for token in tokens(given)))

    def expression(given: Expression) -> Expression:
        sql = given.sql
        shown = part(sql) if isinstance(sql, str) else None if sql is None else tuple(map(part, sql))
        return given._replace(sql=shown)  # type: ignore[arg-type]

    return attrs.evolve(plan, expressions=tuple(map(expression, plan.expressions)))


def shown(plan: Plan, *, mask: bool) -> str:
    """Return all that is shown of a plan as one text."""
    found = lineage_of_plan(plan, session_settings_of(plan, None), paths=True)
    outputs = [RunOutput(each.write.dataset, lineage=each.lineage) for each in found.outputs]
    if found.columns is not None:
        outputs.append(RunOutput(Dataset(Identifier("file", "/query")), lineage=found.columns))
    when = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    state = RunState(
        "COMPLETE",
        when,
        "0190a000-0000-7000-8000-000000000002",
        Job("n", "j", "SQL_JOB"),
        Engine("4.3.0"),
        outputs=tuple(outputs),
        inputs=tuple(map(RunInput, found.inputs)),
        gaps=found.gaps,
    )
    return repr(attrs.asdict(redacted(state, Redaction(mask_literals=mask))))


@pytest.mark.slow
@pytest.mark.parametrize("version", recorded_plans.versions()[-1:])
def test_no_literal_of_any_case_is_left_where_literals_are_masked(version: str) -> None:
    read = functools.cache(recorded_plans.read)
    of_cases = [
        with_canaries(decode_plan(read(version, case.theme)[case.id]))
        for case in cases.all_cases()
        if case.runs_on(version)
    ]
    plain, masked = ([shown(plan, mask=mask) for plan in of_cases] for mask in (False, True))
    assert sum(STRING in text for text in plain) > 50
    assert sum(NUMBER in text for text in plain) > 50
    assert [text for text in masked if STRING in text or NUMBER in text] == []
