"""What tests of files of SQL share."""

from __future__ import annotations

import shutil

import pytest


@pytest.fixture(scope="session")
def git() -> str:
    """Give the program git; without it, comparing revisions can't be tested."""
    found = shutil.which("git")
    if found is None:
        pytest.skip("git is not installed")
    return found
