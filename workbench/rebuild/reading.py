"""Make the steps of a rebuild plan from Spark's answers about files."""

from __future__ import annotations

import ast
import hashlib
from typing import TYPE_CHECKING

from openlineage_pyspark.facets.sql_lexer import dotted
from openlineage_pyspark.workbench.predict.acts import FRAME, FUNCTIONS, PLACES, SETTINGS, TEMPORARY
from openlineage_pyspark.workbench.predict.compare import name_of
from openlineage_pyspark.workbench.predict.sql.notebooks import magics_in
from openlineage_pyspark.workbench.predict.tables.declared import SPARK_CATALOG
from openlineage_pyspark.workbench.rebuild.statements import FileStep, ScriptWrite, plain_text
from openlineage_pyspark.workbench.rebuild.text_reads import has_template, makes_routines, names_read, words_in
from openlineage_pyspark.workbench.rebuild.unrun import may_write_more

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openlineage_pyspark.workbench.predict.acts import ScriptAct
    from openlineage_pyspark.workbench.predict.project_code import ProjectCode
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
    files = {each.name: each for each in scripts}
    routines = frozenset(name for each in scripts if makes_routines(each.text) for name in words_in(each.text))
    lineages = {_place(each): each for each in found}
    steps = [_step(each, lineages.get(_place(each)), files, routines) for each in answers]
    # A notebook with other code than SQL is a script; but a magic may set how the session starts.
    magics = {each.name: "\n".join(magics_in(each.text)) for each in scripts}
    cells = (FileStep(name, 1, "", "cells", is_known=False, code=code) for name, code in magics.items() if code)
    return (*cells, *steps)


def loads_of_projects(scripts: Iterable[Script]) -> tuple[FileStep, ...]:
    """
    Return what dbt makes of files that are not among the scripts: seeds, and models in Python that are not run.

    Args:
        scripts: the files.
    """
    projects = dict.fromkeys(each.project for each in scripts if each.project is not None)
    return tuple(_load(*load) for load in dict.fromkeys(load for project in projects for load in project.loads))


def _load(name: str, file: str, digest: str) -> FileStep:
    """Return what dbt makes of a file without SQL."""
    target = name if "." in name else f"default.{name}"
    return FileStep(file, 1, name, "load", targets=(target,), may_read=frozenset(), is_known=False, code=digest)


def _place(each: StatementAnswer | StatementLineage) -> tuple[str, int, int]:
    statement = each.statement
    return statement.file, statement.line, statement.column


def _step(
    answer: StatementAnswer, found: StatementLineage | None, files: dict[str, Script], routines: frozenset[str]
) -> FileStep:
    statement, analyzed = answer.statement, answer.analyzed
    lineage = None if found is None else found.lineage
    written = [] if lineage is None else [name_of(dataset) for dataset, _ in lineage.outputs if dataset is not None]
    # A statement of an SQL script may or may not run, and may read the row of a loop.
    in_script = statement.in_script or bool(statement.loops)
    is_known = analyzed.refusal is None and analyzed.missed is None and not in_script and not analyzed.from_text
    script = files.get(statement.file)
    code = plain_text(f"{'' if script is None else script.text} {statement.text}") if in_script else ""
    project = None if script is None else script.project
    return FileStep(
        statement.file,
        statement.line,
        statement.text,
        analyzed.kind,
        analyzed.shape,
        analyzed.targets or tuple(written),
        may_read=None if in_script else names_read(statement.text, project, routines),
        is_known=is_known,
        is_declaration=answer.is_ddl,
        within=f"{analyzed.catalog}.{analyzed.database}",
        code=code,
        settings="" if project is None else _settings(statement.text, project),
    )


def _settings(text: str, project: ProjectCode) -> str:
    """Return what else decides about a model of dbt."""
    return f"{project.of_all}\n{project.of_templates if has_template(text) else ''}"


def _without_catalog(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name of a table as plans have it: with its database, and without Spark's own catalog."""
    whole = (SPARK_CATALOG, "default", *parts)[-3:]
    return whole[1:] if whole[0] == SPARK_CATALOG else whole


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
    if script.model:
        # It makes its table even if a dry run can't show how.
        written[".".join(_without_catalog(dotted(script.model)))] = None
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
        code=whole_code(script, surroundings),
    )


def steps_of_acts(
    script: Script, found: Sequence[StatementLineage], code: str, settings: str
) -> tuple[FileStep, ...] | None:
    """
    Return what a script does to tables, each act as one statement; None if an act is not known as such.

    Args:
        script: the script, of which plans show everything that decides what it writes.
        found: the lineage of what it writes.
        code: everything that decides what it does, as a text.
        settings: what else of it decides about all acts, as a text.
    """
    steps: list[FileStep] = []
    # A statement may have several outputs.
    last: ScriptAct | None = None
    for each in found:
        if each.act is None:
            if each.lineage is not None:
                return None
            continue
        if each.act is last or _is_set_by_data(each.act):
            return None
        last = each.act
        steps += _steps_of_act(script, each, each.act, f"{code} {len(steps)}", settings)
    return tuple(steps)


def _is_set_by_data(act: ScriptAct) -> bool:
    """Return whether a statement sets a variable to what a query returns: no later plan shows where this comes from."""
    words = frozenset(plain_text(act.text).split())
    is_setting = act.kind.startswith(SETTINGS) and not act.kind.startswith((*PLACES, *FUNCTIONS))
    return bool(is_setting and "SELECT" in words) or {"EXECUTE", "INTO"} <= words


def _steps_of_act(
    script: Script, found: StatementLineage, act: ScriptAct, code: str, settings: str
) -> Iterator[FileStep]:
    is_setting = act.kind.startswith(SETTINGS) and not act.kind.startswith(PLACES)
    if is_setting or any(each.startswith(TEMPORARY) for each in act.targets):
        # Its effect is in the settings and the plans of later acts.
        return
    lineage = found.lineage
    written = [] if lineage is None else [name_of(each) for each, _ in lineage.outputs if each is not None]
    read = None if lineage is None or lineage.gaps else tuple(dict.fromkeys(map(name_of, lineage.inputs)))
    is_frame = act.kind == FRAME
    yield FileStep(
        found.statement.file,
        found.statement.line,
        script.name if is_frame else act.text,
        act.kind,
        act.shape,
        act.targets or tuple(dict.fromkeys(written)),
        read,
        is_known=act.is_known,
        within=act.within,
        writes=tuple(_writes((found,))),
        code=act.text if is_frame else "",
        script=script.name,
        behind=hashlib.sha256(code.encode()).hexdigest(),
        settings=f"{settings} {act.settings}",
        is_whole=act.is_whole,
        names=act.names,
        held=act.held,
    )


def _writes(found: Iterable[StatementLineage]) -> Iterator[ScriptWrite]:
    for each in found:
        for dataset, _ in () if each.lineage is None else each.lineage.outputs:
            if dataset is not None:
                columns = ", ".join(f"{field.name} {field.type}" for field in dataset.fields)
                yield ScriptWrite(name_of(dataset), f"{each.statement.file}:{each.statement.line}", columns)


def whole_code(script: Script, surroundings: str) -> str:
    """
    Return a hash of everything that decides what a script does.

    Args:
        script: the script.
        surroundings: what is beside its text, as for `step_of_script`.
    """
    return hashlib.sha256(f"{_code_of(script.text)}\n{surroundings}".encode()).hexdigest()


def _code_of(text: str) -> str:
    """Return a script without comments and layout, if it can be parsed."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
