"""
Take URLs apart, and remove credentials from URLs in texts.

A URL in a text keeps its scheme, host, port and path; a JDBC URL also keeps its database. Everything before the host
and after the path is replaced by `***`: users, passwords, keys, signatures, tokens and properties. `transport.address`
does the same for single addresses; one table of cases tests both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

REDACTED = "***"

# The patterns for logins differ in the text around the URL; none of them matches `host:port/`.
_NO_PORT = re.compile(r":(?!\d+(?:/|$))")

LOGIN_OF_URL = re.compile(r"//[^/@:]{0,512}:(?!\d{1,512}(?:/|$))[^@]{0,2048}@")
"""A login with the slashes before it, in any text; bounded, because any number of slashes may follow."""

LOGIN_IN_TEXT = re.compile(r"[^/@:?#]*:(?!\d{1,5}(?:[/?#]|$))\S*@")
"""A login in the part of a URL after its `//`, inside another text: up to the last `@` before white space."""

PASSWORD_IN_TEXT = re.compile(r"//[^/@:\s]{0,200}:([^@\s]{1,400})@")
"""The password (group 1) of a URL in a text; bounded, because the text may be a megabyte long."""

HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:]+\]|[\w.\-]*)(?:\\\w+)?(?::(\d+)(?::(\w+))?)?:?")
"""The host and port of an authority, and an Oracle SID after them."""

# Bounded, because a text may be a megabyte long. A quote between two letters is part of a password.
_URL = re.compile(
    r"""(?ix)(?<![a-z0-9+.\-])(?:
        (?<=')jdbc:[^'\n]{1,2000}(?=')
        |(?<=")jdbc:[^"\n]{1,2000}(?=")
        |jdbc:(?:
            ;[\w.\x20]{1,60}=[^;'"\n{]{0,200}(?=;[\w.\x20]{1,60}=)
            |\{(?:[^}\n]|\}\}){0,200}\}
            |(?<=[/:=])"[^"\n]{0,200}"(?=[@;&])
            |(?<=[/:=])'[^'\n]{0,200}'(?=[@;&])
            |(?<=\w)['"](?=\w)
            |[^\s'"`]
        )+
        |(?:[a-z][a-z0-9+.\-]{0,40}:){1,3}//(?:[^\s'"`/@:]{0,200}:(?:[^\s'"`@/]|(?<=\w)['"`](?=\w)){1,200}@)?[^\s'"`]+
    )"""
)
_WEB = re.compile(r"(?i)https?$")
# The path of a web address after these parts is a secret: anyone who knows it can call the address.
_SECRET_PATH = re.compile(
    r"(?i)^[^/]*(?:hooks?|webhooks?)\.[^/]*/|/(?:[\w\-]*hooks?(?:b2)?|bot(?=\d+:)|(?:api|access|auth)?[_\-]?tokens?)(?:/|(?<=bot))(?=[^/])"
)
_WITH_CONTAINER = re.compile(r"(?i)(?:abfss?|wasbs?)$")
_END_OF_PATH = re.compile(r"[?#;]")
_BEFORE_LOGIN = re.compile(r"""[\s'"`(\[{,=<>]""")
_HOST = re.compile(r"[\w\[(]")
_ORACLE_HOST = re.compile(r"/{0,2}[\w.\-]+:\d")
_INSTANCE = re.compile(r"//[\w.\-]*\\(\w+)")
_DATABASE = re.compile(r"[\w.$%\-]*(?:/[\w.$%\-]*)?")
_EMBEDDED = ("derby", "sqlite", "h2", "hsqldb", "duckdb")
# Their drivers connect to this machine if a URL names no host.
_LOCAL = ("postgresql", "mysql", "mariadb")
# Properties of a JDBC URL that hold no credentials. All others are hidden.
_HARMLESS_PROPERTY = re.compile(
    r"(?i)[a-z][a-z\d_.]{0,60}=(?:true|false)|(?:databaseName|database|currentSchema|schema)=[\w./\\:%+\- ]*"
)
_AROUND = ("aws-wrapper", "p6spy", "log4jdbc", "otel", "tracing", "jtds", "microsoft")
_OTHER_NAMES = {
    "pgsql": "postgresql",
    "postgres": "postgresql",
    "ch": "clickhouse",
    "awsathena": "athena",
    "spanner": "cloudspanner",
}
_SPANNER = re.compile(r"/projects/([\w.:\-]+)/instances/([\w\-]+)(?:/databases/([\w\-]+))?")
_ATHENA = re.compile(r"(?i)//(athena\.[\w.\-]+)")
_PROTOCOL = re.compile(r"(?i)(?:https?|tcp|grpc)://")
_SCHEMA = re.compile(r"(?i)[;?&(,:/]\s*(?:currentSchema|schema|ConnSchema)\s*=\s*[{']?(%22|\")?([\w.$\-]{1,128})")
_SEARCH_PATH = re.compile(r"(?i)search_?path(?:=|%3D)'?(%22|\")?([\w$\-]{1,128})")
_LONGEST_LOGIN = 512
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_MOST_PUNCTUATION = 8


def without_credentials(text: str) -> str:
    """
    Remove the credentials from every URL, `user:password@host` and `user/password@host:port` in a text.

    Args:
        text: any text; the time is linear in its length.
    """
    if "://" in text or "jdbc:" in text.lower():
        text = _URL.sub(_shown, text)
    return _without_logins(text) if "@" in text else text


def url_at(text: str, start: int) -> str:
    """Return the URL that begins at an index of a text; empty if there is none."""
    found = _URL.match(text, start)
    return "" if found is None else found.group()


def _shown(found: re.Match[str]) -> str:
    """Return a match of `_URL` without credentials; the punctuation after the URL is not part of it."""
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
        url: a URL with one scheme, with several (`k8s://https://host`), or with `jdbc:`.
    """
    if url.lower().startswith("jdbc:"):
        return _reduced_jdbc(url)
    scheme, _, rest = url.partition("://")
    login = LOGIN_IN_TEXT.match(rest)
    if login is not None:
        rest = f"{REDACTED}@{rest[login.end() :]}"
    elif not _WITH_CONTAINER.search(scheme):
        authority, slash, path = rest.partition("/")
        if "@" in authority:
            rest = f"{REDACTED}@{authority.rpartition('@')[2]}{slash}{path}"
    if _WEB.match(scheme):
        rest = _without_secret_path(rest)
    end = _END_OF_PATH.search(rest)
    if end is not None and end.end() < len(rest):
        rest = f"{rest[: end.end()]}{REDACTED}"
    return f"{scheme}://{rest}"


def _without_secret_path(rest: str) -> str:
    """Hide the path of a webhook after its host or the word for it, and what follows the word `token` in a path."""
    found = _SECRET_PATH.search(rest)
    return rest if found is None or rest.startswith(REDACTED, found.end()) else f"{rest[: found.end()]}{REDACTED}"


def without_logins(rest: str) -> str:
    """
    Remove every login from the part of a URL after its `//`: the user, and the password up to the next `@`.

    A number after a colon is a port, not a password.

    Args:
        rest: authority and path; the time is linear in its length.
    """
    *before, last = rest.split("@")
    kept = []
    for piece in before:
        colon = _NO_PORT.search(f"{piece}@")
        if colon is None:
            kept.append(f"{piece}@")
        else:
            kept.append(piece[: max(piece.rfind("/", 0, colon.start()), piece.rfind(":", 0, colon.start())) + 1])
    return "".join([*kept, last])


def _reduced_jdbc(url: str) -> str:
    if f";{REDACTED}" in url:  # It has been reduced before.
        return url
    address = jdbc_address(url)
    return url if address == url or _is_harmless(url) else f"{address};{REDACTED}"


def _is_harmless(url: str) -> bool:
    """Return whether a JDBC URL has only an address, and properties that can't hold credentials."""
    start, *properties = re.split(r"[;?&]", url.removesuffix(";"))
    # Only the URL of an embedded database may have the database's name in a property; a server's is in the address.
    return (
        "@" not in url
        and jdbc_address(start) == start
        and all(_HARMLESS_PROPERTY.fullmatch(each) is not None for each in properties)
    )


def _without_logins(text: str) -> str:
    """Replace each user and password before an `@` and a host."""
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
    # Oracle's form. A path may contain an `@` too, but without a host and port after it.
    return bool(slash and user and password) and _ORACLE_HOST.match(text, host) is not None


@attrs.frozen
class JdbcParts:
    """
    The parts of a JDBC URL, without users, passwords and properties.

    Args:
        kind: JDBC's name of the database system, in lower case.
        host: the host of the server; empty for an embedded database.
        port: the port in the URL; empty if it has none.
        database: the name of the database, and after a slash a schema; empty if there is none.
        place: the location of an embedded database; None for a server.
        schema: the schema that is current for a bare name, in double quotes if the URL has these; empty if it names
            none.
        instance: the instance of an SQL Server, in lower case; empty if the URL has a port, which identifies it.
    """

    kind: str
    host: str = ""
    port: str = ""
    database: str = ""
    place: str | None = None
    schema: str = ""
    instance: str = ""


def jdbc_parts(url: str) -> JdbcParts:
    """
    Return the parts of a JDBC URL that may be shown; nothing else is read, so nothing else can leak.

    Args:
        url: the JDBC URL, with or without `jdbc:`.
    """
    kind, _, rest = url.removeprefix("jdbc:").partition(":")
    kind = kind.lower()
    while kind in _AROUND and ":" in rest:
        # A driver that wraps the driver of the database.
        kind, _, rest = rest.partition(":")
        kind = kind.lower()
    kind = _OTHER_NAMES.get(kind, kind)
    if kind in _EMBEDDED:
        place = re.split(r"[;?]", rest, maxsplit=1)[0]
        scheme, slashes, remote = place.partition("//")
        return JdbcParts(kind, place=f"{scheme}{slashes}{remote.rpartition('@')[2]}", schema=_schema(rest))
    if kind == "clickhouse":
        # Its URLs may name the protocol of the connection: `jdbc:ch:https://host/database`.
        rest = rest[rest.find("//") :] if _PROTOCOL.match(rest) is not None else rest
    if kind in _SERVICES:
        return _SERVICES[kind](rest)
    host, port, database = _server(kind, rest)
    instance = _instance(rest) if kind == "sqlserver" and not port else ""
    return JdbcParts(kind, host, port, database, schema=_schema(rest), instance=instance)


def _bigquery(rest: str) -> JdbcParts:
    """Return the parts of a URL of BigQuery: all projects have the same address."""
    return JdbcParts("bigquery", database=_parameter(rest, "ProjectId"), schema=_parameter(rest, "DefaultDataset"))


def _athena(rest: str) -> JdbcParts:
    """Return the parts of a URL of Athena: each region has a server."""
    region, found = _parameter(rest, "AwsRegion|Region"), _ATHENA.search(rest)
    host = found[1].lower() if found is not None else f"athena.{region.lower()}.amazonaws.com" if region else ""
    catalog = _parameter(rest, "Catalog") or "AwsDataCatalog"
    return JdbcParts("athena", host, database=catalog, schema=_parameter(rest, "Schema|Database"))


def _spanner(rest: str) -> JdbcParts:
    """Return the parts of a URL of Spanner: the address is a project and an instance."""
    found = _SPANNER.search(rest)
    project, instance, database = found.groups("") if found is not None else ("", "", "")
    return JdbcParts("cloudspanner", project, instance, database)


_SERVICES: dict[str, Callable[[str], JdbcParts]] = {"bigquery": _bigquery, "athena": _athena, "cloudspanner": _spanner}
"""JDBC's name of a service whose URLs have forms of their own -> the function that reads them."""


def _schema(rest: str) -> str:
    """Return the current schema that a URL sets: by `currentSchema`, `schema`, or a `search_path`."""
    found = _SCHEMA.search(rest) or _SEARCH_PATH.search(rest)
    if found is None:
        return ""
    return f'"{found[2]}"' if found[1] else found[2]


def _instance(rest: str) -> str:
    """Return the instance of an SQL Server that a URL names, in lower case; empty if it names none."""
    after_host = _INSTANCE.match(rest)
    return (after_host[1] if after_host is not None else _parameter(rest, "instanceName")).lower()


def jdbc_address(url: str) -> str:
    """
    Return a JDBC URL for display, with nothing but kind, host, port and database.

    Args:
        url: the JDBC URL; user, password, parameters and properties in it are left out.
    """
    found = jdbc_parts(url)
    if found.place is not None:
        return f"jdbc:{found.kind}:{found.place}"
    address = f"jdbc:{found.kind}://{found.host}:{found.port}" if found.port else f"jdbc:{found.kind}://{found.host}"
    return f"{address}/{found.database}" if found.database else address


def _server(kind: str, rest: str) -> tuple[str, str, str]:
    """Return the host, port and database of a server's JDBC URL."""
    named_host, named_port = _parameter(rest, "host|serverName"), _parameter(rest, "port|portNumber|DBS_PORT")
    _, at, head = re.split(r"[?;]", rest, maxsplit=1)[0].rpartition("@")
    # Oracle's login has no slashes before it, so a text without `@host` may be only a login.
    # Without a login, and with no host, it may be the name of a database alone.
    is_bare = not at and kind == "postgresql"
    address, path = _address(head, is_bare=is_bare) if "(" not in head and (at or kind != "oracle") else ("", "")
    # Anything but host and port is a part of a password that contains the character that ends a login.
    found = HOST_AND_PORT.fullmatch(address.split(",", 1)[0])
    host, port, sid = found.groups() if found is not None else ("", None, None)
    named = _parameter(rest, "database|databaseName|db|service_name|sid|ConnCatalog")
    database = named or re.split(r"[:,&]", path, maxsplit=1)[0]
    if "(" in rest and not database:
        database = re.split(r"[?;]", rest.rpartition(")")[2].removeprefix("/"), maxsplit=1)[0]
    if found is None or not _DATABASE.fullmatch(database):
        database = ""
    if kind == "snowflake":
        host = host.removesuffix(".snowflakecomputing.com")
    host = host or named_host or ("localhost" if kind in _LOCAL and found is not None else "")
    return host.lower(), port or named_port, database or sid or ""


def _address(head: str, *, is_bare: bool) -> tuple[str, str]:
    """
    Return the part of a URL's start between the last two slashes and the next one, and the part after that.

    Args:
        head: the start of the URL, up to its parameters.
        is_bare: whether a start without slashes is the name of a database on this machine.
    """
    before, slashes, after = head.rpartition("//")
    if before.endswith("/") or (is_bare and not slashes):
        # `///database`
        return "", after.strip("/")
    address, _, path = after.partition("/")
    # The path of a web address is not a database.
    return address, "" if _WEB.search(before.removesuffix(":")) else path


def _parameter(rest: str, names: str) -> str:
    """Return the value of a parameter in any notation of drivers: `;a=b`, `?a=b&c=d`, `(a=b)`; empty if absent."""
    found = re.search(rf"(?i)[;?&(,:/]\s*(?:{names})\s*=\s*\{{?([\w.\-]+)", rest)
    return found.group(1) if found else ""
