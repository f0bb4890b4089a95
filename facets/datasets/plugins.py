"""Sources of other distributions: found by entry point, loaded once, before the probe learns what to read."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import attrs

GROUP = "openlineage_pyspark.sources"
"""The entry point group in which a distribution names the modules that register its sources."""

BROKEN: dict[str, str] = {}
"""Entry point that could not be loaded -> the class of what it raised."""


@attrs.frozen
class Plugin:
    """
    A module of another distribution.

    Args:
        name: of its entry point.
        load: imports the module, which registers its sources. It runs code of others and may raise anything.
    """

    name: str
    load: Callable[[], object]


def installed() -> tuple[Plugin, ...]:
    """Return all plug-ins that are installed, in the order of their names."""
    found = sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
    return tuple(Plugin(entry.name, entry.load) for entry in found)
