"""The arguments that questions share, with their meanings, and the times that people write."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, TypeAlias

from openlineage_pyspark.workbench.model.times import micros_of_time, time_of
from openlineage_pyspark.workbench.questions.reach.reach import Limits
from openlineage_pyspark.workbench.questions.registry import Help

_PLACE = "a dataset, or DATASET.COLUMN; the end of a name is enough, such as `orders` for `s3://lake/sales/orders`"

Ref: TypeAlias = Annotated[
    str, Help(f"{_PLACE}; or DATASET@VERSION, DATASET@latest, DATASET@TIME, job:NAME or run:ID", "REF")
]
Source: TypeAlias = Annotated[str, Help(_PLACE, "FROM")]
Target: TypeAlias = Annotated[str, Help("the same; from a column to a dataset, any of its columns", "TO")]
DatasetRef: TypeAlias = Annotated[str, Help("its name, or the end of it", "DATASET")]
Depth: TypeAlias = Annotated[int | None, Help("follow at most N jobs", "N", least=1)]
Direct: TypeAlias = Annotated[bool, Help("leave out columns that only decide about rows")]
AsOf: TypeAlias = Annotated[
    str, Help("answer for an earlier time, such as 2026-01-31T12:00:00Z or 2d (two days ago)", "TIME")
]
LateAt: TypeAlias = Annotated[str, Help("the time at which they are late or not, such as 2d; default: now", "TIME")]
Since: TypeAlias = Annotated[str, Help("leave out edges of jobs not seen since then, such as 90d", "TIME")]
Ever: TypeAlias = Annotated[bool, Help("include edges that jobs no longer make")]


def limits_of(depth: int | None, as_of: str, *, direct: bool = False, ever: bool = False, since: str = "") -> Limits:
    """
    Return the limits of a question.

    Raises:
        StoreError: the time can't be read.
    """
    begin = time_of(since, now()) if since else 0
    return Limits(depth, direct, time_of(as_of, now()) if as_of else None, ever, since=begin)


def time_or_now(text: str) -> int:
    """
    Return a time that people write, or the present one for an empty text, as microseconds since 1970.

    Raises:
        StoreError: the time can't be read.
    """
    return time_of(text, now()) if text else micros_of_time(now())


def now() -> datetime:
    """Return the present time, with its zone."""
    return datetime.now(timezone.utc)
