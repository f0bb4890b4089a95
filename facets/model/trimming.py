"""
Trim the names of datasets: a date or a partition at the end of a path is no part of the name.

The trimmers, their names and their order are those of the Java integration
(`io.openlineage.client.dataset.partition.trimmer`), and so is the pattern that is cut from names after them
(`RemovePathPatternUtils`). A dataset whose name was trimmed keeps the whole name in `Dataset.locations`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping

import attrs
from openlineage_pyspark.facets.model.dataset import Dataset, Identifier

REMOVED = "remove"
"""The group of the pattern that is cut from names."""

_MONTHS = "0[1-9]|1[0-2]"
_DAYS = "0[1-9]|[12][0-9]|3[01]"
_DATE = re.compile(
    rf"[0-9]{{4}}-(?:{_MONTHS})-(?:{_DAYS})|(?:{_DAYS})\.(?:{_MONTHS})\.[0-9]{{4}}|[0-9]{{4}}(?:{_MONTHS})(?:{_DAYS})"
)
_AROUND_DATE = re.compile(r"[\s:.\-0-9]*(?:T[\s:.\-0-9]*)?(?:Z[\s:.\-0-9]*)?(?:T[\s:.\-0-9]*)?")
_YEAR_MONTH = re.compile(rf"[0-9]{{4}}-?(?:{_MONTHS})")
_YEAR, _MONTH, _DAY = (re.compile(text) for text in ("[0-9]{4}", _MONTHS, _DAYS))


def _date(parts: list[str]) -> int:
    """Return 1 if the last part is a date, possibly with a time: `2013-01-01`, `20130101T0930Z`, `01.01.2013`."""
    last = parts[-1]
    return int(_DATE.search(last) is not None and _AROUND_DATE.fullmatch(last) is not None)


def _key_value(parts: list[str]) -> int:
    """Return 1 if the last part is a partition: `day=1`."""
    return int(parts[-1].count("=") == 1)


def _date_directories(parts: list[str]) -> int:
    """Return 2 for `2013/01` at the end, 3 for `2013/01/31`."""
    for patterns in ((_YEAR, _MONTH), (_YEAR, _MONTH, _DAY)):
        last = parts[-len(patterns) :]
        if len(last) == len(patterns) and all(p.fullmatch(part) for p, part in zip(patterns, last, strict=True)):
            return len(patterns)
    return 0


def _year_month(parts: list[str]) -> int:
    """Return 1 if the last part is a month: `201301`, `2013-01`."""
    return int(_YEAR_MONTH.fullmatch(parts[-1]) is not None)


TRIMMERS: Mapping[str, Callable[[list[str]], int]] = {
    "DateTrimmer": _date,
    "KeyValueTrimmer": _key_value,
    "MultiDirDateTrimmer": _date_directories,
    "YearMonthTrimmer": _year_month,
}
"""Name of a trimmer -> how many parts it trims from the end of a path."""


def java_pattern(text: str) -> re.Pattern[str]:
    """
    Return the pattern of a regular expression that is written for Java, whose groups are named `(?<name>...)`.

    Raises:
        ValueError: Python can't read it, or it has no group `remove`.
    """
    try:
        pattern = re.compile(re.sub(r"(?<!\\)\(\?<(?![=!])", "(?P<", text))
    except (re.error, RecursionError, OverflowError) as exc:
        raise ValueError(f"no regular expression: {exc}") from exc
    if REMOVED not in pattern.groupindex:
        raise ValueError(f"no group named {REMOVED}")
    return pattern


@attrs.frozen
class Trimming:
    """
    What is left out of the names of datasets.

    Args:
        trimmers: the names of the trimmers that are applied, until none of them finds anything.
        pattern: its group `remove` is cut from the name after that; None to cut nothing.
    """

    trimmers: tuple[str, ...] = tuple(TRIMMERS)
    pattern: re.Pattern[str] | None = None

    def trimmed(self, identifier: Identifier) -> Identifier:
        """Return the identity without what is left out of its name."""
        name = self._without_pattern(_without_end(identifier.name, self.trimmers))
        return identifier if name == identifier.name else Identifier(identifier.namespace, name)

    def dataset(self, dataset: Dataset) -> Dataset:
        """Return the dataset under its trimmed name; `locations` then has what the trimmers found."""
        whole = dataset.identifier
        shorter = _without_end(whole.name, self.trimmers)
        name = self._without_pattern(shorter)
        if name == whole.name:
            return dataset
        locations = dataset.locations
        if shorter != whole.name:
            locations = (whole.name,)
        return attrs.evolve(dataset, identifier=Identifier(whole.namespace, name), locations=locations)

    def undated(self, path: str) -> str:
        """
        Return a path without the dates and partitions anywhere in it.

        A job is named after it, so that the job of `daily/2013-01-01/flights` has one name every day.

        Args:
            path: the name of a dataset.
        """
        parts, kept, at = path.split("/"), list[str](), 0
        while at < len(parts):
            dated = next((n for n in (3, 2, 1) if _ends(["", *parts[at : at + n]], self.trimmers) == n), 0)
            kept += parts[at : at + 1] if not dated else []
            at += dated or 1
        return "/".join(kept) if any(kept) else path

    def _without_pattern(self, name: str) -> str:
        found = self.pattern.search(name) if self.pattern is not None else None
        if found is None or not found.group(REMOVED):
            return name
        return (name[: found.start(REMOVED)] + name[found.end(REMOVED) :]) or name


DEFAULT_TRIMMING = Trimming()


# An application reads the same tables again and again.
@functools.lru_cache(maxsize=1024)
def _without_end(name: str, trimmers: tuple[str, ...]) -> str:
    if "/" not in name:
        return name
    parts = name.split("/")
    # The first directory stays, so that a name is never empty.
    first = 2 if name.startswith("/") else 1
    while len(parts) > first and (ends := _ends(parts[first - 1 :], trimmers)):
        del parts[-ends:]
    return "/".join(parts)


def _ends(parts: list[str], trimmers: tuple[str, ...]) -> int:
    """Return how many parts are trimmed from the end, of which the first always stays."""
    found = (TRIMMERS[name](parts) for name in trimmers)
    return next((ends for ends in found if 0 < ends < len(parts)), 0)
