"""Make the steps of a rebuild plan from Spark's answers about files."""

from __future__ import annotations

import ast
import hashlib
from typing import TYPE_CHECKING

from openlineage_pyspark.workbench.predict.compare import name_of
from openlineage_pyspark.workbench.predict.sql.notebooks import is_notebook, sql_in
from openlineage_pyspark.workbench.rebuild.statements import FileStep, ScriptWrite, plain_text
from openlineage_pyspark.workbench.rebuild.unrun import may_write_more

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.workbench.predict.scripts import Script, StatementAnswer, StatementLineage


def steps_of_answers(
    answers: Iterable[StatementAnswer], found: Iterable[StatementLineage], scripts: Sequence[Script]
) -> tuple[FileStep, ...]:
    """
    Return the statements of SQL files.

    Args:
        answers: Spark's answer about each statement.
        found: the lineage of those that have any.
        scripts: the files.
    """
    texts = {each.name: each.text for each in scripts}
    lineages = {_place(each): each for each in found}
    steps = [_step(each, lineages.get(_place(each)), texts) for each in answers]
    return (*(_cells(each) for each in scripts if is_notebook(each.text)), *steps)


def _cells(notebook: Script) -> FileStep:
    """Return the cells of a notebook that are not SQL, as one statement that may do anything."""
    lines = zip(notebook.text.split("\n"), sql_in(notebook.text).split("\n"), strict=True)
    code = "\n".join(line for line, sql in lines if line.strip() and not sql.strip(" ;"))
    return FileStep(notebook.name, 1, "", "cells", is_known=False, code=code)


def _place(each: StatementAnswer | StatementLineage) -> tuple[str, int, int]:
    statement = each.statement
    return statement.file, statement.line, statement.column


def _step(answer: StatementAnswer, found: StatementLineage | None, texts: dict[str, str]) -> FileStep:
    statement, analyzed = answer.statement, answer.analyzed
    lineage = None if found is None else found.lineage
    written = [] if lineage is None else [name_of(dataset) for dataset, _ in lineage.outputs if dataset is not None]
    # A statement of an SQL script may or may not run, and may read the row of a loop.
    in_script = statement.in_script or bool(statement.loops)
    is_known = analyzed.refusal is None and analyzed.missed is None and not in_script and not analyzed.from_text
    code = plain_text(f"{texts.get(statement.file, '')} {statement.text}") if in_script else ""
    return FileStep(
        statement.file,
        statement.line,
        statement.text,
        analyzed.kind,
        analyzed.shape,
        analyzed.targets or tuple(written),
        is_known=is_known,
        is_declaration=answer.is_ddl,
        within=f"{analyzed.catalog}.{analyzed.database}",
        code=code,
    )


def step_of_script(
    script: Script, found: Sequence[StatementLineage], surroundings: str, words: frozenset[str] = frozenset()
) -> FileStep:
    """
    Return a script of Python as one statement.

    Args:
        script: the script.
        found: the lineage of what it writes, and its problems.
        surroundings: what else decides what it does, as a text: its arguments, and hashes of the files beside it.
        words: the words of which it may make names of tables, in lower case.
    """
    lineages = [each.lineage for each in found if each.lineage is not None]
    written = dict.fromkeys(name_of(dataset) for each in lineages for dataset, _ in each.outputs if dataset is not None)
    read = dict.fromkeys(name_of(dataset) for each in lineages for dataset in each.inputs)
    # A script that uses values of rows, or that was not fully understood, may read anything.
    is_asking = any(each.problem is not None or each.is_of_rows for each in found)
    is_whole = not is_asking and not any(each.gaps for each in lineages)
    return FileStep(
        script.name,
        next((each.statement.line for each in found if each.lineage is not None), 1),
        script.name,
        "script",
        targets=tuple(written),
        reads=tuple(read) if is_whole else None,
        writes=tuple(_writes(found)),
        words_of_names=words if may_write_more(script, found) else None,
        code=hashlib.sha256(f"{_code_of(script.text)}\n{surroundings}".encode()).hexdigest(),
    )


def _writes(found: Iterable[StatementLineage]) -> Iterator[ScriptWrite]:
    for each in found:
        for dataset, _ in () if each.lineage is None else each.lineage.outputs:
            if dataset is not None:
                columns = ", ".join(f"{field.name} {field.type}" for field in dataset.fields)
                yield ScriptWrite(name_of(dataset), f"{each.statement.file}:{each.statement.line}", columns)


def _code_of(text: str) -> str:
    """Return a script without comments and layout, if it can be parsed."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
