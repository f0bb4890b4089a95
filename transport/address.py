"""
Strip credentials, query and fragment from addresses before they are logged.

`facets.urls` does the same for URLs inside other texts. This module is separate because `transport` imports
nothing from `facets`; one table of cases, in `tests/test_url_credentials.py`, tests both.
"""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]*:)?//+|)(.*)", re.DOTALL)
# Host and port. In Azure's URLs the part before the `@` is the container; after three slashes a path begins.
_NO_LOGIN = re.compile(
    r"(?i)(?:(?:abfs|wasb)s?://[^@:]*@|[^@]*//|)(?:\[[^\]@]*\]|[^@:]*)(?::[0-9]{0,5})?|[^@]*///[^:]*"
)


def without_secrets(address: str) -> str:
    """
    Return an address without user, password, query and fragment, even if it is not a valid URL.

    A password may contain any character, even `/`, `?` and `#`. If the text before the first of these can't be a host
    and port, everything up to the last `@` is assumed to be the login.
    """
    found = _ADDRESS.match(address)
    start, rest = found.groups() if found else ("", address)
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if not _NO_LOGIN.fullmatch(start + authority):
        login, _, rest = rest.rpartition("@")
        if "@" in authority and re.search(r"[?#]", login):
            # The last `@` may belong to the query.
            rest = "***"
    return start + re.split(r"[?#]", rest, maxsplit=1)[0]


def holds_login(address: str) -> bool:
    """Return whether an address has a user or a password before the host."""
    return not address.startswith(without_secrets(address))
