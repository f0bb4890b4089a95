"""Statistics of DataFrames, and observed metrics: numbers and columns that depend on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 (Spark's custom)

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.workbench.dryrun.script.stage import Stage

_SOME_NUMBER = 1.0


class StandInMetrics(dict[str, Any]):
    """
    The result of an observation: each metric that the script reads is a number that depends on data.

    Args:
        stage: records each decision on one of them.
    """

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def __missing__(self, name: str) -> Any:
        return self._stage.number(f"the metric {name}")


def install_statistics(frame: Any, stage: Stage, without_columns: Callable[[Any], Any]) -> None:
    """
    Make statistics return stand-ins.

    Args:
        frame: PySpark's class of DataFrames.
        stage: records each use.
        without_columns: makes a DataFrame without known columns from another one.
    """

    def report(name: str) -> None:
        stage.problem(
            "STAND_IN", f"{name}() returns {_SOME_NUMBER} in a dry run: what is made from its values is unknown"
        )

    def quantiles(_: Any, col: Any, probabilities: Any, *__: Any, **___: Any) -> Any:
        report("approxQuantile")
        found = [_SOME_NUMBER for _ in probabilities]
        return found if isinstance(col, str) else [list(found) for _ in col]

    def number(name: str) -> Any:
        def statistic(*_: Any, **__: Any) -> float:
            report(name)
            return _SOME_NUMBER

        return statistic

    def crosstab(self: Any, col1: str, col2: str) -> Any:
        rows = F.coalesce(F.col(col1).cast("string"), F.lit("null")).alias(f"{col1}_{col2}")
        return self.groupBy(rows).pivot(col2).agg(F.count(F.lit(1)))

    def transposed(self: Any, *_: Any, **__: Any) -> Any:
        stage.problem("PATTERN", "the columns of transpose() come from values in the data: they are unknown")
        return without_columns(self)

    def files(_: Any) -> list[str]:
        stage.problem(
            "STAND_IN", "inputFiles() returns no files in a dry run: what is made from their names is unknown"
        )
        return []

    def metrics(_: Any) -> StandInMetrics:
        stage.problem(
            "STAND_IN", "an observation returns 1 for each metric in a dry run: what is made from them is unknown"
        )
        return StandInMetrics(stage)

    frame.approxQuantile, frame.crosstab, frame.inputFiles = quantiles, crosstab, files
    frame.transpose = transposed
    frame.corr, frame.cov = number("corr"), number("cov")
    Observation.get = property(metrics)
