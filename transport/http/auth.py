"""Authentication over HTTP: with a key, or with a token that is fetched and renewed."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.errors import TransportError
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.http.answer import PASSING_STATUSES, mask_secrets, seconds_to_wait
from openlineage_pyspark.transport.http.options import EXPIRES_IN_FIELD, TOKEN_REFRESH_BUFFER

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.transport.http.client import HttpClient, Reply


class Login(Protocol):
    """A thread-safe source of the `Authorization` header."""

    def header(self) -> str | None:
        """
        Return the header for the next request; None to send none.

        Raises:
            TransportError: the header is not available.
        """

    def renewed(self, refused: str | None) -> str | None:
        """
        Return another header after a 401; None if there is no other.

        Args:
            refused: the header that was answered with 401.

        Raises:
            TransportError: the header is not available.
        """

    def secrets(self) -> tuple[str, ...]:
        """Return the values that no message may show."""


@attrs.frozen
class KeyLogin:
    """
    One key for every request.

    Args:
        key: sent as a bearer token (RFC 6750); None sends none.
    """

    key: str | None = attrs.field(default=None, repr=False)

    def header(self) -> str | None:
        """Return the key as a header."""
        return f"Bearer {self.key}" if self.key else None

    def renewed(self, _refused: str | None) -> None:
        """Return None, because there is only one key."""

    def secrets(self) -> tuple[str, ...]:
        """Return the key."""
        return (self.key,) if self.key else ()


@attrs.frozen(kw_only=True)
class TokenRequest:
    """
    The request for a token; its repr shows no credentials.

    Args:
        url: the token endpoint.
        form: the fields of the form to post.
        authorization: the value of the `Authorization` header; None sends none.
        token_fields: the fields of the answer that may hold the token; the first one found wins.
        expires_in_field: the field of the answer that holds the token's lifetime in seconds.
        refresh_buffer: how many seconds before it expires a token is renewed.
        secrets: the values that no message may show.
        client: identifies who logs in, whatever the current secret is.
    """

    url: str = attrs.field(repr=False)
    form: Mapping[str, str] = attrs.field(repr=False)
    authorization: str | None = attrs.field(default=None, repr=False)
    token_fields: tuple[str, ...] = ("token", "access_token")
    expires_in_field: str = EXPIRES_IN_FIELD.default
    refresh_buffer: float = TOKEN_REFRESH_BUFFER.default
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)
    client: str = attrs.field(default="", repr=False)


@attrs.frozen
class _Token:
    text: str = attrs.field(repr=False)
    renew_at: float | None


class TokenLogin:
    """
    A token that all threads share: one of them fetches it while the others wait.

    It is renewed before it expires, and at once if it is refused. A token of unknown lifetime is kept until it is
    refused.

    Args:
        request: the request for a token.
        client: sends the request.
        clock: returns the seconds of a monotonic clock.
    """

    def __init__(self, request: TokenRequest, client: HttpClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._request = request
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._token: _Token | None = None

    def header(self) -> str:
        """
        Return the token as a header; fetch it if there is none or it is about to expire.

        Raises:
            TransportError: the token endpoint gave no token; always retryable, see `_fetched`.
        """
        with self._lock:
            token = self._token
            if token is None or (token.renew_at is not None and self._clock() >= token.renew_at):
                token = self._token = self._fetched()
            return f"Bearer {token.text}"

    def renewed(self, refused: str | None) -> str:
        """
        Return another token as a header; fetch it unless another thread has done so.

        Args:
            refused: the header that was answered with 401.

        Raises:
            TransportError: the token endpoint gave no token; always retryable, see `_fetched`.
        """
        with self._lock:
            if self._token is not None and f"Bearer {self._token.text}" == refused:
                self._token = None
        return self.header()

    def secrets(self) -> tuple[str, ...]:
        """Return the credentials for the token, and the token."""
        token = self._token
        return (*self._request.secrets, *((token.text,) if token else ()))

    def _fetched(self) -> _Token:
        request = self._request
        now = self._clock()
        reply = self._client.post(request.url, request.form, {"Accept": "application/json"}, request.authorization)
        shown = without_secrets(request.url)
        if not 200 <= reply.status < 300:
            # The answer is about the login; the event has not been judged, so it is tried again. The status is not the
            # receiver's, so the error does not have it, and the receiver counts as unavailable.
            raise TransportError(
                f"the token endpoint {shown} answered {reply.status}{self._code(reply)}",
                retryable=True,
                retry_after=seconds_to_wait(reply.headers),
                lasting=400 <= reply.status < 500 and reply.status not in PASSING_STATUSES,
            )
        fields = _document(reply.text)
        found = (_found(fields, name) for name in request.token_fields)
        token = next((str(value) for value in found if isinstance(value, str | int) and str(value)), None)
        if token is None or not (token.isascii() and token.isprintable()):
            # The answer is not shown, because it may hold the token under another name.
            names = " or ".join(request.token_fields)
            raise TransportError(f"the token endpoint {shown} gave no token as {names}", retryable=True)
        lifetime = _seconds(_found(fields, request.expires_in_field)) or _remaining(token)
        if lifetime is None:
            return _Token(token, None)
        # A buffer longer than the lifetime would cost a fetch for each event.
        return _Token(token, now + max(lifetime - request.refresh_buffer, lifetime / 2))

    def _code(self, reply: Reply) -> str:
        """Return the error code of the answer (RFC 6749, 5.2) in parentheses; no other text of the answer is shown."""
        fields = _document(reply.text)
        code = next((fields[name] for name in ("error", "errorCode", "code") if name in fields), None)
        if not isinstance(code, str) or not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", code):
            return ""
        return "" if mask_secrets(code, self._request.secrets) != code else f" ({code})"


def basic_authorization(user: str, password: str) -> str:
    """Return the header of HTTP Basic (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _document(text: str) -> Mapping[str, object]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _found(fields: Mapping[str, object], name: str) -> object:
    """Return a field by its name, ignoring case and underscores as the other clients do."""
    if name in fields:
        return fields[name]
    plain = name.replace("_", "").lower()
    return next((value for field, value in fields.items() if field.replace("_", "").lower() == plain), None)


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return seconds if 0 < seconds < float("inf") else None


def _remaining(token: str) -> float | None:
    """Return the seconds until a JWT expires (`exp` of RFC 7519); None if it does not state it, or has expired."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = _document(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)).decode())
    except ValueError:
        return None
    end = _seconds(_found(claims, "exp"))
    return end - time.time() if end is not None and end > time.time() else None
