"""`doctor`: checks what a job in this environment would use, and what would prevent its lineage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from openlineage_pyspark.command.delivery.configured import add_options, read_configuration
from openlineage_pyspark.command.doctor import delivery as doctor_delivery
from openlineage_pyspark.command.doctor import runtime as doctor_runtime
from openlineage_pyspark.command.doctor.diagnosis import PROBLEM, WARNING
from openlineage_pyspark.command.doctor.driver import look_at_driver
from openlineage_pyspark.command.screen import Screen
from openlineage_pyspark.listener.settings.given import PREFIX
from openlineage_pyspark.workbench.answer import Answer, Values
from openlineage_pyspark.workbench.pictures.table import TableColumn
from openlineage_pyspark.workbench.pictures.words import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.command.delivery.configured import Configured
    from openlineage_pyspark.command.doctor.delivery import OpenedTransport, SetKey
    from openlineage_pyspark.command.doctor.diagnosis import Diagnosis

_DESCRIPTION = """\
Checks Python, PySpark, Spark, Java, the configuration, the transport and the spool, without starting Spark or sending
an event. It checks what a job would get from this interpreter, this environment and this working directory. Values that
may be secret are not shown. The exit code is 1 if a problem prevents lineage."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("doctor", description=_DESCRIPTION)
    add_options(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Check everything, and print the findings.

    Args:
        options: `format` and the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if a problem prevents lineage.
    """
    configured = read_configuration(options, os.environ)
    with doctor_delivery.opened_transport(configured.settings) as opened:
        found = examine(configured, os.environ, opened)
    keys = doctor_delivery.set_keys(configured, os.environ, opened)
    if options.format == "json":
        Screen().json(Answer("doctor", {}, Values("checks", {"found": found, "keys": keys})).to_dict())
    else:
        _print(keys, found)
    return int(any(each.level == PROBLEM for each in found))


def examine(configured: Configured, environ: Mapping[str, str], opened: OpenedTransport) -> list[Diagnosis]:
    """
    Check everything.

    Args:
        configured: the configuration that a job would get.
        environ: the environment.
        opened: the transport.
    """
    spark, conf, settings = configured.spark, configured.conf, configured.settings
    return [
        *doctor_runtime.look_at_python(spark),
        *look_at_driver(spark, conf.values, environ),
        *doctor_runtime.look_at_package(spark, conf.values, environ),
        *doctor_runtime.look_at_extra(),
        *doctor_runtime.look_at_spark(spark, conf.values, environ),
        doctor_runtime.look_at_java(spark, environ),
        *doctor_delivery.look_at_configuration(conf, settings, opened),
        *doctor_delivery.look_at_java_listener(conf),
        *doctor_delivery.look_at_delivery(settings, opened),
    ]


def _print(keys: Sequence[SetKey], found: Sequence[Diagnosis]) -> None:
    screen = Screen()
    rows = []
    for each in found:
        rows.append((each.level, each.subject, each.found))
        if each.remedy:
            rows.append(("", "", f"-> {each.remedy}"))
    screen.heading("FOUND")
    screen.table((TableColumn("", 7), TableColumn("", 13), TableColumn("", 30, wrap=True)), rows)
    screen.line()
    screen.heading("KEYS THAT ARE SET")
    if keys:
        columns = (
            TableColumn("key", 24, wrap=True),
            TableColumn("value", 12, wrap=True),
            TableColumn("where", 40, wrap=True),
        )
        screen.table(columns, [(f"{PREFIX}{key.name}", key.value, key.source) for key in keys])
    else:
        screen.line("none", indent=2)
    screen.line()
    problems, warnings = (sum(each.level == level for each in found) for level in (PROBLEM, WARNING))
    ending = f", {counted(warnings, 'warning')}" if warnings else ""
    screen.heading((counted(problems, "problem") if problems else "no problems") + ending)
