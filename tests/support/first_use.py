"""
Do once what each process of the tests would do at first: rewrite and compile the files of tests, and list characters.

Without it, all workers rewrite the same files at the same time, and slower where coverage is measured. Called as a
script with two numbers, it takes a share of the files, so that several processes divide them: `0 2` is the first half.
"""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def main(part: int, parts: int) -> None:
    """
    Collect a share of the tests, and run none of them. What is wrong with a file, the tests themselves tell.

    Args:
        part: from 0 on.
        parts: how many shares there are.
    """
    files = sorted(map(str, TESTS.rglob("test_*.py")))[part::parts]
    with contextlib.redirect_stdout(io.StringIO()):
        pytest.main(["--collect-only", "-qq", *files])
    if part == 0:
        # Imported late: pytest rewrites it. For its first text it keeps a table of all characters in a folder.
        import hypothesis
        from hypothesis import strategies

        hypothesis.find(strategies.text(), lambda _: True, settings=hypothesis.settings(database=None))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
