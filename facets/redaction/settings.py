"""Decide which settings of a session are shown, and which of the settings in an event are accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openlineage_pyspark.facets.model.session import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterable


def known_settings(settings: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the settings that are on the closed list, with values that Spark accepts for them."""
    return tuple(
        (key, value) for key, value in settings if key in SETTINGS and SETTINGS[key].fullmatch(value) is not None
    )
