"""The structure that the design promises, read from the source: who may import what, and how large a piece may be."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.sources import nodes_of, tree_of

if TYPE_CHECKING:
    from collections.abc import Iterable

# As a group they take seconds, and the oldest Python is enough for them.
pytestmark = [pytest.mark.slow, pytest.mark.every_python]

ROOT = Path(__file__).parents[1]
PACKAGE = "openlineage_pyspark"
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = ("listener", "facets", "transport", "workbench", "command")
MODULES = [
    ROOT / "errors.py",
    *sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py") if "launch" not in path.parts),
]
# The modules that ask sqlglot for the columns of a text; other modules import them only for such a text.
READ_SQL = {
    "facets/sql_parser.py",
    *(
        f"facets/foreign_sql/{name}.py"
        for name in (
            *("dialects", "effort", "expressions", "from_clause", "from_items", "reader", "scopes", "set_operations"),
            *("texts", "trees", "values"),
        )
    ),
}
LONGEST_FUNCTION = 60
OURS = {
    ".".join((PACKAGE, *whole.parts))
    for path in MODULES
    for whole in (path.relative_to(ROOT).with_suffix(""), *path.relative_to(ROOT).parents)
}
# Each command defines the first two, each program the last one.
SHARED_NAMES = {"add_to", "run", "main"}


def name_of(path: Path) -> str:
    """Return the path below the root, as people write it."""
    return path.relative_to(ROOT).as_posix()


def imported_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the full names of what is imported by some nodes of a module's tree."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def dotted(path: Path) -> str:
    """Return a module's name within the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def room_of(module: str) -> str:
    """Return the room of the table that a module stands in: its package, or itself, if it stands beside packages."""
    here = ROOT.joinpath(*module.split("."))
    package = module if here.is_dir() else module.rpartition(".")[0].removesuffix(".__init__")
    return package if "." in package or here.is_dir() else module.removesuffix(".__init__")


@functools.cache
def imports_of_ours(path: Path) -> set[str]:
    """Return the modules and packages of ours that a module imports, by their names within the package."""
    found: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            inner = {each.name for each in node.names if f"{node.module}.{each.name}" in OURS}
            found |= {f"{node.module}.{name}" for name in inner}
            if len(inner) < len(node.names):
                found.add(node.module or "")
    return {name.partition(".")[2] for name in found if name.startswith(f"{PACKAGE}.")}


def table() -> dict[str, set[str]]:
    """Return the table of the architecture page: package -> what it may import."""
    rows = re.findall(r"^\| `([\w.]+)` \| [^|?]{10,} \| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {package: set(re.findall(r"`([\w.]+)`", may)) for package, may in rows}


def tops(path: Path) -> set[str]:
    """Return the distributions that a module imports when it runs, and not for its types alone."""
    for_types = {
        inner
        for node in nodes_of(path)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    return {name.split(".")[0] for name in imported_by(node for node in nodes_of(path) if node not in for_types)}


def test_only_the_edges_to_the_jvm_import_py4j_or_pyspark() -> None:
    """From there on everything is values; the store in Spark's tables and the lineage of files have their sessions."""
    edges = [name_of(path) for path in MODULES if tops(path) & {"py4j", "pyspark"}]
    in_workbench = [
        *("workbench/dryrun/empty_spark/session.py", "workbench/dryrun/libraries/glue.py"),
        *(
            f"workbench/dryrun/patches/{name}.py"
            for name in ("binary_formats", "catalog", "frames", "models", "patched", "rdds", "sessions")
        ),
        *("workbench/dryrun/patches/unknown_arguments.py", "workbench/dryrun/patches/worlds.py"),
        *("workbench/predict/throw_away.py", "workbench/store/spark/session.py"),
    ]
    assert sorted(edges) == ["listener/probe/client.py", *in_workbench]


def test_the_listener_needs_no_package_of_the_workbenchs_extra() -> None:
    """It is installed without the extra."""
    agent = [
        path for path in MODULES if name_of(path).split("/")[0] in ("errors.py", "facets", "listener", "transport")
    ]

    importing = {name_of(path) for path in agent if tops(path) & {"jsonschema", "rich", "sqlglot"}}
    assert importing == READ_SQL


def test_packages_import_what_the_architecture_page_allows_and_nothing_else() -> None:
    """All imports count: those of functions and those for types alone too."""
    allowed = table()
    beyond = {
        f"{name_of(path)} -> {room}"
        for path in MODULES
        for room in {room_of(name) for name in imports_of_ours(path)} - {room_of(dotted(path))}
        if room not in allowed.get(room_of(dotted(path)), set())
    }

    assert beyond == set()


def test_the_architecture_page_names_every_package_and_no_import_that_nobody_makes() -> None:
    """A new package stands in the table, or this fails; what is allowed is needed."""
    made: dict[str, set[str]] = {room_of(dotted(path)): set() for path in MODULES}
    for path in MODULES:
        here = room_of(dotted(path))
        made[here] |= {room_of(name) for name in imports_of_ours(path)} - {here}

    assert table() == made


def test_the_agent_imports_nothing_of_what_answers_questions() -> None:
    """`listener`, `facets` and `transport` run in the user's driver, and the workbench stands on them."""
    agent = [path for path in MODULES if dotted(path).partition(".")[0] in ("listener", "facets", "transport")]
    above = {
        f"{name_of(path)} -> {name}"
        for path in agent
        for name in imports_of_ours(path)
        if name.partition(".")[0] in ("workbench", "command")
    }

    assert len(agent) > 100
    assert above == set()


def test_one_package_above_the_agent_knows_the_facets_of_events() -> None:
    """What they say is read in one place, and made again for a repeated run in another one beside it."""
    above = [path for path in MODULES if dotted(path).partition(".")[0] in ("workbench", "command")]
    # The specification has a folder of that name.
    texts = {name_of(path): path.read_text(encoding="utf-8").replace('joinpath("facets")', "") for path in above}
    knowing = {name for name, text in texts.items() if '"facets"' in text}
    assert knowing == {"workbench/events/read.py", "workbench/events/repeated.py"}


def test_packages_import_each_other_in_no_circle() -> None:
    """The order in which they can be read."""
    assert len(list(graphlib.TopologicalSorter(table()).static_order())) == len(table())


def test_modules_import_each_other_in_no_circle() -> None:
    """Imports within functions, and those for types alone, count as any other."""
    imports = {dotted(path).removesuffix(".__init__"): imports_of_ours(path) for path in MODULES}
    order = graphlib.TopologicalSorter({name: found - {name} for name, found in imports.items()}).static_order()

    assert set(imports) <= set(order)


def test_everything_is_caught_at_the_boundaries_to_the_users_job_and_nowhere_else() -> None:
    """Around the listener's records, around the hook on the context, and around a transport's work."""
    broad = [
        name_of(path)
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]

    agent = ["listener/guard.py", "listener/start/hook.py", "transport/attempt.py"]
    # A script that is run to see what it would write may raise anything, and so may its table functions.
    scripts = ["workbench/dryrun/child.py", "workbench/dryrun/patches/table_functions.py"]
    assert sorted(broad) == [*agent, *scripts]


def test_each_module_is_documented_and_made_of_short_functions() -> None:
    """A reader can keep a short function in mind."""
    long = [
        f"{name_of(path)} {node.name}"
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]

    assert [name_of(path) for path in MODULES if not ast.get_docstring(tree_of(path))] == []
    assert long == []


def test_a_class_with_a_cached_property_has_no_slots() -> None:
    """Only newer versions of attrs than the lowest that is allowed give slotted classes cached properties."""
    found = [
        f"{name_of(path)}: {node.name}"
        for path in MODULES
        for node in nodes_of(path)
        if isinstance(node, ast.ClassDef)
        and any(
            "cached_property" in ast.unparse(each) for part in node.body for each in getattr(part, "decorator_list", ())
        )
        and any(
            re.match(r"(attrs\.)?(frozen|define)", text) and "slots=False" not in text
            for text in map(ast.unparse, node.decorator_list)
        )
    ]
    assert found == []


def test_no_module_is_named_after_nothing() -> None:
    """A module has one concept, and such names have none."""
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}

    assert [name_of(path) for path in MODULES if path.stem in vague] == []


def test_each_class_and_each_function_has_its_name_alone() -> None:
    """A word that means two things has to be looked up each time."""
    names = [
        node.name
        for path in MODULES
        for node in tree_of(path).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")
    ]

    assert sorted(name for name, count in Counter(names).items() if count > 1 and name not in SHARED_NAMES) == []
