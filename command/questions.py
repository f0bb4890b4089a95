"""The commands of the questions about a store: each is made from the signature of its question."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.screen import Screen, complain
from openlineage_pyspark.command.store_option import WRONG, add_store, asking, file_reason_of, whole_number
from openlineage_pyspark.errors import StoreError
from openlineage_pyspark.workbench.model.kinds import ODD_CODES
from openlineage_pyspark.workbench.pictures.table import TextTable
from openlineage_pyspark.workbench.questions.reach.reach_tree import ALL
from openlineage_pyspark.workbench.questions.registry import question_called

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.answer import Answer
    from openlineage_pyspark.workbench.questions.registry import Argument, Question
    from openlineage_pyspark.workbench.store_api import Store

_STANDARD_INPUT = "-"
_TABLE = "table"
"""The format with each edge on a line; an answer that has it is a tree by default."""


def add_question(commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str) -> None:
    """Add the command of a question to the command line."""
    asked = question_called(name)
    parser = commands.add_parser(name, description=asked.description)
    add_arguments(parser, asked)
    parser.add_argument(
        "--format", choices=asked.formats, default=asked.formats[0], help=f"default: {asked.formats[0]}"
    )
    if _TABLE in asked.formats:
        tree = "as a tree (the default): each value once, with the expression that makes it"
        parser.add_argument("--tree", dest="format", action="store_const", const="text", help=tree)
        table = "as a table, with an edge on each line"
        parser.add_argument("--table", dest="format", action="store_const", const=_TABLE, help=table)
        parser.add_argument(ALL, action="store_true", help="in a tree, show what decides about rows too")
    add_store(parser)
    ask = asking(partial(_ask, asked), lambda options: asked.reads_rows(vars(options)))
    parser.set_defaults(run=ask if asked.of_files is None else partial(_ask_files, asked, asked.of_files, ask))


def add_arguments(parser: argparse._ActionsContainer, asked: Question) -> None:
    """Add the arguments of a question to those of a command."""
    for argument in asked.arguments:
        if not argument.is_option:
            optional: dict[str, Any] = {} if argument.is_required else {"nargs": "?", "default": argument.default}
            parser.add_argument(argument.name, metavar=argument.metavar, help=argument.help.text, **optional)
            continue
        parser.add_argument(f"--{argument.name.replace('_', '-')}", **_option(argument))


def _option(argument: Argument) -> dict[str, Any]:
    """Return the keyword arguments of `add_argument` for an option."""
    common: dict[str, Any] = {"help": argument.help.text, "default": argument.default}
    metavar = {"metavar": argument.metavar}
    if argument.shape == "flag":
        return {**common, "action": "store_true"}
    if argument.shape == "number":
        return {**common, **metavar, "type": whole_number(argument.help.least or 0)}
    if argument.shape == "choice":
        return {**common, "choices": argument.choices}
    if argument.shape in ("texts", "choices"):
        several = {**common, "action": "append", "default": [*argument.default]}
        return {**several, **({"choices": argument.choices} if argument.choices else metavar)}
    return {**common, **metavar}


def given_to(asked: Question, options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of a question as the command line gives them."""
    given: dict[str, Any] = {}
    for argument in asked.arguments:
        value = getattr(options, argument.name)
        if argument.help.reads_input and value == _STANDARD_INPUT:
            value = sys.stdin.read()
        given[argument.name] = tuple(value) if argument.shape in ("texts", "choices") else value
    return given


def _ask_files(
    asked: Question,
    of_files: Callable[..., Answer[Any] | None],
    ask: Callable[[argparse.Namespace], int],
    options: argparse.Namespace,
) -> int:
    """Query event files, if the arguments name any, else the store."""
    try:
        answer = of_files(**given_to(asked, options))
        if answer is None:
            return ask(options)
        show(answer, options.format, all_=getattr(options, "all", False))
        return asked.status(answer)
    except BrokenPipeError:
        raise
    except (StoreError, OSError) as problem:
        complain(file_reason_of(problem))
        return WRONG


def _ask(asked: Question, store: Store, options: argparse.Namespace) -> int:
    given = given_to(asked, options)
    places = [given.pop(argument.name) for argument in asked.arguments if not argument.is_option]
    answer = asked.ask(store.tables, *places, **given)
    show(answer, options.format, all_=getattr(options, "all", False))
    return asked.status(answer)


def show(answer: Answer[Any], format: str, *, all_: bool = False) -> None:  # noqa: A002 (the word of the command line)
    """
    Print an answer; its diagnostics go to standard error, unless the answer itself contains them.

    Args:
        answer: the answer.
        format: one of its formats.
        all_: whether to print the hidden parts of a tree too.

    Raises:
        StoreError: this answer can't be written in the format.
    """
    if format not in answer.formats:
        raise StoreError(f"this answer can't be written as {format}, only as {', '.join(answer.formats)}")
    found = answer.written(format)
    screen = Screen()
    if isinstance(found, str) and format == "text":
        screen.lines(found)
    elif isinstance(found, str):
        sys.stdout.write(found)
    else:
        if not isinstance(found, TextTable):
            screen.outline(found, all_=all_)
        elif found.rows:
            screen.table(found.columns, found.rows)
        screen.line(answer.last_line(found))
    if format != "json":
        sys.stdout.flush()
        _complain_of(answer)


def _complain_of(answer: Answer[Any]) -> None:
    for diagnostic in answer.diagnostics:
        if diagnostic.missing:
            operator = f"{diagnostic.operator}: " if diagnostic.operator else ""
            complain(f"the answer may be incomplete: {operator}{diagnostic.message}")
        elif diagnostic.code in ODD_CODES:
            complain(diagnostic.message)
