"""The extra that brings the packages of the workbench, and what of it is not installed."""

from __future__ import annotations

from importlib.util import find_spec

from openlineage_pyspark.errors import MissingExtraError

WORKBENCH = "workbench"
"""The extra of everything that answers questions about lineage; the listener needs none."""

_BRINGS = {
    WORKBENCH: {"rich": "rich", "sqlglot": "sqlglot", "jsonschema": "jsonschema rfc3339-validator rfc3986-validator"}
}
"""The modules of each extra that are looked for, and the packages that pip installs for each."""


def install_command(extra: str) -> str:
    """Return the command that installs what an extra brings: no index has this package and its extras yet."""
    return f"pip install {' '.join(_BRINGS[extra].values())}"


def missing_of(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not there. None of them is imported."""
    return tuple(name for name in _BRINGS[extra] if find_spec(name) is None)


def require(extra: str) -> None:
    """
    Do nothing if an extra is installed.

    Raises:
        MissingExtraError: it is not.
    """
    if missing := missing_of(extra):
        raise MissingExtraError(extra, missing, install_command(extra))
