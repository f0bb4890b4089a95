"""What an answer over HTTP means: whether a retry could help, when, and its text without secrets."""

from __future__ import annotations

import datetime as dt
import json
import logging
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from openlineage_pyspark.transport.base import TransportConfigError
from openlineage_pyspark.transport.options import PYTHON, Option, prefix_of, text, texts

if TYPE_CHECKING:
    from collections.abc import Iterable

_log = logging.getLogger(__name__)

PASSING_STATUSES = frozenset({408, 425, 429})

_STATUSES: Option[tuple[str, ...]] = Option(
    "retry.status_forcelist",
    texts,
    text="Statuses, besides 408, 425, 429 and 5xx, after which an event is sent again.",
    default=(),
    source=PYTHON,
)
RETRY_OPTIONS = (
    _STATUSES,
    Option(
        "retry.<option>",
        text,
        text="Has no effect and costs a warning: the delivery decides when an event is sent again.",
        default="",
        source=PYTHON,
    ),
)
"""What `passing_statuses` reads."""

# Shorter values, such as `1` or `yes`, are no secrets and would tear an answer's text to shreds.
_SHORTEST_SECRET = 4
_SHORTEST_PART = 8


def passing_statuses(options: Mapping[str, object]) -> frozenset[int]:
    """Read `retry` of openlineage-python, of which one part is not about the way of retrying.

    Args:
        options: the nested options of a transport. `retry.status_forcelist` adds to the statuses that are not
            final; anything else in `retry` costs a warning.

    Raises:
        TransportConfigError: the list is none of statuses.
    """
    retry = options.get("retry")
    if isinstance(retry, Mapping) and retry.keys() - {"status_forcelist"}:
        _log.warning(
            "%s.retry: nothing but status_forcelist has an effect, because what failed is sent again anyway",
            prefix_of(options),
        )
    statuses = _STATUSES.read(options)
    if not all(re.fullmatch("[1-5][0-9][0-9]", status) for status in statuses):
        raise TransportConfigError(_STATUSES.name, "is no list of statuses", "Write it such as [429;503].")
    return PASSING_STATUSES | {int(status) for status in statuses}


def may_pass(status: int, answer: str = "", passing: frozenset[int] = PASSING_STATUSES) -> bool:
    """Tell whether the same event may be taken later.

    Args:
        status: of the answer.
        answer: its text. A 5xx whose text says `"code":400` is final: Marquez answers so to an event that
            it can't store.
        passing: the statuses below 500 that are not final.
    """
    if status in passing:
        return True
    if status < 500:
        return False
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        return True
    code = document.get("code") if isinstance(document, dict) else None
    return not (isinstance(code, int) and 400 <= code < 500)


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """Read `Retry-After` (RFC 9110, 10.2.3), None where it is absent or no time.

    Args:
        headers: of the answer. A date in `Retry-After` is compared with the answer's own `Date` where it
            has one, so that the two clocks need not agree.
    """
    text = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        seconds = float(text)
        return seconds if math.isfinite(seconds) else None
    until = _date(text)
    if until is None:
        return None
    now = _date(headers.get("Date", "")) or dt.datetime.now(dt.timezone.utc)
    return max(0.0, (until - now).total_seconds())


def redacted(text: str, secrets: Iterable[str]) -> str:
    """Replace each secret in a text by `***`, also in the forms that it has in a URL.

    Args:
        text: what a server said; servers like to repeat the key that they refuse.
        secrets: what must not be seen. Of one that has several words, each long one is replaced too.
    """
    forms = {
        form
        for secret in secrets
        for part in (secret, *(part for part in re.split(r"[\s;,=:]+", secret) if len(part) >= _SHORTEST_PART))
        if len(part) >= _SHORTEST_SECRET
        for form in (part, quote(part), quote(part, safe=""), quote_plus(part), json.dumps(part)[1:-1])
    }
    # The longest first, or what surrounds a shorter one would stay.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, "***")
    return text


def _date(text: str) -> dt.datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    # Of Python 3.10 alone is the TypeError; the OverflowError is of a year that no date can have.
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.timezone.utc)
