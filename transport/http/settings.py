"""Read the options of the http transport into one checked value."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, urlsplit, urlunsplit

import attrs
import requests
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.transport.address import holds_login, without_secrets
from openlineage_pyspark.transport.http import options as declared
from openlineage_pyspark.transport.http.answer import PASSING_STATUSES, passing_statuses
from openlineage_pyspark.transport.http.auth import TokenRequest, basic_authorization
from openlineage_pyspark.transport.http.tls import TlsSettings, read_tls_settings
from openlineage_pyspark.transport.options import KEY_PREFIX, not_such_a_word, prefix_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

_log = logging.getLogger(__name__)

# Below this, healthy receivers would fail.
SHORTEST_SECONDS = 0.1

_SCHEME = re.compile(r"bearer\s+", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@attrs.frozen(kw_only=True)
class HttpSettings:
    """
    Where and how to post events; its repr shows no credentials.

    Args:
        url: the whole address, with path and query.
        api_key: the key that is sent as `Authorization: Bearer`; None sends none.
        token: the request for the token that is sent instead of a key; None sends no token.
        headers: further headers.
        connect_seconds: the limit on connecting, in seconds.
        read_seconds: the limit on the wait for the response, in seconds.
        compress: whether the body is compressed with gzip.
        tls: the certificates.
        passing_statuses: the statuses below 500 after which the same event may be accepted later.
    """

    url: str = attrs.field(repr=False)
    api_key: str | None = attrs.field(default=None, repr=False)
    token: TokenRequest | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    connect_seconds: float = declared.CONNECT_SECONDS
    read_seconds: float = declared.READ_SECONDS
    compress: bool = False
    tls: TlsSettings = attrs.field(factory=TlsSettings)
    passing_statuses: frozenset[int] = PASSING_STATUSES


def read_http_settings(options: Mapping[str, object]) -> HttpSettings:
    """
    Read the options of the http transport.

    Args:
        options: the nested options. A timeout below 100 ms is raised to 100 ms.

    Raises:
        TransportConfigError: an option is missing or can't be used.
    """
    connect, read = _timeouts(options)
    token = _token(options)
    return HttpSettings(
        url=_address(options),
        api_key=None if token else _api_key(options),
        token=token,
        headers=_headers(options),
        connect_seconds=connect,
        read_seconds=read,
        compress=_compress(options),
        tls=read_tls_settings(options),
        passing_statuses=passing_statuses(options),
    )


def _address(options: Mapping[str, object]) -> str:
    url = declared.URL.required(options, "Set it to the receiver, such as http://localhost:5000.")
    parts = _split("url", url)
    base, end = parts.path.rstrip("/"), declared.ENDPOINT.read(options).strip("/")
    path = base if not end or f"{base}/".endswith(f"/{end}/") else f"{base}/{end}"
    if base and declared.ENDPOINT.given(options) is None and path != base:
        prefix = prefix_of(options)
        _log.warning(
            "%s.url has the path %s and no endpoint is set: events go to %s below it. To stop this"
            " warning, set %s.endpoint to that, or to nothing if the url is the whole address",
            prefix, base, end, prefix,
        )  # fmt: skip
    request = requests.PreparedRequest()
    parameters = declared.URL_PARAMS.read(options) or {}
    try:
        request.prepare_url(urlunsplit(parts._replace(path=path, fragment="")), parameters)
    except requests.RequestException:
        raise _no_address("url") from None
    return str(request.url)


def _split(option: str, url: str) -> SplitResult:
    # The value is not shown: it may be a key that was written into the wrong option.
    if not url.lower().startswith(("http://", "https://")):
        remedy = "Write it in full, such as http://localhost:5000."
        raise TransportConfigError(option, "does not begin with http:// or https://", remedy)
    if holds_login(url):
        remedy = f"Set {KEY_PREFIX}.auth.apiKey, or a header Authorization, instead."
        raise TransportConfigError(option, f"({without_secrets(url)}) holds a user or password", remedy)
    try:
        parts = urlsplit(url)
        # Older versions of urllib3 quote a space in the name of a server.
        usable = parts.hostname and parts.port != 0 and " " not in parts.hostname
    except ValueError:
        usable = False
    if not usable:
        raise _no_address(option)
    return parts


def _no_address(option: str) -> TransportConfigError:
    remedy = "Write http://host:port, such as http://localhost:5000."
    return TransportConfigError(option, "is not the address of a server", remedy)


def _api_key(options: Mapping[str, object]) -> str | None:
    kind = declared.AUTH_TYPE.given(options)
    key = declared.API_KEY.given(options)
    if kind == "none":
        return None
    if kind not in (None, "api_key", "bearer"):
        problem, hint = not_such_a_word(kind, ("api_key", "bearer", "jwt", "oauth2", "none"))
        remedy = f"{hint}Use api_key, jwt or oauth2, or a header Authorization."
        raise TransportConfigError("auth.type", problem, remedy)
    if kind and not key:
        problem = f"is not set, and auth.type is {kind}"
        raise TransportConfigError("auth.apiKey", problem, "Set it, or leave auth.type out.")
    _check_header("auth.apiKey", key or "")
    # Airflow passes on the whole header that it sends itself.
    found = key and _SCHEME.match(key)
    return key[found.end() :] if key and found else key


def _token(options: Mapping[str, object]) -> TokenRequest | None:
    kind = declared.AUTH_TYPE.read(options)
    if kind not in ("jwt", "oauth2"):
        return None
    remedy = "Set it to the address that issues tokens, such as https://login.example.com/token."
    endpoint = declared.TOKEN_ENDPOINT.required(options, remedy)
    _split(declared.TOKEN_ENDPOINT.name, endpoint)
    request = TokenRequest(
        url=endpoint,
        form={},
        token_fields=declared.TOKEN_FIELDS.read(options)
        or (("token", "access_token") if kind == "jwt" else ("access_token",)),
        expires_in_field=declared.EXPIRES_IN_FIELD.read(options) or declared.EXPIRES_IN_FIELD.default,
        refresh_buffer=declared.TOKEN_REFRESH_BUFFER.read(options),
    )
    return _by_key(request, options) if kind == "jwt" else _by_client(request, options)


def _by_key(request: TokenRequest, options: Mapping[str, object]) -> TokenRequest:
    """Return the request for a token in exchange for a key, as the JwtTokenProvider of the other clients sends it."""
    key = declared.API_KEY.required(options, "Set it to the key that is exchanged for a token.")
    form = {
        "apikey": key,
        "grant_type": declared.GRANT_TYPE.read(options) or declared.GRANT_TYPE.default,
        "response_type": declared.RESPONSE_TYPE.read(options) or declared.RESPONSE_TYPE.default,
    }
    return attrs.evolve(request, form=form, secrets=(key,), client=key)


def _by_client(request: TokenRequest, options: Mapping[str, object]) -> TokenRequest:
    """Return the request for a token by OAuth 2.0 client credentials (RFC 6749, 4.4)."""
    remedy = "Set it to the value that the login server issued."
    client = declared.CLIENT_ID.required(options, remedy)
    secret = declared.CLIENT_SECRET.required(options, remedy)
    method = declared.CLIENT_AUTH_METHOD.read(options) or declared.CLIENT_AUTH_METHOD.default
    scope = declared.SCOPE.read(options)
    form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
    # Encoded twice, as RFC 6749, 2.3.1, requires.
    basic = basic_authorization(quote_plus(client), quote_plus(secret))
    hidden = (secret, basic.partition(" ")[2])
    request = attrs.evolve(request, client=f"{client} {scope}")
    if method in ("client_secret_basic", "basic"):
        return attrs.evolve(request, form=form, authorization=basic, secrets=hidden)
    if method in ("client_secret_post", "post"):
        form |= {"client_id": client, "client_secret": secret}
        return attrs.evolve(request, form=form, secrets=hidden)
    remedy = "Use client_secret_basic or client_secret_post."
    raise TransportConfigError("auth.clientAuthMethod", "is an unknown method", remedy)


def _headers(options: Mapping[str, object]) -> dict[str, str]:
    headers = declared.HEADERS.read(options) or {}
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            # The name is not shown: it may contain the header's value.
            remedy = f"Use letters, digits and dashes, such as {KEY_PREFIX}.headers.X-Team=sales."
            raise TransportConfigError("headers", "hold an invalid header name", remedy)
        _check_header(f"headers.{name}", value)
    return headers


def _check_header(option: str, value: str) -> None:
    # The value is not shown: it may be a key.
    if not value.isascii() or not value.isprintable():
        raise TransportConfigError(option, "can't be sent in a header", "Use one line of ASCII characters.")


def _timeouts(options: Mapping[str, object]) -> tuple[float, float]:
    millis = declared.TIMEOUT_MILLIS.read(options)
    seconds = declared.TIMEOUT.read(options)
    if millis is not None and seconds is not None:
        problem = f"and {KEY_PREFIX}.timeout set the same option"
        raise TransportConfigError("timeoutInMillis", problem, "Keep one of them.")
    wanted = seconds if millis is None else millis / 1000
    if wanted is None:
        return declared.CONNECT_SECONDS, declared.READ_SECONDS
    if wanted < SHORTEST_SECONDS:
        _log.warning("%s: the timeout of %g s is too short: %g s is used", prefix_of(options), wanted, SHORTEST_SECONDS)
    return max(wanted, SHORTEST_SECONDS), max(wanted, SHORTEST_SECONDS)


def _compress(options: Mapping[str, object]) -> bool:
    name = (declared.COMPRESSION.read(options) or declared.COMPRESSION.default).lower()
    if name not in ("gzip", "none"):
        problem, hint = not_such_a_word(name, ("gzip", "none"))
        raise TransportConfigError("compression", problem, f"{hint}Use gzip, or leave it out.")
    return name == "gzip"
