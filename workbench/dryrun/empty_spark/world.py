"""One Spark session of a script: what is read has columns but no rows, and writes are only recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.empty_spark.reads import Reads
from openlineage_pyspark.workbench.dryrun.empty_spark.statements import Statements
from openlineage_pyspark.workbench.dryrun.empty_spark.writes import Writes

if TYPE_CHECKING:
    from openlineage_pyspark.workbench.dryrun.script.stage import Stage
    from openlineage_pyspark.workbench.predict.session import ScriptSession


class World:
    """
    One session of a script: what it reads, what it would write, and its SQL statements.

    Args:
        spark: the session.
        session: analyzes its SQL statements.
        stage: the stage of the script.
    """

    def __init__(self, spark: Any, session: ScriptSession, stage: Stage) -> None:
        self.spark = spark
        self.session = session
        self.stage = stage
        self.reads = Reads(spark, session, stage)
        self.writes = Writes(self.reads)
        self.statements = Statements(self.reads, self.writes)
