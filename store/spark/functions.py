"""
The SQL table functions with which analysts ask a store in Spark's tables without this package. Pure.

`WITH RECURSIVE` is no way to write them: it comes with Spark 4.1, knows no set of what it has seen, and so passes each
way through the lineage on its own. These walk by a higher-order function over one map of all edges, level by level.
"""

from __future__ import annotations

from openlineage_pyspark.store.spark.sql import literal, table_identifier
from openlineage_pyspark.store.spark.views import column_edges, table_edges

_TABLE_FUNCTIONS = {"upstream_tables": ("target", "source"), "downstream_tables": ("source", "target")}
_COLUMN_FUNCTIONS = {"upstream_columns": ("target", "source"), "downstream_columns": ("source", "target")}
FUNCTIONS = (*_TABLE_FUNCTIONS, *_COLUMN_FUNCTIONS)
"""The names of all functions. Each goes from one end of the edges to the other one."""

_MOST_JOBS = 1000
_MEANINGS = {
    "upstream_tables": "What a table comes from, the closest first.",
    "downstream_tables": "What is made from a table, the closest first.",
    "upstream_columns": "What a column comes from, the closest first.",
    "downstream_columns": "What is made from a column, the closest first.",
}

# A whole name if there is one, else the end of one, as in `names.find`.
_NAMED = """\
  SELECT *, filter(names, n -> thing IN (
    n.name, concat(n.namespace, n.name), concat(n.namespace, '/', n.name), concat(n.namespace, ':', n.name)
  )) AS whole, filter(names, n -> lower(right(n.name, length(trim(LEADING '/' FROM thing))))
    = lower(trim(LEADING '/' FROM thing))
    AND substr(n.name, -1 - length(trim(LEADING '/' FROM thing)), 1) IN ('.', '/')) AS ending"""

_WALKED = """\
  aggregate(
    sequence(1, most_jobs),
    named_struct('seen', starts, 'level', starts, 'found', CAST(array() AS ARRAY<STRUCT<id: BIGINT, depth: INT>>)),
    (known, passed) -> aggregate(
      array(array_except(
        flatten(transform(known.level, id -> coalesce(try_element_at(edges, id), CAST(array() AS ARRAY<BIGINT>)))),
        known.seen
      )),
      known,
      (before, level) -> named_struct(
        'seen', array_union(before.seen, level), 'level', level,
        'found', concat(before.found, transform(level, id -> named_struct('id', id, 'depth', passed)))
      )
    )
  ).found"""

_FUNCTION = """\
CREATE OR REPLACE FUNCTION {function}(
  thing STRING COMMENT 'A table: its name, or the end of it.',
  most_jobs INT DEFAULT {most} COMMENT 'Pass at most so many jobs.'
)
RETURNS TABLE (
  depth INT COMMENT 'How many jobs lie between.',
  dataset_id BIGINT COMMENT 'The dataset.',
  namespace STRING COMMENT 'The namespace of its own name.',
  name STRING COMMENT 'Its own name.'
)
COMMENT {meaning}
RETURN SELECT f.depth, f.id, d.namespace, d.name FROM (
  SELECT explode(CASE size(starts) WHEN 1 THEN {walked}
    WHEN 0 THEN raise_error(concat('nothing is called ', thing))
    ELSE raise_error(concat(thing, ' may mean any of these: ', array_join(addresses, ', '))) END) AS f
  FROM (
    SELECT edges, array_distinct(transform(found, n -> n.id)) AS starts,
      array_sort(array_distinct(transform(found, n -> concat(n.namespace, '/', n.name)))) AS addresses
    FROM (SELECT edges, CASE WHEN size(whole) > 0 THEN whole ELSE ending END AS found FROM (
{named}
      FROM (
        SELECT map_from_entries(collect_list(struct(here, there))) AS edges
        FROM (SELECT {here} AS here, collect_set({there}) AS there FROM ({edges}) GROUP BY {here})
      ) CROSS JOIN (
        SELECT collect_list(named_struct('id', i.dataset_id, 'namespace', d.namespace, 'name', d.name)) AS names
        FROM {dataset_identity} i JOIN {dataset} d ON d.name_id = i.name_id
      )
    ))
  )
) JOIN {dataset} d ON d.name_id = f.id"""


# As in `reach`: all rows have all columns, a struct has its fields, and a field is read where its struct is.
_EDGES_OF_PLACE = """\
filter(
            coalesce(
              try_element_at(edges, place.id),
              CAST(array() AS ARRAY<STRUCT<here: STRING, there: STRING, is_direct: BOOLEAN>>)
            ),
            edge -> (edge.is_direct OR NOT direct) AND (place.part = '' OR edge.here = place.part{rows}
              OR startswith(place.part, concat(edge.here, '.')) OR startswith(edge.here, concat(place.part, '.')))
          )"""

# A place is a text, of the dataset's id and the column: Spark has hashes for arrays of texts, not of structs.
_COLUMNS_WALKED = """\
  aggregate(
    sequence(1, most_jobs),
    named_struct(
      'seen', transform(owners, id -> concat(id, ' ', of_column)),
      'level', transform(owners, id -> concat(id, ' ', of_column)),
      'found', CAST(array() AS ARRAY<STRUCT<place: STRING, depth: INT>>)
    ),
    (known, passed) -> aggregate(
      array(array_except(
        flatten(transform(
          transform(known.level, key -> named_struct(
            'id', CAST(substring_index(key, ' ', 1) AS BIGINT), 'part', substr(key, instr(key, ' ') + 1)
          )),
          place -> transform({edges_of_place}, edge -> edge.there)
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

_COLUMN_FUNCTION = """\
CREATE OR REPLACE FUNCTION {function}(
  thing STRING COMMENT 'A table: its name, or the end of it.',
  of_column STRING COMMENT 'A column of it; empty for all of them.',
  most_jobs INT DEFAULT {most} COMMENT 'Pass at most so many jobs.',
  direct BOOLEAN DEFAULT false COMMENT 'Whether to leave out what only decides about rows.'
)
RETURNS TABLE (
  depth INT COMMENT 'How many jobs lie between.',
  dataset_id BIGINT COMMENT 'The dataset.',
  namespace STRING COMMENT 'The namespace of its own name.',
  name STRING COMMENT 'Its own name.',
  column_name STRING COMMENT 'The column; empty for all rows of the dataset.'
)
COMMENT {meaning}
RETURN SELECT f.depth, d.name_id, d.namespace, d.name, substr(f.place, instr(f.place, ' ') + 1) FROM (
  SELECT explode(CASE WHEN size(owners) = 1 THEN {walked}
    WHEN size(starts) = 0 THEN raise_error(concat('nothing is called ', thing))
    WHEN size(owners) = 0 THEN raise_error(concat(thing, ' has no column ', of_column))
    ELSE raise_error(concat(thing, ' may mean any of these: ', array_join(addresses, ', '))) END) AS f
  FROM (
    SELECT *, filter(starts, id -> of_column = '' OR array_contains(
      coalesce(try_element_at(parts_of, id), CAST(array() AS ARRAY<STRING>)), of_column)) AS owners
    FROM (
      SELECT edges, parts_of, array_distinct(transform(found, n -> n.id)) AS starts,
        array_sort(array_distinct(transform(found, n -> concat(n.namespace, '/', n.name)))) AS addresses
      FROM (SELECT *, CASE WHEN size(whole) > 0 THEN whole ELSE ending END AS found FROM (
{named}
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
          SELECT map_from_entries(collect_list(struct(id, parts))) AS parts_of
          FROM (
            SELECT i.dataset_id AS id, collect_set(c.part) AS parts
            FROM (
              SELECT name_id, column_name AS part FROM {dataset_column}
              UNION ALL SELECT input_id, input_column FROM {column_lineage}
              UNION ALL SELECT output_id, output_column FROM {column_lineage}
            ) c JOIN {dataset_identity} i ON i.name_id = c.name_id GROUP BY i.dataset_id
          )
        )
      ))
    )
  )
) JOIN {dataset} d ON d.name_id = CAST(substring_index(f.place, ' ', 1) AS BIGINT)"""


def functions(schema_name: str, functions_schema: str) -> list[str]:
    """
    Return the statements that make the functions.

    Args:
        schema_name: the schema of the store, with its catalog.
        functions_schema: the schema that holds the functions, with its catalog.
    """
    names = {
        name: table_identifier(schema_name, name)
        for name in ("dataset", "dataset_identity", "dataset_column", "column_lineage")
    }
    common = {**names, "most": _MOST_JOBS, "named": _NAMED}
    of_tables = [
        _FUNCTION.format(
            **common,
            function=table_identifier(functions_schema, name),
            meaning=literal(_MEANINGS[name]),
            walked=_WALKED,
            edges=table_edges(schema_name),
            here=f"{here}_id",
            there=f"{there}_id",
        )
        for name, (here, there) in _TABLE_FUNCTIONS.items()
    ]
    of_columns = [
        _COLUMN_FUNCTION.format(
            **common,
            function=table_identifier(functions_schema, name),
            meaning=literal(_MEANINGS[name]),
            # What is written without a column is all rows, and so each column.
            walked=_COLUMNS_WALKED.format(
                edges_of_place=_EDGES_OF_PLACE.format(rows=" OR edge.here = ''" if here == "target" else "")
            ),
            edges=column_edges(schema_name),
            here=here,
            there=there,
        )
        for name, (here, there) in _COLUMN_FUNCTIONS.items()
    ]
    return [*of_tables, *of_columns]
