"""The configuration that a job of this environment would get, for the commands that need it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from openlineage_pyspark.command.spark_conf import SparkConf, read_conf
from openlineage_pyspark.command.spark_place import SparkPlace, find_spark
from openlineage_pyspark.listener.settings import Settings, default_search, load

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class Configured:
    """What is configured.

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
    """Read the configuration.

    Args:
        options: what `add_options` has added.
        environ: the environment.
    """
    spark = find_spark(environ)
    conf = read_conf(spark, environ, options.conf, options.properties_file)
    search = default_search()
    return Configured(spark, conf, search, load(conf.values, environ, search))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip().startswith("spark."):
        # Of this error the text is shown, and not the argument, which may hold a secret.
        raise argparse.ArgumentTypeError("must be KEY=VALUE, with a key that begins with spark.")
    return key.strip(), value
