"""
The SQL table functions by which analysts query a store in Spark's tables without this package. Pure.

They do not use `WITH RECURSIVE`: it needs Spark 4.1, can't remember the nodes that it has seen, and so follows each
path through the lineage separately. Instead, a higher-order function goes over one map of all edges, level by level.
All functions are made from one statement: a table is treated as a column without a name.
"""

from __future__ import annotations

from openlineage_pyspark.workbench.store.spark.sql import literal, table_identifier
from openlineage_pyspark.workbench.store.spark.views import column_edges, table_edges

# The name of each function, the ends of an edge from and to which it goes, and its description.
_OF_TABLES = (
    ("upstream_tables", "target", "source", "The sources of a table, nearest first."),
    ("downstream_tables", "source", "target", "Everything that depends on a table, nearest first."),
)
_OF_COLUMNS = (
    ("upstream_columns", "target", "source", "The sources of a column, nearest first."),
    ("downstream_columns", "source", "target", "Everything that depends on a column, nearest first."),
)
FUNCTIONS = tuple(name for name, *_ in (*_OF_TABLES, *_OF_COLUMNS))
"""The names of all functions."""

_MOST_JOBS = 1000

# The differences of both kinds: parameters and columns of the result, and where the values come from.
_BETWEEN_TABLES = {
    "column_parameter": "",
    "direct_parameter": "",
    "column_parameter_out": "",
    "column_out": "",
    "of_column": "''",
    "direct": "false",
    "columns_of": "SELECT CAST(map() AS MAP<BIGINT, ARRAY<STRING>>) AS columns_of",
}
_BETWEEN_COLUMNS = {
    "column_parameter": "\n  of_column STRING COMMENT 'A column of it; empty for all of them.',",
    "direct_parameter": (
        ",\n  direct BOOLEAN DEFAULT false COMMENT 'Whether to leave out columns that only decide about rows.'"
    ),
    "column_parameter_out": ",\n  column_name STRING COMMENT 'The column; empty for all rows of the dataset.'",
    "column_out": ", substr(f.place, instr(f.place, ' ') + 1)",
    "of_column": "of_column",
    "direct": "direct",
    "columns_of": """\
          SELECT map_from_entries(collect_list(struct(id, columns))) AS columns_of
          FROM (
            SELECT i.dataset_id AS id, collect_set(c.column_name) AS columns
            FROM (
              SELECT name_id, column_name FROM {dataset_column}
              UNION ALL SELECT input_id, input_column FROM {column_lineage}
              UNION ALL SELECT output_id, output_column FROM {column_lineage}
            ) c JOIN {dataset_identity} i ON i.name_id = c.name_id GROUP BY i.dataset_id
          )""",
}
_TABLES_AS_COLUMNS = "SELECT source_id, '' AS source_column, target_id, '' AS target_column, '' AS type FROM ({edges})"

# A place is a text, of the dataset's id and the column: Spark has hashes for arrays of texts, not of structs.
_BEGIN = "transform(starts, id -> concat(id, ' ', {of_column}))"

# As in `reach`: all rows have all columns, a struct has its fields, and a field is read where its struct is.
_BESIDE = """\
transform(filter(
            coalesce(
              try_element_at(edges, place.id),
              CAST(array() AS ARRAY<STRUCT<here: STRING, there: STRING, is_direct: BOOLEAN>>)
            ),
            edge -> (edge.is_direct OR NOT {direct}) AND (place.part = '' OR edge.here = place.part{rows}
              OR startswith(place.part, concat(edge.here, '.')) OR startswith(edge.here, concat(place.part, '.')))
          ), edge -> edge.there)"""

_WALKED = """\
  aggregate(
    sequence(1, most_jobs),
    named_struct('seen', {begin}, 'level', {begin}, 'found', CAST(array() AS ARRAY<STRUCT<place: STRING, depth: INT>>)),
    (known, passed) -> aggregate(
      array(array_except(
        flatten(transform(
          transform(known.level, key -> named_struct(
            'id', CAST(substring_index(key, ' ', 1) AS BIGINT), 'part', substr(key, instr(key, ' ') + 1)
          )),
          place -> {beside}
        )),
        known.seen
      )),
      known,
      (before, level) -> named_struct(
        'seen', array_union(before.seen, level), 'level', level,
        'found', concat(before.found, transform(level, key -> named_struct('place', key, 'depth', passed)))
      )
    )
  ).found"""

# A text is a whole name if there is one, else the end of one, as in `names.find`.
_FUNCTION = """\
CREATE OR REPLACE FUNCTION {function}(
  thing STRING COMMENT 'A table: its name, or the end of its name.',{column_parameter}
  most_jobs INT DEFAULT {most} COMMENT 'Follow at most this many jobs.'{direct_parameter}
)
RETURNS TABLE (
  depth INT COMMENT 'How many jobs are between.',
  dataset_id BIGINT COMMENT 'The dataset.',
  namespace STRING COMMENT 'The namespace of its own name.',
  name STRING COMMENT 'Its own name.'{column_parameter_out}
)
COMMENT {meaning}
RETURN SELECT f.depth, d.name_id, d.namespace, d.name{column_out} FROM (
  SELECT explode(CASE WHEN size(starts) = 1 THEN {walked}
    WHEN size(tables) = 0 THEN raise_error(concat('nothing is called ', thing))
    WHEN size(starts) = 0 THEN raise_error(concat(thing, ' has no column ', {of_column}))
    ELSE raise_error(concat(thing, ' may mean any of these: ', array_join(addresses, ', '))) END) AS f
  FROM (
    SELECT *, filter(tables, id -> {of_column} = '' OR array_contains(
      coalesce(try_element_at(columns_of, id), CAST(array() AS ARRAY<STRING>)), {of_column})) AS starts
    FROM (
      SELECT *, array_distinct(transform(found, n -> n.id)) AS tables,
        array_sort(array_distinct(transform(found, n -> concat(n.namespace, '/', n.name)))) AS addresses
      FROM (SELECT *, CASE WHEN size(whole) > 0 THEN whole ELSE ending END AS found FROM (
        SELECT *, filter(names, n -> thing IN (
          n.name, concat(n.namespace, n.name), concat(n.namespace, '/', n.name), concat(n.namespace, ':', n.name)
        )) AS whole, filter(names, n -> lower(right(n.name, length(trim(LEADING '/' FROM thing))))
          = lower(trim(LEADING '/' FROM thing))
          AND substr(n.name, -1 - length(trim(LEADING '/' FROM thing)), 1) IN ('.', '/')) AS ending
        FROM (
          SELECT map_from_entries(collect_list(struct(id, there))) AS edges
          FROM (
            SELECT {here}_id AS id, collect_set(named_struct(
              'here', {here}_column, 'there', concat({there}_id, ' ', {there}_column), 'is_direct', type <> 'INDIRECT'
            )) AS there
            FROM ({edges}) GROUP BY {here}_id
          )
        ) CROSS JOIN (
          SELECT collect_list(named_struct('id', i.dataset_id, 'namespace', d.namespace, 'name', d.name)) AS names
          FROM {dataset_identity} i JOIN {dataset} d ON d.name_id = i.name_id
        ) CROSS JOIN (
{columns_of}
        )
      ))
    )
  )
) JOIN {dataset} d ON d.name_id = CAST(substring_index(f.place, ' ', 1) AS BIGINT)"""


def functions(schema_name: str, functions_schema: str) -> list[str]:
    """
    Return the statements that create the functions.

    Args:
        schema_name: the schema of the store, with its catalog.
        functions_schema: the schema that holds the functions, with its catalog.
    """
    names = {
        name: table_identifier(schema_name, name)
        for name in ("dataset", "dataset_identity", "dataset_column", "column_lineage")
    }
    kinds = (
        (_OF_TABLES, _BETWEEN_TABLES, _TABLES_AS_COLUMNS.format(edges=table_edges(schema_name))),
        (_OF_COLUMNS, _BETWEEN_COLUMNS, column_edges(schema_name)),
    )
    return [
        _FUNCTION.format(
            **names,
            **{**kind, "columns_of": kind["columns_of"].format(**names)},
            function=table_identifier(functions_schema, name),
            most=_MOST_JOBS,
            meaning=literal(meaning),
            walked=_walked(kind, here),
            edges=edges,
            here=here,
            there=there,
        )
        for listed, kind, edges in kinds
        for name, here, there, meaning in listed
    ]


def _walked(kind: dict[str, str], here: str) -> str:
    """Return the expression of the nodes upstream or downstream."""
    # An edge without a column means all rows, and so each column.
    beside = _BESIDE.format(direct=kind["direct"], rows=" OR edge.here = ''" if here == "target" else "")
    return _WALKED.format(begin=_BEGIN.format(of_column=kind["of_column"]), beside=beside)
