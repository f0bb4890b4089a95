"""The types of the public surface: whoever calls it can name all that he gives and gets."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import TYPE_CHECKING

import openlineage_pyspark
from support.sources import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = "openlineage_pyspark"
# Others make these: `register`, `Store.open`.
MADE_ELSEWHERE = {"Handle", "Store"}
# Fields and properties of public values that belong to the tracer; their docstrings say so.
OF_THE_TRACER = {("ColumnLineage", "wording"), ("InputField", "certainty"), ("Transformation", "way")}

Name = tuple[str, str]
"""A module of ours and a name in it."""


def file_of(module: str) -> Path:
    """Return the file of a module of ours."""
    path = ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.cache
def names_of(module: str) -> dict[str, ast.stmt | Name]:
    """Return what the names of a module mean: a statement in it, or a name in another module of ours."""
    found: dict[str, ast.stmt | Name] = {}
    for node in ast.walk(tree_of(file_of(module))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE:
            found |= {alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names}
    for statement in tree_of(file_of(module)).body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            found[statement.name] = statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            found[statement.targets[0].id] = statement
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = statement
    return found


def home_of(module: str, name: str) -> Name | None:
    """Return where a name of a module is defined; None if it is not ours."""
    meaning = names_of(module).get(name)
    if isinstance(meaning, tuple):
        return home_of(*meaning) if file_of(meaning[0]).exists() else None
    return (module, name) if meaning is not None else None


def in_annotation(node: ast.AST | None) -> Iterator[str]:
    """Yield the names in an annotation, also where it is a text, and not the values of a Literal."""
    if node is None:
        return
    for each in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.Subscript) and each is node.slice and getattr(node.value, "id", "") == "Literal"):
            yield from in_annotation(each)
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from in_annotation(ast.parse(node.value, mode="eval"))


def in_signature(function: ast.FunctionDef) -> Iterator[str]:
    """Yield the names in the annotations of a function."""
    arguments = function.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        yield from in_annotation(each.annotation if each is not None else None)
    yield from in_annotation(function.returns)


def in_class(kind: ast.ClassDef) -> Iterator[str]:
    """Yield the names in the bases of a class, in its public fields and in the signatures of its public methods."""
    for base in kind.bases:
        yield from in_annotation(base)
    for node in kind.body:
        if (kind.name, getattr(node, "name", getattr(getattr(node, "target", None), "id", ""))) in OF_THE_TRACER:
            continue
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            yield from in_annotation(node.annotation)
        if isinstance(node, ast.FunctionDef):
            is_constructor = node.name == "__init__" and kind.name not in MADE_ELSEWHERE
            if node.name[0] != "_" or is_constructor:
                yield from in_signature(node)


def named_by(home: Name) -> Iterator[str]:
    """Yield the names of types that a definition names."""
    meaning = names_of(home[0])[home[1]]
    if isinstance(meaning, ast.ClassDef):
        yield from in_class(meaning)
    elif isinstance(meaning, ast.FunctionDef):
        yield from in_signature(meaning)
    elif isinstance(meaning, ast.Assign | ast.AnnAssign):
        yield from in_annotation(meaning.value)


def is_type_variable(home: Name) -> bool:
    """Return whether a name is only a parameter of generic types."""
    meaning = names_of(home[0])[home[1]]
    value = meaning.value if isinstance(meaning, ast.Assign) else None
    return isinstance(value, ast.Call) and getattr(value.func, "id", "") in ("TypeVar", "ParamSpec")


def reached_from(names: Iterable[str]) -> set[Name]:
    """Return all definitions of ours that some names of the root lead to."""
    todo = [home for name in names if (home := home_of(PACKAGE, name)) is not None]
    found: set[Name] = set()
    while todo:
        home = todo.pop()
        if home not in found:
            found.add(home)
            todo += [inner for name in named_by(home) if (inner := home_of(home[0], name)) is not None]
    return found


def test_every_type_that_the_public_surface_takes_or_returns_is_public() -> None:
    reached = {home for home in reached_from(openlineage_pyspark.__all__) if not is_type_variable(home)}
    public = {home_of(PACKAGE, name) for name in openlineage_pyspark.__all__}

    assert None not in public
    assert sorted(".".join(home) for home in reached - public) == []
