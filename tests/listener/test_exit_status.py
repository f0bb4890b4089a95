"""How a script's end is told, seen in interpreters without Spark."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

BEGIN = """
import atexit, sys, threading
from openlineage_pyspark.listener.exit_status import ScriptEnd, on_terminate
end = ScriptEnd()
atexit.register(lambda: print(end.outcome().event_type, "|", end.outcome().message))
"""


def run(script: str) -> tuple[int, str]:
    """Give exit status and outcome of a script."""
    done = subprocess.run([sys.executable, "-c", BEGIN + script], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(
    ("script", "status", "outcome"),
    [
        pytest.param("x = 1", 0, "COMPLETE |", id="plain end"),
        pytest.param("sys.exit()", 0, "COMPLETE |", id="exit without a status"),
        pytest.param("sys.exit(0)", 0, "COMPLETE |", id="exit with 0"),
        pytest.param("sys.exit(3)", 3, "FAIL | the script ended with exit status 3", id="exit with 3"),
        pytest.param("sys.exit(True)", 1, "FAIL | the script ended with exit status 1", id="exit with True"),
        pytest.param("sys.exit('no input')", 1, "FAIL | no input", id="exit with a text"),
        pytest.param("exit(4)", 4, "FAIL | the script ended with exit status 4", id="exit of the site module"),
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
def test_the_outcome_is_that_of_the_process(script: str, status: int, outcome: str) -> None:
    assert run(script) == (status, outcome)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("try: sys.exit(3)\nexcept SystemExit: pass", id="caught"),
        pytest.param("try: sys.exit(3)\nexcept SystemExit as kept: kept_on = kept", id="caught and kept"),
        pytest.param("t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()", id="of a thread"),
    ],
)
def test_an_exit_that_does_not_end_the_script_is_no_failure(script: str) -> None:
    assert run(script) == (0, "COMPLETE |")


def test_an_exception_after_a_caught_exit_is_the_failure() -> None:
    assert run("try: sys.exit(3)\nexcept SystemExit: pass\n1 / 0") == (1, "FAIL | ZeroDivisionError: division by zero")


def test_a_system_exit_that_the_script_raises_itself_counts_as_complete() -> None:
    """Nothing of it is left when the interpreter ends; this is the gap that the module's text names."""
    assert run("raise SystemExit(3)") == (3, "COMPLETE |")


def test_sys_exit_stays_what_it_was_for_its_callers() -> None:
    script = "print(sys.exit.__name__, sys.exit.__doc__.split('.')[0])"
    code, output = run(script)
    assert (code, output.splitlines()[0]) == (0, f"exit {(sys.exit.__doc__ or '').split('.')[0]}")


def test_the_process_dies_of_sigterm_after_what_is_to_be_done() -> None:
    script = """
import os, signal
on_terminate(lambda outcome: print(outcome.event_type, "|", outcome.message, flush=True))
os.kill(os.getpid(), signal.SIGTERM)
"""
    assert run(script) == (-signal.SIGTERM, "ABORT | the script was ended by SIGTERM")


def test_a_handler_of_the_users_own_is_left_alone() -> None:
    script = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: print("mine"))
on_terminate(lambda outcome: print("not called"))
os.kill(os.getpid(), signal.SIGTERM)
"""
    assert run(script) == (0, "mine\nCOMPLETE |")
