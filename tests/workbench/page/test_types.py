"""The types of the page's scripts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "workbench" / "page"


@pytest.mark.slow
def test_the_scripts_types_are_right(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm, which brings the compiler of TypeScript")
    shutil.copytree(PAGE, tmp_path / "page", ignore=shutil.ignore_patterns("*.py", "vendor", "node_modules"))
    install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefer-offline"]
    installed = subprocess.run(install, cwd=tmp_path / "page", capture_output=True, text=True, check=False)
    if installed.returncode:
        pytest.skip(f"npm can't install TypeScript: {installed.stderr.strip()[:300]}")

    compiler = tmp_path / "page" / "node_modules" / ".bin" / "tsc"
    checked = subprocess.run([compiler, "-p", "."], cwd=tmp_path / "page", capture_output=True, text=True, check=False)

    assert (checked.stdout, checked.returncode) == ("", 0)
