"""The inputs of a script from outside: its arguments, and the variables of the environment."""

from __future__ import annotations

import argparse
import optparse
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.stage import Stage

PASSED_ON = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV")
"""The variables that every script sees. Others may hold secrets, and a name made of one would be shown to others."""


def hide_environment(stage: Stage) -> None:
    """Keep the variables that the script was given, and give a stand-in for any other one that it requires."""
    given = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    for name in list(os.environ):
        del os.environ[name]
    os.environ.update({**given, **stage.request.variables})

    class Environment(type(os.environ)):  # type: ignore[misc]
        """The environment with stand-ins."""

        def __getitem__(self, key: str) -> str:
            try:
                return str(super().__getitem__(key))
            except KeyError:
                # `get` calls this too, and has a default of its own.
                if not stage.is_users(sys._getframe(1).f_code.co_filename):
                    raise
            said = f"the variable {key} of the environment is not set here: its value is assumed to be {{{key}}}"
            stage.problem("STAND_IN", f"{said} (--env {key}=VALUE sets it)")
            return f"{{{key}}}"

    os.environ.__class__ = Environment


FOLLOW = "what follows -- on the command line are the arguments of scripts"
"""How a script gets its arguments."""


def tell_wrong_arguments(stage: Stage) -> None:
    """Have a script that ends for its arguments report which are wrong: Python prints it where nobody sees it."""

    def telling(end: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        def error(parser: Any, message: str) -> Any:
            stage.problem("ARGUMENTS", f"the arguments are not those that the script takes: {message} ({FOLLOW})")
            return end(parser, message)

        return error

    parsers: tuple[Any, ...] = (argparse.ArgumentParser, optparse.OptionParser)
    for each in parsers:
        each.error = telling(each.error)
