"""The views by which analysts query a store in Spark's tables without this package. Pure."""

from __future__ import annotations

from openlineage_pyspark.workbench.store.spark.sql import literal, table_identifier, translated
from openlineage_pyspark.workbench.store.tables.stored import STATED_FLOW

# As in `current`: a job writes a dataset as its last complete run that wrote it, and the other runs of the same parent.
_SINCE = """\
SELECT l.job_id, l.dataset_id, min(coalesce(s.started, s.first_time)) AS since
FROM (
  SELECT r.job_id, i.dataset_id, max(coalesce(r.started, r.first_time)) AS started
  FROM {run} r JOIN {sink_snapshot_lineage} w ON w.run_id = r.run_id JOIN {dataset_identity} i ON i.name_id = w.name_id
  WHERE r.state = 'COMPLETE' GROUP BY r.job_id, i.dataset_id
) l
JOIN {run} r ON r.job_id = l.job_id AND r.state = 'COMPLETE' AND coalesce(r.started, r.first_time) = l.started
JOIN {run} s ON s.job_id = r.job_id AND (s.run_id = r.run_id OR s.parent_run_id = r.parent_run_id)
GROUP BY l.job_id, l.dataset_id"""

_NAMED = """\
JOIN {dataset} sd ON sd.name_id = s.dataset_id JOIN {dataset} td ON td.name_id = t.dataset_id
JOIN {job} j ON j.job_id = e.job_id LEFT JOIN ({since}) h
  ON h.job_id = e.job_id AND h.dataset_id = t.dataset_id
WHERE e.last_time >= coalesce(h.since, e.last_time)"""

_NAMES = """\
s.dataset_id AS source_id, sd.namespace AS source_namespace, sd.name AS source_name, {source}
t.dataset_id AS target_id, td.namespace AS target_namespace, td.name AS target_name, {target}
j.namespace AS job_namespace, j.name AS job_name"""

_TABLE_EDGES = """\
SELECT DISTINCT {names}
FROM ({flow}) e
JOIN {dataset_identity} s ON s.name_id = e.input_id JOIN {dataset_identity} t ON t.name_id = e.output_id
{named}"""

_COLUMN_EDGES = """\
SELECT {names}, e.type, e.subtype, e.masking, e.expression, e.certainty, e.last_run
FROM {column_lineage} e
JOIN {dataset_identity} s ON s.name_id = e.input_id JOIN {dataset_identity} t ON t.name_id = e.output_id
{named}"""


def views(schema_name: str) -> list[str]:
    """
    Return the statements that create the views: what jobs do now, between tables and between columns.

    Args:
        schema_name: the schema, with its catalog.
    """
    return [
        f"CREATE OR REPLACE VIEW {table_identifier(schema_name, name)} COMMENT {literal(meaning)} AS {query}"
        for name, meaning, query in (
            ("table_edges", "A job makes one dataset from another.", table_edges(schema_name)),
            (
                "column_edges",
                "A job makes a column of one dataset from a column of another.",
                column_edges(schema_name),
            ),
        )
    ]


def table_edges(schema_name: str) -> str:
    """Return the query of the view `table_edges` of the store in a schema."""
    names, named = _names_of(schema_name)
    flow = translated(f"SELECT * FROM {STATED_FLOW}", schema_name)
    return _TABLE_EDGES.format(**names, names=_NAMES.format(source="", target=""), named=named, flow=flow)


def column_edges(schema_name: str) -> str:
    """Return the query of the view `column_edges` of the store in a schema."""
    names, named = _names_of(schema_name)
    columns = _NAMES.format(source="e.input_column AS source_column,", target="e.output_column AS target_column,")
    return _COLUMN_EDGES.format(**names, names=columns, named=named)


def _names_of(schema_name: str) -> tuple[dict[str, str], str]:
    names = {name: table_identifier(schema_name, name) for name in _TABLES}
    return names, _NAMED.format(**names, since=_SINCE.format(**names))


_TABLES = ("run", "job", "dataset", "dataset_identity", "sink_snapshot_lineage", "column_lineage")
