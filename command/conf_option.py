"""The option `--conf`, with Spark's properties as spark-submit takes them."""

from __future__ import annotations

import argparse


def add_conf(parser: argparse.ArgumentParser) -> None:
    """Add the option to a command; its value is a list of pairs."""
    parser.add_argument(
        "-c",
        "--conf",
        action="append",
        default=[],
        type=_pair,
        metavar="KEY=VALUE",
        help="a Spark property, as spark-submit takes it; repeatable",
    )


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip().startswith("spark."):
        from openlineage_pyspark.listener.settings.catalog import find_key
        from openlineage_pyspark.listener.settings.given import PREFIX

        # The argument itself is not shown, because it may contain a secret; a name of one of our keys does not.
        hint = f"; did you mean {PREFIX}{key.strip()}?" if equals and find_key(key.strip()) else ""
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, with a key that begins with spark.{hint}")
    return key.strip(), value
