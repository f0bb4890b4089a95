"""How a script's end is told, seen in interpreters without Spark."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.every_python, pytest.mark.slow]

BEGIN = """
import atexit, sys, threading
from openlineage_pyspark.listener.start.script_end import ScriptEnd
end = ScriptEnd()
def tell(): print(end.outcome().event_type, "|", end.outcome().message)
atexit.register(tell)
"""


def run(script: str) -> tuple[int, str]:
    """Give exit status and outcome of a script's text."""
    done = subprocess.run([sys.executable, "-c", BEGIN + script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip()


@pytest.fixture
def run_file(tmp_path: Path) -> Callable[[str], tuple[int, str]]:
    """Give what runs a script from a file, as Spark does: exit status and outcome in return."""

    def run_it(script: str) -> tuple[int, str]:
        file = tmp_path / "app.py"
        file.write_text(BEGIN + script, "utf-8")
        done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip()

    return run_it


WAYS_OUT = pytest.mark.parametrize(
    ("script", "status", "outcome"),
    [
        pytest.param("x = 1", 0, "COMPLETE |", id="plain end"),
        pytest.param("sys.exit()", 0, "COMPLETE |", id="exit without a status"),
        pytest.param("sys.exit(0)", 0, "COMPLETE |", id="exit with 0"),
        pytest.param("sys.exit(3)", 3, "FAIL | the script ended with exit status 3", id="exit with 3"),
        pytest.param("sys.exit(True)", 1, "FAIL | the script ended with exit status 1", id="exit with True"),
        pytest.param("sys.exit('no input')", 1, "FAIL | no input", id="exit with a text"),
        pytest.param("1 / 0", 1, "FAIL | ZeroDivisionError: division by zero", id="exception"),
        pytest.param("raise KeyboardInterrupt", -signal.SIGINT, "ABORT | KeyboardInterrupt", id="interrupt"),
        pytest.param(
            "import argparse; argparse.ArgumentParser().parse_args(['--no'])",
            2,
            "FAIL | the script ended with exit status 2",
            id="wrong arguments",
        ),
        pytest.param(
            "import asyncio\nasync def main(): sys.exit(5)\nasyncio.run(main())",
            5,
            "FAIL | the script ended with exit status 5",
            id="exit that a task keeps alive",
        ),
    ],
)


@WAYS_OUT
def test_the_outcome_is_that_of_the_process(script: str, status: int, outcome: str) -> None:
    assert run(script) == (status, outcome)


@WAYS_OUT
def test_the_outcome_of_a_script_file_is_that_of_the_process(
    run_file: Callable[[str], tuple[int, str]], script: str, status: int, outcome: str
) -> None:
    assert run_file(script) == (status, outcome)


DIVISION = "FAIL | ZeroDivisionError: division by zero"
ASKED = "FAIL | the script ended with exit status 3"


@pytest.mark.parametrize(
    ("script", "status", "outcome"),
    [
        pytest.param("try: sys.exit(3)\nfinally: x = 1", 3, ASKED, id="with a finally on its way"),
        pytest.param("try: sys.exit(3)\nexcept SystemExit: raise", 3, ASKED, id="raised again"),
        pytest.param("try: sys.exit(5)\nexcept SystemExit: sys.exit(3)", 3, ASKED, id="after another"),
        pytest.param("try: sys.exit(5)\nexcept SystemExit: sys.exit(0)", 0, "COMPLETE |", id="with 0 after another"),
        pytest.param("try: sys.exit(5)\nexcept SystemExit as e: kept = e\nsys.exit(0)", 0, "COMPLETE |", id="kept"),
        pytest.param("try: sys.exit(5)\nexcept SystemExit: 1 / 0", 1, DIVISION, id="before an exception"),
        pytest.param("try: 1 / 0\nexcept ArithmeticError: sys.exit(3)", 3, ASKED, id="from an exception"),
        pytest.param("def main():\n    x = 1\n    sys.exit(3)\nmain()", 3, ASKED, id="in a function"),
    ],
)
def test_the_last_exit_on_its_way_is_the_outcome(
    run_file: Callable[[str], tuple[int, str]], script: str, status: int, outcome: str
) -> None:
    assert run_file(script) == (status, outcome)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("try: sys.exit(3)\nexcept SystemExit: pass", id="caught"),
        pytest.param("def stop(): sys.exit(3)\ntry: stop()\nexcept SystemExit: pass\nx = 1", id="caught outside"),
        pytest.param("t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()", id="of a thread"),
    ],
)
def test_an_exit_that_does_not_end_the_script_is_no_failure(script: str) -> None:
    assert run(script) == (0, "COMPLETE |")


def test_an_exit_that_was_caught_in_a_forked_process_is_none_of_this_one() -> None:
    script = """
import os
child = os.fork()
if not child:
    atexit.unregister(tell)
    sys.exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert run(script) == (0, "3\nCOMPLETE |")


def test_an_exception_after_a_caught_exit_is_the_failure() -> None:
    assert run("try: sys.exit(3)\nexcept SystemExit: pass\n1 / 0") == (1, DIVISION)


@pytest.mark.parametrize(
    ("script", "status", "outcome"),
    [
        pytest.param("raise SystemExit(3)", 3, "COMPLETE |", id="raised by the script itself"),
        pytest.param("exit(3)", 3, "COMPLETE |", id="by what the site module adds for shells"),
        pytest.param("try: sys.exit(3)\nexcept SystemExit as e: kept = e", 0, ASKED, id="caught and kept"),
    ],
)
def test_where_the_outcome_is_not_that_of_the_process(
    run_file: Callable[[str], tuple[int, str]], script: str, status: int, outcome: str
) -> None:
    """The limits that the documentation names: the interpreter says nothing of an exit."""
    assert run_file(script) == (status, outcome)


def test_nothing_of_the_interpreters_is_replaced_but_sys_exit() -> None:
    script = """
import builtins, _sitebuiltins
print(sys.stderr.flush.__self__ is sys.stderr, SystemExit is builtins.SystemExit, "SystemExit" in vars(_sitebuiltins))
"""
    assert run(script) == (0, "True True False\nCOMPLETE |")


def test_sys_exit_stays_what_it_was_for_its_callers() -> None:
    script = "print(sys.exit.__name__, sys.exit.__doc__.split('.')[0])"
    code, output = run(script)
    assert (code, output.splitlines()[0]) == (0, f"exit {(sys.exit.__doc__ or '').split('.')[0]}")


@pytest.mark.parametrize(("running", "told"), [(False, "FAIL | ValueError: no"), (True, "COMPLETE |")])
def test_a_script_is_a_notebook_where_a_kernel_runs_and_not_where_its_library_is_imported(
    tmp_path: Path, *, running: bool, told: str
) -> None:
    """In a kernel an exception ends a cell, and in a script the job."""
    library = tmp_path / "ipykernel"
    library.mkdir()
    (library / "__init__.py").touch()
    (library / "kernelapp.py").write_text(
        f"class IPKernelApp:\n    @classmethod\n    def initialized(cls): return {running}\n", "utf-8"
    )
    script = f"sys.path.insert(0, {str(tmp_path)!r})\nimport ipykernel.kernelapp\nraise ValueError('no')"

    assert run(script)[1] == told
