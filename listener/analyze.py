"""Analyze a query without running it: the session's parser and analyzer make the plan, and the probe encodes it."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.facets.model.dataset import DEFAULT_TRIMMING, Trimming
from openlineage_pyspark.listener.probe.client import (
    ContextFacts,
    Probe,
    as_probe_error,
    context_facts,
    context_of,
    plan_of_frame,
)
from openlineage_pyspark.listener.probe.limits import ProbeLimits
from openlineage_pyspark.listener.settings.settings import Settings, default_search, load

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

_PROBES: weakref.WeakKeyDictionary[Any, Probe] = weakref.WeakKeyDictionary()
_KNOWN: weakref.WeakKeyDictionary[Any, tuple[ContextFacts, Settings]] = weakref.WeakKeyDictionary()


@attrs.frozen
class EncodedQuery:
    """
    The analyzed plan of a query, and the settings that its lineage depends on; it outlives the session.

    Args:
        plan: the plan, as the probe encodes it.
        metastore: `hive.metastore.uris`, wherever it is configured.
        trimming: the rules that shorten the names of datasets.
        views: whether permanent views that are read count as inputs.
        composed: whether descriptions are in terms of the columns of sources.
    """

    plan: str
    metastore: str | None = None
    trimming: Trimming = DEFAULT_TRIMMING
    views: bool = True
    composed: bool = True


def analyzed_plan(spark: SparkSession, query: DataFrame | str) -> Any:
    """
    Return the analyzed plan of a DataFrame or of an SQL text in the JVM, without running it.

    Args:
        spark: the session.
        query: a DataFrame, or the text of one statement, which may be a command.

    Raises:
        ValueError: Spark would run the statement while analyzing it, or the statement is an EXPLAIN.
        TypeError: `query` is neither a DataFrame nor a str.
        ProbeError: the session has no driver JVM, or the JVM can't load the probe or does not answer.
    """
    context = context_of(spark)
    with as_probe_error():
        if isinstance(query, str):
            return _probe(context).analyzed(query, spark._jsparkSession)
        return plan_of_frame(query)


def attempted_plan(spark: SparkSession, query: str, attempt: Callable[[Any, str, str, Any], Any]) -> Any:
    """
    Return the outcome of analyzing an SQL text in the JVM: its analyzed plan, or why there is none.

    Args:
        spark: the session.
        query: the text of one statement.
        attempt: calls a method of an object in the JVM; it gets the object, the method's name, a text and the session.

    Raises:
        ValueError: Spark would run the statement while analyzing it, or the statement is an EXPLAIN.
        ProbeError: the session has no driver JVM, or the JVM can't load the probe or does not answer.
    """
    context = context_of(spark)
    with as_probe_error():
        return _probe(context).attempted(query, spark._jsparkSession, attempt)


def encoded_query(spark: SparkSession, query: Any) -> EncodedQuery:
    """
    Return the analyzed plan of a query in a form that outlives the session.

    Args:
        spark: the session that analyzes it.
        query: the text of a statement, which one call to the JVM analyzes and encodes; or an analyzed plan in the JVM,
            as `analyzed_plan` returns it.

    Raises:
        ValueError: Spark would run the statement while analyzing it, or the statement is an EXPLAIN.
        ProbeError: the session has no driver JVM, or the JVM can't load the probe or does not answer.
    """
    context = context_of(spark)
    with as_probe_error():
        facts, settings = _known(context)
        encoded = _probe(context).encode(query, spark._jsparkSession)
    composed = settings.descriptions == "composed"
    return EncodedQuery(encoded, facts.metastore, settings.trimming, settings.views_enabled, composed)


def _known(context: Any) -> tuple[ContextFacts, Settings]:
    """Return the facts and the settings of a context; they are read once, in the same way as by the listener."""
    if context not in _KNOWN:
        facts = context_facts(context._jsc)
        _KNOWN[context] = facts, load(facts.conf, os.environ, default_search())
    return _KNOWN[context]


def _probe(context: Any) -> Probe:
    """Return the probe in the JVM of a context; load it on the first call."""
    gateway = context._gateway
    if gateway not in _PROBES:
        settings = _known(context)[1]
        limits = ProbeLimits(options=settings.trimming.options)
        _PROBES[gateway] = Probe(gateway, limits, cached=settings.class_cache_enabled)
    return _PROBES[gateway]
