"""The option `--conf`, with Spark's properties as spark-submit takes them."""

from __future__ import annotations

import argparse


def add_conf(parser: argparse.ArgumentParser, *, variables: bool = False) -> None:
    """
    Add the option to a command; its value is a list of pairs.

    Args:
        parser: the parser of the command.
        variables: whether the option also sets SQL variables, which may have any name.
    """
    shown = "a Spark property, as spark-submit takes it"
    parser.add_argument(
        "-c",
        "--conf",
        action="append",
        default=[],
        type=_property_or_variable if variables else _property,
        metavar="KEY=VALUE",
        help=f"{shown}, or the value of an SQL variable; repeatable" if variables else f"{shown}; repeatable",
    )


def _property_or_variable(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError("must be KEY=VALUE, such as spark.sql.ansi.enabled=true or day=2026-01-01")
    return key.strip(), value


def _property(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip().startswith("spark."):
        from openlineage_pyspark.listener.settings.catalog import find_key
        from openlineage_pyspark.listener.settings.given import PREFIX

        # The argument itself is not shown, because it may contain a secret; a name of one of our keys does not.
        name = key.strip().removeprefix(PREFIX.removeprefix("spark."))
        hint = f"; did you mean {PREFIX}{name}?" if equals and find_key(name) else ""
        raise argparse.ArgumentTypeError(f"must be KEY=VALUE, with a key that begins with 'spark.'{hint}")
    return key.strip(), value
