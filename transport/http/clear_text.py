"""Credentials that would cross the network unencrypted, because an address begins with http."""

from __future__ import annotations

import functools
import ipaddress
import logging
import re
import socket
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.http import options as declared
from openlineage_pyspark.transport.options import prefix_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openlineage_pyspark.transport.http.settings import HttpSettings

_log = logging.getLogger(__name__)

_CREDENTIAL = re.compile(r"(?i)auth|cookie|credential|key|pass|pwd|secret|signature|token")


def warn_of_clear_text(settings: HttpSettings, options: Mapping[str, object]) -> None:
    """
    Log a warning, once for each address, if a credential would be sent over plain http to another machine.

    Args:
        settings: the checked options.
        options: the options as they were given; `allowPlainHttp` among them confirms that this is intended.
    """
    if declared.ALLOW_PLAIN_HTTP.read(options):
        return
    for option, address, credential in _in_clear_text(settings):
        _warn(prefix_of(options), option, without_secrets(address), credential)


# If a process runs several applications, one after the other, only the first one logs the warning.
@functools.lru_cache(maxsize=1000)
def _warn(prefix: str, option: str, address: str, credential: str) -> None:
    _log.warning(
        "%s.%s is %s: %s would cross the network unencrypted. Use https, or set %s.%s=true if that is meant",
        prefix, option, address, credential, prefix, declared.ALLOW_PLAIN_HTTP.name,
    )  # fmt: skip


def _in_clear_text(settings: HttpSettings) -> Iterator[tuple[str, str, str]]:
    """Yield each option whose address is not encrypted, that address, and what is sent there."""
    if _is_open(settings.url):
        if settings.api_key:
            yield "url", settings.url, "the API key"
        elif settings.token:
            yield "url", settings.url, "the token"
        elif name := _credential(settings.headers):
            yield "url", settings.url, f"the header {name}"
        elif name := _credential(name for name, _ in parse_qsl(urlsplit(settings.url).query)):
            yield "url", settings.url, f"the parameter {name}"
    if settings.token and _is_open(settings.token.url):
        yield declared.TOKEN_ENDPOINT.name, settings.token.url, "the login"


def _credential(names: Iterable[str]) -> str | None:
    return next((name for name in names if _CREDENTIAL.search(name)), None)


def _is_open(address: str) -> bool:
    """Return whether an address uses plain http on a machine other than this one."""
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme != "http" or host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return not ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host != socket.gethostname().lower()
