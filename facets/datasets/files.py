"""Files: relations over files and directories, and streams of files."""

from __future__ import annotations

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.source import SOURCES, Relation, Session, by_name, reads, source
from openlineage_pyspark.facets.datasets.tables import in_session_catalog, storage_of
from openlineage_pyspark.facets.datasets.versions import delta_versions, versioned
from openlineage_pyspark.facets.model.dataset import Dataset, Field
from openlineage_pyspark.facets.model.plan import Described, Operator, Plan, Value
from openlineage_pyspark.facets.model.schema import fields_of

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_STREAMING = "org.apache.spark.sql.execution.streaming"


def at_location(path: str, fields: tuple[Field, ...] = (), file_format: str | None = None) -> Dataset:
    """
    Return the dataset at a path.

    Args:
        path: the path of a file or a directory.
        fields: the schema.
        file_format: for example `parquet`.
    """
    layer, format_ = storage_of(file_format)
    return Dataset(naming.location(path), fields, storage_layer=layer, file_format=format_, type="FILE")


# They are the operator's output.
SOURCES.unread.update({"LogicalRelation": ("output",)})


@source({_DATASOURCES: "LogicalRelation"})
@reads(
    {
        f"{_DATASOURCES}.HadoopFsRelation": {
            "rootPaths": "location.rootPaths",
            "index": "location",
            "format": "fileFormat",
            "path": "options[path]",
            "globPaths": "options[__globPaths__]",
        },
        "org.apache.spark.sql.delta.files.TahoeFileIndex": {"path": "path"},
    }
)
def logical_relation(plan: Plan, operator: Operator, session: Session) -> Relation | None:
    """
    Resolve a table of the session catalog, or files.

    A HadoopFsRelation is recognised by its readings and not by its class: Delta Lake's is an anonymous subclass.
    """
    found = in_session_catalog(plan, operator, session)
    relation = operator.described("relation")
    if found is not None:
        return versioned(found, delta_versions(operator))
    if relation is None:
        return None
    paths = relation.values.get("rootPaths")
    if not isinstance(paths, tuple):
        return None
    index = relation.values.get("index")
    is_table = isinstance(index, Described) and index.text("path") is not None
    if operator.arguments.get("isStreaming") is True and not is_table:
        paths = _streamed(operator, paths)
    roots = naming.roots([path for path in paths if isinstance(path, str)], relation.text("path"))
    fields, format_ = fields_of(plan, operator), format_of_class(relation.values.get("format"))
    datasets = {d.identifier: d for d in (at_location(path, fields, format_) for path in roots)}
    return versioned(by_name(operator, *datasets.values()), delta_versions(operator))


def _streamed(operator: Operator, paths: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the directory of a micro-batch's file stream if it is known; else the directories of its files."""
    stream = operator.described("stream")
    base = naming.stream_path(stream.text("text")) if stream is not None else None
    return (base,) if base else tuple(dict.fromkeys(naming.parent(p) for p in paths if isinstance(p, str)))


def infers_schema(operator: Operator) -> bool:
    """Return whether Spark reads a file to infer its schema; only then is globbing switched off (SPARK-32810)."""
    relation = operator.described("relation")
    return relation is not None and relation.text("globPaths") == "false"


# Spark 4.1 moved the classes of streams.
@source(
    {
        _STREAMING: "StreamingRelation StreamingExecutionRelation",
        f"{_STREAMING}.runtime": "StreamingRelation StreamingExecutionRelation",
    }
)
@reads(
    {
        f"{_DATASOURCES}.DataSource": {"path": "options[path]"},
        f"{_STREAMING}.FileStreamSource": {"text": "#text"},
        f"{_STREAMING}.FileStreamSink": {"text": "#text", "path": "#sinkPath"},
        f"{_STREAMING}.runtime.FileStreamSource": {"text": "#text"},
        f"{_STREAMING}.sinks.FileStreamSink": {"text": "#text", "path": "#sinkPath"},
    }
)
def stream(plan: Plan, operator: Operator, _session: Session) -> Relation | None:
    """Resolve a stream of files."""
    from_source = operator.described("dataSource") or operator.described("source")
    path = from_source.text("path") if from_source is not None else None
    return None if path is None else by_name(operator, at_location(path, fields_of(plan, operator)))


def format_of_class(format_: object) -> str | None:
    """Return `parquet` for a ParquetFileFormat."""
    if not isinstance(format_, Described):
        return None
    return format_.simple_name.removesuffix("FileFormat").lower() or None
