"""`checkpoint`: resets the checkpoint of a streaming query to an earlier micro-batch."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.store_option import whole_number
from openlineage_pyspark.errors import CheckpointError
from openlineage_pyspark.workbench.recovery.applying.checkpoint import kept_place, set_back

_DESCRIPTION = """\
Replaces the checkpoint of a stopped streaming query by a copy that ends at an earlier micro-batch. The old checkpoint
is kept. The copy has a new query id, so that a Delta Lake table accepts the micro-batches that are repeated."""

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("checkpoint", description=_DESCRIPTION)
    parser.add_argument("path", type=Path, metavar="PATH", help="the checkpoint's folder, on this machine")
    parser.add_argument(
        "--back-to", type=whole_number(0), required=True, metavar="N", help="the last micro-batch to keep"
    )
    parser.add_argument(
        "--restored",
        type=Path,
        action="append",
        default=[],
        metavar="TABLE",
        help="the folder of a Delta table that the query reads, and that was restored or emptied: the query then "
        "continues after that change; repeatable",
    )
    parser.add_argument(
        "--keep", type=Path, metavar="PATH", help="the folder for the old checkpoint; default: PATH.before-recovery"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    path: Path = options.path
    for folder in (path, *options.restored):
        if problem_of_folder := _problem_with(folder):
            complain(problem_of_folder)
            return 2
    kept = options.keep or kept_place(path.absolute())
    try:
        actions = set_back(path, options.back_to, kept, options.restored)
    except (CheckpointError, OSError, ValueError) as problem:
        complain(str(problem))
        return 2
    for sentence in actions:
        Screen().line(sentence)
    return 0


def _problem_with(folder: Path) -> str:
    """Return why a path can't be used as a checkpoint's folder; empty if it can."""
    # As a path, an address has lost one of its two slashes.
    if address := _ADDRESS.match(str(folder)):
        return f"{address[1]}://{address[2]} is not on this machine: copy the checkpoint here first"
    if not folder.exists():
        return f"{folder} can't be read: No such file or directory"
    return "" if folder.is_dir() else f"{folder} is not a folder: name the folder of the checkpoint or of the table"
