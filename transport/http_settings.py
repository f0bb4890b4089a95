"""Where and how to post over HTTP: the options of the OpenLineage clients, checked, as one value."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import attrs
import requests
from openlineage_pyspark.transport.base import KEY_PREFIX, TransportConfigError
from openlineage_pyspark.transport.options import map_option, number_option, text_option

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

_log = logging.getLogger(__name__)

DEFAULT_ENDPOINT = "api/v1/lineage"
CONNECT_SECONDS = 5.0
# A graph store may take seconds over one large event.
READ_SECONDS = 30.0
# Below this, healthy receivers would fail.
SHORTEST_SECONDS = 0.1

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@attrs.frozen(kw_only=True)
class HttpSettings:
    """Where and how to post; its repr shows no credential.

    Args:
        url: the whole address, with path and query.
        api_key: sent as `Authorization: Bearer`; None sends none.
        headers: further headers.
        connect_seconds: how long a connection may take.
        read_seconds: how long the receiver may be silent.
        compress: True sends the body as gzip.
    """

    url: str = attrs.field(repr=False)
    api_key: str | None = attrs.field(default=None, repr=False)
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    connect_seconds: float = CONNECT_SECONDS
    read_seconds: float = READ_SECONDS
    compress: bool = False


def read_http_settings(options: Mapping[str, object]) -> HttpSettings:
    """Read the options of the http transport.

    Args:
        options: the nested options. `timeoutInMillis` (or `timeout`, in seconds) holds for connecting and
            for reading, and is raised to 100 ms; without it they are 5 s and 30 s.

    Raises:
        TransportConfigError: an option is missing or can't be used.
    """
    connect, read = _timeouts(options)
    return HttpSettings(
        url=_address(options),
        api_key=_api_key(options),
        headers=_headers(options),
        connect_seconds=connect,
        read_seconds=read,
        compress=_compress(options),
    )


def without_secrets(url: str) -> str:
    """Cut user, password, query and fragment off, also from what is no proper URL."""
    start, slashes, rest = re.split(r"[?#]", url, maxsplit=1)[0].rpartition("//")
    return f"{start}{slashes}{rest.rpartition('@')[2]}"


def _address(options: Mapping[str, object]) -> str:
    url = text_option(options, "url")
    if not url:
        remedy = "Set it to the receiver, such as http://localhost:5000."
        raise TransportConfigError("url", "is not set", remedy)
    parts = _split(url)
    endpoint = text_option(options, "endpoint")
    base, end = parts.path.rstrip("/"), (DEFAULT_ENDPOINT if endpoint is None else endpoint).strip("/")
    path = base if not end or f"{base}/".endswith(f"/{end}/") else f"{base}/{end}"
    if base and endpoint is None and path != base:
        _log.warning(
            "%s.url has the path %s and no endpoint is set: events go to %s below it. Set %s.endpoint to"
            " that, or to nothing where the url is the whole address, and this warning goes",
            KEY_PREFIX, base, end, KEY_PREFIX,
        )  # fmt: skip
    request = requests.PreparedRequest()
    try:
        request.prepare_url(urlunsplit(parts._replace(path=path, fragment="")), map_option(options, "urlParams"))
    except requests.RequestException:
        raise _no_address(url) from None
    return str(request.url)


def _split(url: str) -> SplitResult:
    shown = without_secrets(url)
    try:
        parts = urlsplit(url)
        usable = parts.hostname and parts.port != 0
    except ValueError:
        raise _no_address(url) from None
    if parts.scheme not in ("http", "https"):
        remedy = f"Write it in full, such as http://{shown.rpartition('//')[2]}."
        raise TransportConfigError("url", f"is {shown!r}, without http:// or https://", remedy)
    if not usable:
        raise _no_address(url)
    if "@" in parts.netloc:
        remedy = f"Set {KEY_PREFIX}.auth.apiKey, or a header Authorization, in its place."
        raise TransportConfigError("url", f"({shown}) holds a user or password", remedy)
    return parts


def _no_address(url: str) -> TransportConfigError:
    problem = f"is {without_secrets(url)!r}, which is no address of a server"
    return TransportConfigError("url", problem, "Write http://host:port, such as http://localhost:5000.")


def _api_key(options: Mapping[str, object]) -> str | None:
    kind = text_option(options, "auth.type")
    key = text_option(options, "auth.apiKey", "auth.apikey", "auth.api_key")
    if kind not in (None, "api_key"):
        problem = f"is {kind!r}, which is {'not supported yet' if kind in ('jwt', 'oauth2') else 'unknown'}"
        raise TransportConfigError("auth.type", problem, "Use api_key, or a header Authorization.")
    if kind and not key:
        problem = "is not set, and auth.type is api_key"
        raise TransportConfigError("auth.apiKey", problem, "Set it, or leave auth.type out.")
    _check_header("auth.apiKey", key or "")
    return key


def _headers(options: Mapping[str, object]) -> dict[str, str]:
    headers = map_option(options, "headers", "custom_headers")
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise TransportConfigError(f"headers.{name}", "is no header's name", "Use letters, digits and dashes.")
        _check_header(f"headers.{name}", value)
    return headers


def _check_header(option: str, value: str) -> None:
    # The value is not shown: it may be a key.
    if not value.isascii() or not value.isprintable():
        raise TransportConfigError(option, "can't be sent in a header", "Use one line of ASCII characters.")


def _timeouts(options: Mapping[str, object]) -> tuple[float, float]:
    millis = number_option(options, "timeoutInMillis", unit="milliseconds")
    seconds = number_option(options, "timeout", unit="seconds")
    if millis is not None and seconds is not None:
        problem = f"and {KEY_PREFIX}.timeout say the same thing"
        raise TransportConfigError("timeoutInMillis", problem, "Keep one of them.")
    wanted = seconds if millis is None else millis / 1000
    if wanted is None:
        return CONNECT_SECONDS, READ_SECONDS
    if wanted < SHORTEST_SECONDS:
        _log.warning("%s: the timeout of %g s is raised to the shortest, %g s", KEY_PREFIX, wanted, SHORTEST_SECONDS)
    return max(wanted, SHORTEST_SECONDS), max(wanted, SHORTEST_SECONDS)


def _compress(options: Mapping[str, object]) -> bool:
    name = (text_option(options, "compression") or "none").lower()
    if name not in ("gzip", "none"):
        raise TransportConfigError("compression", f"is {name!r}", "Use gzip, or leave it out.")
    return name == "gzip"
