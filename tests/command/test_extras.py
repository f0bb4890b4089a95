"""What works where the extra `workbench` is not installed, and what the rest says there."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from openlineage_pyspark.errors import MissingExtraError
from openlineage_pyspark.workbench.extras import WORKBENCH, install_command, require

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

# A process of its own, whose import system has no package of the extra, as if it were not installed.
HIDDEN = """if True:
    import sys

    class Hidden:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] in ("rich", "sqlglot", "jsonschema"):
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    from importlib import util
    real = util.find_spec
    hidden = ("rich", "sqlglot", "jsonschema")
    util.find_spec = lambda name, package=None: None if name in hidden else real(name, package)
    sys.meta_path.insert(0, Hidden)
"""
MAIN = f"{HIDDEN}\n    from openlineage_pyspark.command.main import main\n    sys.exit(main(sys.argv[1:]))"
MISSING = "the extra workbench is not installed (missing: rich, sqlglot, jsonschema)"
INSTALL = "pip install rich sqlglot jsonschema rfc3339-validator rfc3986-validator"
OTHERS = (
    ("show", "x.ndjson"),
    ("validate", "x.ndjson"),
    ("ingest", "x.ndjson"),
    ("store", "rebuild"),
    ("upstream", "x"),
    ("downstream", "x"),
    ("between", "x", "y"),
    ("datasets",),
    ("jobs",),
    ("runs",),
    ("history", "x"),
    ("unused",),
    ("blame", "x"),
    ("sql", "SELECT 1"),
    ("recover", "x"),
    ("checkpoint", "x", "--back-to", "1"),
    ("view", "x"),
    ("diff", "x", "y"),
    ("lineage", "x.sql"),
)


@pytest.fixture
def alone(process):
    """Give what runs a command where the extra is not installed: exit code, output, errors."""

    def call(*arguments: str) -> tuple[int, str, str]:
        return process(sys.executable, "-c", MAIN, *arguments)

    return call


def test_each_command_that_needs_the_extra_says_so_in_one_line(process) -> None:
    """All in one process: each alone takes seconds to start."""
    code = f"""{HIDDEN}
    import contextlib, io, json
    from openlineage_pyspark.command.main import main

    found = []
    for arguments in {OTHERS!r}:
        shown, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(errors):
            try:
                code = main(list(arguments))
            except SystemExit as ended:
                code = ended.code
        found.append([code, shown.getvalue(), errors.getvalue()])
    print(json.dumps(found))
    """
    code_of_process, shown, errors = process(sys.executable, "-c", code)

    assert (code_of_process, errors) == (0, "")
    assert json.loads(shown) == [
        [2, "", f"openlineage-pyspark: {arguments[0]}: {MISSING}: {INSTALL}\n"] for arguments in OTHERS
    ]


def test_no_command_is_left_out_here() -> None:
    from openlineage_pyspark.command.main import _COMMANDS

    assert {name for name, *_ in OTHERS} | {"completion", "doctor", "send", "replay", "spool"} == set(_COMMANDS)


def test_a_shell_is_completed_without_the_extra_too(alone) -> None:
    code, shown, errors = alone("completion", "bash")

    assert (code, errors, "upstream --by" in shown) == (0, "", True)


def test_doctor_says_what_works_without_the_extra(alone) -> None:
    code, shown, errors = alone("doctor", "--format", "json")

    rows = [each for each in json.loads(shown)["result"]["found"] if each["subject"] in ("JDBC queries", "workbench")]
    assert (code, errors) == (1, "")
    assert rows == [
        {
            "level": "note",
            "subject": "JDBC queries",
            "found": "tables only: sqlglot, which reads the columns, is not installed",
            "remedy": f"For the columns too: {INSTALL}",
        },
        {
            "level": "note",
            "subject": "workbench",
            "found": f"{MISSING}; the listener does not need it",
            "remedy": f"To query lineage here: {INSTALL}",
        },
    ]
    assert alone("doctor")[1].startswith("FOUND\n  ok       Python         3.")


def test_events_are_sent_without_the_extra(alone, events, written, receiver) -> None:
    code, shown, errors = alone("send", written(*events), "--to", receiver.url)

    assert (code, errors) == (0, "")
    assert shown.startswith(f"{len(events)} events sent to {receiver.url}")
    assert receiver.events == events


def test_the_spool_is_listed_sent_and_emptied_without_the_extra(
    alone, tmp_path: Path, leave: Any, run_of: Any, receiver: Any
) -> None:
    root = tmp_path / "spool"
    leave(root, f"{receiver.url}/api/v1/lineage", *run_of("START", "COMPLETE"))

    listed = alone("spool", "ls", "--spool", str(root))
    sent = alone("replay", "--spool", str(root), "--to", receiver.url)

    assert (listed[0], listed[2]) == (0, "")
    assert "  waiting  refused  " in listed[1]
    assert sent[0] == 0
    assert sent[1].startswith("2 of 2 events sent to ")
    assert alone("spool", "ls", "--spool", str(root)) == (0, f"no events in {root}\n", "")


def test_the_listener_is_imported_and_reads_tables_of_queries_without_the_extra(process) -> None:
    code = f"""{HIDDEN}
    import importlib, pkgutil
    import openlineage_pyspark
    from openlineage_pyspark.facets.datasets.jdbc import jdbc_tables

    of_sqlglot = (
        "dialects effort expressions from_clause from_items reader scopes set_operations texts trees values".split()
    )
    skipped = (".sql_parser", *(f".foreign_sql.{{name}}" for name in of_sqlglot))
    for room in ("facets", "listener", "transport"):
        package = importlib.import_module(f"openlineage_pyspark.{{room}}")
        for each in pkgutil.walk_packages(package.__path__, f"{{package.__name__}}."):
            if each.name.endswith(skipped) or ".launch" in each.name:
                continue
            importlib.import_module(each.name)
    print([each.identifier.name for each in jdbc_tables("jdbc:mysql://h/s", "(SELECT a FROM t JOIN u) q")])
    """
    assert process(sys.executable, "-c", code) == (0, "['s.t', 's.u']\n", "")


def test_the_store_and_lineage_say_which_extra_they_need(process) -> None:
    code = f"""{HIDDEN}
    import openlineage_pyspark

    for call in (
        lambda: openlineage_pyspark.Store.open("x"),
        lambda: openlineage_pyspark.Store.open_spark(None, "x"),
        lambda: openlineage_pyspark.lineage(None, "SELECT 1"),
    ):
        try:
            call()
        except openlineage_pyspark.MissingExtraError as problem:
            print(problem.extra, isinstance(problem, ImportError), problem)
    """
    line = f"workbench True {MISSING}: {INSTALL}\n"
    assert process(sys.executable, "-c", code) == (0, line * 3, "")


def test_an_extra_that_lacks_one_package_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)

    with pytest.raises(MissingExtraError, match=r"^the extra workbench is not installed \(missing: sqlglot\): pip"):
        require(WORKBENCH)


def test_a_magic_says_which_extra_it_needs_in_one_line(process) -> None:
    code = f"""{HIDDEN}
    from openlineage_pyspark.workbench.notebook import register_magics

    class Shell:
        def register_magic_function(self, magic, magic_kind, magic_name):
            try:
                magic("", "SELECT 1") if magic_kind == "cell" else magic("")
            except Exception as problem:
                print(type(problem).__name__, problem)

    register_magics(Shell())
    """
    line = f"UsageError {MISSING}: {INSTALL}\n"
    assert process(sys.executable, "-c", code) == (0, line * 2, "")


def test_the_command_of_the_message_installs_what_the_extra_brings() -> None:
    declared = re.search(r"^workbench = \[(.*)\]$", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)

    assert declared is not None
    packages = [re.sub(">=.*", "", each.strip('" ')) for each in declared[1].split(",")]
    assert shlex.split(install_command(WORKBENCH)) == ["pip", "install", *packages]
