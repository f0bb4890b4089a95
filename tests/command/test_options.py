"""An option has one meaning in all commands: one type, one word for its value, one sentence about it."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

import pytest
from openlineage_pyspark.command.main import commands, parser_of

# What an option says differs where its meaning does not: what it narrows, or what it is left to the default of.
ALSO_ELSEWHERE = {
    "--as-of": "a time that the answer is for",
    "--by": "the unit of the answer",
    "--conf": "a Spark property; `lineage` also takes the values of variables of SQL",
    "--column": "only this column",
    "--dead": "refused events too",
    "--depth": "at most N jobs",
    "--dialect": "a dialect of SQL, by its name in sqlglot",
    "--failed": "only what failed",
    "--format": "how the answer is written",
    "--late": "only what is late",
    "--limit": "at most N rows of the answer",
    "--output": "the file that is written",
    "--since": "nothing older",
    "--store": "the store",
    "--timeout": "the longest time",
    "--to": "the receiver",
}


def options_of(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.Action]]:
    """Yield the options of a command and of those below it, each with the name of its command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, inner in action.choices.items():
                yield from options_of(inner, f"{name} {below}".strip())
        elif action.option_strings and action.dest != "help":
            yield name, action


def every_option() -> dict[str, list[tuple[str, argparse.Action]]]:
    """Return each option, by its long name, with the commands that take it."""
    found = defaultdict(list)
    for command in commands():
        for name, action in options_of(parser_of(command), ""):
            found[action.option_strings[-1]].append((name, action))
    return found


# `lineage` takes keys that are no properties.
OF_OTHER_TYPES = {"--conf": {("lineage",)}}
OPTIONS = every_option()
SHARED = {name: found for name, found in OPTIONS.items() if len(found) > 1}


def type_of(action: argparse.Action) -> tuple[object, ...]:
    """Return of what type an option's value is, and how it is written."""
    parsed = getattr(action.type, "__qualname__", action.type)
    return tuple(action.option_strings), type(action).__name__, parsed, action.metavar, bool(action.choices)


def test_many_options_are_shared() -> None:
    assert {"--conf", "--store", "--format", "--timeout", "--output", "--yes"} <= SHARED.keys()


@pytest.mark.parametrize("name", SHARED)
def test_an_option_has_one_type_in_all_commands(name: str) -> None:
    types = defaultdict(list)
    for command, action in SHARED[name]:
        types[type_of(action)].append(command)

    most = max(types.values(), key=len)
    assert {tuple(each) for each in types.values() if each is not most} == OF_OTHER_TYPES.get(name, set()), dict(types)


@pytest.mark.parametrize("name", SHARED)
def test_an_option_is_explained_by_one_sentence_or_is_listed_here(name: str) -> None:
    sentences = {action.help for _, action in SHARED[name]}

    assert (len(sentences) > 1) == (name in ALSO_ELSEWHERE), sentences


def test_no_list_here_names_an_option_that_is_gone() -> None:
    assert ALSO_ELSEWHERE.keys() <= SHARED.keys()


def test_each_option_is_explained() -> None:
    assert [name for name, found in OPTIONS.items() for _, action in found if not action.help] == []


@pytest.mark.parametrize(
    "meaning", [("--timeout", "--seconds", "--minutes"), ("--output", "--out", "--file", "--into")]
)
def test_one_meaning_has_one_option(meaning: tuple[str, ...]) -> None:
    kept, *others = meaning

    assert kept in OPTIONS
    assert [name for name in others if name in OPTIONS] == []


def test_lineage_takes_the_value_of_a_variable() -> None:
    asked = parser_of("lineage").parse_args(
        ["lineage", "q.sql", "--conf", "day=2026-01-01", "-c", "spark.sql.ansi.enabled=true"]
    )

    assert asked.conf == [("day", "2026-01-01"), ("spark.sql.ansi.enabled", "true")]
