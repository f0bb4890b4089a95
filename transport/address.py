"""Addresses as they may be shown: without whom they let in."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.-]*:)?//+|)(.*)", re.DOTALL)
# Host and port. Of Azure's stores what stands before the `@` is the container; behind three slashes a path begins.
_NO_LOGIN = re.compile(
    r"(?i)(?:(?:abfs|wasb)s?://[^@:]*@|[^@]*//|)(?:\[[^\]@]*\]|[^@:]*)(?::[0-9]{0,5})?|[^@]*///[^:]*"
)


def without_secrets(address: str) -> str:
    """Cut user, password, query and fragment off, also from what is no proper URL.

    A password may hold any sign, `/`, `?` and `#` too. Where the text up to the first of them can't be host and
    port, all up to the last `@` is the login.

    Args:
        address: a URL or the like.
    """
    found = _ADDRESS.match(address)
    start, rest = found.groups() if found else ("", address)
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if not _NO_LOGIN.fullmatch(start + authority):
        login, _, rest = rest.rpartition("@")
        if "@" in authority and re.search(r"[?#]", login):
            # The last `@` may be one of the query.
            rest = "***"
    return start + re.split(r"[?#]", rest, maxsplit=1)[0]


def holds_login(address: str) -> bool:
    """Tell whether there is a user or a password before the host."""
    return not address.startswith(without_secrets(address))
