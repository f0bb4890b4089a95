"""The receiver that `replay` and `send` deliver to: the configured one, or the one that `--to` names."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.delivery.configured import needs_driver, open_without_driver, read_configuration
from openlineage_pyspark.command.screen import complain
from openlineage_pyspark.errors import TransportConfigError
from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values
from openlineage_pyspark.transport.address import without_secrets
from openlineage_pyspark.transport.attempt import attempt
from openlineage_pyspark.transport.composite import independent_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport.base import Transport

LAST_SECONDS = 5.0
"""How many seconds it may take to close a delivery."""

_BY_DRIVER = "is written by a Spark driver's Hadoop client: "
_OF_SPOOL = "the next application sends the waiting events; or send them elsewhere with --to URL"
_OVER_HTTP = frozenset({"http", "async_http"})
_FILE = "file:"
# A receiver's address without a scheme; an address with a login in it does not match, and is never repeated.
_SERVER = re.compile(r"(?:localhost|[\w.-]+(?=:\d))(?::\d{1,5})?(?:/[\w./-]*)?")
_PATIENCE = 60.0
_TYPE = "spark.openlineage.transport.type"


def add_patience(parser: argparse.ArgumentParser) -> None:
    """Add the option that limits how long to wait for a receiver."""
    parser.add_argument(
        "--patience",
        type=_seconds,
        default=_PATIENCE,
        metavar="SECONDS",
        help="give up if no event is delivered for this many seconds (default: %(default)g)",
    )


def reachable_parts(options: argparse.Namespace, settings: Settings, *, instead: str = _OF_SPOOL) -> list[Transport]:
    """
    Open the transports to deliver through, and report why there are none or which are left out.

    Args:
        options: `to` and the options that `configured.add_options` adds.
        settings: the settings that result from them.
        instead: what can be done about a receiver to which only a Spark driver can write.
    """
    transport_options = _options(options, settings)
    hide_in_logs(secret_values({}, os.environ, sys.argv[1:], transport_options))
    if "type" not in transport_options:
        for warning in settings.warnings:
            complain(warning)
        complain("no transport is configured: name the receiver with --to URL")
        return []
    try:
        parts = independent_parts(open_without_driver(transport_options))
    except TransportConfigError as problem:
        complain(str(problem))
        return []
    here = [part for part in parts if not needs_driver(part)]
    for part in parts:
        if part not in here:
            complain(f"{part.destination} {_BY_DRIVER}{instead}")
            close(part)
    return here


def close(transport: Transport) -> None:
    """Close a transport, whatever it raises."""
    attempt(lambda: transport.close(LAST_SECONDS))


def address(text: str) -> str:
    """
    Return the address that the command line names.

    Raises:
        argparse.ArgumentTypeError: it is neither a URL of HTTP nor one of a file.
    """
    if text.lower().startswith(("http:", "https:", _FILE)):
        return text
    example = ", such as http://localhost:5000"
    if _SERVER.fullmatch(text):
        example = f"; did you mean http://{text}?"
    elif text.startswith(("/", ".", "~")):
        example = f"; did you mean {_FILE}{text}?"
    raise argparse.ArgumentTypeError(f"must begin with http:, https: or {_FILE}{example}")


def _options(options: argparse.Namespace, settings: Settings) -> Mapping[str, Any]:
    """Return the options of the transport to deliver through."""
    to: str | None = options.to
    if to is None:
        return settings.transport
    if to.lower().startswith(_FILE):
        path = to[len(_FILE) :]
        return {"type": "file", "location": to if path.startswith("/") else path}
    from openlineage_pyspark.transport.http.client import same_server

    configured = settings.transport
    if "type" not in configured:
        # A login may be configured for HTTP without a receiver: then it belongs to the one that is named here.
        named = argparse.Namespace(conf=[*options.conf, (_TYPE, "http")], properties_file=options.properties_file)
        configured = read_configuration(named, os.environ).settings.transport
        if "url" not in configured:
            return {**configured, "url": to}
    # Credentials for one server must not be sent to another.
    on_server = [each for each in _over_http(configured) if same_server(str(each.get("url")), to)]
    if not on_server:
        return {"type": "http", "url": to}
    chosen = next((each for each in on_server if _is_address_of(each, to)), on_server[0])
    if any(each.get("auth") != chosen.get("auth") for each in on_server) and not _is_address_of(chosen, to):
        complain(f"several configured transports are on the server of {without_secrets(to)}: the first one logs in")
    return {**chosen, "url": to}


def _over_http(options: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the options of a transport if it sends over HTTP; of a composite one, those of each part that does."""
    if str(options.get("type")) in _OVER_HTTP:
        yield {name: value for name, value in options.items() if name not in ("name", "priority")}
        return
    parts = options.get("transports")
    inner = [parts[name] for name in sorted(parts)] if isinstance(parts, Mapping) else parts
    for part in inner if isinstance(inner, list | tuple) else ():
        if isinstance(part, Mapping):
            yield from _over_http(part)


def _is_address_of(options: Mapping[str, Any], address: str) -> bool:
    """Return whether a transport over HTTP sends to an address, as it is configured or as the commands show it."""
    if options.get("url") == address:
        return True
    try:
        transport = open_without_driver(options)
    except TransportConfigError:
        return False
    close(transport)
    return transport.destination == without_secrets(address)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise argparse.ArgumentTypeError("must be a number of seconds, such as 60")
    return seconds
