"""Transport that posts events to an OpenLineage API over HTTP, such as Marquez."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urljoin, urlsplit

from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.base import Reached, Transport, sender_of
from openlineage_pyspark.transport.http import options as declared
from openlineage_pyspark.transport.http.answer import LASTING_STATUSES, mask_secrets, may_pass, seconds_to_wait
from openlineage_pyspark.transport.http.auth import KeyLogin, TokenLogin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from openlineage_pyspark.transport.http.auth import Login
    from openlineage_pyspark.transport.http.client import HttpClient, Reply
    from openlineage_pyspark.transport.http.settings import HttpSettings
    from typing_extensions import Self

_GZIP_LEVEL = 3
_MOST_REDIRECTS = 5
_UNAUTHORISED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404


class HttpTransport(Transport):
    """
    An OpenLineage API over HTTP, such as Marquez.

    Each event is posted as JSON, in one attempt, over connections that are kept. A post has the event's id as
    `Idempotency-Key`, so that a receiver can drop a repeat. Redirects are followed if they keep the method (307, 308),
    the server and its encryption; any other is an error, because it would turn the request into a GET or send the
    credentials to another server.

    Args:
        settings: where and how to post.
    """

    OPTIONS = declared.OPTIONS
    CONNECTIONS = 4
    SPOOLED = True

    def __init__(self, settings: HttpSettings) -> None:
        from openlineage_pyspark.transport.http.client import HttpClient

        self._settings = settings
        self._shown = without_secrets(settings.url)
        self._client = HttpClient(settings.tls, settings.connect_seconds, settings.read_seconds)
        self._login_client: HttpClient | None = None
        self._login: Login = KeyLogin(settings.api_key)
        if settings.token:
            tls = settings.tls.beside_public()
            self._login_client = HttpClient(tls, settings.connect_seconds, settings.read_seconds)
            self._login = TokenLogin(settings.token, self._login_client)
        self._headers = _merged(
            {"User-Agent": "openlineage-pyspark"},
            settings.headers,
            {"Content-Type": "application/json; charset=UTF-8", "Accept": "application/json"},
            {"Content-Encoding": "gzip"} if settings.compress else {},
        )

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """
        Make a transport from the options of the OpenLineage Java or Python client.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        from openlineage_pyspark.transport.http.clear_text import warn_of_clear_text
        from openlineage_pyspark.transport.http.settings import read_http_settings

        settings = read_http_settings(options)
        warn_of_clear_text(settings, options)
        return cls(settings)

    @property
    def destination(self) -> str:
        """The address, without credentials and query."""
        return self._shown

    @property
    def sender(self) -> str:
        """The key or login, the headers, the parameters of the URL, and the client's certificate."""
        settings = self._settings
        return sender_of(
            key=settings.api_key,
            login=settings.token and [settings.token.url, settings.token.client],
            headers=sorted((name.lower(), value) for name, value in settings.headers.items()),
            parameters=urlsplit(settings.url).query,
            certificate=settings.tls.client,
        )

    def send(self, event: Event) -> None:
        """
        Post the event; if the token is refused, post it once more with a new one.

        Raises:
            TransportError: there was no response, or its status is not 2xx. Retryable are: no response, no token, 408,
                425, 429 and 5xx; except a 5xx with `"code":400` in its body, Marquez's answer to a bad event. Answers
                about the client or the address (3xx, 401, 403, 404 and others) are retryable too, and last until
                somebody repairs the cause.
        """
        authorization = self._login.header()
        reply = self._post(event, authorization)
        if reply.status == _UNAUTHORISED:
            renewed = self._login.renewed(authorization)
            reply = self._post(event, renewed) if renewed else reply
        if not 200 <= reply.status < 300:
            raise self._refused(reply)

    def reach(self) -> Reached:
        """
        Send a GET to the address that events are posted to, with the same login and headers.

        Raises:
            TransportError: there was no response, or its status is 401, 403 or 5xx.
        """
        about_body = {"content-type", "content-encoding"}
        headers = {name: value for name, value in self._headers.items() if name.lower() not in about_body}
        authorization = self._login.header()
        reply = self._client.get(self._settings.url, headers, authorization)
        if reply.status == _UNAUTHORISED:
            renewed = self._login.renewed(authorization)
            reply = self._client.get(self._settings.url, headers, renewed) if renewed else reply
        if reply.status in (_UNAUTHORISED, _FORBIDDEN) or reply.status >= 500:
            raise self._refused(reply)
        doubt = ""
        if reply.status == _NOT_FOUND:
            doubt = "there may be no receiver at this address"
        elif 300 <= reply.status < 400:
            doubt = f"it has moved to {without_secrets(reply.headers.get('Location', 'nowhere'))}"
        return Reached(f"GET {self._shown} was answered with {reply.status}", doubt)

    def close(self, _timeout: float, /) -> None:
        """Close the connections, without waiting."""
        self._client.close()
        if self._login_client is not None:
            self._login_client.close()

    def _post(self, event: Event, authorization: str | None) -> Reply:
        from openlineage_pyspark.transport.http.client import same_server

        body = gzip.compress(event.body, _GZIP_LEVEL, mtime=0) if self._settings.compress else event.body
        headers = _merged({"Idempotency-Key": event.id}, self._headers)
        url = self._settings.url
        reply = self._client.post(url, body, headers, authorization)
        for _ in range(_MOST_REDIRECTS):
            target = urljoin(url, reply.headers.get("Location", ""))
            if reply.status not in (307, 308) or target == url or not same_server(url, target):
                break
            url = target
            reply = self._client.post(url, body, headers, authorization)
        return reply

    def _refused(self, reply: Reply) -> TransportError:
        status = reply.status
        message = f"{self._shown} answered {status}"
        if 300 <= status < 400:
            message += f" (moved to {without_secrets(reply.headers.get('Location', 'nowhere'))})"
        return TransportError(
            message,
            retryable=may_pass(status, reply.text, self._settings.passing_statuses),
            status=status,
            answer=mask_secrets(reply.text, self._secrets()),
            retry_after=seconds_to_wait(reply.headers),
            lasting=status in LASTING_STATUSES,
        )

    def _secrets(self) -> tuple[str, ...]:
        settings = self._settings
        parameters = [value for _, value in parse_qsl(urlsplit(settings.url).query)]
        return (*self._login.secrets(), *settings.headers.values(), *parameters)


def _merged(*layers: Mapping[str, str]) -> dict[str, str]:
    """Merge headers; of those with the same name, in any case, the last one wins."""
    by_lower = {name.lower(): (name, value) for layer in layers for name, value in layer.items()}
    return dict(by_lower.values())
