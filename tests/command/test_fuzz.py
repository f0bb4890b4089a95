"""Mutated events, stores and arguments end no command with a traceback, and change no other file."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fuzzing import Fuzzer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [1, 2, pytest.param(3, marks=pytest.mark.long)])
def test_no_command_ends_with_a_traceback_or_changes_another_file(tmp_path: Path, seed: int) -> None:
    fuzzer = Fuzzer(tmp_path / "fuzz", seed)
    fuzzer.run(400 if seed == 3 else 15)
    assert fuzzer.findings == []
    assert fuzzer.calls > 75
