"""`completion`: prints a script with which a shell completes commands, options and their values."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHELLS = ("bash", "zsh", "fish")
_DESCRIPTION = """\
Prints the script with which a shell completes commands, options and their values.
For bash, add to ~/.bashrc:  eval "$(openlineage-pyspark completion bash)"
For zsh, add to ~/.zshrc:  eval "$(openlineage-pyspark completion zsh)"
For fish:  openlineage-pyspark completion fish > ~/.config/fish/completions/openlineage-pyspark.fish"""


@attrs.frozen
class _Words:
    """
    What may follow a command.

    Args:
        places: the words of its arguments, such as those of `store`: `rebuild`, `expire`.
        options: each of its options -> the values that it may have; none if it takes any text.
        flags: those of its options that have no value.
    """

    places: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    flags: frozenset[str]


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "completion", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shell", metavar="SHELL", choices=_SHELLS, help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Print the script.

    Args:
        options: `shell`.

    Returns:
        The exit code, 0.
    """
    from openlineage_pyspark.command.main import commands, parser_of

    known = {name: _words_of(parser_of(name), name) for name in commands()}
    lines = _fish(known) if options.shell == "fish" else _bash(known, options.shell)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _words_of(parser: argparse.ArgumentParser, command: str) -> _Words:
    [below] = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    places: dict[str, None] = {}
    options: dict[str, tuple[str, ...]] = {}
    flags: set[str] = set()
    waiting: list[argparse.ArgumentParser] = [below.choices[command]]
    while waiting:
        for action in waiting.pop()._actions:
            words = tuple(map(str, action.choices or ()))
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()
            if not action.option_strings:
                places |= dict.fromkeys(words)
            for option in action.option_strings:
                options[option] = words
                if action.nargs == 0:
                    flags.add(option)
    return _Words(tuple(places), options, frozenset(flags))


def _bash(known: dict[str, _Words], shell: str) -> Iterator[str]:
    if shell == "zsh":
        yield "autoload -U +X compinit && compinit -u"
        yield "autoload -U +X bashcompinit && bashcompinit"
    yield "_openlineage_pyspark() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words='
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f"    words={shlex.quote(' '.join((*known, '--help', '--version')))}"
    yield '  else case "${COMP_WORDS[1]} $before" in'
    for command, has in known.items():
        for option, words in has.options.items():
            if words:
                yield f"    {shlex.quote(f'{command} {option}')}) words={_joined(words)} ;;"
            elif option not in has.flags:
                yield f"    {shlex.quote(f'{command} {option}')}) ;;"
    yield '    *) case "${COMP_WORDS[1]}" in'
    for command, has in known.items():
        yield f"      {command}) words={_joined((*has.places, *has.options))} ;;"
    yield "    esac ;;"
    yield "  esac; fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield "complete -o default -F _openlineage_pyspark openlineage-pyspark"


def _fish(known: dict[str, _Words]) -> Iterator[str]:
    base = "complete -c openlineage-pyspark"
    yield f"{base} -n __fish_use_subcommand -xa {_joined(known)}"
    for command, has in known.items():
        when = f"-n '__fish_seen_subcommand_from {command}'"
        if has.places:
            yield f"{base} {when} -a {_joined(has.places)}"
        for option, words in has.options.items():
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            value = f" -xa {_joined(words)}" if words else "" if option in has.flags else " -r"
            yield f"{base} {when} {name}{value}"


def _joined(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))
