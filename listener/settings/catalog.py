"""Every name that a configuration may hold: working keys, transport options, and keys without effect yet."""

from __future__ import annotations

import difflib
import re
from typing import Any

from openlineage_pyspark.listener.settings.keys import JAVA, KNOWN, PYTHON, WORKING, Key
from openlineage_pyspark.listener.settings.kinds import OPTIONAL_TEXT
from openlineage_pyspark.listener.settings.transport_keys import OPTIONS, TRANSPORT

FACETS = (
    "catalog",
    "columnLineage",
    "dataSource",
    "datasetType",
    "documentation",
    "errorMessage",
    "extractionError",
    "inputStatistics",
    "jobType",
    "lifecycleStateChange",
    "outputStatistics",
    "ownership",
    "parent",
    "processing_engine",
    "pyspark_event",
    "schema",
    "sourceCodeLocation",
    "spark_applicationDetails",
    "spark_properties",
    "sql",
    "storage",
    "symlinks",
    "tags",
)
"""The facets that events may hold, for `facets.<name>.disabled`."""

FACETS_NOT_YET = (
    "debug",
    "environment-properties",
    "gcp_dataproc",
    "gcp_lineage",
    "icebergCommitReport",
    "icebergScanReport",
    "spark.exception",
    "spark.logicalPlan",
    "spark_jobDetails",
    "spark_unknown",
    "subset",
    "version",
)
"""Facets of the Java integration that these events never hold."""


def _not_yet(name: str, description: str, source: str = JAVA) -> Key[Any]:
    return Key(name, OPTIONAL_TEXT, default=None, description=description, status=KNOWN, source=source)


NOT_YET: tuple[Key[Any], ...] = (
    _not_yet("facets.disabled", "A list of facets to leave out; use `facets.<name>.disabled`."),
    _not_yet("facets.custom_environment_variables", "Environment variables to show in a facet."),
    _not_yet("facets.variables", "The same in the Java integration's documentation."),
    _not_yet("facets.environment_variables", "The same in openlineage-python.", PYTHON),
    _not_yet("facets.source_code_location.<option>", "The job's repository, version and branch.", PYTHON),
    _not_yet("debugFacet", "Switches on the `debug` facet in old versions of the Java integration."),
    _not_yet("dataset.removePath.pattern", "A pattern whose group `remove` is cut from dataset names."),
    _not_yet("dataset.disabledTrimmers", "Rules for dataset names that do not apply."),
    _not_yet("dataset.extraTrimmers", "Further rules for dataset names."),
    _not_yet("dataset.namespaceResolvers.<option>", "Logical names for hosts in dataset namespaces."),
    _not_yet("dataset.disabled_trimmers", "Rules for dataset names that do not apply.", PYTHON),
    _not_yet("dataset.extra_trimmers", "Further rules for dataset names.", PYTHON),
    _not_yet("dataset.reducing_enabled", "Joins datasets that differ in a partition alone.", PYTHON),
    _not_yet("job.namespace", "A job namespace of its own; use `namespace`."),
    _not_yet("job.name", "A job name of its own; use `appName`."),
    _not_yet("filters", "Jobs that send no events.", PYTHON),
    _not_yet("filter.allowedSparkNodes", "Plan nodes that make events in spite of a filter."),
    _not_yet("filter.deniedSparkNodes", "Plan nodes that make no events."),
    _not_yet("vendors.iceberg.metricsReporterDisabled", "Switches off Iceberg's scan and commit reports."),
    _not_yet("timeout.buildDatasetsTimePercentage", "The share of a timeout that datasets may take."),
    _not_yet("timeout.facetsBuildingTimePercentage", "The share of a timeout that facets may take."),
    _not_yet("circuitBreaker.type", "When lineage is to stop, to spare the driver."),
    _not_yet("circuitBreaker.<option>", "Options of the circuit breaker."),
    _not_yet("metrics.type", "Where metrics of the integration go."),
    _not_yet("metrics.<option>", "Options of the metrics."),
    _not_yet("debug.smart", "Adds the `debug` facet where datasets are missing."),
    _not_yet("debug.smartMode", "Which datasets must be missing."),
    _not_yet("debug.metricsDisabled", "Leaves metrics out of the `debug` facet."),
    _not_yet("debug.payloadSizeLimitInKilobytes", "The size of the `debug` facet."),
    _not_yet("debug.logPlanAsJson", "Logs plans as JSON."),
    _not_yet("testExtensionProvider", "An extension for the Java integration's own tests."),
    _not_yet("url", "The Java integration's old way to name the receiver; use `transport.url`."),
)
"""Keys that are known and have no effect yet."""

KEYS: tuple[Key[Any], ...] = (*WORKING, *OPTIONS, *NOT_YET)
"""All of them."""

_BY_NAME = {key.name: key for key in KEYS}
_BY_FIXED_PARTS = {re.sub("<.*?>", "", name).lower(): name for name in _BY_NAME}
_FIRST_PARTS = frozenset(name.partition(".")[0] for name in _BY_NAME)
_PATTERNS = tuple(key for key in KEYS if "<" in key.name)


def _plain(part: str) -> str:
    return part.replace("_", "").replace("-", "").lower()


_NAMES = (*(name for key in KEYS for name in (key.name, *key.also)), *FACETS, *FACETS_NOT_YET)
# Reversed, so that of two spellings the one that is declared first holds.
_SPELLINGS = {_plain(part): part for name in reversed(_NAMES) for part in name.split(".") if not part.startswith("<")}


def find_key(name: str) -> Key[Any] | None:
    """Return the key that a name without prefix is one of, None where there is none."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    return next((key for key in _PATTERNS if key.matched(name) is not None), None)


def nearest_key(name: str) -> str | None:
    """Return the name of the key that is spelled most like this one, None where none is close."""
    below = next((known for known in _BY_NAME if known.startswith(f"{name}.")), None)
    found = difflib.get_close_matches(name.lower(), _BY_FIXED_PARTS, n=1, cutoff=0.7)
    return below or (_BY_FIXED_PARTS[found[0]] if found else None)


def nearest_facet(name: str) -> str | None:
    """Return the facet whose name is almost this one, None where none is that close or it is known itself."""
    if name in FACETS or name in FACETS_NOT_YET:
        return None
    return next(iter(difflib.get_close_matches(name, FACETS, n=1, cutoff=0.8)), None)


def means_transport(name: str) -> bool:
    """Tell whether a name is a transport option, rightly spelled or almost so."""
    first = name.partition(".")[0]
    if first in _FIRST_PARTS:
        return first == TRANSPORT[:-1]
    return bool(difflib.get_close_matches(first.lower(), [TRANSPORT[:-1]], cutoff=0.8))


def spelled(part: str) -> str:
    """Return a part of an environment variable's name as the keys spell it, in lower case where none does."""
    return _SPELLINGS.get(_plain(part), part.lower())
