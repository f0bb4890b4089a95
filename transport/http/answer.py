"""What an HTTP response means: whether and when to retry, and its text without secrets."""

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

from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport.options import PYTHON, Option, prefix_of, text, texts

if TYPE_CHECKING:
    from collections.abc import Iterable

_log = logging.getLogger(__name__)

PASSING_STATUSES = frozenset({408, 425, 429})

# These concern neither the event nor the receiver's state, but the login or the address: an expired key, a gateway
# that does not know its receiver yet, a proxy. The same event is accepted once the cause is repaired.
LASTING_STATUSES = frozenset({*range(300, 400), 401, 402, 403, 404, 405, 407, 410, 421, 451})

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
        text="Has no effect, and logs a warning: the delivery decides when an event is sent again.",
        default="",
        source=PYTHON,
    ),
)
"""The options that `passing_statuses` reads."""

# Shorter values, such as `1` or `yes`, are not secret, and masking them would make the text unreadable.
_SHORTEST_SECRET = 4
_SHORTEST_PART = 8


def passing_statuses(options: Mapping[str, object]) -> frozenset[int]:
    """
    Return the statuses below 500 that are not final, as `retry` of openlineage-python extends them.

    Args:
        options: the nested options of a transport. `retry.status_forcelist` adds statuses; everything else in
            `retry` has no effect, and is warned about.

    Raises:
        TransportConfigError: `retry.status_forcelist` is not a list of statuses.
    """
    retry = options.get("retry")
    if isinstance(retry, Mapping) and retry.keys() - {"status_forcelist"}:
        _log.warning(
            "%s.retry: only status_forcelist has an effect, because failed events are always sent again",
            prefix_of(options),
        )
    statuses = _STATUSES.read(options)
    if not all(re.fullmatch("[1-5][0-9][0-9]", status) for status in statuses):
        raise TransportConfigError(_STATUSES.name, "is not a list of statuses", "Write it such as [429;503].")
    return PASSING_STATUSES | {int(status) for status in statuses}


def may_pass(status: int, answer: str, passing: frozenset[int]) -> bool:
    """
    Return whether the receiver may take the same event later, perhaps only after somebody repairs something.

    Args:
        status: the status of the response.
        answer: the text of the response. A 5xx with `"code":400` in the text is final: it is Marquez's answer to an
            event that it can't store.
        passing: the statuses below 500 that are not final.
    """
    if status in passing or status in LASTING_STATUSES:
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
    """
    Return the seconds that `Retry-After` asks for (RFC 9110, 10.2.3); None if it is absent or invalid.

    Args:
        headers: the headers of the response. A date in `Retry-After` is compared with the response's own `Date` if
            there is one, so that the two clocks need not agree.
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


def mask_secrets(text: str, secrets: Iterable[str]) -> str:
    """
    Return a text with `***` instead of each secret, also of its URL-encoded and JSON-escaped forms.

    Args:
        text: the text of a response; servers often repeat the key that they refuse.
        secrets: the values to replace. The words of a secret that are at least 8 characters long are replaced too.
    """
    forms = {
        form
        for secret in secrets
        for part in (secret, *(part for part in re.split(r"[\s;,=:]+", secret) if len(part) >= _SHORTEST_PART))
        if len(part) >= _SHORTEST_SECRET
        for form in (part, quote(part), quote(part, safe=""), quote_plus(part), json.dumps(part)[1:-1])
    }
    # Longest first: a shorter form may be part of a longer one.
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, "***")
    return text


def _date(text: str) -> dt.datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    # Only Python 3.10 raises TypeError; a year out of range raises OverflowError.
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=dt.timezone.utc)
