"""What the package logs shows no secret of the configuration, and each line begins with the same word."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from openlineage_pyspark.listener.start.secrets import PREFIX_OF_LOG
from support.sources import nodes_of

ROOT = Path(__file__).parents[2]

PROGRAM = """
import importlib, logging, pkgutil, sys
from openlineage_pyspark.listener.guard import LOG
from openlineage_pyspark.listener.start.secrets import hide_in_logs
from openlineage_pyspark.transport.registry import open_transport

logging.basicConfig(format="%(name)s: %(message)s", stream=sys.stdout)
path = {"url": "http://h/first-canary/second-canary"}
hide_in_logs(["first-canary"])
hide_in_logs(["second-canary"])
open_transport("http", path)
LOG.warning("%s and %s, password=%s", "first-canary", 1, "third-canary")
LOG.warning("100%% of %s", "nothing")
LOG.warning("openlineage: once")

import openlineage_pyspark.facets, openlineage_pyspark.listener, openlineage_pyspark.transport
for package in ("facets", "listener", "transport"):
    folder = sys.modules["openlineage_pyspark." + package]
    for module in pkgutil.walk_packages(folder.__path__, folder.__name__ + "."):
        importlib.import_module(module.name)
bare = [
    name for name, logger in logging.root.manager.loggerDict.items()
    if name.startswith("openlineage_pyspark") and isinstance(logger, logging.Logger) and not logger.filters
]
print([name for name in bare if name in sys.modules and any(
    value is logging.getLogger(name) for value in vars(sys.modules[name]).values())])
"""


@pytest.mark.slow
def test_every_logger_of_the_package_hides_what_is_known_and_what_is_named_a_secret() -> None:
    """In a process of its own, for the loggers are the process's."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=120)
    url, *rest = done.stdout.splitlines()
    assert url.startswith(
        "openlineage_pyspark.transport.http.settings: openlineage: spark.openlineage.transport.url has the path /***/"
    )
    assert rest == [
        "openlineage_pyspark: openlineage: *** and 1, password=***",
        "openlineage_pyspark: openlineage: 100% of nothing",
        "openlineage_pyspark: openlineage: once",
        "[]",
    ]


def calls(*names: str) -> list[tuple[str, ast.Call]]:
    """Return the package's calls of methods, by their names, each with the path of its module."""
    found = []
    for folder in ("command", "facets", "listener", "transport"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            # Most modules need not be parsed.
            if not any(f".{name}(" in path.read_text("utf-8") for name in names):
                continue
            found += [
                (path.relative_to(ROOT).as_posix(), node)
                for node in nodes_of(path)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in names
            ]
    return found


def test_each_logger_is_one_that_the_filter_is_put_on() -> None:
    """Those of `transport`, by their modules' names, and one for everything else; the others belong to libraries."""
    made = [call for call in calls("getLogger") if ast.unparse(call[1].func) == "logging.getLogger"]

    elsewhere = {(path, ast.unparse(node.args[0])) for path, node in made if not path.startswith("transport/")}
    ours = {ast.unparse(node.args[0]) for path, node in made if path.startswith("transport/")}
    assert elsewhere == {
        ("command/doctor/delivery.py", "'openlineage_pyspark.transport'"),
        ("command/store/recover.py", "'root'"),
        ("facets/sql_parser.py", "'sqlglot'"),
        ("listener/guard.py", "'openlineage_pyspark'"),
        ("listener/start/hook.py", "'openlineage_pyspark'"),
    }
    assert ours == {"__name__", "'urllib3.connectionpool'"}


def test_what_may_be_logged_before_the_filter_is_there_has_the_prefix_itself() -> None:
    """The line of the import hook, and those of the guard."""
    lines = calls("debug", "info", "warning", "error", "exception", "critical")
    ours = ("LOG.", "logging.getLogger('openlineage_pyspark').")
    logged = [call for call in lines if ast.unparse(call[1].func).startswith(ours)]

    wrong = [(path, ast.unparse(node.args[0])) for path, node in logged if not _begins(node.args[0])]
    assert len(logged) > 5
    assert wrong == []


def _begins(text: ast.expr) -> bool:
    return isinstance(text, ast.Constant) and str(text.value).startswith(PREFIX_OF_LOG)
