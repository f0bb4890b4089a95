"""`diff`: what is different between two states of lineage."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openlineage_pyspark.command.questions import show
from openlineage_pyspark.command.screen import complain
from openlineage_pyspark.command.store_option import add_store, opened, refuse_missing_file
from openlineage_pyspark.command.view import file_reason_of, opened_from
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.events.files import is_store_file
from openlineage_pyspark.workbench.page.formats import text_of_comparison
from openlineage_pyspark.workbench.questions.diff import DIFF_WRITERS, diff_of_files

if TYPE_CHECKING:
    import argparse

    from openlineage_pyspark.workbench.questions.diff import Diff

_DESCRIPTION = """\
Shows which columns, edges and expressions came, went or changed, and everything downstream of them. Two event files, or
folders of them, are compared with each other. Otherwise A and B are two points in time of the store, or two runs. The
exit code is 0 if nothing changed, 1 if something did, and 2 if the two can't be compared."""
_TEXTS = ("text", "json", "markdown")
_GRAPHS = ("mermaid", "dot", "svg", "html")
_FORMAT = "default: text; mermaid, dot and svg draw what changed, html is a page that shows both sides"
_SIDE = "an event file or a folder of them; a time, an age such as 2d, or `now`; or run:ID"


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("diff", description=_DESCRIPTION)
    parser.add_argument("before", metavar="A", help=_SIDE)
    parser.add_argument("after", metavar="B", help="the same")
    parser.add_argument("--format", choices=(*_TEXTS, *_GRAPHS), default="text", help=_FORMAT)
    add_store(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Show what is different.

    Args:
        options: `before`, `after`, `format` and `store`.

    Returns:
        The exit code: 0 if nothing changed, 1 if something did, 2 if the two can't be compared.
    """
    try:
        _refuse_mixed(options.before, options.after)
        answer = _diff(options)
        picture = _graph(options) if options.format in _GRAPHS else ""
    except (StoreError, OSError) as problem:
        complain(file_reason_of(problem))
        return 2
    if picture:
        sys.stdout.write(picture)
    else:
        show(answer, options.format)
    return int(bool(answer.result.changes))


def _refuse_mixed(before: str, after: str) -> None:
    """
    Refuse sides that can't be compared with each other.

    Raises:
        StoreError: one is meant as a file, and is none; one is a file and the other is not; or one is a store.
    """
    files = [side for side in (before, after) if Path(side).exists()]
    for side in (before, after):
        if side not in files:
            refuse_missing_file(side)
    if len(files) == 1:
        other = after if files[0] == before else before
        raise StoreError(f"{files[0]} is a file, and {other} is none: name two files, or two times of a store")
    for file in files:
        if is_store_file(Path(file)):
            raise StoreError(f"{file} is a store: name it with --store, and two times to compare")


def _graph(options: argparse.Namespace) -> str:
    """Return what changed as a picture; as a page, which shows both sides whole."""
    if any(side.startswith("run:") for side in (options.before, options.after)):
        raise StoreError(f"two runs can be compared as {', '.join(_TEXTS)}")
    files = [Path(options.before), Path(options.after)]
    if all(file.exists() for file in files):
        problems: list[str] = []
        sides = []
        for file in files:
            with opened_from([file], problems) as store:
                sides.append(store.graph().result)
    else:
        with opened(options) as store:
            times = ["" if each == "now" else each for each in (options.before, options.after)]
            sides = [store.graph(as_of=time).result for time in times]
    before, after = sides
    return text_of_comparison(before, after, options.format)


def _diff(options: argparse.Namespace) -> Answer[Diff]:
    files = [Path(options.before), Path(options.after)]
    if all(file.exists() for file in files):
        arguments = {"before": options.before, "after": options.after}
        return Answer("diff", arguments, diff_of_files(*files), writers=DIFF_WRITERS)
    with opened(options) as store:
        return store.diff(options.before, options.after)
