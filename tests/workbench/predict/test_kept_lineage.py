"""A lineage that is kept is the one that was found."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from openlineage_pyspark.command.statement_formats import WRITERS
from openlineage_pyspark.listener.analyze import EncodedQuery
from openlineage_pyspark.workbench.predict import query
from openlineage_pyspark.workbench.predict.caching.cache import KeptAnswer, KeptAnswers
from openlineage_pyspark.workbench.predict.caching.kept_lineage import document_of_lineage, lineage_of_document
from openlineage_pyspark.workbench.predict.scripts import StatementAnswer, lineage_of_analyzed, lineage_of_answers
from openlineage_pyspark.workbench.predict.session import Analyzed
from openlineage_pyspark.workbench.predict.sql.statements import ScriptStatement
from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables
from openlineage_pyspark.workbench.report import Lineage
from support.recorded_plans import FOLDER, read

PLANS = {
    f"{theme}: {name}": plan
    for theme in sorted(file.stem for file in (FOLDER / "4.3").glob("*.json"))
    for name, plan in read("4.3", theme).items()
}


def found(plan: dict[str, object]) -> Lineage:
    return lineage_of_analyzed(EncodedQuery(json.dumps(plan)), DeclaredTables())


@pytest.mark.slow
def test_each_recorded_plan_has_the_same_lineage_when_it_was_kept() -> None:
    assert len(PLANS) > 100
    for name, plan in PLANS.items():
        lineage = found(plan)
        kept = lineage_of_document(json.loads(json.dumps(document_of_lineage(lineage))))
        assert kept == lineage, name
        assert kept.to_dict() == lineage.to_dict(), name
        ways = [[each.way for edge in columns.edges for each in edge.transformations] for _, columns in lineage.outputs]
        again = [[each.way for edge in columns.edges for each in edge.transformations] for _, columns in kept.outputs]
        assert again == ways, name


def test_the_plan_of_a_kept_lineage_is_read_when_something_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = PLANS["cte: cte"]
    analyzed = Analyzed("CreateTableAsSelect", EncodedQuery(json.dumps(plan)))
    whole = found(plan)
    with KeptAnswers(tmp_path) as store:
        store.keep({"key": KeptAnswer(analyzed, (), whole)}, ())
        kept = store.read({"key"})["key"]
    statement = ScriptStatement("CREATE TABLE t AS SELECT 1", "a.sql", 1, 1)
    answer = StatementAnswer(statement, kept.analyzed, lineage=kept.lineage)
    with monkeypatch.context() as without:
        without.setattr(query, "lineage_of_plan", None)
        (told,) = lineage_of_answers((answer,), ())
        assert told.lineage is not None
        assert str(told.lineage) == str(whole)
    (anew,) = lineage_of_answers((attrs.evolve(answer, lineage=None),), ())
    assert anew.lineage is not None
    assert told.lineage.graph().to_dict() == anew.lineage.graph().to_dict()
    assert told.lineage.plan == anew.lineage.plan != ""


@pytest.mark.slow
def test_how_a_kept_lineage_is_shown_is_kept_too_unless_another_statement_changes_it(tmp_path: Path) -> None:
    for number, name in enumerate(list(PLANS)[::20]):
        analyzed, whole = Analyzed("Project", EncodedQuery(json.dumps(PLANS[name]))), found(PLANS[name])
        with KeptAnswers(tmp_path / str(number)) as store:
            store.keep({"key": KeptAnswer(analyzed, (), whole, json.dumps(whole.to_dict()))}, ())
            kept = store.read({"key"})["key"]
        statement = ScriptStatement("SELECT 1", "a.sql", 1, 1)
        answer = StatementAnswer(statement, kept.analyzed, lineage=kept.lineage, document=kept.document)
        told = lineage_of_answers((answer,), ())
        anew = lineage_of_answers((attrs.evolve(answer, lineage=None, document=""),), ())
        assert [each.document for each in told] == [kept.document for _ in told]
        assert WRITERS["json"](told) == WRITERS["json"](anew)
        changed = attrs.evolve(answer, analyzed=attrs.evolve(analyzed, from_text=_every_table(whole)))
        (gaps,) = lineage_of_answers((changed,), ())
        assert (gaps.document == "") == bool(_every_table(whole))


def _every_table(lineage: Lineage) -> dict[tuple[str, ...], str]:
    """Return all tables that a lineage reads, as if each was declared from a text."""
    return {(each.identifier.namespace, *each.identifier.name.split(".")): "b.sql:1" for each in lineage.inputs}
