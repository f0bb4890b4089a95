"""Whether lineage is enabled anywhere. Every job of the environment loads this module."""

from __future__ import annotations

import os

# Short, so that misspelt keys are noticed and warned about; none of Spark's own keys begin with it.
_PREFIX = "spark.op"


def means_lineage(key: str) -> bool:
    """Return whether a Spark property is, or was meant to be, one of the listener's."""
    return key.lower().startswith(_PREFIX)


def is_enabled(conf: dict[str, str]) -> bool:
    """Return whether a configuration key, an environment variable or a file enables lineage."""
    if any(map(means_lineage, conf)) or any(key.startswith("OPENLINEAGE") for key in os.environ):
        return True
    return os.path.exists("openlineage.yml") or os.path.exists(os.path.expanduser("~/.openlineage/openlineage.yml"))  # noqa: PTH110, PTH111 - pathlib costs an import
