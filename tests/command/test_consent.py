"""What deletes or overwrites asks first, in every command."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

import pytest
from command.test_options import options_of
from openlineage_pyspark.command.consent import is_answered_yes, may_overwrite
from openlineage_pyspark.command.main import commands, main, parser_of
from support.lineage_events import dataset, run_event, text_of_events

# The commands that delete, and those that overwrite files.
DELETE = {"spool rm", "store expire", "store forget", "recover"}
OVERWRITE = {"view", "lineage"}


class Terminal(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


def test_each_command_that_deletes_can_be_tried_and_answered_before() -> None:
    taking: dict[str, set[str]] = {"--yes": set(), "--dry-run": set()}
    for command in commands():
        for name, action in options_of(parser_of(command), ""):
            for option in taking.keys() & set(action.option_strings):
                taking[option].add(name)

    assert taking == {"--yes": DELETE | OVERWRITE, "--dry-run": DELETE}


@pytest.mark.parametrize(
    ("typed", "agreed"), [("y\n", True), (" YES \n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_only_y_and_yes_agree(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, *, agreed: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))

    assert is_answered_yes("Really?") is agreed
    assert capsys.readouterr() == ("", "Really? [y/N] ")


@pytest.mark.parametrize("there", ["", "same", "ours: old"])
def test_nobody_is_asked_about_a_file_that_is_ours_empty_or_the_same(tmp_path: Path, there: str) -> None:
    (tmp_path / "file").write_text(there)

    assert may_overwrite(tmp_path / "file", "same", ("ours:",), argparse.Namespace(yes=False))
    assert may_overwrite(tmp_path / "none", "same", (), argparse.Namespace(yes=False))


def test_a_file_of_schemas_that_is_another_one_stays_without_a_yes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events, file = tmp_path / "events.ndjson", tmp_path / "schemas.json"
    events.write_text(text_of_events([run_event("load", "COMPLETE", 1, outputs=(dataset("t", columns=("c",)),))]))
    file.write_text('{"mine": "id INT"}')
    words = ["lineage", "--catalog", str(events), "--write-schemas", str(file)]

    assert main(words) == 1
    assert capsys.readouterr().err == (
        f"openlineage-pyspark: {file} already exists. Overwrite it? "
        f"There is no terminal on which to ask: add --yes\nopenlineage-pyspark: {file} is unchanged\n"
    )
    assert json.loads(file.read_text()) == {"mine": "id INT"}
    assert main([*words, "--yes"]) == 0
    assert "mine" not in json.loads(file.read_text())
    # What it wrote itself is the same.
    assert main(words) == 0
