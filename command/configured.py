"""What a job of this environment would get, for the commands that need it: its settings, and the transport of them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
from openlineage_pyspark.command.spark_conf import SparkConf, SparkPlace, find_spark, read_conf
from openlineage_pyspark.listener.settings.settings import Settings, default_search, load
from openlineage_pyspark.transport import Transport, open_transport
from openlineage_pyspark.transport.composite import CompositeTransport
from openlineage_pyspark.transport.file.filesystem import offered
from openlineage_pyspark.transport.file.transport import FileTransport

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class Configured:
    """
    What is configured.

    Args:
        spark: the Spark whose defaults were read.
        conf: its configuration, with what the command line adds.
        search: the YAML files that were looked for.
        settings: what is made of all sources.
    """

    spark: SparkPlace
    conf: SparkConf
    search: tuple[Path, ...]
    settings: Settings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what spark-submit would be given."""
    parser.add_argument(
        "--conf",
        "-c",
        action="append",
        default=[],
        type=_pair,
        metavar="KEY=VALUE",
        help="a Spark property, as for spark-submit; as often as you like",
    )
    parser.add_argument("--properties-file", type=Path, metavar="FILE", help="in place of Spark's spark-defaults.conf")


def read(options: argparse.Namespace, environ: Mapping[str, str]) -> Configured:
    """
    Read the configuration.

    Args:
        options: what `add_options` has added.
        environ: the environment.
    """
    spark = find_spark(environ)
    conf = read_conf(spark, environ, options.conf, options.properties_file)
    search = default_search()
    return Configured(spark, conf, search, load(conf.values, environ, search))


def open_without_driver(options: Mapping[str, Any]) -> Transport:
    """
    Make a transport as a job would, with all of its parts, though some take the driver to send.

    Args:
        options: the transport's, `type` among them.

    Raises:
        TransportConfigError: there is no such transport, or an option can't be used.
    """
    with offered(lambda _location: _HadoopClient()):
        return open_transport(str(options["type"]), options)


def needs_driver(transport: Transport) -> bool:
    """Tell whether a transport, or a part of it, sends by the driver's own Hadoop client."""
    if isinstance(transport, CompositeTransport):
        return any(needs_driver(part.transport) for part in transport.parts)
    return isinstance(transport, FileTransport) and transport.SPOOLED


class _HadoopClient:
    """Stands in the place of the driver's, and reaches nothing."""

    def label(self) -> NoReturn:
        raise OSError("there is no driver here")

    def create(self, _path: str, /) -> NoReturn:
        raise OSError("there is no driver here")

    def close(self) -> None:
        """Let go of nothing."""


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip().startswith("spark."):
        # Of this error the text is shown, and not the argument, which may hold a secret.
        raise argparse.ArgumentTypeError("must be KEY=VALUE, with a key that begins with spark.")
    return key.strip(), value
