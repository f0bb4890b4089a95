"""
Read the models of SQLMesh: files of SQL that begin with `MODEL (name shop.orders, ...);`.

Each file has one query, which fills the table that the model names. Statements may be before and behind it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.facets.sql_lexer import TokenKind, dotted, tokens
from openlineage_pyspark.workbench.predict.project.code_beside import code_beside
from openlineage_pyspark.workbench.predict.project.order import inputs_first
from openlineage_pyspark.workbench.predict.sql.blank import blanked
from openlineage_pyspark.workbench.predict.sql.parts import closing, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from openlineage_pyspark.workbench.predict.scripts import Script

SQLMESH_CODE = ("*.py", "*.yaml", "*.yml", "*.csv")
"""The patterns of the other files that decide about its tables: those of macros, of the configuration, and seeds."""
_ROOTS = ("config.yaml", "config.yml", "config.py")
# What a header says for people and for tests alone.
_FOR_PEOPLE = re.compile(r"\s*(?:audits|column_descriptions|description|owner|tags)\b", re.IGNORECASE)
_HEADER = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/)*(MODEL|AUDIT|METRIC)\s*\(", re.DOTALL | re.IGNORECASE)
_NAME = re.compile(r"\s*name\s+([^\s,)]+)", re.IGNORECASE)
_COLUMNS = re.compile(r"\s*columns\s*\(", re.IGNORECASE)
_SEED = re.compile(r"\s*kind\s+SEED\b", re.IGNORECASE)
# What is only run later, for the views of an environment; and the borders of what Jinja makes.
_LATER = re.compile(r"\bON_VIRTUAL_UPDATE_BEGIN\b.*?\bON_VIRTUAL_UPDATE_END\b\s*;?", re.DOTALL | re.IGNORECASE)
_BORDER = re.compile(r"\bJINJA_(?:QUERY|STATEMENT)_BEGIN\b\s*;?|(;?)(\s*)\bJINJA_END\b\s*;?", re.IGNORECASE)


def scripts_of_sqlmesh(
    scripts: Iterable[Script], files_of: Callable[[Path], Iterable[Script]] | None = None
) -> list[Script]:
    """
    Return scripts, in which the models of SQLMesh create their tables, each after those that it reads.

    Audits and metrics are left out: they make no table.

    Args:
        scripts: the scripts.
        files_of: returns the files of a project that match `SQLMESH_CODE`, in the state of the scripts; None if nobody
            asks.
    """
    code_of = code_beside(_ROOTS, files_of)
    others: list[Script] = []
    found: dict[str, tuple[Script, str]] = {}
    for script in scripts:
        header = None if script.is_ddl else _HEADER.match(script.text)
        if header is None:
            others.append(script)
            continue
        end = closing(script.text, header.end())
        items = list(parts_of(script.text[header.end() : end]))
        name = next((each[1] for item in items if (each := _NAME.match(item)) is not None), "")
        if header[1].upper() == "MODEL" and name:
            own = "\n".join(each for each in items if _FOR_PEOPLE.match(each) is None)
            made = attrs.evolve(script, project=code_of(script, own))
            found[script.name] = _as_table(made, name, items, end + 1), name
    if not found:
        return others
    ids = {name.lower(): id_ for id_, (_, name) in found.items()}
    order = inputs_first({id_: tuple(_reads(script.text, ids)) for id_, (script, _) in found.items()})
    return [*others, *(found[each][0] for each in order)]


def _as_table(script: Script, name: str, items: list[str], end: int) -> Script:
    """Return a model as a script: its table is created by the query in it, or has the columns of a file."""
    text = script.text
    end += len(text[end:]) - len(text[end:].lstrip(" \t\r\n;"))
    columns = [each for each in items if _COLUMNS.match(each) is not None]
    if any(_SEED.match(each) for each in items):
        made = f"CREATE TABLE {name} {columns[0].strip()[len('columns') :]}" if columns else ""
        return attrs.evolve(script, text=made)
    rest = _LATER.sub(lambda found: blanked(found[0]), text[end:])
    rest = _BORDER.sub(lambda found: f";{blanked(found[0])[1:]}" if found[2] is not None else blanked(found[0]), rest)
    return attrs.evolve(script, text=f"{blanked(text[:end])}{rest}", head=f"CREATE TABLE {name} AS ")


def _reads(text: str, ids: dict[str, str]) -> Iterator[str]:
    """Yield the ids of the models whose names are in a text."""
    at, before = 0, ""
    for token in tokens(text):
        if token.kind in (TokenKind.WORD, TokenKind.NAME) and before != ".":
            id_ = ids.get(".".join(dotted(text, at)).lower())
            if id_ is not None:
                yield id_
        before = token.text
        at += len(token.text)
