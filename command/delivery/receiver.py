"""The receiver that `replay` and `send` deliver to: the configured one, or the one that `--to` names."""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from openlineage_pyspark.command.delivery.configured import needs_driver, open_without_driver, read_configuration
from openlineage_pyspark.command.screen import complain
from openlineage_pyspark.listener.start.secrets import hide_in_logs, secret_values
from openlineage_pyspark.transport import TransportConfigError
from openlineage_pyspark.transport.attempt import attempt
from openlineage_pyspark.transport.composite import independent_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openlineage_pyspark.listener.settings.settings import Settings
    from openlineage_pyspark.transport import Transport

LAST_SECONDS = 5.0
"""How long the end of a delivery may take."""

_BY_DRIVER = "is written by a Spark driver's Hadoop client: "
_OF_SPOOL = "the next application sends what waits for it, or --to URL"
_OVER_HTTP = frozenset({"http", "async_http"})
_FILE = "file:"
# A receiver's address without a scheme; an address with a login in it does not match, and is never repeated.
_SERVER = re.compile(r"(?:localhost|[\w.-]+(?=:\d))(?::\d{1,5})?(?:/[\w./-]*)?")
_PATIENCE = 60.0
_TYPE = "spark.openlineage.transport.type"


def add_patience(parser: argparse.ArgumentParser) -> None:
    """Add the option that limits the waiting for a receiver."""
    parser.add_argument(
        "--patience",
        type=_seconds,
        default=_PATIENCE,
        metavar="SECONDS",
        help="give up after so many seconds without a single event delivered (default: %(default)g)",
    )


def reachable_parts(options: argparse.Namespace, settings: Settings, *, instead: str = _OF_SPOOL) -> list[Transport]:
    """
    Open the transports to deliver through, and print why there are none or which are left out.

    Args:
        options: `to` and the options that `configured.add_options` adds.
        settings: the settings that result from them.
        instead: what can be done about a receiver that only a Spark driver reaches.
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
    example = "such as http://localhost:5000"
    if _SERVER.fullmatch(text):
        example = f"did you mean http://{text}?"
    elif text.startswith(("/", ".", "~")):
        example = f"did you mean {_FILE}{text}?"
    raise argparse.ArgumentTypeError(f"must begin with http:, https: or {_FILE}; {example}")


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
        # A login may be configured for HTTP without a receiver; it is meant for the one that is named here.
        named = argparse.Namespace(conf=[*options.conf, (_TYPE, "http")], properties_file=options.properties_file)
        configured = read_configuration(named, os.environ).settings.transport
        if "url" not in configured:
            return {**configured, "url": to}
    # Credentials for one server must not be sent to another.
    if str(configured.get("type")) in _OVER_HTTP and same_server(str(configured.get("url")), to):
        return {**configured, "url": to}
    return {"type": "http", "url": to}


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise argparse.ArgumentTypeError("must be a number of seconds, such as 60")
    return seconds
