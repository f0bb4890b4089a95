"""What a shell completes, asked of a real bash."""

from __future__ import annotations

import shutil
import subprocess

import pytest


@pytest.fixture
def completed(run):
    """Give what bash offers for the last of some words."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    code, script, errors = run("completion", "bash")
    assert (code, errors) == (0, "")

    def call(*words: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in ("openlineage-pyspark", *words))
        ask = (
            f"COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _openlineage_pyspark; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
        return done.stdout.split()

    return call


def test_bash_completes_commands_options_and_the_words_of_an_option(completed) -> None:
    assert completed("up") == ["upstream"]
    assert completed("upstream", "x", "--di") == ["--direct"]
    assert completed("upstream", "x", "--by", "") == ["table", "column", "snapshot", "job"]
    assert completed("upstream", "x", "--store", "") == []
    assert "expire" in completed("store", "")


@pytest.mark.parametrize(("shell", "line"), [
    ("zsh", "autoload -U +X bashcompinit && bashcompinit"),
    ("fish", "complete -c openlineage-pyspark -n '__fish_seen_subcommand_from upstream' --by"),
])  # fmt: skip
def test_other_shells_get_a_script_of_their_own(run, shell, line) -> None:
    shown = run("completion", shell)[1]
    assert line.replace("--by", "-l by -xa 'table column snapshot job'") in shown
