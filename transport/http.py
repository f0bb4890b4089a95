"""Transport that posts events to an OpenLineage API over HTTP, such as Marquez."""

from __future__ import annotations

import gzip
import json
import ssl
import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

import requests
from openlineage_pyspark.transport.base import Transport, TransportError
from openlineage_pyspark.transport.http_settings import HttpSettings, read_http_settings, without_secrets
from requests.auth import AuthBase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.transport.event import Event
    from typing_extensions import Self

_LONGEST_READ_BYTES = 65536
_PASSING_STATUSES = frozenset({408, 425, 429})
# Shorter values, such as `1` or `yes`, are no secrets and would tear an answer's text to shreds.
_SHORTEST_SECRET = 4
_GZIP_LEVEL = 3


class HttpTransport(Transport):
    """Posts each event as JSON, in one attempt, over a connection that is kept.

    Redirects are followed where they keep the method (307, 308), the host and its encryption; any other is
    an error, since it would turn the event into a GET or hand the credentials to a stranger.

    Args:
        settings: where and how to post.
    """

    OPTIONS = frozenset(
        {
            "url", "endpoint", "urlParams.*", "timeoutInMillis", "timeout", "compression", "headers.*",
            "custom_headers.*", "auth.type", "auth.apiKey", "auth.apikey", "auth.api_key",
        }
    )  # fmt: skip
    OPTIONS_NOT_YET = frozenset({"retry.*", "sslContext.*", "verify"})

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings
        self._shown = without_secrets(settings.url)
        self._session = _Session()
        self._session.auth = _Bearer(settings.api_key)
        self._session.headers["User-Agent"] = "openlineage-pyspark"
        self._session.headers.update(settings.headers)
        self._session.headers["Content-Type"] = "application/json; charset=UTF-8"
        self._session.headers["Accept"] = "application/json"
        if settings.compress:
            self._session.headers["Content-Encoding"] = "gzip"

    @classmethod
    def from_options(cls, options: Mapping[str, object], /) -> Self:
        """Make one from the options of the OpenLineage Java or Python client.

        Raises:
            TransportConfigError: an option is missing or can't be used.
        """
        return cls(read_http_settings(options))

    def send(self, event: Event) -> None:
        """Post the event.

        Raises:
            TransportError: no answer, or one that is no 2xx. Retryable are a lack of an answer, 408, 425, 429
                and 5xx, unless the body of a 5xx says `"code":400`, as Marquez's does for bad events.
        """
        settings = self._settings
        body = gzip.compress(event.body, _GZIP_LEVEL, mtime=0) if settings.compress else event.body
        timeouts = (settings.connect_seconds, settings.read_seconds)
        try:
            with self._session.post(settings.url, data=body, timeout=timeouts, stream=True) as response:
                answer = self._read(response)
        except requests.RequestException as exc:
            # Not chained: the text of these exceptions holds the query, where keys may be.
            raise self._unanswered(exc) from None
        if not 200 <= response.status_code < 300:
            raise self._refused(response, answer)

    def close(self, _timeout: float, /) -> None:
        """Close the connection; this waits for nothing."""
        self._session.close()

    def _read(self, response: requests.Response) -> str:
        # Read even where nobody looks at it: a connection with an unread answer can't be used again.
        end = time.monotonic() + self._settings.read_seconds
        text = b""
        try:
            for chunk in response.iter_content(8192):
                text += chunk
                if len(text) > _LONGEST_READ_BYTES or time.monotonic() > end:
                    break
        except requests.RequestException:
            # The status has come and decides; what is missing of the text would only be shown.
            return text.decode("utf-8", "replace")
        return text.decode("utf-8", "replace")

    def _refused(self, response: requests.Response, answer: str) -> TransportError:
        status = response.status_code
        message = f"{self._shown} answered {status}"
        if 300 <= status < 400:
            message += f" (moved to {without_secrets(response.headers.get('Location', 'nowhere'))})"
        return TransportError(
            message, retryable=_may_pass(status, answer), status=status, answer=self._redacted(answer)
        )

    def _redacted(self, answer: str) -> str:
        """Servers like to repeat the key that they refuse."""
        settings = self._settings
        params = [value for _, value in parse_qsl(urlsplit(settings.url).query)]
        for secret in (settings.api_key or "", *settings.headers.values(), *params):
            if len(secret) >= _SHORTEST_SECRET:
                answer = answer.replace(secret, "***")
        return answer

    def _unanswered(self, error: requests.RequestException) -> TransportError:
        retryable = isinstance(error, requests.ConnectionError | requests.Timeout)
        if isinstance(error, requests.ConnectTimeout):
            reason = f"no connection within {self._settings.connect_seconds:g} s"
        elif isinstance(error, requests.Timeout):
            reason = f"no answer within {self._settings.read_seconds:g} s"
        else:
            reason = _root_cause(error)
            retryable = retryable and not isinstance(error, requests.exceptions.SSLError)
        return TransportError(f"{self._shown} can't be reached ({reason})", retryable=retryable)


class _Session(requests.Session):
    """A session that follows only redirects which keep the method, the host and its encryption."""

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        target = super().get_redirect_target(resp)
        if not target or resp.status_code not in (307, 308):
            return None
        new, old = urlsplit(target), urlsplit(resp.url)
        same_host = new.hostname in (None, old.hostname)
        return target if same_host and new.scheme in ("", "https", old.scheme) else None


class _Bearer(AuthBase):
    """The api key as a header. Given even without a key, or requests would take one from ~/.netrc."""

    def __init__(self, api_key: str | None) -> None:
        self._api_key = api_key

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._api_key:
            r.headers["Authorization"] = f"Bearer {self._api_key}"
        return r


def _may_pass(status: int, answer: str) -> bool:
    if status in _PASSING_STATUSES:
        return True
    if status < 500:
        return False
    try:
        document = json.loads(answer)
    except ValueError:
        return True
    code = document.get("code") if isinstance(document, dict) else None
    return not (isinstance(code, int) and 400 <= code < 500)


def _root_cause(error: BaseException) -> str:
    while inner := error.__cause__ or error.__context__:
        error = inner
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate refused: {error.verify_message}"
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
