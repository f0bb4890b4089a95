"""The lineage of what is not run: the session's own parser and analyzer give the plan, the rest of the way is one."""

from __future__ import annotations

import weakref
from typing import Any

from openlineage_pyspark.facets.plan_lineage import lineage_of_plan
from openlineage_pyspark.facets.report import Lineage, lineage_of
from openlineage_pyspark.listener.analyses import session_of
from openlineage_pyspark.listener.probe.client import Probe, ProbeLimits, analyzed_plan, context_facts
from openlineage_pyspark.listener.probe.decode import decode_plan

_PROBES: weakref.WeakKeyDictionary[Any, Probe] = weakref.WeakKeyDictionary()


def lineage(spark: Any, query: Any) -> Lineage:
    """
    The lineage of a DataFrame or of an SQL statement, without running it.

    Args:
        spark: the `pyspark.sql.SparkSession` whose tables and views the statement names.
        query: a DataFrame, or the text of one statement: SELECT, INSERT, CREATE TABLE AS SELECT, MERGE and so on.

    Returns:
        its edges; it prints as a table and shows as one in a notebook.

    Raises:
        pyspark.errors.ParseException: the text is no SQL.
        pyspark.errors.AnalysisException: it names what isn't there, as running it would say.
        ValueError: the text is of a statement that Spark runs when it analyses it: CALL, EXECUTE IMMEDIATE, a script.
        TypeError: `query` is neither a DataFrame nor text.
        ProbeError: the listener can't be put into this JVM.
    """
    gateway = spark.sparkContext._gateway
    probe = _PROBES.get(gateway)
    if probe is None:
        probe = _PROBES[gateway] = Probe(gateway, ProbeLimits())
    plan = decode_plan(probe.encode(analyzed_plan(spark, query), spark._jsparkSession))
    metastore = context_facts(spark.sparkContext._jsc).metastore
    return lineage_of(lineage_of_plan(plan, session_of(plan, metastore)))
