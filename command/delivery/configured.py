"""The settings and the transport that a job in this environment would get, for the commands that need them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import attrs
from openlineage_pyspark.command.conf_option import add_conf
from openlineage_pyspark.command.delivery.spark_conf import SparkConf, SparkPlace, find_spark, read_conf
from openlineage_pyspark.command.screen import complain
from openlineage_pyspark.listener.settings.settings import Settings, default_search, load
from openlineage_pyspark.transport.base import Transport
from openlineage_pyspark.transport.composite import CompositeTransport
from openlineage_pyspark.transport.file.filesystem import offered
from openlineage_pyspark.transport.file.transport import FileTransport
from openlineage_pyspark.transport.registry import open_transport

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class Configured:
    """
    The configuration that a job would get.

    Args:
        spark: the Spark whose defaults were read.
        conf: its configuration, including what the command line adds.
        search: the YAML files that were looked for.
        settings: the settings that result from all sources.
    """

    spark: SparkPlace
    conf: SparkConf
    search: tuple[Path, ...]
    settings: Settings


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for what would be passed to spark-submit."""
    add_conf(parser)
    parser.add_argument("--properties-file", type=Path, metavar="FILE", help="read this instead of spark-defaults.conf")


def read_configuration(options: argparse.Namespace, environ: Mapping[str, str]) -> Configured:
    """
    Read the configuration.

    Args:
        options: the options that `add_options` adds.
        environ: the environment.
    """
    spark = find_spark(environ)
    conf = read_conf(spark, environ, options.conf, options.properties_file)
    search = default_search()
    return Configured(spark, conf, search, load(conf.values, environ, search))


def read_settings(options: argparse.Namespace, environ: Mapping[str, str]) -> Settings:
    """
    Read the configuration, and report it if Spark's defaults can't be read.

    Args:
        options: the options that `add_options` adds.
        environ: the environment.

    Returns:
        The settings that result from all sources.
    """
    configured = read_configuration(options, environ)
    if configured.conf.problem:
        complain(f"{configured.conf.file} {configured.conf.problem}: its settings are not used")
    return configured.settings


def open_without_driver(options: Mapping[str, Any]) -> Transport:
    """
    Create a transport as a job would, with all its parts, even those that need the driver to send.

    Args:
        options: the transport's options, including `type`.

    Raises:
        TransportConfigError: there is no such transport, or an option can't be used.
    """
    with offered(lambda _location: _HadoopClient()):
        return open_transport(str(options["type"]), options)


def needs_driver(transport: Transport) -> bool:
    """Return whether a transport, or a part of it, sends through the driver's own Hadoop client."""
    if isinstance(transport, CompositeTransport):
        return any(needs_driver(part.transport) for part in transport.parts)
    return isinstance(transport, FileTransport) and transport.SPOOLED


class _HadoopClient:
    """A replacement of the driver's client that connects to nothing."""

    def label(self) -> NoReturn:
        raise OSError("there is no driver here")

    def create(self, _path: str, /) -> NoReturn:
        raise OSError("there is no driver here")

    def close(self) -> None:
        """Do nothing."""
