"""Columns of partitions, whose values are in the names of folders, such as `day=2026-01-01`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openlineage_pyspark.workbench.dryrun.script.request import Columns

_SEGMENT = re.compile(r"/([^/=]+)=([^/]*)")
_TYPES = (
    (re.compile(r"-?\d{1,9}"), "INT"),
    (re.compile(r"-?\d{10,18}"), "BIGINT"),
    (re.compile(r"-?\d*\.\d+"), "DOUBLE"),
    (re.compile(r"\d{4}-\d\d?-\d\d?"), "DATE"),
    (re.compile(r"\d{4}-\d\d?-\d\d?[ T]\d\d?:\d\d?(:\d\d?(\.\d+)?)?"), "TIMESTAMP"),
)


def columns_in_path(path: str) -> Columns:
    """Return the partition columns that a path names, with the types that Spark finds in their values."""
    return tuple(
        (name, next((type_ for form, type_ in _TYPES if form.fullmatch(value)), "STRING"))
        for name, value in _SEGMENT.findall(path)
    )


def above_partitions(path: str) -> str:
    """Return a path up to its first folder of a partition."""
    first = _SEGMENT.search(path)
    return path if first is None else path[: first.start()]


def with_more_columns(columns: Columns | None, more: Columns) -> Columns:
    """Return columns, followed by those of more columns that have other names."""
    known = {name.lower() for name, _ in columns or ()}
    return (*(columns or ()), *(each for each in more if each[0].lower() not in known))


def without(columns: Columns, names: Columns) -> Columns:
    """Return columns, except those with the names of others."""
    left_out = {name.lower() for name, _ in names}
    return tuple(each for each in columns if each[0].lower() not in left_out)


def with_partitions_last(columns: Columns, partitions: Iterable[str]) -> Columns:
    """Return columns in the order of Spark: those of partitions are the last ones, in the order of the partitions."""
    last = {each.lower(): at for at, each in enumerate(partitions)}
    return tuple(sorted(columns, key=lambda each: last.get(each[0].lower(), -1)))
