"""Every key that a configuration may contain: working keys, transport options, and keys without effect yet."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.listener.settings.facet_names import FACETS, FACETS_NOT_YET
from openlineage_pyspark.listener.settings.keys import WORKING
from openlineage_pyspark.listener.settings.kinds import TEXT, as_property
from openlineage_pyspark.listener.settings.reading import TRANSPORT, Key
from openlineage_pyspark.transport.options import JAVA, PYTHON, Option
from openlineage_pyspark.transport.registry import every_option
from openlineage_pyspark.transport.values import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def _not_yet(name: str, text: str, source: str = JAVA) -> Key[Any]:
    return Key(name, TEXT, default=None, text=text, works=False, source=source)


NOT_YET: tuple[Key[Any], ...] = (
    _not_yet("facets.disabled", "A list of facets to leave out; use `facets.<name>.disabled`."),
    _not_yet("facets.custom_environment_variables", "Environment variables to show in a facet."),
    _not_yet("facets.variables", "The same in the Java integration's documentation."),
    _not_yet("facets.environment_variables", "The same in openlineage-python.", PYTHON),
    _not_yet("facets.source_code_location.<option>", "The job's repository, version and branch.", PYTHON),
    _not_yet("debugFacet", "Switches on the `debug` facet in old versions of the Java integration."),
    _not_yet("dataset.extraTrimmers", "Classes of Java that trim dataset names; use `dataset.removePath.pattern`."),
    _not_yet("dataset.namespaceResolvers.<option>", "Logical names for hosts in dataset namespaces."),
    _not_yet("dataset.extra_trimmers", "Classes that trim dataset names; use `dataset.removePath.pattern`.", PYTHON),
    _not_yet("dataset.reducing_enabled", "Merges datasets that differ only in a partition.", PYTHON),
    _not_yet("job.namespace", "A namespace for jobs; use `namespace`."),
    _not_yet("job.name", "A name for jobs; use `appName`."),
    _not_yet("filters", "Jobs that send no events.", PYTHON),
    _not_yet("filter.allowedSparkNodes", "Plan nodes that send events in spite of a filter."),
    _not_yet("filter.deniedSparkNodes", "Plan nodes that send no events."),
    _not_yet("vendors.iceberg.metricsReporterDisabled", "Switches off Iceberg's scan and commit reports."),
    _not_yet("timeout.buildDatasetsTimePercentage", "The share of a timeout that datasets may take."),
    _not_yet("timeout.facetsBuildingTimePercentage", "The share of a timeout that facets may take."),
    _not_yet("circuitBreaker.type", "What stops lineage to spare the driver."),
    _not_yet("circuitBreaker.<option>", "Options of the circuit breaker."),
    _not_yet("metrics.type", "Where metrics of the integration go."),
    _not_yet("metrics.<option>", "Options of the metrics."),
    _not_yet("debug.smart", "Adds the `debug` facet if datasets are missing."),
    _not_yet("debug.smartMode", "Which datasets must be missing."),
    _not_yet("debug.metricsDisabled", "Leaves metrics out of the `debug` facet."),
    _not_yet("debug.payloadSizeLimitInKilobytes", "The size of the `debug` facet."),
    _not_yet("debug.logPlanAsJson", "Logs plans as JSON."),
    _not_yet("testExtensionProvider", "An extension for the Java integration's own tests."),
    _not_yet("url", "The Java integration's old way to name the receiver; use `transport.url`."),
)
"""Keys that are known but have no effect yet."""

_OWN = {key.name: key for key in (*WORKING, *NOT_YET)}


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
        works=option.works,
    )


@functools.cache
def _options() -> Mapping[str, Key[Any]]:
    """
    Return the options of all transports; if several have the same name, the first that works.

    This imports every transport, so a driver should not call it at startup unless it must.
    """
    keys: dict[str, Key[Any]] = {}
    for option in sorted(every_option(), key=lambda option: not option.works):
        keys.setdefault(TRANSPORT + option.name, option_key(option))
    return keys


def every_key() -> tuple[Key[Any], ...]:
    """Return all keys: those with an effect, the options of transports, and those without effect yet."""
    return (*WORKING, *_options().values(), *NOT_YET)


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
    Return the name of the key that an environment variable stands for.

    Args:
        name: dotted, in any case, with or without underscores between words; parts that no key has become lower case.
    """
    first, *below = name.split(".")
    options = _option_parts() if _plain(first) == TRANSPORT[:-1] else {}
    parts = {**_OWN_PARTS, **options}
    return ".".join(parts.get(_plain(part), part.lower()) for part in (first, *below))


def _plain(part: str) -> str:
    return part.replace("_", "").replace("-", "").lower()


def _parts(names: Iterable[str]) -> dict[str, str]:
    # Reversed, so that the spelling that is declared first wins.
    return {_plain(part): part for name in reversed([*names]) for part in name.split(".") if not part.startswith("<")}


_OWN_PARTS = _parts((*_OWN, *FACETS, *FACETS_NOT_YET))


@functools.cache
def _option_parts() -> Mapping[str, str]:
    return _parts(name for key in _options().values() for name in (key.name, *key.also))
