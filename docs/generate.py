"""
The documents that are made from the rules: what is supported, as tables.

Run it with the interpreter of an environment that has the package, in the root of the repository.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.facets import commands, expressions, operators
from openlineage_pyspark.listener.setting_documents import write_or_compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

COMMAND = "python docs/generate.py --write"
"""The command that writes the documents anew, in the root of the repository."""

_README = "README.md"
_REFERENCE = "docs/operators.md"
_BEGIN = "<!-- Made by `{command}`: {name}. -->"
_END = "<!-- End of what is made: {name}. -->"
_EXPRESSIONS = """\
# Expressions and quiet commands

<!-- Made by `{command}`. -->

The [README](../README.md#what-is-supported) lists the operators and the commands that are supported. This page lists
the expressions of which more is known than that they read their arguments, and the commands that make no event.
"""


def documents(root: Path) -> dict[str, str]:
    """
    The text of each document, by its path in the repository.

    Args:
        root: of the repository: of the README only the tables are made.
    """
    readme = (root / _README).read_text("utf-8")
    for name, table in (("operators", operator_table()), ("commands", command_table())):
        readme = _between(readme, name, table)
    return {_README: readme, _REFERENCE: _reference()}


def operator_table() -> str:
    """What each logical operator means, for the README."""
    return _table(("Operator", "Spark's classes"), _by_rule(operators.RULES))


def command_table() -> str:
    """What each command writes, for the README."""
    return _table(("Command", "Spark's classes"), _by_rule(commands.WRITES))


def sentence(rule: Callable[..., Any]) -> str:
    """
    What a rule says of itself: its docstring.

    Raises:
        ValueError: it is not one sentence.
    """
    text = " ".join((inspect.getdoc(rule) or "").split())
    if not text.endswith(".") or ". " in text:
        raise ValueError(f"the docstring of the rule {rule.__module__}.{rule.__qualname__} is not one sentence")
    return text


def _by_rule(rules: Mapping[str, Callable[..., Any]]) -> list[tuple[str, str]]:
    classes: dict[str, list[str]] = {}
    for name, rule in rules.items():
        classes.setdefault(sentence(rule), []).append(name)
    return [(text, _code(names)) for text, names in classes.items()]


def _reference() -> str:
    return "\n".join(
        [
            _EXPRESSIONS.format(command=COMMAND),
            "## Expressions\n",
            _table(("Expression", "Spark's classes"), _by_rule(expressions.RULES)),
            "\n## Expressions that hand on their argument's value\n",
            _code(sorted(expressions.UNCHANGED)) + ", and casts to the type that the argument has.",
            "\n## Masking\n",
            "The argument can't be read back from the value, and the edge has `masking: true`:",
            _code(sorted(expressions.MASKING)) + ".",
            "\n## Window functions that read no column but those of the order\n",
            _code(sorted(expressions.RANKING)) + ".",
            "\n## Commands that write no dataset\n",
            "They make no event:",
            _code(sorted(commands.QUIET)) + ".",
            "",
        ]
    )


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _between(text: str, name: str, made: str) -> str:
    begin, end = _BEGIN.format(command=COMMAND, name=name), _END.format(name=name)
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{_README} has no place for the {name}: the lines\n{begin}\n{end}")
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Write the documents, or tell which are not up to date.

    Args:
        arguments: of the command line, without its name.

    Returns:
        The exit code: 1 where a document is not up to date.
    """
    return write_or_compare(__doc__, COMMAND, documents, arguments)


if __name__ == "__main__":
    sys.exit(main())
