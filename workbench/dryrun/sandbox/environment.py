"""The inputs of a script: its arguments and its environment variables."""

from __future__ import annotations

import argparse
import optparse
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

PASSED_ON = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV")
"""The variables that every script sees. Others may hold secrets, which names made from them would show."""


class UnsetVariable(str):
    """
    The text of an environment variable that is not set here.

    As in a process without the variable, it counts as false in the conditions of the script. Elsewhere it is a stand-in
    for the value, which libraries such as `os.path` handle like any other text.
    """

    is_users: Callable[[str], bool]

    def __bool__(self) -> bool:
        return not self.is_users(sys._getframe(1).f_code.co_filename)

    def __int__(self) -> int:
        return 1

    def __float__(self) -> float:
        return 1.0


def hide_environment(stage: Stage) -> None:
    """Keep only the variables that are given for the script, and make any other that it reads a stand-in."""
    given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    for name in list(os.environ):
        del os.environ[name]
    os.environ.update({**given, **stage.request.variables})

    class Environment(type(os.environ)):  # type: ignore[misc]
        """The environment variables, with stand-ins for those that are not set."""

        def __getitem__(self, key: str) -> str:
            try:
                return str(super().__getitem__(key))
            except KeyError:
                # `get` calls this method too, but has its own default.
                if not stage.is_users(sys._getframe(1).f_code.co_filename):
                    raise
            return report(key)

        def get(self, key: str, default: Any = None) -> Any:
            """Return a variable, the default, or a stand-in if a script has no default."""
            if key in self or default is not None or not stage.is_users(sys._getframe(1).f_code.co_filename):
                return super().get(key, default)
            found = UnsetVariable(report(key, " and false in decisions"))
            found.is_users = stage.is_users
            return found

    def report(key: str, more: str = "") -> str:
        value = f"{{{key}}}"
        message = f"the environment variable {key} is not set here: its value is assumed to be {value}{more}"
        stage.problem("STAND_IN", f"{message} (--env {key}=VALUE sets it)")
        return value

    os.environ.__class__ = Environment
    # Python's own `getenv` would be the caller of `get`, and not the script.
    vars(os)["getenv"] = os.environ.get


FOLLOW = "the arguments after -- on the command line are passed to scripts"
"""How a script gets its arguments, for messages."""


def report_wrong_arguments(stage: Stage) -> None:
    """Report which arguments are wrong if they end the script, because Python's own message is not shown."""

    def reporting(end: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        def error(parser: Any, message: str) -> Any:
            stage.problem("ARGUMENTS", f"the script does not accept its arguments: {message} ({FOLLOW})")
            return end(parser, message)

        return error

    parsers: tuple[Any, ...] = (argparse.ArgumentParser, optparse.OptionParser)
    for each in parsers:
        each.error = reporting(each.error)
