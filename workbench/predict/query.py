"""Lineage of a query without running it, from the plan of the session's parser and analyzer, or else from its text."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING

from openlineage_pyspark.errors import ProbeError
from openlineage_pyspark.facets.plan_lineage.analysis import lineage_of_plan
from openlineage_pyspark.listener.analyses import session_settings_of
from openlineage_pyspark.listener.analyze import EncodedQuery, analyzed_plan, encoded_query
from openlineage_pyspark.listener.probe.client import Refusal, analysis_errors, refusal_of, unlogged_refusals
from openlineage_pyspark.listener.probe.decode import decode_plan
from openlineage_pyspark.workbench.cycles import without_cycle_collection
from openlineage_pyspark.workbench.extras import WORKBENCH, require
from openlineage_pyspark.workbench.predict.from_text.text import lineage_of_text, unknown_table
from openlineage_pyspark.workbench.predict.named import with_sources
from openlineage_pyspark.workbench.report import Lineage, lineage_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.facets.model.plan import Plan
    from openlineage_pyspark.facets.plan_lineage.results import PlanLineage
    from pyspark.sql import DataFrame, SparkSession

_NONE: Mapping[str, DataFrame] = MappingProxyType({})


def lineage_of_query(
    query: EncodedQuery, sources: Mapping[str, EncodedQuery] | None = None, *, fields: bool = False
) -> Lineage:
    """
    Return the lineage of an analyzed query. This does not use Spark.

    Args:
        query: the query.
        sources: name -> a query whose rows count as a source of that name, wherever they occur in the query.
        fields: whether fields of stored structs are separate sources, such as `address.city`.

    Raises:
        ValueError: the query does not read one of the sources, or two of them can't be distinguished.
    """
    plan, found = walked_query(query, sources, fields=fields)
    return lineage_of(found, plan)


def walked_query(
    query: EncodedQuery, sources: Mapping[str, EncodedQuery] | None = None, *, fields: bool = False
) -> tuple[Plan, PlanLineage]:
    """Return the plan of an analyzed query with its lineage; the arguments are the same as for `lineage_of_query`."""
    with without_cycle_collection():
        plan = decode_plan(query.plan)
        session = session_settings_of(plan, query.metastore, query.trimming, views=query.views)
        earlier = None
        if sources:
            named = with_sources(plan, {name: decode_plan(each.plan) for name, each in sources.items()})
            plan, earlier = named.plan, named.earlier
        return plan, lineage_of_plan(plan, session, earlier, paths=True, composed=query.composed, fields=fields)


def lineage(
    spark: SparkSession,
    query: DataFrame | str,
    *,
    from_text: bool = True,
    sources: Mapping[str, DataFrame] | None = None,
) -> Lineage:
    """
    Return the lineage of a DataFrame or of an SQL statement, without running it.

    If Spark can't analyze a statement, because a table is missing or the syntax is new, its lineage is taken from its
    text: the tables, and the columns whose sources the text shows. Such edges have the certainty `text`,
    `Lineage.gaps` and a Python warning give the reason, and all other columns are left out.

    Args:
        spark: the session with the tables and views of the query; not a Spark Connect session.
        query: a DataFrame, or the text of one statement: SELECT, INSERT, CREATE TABLE AS SELECT, MERGE and so on.
        from_text: False to raise Spark's exception instead of reading the text.
        sources: DataFrames that count as sources, by their names. Otherwise rows of `createDataFrame` come from no
            dataset.

    Returns:
        The lineage edges; `print`, a shell and a notebook show them as a table.

    Raises:
        pyspark.errors.ParseException: neither Spark nor sqlglot can parse the text.
        pyspark.errors.AnalysisException: the query names something that does not exist, and `from_text` is False or
            its text names no table.
        ValueError: Spark would run the statement while analyzing it: CALL, EXECUTE IMMEDIATE, a script; or it is an
            EXPLAIN; or the query does not read one of `sources`, or two of them can't be distinguished.
        TypeError: `spark` is not a session, or `query` is neither a DataFrame nor a str.
        ProbeError: the session has no driver JVM, or the JVM can't load the probe or does not answer.
        MissingExtraError: the extra `workbench` is not installed.
    """
    require(WORKBENCH)
    if isinstance(spark, str) or (hasattr(query, "createDataFrame") and not hasattr(spark, "createDataFrame")):
        raise TypeError("lineage(spark, query) takes the session first and the query second")
    if not from_text or not isinstance(query, str) or sources:
        return _lineage(spark, query, sources or {})
    with unlogged_refusals():
        try:
            return _lineage(spark, query)
        except ProbeError:
            raise
        except analysis_errors() as problem:
            found = _lineage_from_text(spark, query, refusal_of(problem))
            if found is None:
                raise
    warnings.warn(found.gaps[0].message, stacklevel=2)
    return found


def _lineage(spark: SparkSession, query: DataFrame | str, sources: Mapping[str, DataFrame] = _NONE) -> Lineage:
    encoded = encoded_query(spark, query if isinstance(query, str) else analyzed_plan(spark, query))
    named = {name: encoded_query(spark, analyzed_plan(spark, each)) for name, each in sources.items()}
    return lineage_of_query(encoded, named, fields=True)


def _lineage_from_text(spark: SparkSession, statement: str, refusal: Refusal) -> Lineage | None:
    """Return the lineage from the text of a statement that Spark can't analyze; None if it has none."""

    def known(name: str) -> Lineage | None:
        try:
            return _lineage(spark, f"TABLE {name}")
        except analysis_errors():
            return None

    return lineage_of_text(statement, refusal.message, known, unknown_table, is_sql=refusal.is_sql)
