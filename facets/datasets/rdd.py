"""RDDs: the files, tables and topics that they read are known, their columns are not."""

from __future__ import annotations

import attrs
from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.jdbc import jdbc_tables
from openlineage_pyspark.facets.datasets.kafka import topic_dataset
from openlineage_pyspark.facets.datasets.source import NO_DATASETS, Relation, Session, reads, source
from openlineage_pyspark.facets.datasets.tables import at_location
from openlineage_pyspark.facets.model.dataset import Dataset
from openlineage_pyspark.facets.model.plan import Operator, Plan, Value

UNSEEN = "and so are the tables that its query reads by a broadcast join or a subquery"
_OF_QUERY = "?SQLExecutionRDD"
_CHECKPOINT = "?checkpoint"


@source({"org.apache.spark.sql.execution": "LogicalRDD ExternalRDD"})
@reads({"org.apache.spark.rdd.RDD": {"id": "id", "sources": "#rddSources"}})
def rows_of_rdd(_plan: Plan, operator: Operator, _session: Session) -> Relation:
    """Resolve the inputs of an RDD that a DataFrame was made from."""
    sources = _sources_of(operator)
    if operator.arguments.get("isStreaming") is True:
        # A V1 streaming source, such as Hudi's, returns a micro-batch as an RDD of its new files.
        sources = tuple(_folder(each) if isinstance(each, str) else each for each in sources)
    inputs = rdd_inputs(sources)
    if inputs.unknown:
        return Relation(
            inputs.datasets, opaque=f"the rows come from an RDD ({inputs.unknown}) whose inputs are unknown"
        )
    if inputs.of_query and operator.arguments.get("isStreaming") is not True:
        return Relation(inputs.datasets, opaque=f"the rows come from an RDD: its columns are unknown, {UNSEEN}")
    if not inputs.datasets:
        return NO_DATASETS
    return Relation(inputs.datasets, opaque="the rows come from an RDD: its inputs are known, its columns are not")


def is_checkpoint(operator: Operator) -> bool:
    """Return whether the rows of an operator are a checkpoint: Spark cuts off the plan that computed them."""
    return _CHECKPOINT in _sources_of(operator)


def rdd_id(operator: Operator) -> int | None:
    """Return the number of an operator's RDD, which no other RDD of the application has; None if it is unknown."""
    rdd = operator.described("rdd")
    found = rdd.values.get("id") if rdd is not None else None
    return found if isinstance(found, int) else None


def _sources_of(operator: Operator) -> tuple[Value, ...]:
    """Return the sources of an operator's RDD, as the probe reads them."""
    rdd = operator.described("rdd")
    found = rdd.values.get("sources") if rdd is not None else None
    return found if isinstance(found, tuple) else ()


@attrs.frozen
class RddInputs:
    """
    The inputs of an RDD.

    Args:
        datasets: the datasets.
        unknown: the kinds of RDD with unknown inputs, separated by commas.
        of_query: whether its rows come from a query; then the datasets lack what the query reads by a broadcast join or
            a subquery.
    """

    datasets: tuple[Dataset, ...]
    unknown: str
    of_query: bool


def rdd_inputs(sources: tuple[Value, ...]) -> RddInputs:
    """
    Return the inputs of an RDD.

    Args:
        sources: paths; pairs of a JDBC URL and a table, or of `kafka:` with the servers and a topic; the kind of an RDD
            whose inputs are unknown, after a `?`; and `?...` if some were cut.
    """
    # Before its rows are computed, a checkpoint still has what it is created from.
    sources = tuple(each for each in sources if each != _CHECKPOINT) or sources
    paths = [naming.before_glob(p) for p in sources if isinstance(p, str) and not p.startswith("?")]
    pairs = (s for s in sources if isinstance(s, tuple) and len(s) == 2)
    tables = [d for u, t in pairs if isinstance(u, str) and isinstance(t, str) for d in _of_pair(u, t)]
    roots = map(naming.whole, paths)
    datasets = {d.identifier: d for d in [*(at_location(path) for path in roots if "/" in path), *tables]}
    unknown = (p[1:] for p in sources if isinstance(p, str) and p.startswith("?") and p != _OF_QUERY)
    kinds = ", ".join("more inputs than are inspected" if p == "..." else p for p in unknown)
    return RddInputs(tuple(datasets.values()), kinds, _OF_QUERY in sources)


def _folder(path: str) -> str:
    """Return the folder of a path that looks like a file, and any other path unchanged."""
    return naming.parent(path) if "." in path.rpartition("/")[2] and not path.startswith("?") else path


def _of_pair(where: str, name: str) -> tuple[Dataset, ...]:
    if where.startswith("kafka:"):
        return (topic_dataset(where.removeprefix("kafka:"), name),)
    return jdbc_tables(where, name)
