"""`upstream`, `downstream` and `between`: the origins of data, their products, and the paths between two nodes."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.model.reach import Reach
from openlineage_pyspark.workbench.questions.arguments import (
    AsOf,
    Depth,
    Direct,
    Ever,
    Ref,
    Since,
    Source,
    Target,
    limits_of,
)
from openlineage_pyspark.workbench.questions.reach.grains import Grain
from openlineage_pyspark.workbench.questions.reach.reach import Direction
from openlineage_pyspark.workbench.questions.reach.reach_text import REACH_WRITERS, figure_of_reach
from openlineage_pyspark.workbench.questions.registry import Help, question
from openlineage_pyspark.workbench.questions.traversal import answer_of, paths_between, reached_from
from openlineage_pyspark.workbench.store.names import QueriedTables

_BY = "the unit of the answer; default: columns for a column, snapshots (versions) for a version and a run, else tables"
By: TypeAlias = Annotated[Literal["table", "column", "snapshot", "job"] | None, Help(_BY)]


@question(REACH_WRITERS, figure=figure_of_reach)
def upstream(
    tables: QueriedTables,
    ref: Ref,
    *,
    depth: Depth = None,
    by: By = None,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[Reach]:
    """Show the sources of a dataset, a column, a version, a job or a run, nearest first."""
    limits = limits_of(depth, as_of, direct=direct, ever=ever, since=since)
    found = reached_from(tables, ref, Direction.UPSTREAM, limits, Grain(by) if by else None)
    return answer_of(tables, limits, found)


@question(REACH_WRITERS, figure=figure_of_reach)
def downstream(
    tables: QueriedTables,
    ref: Ref,
    *,
    depth: Depth = None,
    by: By = None,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[Reach]:
    """Show everything that depends on a dataset, a column, a version, a job or a run, nearest first."""
    limits = limits_of(depth, as_of, direct=direct, ever=ever, since=since)
    found = reached_from(tables, ref, Direction.DOWNSTREAM, limits, Grain(by) if by else None)
    return answer_of(tables, limits, found)


@question(REACH_WRITERS, figure=figure_of_reach)
def between(
    tables: QueriedTables,
    source: Source,
    target: Target,
    *,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[Reach]:
    """Show the paths from one dataset or column to another."""
    limits = limits_of(None, as_of, direct=direct, ever=ever, since=since)
    return answer_of(tables, limits, paths_between(tables, source, target, limits))
