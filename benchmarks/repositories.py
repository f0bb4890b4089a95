"""
Measure `lineage` on folders of SQL, such as checked-out repositories, and hold each against itself.

    python benchmarks/repositories.py FOLDER[,OPTION...]... [--seconds 900]

Each folder is copied into a new git repository, and the command is called there as a user calls it: without a cache,
with the answers kept, and with `--diff` against the same files, which must be `nothing changed`. Options of `lineage`
may follow a folder, as in `shop,--manifest,target/manifest.json`; relative paths are those in the folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from commands import called

_GIT = ("git", "-c", "user.name=benchmark", "-c", "user.email=benchmark@example.org", "-c", "core.autocrlf=false")
_PROGRESS = (" statements are analyzed", " scripts have run")
_ROW = "| {name} | {files} | {statements} | {exact} | {text} | {nothing} | {tracebacks} | {times} | {itself} |"


def repository(folder: Path, target: Path) -> None:
    """Copy a folder into a new git repository."""
    shutil.copytree(folder, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "--allow-empty", "-m", "all")):
        subprocess.run([*_GIT, *command], cwd=target, check=True, capture_output=True)


def row(folder: Path, options: list[str], seconds: float) -> str:
    """Return the row of a folder in the table."""
    with tempfile.TemporaryDirectory() as scratch:
        copy, kept = Path(scratch) / folder.name, ("--cache", str(Path(scratch) / "kept"))
        repository(folder, copy)
        cold = called(copy, "lineage", ".", *options, *kept, "--format", "json", seconds=seconds)
        again = called(copy, "lineage", ".", *options, *kept, "--format", "json", seconds=seconds)
        itself = called(copy, "lineage", ".", *options, "--diff", "HEAD", seconds=seconds)
    summary = json.loads(cold.output)["result"]["summary"] if cold.output else {}
    same = "the same" if (cold.output, _lines_of(cold.errors)) == (again.output, _lines_of(again.errors)) else "OTHERS"
    runs = (cold, again, itself)
    tracebacks = sum("Traceback" in each.errors or "this program fails" in each.errors for each in runs)
    return _ROW.format(
        name=folder.name,
        **{name: f"{summary.get(name, 0):,}" for name in ("files", "statements", "exact", "text", "nothing")},
        tracebacks=tracebacks,
        times=" | ".join(str(each.took) for each in runs),
        itself=f"{itself.output.strip().splitlines()[0] if itself.output.strip() else itself.errors[-200:]} | {same}",
    )


def _lines_of(errors: str) -> list[str]:
    """Return what the command says but for how far it is."""
    return [line for line in errors.splitlines() if not line.endswith(_PROGRESS)]


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[,OPTION...]")
    parser.add_argument("--seconds", type=float, default=900, help="how long a call may take")
    options = parser.parse_args()
    print("Seconds are those that pass, and in parentheses those of processors.\n")
    print(
        "| folder | files | statements | exact | text | nothing | tracebacks | cold | kept | --diff | itself | kept |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |", flush=True)
    for each in options.folders:
        name, *given = each.split(",")
        print(row(Path(name).resolve(), given, options.seconds), flush=True)


if __name__ == "__main__":
    main()
