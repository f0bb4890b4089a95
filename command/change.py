"""The output of `lineage --diff`: the differences, the tables that must be rebuilt, and findings for a reviewer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.command.screen import complain
from openlineage_pyspark.command.statement_formats import (
    command_of_workflow,
    markdown_of_causes,
    place_for_scanner,
    sarif_of,
    sarif_result,
)
from openlineage_pyspark.command.view import opened_from
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.dryrun.script.kinds import SPECIFICATIONS, is_run
from openlineage_pyspark.workbench.dryrun.script.notebooks import commands_in, runnable_of, script_of_notebook
from openlineage_pyspark.workbench.model.document import document_of
from openlineage_pyspark.workbench.pictures.plain import plain
from openlineage_pyspark.workbench.pictures.table import code_of
from openlineage_pyspark.workbench.pictures.words import counted
from openlineage_pyspark.workbench.predict.compare import compared, lineage_state_of, readers_of
from openlineage_pyspark.workbench.predict.outcome import certainty_of_statement, summary_of
from openlineage_pyspark.workbench.predict.project.folders import ignored_by_git
from openlineage_pyspark.workbench.predict.project.revisions import changed_since, path_at
from openlineage_pyspark.workbench.predict.sql.jupyter import JUPYTER_ENDING
from openlineage_pyspark.workbench.questions.below_changes import downstream_of
from openlineage_pyspark.workbench.questions.changes import Diff, markdown_of_diff, text_of_diff
from openlineage_pyspark.workbench.rebuild.findings import ChangeFinding, findings_of
from openlineage_pyspark.workbench.rebuild.formats import markdown_of_plan, sentence_of_plan, text_of_plan
from openlineage_pyspark.workbench.rebuild.masks import unmasked_values
from openlineage_pyspark.workbench.rebuild.plan import RebuildPlan, rebuild_plan
from openlineage_pyspark.workbench.rebuild.reading import (
    loads_of_projects,
    step_of_script,
    steps_of_acts,
    steps_of_answers,
    whole_code,
)
from openlineage_pyspark.workbench.rebuild.statements import plain_text
from openlineage_pyspark.workbench.rebuild.surroundings import (
    files_read_at,
    hash_of_files,
    names_file,
    surroundings_of,
    words_of,
)
from openlineage_pyspark.workbench.rebuild.transparent import is_transparent, unseen_code, user_code

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from openlineage_pyspark.command.file_state import FileState
    from openlineage_pyspark.workbench.predict.scripts import Script, StatementAnswer, StatementLineage
    from openlineage_pyspark.workbench.rebuild.statements import FileStep
    from openlineage_pyspark.workbench.store_api import Store

MARK = "<!-- openlineage-pyspark lineage -->"
"""The first line of the comment, by which the next run finds and updates it."""
_MOST_LINES = 40
_READS_CHANGED = "it names a changed file"
# GitHub refuses a comment of more than 65,536 characters.
_LONGEST = 60_000


@attrs.frozen
class JudgedChange:
    """
    A change of files.

    Args:
        diff: the differences, and what is downstream of them.
        plan: what must be rebuilt; None if no plan is requested.
        findings: the findings for a reviewer, the worst first.
    """

    diff: Diff
    plan: RebuildPlan | None
    findings: tuple[ChangeFinding, ...]


def file_steps(
    scripts: Sequence[Script],
    answers: Sequence[StatementAnswer],
    found: Sequence[StatementLineage],
    options: argparse.Namespace,
    folder: Path | None,
) -> tuple[FileStep, ...]:
    """
    Return what the statements of files do, in the order in which they run.

    Args:
        scripts: the files.
        answers: Spark's results for those in SQL.
        found: the lineage of all of their statements.
        options: those of the command line.
        folder: the folder with the files of another revision; None for the files of the working tree.
    """
    paths = {each.name: Path(each.name) for each in scripts}
    sql = [each for each in scripts if not is_run(each)]
    of_sql = (*loads_of_projects(scripts), *steps_of_answers(answers, found, sql))
    within = {
        name: path if folder is None else folder / os.path.relpath(path.resolve(), Path.cwd())
        for name, path in paths.items()
    }
    # What a project makes of files without SQL.
    steps = [each for each in of_sql if each.file not in paths]
    of_file: dict[str, list[FileStep]] = {}
    for step in of_sql:
        of_file.setdefault(step.file, []).append(step)
    for each in {each.name: each for each in scripts}.values():
        if not is_run(each):
            steps += of_file.get(each.name, ())
            continue
        steps += _steps_of_run(each, [line for line in found if line.script == each.name], within, options, folder)
    return tuple(steps)


def _steps_of_run(
    script: Script,
    found: Sequence[StatementLineage],
    within: Mapping[str, Path],
    options: argparse.Namespace,
    folder: Path | None,
) -> Sequence[FileStep]:
    """
    Return what a script does that is run: each of its acts, or one step if these do not say all of it.

    Args:
        script: the script.
        found: the lineage of its statements.
        within: the names of all files, and where they are.
        options: as for `file_steps`.
        folder: as for `file_steps`.
    """
    given = json.dumps([options.passed_on, options.env, options.conf, options.allow, options.param])
    if script.project is not None:
        given += f" {script.model} {script.project.of_all}"
    others = [path_at(path, folder) for path in options.py_files]
    # The outputs of a notebook's cells, for example, do not decide what it does.
    python = attrs.evolve(script, text=_python_of(script.name, script.text))
    beside = surroundings_of(within[script.name], python.text, within.values(), others)
    base, names = folder or Path.cwd(), {line.opened for line in found if line.opened}
    if folder is None:
        # What earlier runs have left there is in no revision.
        names -= set(ignored_by_git(base, names))
    listed = sorted(line.listed for line in found if line.listed)
    surroundings = f"{given} {beside} {hash_of_files(base, names)} {listed}"
    # What calls the function of a model is not in its file.
    if not script.model and not script.name.endswith(SPECIFICATIONS) and not options.branches:
        texts = {script.name: python.text, **_modules(base, found)}
        data = hash_of_files(base, {line.opened for line in found if line.is_data} & names)
        acts = _acts(script, found, texts, surroundings, f"{given} {listed} {data}")
        if acts is not None:
            return acts
    opened = [file for name in names for file in files_read_at(base, name)]
    words = words_of(within[script.name], f"{python.text} {given}", within.values(), others, opened)
    return (step_of_script(python, found, surroundings, words),)


def _python_of(name: str, text: str) -> str:
    """Return what is executed of a script, a module or a notebook."""
    found = runnable_of(text, Path(name).suffix.lower())
    return text if found is None else found


def _modules(base: Path, own: Sequence[StatementLineage]) -> dict[str, str]:
    """Return the text of each module that a script runs, by its name relative to the folder in which it runs."""
    executed = {line.executed.file for line in own if line.executed}
    names = {
        line.opened for line in own if not line.is_data and (line.opened.endswith(".py") or line.opened in executed)
    }
    files = {name: base / name for name in sorted(names) if (base / name).is_file()}
    return {name: _python_of(name, file.read_text("utf-8", "replace")) for name, file in files.items()}


def _acts(
    script: Script, own: Sequence[StatementLineage], texts: dict[str, str], surroundings: str, settings: str
) -> tuple[FileStep, ...] | None:
    """Return each act of a script as one step; None if only the script as a whole can be compared."""
    executed = {line.executed.file: line.executed.lines for line in own if line.executed}
    code = user_code(texts, executed) if script.name in executed else None
    if code is None or not is_transparent(code, _by_lines(script, own)):
        return None
    run = attrs.evolve(script, text=texts[script.name])
    commands = [commands_in(tree) for _, tree in sorted(code.files.items())]
    return steps_of_acts(script, own, whole_code(run, surroundings), f"{settings} {commands} {unseen_code(code)}")


def _by_lines(script: Script, own: Sequence[StatementLineage]) -> Sequence[StatementLineage]:
    """Return what a dry run has found in a notebook by the lines of its script, instead of those of its cells."""
    notebook = script_of_notebook(script.text) if script.name.lower().endswith(JUPYTER_ENDING) else None
    if notebook is None:
        return own
    cells = {f"{script.name}[{number}]": begin for number, begin in enumerate(notebook[1], 1)}
    found = []
    for each in own:
        statement, begin = each.statement, cells.get(each.statement.file)
        if begin is not None:
            statement = attrs.evolve(statement, file=script.name, line=begin + statement.line - 1)
        found.append(attrs.evolve(each, statement=statement))
    return found


def change_of(before: FileState, after: FileState, options: argparse.Namespace) -> JudgedChange:
    """
    Return a change with its findings and everything downstream of it; report what can't be looked up in the store.

    Args:
        before: the earlier state.
        after: the later one.
        options: those of the command line.
    """
    states = lineage_state_of(before.found), lineage_state_of(after.found)
    plan = rebuild_plan(before.steps, _with_changed_files(after.steps, options)) if options.plan else None
    paths = [Path(options.store)] if options.store is not None else options.catalog
    problems: list[str] = []

    def judged(store: Store | None) -> JudgedChange:
        diff, uncertain = compared(*states, store)
        problems.extend(uncertain)

        def readers(column: str) -> set[str]:
            of_files = readers_of(states[1], column)
            if store is None:
                return of_files
            table, _, name = column.rpartition(".")
            further, _ = downstream_of(store.tables, {(table, name): 0})
            return of_files | {f"{each}.{field}" if field else each for each, field in further}

        whole = plan
        if plan is not None and store is not None:
            whole = attrs.evolve(plan, elsewhere=_elsewhere(plan, store))
        findings = findings_of(diff.changes, after.found, readers, whole, unmasked_values(*states))
        return JudgedChange(diff, whole, findings)

    if not paths:
        return judged(None)
    with opened_from(paths, problems) as store:
        found = judged(store)
    for each in problems:
        complain(each)
    return found


def _with_changed_files(steps: Sequence[FileStep], options: argparse.Namespace) -> Sequence[FileStep]:
    """Return steps, of which the statements that name a changed file of their repository count as changed too."""
    changed = changed_since(options.diff, options.files)
    return [
        attrs.evolve(each, code=f"{each.key} {_READS_CHANGED}", settings=f"{each.settings} {_READS_CHANGED}")
        if names_file(each.text, changed)
        else each
        for each in steps
    ]


def unshown_changes(before: Sequence[StatementLineage], after: Sequence[StatementLineage]) -> tuple[str, ...]:
    """
    Return the places of changed statements whose lineage, which is read from their texts, shows no change.

    Args:
        before: the lineage of all statements in the earlier state.
        after: the lineage in the later one.
    """
    raw = [{(each.statement.file, each.statement.text) for each in state} for state in (before, after)]
    files = {file for file, _ in raw[0] ^ raw[1]}
    states = [
        {(each.statement.file, plain_text(each.statement.text)): each for each in state if each.statement.file in files}
        for state in (before, after)
    ]
    gone: dict[str, list[StatementLineage]] = {}
    for (file, text), each in states[0].items():
        if (file, text) not in states[1]:
            gone.setdefault(file, []).append(each)
    found = []
    for (file, text), each in states[1].items():
        if (file, text) not in states[0] and certainty_of_statement(each) == "text":
            graph = lineage_state_of((each,)).graph
            if any(lineage_state_of((other,)).graph == graph for other in gone.get(file, ())):
                found.append(f"{file}:{each.statement.line}")
    return tuple(found)


def _elsewhere(plan: RebuildPlan, store: Store) -> tuple[str, ...]:
    """Return the tables that other jobs make from the columns that a plan rebuilds."""
    own = {each.table for each in plan.tables}
    starts: dict[tuple[str, str], int] = {}
    for each in plan.made:
        starts |= {(each.table, ""): 0} if each.rows or not each.columns else {(each.table, c): 0 for c in each.columns}
        starts |= {(each.table, column): 0 for column in each.columns}
    further, _ = downstream_of(store.tables, starts)
    return tuple(sorted({table for table, _ in further if table not in own}))


def json_of_change(change: JudgedChange, after: FileState, options: argparse.Namespace) -> dict[str, Any]:
    """Return a change as a document of JSON."""
    problems = [each.problem for each in after.found if each.problem is not None]
    summary = summary_of(after.found)
    findings = [{**document_of(each), "level": each.level} for each in change.findings]
    values = {
        **change.diff.to_dict(),
        "findings": findings,
        **({} if change.plan is None else {"plan": change.plan.to_dict()}),
        "problems": problems,
        "summary": summary.to_dict(),
    }
    arguments = {"files": list(map(str, options.files)), "base": options.diff}
    return Answer("lineage", arguments, Values("diff", values), diagnostics=summary.diagnostics()).to_dict()


def markdown_of_change(change: JudgedChange, after: FileState) -> str:
    """Return a change as Markdown: values that are no longer masked come first."""
    unmasked = "".join(f"{_line_of(each)}\n" for each in _unmasked_elsewhere(change))
    parts = [*([unmasked] if unmasked else []), markdown_of_diff(change.diff)]
    if change.plan is not None:
        parts.append(markdown_of_plan(change.plan))
    return "\n".join(parts) + markdown_of_causes(summary_of(after.found))


def text_of_change(change: JudgedChange) -> str:
    """Return a change as lines for people: values that are no longer masked come first."""
    unmasked = "".join(f"! {plain(each.message)}\n" for each in _unmasked_elsewhere(change))
    if change.plan is None:
        return f"{unmasked}{text_of_diff(change.diff)}"
    # Rows may differ although no edge does: because of a literal, a setting, or the code of a function.
    only_rows_differ = bool(change.plan.made) and not change.diff.changes
    lineage = "no column and no edge is different\n" if only_rows_differ else text_of_diff(change.diff)
    return f"{unmasked}{lineage}\n{text_of_plan(change.plan)}"


def _unmasked_elsewhere(change: JudgedChange) -> list[ChangeFinding]:
    """Return the values that are no longer masked although no edge of theirs shows it."""
    return [each for each in change.findings if each.finding == "masked-to-unmasked" and not each.is_edge]


def comment_of_change(change: JudgedChange, after: FileState, picture: Callable[[], str]) -> str:
    """
    Return a change as the comment of a pull request: a sentence, what to look at, the table, a picture.

    Args:
        change: the change.
        after: the later state.
        picture: draws the differences, in Mermaid's language.
    """
    loud = [each for each in change.findings if each.level != "note"]
    parts = [f"{MARK}\n**{_sentence(change)}**\n"]
    if loud:
        parts.append("".join(f"{_line_of(each)}\n" for each in loud))
    if change.plan is not None:
        parts.append(markdown_of_plan(change.plan))
    parts.append(markdown_of_diff(change.diff))
    drawn = picture() if change.diff.changes else ""
    if drawn and len(drawn.splitlines()) <= _MOST_LINES:
        drawn = f"```mermaid\n{drawn.rstrip()}\n```\n"
        # A picture that is cut is none.
        parts += [drawn] if sum(map(len, (*parts, drawn))) < _LONGEST else []
    return _cut("\n".join(parts) + markdown_of_causes(summary_of(after.found)))


def _cut(comment: str) -> str:
    """Return a comment without the lines at its end for which there is no room."""
    if len(comment) <= _LONGEST:
        return comment
    lines = comment[:_LONGEST].split("\n")[:-1]
    left = counted(len(comment.splitlines()) - len(lines), "more line")
    return "\n".join([*lines, "", f"**{left}**: they do not fit into a comment, `--format markdown` prints them.", ""])


def _sentence(change: JudgedChange) -> str:
    diff = change.diff
    unmasked = sum(each.finding == "masked-to-unmasked" for each in change.findings)
    parts = [f"{counted(unmasked, 'value')} no longer masked"] if unmasked else []
    parts.append(f"{counted(len(diff.changes), 'change')} of lineage" if diff.changes else "No lineage changed")
    if diff.downstream:
        parts.append(f"{counted(len(diff.downstream), 'column')} downstream")
    if change.plan is not None:
        parts.append(sentence_of_plan(change.plan))
    return f"{'; '.join(parts)}."


def _line_of(finding: ChangeFinding) -> str:
    """Return the item of a list for a finding."""
    mark = "**masked to unmasked** " if finding.finding == "masked-to-unmasked" else ""
    place = f"{code_of(f'{finding.file}:{finding.line}')} " if finding.file else ""
    return f"- {mark}{place}{code_of(finding.message)}"


def annotations_of_change(change: JudgedChange) -> str:
    """Return the findings as commands of GitHub's workflows, which become annotations of lines."""
    return "".join(
        command_of_workflow(each.level, *place_for_scanner(each.file, each.line, 1, each.message), each.finding)
        for each in change.findings
    )


def sarif_of_change(change: JudgedChange, after: FileState) -> str:
    """Return the findings, and the problems of statements, as SARIF."""
    own = [
        sarif_result(each.finding, each.level, *place_for_scanner(each.file or ".", each.line, 1, each.message))
        for each in change.findings
    ]
    return sarif_of(after.found, own)
