"""`between`: the ways from one dataset or column to another."""

from __future__ import annotations

from openlineage_pyspark.workbench.answer import Answer
from openlineage_pyspark.workbench.questions.arguments import AsOf, Direct, Ever, Since, Source, Target, limits_of
from openlineage_pyspark.workbench.questions.reach_text import REACH_WRITERS
from openlineage_pyspark.workbench.questions.reached import LinkedNodes
from openlineage_pyspark.workbench.questions.registry import question
from openlineage_pyspark.workbench.questions.ways import answer_of, ways_between
from openlineage_pyspark.workbench.store.names import QueriedTables


@question(REACH_WRITERS)
def between(
    tables: QueriedTables,
    source: Source,
    target: Target,
    *,
    direct: Direct = False,
    as_of: AsOf = "",
    ever: Ever = False,
    since: Since = "",
) -> Answer[LinkedNodes]:
    """Show the ways from one dataset or column to another, and nothing else."""
    limits = limits_of(None, as_of, direct=direct, ever=ever, since=since)
    return answer_of(tables, limits, ways_between(tables, source, target, limits))
