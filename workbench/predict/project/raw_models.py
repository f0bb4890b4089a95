"""
Read dbt models as people write them: uncompiled, with Jinja.

Only expressions that need no code are resolved: `ref`, `source`, `var` with a default, `this` and `config`. A model is
read as in the first run of its project.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.workbench.predict.project.dbt import Model, is_compiled, ordered
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.jinja import calls_in, first_run, without_comments
from openlineage_pyspark.workbench.predict.tables.declared import in_backticks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.workbench.predict.scripts import Script
    from openlineage_pyspark.workbench.predict.sql.jinja import Call

_PROJECT = "dbt_project.yml"
_NO_MODELS = frozenset({"analyses", "dbt_modules", "dbt_packages", "macros", "seeds", "snapshots", "tests"})
_MODELS = (PurePath("models"),)
# A list on the line of its key, or on the lines below it.
_PATHS = re.compile(r"^(?:model|source)-paths[ \t]*:[ \t]*(\[[^\]]*\]|(?:\s*\n[ \t]*-[^\n]*)+)", re.MULTILINE)
_PATH = re.compile(r"(?:^|[\[,\n])[ \t]*(?:-[ \t]+)?(?:\"([^\"]+)\"|'([^']+)'|([^\s,'\"\[\]#]+))")


def scripts_of_raw_models(scripts: Iterable[Script]) -> list[Script]:
    """
    Return scripts, in which uncompiled dbt models create tables named after their files.

    Macros, tests, snapshots and analyses of a project are left out.
    """
    found: dict[str, Script] = {}
    models, others = [], []
    # The models that a project has, by their names: a disabled model may have the name of another one.
    named: dict[tuple[Path, str], list[str]] = {}
    # Each folder is looked at once in a call, and again in the next one: its files may have changed.
    project_of, paths_of = cache(_project_of), cache(_model_paths)
    for script in scripts:
        project = project_of(Path(script.name).parent)
        if project is None or script.is_ddl or is_compiled(script.name):
            others.append(script)
            continue
        inside = Path(script.name).relative_to(project)
        if any(inside.is_relative_to(each) for each in paths_of(project)):
            text, reads = _resolved(script.text, inside.stem)
            found[script.name] = attrs.evolve(script, text=text, head=f"CREATE TABLE {in_backticks(inside.stem)} AS ")
            named.setdefault((project, inside.stem), []).append(script.name)
            models.append((project, Model(script.name, (inside.stem,), inside, is_view=False, reads=reads)))
        elif inside.parts[0] not in _NO_MODELS:
            others.append(script)
    made = [attrs.evolve(model, reads=tuple(_ids(project, model.reads, named))) for project, model in models]
    return [*others, *(found[each.id] for each in ordered(made))]


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


def _resolved(text: str, own: str) -> tuple[str, tuple[str, ...]]:
    """Return a model with the names of its inputs resolved, and the names of the models among these."""
    text = first_run(without_comments(text))
    parts: list[str] = []
    reads: list[str] = []
    at = 0
    for call in calls_in(text):
        value = _value(call, own)
        if value is None:
            continue
        if call.name == "ref":
            reads.append(call.plain[-1])
        parts += [text[at : call.begin], value.ljust(call.end - call.begin)]
        at = call.end
    return "".join([*parts, text[at:]]), tuple(reads)


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
