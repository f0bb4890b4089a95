"""An HTTP client for several threads: it reuses connections, bounds all waiting, and shows no secrets in messages."""

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
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import attrs
import requests
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.address import without_secrets
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openlineage_pyspark.transport.http.tls import TlsSettings

_LONGEST_READ_BYTES = 65536
# Small, since a piece that does not arrive completely in time is lost.
_PIECE_BYTES = 64
# How much of a body is handed to the kernel at once, and how much the kernel buffers: what it buffers is still to be
# sent when the wait for the answer begins.
_SENT_BYTES = 16 * 1024
_KERNEL_BYTES = 128 * 1024
# The minimum of the limit on a pause while a body is sent: a slow line may take nothing for a moment.
_LEAST_SENDING_SECONDS = 10.0


def _read_only(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Return a view that can't be written; names stay case-insensitive."""
    return MappingProxyType(headers)


@attrs.frozen
class Reply:
    """
    The response of a server.

    Args:
        status: its status.
        headers: its headers; the names are case-insensitive.
        text: its first 64 KiB, or the part that arrived within the read timeout, except for the last few bytes.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(repr=False, converter=_read_only)
    text: str = attrs.field(repr=False)


class HttpClient:
    """
    Makes single requests; it does not follow redirects, and does not read ~/.netrc.

    There are as many connections as threads that send at once. Proxies are taken from the environment.

    Args:
        tls: the certificates.
        connect_seconds: the limit on connecting.
        read_seconds: the limit on the wait for the response, and on the time that the whole response may take. A
            request may take longer, as long as the server keeps accepting it: a pause may last for this time, or for
            10 s if that is longer.
    """

    def __init__(self, tls: TlsSettings, connect_seconds: float, read_seconds: float) -> None:
        self._tls = tls
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._idle: deque[requests.Session] = deque()

    def post(
        self, url: str, body: bytes | Mapping[str, str], headers: Mapping[str, str], authorization: str | None
    ) -> Reply:
        """
        Send a POST request.

        Args:
            url: the whole address.
            body: the bytes to send, or the fields of a form.
            headers: the headers.
            authorization: the value of the `Authorization` header, which replaces one in `headers`; None for no value.

        Raises:
            TransportError: there was no response; a later attempt may get one.
        """
        return self._request("POST", url, body, headers, authorization)

    def get(self, url: str, headers: Mapping[str, str], authorization: str | None) -> Reply:
        """Send a GET request; the arguments and errors are those of `post`."""
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
                _unseen(self._read_seconds),
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
        # An invalid Location or proxy address raises ValueError, a missing certificate file OSError.
        except (requests.RequestException, ValueError, OSError) as exc:
            # Not chained: the text of these exceptions holds the query, which may hold keys.
            problem = "did not take the whole request" if _is_stuck(exc) else "can't be reached"
            message = f"{without_secrets(url)} {problem} ({self._reason(exc)})"
            raise TransportError(message, retryable=True) from None

    def close(self) -> None:
        """Close the idle connections, without waiting."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _session(self) -> Iterator[requests.Session]:
        """Lend a session to one thread: the one that was used last, since its connection is most likely open."""
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
        # Always read, since a connection with an unread response can't be reused.
        text = b""
        # The status has arrived and decides; the text is only shown.
        with contextlib.suppress(requests.RequestException):
            for piece in response.iter_content(_PIECE_BYTES):
                text += piece
                if len(text) > _LONGEST_READ_BYTES:
                    break
        return text.decode("utf-8", "replace")

    def _reason(self, error: Exception) -> str:
        if _is_stuck(error):
            return "timed out while sending"
        if isinstance(error, requests.ConnectTimeout):
            return f"no connection within {self._connect_seconds:g} s"
        if isinstance(error, requests.Timeout):
            return f"no answer within {self._read_seconds:g} s"
        return _root_cause(error)


def same_server(old: str, new: str) -> bool:
    """
    Return whether credentials for one address may be sent to the other: same host, port and encryption.

    Args:
        old: the address of the request.
        new: the address of the redirect; a change from HTTP to HTTPS, both at their default ports, stays on the server.
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


class _SendingTimedOutError(TimeoutError):
    """The server took nothing of a request for too long."""


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, and those that led to it."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _is_stuck(error: BaseException) -> bool:
    return any(isinstance(each, _SendingTimedOutError) for each in _chain(error))


def _root_cause(error: BaseException) -> str:
    # Before it reads an answer, urllib3 1.26 tries an argument of Python 2, which raises a TypeError.
    *_, error = (error, *(each for each in _chain(error) if not isinstance(each, TypeError)))
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate refused: {error.verify_message}"
    # urllib3 1.26 compares the names itself.
    if type(error).__name__ == "CertificateError":
        return "certificate refused: Hostname mismatch"
    if isinstance(error, ssl.SSLError):
        return f"no secure connection: {(error.reason or 'unknown').replace('_', ' ').lower()}"
    # http.client raises no specific exception for this, and has the status only in the text.
    tunnel = re.match(r"Tunnel connection failed: (\d{3})\b", str(error))
    if tunnel:
        return f"the proxy answered {tunnel[1]}"
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


class _Authorization(AuthBase):
    """Sets the `Authorization` header. Passed even without a value, or requests would take one from ~/.netrc."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._value:
            r.headers["Authorization"] = self._value
        return r


class _InTime(io.RawIOBase):
    """
    A response as a stream, with the socket's timeout as the limit on the whole of it.

    By itself, the timeout starts again with each byte, so that a server that sends single bytes would never be cut off.
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
            # The next request on this connection starts with the full timeout.
            self._sock.settimeout(self._seconds)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        self.fp = io.BufferedReader(_InTime(self.fp.detach(), sock))


def _send_in_pieces(sock: socket.socket, data: bytes) -> None:
    """
    Send a request in pieces, each with its own time limit.

    By itself, the limit on connecting applies to the whole request, so a large one would always fail on a slow line.
    """
    before = sock.gettimeout()
    sock.settimeout(max(getattr(_posting, "read_seconds", 0.0), _LEAST_SENDING_SECONDS))
    try:
        for start in range(0, len(data), _SENT_BYTES):
            sock.sendall(data[start : start + _SENT_BYTES])
    except TimeoutError:
        raise _SendingTimedOutError from None
    finally:
        sock.settimeout(before)


_SMALL_BUFFER = (socket.SOL_SOCKET, socket.SO_SNDBUF, _KERNEL_BYTES)


class _Connection(HTTPConnection):
    # Otherwise http.client prints each header if the program has set its debuglevel.
    debuglevel = 0
    response_class = _Response
    default_socket_options: ClassVar[list[tuple[int, int, int | bytes]]] = [
        *HTTPConnection.default_socket_options,
        _SMALL_BUFFER,
    ]

    def send(self, data: Any) -> None:
        if self.sock is not None and isinstance(data, bytes):
            _send_in_pieces(self.sock, data)
        else:
            super().send(data)


class _SecureConnection(_Connection, HTTPSConnection):
    """The same over TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection

    def _validate_conn(self, conn: Any) -> None:
        # Without the warning of urllib3: it would reach the user's terminal with each event, and with `-W error` it is
        # an exception, so that no event is sent.
        if conn.sock is None:
            conn.connect()


class _Adapter(HTTPAdapter):
    """
    Connects with the client's certificate, and logs nothing of what is sent.

    Args:
        context: holds the client's certificate; None if there is none.
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


class _RequestLogFilter(logging.Filter):
    """Drops what urllib3 logs about our requests: at level DEBUG it logs the query, which may hold keys."""

    def filter(self, _record: logging.LogRecord) -> bool:
        return not getattr(_posting, "active", False)


_request_log_filter = _RequestLogFilter()


@contextmanager
def _unseen(read_seconds: float) -> Iterator[None]:
    """Keep the requests of this thread out of urllib3's log, and note their limit."""
    # Adding the same filter again changes nothing.
    logging.getLogger("urllib3.connectionpool").addFilter(_request_log_filter)
    _posting.active, _posting.read_seconds = True, read_seconds
    try:
        yield
    finally:
        _posting.active = False
