"""The structure that the design promises, read from the source: who may import what, and how large a piece may be."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("listener", "facets", "transport", "command")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
LONGEST_MODULE = 350
LONGEST_FUNCTION = 60


def name_of(path: Path) -> str:
    """Return the path below the root, as people write it."""
    return path.relative_to(ROOT).as_posix()


def imports(path: Path) -> set[str]:
    """Return the full names of what a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def tops(path: Path) -> set[str]:
    """Return the distributions that a module imports."""
    return {name.split(".")[0] for name in imports(path)}


def test_only_the_edge_to_the_jvm_imports_py4j_or_pyspark() -> None:
    """From there on everything is values."""
    assert [name_of(path) for path in MODULES if tops(path) & {"py4j", "pyspark"}] == ["listener/jvm.py"]


def test_the_core_knows_of_the_listener_nothing_but_its_plan_values() -> None:
    """Tracing and describing run without Spark, JVM and network."""
    beyond = {
        name_of(path): found
        for path in MODULES
        if path.parent.name == "facets"
        and (found := {n for n in imports(path) if n.startswith("openlineage_pyspark.listener")})
        - {"openlineage_pyspark.listener.plan"}
    }

    assert beyond == {}


def test_the_transports_know_nothing_of_spark_nor_of_what_events_mean() -> None:
    """What they ship is bytes."""
    beyond = {
        name_of(path): found
        for path in MODULES
        if path.parent.name == "transport"
        and (
            found := {
                n for n in imports(path) if n.startswith(("openlineage_pyspark.listener", "openlineage_pyspark.facets"))
            }
        )
    }

    assert beyond == {}


def test_everything_is_caught_at_the_boundaries_to_the_users_job_and_nowhere_else() -> None:
    """Around the listener's records, around the hook on the context, and around a transport's work."""
    broad = [
        name_of(path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]

    assert broad == ["listener/activation.py", "listener/guard.py", "transport/attempt.py"]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_short_documented_and_made_of_short_functions(path: Path) -> None:
    """A reader holds it in her head."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    long = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]

    assert ast.get_docstring(tree)
    assert text.count("\n") <= LONGEST_MODULE
    assert long == []


def test_no_module_is_named_after_nothing() -> None:
    """One concept, one module."""
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}

    assert [name_of(path) for path in MODULES if path.stem in vague] == []


def test_the_commands_stand_on_all_the_rest_and_nothing_stands_on_them() -> None:
    """A job never imports what people type."""
    beneath = [
        name_of(path)
        for path in MODULES
        if path.parent.name != "command" and any(n.startswith("openlineage_pyspark.command") for n in imports(path))
    ]

    assert beneath == []
