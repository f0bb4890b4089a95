"""Every key that a configuration may contain, and the names of keys that only have an effect elsewhere."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.listener.settings.facet_names import FACETS, FACETS_NOT_YET
from openlineage_pyspark.listener.settings.keys import WORKING
from openlineage_pyspark.listener.settings.kinds import TEXT, as_property
from openlineage_pyspark.listener.settings.reading import TRANSPORT, Key
from openlineage_pyspark.transport import options
from openlineage_pyspark.transport.options import Option, is_without_effect
from openlineage_pyspark.transport.registry import every_option
from openlineage_pyspark.transport.values import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


_NO_EFFECT = "is a key of another OpenLineage integration and has no effect here"

WITHOUT_EFFECT = {
    "circuitBreaker.<option>": "",
    "dataset.extraTrimmers": "dataset.removePath.pattern",
    "dataset.extra_trimmers": "dataset.removePath.pattern",
    "dataset.reducing_enabled": "",
    "debug.logPlanAsJson": "",
    "debug.metricsDisabled": "",
    "debug.payloadSizeLimitInKilobytes": "",
    "debug.smart": "",
    "debug.smartMode": "",
    "debugFacet": "",
    "facets.custom_environment_variables": "",
    "facets.disabled": "facets.<name>.disabled",
    "facets.environment_variables": "",
    "facets.source_code_location.<option>": "",
    "facets.variables": "",
    "filter.allowedSparkNodes": "",
    "filter.deniedSparkNodes": "",
    "filters": "",
    "job.name": "appName",
    "job.namespace": "namespace",
    "metrics.<option>": "",
    "testExtensionProvider": "",
    "timeout.buildDatasetsTimePercentage": "",
    "timeout.facetsBuildingTimePercentage": "",
    "url": "transport.url",
    "vendors.iceberg.metricsReporterDisabled": "",
}
"""The keys of other OpenLineage integrations that have no effect here, and what to use instead; empty for nothing."""

_OWN = {key.name: key for key in WORKING}


def why_without_effect(name: str, spelled_as: Callable[[str], str] = str) -> str | None:
    """
    Return the diagnostic about a key of another OpenLineage integration; None if it is not such a key.

    Args:
        name: its dotted name, without prefix.
        spelled_as: returns the key to use instead as the user would write it.
    """
    below = name.removeprefix(TRANSPORT)
    if below != name:
        return _NO_EFFECT if is_without_effect(below, options.WITHOUT_EFFECT) and find_key(name) is None else None
    known = next((each for each in WITHOUT_EFFECT if is_without_effect(name, [each])), None)
    if known is None:
        return None
    instead = WITHOUT_EFFECT[known]
    return f"{_NO_EFFECT}; use {spelled_as(instead)}" if instead else _NO_EFFECT


def option_key(option: Option[Any]) -> Key[Any]:
    """Return a transport's option as a key; its value is text here, because the transport parses and checks it."""
    return Key(
        TRANSPORT + option.name,
        TEXT,
        default=as_property(option.default),
        text=option.text,
        example=option.example,
        example_name=option.example_name,
        also=tuple(TRANSPORT + name for name in option.also),
        source=option.source,
    )


@functools.cache
def _options() -> Mapping[str, Key[Any]]:
    """
    Return the options of all transports; if several have the same name, the first.

    This imports every transport, so a driver should not call it at startup unless it must.
    """
    keys: dict[str, Key[Any]] = {}
    for option in every_option():
        keys.setdefault(TRANSPORT + option.name, option_key(option))
    return keys


def every_key() -> tuple[Key[Any], ...]:
    """Return all keys: those of the listener, and the options of transports."""
    return (*WORKING, *_options().values())


def find_key(name: str) -> Key[Any] | None:
    """Return the key that matches a name without prefix; None if there is none."""
    known = _options() if name.startswith(TRANSPORT) else _OWN
    if name in known:
        return known[name]
    return next((key for key in known.values() if key.matched(name) is not None), None)


def nearest_key(name: str) -> str | None:
    """Return the name of the key with the most similar spelling; None if none is close."""
    names = [key.name for key in every_key()]
    below = next((known for known in names if known.startswith(f"{name}.")), None)
    fixed = {re.sub("<.*?>", "", known): known for known in names}
    near = nearest(name, fixed, cutoff=0.7)
    return below or (fixed[near] if near else None)


def spelled(name: str) -> str:
    """
    Return the name of the key that an environment variable sets.

    Args:
        name: dotted, in any case, with or without underscores between words; parts that no key has become lower case.
    """
    first, *below = name.split(".")
    of_transports = _option_parts() if _plain(first) == TRANSPORT[:-1] else {}
    parts = {**_OWN_PARTS, **of_transports}
    return ".".join(parts.get(_plain(part), part.lower()) for part in (first, *below))


def _plain(part: str) -> str:
    return part.replace("_", "").replace("-", "").lower()


def _parts(names: Iterable[str]) -> dict[str, str]:
    # Reversed, so that the spelling that is declared first wins.
    return {_plain(part): part for name in reversed([*names]) for part in name.split(".") if not part.startswith("<")}


_OWN_PARTS = _parts((*_OWN, *WITHOUT_EFFECT, *FACETS, *FACETS_NOT_YET))


@functools.cache
def _option_parts() -> Mapping[str, str]:
    spellings = [name for key in _options().values() for name in (key.name, *key.also)]
    return _parts([*spellings, *(TRANSPORT + name for name in options.WITHOUT_EFFECT)])
