"""Times: as people and events write them, as the tables keep them (microseconds since 1970, UTC), and as answers."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta, timezone

from openlineage_pyspark.errors import StoreError

FOREVER = (1 << 62) - 1
"""A time after all others."""
BEFORE_ALL = -FOREVER
"""A time before all others: some clocks begin before 1970."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_AGO = re.compile(r"(\d+)\s*(s|min|h|d)")
_UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "d": "days"}


def microseconds(text: str) -> int:
    """
    Return a point in time as microseconds since 1970.

    Args:
        text: as ISO 8601 writes it; without a zone, in UTC.

    Raises:
        ValueError: it is not such a text.
    """
    time = datetime.fromisoformat(_plain(text.strip()))
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    return micros_of_time(time)


def micros_of_time(time: datetime) -> int:
    """Return a time that has a zone as microseconds since 1970."""
    return (time - _EPOCH) // _MICROSECOND


def time_of_micros(micros: int) -> datetime:
    """Return microseconds since 1970 as a time in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def known_time(micros: int | None) -> datetime | None:
    """Return microseconds since 1970 as a time in UTC; None for None."""
    return None if micros is None else time_of_micros(micros)


def iso_text(micros: int | None) -> str:
    """Return microseconds since 1970 as ISO 8601 writes them; empty for None."""
    return "" if micros is None else time_of_micros(micros).isoformat().replace("+00:00", "Z")


def time_of(text: str, now: datetime) -> int:
    """
    Return a time that people write, as microseconds since 1970.

    Args:
        text: an ISO 8601 time, in UTC if it has no zone, or an age such as `90 d` or `2h`.
        now: the time from which an age counts back.

    Raises:
        StoreError: it is neither.
    """
    try:
        if age := _AGO.fullmatch(text.strip()):
            return micros_of_time(now - timedelta(**{_UNITS[age[2]]: int(age[1])}))
        return microseconds(text)
    except (ValueError, OverflowError):
        raise StoreError(
            f"{text!r} is not a time: write 2026-01-31T12:00:00Z, 2026-01-31, or an age such as 2d or 15min"
        ) from None


def _plain(text: str) -> str:
    """Return a time as Python reads it: 3.10 knows neither Z nor a fraction that has not three or six digits."""
    zoned = text.replace("Z", "+00:00").replace("z", "+00:00")
    if sys.version_info >= (3, 11):
        return zoned
    return re.sub(r"\.(\d{1,6})\d*", lambda found: "." + found[1].ljust(6, "0"), zoned)
