"""
Read dbt models as people write them: uncompiled, with Jinja.

Only expressions that need no code are resolved: `ref`, `source`, `var` with a default, `this` and `config`. A model is
read as in the first run of its project. A model in Python is run as a script.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import TokenKind, tokens
from openlineage_pyspark.workbench.predict.project.dbt import is_compiled
from openlineage_pyspark.workbench.predict.project.order import inputs_first
from openlineage_pyspark.workbench.predict.project.python_models import config_of, is_python_model, models_read_by
from openlineage_pyspark.workbench.predict.project_code import code_of_model, code_of_project
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.jinja import calls_in, first_run, without_comments
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.predict.project_code import ProjectCode
    from openlineage_pyspark.workbench.predict.scripts import Script
    from openlineage_pyspark.workbench.predict.sql.jinja import Call

_PROJECT = "dbt_project.yml"
_NO_MODELS = frozenset({"analyses", "dbt_modules", "dbt_packages", "macros", "seeds", "tests"})
_PYTHON = ".py"
_SNAPSHOTS = PurePath("snapshots")
_SNAPSHOT = re.compile(r"\{%[-+]?\s*snapshot\s+(\w+)\s*[-+]?%\}(.*?)\{%[-+]?\s*endsnapshot\s*[-+]?%\}", re.DOTALL)
_MODELS = (PurePath("models"),)
# A list on the line of its key, or on the lines below it.
_PATHS = re.compile(r"^(?:model|source)-paths[ \t]*:[ \t]*(\[[^\]]*\]|(?:\s*\n[ \t]*-[^\n]*)+)", re.MULTILINE)
_PATH = re.compile(r"(?:^|[\[,\n])[ \t]*(?:-[ \t]+)?(?:\"([^\"]+)\"|'([^']+)'|([^\s,'\"\[\]#]+))")


def scripts_of_raw_models(
    scripts: Iterable[Script], files_of: Callable[[Path], Iterable[Script]] | None = None
) -> list[Script]:
    """
    Return scripts, in which uncompiled dbt models and snapshots create tables named after them.

    Macros, tests and analyses of a project are left out.

    Args:
        scripts: the scripts.
        files_of: returns the files of a project in the state of the scripts, which decide about its models too; None if
            nobody asks.
    """
    scripts = list(scripts)
    python = {os.path.abspath(each.name) for each in scripts if is_python_model(each)}  # noqa: PTH100
    found: dict[str, Script] = {}
    reads_of: dict[str, tuple[Path, tuple[str, ...]]] = {}
    others = []
    # The models that a project has, by their names: a disabled model may have the name of another one.
    named: dict[tuple[Path, str], list[str]] = {}
    # Each folder is looked at once in a call, and again in the next one: its files may have changed.
    project_of, paths_of = cache(_project_of), cache(_model_paths)

    @cache
    def code_of(project: Path, *, is_absolute: bool) -> ProjectCode | None:
        if files_of is None:
            return None
        # A model in Python that is run shows by itself what it does.
        every = (each for each in files_of(project) if each.name not in python)
        files = {PurePath(each.name).relative_to(project): each.text for each in every}
        shown, folders = str(project) if is_absolute else os.path.relpath(project), (*paths_of(project), _SNAPSHOTS)
        return code_of_project(shown, folders, files)

    def add(script: Script, project: Path, name: str, text: str, number: int) -> None:
        made, reads, own = _table_of(script, name, text)
        id_ = f"{script.name} {number}"
        code = code_of(project, is_absolute=Path(script.name).is_absolute())
        found[id_] = attrs.evolve(made, project=None if code is None else code_of_model(own, code))
        named.setdefault((project, name), []).append(id_)
        reads_of[id_] = project, reads

    for script in scripts:
        # The project may be around the current folder, and a link belongs to the folder that it is in.
        path = Path(os.path.abspath(script.name))  # noqa: PTH100
        project = project_of(path.parent)
        if project is None or script.is_ddl or is_compiled(script.name):
            others.append(script)
            continue
        inside = path.relative_to(project)
        if any(inside.is_relative_to(each) for each in paths_of(project)) and _is_model(script):
            add(script, project, inside.stem, script.text, 0)
        elif inside.is_relative_to(_SNAPSHOTS):
            for number, (name, text) in enumerate(_snapshots(script.text)):
                add(script, project, name, text, number)
        elif inside.parts[0] not in _NO_MODELS:
            others.append(script)
    order = inputs_first({id_: tuple(_ids(project, reads, named)) for id_, (project, reads) in reads_of.items()})
    return [*others, *(found[each] for each in order)]


def _is_model(script: Script) -> bool:
    return PurePath(script.name).suffix.lower() != _PYTHON or is_python_model(script)


def _table_of(script: Script, name: str, text: str) -> tuple[Script, tuple[str, ...], str]:
    """Return a model as a script that makes its table, the names of its inputs, and what else decides about it."""
    if is_python_model(script):
        return attrs.evolve(script, model=in_backticks(name)), models_read_by(text), config_of(text)
    resolved, reads, own = _resolved(text, name)
    return attrs.evolve(script, text=resolved, head=f"CREATE TABLE {in_backticks(name)} AS "), reads, own


def _snapshots(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each snapshot in a file, and the file with blanks around its query."""
    for found in _SNAPSHOT.finditer(without_comments(text)):
        yield found[1], f"{blanked(text[: found.start(2)])}{found[2]}{blanked(text[found.end(2) :])}"


def _ids(project: Path, names: Iterable[str], named: Mapping[tuple[Path, str], list[str]]) -> Iterator[str]:
    for name in names:
        yield from named.get((project, name), ())


def _project_of(folder: Path) -> Path | None:
    """Return the folder of the dbt project around a folder; None if it is in none."""
    return next((each for each in (folder, *folder.parents) if (each / _PROJECT).is_file()), None)


def _model_paths(project: Path) -> tuple[PurePath, ...]:
    """Return the folders of a project's models, within the project."""
    try:
        found = _PATHS.search((project / _PROJECT).read_text("utf-8", errors="replace"))
    except OSError:
        return _MODELS
    paths = [PurePath(next(filter(None, each.groups()))) for each in _PATH.finditer(found[1])] if found else []
    return tuple(paths) or _MODELS


def _resolved(text: str, own: str) -> tuple[str, tuple[str, ...], str]:
    """
    Return a model with the names of its inputs resolved, the names of the models among these, and what else decides.

    That is its configuration, such as a statement that dbt runs after it, and what only later runs contain.
    """
    whole = without_comments(text)
    text = first_run(whole)
    besides = ["" if text == whole else _without_layout(whole)]
    parts: list[str] = []
    reads: list[str] = []
    at = 0
    for call in calls_in(text):
        value = _value(call, own)
        if value is None:
            continue
        if call.name == "ref":
            reads.append(call.plain[-1])
        if call.name == "config":
            besides.append(_without_layout(call.text))
        parts += [text[at : call.begin], value.ljust(call.end - call.begin)]
        at = call.end
    return "".join([*parts, text[at:]]), tuple(reads), "\n".join(filter(None, besides))


def _without_layout(text: str) -> str:
    return " ".join(each.text for each in tokens(text) if each.kind is not TokenKind.SPACE)


def _value(call: Call, own: str) -> str | None:
    """Return what an expression stands for; None if that needs code."""
    plain = call.plain
    if call.name == "config":
        return blanked(call.text)
    if call.name == "this" and not call.given:
        return in_backticks(own)
    if call.name == "ref" and plain:
        return in_backticks(plain[-1])
    if call.name == "source" and len(plain) == 2:
        return ".".join(map(in_backticks, plain))
    if call.name == "var" and len(plain) == 2:
        return plain[1]
    return None
