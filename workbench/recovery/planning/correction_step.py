"""The step that corrects the dataset that got a bad version. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.recovery.model import statements
from openlineage_pyspark.workbench.recovery.model.facts import COMMENTS
from openlineage_pyspark.workbench.recovery.model.plan import RecoveryStep

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.recovery.model.facts import DatasetFacts
    from openlineage_pyspark.workbench.recovery.model.rewriting import Rewritten
    from openlineage_pyspark.workbench.recovery.planning.decisions import Decisions

# A statement that adds no row: an UPDATE, a DELETE, or a MERGE that inserts none.
_ADDS_NO_ROW = re.compile(rf"{COMMENTS}(?:UPDATE|DELETE|MERGE(?!.*\bINSERT\b))\b", re.IGNORECASE | re.DOTALL)


def correcting_steps(decided: Decisions) -> Iterator[RecoveryStep]:
    """Yield the step that corrects the dataset, unless the bad version was rolled back, replaced or corrected."""
    start, line = decided.request.start, decided.flow.line(decided.root)
    is_corrected = any(decided.flow.corrects(key, start) for key in line)
    if not decided.again.is_needed or start not in line or is_corrected:
        return
    known, made, correction = decided.facts.datasets[decided.root], decided.bad, decided.request.correction
    is_copy, in_place = decided.is_side_by_side, decided.again.in_place
    name = known.label
    if is_copy:
        name = statements.beside_name(known) if known.sql else f"a copy of {known.label}"
    text = f"Put the correct data of version {made.version} into {name}." if made.version else f"Correct {name}."
    yield RecoveryStep(
        "correct",
        text,
        "sql" if correction else "",
        tuple(text for sql in correction for text in _of_copy(decided, sql)),
        notes=tuple(_notes(decided)),
        doubts=tuple(_uncertainties(decided, name)),
        writes=(statements.table_id(known, name if is_copy else ""),) if known.is_of_spark else (),
        reads=tuple(statements.table_id(each) for each in _read(decided) if each.is_of_spark),
        before=() if is_copy else decided.conditions.newest(decided.root),
        corrects=made.version if in_place else "",
        like="" if is_copy else made.run_id,
    )


def _of_copy(decided: Decisions, sql: str) -> tuple[str, ...]:
    """Return a statement of the correction, with the copy of the dataset, if there is one, instead of the dataset."""
    from openlineage_pyspark.workbench.recovery.model.rewriting import rewritten

    root = decided.root
    if root not in decided.copies:
        return (sql,)
    copies = {root: decided.copies[root]}
    plain, found = (rewritten(sql, (), [decided.facts.datasets[root]], each, each) for each in ({}, copies))
    # The user's own text stays, unless it names the dataset.
    return (sql,) if found.text == plain.text else (*found.before, found.text)


def _notes(decided: Decisions) -> Iterator[str]:
    made = decided.bad
    run = decided.facts.run(made.run_id)
    if made.run_id:
        yield f"The bad version {made.version} was made by {run.shown_job}, run {made.run_id}."
    if made.unit.is_batch:
        yield f"Micro-batch {made.batch_id} made it: correct the data that it read, or its code. It runs again below."
    elif run.sql:
        yield f"Its statement was: {run.sql}"
    if decided.again.in_place:
        yield "Nothing is rolled back: only a column is wrong, and every reader read the newest version."


def _uncertainties(decided: Decisions, name: str) -> Iterator[str]:
    """
    Yield the uncertainties.

    Args:
        decided: the decisions.
        name: the name of the corrected table: the dataset, or its copy.
    """
    label, version = decided.facts.label(decided.root), decided.bad.version
    if not decided.again.in_place and not decided.again.goes_back:
        if decided.is_side_by_side:
            yield f"{name} begins with all rows of {label}: remove the bad data by hand"
        else:
            yield f"{label} can't be rolled back: remove the bad data by hand"
        if not decided.is_bad(decided.root):
            now = decided.flow.made(decided.flow.newest(decided.root))
            yield (
                f"{label} no longer contains it since {now.version}: restore that version when the steps below are done"
            )
    for each in _rebuilt_sources(decided):
        yield f"it reads {each.label}, which is not correct before later steps have rebuilt it"
    if _corrects_what_is_gone(decided):
        yield (
            f"it only changes existing rows, and those of version {version} are gone by then: use statements that "
            "insert the correct rows"
        )


def _rebuilt_sources(decided: Decisions) -> list[DatasetFacts]:
    """Return the datasets that the correction reads although they are rebuilt."""
    named = {each for text in _texts(decided) for each in text.named}
    return [known for known in _rebuilt(decided) if known.id in named]


def _read(decided: Decisions) -> list[DatasetFacts]:
    """Return the rebuilt datasets that the correction reads; all of them if its text can't be parsed."""
    is_known = all(text.text for text in _texts(decided))
    return _rebuilt_sources(decided) if is_known else _rebuilt(decided)


def _rebuilt(decided: Decisions) -> list[DatasetFacts]:
    return [decided.facts.datasets[each] for each in decided.again.bases if each != decided.root]


def _texts(decided: Decisions) -> list[Rewritten]:
    """Return the statements of the correction, with the rebuilt datasets that each one names."""
    from openlineage_pyspark.workbench.recovery.model.rewriting import rewritten

    rebuilt = _rebuilt(decided)
    return [rewritten(sql, (), rebuilt, {}, {}) for sql in decided.request.correction] if rebuilt else []


def _corrects_what_is_gone(decided: Decisions) -> bool:
    """
    Return whether the correction adds no row, although the bad rows were removed before it.

    Where the statement that made the bad version added no row either, the correction repeats it.
    """
    correction = decided.request.correction
    adds_none = bool(correction) and all(map(_ADDS_NO_ROW.match, correction))
    sql = decided.facts.run(decided.bad.run_id).sql
    return decided.again.goes_back and adds_none and not _ADDS_NO_ROW.match(sql)
