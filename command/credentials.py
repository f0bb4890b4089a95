"""Texts that look like a credential, by form alone: where they stand and what they look like, never what they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = (
    r"(?:password|passwd|passphrase|pwd|secret|client[._-]?secret|secret[._-]?(?:access[._-]?)?key|access[._-]?key"
    r"|account[._-]?key|api[._-]?key|access[._-]?token|session[._-]?token|auth[._-]?token|sig|signature)"
)
# What stands in place of a secret that was taken out: ?, ***, xxxxx, <...>, ${...}, [REDACTED], (redacted).
_TAKEN_OUT = r"(?:[?*x]+(?![^\s'\"&;,)@])|<|\$\{|[\[(*]*redacted)"

KINDS: dict[str, re.Pattern[str]] = {
    # The scheme is left out: to look for its begin costs the square of a text's length.
    "a password in a URL": re.compile(rf"://[^\s/:@?#'\"]*:(?!{_TAKEN_OUT})[^\s/@'\"]+@", re.IGNORECASE),
    "a credential in a URL or connection string": re.compile(
        rf"[?&;]{_NAME}=(?!{_TAKEN_OUT})[^\s&;'\"]+", re.IGNORECASE
    ),
    "a credential among options": re.compile(
        rf"['\"`\s(,.]{_NAME}['\"`]?\s*(?:=>?\s*|:\s*)?['\"](?!{_TAKEN_OUT})[^'\"]+['\"]", re.IGNORECASE
    ),
    "an Authorization header": re.compile(r"\b(?:bearer|basic)\s+(?=\D{0,99}\d)[a-z0-9._~+/-]{16,}", re.IGNORECASE),
    "an AWS access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "a JSON Web Token": re.compile(r"\beyJ[\w-]{8,999}\.eyJ[\w-]{8,9999}\.[\w-]{8}"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY"),
}
"""What each kind looks like, by its name."""

_SECRET_NAME = re.compile(rf"(?:.*[._-])?{_NAME}", re.IGNORECASE)
_ONLY_TAKEN_OUT = re.compile(rf"{_TAKEN_OUT}.*|", re.IGNORECASE | re.DOTALL)


def credentials_in(document: object) -> Iterator[str]:
    """Yield where texts look like a credential, and like which; what they are is not repeated.

    Args:
        document: as parsed from JSON.
    """
    pending = [("", "", document)]
    while pending:
        where, name, value = pending.pop()
        if isinstance(value, str):
            kinds = [kind for kind, form in KINDS.items() if form.search(value)]
            if _SECRET_NAME.fullmatch(name) and not _ONLY_TAKEN_OUT.fullmatch(value):
                kinds.append("the value of a credential, by its name")
            yield from (f"{where} holds what looks like {kind}" for kind in kinds)
        elif isinstance(value, dict):
            parts = [(f"{where}.{key}" if where else key, key, inner) for key, inner in value.items()]
            pending += reversed(parts)
        elif isinstance(value, list):
            pending += [(f"{where}[{place}]", name, inner) for place, inner in reversed([*enumerate(value)])]
