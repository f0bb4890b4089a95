"""
URLs in texts, rebuilt from the parts that are allowed in them: scheme, host, port, path; of a JDBC URL the database.

What stands before the host, and what stands behind the path, is left behind: users, passwords, keys, signatures,
tokens, properties. `***` stands where something was.
"""

from __future__ import annotations

import re

from openlineage_pyspark.facets.datasets import naming

REDACTED = "***"

# Bounded, since a text may be a megabyte of anything.
_URL = re.compile(r"""(?i)(?<![a-z0-9+.\-])(?:jdbc:[^\s'"`]+|(?:[a-z][a-z0-9+.\-]{0,40}:){1,3}//[^\s'"`]+)""")
_LOGIN = re.compile(r"[^/@:?#]*:(?!\d{1,5}(?:[/?#]|$))\S*@")
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
    A text with every URL in it reduced, and with every `user:password@host` and `user/password@host:port`.

    Args:
        text: of any kind; the work is linear in it.
    """
    if "://" in text or "jdbc:" in text.lower():
        text = _URL.sub(_shown, text)
    return _without_logins(text) if "@" in text else text


def _shown(found: re.Match[str]) -> str:
    """A URL in a text, without what the text has put behind it."""
    url = found.group()
    for _ in range(_MOST_PUNCTUATION):
        opening = _BRACKETS.get(url[-1])
        if url[-1] not in ",." and (opening is None or url.count(opening) >= url.count(url[-1])):
            break
        url = url[:-1]
    return reduced(url) + found.group()[len(url) :]


def reduced(url: str) -> str:
    """
    One URL from the parts that are allowed in it.

    Args:
        url: with a scheme, several (`k8s://https://host`), or `jdbc:`.
    """
    if url.lower().startswith("jdbc:"):
        return _jdbc(url)
    scheme, _, rest = url.partition("://")
    login = _LOGIN.match(rest)
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
    if f";{REDACTED}" in url:  # it was reduced before
        return url
    address = naming.jdbc_address(url)
    return address if address == url else f"{address};{REDACTED}"


def _without_logins(text: str) -> str:
    """What stands before an `@` that a host follows, where it is a user and a password."""
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
    # Oracle's; a path may hold an `@` as well, but no host with its port behind it.
    return bool(slash and user and password) and _HOST_AND_PORT.match(text, host) is not None
