"""
Jobs of RDDs alone, which no SQL execution owns: `saveAsTextFile` and its like.

All of these go through Spark's one Hadoop writer, whose function holds the directory; what the rows come from is read
off the ancestors of the RDD. Columns there are none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openlineage_pyspark.facets.commands.target import Write, path_label
from openlineage_pyspark.facets.datasets.files import at_location
from openlineage_pyspark.facets.datasets.rdd import rdd_sources
from openlineage_pyspark.facets.model.plan import Value, simple_name
from openlineage_pyspark.facets.model.run import Gap
from openlineage_pyspark.facets.plan_lineage import PlanLineage, WrittenDataset

_NO_DIRECTORY = "an output format without a directory: what it writes is not known"
_LATE = "the job was over before it was looked at: what it writes is not known, and what it reads only by name"


def rdd_job(record: Mapping[str, Any]) -> PlanLineage:
    """
    What a job of RDDs reads and writes.

    Args:
        record: of its start, as the probe sends it.

    Returns:
        its datasets, without columns; of an input that is a file the directory, as the Java integration has it.
    """
    inputs, unknown = rdd_sources(_value(record["sources"]))
    path, format_ = record["path"], record["format"]
    remarks = []
    if unknown:
        remarks.append(Gap(f"RDD ({unknown})", "a source without a resolver: what it reads is not known"))
    if record["write"] and path is None:
        remarks.append(Gap(format_ or "RDD", _NO_DIRECTORY if format_ else _LATE))
    outputs: tuple[WrittenDataset, ...] = ()
    if path is not None:
        short = simple_name(format_).removesuffix("OutputFormat").lower() if format_ else None
        dataset = at_location(path, (), short or None)
        outputs = (WrittenDataset(Write(dataset, label=path_label(dataset)), None),)
    word = "save_rdd" if record["write"] else "read_rdd"
    return PlanLineage(inputs, outputs, command=word, gaps=tuple(remarks), operators=1)


def counted_by(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the job read and wrote, from the record of its end, in the form in which executions count."""
    rows = record.get("read", 0)
    scans = [{"w": False, "ids": [], "m": {"numOutputRows": rows}}] if rows else []
    return {"metrics": scans, "written": record.get("written", ())}


def _value(raw: Any) -> tuple[Value, ...]:
    return tuple(_value(item) if isinstance(item, list) else item for item in raw)
