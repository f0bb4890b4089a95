"""Lineage of a query without running it: the session's own parser and analyzer make the plan; the rest is shared."""

from __future__ import annotations

import gc
import os
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import attrs
from openlineage_pyspark.errors import WORKBENCH, require
from openlineage_pyspark.facets.model.trimming import DEFAULT_TRIMMING, Trimming
from openlineage_pyspark.facets.plan_lineage import lineage_of_plan
from openlineage_pyspark.facets.report import Lineage, lineage_of
from openlineage_pyspark.facets.statement_text import lineage_of_text, unknown_table
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.errors import ProbeError
from openlineage_pyspark.listener.probe.client import (
    ContextFacts,
    Probe,
    Refusal,
    analysis_errors,
    as_probe_error,
    context_facts,
    context_of,
    plan_of_frame,
    refusal_of,
    unlogged_refusals,
)
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.listener.probe.limits import ProbeLimits
from openlineage_pyspark.listener.settings.settings import Settings, default_search, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PROBES: weakref.WeakKeyDictionary[Any, Probe] = weakref.WeakKeyDictionary()
_KNOWN: weakref.WeakKeyDictionary[Any, tuple[ContextFacts, Settings]] = weakref.WeakKeyDictionary()


@attrs.frozen
class EncodedQuery:
    """
    The analyzed plan of a query, and the settings under which its lineage is told. It can be kept.

    Args:
        plan: the plan, as the probe encodes it.
        metastore: `hive.metastore.uris`, wherever it is configured.
        trimming: what is left out of the names of datasets.
        views: whether permanent views that are read count as inputs.
        composed: whether descriptions are in terms of the columns of sources.
    """

    plan: str
    metastore: str | None = None
    trimming: Trimming = DEFAULT_TRIMMING
    views: bool = True
    composed: bool = True

    def lineage(self) -> Lineage:
        """Return the lineage of the query. Nothing of Spark is needed for this."""
        was_on = gc.isenabled()
        # What is made here has no cycles, and Python's search for them would take a seventh of the time.
        gc.disable()
        try:
            plan = decode_plan(self.plan)
            session = session_settings_of(plan, self.metastore, self.trimming, views=self.views)
            return lineage_of(lineage_of_plan(plan, session, paths=True, composed=self.composed), plan)
        finally:
            if was_on:
                gc.enable()


def lineage(spark: SparkSession, query: DataFrame | str, *, from_text: bool = True) -> Lineage:
    """
    Return the lineage of a DataFrame or of an SQL statement, without running it.

    If Spark can't analyze a statement, because a table is not there or the syntax is new, its lineage is taken from its
    text: the tables, and the columns where the text alone says where they come from. Such edges have the certainty
    `unknown`, `Lineage.gaps` and a Python warning say why, and columns that the text does not tell are left out.

    Args:
        spark: the session whose tables and views the query names; not a Spark Connect session.
        query: a DataFrame, or the text of one statement: SELECT, INSERT, CREATE TABLE AS SELECT, MERGE and so on.
        from_text: False to raise Spark's exception instead of reading the text.

    Returns:
        The lineage edges; `print`, a shell and a notebook show them as a table.

    Raises:
        pyspark.errors.ParseException: the text is not valid SQL, for sqlglot neither.
        pyspark.errors.AnalysisException: the query names something that does not exist, and `from_text` is False or
            its text tells no table.
        ValueError: Spark would run the statement while analyzing it: CALL, EXECUTE IMMEDIATE, a script; or it is an
            EXPLAIN.
        TypeError: `spark` is not a session, or `query` is neither a DataFrame nor a str.
        ProbeError: the session has no driver JVM, or the JVM can't load the probe or does not answer.
        MissingExtraError: the extra `workbench` is not installed.
    """
    require(WORKBENCH)
    if isinstance(spark, str) or (hasattr(query, "createDataFrame") and not hasattr(spark, "createDataFrame")):
        raise TypeError("lineage(spark, query) takes the session first and the query second")
    if not from_text or not isinstance(query, str):
        return _lineage(spark, query)
    with unlogged_refusals():
        try:
            return _lineage(spark, query)
        except ProbeError:
            raise
        except analysis_errors() as problem:
            found = _told_by_text(spark, query, refusal_of(problem))
            if found is None:
                raise
    warnings.warn(found.gaps[0].message, stacklevel=2)
    return found


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


def encoded_query(spark: SparkSession, query: Any) -> EncodedQuery:
    """
    Return the analyzed plan of a query in a form that can be kept.

    Args:
        spark: the session that analyzes it.
        query: the text of a statement, which is analyzed and encoded in one call of the JVM; or the analyzed plan in
            the JVM, which `analyzed_plan` gives.

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


def _lineage(spark: SparkSession, query: DataFrame | str) -> Lineage:
    return encoded_query(spark, query if isinstance(query, str) else analyzed_plan(spark, query)).lineage()


def _told_by_text(spark: SparkSession, statement: str, refusal: Refusal) -> Lineage | None:
    """Return what the text of a statement tells that Spark can't analyze; None if it tells nothing."""

    def known(name: str) -> Lineage | None:
        try:
            return _lineage(spark, f"TABLE {name}")
        except analysis_errors():
            return None

    return lineage_of_text(statement, refusal.message, known, unknown_table, is_sql=refusal.is_sql)


def _known(context: Any) -> tuple[ContextFacts, Settings]:
    """Return the facts and the settings of a context, which are read once, as the listener reads them."""
    if context not in _KNOWN:
        facts = context_facts(context._jsc)
        _KNOWN[context] = facts, load(facts.conf, os.environ, default_search())
    return _KNOWN[context]


def _probe(context: Any) -> Probe:
    """Return the probe in the JVM of a context, which is loaded once."""
    gateway = context._gateway
    if gateway not in _PROBES:
        _PROBES[gateway] = Probe(gateway, ProbeLimits(), cached=_known(context)[1].class_cache_enabled)
    return _PROBES[gateway]
