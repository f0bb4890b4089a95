"""`doctor`: what a job in this environment would run with, and what would cost lineage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from openlineage_pyspark.command import doctor_delivery, doctor_runtime
from openlineage_pyspark.command.configured import add_options, read
from openlineage_pyspark.command.diagnosis import PROBLEM
from openlineage_pyspark.command.screen import Column, Screen
from openlineage_pyspark.listener.settings.sources import PREFIX

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from openlineage_pyspark.command.configured import Configured
    from openlineage_pyspark.command.diagnosis import Diagnosis
    from openlineage_pyspark.command.doctor_delivery import OpenedTransport, SetKey

_DESCRIPTION = """\
Looks at Python, PySpark, Spark, Java, the configuration, the transport and the spool, without starting Spark or sending
an event. It sees what this interpreter, this environment and this working directory would give a job. Of the keys that
are set, values are shown only where they can be no secret. Exit code 1 where something costs lineage."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser("doctor", help="what is found, and what to do about it", description=_DESCRIPTION)
    add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """
    Check everything, and print what was found.

    Args:
        options: the options that `configured.add_options` adds.

    Returns:
        The exit code: 1 if something costs lineage.
    """
    configured = read(options, os.environ)
    with doctor_delivery.opened_transport(configured.settings) as opened:
        found = examine(configured, os.environ, opened)
    _print(doctor_delivery.set_keys(configured, os.environ, opened), found)
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
        *doctor_runtime.look_at_python(spark, conf.values, environ),
        *doctor_runtime.look_at_package(spark, conf.values, environ),
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
    screen.table((Column("", 0.1), Column("", 0.2), Column("")), rows, wrap=True)
    screen.line()
    screen.heading("KEYS THAT ARE SET")
    if keys:
        columns = (Column("key", 0.4), Column("value", 0.3), Column("where"))
        screen.table(columns, [(f"{PREFIX}{key.name}", key.value, key.source) for key in keys], wrap=True)
    else:
        screen.line("  none")
    screen.line()
    problems = sum(each.level == PROBLEM for each in found)
    screen.heading(f"{problems or 'no'} problem{'' if problems == 1 else 's'}")
