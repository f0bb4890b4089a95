"""`./run`, with a Python and a Java that only write down how they are called."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = """#!/bin/sh
{ printf '%s' "${0##*/}"; printf '|%s' "$@"; printf '\\n'; } >>"$CALLS"
case "$*" in
    "-m venv "*)
        mkdir -p "$3/bin"
        for tool in python pip ruff mypy spark-submit openlineage-pyspark; do cp "$0" "$3/bin/$tool"; done
        ;;
    *"pip wheel"*)
        while [ "$1" != --wheel-dir ]; do shift; done
        touch "$2/openlineage_pyspark-0-py3-none-any.whl"
        ;;
esac
"""
JAVA = """#!/bin/sh
echo "    java.specification.version = 17"
echo "    java.home = $HOME"
"""


class Tree:
    """A clone with nothing in it but `./run`, in a folder whose name has a space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "with a space"
        programs = folder / "programs"
        for place in (self.folder, programs):
            place.mkdir()
        shutil.copy(ROOT / "run", self.folder)
        for name, text in {"python3.13": PYTHON, "java": JAVA}.items():
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        self._calls = folder / "calls"
        self._environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder), "CALLS": str(self._calls)}

    def start(self, *command: str) -> str:
        """Run a command in the clone and give what it prints."""
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def calls(self, program: str) -> list[list[str]]:
        """Give the arguments of each call of a program of the environment."""
        lines = [line.split("|") for line in self._calls.read_text().splitlines()]
        return [arguments for name, *arguments in lines if name == program]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def installed(tree: Tree) -> list[str]:
    """Return what was installed, without the path of the wheel."""
    found = [arguments[-2:] for arguments in tree.calls("python") if arguments[:3] == ["-Im", "pip", "install"]]
    return [argument.rpartition("/")[2] for arguments in found for argument in arguments]


def test_a_clone_may_lie_in_a_folder_whose_name_has_a_space(tree: Tree) -> None:
    tree.start("./run", "lint", "--fast", "--python", "3.13")

    assert installed(tree) == [
        "--quiet", "openlineage_pyspark-0-py3-none-any.whl[test]",
        "--force-reinstall", "openlineage_pyspark-0-py3-none-any.whl",
    ]  # fmt: skip


@pytest.mark.parametrize("more", [[], ["--marquez", "http://localhost:5000"]])
def test_the_command_that_the_demo_prints_is_the_one_that_it_runs(tree: Tree, more: list[str]) -> None:
    printed = tree.start("./run", "demo", "--spark", "4.1", "--python", "3.13", *more)

    command = printed[printed.index("$ rm -rf") :].split("\n\n")[0]
    tree.start("/bin/sh", "-c", command.replace("$ ", ""))
    first, second = tree.calls("spark-submit")
    assert first == second
    assert first[-3:] == ["demo/flights.py", "demo-output/landing", "demo-output/exports"]
    assert ("spark.openlineage.transport.transports.marquez.url=http://localhost:5000" in first) == bool(more)
    assert ('tables: namespace "file"' in printed) == bool(more)


def test_the_demo_ends_with_answers_and_a_plan_of_recovery(tree: Tree) -> None:
    tree.start("./run", "demo", "--spark", "4.1", "--python", "3.13")

    asked = [arguments[0] for arguments in tree.calls("openlineage-pyspark")]
    assert asked == ["show", "ingest", "downstream", "recover", "view"]


def test_the_demo_installs_no_tools_for_tests_and_takes_an_environment_that_has_them(tree: Tree) -> None:
    tree.start("./run", "demo", "--spark", "4.1", "--python", "3.13")
    assert [name for name in installed(tree) if "[" in name] == ["openlineage_pyspark-0-py3-none-any.whl[spark,demo]"]

    tree.start("./run", "lint", "--spark", "4.1", "--python", "3.13")
    with_tools = installed(tree)
    assert "openlineage_pyspark-0-py3-none-any.whl[spark,demo,test]" in with_tools
    tree.start("./run", "demo", "--spark", "4.1", "--python", "3.13")
    assert installed(tree) == with_tools


def test_started_elsewhere_the_demo_says_where_its_command_runs(tree: Tree) -> None:
    printed = tree.start("/bin/sh", "-c", f"cd / && '{tree.folder}/run' demo --spark 4.1 --python 3.13")

    assert f'\n$ cd "{tree.folder}"\n$ rm -rf' in printed
    assert f'SPARK_HOME="{tree.folder}/.venv-4.1-python3.13/lib/' in printed
