"""
URLs, taken apart and rebuilt from the parts that may be shown: scheme, host, port, path; of a JDBC URL the database.

Users, passwords, keys, signatures, tokens and properties stand before the host and behind the path, and are left out.
`***` stands where something was.
"""

from __future__ import annotations

import re

import attrs

REDACTED = "***"

HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:]+\]|[\w.\-]*)(?:\\\w+)?(?::(\d+)(?::(\w+))?)?:?")
"""The host of an authority, its port, and behind them a SID of Oracle."""

# Bounded, since a text may be a megabyte of anything.
_URL = re.compile(r"""(?i)(?<![a-z0-9+.\-])(?:jdbc:[^\s'"`]+|(?:[a-z][a-z0-9+.\-]{0,40}:){1,3}//[^\s'"`]+)""")
_LOGIN = re.compile(r"[^/@:?#]*:(?!\d{1,5}(?:[/?#]|$))\S*@")
_WITH_CONTAINER = re.compile(r"(?i)(?:abfss?|wasbs?)$")
_END_OF_PATH = re.compile(r"[?#;]")
_BEFORE_LOGIN = re.compile(r"""[\s'"`(\[{,=<>]""")
_HOST = re.compile(r"[\w\[(]")
_ORACLE_HOST = re.compile(r"/{0,2}[\w.\-]+:\d")
_DATABASE = re.compile(r"[\w.$%\-]*(?:/[\w.$%\-]*)?")
_EMBEDDED = ("derby", "sqlite", "h2", "hsqldb")
_LONGEST_LOGIN = 512
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_MOST_PUNCTUATION = 8


def without_credentials(text: str) -> str:
    """
    Return a text with every URL in it reduced, and every `user:password@host` and `user/password@host:port`.

    Args:
        text: of any kind; the work is linear in it.
    """
    if "://" in text or "jdbc:" in text.lower():
        text = _URL.sub(_shown, text)
    return _without_logins(text) if "@" in text else text


def _shown(found: re.Match[str]) -> str:
    """Return a URL in a text reduced, with the punctuation of the text behind it as it was."""
    url = found.group()
    for _ in range(_MOST_PUNCTUATION):
        opening = _BRACKETS.get(url[-1])
        if url[-1] not in ",." and (opening is None or url.count(opening) >= url.count(url[-1])):
            break
        url = url[:-1]
    return reduced(url) + found.group()[len(url) :]


def reduced(url: str) -> str:
    """
    Return one URL with nothing but the parts that may be shown.

    Args:
        url: with a scheme, several (`k8s://https://host`), or `jdbc:`.
    """
    if url.lower().startswith("jdbc:"):
        return _reduced_jdbc(url)
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


def _reduced_jdbc(url: str) -> str:
    if f";{REDACTED}" in url:  # it was reduced before
        return url
    address = jdbc_address(url)
    return address if address == url else f"{address};{REDACTED}"


def _without_logins(text: str) -> str:
    """Return a text without the users and passwords that stand before an `@` and a host."""
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
    return bool(slash and user and password) and _ORACLE_HOST.match(text, host) is not None


@attrs.frozen
class JdbcParts:
    """
    What a JDBC URL says, without users, passwords and properties.

    Args:
        kind: JDBC's word for the database, in lower case.
        host: of the server; empty for an embedded database.
        port: as it stands in the URL; empty if it does not.
        database: and a schema behind a slash; empty if there is none.
        place: where an embedded database lies; None for a server.
    """

    kind: str
    host: str = ""
    port: str = ""
    database: str = ""
    place: str | None = None


def jdbc_parts(url: str) -> JdbcParts:
    """
    Return the parts of a JDBC URL that may be shown; nothing else is looked at, so nothing else can get out.

    Args:
        url: the JDBC URL, with or without `jdbc:`.
    """
    kind, _, rest = url.removeprefix("jdbc:").partition(":")
    kind = kind.lower()
    if kind in _EMBEDDED:
        place = re.split(r"[;?]", rest, maxsplit=1)[0]
        scheme, slashes, remote = place.partition("//")
        return JdbcParts(kind, place=f"{scheme}{slashes}{remote.rpartition('@')[2]}")
    return JdbcParts(kind, *_server(kind, rest))


def jdbc_address(url: str) -> str:
    """
    Return a JDBC URL as a person reads it: kind, host, port and database, and nothing else.

    Args:
        url: the JDBC URL; user, password, parameters and properties in it are left out.
    """
    found = jdbc_parts(url)
    if found.place is not None:
        return f"jdbc:{found.kind}:{found.place}"
    address = f"jdbc:{found.kind}://{found.host}:{found.port}" if found.port else f"jdbc:{found.kind}://{found.host}"
    return f"{address}/{found.database}" if found.database else address


def _server(kind: str, rest: str) -> tuple[str, str, str]:
    """Return host, port and database of a server's JDBC URL."""
    named_host, named_port = _parameter(rest, "host|serverName"), _parameter(rest, "port|portNumber")
    _, at, head = re.split(r"[?;]", rest, maxsplit=1)[0].rpartition("@")
    # Oracle's login has no slashes before it, and what is no `@host` may be nothing but a login.
    head = head.rpartition("//")[2] if "(" not in head and (at or kind != "oracle") else ""
    address, _, path = head.partition("/")
    # Anything else than host and port is a password that holds what ends a login.
    found = HOST_AND_PORT.fullmatch(address.split(",", 1)[0])
    host, port, sid = found.groups() if found is not None else ("", None, None)
    database = _parameter(rest, "database|databaseName|db|service_name|sid") or re.split(r"[:,&]", path, maxsplit=1)[0]
    if "(" in rest and not database:
        database = re.split(r"[?;]", rest.rpartition(")")[2].removeprefix("/"), maxsplit=1)[0]
    if found is None or not _DATABASE.fullmatch(database):
        database = ""
    if kind == "snowflake":
        host = host.removesuffix(".snowflakecomputing.com")
    return host or named_host, port or named_port, database or sid or ""


def _parameter(rest: str, names: str) -> str:
    """Return the value of a parameter in any of the ways in which drivers write them: `;a=b`, `?a=b&c=d`, `(a=b)`."""
    found = re.search(rf"(?i)[;?&(,]\s*(?:{names})\s*=\s*\{{?([\w.\-]+)", rest)
    return found.group(1) if found else ""
