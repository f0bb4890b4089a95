"""
The SQL table functions with which analysts ask a store in Spark's tables without this package. Pure.

`WITH RECURSIVE` is no way to write them: it comes with Spark 4.1, knows no set of what it has seen, and so passes each
way through the lineage on its own. These walk by a higher-order function over one map of all edges, level by level.
"""

from __future__ import annotations

from openlineage_pyspark.store.spark.sql import text, whole_name
from openlineage_pyspark.store.spark.views import table_edges

FUNCTIONS = {"upstream_tables": ("target_id", "source_id"), "downstream_tables": ("source_id", "target_id")}
"""Each function, with the columns of `table_edges` from which and to which it goes."""

_MOST_JOBS = 1000
_MEANINGS = {
    "upstream_tables": "What a table comes from, the closest first.",
    "downstream_tables": "What is made from a table, the closest first.",
}

# A whole name if there is one, else the end of one, as in `names.find`.
_NAMED = """\
  SELECT edges, names, filter(names, n -> thing IN (
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


def functions(schema_name: str, functions_schema: str) -> list[str]:
    """
    Return the statements that make the functions.

    Args:
        schema_name: the schema of the store, with its catalog.
        functions_schema: the schema that holds the functions, with its catalog.
    """
    names = {name: whole_name(schema_name, name) for name in ("dataset", "dataset_identity")}
    edges = table_edges(schema_name)
    return [
        _FUNCTION.format(
            function=whole_name(functions_schema, name),
            meaning=text(_MEANINGS[name]),
            most=_MOST_JOBS,
            walked=_WALKED,
            named=_NAMED,
            edges=edges,
            here=here,
            there=there,
            **names,
        )
        for name, (here, there) in FUNCTIONS.items()
    ]
