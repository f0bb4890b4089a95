"""Posting over HTTP, from several threads at once: kept connections, bounded waiting, failures without secrets."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import socket
import ssl
import threading
import time
from collections import deque
from contextlib import contextmanager
from http.client import HTTPResponse
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import attrs
import requests
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.base import TransportError
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.transport.http.tls import TlsSettings

_LONGEST_READ_BYTES = 65536
# Of a piece that does not come in time nothing is seen.
_PIECE_BYTES = 64


@attrs.frozen
class Reply:
    """What a server answered.

    Args:
        status: of the answer.
        headers: of the answer, by names in any case.
        text: its first 64 KiB, or what came of that within the read timeout, but for the last few bytes.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(repr=False)
    text: str = attrs.field(repr=False)


class HttpClient:
    """Posts and gets, each time in one attempt, without following redirects and without a look at ~/.netrc.

    As many connections are open as threads post at once. Proxies are those of the environment.

    Args:
        tls: the certificates.
        connect_seconds: how long a connection may take.
        read_seconds: how long the server may be silent, and how long its answer may take as a whole.
    """

    def __init__(self, tls: TlsSettings, connect_seconds: float, read_seconds: float) -> None:
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._idle: deque[requests.Session] = deque()

    def post(
        self, url: str, body: bytes | Mapping[str, str], headers: Mapping[str, str], authorization: str | None
    ) -> Reply:
        """Post to an address.

        Args:
            url: the whole address.
            body: what to send, as it is; or the fields of a form.
            headers: to send along.
            authorization: the header of that name, which replaces one among `headers`; None sends none.

        Raises:
            TransportError: there was no answer; a later attempt may get one.
        """
        return self._request("POST", url, body, headers, authorization)

    def get(self, url: str, headers: Mapping[str, str], authorization: str | None) -> Reply:
        """Get what is at an address; arguments and errors are those of `post`."""
        return self._request("GET", url, None, headers, authorization)

    def _request(
        self,
        method: str,
        url: str,
        body: bytes | Mapping[str, str] | None,
        headers: Mapping[str, str],
        authorization: str | None,
    ) -> Reply:
        timeouts = (self._connect_seconds, self._read_seconds)
        try:
            with (
                self._session() as session,
                _unseen(),
                session.request(
                    method,
                    url,
                    data=body,
                    headers=headers,
                    auth=_Authorization(authorization),
                    timeout=timeouts,
                    verify=self._tls.verify,
                    allow_redirects=False,
                    stream=True,
                ) as response,
            ):
                return Reply(response.status_code, response.headers, self._read(response))
        # A ValueError is of a Location or a proxy that is no address, an OSError of a certificate that is gone.
        except (requests.RequestException, ValueError, OSError) as exc:
            # Not chained: the text of these exceptions holds the query, where keys may be.
            message = f"{without_secrets(url)} can't be reached ({self._reason(exc)})"
            raise TransportError(message, retryable=True) from None

    def close(self) -> None:
        """Close the connections that nobody uses at this moment; this waits for nothing."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _session(self) -> Iterator[requests.Session]:
        """Lend a session, which is of one thread at a time; the one that was used last has a warm connection."""
        try:
            session = self._idle.pop()
        except IndexError:
            session = requests.Session()
            session.headers = requests.structures.CaseInsensitiveDict({"Accept": "*/*", "Accept-Encoding": "identity"})
            for scheme in ("https://", "http://"):
                session.mount(scheme, _Adapter(self._tls.context))
        try:
            yield session
        finally:
            self._idle.append(session)

    def _read(self, response: requests.Response) -> str:
        # Read even where nobody looks at it: a connection with an unread answer can't be used again.
        text = b""
        # The status has come and decides; what is missing of the text would only be shown.
        with contextlib.suppress(requests.RequestException):
            for piece in response.iter_content(_PIECE_BYTES):
                text += piece
                if len(text) > _LONGEST_READ_BYTES:
                    break
        return text.decode("utf-8", "replace")

    def _reason(self, error: Exception) -> str:
        if isinstance(error, requests.ConnectTimeout):
            return f"no connection within {self._connect_seconds:g} s"
        if isinstance(error, requests.Timeout):
            return f"no answer within {self._read_seconds:g} s"
        return _root_cause(error)


def same_server(old: str, new: str) -> bool:
    """Tell whether what is meant for the one address may go to the other: same host, port and encryption.

    Args:
        old: the address that was posted to.
        new: the address that it names; from the usual port of HTTP to that of HTTPS is the same server too.
    """
    try:
        before, after = urlsplit(old), urlsplit(new)
        ports = before.port or _usual_port(before.scheme), after.port or _usual_port(after.scheme)
    except ValueError:
        return False
    same = before.scheme == after.scheme and ports[0] == ports[1]
    upgrade = (before.scheme, after.scheme, *ports) == ("http", "https", 80, 443)
    return bool(after.hostname) and before.hostname == after.hostname and (same or upgrade)


def _usual_port(scheme: str) -> int:
    return {"http": 80, "https": 443}.get(scheme, 0)


def _root_cause(error: BaseException) -> str:
    while inner := error.__cause__ or error.__context__:
        error = inner
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"no secure connection: {(error.reason or 'unknown').replace('_', ' ').lower()}"
    # http.client has no exception of its own for this, nor a status but in the text.
    tunnel = re.match(r"Tunnel connection failed: (\d{3})\b", str(error))
    if tunnel:
        return f"the proxy answered {tunnel[1]}"
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


class _Authorization(AuthBase):
    """The header of this name. Given even where there is none, or requests would take one from ~/.netrc."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._value:
            r.headers["Authorization"] = self._value
        return r


class _InTime(io.RawIOBase):
    """What a server sends, until the socket's timeout is over since the first byte was asked for.

    By itself the timeout begins anew with each byte, and a server that sends one now and then would never end.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket) -> None:
        self._raw = raw
        self._sock = sock
        self._seconds = sock.gettimeout()
        self._end = time.monotonic() + (self._seconds or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        if self._seconds is None:
            return self._raw.readinto(buffer)
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        try:
            return self._raw.readinto(buffer)
        finally:
            # The next request on this connection has a time of its own.
            self._sock.settimeout(self._seconds)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_InTime(self.fp.detach(), sock))


class _Connection(HTTPConnection):
    # Or http.client would print each header where a program has set its debuglevel.
    debuglevel = 0
    response_class = _Response


class _SecureConnection(HTTPSConnection):
    debuglevel = 0
    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    """What `requests` connects through: with the client's certificate, and without a trace of what is sent.

    Args:
        context: holds the client's certificate; None where there is none.
    """

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *sizes: Any, **pool_kwargs: Any) -> None:
        super().init_poolmanager(*sizes, **self._added(pool_kwargs))
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **self._added(proxy_kwargs))
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        return manager

    def _added(self, arguments: dict[str, Any]) -> dict[str, Any]:
        return arguments if self._context is None else {**arguments, "ssl_context": self._context}


_posting = threading.local()


class _NotOfOurs(logging.Filter):
    """Drops what urllib3 logs of our own posts: at level DEBUG it holds the query, where keys may be."""

    def filter(self, _record: logging.LogRecord) -> bool:
        return not getattr(_posting, "active", False)


_not_of_ours = _NotOfOurs()


@contextmanager
def _unseen() -> Iterator[None]:
    # Adding the same filter again changes nothing.
    logging.getLogger("urllib3.connectionpool").addFilter(_not_of_ours)
    _posting.active = True
    try:
        yield
    finally:
        _posting.active = False
