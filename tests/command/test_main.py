"""The list of commands: what it shows, what it refuses, and what it imports."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMANDS = (
    *("doctor", "show", "validate", "send", "replay", "spool", "ingest", "store", "upstream", "downstream", "between"),
    *("datasets", "jobs", "runs", "history", "unused", "blame", "sql", "diff", "recover", "checkpoint", "view"),
    *("lineage", "completion"),
)


@pytest.fixture
def ended(run, capsys):
    """Give what runs a command line that the parser ends: exit code, output, errors."""

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            run(*arguments)
        return end.value.code, *capsys.readouterr()

    return call


@pytest.fixture
def imported(process):
    """Give what returns the modules of ours, and the others that were asked about, that a command line imports."""
    code = """if True:
        import json, sys
        from openlineage_pyspark.command.main import main
        try:
            main(sys.argv[1:])
        except SystemExit:
            pass
        print(json.dumps(sorted(sys.modules)), file=sys.stderr)"""

    def call(*arguments, others=()):
        _, _, errors = process(sys.executable, "-Ic", code, *arguments)
        modules = json.loads(errors.splitlines()[-1])
        return [name for name in modules if name.split(".")[0] == "openlineage_pyspark" or name in others]

    return call


_LISTED = ("command", "command.main", "command.progress", "errors", "workbench", "workbench.questions")
LIST = ["openlineage_pyspark", *(f"openlineage_pyspark.{name}" for name in _LISTED)]


def test_the_help_lists_each_command_in_order_with_a_line(ended) -> None:
    code, shown, _ = ended("--help")

    rows = [line.split(None, 1) for line in shown.splitlines() if line.startswith("    ") and line[4] != " "]
    assert code == 0
    assert [name for name, *_ in rows] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_list_has_a_help_of_its_own(ended, name) -> None:
    code, shown, _ = ended(name, "--help")

    assert (code, shown.startswith(f"usage: openlineage-pyspark {name} ")) == (0, True)


def test_the_list_has_every_module_that_adds_a_command() -> None:
    from openlineage_pyspark.command.main import _COMMANDS

    command = ROOT / "command"
    defined = ("\ndef add_to(", "\ndef add_question(")
    adding = {path for path in command.rglob("*.py") if any(each in path.read_text("utf-8") for each in defined)}
    assert {command.joinpath(*module.split(".")).with_suffix(".py") for module, _ in _COMMANDS.values()} == adding


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_list_of_commands_is_shown_without_any_of_them(imported, option) -> None:
    heavy = ("attr", "rich", "requests", "sqlite3", "sqlglot", "yaml")

    assert imported(option, others=heavy) == LIST


@pytest.mark.slow
def test_a_command_imports_no_other_command(imported) -> None:
    modules = imported("upstream", "x", "--store", os.devnull, others=("requests", "yaml", "sqlglot", "openlineage"))

    assert [name for name in modules if name.startswith("openlineage_pyspark.command.")] == [
        "openlineage_pyspark.command.conf_option",
        "openlineage_pyspark.command.main",
        "openlineage_pyspark.command.progress",
        "openlineage_pyspark.command.questions",
        "openlineage_pyspark.command.screen",
        "openlineage_pyspark.command.store_option",
    ]
    assert not {"requests", "yaml", "sqlglot", "openlineage"} & set(modules)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("upstrem", "x"), "argument COMMAND: invalid choice: 'upstrem'; did you mean upstream?\n"),
        (("upstream", "x", "--format", "jsn"), "invalid choice: 'jsn'; did you mean json?\n"),
        (("qqq",), "invalid choice: 'qqq' (choose from "),
        ((), "the following arguments are required: COMMAND"),
        (("--stor", "upstream", "x"), "unrecognized arguments: --stor; options come after the command\n"),
        (("--json", "datasets"), "unrecognized arguments: --json; options come after the command\n"),
        (("upstream", "x", "--stor", "y"), "unrecognized arguments: --stor y; did you mean --store?"),
        (("upstream", "x", "--json"), "unrecognized arguments: --json; did you mean --format json?"),
        (("doctor", "--json"), "unrecognized arguments: --json; did you mean --format json?"),
    ],
)
def test_a_wrong_command_line_is_refused(ended, arguments, said) -> None:
    code, _, errors = ended(*arguments)

    assert code == 2
    assert said in errors


def test_the_help_breaks_no_line_within_a_word(ended, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    shown = ended("lineage", "--help")[1]

    assert [line for line in shown.splitlines() if line.endswith("-")] == []
    assert "                        dropped-column-in-use, type-changed, rebuild\n" in shown
