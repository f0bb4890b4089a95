"""How to log in over HTTP: with a key, or with a token that is fetched for one and fetched again in time."""

from __future__ import annotations

import base64
import json
import re
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import attrs
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.base import TransportError
from openlineage_pyspark.transport.http.answer import mask_secrets, seconds_to_wait
from openlineage_pyspark.transport.http.options import EXPIRES_IN_FIELD, TOKEN_REFRESH_BUFFER

if TYPE_CHECKING:
    from collections.abc import Callable

    from openlineage_pyspark.transport.http.client import HttpClient, Reply


class Login(Protocol):
    """Where the Authorization header comes from; for several threads at once."""

    def header(self) -> str | None:
        """Return the header for the next post, None for none.

        Raises:
            TransportError: it could not be had.
        """

    def renewed(self, refused: str | None) -> str | None:
        """Return another header after a 401, None where there is no other.

        Args:
            refused: the header that was answered with 401.

        Raises:
            TransportError: it could not be had.
        """

    def secrets(self) -> tuple[str, ...]:
        """Return what must not be seen in any message."""


@attrs.frozen
class KeyLogin:
    """One key for every post.

    Args:
        key: sent as a bearer token (RFC 6750); None sends none.
    """

    key: str | None = attrs.field(default=None, repr=False)

    def header(self) -> str | None:
        """Return the key as a header."""
        return f"Bearer {self.key}" if self.key else None

    def renewed(self, _refused: str | None) -> None:
        """Return nothing: there is one key only."""

    def secrets(self) -> tuple[str, ...]:
        """Return the key."""
        return (self.key,) if self.key else ()


@attrs.frozen(kw_only=True)
class TokenRequest:
    """How a token is fetched; its repr shows no credential.

    Args:
        url: the token endpoint.
        form: the fields to post there.
        authorization: the header of this name; None sends none.
        token_fields: where in the answer the token may be, the first one wins.
        expires_in_field: where in the answer the token's lifetime is, in seconds.
        refresh_buffer: how many seconds before its end a token is fetched again.
        secrets: what must not be seen in any message.
    """

    url: str = attrs.field(repr=False)
    form: Mapping[str, str] = attrs.field(repr=False)
    authorization: str | None = attrs.field(default=None, repr=False)
    token_fields: tuple[str, ...] = ("token", "access_token")
    expires_in_field: str = EXPIRES_IN_FIELD.default
    refresh_buffer: float = TOKEN_REFRESH_BUFFER.default
    secrets: tuple[str, ...] = attrs.field(default=(), repr=False)


@attrs.frozen
class _Token:
    text: str = attrs.field(repr=False)
    renew_at: float | None


class TokenLogin:
    """A token that all threads share: one fetches it, and the others wait for that.

    It is fetched again before it ends, and at once where it is refused. One whose lifetime is nowhere said is
    kept until it is refused.

    Args:
        request: how a token is fetched.
        client: what posts there.
        clock: the time in seconds, of a clock that never jumps.
    """

    def __init__(self, request: TokenRequest, client: HttpClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._request = request
        self._client = client
        self._clock = clock
        self._lock = threading.Lock()
        self._token: _Token | None = None

    def header(self) -> str:
        """Return the token as a header, fetched where there is none or it is about to end.

        Raises:
            TransportError: the token endpoint gave no token; always retryable, see `_fetched`.
        """
        with self._lock:
            token = self._token
            if token is None or (token.renew_at is not None and self._clock() >= token.renew_at):
                token = self._token = self._fetched()
            return f"Bearer {token.text}"

    def renewed(self, refused: str | None) -> str:
        """Return another token as a header; it is fetched unless another thread has done so.

        Raises:
            TransportError: the token endpoint gave no token; always retryable, see `_fetched`.
        """
        with self._lock:
            if self._token is not None and f"Bearer {self._token.text}" == refused:
                self._token = None
        return self.header()

    def secrets(self) -> tuple[str, ...]:
        """Return what the token is fetched with, and the token."""
        token = self._token
        return (*self._request.secrets, *((token.text,) if token else ()))

    def _fetched(self) -> _Token:
        request = self._request
        now = self._clock()
        reply = self._client.post(request.url, request.form, {"Accept": "application/json"}, request.authorization)
        shown = without_secrets(request.url)
        if not 200 <= reply.status < 300:
            # Whatever it says is about the login and not about the event, which nobody has judged: it is tried again,
            # and the status is none of the receiver's, so that this counts as a receiver that is away.
            raise TransportError(
                f"the token endpoint {shown} answered {reply.status}{self._code(reply)}",
                retryable=True,
                retry_after=seconds_to_wait(reply.headers),
            )
        fields = _document(reply.text)
        found = (_found(fields, name) for name in request.token_fields)
        token = next((str(value) for value in found if isinstance(value, str | int) and str(value)), None)
        if token is None or not (token.isascii() and token.isprintable()):
            # Nothing of the answer is shown: the token may stand in it under another name.
            names = " or ".join(request.token_fields)
            raise TransportError(f"the token endpoint {shown} gave no token as {names}", retryable=True)
        lifetime = _seconds(_found(fields, request.expires_in_field)) or _remaining(token)
        if lifetime is None:
            return _Token(token, None)
        # A buffer longer than the lifetime would cost a fetch for each event.
        return _Token(token, now + max(lifetime - request.refresh_buffer, lifetime / 2))

    def _code(self, reply: Reply) -> str:
        """Return what kind of error it is (RFC 6749, 5.2), and no other text of the answer."""
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
    """Return a field by its name, or by one that differs in case and underscores alone, as the other clients do."""
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
    """Return the seconds until the token's own end (`exp` of RFC 7519), None where it says none or one in the past."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = _document(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)).decode())
    except ValueError:
        return None
    end = _seconds(_found(claims, "exp"))
    return end - time.time() if end is not None and end > time.time() else None
