"""Sources of other distributions: found by entry point, and loaded once before the probe gets its readings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import attrs

SOURCES_GROUP = "openlineage_pyspark.sources"
"""The entry point group in which a distribution names the modules that register its sources."""

BROKEN: dict[str, str] = {}
"""Name of an entry point that could not be loaded -> the class of the exception."""


@attrs.frozen
class Plugin:
    """
    A module of another distribution.

    Args:
        name: the name of its entry point.
        load: imports the module, which registers its sources. It runs foreign code, which may raise anything.
    """

    name: str
    load: Callable[[], object]


def installed() -> tuple[Plugin, ...]:
    """Return all installed plug-ins, sorted by name."""
    found = sorted(metadata.entry_points(group=SOURCES_GROUP), key=lambda entry: entry.name)
    return tuple(Plugin(entry.name, entry.load) for entry in found)
