"""Lineage of a query without running it: the session's own parser and analyzer make the plan; the rest is shared."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.facets.plan_lineage import lineage_of_plan
from openlineage_pyspark.facets.report import Lineage, lineage_of
from openlineage_pyspark.listener.analyses import session_of
from openlineage_pyspark.listener.probe.client import (
    ContextFacts,
    Probe,
    analyzed_plan,
    as_probe_error,
    context_facts,
    context_of,
)
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.listener.probe.limits import ProbeLimits
from openlineage_pyspark.listener.settings.settings import default_search, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PROBES: weakref.WeakKeyDictionary[Any, Probe] = weakref.WeakKeyDictionary()
_FACTS: weakref.WeakKeyDictionary[Any, ContextFacts] = weakref.WeakKeyDictionary()


def lineage(spark: SparkSession, query: DataFrame | str) -> Lineage:
    """
    Return the lineage of a DataFrame or of an SQL statement, without running it.

    Args:
        spark: the session whose tables and views the query names; not a Spark Connect session.
        query: a DataFrame, or the text of one statement: SELECT, INSERT, CREATE TABLE AS SELECT, MERGE and so on.

    Returns:
        The lineage edges; `print`, a shell and a notebook show them as a table.

    Raises:
        pyspark.errors.ParseException: the text is not valid SQL.
        pyspark.errors.AnalysisException: the query names something that does not exist.
        ValueError: Spark would run the statement while analyzing it: CALL, EXECUTE IMMEDIATE, a script; or it is an
            EXPLAIN.
        TypeError: `spark` is not a session, or `query` is neither a DataFrame nor a str.
        ProbeError: the session has no driver JVM, or the JVM can't load the probe or does not answer.
    """
    if isinstance(spark, str) or (hasattr(query, "createDataFrame") and not hasattr(spark, "createDataFrame")):
        raise TypeError("lineage(spark, query) takes the session first and the query second")
    context = context_of(spark)
    with as_probe_error():
        facts = _facts(context)
        settings = load(facts.conf, os.environ, default_search())
        probe = _probe(context._gateway, cached=settings.class_cache_enabled)
        encoded = probe.encode(analyzed_plan(spark, query), spark._jsparkSession)
    plan = decode_plan(encoded)
    session = session_of(plan, facts.metastore, settings.trimming, views=settings.views_enabled)
    return lineage_of(lineage_of_plan(plan, session, paths=True, composed=settings.descriptions == "composed"), plan)


def _facts(context: Any) -> ContextFacts:
    """Return the facts of a context. They do not change, and to ask for them takes a call for each setting."""
    if context not in _FACTS:
        _FACTS[context] = context_facts(context._jsc)
    return _FACTS[context]


def _probe(gateway: Any, *, cached: bool) -> Probe:
    if gateway not in _PROBES:
        _PROBES[gateway] = Probe(gateway, ProbeLimits(), cached=cached)
    return _PROBES[gateway]
