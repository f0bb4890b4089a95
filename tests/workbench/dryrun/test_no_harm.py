"""Scripts that would do harm, watched by the kernel: no connection but to this machine, no program, no write."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.any_spark, pytest.mark.long]

HOSTILE = Path(__file__).parent / "hostile"
DRIVER = """
import sys
from pathlib import Path
from openlineage_pyspark.workbench.dryrun.script.request import ScriptRequest
from openlineage_pyspark.workbench.dryrun.run import ScriptRunner
here = sys.argv[1]
with ScriptRunner({}) as runner:
    for script in sorted(Path(here).glob("*.py")):
        told = runner.run(ScriptRequest(script.name, str(script), script.read_text(), (), here, "", here, seconds=20))
        print(script.name, told[-1]["k"])
"""
CHANGES = ("creat", "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "chmod",
           "fchmodat", "symlink", "symlinkat", "link", "linkat", "truncate")  # fmt: skip
CLONES = ("clone", "clone3", "fork", "vfork")
CLONED = re.compile(rf"^\d+ ({'|'.join(CLONES)})\(")
CALLS = ("connect", "sendto", "execve", "openat", "open", *CLONES, *CHANGES)
# What the JVM and the system's own libraries have beside the folder of the scripts.
OWN = re.compile(r"(/dev/|/proc/|/sys/|.*/(openlineage-pyspark-|openlineage-pyspark/probe/|hsperfdata_|__pycache__/))")


def watched(folder: Path) -> list[str]:
    """Run the scripts of a folder, and return the calls that succeeded of all processes, each with its number."""
    trace, scratch = folder.parent / "trace", folder.parent / "tmp"
    scratch.mkdir()
    command = ["strace", "-f", "-qq", "-y", "-s", "300", "-e", f"trace={','.join(CALLS)}", "-o", str(trace)]
    known = {**os.environ, "TMPDIR": str(scratch)}
    done = subprocess.run(
        [*command, sys.executable, "-c", DRIVER, str(folder)], check=True, capture_output=True, env=known, timeout=500
    )
    assert len(done.stdout.splitlines()) == len(list(folder.glob("*.py")))
    return [line for line in whole(trace.read_text("utf-8", errors="replace").splitlines()) if " = -1 " not in line]


def whole(lines: list[str]) -> list[str]:
    """Return calls that strace has cut in two, because others came between, as one line each."""
    begun: dict[str, str] = {}
    found = []
    for line in lines:
        process, _, call = line.partition(" ")
        if call.endswith("<unfinished ...>"):
            begun[process] = call.strip().removesuffix("<unfinished ...>")
        elif " resumed>" in call:
            found.append(f"{process} {begun.pop(process, '')}{call.partition(' resumed>')[2]}")
        else:
            found.append(f"{process} {call.strip()}")
    return found


def test_hostile_scripts_connect_to_nothing_start_nothing_and_write_nothing(real_spark: None, tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed: what the kernel was asked for is not seen")
    if subprocess.run(["strace", "-qq", "-o", str(tmp_path / "may"), "true"], check=False).returncode:
        pytest.skip("strace may not trace processes here")
    shutil.copytree(HOSTILE, folder := tmp_path / "scripts")
    calls = watched(folder)
    reached = [each for each in calls if " connect(" in each or " sendto(" in each]
    assert [each for each in reached if "sin_addr" in each and '"127.0.0.1"' not in each] == []
    assert [each for each in reached if "sin6_addr" in each and "127.0.0.1" not in each and '"::1"' not in each] == []
    ran = [line.partition(" ") for line in calls if "execve(" in line]
    [forking] = {process for process, _, call in ran if "workbench.dryrun.forks" in call}
    cloned = [line for line in calls if CLONED.search(line)]
    begun = [(line.split()[0], line.rpartition(" = ")[2].split()[0]) for line in cloned]
    threads = {new for (_, new), line in zip(begun, cloned, strict=True) if "CLONE_THREAD" in line}
    scripts = {new for process, new in begun if process == forking and new not in threads}
    assert len(scripts) == len(list(HOSTILE.glob("*.py")))
    for process, new in begun:
        # A process is begun before it begins others.
        scripts |= {new} if process in scripts else set()
    # The process of a script has been forked, and neither it nor its threads start a program.
    assert [call for process, _, call in ran if process in scripts] == []
    assert sorted(each.name for each in folder.iterdir()) == sorted(each.name for each in HOSTILE.iterdir())
    assert [each for each in calls if is_write_elsewhere(each, tmp_path)] == []


def is_write_elsewhere(call: str, folder: Path) -> bool:
    """Return whether a call changes something outside of the scratch folder and of what the system has of its own."""
    name = call.partition(" ")[2].partition("(")[0]
    if name in ("open", "openat"):
        changes = any(flag in call for flag in ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"))
    else:
        changes = name in CHANGES
    paths = re.findall(r'"(/[^"]*)"', call)
    inside = (str(folder / "tmp"), str(folder / "trace"))
    return changes and any(not path.startswith(inside) and not OWN.match(path) for path in paths)


def test_nothing_is_left_in_the_temporary_directory(real_spark: None, tmp_path: Path) -> None:
    (scratch := tmp_path / "tmp").mkdir()
    (here := tmp_path / "here").mkdir()
    (here / "a.sql").write_text("CREATE TABLE m AS SELECT 1 AS a", "utf-8")
    (here / "job.py").write_text((HOSTILE / "early.py").read_text("utf-8"), "utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q", "."], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=here, check=True)
    (here / "a.sql").write_text("CREATE TABLE m AS SELECT 2 AS a, 3 AS b", "utf-8")
    command = [sys.executable, "-Im", "openlineage_pyspark", "lineage", "a.sql", "job.py", "--diff", "HEAD"]
    known = {**os.environ, "TMPDIR": str(scratch)}

    done = subprocess.run(command, cwd=here, env=known, capture_output=True, text=True, check=False)

    assert "m.b" in done.stdout
    assert list(scratch.iterdir()) == []
