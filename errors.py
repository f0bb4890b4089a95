"""What a part of this package raises that an extra brings and that is not installed."""

from __future__ import annotations

from importlib.util import find_spec

WORKBENCH = "workbench"
"""The extra of everything that answers questions about lineage; the listener needs none."""

_BRINGS = {WORKBENCH: {"rich": "rich", "sqlglot": "sqlglot", "jsonschema": "'jsonschema[format-nongpl]'"}}
"""The packages of each extra, by the names of their modules, as pip takes them."""


class MissingExtraError(ImportError):
    """
    A part of this package needs an extra that is not installed. The message says which, and how to install it.

    Args:
        extra: the name of the extra.
        missing: the packages of it that are not there.
    """

    def __init__(self, extra: str, missing: tuple[str, ...] = ()) -> None:
        self.extra = extra
        lacking = f" (there is no {' and no '.join(missing)})" if missing else ""
        super().__init__(f"the extra {extra} is not installed{lacking}: {install_command(extra)}")


def install_command(extra: str) -> str:
    """Return the command that installs what an extra brings: no index has this package and its extras yet."""
    return f"pip install {' '.join(_BRINGS[extra].values())}"


def missing_of(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not there. None of them is imported."""
    return tuple(name for name in _BRINGS[extra] if find_spec(name) is None)


def require(extra: str) -> None:
    """
    Do nothing if an extra is installed.

    Args:
        extra: its name.

    Raises:
        MissingExtraError: it is not.
    """
    if missing := missing_of(extra):
        raise MissingExtraError(extra, missing)
