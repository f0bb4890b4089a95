"""
Remove credentials from the URLs in a text: keep scheme, host, port and path; of a JDBC URL also the database.

Everything before the host and after the path is replaced by `***`: users, passwords, keys, signatures, tokens,
properties. `transport.address` does the same for single addresses; the same table of cases tests both.
"""

from __future__ import annotations

import re

from openlineage_pyspark.facets.datasets import naming
from openlineage_pyspark.facets.datasets.logins import LOGIN_IN_TEXT

REDACTED = "***"

# Bounded, since a text may be a megabyte of anything.
_URL = re.compile(r"""(?i)(?<![a-z0-9+.\-])(?:jdbc:[^\s'"`]+|(?:[a-z][a-z0-9+.\-]{0,40}:){1,3}//[^\s'"`]+)""")
_WITH_CONTAINER = re.compile(r"(?i)(?:abfss?|wasbs?)$")
_END_OF_PATH = re.compile(r"[?#;]")
_BEFORE_LOGIN = re.compile(r"""[\s'"`(\[{,=<>]""")
_HOST = re.compile(r"[\w\[(]")
_HOST_AND_PORT = re.compile(r"/{0,2}[\w.\-]+:\d")
_LONGEST_LOGIN = 512
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_MOST_PUNCTUATION = 8


def without_credentials(text: str) -> str:
    """
    Remove the credentials from every URL, `user:password@host` and `user/password@host:port` in a text.

    Args:
        text: any text; the work is linear in its length.
    """
    if "://" in text or "jdbc:" in text.lower():
        text = _URL.sub(_shown, text)
    return _without_logins(text) if "@" in text else text


def _shown(found: re.Match[str]) -> str:
    """Reduce a match of `_URL`, without the punctuation of the text after it."""
    url = found.group()
    for _ in range(_MOST_PUNCTUATION):
        opening = _BRACKETS.get(url[-1])
        if url[-1] not in ",." and (opening is None or url.count(opening) >= url.count(url[-1])):
            break
        url = url[:-1]
    return reduced(url) + found.group()[len(url) :]


def reduced(url: str) -> str:
    """
    Return a URL without its credentials.

    Args:
        url: with one scheme, several (`k8s://https://host`), or `jdbc:`.
    """
    if url.lower().startswith("jdbc:"):
        return _jdbc(url)
    scheme, _, rest = url.partition("://")
    login = LOGIN_IN_TEXT.match(rest)
    if login is not None:
        rest = f"{REDACTED}@{rest[login.end() :]}"
    elif not _WITH_CONTAINER.search(scheme):
        authority, slash, path = rest.partition("/")
        if "@" in authority:
            rest = f"{REDACTED}@{authority.rpartition('@')[2]}{slash}{path}"
    end = _END_OF_PATH.search(rest)
    if end is not None and end.end() < len(rest):
        rest = f"{rest[: end.end()]}{REDACTED}"
    return f"{scheme}://{rest}"


def _jdbc(url: str) -> str:
    if f";{REDACTED}" in url:  # it has been reduced before
        return url
    address = naming.jdbc_address(url)
    return address if address == url else f"{address};{REDACTED}"


def _without_logins(text: str) -> str:
    """Replace each user and password before an `@` that a host follows."""
    parts: list[str] = []
    done = 0
    at = text.find("@")
    while at >= 0:
        start = max(done, at - _LONGEST_LOGIN)
        piece = text[start:at]
        begin = start + max((found.end() for found in _BEFORE_LOGIN.finditer(piece)), default=0)
        if _is_login(text[begin:at], text, at + 1):
            parts += [text[done:begin], REDACTED]
            done = at
        else:
            parts.append(text[done:at])
            done = at
        at = text.find("@", at + 1)
    return "".join([*parts, text[done:]])


def _is_login(before: str, text: str, host: int) -> bool:
    if "://" in before or before.endswith(REDACTED):
        return False
    user, colon, password = before.partition(":")
    if colon and user and password:
        return _HOST.match(text, host) is not None
    user, slash, password = before.partition("/")
    # Oracle's form. A path may hold an `@` too, but not followed by a host and port.
    return bool(slash and user and password) and _HOST_AND_PORT.match(text, host) is not None
