"""The worlds of the sessions of a script, and the DataFrames that stand for what they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openlineage_pyspark.workbench.dryrun.empty_spark.unknown import Unknown
from openlineage_pyspark.workbench.dryrun.empty_spark.world import World
from openlineage_pyspark.workbench.dryrun.sandbox.handled import is_absence_handled
from openlineage_pyspark.workbench.predict.session import ScriptSession
from pyspark.errors.exceptions.captured import AnalysisException
from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage
    from openlineage_pyspark.workbench.predict.tables.declared import DeclaredTables

_EXISTS = "whether the data exist that are read here"


class Worlds:
    """
    The world of each session of a script.

    Args:
        spark: the first session of the script.
        tables: the known tables.
        session: analyzes statements in that session.
        stage: the stage of the script.
    """

    def __init__(self, spark: Any, tables: DeclaredTables, session: ScriptSession, stage: Stage) -> None:
        self.spark = spark
        self.tables = tables
        self.stage = stage
        self.world = World(spark, session, stage)
        self.frame: Any = type(spark.range(0))
        """The class of DataFrames."""
        self._by_session = {self._key(spark): self.world}
        self.unknown: Callable[[Any, Unknown], Any]
        """Makes DataFrames with unknown columns, once their methods are known."""

    def world_of(self, spark: Any) -> World:
        """Return the world of a session."""
        key = self._key(spark)
        if key not in self._by_session:
            session = ScriptSession(own_session(spark), self.tables, is_first=False, shapes=self.stage.request.shapes)
            self._by_session[key] = World(spark, session, self.stage)
        return self._by_session[key]

    def _key(self, spark: Any) -> int:
        return int(self.spark._jvm.java.lang.System.identityHashCode(spark._jsparkSession))

    def plan(self, frame: Any) -> str:
        """Return the plan of a DataFrame, as the probe encodes it."""
        return self.world_of(frame.sparkSession).reads.plan(frame)

    def without_columns(self, frame: Any, places: tuple[str, ...] = ()) -> Any:
        """Return a DataFrame with unknown columns that is made from another one, and from places."""
        known = Unknown.of(frame) or Unknown((self.plan(frame),))
        return self.unknown(frame.sparkSession, known.joined(Unknown(places=places)))

    def frame_read(self, found: Any, spark: Any) -> Any:
        """Return a DataFrame for data that a script reads, unless it is to be assumed that they do not exist."""
        if is_absence_handled(self.stage.is_users):
            # Where nothing is known of the data, what the script does without them tells more.
            is_known = not isinstance(found, Unknown)
            if self.stage.decides(_EXISTS, taken="true" if is_known else "false") == is_known:
                raise AnalysisException("[PATH_NOT_FOUND] the data do not exist, as this run of the script assumes", "")
        return self.frame_of(found, spark)

    def frame_of(self, found: Any, spark: Any) -> Any:
        """Return a DataFrame for the result of a world."""
        return self.unknown(spark, found) if isinstance(found, Unknown) else self.frame(found, spark)


class _OwnSession(SparkSession):  # type: ignore[misc]
    """A session of the script without the patches, for the analysis of its statements."""

    sql = SparkSession.sql
    conf = SparkSession.conf


def own_session(spark: Any) -> Any:
    """Return a session that is not patched, with the same views, settings and catalogs."""
    if isinstance(spark, _OwnSession):
        return spark
    found: Any = object.__new__(_OwnSession)
    vars(found).update(vars(spark))
    return found
