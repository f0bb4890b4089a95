"""Which settings of a session are shown, and which of those in an event are taken for settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.model.session import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterable


def known_settings(settings: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return those of some settings that are of the closed list, and have a value that Spark takes for them."""
    return tuple(
        (key, value) for key, value in settings if key in SETTINGS and SETTINGS[key].fullmatch(value) is not None
    )
