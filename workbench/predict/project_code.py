"""Find what decides in an uncompiled dbt project, beside the text of a model, what the model becomes."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PROJECT_FILES = ("*.sql", "*.py", "*.yml", "*.yaml", "*.csv", "*.toml")
"""The patterns of the files to read for it."""
_NO_CODE = frozenset({"analyses", "analysis", "docs", "logs", "target", "tests"})
# What properties say for people and for tests alone.
_FOR_PEOPLE = frozenset({"data_tests", "description", "docs", "freshness", "meta", "tags", "tests", "unit_tests"})
# What has names of variables, of folders, or of columns as keys.
_WITH_NAMES = frozenset({"column_types", "models", "seeds", "snapshots", "vars"})
# Macros that dbt calls for each model, also for one that calls no macro.
_FOR_ALL = re.compile(
    r"\bmacro\s+(?:\w+__)?(?:generate_\w+|ref|source|config|var|is_incremental|get_\w+_sql|create_\w+_as)\b|"
    r"\bmaterialization\b"
)
# What reads tables that no text names.
_READS_ANY = re.compile(r"\b(?:adapter|execute|get_relations_by_\w+|graph|load_relation|run_query|statement)\b")
_MACRO = re.compile(r"\{%[-+]?\s*macro\s+(\w+)")
_NAME = re.compile(r"\w+")
_PIECE = re.compile(r"[^\W_]+")
# What makes a name of pieces.
_COMPOSES = re.compile(r"""~|%\s*\(|\b(?:format|join|replace)\b|["']\s*[+%]|\+\s*["']""")
_ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*\w")
PIECE = "~"
"""The mark before a piece, in a set of names: a name may be made of several ones."""


@attrs.frozen
class MacroFile:
    """
    A file with macros.

    Args:
        macros: their names.
        names: all names in it, and the pieces of which it may make others.
        may_read_any: whether it may read tables that no text names.
    """

    macros: frozenset[str]
    names: frozenset[str]
    may_read_any: bool


@attrs.frozen
class ProjectCode:
    """
    What decides about the models of a project.

    Args:
        of_all: a digest of what may decide about each model: the configuration and the properties.
        of_templates: a digest of what decides about models with templates: their macros.
        names: the names in the configuration and in the properties of sources, in lower case.
        macros: the files with macros.
        loads: the tables that dbt makes without SQL, each with its file and a digest of what decides about it: those
            that it loads from files (seeds), and models in Python, which may read every other model.
        files: the files with a digest of what matters in each.
    """

    of_all: str
    of_templates: str
    names: frozenset[str]
    macros: tuple[MacroFile, ...]
    loads: tuple[tuple[str, str, str], ...]
    files: tuple[tuple[str, str], ...]

    def names_in(self, template: str) -> frozenset[str] | None:
        """
        Return all names of which the templates of a model may make the names of tables, in lower case.

        Args:
            template: the templates.

        Returns:
            The names, and the pieces of which others may be made; None if a template may read tables that no text
            names.
        """
        found = _named_in(template)
        if _READS_ANY.search(template) is not None:
            return None
        waiting = list(self.macros)
        while called := [each for each in waiting if not found.isdisjoint(each.macros)]:
            if any(each.may_read_any for each in called):
                return None
            waiting = [each for each in waiting if each not in called]
            found = found.union(*(each.names for each in called))
        return found | self.names


def code_of_project(project: str, models: Sequence[PurePath], files: Mapping[PurePath, str]) -> ProjectCode:
    """
    Return what decides about the models of a project.

    Args:
        project: its folder, as people name it.
        models: the folders of its models and snapshots, within it.
        files: the paths, within it, of its files that match `PROJECT_FILES` -> their texts.
    """
    of_all: list[str] = []
    of_templates: list[str] = []
    loads: list[tuple[str, str, str]] = []
    every = _digest(repr(sorted((str(path), text) for path, text in files.items())))
    all_files: list[tuple[str, str]] = []
    names: set[str] = set()
    macros: list[MacroFile] = []
    for inside, content in sorted(files.items()):
        name = str(PurePath(project, inside))
        is_model = any(inside.is_relative_to(folder) for folder in models)
        ending = inside.suffix.lower()
        if (ending == ".sql" and is_model) or (ending == ".py" and not is_model) or inside.parts[0] in _NO_CODE:
            continue
        text, of_sources = _properties(content) if ending in (".yml", ".yaml") else (content, ())
        digest = _digest(text)
        all_files.append((name, digest))
        if ending in (".csv", ".py"):
            loads.append((inside.stem, name, digest if ending == ".csv" else every))
            continue
        is_for_all = ending != ".sql" or _FOR_ALL.search(text) is not None
        (of_all if is_for_all else of_templates).append(f"{inside.as_posix()} {digest}")
        if ending == ".sql":
            made = frozenset(map(str.lower, _MACRO.findall(text)))
            macros.append(MacroFile(made, _named_in(text), _READS_ANY.search(text) is not None))
        else:
            # The properties of models name all of them.
            names |= _named_in(" ".join(of_sources) if is_model else text)
    return ProjectCode(
        _digest("\n".join(of_all)),
        _digest("\n".join(of_templates)),
        frozenset(names),
        tuple(macros),
        tuple(loads),
        tuple(all_files),
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _named_in(text: str) -> frozenset[str]:
    """Return the names in a text, in lower case, and the pieces of which it may make others."""
    pieces = _PIECE.findall(text.lower()) if _COMPOSES.search(text) is not None else ()
    return frozenset((*_NAME.findall(text.lower()), *(f"{PIECE}{each}" for each in pieces)))


def code_of_model(
    own: str, project: ProjectCode | None = None, loads: Iterable[tuple[str, str, str]] = ()
) -> ProjectCode:
    """
    Return what decides about one model, beside its query.

    Args:
        own: its configuration, and what else of it is not in its query, as a text.
        project: what decides about all models of its project; None if all of that is in its compiled query.
        loads: as for `ProjectCode`, if there is no project.
    """
    if project is None:
        return ProjectCode(_digest(own), "", frozenset(), (), tuple(loads), ())
    return attrs.evolve(project, of_all=f"{project.of_all} {_digest(own)}") if own else project


def text_of_config(config: Mapping[str, Any]) -> str:
    """Return the configuration of a model in a manifest as a text, without what it says for people."""
    return json.dumps(_plain(config), sort_keys=True)


def changed_code(before: Iterable[ProjectCode], after: Iterable[ProjectCode]) -> tuple[str, ...]:
    """
    Return the names of the files that decide about models and differ between two states.

    Args:
        before: the projects in the earlier state.
        after: those in the later one.
    """
    states = [dict(file for project in dict.fromkeys(each) for file in project.files) for each in (before, after)]
    return tuple(sorted(name for name in states[0] | states[1] if states[0].get(name) != states[1].get(name)))


@functools.lru_cache(maxsize=16384)
def _properties(text: str) -> tuple[str, tuple[str, ...]]:
    """
    Return what properties say, and the names of sources in them; cached, since most files are the same in two states.

    Args:
        text: the text of their file.

    Returns:
        Their content as a text, without descriptions, tests and the like, and the names of the tables of sources and of
        what these are in. A file that can't be parsed, or that repeats parts of itself, is returned as it is, as its
        own name: what is repeated may be endless.
    """
    import yaml

    if _ALIAS.search(text) is not None:
        return text, (text,)

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = _plain(yaml.load(text, loader))  # noqa: S506 (a safe loader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return text, (text,)
    return repr(found), tuple(_names_of_sources(found))


def _plain(value: Any, *, has_names: bool = False) -> Any:
    """
    Return properties without what they say for people and for tests.

    Args:
        value: the properties.
        has_names: whether their keys are names of variables, folders or columns, which may be those of such properties.
    """
    if isinstance(value, dict):
        return {
            key: _plain(each, has_names=isinstance(each, dict) and (has_names or key in _WITH_NAMES))
            for key, each in value.items()
            if has_names or key not in _FOR_PEOPLE
        }
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _names_of_sources(properties: Any) -> Iterator[str]:
    """Yield the names of the tables of sources, and of what they are in."""
    sources = properties.get("sources") if isinstance(properties, dict) else None
    for source in sources if isinstance(sources, list) else ():
        tables = source.get("tables") if isinstance(source, dict) else None
        for each in (source, *(tables if isinstance(tables, list) else ())):
            if isinstance(each, dict):
                yield from (str(each[key]) for key in ("database", "identifier", "name", "schema") if key in each)
