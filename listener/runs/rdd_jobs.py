"""
RDD-only jobs, such as `saveAsTextFile`, which no SQL execution owns.

They all write through Spark's one Hadoop writer, whose closure holds the directory. The RDD's ancestors show where its
rows come from. RDDs have no columns.
"""

from __future__ import annotations

from openlineage_pyspark.facets.commands.target import Write
from openlineage_pyspark.facets.datasets.rdd import rdd_inputs
from openlineage_pyspark.facets.datasets.source import Relation
from openlineage_pyspark.facets.datasets.tables import at_location
from openlineage_pyspark.facets.model.dataset import Trimming
from openlineage_pyspark.facets.model.plan import simple_name
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage.results import PlanLineage, WrittenDataset
from openlineage_pyspark.facets.trace.expressions import OpaqueCode
from openlineage_pyspark.listener.probe.records import RddJobStarted
from openlineage_pyspark.listener.runs.models import saved_model

_NO_DIRECTORY = "an output format without a directory: what it writes is unknown"
_OF_QUERY = "the rows come from a query: the tables that it reads by a broadcast join or a subquery are unknown"
_LATE = "the job ended before the listener inspected it: its outputs are unknown, and its inputs are known by name only"


def rdd_job(record: RddJobStarted, trimming: Trimming) -> PlanLineage:
    """
    Return the inputs and outputs of an RDD-only job.

    Returns:
        Its datasets, without columns. An input file is reported as its directory, as in the Java integration.
    """
    found = rdd_inputs(record.sources)
    inputs = Relation(found.datasets).trimmed(trimming).datasets
    path, format_ = record.path, record.format
    gaps = []
    if found.unknown:
        gaps.append(Gap(f"RDD ({found.unknown})", "a source without a resolver: what it reads is unknown"))
    if found.of_query:
        gaps.append(Gap("RDD (SQLExecutionRDD)", _OF_QUERY))
    if record.writes and path is None:
        gaps.append(Gap(format_ or "RDD", _NO_DIRECTORY if format_ else _LATE))
    outputs: tuple[WrittenDataset, ...] = ()
    if path is not None:
        short = simple_name(format_).removesuffix("OutputFormat").lower() if format_ else None
        dataset = trimming.dataset(at_location(path, (), short or None))
        outputs = (WrittenDataset(Write(dataset, label=dataset.identifier.path_label), None),)
    word = "save_rdd" if record.writes else "read_rdd"
    made = PlanLineage(inputs, outputs, command=word, gaps=tuple(gaps), operators=1, code={OpaqueCode.RDD.value: 1})
    return saved_model(made) if record.model else made
