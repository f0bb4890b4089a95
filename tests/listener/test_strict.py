"""The exit status of strict mode: set at the very end of the interpreter, and only where it would be 0."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = """
import atexit, os, sys
from openlineage_pyspark.listener.start.leaving import leave_last
from openlineage_pyspark.listener.start.script_end import ScriptEnd
from openlineage_pyspark.listener.start.strict import STRICT as strict
leave_last()
atexit.register(print, "registered first")
end = ScriptEnd()
atexit.register(lambda: strict.judge(end.outcome()))
leave_last()
"""
LAST = "registered first\n"


def run(folder: Path, script: str) -> tuple[int, str, list[str]]:
    """Run a script file; give its status, what it prints, and the lines of its stderr."""
    file = folder / "app.py"
    file.write_text(BEGIN + script, "utf-8")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.splitlines()


def test_faults_make_the_process_end_with_70_after_all_functions_of_atexit(tmp_path: Path) -> None:
    script = "print('worked', strict.blame(['one', 'two']), strict.blame(['one']))"

    assert run(tmp_path, script) == (
        70,
        "worked False False\n" + LAST,
        [
            "openlineage: strict: 2 lineage faults, the exit status is 70",
            "openlineage: one",
            "openlineage: two",
        ],
    )


def test_without_faults_nothing_is_said_and_the_status_is_0(tmp_path: Path) -> None:
    assert run(tmp_path, "print(strict.blame([]))") == (0, "True\n" + LAST, [])


@pytest.mark.parametrize(
    ("ending", "status"), [("sys.exit(3)", 3), ("sys.exit('no')", 1), ("raise ValueError('x')", 1)]
)
def test_a_script_that_fails_keeps_its_status(tmp_path: Path, ending: str, status: int) -> None:
    code, printed, lines = run(tmp_path, f"strict.blame(['one'])\n{ending}")

    assert (code, printed) == (status, LAST)
    assert lines[-2:] == ["openlineage: strict: 1 lineage fault, the exit status stays", "openlineage: one"]


def test_a_forked_process_that_ends_is_judged_by_nobody(tmp_path: Path) -> None:
    script = """
strict.blame(["one"])
child = os.fork()
if not child:
    sys.exit(0)
print("child", os.waitpid(child, 0)[1])
"""
    code, printed, lines = run(tmp_path, script)

    assert code == 70
    assert "child 0\n" in printed
    assert lines == ["openlineage: strict: 1 lineage fault, the exit status is 70", "openlineage: one"]


@pytest.mark.parametrize("stream", ["sys.stderr = None", "sys.stderr.close()", "sys.stdout.close()"])
def test_streams_that_are_gone_do_not_keep_the_status_from_being_set(tmp_path: Path, stream: str) -> None:
    code, _, _ = run(tmp_path, f"atexit.unregister(print)\nstrict.blame(['one'])\n{stream}")

    assert code == 70


def test_a_long_list_is_cut_and_counted(tmp_path: Path) -> None:
    _, _, lines = run(tmp_path, "strict.blame([str(number) for number in range(250)])")

    assert lines[0] == "openlineage: strict: 250 lineage faults, the exit status is 70"
    assert lines[-2:] == ["openlineage: 199", "openlineage: and 50 more"]
